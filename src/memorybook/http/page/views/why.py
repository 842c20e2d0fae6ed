"""One entry: what it rests on, what changed it, how it fades, what stands around it; edited in place."""

from __future__ import annotations

from datetime import date
from typing import Any, NamedTuple, get_args

from memorybook.book.fade import falls_below
from memorybook.entries.read import entry_of
from memorybook.http.http_messages import entry_revision
from memorybook.http.page.charts import BOUNDS, Point, strengths
from memorybook.http.page.rendering import Ask
from memorybook.memory import Memory
from memorybook.model import Category, Entry
from memorybook.results import Known, Why


class Found(NamedTuple):
    """An entry explained, and the others of the book."""

    why: Why
    others: dict[str, Known]


def read(memory: Memory, ask: Ask, id: str) -> Found:
    """Explain the entry. Raises NotFound."""
    return Found(memory.why(id), {known.entry.id: known for known in memory.entries().entries})


def show(found: Found, ask: Ask) -> dict[str, Any]:
    """Lay out evidence, story, curve and neighbours."""
    why, known = found.why, found.why.known
    entry = known.entry if known is not None else None
    past, future = curve_of(why, ask.today)
    return {
        "why": why,
        "known": known,
        "text": entry.text if entry else _last_text(why),
        "entry": entry,
        "revision": entry_revision(entry) if entry else "",
        "past": past,
        "future": future,
        "bounds": {name: ask.say(f"bound_{name}") for name, _ in BOUNDS},
        "leaves": bounds_of(entry, ask.today) if entry else [],
        "categories": get_args(Category),
        "around": list(_around(why, entry, found.others, ask))[:12],
        "turns": [each for each in why.rests_on if each.text is not None],
    }


def _last_text(why: Why) -> str:
    changes = [each for happened in why.story for each in happened.operation.changes if each.target == why.id]
    texts = [entry for each in changes for text in (each.before, each.after) if (entry := entry_of(text)) is not None]
    return texts[-1].text if texts else ""


def curve_of(why: Why, today: date) -> tuple[list[Point], list[Point]]:
    """Return the strength as the journal has it until today, by day, and as it will be if nothing is said of it."""
    stages = list[Entry]()
    for happened in why.story:
        for change in happened.operation.changes:
            if change.target == why.id and (entry := entry_of(change.after)) is not None:
                stages.append(entry)
    now = why.known.entry if why.known is not None else None
    stages += [now] if now is not None and not stages else []
    past: list[Point] = []
    last = today if now is not None or not why.story else why.story[-1].operation.time.date()
    for entry, following in zip(stages, [*stages[1:], None], strict=False):  # none of what was purged
        end = following.scored if following is not None else last
        past += strengths(entry, entry.scored, max(entry.scored, end))
    return past, strengths(now, today) if now is not None else []


def bounds_of(entry: Entry, today: date) -> list[tuple[str, date]]:
    """Return the bounds that an entry falls below within years, with the day of each."""
    bounds = BOUNDS if entry.state == "active" else BOUNDS[1:] if not entry.archived else BOUNDS[2:]
    days = ((name, falls_below(entry, bound, today)) for name, bound in bounds)
    return [(name, day) for name, day in days if day is not None]


def _around(why: Why, entry: Entry | None, others: dict[str, Known], ask: Ask) -> list[tuple[str, str, str]]:
    """Return (address, text, kind) of what an entry is linked with: replaced, linked, in its group or session."""
    found: dict[str, tuple[str, str]] = {}
    for kind, pairs in (("replaced", why.supersedes), ("contradicts", why.contradicts)):
        for id, text in pairs:
            found.setdefault(id, (text or id, kind))
    if why.superseded_by is not None:
        found.setdefault(why.superseded_by[0], (why.superseded_by[1], "replaces"))
    if entry is not None:
        for id in entry.links:
            if id in others:
                found.setdefault(id, (others[id].entry.text, "link"))
        for id, known in others.items():
            other = known.entry
            near = (entry.group and other.group == entry.group) or (entry.session and other.session == entry.session)
            if id != entry.id and near:
                found.setdefault(id, (other.text, "near"))
    return [(f"/memories/{id}", text, kind) for id, (text, kind) in found.items()]
