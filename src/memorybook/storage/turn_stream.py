"""The turns of a session one after the other, for sessions that are larger than anyone wants to hold."""

from __future__ import annotations

from memorybook.standard import Iterator
from memorybook.storage.columns import bindable
from memorybook.storage.sqlite import Store
from memorybook.storage.transcript_rows import CHAT, turns_of
from memorybook.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memorybook.model import Turn

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
