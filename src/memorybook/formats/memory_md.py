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
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from operator import attrgetter
from typing import NamedTuple

from memorybook.errors import InvalidInput
from memorybook.formats import sections as page
from memorybook.formats.entry_block import base36, parse_entry, render_entry
from memorybook.formats.sections import Block, Section, is_managed, raw, read
from memorybook.model import Entry

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
        return "".join([page.without_header(part) for part in self.parts if isinstance(part, str)])

    def stamped(self, before: MemoryDocument) -> MemoryDocument:
        """Stamp every line outside the managed sections that does not stand in `before` as an agent's."""
        known = {line.rstrip() for part in before.parts if isinstance(part, str) for line in part.split("\n")}
        parts = [page.stamped(part, known) if isinstance(part, str) else part for part in self.parts]
        return replace(self, parts=tuple(parts))

    def lines_of_people(self) -> set[str]:
        """Return the lines outside the managed sections that a person wrote and that say something; headings do not."""
        return {line for part in self.parts if isinstance(part, str) for line in page.said_by_people(part)}

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
        heading, item = _checked_heading(section), page.item(text)
        for index, part in enumerate(self.parts):
            if isinstance(part, str) and (place := page.end_of_section(part, heading)) is not None:
                return self._with_part(index, page.insert_item(part, place, item, self._newline))
        prose = [part for part in self.parts[:1] if isinstance(part, str)]
        rest = self.parts[len(prose) :]
        added = page.add_section("".join(prose), heading, item, self._newline)
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
        heading, item = _checked_heading(section), page.item(text)
        for index, part in enumerate(self.parts):
            if isinstance(part, str) and (span := page.find_item(part, heading, item)) is not None:
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
                rendered.append(page.with_header(part, now=now, total=total) if header else part)
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
                parts[index - 1] = page.ended(before, self._newline)
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


def template(title: str = "Agent Memory", *, language: str = "en") -> str:
    """Return a fresh book's MEMORY.md with headings for a person to fill, in `en` or `zh`."""
    header = f"# {title}\n\n<!-- Last updated: never -->\n<!-- Total entries: 0 -->\n"
    return header + "".join([f"\n## {heading}\n" for heading in _HEADINGS[language]])


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
