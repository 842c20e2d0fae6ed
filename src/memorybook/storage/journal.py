"""The journal: what was done to a book and what stood there before, in SQLite."""

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
from memorybook.storage import journal_rows as tables
from memorybook.storage.sqlite import (
    Connection,
    Store,
    as_json,
    bindable,
    immediate,
    maybe_bindable,
    maybe_stamp,
    readable,
    reading,
    row_limit,
    stamp,
)
from memorybook.storage.transcript_rows import LIST, MAYBE_TEXT, OBJECT, PLAIN, TEXT, TIME, Columns, Tables

if TYPE_CHECKING:
    from datetime import date, datetime

    from memorybook.model import Applied, Operation, Parked, Patch, Proposal, Shown, Spent


PROMPTS_KEPT = 20
"""Prompts kept of each entry, the newest."""

MOST_QUERY = 200
"""Characters kept of what a prompt was for."""

PARKED = Columns(
    id=TEXT, kind=TEXT, session=MAYBE_TEXT, payload=OBJECT, reason=TEXT, tries=PLAIN, since=TIME, next=TIME
)
PROPOSAL = Columns(id=TEXT, kind=TEXT, changes=LIST, reason=TEXT, time=TIME, state=PLAIN, operation=MAYBE_TEXT)
PROMPT = Columns(time=TIME, session=MAYBE_TEXT, query=TEXT)


def new_operation_id(time: datetime) -> str:
    """Return an id such as `20260224-101233123456-9f2c1b`: sorts by time (UTC, microseconds), 24 random bits.

    The order of operations is that of the journal, not of their ids. Raises InvalidInput for a time without timezone.
    """
    digits = stamp(time).translate(str.maketrans("", "", "-:.TZ"))
    return f"{digits[:8]}-{digits[8:]}-{os.urandom(3).hex()}"


class SqliteJournal(Tables):
    """`Journal` in one SQLite file, created by the first write.

    Every method may raise Unavailable (locked by another process for 30 s, unreadable, newer) or Damaged; a damaged
    file is kept as it is. `prepare` is as in `Store`.
    """

    def __init__(self, path: str, *, prepare: Callable[[], None] | None = None) -> None:
        super().__init__(Store(path, tables.MIGRATIONS, prepare=prepare))

    def begin(
        self,
        operation: Operation,
        *,
        patches: Iterable[Patch] = (),
        bury: Iterable[str] = (),
        memorized: Iterable[str] = (),
    ) -> None:
        """Record an intention with its preimages, as pending; on disk on return.

        `patches` are the documents' changes; `bury` digests of texts that it forgets, whose tombstones stand until it
        is undone; `memorized` the keys it takes of its session. Raises Conflict if the id is taken, InvalidInput for an
        empty one.
        """
        if not operation.id:
            raise InvalidInput("an operation needs an id; new_operation_id makes one")
        time = stamp(operation.time)
        with immediate(self._store.created()) as db:
            if db.first("SELECT 1 FROM operations WHERE id=?", (bindable(operation.id),)):
                raise Conflict(f"the journal has an operation {operation.id!r} already; begin it with a new id")
            tables.insert_operation(db, operation, patches)
            _bury(db, bury, operation.id, operation.kind, time)
            tables.mark_memorized(db, operation.session or "", memorized, operation.id, time)

    def done(self, operation: str, *, usage: Mapping[str, Any] | None = None) -> None:
        """Mark the operation (id) as carried out, with its LLM usage. Raises NotFound.

        Not forced to disk: after a power loss it may be pending again, and is found to be done.
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
        """Return operations begun and not marked done, oldest first."""
        return self._operations("WHERE done=0 ORDER BY seq")

    def operation(self, id: str) -> Operation:
        """Return the operation of that id. Raises NotFound."""
        found = self._operations("WHERE id=?", (bindable(id),))
        if not found:
            raise _no_operation(id)
        return found[0]

    def operations(
        self, *, target: str | None = None, session: str | None = None, limit: int | None = None, alone: bool = False
    ) -> Sequence[Operation]:
        """Return operations, newest first, with all their changes, or only those to the target if `alone`.

        `target` is an entry id or a path. Raises InvalidInput for a limit below 0.
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
        """Return how the operation (id) changed documents; none for one of an older journal. Raises NotFound."""
        from memorybook.model import Patch

        row = self._first("SELECT seq FROM operations WHERE id=?", (bindable(operation),))
        if row is None:
            raise _no_operation(operation)
        query = f"SELECT {tables.PATCH} FROM patches WHERE operation=? ORDER BY n"
        return [Patch(**tables.PATCH.fields(patch)) for patch in self._rows(query, row)]

    def undone(self) -> Mapping[str, str]:
        """Return ids of the operations that are undone, and not redone since, with the id of what undid each."""
        undone: dict[str, str] = {}  # an undoing is newer than what it undoes, so the newest of all stands
        for row in self._rows("SELECT id, undoes FROM operations WHERE undoes IS NOT NULL ORDER BY seq DESC"):
            by, operation = map(readable, row)
            if by not in undone:
                undone.setdefault(operation, by)
        return undone

    def usage(self, operation: str) -> Mapping[str, Any] | None:
        """Return the usage of an operation's (id) LLM calls; None if it made none. Raises NotFound."""
        return self.operation(operation).usage

    def bury(self, digests: Iterable[str], *, reason: str, time: datetime) -> None:
        """Record tombstones: text digests that imports must not bring back. On disk on return."""
        digests = list(digests)
        if digests:
            with immediate(self._store.created()) as db:
                _bury(db, digests, "", reason, stamp(time))

    def buried(
        self, digests: Iterable[str], *, since: datetime | None = None, but: Collection[str] = ()
    ) -> frozenset[str]:
        """Return those digests that have a tombstone, not undone, of that time or later, of no operation in `but`."""
        db = self._store.existing()
        if db is None or not self.buries():
            return frozenset()
        keyed = {key_of(each): each for each in digests} if (key_of := _keys(db)) is not None else {}
        first = "" if since is None else stamp(since)
        found = tables.among(db, "SELECT digest, operation, time FROM tombstones WHERE digest IN ({})", keyed)
        rows = [(readable(digest), readable(operation)) for digest, operation, time in found if readable(time) >= first]
        undone = self.undone() if rows else {}
        return frozenset(
            keyed[digest] for digest, operation in rows if operation not in undone and operation not in but
        )

    def buries(self) -> bool:
        """Return whether there is any tombstone, standing or not. Cheap."""
        any_of = "SELECT 1 FROM tombstones UNION ALL SELECT 1 FROM tombstones_unkeyed LIMIT 1"
        return self._first(any_of) is not None

    def forgotten(self) -> Sequence[Sequence[Applied]]:
        """Return the changes, by operation, of what was forgotten by operations neither undone nor purged."""
        db = self._store.existing()
        if db is None or db.first(f"SELECT 1 FROM changes WHERE {tables.FORGOT} LIMIT 1") is None:
            return []
        return tables.changes_that_forgot(db, self.undone())

    def purge(
        self,
        targets: Collection[str],
        holds: Callable[[str], bool],
        operations: Collection[str] = (),
        asks: Callable[[str], bool] | None = None,
    ) -> Mapping[str, int]:
        """Erase texts of changes to targets (entry ids, paths), of operations, and all for which `holds` is true.

        Questions go by `asks` (default `holds`). Operations keep kinds, targets and times. Return how many rows of each
        table lost something; `vacuum` overwrites what is left in the file.
        """
        db = self._store.existing()
        return {} if db is None else tables.purge(db, targets, holds, operations, asks)

    # --- work to try again ---------------------------------------------------------------------

    def park(
        self,
        id: str,
        *,
        kind: str,
        payload: Mapping[str, Any],
        reason: str,
        time: datetime,
        session: str | None = None,
        next: datetime | None = None,
    ) -> Parked:
        """Park work that failed at `time` for a retry; on disk on return. A known id counts one more try."""
        from memorybook.model import Parked

        row = (bindable(id), bindable(kind), maybe_bindable(session), as_json(payload), bindable(reason))
        with immediate(self._store.created()) as db:
            db.execute(
                "INSERT INTO parked (id, kind, session, payload, reason, tries, since, next)"
                " VALUES (?, ?, ?, ?, ?, 1, ?, ?) ON CONFLICT (id) DO UPDATE SET kind=excluded.kind,"
                " session=excluded.session, payload=excluded.payload, reason=excluded.reason,"
                " tries=tries+1, next=excluded.next",
                (*row, stamp(time), maybe_stamp(next)),
            )
            [found] = db.execute(f"SELECT {PARKED} FROM parked WHERE id=?", row[:1])
        return Parked(**PARKED.fields(found))

    def parked(self, *, kind: str | None = None, due: datetime | None = None) -> Sequence[Parked]:
        """Return what is parked, oldest first; of one kind, and what may be tried at the time `due`, if given."""
        from memorybook.model import Parked

        query = (
            f"SELECT {PARKED} FROM parked WHERE (?1 IS NULL OR kind=?1) AND (?2 IS NULL OR next IS NULL OR next<=?2)"
            " ORDER BY since, id"
        )
        return [Parked(**PARKED.fields(row)) for row in self._rows(query, (maybe_bindable(kind), maybe_stamp(due)))]

    def unpark(self, id: str) -> bool:
        """Forget what is parked under that id; whether there was something."""
        if self._first("SELECT 1 FROM parked WHERE id=?", (bindable(id),)) is None:
            return False
        with immediate(self._store.created()) as db:
            return db.modify("DELETE FROM parked WHERE id=?", (bindable(id),)) > 0

    # --- changes that wait for a person's word ---------------------------------------------------

    def propose(self, kind: str, changes: Sequence[Mapping[str, Any]], *, reason: str, time: datetime) -> str:
        """Store changes for a person to decide on; return the id. Equal open proposals are stored once."""
        wanted = (bindable(kind), as_json(list(changes)))
        with immediate(self._store.created()) as db:
            known = db.first("SELECT id FROM proposals WHERE state='open' AND kind=? AND changes=?", wanted)
            if known is not None:
                return readable(known[0])
            [(number,)] = db.execute("SELECT coalesce(max(seq), 0) + 1 FROM proposals")
            id = f"p{number}"
            db.execute(
                "INSERT INTO proposals (seq, id, kind, changes, reason, time) VALUES (?, ?, ?, ?, ?, ?)",
                (number, id, *wanted, bindable(reason), stamp(time)),
            )
        return id

    def proposals(
        self, *, state: str | None = "open", kind: str | None = None, limit: int | None = None
    ) -> Sequence[Proposal]:
        """Return proposals, oldest first; of one state (None: of all) and one kind, at most `limit`."""
        from memorybook.model import Proposal

        query = (
            f"SELECT {PROPOSAL} FROM proposals WHERE (?1 IS NULL OR state=?1) AND (?2 IS NULL OR kind=?2)"
            " ORDER BY seq LIMIT ?3"
        )
        rows = self._rows(query, (state, maybe_bindable(kind), row_limit(limit)))
        return [Proposal(**PROPOSAL.fields(row)) for row in rows]

    def decide(self, id: str, state: str, *, time: datetime, operation: str | None = None) -> None:
        """Settle an open proposal: `accepted`, `rejected`, `withdrawn`. Raises NotFound; Conflict if it is settled."""
        if self._first("SELECT 1 FROM proposals WHERE id=?", (bindable(id),)) is None:
            raise NotFound(f"there is no proposal {id!r}; review lists those that are open")
        with immediate(self._store.created()) as db:
            decided = db.modify(
                "UPDATE proposals SET state=?, decided=?, operation=? WHERE id=? AND state='open'",
                (state, stamp(time), maybe_bindable(operation), bindable(id)),
            )
            [(standing,)] = db.execute("SELECT state FROM proposals WHERE id=?", (bindable(id),))
        if not decided and standing != state:
            raise Conflict(f"proposal {id!r} was {standing} already")

    # --- what was memorized --------------------------------------------------------------------

    def memorized(self, session: str, digest: str) -> str | None:
        """Return the operation (id) that memorized this content ("" if nothing came of it); None if it is new."""
        query = "SELECT operation FROM memorized WHERE session=? AND digest=?"
        found = self._first(query, (bindable(session), bindable(digest)))
        return None if found is None else readable(found[0])

    def all_memorized(self, session: str) -> frozenset[str]:
        """Return every content of the session that was memorized."""
        rows = self._rows("SELECT digest FROM memorized WHERE session=?", (bindable(session),))
        return frozenset(readable(digest) for (digest,) in rows)

    def mark_memorized(self, session: str, *digests: str, operation: str, time: datetime) -> None:
        """Record that these contents of the session were memorized. Not forced to disk."""
        with tables.unforced(self._store.created()) as db:
            tables.mark_memorized(db, session, digests, operation, stamp(time))

    def reached(self, session: str) -> int:
        """Return the position of the turn up to which the session was memorized; -1 for nothing."""
        row = self._first("SELECT position FROM reached WHERE session=?", (bindable(session),))
        return -1 if row is None else int(row[0])

    def reach(self, session: str, position: int, *, time: datetime) -> None:
        """Record that the session was memorized up to the turn at `position`; never goes back. Durable on return."""
        with immediate(self._store.created()) as db:
            db.execute(
                "INSERT INTO reached (session, position, time) VALUES (?, ?, ?) ON CONFLICT (session) DO UPDATE"
                " SET position=excluded.position, time=excluded.time WHERE position<excluded.position",
                (bindable(session), position, stamp(time)),
            )

    # --- what LLM calls used -------------------------------------------------------------------

    def spend(
        self, day: date, *, calls: int = 0, failed: int = 0, input_tokens: int = 0, output_tokens: int = 0
    ) -> None:
        """Add to what LLM calls used on that day. Not forced to disk."""
        with tables.unforced(self._store.created()) as db:
            db.execute(
                "INSERT INTO spent (day, calls, failed, input_tokens, output_tokens) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (day) DO UPDATE SET calls=calls+excluded.calls, failed=failed+excluded.failed,"
                " input_tokens=input_tokens+excluded.input_tokens, output_tokens=output_tokens+excluded.output_tokens",
                (day.isoformat(), calls, failed, input_tokens, output_tokens),
            )

    def spent(self, day: date) -> Spent:
        """Return the usage of LLM calls on that day."""
        from memorybook.model import Spent

        query = "SELECT calls, failed, input_tokens, output_tokens FROM spent WHERE day=?"
        calls, failed, given, made = self._first(query, (day.isoformat(),)) or (0, 0, 0, 0)
        return Spent(calls=calls, failed=failed, input_tokens=given, output_tokens=made)

    # --- which prompts an entry entered --------------------------------------------------------

    def shown(self, ids: Iterable[str], *, time: datetime, session: str | None = None, query: str = "") -> None:
        """Count that a prompt took these entries in, and record it. Not forced to disk.

        The newest 20 prompts of each are kept, `query` cut to 200 characters; mask secrets in it first.
        """
        rows = [(bindable(id), stamp(time), maybe_bindable(session), bindable(query[:MOST_QUERY])) for id in ids]
        if not rows:
            return
        with tables.unforced(self._store.created()) as db:
            db.executemany(
                "INSERT INTO access (entry, count) VALUES (?, 1) ON CONFLICT DO UPDATE SET count=count+1",
                [row[:1] for row in rows],
            )
            db.executemany("INSERT INTO prompts (entry, time, session, query) VALUES (?, ?, ?, ?)", rows)
            db.executemany(
                "DELETE FROM prompts WHERE entry=?1 AND seq<="
                "(SELECT seq FROM prompts WHERE entry=?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2)",
                [(row[0], PROMPTS_KEPT) for row in rows],
            )

    def access_counts(self, ids: Iterable[str]) -> Mapping[str, int]:
        """Return access count by id, 0 left out."""
        rows = tables.among(self._store.existing(), "SELECT entry, count FROM access WHERE entry IN ({})", ids)
        return {readable(entry): count for entry, count in rows}

    def prompts_of(self, id: str) -> Sequence[Shown]:
        """Return the last prompts that the entry entered, newest first."""
        from memorybook.model import Shown

        query = f"SELECT {PROMPT} FROM prompts WHERE entry=? ORDER BY seq DESC LIMIT ?"
        return [Shown(**PROMPT.fields(row)) for row in self._rows(query, (bindable(id), PROMPTS_KEPT))]

    @contextmanager
    def _relaxed(self, operation: str) -> Iterator[Connection]:
        """Begin a transaction about an operation that must be there, not forced to disk. Raises NotFound."""
        db = self._store.existing()
        if db is None:
            raise _no_operation(operation)
        with tables.unforced(db):
            yield db

    def _operations(
        self, which: str, values: Sequence[str | bytes | int] = (), target: str | None = None
    ) -> list[Operation]:
        db = self._store.existing()
        if db is None:
            return []
        with reading(db):
            rows = db.execute(f"SELECT seq, {tables.OPERATION} FROM operations {which}", values)
            return [tables.operation_of(db, row, target) for row in rows]


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
    """Return the keyed digest of a digest: HMAC-SHA256, begun once, as many are asked for at a time."""
    import hmac

    [(key,)] = db.execute("SELECT key FROM secret")
    begun = hmac.new(key, digestmod="sha256")

    def keyed(digest: str) -> str:
        made = begun.copy()
        made.update(digest.encode("utf-8", "surrogatepass"))
        return made.hexdigest()[:32]

    return keyed


def _keys(db: Connection) -> Callable[[str], str] | None:
    """Return `_keyed_with`, once the tombstones of an older version are keyed; None if there is none at all."""
    if db.first("SELECT 1 FROM tombstones_unkeyed LIMIT 1") is not None:
        with immediate(db):
            rows = db.execute("SELECT digest, operation, reason, time FROM tombstones_unkeyed")
            for digest, operation, reason, time in rows:
                _bury(db, [readable(digest)], readable(operation), readable(reason), time)
            db.execute("DELETE FROM tombstones_unkeyed")
    return None if db.first("SELECT 1 FROM secret") is None else _keyed_with(db)


def _no_operation(operation: str) -> NotFound:
    from memorybook import locale

    return locale.error(NotFound, "problems.no_operation", name=repr(operation))
