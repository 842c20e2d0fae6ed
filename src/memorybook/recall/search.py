"""One search as a visible list of steps: rank, say each thing once, judge relevance, cut, show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from memorybook.hits import Candidates, Hit, Passage
from memorybook.recall.format import snippet
from memorybook.recall.rank import Ranked, Strength, Weights, rank, relevance

RELEVANT = 0.5
"""Relevance from which an answer counts as being about the question, when the caller sets no threshold."""

JUDGED = 60
"""How many of the best candidates are judged for `has_relevant` when there is no threshold to apply."""


class Found(NamedTuple):
    """Hits, best first; whether any judged candidate is relevant; how many a threshold left out."""

    hits: tuple[Hit, ...]
    has_relevant: bool
    cut: int


def find(
    question: str,
    candidates: Candidates,
    weights: Weights,
    *,
    limit: int,
    min_score: float = 0.0,
    strength: Strength,
    indexed_text: Callable[[Passage], str],
    keep: Callable[[Passage], bool] | None = None,
    explain: bool = False,
) -> Found:
    """The `limit` best hits; `min_score` (0..1) applies to relevance alone, never to age or score.

    Args:
        question: As asked.
        candidates: From an index.
        weights: See `weights_for`.
        limit: At least 1.
        min_score: Hits of lower relevance are left out and counted.
        strength: An entry's strength today.
        indexed_text: The words under which a passage is found.
        keep: Passages it refuses are left out before anything is cut; None keeps all.
        explain: Fill in `Hit.why`.
    """
    ranked = rank(question, candidates, weights, strength=strength)
    if keep is not None:
        ranked = [r for r in ranked if keep(r.candidate.passage)]
    ranked = once(ranked)
    judged = ranked if min_score > 0 else ranked[: max(limit, JUDGED)]
    about = [relevance(r.candidate, indexed_text(r.candidate.passage), candidates.idf, weights) for r in judged]
    kept = [(r, a) for r, a in zip(judged, about, strict=True) if a >= min_score]
    words = frozenset(candidates.idf)
    hits = tuple(
        Hit(r.candidate.passage, r.score, a, snippet(r.candidate.passage.text, words), r.why if explain else {})
        for r, a in kept[:limit]
    )
    return Found(hits, any(a >= max(min_score, RELEVANT) for a in about), len(judged) - len(kept))


def once(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Each piece of evidence once: an entry or note and the turn it rests on are the same; the better stays."""
    seen: set[object] = set()
    kept = []
    for item in ranked:
        passage = item.candidate.passage
        mark: object = (passage.session, passage.turn) if passage.turn else None
        if mark is None or mark not in seen:
            kept.append(item)
        seen.add(mark)
    return kept
