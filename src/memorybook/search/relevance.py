"""How much a passage is about the question: which of its words it holds, and how near its vector is."""

from __future__ import annotations

from math import sqrt

from memorybook._light import Callable, Iterable, Mapping
from memorybook.search.types import Candidate
from memorybook.search.weights import Weights
from memorybook.text.tokens import is_telling

LONG_QUESTION = 20.0
"""Sum of idf from which a question counts as long: about three rare words."""

SPACELESS = 1.4
"""Gain of the share for a question in a script without spaces: pairs that straddle two words match nothing."""

_OF_TALK = frozenset(
    "talk discuss chat speak spoke spoken ask recal hear heard know knew known"
    " 聊过 谈过 讨论 聊天 聊到 谈到 说到 讲过 问过".split()
)
"""Tokens that ask whether something was said: "did we ever talk about egrets" asks for egrets alone."""


class Sums(dict[int, float]):
    """From `Candidate.holds` to the sum of what its words give, in the order of the question's words.

    >>> Sums([5.0, 2.0, 1.0])[0b101]
    6.0
    """

    def __init__(self, gains: Iterable[float]) -> None:
        super().__init__({0: 0.0})
        self._gains = list(gains)

    def __missing__(self, holds: int) -> float:
        lacking = []
        while holds not in self:
            lacking.append(holds)
            holds ^= 1 << holds.bit_length() - 1
        found = self[holds]
        for holds in reversed(lacking):
            self[holds] = found = found + self._gains[holds.bit_length() - 1]
        return found


def relevance(idf: Mapping[str, float], weights: Weights) -> Callable[[Candidate], float]:
    """A judge of candidates, before any fusion, age or score.

    It answers 0..1: the larger of the calibrated cosine and the idf share of the question's words that the
    passage holds. The share is of the sum of the question's idf, t; of a long question (t over `LONG_QUESTION`,
    T) it is of the geometric mean of t and T, since nothing that answers three sentences repeats them all.
    Single Chinese characters, and pairs with a function character in them, count only in a question that
    has nothing else, and so do words for talking itself. Words that stand nowhere in the book have the highest
    idf and so weigh against a match on the others.
    """
    asked = {word: weight for word, weight in idf.items() if is_telling(word)} or idf
    asked = {word: weight for word, weight in asked.items() if word not in _OF_TALK} or asked
    total = sum(asked.values())
    whole = total if total <= LONG_QUESTION else sqrt(total * LONG_QUESTION)
    if 2 * sum(not word.isascii() for word in asked) > len(asked):
        whole /= SPACELESS
    held = Sums(asked.get(word, 0.0) for word in idf)

    def judge(candidate: Candidate) -> float:
        cosine = 0.0
        if candidate.cosine is not None and weights.vector:
            cosine = (candidate.cosine - weights.unrelated) / (weights.about - weights.unrelated)
        share = held[candidate.holds] / whole if whole else 0.0
        return min(1.0, max(0.0, cosine, share))

    return judge
