"""The parts of a document of entries: managed sections, and the prose and list items of a person."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import pairwise
from typing import NamedTuple

from memorybook.errors import InvalidInput
from memorybook.formats.entry_block import HEADING, MANAGED, NO_ID, made_ids, read_entry, read_loose
from memorybook.formats.escape import UNSAFE, Fences, escape, fences, has_open_fence
from memorybook.model import Entry

_MARK = re.compile(r"\n(?=#|```|~~~)")
_LEVEL = re.compile(rf"(?m)(#{{1,3}})(?={HEADING})")
_MANAGED = re.compile(rf"(?mi)##{MANAGED}")
_ARCHIVE = re.compile(r"\s*(?=# Archive [0-9]{4}-[0-9]{2}[ \t\r]*(?:\n|\Z))")
_BLOCK_END = rf"(?mi)^(?:#{{2,3}}{HEADING}|##{MANAGED})"
_STRAY = r"\n### \[[^\s\[\]|]+\][ \t]+\w+[ \t]*\|[ \t]*[01]\.[0-9]"
_MERGE = r"(?m)^(?:<{7} |={7}\s*$|>{7} )"
_UNMERGED = "this looks like a merge that was not finished; it is kept as it is"
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_OPAQUE = re.compile(r"(?ms)^<!--.*?-->")
_ITEM_START = re.compile(r"(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]|\r?\n?\Z)")


class Block(NamedTuple):
    """A piece of a managed section: an entry, or with None something that stays as it is."""

    raw: str
    line: int
    entry: Entry | None
    settled: bool = True


class Section(NamedTuple):
    """A managed section: its heading with the blank lines after it, and its blocks."""

    heading: str
    archived: bool
    blocks: tuple[Block, ...]


def raw(part: str | Section) -> str:
    """Return the part as it was read."""
    return part if isinstance(part, str) else part.heading + "".join([block.raw for block in part.blocks])


def is_managed(heading: str) -> bool:
    """Return whether a second-level heading of that name opens a managed section."""
    return _MANAGED.match(f"## {heading}") is not None


class Layout(NamedTuple):
    """A document as read: prose and sections (joined by `raw` they are the text), entries by id, warnings.

    `open_fence` if a person's part opens a code fence that nothing closes.
    """

    parts: tuple[str | Section, ...]
    known: dict[str, Entry]
    warnings: tuple[str, ...]
    open_fence: bool


def read(text: str, day: date) -> Layout:
    """Read a document; `day` is that of its last change. No text raises."""
    bom = text[:1] if text[:1] == "\ufeff" else ""
    scan = _Scan("\n" + text[len(bom) :])
    reader = _Reader(scan.text, day)
    parts: list[str | Section] = [bom] if bom else []
    for start, end, kind in scan.spans():
        parts.append(reader.prose(start, end) if kind is None else reader.section(start, end, kind, scan.titles))
    if bom and len(parts) > 1 and isinstance(parts[1], str):
        parts[:2] = [bom + parts[1]]
    known = _with_ids(parts, reader.warnings)
    warnings = sorted(scan.warnings + reader.warnings)
    return Layout(tuple(parts), known, tuple([f"line {line}: {text}" for line, text in warnings]), scan.open_fence)


class _Scan:
    """Where sections, prose and titles begin. The text is the document's, with a newline put before it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.open_fence = False
        self.warnings: list[tuple[int, str]] = []
        self.titles: list[int] = []
        self._archive = _ARCHIVE.match(text)
        self._sections: list[tuple[int, bool | None]] = [(1, None)]
        self._fences = Fences(text)
        skip, managed = 0, False
        for mark in _MARK.finditer(text):
            at = mark.end()
            if at < skip:
                continue
            if text[at] != "#":
                skip = self._fence(at, managed)
            elif managed and text.startswith("### ", at):
                self.titles.append(at)
            else:
                managed = self._heading(at, managed)

    def spans(self) -> Iterator[tuple[int, int, bool | None]]:
        """Yield start, end and kind (prose None, active False, archived True) of every part that is not empty."""
        ends = [start for start, _ in self._sections[1:]] + [len(self.text)]
        for (start, kind), end in zip(self._sections, ends, strict=True):
            if start < end or not self._sections[1:]:
                yield start, end, kind

    def _heading(self, at: int, managed: bool) -> bool:
        archive = self._archive is not None and self._archive.end() == at
        named = _MANAGED.match(self.text, at)
        if archive or named is not None:
            self._sections.append((at, archive or (named is not None and named[2] is not None)))
            return True
        level = _LEVEL.match(self.text, at)
        if not managed or level is None:
            return managed
        if len(level[1]) == 3:
            self.titles.append(at)
            return True
        self._sections.append((at, None))
        return False

    def _fence(self, at: int, managed: bool) -> int:
        """Return the end of the fenced block here, 0 if none.

        In a section it ends before the next title at the latest.
        """
        end = self._fences.end(at)
        if not end:
            self.open_fence = self.open_fence or not managed
        elif managed:
            stop = re.search(_BLOCK_END, self.text[at:end])
            return 0 if stop is not None else end
        elif (hidden := _MANAGED.search(self.text, at, end)) is not None and self.text[hidden.start() - 1] == "\n":
            line = self.text.count("\n", 0, hidden.start())
            self.warnings.append((line, f"{hidden[0].strip()!r} stands in a code fence and is read as an example"))
        return end


class _Reader:
    """Reads parts in their order, counting lines."""

    def __init__(self, text: str, day: date) -> None:
        self.warnings: list[tuple[int, str]] = []
        self._text = text
        self._day = day
        self._line = 1
        self._at = 1
        self._title = 0
        self._fenced = "\n```" in text or "\n~~~" in text
        self._merging = "\n<<<<<<< " in text or "\n>>>>>>> " in text

    def prose(self, start: int, end: int) -> str:
        """Return the text of a person's part."""
        for stray in re.finditer(_STRAY, self._text[start - 1 : end]):
            line = self._line_of(start + stray.start())
            self.warnings.append((line, "this entry stands outside the managed sections and is not read"))
        return self._text[start:end]

    def section(self, start: int, end: int, archived: bool, titles: list[int]) -> Section:
        """Return the section whose heading is at `start`."""
        text = self._text
        body = text.find("\n", start, end) + 1 or end
        cuts = []
        while self._title < len(titles) and titles[self._title] < end:
            cuts.append(titles[self._title])
            self._title += 1
        heading, blocks = self._loose(body, cuts[0] if cuts else end, archived)
        for cut, after in pairwise([*cuts, end]):
            line = self._line_of(cut)
            entry, settled, length, warnings = read_entry(text[cut:after], day=self._day, archived=archived)
            stop = cut + length
            if self._merging and re.search(_MERGE, text[cut:stop]):
                entry, settled, warnings = None, True, (_UNMERGED,)
            elif self._fenced and has_open_fence(text[cut:stop]):
                settled = False
            self.warnings += [(line, warning) for warning in warnings]
            loose: list[Block] = []
            if after - stop > 2 and text[stop:after].strip(" \t\r\n"):
                lead, loose = self._loose(stop, after, archived)
                after = stop + len(lead)
            blocks += [Block(text[cut:after], line, entry, settled), *loose]
        return Section(text[start:body] + heading, archived, tuple(blocks))

    def _loose(self, start: int, end: int, archived: bool) -> tuple[str, list[Block]]:
        """Return blank lines, then what a person wrote between the entries, by items and paragraphs."""
        blocks: list[Block] = []
        lead, chunks = _chunks(self._text[start:end])
        at = start + len(lead)
        for chunk in chunks:
            line = self._line_of(at)
            entry = read_loose(chunk, day=self._day, archived=archived)
            if self._merging and re.search(_MERGE, chunk):
                entry = None
                self.warnings.append((line, _UNMERGED))
            blocks.append(Block(chunk, line, entry, settled=entry is None))
            at += len(chunk)
        return lead, blocks

    def _line_of(self, at: int) -> int:
        self._line += self._text.count("\n", self._at, at)
        self._at = at
        return self._line


def _chunks(text: str) -> tuple[str, list[str]]:
    """Return leading blank lines; then items, paragraphs, fences and comments, each with the blank lines after it."""
    fences = Fences(text)
    starts: list[int] = []
    at = opaque = 0
    ended = True
    for match in _LINE.finditer(text):
        at, line = match.start(), match[0]
        if at >= opaque:
            comment = _OPAQUE.match(text, at)
            fence = fences.end(at) if line.startswith(("```", "~~~")) else 0
            blank = not line.strip(" \t\r\n")
            item = _ITEM_START.match(line) is not None
            continued = bool(starts) and line[0] in " \t" and _ITEM_START.match(text, starts[-1], at) is not None
            if not blank and (comment or item or (ended and not continued)):
                starts.append(at)
            opaque = max(fence, comment.end() if comment else 0)
            ended = blank or comment is not None
    ends = [*starts, len(text)]
    return text[: ends[0]], [text[start:end] for start, end in pairwise(ends)]


def _with_ids(parts: list[str | Section], warnings: list[tuple[int, str]]) -> dict[str, Entry]:
    """Return the entries by id; gives one, in place, to each that has none or one that was taken before it."""
    entries = [block.entry for part in parts if isinstance(part, Section) for block in part.blocks if block.entry]
    known = {entry.id: entry for entry in entries}
    if len(known) == len(entries) and NO_ID not in known:
        return known
    taken = set(known)
    known = {}
    made: dict[str, Iterator[str]] = {}
    for index, part in enumerate(parts):
        if not isinstance(part, Section):
            continue
        blocks = list(part.blocks)
        for place, block in enumerate(blocks):
            entry = block.entry
            if entry is None:
                continue
            if entry.id == NO_ID or entry.id in known:
                ids = made.setdefault(entry.text, made_ids(entry.text))  # goes on where the last of that text ended
                id = next(id for id in ids if id not in taken)
                if entry.id != NO_ID:
                    warnings.append((block.line, f"another entry has the id {entry.id!r}; this one is now {id!r}"))
                entry = replace(entry, id=id)
                blocks[place] = block._replace(entry=entry, settled=False)
                taken.add(id)
            known[entry.id] = entry
        parts[index] = part._replace(blocks=tuple(blocks))
    return known


_HEADING = re.compile(r"(?m)^\ufeff?#{1,6}(?=[ \t\u3000\xa0\r]|$)([^\n]*)")
_UPDATED = re.compile(r"(?m)^<!--[ \t]*Last updated:[^\n]*?-->[ \t]*")
_TOTAL = re.compile(r"(?m)^<!--[ \t]*Total entries:[^\n]*?-->[ \t]*")


BY_AGENT = " <!-- trust: agent -->"
"""What a line ends with that no person wrote; without it the line is a person's."""

_COMMENT = re.compile(r"<!--.*?-->")


# --- whose lines they are ------------------------------------------------------------------------


def stamped(text: str, known: Collection[str]) -> str:
    """Return the text with every line that says something stamped as an agent's, but for the known ones."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        said = line.rstrip()
        if not _is_held(line, known) and not said.endswith(BY_AGENT.strip()):
            lines[at] = said + BY_AGENT + line[len(said) :]
    return "\n".join(lines)


def by_people(text: str) -> str:
    """Return the text without the lines that are stamped as an agent's."""
    if BY_AGENT.strip() not in text:
        return text
    return "\n".join([line for line in text.split("\n") if not line.rstrip().endswith(BY_AGENT.strip())])


def said_by_people(text: str) -> set[str]:
    """Return the lines that people wrote and that say something, without headings."""
    lines = {line.rstrip() for line in by_people(text).split("\n")}
    return {line for line in lines if not _is_held(line, ()) and not _HEADING.match(line)}


def _is_held(line: str, known: Collection[str]) -> bool:
    return line.rstrip() in known or not any(map(str.isalnum, _COMMENT.sub("", line)))


# --- header ------------------------------------------------------------------------------------


def with_header(text: str, *, now: datetime, total: int) -> str:
    """Renew the two header comments where they stand above the first second-level heading."""
    header, rest = _header(text)
    stamp = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    header = _UPDATED.sub(f"<!-- Last updated: {stamp} -->", header, count=1)
    return _TOTAL.sub(f"<!-- Total entries: {total} -->", header, count=1) + rest


def without_header(text: str) -> str:
    """Drop the lines of the two header comments."""
    header, rest = _header(text)
    for comment in (_UPDATED, _TOTAL):
        header = re.sub(comment.pattern + r"(?:\r?\n|\Z)", "", header, count=1)
    return header + rest


def _header(text: str) -> tuple[str, str]:
    end = text.find("\n## ")
    return (text, "") if end < 0 else (text[: end + 1], text[end + 1 :])


# --- list items --------------------------------------------------------------------------------


def item(text: str) -> str:
    """Return the text as a list item, further lines indented, no final newline. Raises InvalidInput if it is blank."""
    lines = [line.rstrip() for line in text.strip().split("\n")]
    if not lines[0]:
        raise InvalidInput("an item needs a text: nothing was given but white space")
    return "- " + "\n  ".join([escape(UNSAFE, line) for line in lines])


def end_of_section(text: str, heading: str) -> tuple[int, int] | None:
    """Return the ends of a section's heading and of its last line, without subsections; None if there is none."""
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
    """Insert the item as a line of its own at the end of that section."""
    heading_end, end = place
    end = max(end, heading_end - (text[heading_end - 1] == "\r"))
    gap = newline * 2 if end <= heading_end else newline
    rest = text[end:] or newline
    return text[:end] + gap + item.replace("\n", newline) + rest


def add_section(text: str, heading: str, item: str, newline: str) -> str:
    """Append a new section that holds the item."""
    return ended(text, newline) + f"## {heading}{newline * 2}{item}\n".replace("\n", newline)


def ended(text: str, newline: str) -> str:
    """Return the text with a blank line at its end, so that a heading may follow."""
    if not text.strip("\ufeff") or re.search(r"\n[ \t]*\r?\n\Z", text):
        return text
    return text + (newline if text.endswith("\n") else newline * 2)


def find_item(text: str, heading: str, item: str) -> tuple[int, int] | None:
    """Return start and end (with its newline) of that list item under that heading; None if it is not there."""
    place = end_of_section(text, heading)
    if place is None:
        return None
    pattern = r"\r?\n".join([re.escape(line) + r"[ \t]*" for line in item.split("\n")])
    match = re.compile(rf"(?m)^{pattern}(?:\r?\n(?![ \t]+\S)|\r?\Z)").search(text, place[0], place[1] + 2)
    return None if match is None else match.span()
