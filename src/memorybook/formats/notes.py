"""Notes: the stamped lines of `daily/DATE.md`.

`- 2026-02-24T10:12:33Z [pref] The user wants short answers. #prefs`: time in UTC, kind, text, and tags
at the end. What a machine writes comes back as it was; of what a person writes by hand, the marker,
the kind, the tags and the seconds may be missing, and other spellings of the time are read.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time

from memorybook.formats.escape import UNSAFE, escape, reference, unescape
from memorybook.model import Note

_NEWLINES = re.compile(r"\s*[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+\s*")
_WORD = rf"[\s\[\]]|{UNSAFE}"
_KIND = re.compile(r"\[([^\[\]\s]+)\](?=\s|\Z)")
_LAST_TAG = re.compile(r"(?:\A|(?<=\s))#(?=\S+\Z)")
_STAMP = re.compile(
    r"\s*(?:[-*+]\s+)?(?:(\d{4}-\d{2}-\d{2})(?:[T ](\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)[ ]?(Z|[+-]\d{2}:?\d{2})?)?"
    r"|(\d{1,2}:\d{2}(?::\d{2})?))(?=\s|\Z)",
    re.ASCII,
)
_BULLET = re.compile(r"\s*[-*+]\s+")
_PATH = re.compile(r"daily/(\d{4}-\d{2}-\d{2})\.md", re.ASCII)


def render_line(note: Note) -> str:
    """The note as one line without a newline: its time in whole seconds, line ends in its text as spaces."""
    stamp = note.time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")
    text = escape(UNSAFE, _NEWLINES.sub(" ", note.text.strip()))
    text = _LAST_TAG.sub(reference, text)
    if note.kind is None and _KIND.match(text):
        text = f"&#x5B;{text[1:]}"
    kind = [] if note.kind is None else [f"[{escape(_WORD, note.kind) or '&#x;'}]"]
    tags = [f"#{escape(_WORD, tag) or '&#x;'}" for tag in note.tags]
    return " ".join(["-", stamp, *kind, *([text] if text else []), *tags])


def parse_line(line: str, *, day: date | None = None) -> Note | None:
    """The note of a line; None for a line that is none: a heading, a blank line, prose without a time.

    Args:
        line: With or without its newline.
        day: The day of the file. With it a list item with a time only, or without any, is a note too.
    """
    found = _read_time(line, day)
    if found is None:
        return None
    moment, rest = found[0], found[1].strip()
    kind = _KIND.match(rest)
    if kind is not None:
        rest = rest[kind.end() :].lstrip()
    text, tags = _without_tags(rest)
    return Note(time=moment, text=unescape(text), kind=unescape(kind[1]) if kind else None, tags=tags)


def _without_tags(text: str) -> tuple[str, tuple[str, ...]]:
    """The text, and the tags that stood behind it."""
    if "#" not in text:
        return text, ()
    words = [word.span() for word in re.finditer(r"\S+", text)]
    kept = len(words)
    while kept and text[words[kept - 1][0]] == "#" and words[kept - 1][1] - words[kept - 1][0] > 1:
        kept -= 1
    tags = tuple(unescape(text[start + 1 : end]) for start, end in words[kept:])
    return text[: words[kept - 1][1]] if kept else "", tags


def _read_time(line: str, day: date | None) -> tuple[datetime, str] | None:
    """Time and the rest of the line."""
    stamp = _STAMP.match(line)
    if stamp is None:
        bullet = _BULLET.match(line)
        return None if bullet is None or day is None else (datetime.combine(day, time(), UTC), line[bullet.end() :])
    stamped, clock, zone, clock_alone = stamp.groups()
    if stamped is None and day is None:
        return None
    try:
        on = date.fromisoformat(stamped) if stamped else day
        clock = clock or clock_alone or "00:00"
        at = time.fromisoformat(("0" if clock[1] == ":" else "") + clock + (zone or ""))
        moment = datetime.combine(on or date.min, at.replace(microsecond=0, tzinfo=at.tzinfo or UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment, line[stamp.end() :]


def daily_path(day: date) -> str:
    """The document for notes of that day, `daily/2026-02-24.md`."""
    return f"daily/{day.isoformat()}.md"


def day_of(path: str) -> date | None:
    """The day of a document of notes; None if the path is another's."""
    match = _PATH.fullmatch(path)
    try:
        return date.fromisoformat(match[1]) if match else None
    except ValueError:
        return None
