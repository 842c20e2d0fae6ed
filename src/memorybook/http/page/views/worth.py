"""What earns its place: prompts that entries were shown in, against the tokens they cost there."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from memorybook.entries.review import Review
from memorybook.http.page.rendering import Ask
from memorybook.memory import Memory
from memorybook.results import Known, Listed
from memorybook.text.tokens import count_tokens

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


class Found(NamedTuple):
    """Active entries, and the proposals to merge some."""

    listed: Listed
    review: Review


def read(memory: Memory, ask: Ask) -> Found:
    """List active entries, and duplicates that wait for a person's word."""
    return Found(memory.entries(state="active"), memory.review(kind="duplicate"))


def show(found: Found, ask: Ask) -> dict[str, Any]:
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
