"""Changes worked into copies of the documents they touch; nothing is written before `Draft.write`.

`Book.apply` makes a draft under the book's lock from what is on disk now, so a person's edit made in
the meantime is part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import NamedTuple, assert_never

from memorybook.errors import InvalidInput, MissingDocument, NotFound
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


@dataclass(slots=True)
class _Copy:
    """A document of entries being worked on."""

    document: memory_md.MemoryDocument
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
        now: Time of the operation, UTC.
    """

    def __init__(self, documents: Documents, *, now: datetime) -> None:
        self._documents = documents
        self._now = now
        self._today = now.date()
        self._copies: dict[str, _Copy] = {}
        self._notes: dict[str, _Notes] = {}
        self._whole: dict[str, str | None] = {}
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
                self._copies[path] = _Copy(memory_md.parse(text, modified=self._now), None)
            else:
                modified = datetime.fromtimestamp(read.modified, UTC)
                self._copies[path] = _Copy(memory_md.parse(read.text, modified=modified), read.revision)
        return self._copies[path]

    def _load_archives(self) -> None:
        if not self._archives_loaded:
            self._archives_loaded = True
            for info in self._documents.list():
                if info.path.startswith("archive/"):
                    self._copy(info.path)

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
            self._whole[applied.target] = applied.after
        elif applied.kind == "drop":
            self._drop(Drop(path=applied.target, line=applied.before if applied.after is not None else None))
        else:
            self._redo_entry(applied)

    def _redo_entry(self, applied: Applied) -> None:
        current = self.get(applied.target)
        standing = memory_md.render_entry(current) if current else None
        if standing != applied.before or applied.before == applied.after:
            return
        if applied.after is None:
            self._remove(Remove(id=applied.target))
        else:
            self._place(memory_md.parse_entry(applied.after, modified=self._now))

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
        return (entry for copy in self._copies.values() for entry in copy.document.entries)

    def _saying(self, text: str) -> Entry | None:
        """The entry that makes the same statement, if there is one."""
        statement = normalise(text)
        return next((entry for entry in self._all() if normalise(entry.text) == statement), None)

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
        copy = self._copies[self._home(change.id) or MEMORY]
        copy.document, copy.changed = copy.document.without(change.id), True
        return Outcome(self._record("remove", change.id, before, None, change.reason), before)

    def _existing(self, id: str) -> Entry:
        entry = self.get(id)
        if entry is None:
            raise NotFound(f"no entry {id!r} in this book: see `memorybook list`")
        return entry

    def _place(self, entry: Entry) -> None:
        home = self._home(entry.id)
        if home not in (None, MEMORY) and not entry.archived:
            copy = self._copies[home or MEMORY]
            copy.document, copy.changed = copy.document.without(entry.id), True
            home = MEMORY
        copy = self._copies[home or MEMORY]
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
                lines = self._documents.read(path).text.splitlines()
            except MissingDocument:
                lines = []
            texts: dict[str, int] = {}
            for number, line in enumerate(lines, 1):
                texts.setdefault(_statement(line), number)
            self._notes[path] = _Notes(lines, texts, [])
        return self._notes[path]

    def _put(self, change: Put) -> Outcome:
        before = self._text(change.path)
        if before == change.text:
            return Outcome(None, path=change.path)
        self._whole[change.path] = change.text
        applied = Applied(kind="put", target=change.path, before=before, after=change.text, reason=change.reason)
        return Outcome(applied, path=change.path)

    def _drop(self, change: Drop) -> Outcome:
        before = self._text(change.path)
        if before is None:
            return Outcome(None, path=change.path)
        if change.line is None:
            self._whole[change.path] = None
            applied = Applied(kind="drop", target=change.path, before=before, after=None, reason=change.reason)
            return Outcome(applied, path=change.path)
        lines = before.splitlines(keepends=True)
        number = next((n for n, line in enumerate(lines) if line.rstrip("\r\n") == change.line), None)
        if number is None:
            return Outcome(None, path=change.path)
        self._whole[change.path] = "".join(lines[:number] + lines[number + 1 :])
        applied = Applied(kind="drop", target=change.path, before=change.line, after="", reason=change.reason)
        return Outcome(applied, path=change.path, line=number + 1)

    def _text(self, path: str) -> str | None:
        if path in self._whole:
            return self._whole[path]
        try:
            return self._documents.read(path).text
        except MissingDocument:
            return None

    # --- writing -------------------------------------------------------------------------------

    def write(self) -> None:
        """Write what changed, in an order that a crash or a conflict at any point leaves repairable.

        Archives come before MEMORY.md, so that no entry is ever nowhere; whole documents, which can be
        written twice without harm, before it too; lines, which never conflict, after it.

        Raises:
            Conflict: A person saved one of the documents in this very moment and no entry of MEMORY.md
                was written; make a new draft.
        """
        self._overflow()
        memory = self._copies.pop(MEMORY, None)
        for path, copy in self._copies.items():
            self._write_copy(path, copy)
        for path, text in self._whole.items():
            self._replace(path, text)
        if memory is not None:
            self._write_copy(MEMORY, memory)
        for path, document in self._notes.items():
            for line in document.added:
                self._documents.append(path, line)

    def _write_copy(self, path: str, copy: _Copy) -> None:
        if copy.changed:
            text = copy.document.render(now=self._now, strength=lambda entry: fade.strength(entry, self._today))
            self._documents.write(path, text, expect=copy.revision)

    def _replace(self, path: str, text: str | None) -> None:
        try:
            revision: str | None = self._documents.read(path).revision
        except MissingDocument:
            revision = None
        if text is not None:
            self._documents.write(path, text, expect=revision)
        elif revision is not None:
            self._documents.remove(path)

    def _overflow(self) -> None:
        copy = self._copies.get(MEMORY)
        if copy is None or not copy.changed:
            return
        archived = [entry for entry in copy.document.entries if entry.archived]
        archived.sort(key=lambda entry: entry.last_activated, reverse=True)
        for entry in archived[ARCHIVED_IN_MEMORY:]:
            cold = self._copy(f"archive/{self._now:%Y-%m}.md")
            cold.document, cold.changed = cold.document.with_entry(entry), True
            copy.document = copy.document.without(entry.id)


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
