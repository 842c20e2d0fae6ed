"""Sessions and their turns, verbatim, in SQLite; the tables are in `memorybook.storage.transcript_rows`."""

from __future__ import annotations

import os

from memorybook._light import TYPE_CHECKING, Callable, Iterable, Iterator, Mapping, Sequence
from memorybook.errors import ConfigError, Conflict, Damaged, InvalidInput, NotFound
from memorybook.storage.columns import Value, as_json, bindable, readable, row_limit, stamp
from memorybook.storage.sqlite import Connection, Store, Tables, checkpoint, immediate, reading
from memorybook.storage.transcript_rows import (
    CHAT,
    CHAT_MARKS,
    EMBEDDING,
    MIGRATIONS,
    MOST_REPLIES,
    MOST_REPLY_TEXT,
    REPLIES,
    SESSION,
    as_embedding,
    chat_row,
    reply_of,
    session_of,
    set_embedding,
    summarized,
    times_of,
    turns_of,
)

if TYPE_CHECKING:
    from datetime import datetime

    from memorybook.formats.document import SummaryEmbedding, SummaryState, SummaryUpdate, TurnChanges
    from memorybook.model import Session, Turn


_OF_CHATS = ", ".join(f"chats.{column}" for column in CHAT.split(", "))
_POSITION = CHAT.split(", ").index("position")
_AT_ONCE = 200  # chats that are read at once

SHORTEST = 8
"""Characters of a UUID that a short name keeps at least."""

_HYPHENS = (8, 13, 18, 23)
_DIGITS = frozenset("0123456789abcdef-")
_LAST = "g"  # sorts after whatever continues the beginning of a UUID


class SqliteTranscripts(Tables):
    """`Transcripts` in one SQLite file, created by the first append, or in a `Store` of these tables.

    Every method may raise Unavailable (locked by another process for 30 s, unreadable, newer) or Damaged; a damaged
    file is kept as it is. `server` is the address of the server that keeps them, "" for a file.
    """

    def __init__(self, path: str | Store, *, prepare: Callable[[], None] | None = None) -> None:
        super().__init__(Store(path, MIGRATIONS, prepare=prepare) if isinstance(path, str) else path)
        self.server = "" if os.path.isabs(self._store.path) else self._store.path

    # --- writing ---

    def append(self, session: Session, turns: Sequence[Turn]) -> tuple[Turn, ...]:
        """Store turns at the end of the session, creating it; return those that were new, placed. On disk on return.

        Of a session that exists only the first and last time change. Raises InvalidInput for a turn without id, of
        another session, with a time without timezone or values that JSON cannot hold.
        """
        return self._add(session, turns, back=False)

    def restore(self, session: Session, turns: Sequence[Turn]) -> int:
        """Put back removed turns, at their positions where these are free; return how many. On disk on return."""
        return len(self._add(session, turns, back=True))

    def _add(self, session: Session, turns: Sequence[Turn], *, back: bool) -> tuple[Turn, ...]:
        if not session.uuid:
            raise InvalidInput("a session needs a uuid")
        for turn in turns:
            if not turn.id:
                raise InvalidInput(f"a turn of session {session.uuid!r} has no id; make one from its content")
            if turn.session != session.uuid:
                raise InvalidInput(f"turn {turn.id!r} belongs to session {turn.session!r}, not to {session.uuid!r}")
        with immediate(self._store.created()) as db:
            row = _session_id(db, session.uuid)
            created = row is None
            insert = f"INSERT INTO sessions ({SESSION}) VALUES ({SESSION.marks})"
            number = db.insert(insert, SESSION.row(session)) if row is None else row
            fresh = _placed(db, number, turns, back=back)
            if fresh or created:
                revision = _next_revision(db)
                _store(db, number, fresh, revision)
                _touch(db, number, session.uuid, fresh)
            if created or back or db.first("SELECT 1 FROM sessions WHERE id=? AND turn_ids IS NULL", (number,)):
                _keep_turn_ids(db, number)
        return tuple(fresh)

    def update(self, session: Session) -> None:
        """Store the session's own fields; `created` and `updated` only ever widen. Raises NotFound.

        Another name or path counts as a change of all its turns; another summary drops the vector of the old one.
        """
        from dataclasses import replace

        with immediate(self._of(session.uuid)) as db:
            number = _known(db, session.uuid)
            before = _read_session(db, number, turn_ids=False)
            created = min(filter(None, (before.created, session.created)), default=None)
            updated = max(filter(None, (before.updated, session.updated)), default=None)
            after = replace(session, created=created, updated=updated, turn_ids=before.turn_ids)
            if after == before:
                return
            revision = _next_revision(db)
            db.execute(f"UPDATE sessions SET ({SESSION}) = ({SESSION.marks}) WHERE id=?", (*SESSION.row(after), number))
            _keep_turn_ids(db, number)
            if after.summary != before.summary:
                set_embedding(db, "sessions", number, None)
                db.execute("UPDATE sessions SET summary_by='' WHERE id=?", (number,))
            if (after.name, after.path) != (before.name, before.path):
                db.execute("UPDATE turns SET revision=? WHERE session=?", (revision, number))

    def remove(self, session: str, turn_ids: Iterable[str] | None = None) -> int:
        """Remove these turns (single replies too), or the whole session; return how many turns went.

        The text is overwritten on disk. The summaries of a chat, and of its session, go with any of the turns they were
        made of; what was copied from a page stays.
        """
        db = self._store.existing()
        if db is None:
            return 0
        with immediate(db):
            number = _session_id(db, session)
            if number is None:
                return 0
            if turn_ids is None:
                gone = list(_turn_ids(db, number))
                for table, column in (("turns", "session"), ("chats", "session"), ("sessions", "id")):
                    db.execute(f"DELETE FROM {table} WHERE {column}=?", (number,))
            else:
                gone = _remove_turns(db, number, turn_ids)
            if gone or turn_ids is None:
                revision = _next_revision(db)
                db.executemany(
                    "INSERT INTO removed (session, turn_id, revision) VALUES (?, ?, ?) ON CONFLICT (session, turn_id)"
                    " DO UPDATE SET revision=excluded.revision",
                    [(bindable(session), bindable(turn_id), revision) for turn_id in gone],
                )
        checkpoint(db)
        return len(gone)

    def rewrite(self, then: Session, old: Sequence[Turn], now: Session, new: Sequence[Turn]) -> int:
        """Give turns of a session another text, tool calls and metadata, in their places; return how many.

        Title and summary of the session become those of `now` where they are those of `then`; turns that are not as in
        `old`, and all else of the session, are left as they are. Chats' summaries that told of the turns go.
        """
        db = self._store.existing()
        if db is None:
            return 0
        with immediate(db):
            number = _session_id(db, then.uuid)
            if number is None:
                return 0
            changed = _rewrite_turns(db, number, {turn.id: turn for turn in old}, {turn.id: turn for turn in new})
            standing = _read_session(db, number, turn_ids=False)
            if standing.title == then.title:
                db.execute("UPDATE sessions SET title=? WHERE id=?", (bindable(now.title), number))
            if standing.summary == then.summary != now.summary:
                db.execute("UPDATE sessions SET summary=? WHERE id=?", (bindable(now.summary), number))
                set_embedding(db, "sessions", number, None)
        checkpoint(db)
        return changed

    def set_summary_embedding(
        self, session: str, model: str, vector: bytes, dimensions: int, *, turn_id: str | None = None
    ) -> None:
        """Keep the vector (little-endian float32) of the summary of a session, or of the chat that holds `turn_id`.

        Raises NotFound; InvalidInput if the vector is not `dimensions` numbers long.
        """
        from memorybook.formats.document import SummaryEmbedding

        with immediate(self._of(session)) as db:
            table, number = summarized(db, _known(db, session), session, turn_id)
            set_embedding(db, table, number, SummaryEmbedding(model, dimensions, vector))
            _next_revision(db)

    def set_chat_summary(self, session: str, turn_id: str, summary: str) -> None:
        """Store a summary of the chat that holds the turn; drop the vector of the old one. Raises NotFound."""
        with immediate(self._of(session)) as db:
            table, number = summarized(db, _known(db, session), session, turn_id)
            db.execute("UPDATE chats SET summary=? WHERE id=?", (bindable(summary), number))
            set_embedding(db, table, number, None)
            _next_revision(db)

    def tell(self, telling: SummaryUpdate) -> bool:
        """Store summaries of a session and of its chats in one transaction.

        Return False, storing nothing, if turns were removed or edited since `told`, or if the session got another
        summary meanwhile. Raises NotFound; InvalidInput if a vector is not as long as it says.
        """
        before, session = telling.told, telling.told.session.uuid
        gone = "SELECT 1 FROM removed WHERE session=? AND revision>? LIMIT 1"
        edited = "SELECT 1 FROM turns WHERE session=? AND position<=? AND revision>? LIMIT 1"
        with immediate(self._of(session)) as db:
            number = _known(db, session)
            [(standing,)] = db.execute("SELECT summary FROM sessions WHERE id=?", (number,))
            if (
                readable(standing) != before.session.summary
                or db.first(gone, (bindable(session), before.revision))
                or db.first(edited, (number, before.last, before.revision))
            ):
                return False
            for chat in telling.chats:
                found = db.first(
                    "SELECT chat FROM turns WHERE turn_id=? AND session=?", (bindable(chat.turn_id), number)
                )
                if found is not None:
                    db.execute("UPDATE chats SET summary=? WHERE id=?", (bindable(chat.summary), found[0]))
                    set_embedding(db, "chats", found[0], chat.embedding)
            reach = "UPDATE sessions SET chats_through=?, summary_through=? WHERE id=?"
            db.execute(reach, (before.last, telling.through, number))
            if telling.summary is not None:
                summary = (bindable(telling.summary), bindable(telling.title), telling.by, number)
                db.execute("UPDATE sessions SET summary=?, title=?, summary_by=? WHERE id=?", summary)
                set_embedding(db, "sessions", number, telling.embedding)
            _next_revision(db)
        return True

    # --- reading ---

    def session(self, name: str) -> Session:
        """Return the session by uuid, or by name if only one has it. Raises NotFound, Conflict (several)."""
        db = self._store.existing()
        if db is None:
            raise _no_session(name)
        with reading(db):
            number = _session_id(db, name)
            if number is None:
                rows = db.execute(
                    "SELECT id, uuid FROM sessions WHERE name=? AND name<>'' ORDER BY id", (bindable(name),)
                )
                if not rows:
                    raise _no_session(name, db)
                if len(rows) > 1:
                    from memorybook import locale

                    uuids = ", ".join(readable(uuid) for _, uuid in rows[:5])
                    raise locale.error(
                        Conflict, "problems.sessions_called", count=len(rows), name=repr(name), uuids=uuids
                    )
                number = int(rows[0][0])
            return _read_session(db, number)

    def sessions(self, *, limit: int | None = None, turn_ids: bool = True) -> Sequence[Session]:
        """Return sessions, newest last turn first, those without times last. Raises InvalidInput for a limit below 0.

        Without `turn_ids` the cost does not depend on how long the sessions are.
        """
        rows = row_limit(limit)
        db = self._store.existing()
        if db is None:
            return []
        newest = "FROM sessions ORDER BY updated DESC NULLS LAST, id DESC LIMIT ?"
        if not turn_ids:
            return [session_of(row) for row in db.execute(f"SELECT {SESSION} {newest}", (rows,))]
        with reading(db):
            return [_read_session(db, number) for (number,) in db.execute(f"SELECT id {newest}", (rows,))]

    def left_open(self, source: str, before: datetime, *, limit: int | None = None) -> Sequence[str]:
        """Return sessions (uuid) of that source that have not ended, last turn before that time; oldest first."""
        rows = self._rows(
            "SELECT uuid FROM sessions WHERE ended IS NULL AND updated<? AND source=? ORDER BY updated, id LIMIT ?",
            (stamp(before), bindable(source), row_limit(limit)),
        )
        return [readable(uuid) for (uuid,) in rows]

    def going_on(self, source: str, channel: str, chat_id: str) -> Sequence[Session]:
        """Return open sessions of that source and tenant, newest first, without the ids of their turns."""
        rows = self._rows(
            f"SELECT {SESSION} FROM sessions WHERE ended IS NULL AND source=? AND channel=? AND chat_id=?"
            " ORDER BY updated DESC NULLS LAST, id DESC",
            [*map(bindable, (source, channel, chat_id))],
        )
        return [session_of(row) for row in rows]

    def running(self, *, limit: int) -> Sequence[tuple[Session, SummaryEmbedding | None]]:
        """Return open sessions that have a stored summary, with its vector, newest first.

        Summaries copied from a Markdown page are excluded.
        """
        rows = self._rows(
            f"SELECT {EMBEDDING}, {SESSION} FROM sessions WHERE ended IS NULL AND summary_by<>'' AND summary<>''"
            " ORDER BY updated DESC NULLS LAST, id DESC LIMIT ?",
            (limit,),
        )
        return [(session_of(row), as_embedding(model, size, vector)) for model, size, vector, *row in rows]

    def turns(self, session: str, *, last: int | None = None) -> Sequence[Turn]:
        """Return all turns of a session (uuid) in order, or the last so many, at least 1; none if it is unknown."""
        chosen = "session=(SELECT id FROM sessions WHERE uuid=?)"
        if last is not None:
            chosen = f"id IN (SELECT chat FROM turns WHERE {chosen} ORDER BY position DESC LIMIT {int(last)})"
        chats = self._rows(f"SELECT {CHAT} FROM chats WHERE {chosen}", (bindable(session),))
        found = [turn for chat in chats for turn in turns_of(session, chat)]
        found.sort(key=lambda turn: turn.position)  # turns put back stand in chats of their own
        return found if last is None else found[-last:]

    def each_turn(self, session: str) -> Iterator[Turn]:
        """Iterate over the turns of a session (uuid) in order, reading some chats at a time."""
        chats = (
            f"SELECT {CHAT} FROM chats WHERE session=(SELECT id FROM sessions WHERE uuid=?) AND position>?"
            f" ORDER BY position LIMIT {_AT_ONCE}"
        )
        waiting: list[Turn] = []  # turns put back stand in chats of their own, between those of another
        read = -1
        while rows := self._rows(chats, (bindable(session), read)):
            for row in rows:
                read = row[_POSITION]
                yield from (turn for turn in waiting if turn.position < read)
                waiting = [turn for turn in waiting if turn.position > read]
                waiting += turns_of(session, row)
                waiting.sort(key=lambda turn: turn.position)
        yield from waiting

    def find(self, turn_id: str, session: str | None = None) -> Sequence[Turn]:
        """Return turns of that id, one per session that has one, or only that of a session (uuid)."""
        of_it, values = ("", ()) if session is None else (" AND sessions.uuid=?", (bindable(session),))
        rows = self._rows(
            f"SELECT sessions.uuid, {_OF_CHATS} FROM turns JOIN chats ON chats.id=turns.chat"
            f" JOIN sessions ON sessions.id=turns.session WHERE turns.turn_id=?{of_it} ORDER BY turns.id",
            (bindable(turn_id), *values),
        )
        return [turn for uuid, *chat in rows for turn in turns_of(readable(uuid), chat) if turn.id == turn_id]

    def shared(self, turn_ids: Iterable[str]) -> frozenset[str]:
        """Return those of these ids that turns of several sessions have; one index lookup each."""
        several = "SELECT 1 FROM turns WHERE turn_id=? LIMIT 1 OFFSET 1"
        return frozenset(id for id in turn_ids if self._rows(several, (bindable(id),)))

    def short_names(self, turns: Iterable[tuple[str, str]]) -> Sequence[str]:
        """Return a name for each (session, id) that `beginning_with` finds: `ID`, or `SESSION/ID` if ids are shared.

        UUIDs are cut to the shortest unique beginning, 8 characters or more.
        """
        turns = list(turns)
        shared = self.shared({turn for _, turn in turns})
        return [
            f"{self._beginning('sessions', 'uuid', session)}/" * (turn in shared)
            + self._beginning("turns", "turn_id", turn)
            for session, turn in turns
        ]

    def _beginning(self, table: str, column: str, value: str) -> str:
        """Return the shortest beginning of a UUID that no other value of the column has; other values unchanged."""
        if len(value) != 36 or not _may_begin_uuid(value):
            return value
        size = SHORTEST
        for way, order in ((">", ""), ("<", " DESC")):
            other = f"SELECT {column} FROM {table} WHERE {column}{way}? ORDER BY {column}{order} LIMIT 1"
            for (found,) in self._rows(other, (value,)):
                while size < len(value) and readable(found).startswith(value[:size]):
                    size += 1
        return value[:size]

    def beginning_with(self, turn: str, session: str = "") -> Sequence[tuple[str, str]]:
        """Return (session, id) of at most 6 turns whose id is `turn` or a UUID that begins so; session likewise."""
        wanted: list[str] = []
        values: list[Value] = []
        for column, name in (("turns.turn_id", turn), ("sessions.uuid", session)):
            if _may_begin_uuid(name):
                wanted.append(f"({column}=? OR ({column}>? AND {column}<? AND length({column})=36))")
                values += [name, name, name + _LAST]
            elif name:
                wanted.append(f"{column}=?")
                values.append(bindable(name))
        rows = self._rows(
            "SELECT sessions.uuid, turns.turn_id FROM turns JOIN sessions ON sessions.id=turns.session"
            f" WHERE {' AND '.join(wanted)} ORDER BY turns.id LIMIT 6",
            values,
        )
        return [(readable(uuid), readable(id)) for uuid, id in rows]

    def revision(self) -> int:
        """Return a number that grows with every change; 0 for an empty store. Cheap."""
        db = self._store.existing()
        return 0 if db is None else _revision(db)

    def changes(self, after: int) -> TurnChanges:
        """Return what changed after that revision, as of now, read while iterated (once); sessions lack `turn_ids`."""
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
        """Return the numbers of `sessions` and `turns`."""
        rows = self._rows("SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM turns)")
        sessions, turns = rows[0] if rows else (0, 0)
        return {"sessions": sessions, "turns": turns}

    def told(self, session: str) -> SummaryState:
        """Return how far the summaries of a session (uuid) reach; constant cost. Raises NotFound."""
        from memorybook.formats.document import SummaryState

        with reading(self._of(session)) as db:
            number, columns = _known(db, session), f"{SESSION}, summary_by, summary_through, chats_through"
            [(*row, by, through, chats)] = db.execute(f"SELECT {columns} FROM sessions WHERE id=?", (number,))
            [(last,)] = db.execute("SELECT max(position) FROM turns WHERE session=?", (number,))
            last = -1 if last is None else last
            return SummaryState(session_of(row), readable(by), through, chats, last, _revision(db))

    def chats(self, session: str, *, after: int = -1) -> Sequence[tuple[Turn, ...]]:
        """Return the turns of each chat of a session (uuid) that has one after that position, in order."""
        rows = self._rows(
            f"SELECT {CHAT} FROM chats WHERE id IN (SELECT chat FROM turns WHERE position>? AND"
            " session=(SELECT id FROM sessions WHERE uuid=?)) ORDER BY position",
            (after, bindable(session)),
        )
        return [tuple(turns_of(session, row)) for row in rows]

    def chat_summaries(self, session: str) -> Mapping[str, str]:
        """Return summaries of a session's chats, by the id of the turn each begins with; those without are left out."""
        rows = self._rows(
            "SELECT turns.turn_id, chats.summary FROM chats JOIN sessions ON sessions.id=chats.session"
            " JOIN turns ON turns.session=chats.session AND turns.position=chats.position"
            " WHERE sessions.uuid=? AND chats.summary<>'' ORDER BY chats.position",
            (bindable(session),),
        )
        return {readable(turn): readable(summary) for turn, summary in rows}

    def _of(self, session: str) -> Connection:
        db = self._store.existing()
        if db is None:
            raise _no_session(session)
        return db


def open_transcripts(
    folder: str, db_path: str = "", url: str = "", auth_token: str = "", *, prepare: Callable[[], None] | None = None
) -> SqliteTranscripts:
    """Open the transcripts over libSQL at `url`, else in `db_path`, else in `folder`. Raises ConfigError."""
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
    shown = "coalesce(nullif(name, ''), CASE WHEN length(uuid)=36 THEN substr(uuid, 1, 8) ELSE uuid END)"
    latest = f"SELECT {shown} FROM sessions ORDER BY updated DESC NULLS LAST, id DESC LIMIT 5"
    known = ", ".join(repr(readable(one)) for (one,) in (db.execute(latest) if db else ()))
    from memorybook import locale

    id = "problems.session_unknown" if known else "problems.no_session_yet"
    return locale.error(NotFound, id, name=repr(name), latest=known)


def _session_id(db: Connection, uuid: str) -> int | None:
    row = db.first("SELECT id FROM sessions WHERE uuid=?", (bindable(uuid),))
    return row[0] if row else None


def _known(db: Connection, uuid: str) -> int:
    number = _session_id(db, uuid)
    if number is None:
        raise _no_session(uuid, db)
    return number


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
    """Update the session for its new turns: ids, first and last time; they are no longer removed.

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


def changed(snapshot: Connection, after: int) -> Iterator[tuple[Session, Turn]]:
    """Yield turns with a revision above `after`, each with its session, without `turn_ids`; closes the snapshot."""
    sessions: dict[int, Session] = {}
    turns: dict[str, Turn] = {}
    current = -1
    query = (
        f"SELECT turns.session, turns.chat, turns.turn_id, {_OF_CHATS} FROM turns LEFT JOIN chats"
        " ON chats.id=turns.chat WHERE turns.revision>? ORDER BY turns.revision, turns.id"
    )
    try:
        for number, chat, turn_id, *row in snapshot.stream(query, (after,)):
            if number not in sessions:
                [columns_of_it] = snapshot.execute(f"SELECT {SESSION} FROM sessions WHERE id=?", (number,))
                sessions[number] = session_of(columns_of_it)
            if chat != current:
                current, turns = chat, {turn.id: turn for turn in turns_of(sessions[number].uuid, row)}
            if (turn := turns.get(readable(turn_id))) is None:
                raise Damaged(f"a database of the book has no text of turn {readable(turn_id)!r}: put a whole one back")
            yield sessions[number], turn
    finally:
        snapshot.close()


def _may_begin_uuid(text: str) -> bool:
    """Return whether a text is the beginning of a UUID in lower case, long enough for a short name."""
    return SHORTEST <= len(text) <= 36 and all(
        (char == "-") == (place in _HYPHENS) and char in _DIGITS for place, char in enumerate(text)
    )


# --- turns as rows ---


def _placed(db: Connection, number: int, turns: Sequence[Turn], *, back: bool) -> list[Turn]:
    """Return the turns that are not in the session, at its end; with `back`, at their own free positions."""
    from dataclasses import replace

    first: dict[str, Turn] = {}
    for turn in turns:
        first.setdefault(turn.id, turn)
    rows = [(bindable(id), number) for id in first]
    known = {readable(id) for (id,) in db.executemany("SELECT turn_id FROM turns WHERE turn_id=? AND session=?", rows)}
    fresh = [turn for turn in first.values() if turn.id not in known]
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


def _store(db: Connection, number: int, fresh: Sequence[Turn], revision: int) -> None:
    """Store placed turns: replies go on with the last chat while it has room, others begin one.

    Turns that belong between those that stand are a chat each.
    """
    last, count, size = None, MOST_REPLIES, 0
    between = bool(fresh) and fresh[0].position < _end(db, number)
    if fresh and not between and fresh[0].role in REPLIES:
        query = "SELECT id, position, ai_replies FROM chats WHERE session=? ORDER BY position DESC LIMIT 1"
        last = db.first(query, (number,))
    if last is not None:
        count, size = fresh[0].position - last[1] - 1, len(last[2])
    chats: list[list[Turn]] = [[]]  # the first goes on with the last one that stands
    for turn in fresh:
        reply = turn.role in REPLIES
        if between or not reply or count >= MOST_REPLIES or size >= MOST_REPLY_TEXT:
            chats.append([])
            count = size = 0
        count, size = count + reply, size + len(turn.text) * reply
        chats[-1].append(turn)
    places: list[tuple[Turn, int]] = []
    if last is not None and chats[0]:
        chat, _, replies = last
        added, before = readable(as_json([reply_of(turn) for turn in chats[0]])), readable(replies)
        joined = bindable(added if before == "[]" else f"{before[:-1]},{added[1:]}")
        times = "updated=coalesce(max(updated, ?2), updated, ?2)"
        values = (joined, max(times_of(chats[0]), default=None), revision, chat)
        db.execute(f"UPDATE chats SET ai_replies=?1, {times}, revision=?3 WHERE id=?4", values)
        places = [(turn, chat) for turn in chats[0]]
    begin = f"INSERT INTO chats ({CHAT}, updated, session, revision) VALUES ({CHAT_MARKS}, ?, ?, ?) RETURNING id"
    rows = [(*chat_row(turns), max(times_of(turns), default=None), number, revision) for turns in chats[1:]]
    for turns, (begun,) in zip(chats[1:], db.executemany(begin, rows), strict=True):
        places += [(turn, begun) for turn in turns]
    db.executemany(
        "INSERT INTO turns (session, turn_id, chat, position, revision) VALUES (?, ?, ?, ?, ?)",
        [(number, bindable(turn.id), chat_id, turn.position, revision) for turn, chat_id in places],
    )


def _put(db: Connection, chat: int, turns: Sequence[Turn]) -> None:
    """Give a chat other turns, without the summary that told of the old ones."""
    db.execute(
        f"UPDATE chats SET ({CHAT}, updated, summary, {EMBEDDING}) = ({CHAT_MARKS}, ?, '', NULL, NULL, NULL)"
        " WHERE id=?",
        (*chat_row(turns), max(times_of(turns), default=None), chat),
    )


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
        # a summary that was made of turns, some of which are removed now, goes; so does a chat without turns
        if db.first("SELECT 1 FROM sessions WHERE id=? AND summary_by<>''", (number,)):
            nothing = "UPDATE sessions SET summary='', title='', summary_by='', summary_through=-1 WHERE id=?"
            db.execute(nothing, (number,))
            set_embedding(db, "sessions", number, None)
        db.execute("UPDATE sessions SET chats_through=min(chats_through, ?) WHERE id=?", (first - 1, number))
        for chat in set(gone.values()):
            [row] = db.execute(f"SELECT {CHAT} FROM chats WHERE id=?", (chat,))
            if left := [turn for turn in turns_of("", row) if turn.id not in gone]:
                _put(db, chat, left)
            else:
                db.execute("DELETE FROM chats WHERE id=?", (chat,))
    _keep_turn_ids(db, number)
    return list(gone)


def _rewrite_turns(db: Connection, number: int, old: Mapping[str, Turn], new: Mapping[str, Turn]) -> int:
    """Give turns of a session that are as in `old` the content in `new`; returns how many were."""
    from dataclasses import replace

    def content(turn: Turn) -> object:
        return turn.text, as_json(turn.tool_calls), as_json(turn.metadata)

    revision = _next_revision(db)
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
            if was is not None and will is not None and content(turn) == content(was):
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
