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

from memorybook._light import (
    TYPE_CHECKING,
    Any,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    contextmanager,
    suppress,
)
from memorybook.storage.sqlite import SEAL_TABLE, Connection, as_json, bindable, immediate, maybe_readable, readable
from memorybook.storage.transcript_rows import FLAG, MAYBE_TEXT, OBJECT, PLAIN, TEXT, TIME, Columns

if TYPE_CHECKING:
    from memorybook.model import Applied, Operation, Patch


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
_MOST_VALUES = 500


def operation_of(db: Connection, row: tuple[Any, ...], target: str | None = None) -> Operation:
    """Return an operation with its changes (with a target only those to it), given `seq` and its columns."""
    from memorybook.model import Applied, Discarded, Operation

    seq, *columns = row
    discarded: Iterable[tuple[Any, ...]] = ()
    if target is None:
        changes = db.execute(f"SELECT {CHANGE} FROM changes WHERE operation=? ORDER BY n", (seq,))
        discarded = db.execute(f"SELECT {DISCARDED} FROM discarded WHERE operation=? ORDER BY n", (seq,))
    else:
        where = "target=? AND operation=? ORDER BY n"
        changes = db.execute(f"SELECT {CHANGE} FROM changes WHERE {where}", (bindable(target), seq))
    return Operation(
        **OPERATION.fields(columns),
        changes=tuple(Applied(**CHANGE.fields(change)) for change in changes),
        discarded=tuple(Discarded(**DISCARDED.fields(one)) for one in discarded),
    )


FORGOT = "purged=0 AND (reason='forgotten' OR reason LIKE 'asked to be forgotten%')"
"""Which changes forgot something that the journal still has."""


def changes_that_forgot(db: Connection, undone: Mapping[str, str]) -> list[list[Applied]]:
    """Return those changes of operations that are not undone, by operation."""
    from memorybook.model import Applied

    found: dict[str, list[Applied]] = {}
    rows = db.execute(
        f"SELECT operations.id, {', '.join(f'changes.{name}' for name in CHANGE)} FROM changes"
        f" JOIN operations ON operations.seq=changes.operation WHERE {FORGOT.replace('reason', 'changes.reason')}"
        " ORDER BY changes.operation, changes.n"
    )
    for operation, *row in rows:
        if readable(operation) not in undone:
            found.setdefault(readable(operation), []).append(Applied(**CHANGE.fields(row)))
    return list(found.values())


def insert_operation(db: Connection, operation: Operation, patches: Iterable[Patch]) -> None:
    """Store an operation that is not done, with its changes."""
    from dataclasses import replace

    pending = OPERATION.row(replace(operation, done=False))
    seq = db.insert(f"INSERT INTO operations ({OPERATION}) VALUES ({OPERATION.marks})", pending)
    for table, columns, values in (
        ("changes", CHANGE, operation.changes),
        ("discarded", DISCARDED, operation.discarded),
        ("patches", PATCH, patches),
    ):
        rows = [(seq, n, *columns.row(value)) for n, value in enumerate(values)]
        db.executemany(f"INSERT INTO {table} (operation, n, {columns}) VALUES (?, ?, {columns.marks})", rows)


def mark_memorized(db: Connection, session: str, digests: Iterable[str], operation: str, time: str) -> None:
    """Mark what was memorized of a session, in the transaction that is open."""
    rows = [(bindable(session), bindable(digest), bindable(operation), time) for digest in digests]
    db.executemany("INSERT OR REPLACE INTO memorized (session, digest, operation, time) VALUES (?, ?, ?, ?)", rows)


def among(db: Connection | None, query: str, keys: Iterable[str]) -> Iterator[tuple[Any, ...]]:
    """Yield rows of a query with a place for keys, asked in pieces that SQLite can take; none of no database."""
    if db is None:
        return
    wanted = [bindable(key) for key in dict.fromkeys(keys)]
    for start in range(0, len(wanted), _MOST_VALUES):
        piece = wanted[start : start + _MOST_VALUES]
        yield from db.execute(query.format(", ".join("?" * len(piece))), piece)


@contextmanager
def unforced(db: Connection) -> Iterator[Connection]:
    """Begin a transaction that may be lost with the power, not with the process: it takes a tenth of the time."""
    with db.lock:
        sealed, db.sealed = db.sealed, False
        db.execute("PRAGMA synchronous=NORMAL")
        try:
            with immediate(db):
                yield db
        finally:
            db.execute("PRAGMA synchronous=FULL")
            db.sealed = sealed


Holds = Callable[[str], bool]

_PURGED = "(purged)"


def purge(
    db: Connection, targets: Collection[str], holds: Holds, operations: Collection[str] = (), asks: Holds | None = None
) -> Mapping[str, int]:
    """Carry out `SqliteJournal.purge`."""
    of = {*targets, *(target.removeprefix("session:") for target in targets)}
    with immediate(db):
        numbers = {seq for id in operations for (seq,) in db.execute("SELECT seq FROM operations WHERE id=?", (id,))}
        return {
            "changes": _changes(db, targets, holds, numbers),
            "patches": _patches(db, holds, numbers),
            "discarded": _of_sessions(db, targets) + _rows(db, "discarded", "text, quote, reason", holds),
            "parked": _parked(db, holds),
            "proposals": _rows(
                db, "proposals", "changes, reason", lambda text: holds(text) or not of.isdisjoint(text.split("\n"))
            ),
            "prompts": _rows(db, "prompts", "query", asks or holds) + _of(db, "prompts", targets),
            "access": _of(db, "access", targets),
        }


def _changes(db: Connection, targets: Collection[str], holds: Holds, operations: Collection[int]) -> int:
    """Empty the texts of changes, keeping their rows for the history.

    A reason may quote what was said; that of a whole document says whose words it holds, and quotes nothing.
    """
    purged = 0
    for rowid, operation, kind, target, before, after, reason in db.execute(
        "SELECT rowid, operation, kind, target, before, after, reason FROM changes WHERE purged=0"
    ):
        texts = (before, after, reason)
        if (
            operation in operations
            or readable(target) in targets
            or any(text is not None and holds(_said(text)) for text in texts)
        ):
            document = readable(kind) == "put" and readable(target) not in targets
            kept = document and after is not None and not holds(_said(after))
            db.execute(
                "UPDATE changes SET purged=1, reason=?, before=iif(before IS NULL, NULL, ''),"
                " after=iif(after IS NULL OR ?, after, '') WHERE rowid=?",
                (reason if document and not holds(readable(reason)) else _PURGED, kept, rowid),
            )
            purged += 1
    return purged


def _patches(db: Connection, holds: Holds, operations: Collection[int]) -> int:
    from memorybook.text.patch import unpack

    purged = 0
    for rowid, operation, hunks in db.execute("SELECT rowid, operation, hunks FROM patches WHERE hunks<>x''"):
        lines = [
            "\n".join(line for line in (hunk.above, *side, hunk.below) if line is not None)
            for hunk in unpack(hunks)
            for side in (hunk.old, hunk.new)
        ]
        if operation in operations or any(map(holds, lines)):
            db.execute("UPDATE patches SET hunks=x'' WHERE rowid=?", (rowid,))
            purged += 1
    return purged


_KEYS = {"discarded": ("operation", "n"), "proposals": ("seq",), "prompts": ("seq",)}


def _rows(db: Connection, table: str, columns: str, holds: Holds) -> int:
    """Delete the rows that hold it: what waits for a word or was left out is not needed once it is forgotten."""
    key = _KEYS[table]
    gone = [
        row[: len(key)]
        for row in db.execute(f"SELECT {', '.join(key)}, {columns} FROM {table}")
        if any(holds(_said(text)) for text in row[len(key) :])
    ]
    db.executemany(f"DELETE FROM {table} WHERE {' AND '.join(f'{name}=?' for name in key)}", gone)
    return len(gone)


def _of_sessions(db: Connection, targets: Collection[str]) -> int:
    """Delete what was left out of these sessions, whatever it says: it was said in them."""
    return sum(
        db.modify(
            "DELETE FROM discarded WHERE operation IN (SELECT seq FROM operations WHERE session=?)",
            (bindable(target.removeprefix("session:")),),
        )
        for target in targets
        if target.startswith("session:")
    )


def _parked(db: Connection, holds: Holds) -> int:
    """Empty what holds it of the work that waits, which is to be done all the same with what is left."""
    import json

    rows = [(row[0], _said(row[1]), row[1], row[2]) for row in db.execute("SELECT id, payload, reason FROM parked")]
    purged = 0
    for id, said, payload, reason in rows:
        blames = holds(readable(reason))
        if holds(said):
            left = _without(json.loads(readable(payload)), holds)
            db.execute("UPDATE parked SET payload=? WHERE id=?", (as_json(left), id))
        if blames:
            db.execute("UPDATE parked SET reason=? WHERE id=?", (_PURGED, id))
        purged += blames or holds(said)
    return purged


def _without(value: Any, holds: Holds) -> Any:
    """Return the JSON value without the members of lists that hold it; a text that holds it elsewhere is emptied."""
    import json

    if isinstance(value, list):
        return [_without(each, holds) for each in value if not holds("\n".join(_texts(each)))]
    if isinstance(value, dict):
        return {name: _without(each, holds) for name, each in value.items()}
    if not isinstance(value, str) or not holds(_said(value)):
        return value
    if _said(value) == value:
        return ""
    return json.dumps(_without(json.loads(value), holds), ensure_ascii=False, separators=(",", ":"))


def _of(db: Connection, table: str, targets: Collection[str]) -> int:
    return sum(db.modify(f"DELETE FROM {table} WHERE entry=?", (bindable(target),)) for target in targets)


def _said(value: Any) -> str:
    """Return the text in a column, or all the texts in the JSON that it is, a line each."""
    return "\n".join(_texts(maybe_readable(value) or ""))


def _texts(value: Any) -> Iterator[str]:
    """Yield a text, or the texts in a JSON value; a text that is JSON itself is read, too."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        import json

        with suppress(ValueError):
            value = json.loads(value)
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield name
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
