"""Turns one after the other, for more of them than anyone wants to hold; those of an id, and those that changed."""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Iterator
from memorybook.errors import Damaged
from memorybook.storage.index.columns import bindable, readable
from memorybook.storage.sqlite import Connection, Store
from memorybook.storage.transcript_rows import CHAT, SESSION, session_of, turns_of

if TYPE_CHECKING:
    from memorybook.model import Session, Turn

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
