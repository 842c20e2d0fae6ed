"""Documents being worked on, as they will be; nothing is written before `Pages.write`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache

from memorybook.book import fade
from memorybook.errors import Conflict, MissingDocument
from memorybook.formats import memory_md, notes
from memorybook.formats.document import Document
from memorybook.model import Patch, Session, Turn
from memorybook.protocols import Documents, Transcripts
from memorybook.text import patch
from memorybook.text.tokens import normalise

MEMORY = "MEMORY.md"
ARCHIVED_IN_MEMORY = 200
"""How many archived entries MEMORY.md holds; the ones longest unused move on to `archive/`."""

SAID_AGAIN = 10_000
"""Lines of a page, the last ones, among which a new one is looked for: one note more costs the same on any page."""

Parse = Callable[[str, Document], memory_md.MemoryDocument]
"""Reads the entries of the document at a path."""


@dataclass(slots=True)
class Copy:
    """A document of entries being worked on; those in `gone` leave it once they stand in MEMORY.md.

    `text` is how it stood at the last step, None where there was none; `moved` whether it changed since.
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
    """A whole document being worked on; None where there is none. `told` is its text as the journal knows it."""

    text: str | None
    revision: str | None
    told: str | None
    changed: bool = False


@dataclass(slots=True)
class Notes:
    """An append-only document being worked on: its text (None: there is none), its lines, and those to add.

    `told` of the added ones are in `text` already.
    """

    text: str | None
    lines: list[str]
    texts: dict[str, int]
    added: list[str]
    told: int = 0


class Pages:
    """The documents as they will be, and the turns to take out or put back.

    Args:
        documents: What is on disk; its lock is held by the caller from here until after `write`.
        transcripts: Where turns are.
        parse: Reads a document of entries.
        now: Time of the operation, UTC.

    Attributes:
        copies: Documents of entries, by path. whole: Whole documents. notes: Append-only documents.
        turns: Sessions with turns, whether all of the session is meant, and whether they come back or go.
        edits: Sessions and turns as they were, and as they are to be.
        wrote: Whether `write` has written anything yet.
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
        """Path of the document that an entry stands in, MEMORY.md first; None if there is none."""
        if self.copy(MEMORY).document.get(id) is not None:
            return MEMORY
        self.load_archives()
        return next((path for path, copy in self.copies.items() if copy.document.get(id) is not None), None)

    def copy(self, path: str) -> Copy:
        """The document of entries at that path, a new one if there is none."""
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

    def archives_with(self, id: str) -> Iterator[Copy]:
        """The archives, as far as they are read, that hold an entry."""
        return (copy for path, copy in self.copies.items() if path != MEMORY and copy.document.get(id) is not None)

    def lines(self, path: str) -> Notes:
        """The append-only document at that path, an empty one if there is none."""
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
        """The whole document's text as it will be; None for no document."""
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
        """How the documents changed since the last step, for who wants to take back just that.

        Documents whose texts the changes themselves hold are left out.
        """
        self._overflow()
        return (*self._page_steps(), *self._whole_steps(), *self._note_steps())

    def _page_steps(self) -> Iterator[Patch]:
        for path, copy in self.copies.items():
            if copy.moved:
                document = self._of_today(copy.document) if path == MEMORY else copy.document
                for id in copy.gone:
                    document = document.without(id)
                before, copy.text, copy.moved = copy.text, self._rendered(document), False
                if copy.text != before:
                    yield _patch(path, before, copy.text)

    def _whole_steps(self) -> Iterator[Patch]:
        for path, whole in self.whole.items():
            if whole.text != whole.told:
                yield _patch(path, whole.told, whole.text)
                whole.told = whole.text

    def _note_steps(self) -> Iterator[Patch]:
        for path, document in self.notes.items():
            fresh = document.added[document.told :]
            if fresh:
                before = document.text
                document.text, hunks = patch.appended(before, fresh)
                document.told = len(document.added)
                yield _patch(path, before, document.text, hunks)

    def write(self) -> None:
        """Write what changed, in an order that a crash or a conflict at any point leaves repairable.

        An entry that moves stands in both documents for a moment and never in none: archives gain before
        MEMORY.md is written and lose after it. Lines, which never conflict, come last, and then the turns.

        Raises:
            Conflict: A person saved one of the documents in this very moment. Make a new draft, unless
                something was written (`wrote`): then `redo` what is missing in one.
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
            self._write_whole(path, whole)
        for path, document in self.notes.items():
            for line in document.added:
                self._documents.append(path, line)
                self.wrote = True
        self._write_turns()

    def _of_today(self, document: memory_md.MemoryDocument) -> memory_md.MemoryDocument:
        """The document with the strength of today in every entry; one that has not faded stays as it stands."""
        return document.with_entries(
            fade.tidied(entry, self._today)
            for entry in document.entries
            if fade.strength(entry, self._today) != entry.score
        )

    def _rendered(self, document: memory_md.MemoryDocument) -> str:
        return document.render(now=self.now, strength=lambda entry: fade.strength(entry, self._today))

    def _write_copy(self, path: str, copy: Copy, text: str | None) -> None:
        copy.revision = self._documents.write(path, text or "", expect=copy.revision)
        self.wrote = True

    def _write_whole(self, path: str, whole: Whole) -> None:
        if not whole.changed:
            return
        if whole.text is not None:
            self._documents.write(path, whole.text, expect=whole.revision)
        elif whole.revision is not None:
            if self._documents.read(path).revision != whole.revision:
                raise Conflict(f"document {path!r} was changed by somebody else: read it again")
            self._documents.remove(path)
        self.wrote = True

    def _write_turns(self) -> None:
        for session, turns, whole, back in self.turns:
            if back:
                self.transcripts.restore(session, turns)
            else:
                self.transcripts.remove(session.uuid, None if whole else [turn.id for turn in turns])
            self.wrote = True
        for edit in self.edits:
            self.transcripts.rewrite(*edit)
            self.wrote = True

    def _overflow(self) -> None:
        copy = self.copies.get(MEMORY)
        if copy is None or not copy.moved:
            return
        archived = [entry for entry in copy.document.entries if entry.archived]
        archived.sort(key=lambda entry: entry.last_activated, reverse=True)
        for entry in archived[ARCHIVED_IN_MEMORY:]:
            cold = self.copy(f"archive/{self.now:%Y-%m}.md")
            cold.change(cold.document.with_entry(entry))
            cold.gone.discard(entry.id)
            copy.document = copy.document.without(entry.id)


def _patch(path: str, before: str | None, after: str | None, hunks: Sequence[patch.Hunk] | None = None) -> Patch:
    found = patch.diff(before, after) if hunks is None else hunks
    return Patch(path=path, before=patch.fingerprint(before), after=patch.fingerprint(after), hunks=patch.pack(found))


def is_page(path: str) -> bool:
    """Whether it is a document of entries."""
    return path == MEMORY or path.startswith("archive/")


@lru_cache(maxsize=50_000)
def statement(line: str) -> str:
    """What a line says, whatever its stamp: equal statements on one day are one note."""
    note = notes.parse_line(line)
    return normalise(note.text if note else line)
