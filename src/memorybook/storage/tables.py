"""What every store of tables does: queries, copies of one moment while others write, and erasing for good."""

from __future__ import annotations

import apsw

from memorybook._light import TYPE_CHECKING, Any, Iterator, Sequence, contextmanager
from memorybook.storage.sqlite import Connection, Damaged, Row, Store, Values, connect, immediate, reading, translated

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

_READ_ONLY = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI


def check_copy(path: str, migrations: Sequence[str]) -> None:
    """Raise Damaged unless the file is a sound database as `copying` makes it, with just the tables of a version."""
    from urllib.parse import quote

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


class Tables:
    """Base of what keeps its tables in a `Store`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def _rows(self, sql: str, values: Values = ()) -> list[Row]:
        """Return the rows of a query; none while there is no database."""
        db = self._store.existing()
        return [] if db is None else db.execute(sql, values)

    def _first(self, sql: str, values: Values = ()) -> Row | None:
        """Return the first row of a query, if there is a database and a row."""
        db = self._store.existing()
        return None if db is None else db.first(sql, values)

    def copying(self, path: str) -> AbstractContextManager[bool]:
        """Copy it as of the beginning of the block into the new file `path`, complete at the end of the block.

        Writers do not wait. False, and no file, if there is nothing yet.
        """
        return copying(self._store, path)

    def check_copy(self, path: str) -> None:
        """Raise Unavailable unless the file is a sound copy as `copying` makes it, with just its tables."""
        check_copy(path, self._store.migrations)

    def vacuum(self) -> bool:
        """Leave no byte of what was deleted in the files; False if another process still needs some."""
        return vacuum(self._store.existing())

    def fault(self, *, thorough: bool = False) -> str:
        """Return what is wrong with the database, see `Store.fault`; "" if nothing is."""
        return self._store.fault(thorough=thorough)

    def close(self) -> None:
        """Release what is held; closing twice does nothing."""
        self._store.close()
