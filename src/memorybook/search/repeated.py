"""What is said again later in the same session, or further down on the same page of notes: the last time counts."""

from __future__ import annotations

from memorybook._light import Sequence
from memorybook.search.evidence import Component, Pool
from memorybook.search.time_words import words_as_written
from memorybook.search.types import Passage
from memorybook.search.weights import Weights

READ = 30
"""How many of the best candidates are compared with each other."""

SHORTEST = 20
"""Characters from which a text may be repeated; a shorter one means something only by what it replies to."""

SHARE = 0.75
"""Of a passage's words, how many a later one must have to say it again."""


def repeated(pool: Pool, ranked: Sequence[int], weights: Weights) -> Component:
    """For the best candidates, the discount of what a later one of them says again; 0 for the rest.

    Plans are drafted, corrected and agreed in nearly the same words, and only the last time counts. A later
    passage says one again if it is in the same session, or on the same page of notes, from the same speaker, has
    all the words of the question that the earlier one has, and `SHARE` of all its words.

    Args:
        pool: The candidates.
        ranked: Their numbers, best first.
        weights: For `weights.repeated`.
    """
    runs: dict[tuple[str, str], list[int]] = {}
    for number in ranked[:READ]:
        passage = pool.passages[number]
        if passage.source in ("turn", "note") and len(passage.text) >= SHORTEST:
            runs.setdefault((passage.session or passage.path, passage.speaker), []).append(number)
    told = [0.0] * len(pool.items)
    for run in runs.values():
        if len(run) > 1:
            for number in _said_again(pool, run):
                told[number] = -weights.repeated
    return told


def _said_again(pool: Pool, run: list[int]) -> list[int]:
    """Those of a run that another of them, which came later, says again."""
    words = {number: frozenset(words_as_written(pool.passages[number].text)) for number in run}
    run.sort(key=lambda number: _place(pool.passages[number]))
    return [
        number
        for at, number in enumerate(run, 1)
        if any(
            not pool.items[number].holds & ~pool.items[later].holds
            and 0 < SHARE * len(words[number]) <= len(words[number] & words[later])
            for later in run[at:]
        )
    ]


def _place(passage: Passage) -> tuple[int, int]:
    """Where it stands in its session or on its page."""
    return passage.position, passage.start_line
