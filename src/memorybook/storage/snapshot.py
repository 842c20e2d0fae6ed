"""Copies of databases as they are at one moment, while others go on to write to them."""

from __future__ import annotations

import apsw

from memorybook.standard import Iterator, contextmanager
from memorybook.storage.sqlite import Connection, Store, connect, immediate, reading, translated
from memorybook.typed import Any


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
    copied = Store(path, store._migrations)
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
