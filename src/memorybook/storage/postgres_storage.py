"""A book in PostgreSQL: one tenant of a server, its documents as rows with compare and swap."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from itertools import count
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from time import sleep
from typing import TYPE_CHECKING, Any

import psycopg

from memorybook.errors import ConfigError, Conflict, MissingDocument, Unavailable
from memorybook.formats.document import DocumentInfo
from memorybook.storage import journal, safe_open, transcript_rows
from memorybook.storage.columns import Surrogates
from memorybook.storage.in_memory import FilelessDocuments, FilelessStorage, fill_stores
from memorybook.storage.journal import SqliteJournal
from memorybook.storage.postgres_connection import (
    CHANNEL,
    LOCKS,
    PostgresStore,
    Raw,
    Tenant,
    Wake,
    connect,
    failures,
)
from memorybook.storage.postgres_schema import DERIVED, TABLES, adapted, restored
from memorybook.storage.sqlite import Connection, Row
from memorybook.storage.transcripts import SqliteTranscripts

if TYPE_CHECKING:
    from memorybook.protocols import Embedder, Index

FOLDED = 64
"""Lines appended to a document from which it is written whole."""


class PostgresDocuments(FilelessDocuments):
    """`Documents` of a tenant."""

    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant

    def list(self) -> Sequence[DocumentInfo]:
        """Return every document, in no order."""
        rows = self._tenant.rows("SELECT path, size, stamp, modified FROM documents")
        return [DocumentInfo(_path(path), *rest) for path, *rest in rows]

    def revision(self) -> int:
        """Return how often documents were written or removed."""
        rows = self._tenant.rows("SELECT revision FROM books")
        return int(rows[0][0]) if rows else 0

    def _whole(self, path: str) -> tuple[bytes, float]:
        rows = self._tenant.rows(
            "SELECT data || coalesce((SELECT string_agg(line, ''::bytea ORDER BY n) FROM appended"
            " WHERE appended.path=documents.path), ''), modified FROM documents WHERE path=$1",
            adapted((path,)),
        )
        if not rows:
            raise MissingDocument(f"there is no document {path!r}")
        return rows[0][0], rows[0][1]

    def _revision_of(self, path: str) -> str | None:
        rows = self._tenant.rows("SELECT revision FROM documents WHERE path=$1", adapted((path,)))
        if not rows:
            return None
        return rows[0][0] or safe_open.digest(self._whole(path)[0])  # unknown since something was appended

    def _put(self, path: str, data: bytes) -> str:
        stamp, [key] = token_hex(8), adapted((path,))
        self._tenant.rows("DELETE FROM appended WHERE path=$1", (key,))
        self._tenant.rows(
            "INSERT INTO documents (path, data, size, revision, stamp, modified) VALUES ($1, $2, $3, $4, $5, $6)"
            " ON CONFLICT (tenant, path) DO UPDATE SET data=excluded.data, size=excluded.size,"
            " revision=excluded.revision, stamp=excluded.stamp, modified=excluded.modified",
            (key, data, len(data), safe_open.digest(data), stamp, time.time()),
        )
        self._changed()
        return stamp

    def _changed(self) -> None:
        self._tenant.rows(
            "INSERT INTO books (revision) VALUES (1) ON CONFLICT (tenant)"
            " DO UPDATE SET revision=books.revision+1, used=current_date"
        )
        self._tenant.made = self._tenant.held.changed = True

    def _added(self, path: str, line: str) -> str:
        added, [key] = safe_open.encode(f"{line}\n", path), adapted((path,))
        rows = self._tenant.rows(
            "SELECT size, length(data), (SELECT count(*) FROM appended WHERE appended.path=documents.path),"
            " substring(data FROM length(data)) FROM documents WHERE path=$1",
            (key,),
        )
        if not rows:
            return self._put(path, added)
        [(size, written, lines, last)] = rows
        if lines >= FOLDED:
            return self._put(path, self._whole(path)[0] + added)
        if not lines and written and last != b"\n":  # whoever wrote it left the last line open
            added = b"\n" + added
        stamp = token_hex(8)
        self._tenant.rows("INSERT INTO appended (path, line) VALUES ($1, $2)", (key, added))
        self._tenant.rows(
            "UPDATE documents SET size=$2, revision=NULL, stamp=$3, modified=$4 WHERE path=$1",
            (key, size + len(added), stamp, time.time()),
        )
        self._changed()
        return stamp

    def _alone(self) -> AbstractContextManager[Any]:
        return self._tenant.transaction()

    def remove(self, path: str) -> None:
        """Remove the document. Raises MissingDocument, UnsafePath."""
        safe_open.split_path(path)
        [key] = adapted((path,))
        with self._tenant.transaction():
            if not self._tenant.rows("DELETE FROM documents WHERE path=$1 RETURNING 1", (key,)):
                raise MissingDocument(f"there is no document {path!r}")
            self._tenant.rows("DELETE FROM appended WHERE path=$1", (key,))
            self._changed()

    def prepare(self) -> None:
        """Make the book."""
        self._tenant.rows("INSERT INTO books DEFAULT VALUES ON CONFLICT DO NOTHING")
        self._tenant.made = True


def _path(value: str) -> str:
    from memorybook.storage.columns import readable

    return readable(restored([(value,)])[0][0])


_LONGEST = 200
_LOOK = 0.5  # s until somebody who waits for changes looks whether to stop

_BOOK = "INSERT INTO books DEFAULT VALUES ON CONFLICT DO NOTHING"
_STATE = "INSERT INTO state (revision) VALUES (0) ON CONFLICT DO NOTHING"


class TableStore(PostgresStore):
    """`Store` that can be filled with rows that keep their numbers."""

    def fill(self, connection: Connection, table: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
        """Let a table hold just these rows, in a transaction that is open."""
        texts = [TABLES[table][column] == "TEXT" for column in columns]

        def kept() -> Iterator[Row]:
            for row in rows:
                yield tuple(
                    [
                        Surrogates(value) if text and isinstance(value, bytes) else value
                        for text, value in zip(texts, row, strict=True)
                    ]
                )

        super().fill(connection, table, columns, kept())
        for key in (column for column, kind in TABLES[table].items() if kind == "IDENTITY"):
            connection.execute(
                f"SELECT setval(pg_get_serial_sequence('memorybook.{table}', '{key}'), greatest(last_value,"
                f" (SELECT max({key}) FROM {table}))) FROM {table}_{key}_seq"
            )


class PostgresStorage(FilelessStorage):
    """`Storage` of a tenant of a PostgreSQL server.

    Args:
        dsn: Of the server, whose tables `memorybook db upgrade` makes.
        name: Of the tenant: any text of at most 200 characters.
        pool: Connections of this process to the server, at most.
        wake: What makes the book again of the file of that name, if it is at rest.
        standby_reads: Whether searches read from standbys that the address names.

    Raises:
        ConfigError: A name that cannot be one.
    """

    def __init__(
        self, dsn: str, name: str, *, pool: int = 10, wake: Wake | None = None, standby_reads: bool = False
    ) -> None:
        if not name or len(name) > _LONGEST or not name.isprintable():
            raise ConfigError(f"a tenant has a name of 1 to {_LONGEST} printable characters, not {name!r}")
        self._tenant = Tenant(dsn, name, pool, wake)
        self._standby_reads = standby_reads
        self.root = self._tenant.root
        self.documents = PostgresDocuments(self._tenant)
        self._stores = (
            TableStore(self._tenant, "journal", journal.MIGRATIONS, (_BOOK,)),
            TableStore(self._tenant, "transcripts", transcript_rows.MIGRATIONS, (_BOOK, _STATE)),
        )
        self.journal = SqliteJournal(self._stores[0])
        self.transcripts = SqliteTranscripts(self._stores[1])
        self.transcripts.server = ""

    def open_index(self, embedder: Embedder | None) -> Index:
        """Return the index in the tenant's tables."""
        from memorybook.storage.postgres_index import PostgresIndex

        return PostgresIndex(self._tenant, embedder, standby_reads=self._standby_reads)

    def exists(self) -> bool:
        """Return whether the tenant has a book."""
        self._tenant.made = self._tenant.made or bool(self._tenant.rows("SELECT 1 FROM books"))
        return self._tenant.made

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Let all that the block writes come true together, or nothing. Raises BookLocked."""
        with self._tenant.transaction():
            yield

    @contextmanager
    def lease(self, work: str) -> Iterator[bool]:
        """Yield whether nobody else, on any server, does this work until the block ends."""
        with failures(self._tenant.dsn), connect(self._tenant.dsn) as raw:
            locked = "SELECT pg_try_advisory_lock(hashtextextended($1, 1))"
            [(ours,)] = raw.execute(locked, (f"{self._tenant.name}/{work}",)).fetchall()
            try:
                yield bool(ours)
            finally:
                with suppress(psycopg.Error):  # at once: the server takes its time to see that a connection is closed
                    raw.execute("SELECT pg_advisory_unlock_all()")

    def identity(self, *, make: bool) -> str:
        """Return the random name of the book."""
        if make:
            self._tenant.rows(
                "INSERT INTO books (identity) VALUES ($1) ON CONFLICT (tenant) DO UPDATE"
                " SET identity=excluded.identity WHERE books.identity=''",
                (token_hex(16),),
            )
            self._tenant.made = True
        rows = self._tenant.rows("SELECT identity FROM books")
        return str(rows[0][0]) if rows else ""

    def leftovers(self, holds: Callable[[bytes], object], overlap: int) -> tuple[list[str], int]:
        """Return the tenant's tables with a row that holds it; those of the index only if no others do."""
        found = [table for table in TABLES if any(holds(data) for data in self._rows_of(table))]
        truth = [table for table in found if table not in DERIVED]
        return truth or found, len(TABLES)

    def _rows_of(self, table: str) -> Iterator[bytes]:
        text = [
            f"coalesce({name}, '')" if kind == "bytea" else f"convert_to(coalesce({name}, ''), 'UTF8')"
            for name, kind in TABLES[table].items()
            if kind in ("TEXT", "bytea")
        ]
        if not text:
            return
        with self._tenant.reading() as raw, psycopg.RawServerCursor(raw, f"left_{table}") as cursor:
            for (data,) in cursor.execute(f"SELECT {' || '.join(text)} FROM {table}", binary=True):
                yield data

    def restore(self, fill: Callable[[str], None], *, identity: str, replace: bool, now: datetime) -> str:
        """Read the book from a folder that is filled, and keep the old one as another tenant."""
        with TemporaryDirectory(prefix="memorybook-") as folder, self._tenant.transaction():
            before = self.exists()
            if before and not replace:
                raise Conflict(f"{self.root!r} is not empty: restore into another one, or let it be replaced")
            fill(folder)
            mine = self.identity(make=False) or identity
            kept = self._renamed(now) if before else ""
            self.documents.prepare()
            self._tenant.rows("UPDATE books SET identity=$1", (mine,))
            for path in sorted(Path(folder).rglob("*.md")):
                name, data = path.relative_to(folder).as_posix(), path.read_bytes()
                self.documents._put(name, data)
                [key] = adapted((name,))
                self._tenant.rows("UPDATE documents SET modified=$2 WHERE path=$1", (key, path.stat().st_mtime))
            fill_stores(folder, self._stores)
        return kept

    def _renamed(self, now: datetime) -> str:
        """Give the rows of the book another tenant; return the root of that."""
        ends = (f".before-{now:%Y%m%dT%H%M%SZ}{f'-{n}' * bool(n)}" for n in count())
        for end in ends:
            name = self._tenant.name[: _LONGEST - len(end)] + end
            other = Tenant(self._tenant.dsn, name, self._tenant.size)
            if not other.rows("SELECT 1 FROM books"):
                break
        raw = self._tenant.held.raw
        assert raw is not None
        with failures(self._tenant.dsn):
            for table in TABLES:
                if table not in DERIVED:
                    move_rows(raw, table, self._tenant.name, name)
                else:
                    raw.execute(f"DELETE FROM {table}")
            _empty_near(raw)
        return other.root

    def notices(self, stop: threading.Event | None) -> Iterator[None]:
        """Yield soon after documents were changed, by whomever, and once the server is back that was gone."""
        listened = lost = False
        while stop is None or not stop.is_set():
            try:
                with failures(self._tenant.dsn), connect(self._tenant.dsn) as raw:
                    listened = True
                    raw.execute(f"LISTEN {CHANNEL}")
                    if lost:  # nobody told of what changed meanwhile
                        yield
                    lost = False
                    while stop is None or not stop.is_set():
                        told = [notice.payload for notice in raw.notifies(timeout=_LOOK, stop_after=1)]
                        if self._tenant.name[:4000] in told:
                            yield
            except Unavailable:
                if not listened:
                    raise
                lost = True
                sleep(_LOOK)

    def writable(self) -> bool:
        """Return whether the server takes writes."""
        return not self._tenant.rows("SELECT pg_is_in_recovery()")[0][0]

    def erase(self) -> None:
        """Delete every row of the tenant, once nobody writes. Raises BookLocked."""
        with self._tenant.transaction() as raw:
            for what in LOCKS[1:]:
                raw.execute(*self._tenant.lock(what))
            for table in TABLES:
                raw.execute(f"DELETE FROM {table}")
            _empty_near(raw)
        self._tenant.made = False

    def hint(self) -> str:
        """Say where it is."""
        return "this book is kept in PostgreSQL: memorybook export and db pull give it out as files"


def _empty_near(raw: Raw) -> None:
    """Delete a tenant's rows of the approximate index, where there is one."""
    if raw.execute("SELECT to_regclass('memorybook.near')").fetchall() != [(None,)]:
        raw.execute("DELETE FROM near")


def move_rows(raw: psycopg.Connection[tuple[object, ...]], table: str, old: str, new: str) -> None:
    """Give a tenant's rows of a table another tenant, in a transaction of the first."""
    columns = ", ".join(TABLES[table])
    raw.execute(f"CREATE TEMPORARY TABLE moving ON COMMIT DROP AS SELECT {columns} FROM {table}")
    raw.execute(f"DELETE FROM {table}")
    raw.execute("SELECT set_config('memorybook.tenant', $1, true)", (new,))
    raw.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM moving")
    raw.execute("SELECT set_config('memorybook.tenant', $1, true)", (old,))
    raw.execute("DROP TABLE moving")
