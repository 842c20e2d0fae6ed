"""The tables of the journal, and their rows as values.

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

from memorybook._light import TYPE_CHECKING, Any, Iterable, Iterator, Mapping, contextmanager
from memorybook.storage import seal
from memorybook.storage.index.columns import (
    as_json,
    bindable,
    maybe_bindable,
    maybe_readable,
    object_of,
    readable,
    time_of,
)
from memorybook.storage.sqlite import Connection, immediate

if TYPE_CHECKING:
    from memorybook.model import Applied, Discarded, Operation, Patch

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
    seal.TABLE,
)
"""Migration n makes version n of version n - 1. Only ever added to."""

OPERATION = "seq, id, time, actor, door, kind, session, usage, undoes, done"
CHANGE = "kind, target, before, after, reason, purged"
_MOST_VALUES = 500


def json_of(value: object) -> Mapping[str, Any] | None:
    """The object in a JSON column; None for NULL."""
    return None if value is None else object_of(value)  # type: ignore[arg-type]


def operation_of(db: Connection, row: tuple[Any, ...], target: str | None = None) -> Operation:
    """An operation with its changes, of a row of the columns `OPERATION`; with a target only of its changes to that."""
    from memorybook.model import Operation

    seq, operation, time, actor, door, kind, session, usage, undoes, done = row
    discarded: Iterable[tuple[Any, ...]] = ()
    if target is None:
        changes = db.execute(f"SELECT {CHANGE} FROM changes WHERE operation=? ORDER BY n", (seq,))
        discarded = db.execute("SELECT text, reason, quote FROM discarded WHERE operation=? ORDER BY n", (seq,))
    else:
        where = "target=? AND operation=? ORDER BY n"
        changes = db.execute(f"SELECT {CHANGE} FROM changes WHERE {where}", (bindable(target), seq))
    return Operation(
        id=readable(operation),
        time=time_of(time),
        actor=readable(actor),
        door=readable(door),
        kind=readable(kind),
        session=maybe_readable(session),
        changes=tuple(_applied(change) for change in changes),
        discarded=tuple(_discarded(one) for one in discarded),
        usage=json_of(usage),
        undoes=maybe_readable(undoes),
        done=bool(done),
    )


FORGOT = "purged=0 AND (reason='forgotten' OR reason LIKE 'asked to be forgotten%')"
"""Which changes forgot something that the journal still has."""


def changes_that_forgot(db: Connection, undone: Mapping[str, str]) -> list[list[Applied]]:
    """Those changes of operations that are not undone, by operation."""
    found: dict[str, list[Applied]] = {}
    rows = db.execute(
        f"SELECT operations.id, {', '.join(f'changes.{name}' for name in CHANGE.split(', '))} FROM changes"
        f" JOIN operations ON operations.seq=changes.operation WHERE {FORGOT.replace('reason', 'changes.reason')}"
        " ORDER BY changes.operation, changes.n"
    )
    for operation, *row in rows:
        if readable(operation) not in undone:
            found.setdefault(readable(operation), []).append(_applied(tuple(row)))
    return list(found.values())


def _applied(row: tuple[Any, ...]) -> Applied:
    from memorybook.model import Applied

    kind, target, before, after, reason, purged = row
    return Applied(
        kind=readable(kind),
        target=readable(target),
        before=maybe_readable(before),
        after=maybe_readable(after),
        reason=readable(reason),
        purged=bool(purged),
    )


def _discarded(row: tuple[Any, ...]) -> Discarded:
    from memorybook.model import Discarded

    text, reason, quote = map(readable, row)
    return Discarded(text=text, reason=reason, quote=quote)


def insert_operation(db: Connection, operation: Operation, time: str, patches: Iterable[Patch]) -> int:
    """Store an operation that is not done, with its changes; returns its `seq`."""
    usage = None if operation.usage is None else as_json(operation.usage)
    texts = (operation.actor, operation.door, operation.kind, operation.session, operation.undoes)
    seq = db.insert(
        "INSERT INTO operations (id, time, usage, actor, door, kind, session, undoes) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (bindable(operation.id), time, usage, *map(maybe_bindable, texts)),
    )
    db.executemany(
        f"INSERT INTO changes (operation, n, {CHANGE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [(seq, n, *_change_row(change)) for n, change in enumerate(operation.changes)],
    )
    db.executemany(
        "INSERT INTO discarded (operation, n, text, reason, quote) VALUES (?, ?, ?, ?, ?)",
        [(seq, n, *map(bindable, (d.text, d.reason, d.quote))) for n, d in enumerate(operation.discarded)],
    )
    db.executemany(
        "INSERT INTO patches (operation, n, path, before, after, hunks) VALUES (?, ?, ?, ?, ?, ?)",
        [(seq, n, bindable(patch.path), patch.before, patch.after, patch.hunks) for n, patch in enumerate(patches)],
    )
    return seq


def mark_memorized(db: Connection, session: str, digests: Iterable[str], operation: str, time: str) -> None:
    """Mark what was memorized of a session, in the transaction that is open."""
    rows = [(bindable(session), bindable(digest), bindable(operation), time) for digest in digests]
    db.executemany("INSERT OR REPLACE INTO memorized (session, digest, operation, time) VALUES (?, ?, ?, ?)", rows)


def _change_row(change: Applied) -> tuple[str | bytes | int | None, ...]:
    before, after = maybe_bindable(change.before), maybe_bindable(change.after)
    return bindable(change.kind), bindable(change.target), before, after, bindable(change.reason), change.purged


def patch_of(row: tuple[Any, ...]) -> Patch:
    """A patch of a row `path, before, after, hunks`."""
    from memorybook.model import Patch

    path, before, after, hunks = row
    return Patch(path=readable(path), before=before, after=after, hunks=hunks)


def among(db: Connection | None, query: str, keys: Iterable[str]) -> Iterator[tuple[Any, ...]]:
    """Rows of a query with a place for a list of keys, asked in pieces that SQLite can take; none of no database."""
    if db is None:
        return
    wanted = [bindable(key) for key in dict.fromkeys(keys)]
    for start in range(0, len(wanted), _MOST_VALUES):
        piece = wanted[start : start + _MOST_VALUES]
        yield from db.execute(query.format(", ".join("?" * len(piece))), piece)


@contextmanager
def unforced(db: Connection) -> Iterator[Connection]:
    """A transaction that a crash of the process cannot undo, but a loss of power can: a tenth of the time."""
    with db.lock:
        sealed, db.sealed = db.sealed, False
        db.execute("PRAGMA synchronous=NORMAL")
        try:
            with immediate(db):
                yield db
        finally:
            db.execute("PRAGMA synchronous=FULL")
            db.sealed = sealed
