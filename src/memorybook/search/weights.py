"""What each piece of evidence is worth, in one value per kind of embedder."""

from __future__ import annotations

from memorybook._light import Mapping, NamedTuple


class Weights(NamedTuple):
    """What each piece of evidence is worth; scores are sums of these, the two legs together worth at most 1.

    They were fitted (softmax over the candidates of a question) on one half of labelled conversations in
    English and Chinese, rounded, and held on the other half.

    Attributes:
        words, vector: Share of each leg after min-max over the candidates.
        speaker: Bonus for a turn of the person the question names.
        answer: Share of a question's legs that the turn after it inherits.
        neighbour: Share of the turns before and after; two thirds of it at two turns' distance, one at three.
        session: Share of the mean of the three best others of the same session or document.
        recency: Bonus of the newest candidate; the oldest gets none, and talk between people half.
        dated: Bonus of what is dated within the days that the question names.
        strength: Bonus of an entry of full strength.
        summary: Discount of a session's summary beside the turns that it repeats.
        asking: Discount of a turn that only asks.
        echo: Discount of what only asks what the question asks, larger than its words are worth.
        coverage: Bonus of a passage with all of the question's words, by their idf; BM25 lets one rare word
            often said stand for all.
        moment: Bonus of a passage that speaks of a time, if the question asks for one.
        repeated: Discount of what the same speaker says again later in the session.
        unrelated, about: Cosines that read as relevance 0 and 1; linear between.
    """

    words: float
    vector: float
    speaker: float = 1.1
    answer: float = 0.9
    neighbour: float = 0.2
    session: float = 0.5
    recency: float = 0.3
    dated: float = 0.8
    strength: float = 0.2
    summary: float = 1.0
    asking: float = 0.2
    echo: float = 4.0
    coverage: float = 1.1
    moment: float = 0.6
    repeated: float = 0.8
    unrelated: float = 0.2
    about: float = 0.8


WEIGHTS: Mapping[str, Weights] = {
    "static": Weights(words=0.6, vector=0.4, about=0.7),
    "local": Weights(words=0.5, vector=0.5, answer=0.7, neighbour=0.15, session=0.3, coverage=0.9, moment=0.5),
    "remote": Weights(words=0.3, vector=0.7, answer=0.7, neighbour=0.15, session=0.3, coverage=0.9, moment=0.5),
    "": Weights(
        words=1.0,
        vector=0.0,
        speaker=1.9,
        answer=0.8,
        neighbour=0.1,
        session=0.35,
        recency=0.2,
        asking=0.4,
        coverage=1.4,
        moment=0.4,
    ),
}
"""By kind of embedder, the part of its name before the slash; "" when the vector leg did not run."""


def weights_for(embedder: str | None, *, vector: float = 0.0, words: float = 0.0) -> Weights:
    """The weights of an embedder by name; `vector` and `words`, unless both 0, replace the shares of the legs."""
    kind = (embedder or "").partition("/")[0]
    weights = WEIGHTS.get(kind, WEIGHTS["remote"])
    if embedder and (vector or words):
        total = vector + words
        weights = weights._replace(vector=vector / total, words=words / total)
    return weights
