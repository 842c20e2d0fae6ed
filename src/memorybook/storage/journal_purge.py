"""Erasing texts from the journal, so that its history stays and what was forgotten does not."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping

from memorybook._light import Any
from memorybook.storage.index.columns import as_json, bindable, maybe_readable, readable
from memorybook.storage.sqlite import Connection, immediate
from memorybook.text.patch import unpack

Holds = Callable[[str], bool]

_PURGED = "(purged)"


def purge(
    db: Connection,
    targets: Collection[str],
    holds: Holds,
    operations: Collection[str] = (),
    asks: Holds | None = None,
) -> Mapping[str, int]:
    """See `SqliteJournal.purge`."""
    of = {*targets, *(target.removeprefix("session:") for target in targets)}
    with immediate(db):
        numbers = {seq for id in operations for (seq,) in db.execute("SELECT seq FROM operations WHERE id=?", (id,))}
        return {
            "changes": _changes(db, targets, holds, numbers),
            "patches": _patches(db, holds, numbers),
            "discarded": _of_sessions(db, targets) + _rows(db, "discarded", "text, quote, reason", holds),
            "parked": _parked(db, holds),
            "proposals": _rows(db, "proposals", "changes, reason", lambda text: holds(text) or _names(text, of)),
            "prompts": _rows(db, "prompts", "query", asks or holds) + _of(db, "prompts", targets),
            "access": _of(db, "access", targets),
        }


def _changes(db: Connection, targets: Collection[str], holds: Holds, operations: Collection[int]) -> int:
    """Empty the texts of changes; there are as many as there were, so that a history can tell of them.

    A reason may quote what was said. That of a whole document tells whose words it holds, and quotes nothing; what
    was written of it stays if it says nothing of this, so that it is known what a person changed since.
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


def _names(text: str, targets: Collection[str]) -> bool:
    return any(line in targets for line in text.split("\n"))


def _parked(db: Connection, holds: Holds) -> int:
    """Empty what holds it of the work that waits, which is to be done all the same with what is left."""
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
    """The JSON value without the members of lists that hold it; a text that holds it elsewhere is emptied."""
    if isinstance(value, list):
        return [_without(each, holds) for each in value if not holds("\n".join(_leaves(each)))]
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
    """The text in a column, or all the texts in the JSON that it is, a line each."""
    text = maybe_readable(value) or ""
    return "\n".join(_texts_in(text))


def _texts_in(text: str) -> Iterator[str]:
    if text[:1] not in ("{", "["):
        yield text
        return
    try:
        yield from _leaves(json.loads(text))
    except ValueError:
        yield text


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from _texts_in(value)
    elif isinstance(value, dict):
        for name, each in value.items():
            yield name
            yield from _leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each)
