"""Copies of databases as they are at one moment, while others go on to write to them."""

from __future__ import annotations

from urllib.parse import quote

import apsw

from memorybook._light import Any, Iterator, Sequence, contextmanager
from memorybook.storage.sqlite import Connection, Damaged, Store, connect, immediate, reading, translated

_READ_ONLY = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI


def check_copy(path: str, migrations: Sequence[str]) -> None:
    """Raise Damaged unless the file is a sound database as `copying` makes it, with just the tables of a version."""
    found, fresh = apsw.Connection(f"file:{quote(path)}?immutable=1", flags=_READ_ONLY), apsw.Connection(":memory:")
    try:
        [(version,)] = found.execute("PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA user_version")
        if version > len(migrations):
            raise Damaged("it is of a newer memorybook: update memorybook")
        fresh.execute("; ".join(migrations[:version])).fetchall()
        if version < 1 or _schema(found) != _schema(fresh):
            raise Damaged("its tables are not those of a book")
        if (wrong := found.execute("PRAGMA quick_check(1)").fetchall()) != [("ok",)]:
            raise Damaged(str(wrong[0][0]))
    except apsw.Error as error:
        raise Damaged(str(error)) from error
    finally:
        found.close()
        fresh.close()


def _schema(raw: apsw.Connection) -> set[tuple[Any, ...]]:
    return {*raw.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%'")}


@contextmanager
def copying(store: Store, path: str) -> Iterator[bool]:
    """Copy a store's database as it is when the block begins into `path`, which is not there or empty.

    The file is whole when the block ends; not if it raises. False if there is no database yet. Of a server's, the copy
    is made before the block begins.

    Raises:
        Unavailable, Damaged.
    """
    found = store.existing()
    if found is None:
        yield False
        return
    if found.remote:
        _copy_rows(store, path)
        yield True
        return
    source = connect(store.path, durable=True, readonly=True)
    try:
        with reading(source):
            source.first("SELECT 1 FROM sqlite_schema LIMIT 1")  # a transaction sees what stands at its first reading
            yield True
            _copy_pages(source, path)
    finally:
        source.close()


def _copy_pages(source: Connection, path: str) -> None:
    target = apsw.Connection(path)
    try:
        with translated(source), target.backup("main", source.raw, "main") as backing:
            backing.step(-1)
    finally:
        target.close()


def _copy_rows(store: Store, path: str) -> None:
    """Copy the tables of a server's database, row by row."""
    copied = Store(path, store.migrations)
    source = store.snapshot()
    try:
        target = copied.created()
        with immediate(target):
            for (table,) in target.execute("SELECT name FROM sqlite_schema WHERE type='table'"):
                _copy_table(source, target, table)
    finally:
        source.close()
        copied.close()


def _copy_table(source: Connection, target: Connection, table: str) -> None:
    columns = [str(row[1]) for row in target.execute(f"PRAGMA table_info({table})")]
    rows: Any = source.stream(f"SELECT {', '.join(columns)} FROM {table}")
    target.execute(f"DELETE FROM {table}")
    target.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' for _ in columns)})", rows)


def vacuum(connection: Connection | None) -> bool:
    """Write the database anew without its free pages and empty its write-ahead log; True if there is none.

    False if a reader elsewhere still needs the log: what it may hold then is gone once that reader is done and
    this is called again, or the last connection closes. Of a server's files nothing is known.
    Raises Unavailable, Damaged.
    """
    if connection is None or connection.remote:
        return True
    with connection.lock:
        checkpoint(connection)
        connection.execute("PRAGMA secure_delete=ON; VACUUM")
        return checkpoint(connection)


def checkpoint(connection: Connection) -> bool:
    """Move the write-ahead log into the database and empty it, so that deleted text is not left in it.

    Returns False if a reader elsewhere still needs the log; the last connection to close does it then.
    """
    if connection.remote:
        return True
    with connection.lock:
        raw = connection.raw
        raw.set_busy_timeout(100)
        try:
            row = connection.first("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            raw.set_busy_timeout(connection.timeout_milliseconds)
        return row is not None and row[0] == 0
