"""From the candidates of two legs to one order: the same pure steps for every index.

Each step is a function of values to values, listed in `rank`; every weight stands in one `Weights`
value per kind of embedder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from math import sqrt

from memorybook.hits import Candidate, Candidates, Hit, Passage
from memorybook.text.tokens import is_telling, tokens
from memorybook.typed import NamedTuple

Strength = Callable[[Passage], float]
"""Strength of an entry's passage today, 0..1; not asked for other sources."""


class Weights(NamedTuple):
    """What each piece of evidence is worth; scores are sums of these.

    Attributes:
        words, vector: Share of each leg after min-max over the candidates.
        speaker: Bonus for a turn of the person the question names.
        answer: Share of a question's score that the turn after it inherits.
        neighbour: Share of the turns before and after.
        recency: Bonus of the newest candidate; the oldest gets none.
        strength: Bonus of an entry of full strength.
        summary: Discount of a session's summary beside the turns that it repeats.
        unrelated, about: Cosines that read as relevance 0 and 1; linear between.
    """

    words: float
    vector: float
    speaker: float = 0.3
    answer: float = 0.2
    neighbour: float = 0.1
    recency: float = 0.1
    strength: float = 0.1
    summary: float = 0.25
    unrelated: float = 0.2
    about: float = 0.8


WEIGHTS: Mapping[str, Weights] = {
    "static": Weights(words=0.6, vector=0.4, unrelated=0.2, about=0.7),
    "local": Weights(words=0.5, vector=0.5),
    "remote": Weights(words=0.3, vector=0.7),
    "": Weights(words=1.0, vector=0.0),
}
"""By kind of embedder, the part of its name before the slash; "" when the vector leg did not run."""


class Ranked(NamedTuple):
    """A candidate with its score and the components that add up to it."""

    candidate: Candidate
    score: float
    why: Mapping[str, float]


def weights_for(embedder: str | None, *, vector: float = 0.0, words: float = 0.0) -> Weights:
    """The weights of an embedder by name; `vector` and `words`, unless both 0, replace the shares of the legs."""
    kind = (embedder or "").partition("/")[0]
    weights = WEIGHTS.get(kind, WEIGHTS["remote"])
    if embedder and (vector or words):
        total = vector + words
        weights = weights._replace(vector=vector / total, words=words / total)
    return weights


class _Pool(NamedTuple):
    """Candidates and their neighbours, numbered; scores are lists in the same order."""

    items: Sequence[Candidate]
    at: Mapping[tuple[str | None, int], int]
    """Place of a turn: (session, position) -> number."""


Component = list[float]


def rank(question: str, found: Candidates, weights: Weights, *, strength: Strength) -> list[Ranked]:
    """Every candidate (and neighbour that earned a score), best first; on a tie the newer first."""
    pool = _pool(found)
    legs = {"words": _words_leg(pool, weights), "vector": _vector_leg(pool, weights, found.pending_vectors > 0)}
    base = [w + v for w, v in zip(legs["words"], legs["vector"], strict=True)]
    components: dict[str, Component] = {
        **legs,
        "speaker": _speaker(question, pool, weights),
        "answer": _answer(base, pool, weights),
        "neighbour": _neighbour(base, pool, weights),
        "recency": _recency(pool, weights),
        "strength": [weights.strength * strength(c.passage) if c.passage.entry else 0.0 for c in pool.items],
        "summary": [-weights.summary if c.passage.source == "summary" else 0.0 for c in pool.items],
    }
    ranked = []
    for number, candidate in enumerate(pool.items):
        why = {name: values[number] for name, values in components.items() if values[number]}
        if base[number] or "answer" in why or "neighbour" in why or candidate.words is not None:
            ranked.append(Ranked(candidate, sum(why.values()), why))
    ranked.sort(key=lambda r: (r.score, r.candidate.passage.date or "", r.candidate.passage.position), reverse=True)
    return ranked


def _pool(found: Candidates) -> _Pool:
    items = [*found.items, *(Candidate(passage, None, None) for passage in found.neighbours)]
    at = {
        (c.passage.session, c.passage.position): number for number, c in enumerate(items) if c.passage.source == "turn"
    }
    return _Pool(items, at)


def _minmax(values: Sequence[float | None]) -> Component:
    """Spread over 0..1; what the leg did not bring is 0, and the worst that it brought just above."""
    known = [value for value in values if value is not None]
    if not known:
        return [0.0] * len(values)
    low, high = min(known), max(known)
    span = (high - low) or 1.0
    if high == low:
        return [0.0 if value is None else 1.0 for value in values]
    return [0.0 if value is None else 0.001 + 0.999 * (value - low) / span for value in values]


def _words_leg(pool: _Pool, weights: Weights) -> Component:
    return [weights.words * value for value in _minmax([c.words for c in pool.items])]


def _vector_leg(pool: _Pool, weights: Weights, waiting: bool) -> Component:
    """While some passages wait for their vectors, the words of one without a cosine count for both legs."""
    near = _minmax([c.cosine for c in pool.items])
    if waiting:
        said = _minmax([c.words for c in pool.items])
        near = [w if c.cosine is None else v for c, v, w in zip(pool.items, near, said, strict=True)]
    return [weights.vector * value for value in near]


_FIRST_PERSON = frozenset({"i", "my", "me", "mine", "i'm", "i've", "我", "咱"})


def asked_person(question: str, speakers: frozenset[str]) -> frozenset[str]:
    """Names among `speakers` that the question names, as whole words; `user` if it says I or 我."""
    lowered = question.lower()
    words = {word.strip("'’").removesuffix("'s").removesuffix("’s") for word in _words(lowered)}
    named = {name for name in speakers if name and _names(name, words, question)}
    if words & _FIRST_PERSON or "我" in lowered:
        named.add("user")
    return frozenset(named)


def _names(name: str, words: set[str], question: str) -> bool:
    return bool(set(name.lower().split()) & words) if name.isascii() else name in question


def _words(text: str) -> list[str]:
    return "".join(c if c.isalnum() or c in "'’" else " " for c in text).split()


def _speaker(question: str, pool: _Pool, weights: Weights) -> Component:
    speakers = frozenset(c.passage.speaker for c in pool.items)
    asked = asked_person(question, speakers)
    if not asked:
        return [0.0] * len(pool.items)

    def about(passage: Passage) -> bool:
        if passage.source == "turn":
            return passage.speaker in asked or (passage.role == "user" and "user" in asked)
        return any(name in passage.text for name in asked)

    return [weights.speaker if about(c.passage) else 0.0 for c in pool.items]


def _answer(base: Component, pool: _Pool, weights: Weights) -> Component:
    """A turn that follows a question inherits from it: the answer seldom repeats the question's words."""
    inherited = [0.0] * len(base)
    for (session, position), number in pool.at.items():
        before = pool.at.get((session, position - 1))
        if before is not None and base[before] and pool.items[before].passage.asks:
            inherited[number] = weights.answer * base[before]
    return inherited


def _neighbour(base: Component, pool: _Pool, weights: Weights) -> Component:
    smoothed = [0.0] * len(base)
    for (session, position), number in pool.at.items():
        near = [pool.at.get((session, position + step)) for step in (-1, 1)]
        smoothed[number] = weights.neighbour * sum(base[n] for n in near if n is not None)
    return smoothed


def _recency(pool: _Pool, weights: Weights) -> Component:
    days = [_ordinal(c.passage.date) for c in pool.items]
    known = [day for day in days if day is not None]
    if len(set(known)) < 2:
        return [0.0] * len(days)
    oldest, newest = min(known), max(known)
    return [0.0 if day is None else weights.recency * (day - oldest) / (newest - oldest) for day in days]


def _ordinal(day: str | None) -> int | None:
    return date.fromisoformat(day).toordinal() if day else None


def diverse(hits: Sequence[Hit], *, limit: int, balance: float = 0.7) -> list[Hit]:
    """The best hits that do not all say the same: maximal marginal relevance, for prompts only.

    Carbonell and Goldstein 1998, with `balance` (0..1) between the score, spread over 0..1, and the
    largest word overlap (Jaccard) with a hit already taken.
    """
    rest = list(hits)
    scores = _minmax([hit.score for hit in rest])
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


# --- relevance: how much a passage is about the question, before any fusion, age or score ---------


LONG_QUESTION = 20.0
"""Sum of idf from which a question counts as long: about three rare words."""


SPACELESS = 1.4
"""Gain of the share for a question in a script without spaces: pairs that straddle two words match nothing."""


def relevance(candidate: Candidate, text: str, idf: Mapping[str, float], weights: Weights) -> float:
    """0..1: the larger of the calibrated cosine and the idf share of the question's words found in `text`.

    The share is of the sum of the question's idf, t; of a long question (t over `LONG_QUESTION`, T) it is
    of the geometric mean of t and T, since nothing that answers three sentences repeats them all. Single
    Chinese characters, and pairs with a function character in them, count only in a question that has
    nothing else. Words that stand nowhere in the book have the highest idf and so weigh against a match
    on the others.
    """
    cosine = 0.0
    if candidate.cosine is not None and weights.vector:
        cosine = (candidate.cosine - weights.unrelated) / (weights.about - weights.unrelated)
    return min(1.0, max(0.0, cosine, _share(text, idf)))


def _share(text: str, idf: Mapping[str, float]) -> float:
    asked = {word: weight for word, weight in idf.items() if is_telling(word)} or idf
    total = sum(asked.values())
    if not total:
        return 0.0
    present = set(tokens(text))
    found = sum(weight for word, weight in asked.items() if word in present)
    share = found / (total if total <= LONG_QUESTION else sqrt(total * LONG_QUESTION))
    spaceless = sum(not word.isascii() for word in asked)
    return share * SPACELESS if 2 * spaceless > len(asked) else share
