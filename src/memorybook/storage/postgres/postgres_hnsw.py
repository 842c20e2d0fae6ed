"""An approximate index (HNSW, of pgvector) for the few tenants whose vectors are too many to compare each of them.

It is built by an administrator, of the vectors that there are by then; those that came since are compared one by one,
as a small tenant's are all. It chooses rows; these are compared exactly, and ranked as ever.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import psycopg
from psycopg import sql

from memorybook.errors import BookLocked, Unavailable
from memorybook.storage.index import vector_files
from memorybook.storage.postgres.postgres_connection import PostgresConnection, Raw, connect, failures, shown

CHOSEN = 400
"""Rows that a search takes from the index."""

LEAST = 200_000
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


def build(dsn: str, *, least: int = LEAST, progress: Callable[[str, int], None] | None = None) -> dict[str, int]:
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
