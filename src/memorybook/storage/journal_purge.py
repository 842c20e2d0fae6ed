"""Erase texts from the journal's tables, in a transaction that is open."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memorybook.storage.columns import as_json, readable

if TYPE_CHECKING:
    from memorybook.storage.sqlite import Connection

Holds = Callable[[str], bool]

_PURGED = "(purged)"


def purge_changes(db: Connection, targets: Collection[str], holds: Holds, operations: Collection[int]) -> int:
    """Empty the texts of changes, keeping their rows for the history.

    A reason may quote what was said; that of a whole document says whose words it holds, and quotes nothing.
    """
    purged = 0
    for operation, n, kind, target, before, after, reason in db.execute(
        "SELECT operation, n, kind, target, before, after, reason FROM changes WHERE purged=0"
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
                "UPDATE changes SET purged=1, reason=?, before=CASE WHEN before IS NOT NULL THEN '' END,"
                " after=CASE WHEN after IS NOT NULL AND ?=0 THEN '' ELSE after END WHERE operation=? AND n=?",
                (reason if document and not holds(readable(reason)) else _PURGED, kept, operation, n),
            )
            purged += 1
    return purged


def purge_patches(db: Connection, holds: Holds, operations: Collection[int]) -> int:
    """Empty the patches of operations, and those with lines that hold it."""
    from memorybook.text.patch import unpack

    purged = 0
    for operation, n, hunks in db.execute("SELECT operation, n, hunks FROM patches WHERE length(hunks)>0"):
        lines = [
            "\n".join(line for line in (hunk.above, *side, hunk.below) if line is not None)
            for hunk in unpack(hunks)
            for side in (hunk.old, hunk.new)
        ]
        if operation in operations or any(map(holds, lines)):
            db.execute("UPDATE patches SET hunks=? WHERE operation=? AND n=?", (b"", operation, n))
            purged += 1
    return purged


_KEYS = {"discarded": ("operation", "n"), "proposals": ("seq",), "prompts": ("seq",)}


def purge_rows(db: Connection, table: str, columns: str, holds: Holds) -> int:
    """Delete the rows that hold it: what waits for a word or was left out is not needed once it is forgotten."""
    key = _KEYS[table]
    gone = [
        row[: len(key)]
        for row in db.execute(f"SELECT {', '.join(key)}, {columns} FROM {table}")
        if any(holds(_said(text)) for text in row[len(key) :])
    ]
    db.executemany(f"DELETE FROM {table} WHERE {' AND '.join(f'{name}=?' for name in key)}", gone)
    return len(gone)


def purge_parked(db: Connection, holds: Holds) -> int:
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


def _said(value: Any) -> str:
    """Return the text in a column, or all the texts in the JSON that it is, a line each."""
    return "\n".join(_texts(readable(value)))


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
