"""Short names of turns: the beginning of a UUID that no other has, as git has it for commits."""

from __future__ import annotations

from memorybook._light import Iterable, Sequence
from memorybook.storage.index.columns import bindable, readable
from memorybook.storage.sqlite import Connection

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
