"""A search explained: each hit's score by its parts, and a second setting beside the first."""

from __future__ import annotations

from typing import Any, get_args

from memorybook.http.page.rendering import Ask
from memorybook.memory import Memory
from memorybook.model import Category
from memorybook.search.types import Answer

SETTINGS = ("min_score", "category", "since", "until", "session")
BESIDE = "b_"
"""Before the names of the settings of the second search."""


def read(memory: Memory, ask: Ask) -> list[Answer]:
    """Search by one or two settings; nothing for a blank question. Raises InvalidInput, NotFound."""
    if not ask.text("q"):
        return []
    prefixes = ("", BESIDE) if ask.text("beside") else ("",)
    return [memory.search(ask.text("q"), explain=True, **_settings(ask, prefix)) for prefix in prefixes]


def _settings(ask: Ask, prefix: str) -> dict[str, Any]:
    given: dict[str, Any] = {name: ask.text(prefix + name) or None for name in SETTINGS}
    given["max_results"] = ask.number(f"{prefix}max_results", 12, 200)
    if given["min_score"] is not None:
        given["min_score"] = ask.number(f"{prefix}min_score", 0, 100) / 100 if given["min_score"] != "0" else 0.0
    return given


def show(found: list[Answer], ask: Ask) -> dict[str, Any]:
    """Lay out the searches, with the places of the same hits in the first one."""
    places = {_mark(hit): place for place, hit in enumerate(found[0].hits, 1)} if found else {}
    most = max((sum(v for v in hit.why.values() if v > 0) for answer in found for hit in answer.hits), default=0.0)
    parts = dict.fromkeys(name for answer in found for hit in answer.hits for name, value in hit.why.items() if value)
    return {
        "query": ask.text("q"),
        "searches": [
            {"answer": answer, "prefix": prefix, "rows": [(hit, places.get(_mark(hit))) for hit in answer.hits]}
            for answer, prefix in zip(found, ("", BESIDE), strict=False)
        ],
        "most": most,
        "left": 40 if any(v < 0 for answer in found for hit in answer.hits for v in hit.why.values()) else 0,
        "narrowed": any(ask.text(name) not in ("", "12") for name in ask.values if name != "q"),
        "parts": list(parts),
        "categories": get_args(Category),
    }


def _mark(hit: Any) -> tuple[Any, ...]:
    passage = hit.passage
    return passage.entry, passage.session, passage.turn, passage.path, passage.start_line
