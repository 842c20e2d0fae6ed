"""What waits for a person's word: each proposal with its reason, its old and new text, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from memorybook.entries.review import KINDS, TIDYING, Review, Waiting
from memorybook.http.page.rendering import Ask
from memorybook.memory import Memory

PER_PAGE = 50
STATES = ("open", "accepted", "rejected", "withdrawn")


class Side(NamedTuple):
    """A change with the text before and after it ("" for none), the entry it is about, and the turn it rests on."""

    before: str = ""
    after: str = ""
    id: str = ""
    by: str = ""
    turn: str = ""


class Found(NamedTuple):
    """A page of proposals, and texts of entries by id."""

    review: Review
    texts: Mapping[str, str]
    page: int


def read(memory: Memory, ask: Ask) -> Found:
    """List proposals of the state and kind in the query, as far as its page goes."""
    page, state, kind = ask.number("page", 1, 100_000), ask.text("state"), ask.text("kind")
    state = state if state in STATES else "open"
    kind = kind if kind in (*TIDYING, *KINDS) else ""
    found = memory.review(kind=kind or None, state=state, limit=page * PER_PAGE)
    return Found(found, {known.entry.id: known.entry.text for known in memory.entries().entries}, page)


def show(found: Found, ask: Ask) -> dict[str, Any]:
    """Put old and new text side by side, page by page."""
    total = sum(found.review.kinds.values())
    state = ask.text("state") if ask.text("state") in STATES else "open"
    known = (*TIDYING, *KINDS)
    return {
        "rows": [_row(each, found.texts) for each in found.review.proposals[(found.page - 1) * PER_PAGE :]],
        "state": state,
        "states": STATES,
        "kinds": sorted(found.review.kinds.items(), key=lambda one: -one[1]),
        "kind": ask.text("kind"),
        "kind_name": lambda kind: ask.say(f"review_kind_{kind}") if kind in known else kind,
        "total": total,
        "page": found.page,
        "pages": max(1, -(-total // PER_PAGE)),
        "counts": [(name, ask.number(name, 0, 10_000)) for name in ("accepted", "rejected", "stale", "anew")],
        "whys": ask.lists.get("why", ())[:5],
    }


def _row(waiting: Waiting, texts: Mapping[str, str]) -> tuple[Waiting, list[Side]]:
    changes = waiting.proposal.changes
    added = {change["entry"]["id"]: change["entry"]["text"] for change in changes if change.get("do") == "add"}
    replaced = {change["by"] for change in changes if change.get("do") == "supersede"}
    replaced |= {by for change in changes if (by := change.get("fields", {}).get("superseded_by"))}
    sides = [list(_sides(change, {**texts, **added}, replaced)) for change in changes]
    return waiting, [side for some in sides for side in some]


def _sides(change: Mapping[str, Any], texts: Mapping[str, str], replaced: set[str]) -> Iterator[Side]:
    """Yield a change as texts; nothing for one that only words can tell, or that another tells already."""
    kind, id, fields = change.get("do"), str(change.get("id", "")), change.get("fields", {})
    if kind == "add":
        entry = change["entry"]
        source, session = str(entry.get("source") or ""), entry.get("session") or change.get("session") or ""
        turn = source.removeprefix("turn:").removeprefix(f"{session}/") if source.startswith("turn:") else ""
        place = f"turn:{session}/{turn}" if turn and session else ""
        if entry["id"] not in replaced or place:
            yield Side("", entry["text"], turn=place)
    elif kind == "supersede" or fields.get("superseded_by"):
        by = str(change.get("by") or fields["superseded_by"])
        yield Side(texts.get(id, ""), texts.get(by, ""), id, by)
    elif kind == "update" and "text" in fields:
        yield Side(texts.get(id, ""), str(fields["text"]), id)
    elif kind in ("archive", "remove"):
        yield Side(texts.get(id, ""), "", id)
    elif kind in ("append", "drop"):
        line = str(change.get("line") or "")
        yield Side("", line) if kind == "append" else Side(line, str(change.get("left") or ""))
