"""tiered: entries by their laws. The strongest are always in the prompt, the rest is found by the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memorybook.providers.lines import turns_in
from memorybook.providers.over_book import OverBook

if TYPE_CHECKING:
    from memorybook.providers.values import MemorizeInput


class Agentic(OverBook):
    """The tiered provider, the default: a block of hot and cold memories within a budget of tokens.

    Memorizing is what the end of a session does: one call that extracts, or rules where there is no model.
    """

    name = "agentic"

    def _recall(self, query: str) -> str:
        return self.memory.recall(query).text

    def _memorize(self, messages: Sequence[Mapping[str, Any]], given: MemorizeInput) -> str | None:
        if not any(turn.text.strip() for turn in turns_in(messages, self.memory.book.zone)):
            return None
        raise NotImplementedError
