"""What leaves the prompt, is archived or is removed next: each entry with its strength to come."""

from __future__ import annotations

from collections import Counter
from datetime import date
from typing import Any

from memorybook.book.fade import next_step
from memorybook.http.page.charts import strengths
from memorybook.http.page.rendering import Ask
from memorybook.memory import Memory
from memorybook.results import Listed

TILES = ("prompt", "archive", "remove", "due", "pinned")


def read(memory: Memory, ask: Ask) -> Listed:
    """List all entries, those of another state too."""
    return memory.entries()


def show(listed: Listed, ask: Ask) -> dict[str, Any]:
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
