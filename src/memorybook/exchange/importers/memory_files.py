"""Memories that other programs keep: mem0's, and the Markdown of agents."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time, tzinfo
from typing import Any

from memorybook.errors import InvalidInput
from memorybook.exchange.importers.records import Page, Statement, raw_lines, several
from memorybook.formats.messages_json import Record, Warn, clean, first, json_safe, word
from memorybook.text.times import parse_time

# --- mem0 -----------------------------------------------------------------------------------------
# Memories of mem0, as `get_all` and the export of its platform give them, alone or under `results` or `memories`.
# https://docs.mem0.ai/api-reference/memory/get-memories, https://docs.mem0.ai/cookbooks/essentials/exporting-memories


_OWNERS = ("user_id", "agent_id", "app_id", "run_id", "actor_id")
_IDS = ("id", "memory_id", "uuid")


def is_mem0(fields: Mapping[str, Any]) -> bool:
    """Return whether an object is a memory."""
    if "role" in fields or "speaker" in fields:
        return False
    own = {"categories", "hash", "state", *_OWNERS} & fields.keys()
    return isinstance(fields.get("memory"), str) or (isinstance(fields.get("content"), str) and len(own) > 1)


def read_mem0(
    records: Iterable[Record], *, timezone: tzinfo, warn: Warn, titles: dict[str, str]
) -> Iterator[Statement]:
    """Yield each memory as a statement; those that were deleted are left out."""
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
    given_tags = first(fields, "categories", "tags")
    words = (
        word(first(one, "name", "category") if isinstance(one, dict) else one)
        for one in (given_tags if isinstance(given_tags, list) else [given_tags])
    )
    tags = tuple(dict.fromkeys(filter(None, words)))
    expires = parse_time(first(fields, "expiration_date", "expirationDate"), timezone)
    owners = {name: word(fields.get(name)) for name in _OWNERS if word(fields.get(name))}
    return Statement(
        text=text,
        key=word(first(fields, *_IDS)) or text,
        time=parse_time(first(fields, "created_at", "createdAt"), timezone),
        changed=parse_time(first(fields, "updated_at", "updatedAt"), timezone),
        category=word(first(metadata, "category", "type")) or (tags[0] if tags else ""),
        tags=tags,
        metadata={**json_safe(metadata), **owners},
        expires=expires and expires.astimezone(timezone).date(),
    )


# --- Markdown -------------------------------------------------------------------------------------
# Memories that agents keep as Markdown: OpenClaw's `MEMORY.md`, `USER.md`, `memory/YYYY-MM-DD[-slug].md`.
# What stands in a file of a day is notes of that day; what stands elsewhere is long-term memory.
# https://docs.openclaw.ai/concepts/memory

_LASTING = ("memory.md", "user.md")
_MOST = 16 << 20
_NOT = ("readme.md", "dreams.md", "agents.md", "claude.md")


def is_memory(path: str) -> bool:
    """Return whether a Markdown file of this name, with the folders it is in, is an agent's memory.

    A page of a day is one where memories are kept, or at the top of what was named; elsewhere it is anything.
    """
    *folders, name = re.split(r"[\\/]", path.lower())
    if not name.endswith(".md") or name in _NOT:
        return False
    return name in _LASTING or "memory" in folders or (_day(name) is not None and len(folders) <= 1)


def read_markdown(path: str, stream: Iterable[bytes], *, timezone: tzinfo, warn: Warn) -> Iterator[Page]:
    """Yield the page of a file, or its parts where headings of a day's file name the hour.

    Raises InvalidInput for a file that is larger than any memory is.
    """
    raw, size = [], 0
    for line in raw_lines(stream):
        raw.append(line)
        size += len(line)
        if size > _MOST:
            raise InvalidInput(f"{path!r} is larger than {_MOST >> 20} MB: it is no page of memories")
    text = b"".join(raw).decode("utf-8-sig", "replace")
    if "\ufffd" in text:
        warn("some bytes are not UTF-8 and were replaced")
    if "<!-- Total entries:" in text[:2000]:
        warn("it is the MEMORY.md of a memorybook, left out: `memorybook restore` takes a whole book")
        return
    text = re.sub(r"\A(\s*)#[ \t](?!.*\d:\d\d).*", r"\1", clean(text))  # the title
    text = re.sub(r"(?m)^- \*\*(?:Session Key|Session ID|Source)\*\*:.*$", "", text)  # of OpenClaw's session hook
    day = _day(os.path.basename(path))
    if day is None:
        yield Page(text)
        return
    for hour, part in _by_hour(text):
        yield Page(part, parse_time(datetime.combine(day, hour), timezone))


def _day(name: str) -> date | None:
    found = re.match(r"(\d{4})-(\d\d)-(\d\d)(?!\d)", name)
    try:
        return date(int(found[1]), int(found[2]), int(found[3])) if found else None
    except ValueError:
        return None


def _by_hour(text: str) -> Iterator[tuple[time, str]]:
    """Yield the parts of a day's page; what stands before the first hour is of the day's beginning."""
    pattern = r"#{1,6}\s.*?(?<![\d:.])([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?(?![\d:])\s*(UTC|Z\b)?"
    hour, lines, fenced = time(), list[str](), False
    for line in text.split("\n"):
        fenced ^= line.lstrip().startswith(("```", "~~~"))
        found = None if fenced else re.match(pattern, line)
        if found:
            yield hour, "\n".join(lines)
            zone = UTC if found[4] else None
            hour, lines = time(int(found[1]), int(found[2]), int(found[3] or 0), tzinfo=zone), []
        else:
            lines.append(line)
    yield hour, "\n".join(lines)
