"""Base of the stores that keep tables: columns as values, queries, copies while others write, erasing for good."""

from __future__ import annotations

import apsw

from memorybook._light import TYPE_CHECKING, Any, Callable, Iterator, NamedTuple, Sequence, contextmanager
from memorybook.storage import sqlite

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

_READ_ONLY = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI


class Column(NamedTuple):
    """How a field of a value is written to a column, and read from it."""

    write: Callable[[Any], sqlite.Value]
    read: Callable[[Any], Any]


TEXT = Column(sqlite.bindable, sqlite.readable)
MAYBE_TEXT = Column(sqlite.maybe_bindable, sqlite.maybe_readable)
TIME = Column(sqlite.maybe_stamp, sqlite.maybe_time_of)
PLAIN = Column(lambda value: value, lambda value: value)
FLAG = Column(int, bool)
LIST = Column(sqlite.as_json, lambda value: tuple(sqlite.list_of(value)))
OBJECT = Column(
    lambda value: None if value is None else sqlite.as_json(value),
    lambda value: None if value is None else sqlite.object_of(value),
)


class Columns(dict[str, Column]):
    """The columns that hold the fields of a value, under the same names, in order; in SQL its text lists them."""

    def __str__(self) -> str:
        return ", ".join(self)

    @property
    def marks(self) -> str:
        """As many `?` as there are columns."""
        return ", ".join("?" * len(self))

    def row(self, value: Any) -> tuple[sqlite.Value, ...]:
        """Return what to bind for a value. Raises InvalidInput for what no column can hold."""
        return tuple([column.write(getattr(value, name)) for name, column in self.items()])

    def fields(self, row: Sequence[Any]) -> dict[str, Any]:
        """Return the fields of a value by name, given these columns of its row. Raises Damaged."""
        return {name: column.read(found) for (name, column), found in zip(self.items(), row, strict=True)}


def check_copy(path: str, migrations: Sequence[str]) -> None:
    """Raise Damaged unless the file is a sound database as `copying` makes it, with just the tables of a version."""
    from urllib.parse import quote

    found, fresh = apsw.Connection(f"file:{quote(path)}?immutable=1", flags=_READ_ONLY), apsw.Connection(":memory:")
    try:
        [(version,)] = found.execute("PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA user_version")
        if version > len(migrations):
            raise sqlite.Damaged("it is of a newer memorybook: update memorybook")
        fresh.execute("; ".join(migrations[:version])).fetchall()
        if version < 1 or _schema(found) != _schema(fresh):
            raise sqlite.Damaged("its tables are not those of a book")
        if (wrong := found.execute("PRAGMA quick_check(1)").fetchall()) != [("ok",)]:
            raise sqlite.Damaged(str(wrong[0][0]))
    except apsw.Error as error:
        raise sqlite.Damaged(str(error)) from error
    finally:
        found.close()
        fresh.close()


def _schema(raw: apsw.Connection) -> set[tuple[Any, ...]]:
    return {*raw.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%'")}


@contextmanager
def copying(store: sqlite.Store, path: str) -> Iterator[bool]:
    """Copy a store's database as it is when the block begins into `path`, which is not there or empty.

    The file is whole when the block ends; not if it raises. False if there is no database yet. Of a server's, the copy
    is made before the block begins.

    Raises:
        Unavailable, Damaged.
    """
    found = store.existing()
    if found is None or found.remote:
        if found is not None:
            _copy_rows(store, path)
        yield found is not None
        return
    source = sqlite.connect(store.path, durable=True, readonly=True)
    try:
        with sqlite.reading(source):
            source.first("SELECT 1 FROM sqlite_schema LIMIT 1")  # a transaction sees what stands at its first reading
            yield True
            _copy_pages(source, path)
    finally:
        source.close()


def _copy_pages(source: sqlite.Connection, path: str) -> None:
    target = apsw.Connection(path)
    try:
        with sqlite.translated(source), target.backup("main", source.raw, "main") as backing:
            backing.step(-1)
    finally:
        target.close()


def _copy_rows(store: sqlite.Store, path: str) -> None:
    """Copy the tables of a server's database, row by row."""
    copied = sqlite.Store(path, store.migrations)
    source = store.snapshot()
    try:
        target = copied.created()
        with sqlite.immediate(target):
            for (table,) in target.execute("SELECT name FROM sqlite_schema WHERE type='table'"):
                names = [str(row[1]) for row in target.execute(f"PRAGMA table_info({table})")]
                columns, marks = ", ".join(names), ", ".join("?" * len(names))
                rows = source.stream(f"SELECT {columns} FROM {table}")
                target.execute(f"DELETE FROM {table}")
                target.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)
    finally:
        source.close()
        copied.close()


def checkpoint(connection: sqlite.Connection) -> bool:
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

    def __init__(self, store: sqlite.Store) -> None:
        self._store = store

    def _rows(self, sql: str, values: sqlite.Values = ()) -> list[sqlite.Row]:
        """Return the rows of a query; none while there is no database."""
        db = self._store.existing()
        return [] if db is None else db.execute(sql, values)

    def _first(self, sql: str, values: sqlite.Values = ()) -> sqlite.Row | None:
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
        """Write the database anew, so that no byte of what was deleted is left in its files.

        Return False if another process still reads the write-ahead log: what it holds is gone when this is called again
        after that, or the last connection closes. Of a server's files nothing is known. Raises Unavailable, Damaged.
        """
        connection = self._store.existing()
        if connection is None or connection.remote:
            return True
        with connection.lock:
            checkpoint(connection)
            connection.execute("PRAGMA secure_delete=ON; VACUUM")
            return checkpoint(connection)

    def fault(self, *, thorough: bool = False) -> str:
        """Return what is wrong with the database, see `Store.fault`; "" if nothing is."""
        return self._store.fault(thorough=thorough)

    def close(self) -> None:
        """Release what is held; closing twice does nothing."""
        self._store.close()
