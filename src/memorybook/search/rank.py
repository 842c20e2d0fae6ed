"""From the candidates of two legs to one order: the same pure steps for every index.

Each step is a function of values to values, listed in `rank`; every weight stands in one `Weights`
value per kind of embedder.
"""

from __future__ import annotations

from operator import add

from memorybook._light import Any, Callable, Iterator, Mapping, NamedTuple, Sequence, date
from memorybook.search import evidence, time_words
from memorybook.search.echoes import echoes
from memorybook.search.evidence import Component, Pool
from memorybook.search.newer import newer_first
from memorybook.search.repeated import repeated
from memorybook.search.types import Candidate, Candidates, Passage
from memorybook.search.weights import Weights

Strength = Callable[[Passage], float]
"""Strength of an entry's passage today, 0..1; not asked for other sources."""


class Ranked(NamedTuple):
    """A candidate with its score.

    Attributes:
        candidate: From the index.
        score: See `Weights`.
        why: Where that was asked for, the components that add up to the score, 0 left out.
        about: By what its relevance is judged: itself, the question asked before that it answers, or None (not relevant
            at all) if it only asks what the question asks.
    """

    candidate: Candidate
    score: float
    why: Mapping[str, float]
    about: Candidate | None


def rank(
    question: str,
    found: Candidates,
    weights: Weights,
    *,
    strength: Strength,
    today: date | None = None,
    explain: bool = False,
) -> Iterator[Ranked]:
    """Every candidate (and neighbour that earned a score), best first; on a tie the newer first.

    `today` is what yesterday and the like in the question are counted from; without it they count for nothing.
    """
    pool = evidence.pool_of(found)
    words = evidence.words_leg(pool, weights)
    vector = evidence.vector_leg(pool, weights, found.pending_vectors > 0)
    again = echoes(question, pool, found.idf)
    base = again.lent(list(map(add, words, vector)))
    speaker = evidence.speaker(question, pool, weights)
    answer = evidence.answer(base, pool, weights)
    neighbour = evidence.neighbour(base, pool, weights)
    components: dict[str, Component] = {
        "words": words,
        "vector": vector,
        "answer": answer,
        "neighbour": neighbour,
        "session": evidence.session(base, pool, weights),
        "speaker": speaker,
        "asking": evidence.asking(pool, weights),
        "echo": again.discount(speaker, weights),
        "summary": evidence.summary(pool, weights),
        "recency": evidence.recency(pool, weights),
        "coverage": evidence.coverage(pool, found.idf, weights),
        "dated": evidence.dated(question, pool, weights, today),
        "strength": [weights.strength * strength(p) if p.entry else 0.0 for p in pool.passages],
    }
    scores: Component = list(map(sum, zip(*components.values(), strict=True)))
    admitted = [
        number
        for number, candidate in enumerate(pool.items)
        if candidate.words is not None or base[number] or answer[number] or neighbour[number]
    ]
    best = sorted(admitted, key=_newer_on_a_tie(scores, pool, admitted).__getitem__, reverse=True)
    components["repeated"] = repeated(pool, best, weights)
    scores = list(map(add, scores, components["repeated"]))
    if time_words.asks_when(question):
        components["moment"] = _moment(pool, best, weights)
        scores = list(map(add, scores, components["moment"]))
    order = sorted(best, key=scores.__getitem__, reverse=True)
    order, components["newer"] = newer_first(pool, order, scores, found.idf)
    scores = list(map(add, scores, components["newer"]))
    shown = _shown if explain else _not_shown
    return (Ranked(pool.items[n], scores[n], shown(components, n), again.about(n, pool.items)) for n in order)


def _newer_on_a_tie(scores: Component, pool: Pool, admitted: Sequence[int]) -> Sequence[Any]:
    """What to sort by, for each candidate: its score, and where two have the same, the day and the place too."""
    if len({scores[n] for n in admitted}) == len(admitted):
        return scores
    return [(score, p.date or "", p.position) for score, p in zip(scores, pool.passages, strict=True)]


def _shown(components: Mapping[str, Component], number: int) -> dict[str, float]:
    return {name: values[number] for name, values in components.items() if values[number]}


def _not_shown(components: Mapping[str, Component], number: int) -> dict[str, float]:
    return {}


def _moment(pool: Pool, ranked: list[int], weights: Weights) -> Component:
    """For the best candidates, whether they speak of a time; 0 for the rest."""
    spoken = [0.0] * len(pool.items)
    for number in ranked[: time_words.READ]:
        spoken[number] = time_words.moment(pool.items[number].passage, weights)
    return spoken
