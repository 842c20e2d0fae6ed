"""Split documents into passages: Markdown into blocks, blocks into what the index stores and embeds."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, date, datetime
from functools import lru_cache

from memorybook._light import TYPE_CHECKING, Iterator, NamedTuple, Sequence, lazily
from memorybook.formats import item_md, memory_md, session_md
from memorybook.formats.entry_block import Fences, fenced_blocks
from memorybook.formats.memory_md import BY_AGENT, raw
from memorybook.search.types import Passage
from memorybook.text.tokens import count_tokens, is_question, only_asks

if TYPE_CHECKING:
    from memorybook.model import Entry, Session, Turn


_NO_ENTRY = (None, None, None, None, None, "", "")
"""The fields of a passage from `entry` to `trust`, by place: by name they would take four times as long."""


def turn_passage(session: Session, turn: Turn) -> Passage:
    """Return a turn as a passage under the path of its session's summary, dated by the turn, else the session (UTC)."""
    day, time = _utc(turn.time or session.created)
    return Passage(
        session.path,
        0,
        0,
        turn.text,
        "turn",
        "",
        day,
        *_NO_ENTRY,
        session.uuid,
        turn.id,
        turn.speaker or turn.role,
        turn.role,
        turn.position,
        time if turn.time else "",
        None,
        False,
        2 if only_asks(turn.text) else int(is_question(turn.text)),
    )


def entry_passage(entry: Entry, path: str = "MEMORY.md", lines: tuple[int, int] = (0, 0)) -> Passage:
    """Return an entry as a passage; without `lines` it names none."""
    filed = (entry.group or "", ", ".join([*entry.tags, *entry.entities]))
    return Passage(
        path,
        *lines,
        entry.text,
        "entry",
        heading=" > ".join(filter(None, filed)),
        date=entry.said_on.isoformat() if entry.said_on else None,
        entry=entry.id,
        category=entry.category,
        score=entry.score,
        scored=entry.scored.isoformat(),
        activated=entry.last_activated.isoformat(),
        state=entry.state,
        trust=entry.trust or "",
        session=entry.session,
        turn=entry.source.removeprefix("turn:") if entry.source and entry.source.startswith("turn:") else None,
        time=_utc(entry.created)[1],
        superseded_by=entry.superseded_by,
        pinned=entry.pinned,
        verified="" if entry.lasting or entry.expires or entry.confirmed_on is None else entry.confirmed_on.isoformat(),
    )


def indexed_text(passage: Passage) -> str:
    """Return what the words leg sees: `[date] Speaker: text` for a turn, else date, heading path, category and text."""
    date = f"[{passage.date}] " if passage.date else ""
    if passage.source == "turn":
        return f"{date}{passage.speaker}: {passage.text}" if passage.speaker else date + passage.text
    above = " ".join(filter(None, (passage.heading, passage.category)))
    return f"{date}{above}\n{passage.text}" if above else date + passage.text


def dense_text(passage: Passage) -> str:
    """Return what is embedded: the text alone, for documents and summaries with the heading path above it."""
    return dense_text_of(passage.source, passage.heading, passage.text)


def dense_text_of(source: str, heading: str, text: str) -> str:
    """Do as `dense_text`, of a passage's parts."""
    return f"{heading}\n{text}" if heading and source in ("document", "summary") else text


def utc_day(moment: datetime | None) -> str | None:
    """Return the UTC date of a moment, `YYYY-MM-DD`; None for None."""
    return _utc(moment)[0]


def _utc(moment: datetime | None) -> tuple[str | None, str]:
    """Return the UTC date and time of a moment; None and "" for None."""
    if moment is None:
        return None, ""
    with suppress(OverflowError):
        moment = moment.astimezone(UTC)
    return moment.date().isoformat(), moment.time().isoformat()


# --- splitting ----------------------------------------------------

_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|[ \t\r]*\Z)")
_UNDERLINE = re.compile(r" {0,3}(?:(=+)|-+)[ \t\r]*\Z")
_ITEM = re.compile(r" {0,3}(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]+|\Z)(?:\[[ xX]\][ \t]+)?")
_INDENTED = re.compile(r" {2,}|\t")
_DAYS = lazily(r"(?<![0-9])([0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01]))(?![0-9])")
_STAMPED = lazily(r"\W{0,4}[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")
_FRONT = lazily(r"(?s)---[ \t]*\r?\n(?:.*?\n)??---[ \t]*(?:\r?\n|\Z)")
_LETTER = re.compile(r"\w")
_SENTENCE_END = re.compile(r"(?<=[.!?])[ \t]+|(?<=[。！？；])|\n")

_BETWEEN = count_tokens("\n\n")


class Block(NamedTuple):
    """A piece of Markdown.

    Its lines (1-based, inclusive), text without list marker, headings above it (`A > B`), the number of its run of
    blocks that only blank lines part, and whether it is a list item or code.
    """

    start: int
    end: int
    text: str
    heading: str
    run: int
    item: bool = False
    code: bool = False


def blocks(text: str, *, first_line: int = 1) -> list[Block]:
    """Return the blocks of a Markdown text, without headings, comments, rules and blank lines."""
    reader = _Reader(text, first_line)
    while reader.at < len(reader.lines):
        reader.step()
    reader.flush(reader.at)
    return reader.found


def merged(text: str, pieces: Sequence[Block], limit: int, *, first_line: int = 1) -> Iterator[Block]:
    """Join neighbouring blocks of a run as long as they are within `limit` tokens; cut longer ones."""
    lines = text.split("\n")
    group: list[Block] = []
    size = 0
    for piece in pieces:
        tokens = count_tokens(piece.text)
        if group and (piece.run != group[-1].run or size + tokens + _BETWEEN > limit):
            yield _together(lines, group, first_line)
            group, size = [], 0
        if tokens > limit:  # in pieces of whole sentences (of code: whole lines) as far as they fit
            whole = "\n".join(lines[piece.start - first_line : piece.end - first_line + 1])
            line, counted = piece.start, 0
            for start, end in _spans(whole, limit, code=piece.code):
                part = whole[start:end]
                begin = start + len(part) - len(part.lstrip())
                part = part.strip()
                line += whole.count("\n", counted, begin)
                counted = begin
                if _LETTER.search(part):
                    yield piece._replace(start=line, end=line + part.count("\n"), text=part)
        else:
            group.append(piece)
            size += tokens + _BETWEEN
    if group:
        yield _together(lines, group, first_line)


class _Reader:
    """One pass over the lines; a block is open from `opened` until it is flushed."""

    def __init__(self, text: str, first_line: int) -> None:
        self.lines = text.split("\n")
        self.found: list[Block] = []
        self.at = 0
        self._text = text
        self._first = first_line
        self._fences = Fences(text) if "```" in text or "~~~" in text else None
        self._offset = 0
        self._last_comment_end = text.rfind("-->")
        self._opened: int | None = None
        self._item = False
        self._path: list[tuple[int, str]] = []
        self._run = 0

    def step(self) -> None:
        """Read the line at `at`, or the whole fence or comment that begins there."""
        line = self.lines[self.at]
        if not line.strip():
            following = self.lines[self.at + 1] if self.at + 1 < len(self.lines) else ""
            if not (self._item and _INDENTED.match(following) and following.strip()):  # else the list item goes on
                self.flush(self.at)
            self._advance(1)
        elif (fence := self._fences.end(self._offset) if self._fences else 0) or (
            self._offset < self._last_comment_end and line.lstrip().startswith("<!--")
        ):
            self._whole(fence)
        elif heading := _HEADING.match(line):  # the marks that may close it are no part of it
            title = line[heading.end() :].strip(" \t\r")
            opened = title.rstrip("#")
            self._head(len(heading[1]), opened if not opened or opened[-1] in " \t" else title)
        elif self._opened == self.at - 1 and not self._item and (underline := _UNDERLINE.match(line)):
            title = self.lines[self.at - 1].strip()
            self._opened = None
            self._head(1 if underline[1] else 2, title)
        else:
            if _ITEM.match(line):
                self.flush(self.at)
                self._item = True
            if self._opened is None:
                self._opened = self.at
            self._advance(1)

    def flush(self, end: int, *, code: bool = False) -> None:
        """Close the open block before line `end`."""
        if self._opened is None:
            return
        start, self._opened = self._opened, None
        whole = "\n".join(self.lines[start:end])
        marker = _ITEM.match(whole) if self._item else None
        text = (whole[marker.end() :] if marker else whole).strip()
        if _LETTER.search(text):
            last = start + whole.rstrip().count("\n") + 1
            heading = " > ".join([title for _, title in self._path])
            first = self._first + start
            self.found.append(Block(first, self._first + last - 1, text, heading, self._run, self._item, code))
        self._item = False

    def _advance(self, count: int) -> None:
        for line in self.lines[self.at : self.at + count]:
            self._offset += len(line) + 1
        self.at += count

    def _whole(self, fence: int) -> None:
        """Make a fence a block of its own; pass over a comment."""
        self.flush(self.at)
        end = fence or self._text.find("-->", self._offset) + 3
        count = self._text.count("\n", self._offset, end) + 1
        if fence:
            self._opened = self.at
            self.flush(self.at + count, code=True)
        else:
            self._run += 1
        self._advance(count)

    def _head(self, level: int, title: str) -> None:
        self.flush(self.at)
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        if title.strip():
            self._path.append((level, title.strip()))
        self._run += 1
        self._advance(1)


def _together(lines: Sequence[str], group: Sequence[Block], first_line: int) -> Block:
    if len(group) == 1:
        return group[0]
    start, end = group[0].start, group[-1].end
    text = "\n".join(lines[start - first_line : end - first_line + 1]).strip()
    return group[0]._replace(end=end, text=text, item=False, code=False)


def _spans(text: str, limit: int, *, code: bool) -> Iterator[tuple[int, int]]:
    """Yield offsets of consecutive pieces of at most about `limit` tokens."""
    start = end = size = 0
    ends = (match.end() for match in (re.compile("\n") if code else _SENTENCE_END).finditer(text))
    for stop in (*(end for end in ends if end < len(text)), len(text)):
        tokens = count_tokens(text[end:stop])
        if size and size + tokens > limit:
            yield start, end
            start, size = end, 0
        step = max(1, (stop - start) * limit // max(tokens, 1))
        while tokens > limit and stop - start > step:
            blank = text.rfind(" ", max(start + 1, start + step - 80), start + step)  # so that no word is cut
            middle = blank if blank > start else start + step
            yield start, middle
            start, tokens = middle, tokens * (stop - middle) // (stop - start)
        end, size = stop, size + tokens
    if start < end:
        yield start, end


MAX_TOKENS = 400
"""About how long a passage of a document may be, as `count_tokens` counts."""


class Split(NamedTuple):
    """The passages of a document in the order of their lines, and what could not be read as meant."""

    passages: tuple[Passage, ...]
    warnings: tuple[str, ...] = ()


def split(path: str, text: str, modified: float) -> Split:
    """Split a document into passages by what its path says it is; never raises.

    `MEMORY.md` and `archive/*.md`: each entry, list item and paragraph. `daily/*.md`: each note. `sessions/*.md`: title
    and summary, each decision, each open question. Others: by headings, up to about `MAX_TOKENS`; of `items/*.md` what
    stands above the JSON. `modified` dates entries edited by hand.
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
    if path.startswith("items/"):
        text = item_md.readable(text)
    return Split(tuple(_document(path, text)))


def split_added(path: str, before: str, added: str) -> tuple[Passage, ...] | None:
    """Return the passages that appending `added` to `before` adds; None where only the whole text can tell."""
    if not path.startswith("daily/") or not before.endswith("\n") or not added.endswith("\n") or "<!--" in before:
        return None
    day, first = session_md.day_of(path), before.count("\n") + 1
    read = [_note(path, day, number, line) for number, line in enumerate(added.split("\n")[:-1], first)]
    found = tuple(note for note in read if note is not None)
    return tuple(note for note in found if note.text) if len(found) == len(read) else None


# --- by kind of document -----------------------------------------------------------------------


def _memory(path: str, text: str, modified: float) -> Split:
    try:
        changed = datetime.fromtimestamp(modified, UTC)
    except (ValueError, OverflowError, OSError):
        changed = datetime.fromtimestamp(0, UTC)
    document = memory_md.parse(text, modified=changed)
    found = [entry_passage(one.entry, path, (one.start_line, one.end_line)) for one in document.located]
    line = 1
    for part in document.parts:
        if isinstance(part, str):
            found += _written(path, part, line)
        else:  # a block that could not be read as an entry is found as what it is: text
            for block in part.blocks:
                if block.entry is None and block.raw.strip():
                    found += _written(path, block.raw, block.line)
        line += raw(part).count("\n")
    return Split(tuple(sorted(found, key=lambda passage: passage.start_line)), document.warnings)


def _written(path: str, text: str, first_line: int) -> Iterator[Passage]:
    """Yield what a person wrote, item by item; an item that is too long is cut."""
    apart = [block._replace(run=run) for run, block in enumerate(blocks(text, first_line=first_line))]
    for piece in merged(text, apart, MAX_TOKENS, first_line=first_line):
        passage = _passage(path, piece)
        if BY_AGENT in passage.text + passage.heading:
            said, filed = (told.replace(BY_AGENT, "") for told in (passage.text, passage.heading))
            passage = passage._replace(text=said, heading=filed, trust="agent")
        yield passage


def _daily(path: str, text: str) -> Iterator[Passage]:
    day = session_md.day_of(path)
    lines = text.split("\n")
    closed = [(text.count("\n", 0, start), text.count("\n", 0, end)) for start, end in fenced_blocks(text) if end]
    fenced = {line + 1 for first, last in closed for line in range(first, last)}
    found: list[Passage] = []
    others = False
    for number, line in enumerate(lines, 1):
        note = _note(path, day, number, line)
        if note is None:
            others = others or bool(line.strip())
            continue
        if number not in fenced:  # there it is shown as it stands
            lines[number - 1] = "<!-- -->"  # so that what stands around it is not taken for one run
        if note.text:
            found.append(note)
    if others:
        found += _document(path, "\n".join(lines))
        found.sort(key=lambda passage: passage.start_line)
    yield from found


def _note(path: str, day: date | None, number: int, line: str) -> Passage | None:
    """Return the note in a line, with blank text if it says nothing; None if there is none."""
    note = session_md.parse_line(line, day=day)
    if note is None:
        return None
    filed = ", ".join(filter(None, (note.kind, *note.tags))) if note.kind or note.tags else ""
    said = note.text if note.text.strip() else ""
    on, time = (day or note.time.date()).isoformat(), _utc(note.time)
    return Passage(path, number, number, said, "note", filed, on, time=time[1] if time[0] == on else "")


def _session(path: str, text: str) -> Iterator[Passage]:
    summary = session_md.parse(text)
    date = utc_day(summary.started) or _day_in(path)
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
    if not body and summary.title:  # a page that has nothing else to say
        line = next((number for number, line in enumerate(text.split("\n"), 1) if summary.title in line), 1)
        found.insert(0, Block(line, line, summary.title, "", 0))
    node = session_md.node_of(path)
    for block in sorted(found, key=lambda block: block.start):
        passage = _passage(path, block)._replace(source="summary", date=date, session=summary.session or None)
        if node:  # collected from another machine, by whose name it is found too
            passage = passage._replace(heading=" > ".join(filter(None, (node, block.heading))), trust="import")
        yield passage


@lru_cache(maxsize=64)
def _place(heading: str) -> str:
    """Return where a section of that title goes, asked of the format itself: `items`, `turns` or `` (the summary)."""
    read = session_md.parse(f"## {heading}\n\n- x\n")
    return "turns" if read.turn_ids else "items" if read.decisions or read.open_questions else ""


def _document(path: str, text: str) -> Iterator[Passage]:
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
    for found in _DAYS.finditer(text):
        with suppress(ValueError):  # the 30th of February may stand in the name of a file
            return date.fromisoformat(found[1]).isoformat()
    return None
