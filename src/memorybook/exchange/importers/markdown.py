"""Memories that agents keep as Markdown: OpenClaw's `MEMORY.md`, `USER.md`, `memory/YYYY-MM-DD[-slug].md`.

What stands in a file of a day is notes of that day; what stands elsewhere is long-term memory.
https://docs.openclaw.ai/concepts/memory
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, tzinfo

from memorybook.errors import InvalidInput
from memorybook.exchange.importers.records import Page, raw_lines
from memorybook.formats.messages_json import Warn, clean
from memorybook.text.times import parse_time

NAME = "openclaw"

_LASTING = ("memory.md", "user.md")
_MOST = 16 << 20
_NOT = ("readme.md", "dreams.md", "agents.md", "claude.md")


def is_memory(path: str) -> bool:
    """Whether a Markdown file of this name, with the folders it is in, is an agent's memory.

    A page of a day is one where memories are kept, or at the top of what was named; elsewhere it is anything.
    """
    *folders, name = re.split(r"[\\/]", path.lower())
    if not name.endswith(".md") or name in _NOT:
        return False
    return name in _LASTING or "memory" in folders or (_day(name) is not None and len(folders) <= 1)


def read(path: str, stream: Iterable[bytes], *, timezone: tzinfo, warn: Warn) -> Iterator[Page]:
    """The page of a file, or its parts where headings of a day's file name the hour.

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
    text, day = _without_head(clean(text)), _day(os.path.basename(path))
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
    """The parts of a day's page; what stands before the first hour is of the day's beginning."""
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


def _without_head(text: str) -> str:
    """A page without its title, and without the lines in which OpenClaw's session hook only names the session."""
    text = re.sub(r"\A(\s*)#[ \t](?!.*\d:\d\d).*", r"\1", text)
    return re.sub(r"(?m)^- \*\*(?:Session Key|Session ID|Source)\*\*:.*$", "", text)
