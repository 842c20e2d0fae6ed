"""A person's part of MEMORY.md: its header comments, headings and list items, edited where they stand."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, datetime

from memorybook.errors import InvalidInput
from memorybook.formats.escape import UNSAFE, escape, fences

_HEADING = re.compile(r"(?m)^\ufeff?#{1,6}(?=[ \t\u3000\xa0\r]|$)([^\n]*)")
_UPDATED = re.compile(r"(?m)^<!--[ \t]*Last updated:[^\n]*?-->[ \t]*")
_TOTAL = re.compile(r"(?m)^<!--[ \t]*Total entries:[^\n]*?-->[ \t]*")


BY_AGENT = " <!-- trust: agent -->"
"""What a line ends with that no person wrote; without it the line is a person's."""

_COMMENT = re.compile(r"<!--.*?-->")


# --- whose lines they are ------------------------------------------------------------------------


def stamped(text: str, known: Collection[str]) -> str:
    """The text with every line that says something stamped as an agent's, but for the known ones."""
    return "\n".join([line if _is_held(line, known) else _with_stamp(line) for line in text.split("\n")])


def by_people(text: str) -> str:
    """The text without the lines that are stamped as an agent's."""
    if BY_AGENT.strip() not in text:
        return text
    return "\n".join([line for line in text.split("\n") if not line.rstrip().endswith(BY_AGENT.strip())])


def said_by_people(text: str) -> set[str]:
    """The lines that people wrote and that say something, without headings."""
    lines = {line.rstrip() for line in by_people(text).split("\n")}
    return {line for line in lines if not _is_held(line, ()) and not _HEADING.match(line)}


def _is_held(line: str, known: Collection[str]) -> bool:
    return line.rstrip() in known or not any(map(str.isalnum, _COMMENT.sub("", line)))


def _with_stamp(line: str) -> str:
    end = len(line.rstrip())
    return line if line.endswith(BY_AGENT.strip(), 0, end) else line[:end] + BY_AGENT + line[end:]


# --- header ------------------------------------------------------------------------------------


def with_header(text: str, *, now: datetime, total: int) -> str:
    """With the two header comments renewed where they stand above the first second-level heading."""
    header, rest = _header(text)
    stamp = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    header = _UPDATED.sub(f"<!-- Last updated: {stamp} -->", header, count=1)
    return _TOTAL.sub(f"<!-- Total entries: {total} -->", header, count=1) + rest


def without_header(text: str) -> str:
    """Without the lines of the two header comments."""
    header, rest = _header(text)
    for comment in (_UPDATED, _TOTAL):
        header = re.sub(comment.pattern + r"(?:\r?\n|\Z)", "", header, count=1)
    return header + rest


def _header(text: str) -> tuple[str, str]:
    end = text.find("\n## ")
    return (text, "") if end < 0 else (text[: end + 1], text[end + 1 :])


# --- list items --------------------------------------------------------------------------------


def item(text: str) -> str:
    """The text as a list item, its further lines indented; no newline at the end.

    Raises:
        InvalidInput: The text is blank.
    """
    lines = [line.rstrip() for line in text.strip().split("\n")]
    if not lines[0]:
        raise InvalidInput("an item needs a text: nothing was given but white space")
    return "- " + "\n  ".join([escape(UNSAFE, line) for line in lines])


def end_of_section(text: str, heading: str) -> tuple[int, int] | None:
    """Where the section of that heading has its heading's end and its last line's end; None if there is none.

    Its subsections do not belong to it. Names are compared without regard to case.
    """
    within = [span for span in fences(text) if span[1]]
    found = None
    for match in _HEADING.finditer(text):
        if any(start <= match.start() < end for start, end in within):
            continue
        if found is not None:
            return found, len(text[: match.start()].rstrip("\r\n \t"))
        if match[1].replace(BY_AGENT, "").strip().rstrip("#").strip().casefold() == heading.casefold():
            found = match.end()
    return None if found is None else (found, max(found, len(text.rstrip("\r\n \t"))))


def insert_item(text: str, place: tuple[int, int], item: str, newline: str) -> str:
    """With the item as a line of its own at the end of that section."""
    heading_end, end = place
    end = max(end, heading_end - (text[heading_end - 1] == "\r"))
    gap = newline * 2 if end <= heading_end else newline
    rest = text[end:] or newline
    return text[:end] + gap + item.replace("\n", newline) + rest


def add_section(text: str, heading: str, item: str, newline: str) -> str:
    """With a new section at the end that holds the item."""
    return ended(text, newline) + f"## {heading}{newline * 2}{item}\n".replace("\n", newline)


def ended(text: str, newline: str) -> str:
    """The text with a blank line at its end, so that a heading may follow."""
    if not text.strip("\ufeff") or re.search(r"\n[ \t]*\r?\n\Z", text):
        return text
    return text + (newline if text.endswith("\n") else newline * 2)


def find_item(text: str, heading: str, item: str) -> tuple[int, int] | None:
    """Start and end (with its newline) of that list item under that heading; None if it is not there."""
    place = end_of_section(text, heading)
    if place is None:
        return None
    pattern = r"\r?\n".join([re.escape(line) + r"[ \t]*" for line in item.split("\n")])
    match = re.compile(rf"(?m)^{pattern}(?:\r?\n(?![ \t]+\S)|\r?\Z)").search(text, place[0], place[1] + 2)
    return None if match is None else match.span()
