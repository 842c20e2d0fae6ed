"""What memorybook has exported: whole sessions with their chats, see `memorybook.formats.sessions_json`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import Any

from memorybook.exchange.importers.records import several
from memorybook.formats import sessions_json
from memorybook.formats.messages_json import Record, Warn
from memorybook.formats.sessions_json import Exported

NAME = "memorybook"
APART = True


def matches(sample: Sequence[Mapping[str, Any]]) -> bool:
    """Whether these first objects of a file are exported sessions."""
    return any(sessions_json.is_session(fields) for fields in sample)


def read(records: Iterable[Record], *, timezone: tzinfo, warn: Warn, titles: dict[str, str]) -> Iterator[Exported]:
    """The sessions, as they were."""
    for record in records:
        if sessions_json.is_session(record.fields):
            if empty := sum(not sessions_json.has_turns(chat) for chat in record.fields["chats"]):
                warn(f"item {record.line}: nothing is said in {several(empty, 'chat')}, left out")
            yield sessions_json.parse(record.fields)
        else:
            warn(f"item {record.line}: no session with its chats, skipped")
