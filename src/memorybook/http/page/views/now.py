"""What the agent will see: the block of a prompt, its tokens by part, and what was left out."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from memorybook.http.page.rendering import Ask
from memorybook.memory import Memory
from memorybook.results import Preview

PARTS = ("frame", "written", "standing", "found")
REASONS = ("budget", "repeated", "superseded", "suspect", "archived", "question")


def read(memory: Memory, ask: Ask) -> Preview:
    """Build the block for the prompt in the query."""
    return memory.preview(ask.text("q"), max_tokens=ask.number("tokens", 2_000, 100_000))


def show(preview: Preview, ask: Ask) -> dict[str, Any]:
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
