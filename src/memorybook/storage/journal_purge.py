"""Erasing texts from the journal, so that its history stays and what was forgotten does not."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping

from memorybook.storage.columns import bindable, maybe_readable, readable
from memorybook.storage.sqlite import Connection, immediate
from memorybook.text.patch import unpack
from memorybook.typed import Any

Holds = Callable[[str], bool]

_PURGED = "(purged)"


def purge(db: Connection, targets: Collection[str], holds: Holds) -> Mapping[str, int]:
    """See `SqliteJournal.purge`."""
    with immediate(db):
        return {
            "changes": _changes(db, targets, holds),
            "patches": _patches(db, holds),
            "discarded": _rows(db, "discarded", "operation, n", "text, quote, reason", holds),
            "parked": _rows(db, "parked", "id", "payload, reason", holds),
            "proposals": _rows(db, "proposals", "seq", "changes, reason", holds),
            "prompts": _rows(db, "prompts", "seq", "query", holds) + _of(db, "prompts", targets),
            "access": _of(db, "access", targets),
        }


def _changes(db: Connection, targets: Collection[str], holds: Holds) -> int:
    """Empty the texts of changes; there are as many as there were, so that a history can tell of them."""
    purged = 0
    for rowid, target, before, after, reason in db.execute(
        "SELECT rowid, target, before, after, reason FROM changes WHERE purged=0"
    ):
        texts = (before, after, reason)
        if readable(target) in targets or any(text is not None and holds(_said(text)) for text in texts):
            db.execute(
                "UPDATE changes SET purged=1, reason=?, before=iif(before IS NULL, NULL, ''),"
                " after=iif(after IS NULL, NULL, '') WHERE rowid=?",
                (_PURGED if holds(readable(reason)) else reason, rowid),
            )
            purged += 1
    return purged


def _patches(db: Connection, holds: Holds) -> int:
    purged = 0
    for rowid, hunks in db.execute("SELECT rowid, hunks FROM patches WHERE hunks<>x''"):
        lines = [
            "\n".join(line for line in (hunk.above, *side, hunk.below) if line is not None)
            for hunk in unpack(hunks)
            for side in (hunk.old, hunk.new)
        ]
        if any(map(holds, lines)):
            db.execute("UPDATE patches SET hunks=x'' WHERE rowid=?", (rowid,))
            purged += 1
    return purged


def _rows(db: Connection, table: str, key: str, columns: str, holds: Holds) -> int:
    """Delete the rows that hold it: what waits or was left out is not needed once it is forgotten."""
    count = len(key.split(", "))
    gone = [
        row[:count]
        for row in db.execute(f"SELECT {key}, {columns} FROM {table}")
        if any(holds(_said(text)) for text in row[count:])
    ]
    where = " AND ".join(f"{name}=?" for name in key.split(", "))
    db.executemany(f"DELETE FROM {table} WHERE {where}", gone)
    return len(gone)


def _of(db: Connection, table: str, targets: Collection[str]) -> int:
    return sum(db.modify(f"DELETE FROM {table} WHERE entry=?", (bindable(target),)) for target in targets)


def _said(value: Any) -> str:
    """The text in a column, or all the texts in the JSON that it is, a line each."""
    text = maybe_readable(value) or ""
    if text[:1] not in ("{", "["):
        return text
    try:
        return "\n".join(_leaves(json.loads(text)))
    except ValueError:
        return text


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield name
            yield from _leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each)
