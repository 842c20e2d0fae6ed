"""Chats as JSON Lines: one message a line, from an agent or between people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import Any

from memorybook.importers.records import ID, SESSION, Record, Said, Warn, clean, cut, first, json_safe, role_of, word
from memorybook.importers.times import parse_time
from memorybook.model import Role

NAME = "chat"
APART = False

TOOL_TEXT_LIMIT = 4000
"""Characters of a tool's output that are kept; the rest is for a log, not for a memory."""

_TEXT = ("content", "text", "message")
_TIME = ("timestamp", "ts", "time", "created_at", "datetime", "date")
_SPEAKER = ("speaker", "name", "author", "sender", "from")
_CALLS = ("tool_calls", "tool")
_USED = frozenset((*_TEXT, *_TIME, *SESSION, *ID, *_SPEAKER, *_CALLS, "role", "scope"))


def matches(sample: Sequence[Mapping[str, Any]]) -> bool:
    """Whether these first objects of a file look like messages."""
    return any(first(fields, *_TEXT) is not None or "role" in fields for fields in sample)


def speaks(fields: Mapping[str, Any]) -> bool:
    """Whether an object says who speaks."""
    return any(_who(fields))


def read(records: Iterable[Record], *, timezone: tzinfo, warn: Warn, titles: dict[str, str]) -> Iterator[Said]:
    """The messages of a file; objects that hold none are warnings."""
    for record in records:
        said = said_in(record, timezone=timezone, warn=warn)
        if said is not None:
            yield said


def said_in(record: Record, *, timezone: tzinfo, warn: Warn, session: str = "") -> Said | None:
    """The message of one object; None, and a warning, if it has neither text nor tool calls."""
    fields = record.fields
    role, speaker = _who(fields)
    text, called = content_of(first(fields, *_TEXT))
    calls = (*_calls(fields, role), *called)
    if not text.strip() and not calls:
        warn(f"line {record.line}: no content or text, skipped")
        return None
    stamp = first(fields, *_TIME)
    time = parse_time(stamp, timezone)
    if stamp is not None and time is None:
        warn(f"line {record.line}: {stamp!r} is no time that names one moment; the turn has none")
    return Said(
        text=cut(text, TOOL_TEXT_LIMIT) if role == "tool" else text,
        role=role,
        speaker=speaker,
        time=time,
        stamp=word(stamp),
        session=word(first(fields, *SESSION)) or session,
        scope=word(fields.get("scope")),
        id=word(first(fields, *ID)),
        tool_calls=calls,
        metadata=_metadata(fields, role),
        line=record.line,
    )


def content_of(value: Any) -> tuple[str, tuple[Mapping[str, Any], ...]]:
    """Text and tool calls of a message's content: a string, blocks (`{"type": "text", …}`) or nothing."""
    if isinstance(value, str):
        return clean(value), ()
    blocks = [value] if isinstance(value, dict) else value if isinstance(value, list) else []
    texts = [_block_text(block) for block in blocks]
    calls = tuple(
        {"id": word(block.get("id")), "name": word(block.get("name")), "arguments": json_safe(block.get("input"))}
        for block in blocks
        if isinstance(block, dict) and block.get("type") == "tool_use"
    )
    return "\n".join(text for text in texts if text.strip()), calls


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return clean(block)
    if not isinstance(block, dict) or block.get("type", "text") not in ("text", "input_text", "output_text"):
        return ""
    text = first(block, "text", "content")
    return clean(text) if isinstance(text, str) else ""


def _who(fields: Mapping[str, Any]) -> tuple[Role, str]:
    """Role and speaker. A talk between people has names and no roles; a role's word is also a speaker's."""
    role = role_of(fields.get("role"))
    speaker = word(first(fields, *_SPEAKER)) or ("" if role else word(fields.get("role")))
    return role or role_of(speaker), speaker or role


def _calls(fields: Mapping[str, Any], role: Role) -> tuple[Mapping[str, Any], ...]:
    calls = fields.get("tool_calls")
    found = [json_safe(call) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    tool = word(fields.get("tool"))
    if tool and role == "assistant" and not found:
        found = [{"name": tool, "arguments": content_of(first(fields, *_TEXT))[0]}]
    return tuple(found)


def _metadata(fields: Mapping[str, Any], role: Role) -> Mapping[str, Any]:
    rest = {clean(name): json_safe(value) for name, value in fields.items() if name not in _USED and value is not None}
    tool = word(fields.get("tool"))
    return {**rest, "tool": tool} if tool and role != "assistant" else rest
