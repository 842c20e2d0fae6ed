"""Copies of databases as they are at one moment, while others go on to write to them."""

from __future__ import annotations

import apsw

from memorybook.storage.sqlite import Connection, Store, connect, immediate, translated
from memorybook.typed import Any


def copy(store: Store, path: str) -> bool:
    """Copy a store's database into the file `path`, which is not there or empty; False if there is none yet.

    What was committed before the call is in it. Raises Unavailable, Damaged.
    """
    found = store.existing()
    if found is None:
        return False
    if found.remote:
        _copy_rows(store, path)
        return True
    source = connect(store.path, durable=True, readonly=True)
    try:
        target = apsw.Connection(path)
        try:
            with translated(source), target.backup("main", source.raw, "main") as copying:
                copying.step(-1)
        finally:
            target.close()
    finally:
        source.close()
    return True


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
