"""The agentic step: new statements meet their neighbours, and one call decides what becomes of those in doubt."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

from memorybook.lifecycle.candidate import Candidate
from memorybook.lifecycle.ledger import Conflicts, Decision, Proposed
from memorybook.lifecycle.match import Neighbours, Similarity, match
from memorybook.model import Change, Discarded, Entry

if TYPE_CHECKING:
    from memorybook.protocols import LLM
    from memorybook.replies import Usage


class Evolved(NamedTuple):
    """What candidates do to a book, decided one by one.

    Attributes:
        changes: For `Book.apply`, in order.
        decisions: What became of each candidate, in their order.
        discarded: What is not stored, with the reason.
        proposals: What waits for a person's word.
        usage: What the call took; None if none was made.
        degraded: Why thresholds decided where a model was to; "" if it did.
    """

    changes: tuple[Change, ...] = ()
    decisions: tuple[Decision, ...] = ()
    discarded: tuple[Discarded, ...] = ()
    proposals: tuple[Proposed, ...] = ()
    usage: Usage | None = None
    degraded: str = ""


def evolve(
    candidates: Iterable[Candidate],
    entries: Iterable[Entry],
    *,
    now: datetime,
    neighbours: Neighbours | None = None,
    similarity: Similarity | None = None,
    llm: LLM | None = None,
    session: str | None = None,
    times: Mapping[str, datetime | None] | None = None,
    heard: Collection[str] = (),
    conflicts: Conflicts = "newest",
    language: Literal["auto", "en", "zh"] = "auto",
) -> Evolved:
    """Decide what becomes of candidates; arguments as `lifecycle.match.match` has them."""
    found = match(
        candidates,
        entries,
        now=now,
        session=session,
        times=times,
        heard=heard,
        conflicts=conflicts,
        neighbours=neighbours,
        similarity=similarity,
    )
    return Evolved(found.changes, found.decisions, found.discarded, found.proposals)
