"""Sessions and their turns, word for word, in SQLite; the tables are told in `memorybook.storage.transcript_rows`."""

from __future__ import annotations

import os

from memorybook._light import TYPE_CHECKING, Callable, Iterable, Iterator, Mapping, Sequence
from memorybook.errors import ConfigError, Conflict, Damaged, NotFound
from memorybook.storage.sqlite import (
    Connection,
    Store,
    as_json,
    bindable,
    immediate,
    readable,
    reading,
    row_limit,
    stamp,
)
from memorybook.storage.transcript_rows import (
    CHAT,
    MIGRATIONS,
    SESSION,
    check,
    marks,
    session_of,
    session_row,
    times_of,
    turns_of,
    widened,
)

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from datetime import datetime

    from memorybook.formats.document import SummaryEmbedding, SummaryState, SummaryUpdate, TurnChanges
    from memorybook.model import Session, Turn


class SqliteTranscripts:
    """`Transcripts` in one SQLite file, which the first append creates.

    Every method may raise Unavailable (locked by another process for 30 s, unreadable, made by a
    newer memorybook) or Damaged; a damaged file is kept as it is.

    Args:
        path: The database file, or a `Store` of these tables, which may be of another kind.
        prepare: See `Store`.

    Attributes:
        server: Address of the server that keeps them; "" for a file.
    """

    def __init__(self, path: str | Store, *, prepare: Callable[[], None] | None = None) -> None:
        self._store = Store(path, MIGRATIONS, prepare=prepare) if isinstance(path, str) else path
        self.server = "" if os.path.isabs(self._store.path) else self._store.path

    # --- writing ---

    def append(self, session: Session, turns: Sequence[Turn]) -> tuple[Turn, ...]:
        """Store turns at the end of the session, creating it; returns those that were new, placed.

        The fields of a session that exists are left alone, except its first and last time. On disk
        on return. Raises InvalidInput for a turn without id, of another session, with a time
        without timezone or with values that JSON cannot hold.
        """
        return self._add(session, turns, back=False)

    def restore(self, session: Session, turns: Sequence[Turn]) -> int:
        """Put back turns that were removed, at their positions where these are free; returns how many.

        A session that is gone comes back with its fields. Turns that stand are left as they are. On disk on return.
        """
        return len(self._add(session, turns, back=True))

    def _add(self, session: Session, turns: Sequence[Turn], *, back: bool) -> tuple[Turn, ...]:
        from memorybook.storage.transcript_rows import placed, store

        check(session, turns)
        with immediate(self._store.created()) as db:
            row = _session_id(db, session.uuid)
            created = row is None
            number = _create(db, session) if row is None else row
            fresh = placed(db, number, turns, back=back)
            if fresh or created:
                revision = _next_revision(db)
                store(db, number, fresh, revision)
                _touch(db, number, session.uuid, fresh)
            if created or back or db.first("SELECT 1 FROM sessions WHERE id=? AND turn_ids IS NULL", (number,)):
                _keep_turn_ids(db, number)
        return tuple(fresh)

    def update(self, session: Session) -> None:
        """Store the session's own fields; `created` and `updated` only ever widen. Raises NotFound.

        Another name or path counts as a change of all its turns; another summary drops the vector of the old one.
        """
        with self._writing(session.uuid) as db:
            number = _known(db, session.uuid)
            before = _read_session(db, number, turn_ids=False)
            after = widened(before, session)
            if after == before:
                return
            revision = _next_revision(db)
            _rewrite(db, number, after)
            if after.summary != before.summary:
                from memorybook.storage.transcript_rows import set_embedding

                set_embedding(db, "sessions", number, None)
                db.execute("UPDATE sessions SET summary_by='' WHERE id=?", (number,))
            if (after.name, after.path) != (before.name, before.path):
                db.execute("UPDATE turns SET revision=? WHERE session=?", (revision, number))

    def remove(self, session: str, turn_ids: Iterable[str] | None = None) -> int:
        """Remove these turns (single replies too), or the whole session; returns how many turns went.

        The text is overwritten on disk. A chat's summary goes with any of its turns; the session's stays.
        """
        db = self._store.existing()
        if db is None:
            return 0
        with immediate(db):
            number = _session_id(db, session)
            if number is None:
                return 0
            gone = _remove_session(db, number) if turn_ids is None else _remove_turns(db, number, turn_ids)
            if gone or turn_ids is None:
                _bury(db, session, gone, _next_revision(db))
        from memorybook.storage.snapshot import checkpoint

        checkpoint(db)
        return len(gone)

    def rewrite(self, then: Session, old: Sequence[Turn], now: Session, new: Sequence[Turn]) -> int:
        """Give turns of a session another text, tool calls and metadata, in their places; returns how many.

        Title and summary of the session become those of `now` where they are those of `then`; turns that are not as in
        `old`, and all else of the session, are left as they are. Chats' summaries that told of the turns go.
        """
        from memorybook.storage.transcript_rows import rewritten

        db = self._store.existing()
        if db is None:
            return 0
        with immediate(db):
            number = _session_id(db, then.uuid)
            if number is None:
                return 0
            known = {turn.id: turn for turn in old}
            changed = rewritten(db, number, known, {turn.id: turn for turn in new}, _next_revision(db))
            standing = _read_session(db, number, turn_ids=False)
            if standing.title == then.title:
                db.execute("UPDATE sessions SET title=? WHERE id=?", (bindable(now.title), number))
            if standing.summary == then.summary != now.summary:
                from memorybook.storage.transcript_rows import set_embedding

                db.execute("UPDATE sessions SET summary=? WHERE id=?", (bindable(now.summary), number))
                set_embedding(db, "sessions", number, None)
        from memorybook.storage.snapshot import checkpoint

        checkpoint(db)
        return changed

    def set_summary_embedding(
        self, session: str, model: str, vector: bytes, dimensions: int, *, turn_id: str | None = None
    ) -> None:
        """Keep the vector (little-endian float32) of the summary of a session, or of the chat that holds `turn_id`.

        Raises NotFound; InvalidInput if the vector is not `dimensions` numbers long.
        """
        from memorybook.formats.document import SummaryEmbedding
        from memorybook.storage.transcript_rows import set_embedding, summarized

        with self._writing(session) as db:
            table, number = summarized(db, _known(db, session), session, turn_id)
            set_embedding(db, table, number, SummaryEmbedding(model, dimensions, vector))
            _next_revision(db)

    def set_chat_summary(self, session: str, turn_id: str, summary: str) -> None:
        """Store a summary of the chat that holds the turn; drops the vector of the old one. Raises NotFound."""
        from memorybook.storage.transcript_rows import set_embedding, summarized

        with self._writing(session) as db:
            table, number = summarized(db, _known(db, session), session, turn_id)
            db.execute("UPDATE chats SET summary=? WHERE id=?", (bindable(summary), number))
            set_embedding(db, table, number, None)
            _next_revision(db)

    def tell(self, telling: SummaryUpdate) -> bool:
        """Keep summaries of a session and of its chats, all at once.

        False, and nothing is kept, if turns were removed since `told`, for what is gone must not come back so, or if
        somebody else gave the session a summary meanwhile.
        Raises NotFound; InvalidInput if a vector is not as long as it says.
        """
        from memorybook.storage.transcript_rows import tell

        session = telling.told.session.uuid
        with self._writing(session) as db:
            kept = tell(db, _known(db, session), telling)
            if kept:
                _next_revision(db)
        return kept

    # --- reading ---

    def session(self, name: str) -> Session:
        """The session by uuid, or by name if only one has it. Raises NotFound, Conflict (several)."""
        db = self._store.existing()
        if db is None:
            raise _no_session(name)
        with reading(db):
            number = _session_id(db, name)
            return _read_session(db, _only_one_named(db, name) if number is None else number)

    def sessions(self, *, limit: int | None = None, turn_ids: bool = True) -> Sequence[Session]:
        """By their last turn's time, newest first; those without times last.

        Without `turn_ids` it costs the same however long the sessions are. Raises InvalidInput for a limit below 0.
        """
        rows = row_limit(limit)
        db = self._store.existing()
        if db is None:
            return []
        newest = "FROM sessions ORDER BY updated DESC, id DESC LIMIT ?"
        if not turn_ids:
            return [session_of(row, ()) for row in db.execute(f"SELECT {SESSION} {newest}", (rows,))]
        with reading(db):
            return [_read_session(db, number) for (number,) in db.execute(f"SELECT id {newest}", (rows,))]

    def left_open(self, source: str, before: datetime, *, limit: int | None = None) -> Sequence[str]:
        """Sessions (uuid) of that source that have not ended, with their last turn before that time; oldest first."""
        db = self._store.existing()
        if db is None:
            return []
        rows = db.execute(
            "SELECT uuid FROM sessions WHERE ended IS NULL AND updated<? AND source=? ORDER BY updated, id LIMIT ?",
            (stamp(before), bindable(source), row_limit(limit)),
        )
        return [readable(uuid) for (uuid,) in rows]

    def going_on(self, source: str, channel: str, chat_id: str) -> Sequence[Session]:
        """Sessions of that source and tenant that have not ended, newest first, without the ids of their turns."""
        db = self._store.existing()
        if db is None:
            return []
        wanted = "ended IS NULL AND source=? AND channel=? AND chat_id=?"
        rows = db.execute(
            f"SELECT {SESSION} FROM sessions WHERE {wanted} ORDER BY updated DESC, id DESC",
            tuple(map(bindable, (source, channel, chat_id))),
        )
        return [session_of(row, ()) for row in rows]

    def running(self, *, limit: int) -> Sequence[tuple[Session, SummaryEmbedding | None]]:
        """Sessions that have not ended, newest first, whose summary stands in no document, with its vector."""
        from memorybook.storage.transcript_rows import running

        db = self._store.existing()
        return [] if db is None else running(db, limit)

    def turns(self, session: str, *, last: int | None = None) -> Sequence[Turn]:
        """All turns of a session (uuid) in order, or the last so many, at least 1; empty if there is none."""
        db = self._store.existing()
        if db is None:
            return []
        chosen = "session=(SELECT id FROM sessions WHERE uuid=?)"
        if last is not None:
            chosen = f"id IN (SELECT chat FROM turns WHERE {chosen} ORDER BY position DESC LIMIT {int(last)})"
        chats = db.execute(f"SELECT {CHAT} FROM chats WHERE {chosen}", (bindable(session),))
        found = [turn for chat in chats for turn in turns_of(session, chat)]
        found.sort(key=lambda turn: turn.position)  # turns put back stand in chats of their own
        return found if last is None else found[-last:]

    def each_turn(self, session: str) -> Iterator[Turn]:
        """The turns of a session (uuid) in order, of which never all are held; read as they are asked for."""
        return each_turn(self._store, session)

    def find(self, turn_id: str, session: str | None = None) -> Sequence[Turn]:
        """Turns of that id, one per session that has one, or only that of a session (uuid); as they were stored."""
        db = self._store.existing()
        return [] if db is None else found(db, turn_id, session)

    def shared(self, turn_ids: Iterable[str]) -> frozenset[str]:
        """Those of these ids that turns of several sessions have; costs a look at an index for each."""
        db = self._store.existing()
        if db is None:
            return frozenset()
        several = "SELECT 1 FROM turns WHERE turn_id=? LIMIT 1 OFFSET 1"
        return frozenset(id for id in turn_ids if db.first(several, (bindable(id),)))

    def short_names(self, turns: Iterable[tuple[str, str]]) -> Sequence[str]:
        """A name of each turn, given as (session, id), that `beginning_with` finds: UUIDs are cut, to 8 or more."""
        db = self._store.existing()
        return [turn for _, turn in turns] if db is None else short_names(db, turns)

    def beginning_with(self, turn: str, session: str = "") -> Sequence[tuple[str, str]]:
        """(session, id) of at most 6 turns whose id is `turn` or a UUID that begins so; of the session likewise."""
        db = self._store.existing()
        return [] if db is None else beginning_with(db, turn, session)

    def revision(self) -> int:
        """Grows with every change; 0 for an empty store. Cheap."""
        db = self._store.existing()
        return 0 if db is None else _revision(db)

    def changes(self, after: int) -> TurnChanges:
        """What changed after that revision, as it is at the moment of this call, read as it is iterated (once).

        The sessions it gives have no `turn_ids`, as filling them would cost as much as reading all their turns.
        """
        from memorybook.formats.document import TurnChanges

        if self._store.existing() is None:
            return TurnChanges(0, (), ())
        snapshot = self._store.snapshot()
        try:
            revision = _revision(snapshot)
            if revision <= after:
                snapshot.close()
                return TurnChanges(revision, (), ())

            removed = snapshot.execute(
                "SELECT session, turn_id FROM removed WHERE revision>? ORDER BY revision, session, turn_id", (after,)
            )
        except BaseException:
            snapshot.close()
            raise
        turns = changed(snapshot, after)
        return TurnChanges(
            revision,
            turns if self._store.streams else list(turns),
            [(readable(session), readable(turn)) for session, turn in removed],
        )

    def counts(self) -> Mapping[str, int]:
        """`sessions` and `turns`."""
        db = self._store.existing()
        if db is None:
            return {"sessions": 0, "turns": 0}
        [(sessions, turns)] = db.execute("SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM turns)")
        return {"sessions": sessions, "turns": turns}

    def summary_embedding(self, session: str, *, turn_id: str | None = None) -> SummaryEmbedding | None:
        """The vector of a session's summary, or of the chat's that holds `turn_id`; None if there is none.

        Raises NotFound.
        """
        db = self._store.existing()
        if db is None:
            raise _no_session(session)
        from memorybook.storage.transcript_rows import embedding_of, summarized

        with reading(db):
            return embedding_of(db, *summarized(db, _known(db, session), session, turn_id))

    def told(self, session: str) -> SummaryState:
        """How far the summaries of a session (uuid) tell of it; costs the same however long it is. Raises NotFound."""
        from memorybook.storage.transcript_rows import told

        db = self._store.existing()
        if db is None:
            raise _no_session(session)
        with reading(db):
            return told(db, _known(db, session))

    def chats(self, session: str, *, after: int = -1) -> Sequence[tuple[Turn, ...]]:
        """The turns of each chat of a session (uuid) that has one after that position, in order."""
        from memorybook.storage.transcript_rows import chats_after

        db = self._store.existing()
        if db is None:
            return []
        with reading(db):
            number = _session_id(db, session)
            return [] if number is None else list(chats_after(db, number, session, after))

    def chat_summaries(self, session: str) -> Mapping[str, str]:
        """Summaries of a session's chats, by the id of the turn each begins with; those without are left out."""
        db = self._store.existing()
        if db is None:
            return {}
        from memorybook.storage.transcript_rows import chat_summaries

        return chat_summaries(db, session)

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
        """Let no byte of what was removed be left in the files; False if another process still needs some."""
        from memorybook.storage.snapshot import vacuum

        return vacuum(self._store.existing())

    def fault(self, *, thorough: bool = False) -> str:
        """What is wrong with the database, see `Store.fault`; "" if nothing is."""
        return self._store.fault(thorough=thorough)

    def close(self) -> None:
        """Release what is held; closing twice does nothing."""
        self._store.close()

    def _writing(self, session: str) -> AbstractContextManager[Connection]:
        """A transaction to change a session that must be there already. Raises NotFound."""
        db = self._store.existing()
        if db is None:
            raise _no_session(session)
        return immediate(db)


def open_transcripts(
    folder: str,
    db_path: str = "",
    url: str = "",
    auth_token: str = "",
    *,
    prepare: Callable[[], None] | None = None,
) -> SqliteTranscripts:
    """The transcripts where the settings have them: over libSQL at `url`, else in the file `db_path`, else in `folder`.

    `prepare` makes the folder, see `Store`.

    Raises:
        ConfigError: Both are given, or there is a password in the address.
    """
    if not url:
        return SqliteTranscripts(db_path or f"{folder}/transcripts.sqlite", prepare=prepare)
    if db_path:
        raise ConfigError("transcripts.url and transcripts.db_path are two places for the same turns: keep one of them")
    from memorybook.storage.libsql import LibsqlStore

    return SqliteTranscripts(LibsqlStore(url, MIGRATIONS, auth_token=auth_token))


# --- revision and sessions ---


def _revision(db: Connection) -> int:
    row = db.first("SELECT revision FROM state")
    return row[0] if row else 0


def _next_revision(db: Connection) -> int:
    [(revision,)] = db.execute("UPDATE state SET revision=revision+1 RETURNING revision")
    return int(revision)


def _no_session(name: str, db: Connection | None = None) -> NotFound:
    shown = "coalesce(nullif(name, ''), iif(length(uuid)=36, substr(uuid, 1, 8), uuid))"
    latest = f"SELECT {shown} FROM sessions ORDER BY updated DESC, id DESC LIMIT 5"
    known = ", ".join(repr(readable(one)) for (one,) in (db.execute(latest) if db else ()))
    return NotFound(f"no session is called {name!r}; " + (f"the latest are {known}" if known else "there are none yet"))


def _session_id(db: Connection, uuid: str) -> int | None:
    row = db.first("SELECT id FROM sessions WHERE uuid=?", (bindable(uuid),))
    return row[0] if row else None


def _known(db: Connection, uuid: str) -> int:
    number = _session_id(db, uuid)
    if number is None:
        raise _no_session(uuid, db)
    return number


def _only_one_named(db: Connection, name: str) -> int:
    rows = db.execute("SELECT id, uuid FROM sessions WHERE name=? AND name<>'' ORDER BY id", (bindable(name),))
    if not rows:
        raise _no_session(name, db)
    if len(rows) > 1:
        uuids = ", ".join(readable(uuid) for _, uuid in rows[:5])
        raise Conflict(f"{len(rows)} sessions are called {name!r}; give the uuid of one of them: {uuids}")
    return int(rows[0][0])


def _create(db: Connection, session: Session) -> int:
    return db.insert(f"INSERT INTO sessions ({SESSION}) VALUES ({marks(SESSION)})", session_row(session))


def _rewrite(db: Connection, number: int, session: Session) -> None:
    row = session_row(session)
    db.execute(f"UPDATE sessions SET ({SESSION}) = ({marks(SESSION)}) WHERE id=?", (*row, number))
    _keep_turn_ids(db, number)


def _read_session(db: Connection, number: int, *, turn_ids: bool = True) -> Session:
    [row] = db.execute(f"SELECT {SESSION} FROM sessions WHERE id=?", (number,))
    return session_of(row, _turn_ids(db, number) if turn_ids else ())


def _turn_ids(db: Connection, number: int) -> tuple[str, ...]:
    rows = db.execute("SELECT turn_id FROM turns WHERE session=? ORDER BY position", (number,))
    return tuple(readable(turn_id) for (turn_id,) in rows)


def _keep_turn_ids(db: Connection, number: int) -> None:
    """Write the column `turn_ids` of a session anew."""
    db.execute("UPDATE sessions SET turn_ids=? WHERE id=?", (as_json(_turn_ids(db, number)), number))


def _touch(db: Connection, number: int, uuid: str, fresh: Sequence[Turn]) -> None:
    """Let the session know its new turns: their ids, its first and last time; they are no longer removed.

    `turn_ids` is NULL afterwards where it cannot simply grow: its text is not one that SQLite reads as such.
    """
    times = times_of(fresh)
    first, last = min(times, default=None), max(times, default=None)
    db.execute(
        "UPDATE sessions SET turn_ids=CASE WHEN typeof(turn_ids)='text' AND typeof(?4)='text' THEN CASE turn_ids"
        " WHEN '[]' THEN ?4 ELSE substr(turn_ids, 1, length(turn_ids) - 1) || ',' || substr(?4, 2) END END,"
        " created=coalesce(min(created, ?1), created, ?1), updated=coalesce(max(updated, ?2), updated, ?2) WHERE id=?3",
        (first, last, number, as_json([turn.id for turn in fresh])),
    )
    if db.first("SELECT 1 FROM removed WHERE session=? LIMIT 1", (bindable(uuid),)):
        rows = [(bindable(uuid), bindable(turn.id)) for turn in fresh]
        db.executemany("DELETE FROM removed WHERE session=? AND turn_id=?", rows)


# --- removing ---


def _remove_session(db: Connection, number: int) -> list[str]:
    gone = list(_turn_ids(db, number))
    for table in ("turns", "chats"):
        db.execute(f"DELETE FROM {table} WHERE session=?", (number,))
    db.execute("DELETE FROM sessions WHERE id=?", (number,))
    return gone


def _remove_turns(db: Connection, number: int, turn_ids: Iterable[str]) -> list[str]:
    gone: dict[str, int] = {}
    first = None
    for turn_id in dict.fromkeys(turn_ids):
        sql = "DELETE FROM turns WHERE turn_id=? AND session=? RETURNING chat, position"
        row = db.first(sql, (bindable(turn_id), number))
        if row is not None:
            gone[turn_id] = row[0]
            first = row[1] if first is None else min(first, row[1])
    if first is not None:
        from memorybook.storage.transcript_rows import take_out, unsaid

        unsaid(db, number, first)
        for chat in set(gone.values()):
            take_out(db, chat, gone)
    _keep_turn_ids(db, number)
    return list(gone)


def _bury(db: Connection, session: str, turn_ids: Iterable[str], revision: int) -> None:
    db.executemany(
        "INSERT OR REPLACE INTO removed (session, turn_id, revision) VALUES (?, ?, ?)",
        [(bindable(session), bindable(turn_id), revision) for turn_id in turn_ids],
    )


_AT_ONCE = 200
"""Chats that are read at once."""

_POSITION = CHAT.split(", ").index("position")


def each_turn(store: Store, session: str) -> Iterator[Turn]:
    """The turns of a session (uuid) in order, read some chats at a time; those that come meanwhile may be in."""
    chats = (
        f"SELECT {CHAT} FROM chats WHERE session=(SELECT id FROM sessions WHERE uuid=?) AND position>?"
        f" ORDER BY position LIMIT {_AT_ONCE}"
    )
    waiting: list[Turn] = []  # turns put back stand in chats of their own, between those of another
    read = -1
    while (db := store.existing()) is not None and (rows := db.execute(chats, (bindable(session), read))):
        for row in rows:
            read = row[_POSITION]
            yield from (turn for turn in waiting if turn.position < read)
            waiting = [turn for turn in waiting if turn.position > read]
            waiting += turns_of(session, row)
            waiting.sort(key=lambda turn: turn.position)
    yield from waiting


def found(db: Connection, turn_id: str, session: str | None) -> list[Turn]:
    """See `SqliteTranscripts.find`."""
    columns = ", ".join(f"chats.{column}" for column in CHAT.split(", "))
    of_it, values = ("", ()) if session is None else (" AND sessions.uuid=?", (bindable(session),))
    rows = db.execute(
        f"SELECT sessions.uuid, {columns} FROM turns JOIN chats ON chats.id=turns.chat"
        f" JOIN sessions ON sessions.id=turns.session WHERE turns.turn_id=?{of_it} ORDER BY turns.id",
        (bindable(turn_id), *values),
    )
    return [turn for uuid, *chat in rows for turn in turns_of(readable(uuid), chat) if turn.id == turn_id]


def changed(snapshot: Connection, after: int) -> Iterator[tuple[Session, Turn]]:
    """Turns with a revision above `after`, each with its session, without `turn_ids`; closes the snapshot."""
    sessions: dict[int, Session] = {}
    turns: dict[str, Turn] = {}
    current = -1
    columns = ", ".join(f"chats.{column}" for column in CHAT.split(", "))
    query = (
        f"SELECT turns.session, turns.chat, turns.turn_id, {columns} FROM turns LEFT JOIN chats ON chats.id=turns.chat"
        " WHERE turns.revision>? ORDER BY turns.revision, turns.id"
    )
    try:
        for number, chat, turn_id, *row in snapshot.stream(query, (after,)):
            if number not in sessions:
                [columns_of_it] = snapshot.execute(f"SELECT {SESSION} FROM sessions WHERE id=?", (number,))
                sessions[number] = session_of(columns_of_it, ())
            if chat != current:
                current, turns = chat, {turn.id: turn for turn in turns_of(sessions[number].uuid, row)}
            if (turn := turns.get(readable(turn_id))) is None:
                raise Damaged(f"a database of the book has no text of turn {readable(turn_id)!r}: put a whole one back")
            yield sessions[number], turn
    finally:
        snapshot.close()


SHORTEST = 8
"""Characters of a UUID that a short name keeps at least."""

_HYPHENS = (8, 13, 18, 23)
_DIGITS = frozenset("0123456789abcdef-")
_LAST = "g"
"""Sorts after whatever continues the beginning of a UUID."""


def short_names(db: Connection, turns: Iterable[tuple[str, str]]) -> list[str]:
    """A name of each turn, given as (session, id): `ID`, or `SESSION/ID` where several sessions have the id."""
    return [_short_name(db, session, turn) for session, turn in turns]


def _short_name(db: Connection, session: str, turn: str) -> str:
    several = db.first("SELECT 1 FROM turns WHERE turn_id=? LIMIT 1 OFFSET 1", (bindable(turn),)) is not None
    name = _beginning(db, "turns", "turn_id", turn)
    return f"{_beginning(db, 'sessions', 'uuid', session)}/{name}" if several else name


def _beginning(db: Connection, table: str, column: str, value: str) -> str:
    """The shortest beginning of a UUID that no other value of the column has; any other value as it is."""
    if not _is_uuid(value):
        return value
    size = SHORTEST
    for way, order in ((">", ""), ("<", " DESC")):
        row = db.first(f"SELECT {column} FROM {table} WHERE {column}{way}? ORDER BY {column}{order} LIMIT 1", (value,))
        other = readable(row[0]) if row else ""
        while size < len(value) and other.startswith(value[:size]):
            size += 1
    return value[:size]


def beginning_with(db: Connection, turn: str, session: str) -> Sequence[tuple[str, str]]:
    """(session, id) of the turns that a short name means, at most 6; none for a name that cannot be one.

    Args:
        db: The transcripts.
        turn: An id, or the beginning of a UUID.
        session: Likewise; "" for any session.
    """
    wanted: list[str] = []
    values: list[str | bytes] = []
    for column, name in (("turns.turn_id", turn), ("sessions.uuid", session)):
        if _may_begin_uuid(name):
            wanted.append(f"({column}=? OR ({column}>? AND {column}<? AND length({column})=36))")
            values += [name, name, name + _LAST]
        elif name:
            wanted.append(f"{column}=?")
            values.append(bindable(name))
    rows = db.execute(
        "SELECT sessions.uuid, turns.turn_id FROM turns JOIN sessions ON sessions.id=turns.session"
        f" WHERE {' AND '.join(wanted)} ORDER BY turns.id LIMIT 6",
        values,
    )
    return [(readable(uuid), readable(id)) for uuid, id in rows]


def _is_uuid(text: str) -> bool:
    return len(text) == 36 and _may_begin_uuid(text)


def _may_begin_uuid(text: str) -> bool:
    """Whether a text is the beginning of a UUID in lower case, long enough for a short name."""
    return SHORTEST <= len(text) <= 36 and all(
        (char == "-") == (place in _HYPHENS) and char in _DIGITS for place, char in enumerate(text)
    )
