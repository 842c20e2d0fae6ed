"""The index in PostgreSQL: the tables and the ranking of the one in SQLite, vector files as rows.

Whoever searches brings in what changed, as with files, and every server sees it. What vector files hold never changes,
so a process keeps the last ones it read.

The few tenants whose vectors are too many to compare each of them get an approximate index (HNSW, of pgvector). An
administrator builds it, of the vectors that there are by then; those that came since are compared one by one, as a
small tenant's are all. It chooses rows; these are compared exactly, and ranked as ever.
"""

from __future__ import annotations

import os
import struct
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import date
from typing import TYPE_CHECKING, Any, TypeVar

import apsw
import psycopg
from psycopg import sql

from memorybook.errors import BookLocked, Unavailable
from memorybook.inference.bundled import LEAST
from memorybook.search.types import Candidates, Query, SyncReport
from memorybook.storage.index import index_schema as schema
from memorybook.storage.index import vector_files, vectors
from memorybook.storage.index.index_sync import Table, bring_up_to_date
from memorybook.storage.index.sqlite_index import Overview, SqliteIndex, _Rows
from memorybook.storage.index.vector_files import Scanning
from memorybook.storage.postgres_connection import (
    STANDING,
    PostgresConnection,
    Raw,
    Tenant,
    connect,
    failures,
    shown,
)
from memorybook.storage.sqlite import Connection, immediate

if TYPE_CHECKING:
    from memorybook.protocols import Documents, Embedder, Progress, Transcripts

T = TypeVar("T")

MOST_HELD = 256 * 2**20
"""Bytes of vectors that a process keeps."""

_MADE = "passages words terms postings entries known_documents session_names pending gone segments".split()
"""Tables that a rebuild empties; vectors stay, with the texts that they are of."""


class PostgresIndex(SqliteIndex):
    """`Index` in a tenant's tables, which may be deleted at any moment. Safe to share between threads and servers."""

    def __init__(self, tenant: Tenant, embedder: Embedder | None, *, standby_reads: bool = False) -> None:
        super().__init__(tenant.root, embedder=embedder)
        self._standby_reads = standby_reads
        self._path = tenant.root
        self._tenant = tenant
        self._vectors = TableVectors(tenant)
        self._database = self._connection = PostgresConnection(tenant, "index", counted=True)
        self._ready = False
        self._used = date.min  # the last day of which the book knows that it was used
        self._settled: tuple[tuple[int | str | None, ...], SyncReport] = ((), SyncReport())
        self._known: tuple[tuple[int | str | None, ...], Overview | None] = ((), None)

    def sync(self, documents: Documents, transcripts: Transcripts) -> SyncReport:
        """Bring in what changed since the last time, whoever changed it: one question if nothing did."""
        if self._used != (today := date.today()):
            self._tenant.rows("UPDATE books SET used=current_date WHERE used<current_date")
            self._used = today
        before = self._standing()
        settled = before == self._settled[0] and self._truth == (documents, transcripts)
        self._database.standing = before[:-1] if settled and self._standby_reads else None
        if settled:
            return self._settled[1]
        self._settled = ((), SyncReport())
        report = super().sync(documents, transcripts)
        after = self._standing()
        if self._standby_reads:
            self._database.standing = after[:-1]
        if after[:2] == before[:2] and not (report.pending_vectors or report.degraded or self.behind):
            self._settled = (after, report._replace(changed=0, removed=0, warnings=()))
        return report

    def _overview(self, db: Connection) -> Overview:
        """Return the state that a search needs before it embeds the question; read it again after any change."""
        (standing, _), (of, known) = self._settled, self._known
        if known is None or not standing or standing != of:
            known = super()._overview(db)
            self._known = (standing, known)
        return known

    def _standing(self) -> tuple[int | str | None, ...]:
        """Return what any change changes, of the tables (`STANDING`), and the embedder's name."""
        [row] = self._tenant.rows(STANDING)
        return (*row, self._embedder.name if self._embedder is not None else None)

    @property
    def _absent(self) -> bool:
        """True if there is nothing; searching an empty book must not make anything."""
        return not self._ready and not self._tenant.rows("SELECT 1 FROM meta LIMIT 1")

    def _open(self) -> Connection:
        if not self._ready:
            row = self._connection.first("SELECT value FROM meta WHERE name='version'")
            if row is None or row[0] != schema.VERSION:
                with immediate(self._connection) as db:
                    row = db.first("SELECT value FROM meta WHERE name='version'")  # perhaps by another process by now
                    if row is None or row[0] != schema.VERSION:
                        _empty(db)
            self._ready = True
            self._remember_choice()
        return self._connection

    def _remember_choice(self) -> None:
        """Let an embedder that chooses by what a book holds choose as it did before, in whichever process."""
        unread = getattr(self._embedder, "unread", None)
        if unread is not None:
            row = self._connection.first("SELECT 1 FROM models WHERE name LIKE 'multilingual/%'")
            if row is not None:
                unread(LEAST, 0)

    def _let_go_of_replaced(self) -> None:
        """Do nothing: there is no file."""

    def _find(self, db: Connection, query: Query) -> Candidates:
        try:
            return super()._find(db, query)
        except Unavailable:
            if self._database.standing is None:
                raise
            self._database.standing = None  # a standby that went, or that could not keep its snapshot
            return super()._find(db, query)

    def _let_go(self, opened: object) -> None:
        self._ready, self._settled = False, ((), SyncReport())
        self._vectors.forget()

    def _mended(self, action: Callable[[Connection], T]) -> T:
        """Do it; if the tables prove not to fit together, fill them anew from the truth and do it once more."""
        try:
            return action(self._open())
        except (apsw.CorruptError, apsw.ConstraintError) as error:
            if self._truth is None:
                raise Unavailable(f"the index of {self._path!r} was damaged ({error}); sync makes it anew") from error
            self._refill(*self._truth)
            return action(self._open())

    def _refill(self, documents: Documents, transcripts: Transcripts, progress: Progress | None = None) -> SyncReport:
        """Empty the tables and fill them in one transaction, so that others go on with what stood there."""
        self._table, self._rows = Table(), _Rows()
        with self._tenant.transaction("rebuild"):
            with immediate(self._connection) as db:
                _empty(db)
            report = bring_up_to_date(self._connection, documents, transcripts, progress, table=self._table)
            if not report.degraded:
                with immediate(self._connection) as db:
                    _drop_unused(db)
        self._vectors.forget()
        self._ready = True
        return report

    def rebuild(
        self, documents: Documents, transcripts: Transcripts, *, progress: Progress | None = None
    ) -> SyncReport:
        """Fill it anew in one transaction while others go on with what stood there; vectors of known texts are kept."""
        self._truth = (documents, transcripts)
        report = self._refill(documents, transcripts, progress)
        after = self.sync(documents, transcripts)
        self._mended(self._tidy)
        return after._replace(
            changed=report.changed + after.changed, warnings=tuple(dict.fromkeys(report.warnings + after.warnings))
        )

    def _sync(self, db: Connection, documents: Documents, transcripts: Transcripts) -> SyncReport:
        try:
            return super()._sync(db, documents, transcripts)
        except BookLocked as error:  # somebody else brings it in
            return SyncReport(degraded=(f"what changed last is not found yet: {error}",))

    def vacuum(self) -> bool:
        """Return True: what was deleted is not to be read any more, and the server overwrites it in its own time."""
        return True

    def close(self) -> None:
        """Release what is held; using it again opens it again."""
        super().close()

    def _stats(self, db: Connection) -> Mapping[str, Any]:
        sizes = self._tenant.rows(
            "SELECT (SELECT coalesce(sum(length(data)), 0) FROM segments)"
            " + (SELECT coalesce(sum(length(passages) + length(codes)), 0) FROM postings)"
        )
        return {**super()._stats(db), "bytes": int(sizes[0][0])}


def _empty(db: Connection) -> None:
    for table in _MADE:
        db.execute(f"DELETE FROM {table}")
    db.execute("DELETE FROM meta WHERE name NOT LIKE 'near %'")  # vectors keep their numbers
    born = int.from_bytes(os.urandom(7), "big")
    values = {"version": schema.VERSION, "born": born, "generation": time.time_ns() // 1000}
    values |= dict.fromkeys(("last", "altered", "passages", "words", "terms"), 0)
    db.executemany("INSERT INTO meta (name, value) VALUES (?, ?)", [*values.items()])


def _drop_unused(db: Connection) -> None:
    """Delete vectors, and digests, of texts that are nowhere any more."""
    for table, text in (("embeddings", "text"), ("texts", "id")):
        db.execute(f"DELETE FROM {table} WHERE NOT EXISTS (SELECT 1 FROM passages WHERE dense={table}.{text})")
    if db.first("SELECT 1 FROM meta WHERE name LIKE 'near %'") is not None:
        db.execute(
            "DELETE FROM near WHERE NOT EXISTS (SELECT 1 FROM embeddings WHERE model=near.model AND id=near.id"
            " AND vector IS NOT NULL)"
        )


# --- vectors ---------------------------------------------------------------------------------------


_kept: OrderedDict[tuple[str, int], memoryview[int]] = OrderedDict()
_keeping = threading.Lock()


class TableVectors(vector_files.Vectors):
    """`Vectors` whose files are rows of the table `segments`."""

    def __init__(self, tenant: Tenant) -> None:
        super().__init__("", "")
        self._tenant = tenant

    def scan(self, connection: Connection, model: vector_files.Model, question: vectors.Question) -> Scanning:
        """Begin to compare the vectors with the question; of a large tenant, those that an index chooses."""
        row = connection.first(schema.NOTED, (f"near {model.id}",))
        if row is None:
            return super().scan(connection, model, question)
        chosen, tail = vectors.Tail(), vectors.Tail()
        assert isinstance(connection, PostgresConnection)
        chosen.add(nearest(connection, model, question.vector))
        tail.add(vector_files._rows(connection, model, row[0], -1))
        return Scanning((), question, chosen.scan(question) + tail.scan(question))

    def fold(self, connection: Connection, model: vector_files.Model, made: int = vector_files.ALL) -> None:
        """Gather vectors in segments, unless an approximate index has them."""
        if connection.first(schema.NOTED, (f"near {model.id}",)) is None:
            super().fold(connection, model, made)

    def _stands(self, segment: vector_files.Segment) -> bool:
        """Return True: a row is as it was written."""
        return True

    def _held(self, segment: vector_files.Segment) -> memoryview[int]:
        key = (self._tenant.root, segment.generation)
        with _keeping:
            if (held := _kept.get(key)) is not None:
                _kept.move_to_end(key)
                return held
        rows = self._tenant.rows("SELECT data FROM segments WHERE generation=$1", (segment.generation,))
        if not rows:  # merged into another one meanwhile
            raise ValueError(f"there is no segment {segment.generation}")
        held = memoryview(rows[0][0])
        with _keeping:
            _kept[key] = held
            while len(_kept) > 1 and sum(map(len, _kept.values())) > MOST_HELD:
                _kept.popitem(last=False)
        return held

    def _put(
        self,
        connection: Connection,
        model: vector_files.Model,
        known: vector_files._Known,
        blocks: list[vectors.Block],
        upto: int,
    ) -> bool:
        rows = sum(block.rows for block in blocks)
        data = b"".join(vectors.parts_of(model.dimensions, blocks)) if rows else b""
        with immediate(connection):
            if known != vector_files._known(connection, model, known.after, upto):
                return False
            for segment in known.segments:
                connection.execute("DELETE FROM segments WHERE generation=?", (segment.generation,))
            if rows:
                generation = schema.counted_up(connection, "generation", 1)
                row = (generation, model.id, known.after, upto, rows, len(data), 0, data)
                connection.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        return rows > 0

    def bytes(self) -> int:
        """Return what the segments take."""
        return 0

    def discard_uncounted(self, connection: Connection) -> None:
        """Do nothing: a segment that does not count is no row."""


# --- HNSW, for tenants with too many vectors to compare each of them ------------------------------


CHOSEN = 400
"""Rows that a search takes from the index."""

HNSW_FROM = 200_000
"""Vectors from which a tenant gets one."""

_BATCH = 2_000
_TABLE = """
CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;
CREATE TABLE memorybook.near (id bigint NOT NULL, model bigint NOT NULL, vector public.halfvec NOT NULL,
    tenant text COLLATE "C" NOT NULL DEFAULT memorybook.tenant(), PRIMARY KEY (tenant, model, id));
ALTER TABLE memorybook.near ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants ON memorybook.near USING (tenant=memorybook.tenant());
GRANT SELECT, DELETE ON memorybook.near TO memorybook;
DO $$ BEGIN EXECUTE (SELECT format('ALTER TABLE memorybook.near OWNER TO %I', tableowner) FROM pg_tables
    WHERE schemaname='memorybook' AND tablename='embeddings'); END $$;
"""
_ALONE = "SELECT pg_try_advisory_lock(hashtextextended('memorybook/near', 2))"
"""Nobody waits for it: a new index waits for all who may see the table as it was."""
_LARGE = """
SELECT e.tenant, e.model, m.dimensions, max(e.id), count(*), coalesce((SELECT count(*) FROM memorybook.near AS n
        JOIN memorybook.meta AS noted ON noted.tenant=n.tenant AND noted.name='near '||n.model
        WHERE n.tenant=e.tenant AND n.model=e.model), 0)
    FROM memorybook.embeddings AS e JOIN memorybook.models AS m ON m.tenant=e.tenant AND m.id=e.model
    WHERE e.vector IS NOT NULL AND length(e.vector)=4*m.dimensions GROUP BY 1, 2, 3 HAVING count(*)>=$1"""
_NOTE = """
INSERT INTO memorybook.meta (tenant, name, value) SELECT tenant, $2, $3 FROM memorybook.books WHERE tenant=$1
    ON CONFLICT (tenant, name) DO UPDATE SET value=excluded.value"""
"""An index is used once this stands in the book: one that was cut off is not, and the next build removes it."""


def build(dsn: str, *, least: int = HNSW_FROM, progress: Callable[[str, int], None] | None = None) -> dict[str, int]:
    """Build the index of every tenant with so many vectors, anew if half as many came since; return rows by tenant.

    Searches and writes go on meanwhile; until it is done, a tenant's vectors are compared one by one. The user needs
    BYPASSRLS, and to be the owner of the tables or a member of that role; for the first one ever also the right to make
    the extension. Raises Unavailable, BookLocked if somebody builds already.
    """
    made: dict[str, int] = {}
    with failures(dsn), connect(dsn) as raw, _rights(dsn), _alone(raw):
        if raw.execute("SELECT to_regclass('memorybook.near')").fetchall() == [(None,)]:
            with raw.transaction():
                raw.execute(_TABLE)
        raw.execute("SET row_security=off")
        for tenant, model, dimensions, upto, count, held in raw.execute(_LARGE, (least,)).fetchall():
            if 2 * (count - held) > count:
                made[tenant] = _build(raw, tenant, model, dimensions, upto)
                if progress is not None:
                    progress(tenant, made[tenant])
    return made


@contextmanager
def _alone(raw: Raw) -> Iterator[None]:
    """Keep others from building meanwhile. Raises BookLocked."""
    if raw.execute(_ALONE).fetchall() != [(True,)]:
        raise BookLocked("somebody builds approximate indexes already; try again when that is done")
    try:
        yield
    finally:
        with suppress(psycopg.Error):  # at once: the server takes its time to see that a connection is closed
            raw.execute("SELECT pg_advisory_unlock_all()")


@contextmanager
def _rights(dsn: str) -> Iterator[None]:
    """Say which rights are needed, where one is missing."""
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as error:
        raise Unavailable(
            f"approximate indexes of {shown(dsn)!r} are built by a user with BYPASSRLS who owns memorybook's tables or"
            f" is a member of the role that does ({str(error).partition(chr(10))[0]})"
        ) from error


def _build(raw: Raw, tenant: str, model: int, dimensions: int, upto: int) -> int:
    name, note = sql.Identifier(f"near_{model}_{hash_of(tenant):x}"), f"near {model}"
    raw.execute("DELETE FROM memorybook.meta WHERE tenant=$1 AND name=$2", (tenant, note))
    raw.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS memorybook.{}").format(name))
    raw.execute("DELETE FROM memorybook.near WHERE tenant=$1 AND model=$2", (tenant, model))
    after, rows = 0, 0
    while found := _copied(raw, tenant, model, dimensions, after, upto):
        after, rows = found[-1], rows + len(found)
    expression = sql.SQL("((vector::public.halfvec({})) public.halfvec_cosine_ops)").format(sql.Literal(dimensions))
    condition = sql.SQL("WHERE tenant={} AND model={}").format(sql.Literal(tenant), sql.Literal(model))
    made = sql.SQL("CREATE INDEX CONCURRENTLY {} ON memorybook.near USING hnsw {} {}")
    raw.execute(made.format(name, expression, condition))
    raw.execute(_NOTE, (tenant, note, upto))
    return rows


def _copied(raw: Raw, tenant: str, model: int, dimensions: int, after: int, upto: int) -> list[int]:
    """Copy the next vectors of a tenant, unless it is gone by now; return their numbers."""
    with raw.transaction():
        raw.execute("SELECT 1 FROM memorybook.books WHERE tenant=$1 FOR KEY SHARE", (tenant,))  # it is not erased now
        found = raw.execute(
            "SELECT id, vector FROM memorybook.embeddings WHERE tenant=$1 AND model=$2 AND id>$3 AND id<=$4 AND"
            " length(vector)=$5 ORDER BY id LIMIT $6",
            (tenant, model, after, upto, 4 * dimensions, _BATCH),
            binary=True,
        ).fetchall()
        columns = "COPY memorybook.near (id, model, vector, tenant) FROM STDIN"
        with raw.cursor() as cursor, cursor.copy(columns) as copy:
            for id, vector in found:
                numbers = ",".join([f"{number:.5g}" for number in struct.unpack(f"<{dimensions}f", vector)])
                copy.write_row((id, model, f"[{numbers}]", tenant))
    return [id for id, _ in found]


def drop(raw: Raw, tenant: str) -> None:
    """Drop the indexes of a tenant that is here no more: they say its name."""
    names = raw.execute(
        "SELECT indexname FROM pg_indexes WHERE schemaname='memorybook' AND tablename='near' AND indexname ~ $1",
        (f"^near_[0-9]+_{hash_of(tenant):x}$",),
    ).fetchall()
    for (name,) in names:
        raw.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS memorybook.{}").format(sql.Identifier(name)))


def hash_of(tenant: str) -> int:
    """Return a number of a tenant's name, the same in every process."""
    from hashlib import blake2b

    return int.from_bytes(blake2b(tenant.encode(), digest_size=8).digest(), "big")


def nearest(connection: PostgresConnection, model: vector_files.Model, vector: bytes) -> list[tuple[int, int, bytes]]:
    """Return (id, text, vector) of the rows that the index holds to be the most similar, in order of id."""
    numbers = ",".join([f"{number:.5g}" for number in struct.unpack(f"<{model.dimensions}f", vector)])
    halves = sql.SQL("public.halfvec({})").format(sql.Literal(model.dimensions))
    query = sql.SQL(
        "SELECT e.id, e.text, e.vector FROM (SELECT id FROM near WHERE tenant={tenant} AND model={model}"
        " ORDER BY vector::{halves} OPERATOR(public.<=>) {question}::{halves} LIMIT {chosen}) AS chosen"
        " JOIN embeddings AS e ON e.id=chosen.id WHERE e.model={model} AND e.vector IS NOT NULL"
    ).format(
        tenant=sql.Literal(connection.tenant.name),
        model=sql.Literal(model.id),
        halves=halves,
        question=sql.Literal(f"[{numbers}]"),
        chosen=sql.Literal(CHOSEN),
    )
    with failures(connection.tenant.dsn), connection.ready() as raw:
        raw.execute(f"SET LOCAL hnsw.ef_search={CHOSEN}")
        with psycopg.Cursor(raw) as cursor:
            rows = cursor.execute(query, prepare=False, binary=True).fetchall()
    return sorted((int(id), int(text), vector) for id, text, vector in rows)
