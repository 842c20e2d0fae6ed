"""Views of what was done: operations as diffs, and the river of time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from typing import Any, NamedTuple, get_args

from memorybook import locale
from memorybook.entries.history import Effect, as_one, changed_fields, describe_change, difference, effect
from memorybook.entries.read import entry_of
from memorybook.errors import Conflict
from memorybook.formats import session_md
from memorybook.http.page.rendering import Ask
from memorybook.memory import Memory
from memorybook.model import Applied
from memorybook.results import Activity, Happened, History, Known, Undone

# --- operations: diffs of the whole book, or of one target; undone after a dry run -----------------


PER_PAGE = 25
CHANGES, LINES, LETTERS = 12, 8, 400
"""Changes of an operation, lines of a change and letters of a line that are shown among others."""

WHOLE = 150
"""Changes and lines that are shown of an operation alone."""


class OperationsFound(NamedTuple):
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


def read_operations(memory: Memory, ask: Ask) -> OperationsFound:
    """List operations as the query says; with `undo` try what undoing the one of that id would do."""
    days = {name: ask.text(name) or None for name in ("since", "until", "before")}
    found = memory.history(ask.text("id") or None, limit=PER_PAGE, **days)
    try:
        return OperationsFound(found, memory.undo(ask.text("undo"), dry_run=True) if ask.text("undo") else None)
    except Conflict as error:
        return OperationsFound(found, error=error)


def show_operations(found: OperationsFound, ask: Ask) -> dict[str, Any]:
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


# --- river: what each day brought and took, and the book as it was --------------------------------


KINDS: tuple[Effect, ...] = get_args(Effect)
DAYS = 60
"""Active days in the chart."""

LINES = 60
"""Lines that the list is to have, and those of one day at most."""


class Line(NamedTuple):
    """What a change did: to which entry ("" for a document), in which words, by which operation."""

    kind: Effect
    id: str
    text: str
    operation: str


class RiverFound(NamedTuple):
    """Days with their counts, what happened on some of them, and the entries of the chosen day and of now."""

    days: Sequence[Activity]
    happened: Sequence[Happened]
    chosen: date | None = None
    then: Sequence[Known] = ()
    now: Sequence[Known] = ()


def read_river(memory: Memory, ask: Ask) -> RiverFound:
    """Count the last active days; read what happened on the newest of them, or the entries of the chosen day."""
    chosen, until = _day(ask.text("at")), _day(ask.text("until"))
    days = memory.activity(until=until, limit=DAYS)
    if chosen is not None:
        if until is None and days and days[-1].day > chosen:
            days = memory.activity(until=chosen + timedelta(days=14), limit=DAYS)
        happened = memory.history(limit=LINES, since=chosen, until=chosen).operations
        return RiverFound(days, happened, chosen, memory.entries(at=chosen).entries, memory.entries().entries)
    listed = _listed(days)
    if not listed:
        return RiverFound(days, ())
    return RiverFound(days, memory.history(limit=4 * LINES, since=listed[-1].day, until=listed[0].day).operations)


def show_river(found: RiverFound, ask: Ask) -> dict[str, Any]:
    """Lay out columns, then the lines of the newest days, or the book of the chosen day."""
    counts = {each.day: {kind: getattr(each, kind) for kind in KINDS} for each in found.days}
    lines = defaultdict[date, list[Line]](list)
    for each in found.happened:
        day = ask.day(each.operation.time)
        lines[day] += _lines(each, day)
    shown = [day.day for day in _listed(found.days)] if found.chosen is None else [found.chosen]
    return {
        "columns": [(str(day), ask.url(at=day, only=None, page=None), counts[day]) for day in reversed(counts)],
        "kinds": KINDS,
        "days": [(day, counts[day], lines[day][:LINES], sum(counts[day].values())) for day in shown if day in counts],
        "older": shown[-1] - timedelta(days=1) if found.days and shown[-1] > found.days[-1].day else None,
        "earlier": found.days[-1].day - timedelta(days=1) if len(found.days) == DAYS else None,
        "chosen": found.chosen,
        "then": {} if found.chosen is None else _then(found, ask),
    }


def _day(text: str) -> date | None:
    with suppress(ValueError):
        return date.fromisoformat(text)
    return None


def _listed(days: Iterable[Activity]) -> list[Activity]:
    """Return the newest days with so many lines that a page is full, at least one."""
    listed, size = list[Activity](), 0
    for each in days:
        size += min(LINES, sum(each[1:]))
        if listed and size > LINES:
            break
        listed.append(each)
    return listed


def _lines(happened: Happened, day: date) -> Iterator[Line]:
    operation = happened.operation
    for change in operation.changes:
        if not change.target.startswith("sessions/"):
            entry = None if change.purged else entry_of(change.after) or entry_of(change.before)
            said = entry or session_md.parse_line(change.after or "", day=day)
            kind, change = effect(operation.kind, change.kind, change.reason), replace(change, reason="")
            yield Line(
                kind, change.target if entry else "", said.text if said else describe_change(change), operation.id
            )


def _then(found: RiverFound, ask: Ask) -> dict[str, Any]:
    """Compare the book of a day with that of now: what became of its entries, and which are new."""
    now, then = ({known.entry.id: known for known in side} for side in (found.now, found.then))
    rows = [(known, now.get(id), _since(known, now.get(id))) for id, known in then.items()]
    counts = Counter(since for _, _, since in rows)
    return {
        **ask.cut([row for row in rows if ask.text("only") in ("", row[2])]),
        "total": len(then),
        "today": len(now),
        "new": [known for id, known in now.items() if id not in then],
        "counts": {since: counts[since] for since in ("gone", "replaced", "faded", "reworded")},
        "only": ask.text("only"),
    }


def _since(then: Known, now: Known | None) -> str:
    """Return what became of an entry since: `gone`, `replaced`, `faded` (archived), `reworded`; "" for nothing."""
    if now is None:
        return "gone"
    if then.entry.state != now.entry.state:
        return "replaced" if now.entry.state == "superseded" else "faded" if now.entry.archived else ""
    return "reworded" if then.entry.text != now.entry.text else ""
