"""Books at rest: one that nobody used for long is one backup in a folder, until somebody asks for it again.

`books.moved` says so, and names the file. Both ways are one transaction: whoever is killed on the way leaves the book
where it was, and perhaps a file that nothing names.
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from secrets import token_hex
from tempfile import TemporaryDirectory

from memorybook.errors import NotFound, Unavailable
from memorybook.storage import archive
from memorybook.storage.output_file import put_in_place
from memorybook.storage.postgres.postgres_admin import alone, tables_of, within
from memorybook.storage.postgres.postgres_connection import Raw, Tenant, Wake, connect, failures
from memorybook.storage.postgres.postgres_schema import RESTING
from memorybook.storage.postgres.postgres_storage import PostgresStorage

DAYS = 30


def rest(dsn: str, folder: str, days: int = DAYS) -> dict[str, str]:
    """Let every book that nobody used for so many days be a backup in a folder; return the files by tenant.

    The books are usable meanwhile. The user sees the tenants of all: BYPASSRLS. Raises NotFound, Unavailable.
    """
    if not os.path.isdir(folder):
        raise NotFound(f"there is no folder {folder!r}: make it, or set storage.idle_folder")
    made: dict[str, str] = {}
    with failures(dsn), connect(dsn) as raw:
        raw.execute("SET row_security=off")
        unused = "SELECT tenant FROM memorybook.books WHERE moved='' AND used<current_date-$1::int ORDER BY used"
        names = [str(name) for (name,) in raw.execute(unused, (days,)).fetchall()]
    for name in names:
        path = _rest(dsn, name, folder, days)
        if path:
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
