"""The journal: what was done to a book and what stood there before, in SQLite.

Tables, for people who like SQL (times are ISO 8601 in UTC):

- `operations`: one row each; `seq` is their order, whatever the clock did; `done` is 0 for an
  intention whose writes are not all confirmed; `usage` is a JSON object, NULL if no LLM was called;
  `kind` is the verb; `undoes` is the id of the operation that it took back.
- `changes`: what an operation (its `seq`) did, in order `n`, with the text before and after, which
  are empty once they were purged. `discarded`: candidates that it did not store.
- `patches`: how a document's text changed: digests before and after, and packed hunks.
- `tombstones`: keyed digests (HMAC, `secret`) of texts that must not come back, by the operation that forgot them
  ("" if none did); they hold as long as that operation is not undone. `tombstones_unkeyed`: those of an older version,
  until the next use keys them.
- `access`: how often an entry was used. `prompts`: the last prompts that it entered.
- `parked`: work to try again. `proposals`: changes that wait for a person's word.
- `memorized`: which content of a session was memorized, by which operation. `reached`: up to which turn of a session
  everything was. `spent`: LLM use by day. `seal`: the database's name, and how often something was committed.

Text that UTF-8 cannot say (lone surrogates) is stored as a blob in the same column.
"""

from __future__ import annotations

import os

from memorybook._light import TYPE_CHECKING, Any, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from memorybook.errors import Conflict, InvalidInput, NotFound
from memorybook.storage.columns import (
    FLAG,
    LIST,
    MAYBE_TEXT,
    OBJECT,
    PLAIN,
    TEXT,
    TIME,
    Columns,
    Value,
    as_json,
    bindable,
    readable,
    row_limit,
    stamp,
)
from memorybook.storage.sqlite import SEAL_TABLE, Connection, Store, Tables, immediate, reading, unforced

if TYPE_CHECKING:
    from datetime import date, datetime

    from memorybook.model import Applied, Operation, Parked, Patch, Proposal, Shown, Spent


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
    """
    ALTER TABLE operations ADD COLUMN kind TEXT NOT NULL DEFAULT '';
    ALTER TABLE operations ADD COLUMN undoes TEXT;
    CREATE INDEX operations_undoing ON operations (seq) WHERE undoes IS NOT NULL;
    CREATE INDEX operations_by_session ON operations (session, seq) WHERE session IS NOT NULL;
    ALTER TABLE changes ADD COLUMN purged INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE discarded (
        operation INTEGER NOT NULL REFERENCES operations (seq) ON DELETE CASCADE,
        n INTEGER NOT NULL,
        text TEXT NOT NULL,
        reason TEXT NOT NULL,
        quote TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (operation, n)
    ) WITHOUT ROWID;
    CREATE TABLE patches (
        operation INTEGER NOT NULL REFERENCES operations (seq) ON DELETE CASCADE,
        n INTEGER NOT NULL,
        path TEXT NOT NULL,
        before TEXT,
        after TEXT,
        hunks BLOB NOT NULL,
        PRIMARY KEY (operation, n)
    );
    ALTER TABLE tombstones RENAME TO tombstones_of_old;
    CREATE TABLE tombstones (
        digest TEXT NOT NULL,
        operation TEXT NOT NULL DEFAULT '',
        reason TEXT NOT NULL,
        time TEXT NOT NULL,
        PRIMARY KEY (digest, operation)
    ) WITHOUT ROWID;
    INSERT INTO tombstones (digest, reason, time) SELECT digest, reason, time FROM tombstones_of_old;
    DROP TABLE tombstones_of_old;
    CREATE INDEX tombstones_by_operation ON tombstones (operation);
    CREATE TABLE parked (
        id TEXT PRIMARY KEY,
        kind TEXT NOT NULL,
        session TEXT,
        payload TEXT NOT NULL,
        reason TEXT NOT NULL,
        tries INTEGER NOT NULL,
        since TEXT NOT NULL,
        next TEXT
    ) WITHOUT ROWID;
    CREATE TABLE proposals (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,
        changes TEXT NOT NULL,
        reason TEXT NOT NULL,
        time TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'open',
        decided TEXT,
        operation TEXT
    );
    CREATE INDEX proposals_open ON proposals (seq) WHERE state='open';
    CREATE TABLE memorized (
        session TEXT NOT NULL,
        digest TEXT NOT NULL,
        operation TEXT NOT NULL,
        time TEXT NOT NULL,
        PRIMARY KEY (session, digest)
    ) WITHOUT ROWID;
    CREATE TABLE spent (
        day TEXT PRIMARY KEY,
        calls INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        input_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE prompts (
        seq INTEGER PRIMARY KEY,
        entry TEXT NOT NULL,
        time TEXT NOT NULL,
        session TEXT,
        query TEXT NOT NULL
    );
    CREATE INDEX prompts_by_entry ON prompts (entry, seq);
    """,
    """
    CREATE TABLE reached (
        session TEXT PRIMARY KEY,
        position INTEGER NOT NULL,
        time TEXT NOT NULL
    ) WITHOUT ROWID;
    """,
    """
    CREATE INDEX changes_that_forgot ON changes (operation)
        WHERE purged=0 AND (reason='forgotten' OR reason LIKE 'asked to be forgotten%');
    ALTER TABLE tombstones RENAME TO tombstones_unkeyed;
    DROP INDEX tombstones_by_operation;
    CREATE TABLE tombstones (
        digest TEXT NOT NULL,
        operation TEXT NOT NULL DEFAULT '',
        reason TEXT NOT NULL,
        time TEXT NOT NULL,
        PRIMARY KEY (digest, operation)
    ) WITHOUT ROWID;
    CREATE INDEX tombstones_by_operation ON tombstones (operation);
    CREATE TABLE secret (
        id INTEGER PRIMARY KEY CHECK (id=1),
        key BLOB NOT NULL
    );
    """,
    SEAL_TABLE,
)
"""Migration n makes version n of version n - 1. Only ever added to."""

OPERATION = Columns(
    id=TEXT, time=TIME, actor=TEXT, door=TEXT, kind=TEXT, session=MAYBE_TEXT, usage=OBJECT, undoes=MAYBE_TEXT, done=FLAG
)
CHANGE = Columns(kind=TEXT, target=TEXT, before=MAYBE_TEXT, after=MAYBE_TEXT, reason=TEXT, purged=FLAG)
DISCARDED = Columns(text=TEXT, reason=TEXT, quote=TEXT)
PATCH = Columns(path=TEXT, before=PLAIN, after=PLAIN, hunks=PLAIN)
PARKED = Columns(
    id=TEXT, kind=TEXT, session=MAYBE_TEXT, payload=OBJECT, reason=TEXT, tries=PLAIN, since=TIME, next=TIME
)
PROPOSAL = Columns(id=TEXT, kind=TEXT, changes=LIST, reason=TEXT, time=TIME, state=PLAIN, operation=MAYBE_TEXT)
PROMPT = Columns(time=TIME, session=MAYBE_TEXT, query=TEXT)

FORGOT = "purged=0 AND (reason='forgotten' OR reason LIKE 'asked to be forgotten%')"
"""Which changes forgot something that the journal still has."""

PROMPTS_KEPT = 20
"""Prompts kept of each entry, the newest."""

MOST_ASKED = 10_000
"""Digests of one question from which all tombstones are read, rather than each of them looked for."""

MOST_QUERY = 200
"""Characters kept of what a prompt was for."""


def new_operation_id(time: datetime) -> str:
    """Return an id such as `20260224-101233123456-9f2c1b`: sorts by time (UTC, microseconds), 24 random bits.

    The order of operations is that of the journal, not of their ids. Raises InvalidInput for a time without timezone.
    """
    digits = stamp(time).translate(str.maketrans("", "", "-:.TZ"))
    return f"{digits[:8]}-{digits[8:]}-{os.urandom(3).hex()}"


class SqliteJournal(Tables):
    """`Journal` in one SQLite file, created by the first write, or in a `Store` of these tables.

    Every method may raise Unavailable (locked by another process for 30 s, unreadable, newer) or Damaged; a damaged
    file is kept as it is. `prepare` is as in `Store`.
    """

    def __init__(self, path: str | Store, *, prepare: Callable[[], None] | None = None) -> None:
        super().__init__(Store(path, MIGRATIONS, prepare=prepare) if isinstance(path, str) else path)

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
        from dataclasses import replace

        if not operation.id:
            raise InvalidInput("an operation needs an id; new_operation_id makes one")
        time, pending = stamp(operation.time), OPERATION.row(replace(operation, done=False))
        with immediate(self._store.created()) as db:
            if db.first("SELECT 1 FROM operations WHERE id=?", (bindable(operation.id),)):
                raise Conflict(f"the journal has an operation {operation.id!r} already; begin it with a new id")
            seq = db.insert(f"INSERT INTO operations ({OPERATION}) VALUES ({OPERATION.marks})", pending)
            for table, columns, values in (
                ("changes", CHANGE, operation.changes),
                ("discarded", DISCARDED, operation.discarded),
                ("patches", PATCH, patches),
            ):
                rows = [(seq, n, *columns.row(value)) for n, value in enumerate(values)]
                db.executemany(f"INSERT INTO {table} (operation, n, {columns}) VALUES (?, ?, {columns.marks})", rows)
            _bury(db, bury, operation.id, operation.kind, time)
            _mark_memorized(db, operation.session or "", memorized, operation.id, time)

    def done(self, operation: str, *, usage: Mapping[str, Any] | None = None) -> None:
        """Mark the operation (id) as carried out, with its LLM usage. Raises NotFound.

        Not forced to disk: after a power loss it may be pending again, and is found to be done.
        """
        db, used = self._store.existing(), as_json(usage)
        if db is not None:
            done = "UPDATE operations SET done=1, usage=coalesce(?, usage) WHERE id=?"
            with unforced(db):
                if db.modify(done, (used, bindable(operation))):
                    return
        raise _no_operation(operation)

    def discard(self, operation: str) -> None:
        """Take back an intention that wrote nothing. Raises NotFound, Conflict if it was carried out."""
        db = self._store.existing()
        if db is None:
            raise _no_operation(operation)
        with unforced(db):
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
        self,
        *,
        target: str | None = None,
        session: str | None = None,
        limit: int | None = None,
        alone: bool = False,
        since: datetime | None = None,
        until: datetime | None = None,
        before: str | None = None,
    ) -> Sequence[Operation]:
        """Return operations, newest first, with all their changes, or only those to the target if `alone`.

        `target` is an entry id or a path; of the times from `since` on and before `until`; `before` is an id: only
        older ones. Raises InvalidInput for a limit below 0.
        """
        rows = row_limit(limit)
        conditions, values = ["1=1"], list[Value]()
        if target is not None:
            conditions.append("seq IN (SELECT operation FROM changes WHERE target=?)")
            values.append(bindable(target))
        if session is not None:
            conditions.append("session=?")
            values.append(bindable(session))
        older = "seq < (SELECT seq FROM operations WHERE id=?)"
        first, last = (None if time is None else stamp(time) for time in (since, until))
        bounds = ((first, "time >= ?"), (last, "time < ?"), (before, older))
        for bound, holds in bounds:
            if bound is not None:
                conditions.append(holds)
                values.append(bindable(bound))
        which = f"WHERE {' AND '.join(conditions)} ORDER BY seq DESC LIMIT ?"
        return self._operations(which, (*values, rows), target if alone else None)

    def activity(
        self, *, until: datetime | None, limit: int | None
    ) -> Iterator[tuple[datetime, str, str, str, bool, int]]:
        """Yield (minute, verb, kind of change, reason, whether of a session's summary, count), newest minute first.

        Of the last active days (UTC) before a time. The reason is `forgotten` or "".
        """
        last = "9999" if until is None else stamp(until)
        days = "SELECT DISTINCT substr(time, 1, 10) FROM operations WHERE time < ? ORDER BY 1 DESC LIMIT ?"
        found = self._rows(
            "SELECT substr(time, 1, 16), operations.kind, changes.kind, CASE WHEN reason='forgotten' "
            "OR reason LIKE 'asked to be forgotten%' THEN 'forgotten' ELSE '' END, target LIKE 'sessions/%', count(*) "
            "FROM operations JOIN changes ON operation=seq "
            f"WHERE time < ? AND substr(time, 1, 10) IN ({days}) GROUP BY 1, 2, 3, 4, 5 ORDER BY 1 DESC",
            (last, last, row_limit(limit)),
        )
        yield from ((TIME.read(f"{minute}Z"), *rest) for minute, *rest in found)

    def stood(self, since: datetime) -> Iterator[tuple[str, str, str | None]]:
        """Yield (target, kind, text before) of the first change to each target from a time on."""
        found = self._rows(
            "SELECT target, kind, before FROM (SELECT target, kind, before, row_number() OVER"
            " (PARTITION BY target ORDER BY operation, n) AS place FROM changes"
            " WHERE operation IN (SELECT seq FROM operations WHERE time >= ?)) AS found WHERE place=1",
            (stamp(since),),
        )
        yield from ((readable(target), kind, before and readable(before)) for target, kind, before in found)

    def patches(self, operation: str) -> Sequence[Patch]:
        """Return how the operation (id) changed documents; none for one of an older journal. Raises NotFound."""
        from memorybook.model import Patch

        row = self._first("SELECT seq FROM operations WHERE id=?", (bindable(operation),))
        if row is None:
            raise _no_operation(operation)
        query = f"SELECT {PATCH} FROM patches WHERE operation=? ORDER BY n"
        return [Patch(**PATCH.fields(patch)) for patch in self._rows(query, row)]

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
        if db.first("SELECT 1 FROM tombstones_unkeyed LIMIT 1") is not None:  # of an older version
            with immediate(db):
                for row in db.execute("SELECT digest, operation, reason, time FROM tombstones_unkeyed"):
                    digest, *rest = map(readable, row)
                    _bury(db, [digest], *rest)
                db.execute("DELETE FROM tombstones_unkeyed")
        key_of = _keyed_with(db)
        keyed = {key_of(each): each for each in digests}
        if len(keyed) > MOST_ASKED:  # looking each up costs more than reading them all
            all_of = db.execute("SELECT digest FROM tombstones")
            keyed = {key: keyed[key] for (digest,) in all_of if (key := readable(digest)) in keyed}
        looked_for = "SELECT digest, operation, time FROM tombstones WHERE digest=?"
        found = db.executemany(looked_for, [(key,) for key in keyed])
        first = "" if since is None else stamp(since)
        rows = [(readable(digest), readable(operation)) for digest, operation, time in found if readable(time) >= first]
        gone = {*(self.undone() if rows else ()), *but}
        return frozenset(keyed[digest] for digest, operation in rows if operation not in gone)

    def buries(self) -> bool:
        """Return whether there is any tombstone, standing or not. Cheap."""
        any_of = "SELECT 1 FROM tombstones UNION ALL SELECT 1 FROM tombstones_unkeyed LIMIT 1"
        return self._first(any_of) is not None

    def forgotten(self) -> Sequence[Sequence[Applied]]:
        """Return the changes, by operation, of what was forgotten by operations neither undone nor purged."""
        if self._first(f"SELECT 1 FROM changes WHERE {FORGOT} LIMIT 1") is None:
            return []
        from memorybook.model import Applied

        undone, found = self.undone(), dict[str, list[Applied]]()
        rows = self._rows(
            f"SELECT operations.id, {', '.join(f'changes.{name}' for name in CHANGE)} FROM changes"
            f" JOIN operations ON operations.seq=changes.operation WHERE {FORGOT.replace('reason', 'changes.reason')}"
            " ORDER BY changes.operation, changes.n"
        )
        for operation, *row in rows:
            if readable(operation) not in undone:
                found.setdefault(readable(operation), []).append(Applied(**CHANGE.fields(row)))
        return list(found.values())

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
        from memorybook.storage.journal_purge import purge_changes, purge_parked, purge_patches, purge_rows

        db = self._store.existing()
        if db is None:
            return {}
        of = {*targets, *(target.removeprefix("session:") for target in targets)}
        sessions = [(bindable(one.removeprefix("session:")),) for one in targets if one.startswith("session:")]
        left_out = "DELETE FROM discarded WHERE operation IN (SELECT seq FROM operations WHERE session=?)"

        def of_entries(table: str) -> int:
            return sum(db.modify(f"DELETE FROM {table} WHERE entry=?", (bindable(target),)) for target in targets)

        def proposes(text: str) -> bool:
            return holds(text) or not of.isdisjoint(text.split("\n"))

        with immediate(db):
            ids = "SELECT seq FROM operations WHERE id=?"
            numbers = {seq for id in operations for (seq,) in db.execute(ids, (id,))}
            return {
                "changes": purge_changes(db, targets, holds, numbers),
                "patches": purge_patches(db, holds, numbers),
                # what was left out of these sessions goes, whatever it says: it was said in them
                "discarded": sum(db.modify(left_out, one) for one in sessions)
                + purge_rows(db, "discarded", "text, quote, reason", holds),
                "parked": purge_parked(db, holds),
                "proposals": purge_rows(db, "proposals", "changes, reason", proposes),
                "prompts": purge_rows(db, "prompts", "query", asks or holds) + of_entries("prompts"),
                "access": of_entries("access"),
            }

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

        row = (bindable(id), bindable(kind), bindable(session), as_json(payload), bindable(reason))
        with immediate(self._store.created()) as db:
            db.execute(
                "INSERT INTO parked (id, kind, session, payload, reason, tries, since, next)"
                " VALUES (?, ?, ?, ?, ?, 1, ?, ?) ON CONFLICT (id) DO UPDATE SET kind=excluded.kind,"
                " session=excluded.session, payload=excluded.payload, reason=excluded.reason,"
                " tries=parked.tries+1, next=excluded.next",
                (*row, stamp(time), TIME.write(next)),
            )
            [found] = db.execute(f"SELECT {PARKED} FROM parked WHERE id=?", row[:1])
        return Parked(**PARKED.fields(found))

    def parked(self, *, kind: str | None = None, due: datetime | None = None) -> Sequence[Parked]:
        """Return what is parked, oldest first; of one kind, and what may be tried at the time `due`, if given."""
        from memorybook.model import Parked

        query = (
            f"SELECT {PARKED} FROM parked WHERE kind=coalesce(?, kind) AND (next IS NULL OR next<=coalesce(?, next))"
            " ORDER BY since, id"
        )
        return [Parked(**PARKED.fields(row)) for row in self._rows(query, (bindable(kind), TIME.write(due)))]

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
            f"SELECT {PROPOSAL} FROM proposals WHERE state=coalesce(?, state) AND kind=coalesce(?, kind)"
            " ORDER BY seq LIMIT ?"
        )
        rows = self._rows(query, (state, bindable(kind), row_limit(limit)))
        return [Proposal(**PROPOSAL.fields(row)) for row in rows]

    def decide(self, id: str, state: str, *, time: datetime, operation: str | None = None) -> None:
        """Settle an open proposal: `accepted`, `rejected`, `withdrawn`. Raises NotFound; Conflict if it is settled."""
        if self._first("SELECT 1 FROM proposals WHERE id=?", (bindable(id),)) is None:
            raise NotFound(f"there is no proposal {id!r}; review lists those that are open")
        with immediate(self._store.created()) as db:
            decided = db.modify(
                "UPDATE proposals SET state=?, decided=?, operation=? WHERE id=? AND state='open'",
                (state, stamp(time), bindable(operation), bindable(id)),
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
        with unforced(self._store.created()) as db:
            _mark_memorized(db, session, digests, operation, stamp(time))

    def reached(self, session: str) -> int:
        """Return the position of the turn up to which the session was memorized; -1 for nothing."""
        row = self._first("SELECT position FROM reached WHERE session=?", (bindable(session),))
        return -1 if row is None else int(row[0])

    def reach(self, session: str, position: int, *, time: datetime) -> None:
        """Record that the session was memorized up to the turn at `position`; never goes back. Durable on return."""
        with immediate(self._store.created()) as db:
            db.execute(
                "INSERT INTO reached (session, position, time) VALUES (?, ?, ?) ON CONFLICT (session) DO UPDATE"
                " SET position=excluded.position, time=excluded.time WHERE reached.position<excluded.position",
                (bindable(session), position, stamp(time)),
            )

    # --- what LLM calls used -------------------------------------------------------------------

    def spend(
        self, day: date, *, calls: int = 0, failed: int = 0, input_tokens: int = 0, output_tokens: int = 0
    ) -> None:
        """Add to what LLM calls used on that day. Not forced to disk."""
        with unforced(self._store.created()) as db:
            db.execute(
                "INSERT INTO spent (day, calls, failed, input_tokens, output_tokens) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (day) DO UPDATE SET calls=spent.calls+excluded.calls,"
                " failed=spent.failed+excluded.failed, input_tokens=spent.input_tokens+excluded.input_tokens,"
                " output_tokens=spent.output_tokens+excluded.output_tokens",
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
        rows = [(bindable(id), stamp(time), bindable(session), bindable(query[:MOST_QUERY])) for id in ids]
        if not rows:
            return
        with unforced(self._store.created()) as db:
            db.executemany(
                "INSERT INTO access (entry, count) VALUES (?, 1)"
                " ON CONFLICT (entry) DO UPDATE SET count=access.count+1",
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
        db, keys = self._store.existing(), [(bindable(id),) for id in dict.fromkeys(ids)]
        rows = db.executemany("SELECT entry, count FROM access WHERE entry=?", keys) if db is not None else ()
        return {readable(entry): count for entry, count in rows}

    def prompts_of(self, id: str) -> Sequence[Shown]:
        """Return the last prompts that the entry entered, newest first."""
        from memorybook.model import Shown

        query = f"SELECT {PROMPT} FROM prompts WHERE entry=? ORDER BY seq DESC LIMIT ?"
        return [Shown(**PROMPT.fields(row)) for row in self._rows(query, (bindable(id), PROMPTS_KEPT))]

    def _operations(self, which: str, values: Sequence[Value] = (), target: str | None = None) -> list[Operation]:
        """Return operations with all their changes; with a target only with those to it."""
        db = self._store.existing()
        if db is None:
            return []
        of_it, to = ("", ()) if target is None else (" AND target=?", (bindable(target),))
        changes = f"SELECT {CHANGE} FROM changes WHERE operation=?{of_it} ORDER BY n"
        discarded = f"SELECT {DISCARDED} FROM discarded WHERE operation=? AND 1={target is None:d} ORDER BY n"
        with reading(db):
            rows = db.execute(f"SELECT seq, {OPERATION} FROM operations {which}", values)
            if not rows:  # as a search finds on opening, which must not pay for the import
                return []
            from memorybook.model import Applied, Discarded, Operation

            return [
                Operation(
                    **OPERATION.fields(columns),
                    changes=tuple(Applied(**CHANGE.fields(row)) for row in db.execute(changes, (seq, *to))),
                    discarded=tuple(Discarded(**DISCARDED.fields(row)) for row in db.execute(discarded, (seq,))),
                )
                for seq, *columns in rows
            ]


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


def _no_operation(operation: str) -> NotFound:
    from memorybook import locale

    return locale.error(NotFound, "problems.no_operation", name=repr(operation))


def _mark_memorized(db: Connection, session: str, digests: Iterable[str], operation: str, time: str) -> None:
    """Mark what was memorized of a session, in the transaction that is open."""
    rows = [(bindable(session), bindable(digest), bindable(operation), time) for digest in digests]
    db.executemany(
        "INSERT INTO memorized (session, digest, operation, time) VALUES (?, ?, ?, ?) ON CONFLICT (session, digest)"
        " DO UPDATE SET operation=excluded.operation, time=excluded.time",
        rows,
    )
