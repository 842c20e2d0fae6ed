"""What was done to a book, with what stood there before, in SQLite; the tables are in `journal_rows`."""

from __future__ import annotations

import os

from memorybook._light import (
    TYPE_CHECKING,
    Any,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    contextmanager,
)
from memorybook.errors import Conflict, InvalidInput, NotFound
from memorybook.storage.index.columns import as_json, bindable, readable, row_limit, stamp
from memorybook.storage.journal_rows import (
    MIGRATIONS,
    OPERATION,
    among,
    insert_operation,
    json_of,
    mark_memorized,
    operation_of,
    patch_of,
    unforced,
)
from memorybook.storage.sqlite import Connection, Store, immediate, reading

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from datetime import datetime

    from memorybook.model import Applied, Operation, Patch
    from memorybook.storage.queues import Queues

_PATCH = "path, before, after, hunks"

if not TYPE_CHECKING:

    class Queues:
        """What waits and what was used: brought in when it is asked for, as a search does not."""

        def __getattr__(self, name):
            from memorybook.storage import queues

            return getattr(queues.Queues, name).__get__(self)


def new_operation_id(time: datetime) -> str:
    """An id such as `20260224-101233123456-9f2c1b`: sorts by time (UTC, microseconds), unique by 24 random bits.

    Two processes, or a clock set back, cannot make the same one twice but by chance of 1 in 16
    million for each pair in the same microsecond, which `begin` refuses; the order of operations
    is that of the journal, not of their ids. Raises InvalidInput for a time without timezone.
    """
    digits = stamp(time).translate(str.maketrans("", "", "-:.TZ"))
    return f"{digits[:8]}-{digits[8:]}-{os.urandom(3).hex()}"


class SqliteJournal(Queues):
    """`Journal` in one SQLite file, which the first write creates.

    Every method may raise Unavailable (locked by another process for 30 s, unreadable, made by a
    newer memorybook) or Damaged; a damaged file is kept as it is.

    Args:
        path: The database file.
        prepare: See `Store`.
    """

    def __init__(self, path: str, *, prepare: Callable[[], None] | None = None) -> None:
        self._store = Store(path, MIGRATIONS, prepare=prepare)

    def begin(
        self,
        operation: Operation,
        *,
        patches: Iterable[Patch] = (),
        bury: Iterable[str] = (),
        memorized: Iterable[str] = (),
    ) -> None:
        """Record an intention with its preimages, not done whatever `operation.done` says; on disk on return.

        `patches` are the documents' changes; `bury` holds digests of texts that it forgets: their tombstones
        stand from now on, for as long as the operation is not undone. `memorized` is what it takes of its session.

        Raises Conflict if the id is taken, InvalidInput for an empty one or a time without timezone.
        """
        if not operation.id:
            raise InvalidInput("an operation needs an id; new_operation_id makes one")
        time = stamp(operation.time)
        with immediate(self._store.created()) as db:
            if db.first("SELECT 1 FROM operations WHERE id=?", (bindable(operation.id),)):
                raise Conflict(f"the journal has an operation {operation.id!r} already; begin it with a new id")
            insert_operation(db, operation, time, patches)
            _bury(db, bury, operation.id, operation.kind, time)
            mark_memorized(db, operation.session or "", memorized, operation.id, time)

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
            db.execute("DELETE FROM tombstones WHERE operation=?", (bindable(operation),))
            db.execute("DELETE FROM memorized WHERE operation=?", (bindable(operation),))

    def pending(self) -> Sequence[Operation]:
        """Operations begun and not marked done, oldest first."""
        return self._operations("WHERE done=0 ORDER BY seq")

    def operation(self, id: str) -> Operation:
        """The operation of that id. Raises NotFound."""
        found = self._operations("WHERE id=?", (bindable(id),))
        if not found:
            raise _no_operation(id)
        return found[0]

    def operations(
        self, *, target: str | None = None, session: str | None = None, limit: int | None = None, alone: bool = False
    ) -> Sequence[Operation]:
        """Newest first, by when they were begun, with all their changes, or `alone` those to the target.

        Only those that changed the entry id or path `target`, only those of `session`, if these are given.
        Raises InvalidInput for a limit below 0.
        """
        rows = row_limit(limit)
        conditions, values = ["1"], list[str | bytes | int]()
        if target is not None:
            conditions.append("seq IN (SELECT operation FROM changes WHERE target=?)")
            values.append(bindable(target))
        if session is not None:
            conditions.append("session=?")
            values.append(bindable(session))
        which = f"WHERE {' AND '.join(conditions)} ORDER BY seq DESC LIMIT ?"
        return self._operations(which, (*values, rows), target if alone else None)

    def patches(self, operation: str) -> Sequence[Patch]:
        """How the operation (id) changed documents; none for one of an older journal. Raises NotFound."""
        db = self._store.existing()
        row = None if db is None else db.first("SELECT seq FROM operations WHERE id=?", (bindable(operation),))
        if db is None or row is None:
            raise _no_operation(operation)
        return [patch_of(p) for p in db.execute(f"SELECT {_PATCH} FROM patches WHERE operation=? ORDER BY n", row)]

    def undone(self) -> Mapping[str, str]:
        """Ids of the operations that are undone, and not redone since, with the id of what undid each."""
        db = self._store.existing()
        return {} if db is None else _undone(db)

    def usage(self, operation: str) -> Mapping[str, Any] | None:
        """What the LLM calls of an operation (id) used; None if it made none. Raises NotFound."""
        db = self._store.existing()
        row = None if db is None else db.first("SELECT usage FROM operations WHERE id=?", (bindable(operation),))
        if row is None:
            raise _no_operation(operation)
        return json_of(row[0])

    def bury(self, digests: Iterable[str], *, reason: str, time: datetime) -> None:
        """Record tombstones: texts (by `text.tokens.digest`) that imports must not bring back. On disk on return.

        One that has a tombstone keeps it as it is.
        """
        digests = list(digests)
        if digests:
            with immediate(self._store.created()) as db:
                _bury(db, digests, "", reason, stamp(time))

    def buried(
        self, digests: Iterable[str], *, since: datetime | None = None, but: Collection[str] = ()
    ) -> frozenset[str]:
        """Which of these digests have a tombstone of an operation that is not undone.

        With `since` only of tombstones of that time or later; none of the operations `but`.
        """
        db = self._store.existing()
        if db is None or not self.buries():
            return frozenset()
        keyed = {key_of(each): each for each in digests} if (key_of := _keys(db)) is not None else {}
        first = "" if since is None else stamp(since)
        found = among(db, "SELECT digest, operation, time FROM tombstones WHERE digest IN ({})", keyed)
        rows = [(readable(digest), readable(operation)) for digest, operation, time in found if readable(time) >= first]
        undone = _undone(db) if rows else {}
        return frozenset(
            keyed[digest] for digest, operation in rows if operation not in undone and operation not in but
        )

    def buries(self) -> bool:
        """Whether there is any tombstone, standing or not. Cheap."""
        db = self._store.existing()
        any_of = "SELECT 1 FROM tombstones UNION ALL SELECT 1 FROM tombstones_unkeyed LIMIT 1"
        return db is not None and db.first(any_of) is not None

    def forgotten(self) -> Sequence[Sequence[Applied]]:
        """What was forgotten by operations that are not undone, and not purged: their changes, each operation's."""
        from memorybook.storage.journal_rows import FORGOT, changes_that_forgot

        db = self._store.existing()
        if db is None or db.first(f"SELECT 1 FROM changes WHERE {FORGOT} LIMIT 1") is None:
            return []
        return changes_that_forgot(db, _undone(db))

    def purge(
        self,
        targets: Collection[str],
        holds: Callable[[str], bool],
        operations: Collection[str] = (),
        asks: Callable[[str], bool] | None = None,
    ) -> Mapping[str, int]:
        """Erase texts: of changes to targets (entry ids, paths), of operations, and all for which `holds` is true.

        Questions go for which `asks` is true, which is `holds` if it is None.

        Operations stay in the history with their changes' kinds, targets and times. Returns how many rows of
        each table lost something; what is left in the file is overwritten by `vacuum`.
        """
        from memorybook.storage.journal_purge import purge

        db = self._store.existing()
        return {} if db is None else purge(db, targets, holds, operations, asks)

    def copying(self, path: str) -> AbstractContextManager[bool]:
        """Copy all of it as it is when the block begins, into the new file `path`, which is whole when the block ends.

        Who writes meanwhile does not wait. False if there is nothing yet, and so no file.
        """
        from memorybook.storage.snapshot import copying

        return copying(self._store, path)

    def check_copy(self, path: str) -> None:
        """Raise Unavailable unless the file is a sound copy as `copying` makes it, with just its tables."""
        from memorybook.storage.snapshot import check_copy

        check_copy(path, MIGRATIONS)

    def vacuum(self) -> bool:
        """Let no byte of what was deleted be left in the files; False if another process still needs some."""
        from memorybook.storage.vacuum import vacuum

        return vacuum(self._store.existing())

    def fault(self, *, thorough: bool = False) -> str:
        """What is wrong with the database, see `Store.fault`; "" if nothing is."""
        return self._store.fault(thorough=thorough)

    def close(self) -> None:
        """Release what is held; closing twice does nothing."""
        self._store.close()

    @contextmanager
    def _relaxed(self, operation: str) -> Iterator[Connection]:
        """A transaction about an operation that must be there, not forced to disk. Raises NotFound."""
        db = self._store.existing()
        if db is None:
            raise _no_operation(operation)
        with unforced(db):
            yield db

    def _operations(
        self, which: str, values: Sequence[str | bytes | int] = (), target: str | None = None
    ) -> list[Operation]:
        db = self._store.existing()
        if db is None:
            return []
        with reading(db):
            rows = db.execute(f"SELECT {OPERATION} FROM operations {which}", values)
            return [operation_of(db, row, target) for row in rows]


def _bury(db: Connection, digests: Iterable[str], operation: str, reason: str, time: str) -> None:
    """Record tombstones in the transaction that is open."""
    digests = list(digests)
    if not digests:
        return
    db.execute("INSERT OR IGNORE INTO secret (id, key) VALUES (1, ?)", (os.urandom(32),))
    key_of = _keyed_with(db)
    rows = [(key_of(digest), bindable(operation), bindable(reason), time) for digest in digests]
    db.executemany("INSERT OR IGNORE INTO tombstones (digest, operation, reason, time) VALUES (?, ?, ?, ?)", rows)


def _keyed_with(db: Connection) -> Callable[[str], str]:
    """The keyed digest of a digest: HMAC-SHA256, begun once, as many are asked for at a time."""
    from hashlib import sha256

    [(key,)] = db.execute("SELECT key FROM secret")
    inner, outer = (sha256(bytes(byte ^ pad for byte in key.ljust(64, b"\0"))) for pad in (0x36, 0x5C))

    def keyed(digest: str) -> str:
        within, around = inner.copy(), outer.copy()
        within.update(digest.encode("utf-8", "surrogatepass"))
        around.update(within.digest())
        return around.hexdigest()[:32]

    return keyed


def _keys(db: Connection) -> Callable[[str], str] | None:
    """As `_keyed_with`, once the tombstones of an older version are keyed; None if there is none at all."""
    if db.first("SELECT 1 FROM tombstones_unkeyed LIMIT 1") is not None:
        with immediate(db):
            rows = db.execute("SELECT digest, operation, reason, time FROM tombstones_unkeyed")
            for digest, operation, reason, time in rows:
                _bury(db, [readable(digest)], readable(operation), readable(reason), time)
            db.execute("DELETE FROM tombstones_unkeyed")
    return None if db.first("SELECT 1 FROM secret") is None else _keyed_with(db)


def _undone(db: Connection) -> dict[str, str]:
    """What is undone by what: an undoing is always newer than what it undoes, so the newest of them all stands."""
    undone: dict[str, str] = {}
    for row in db.execute("SELECT id, undoes FROM operations WHERE undoes IS NOT NULL ORDER BY seq DESC"):
        by, operation = map(readable, row)
        if by not in undone:
            undone.setdefault(operation, by)
    return undone


def _no_operation(operation: str) -> NotFound:
    return NotFound(f"the journal has no operation {operation!r}; list the history to see their ids")
