"""From the candidates of two legs to one order: the same pure steps for every index.

Each step is a function of values to values, listed in `rank`; every weight stands in one `Weights`
value per kind of embedder.
"""

from __future__ import annotations

from memorybook.hits import Candidate, Candidates, Passage
from memorybook.recall import evidence, reading
from memorybook.recall.evidence import Component, Pool
from memorybook.recall.weights import Weights
from memorybook.standard import Callable, Iterable, Mapping, date
from memorybook.typed import NamedTuple

Strength = Callable[[Passage], float]
"""Strength of an entry's passage today, 0..1; not asked for other sources."""


class Ranked(NamedTuple):
    """A candidate with its score and, where that was asked for, the components that add up to it, 0 left out."""

    candidate: Candidate
    score: float
    why: Mapping[str, float]


def rank(
    question: str,
    found: Candidates,
    weights: Weights,
    *,
    strength: Strength,
    today: date | None = None,
    explain: bool = False,
) -> list[Ranked]:
    """Every candidate (and neighbour that earned a score), best first; on a tie the newer first.

    `today` is what yesterday and the like in the question are counted from; without it they count for nothing.
    """
    pool = evidence.pool_of(found)
    legs = {
        "words": evidence.words_leg(pool, weights),
        "vector": evidence.vector_leg(pool, weights, found.pending_vectors > 0),
    }
    base = [w + v for w, v in zip(legs["words"], legs["vector"], strict=True)]
    around = {
        "answer": evidence.answer(base, pool, weights),
        "neighbour": evidence.neighbour(base, pool, weights),
        "session": evidence.session(base, pool, weights),
    }
    components: dict[str, Component] = {
        **legs,
        **around,
        "speaker": evidence.speaker(question, pool, weights),
        "asking": evidence.asking(pool, weights),
        "summary": evidence.summary(pool, weights),
        "recency": evidence.recency(pool, weights),
        "coverage": evidence.coverage(pool, found.idf, weights),
        "dated": evidence.dated(question, pool, weights, today),
        "strength": [weights.strength * strength(c.passage) if c.passage.entry else 0.0 for c in pool.items],
    }
    admitted = [
        number
        for number, candidate in enumerate(pool.items)
        if base[number] or around["answer"][number] or around["neighbour"][number] or candidate.words is not None
    ]
    scores = [sum(values) for values in zip(*components.values(), strict=True)]
    if reading.asks_when(question):
        components["moment"] = _moment(pool, sorted(admitted, key=scores.__getitem__, reverse=True), weights)
    rows = list(zip(*components.values(), strict=True))
    ranked = [Ranked(pool.items[n], sum(rows[n]), _shown(components, rows[n]) if explain else {}) for n in admitted]
    ranked.sort(key=lambda r: (r.score, r.candidate.passage.date or "", r.candidate.passage.position), reverse=True)
    return ranked


def _shown(names: Iterable[str], values: Iterable[float]) -> dict[str, float]:
    return {name: value for name, value in zip(names, values, strict=True) if value}


def _moment(pool: Pool, ranked: list[int], weights: Weights) -> Component:
    """For the best candidates, whether they speak of a time; 0 for the rest."""
    spoken = [0.0] * len(pool.items)
    for number in ranked[: reading.READ]:
        spoken[number] = reading.moment(pool.items[number].passage, weights)
    return spoken
