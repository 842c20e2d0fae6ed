"""Views of entries: all of them, one, what fades next, and what earns its place."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, time
from statistics import fmean
from typing import Any, NamedTuple, get_args

from memorybook.book.fade import falls_below, next_step
from memorybook.entries.read import entry_of
from memorybook.entries.review import Review
from memorybook.http.http_messages import entry_revision
from memorybook.http.page.charts import BOUNDS, Point, strengths
from memorybook.http.page.rendering import Ask
from memorybook.memory import Memory
from memorybook.model import TRUST_ORDER, Category, Entry
from memorybook.results import Known, Listed, Why
from memorybook.text.tokens import count_tokens

# --- memories: all entries, filtered and sorted ---------------------------------------------------


STATES = ("active", "archived", "superseded")
SORTS: dict[str, Callable[[Known], Any]] = {
    "strength": lambda known: known.strength,
    "newest": lambda known: known.entry.created or datetime.combine(known.entry.said_on or date.min, time.min, UTC),
    "used": lambda known: known.access_count,
    "hits": lambda known: known.entry.hits,
    "alphabet": lambda known: [-ord(letter) for letter in known.entry.text[:60].casefold()],
}
"""By what entries are sorted, the greatest first."""


def read_memories(memory: Memory, ask: Ask) -> Listed:
    """List all entries, those of another state too."""
    return memory.entries()


def show_memories(listed: Listed, ask: Ask) -> dict[str, Any]:
    """Filter, sort and cut as the query says; the state is `active` unless it is chosen."""
    state = ask.values.get("state", "active")
    sort = ask.text("sort") if ask.text("sort") in SORTS else "strength"
    found = sorted(_filtered(listed.entries, ask, state), key=SORTS[sort], reverse=True)
    entries = [known.entry for known in listed.entries]
    return {
        **ask.cut(found),
        "total": len(entries),
        "state": state,
        "sort": sort,
        "states": STATES,
        "sorts": list(SORTS),
        "categories": get_args(Category),
        "trusts": TRUST_ORDER,
        "groups": sorted({entry.group for entry in entries if entry.group})[:200],
        "tags": sorted({tag for entry in entries for tag in entry.tags})[:200],
        "adding": bool(ask.text("add")),
        "narrowed": any(map(ask.text, ("trust", "group", "tag", "since", "until", "pinned"))),
    }


def _filtered(found: Iterable[Known], ask: Ask, state: str) -> list[Known]:
    words = ask.text("q").casefold().split()
    names = ("since", "until", "category", "trust", "session", "group", "tag", "pinned")
    since, until, category, trust, session, group, tag, pinned = map(ask.text, names)

    def fits(entry: Entry) -> bool:
        return (
            state in ("", entry.state)
            and category in ("", entry.category)
            and trust in ("", entry.trust or "")
            and session in ("", entry.session or "")
            and (entry.group or "").startswith(group)
            and (not tag or tag in entry.tags)
            and (not pinned or entry.pinned)
            and (not (since or until) or since <= said_on(entry) <= (until or "9999"))
        )

    def said_on(entry: Entry) -> str:
        return str(ask.local(entry.created) or entry.said_on or "")[:10]

    def words_of(entry: Entry) -> str:
        return f"{entry.text} {' '.join(entry.tags)} {entry.group or ''} {entry.id}".casefold()

    kept = [known for known in found if fits(known.entry)]
    return [known for known in kept if all(word in words_of(known.entry) for word in words)] if words else kept


# --- why: what an entry rests on, what changed it, how it fades, what stands around it ------------


class WhyFound(NamedTuple):
    """An entry explained, and the others of the book."""

    why: Why
    others: dict[str, Known]


def read_why(memory: Memory, ask: Ask, id: str) -> WhyFound:
    """Explain the entry. Raises NotFound."""
    return WhyFound(memory.why(id), {known.entry.id: known for known in memory.entries().entries})


def show_why(found: WhyFound, ask: Ask) -> dict[str, Any]:
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


# --- fading: what leaves the prompt, is archived or removed next ----------------------------------


TILES = ("prompt", "archive", "remove", "due", "pinned")


def show_fading(listed: Listed, ask: Ask) -> dict[str, Any]:
    """Sort entries by the day on which something becomes of them, the soonest first; those due and pinned apart."""
    chosen = ask.text("next") if ask.text("next") in TILES else ""
    rows = [(known, *next_step(known.entry, ask.today)) for known in listed.entries]
    counts = Counter(_tile(step, day) for _, step, day in rows)
    wanted = [row for row in rows if (_tile(*row[1:]) == chosen if chosen else row[2])]
    wanted.sort(key=lambda row: (row[2] or date.min, row[1]))
    found = ask.cut(wanted)
    ahead = {known.entry.id: strengths(known.entry, ask.today, steps=20) for known, _, _ in found["rows"]}
    return {**found, "ahead": ahead, "tiles": [(tile, counts[tile]) for tile in TILES], "chosen": chosen}


def _tile(step: str, day: date | None) -> str:
    return "pinned" if not step else "due" if day is None else step.replace("expire", "archive")


# --- worth: prompts that entries were shown in, against the tokens they cost ----------------------


GROUPS = 24
ORDERS: dict[str, Callable[[Row], float]] = {
    "used": lambda row: -row.uses,
    "never": lambda row: -row.tokens,
    "costly": lambda row: -row.tokens / (1 + row.uses),
    "same": lambda row: 0,
}
"""What can be listed: the most used, the never used, those that cost most for a use, those of the same words."""


class Row(NamedTuple):
    """An entry, the tokens that it costs in a prompt, and how many it entered."""

    known: Known
    tokens: int
    uses: int


class WorthFound(NamedTuple):
    """Active entries, and the proposals to merge some."""

    listed: Listed
    review: Review


def read_worth(memory: Memory, ask: Ask) -> WorthFound:
    """List active entries, and duplicates that wait for a person's word."""
    return WorthFound(memory.entries(state="active"), memory.review(kind="duplicate"))


def show_worth(found: WorthFound, ask: Ask) -> dict[str, Any]:
    """Count tokens and uses, draw them, and list what is asked for."""
    rows = [Row(known, count_tokens(known.entry.text), known.access_count) for known in found.listed.entries]
    same = defaultdict[str, list[Row]](list)
    for row in rows:
        same[" ".join(row.known.entry.text.casefold().split()).rstrip(".。")].append(row)
    sights = {
        "used": [row for row in rows if row.uses],
        "never": [row for row in rows if not row.uses],
        "costly": rows,
        "same": [row for alike in same.values() if len(alike) > 1 for row in alike],
    }
    sight = ask.text("show") if ask.text("show") in ORDERS else "used"
    tokens = sum(row.tokens for row in rows)
    return {
        **ask.cut(sorted(sights[sight], key=ORDERS[sight])),
        "entries": len(rows),
        "tokens": tokens,
        "idle": sum(row.tokens for row in sights["never"]) / (tokens or 1),
        "sights": [(name, len(listed)) for name, listed in sights.items()],
        "sight": sight,
        "dots": _dots(rows, ask),
        "proposals": found.review.proposals,
        "categories": _folders([(row.known.entry.category, row.known) for row in rows]),
        "groups": _folders([(row.known.entry.group or "", row.known) for row in rows])[:GROUPS],
    }


def _dots(rows: Sequence[Row], ask: Ask) -> list[tuple[float, int, int, str]]:
    """Return (tokens, uses, entries, title) of entries near each other: those of about as many tokens and uses."""
    cells = Counter((round(4 * math.log2(row.tokens)), row.uses) for row in rows).most_common(600)
    dots = ((2 ** (size / 4), uses, count) for (size, uses), count in cells)
    return [(*dot, ask.say("worth_dot", count=dot[2], tokens=round(dot[0]), uses=dot[1])) for dot in dots]


def _folders(named: Sequence[tuple[str, Known]]) -> list[tuple[str, int, float, int, int]]:
    """Return (name, size, mean strength, uses, never used) of entries of one name, the largest first."""
    found = defaultdict[str, list[Known]](list)
    for name, known in named:
        found[name].append(known)
    folders = [
        (name, len(of_it), fmean(one.strength for one in of_it), sum(uses), uses.count(0))
        for name, of_it in found.items()
        if name and (uses := [one.access_count for one in of_it])
    ]
    return sorted(folders, key=lambda folder: -folder[1])
