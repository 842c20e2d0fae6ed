"""tiered: entries by their laws. The strongest are always in the prompt, the rest is found by the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memorybook import validate
from memorybook.errors import Unavailable
from memorybook.prompt.recall import recall
from memorybook.providers.over_book import OverBook, turns_in
from memorybook.sessions.memorize import process_session_end
from memorybook.sessions.turns import zone_of

if TYPE_CHECKING:
    from memorybook.protocols import MemorizeInput
    from memorybook.results import Recalled


class Tiered(OverBook):
    """The tiered provider, the default: a block of hot and cold memories within a budget of tokens.

    Memorizing is what the end of a session does: one call that extracts, or rules where there is no model. What fails
    is parked besides, and tried again at the next occasion; the same turns are remembered once.
    """

    name = "tiered"
    evolving = False

    def recalled(self, query: str, *, max_tokens: int | None = None) -> Recalled:
        """Return what a person wrote, the strongest entries, and what the query finds."""
        return recall(self.context, query, max_tokens=validate.budget_of(max_tokens))

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
