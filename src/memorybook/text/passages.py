"""Documents and turns as passages: what is indexed, embedded and found.

Reading a document is not on the path of a search unless the document changed, so the formats are imported there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from memorybook.hits import Passage
from memorybook.text.tokens import text_digest

if TYPE_CHECKING:
    from datetime import datetime

    from memorybook.formats.memory_md import Located
    from memorybook.model import Session, Turn
    from memorybook.text.blocks import Block

__all__ = ["MAX_TOKENS", "Split", "dense_text", "indexed_text", "key", "split", "text_digest", "turn_passage"]

MAX_TOKENS = 400
"""About how long a passage of a document may be, as `count_tokens` counts."""

_DAY = re.compile(r"(?<![0-9])([0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01]))(?![0-9])")
_STAMPED = re.compile(r"\W{0,4}[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")
_FRONT = re.compile(r"---[ \t]*\r?\n(?:.*?\n)??---[ \t]*(?:\r?\n|\Z)", re.DOTALL)


class Split(NamedTuple):
    """The passages of a document in the order of their lines, and what could not be read as meant."""

    passages: tuple[Passage, ...]
    warnings: tuple[str, ...] = ()


def split(path: str, text: str, modified: float) -> Split:
    """The passages of a document; how it is cut depends on what it is, which its path says.

    `MEMORY.md` and `archive/*.md`: one for each entry, and for each list item or paragraph of what a person wrote.
    `daily/*.md`: one for each note. `sessions/*.md`: title and summary, then each decision and each
    open question. Any other: by headings, up to about `MAX_TOKENS`, cut between paragraphs, else
    between sentences. Headings without anything under them, comments and blank documents give none. No text raises.

    Args:
        path: Relative path of the document.
        text: Its text, any line ends.
        modified: Its last change, seconds since the epoch: the day of entries edited by hand.
    """
    text = text.removeprefix("\ufeff")
    if not text.strip():
        return Split(())
    if path == "MEMORY.md" or path.startswith("archive/"):
        return _memory(path, text, modified)
    if path.startswith("daily/"):
        return Split(tuple(_daily(path, text)))
    if path.startswith("sessions/"):
        return Split(tuple(_session(path, text)))
    return Split(tuple(_document(path, text)))


def turn_passage(session: Session, turn: Turn) -> Passage:
    """A turn as a passage: without lines, under the path of its session's summary.

    Its date is the day of the turn, else that of the session's beginning, UTC.
    """
    return Passage(
        session.path,
        0,
        0,
        turn.text,
        "turn",
        date=_day(turn.time or session.created),
        session=session.uuid,
        turn=turn.id,
        speaker=turn.speaker or turn.role,
        role=turn.role,
        position=turn.position,
    )


def indexed_text(passage: Passage) -> str:
    """What the words leg sees: `[date] Speaker: text` for a turn, else date, heading path, category and text."""
    date = f"[{passage.date}] " if passage.date else ""
    if passage.source == "turn":
        return f"{date}{passage.speaker}: {passage.text}" if passage.speaker else date + passage.text
    above = " ".join(filter(None, (passage.heading, passage.category)))
    return f"{date}{above}\n{passage.text}" if above else date + passage.text


def dense_text(passage: Passage) -> str:
    """What is embedded: the text alone, for documents and summaries with the heading path above it."""
    if passage.heading and passage.source in ("document", "summary"):
        return f"{passage.heading}\n{passage.text}"
    return passage.text


def key(passage: Passage) -> str:
    """The passage's identity, 32 hexadecimal digits: by content and place in the book, never by line numbers.

    Equal for equal text under the same headings of one document. Vectors are cached under
    `text_digest(dense_text(passage))` instead, so that text which moves to another file is not embedded again.
    """
    place = (passage.source, passage.path, passage.entry, passage.session, passage.turn, passage.heading, passage.text)
    if passage.source == "turn":
        place = (*place[:1], "", *place[2:])
    return text_digest("\x1f".join([part or "" for part in place]))


# --- by kind of document -----------------------------------------------------------------------


def _memory(path: str, text: str, modified: float) -> Split:
    from memorybook.formats import memory_md
    from memorybook.formats.sections import raw

    document = memory_md.parse(text, modified=_moment(modified))
    found = [_entry(path, located) for located in document.located]
    line = 1
    for part in document.parts:
        if isinstance(part, str):
            found += _written(path, part, line)
        line += raw(part).count("\n")
    return Split(tuple(sorted(found, key=lambda passage: passage.start_line)), document.warnings)


def _entry(path: str, located: Located) -> Passage:
    entry = located.entry
    filed = (entry.group or "", ", ".join([*entry.tags, *entry.entities]))
    return Passage(
        path,
        located.start_line,
        located.end_line,
        entry.text,
        "entry",
        heading=" > ".join(filter(None, filed)),
        date=_day(entry.created) or entry.last_activated.isoformat(),
        entry=entry.id,
        category=entry.category,
        score=entry.score,
        scored=entry.scored.isoformat(),
        activated=entry.last_activated.isoformat(),
        state=entry.state,
        trust=entry.trust or "",
        session=entry.session,
        turn=entry.source.removeprefix("turn:") if entry.source and entry.source.startswith("turn:") else None,
        pinned=entry.pinned,
    )


def _written(path: str, text: str, first_line: int) -> Iterator[Passage]:
    """What a person wrote, item by item; an item that is too long is cut."""
    from memorybook.text.blocks import blocks, merged

    for block in blocks(text, first_line=first_line):
        for piece in merged(text, [block], MAX_TOKENS, first_line=first_line):
            yield _passage(path, piece)


def _daily(path: str, text: str) -> Iterator[Passage]:
    from memorybook.formats import notes

    day = notes.day_of(path)
    lines = text.split("\n")
    found: list[Passage] = []
    for number, line in enumerate(lines, 1):
        note = notes.parse_line(line, day=day)
        if note is None:
            continue
        lines[number - 1] = "<!-- -->"  # so that what stands around it is not taken for one run
        if note.text.strip():
            date = day.isoformat() if day else _day(note.time)
            filed = ", ".join(filter(None, (note.kind, *note.tags)))
            found.append(Passage(path, number, number, note.text, "note", heading=filed, date=date))
    found += _document(path, "\n".join(lines))
    yield from sorted(found, key=lambda passage: passage.start_line)


def _session(path: str, text: str) -> Iterator[Passage]:
    from memorybook.formats import session_md
    from memorybook.text.blocks import blocks, merged

    summary = session_md.parse(text)
    date = _day(summary.started) or _day_in(path)
    front = _FRONT.match(text)
    first_line = 1 + (text.count("\n", 0, front.end()) if front else 0)
    page = text[front.end() :] if front else text
    body: list[Block] = []
    items: list[Block] = []
    for block in blocks(page, first_line=first_line):
        place = _place(block.heading.rpartition(" > ")[2])
        if place != "turns":
            (items if place == "items" else body).append(block)
    if summary.title and not any(block.heading.startswith(summary.title) for block in (*body, *items)):
        body = [block._replace(heading=" > ".join(filter(None, (summary.title, block.heading)))) for block in body]
    found = [*merged(page, body, MAX_TOKENS, first_line=first_line), *items]
    if not body and summary.title:
        found.insert(0, _title_block(text, summary.title))
    for block in sorted(found, key=lambda block: block.start):
        yield _passage(path, block)._replace(source="summary", date=date, session=summary.session or None)


def _title_block(text: str, title: str) -> Block:
    """The title where it stands as a block of its own, for a summary that has nothing else to say."""
    from memorybook.text.blocks import Block

    line = next((number for number, line in enumerate(text.split("\n"), 1) if title in line), 1)
    return Block(line, line, title, "", 0)


@lru_cache(maxsize=64)
def _place(heading: str) -> str:
    """Where a section of that title goes, asked of the format itself: `items`, `turns` or `` (the summary)."""
    from memorybook.formats import session_md

    read = session_md.parse(f"## {heading}\n\n- x\n")
    return "turns" if read.turn_ids else "items" if read.decisions or read.open_questions else ""


def _document(path: str, text: str) -> Iterator[Passage]:
    from memorybook.text.blocks import blocks, merged

    dated: list[Block] = []
    run = 0
    for block in blocks(text):
        run += 1 if _STAMPED.match(block.text) else 0  # a paragraph with its own date is a passage of its own
        dated.append(block._replace(run=block.run * 1_000_000 + run))
    for block in merged(text, dated, MAX_TOKENS):
        yield _passage(path, block)


def _passage(path: str, block: Block) -> Passage:
    stamped = _day_in(block.text) if _STAMPED.match(block.text) else None
    date = stamped or _day_in(block.heading) or _day_in(path)
    return Passage(path, block.start, block.end, block.text, "document", heading=block.heading, date=date)


def _day_in(text: str) -> str | None:
    days = _DAY.search(text)
    return days[1] if days else None


def _day(moment: datetime | None) -> str | None:
    from datetime import UTC

    if moment is None:
        return None
    try:
        return moment.astimezone(UTC).date().isoformat()
    except OverflowError:
        return moment.date().isoformat()


def _moment(seconds: float) -> datetime:
    from datetime import UTC, datetime

    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)
