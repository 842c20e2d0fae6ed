"""Operations as diffs: of the whole book, or of one entry, document or session; undone after a dry run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from memorybook import locale
from memorybook.entries.history import as_one, changed_fields, difference
from memorybook.entries.read import entry_of
from memorybook.errors import Conflict
from memorybook.formats import session_md
from memorybook.http.page.rendering import Ask
from memorybook.memory import Memory
from memorybook.model import Applied
from memorybook.results import History, Undone

PER_PAGE = 25
CHANGES, LINES, LETTERS = 12, 8, 400
"""Changes of an operation, lines of a change and letters of a line that are shown among others."""

WHOLE = 150
"""Changes and lines that are shown of an operation alone."""


class Found(NamedTuple):
    """Operations; with one that is to be undone, what that would do or why it cannot be done."""

    history: History
    undone: Undone | None = None
    error: Conflict | None = None


class Shown(NamedTuple):
    """A change to show: its target, whether that is an entry, its text if that stays, (sign, text) of its lines."""

    target: str
    is_entry: bool
    title: str
    lines: list[tuple[str, str]]
    more: int
    reason: str


def read(memory: Memory, ask: Ask) -> Found:
    """List operations as the query says; with `undo` try what undoing the one of that id would do."""
    days = {name: ask.text(name) or None for name in ("since", "until", "before")}
    found = memory.history(ask.text("id") or None, limit=PER_PAGE, **days)
    try:
        return Found(found, memory.undo(ask.text("undo"), dry_run=True) if ask.text("undo") else None)
    except Conflict as error:
        return Found(found, error=error)


def show(found: Found, ask: Ask) -> dict[str, Any]:
    """Lay out each operation as a diff, and all of a session as one patch."""
    operations, id = [each.operation for each in found.history.operations], ask.text("id")
    alone = [each.id for each in operations] == [id]
    most = WHOLE if alone else CHANGES
    length = WHOLE if alone and len(operations[0].changes) <= CHANGES else LINES
    said_in = [each for each in operations if each.session == id.removeprefix("session:")]
    patch = as_one(said_in) if len(said_in) > 1 else []
    kinds, rows = locale.table("answers", ask.lang), []
    for happened, each in zip(found.history.operations, operations, strict=True):
        of_it = [change for change in each.changes if change.target == id] or each.changes
        shown = [_shown(change, length, ask) for change in of_it[:most]]
        rows.append((happened, kinds.get(each.kind, each.kind), shown, len(of_it) - len(shown)))
    return {
        "operations": rows,
        "alone": alone,
        "id": id,
        "patch": [_shown(change, LINES, ask) for change in patch[:60]],
        "patched": len(patch),
        "oldest": operations[-1].id if found.history.more else None,
        "undone": found.undone,
        "would": [_shown(change, LINES, ask) for change in found.undone.changes[:60]] if found.undone else [],
        "refused": locale.describe(found.error, ask.lang) if found.error else "",
    }


def _shown(change: Applied, most: int, ask: Ask) -> Shown:
    before, after = entry_of(change.before), entry_of(change.after)
    if change.target.startswith("sessions/") and not change.purged:
        pages = [side and session_md.without_front_matter(side) for side in (change.before, change.after)]
        change = replace(change, before=pages[0], after=pages[1])
    lines = [("", ask.say("purged"))] if change.purged else [each for each in difference(change) if each[1].strip()]
    title = before.text if before and after and before.text == after.text else ""
    if before is not None and after is not None:
        names = locale.table("fields", ask.lang)
        for name, *values in changed_fields(replace(before, text=after.text), after):
            old, new = (ask.say(f"value_{each}") if each in ("yes", "no", "nothing") else each for each in values)
            lines.append(("", f"{names.get(name, name)}: {old} → {new}"))
    reason = "" if change.purged else change.reason
    letters = LETTERS if most < WHOLE else 20 * LETTERS
    cut = [(sign, text if len(text) <= letters else f"{text[:letters]}…") for sign, text in lines[:most]]
    return Shown(change.target, bool(before or after), title, cut, max(0, len(lines) - most), reason)
