"""Where the turns of a session are put: their positions, and the chats that hold them."""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Mapping, Sequence
from memorybook.storage.index.columns import as_json, bindable, readable
from memorybook.storage.sqlite import Connection
from memorybook.storage.transcript_rows import (
    CHAT,
    EMBEDDING,
    MOST_REPLIES,
    REPLIES,
    chat_row,
    last_time,
    marks,
    reply_of,
    split,
    turns_of,
)

if TYPE_CHECKING:
    from collections.abc import Container

    from memorybook.model import Turn


def _unknown(db: Connection, number: int, turns: Sequence[Turn]) -> list[Turn]:
    """The turns whose ids are not in the session, the first of each id."""
    first: dict[str, Turn] = {}
    for turn in turns:
        first.setdefault(turn.id, turn)
    known = "SELECT 1 FROM turns WHERE turn_id=? AND session=?"
    return [turn for turn in first.values() if db.first(known, (bindable(turn.id), number)) is None]


def placed(db: Connection, number: int, turns: Sequence[Turn], *, back: bool) -> list[Turn]:
    """The turns that are not in the session, at its end; with `back`, at their own positions where these are free."""
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
    """The position after the session's last turn."""
    [(last,)] = db.execute("SELECT max(position) FROM turns WHERE session=?", (number,))
    return 0 if last is None else int(last) + 1


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
        f"INSERT INTO chats ({CHAT}, updated, session, revision) VALUES ({marks(CHAT)}, ?, ?, ?)",
        (*chat_row(turns), last_time(turns), number, revision),
    )


def take_out(db: Connection, chat: int, gone: Container[str]) -> None:
    """Leave the chat without the turns of these ids, and without the summary that told of them; or leave no chat."""
    [row] = db.execute(f"SELECT {CHAT} FROM chats WHERE id=?", (chat,))
    left = [turn for turn in turns_of("", row) if turn.id not in gone]
    if not left:
        db.execute("DELETE FROM chats WHERE id=?", (chat,))
        return
    db.execute(
        f"UPDATE chats SET ({CHAT}, updated, summary) = ({marks(CHAT)}, ?, '') WHERE id=?",
        (*chat_row(left), last_time(left), chat),
    )
    db.execute(f"UPDATE chats SET ({EMBEDDING}) = (NULL, NULL, NULL) WHERE id=?", (chat,))


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
        db.execute(
            f"UPDATE chats SET ({CHAT}, summary, revision) = ({marks(CHAT)}, '', ?) WHERE id=?",
            (*chat_row(turns), revision, chat),
        )
        db.execute(f"UPDATE chats SET ({EMBEDDING}) = (NULL, NULL, NULL) WHERE id=?", (chat,))
    ids = [(revision, number, bindable(turn.id)) for turn in changed]
    db.executemany("UPDATE turns SET revision=? WHERE session=? AND turn_id=?", ids)
    if changed:
        first = min(turn.position for turn in changed) - 1
        db.execute("UPDATE sessions SET chats_through=min(chats_through, ?) WHERE id=?", (first, number))
    return len(changed)


def _content(turn: Turn) -> object:
    return turn.text, as_json(turn.tool_calls), as_json(turn.metadata)
