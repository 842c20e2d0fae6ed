"""A book in the memory of this process: for tests and for what nobody needs tomorrow. It is gone with the process.

Documents are bytes by path; transcripts and journal are the tables of the files, in SQLite's own memory. Whoever opens
the same root in this process opens the same book; a forked child goes on with a copy of its own.
"""

from __future__ import annotations

import threading
import time
from _thread import RLock
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import apsw

from memorybook.errors import BookLocked, Conflict, InvalidInput, MissingDocument, Unavailable
from memorybook.formats.document import Document, DocumentInfo, Loss
from memorybook.storage import journal, safe_open, transcript_rows
from memorybook.storage.archive import DATABASES, JOURNAL, TRANSCRIPTS, copy
from memorybook.storage.index.scan_index import ScanIndex
from memorybook.storage.sqlite import CAREFUL, Connection, Store, copy_rows, migrate
from memorybook.storage.transcripts import SqliteTranscripts

if TYPE_CHECKING:
    from datetime import datetime

    from memorybook.protocols import Embedder, Index, Journal, Transcripts


class FilelessDocuments:
    """`Documents` that are never merged with what other programs wrote, and of which nothing is lost or left over."""

    _whole: Callable[[str], tuple[bytes, float]]  # and when it was changed; raises MissingDocument
    _revision_of: Callable[[str], str | None]
    _put: Callable[[str, bytes], str]  # returns the stamp it leaves, as `_added` does, which appends a line
    _added: Callable[[str, str], str]
    _alone: Callable[[], AbstractContextManager[object]]  # in which nobody else writes; raises BookLocked

    def read(self, path: str) -> Document:
        """Return the document. Raises MissingDocument, UnsafePath."""
        safe_open.split_path(path)
        data, modified = self._whole(path)
        return Document(safe_open.decoded(data), safe_open.digest(data), modified)

    def write(self, path: str, text: str, *, expect: str | None) -> str:
        """Replace the document; return its new revision. Raises Conflict, UnsafePath, InvalidInput."""
        safe_open.split_path(path)
        data = safe_open.encode(text, path)
        new = safe_open.digest(data)
        with self._alone():
            revision = self._revision_of(path)
            if revision != expect and expect is None:
                raise Conflict(f"document {path!r} exists already; read it and write with its revision")
            if revision != expect:
                raise Conflict(f"document {path!r} is {revision!r} by now, not {expect!r}; read it and decide anew")
            if revision != new:
                self._put(path, data)
        return new

    def append(self, path: str, line: str) -> str:
        """Append one line; return the stamp it leaves. Raises InvalidInput for a line break, UnsafePath."""
        safe_open.split_path(path)
        if "\n" in line or "\r" in line:
            raise InvalidInput(f"a line to append has no line breaks, {line!r} has; fold it or append it line by line")
        with self._alone():
            return self._added(path, line)

    def remains(self, paths: Collection[str]) -> Sequence[str]:
        """Return nothing: no versions are kept."""
        return ()

    def forget_versions(self) -> int:
        """Return 0: no versions are kept."""
        return 0

    def lost(self, *, settle: bool = False) -> Sequence[Loss]:
        """Return nothing: no other program writes."""
        return ()

    def forget_lost(self) -> None:
        """Do nothing."""

    def unread(self) -> Sequence[str]:
        """Return nothing: every document is one."""
        return ()

    def faults(self) -> Sequence[str]:
        """Return nothing: it can be written."""
        return ()

    def close(self) -> None:
        """Do nothing."""


class FilelessStorage:
    """`Storage` beside which there is nothing on this machine."""

    machine = ""
    transcripts: Transcripts
    journal: Journal

    def drop_prepared(self) -> None:
        """Do nothing: nothing is prepared."""

    def strangers(self, known: set[str]) -> list[str]:
        """Return nothing: nothing else is here."""
        return []

    def copy(self, folder: str) -> list[str]:
        """Copy the book into an empty folder."""
        return copy(self, folder, None)  # type: ignore[arg-type]

    def close(self) -> None:
        """Let go of it; the book stays."""
        self.transcripts.close()
        self.journal.close()


def fill_stores(folder: str, stores: Sequence[Store]) -> None:
    """Copy the journal and the transcripts in a folder into these stores, brought up to the newest version."""
    for name, store in zip(DATABASES, stores, strict=True):
        file = Store(str(Path(folder, name)), store.migrations)
        if file.existing() is not None:
            copy_rows(file, store)
        file.close()


_PATIENCE = 10.0  # s that a writer waits for another
_LOOK = 0.05  # s until somebody who waits for changes looks whether to stop

_books: dict[str, _Book] = {}
_stamps = count()


class _Book:
    """What is kept of one book, for all who open it."""

    def __init__(self) -> None:
        self.documents: dict[str, tuple[bytes, str, float]] = {}
        self.databases: dict[str, MemoryConnection] = {}
        self.identity = ""
        self.made = False
        self.revision = 0
        self.leases: set[str] = set()
        self.writer = threading.RLock()
        self.changed = threading.Condition()

    def change(self, path: str, data: bytes | None) -> str:
        """Put a document in its place, None for none; return its stamp."""
        with self.changed:
            self.made = True
            self.revision += 1
            stamp = str(next(_stamps))
            if data is None:
                del self.documents[path]
            else:
                self.documents[path] = (data, stamp, time.time())
            self.changed.notify_all()
        return stamp

    def take(self, other: _Book) -> None:
        """Let this be what the other one is."""
        with self.changed:
            self.documents, self.databases = other.documents, other.databases
            self.identity, self.made, self.revision = other.identity, True, self.revision + other.revision + 1
            self.changed.notify_all()


class MemoryDocuments(FilelessDocuments):
    """`Documents` in memory."""

    def __init__(self, book: _Book) -> None:
        self._book = book

    def list(self) -> Sequence[DocumentInfo]:
        """Return every document, in no order."""
        with self._book.changed:
            return [DocumentInfo(path, len(one[0]), *one[1:]) for path, one in self._book.documents.items()]

    def revision(self) -> int:
        """Return how often a document was written or removed."""
        return self._book.revision

    def _whole(self, path: str) -> tuple[bytes, float]:
        try:
            data, _, modified = self._book.documents[path]
        except KeyError:
            raise MissingDocument(f"there is no document {path!r}") from None
        return data, modified

    def _revision_of(self, path: str) -> str | None:
        held = self._book.documents.get(path)
        return None if held is None else safe_open.digest(held[0])

    def _put(self, path: str, data: bytes) -> str:
        return self._book.change(path, data)

    def _added(self, path: str, line: str) -> str:
        before = safe_open.decoded(self._book.documents.get(path, (b"", "", 0.0))[0])
        before += "\n" if before and not before.endswith("\n") else ""
        return self._book.change(path, safe_open.encode(f"{before}{line}\n", path))

    def _alone(self) -> AbstractContextManager[Any]:
        return self._book.writer

    def remove(self, path: str) -> None:
        """Remove the document. Raises MissingDocument, UnsafePath."""
        safe_open.split_path(path)
        with self._book.writer:
            self._whole(path)
            self._book.change(path, None)

    def prepare(self) -> None:
        """Make the book."""
        self._book.made = True


class MemoryConnection(Connection):
    """`Connection` to a database in memory, which lasts as long as this object."""

    fileless = True

    def __init__(self, name: str, migrations: Sequence[str]) -> None:
        super().__init__(name, durable=True)
        migrate(self, migrations)

    def _open(self) -> apsw.Connection:
        raw = apsw.Connection(":memory:")
        raw.execute(f"{CAREFUL}; PRAGMA secure_delete=ON").fetchall()
        return raw

    def bytes(self) -> bytes:
        """Return all of it."""
        with self.lock:
            return self.raw.serialize("main")

    def copy(self) -> MemoryConnection:
        """Return another one, with what this one holds now."""
        made = MemoryConnection(self.path, ())
        made.raw.deserialize("main", self.bytes())
        return made

    def close(self) -> None:
        """Do nothing: others use it."""

    def _let_go(self) -> None:
        """Do nothing: there is no file, and a forked child has a copy of the memory."""

    def _lose(self) -> None:
        self.lock = RLock()
        if self.in_transaction:  # of a thread that is not in this process
            self.execute("ROLLBACK")


class MemoryStore(Store):
    """`Store` in memory."""

    def __init__(self, book: _Book, name: str, migrations: Sequence[str]) -> None:
        super().__init__(name, migrations)
        self._book = book

    def existing(self) -> Connection | None:
        """Return the connection for reading; None while nothing was written. Raises Unavailable once it is closed."""
        if self._closed:
            raise Unavailable(f"the database {self.path!r} is closed; open it again")
        return self._book.databases.get(self.path)

    def created(self) -> Connection:
        """Return the connection for writing. Raises Unavailable once it is closed."""
        with self._book.changed:
            self._book.made = True
            return self.existing() or self._book.databases.setdefault(
                self.path, MemoryConnection(self.path, self.migrations)
            )

    def snapshot(self) -> Connection:
        """Return a copy."""
        return self._book.databases[self.path].copy()

    def fault(self, *, thorough: bool = False) -> str:
        """Return nothing: nobody else reaches it."""
        return ""


class MemoryStorage(FilelessStorage):
    """`Storage` in memory, of the book that this process knows by that root."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._book = _books.setdefault(root, _Book())
        self.documents = MemoryDocuments(self._book)
        self.transcripts = SqliteTranscripts(MemoryStore(self._book, TRANSCRIPTS, transcript_rows.MIGRATIONS))
        self.journal = journal.SqliteJournal(MemoryStore(self._book, JOURNAL, journal.MIGRATIONS))

    def open_index(self, embedder: Embedder | None) -> Index:
        """Return an index that scans."""
        return ScanIndex(embedder=embedder)

    def exists(self) -> bool:
        """Return whether anything was ever written."""
        return self._book.made

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the lock of the book. Raises BookLocked."""
        if not self._book.writer.acquire(timeout=_PATIENCE):
            raise BookLocked(f"the book {self.root!r} was locked by another writer for {_PATIENCE:g} s; try again")
        try:
            yield
        finally:
            self._book.writer.release()

    @contextmanager
    def lease(self, work: str) -> Iterator[bool]:
        """Yield whether nobody else does this work until the block ends."""
        with self._book.changed:
            ours = work not in self._book.leases
            self._book.leases.add(work)
        try:
            yield ours
        finally:
            if ours:
                self._book.leases.discard(work)

    def identity(self, *, make: bool) -> str:
        """Return the random name of the book."""
        with self._book.changed:
            if make and not self._book.identity:
                self._book.identity = token_hex(16)
            return self._book.identity

    def leftovers(self, holds: Callable[[bytes], object], overlap: int) -> tuple[list[str], int]:
        """Return the documents and databases that hold it, and how many there are."""
        with self._book.changed:
            held = {path: data for path, (data, _, _) in self._book.documents.items()}
            held |= {name: database.bytes() for name, database in self._book.databases.items()}
        return [name for name, data in held.items() if holds(data)], len(held)

    def restore(self, fill: Callable[[str], None], *, identity: str, replace: bool, now: datetime) -> str:
        """Read the book from a folder that is filled, and keep the old one under another root."""
        with self.transaction(), TemporaryDirectory(prefix="memorybook-") as folder:
            if self.exists() and not replace:
                raise Conflict(f"{self.root!r} is not empty: restore into another one, or let it be replaced")
            fill(folder)
            old, new = _Book(), _Book()
            new.identity = self.identity(make=False) or identity
            for path in Path(folder).rglob("*.md"):
                new.change(path.relative_to(folder).as_posix(), path.read_bytes())
            databases = {JOURNAL: journal.MIGRATIONS, TRANSCRIPTS: transcript_rows.MIGRATIONS}
            fill_stores(folder, [MemoryStore(new, *one) for one in databases.items()])
            before, kept = self.exists(), ""
            if before:
                names = (f"{self.root}.before-{now:%Y%m%dT%H%M%SZ}{f'-{n}' * bool(n)}" for n in count())
                kept = next(name for name in names if name not in _books)
                old.take(self._book)
                _books[kept] = old
            self._book.take(new)
        return kept

    def notices(self, stop: threading.Event | None) -> Iterator[None]:
        """Yield whenever a document was written or removed."""
        seen = self._book.revision
        while stop is None or not stop.is_set():
            with self._book.changed:
                self._book.changed.wait(_LOOK if self._book.revision == seen else 0)
                changed, seen = self._book.revision != seen, self._book.revision
            if changed:
                yield

    def writable(self) -> bool:
        """Return True."""
        return True

    def erase(self) -> None:
        """Begin anew."""
        self._book.take(_Book())
        self._book.made = False

    def hint(self) -> str:
        """Say how long it lasts."""
        return "this book is kept in memory, and gone with the process"
