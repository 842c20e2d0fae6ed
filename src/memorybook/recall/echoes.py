"""What only says again what the question says: past talks are full of it, and it answers nothing."""

from __future__ import annotations

from memorybook.hits import Candidate, Passage
from memorybook.recall.reading import only_asks
from memorybook.standard import Mapping, Sequence
from memorybook.text.tokens import normalise, query_words

ALIKE = 2 / 3
"""Share of the words of two questions that both have, from which they ask the same."""

LEFT = 0.2
"""Share of an echo's legs that still counts for what stands around it: its answer may have been said then."""

_ABOUT_ASKING = frozenset("ask question 问 问题 提问".split())


def echoes(question: str, items: Sequence[Candidate], idf: Mapping[str, float]) -> frozenset[int]:
    """Numbers of the candidates, turns and summaries, that only say what the question says.

    A text does that is the very same, and one that asks the same as what only asks: of the words of either that
    tell something, both have `ALIKE`. Of a summary the lines count that have any of its words. One who looks for
    what was asked gets it: nothing is an echo of "what did I ask about the ferry?".

    Args:
        question: As asked.
        items: The candidates.
        idf: See `Candidates.idf`.
    """
    # what both have is at most what the candidate holds, which is known without reading it
    least = max(1.0, ALIKE * len(idf))
    near = [
        number
        for number, (passage, _, _, holds) in enumerate(items)
        if holds.bit_count() >= least and passage.source in ("turn", "summary")
    ]
    words = frozenset(query_words(question)) if near else frozenset()
    if not near or not words.isdisjoint(_ABOUT_ASKING):
        return frozenset()
    plain, asks = normalise(question), only_asks(question)

    def is_same(text: str) -> bool:
        return normalise(text) == plain or (asks and _alike(words, frozenset(query_words(text))) and only_asks(text))

    return frozenset(number for number in near if all(map(is_same, _said(items[number].passage, words))))


def _alike(some: frozenset[str], others: frozenset[str]) -> bool:
    return len(some & others) >= ALIKE * len(some | others)


def _said(passage: Passage, words: frozenset[str]) -> Sequence[str]:
    """What of the passage has any of the words; without the speakers' names, which stand in summaries."""
    if passage.source == "turn":
        return [passage.text]
    lines = [line.partition(": ")[2] or line for line in passage.text.splitlines()]
    return [line for line in lines if not words.isdisjoint(query_words(line))] or [passage.text]
