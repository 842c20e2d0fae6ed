"""All entries: filtered, sorted, a page at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, time
from typing import Any, get_args

from memorybook.http.page.rendering import Ask
from memorybook.memory import Memory
from memorybook.model import TRUST_ORDER, Category, Entry
from memorybook.results import Known, Listed

STATES = ("active", "archived", "superseded")
SORTS: dict[str, Callable[[Known], Any]] = {
    "strength": lambda known: known.strength,
    "newest": lambda known: known.entry.created or datetime.combine(known.entry.said_on or date.min, time.min, UTC),
    "used": lambda known: known.access_count,
    "hits": lambda known: known.entry.hits,
    "alphabet": lambda known: [-ord(letter) for letter in known.entry.text[:60].casefold()],
}
"""By what entries are sorted, the greatest first."""


def read(memory: Memory, ask: Ask) -> Listed:
    """List all entries, those of another state too."""
    return memory.entries()


def show(listed: Listed, ask: Ask) -> dict[str, Any]:
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
