"""What a query finds that may go into a prompt."""

from __future__ import annotations

from memorybook.text.screen import screen
from memorybook.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memorybook.book import Book
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


def apart(book: Book, hits: Sequence[Hit]) -> list[Hit]:
    """The hits as a text names them: a turn by SESSION/ID where turns of several sessions have its id."""
    shared = book.transcripts.shared({hit.passage.turn or "" for hit in hits if hit.passage.source == "turn"})
    return [_named(hit) if hit.passage.source == "turn" and hit.passage.turn in shared else hit for hit in hits]


def _named(hit: Hit) -> Hit:
    return hit._replace(passage=hit.passage._replace(turn=f"{hit.passage.session}/{hit.passage.turn}"))
