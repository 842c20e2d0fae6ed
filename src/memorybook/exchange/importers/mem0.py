"""Memories of mem0, as `get_all` and the export of its platform give them, alone or under `results` or `memories`.

https://docs.mem0.ai/api-reference/memory/get-memories, https://docs.mem0.ai/cookbooks/essentials/exporting-memories
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, tzinfo
from typing import Any

from memorybook.exchange.importers.records import Statement, several
from memorybook.formats.messages_json import Record, Warn, clean, first, json_safe, word
from memorybook.text.times import parse_time

NAME = "mem0"
APART = True

_OWNERS = ("user_id", "agent_id", "app_id", "run_id", "actor_id")
_IDS = ("id", "memory_id", "uuid")


def matches(sample: Sequence[Mapping[str, Any]]) -> bool:
    """Whether these first objects of a file are memories."""
    return any(_is_memory(fields) for fields in sample)


def _is_memory(fields: Mapping[str, Any]) -> bool:
    if "role" in fields or "speaker" in fields:
        return False
    own = {"categories", "hash", "state", *_OWNERS} & fields.keys()
    return isinstance(fields.get("memory"), str) or (isinstance(fields.get("content"), str) and len(own) > 1)


def read(records: Iterable[Record], *, timezone: tzinfo, warn: Warn, titles: dict[str, str]) -> Iterator[Statement]:
    """Each memory as a statement; those that were deleted are left out."""
    deleted = 0
    for record in records:
        fields = record.fields
        text = first(fields, "memory", "content", "text", "data")
        if not isinstance(text, str) or not text.strip():
            warn(f"memory {record.line}: no text, skipped")
        elif fields.get("deleted") is True or word(fields.get("state")).lower() == "deleted":
            deleted += 1
        else:
            yield _statement(fields, clean(text).strip(), timezone)
    if deleted:
        warn(f"{several(deleted, 'memory', 'memories')} deleted there, left out")


def _statement(fields: Mapping[str, Any], text: str, timezone: tzinfo) -> Statement:
    given = fields.get("metadata")
    metadata = given if isinstance(given, dict) else {}
    tags = tuple(dict.fromkeys(_words(first(fields, "categories", "tags"))))
    owners = {name: word(fields.get(name)) for name in _OWNERS if word(fields.get(name))}
    return Statement(
        text=text,
        key=word(first(fields, *_IDS)) or text,
        time=parse_time(first(fields, "created_at", "createdAt"), timezone),
        changed=parse_time(first(fields, "updated_at", "updatedAt"), timezone),
        category=word(first(metadata, "category", "type")) or (tags[0] if tags else ""),
        tags=tags,
        metadata={**json_safe(metadata), **owners},
        expires=_day(first(fields, "expiration_date", "expirationDate"), timezone),
    )


def _words(value: Any) -> Iterator[str]:
    for one in value if isinstance(value, list) else [value]:
        name = word(first(one, "name", "category") if isinstance(one, dict) else one)
        if name:
            yield name


def _day(value: Any, timezone: tzinfo) -> date | None:
    time = parse_time(value, timezone)
    return time.astimezone(timezone).date() if time is not None else None
