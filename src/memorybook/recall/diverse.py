"""Hits that do not all say the same, for prompts."""

from __future__ import annotations

from collections.abc import Sequence

from memorybook.recall.evidence import minmax
from memorybook.text.tokens import tokens
from memorybook.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memorybook.hits import Hit


def diverse(hits: Sequence[Hit], *, limit: int, balance: float = 0.7) -> list[Hit]:
    """The best hits that do not all say the same: maximal marginal relevance, for prompts only.

    Carbonell and Goldstein 1998, with `balance` (0..1) between the score, spread over 0..1, and the
    largest word overlap (Jaccard) with a hit already taken.
    """
    rest = list(hits)
    if len(rest) <= limit:
        return rest
    scores = minmax([hit.score for hit in rest])
    words = [set(tokens(hit.snippet)) for hit in rest]
    left = list(range(len(rest)))
    taken: list[int] = []

    def worth(number: int) -> float:
        overlap = max((_overlap(words[number], words[other]) for other in taken), default=0.0)
        return balance * scores[number] - (1 - balance) * overlap

    while left and len(taken) < limit:
        best = max(left, key=worth)
        left.remove(best)
        taken.append(best)
    return [rest[number] for number in sorted(taken)]


def _overlap(a: set[str], b: set[str]) -> float:
    return len(a & b) / len(a | b) if a and b else 0.0
