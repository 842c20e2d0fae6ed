"""What a query finds that may go into a prompt."""

from __future__ import annotations

from memorybook.text.screen import screen
from memorybook.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memorybook.hits import Hit
    from memorybook.memory import Memory

WORTH_A_LOOK = 0.3
"""Relevance from which a hit may go into a prompt: below what counts as an answer, a reader can still judge it."""


def worth(memory: Memory, query: str) -> list[Hit]:
    """The relevant and trusted hits, also those that are no longer true, best first."""
    answer = memory.search(query, max_results=min(200, 3 * memory.config.max_results))
    return [
        hit
        for hit in answer.hits
        if hit.relevance >= WORTH_A_LOOK
        and hit.passage.trust != "suspect"
        and not screen(hit.passage.text)
        and not (hit.passage.path == "MEMORY.md" and hit.passage.entry is None)
    ]
