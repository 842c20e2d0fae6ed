"""Entries by their laws: `tiered`, and `agentic`, in which they know of each other.

The strongest are always in the prompt, the rest is found by the question. With `agentic` new statements meet their
neighbours, and one call decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memorybook import validate
from memorybook.book.book import retried
from memorybook.entries.evolve import evolve
from memorybook.entries.match import EmbedderSimilarity, IndexNeighbours, Ledger, Matched, Talk
from memorybook.entries.read import Mask
from memorybook.entries.read_reply import Candidate
from memorybook.entries.review import Submitted, propose_or_apply
from memorybook.entries.rules import by_rules, entities_of
from memorybook.errors import NotFound, Unavailable
from memorybook.forget.tombstones import discard_unquoted, not_forgotten
from memorybook.model import Add, Turn
from memorybook.prompt.recall import build
from memorybook.protocols import Evolution
from memorybook.providers.flat import is_shown
from memorybook.providers.over_book import OverBook, turns_in
from memorybook.search.types import Hit
from memorybook.sessions.memorize import process_session_end
from memorybook.sessions.turns import zone_of
from memorybook.text.screen import screen
from memorybook.text.splitting import entry_passage

if TYPE_CHECKING:
    from datetime import date

    from memorybook.formats.memory_md import MemoryDocument
    from memorybook.protocols import MemorizeInput
    from memorybook.results import Recalled

MOST_LINKED = 5
"""Entries that go into a prompt only because others that the question found are linked with them."""


class Tiered(OverBook):
    """The tiered provider, the default: a block of hot and cold memories within a budget of tokens.

    Memorizing is what the end of a session does: one call that extracts, or rules where there is no model. What fails
    is parked besides, and tried again at the next occasion; the same turns are remembered once.
    """

    name = "tiered"
    evolving = False

    def recalled(self, query: str, *, max_tokens: int | None = None) -> Recalled:
        """Return what a person wrote, the strongest entries, and what the query finds."""
        return build(self.context, query, max_tokens=validate.budget_of(max_tokens)).use()

    def _memorize(self, messages: Sequence[Mapping[str, Any]], given: MemorizeInput) -> str | None:
        context = self.context
        if not any(turn.text.strip() for turn in turns_in(messages, zone_of(context))):
            return None
        brought = process_session_end(
            context, messages, given.session, llm=given.llm, model=given.model, evolving=self.evolving
        )
        if brought.queued:
            raise Unavailable(brought.degraded[0] if brought.degraded else "the session waits to be remembered")
        return brought.operation


class Agentic(Tiered):
    """The agentic provider: also recalls linked entries; memorizes with at most one more model call."""

    name = "agentic"
    evolving = True

    def recalled(self, query: str, *, max_tokens: int | None = None) -> Recalled:
        """Recall as `tiered` does, and add entries linked with the hits."""
        today = self.context.book.now().date()

        def linked(document: MemoryDocument, hits: Sequence[Hit], shown: set[str]) -> list[Hit]:
            return linked_with(document, [hit.passage.entry for hit in hits if hit.passage.entry], shown, today)

        return build(self.context, query, max_tokens=validate.budget_of(max_tokens), more=linked).use()

    def evolve(self, content: str) -> Evolution:
        """Return what becomes of the statement among its neighbours: by the model, or by likeness where there is none.

        With `require_user_confirmation` it is proposed only: `proposals` tells what waits in the review queue.

        Raises:
            InvalidInput: Blank, or over 20,000 characters.
            Unavailable: Memory is switched off; or as `Book.apply`.
            Conflict: As `Book.apply`.
        """
        context = self.context
        self.context.config.check_enabled()
        candidate = self._candidate(Mask(context).text(validate.statement_of(content).strip()))
        book = context.book
        if not not_forgotten(context, [candidate.content])(candidate.content):
            left = discard_unquoted(candidate.content)
            book.apply([], actor=context.actor, door=context.door, kind="evolve", discarded=[left])
            return Evolution("discarded", None, left.reason)
        return retried(lambda: self._evolved(candidate), NotFound)  # an entry went while the model was thinking

    def _candidate(self, content: str) -> Candidate:
        """Return the statement, filed as rules would file it."""
        context = self.context
        now = context.book.now()
        said = Turn(id="0", session="", text=content, role="user", time=now)
        found = by_rules([said], session=None, now=now).candidates
        like = found[0] if len(found) == 1 else None
        return Candidate(
            content=content,
            category=like.category if like else "fact",
            importance=like.importance if like else "medium",
            turn_ids=(),
            quote=content,
            tags=like.tags if like else (),
            entities=like.entities if like else tuple(entities_of(content)),
            expires=like.expires if like else None,
            trust="suspect" if screen(content) else context.actor,
        )

    def _evolved(self, candidate: Candidate) -> Evolution:
        context = self.context
        book = context.book
        entries = {entry.id: entry for entry in book.entries()}
        llm = context.metered()
        near, alike = IndexNeighbours(context, dict(entries)), EmbedderSimilarity(context)
        ledger = Ledger(entries, Talk(book.now()), context.config.conflicts)
        language, mask = context.config.language, Mask(context).text
        found = evolve(ledger, [candidate], near, alike, llm=llm, language=language, mask=mask)
        used = llm.usage if llm is not None and llm.usage.calls else None
        submitted = propose_or_apply(
            context,
            found.changes,
            kind="evolve",
            discarded=found.discarded,
            usage=None if used is None or llm is None else {**used.json(), "model": llm.name},
            proposed=found.proposals,
        )
        return _decision(found, submitted, waits=context.config.require_user_confirmation)


def _decision(found: Matched, submitted: Submitted, *, waits: bool) -> Evolution:
    """Return the decision, with the id under which the entry stands; `waits` if none of it was carried out."""
    first, *others = found.decisions
    notes = [f"{first.reason}; {first.detail}" if first.detail else first.reason]
    notes += [f"also {one.action} {one.id}" for one in others]
    notes += [found.degraded] if found.degraded else []
    waiting = submitted.proposals
    if first.action == "proposed" or (waits and found.changes):
        where = f"waits for a person's word ({', '.join(waiting)})" if waiting else "was rejected before"
        return Evolution("discarded", None, f"{where}: {'; '.join(notes)}", waiting)
    ids = {
        change.entry.id: outcome.entry.id
        for change, outcome in zip(found.changes, submitted.result.outcomes, strict=True)
        if isinstance(change, Add) and outcome.entry is not None
    }
    return Evolution(first.action, ids.get(first.id or "", first.id), "; ".join(notes), waiting)


# --- links -----------------------------------------------------------------------------------------


def linked_with(document: MemoryDocument, found: Sequence[str], shown: set[str], today: date) -> list[Hit]:
    """Return the entries of MEMORY.md that are linked with what was found, from either side, at most 5.

    Args:
        document: MEMORY.md.
        found: Ids of entries, the best first.
        shown: Ids of entries that are in the prompt already.
        today: UTC day.
    """
    located = {each.entry.id: each for each in document.located}
    fit = {id: each for id, each in located.items() if id not in shown and is_shown(each.entry, today)}
    near: dict[str, None] = {}
    for one in found:
        own = located[one].entry.links if one in located else ()
        back = (other for other, each in located.items() if one in each.entry.links)
        near |= dict.fromkeys(id for id in (*own, *back) if id in fit)
    hits = []
    for each in [fit[id] for id in near][:MOST_LINKED]:
        passage = entry_passage(each.entry, "MEMORY.md", (each.start_line, each.end_line))
        hits.append(Hit(passage, 0.0, 0.0, passage.text))
    return hits
