"""The `history.jsonl` of agent programs: a run's messages under a metadata line, or prompts as they were typed.

Three shapes: messages `{role, content, timestamp}` after `{"_type": "metadata", "key": "channel:chat"}`;
Claude Code's prompts `{display, timestamp, project, sessionId}`; Codex's `{session_id, ts, text}`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import Any

from memorybook.formats.messages_json import Record, Said, Warn, clean, first, json_safe, said_in, word
from memorybook.text.times import parse_time

NAME = "history"
APART = False


def matches(sample: Sequence[Mapping[str, Any]]) -> bool:
    """Whether these first objects of a file are a run's history."""
    return any(_is_metadata(fields) or _is_prompt(fields) for fields in sample)


def _is_metadata(fields: Mapping[str, Any]) -> bool:
    return fields.get("_type") == "metadata"


def _is_prompt(fields: Mapping[str, Any]) -> bool:
    if "role" in fields or "speaker" in fields:
        return False
    return ("display" in fields and "timestamp" in fields) or {"session_id", "ts", "text"} <= fields.keys()


def read(records: Iterable[Record], *, timezone: tzinfo, warn: Warn, titles: dict[str, str]) -> Iterator[Said]:
    """The messages of a run, or the prompts that a person typed, as turns of the user."""
    session = ""
    for record in records:
        fields = record.fields
        if _is_metadata(fields):
            session = word(first(fields, "key", "session", "session_id", "id"))
        elif _is_prompt(fields):
            yield from _prompt(record, timezone)
        else:
            said = said_in(record, timezone=timezone, warn=warn, session=session)
            if said is not None:
                yield said


def _prompt(record: Record, timezone: tzinfo) -> Iterator[Said]:
    fields = record.fields
    text = first(fields, "display", "text")
    stamp = first(fields, "timestamp", "ts")
    if isinstance(text, str) and text.strip():
        yield Said(
            text=clean(text),
            role="user",
            speaker="user",
            time=parse_time(stamp, timezone),
            stamp=word(stamp),
            session=word(first(fields, "sessionId", "session_id", "project")),
            metadata={"project": json_safe(fields["project"])} if fields.get("project") else {},
            line=record.line,
        )
