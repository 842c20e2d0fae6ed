"""The tables of the transcripts, and their rows as values.

Tables, for people who like SQL (times are ISO 8601 in UTC with microseconds and `Z`, so that they sort as text):

- `sessions`: one row each. `turn_ids` is a JSON array of all its turns; NULL only in a book of an older version, until
  the session grows. `summary_embedding` holds little-endian float32.
  `summary_by` says whose words the summary is (`rules`, `model`, or empty for somebody else's), `summary_through` up to
  which position it tells of the turns, `chats_through` up to which the chats have theirs.
- `chats`: a user's turn with the replies to it, `ai_replies` = JSON array of `{id, role, speaker,
  content, tool_calls, created, metadata, position}`. In a talk between people chats have no
  replies. A chat without `turn_id` holds replies that came before any user's turn, or goes on
  with a long chat: a chat takes 64 replies or 256 KiB, so that storing one more costs the same
  however long an agent works on one request.
- `turns`: where each message is (`chat`, `position`) and the revision it was stored with.
- `removed`: which turns are gone, without their text. `state`: the revision. `seal`: the database's name, and how
  often something was committed.

Text that UTF-8 cannot say (lone surrogates) is stored as a blob in the same column.
"""

from __future__ import annotations

import apsw

from memorybook._light import TYPE_CHECKING, Any, Callable, Iterator, Mapping, NamedTuple, Sequence, contextmanager
from memorybook.errors import InvalidInput, NotFound
from memorybook.storage import sqlite
from memorybook.storage.sqlite import (
    SEAL_TABLE,
    Connection,
    Value,
    as_json,
    bindable,
    list_of,
    maybe_bindable,
    maybe_stamp,
    maybe_time_of,
    object_of,
    readable,
    stamp,
)

if TYPE_CHECKING:
    from collections.abc import Container
    from contextlib import AbstractContextManager

    from memorybook.formats.document import SummaryEmbedding, SummaryState, SummaryUpdate
    from memorybook.model import Session, Turn


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


# --- transcript rows --------------------------------------------------------

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE sessions (
        id INTEGER PRIMARY KEY,
        uuid TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL DEFAULT '',
        title TEXT NOT NULL DEFAULT '',
        summary TEXT NOT NULL DEFAULT '',
        summary_embedding BLOB,
        summary_embedding_model TEXT,
        summary_embedding_dimensions INTEGER,
        turn_ids TEXT,
        path TEXT NOT NULL DEFAULT '',
        created TEXT,
        updated TEXT,
        ended TEXT,
        source TEXT NOT NULL DEFAULT '',
        channel TEXT NOT NULL DEFAULT '',
        chat_id TEXT NOT NULL DEFAULT ''
    );
    CREATE INDEX sessions_by_name ON sessions (name);
    CREATE INDEX sessions_by_time ON sessions (updated, id);
    CREATE TABLE chats (
        id INTEGER PRIMARY KEY,
        session INTEGER NOT NULL REFERENCES sessions (id),
        turn_id TEXT,
        speaker TEXT NOT NULL DEFAULT '',
        role TEXT NOT NULL DEFAULT '',
        user_input TEXT NOT NULL DEFAULT '',
        tool_calls TEXT NOT NULL DEFAULT '[]',
        ai_replies TEXT NOT NULL DEFAULT '[]',
        position INTEGER NOT NULL,
        metadata TEXT NOT NULL DEFAULT '{}',
        summary TEXT NOT NULL DEFAULT '',
        summary_embedding BLOB,
        summary_embedding_model TEXT,
        summary_embedding_dimensions INTEGER,
        created TEXT,
        updated TEXT,
        revision INTEGER NOT NULL
    );
    CREATE INDEX chats_by_session ON chats (session, position);
    CREATE TABLE turns (
        id INTEGER PRIMARY KEY,
        session INTEGER NOT NULL REFERENCES sessions (id),
        turn_id TEXT NOT NULL,
        chat INTEGER NOT NULL,
        position INTEGER NOT NULL,
        revision INTEGER NOT NULL
    );
    CREATE UNIQUE INDEX turns_by_id ON turns (turn_id, session);
    CREATE UNIQUE INDEX turns_by_position ON turns (session, position);
    CREATE INDEX turns_by_revision ON turns (revision);
    CREATE TABLE removed (
        session TEXT NOT NULL,
        turn_id TEXT NOT NULL,
        revision INTEGER NOT NULL,
        PRIMARY KEY (session, turn_id)
    ) WITHOUT ROWID;
    CREATE INDEX removed_by_revision ON removed (revision);
    CREATE TABLE state (revision INTEGER NOT NULL);
    INSERT INTO state VALUES (0);
    """,
    """
    ALTER TABLE sessions ADD COLUMN summary_by TEXT NOT NULL DEFAULT '';
    ALTER TABLE sessions ADD COLUMN summary_through INTEGER NOT NULL DEFAULT -1;
    ALTER TABLE sessions ADD COLUMN chats_through INTEGER NOT NULL DEFAULT -1;
    CREATE INDEX sessions_open ON sessions (updated) WHERE ended IS NULL;
    """,
    SEAL_TABLE,
)
"""Migration n makes version n of version n - 1. Only ever added to."""

REPLIES = ("assistant", "tool")
"""Roles that answer a user's turn."""

MOST_REPLIES = 64
MOST_REPLY_TEXT = 256 * 1024
"""What a chat takes at most: replies, and characters of theirs."""

SESSION = Columns(
    uuid=TEXT, name=TEXT, title=TEXT, summary=TEXT, path=TEXT, created=TIME, updated=TIME, ended=TIME, source=TEXT,
    channel=TEXT, chat_id=TEXT,
)  # fmt: skip
CHAT = "turn_id, speaker, role, user_input, tool_calls, ai_replies, position, metadata, created"
_CHAT_MARKS = ", ".join("?" * 9)
EMBEDDING = "summary_embedding_model, summary_embedding_dimensions, summary_embedding"


def check(session: Session, turns: Sequence[Turn]) -> None:
    """Raise InvalidInput for what cannot be stored: no uuid, no id, a turn of another session."""
    if not session.uuid:
        raise InvalidInput("a session needs a uuid")
    for turn in turns:
        if not turn.id:
            raise InvalidInput(f"a turn of session {session.uuid!r} has no id; make one from its content")
        if turn.session != session.uuid:
            raise InvalidInput(f"turn {turn.id!r} belongs to session {turn.session!r}, not to {session.uuid!r}")


def session_of(row: Sequence[Any], turn_ids: tuple[str, ...] = ()) -> Session:
    """Return the session with these columns `SESSION`."""
    from memorybook.model import Session

    return Session(**SESSION.fields(row), turn_ids=turn_ids)


def widened(before: Session, after: Session) -> Session:
    """Return the session as `after` says, from the earlier beginning to the later end."""
    from dataclasses import replace

    created = min(filter(None, (before.created, after.created)), default=None)
    updated = max(filter(None, (before.updated, after.updated)), default=None)
    return replace(after, created=created, updated=updated, turn_ids=before.turn_ids)


def split(turns: Sequence[Turn], count: int, size: int) -> tuple[list[Turn], list[list[Turn]]]:
    """Return the replies that go on with a chat of `count` replies and `size` characters, then new chats."""
    groups: list[list[Turn]] = [[]]
    for turn in turns:
        reply = turn.role in REPLIES
        if not reply or count >= MOST_REPLIES or size >= MOST_REPLY_TEXT:
            groups.append([])
            count = size = 0
        if reply:
            count += 1
            size += len(turn.text)
        groups[-1].append(turn)
    return groups[0], groups[1:]


def chat_row(turns: Sequence[Turn]) -> list[Value]:
    """Return the columns `CHAT` of a chat of these turns, at least one."""
    head, replies = (None, turns) if turns[0].role in REPLIES else (turns[0], turns[1:])
    said = as_json([reply_of(turn) for turn in replies])
    if head is None:
        return [None, "", "", "", "[]", said, turns[0].position, "{}", maybe_stamp(turns[0].time)]
    texts = (head.id, head.speaker, head.role, head.text)
    rest = (as_json(head.tool_calls), said, head.position, as_json(head.metadata), maybe_stamp(head.time))
    return [*map(bindable, texts), *rest]


def reply_of(turn: Turn) -> dict[str, Any]:
    """Return a reply as it stands in `ai_replies`."""
    return {
        "id": turn.id,
        "role": turn.role,
        "speaker": turn.speaker,
        "content": turn.text,
        "tool_calls": turn.tool_calls,
        "created": maybe_stamp(turn.time),
        "metadata": turn.metadata,
        "position": turn.position,
    }


def turns_of(session: str, chat: Sequence[Any]) -> Iterator[Turn]:
    """Yield the turns of a chat, given its columns `CHAT`."""
    from memorybook.model import Turn

    turn_id, speaker, role, text, calls, replies, position, metadata, created = chat
    said: list[Mapping[str, Any]] = list_of(replies)
    if turn_id is not None:
        head = {
            "id": readable(turn_id),
            "role": readable(role),
            "speaker": readable(speaker),
            "content": readable(text),
        }
        rest = {"created": created, "position": position, "tool_calls": list_of(calls), "metadata": object_of(metadata)}
        said = [{**head, **rest}, *said]
    for one in said:
        yield Turn(
            id=one["id"],
            session=session,
            text=one["content"],
            role=one["role"],
            speaker=one["speaker"],
            time=maybe_time_of(one["created"]),
            position=one["position"],
            tool_calls=tuple(one["tool_calls"]),
            metadata=one["metadata"],
        )


def times_of(turns: Sequence[Turn]) -> list[str]:
    """Return times of the turns that have one, as text."""
    return [stamp(turn.time) for turn in turns if turn.time is not None]


def last_time(turns: Sequence[Turn]) -> str | None:
    """Return the latest of `times_of`; None if no turn has one."""
    return max(times_of(turns), default=None)


def summary_state(db: Connection, number: int) -> SummaryState:
    """Return how far the summaries of a session reach."""
    from memorybook.formats.document import SummaryState

    columns = f"{SESSION}, summary_by, summary_through, chats_through"
    [(*row, by, through, chats_through)] = db.execute(f"SELECT {columns} FROM sessions WHERE id=?", (number,))
    [(last,)] = db.execute("SELECT max(position) FROM turns WHERE session=?", (number,))
    [(revision,)] = db.execute("SELECT revision FROM state")
    return SummaryState(session_of(row), readable(by), through, chats_through, -1 if last is None else last, revision)


def store_summaries(db: Connection, number: int, telling: SummaryUpdate) -> bool:
    """Store summaries unless turns or the summary changed since `told`; return whether they were stored."""
    before = telling.told
    gone = "SELECT 1 FROM removed WHERE session=? AND revision>? LIMIT 1"
    [(standing,)] = db.execute("SELECT summary FROM sessions WHERE id=?", (number,))
    if readable(standing) != before.session.summary:
        return False
    if db.first(gone, (bindable(before.session.uuid), before.revision)):
        return False
    edited = "SELECT 1 FROM turns WHERE session=? AND position<=? AND revision>? LIMIT 1"
    if db.first(edited, (number, before.last, before.revision)):
        return False
    for chat in telling.chats:
        found = db.first("SELECT chat FROM turns WHERE turn_id=? AND session=?", (bindable(chat.turn_id), number))
        if found is not None:
            db.execute("UPDATE chats SET summary=? WHERE id=?", (bindable(chat.summary), found[0]))
            set_embedding(db, "chats", found[0], chat.embedding)
    db.execute(
        "UPDATE sessions SET chats_through=?, summary_through=? WHERE id=?", (before.last, telling.through, number)
    )
    if telling.summary is not None:
        db.execute(
            "UPDATE sessions SET summary=?, title=?, summary_by=? WHERE id=?",
            (bindable(telling.summary), bindable(telling.title), telling.by, number),
        )
        set_embedding(db, "sessions", number, telling.embedding)
    return True


def unsaid(db: Connection, number: int, position: int) -> None:
    """Let go of a summary that was made of turns some of which are removed, the first at that position."""
    made = "SELECT 1 FROM sessions WHERE id=? AND summary_by<>''"
    if db.first(made, (number,)):
        db.execute("UPDATE sessions SET summary='', title='', summary_by='', summary_through=-1 WHERE id=?", (number,))
        set_embedding(db, "sessions", number, None)
    db.execute("UPDATE sessions SET chats_through=min(chats_through, ?) WHERE id=?", (position - 1, number))


def summarized(db: Connection, number: int, session: str, turn_id: str | None) -> tuple[str, int]:
    """Table and row of what a summary is about: the session, or the chat that holds the turn. Raises NotFound."""
    if turn_id is None:
        return "sessions", number
    row = db.first("SELECT chat FROM turns WHERE turn_id=? AND session=?", (bindable(turn_id), number))
    if row is None:
        raise NotFound(f"session {session!r} has no turn {turn_id!r}; read the session to see its turns")
    return "chats", row[0]


def as_embedding(model: Value, dimensions: Value, vector: Value) -> SummaryEmbedding | None:
    """Return the columns `EMBEDDING` as a vector; None if there is none."""
    from memorybook.formats.document import SummaryEmbedding

    if not (isinstance(vector, bytes) and isinstance(dimensions, int)):
        return None
    return SummaryEmbedding(readable(model), dimensions, vector)


def set_embedding(db: Connection, table: str, number: int, embedding: SummaryEmbedding | None) -> None:
    """Keep the vector of what `summarized` gave; None drops it. Raises InvalidInput for one of another length."""
    model, dimensions, vector = embedding or (None, None, None)
    if dimensions is not None and (dimensions < 1 or len(vector or b"") != 4 * dimensions):
        problem = f"a vector of {dimensions} dimensions has {4 * dimensions} bytes, not {len(vector or b'')}"
        raise InvalidInput(problem)
    values = (maybe_bindable(model), dimensions, vector, number)
    db.execute(f"UPDATE {table} SET ({EMBEDDING}) = (?, ?, ?) WHERE id=?", values)


def _unknown(db: Connection, number: int, turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns whose ids are not in the session, the first of each id."""
    first: dict[str, Turn] = {}
    for turn in turns:
        first.setdefault(turn.id, turn)
    known = "SELECT 1 FROM turns WHERE turn_id=? AND session=?"
    return [turn for turn in first.values() if db.first(known, (bindable(turn.id), number)) is None]


def placed(db: Connection, number: int, turns: Sequence[Turn], *, back: bool) -> list[Turn]:
    """Return the turns that are not in the session, at its end; with `back`, at their own free positions."""
    from dataclasses import replace

    fresh = _unknown(db, number, turns)
    start = _end(db, number)
    if not back:
        return [replace(turn, position=start + n) for n, turn in enumerate(fresh)]
    free = max([start, *(turn.position + 1 for turn in fresh)])
    taken = {position for (position,) in db.execute("SELECT position FROM turns WHERE session=?", (number,))}
    found = []
    for turn in sorted(fresh, key=lambda turn: turn.position):
        if turn.position < 0 or turn.position in taken:
            turn = replace(turn, position=free)
            free += 1
        taken.add(turn.position)
        found.append(turn)
    return found


def _end(db: Connection, number: int) -> int:
    """Return the position after the session's last turn."""
    [(end,)] = db.execute("SELECT coalesce(max(position) + 1, 0) FROM turns WHERE session=?", (number,))
    return int(end)


def store(db: Connection, number: int, fresh: Sequence[Turn], revision: int) -> None:
    """Store placed turns: replies go on with the last chat while it has room, others begin one.

    Turns that belong between those that stand are a chat each.
    """
    if fresh and fresh[0].position < _end(db, number):
        _enter(db, number, [(turn, _begin(db, number, [turn], revision)) for turn in fresh], revision)
        return
    last = None
    count, size = MOST_REPLIES, 0
    if fresh and fresh[0].role in REPLIES:
        query = "SELECT id, position, ai_replies FROM chats WHERE session=? ORDER BY position DESC LIMIT 1"
        last = db.first(query, (number,))
    if last is not None:
        count, size = fresh[0].position - last[1] - 1, len(last[2])
    going_on, chats = split(fresh, count, size)
    places = []
    if last is not None and going_on:
        _go_on(db, last[0], readable(last[2]), going_on, revision)
        places = [(turn, last[0]) for turn in going_on]
    for chat in chats:
        begun = _begin(db, number, chat, revision)
        places += [(turn, begun) for turn in chat]
    _enter(db, number, places, revision)


def _enter(db: Connection, number: int, places: Sequence[tuple[Turn, int]], revision: int) -> None:
    db.executemany(
        "INSERT INTO turns (session, turn_id, chat, position, revision) VALUES (?, ?, ?, ?, ?)",
        [(number, bindable(turn.id), chat_id, turn.position, revision) for turn, chat_id in places],
    )


def _go_on(db: Connection, chat: int, replies: str, more: Sequence[Turn], revision: int) -> None:
    added = readable(as_json([reply_of(turn) for turn in more]))
    joined = added if replies == "[]" else f"{replies[:-1]},{added[1:]}"
    db.execute(
        "UPDATE chats SET ai_replies=?1, updated=coalesce(max(updated, ?2), updated, ?2), revision=?3 WHERE id=?4",
        (bindable(joined), last_time(more), revision, chat),
    )


def _begin(db: Connection, number: int, turns: Sequence[Turn], revision: int) -> int:
    return db.insert(
        f"INSERT INTO chats ({CHAT}, updated, session, revision) VALUES ({_CHAT_MARKS}, ?, ?, ?)",
        (*chat_row(turns), last_time(turns), number, revision),
    )


def take_out(db: Connection, chat: int, gone: Container[str]) -> None:
    """Leave the chat without the turns of these ids, and without the summary that told of them; or leave no chat."""
    [row] = db.execute(f"SELECT {CHAT} FROM chats WHERE id=?", (chat,))
    left = [turn for turn in turns_of("", row) if turn.id not in gone]
    if left:
        _put(db, chat, left)
    else:
        db.execute("DELETE FROM chats WHERE id=?", (chat,))


def _put(db: Connection, chat: int, turns: Sequence[Turn]) -> None:
    """Give a chat other turns, without the summary that told of the old ones."""
    db.execute(
        f"UPDATE chats SET ({CHAT}, updated, summary, {EMBEDDING}) = ({_CHAT_MARKS}, ?, '', NULL, NULL, NULL)"
        " WHERE id=?",
        (*chat_row(turns), last_time(turns), chat),
    )


def rewritten(db: Connection, number: int, old: Mapping[str, Turn], new: Mapping[str, Turn], revision: int) -> int:
    """Give turns of a session that are as in `old` the content in `new`; returns how many were."""
    from dataclasses import replace

    marked = ", ".join("?" * len(new))
    found = db.execute(
        f"SELECT DISTINCT chat FROM turns WHERE session=? AND turn_id IN ({marked})", (number, *map(bindable, new))
    )
    changed: list[Turn] = []
    for (chat,) in list(found):
        [row] = db.execute(f"SELECT {CHAT} FROM chats WHERE id=?", (chat,))
        turns = []
        for turn in turns_of("", row):
            was, will = old.get(turn.id), new.get(turn.id)
            if was is not None and will is not None and _content(turn) == _content(was):
                turn = replace(turn, text=will.text, tool_calls=will.tool_calls, metadata=will.metadata)
                changed.append(turn)
            turns.append(turn)
        _put(db, chat, turns)
        db.execute("UPDATE chats SET revision=? WHERE id=?", (revision, chat))
    ids = [(revision, number, bindable(turn.id)) for turn in changed]
    db.executemany("UPDATE turns SET revision=? WHERE session=? AND turn_id=?", ids)
    if changed:
        first = min(turn.position for turn in changed) - 1
        db.execute("UPDATE sessions SET chats_through=min(chats_through, ?) WHERE id=?", (first, number))
    return len(changed)


def _content(turn: Turn) -> object:
    return turn.text, as_json(turn.tool_calls), as_json(turn.metadata)
