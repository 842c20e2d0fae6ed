"""From passages that were found to the sessions that they speak for, and back to the best turns of these."""

from __future__ import annotations

from memorybook._light import NamedTuple, Sequence
from memorybook.search.types import Hit
from memorybook.text.tokens import tokens

FADING = 0.3
"""Share of what the one before it counts that each further find of a session counts: few good ones beat many poor."""

LEANING = 0.15
"""Share of a session's evidence by which each of its turns is moved up."""


POOR = 0.2
"""Share of the best session's evidence below which one is left out in which nothing comes near the question.

Larger, or without the share, it cost sessions that were asked for; at this none on any set that was measured.
"""


CLEAR = 0.8
"""Relevance of the best find from which a session or turn is left out that has nothing in common with the question.

Down to 0.7 it cost no session that was asked for on any set that was measured; at 0.6 it did. For turns 0.3 did.
"""


TELLING = 4
"""Words below which a turn says nothing that has nothing in common with the question: `Sure, got it.`, 明白."""


class Spoken(NamedTuple):
    """What speaks for a session.

    Attributes:
        session: Its uuid; the path of its summary where that is all that is known.
        score: Sum of the scores of its finds, best first, each counted `FADING` of what the one before counts.
        path: Of its summary document; "" if no find has one.
        hits: Best first.
    """

    session: str
    score: float
    path: str
    hits: tuple[Hit, ...]


def gathered(hits: Sequence[Hit]) -> list[Spoken]:
    """The sessions that any of the hits belongs to, the one that most speaks for first; on a tie in the hits' order.

    Of the ways to sum up a session (best find, sum of all or the best, power means), a geometric sum was best or
    within noise of it on every set that was measured, see docs/benchmarks.md.
    """
    groups: dict[str, list[Hit]] = {}
    for hit in sorted(hits, key=lambda hit: -hit.score):
        name = hit.passage.session or (hit.passage.path if hit.passage.source == "summary" else "")
        if name:
            groups.setdefault(name, []).append(hit)
    found = [
        Spoken(
            name,
            sum(max(0.0, hit.score) * FADING**place for place, hit in enumerate(members)),
            next((hit.passage.path for hit in members if hit.passage.path), ""),
            tuple(members),
        )
        for name, members in groups.items()
    ]
    return sorted(found, key=lambda one: -one.score)


def about(found: Sequence[Spoken], least: float) -> list[Spoken]:
    """Those with a hit of at least that relevance, or with no less than `POOR` of the evidence of the first.

    Of the latter those in which nothing has any relevance are left out, where a find is clearly about the question.
    """
    enough = POOR * max((one.score for one in found), default=0.0)
    best = [max(hit.relevance for hit in one.hits) for one in found]
    clear = max(best, default=0.0) >= CLEAR
    return [
        one
        for one, near in zip(found, best, strict=True)
        if near >= least or (one.score >= enough and (near > 0 or not clear))
    ]


def best_turns(found: Sequence[Spoken], most: int) -> list[tuple[str, str, float]]:
    """(session, turn, score) of at most so many turns of these sessions, best first, each once.

    Of those that have nothing in common with the question none where a find is clearly about it, and else none that
    says next to nothing.
    """
    clear = max((hit.relevance for one in found for hit in one.hits), default=0.0) >= CLEAR
    scores: dict[tuple[str, str], float] = {}
    for one in found:
        for hit in one.hits:
            near = hit.relevance > 0 or (not clear and _tells(hit.passage.text))
            if near and hit.passage.turn is not None and hit.passage.session is not None:
                place = (hit.passage.session, hit.passage.turn)
                scores.setdefault(place, hit.score + LEANING * one.score)
    best = sorted(scores, key=lambda place: -scores[place])
    return [(*place, scores[place]) for place in best[:most]]


def _tells(text: str) -> bool:
    """Whether a text has words enough; a single Han character is none."""
    return sum(1 for word in tokens(text) if len(word) > 1 or word.isascii()) >= TELLING
