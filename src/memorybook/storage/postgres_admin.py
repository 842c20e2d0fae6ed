"""What an administrator does to servers: make their tables, bring them up to date, move and erase tenants.

A book that nobody used for long can rest: it is one backup in a folder, until somebody asks for it again. `books.moved`
says so, and names the file. Both ways are one transaction: whoever is killed on the way leaves the book where it was,
and perhaps a file that nothing names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import NamedTuple

import psycopg

from memorybook.errors import BookLocked, Conflict, NotFound, Unavailable
from memorybook.storage import archive, postgres_index
from memorybook.storage.output_file import put_in_place
from memorybook.storage.postgres_connection import (
    LOCKS,
    Raw,
    Tenant,
    Wake,
    check,
    connect,
    dsns_of,
    failures,
    shown,
    take_role,
    version_of,
    without_password,
)
from memorybook.storage.postgres_schema import ARRIVING, LEFT, MIGRATIONS, PARTITIONS, RESTING, ROLE, TABLES
from memorybook.storage.postgres_storage import PostgresStorage

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


# --- tenants ---------------------------------------------------------------------------------------

_PATIENCE = 10
_STATE = """
WITH issued AS (SELECT name FROM server_state WHERE kind='tokens' AND data->>'tenant'=$1)
DELETE FROM server_state WHERE scope=$1 OR kind IN ('tenants', 'due') AND name=$1
    OR kind='tokens' AND data->>'tenant'=$1 OR kind IN ('link', 'login') AND data->>1=$1
    OR kind='rate' AND name IN (SELECT name FROM issued)"""


class Erased(NamedTuple):
    """What was erased of a tenant at a server.

    Attributes:
        server: Its address, without a password.
        rows: How many rows of each table.
        left: How many there are now.
    """

    server: str
    rows: Mapping[str, int]
    left: int


class Moved(NamedTuple):
    """A move of a tenant: from which server to which, and how many rows of each table."""

    before: str
    now: str
    rows: Mapping[str, int]


@contextmanager
def within(dsn: str, name: str) -> Iterator[Raw]:
    """Yield a transaction of a tenant at this server, whether or not the tenant is there."""
    with failures(dsn), connect(dsn) as raw:
        check(raw, dsn)
        take_role(raw)
        raw.prepare_threshold = None
        with raw.transaction():
            raw.execute("SELECT set_config('memorybook.tenant', $1, true)", (name,))
            yield raw


def alone(raw: Raw, name: str) -> None:
    """Wait until nobody writes the book, and keep others from it until the transaction ends. Raises BookLocked."""
    raw.execute(f"SET LOCAL lock_timeout='{_PATIENCE}s'")
    try:
        for what in LOCKS:
            raw.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", (f"{name}/{what}",))
        raw.execute("SELECT 1 FROM books FOR UPDATE")
    except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected) as error:
        raise BookLocked(f"the book of {name!r} is being written all the while; try again") from error


def move(setting: str, name: str, to: str, *, wake: Wake | None = None) -> Moved:
    """Move a tenant's book to another server while it is used; return what was moved.

    Readers go on, writers wait; those for whom it takes too long are told to try again. Everybody who comes to the old
    server is sent to the new one from then on. A move that was cut off is repeated from the beginning.

    Args:
        setting: The servers, as in `storage.dsn`.
        name: Of the tenant.
        to: The other server, which may be one of them.
        wake: What makes a book again that is at rest.

    Raises:
        NotFound: There is no such book.
        Conflict: There is one at the other server, or it is that server.
        BookLocked: It is written all the while.
    """
    tenant = Tenant(setting, name, 2, wake)
    if not tenant.rows("SELECT 1 FROM books"):
        raise NotFound(f"there is no book of {name!r}")
    here, [to] = tenant.dsn, dsns_of(to)
    if without_password(here) == without_password(to):
        raise Conflict(f"the book of {name!r} is at {shown(to)!r} already")
    arriving, left = f"{ARRIVING} {without_password(here)}", f"{LEFT} {without_password(to)}"
    with within(here, name) as out:
        alone(out, name)
        if out.execute("SELECT moved FROM books").fetchall() != [("",)]:
            raise BookLocked(f"the book of {name!r} was moved by another process just now; try again")
        with within(to, name) as into:
            if into.execute("SELECT moved FROM books").fetchall() == [("",)]:
                raise Conflict(f"there is a book of {name!r} at {shown(to)!r}: erase it there first")
            for table in TABLES:  # what a move that was cut off left there
                into.execute(f"DELETE FROM {table}")
            rows = {table: _copy(out, into, table) for table in TABLES}
            into.execute("DELETE FROM meta WHERE name LIKE 'near %'")  # an index that is not there
            into.execute("UPDATE books SET moved=$1", (arriving,))
        for table in tables_of(out):
            if table != "books":
                out.execute(f"DELETE FROM {table}")
        out.execute("UPDATE books SET identity='', moved=$1", (left,))
    with within(to, name) as into:
        into.execute("UPDATE books SET moved='' WHERE moved=$1", (arriving,))
    return Moved(shown(here), shown(to), rows)


def tables_of(raw: Raw) -> list[str]:
    """Return every table that has a tenant's rows, also those that an administrator added."""
    found = raw.execute(
        "SELECT relname FROM pg_class JOIN pg_attribute ON attrelid=pg_class.oid AND attname='tenant' WHERE"
        " relnamespace='memorybook'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition"
    ).fetchall()
    return list(dict.fromkeys([*TABLES, *(table for (table,) in found)]))


def _copy(out: Raw, into: Raw, table: str) -> int:
    """Copy a tenant's rows of a table, with their numbers."""
    columns = ", ".join(TABLES[table])
    into.execute(f"CREATE TEMPORARY TABLE moving ON COMMIT DROP AS SELECT {columns} FROM {table} WITH NO DATA")
    with (
        out.cursor().copy(f"COPY (SELECT {columns} FROM {table}) TO STDOUT (FORMAT binary)") as rows,
        into.cursor().copy(f"COPY moving ({columns}) FROM STDIN (FORMAT binary)") as copied,
    ):
        for data in rows:
            copied.write(data)
    count = into.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM moving").rowcount
    into.execute("DROP TABLE moving")
    for key in (column for column, kind in TABLES[table].items() if kind == "IDENTITY"):
        into.execute(
            f"SELECT setval(pg_get_serial_sequence('memorybook.{table}', '{key}'), n) FROM"
            f" (SELECT max({key}) AS n FROM {table}) AS newest, {table}_{key}_seq AS known WHERE n>last_value"
        )
    return count


def erase(setting: str, name: str, *, wake: Wake | None = None) -> list[Erased]:
    """Erase a tenant from every server: the book, where else it was, and its tokens; return what went where.

    A book at rest is woken before, so that its file goes, too. Raises BookLocked,
    Unavailable if it cannot be, NotFound if there was nothing anywhere.
    """
    tenant = Tenant(setting, name, 2, wake)
    tenant.rows("SELECT 1 FROM books")
    at = tenant.dsn
    servers = dict.fromkeys([at, *dsns_of(setting)])
    receipts = []
    for dsn in servers:
        with within(dsn, name) as raw:
            alone(raw, name)
            rows = {table: raw.execute(f"DELETE FROM {table}").rowcount for table in tables_of(raw)}
            rows["server_state"] = raw.execute(_STATE, (name,)).rowcount
        with failures(dsn), connect(dsn) as raw, suppress(psycopg.errors.InsufficientPrivilege):  # of who built it
            postgres_index.drop(raw, name)
        with within(dsn, name) as raw:
            left = sum(raw.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0] for table in tables_of(raw))
        receipts.append(Erased(shown(dsn), {table: count for table, count in rows.items() if count}, left))
    if not any(receipt.rows for receipt in receipts):
        raise NotFound(f"there is nothing of a tenant {name!r}")
    return receipts


# --- books at rest --------------------------------------------------------------------------------


DAYS = 30


def rest(dsn: str, folder: str, days: int = DAYS) -> dict[str, str]:
    """Let every book that nobody used for so many days be a backup in a folder; return the files by tenant.

    The books are usable meanwhile; one that is being written stays. The user sees the tenants of all: BYPASSRLS. Raises
    NotFound, Unavailable.
    """
    if not os.path.isdir(folder):
        raise NotFound(f"there is no folder {folder!r}: make it, or set storage.idle_folder")
    made: dict[str, str] = {}
    with failures(dsn), connect(dsn) as raw:
        raw.execute("SET row_security=off")
        unused = "SELECT tenant FROM memorybook.books WHERE moved='' AND used<current_date-$1::int ORDER BY used"
        names = [str(name) for (name,) in raw.execute(unused, (days,)).fetchall()]
    for name in names:
        with suppress(BookLocked):
            if path := _rest(dsn, name, folder, days):
                made[name] = path
    return made


def _rest(dsn: str, name: str, folder: str, days: int) -> str:
    """Let one book rest; return its file, "" if it was used meanwhile."""
    path = os.path.join(folder, f"{sha256(name.encode()).hexdigest()[:32]}-{token_hex(8)}.tar.gz")
    with within(dsn, name) as raw:
        alone(raw, name)
        if not raw.execute("SELECT 1 FROM books WHERE moved='' AND used<current_date-$1::int", (days,)).fetchall():
            return ""
        storage = _held(dsn, name, raw)
        with put_in_place(path) as new, TemporaryDirectory(prefix="memorybook-") as parts:
            archive.pack(new, storage, parts, place="", now=datetime.now(UTC))
        for table in tables_of(raw):
            if table != "books":
                raw.execute(f"DELETE FROM {table}")
        raw.execute("UPDATE books SET moved=$1", (f"{RESTING} {os.path.basename(path)}",))
    return path


def waker(folder: str) -> Wake | None:
    """Return what makes books again of their backups in a folder; None without one."""
    return partial(_wake, folder) if folder else None


def _wake(folder: str, tenant: Tenant, name: str) -> None:
    """Make a tenant's book of the backup of that name, unless somebody else did. Raises BookLocked, Unavailable."""
    path = os.path.join(folder, name)
    with within(tenant.dsn, tenant.name) as raw:
        alone(raw, tenant.name)
        found = raw.execute("SELECT identity, revision FROM books WHERE moved=$1", (f"{RESTING} {name}",)).fetchall()
        if not found:
            return
        if not os.path.exists(path):
            raise Unavailable(f"the book {tenant.root!r} is at rest as {path!r}, and is not there")
        [(identity, revision)] = found
        files, *_ = archive.manifest_of(path)
        archive.check(path, files)
        raw.execute("DELETE FROM books")
        storage = _held(tenant.dsn, tenant.name, raw)
        storage.restore(
            lambda into: archive.unpack(path, into, files, storage),
            identity=identity,
            replace=False,
            now=datetime.now(UTC),
        )
        raw.execute("UPDATE books SET revision=revision+$1", (revision,))
    with suppress(OSError):
        os.remove(path)


def _held(dsn: str, name: str, raw: Raw) -> PostgresStorage:
    """Return a tenant's storage, all of whose work in this thread is part of that transaction."""
    storage = PostgresStorage(dsn, name)
    storage._tenant.held.raw = raw
    return storage
