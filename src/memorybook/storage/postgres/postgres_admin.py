"""What an administrator does to a server: make its tables, and bring them up to date."""

from __future__ import annotations

from memorybook.errors import Unavailable
from memorybook.storage.postgres.postgres_connection import connect, failures, shown, version_of
from memorybook.storage.postgres.postgres_schema import MIGRATIONS, PARTITIONS, ROLE

_FIRST = f"""
DO $$ BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname='{ROLE}') THEN CREATE ROLE {ROLE} NOLOGIN; END IF;
END $$;
GRANT {ROLE} TO CURRENT_USER;
CREATE SCHEMA IF NOT EXISTS memorybook;
CREATE TABLE IF NOT EXISTS memorybook.migrations (number integer PRIMARY KEY, made timestamptz NOT NULL DEFAULT now());
"""
_ALONE = "SELECT pg_advisory_lock(hashtextextended('memorybook/upgrade', 2))"


def upgrade(dsn: str, *, partitions: int = PARTITIONS) -> tuple[int, int]:
    """Run the migrations that a database lacks, each in a transaction; return its version before and now.

    Servers go on meanwhile. Of a new database, large tables have so many `partitions`. The user needs the rights to
    make a schema and a role. Raises Unavailable.
    """
    with failures(dsn), connect(dsn) as raw:
        raw.execute(_ALONE)
        before = version_of(raw)
        if before > len(MIGRATIONS):
            raise Unavailable(f"the database {shown(dsn)!r} was made by a newer memorybook: update memorybook")
        if not before:
            with raw.transaction():
                raw.execute(_FIRST)
        for number, migration in enumerate(MIGRATIONS[before:], before + 1):
            with raw.transaction():
                raw.execute(migration(partitions))
                raw.execute("INSERT INTO memorybook.migrations (number) VALUES ($1)", (number,))
    return before, len(MIGRATIONS)
