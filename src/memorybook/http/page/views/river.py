"""The river of time: what each day brought and took; a day can be opened to see the book as it was."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from typing import Any, NamedTuple, get_args

from memorybook.entries.history import Effect, describe_change, effect
from memorybook.entries.read import entry_of
from memorybook.formats import session_md
from memorybook.http.page.rendering import Ask
from memorybook.memory import Memory
from memorybook.results import Activity, Happened, Known

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


class Found(NamedTuple):
    """Days with their counts, what happened on some of them, and the entries of the chosen day and of now."""

    days: Sequence[Activity]
    happened: Sequence[Happened]
    chosen: date | None = None
    then: Sequence[Known] = ()
    now: Sequence[Known] = ()


def read(memory: Memory, ask: Ask) -> Found:
    """Count the last active days; read what happened on the newest of them, or the entries of the chosen day."""
    chosen, until = _day(ask.text("at")), _day(ask.text("until"))
    days = memory.activity(until=until, limit=DAYS)
    if chosen is not None:
        if until is None and days and days[-1].day > chosen:
            days = memory.activity(until=chosen + timedelta(days=14), limit=DAYS)
        happened = memory.history(limit=LINES, since=chosen, until=chosen).operations
        return Found(days, happened, chosen, memory.entries(at=chosen).entries, memory.entries().entries)
    listed = _listed(days)
    if not listed:
        return Found(days, ())
    return Found(days, memory.history(limit=4 * LINES, since=listed[-1].day, until=listed[0].day).operations)


def show(found: Found, ask: Ask) -> dict[str, Any]:
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


def _then(found: Found, ask: Ask) -> dict[str, Any]:
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
