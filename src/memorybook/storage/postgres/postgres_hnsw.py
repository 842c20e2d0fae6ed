"""An approximate index (HNSW, of pgvector) for the few tenants whose vectors are too many to compare each of them.

It is built by an administrator, of the vectors that there are by then; those that came since are compared one by one,
as a small tenant's are all. It chooses rows; these are compared exactly, and ranked as ever.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

import psycopg
from psycopg import sql

from memorybook.storage.index import vector_files
from memorybook.storage.postgres.postgres_connection import PostgresConnection, Raw, connect, failures

CHOSEN = 400
"""Rows that a search takes from the index."""

LEAST = 200_000
"""Vectors from which a tenant gets one."""

_BATCH = 2_000
_TABLE = """
CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;
CREATE TABLE IF NOT EXISTS memorybook.near (id bigint NOT NULL, model bigint NOT NULL, vector public.halfvec NOT NULL,
    tenant text COLLATE "C" NOT NULL DEFAULT memorybook.tenant(), PRIMARY KEY (tenant, model, id));
ALTER TABLE memorybook.near ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS tenants ON memorybook.near;
CREATE POLICY tenants ON memorybook.near USING (tenant=memorybook.tenant());
GRANT SELECT, DELETE ON memorybook.near TO memorybook;
"""


def build(dsn: str, *, least: int = LEAST, progress: Callable[[str, int], None] | None = None) -> dict[str, int]:
    """Build the index of every tenant with so many vectors, anew if half as many came since; return rows by tenant.

    Searches and writes go on meanwhile. The user needs the rights to make an extension, a table and indexes. Raises
    Unavailable.
    """
    made: dict[str, int] = {}
    with failures(dsn), connect(dsn) as raw:
        raw.execute(_TABLE)
        raw.execute("SET row_security=off")
        large = raw.execute(
            "SELECT e.tenant, e.model, m.dimensions, count(*), max(e.id) FROM memorybook.embeddings AS e JOIN"
            " memorybook.models AS m ON m.tenant=e.tenant AND m.id=e.model WHERE e.vector IS NOT NULL"
            " AND length(e.vector)=4*m.dimensions GROUP BY 1, 2, 3 HAVING count(*)>=$1",
            (least,),
        ).fetchall()
        for tenant, model, dimensions, count, upto in large:
            [(held,)] = raw.execute(
                "SELECT count(*) FROM memorybook.near WHERE tenant=$1 AND model=$2", (tenant, model)
            ).fetchall()
            if 2 * (count - held) > count or not held:
                made[tenant] = _build(raw, tenant, model, dimensions, upto)
                if progress is not None:
                    progress(tenant, made[tenant])
    return made


def _build(raw: Raw, tenant: str, model: int, dimensions: int, upto: int) -> int:
    raw.execute("DELETE FROM memorybook.near WHERE tenant=$1 AND model=$2", (tenant, model))
    after, rows = 0, 0
    while found := raw.execute(
        "SELECT id, vector FROM memorybook.embeddings WHERE tenant=$1 AND model=$2 AND id>$3 AND id<=$4 AND"
        " length(vector)=$5 ORDER BY id LIMIT $6",
        (tenant, model, after, upto, 4 * dimensions, _BATCH),
        binary=True,
    ).fetchall():
        columns = "COPY memorybook.near (id, model, vector, tenant) FROM STDIN"
        with raw.cursor() as cursor, cursor.copy(columns) as copy:
            for id, vector in found:
                numbers = ",".join([f"{number:.5g}" for number in struct.unpack(f"<{dimensions}f", vector)])
                copy.write_row((id, model, f"[{numbers}]", tenant))
        after, rows = found[-1][0], rows + len(found)
    name = sql.Identifier(f"near_{model}_{hash_of(tenant):x}")
    expression = sql.SQL("((vector::public.halfvec({})) public.halfvec_cosine_ops)").format(sql.Literal(dimensions))
    condition = sql.SQL("WHERE tenant={} AND model={}").format(sql.Literal(tenant), sql.Literal(model))
    made = sql.SQL("CREATE INDEX {} ON memorybook.near USING hnsw {} {}").format(name, expression, condition)
    with raw.transaction():
        raw.execute(sql.SQL("DROP INDEX IF EXISTS memorybook.{}").format(name))
        raw.execute(made)
        raw.execute("SELECT set_config('memorybook.tenant', $1, true)", (tenant,))
        raw.execute(
            "INSERT INTO memorybook.meta (name, value) VALUES ($1, $2) ON CONFLICT (tenant, name)"
            " DO UPDATE SET value=excluded.value",
            (f"near {model}", upto),
        )
    return rows


def drop(raw: Raw, tenant: str) -> None:
    """Drop the indexes of a tenant that is here no more: they say its name."""
    names = raw.execute(
        "SELECT indexname FROM pg_indexes WHERE schemaname='memorybook' AND tablename='near' AND indexname ~ $1",
        (f"^near_[0-9]+_{hash_of(tenant):x}$",),
    ).fetchall()
    for (name,) in names:
        raw.execute(sql.SQL("DROP INDEX IF EXISTS memorybook.{}").format(sql.Identifier(name)))


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
