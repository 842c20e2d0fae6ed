"""Changes worked into copies of the documents they touch; nothing is written before `Pages.write`.

`Book.apply` makes a draft under the book's lock from what is on disk now, so a person's edit made in
the meantime is part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple, assert_never

from memorybook.book import fade
from memorybook.errors import Conflict, InvalidInput, MissingDocument, NotFound
from memorybook.formats import changes_json, memory_md, session_md
from memorybook.formats.document import Document
from memorybook.model import (
    Add,
    Append,
    Applied,
    Archive,
    Change,
    Drop,
    EditTurns,
    Entry,
    Operation,
    Patch,
    Put,
    Reinforce,
    Remove,
    RemoveTurns,
    Session,
    Supersede,
    Turn,
    Update,
    trusted_as,
)
from memorybook.protocols import Documents, Transcripts
from memorybook.text import patch
from memorybook.text.tokens import normalise


class Outcome(NamedTuple):
    """The result of one change.

    Its record (None: nothing to do), the entry afterwards (before, if removed), a line's place.
    """

    applied: Applied | None
    entry: Entry | None = None
    path: str = ""
    line: int = 0


class Result(NamedTuple):
    """The result of applying changes: the operation (None if there was nothing to do), and each change's outcome."""

    operation: Operation | None
    outcomes: tuple[Outcome, ...]


class Draft:
    """Changes worked into `pages`, whose lock the caller holds until they are written.

    `unanswered` are (kind, target) that were carried out without an answer: asked again, each counts once.
    """

    def __init__(self, pages: Pages) -> None:
        self.pages = pages
        self.now = pages.now
        self._today = pages.now.date()
        self._named: dict[str, str] = {}
        self._statements: set[str] | None = None
        self._free: dict[datetime, datetime] | None = None  # a time at which nothing was made yet, by one that is taken
        self.unanswered: set[tuple[str, str]] = set()

    # --- reading -------------------------------------------------------------------------------

    def get(self, id: str) -> Entry | None:
        """Return the entry as it stands in the draft; MEMORY.md first, then `archive/`."""
        path = self.pages.home(id)
        return self.pages.copies[path].document.get(id) if path else None

    def look(self, changes: Iterable[Change]) -> None:
        """Read what these changes will need, so that reading it again is quick; needs no lock."""
        for change in changes:
            if isinstance(change, Add):
                self.saying(change.entry.text)
            elif isinstance(change, Update | Reinforce | Archive | Remove | Supersede):
                self.pages.home(change.id)
            elif isinstance(change, Append) and change.section:
                self.pages.copy(MEMORY)

    # --- changing ------------------------------------------------------------------------------

    def do(self, change: Change) -> Outcome:
        """Work in one change; raises NotFound, InvalidInput, Conflict and leaves the draft as it was."""
        match change:
            case Add():
                return self._add(change)
            case Update():
                if unknown := change.fields.keys() - _FIELDS:
                    known = ", ".join(sorted(_FIELDS))
                    raise InvalidInput(f"an entry has no field {min(unknown)!r} to update: use one of {known}")
                return self._edit(change.id, change.reason, "update", lambda entry: replace(entry, **change.fields))
            case Reinforce():
                if self._was_unanswered("reinforce", change.id):
                    return Outcome(None, self._existing(change.id))
                day = min(change.said or self._today, self._today) if change.confirms else None
                return self._edit(
                    change.id, change.reason, "reinforce", lambda one: fade.reinforced(one, self._today, day)
                )
            case Archive():
                return self._edit(change.id, change.reason, "archive", lambda entry: replace(entry, archived=True))
            case Remove():
                return self._remove(change)
            case Supersede():
                return self._supersede(change)
            case Append():
                return (self._append_item if change.section else self._append_line)(change)
            case Put():
                return self._put(change)
            case Drop():
                return self._drop(change)
            case RemoveTurns():
                return self._remove_turns(change)
            case EditTurns():
                return self._edit_turns(change)
            case _:
                assert_never(change)

    def redo(self, applied: Applied) -> None:
        """Carry out a recorded change, unless it stands already or a person has changed its target since."""
        if applied.kind == "append":
            self._append_line(Append(path=applied.target, line=applied.after or ""))
        elif applied.kind == "item":
            section, _, text = (applied.after or applied.before or "").partition("\n")
            if applied.after is None:
                self.remove_item(section, text)
            else:
                self._append_item(Append(path=MEMORY, line=text, section=section))
        elif applied.kind == "turns":
            session, turns, whole = changes_json.parse_turns(applied.before or applied.after or "")
            self.pages.turns.append((session, turns, whole, applied.after is not None))
        elif applied.kind == "edit":
            then, old, _ = changes_json.parse_turns(applied.before or "")
            now, new, _ = changes_json.parse_turns(applied.after or "")
            self.pages.edits.append((then, old, now, new))
        elif applied.kind == "put":
            if self.pages.text(applied.target) == applied.before:
                self.pages.set_text(applied.target, applied.after or "")
        elif applied.kind == "drop":
            line = None if applied.after is None else applied.before
            if line is not None or self.pages.text(applied.target) == applied.before:
                self._drop(Drop(path=applied.target, line=line, left=applied.after or ""))
        else:
            current = self.get(applied.target)
            self.pages.load_archives()
            if self.pages.home(applied.target) == MEMORY:  # it may have been on its way out of an archive
                self.pages.leave_archives(applied.target)
            standing = memory_md.render_entry(current) if current else None
            if standing == applied.before != applied.after:
                after = applied.after
                entry = None if after is None else memory_md.parse_entry(after, modified=self.now)
                self.put_entry(applied.target, entry)

    def put_entry(self, id: str, entry: Entry | None) -> None:
        """Let the entry of that id be this one; None takes it out."""
        if entry is not None:
            self._place(entry)
        else:
            self._remove(Remove(id=id))

    def _add(self, change: Add) -> Outcome:
        entry = change.entry
        known = self.saying(entry.text)
        if known is not None:
            self._named[entry.id] = known.id
            if entry.session is not None and entry.session == known.session:
                return Outcome(None, known)
            if self._was_unanswered("add", known.id):
                return Outcome(None, known)
            said = entry.said_on
            confirms = said is not None and trusted_as(entry.trust, known.trust)
            return self.do(Reinforce(id=known.id, reason=change.reason, confirms=confirms, said=said))
        if self.get(entry.id) is not None:
            entry = replace(entry, id=memory_md.new_id({known.id for known in self._all()}))
        self._named[change.entry.id] = entry.id
        entry = self._in_order(entry)
        self._place(entry)
        return Outcome(self.record("add", entry.id, None, entry, change.reason), entry)

    def _in_order(self, entry: Entry) -> Entry:
        """Return the entry as made after those that were made at the same time: by a microsecond for each."""
        if entry.created is None:
            return entry
        if self._free is None:
            self._free = {one.created: one.created + _NEXT for one in self._all() if one.created is not None}
        made = entry.created
        while (after := self._free.get(made)) is not None:
            made = after
        self._free[entry.created] = self._free[made] = made + _NEXT
        return replace(entry, created=made)

    def _was_unanswered(self, kind: str, id: str) -> bool:
        """Return whether this was done, and nobody was told; it counts as told from now on."""
        found = (kind, id) in self.unanswered
        self.unanswered.discard((kind, id))
        return found

    def _supersede(self, change: Supersede) -> Outcome:
        by = self._existing(self._named.get(change.by, change.by)).id
        if by == change.id != change.by:  # the new statement is the one that stands
            return Outcome(None, self._existing(change.id))
        if by == change.id:
            raise InvalidInput(f"entry {by!r} cannot supersede itself: name the one that is true now")
        before = self._existing(change.id)
        if before.superseded_by == by:
            return Outcome(None, before)
        return self._edit(
            change.id, change.reason, "supersede", lambda entry: fade.contradicted(entry, by, self._today)
        )

    def _all(self) -> Iterator[Entry]:
        self.pages.copy(MEMORY)
        self.pages.load_archives()
        copies = self.pages.copies.values()
        return (entry for copy in copies for entry in copy.document.entries if entry.id not in copy.gone)

    def saying(self, text: str) -> Entry | None:
        """Return the entry that makes the same statement, if there is one that is still held true."""
        statement = normalise(text)
        if self._statements is None:
            self._statements = {_normalised(entry.text) for entry in self._all()}
        if statement not in self._statements:  # the quick way: of many that are added, few are said already
            return None
        same = (entry for entry in self._all() if _normalised(entry.text) == statement)
        return next((entry for entry in same if entry.superseded_by is None), None)

    def _edit(self, id: str, reason: str, kind: str, edit: Callable[[Entry], Entry]) -> Outcome:
        before = self._existing(id)
        try:
            after = edit(before)
        except ValueError as error:
            raise InvalidInput(str(error)) from error
        self._place(after)
        return Outcome(self.record(kind, id, before, after, reason), after)

    def _remove(self, change: Remove) -> Outcome:
        before = self._existing(change.id)
        self.pages.load_archives()
        for copy in self.pages.copies.values():
            if copy.document.get(change.id) is not None:
                copy.change(copy.document.without(change.id))
        return Outcome(self.record("remove", change.id, before, None, change.reason), before)

    def _existing(self, id: str) -> Entry:
        entry = self.get(id)
        if entry is None:
            from memorybook import locale

            raise locale.error(NotFound, "problems.no_entry", name=repr(id))
        return entry

    def _place(self, entry: Entry) -> None:
        if self._statements is not None:
            self._statements.add(_normalised(entry.text))
        home = self.pages.home(entry.id) or MEMORY
        if home != MEMORY and not entry.archived:
            self.pages.leave_archives(entry.id)
            home = MEMORY
        copy = self.pages.copies[home]
        copy.change(copy.document.with_entry(entry))

    @staticmethod
    def record(kind: str, target: str, before: Entry | None, after: Entry | None, reason: str) -> Applied:
        """Return what the journal keeps of a change to an entry."""
        return Applied(
            kind=kind,
            target=target,
            before=memory_md.render_entry(before) if before else None,
            after=memory_md.render_entry(after) if after else None,
            reason=reason,
        )

    # --- lines and whole documents ---------------------------------------------------------------

    def _append_item(self, change: Append) -> Outcome:
        copy = self.pages.copy(MEMORY)
        section = change.section or ""
        known = copy.document.item_line(section, change.line)
        if known is not None:
            return Outcome(None, path=MEMORY, line=known)
        copy.change(copy.document.with_item(section, change.line))
        line = copy.document.item_line(section, change.line) or 0
        applied = Applied(
            kind="item", target=MEMORY, before=None, after=f"{section}\n{change.line}", reason=change.reason
        )
        return Outcome(applied, path=MEMORY, line=line)

    def remove_item(self, section: str, text: str) -> bool:
        """Take a list item out of the person's part of MEMORY.md; whether it stood there."""
        copy = self.pages.copy(MEMORY)
        if copy.document.item_line(section, text) is None:
            return False
        copy.change(copy.document.without_item(section, text))
        return True

    def _append_line(self, change: Append) -> Outcome:
        document = self.pages.lines(change.path)
        key = statement(change.line)
        if key in document.texts:
            return Outcome(None, path=change.path, line=document.texts[key])
        if change.apart and (document.added or document.lines)[-1:] not in ([], [""]):
            document.added.append("")
        document.added.append(change.line)
        document.texts[key] = len(document.lines) + len(document.added)
        return _written("append", change, None, change.line, document.texts[key])

    def _put(self, change: Put) -> Outcome:
        if not change.path.startswith("sessions/"):  # entries may stand there
            self._statements = None
        before = self._made_from(change)
        if before == change.text:
            return Outcome(None, path=change.path)
        self.pages.set_text(change.path, change.text)
        self.pages.whole[change.path].told = change.text
        return _written("put", change, before, change.text)

    def _made_from(self, change: Put | Drop) -> str | None:
        """Return the text that stands there, None if none does; raises Conflict if the change was made from another."""
        before = self.pages.text(change.path)
        if change.made_from is not None and change.made_from != (before or ""):
            raise Conflict(f"document {change.path!r} was changed by somebody else: read it again")
        return before

    def _drop(self, change: Drop) -> Outcome:
        if change.line is not None and is_page(change.path):  # it is of what a person wrote among entries
            copy = self.pages.copy(change.path)
            left = copy.document.without_line(change.line, change.left)
            if left is copy.document:
                return Outcome(None, path=change.path)
            copy.change(left)
            return _written("drop", change, change.line, change.left)
        before = self._made_from(change)
        if before is None:
            return Outcome(None, path=change.path)
        if change.line is None:
            self.pages.set_text(change.path, None)
            self.pages.whole[change.path].told = None
            return _written("drop", change, before, None)
        lines = before.split("\n")
        number = next((n for n, line in enumerate(lines) if line.removesuffix("\r") == change.line), None)
        if number is None:
            return Outcome(None, path=change.path)
        stays = [lines[number].replace(change.line, change.left)] if change.left else []
        self.pages.set_text(change.path, "\n".join(lines[:number] + stays + lines[number + 1 :]))
        return _written("drop", change, change.line, change.left, number + 1)

    # --- turns -----------------------------------------------------------------------------------

    def _remove_turns(self, change: RemoveTurns) -> Outcome:
        session = self.pages.transcripts.session(change.session)
        turns = tuple(self.pages.transcripts.turns(session.uuid))
        whole = change.turn_ids is None
        if change.turn_ids is not None:
            wanted = frozenset(change.turn_ids)
            turns = tuple(turn for turn in turns if turn.id in wanted)
        if not turns and not whole:
            return Outcome(None)
        before = changes_json.render_turns(session, turns, whole=whole)
        applied = Applied(
            kind="turns", target=f"session:{session.uuid}", before=before, after=None, reason=change.reason
        )
        self.redo(applied)
        return Outcome(applied)

    def _edit_turns(self, change: EditTurns) -> Outcome:
        session = self.pages.transcripts.session(change.session)
        wanted = change.texts
        old = tuple(turn for turn in self.pages.transcripts.turns(session.uuid) if turn.id in wanted) if wanted else ()
        new = tuple(
            replace(
                turn,
                text=wanted[turn.id],
                tool_calls=tuple(change.tool_calls.get(turn.id, turn.tool_calls)),
                metadata=change.metadata.get(turn.id, turn.metadata),
            )
            for turn in old
        )
        title = session.title if change.title is None else change.title
        now = replace(session, title=title, summary=session.summary if change.summary is None else change.summary)
        if (old, session) == (new, now):
            return Outcome(None)
        applied = Applied(
            kind="edit",
            target=f"session:{session.uuid}",
            before=changes_json.render_turns(session, old, whole=False),
            after=changes_json.render_turns(now, new, whole=False),
            reason=change.reason,
        )
        self.redo(applied)
        return Outcome(applied)


def _written(kind: str, change: Append | Put | Drop, before: str | None, after: str | None, line: int = 0) -> Outcome:
    """Return what was done to a document of lines, or to a whole one."""
    applied = Applied(kind=kind, target=change.path, before=before, after=after, reason=change.reason)
    return Outcome(applied, path=change.path, line=line)


_normalised = lru_cache(maxsize=20_000)(normalise)
"""Of entries, which are compared with every new statement."""


_NEXT = timedelta(microseconds=1)

_FIELDS = frozenset(field.name for field in fields(Entry)) - {"id"}

MEMORY = "MEMORY.md"
ARCHIVED_IN_MEMORY = 200
"""How many archived entries MEMORY.md holds; the ones longest unused move on to `archive/`."""

SAID_AGAIN = 10_000
"""Lines of a page, the last ones, among which a new one is looked for: one note more costs the same on any page."""

Parse = Callable[[str, Document], memory_md.MemoryDocument]
"""Reads the entries of the document at a path."""


@dataclass(slots=True)
class Copy:
    """A document of entries being edited; those in `gone` leave once they stand in MEMORY.md.

    `text` is the last step's.
    """

    document: memory_md.MemoryDocument
    text: str | None
    revision: str | None
    changed: bool = False
    moved: bool = False
    gone: set[str] = field(default_factory=set)

    def change(self, document: memory_md.MemoryDocument) -> None:
        """Let this be the document."""
        self.document, self.changed, self.moved = document, True, True


@dataclass(slots=True)
class Whole:
    """A whole document being edited; None if it does not exist. `told` is its text according to the journal."""

    text: str | None
    revision: str | None
    told: str | None
    changed: bool = False


@dataclass(slots=True)
class Notes:
    """An append-only document being edited: text, lines, and those to add, `told` of which the journal knows."""

    text: str | None
    lines: list[str]
    texts: dict[str, int]
    added: list[str]
    told: int = 0


class Pages:
    """The documents as they will be, and the turns to remove or restore; the caller holds their lock.

    `copies` are documents of entries, `whole` whole ones, `notes` append-only ones, `turns` sessions with turns that
    come or go, `edits` their old and new state; `wrote` says whether `write` has written anything.
    """

    def __init__(self, documents: Documents, transcripts: Transcripts, *, parse: Parse, now: datetime) -> None:
        self.now = now
        self.wrote = False
        self.transcripts = transcripts
        self.copies: dict[str, Copy] = {}
        self.whole: dict[str, Whole] = {}
        self.notes: dict[str, Notes] = {}
        self.turns: list[tuple[Session, tuple[Turn, ...], bool, bool]] = []
        self.edits: list[tuple[Session, tuple[Turn, ...], Session, tuple[Turn, ...]]] = []
        self._documents = documents
        self._parse = parse
        self._today = now.date()
        self._archives_loaded = False

    # --- reading -------------------------------------------------------------------------------

    def home(self, id: str) -> str | None:
        """Return the path of the document that an entry stands in, MEMORY.md first; None if there is none."""
        if self.copy(MEMORY).document.get(id) is not None:
            return MEMORY
        self.load_archives()
        return next((path for path, copy in self.copies.items() if copy.document.get(id) is not None), None)

    def copy(self, path: str) -> Copy:
        """Return the document of entries at that path, a new one if there is none."""
        if path not in self.copies:
            try:
                read = self._documents.read(path)
            except MissingDocument:
                text = memory_md.template() if path == MEMORY else memory_md.archive_template(path)
                self.copies[path] = Copy(memory_md.parse(text, modified=self.now), None, None)
            else:
                self.copies[path] = Copy(self._parse(path, read), read.text, read.revision)
        return self.copies[path]

    def load_archives(self) -> None:
        """Read every archive."""
        if not self._archives_loaded:
            self._archives_loaded = True
            for info in self._documents.list():
                if info.path.startswith("archive/"):
                    self.copy(info.path)

    def leave_archives(self, id: str) -> None:
        """Let an entry leave the archives that hold it, as far as they are read, once it stands in MEMORY.md."""
        for path, copy in self.copies.items():
            if path != MEMORY and copy.document.get(id) is not None:
                copy.gone.add(id)
                copy.moved = True

    def lines(self, path: str) -> Notes:
        """Return the append-only document at that path, an empty one if there is none."""
        if path not in self.notes:
            try:
                text: str | None = self._documents.read(path).text
            except MissingDocument:
                text = None
            lines = [] if text is None else text.removesuffix("\n").split("\n")
            texts: dict[str, int] = {}
            for number, line in enumerate(lines[-SAID_AGAIN:], max(1, len(lines) - SAID_AGAIN + 1)):
                texts.setdefault(statement(line), number)
            self.notes[path] = Notes(text, lines, texts, [])
        return self.notes[path]

    def text(self, path: str) -> str | None:
        """Return the whole document's text as it will be; None for no document."""
        if path not in self.whole:
            try:
                read = self._documents.read(path)
            except MissingDocument:
                self.whole[path] = Whole(None, None, None)
            else:
                self.whole[path] = Whole(read.text, read.revision, read.text)
        return self.whole[path].text

    def set_text(self, path: str, text: str | None) -> None:
        """Let this be the whole document's text, None for no document; they are written in the order of these calls."""
        self.text(path)
        whole = self.whole[path] = self.whole.pop(path)
        whole.text, whole.changed = text, True

    # --- writing -------------------------------------------------------------------------------

    def step(self) -> tuple[Patch, ...]:
        """Return how the documents changed since the last step, without those whose texts the changes hold."""
        memory = self.copies.get(MEMORY)
        if memory is not None and memory.moved:
            archived = [entry for entry in memory.document.entries if entry.archived]
            archived.sort(key=lambda entry: entry.last_activated, reverse=True)
            for entry in archived[ARCHIVED_IN_MEMORY:]:
                cold = self.copy(f"archive/{self.now:%Y-%m}.md")
                cold.change(cold.document.with_entry(entry))
                cold.gone.discard(entry.id)
                memory.document = memory.document.without(entry.id)
        patches: list[Patch] = []
        for path, copy in self.copies.items():
            if copy.moved:
                document = copy.document
                if path == MEMORY:  # with the strength of today in every entry that has faded
                    strengths = [(entry, fade.strength(entry, self._today)) for entry in document.entries]
                    faded = (fade.tidied(entry, self._today) for entry, now in strengths if now != entry.score)
                    document = document.with_entries(faded)
                for id in copy.gone:
                    document = document.without(id)
                before, copy.text, copy.moved = copy.text, self._rendered(document), False
                if copy.text != before:
                    patches.append(_patch(path, before, copy.text))
        for path, whole in self.whole.items():
            if whole.text != whole.told:
                patches.append(_patch(path, whole.told, whole.text))
                whole.told = whole.text
        for path, notes in self.notes.items():
            fresh = notes.added[notes.told :]
            if fresh:
                before = notes.text
                notes.text, hunks = patch.appended(before, fresh)
                notes.told = len(notes.added)
                patches.append(_patch(path, before, notes.text, hunks))
        return tuple(patches)

    def write(self) -> None:
        """Write what changed, in an order that a crash at any point leaves repairable.

        Archives gain before MEMORY.md is written and lose after it, so an entry is never nowhere; then lines, then
        turns. Raises Conflict if a person saved at that moment: make a new draft, or `redo` if something was written
        (`wrote`).
        """
        self.step()
        memory = self.copies.pop(MEMORY, None)
        for path, copy in self.copies.items():
            if copy.changed:
                self._write_copy(path, copy, self._rendered(copy.document) if copy.gone else copy.text)
        if memory is not None and memory.changed:
            self._write_copy(MEMORY, memory, memory.text)
        for path, copy in self.copies.items():
            if copy.gone:
                self._write_copy(path, copy, copy.text)
        for path, whole in self.whole.items():
            if whole.changed and whole.text is not None:
                self._documents.write(path, whole.text, expect=whole.revision)
            elif whole.changed and whole.revision is not None:
                if self._documents.read(path).revision != whole.revision:
                    raise Conflict(f"document {path!r} was changed by somebody else: read it again")
                self._documents.remove(path)
            self.wrote = self.wrote or whole.changed
        for path, document in self.notes.items():
            for line in document.added:
                self._documents.append(path, line)
                self.wrote = True
        for session, turns, entire, back in self.turns:
            if back:
                self.transcripts.restore(session, turns)
            else:
                self.transcripts.remove(session.uuid, None if entire else [turn.id for turn in turns])
            self.wrote = True
        for edit in self.edits:
            self.transcripts.rewrite(*edit)
            self.wrote = True

    def _rendered(self, document: memory_md.MemoryDocument) -> str:
        return document.render(now=self.now, strength=lambda entry: fade.strength(entry, self._today))

    def _write_copy(self, path: str, copy: Copy, text: str | None) -> None:
        copy.revision = self._documents.write(path, text or "", expect=copy.revision)
        self.wrote = True


def _patch(path: str, before: str | None, after: str | None, hunks: Sequence[patch.Hunk] | None = None) -> Patch:
    found = patch.diff(before, after) if hunks is None else hunks
    return Patch(path=path, before=patch.fingerprint(before), after=patch.fingerprint(after), hunks=patch.pack(found))


def is_page(path: str) -> bool:
    """Return whether it is a document of entries."""
    return path == MEMORY or path.startswith("archive/")


@lru_cache(maxsize=50_000)
def statement(line: str) -> str:
    """Return what a line says, whatever its stamp: equal statements on one day are one note."""
    note = session_md.parse_line(line)
    return normalise(note.text if note else line)
