"""`MEMORY.md` and `archive/YYYY-MM.md`: what a person wrote, and the entries in two managed sections.

A document is prose and managed sections in turn. `## Active Memories` and `## Archived Memories`
(also in other spellings and in Chinese) hold entries; so does all of an archive under its title
`# Archive 2026-02`. A section ends at the next heading of the first or second level. A managed
heading within a closed code fence of a person's prose is an example, and is reported.

In a section stand entries (see `entry_block`), and what a person put between them: a list item or
a paragraph is read as an entry without an id; comments, rules and what cannot be read stay as they
are, in their place. An id that is missing or taken is made from the text, so that every reading
assigns the same, until a rewrite writes it down.

Text that was not changed renders byte for byte as it was; after a change, all outside the managed
sections and the two header comments does. Documents are decoded with `surrogateescape`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from memorybook.errors import InvalidInput
from memorybook.formats.entry_block import (
    HEADING,
    MANAGED,
    NO_ID,
    UNSAFE,
    Fences,
    base36,
    escape,
    fenced_blocks,
    has_open_fence,
    made_ids,
    parse_entry,
    read_entry,
    read_loose,
    render_entry,
)
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
    """A piece of a managed section: an entry, or with None other text, which stays unchanged."""

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


FORMAT = 1
"""Format of the documents that this version writes. A book that does not say which has the first."""

_FORMAT = re.compile(r"(?m)^<!--[ \t]*memorybook format:[ \t]*([0-9]{1,9})[ \t]*-->")


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


def format_of(text: str) -> int:
    """Return the format of a MEMORY.md, 1 if its header names none.

    A version that writes what an older one would misread puts `<!-- memorybook format: 2 -->` there.
    """
    end = text.find("\n## ")
    found = _FORMAT.search(text, 0, len(text) if end < 0 else end + 1)
    return int(found[1]) if found else 1


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


def as_item(text: str) -> str:
    """Return the text as a list item, further lines indented, no final newline. Raises InvalidInput if it is blank."""
    lines = [line.rstrip() for line in text.strip().split("\n")]
    if not lines[0]:
        raise InvalidInput("an item needs a text: nothing was given but white space")
    return "- " + "\n  ".join([escape(UNSAFE, line) for line in lines])


def end_of_section(text: str, heading: str) -> tuple[int, int] | None:
    """Return the ends of a section's heading and of its last line, without subsections; None if there is none."""
    within = [span for span in fenced_blocks(text) if span[1]]
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


# --- documents -----------------------------------------------------------------------------------


__all__ = [
    "Located", "MemoryDocument", "archive_path", "archive_template", "new_id", "parse", "parse_entry",
    "render_archive", "render_entry", "template",
]  # fmt: skip

ACTIVE = "## Active Memories"
ARCHIVED = "## Archived Memories"


class Located(NamedTuple):
    """An entry with the lines it takes in the text that was parsed, 1-based and inclusive."""

    entry: Entry
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDocument:
    """A document as a value, made by `parse`; every edit returns another one.

    `parts` are prose (verbatim) and managed sections; `warnings` say `line 12: …`; `unsettled` means that reading made
    something up, which the next rewrite writes down.
    """

    parts: tuple[str | Section, ...]
    warnings: tuple[str, ...] = ()
    unsettled: bool = False
    _known: Mapping[str, Entry] = field(repr=False)
    _edits: Mapping[str, Entry | None] = field(default_factory=dict, repr=False)
    _rewrite: bool = False
    _newline: str = "\n"
    _open_fence: bool = False

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries: the active ones, then the archived ones, each in the order they stand in; new ones last."""
        edits = self._edits
        if edits:
            known = [edits.get(id, entry) for id, entry in self._known.items()]
            known += [entry for id, entry in edits.items() if id not in self._known]
            found = [entry for entry in known if entry is not None]
        else:
            found = list(self._known.values())
        return tuple(sorted(found, key=attrgetter("archived")))

    @property
    def located(self) -> tuple[Located, ...]:
        """Where the entries stand in the text that was parsed, in the order of the text; edits do not show."""
        return tuple(
            Located(block.entry, block.line, block.line + block.raw.rstrip().count("\n"))
            for part in self.parts
            if isinstance(part, Section)
            for block in part.blocks
            if block.entry is not None
        )

    @property
    def prose(self) -> str:
        """What stands outside the managed sections, verbatim, without the two header comments."""
        return "".join([without_header(part) for part in self.parts if isinstance(part, str)])

    def stamped(self, before: MemoryDocument) -> MemoryDocument:
        """Stamp every line outside the managed sections that does not stand in `before` as an agent's."""
        known = {line.rstrip() for part in before.parts if isinstance(part, str) for line in part.split("\n")}
        parts = [stamped(part, known) if isinstance(part, str) else part for part in self.parts]
        return replace(self, parts=tuple(parts))

    def lines_of_people(self) -> set[str]:
        """Return the lines outside the managed sections that a person wrote and that say something; headings do not."""
        return {line for part in self.parts if isinstance(part, str) for line in said_by_people(part)}

    def get(self, id: str) -> Entry | None:
        """Return the entry of that id, or None."""
        return self._edits[id] if id in self._edits else self._known.get(id)

    def with_entry(self, entry: Entry) -> MemoryDocument:
        """Add or replace an entry; `archived` chooses the section (an archive has one)."""
        if not entry.archived and any(isinstance(one, Section) and one.heading.startswith("# ") for one in self.parts):
            entry = replace(entry, archived=True)
        if self.get(entry.id) == entry:
            return self
        return replace(self, _edits={**self._edits, entry.id: entry})

    def with_entries(self, entries: Iterable[Entry]) -> MemoryDocument:
        """Put each of these entries in the place of the one with its id."""
        edits = {entry.id: entry for entry in entries}
        return replace(self, _edits={**self._edits, **edits}) if edits else self

    def without(self, id: str) -> MemoryDocument:
        """Drop the entry of that id; the same document if there is none."""
        return self if self.get(id) is None else replace(self, _edits={**self._edits, id: None})

    def settled(self) -> MemoryDocument:
        """Return the same document, to be rewritten if it is `unsettled`."""
        return replace(self, _rewrite=True) if self.unsettled else self

    # --- a person's part -----------------------------------------------------------------------

    def with_item(self, section: str, text: str) -> MemoryDocument:
        """Add the list item `- text` as the last under that heading of a person's part.

        A missing `## section` is made before the managed ones. Raises InvalidInput for a blank text or a heading that
        is managed, blank or of several lines.
        """
        heading, item = _checked_heading(section), as_item(text)
        for index, part in enumerate(self.parts):
            if isinstance(part, str) and (place := end_of_section(part, heading)) is not None:
                return self._with_part(index, insert_item(part, place, item, self._newline))
        prose = [part for part in self.parts[:1] if isinstance(part, str)]
        rest = self.parts[len(prose) :]
        added = add_section("".join(prose), heading, item, self._newline)
        return replace(self, parts=(added + self._newline if rest else added, *rest))

    def without_item(self, section: str, text: str) -> MemoryDocument:
        """Remove that list item under that heading, if it is there. Raises InvalidInput as `with_item`."""
        found = self._find_item(section, text)
        if found is None:
            return self
        index, start, end = found
        part = self.parts[index]
        assert isinstance(part, str)
        return self._with_part(index, part[:start] + part[end:])

    def without_line(self, line: str, left: str = "") -> MemoryDocument:
        """Leave `left` of the first such line of the person's part; the same document if there is none."""
        for index, part in enumerate(self.parts):
            if isinstance(part, str):
                lines = part.splitlines(keepends=True)
                place = next((n for n, one in enumerate(lines) if one.rstrip("\r\n") == line), None)
                if place is not None:
                    stays = [lines[place].replace(line, left)] if left else []
                    return self._with_part(index, "".join(lines[:place] + stays + lines[place + 1 :]))
        return self

    def item_line(self, section: str, text: str) -> int | None:
        """Return the line (1-based) of that list item before edits of entries, if any. Raises as `with_item`."""
        found = self._find_item(section, text)
        if found is None:
            return None
        index, start, _ = found
        before = "".join([raw(part) for part in self.parts[:index]])
        part = self.parts[index]
        assert isinstance(part, str)
        return before.count("\n") + part.count("\n", 0, start) + 1

    def _find_item(self, section: str, text: str) -> tuple[int, int, int] | None:
        heading, item = _checked_heading(section), as_item(text)
        for index, part in enumerate(self.parts):
            if isinstance(part, str) and (span := find_item(part, heading, item)) is not None:
                return index, *span
        return None

    def _with_part(self, index: int, text: str) -> MemoryDocument:
        return replace(self, parts=(*self.parts[:index], text, *self.parts[index + 1 :]))

    # --- rendering -----------------------------------------------------------------------------

    def render(self, *, now: datetime, strength: Callable[[Entry], float] | None = None) -> str:
        """Render the document.

        Without a changed entry every byte outside a changed list item is as it was. Otherwise header comments are
        renewed and sections sorted by `strength` (None: the stored score), equal ones in their order.
        """
        if not (self._edits or self._rewrite):
            return "".join([raw(part) for part in self.parts])
        parts = self._edited_parts()
        order = strength or attrgetter("score")
        total = sum(block.entry is not None for part in parts if isinstance(part, Section) for block in part.blocks)
        rendered: list[str] = []
        header = True
        for index, part in enumerate(parts):
            if isinstance(part, str):
                rendered.append(with_header(part, now=now, total=total) if header else part)
                header = False
            else:
                rendered.append(self._render_section(part, order, last=index == len(parts) - 1))
        return "".join(rendered)

    def _edited_parts(self) -> list[str | Section]:
        """Return the parts with the edits worked in, missing sections made."""
        edits = dict(self._edits)
        parts: list[str | Section] = []
        for part in self.parts:
            if isinstance(part, Section):
                blocks = []
                for block in part.blocks:
                    id = block.entry.id if block.entry is not None else None
                    if id is None or id not in edits:
                        blocks.append(block)
                    elif (edited := edits[id]) is not None and edited.archived == part.archived:
                        blocks.append(Block("", 0, edited, settled=False))
                        del edits[id]
                part = part._replace(blocks=tuple(blocks))
            parts.append(part)
        for archived in (False, True):
            new = [entry for entry in edits.values() if entry is not None and entry.archived == archived]
            if not new:
                continue
            added = tuple([Block("", 0, entry, settled=False) for entry in new])
            sections = [(index, part) for index, part in enumerate(parts) if isinstance(part, Section)]
            fitting = [(index, section) for index, section in sections if section.archived == archived]
            if fitting:
                index, section = fitting[0]
                parts[index] = section._replace(blocks=section.blocks + added)
                continue
            index = sections[0][0] if sections and not archived else len(parts)  # the active before the archived
            if index and isinstance(before := parts[index - 1], str):
                parts[index - 1] = ended(before, self._newline)
            parts.insert(index, Section((ARCHIVED if archived else ACTIVE) + self._newline, archived, added))
        return parts

    def _render_section(self, section: Section, order: Callable[[Entry], float], *, last: bool) -> str:
        newline = self._newline
        blocks = [block for block in section.blocks if block.entry is not None]
        blocks.sort(key=lambda block: order(block.entry) if block.entry is not None else 0.0, reverse=True)
        for place, block in enumerate(section.blocks):
            if block.entry is None:  # it keeps its place, so that no title takes a comment for its text
                loose = not block.raw.startswith("###")
                while loose and 0 < place <= len(blocks) and blocks[place - 1].entry is None:
                    place -= 1
                blocks.insert(place, block)
        texts = [section.heading.strip("\r\n")]
        for block, after in zip(blocks, [*blocks, None][1:], strict=True):
            loose_after = after is not None and after.entry is None and not after.raw.startswith("###")
            if block.entry is not None and (loose_after or not block.settled):
                texts.append(render_entry(block.entry, fences=not self._open_fence).replace("\n", newline))
            else:
                texts.append(block.raw.rstrip("\r\n"))
        return (newline * 2).join(texts) + newline * (1 if last else 2)


def _checked_heading(section: str) -> str:
    heading = section.strip().lstrip("#").strip()
    if not heading or "\n" in heading or "\r" in heading:
        raise InvalidInput(f"section {section!r} is no heading: name one line such as 'Preferences'")
    if is_managed(heading):
        raise InvalidInput(f"section {section!r} holds entries, not list items: add an entry instead")
    return heading


# --- parsing -----------------------------------------------------------------------------------


def parse(text: str, *, modified: datetime) -> MemoryDocument:
    """Read a document; no text raises. `modified` (aware) dates what a person edited by hand."""
    first = text.find("\n")
    reading = read(text, modified.astimezone(UTC).date())
    sections = [part for part in reading.parts if isinstance(part, Section)]
    return MemoryDocument(
        parts=reading.parts,
        warnings=reading.warnings,
        unsettled=any(not block.settled for section in sections for block in section.blocks),
        _known=reading.known,
        _newline="\r\n" if first > 0 and text[first - 1] == "\r" else "\n",
        _open_fence=reading.open_fence,
    )


# --- new documents -----------------------------------------------------------------------------


def new_id(taken: Container[str]) -> str:
    """Return a random id of six characters a-z0-9 that is not among the taken ones."""
    while True:
        id = base36(int.from_bytes(os.urandom(8), "big"))
        if id not in taken:
            return id


_HEADINGS = {"en": ("Preferences", "Project Facts", "Decisions", "TODO"), "zh": ("偏好", "项目事实", "决定", "待办")}


def template(title: str = "Agent Memory", *, language: str = "en", dated: bool = True) -> str:
    """Return a fresh book's MEMORY.md with headings for a person to fill, in `en` or `zh`.

    Unless it is `dated` it has none of the two comments that change with every write, as it should be under git.
    """
    header = "\n<!-- Last updated: never -->\n<!-- Total entries: 0 -->\n" if dated else ""
    return f"# {title}\n{header}" + "".join([f"\n## {heading}\n" for heading in _HEADINGS[language]])


def archive_path(day: date) -> str:
    """Return the document for entries that leave MEMORY.md on that day, `archive/2026-02.md`."""
    return f"archive/{day:%Y-%m}.md"


def archive_template(path: str) -> str:
    """Return an empty archive, `# Archive 2026-02`. Raises InvalidInput for a path that is none."""
    match = re.fullmatch(r"archive/([0-9]{4}-[0-9]{2})\.md", path)
    if match is None:
        raise InvalidInput(f"{path!r} is no archive: it is named archive/YYYY-MM.md")
    return f"# Archive {match[1]}\n"


def render_archive(path: str, entries: Iterator[Entry] | tuple[Entry, ...], *, now: datetime) -> str:
    """Return a whole archive of these entries, strongest first. Raises InvalidInput as `archive_template`."""
    document = parse(archive_template(path), modified=now)
    for entry in entries:
        document = document.with_entry(entry)
    return document.render(now=now)
