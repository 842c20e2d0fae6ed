"""Views of what is found: what the agent will see, and a search explained."""

from __future__ import annotations

from itertools import groupby
from typing import Any, get_args

from memorybook.http.page.rendering import Ask
from memorybook.memory import Memory
from memorybook.model import Category
from memorybook.results import Preview
from memorybook.search.types import Answer

# --- now: the block of a prompt, its tokens by part, and what was left out ------------------------


PARTS = ("frame", "written", "standing", "found")
REASONS = ("budget", "repeated", "superseded", "suspect", "archived", "question")


def read_now(memory: Memory, ask: Ask) -> Preview:
    """Build the block for the prompt in the query."""
    return memory.preview(ask.text("q"), max_tokens=ask.number("tokens", 2_000, 100_000))


def show_now(preview: Preview, ask: Ask) -> dict[str, Any]:
    """Count tokens by part, and sort what was left out by reason."""
    sizes = {part: sum(line.tokens for line in preview.lines if line.part == part) for part in PARTS}
    names = {part: ask.say(f"part_{part}") for part in PARTS}
    names["found"] = names["found"] if ask.text("q") else ask.say("part_lately")
    left = sorted(preview.left_out, key=lambda each: REASONS.index(each.reason))
    return {
        "query": ask.text("q"),
        "preview": preview,
        "bars": [(f"c-{part}", names[part], size) for part, size in sizes.items() if size],
        "reasons": [(reason, list(items)) for reason, items in groupby(left, key=lambda each: each.reason)],
        "nothing": not preview.lines and not preview.left_out and not ask.text("q"),
    }


# --- explain: each hit's score by its parts, and a second setting beside the first ----------------


SETTINGS = ("min_score", "category", "since", "until", "session")
BESIDE = "b_"
"""Before the names of the settings of the second search."""


def read_explain(memory: Memory, ask: Ask) -> list[Answer]:
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


def show_explain(found: list[Answer], ask: Ask) -> dict[str, Any]:
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
