"""What was done to a book, with what stood there before, in SQLite.

Tables, for people who like SQL (times are ISO 8601 in UTC):

- `operations`: one row each; `seq` is their order, whatever the clock did; `done` is 0 for an
  intention whose writes are not all confirmed; `usage` is a JSON object, NULL if no LLM was called.
- `changes`: what an operation (its `seq`) did, in order `n`, with the text before and after.
- `tombstones`: digests of texts that imports must not bring back. `access`: how often an entry was used.

Text that UTF-8 cannot say (lone surrogates) is stored as a blob in the same column.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from memorybook.errors import Conflict, InvalidInput, NotFound
from memorybook.storage.columns import (
    as_json,
    bindable,
    maybe_bindable,
    maybe_readable,
    readable,
    row_limit,
    stamp,
    time_of,
)
from memorybook.storage.sqlite import Connection, Store, immediate, reading
from memorybook.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime

    from memorybook.model import Applied, Operation

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE operations (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        time TEXT NOT NULL,
        actor TEXT NOT NULL,
        door TEXT NOT NULL,
        session TEXT,
        done INTEGER NOT NULL DEFAULT 0,
        usage TEXT
    );
    CREATE INDEX operations_pending ON operations (seq) WHERE done=0;
    CREATE TABLE changes (
        operation INTEGER NOT NULL REFERENCES operations (seq) ON DELETE CASCADE,
        n INTEGER NOT NULL,
        kind TEXT NOT NULL,
        target TEXT NOT NULL,
        before TEXT,
        after TEXT,
        reason TEXT NOT NULL
    );
    CREATE UNIQUE INDEX changes_by_operation ON changes (operation, n);
    CREATE INDEX changes_by_target ON changes (target, operation);
    CREATE TABLE tombstones (
        digest TEXT PRIMARY KEY,
        reason TEXT NOT NULL,
        time TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE access (
        entry TEXT PRIMARY KEY,
        count INTEGER NOT NULL
    ) WITHOUT ROWID;
    """,
)
"""Migration n makes version n of version n - 1. Only ever added to."""

_OPERATION = "seq, id, time, actor, door, session, done"
_MOST_VALUES = 500


def new_operation_id(time: datetime) -> str:
    """An id such as `20260224-101233123456-9f2c1b`: sorts by time (UTC, microseconds), unique by 24 random bits.

    Two processes, or a clock set back, cannot make the same one twice but by chance of 1 in 16
    million for each pair in the same microsecond, which `begin` refuses; the order of operations
    is that of the journal, not of their ids. Raises InvalidInput for a time without timezone.
    """
    digits = stamp(time).translate(str.maketrans("", "", "-:.TZ"))
    return f"{digits[:8]}-{digits[8:]}-{os.urandom(3).hex()}"


class SqliteJournal:
    """`Journal` in one SQLite file, which the first write creates.

    Every method may raise Unavailable (locked by another process for 30 s, unreadable, made by a
    newer memorybook) or Damaged; a damaged file is kept as it is.

    Args:
        path: The database file.
    """

    def __init__(self, path: str) -> None:
        self._store = Store(path, MIGRATIONS)

    def begin(self, operation: Operation) -> None:
        """Record an intention with its preimages, not done whatever `operation.done` says; on disk on return.

        Raises Conflict if the id is taken, InvalidInput for an empty one or a time without timezone.
        """
        if not operation.id:
            raise InvalidInput("an operation needs an id; new_operation_id makes one")
        time = stamp(operation.time)
        with immediate(self._store.created()) as db:
            if db.first("SELECT 1 FROM operations WHERE id=?", (bindable(operation.id),)):
                raise Conflict(f"the journal has an operation {operation.id!r} already; begin it with a new id")
            seq = db.insert(
                "INSERT INTO operations (id, time, actor, door, session) VALUES (?, ?, ?, ?, ?)",
                (
                    bindable(operation.id),
                    time,
                    *map(maybe_bindable, (operation.actor, operation.door, operation.session)),
                ),
            )
            db.executemany(
                "INSERT INTO changes (operation, n, kind, target, before, after, reason) VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(seq, n, *_change_row(change)) for n, change in enumerate(operation.changes)],
            )

    def done(self, operation: str, *, usage: Mapping[str, Any] | None = None) -> None:
        """Mark the operation (id) as carried out, with what its LLM calls used. Raises NotFound.

        Not forced to disk: after a loss of power it may be pending again, and is found to be done.
        """
        used = None if usage is None else as_json(usage)
        with self._relaxed(operation) as db:
            if not db.modify(
                "UPDATE operations SET done=1, usage=coalesce(?, usage) WHERE id=?", (used, bindable(operation))
            ):
                raise _no_operation(operation)

    def discard(self, operation: str) -> None:
        """Take back an intention that wrote nothing. Raises NotFound, Conflict if it was carried out."""
        with self._relaxed(operation) as db:
            row = db.first("SELECT seq, done FROM operations WHERE id=?", (bindable(operation),))
            if row is None:
                raise _no_operation(operation)
            if row[1]:
                raise Conflict(f"operation {operation!r} was carried out and stays in the journal; undo it instead")
            db.execute("DELETE FROM operations WHERE seq=?", (row[0],))

    def pending(self) -> Sequence[Operation]:
        """Operations begun and not marked done, oldest first."""
        return self._operations("WHERE done=0 ORDER BY seq")

    def operations(self, *, target: str | None = None, limit: int | None = None) -> Sequence[Operation]:
        """Newest first, by when they were begun; of one entry id or path if `target` is given, with all their changes.

        Raises InvalidInput for a limit below 0.
        """
        rows = row_limit(limit)
        if target is None:
            return self._operations("ORDER BY seq DESC LIMIT ?", (rows,))
        touching = "WHERE seq IN (SELECT operation FROM changes WHERE target=?) ORDER BY seq DESC LIMIT ?"
        return self._operations(touching, (bindable(target), rows))

    def usage(self, operation: str) -> Mapping[str, Any] | None:
        """What the LLM calls of an operation (id) used; None if it made none. Raises NotFound."""
        import json

        db = self._store.existing()
        row = None if db is None else db.first("SELECT usage FROM operations WHERE id=?", (bindable(operation),))
        if row is None:
            raise _no_operation(operation)
        return None if row[0] is None else dict(json.loads(readable(row[0])))

    def bury(self, digests: Iterable[str], *, reason: str, time: datetime) -> None:
        """Record tombstones: texts (by `text.tokens.digest`) that imports must not bring back. On disk on return.

        One that has a tombstone keeps it as it is.
        """
        rows = [(bindable(digest), bindable(reason), stamp(time)) for digest in digests]
        if rows:
            with immediate(self._store.created()) as db:
                db.executemany("INSERT OR IGNORE INTO tombstones (digest, reason, time) VALUES (?, ?, ?)", rows)

    def buried(self, digests: Iterable[str]) -> frozenset[str]:
        """Which of these digests have a tombstone."""
        rows = self._among("SELECT digest FROM tombstones WHERE digest IN ({})", digests)
        return frozenset(readable(digest) for (digest,) in rows)

    def count_access(self, ids: Iterable[str]) -> None:
        """Add one to the access count of each entry id, for every time it is named. Not forced to disk."""
        rows = [(bindable(entry),) for entry in ids]
        if rows:
            with _unforced(self._store.created()) as db:
                db.executemany(
                    "INSERT INTO access (entry, count) VALUES (?, 1) ON CONFLICT DO UPDATE SET count=count+1", rows
                )

    def access_counts(self, ids: Iterable[str]) -> Mapping[str, int]:
        """Access count by id, 0 left out."""
        rows = self._among("SELECT entry, count FROM access WHERE entry IN ({})", ids)
        return {readable(entry): count for entry, count in rows}

    def close(self) -> None:
        """Release what is held; closing twice does nothing."""
        self._store.close()

    @contextmanager
    def _relaxed(self, operation: str) -> Iterator[Connection]:
        """A transaction about an operation that must be there, not forced to disk. Raises NotFound."""
        db = self._store.existing()
        if db is None:
            raise _no_operation(operation)
        with _unforced(db):
            yield db

    def _operations(self, which: str, values: Sequence[str | bytes | int] = ()) -> list[Operation]:
        db = self._store.existing()
        if db is None:
            return []
        with reading(db):
            return [_operation(db, row) for row in db.execute(f"SELECT {_OPERATION} FROM operations {which}", values)]

    def _among(self, query: str, keys: Iterable[str]) -> Iterator[tuple[Any, ...]]:
        """Rows of a query with a place for a list of keys, asked in pieces that SQLite can take."""
        db = self._store.existing()
        if db is None:
            return
        wanted = [bindable(key) for key in dict.fromkeys(keys)]
        for start in range(0, len(wanted), _MOST_VALUES):
            piece = wanted[start : start + _MOST_VALUES]
            yield from db.execute(query.format(", ".join("?" * len(piece))), piece)


@contextmanager
def _unforced(db: Connection) -> Iterator[Connection]:
    """A transaction that a crash of the process cannot undo, but a loss of power can: a tenth of the time."""
    with db.lock:
        db.execute("PRAGMA synchronous=NORMAL")
        try:
            with immediate(db):
                yield db
        finally:
            db.execute("PRAGMA synchronous=FULL")


def _operation(db: Connection, row: tuple[Any, ...]) -> Operation:
    from memorybook.model import Operation

    seq, operation, time, actor, door, session, done = row
    changes = db.execute("SELECT kind, target, before, after, reason FROM changes WHERE operation=? ORDER BY n", (seq,))
    return Operation(
        id=readable(operation),
        time=time_of(time),
        actor=readable(actor),
        door=readable(door),
        session=maybe_readable(session),
        changes=tuple(_applied(change) for change in changes),
        done=bool(done),
    )


def _applied(row: tuple[Any, ...]) -> Applied:
    from memorybook.model import Applied

    kind, target, before, after, reason = row
    return Applied(
        kind=readable(kind),
        target=readable(target),
        before=maybe_readable(before),
        after=maybe_readable(after),
        reason=readable(reason),
    )


def _change_row(change: Applied) -> tuple[str | bytes | None, ...]:
    before, after = maybe_bindable(change.before), maybe_bindable(change.after)
    return bindable(change.kind), bindable(change.target), before, after, bindable(change.reason)


def _no_operation(operation: str) -> NotFound:
    return NotFound(f"the journal has no operation {operation!r}; list the history to see their ids")
