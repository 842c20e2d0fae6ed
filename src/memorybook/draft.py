"""Changes worked into copies of the documents they touch; nothing is written before `Draft.write`.

`Book.apply` makes a draft under the book's lock from what is on disk now, so a person's edit made in
the meantime is part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple, assert_never

from memorybook.documents import Document
from memorybook.errors import Conflict, InvalidInput, MissingDocument, NotFound
from memorybook.formats import memory_md, notes
from memorybook.lifecycle import fade
from memorybook.model import (
    Add,
    Append,
    Applied,
    Archive,
    Change,
    Drop,
    Entry,
    Operation,
    Put,
    Reinforce,
    Remove,
    Update,
)
from memorybook.protocols import Documents
from memorybook.text.tokens import normalise

MEMORY = "MEMORY.md"
ARCHIVED_IN_MEMORY = 200
"""How many archived entries MEMORY.md holds; the ones longest unused move on to `archive/`."""


class Outcome(NamedTuple):
    """What became of one change.

    Attributes:
        applied: Its record; None if there was nothing to do (a duplicate line).
        entry: The entry as it stands afterwards, for changes to entries; as it was, for a removal.
        path, line: Where a line stands, 1-based; the earlier one for a duplicate. "" and 0 for entries.
    """

    applied: Applied | None
    entry: Entry | None = None
    path: str = ""
    line: int = 0


Parse = Callable[[str, Document], memory_md.MemoryDocument]
"""Reads the entries of the document at a path."""


class Result(NamedTuple):
    """What applying changes did: the operation (None if nothing was to do), each change's outcome in order."""

    operation: Operation | None
    outcomes: tuple[Outcome, ...]


@dataclass(slots=True)
class _Copy:
    """A document of entries being worked on; those in `gone` leave it once they stand in MEMORY.md."""

    document: memory_md.MemoryDocument
    revision: str | None
    changed: bool = False
    gone: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Whole:
    """A whole document being worked on; None where there is none."""

    text: str | None
    revision: str | None
    changed: bool = False


@dataclass(slots=True)
class _Notes:
    """An append-only document being worked on: its lines, and those to add."""

    lines: list[str]
    texts: dict[str, int]
    added: list[str]


class Draft:
    """The documents as they will be.

    Args:
        documents: What is on disk; its lock is held by the caller from here until after `write`.
        parse: Reads a document of entries.
        now: Time of the operation, UTC.

    Attributes:
        now: As given.
        wrote: Whether `write` has written anything yet.
    """

    def __init__(self, documents: Documents, *, parse: Parse, now: datetime) -> None:
        self.wrote = False
        self._documents = documents
        self._parse = parse
        self.now = now
        self._today = now.date()
        self._copies: dict[str, _Copy] = {}
        self._notes: dict[str, _Notes] = {}
        self._whole: dict[str, _Whole] = {}
        self._archives_loaded = False

    # --- reading -------------------------------------------------------------------------------

    def get(self, id: str) -> Entry | None:
        """The entry as it stands in the draft; MEMORY.md first, then `archive/`."""
        path = self._home(id)
        return self._copies[path].document.get(id) if path else None

    def _home(self, id: str) -> str | None:
        if self._copy(MEMORY).document.get(id) is not None:
            return MEMORY
        self._load_archives()
        return next((path for path, copy in self._copies.items() if copy.document.get(id) is not None), None)

    def _copy(self, path: str) -> _Copy:
        if path not in self._copies:
            try:
                read = self._documents.read(path)
            except MissingDocument:
                text = memory_md.template() if path == MEMORY else memory_md.archive_template(path)
                self._copies[path] = _Copy(memory_md.parse(text, modified=self.now), None)
            else:
                self._copies[path] = _Copy(self._parse(path, read), read.revision)
        return self._copies[path]

    def _load_archives(self) -> None:
        if not self._archives_loaded:
            self._archives_loaded = True
            for info in self._documents.list():
                if info.path.startswith("archive/"):
                    self._copy(info.path)

    def look(self, changes: Iterable[Change]) -> None:
        """Read what these changes will need, so that reading it again is quick; needs no lock."""
        for change in changes:
            if isinstance(change, Add):
                self._saying(change.entry.text)
            elif isinstance(change, Update | Reinforce | Archive | Remove):
                self._home(change.id)
            elif isinstance(change, Append) and change.section:
                self._copy(MEMORY)

    # --- changing ------------------------------------------------------------------------------

    def do(self, change: Change) -> Outcome:
        """Work in one change; raises NotFound, InvalidInput, Conflict and leaves the draft as it was."""
        match change:
            case Add():
                return self._add(change)
            case Update():
                return self._edit("update", change.id, change.reason, lambda entry: _updated(entry, change))
            case Reinforce():
                return self._edit(
                    "reinforce", change.id, change.reason, lambda entry: fade.reinforced(entry, self._today)
                )
            case Archive():
                return self._edit("archive", change.id, change.reason, lambda entry: replace(entry, archived=True))
            case Remove():
                return self._remove(change)
            case Append():
                return self._append_item(change) if change.section else self._append_line(change)
            case Put():
                return self._put(change)
            case Drop():
                return self._drop(change)
            case _:
                assert_never(change)

    def redo(self, applied: Applied) -> None:
        """Carry out a recorded change, unless it stands already or a person has changed its target since."""
        if applied.kind == "append":
            self._append_line(Append(path=applied.target, line=applied.after or ""))
        elif applied.kind == "item":
            section, _, text = (applied.after or "").partition("\n")
            self._append_item(Append(path=MEMORY, line=text, section=section))
        elif applied.kind == "put":
            if self._text(applied.target) == applied.before:
                self._put(Put(path=applied.target, text=applied.after or ""))
        elif applied.kind == "drop":
            line = None if applied.after is None else applied.before
            if line is not None or self._text(applied.target) == applied.before:
                self._drop(Drop(path=applied.target, line=line))
        else:
            self._redo_entry(applied)

    def _redo_entry(self, applied: Applied) -> None:
        current = self.get(applied.target)
        self._load_archives()
        if self._home(applied.target) == MEMORY:  # it may have been on its way out of an archive
            for copy in self._archives_with(applied.target):
                copy.gone.add(applied.target)
        standing = memory_md.render_entry(current) if current else None
        if standing != applied.before or applied.before == applied.after:
            return
        if applied.after is None:
            self._remove(Remove(id=applied.target))
        else:
            self._place(memory_md.parse_entry(applied.after, modified=self.now))

    def _add(self, change: Add) -> Outcome:
        entry = change.entry
        known = self._saying(entry.text)
        if known is not None:
            if entry.session is not None and entry.session == known.session:
                return Outcome(None, known)
            return self._edit("reinforce", known.id, change.reason, lambda entry: fade.reinforced(entry, self._today))
        if self.get(entry.id) is not None:
            entry = replace(entry, id=memory_md.new_id({known.id for known in self._all()}))
        self._place(entry)
        return Outcome(self._record("add", entry.id, None, entry, change.reason), entry)

    def _all(self) -> Iterator[Entry]:
        self._copy(MEMORY)
        self._load_archives()
        return (entry for copy in self._copies.values() for entry in copy.document.entries if entry.id not in copy.gone)

    def _archives_with(self, id: str) -> Iterator[_Copy]:
        return (copy for path, copy in self._copies.items() if path != MEMORY and copy.document.get(id) is not None)

    def _saying(self, text: str) -> Entry | None:
        """The entry that makes the same statement, if there is one."""
        statement = normalise(text)
        return next((entry for entry in self._all() if _normalised(entry.text) == statement), None)

    def _edit(self, kind: str, id: str, reason: str, edit: Callable[[Entry], Entry]) -> Outcome:
        before = self._existing(id)
        try:
            after = edit(before)
        except ValueError as error:
            raise InvalidInput(str(error)) from error
        self._place(after)
        return Outcome(self._record(kind, id, before, after, reason), after)

    def _remove(self, change: Remove) -> Outcome:
        before = self._existing(change.id)
        self._load_archives()
        for copy in self._copies.values():
            if copy.document.get(change.id) is not None:
                copy.document, copy.changed = copy.document.without(change.id), True
        return Outcome(self._record("remove", change.id, before, None, change.reason), before)

    def _existing(self, id: str) -> Entry:
        entry = self.get(id)
        if entry is None:
            raise NotFound(f"no entry {id!r} in this book: see `memorybook list`")
        return entry

    def _place(self, entry: Entry) -> None:
        home = self._home(entry.id) or MEMORY
        if home != MEMORY and not entry.archived:
            for copy in self._archives_with(entry.id):
                copy.gone.add(entry.id)
            home = MEMORY
        copy = self._copies[home]
        copy.document, copy.changed = copy.document.with_entry(entry), True

    @staticmethod
    def _record(kind: str, target: str, before: Entry | None, after: Entry | None, reason: str) -> Applied:
        return Applied(
            kind=kind,
            target=target,
            before=memory_md.render_entry(before) if before else None,
            after=memory_md.render_entry(after) if after else None,
            reason=reason,
        )

    # --- lines and whole documents ---------------------------------------------------------------

    def _append_item(self, change: Append) -> Outcome:
        copy = self._copy(MEMORY)
        section = change.section or ""
        known = copy.document.item_line(section, change.line)
        if known is not None:
            return Outcome(None, path=MEMORY, line=known)
        copy.document, copy.changed = copy.document.with_item(section, change.line), True
        line = copy.document.item_line(section, change.line) or 0
        applied = Applied(
            kind="item", target=MEMORY, before=None, after=f"{section}\n{change.line}", reason=change.reason
        )
        return Outcome(applied, path=MEMORY, line=line)

    def _append_line(self, change: Append) -> Outcome:
        document = self._lines(change.path)
        key = _statement(change.line)
        if key in document.texts:
            return Outcome(None, path=change.path, line=document.texts[key])
        document.added.append(change.line)
        document.texts[key] = len(document.lines) + len(document.added)
        applied = Applied(kind="append", target=change.path, before=None, after=change.line, reason=change.reason)
        return Outcome(applied, path=change.path, line=document.texts[key])

    def _lines(self, path: str) -> _Notes:
        if path not in self._notes:
            try:
                lines = self._documents.read(path).text.removesuffix("\n").split("\n")
            except MissingDocument:
                lines = []
            texts: dict[str, int] = {}
            for number, line in enumerate(lines, 1):
                texts.setdefault(_statement(line), number)
            self._notes[path] = _Notes(lines, texts, [])
        return self._notes[path]

    def _put(self, change: Put) -> Outcome:
        before = self._text(change.path)
        if change.made_from is not None and change.made_from != (before or ""):
            raise Conflict(f"document {change.path!r} was changed by somebody else: read it again")
        if before == change.text:
            return Outcome(None, path=change.path)
        self._set_text(change.path, change.text)
        applied = Applied(kind="put", target=change.path, before=before, after=change.text, reason=change.reason)
        return Outcome(applied, path=change.path)

    def _drop(self, change: Drop) -> Outcome:
        before = self._text(change.path)
        if before is None:
            return Outcome(None, path=change.path)
        if change.line is None:
            self._set_text(change.path, None)
            applied = Applied(kind="drop", target=change.path, before=before, after=None, reason=change.reason)
            return Outcome(applied, path=change.path)
        lines = before.split("\n")
        number = next((n for n, line in enumerate(lines) if line.removesuffix("\r") == change.line), None)
        if number is None:
            return Outcome(None, path=change.path)
        self._set_text(change.path, "\n".join(lines[:number] + lines[number + 1 :]))
        applied = Applied(kind="drop", target=change.path, before=change.line, after="", reason=change.reason)
        return Outcome(applied, path=change.path, line=number + 1)

    def _text(self, path: str) -> str | None:
        if path not in self._whole:
            try:
                read = self._documents.read(path)
            except MissingDocument:
                self._whole[path] = _Whole(None, None)
            else:
                self._whole[path] = _Whole(read.text, read.revision)
        return self._whole[path].text

    def _set_text(self, path: str, text: str | None) -> None:
        self._whole[path].text, self._whole[path].changed = text, True

    # --- writing -------------------------------------------------------------------------------

    def write(self) -> None:
        """Write what changed, in an order that a crash or a conflict at any point leaves repairable.

        An entry that moves stands in both documents for a moment and never in none: archives gain before
        MEMORY.md is written and lose after it. Lines, which never conflict, come last.

        Raises:
            Conflict: A person saved one of the documents in this very moment. Make a new draft, unless
                something was written (`wrote`): then `redo` what is missing in one.
        """
        self._overflow()
        memory = self._copies.pop(MEMORY, None)
        for path, copy in self._copies.items():
            self._write_copy(path, copy)
        if memory is not None:
            self._write_copy(MEMORY, memory)
        for path, copy in self._copies.items():
            for id in copy.gone:
                copy.document, copy.changed = copy.document.without(id), True
            self._write_copy(path, copy)
        for path, whole in self._whole.items():
            self._write_whole(path, whole)
        for path, document in self._notes.items():
            for line in document.added:
                self._documents.append(path, line)
                self.wrote = True

    def _write_copy(self, path: str, copy: _Copy) -> None:
        if copy.changed:
            text = copy.document.render(now=self.now, strength=lambda entry: fade.strength(entry, self._today))
            copy.revision = self._documents.write(path, text, expect=copy.revision)
            copy.changed, self.wrote = False, True

    def _write_whole(self, path: str, whole: _Whole) -> None:
        if not whole.changed:
            return
        if whole.text is not None:
            self._documents.write(path, whole.text, expect=whole.revision)
        elif whole.revision is not None:
            self._documents.remove(path)
        self.wrote = True

    def _overflow(self) -> None:
        copy = self._copies.get(MEMORY)
        if copy is None or not copy.changed:
            return
        archived = [entry for entry in copy.document.entries if entry.archived]
        archived.sort(key=lambda entry: entry.last_activated, reverse=True)
        for entry in archived[ARCHIVED_IN_MEMORY:]:
            cold = self._copy(f"archive/{self.now:%Y-%m}.md")
            cold.document, cold.changed = cold.document.with_entry(entry), True
            cold.gone.discard(entry.id)
            copy.document = copy.document.without(entry.id)


_normalised = lru_cache(maxsize=20_000)(normalise)
"""Of entries, which are compared with every new statement."""


@lru_cache(maxsize=5_000)
def _statement(line: str) -> str:
    """What a line says, whatever its stamp: equal statements on one day are one note."""
    note = notes.parse_line(line)
    return normalise(note.text if note else line)


_FIELDS = frozenset(field.name for field in fields(Entry)) - {"id"}


def _updated(entry: Entry, change: Update) -> Entry:
    unknown = change.fields.keys() - _FIELDS
    if unknown:
        raise InvalidInput(f"an entry has no field {min(unknown)!r} to update: use one of {', '.join(sorted(_FIELDS))}")
    return replace(entry, **change.fields)
