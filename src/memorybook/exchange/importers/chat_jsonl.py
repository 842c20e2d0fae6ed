"""Chats as JSON Lines: one message a line, from an agent or between people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import Any

from memorybook.formats.messages_json import TEXT, Record, Said, Warn, first, said_in, who_of

NAME = "chat"
APART = False


def matches(sample: Sequence[Mapping[str, Any]]) -> bool:
    """Whether these first objects of a file look like messages."""
    return any(first(fields, *TEXT) is not None or "role" in fields for fields in sample)


def speaks(fields: Mapping[str, Any]) -> bool:
    """Whether an object says who speaks."""
    return any(who_of(fields))


def read(records: Iterable[Record], *, timezone: tzinfo, warn: Warn, titles: dict[str, str]) -> Iterator[Said]:
    """The messages of a file; objects that hold none are warnings."""
    for record in records:
        said = said_in(record, timezone=timezone, warn=warn)
        if said is not None:
            yield said
