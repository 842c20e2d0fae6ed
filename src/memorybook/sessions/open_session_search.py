"""How much the summaries of sessions that go on are about a question: no document has them yet, and so no index."""

from __future__ import annotations

from operator import mul
from struct import unpack
from typing import TYPE_CHECKING

from memorybook.errors import EmbedderFailed
from memorybook.formats.document import SummaryEmbedding
from memorybook.inference.arrays import vectors_of
from memorybook.search.relevance import relevance
from memorybook.search.types import Candidate, Passage
from memorybook.search.weights import weights_for
from memorybook.text.tokens import query_words, tokens

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.model import Session

MOST = 50
"""How many of the sessions that go on are looked at, the newest."""


def alike(context: Context, text: str, *, without: str | None) -> list[tuple[Session, float]]:
    """The sessions that go on, each with how much its summary is about the text, 0..1, by words and by its vector.

    As `recall.relevance` has it, but every word counts the same. The session of the uuid `without` is left out.
    """
    told = [each for each in context.book.transcripts.running(limit=MOST) if each[0].uuid != without]
    if not told:
        return []
    asked = query_words(text)
    embedder = context.embedder
    judge = relevance(dict.fromkeys(asked, 1.0), weights_for(embedder.name if embedder is not None else None))
    question = _embedded(context, text) if any(vector is not None for _, vector in told) else None
    found = []
    for session, vector in told:
        words = frozenset(tokens(session.summary))
        holds = sum(1 << place for place, word in enumerate(asked) if word in words)
        passage = Passage("", 0, 0, session.summary, "summary", session=session.uuid)
        found.append((session, judge(Candidate(passage, None, _cosine(question, vector), holds))))
    return found


def _embedded(context: Context, text: str) -> SummaryEmbedding | None:
    """The vector of the question; None if there is no embedder, or it failed, which the search tells."""
    embedder = context.embedder
    if embedder is None:
        return None
    try:
        [vector] = vectors_of(embedder, [text])
    except EmbedderFailed:
        return None
    return SummaryEmbedding(embedder.name, embedder.dimensions, vector) if vector is not None else None


def _cosine(one: SummaryEmbedding | None, other: SummaryEmbedding | None) -> float | None:
    """Of two vectors of unit length; None unless both are there, and of one embedder."""
    if one is None or other is None or one[:2] != other[:2]:
        return None
    return float(sum(map(mul, _numbers(one), _numbers(other))))


def _numbers(embedding: SummaryEmbedding) -> tuple[float, ...]:
    return unpack(f"<{embedding.dimensions}f", embedding.vector)
