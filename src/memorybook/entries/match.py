"""Candidates held against what is known: new, said again, changed, done, or not to be stored.

By the model's word first (`reinforces`, `contradicts`), then by equal text, then by likeness, then by what rules can
tell of a change. The laws themselves are in `lifecycle.ledger`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from memorybook.entries.alike import REPEATED_WORDS, by_words, denies, overlap, same_fact, same_statement, turned, words
from memorybook.entries.candidate import Candidate
from memorybook.entries.changed import outdated, replaces
from memorybook.entries.combine import missing
from memorybook.entries.merge_plan import Conflicts, Decision, Ledger, Proposed, Talk
from memorybook.model import Change, Discarded, Entry

Neighbours = Callable[[str], Sequence[Entry]]
"""Entries near a text, from vectors, words and shared names in turn, best first, at most 8."""

CORRECTED = 0.3
"""Share of common words from which a second correction of one entry is one of the first as well."""

Similarity = Callable[[str, str], float | None]
"""Cosine of two texts; None where no embedder reads their language."""


class Matched(NamedTuple):
    """What candidates do to a book.

    Attributes:
        changes: For `Book.apply`, in order.
        discarded: What is not stored, with the reason.
        proposals: What waits for a person's word.
        decisions: What became of each candidate, in order.
    """

    changes: tuple[Change, ...] = ()
    discarded: tuple[Discarded, ...] = ()
    proposals: tuple[Proposed, ...] = ()
    decisions: tuple[Decision, ...] = ()

    @property
    def counts(self) -> Mapping[str, int]:
        """Decisions by action, `created`, `strengthened` …; 0 is left out."""
        return Counter(one.action for one in self.decisions)


def match(
    candidates: Iterable[Candidate],
    entries: Iterable[Entry],
    *,
    now: datetime,
    session: str | None = None,
    times: Mapping[str, datetime | None] | None = None,
    heard: Collection[str] = (),
    conflicts: Conflicts = "newest",
    neighbours: Neighbours | None = None,
    similarity: Similarity | None = None,
) -> Matched:
    """Work out what candidates of one talk change.

    Args:
        candidates: Grounded and screened, in order.
        entries: All of the book, archived and superseded ones too.
        now: When this is, UTC.
        session: Where they were said; an entry is reinforced once for each session.
        times: When turns were said, by id.
        heard: Ids of entries that earlier operations of this session reinforced.
        conflicts: See `Conflicts`.
        neighbours: None looks by words alone.
        similarity: None compares by words alone.
    """
    ledger = Ledger({one.id: one for one in entries}, Talk(now, session, times or {}, heard), conflicts)
    near = neighbours or by_words(ledger.entries)
    alike = similarity or (lambda one, other: None)
    for candidate in candidates:
        settle(ledger, candidate, near, alike)
    return account(ledger)


def account(ledger: Ledger) -> Matched:
    """What a ledger came to."""
    proposals = (*ledger.proposals, *ledger.disputed())
    return Matched(tuple(ledger.changes), tuple(ledger.discarded), proposals, tuple(ledger.decisions))


def settle(ledger: Ledger, candidate: Candidate, neighbours: Neighbours, similarity: Similarity) -> None:
    """Decide on one candidate."""
    if settled(ledger, candidate, neighbours, similarity):
        return
    near = around(ledger, candidate, neighbours)
    changed = {one.id: why for one in near if (why := replaces(candidate, one)) is not None}
    changed = changed or {one.id: "says what is so now" for one in outdated(candidate, near)}
    if changed:
        ledger.replace(candidate, [one for one in near if one.id in changed], next(iter(changed.values())))
    else:
        ledger.create(candidate, "not known before")


def settled(ledger: Ledger, candidate: Candidate, neighbours: Neighbours, similarity: Similarity) -> bool:
    """Decide on a candidate about which nobody need think: named by the model, or the same as a known one.

    What the model made up is a person's to decide on.
    """
    if candidate.doubt:
        ledger.ask(candidate)
        return True
    if candidate.disputes and candidate not in ledger.disputing:
        ledger.disputing.append(candidate)
    contradicted = _contradicted(ledger, candidate)
    if contradicted:
        ledger.replace(candidate, contradicted, "contradicts what was known")
        return True
    known = ledger.saying(candidate.content)
    if known is not None:
        ledger.strengthen(candidate, known, "the same words")
        return True
    repeated = [one for id in candidate.reinforces if (one := ledger.current(id)) is not None]
    if repeated:
        _repeat(ledger, candidate, repeated)
        return True
    for one in around(ledger, candidate, neighbours):
        if same_statement(candidate.content, one.text, similarity(candidate.content, one.text)):
            ledger.strengthen(candidate, one, "the same statement in other words")
            return True
    for one in around(ledger, candidate, neighbours):
        if same_fact(candidate.content, one.text):
            repeat(ledger, candidate, one, "the same of the same thing, in other words")
            return True
    return False


def _contradicted(ledger: Ledger, candidate: Candidate) -> list[Entry]:
    """The entries that a model says are no longer true, as they stand: corrected twice in one talk, the correction.

    The one that took an entry's place is meant only if another turn says otherwise of the same thing: an entry of two
    statements may be contradicted by two that both are true.
    """
    found: dict[str, Entry] = {}
    for id in candidate.contradicts:
        one = ledger.current(id)
        if one is None:
            one = ledger.successor(id)
            if one is None or not _corrects(candidate, one):
                continue
        found[one.id] = one
    return list(found.values())


def _corrects(candidate: Candidate, one: Entry) -> bool:
    """Whether what was said after an entry of the same talk says otherwise of the same thing."""
    if not candidate.turn_ids or one.source == f"turn:{candidate.turn_ids[-1]}":
        return False
    if replaces(candidate, one) is not None:
        return True
    return overlap(candidate.content, one.text) >= CORRECTED and turned(candidate.content, one.text) is not None


def around(ledger: Ledger, candidate: Candidate, neighbours: Neighbours) -> list[Entry]:
    """The neighbours that are held true, as they will stand, with what this talk added and what says otherwise."""
    return ledger.around(candidate, neighbours(candidate.content))


def _repeat(ledger: Ledger, candidate: Candidate, repeated: Sequence[Entry]) -> None:
    """The model says that entries were said again."""
    repeat(ledger, candidate, repeated[0], "said again")
    for one in repeated[1:]:
        if ledger.current(one.id) is not None:
            ledger.strengthen(candidate, one, "said again")


def repeat(ledger: Ledger, candidate: Candidate, one: Entry, reason: str, *, links: Sequence[str] = ()) -> None:
    """An entry was said again; where the new wording has numbers, dates or names that it lacks, they are not lost.

    If the new wording has every word of the old one as well, it takes its place, else both stay. What is the same but
    for a denial was not said again, whoever says so.
    """
    content = candidate.content
    if overlap(content, one.text) >= REPEATED_WORDS and denies(content) != denies(one.text):
        ledger.create(candidate, reason, links=(one.id, *links), detail=f"denies what entry {one.id} says")
    elif not missing([candidate], one.text):
        ledger.strengthen(candidate, one, reason)
    elif not words(one.text) <= words(content) or ledger.unmergeable(candidate, one, content):
        ledger.strengthen(candidate, one, reason)
        ledger.create(candidate, "says more", links=(one.id, *links))
    else:
        ledger.merge(candidate, one, content, f"{reason}, with more", links=links)
