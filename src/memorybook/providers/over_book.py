"""What every provider does with its book: keeps the offset, and never lets a turn of a talk fail."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from memorybook.entries.remember import set_fields
from memorybook.errors import LLMFailed, MemoryBookError
from memorybook.forget.forget import forget
from memorybook.protocols import MemorizeInput, MemorizeResult, window

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.inference.budget import Metered
    from memorybook.results import Known, Recalled, Receipt

_log = logging.getLogger("memorybook.providers")


class OpenMemory(Protocol):
    """A `Memory`, as providers need it."""

    @property
    def context(self) -> Context:
        """What verbs work on."""


class OverBook:
    """A provider over an open memory, see `protocols.MemoryProvider`; safe to share between threads.

    Attributes:
        name: Of the provider, as settings have it.
        memory: Its memory, which stays its opener's to close.
        failure: Why the last recall gave nothing; "" if it did not fail.
    """

    name: str

    def __init__(self, memory: OpenMemory) -> None:
        self.memory = memory
        self.failure = ""

    @property
    def context(self) -> Context:
        """What verbs work on."""
        return self.memory.context

    def recall(self, query: str) -> str:
        """The block for a prompt, "" if there is nothing to say; "" too, and a warning in the log, if it fails."""
        try:
            block = self.recalled(query).text
        except (MemoryBookError, OSError) as error:
            self.failure = str(error)
            _log.warning("nothing was recalled: %s", error)
            return ""
        self.failure = ""
        return block

    def memorize(self, given: MemorizeInput) -> MemorizeResult:
        """Remember `window(given)`; whatever fails leaves offset and memory as they were, with the reason."""
        start, end, after = window(given)
        try:
            self.context.config.check_enabled()
            operation = self._memorize(given.messages[start:end], given) if start < end else None
        except Exception as error:  # the model is anybody's; whatever it was, the messages are tried again
            reason = str(error) if isinstance(error, MemoryBookError) else f"{type(error).__name__}: {error}"
            return MemorizeResult(given.last_consolidated, False, reason)
        return MemorizeResult(after, True, operation=operation)

    def pin(self, id: str) -> Known:
        """Keep an entry from fading, and from being archived or reworded by itself. Raises NotFound."""
        return set_fields(self.context, id, {"pinned": True}, reason="pinned")

    def unpin(self, id: str) -> Known:
        """Let a pinned entry go its way again. Raises NotFound."""
        return set_fields(self.context, id, {"pinned": False}, reason="unpinned")

    def delete(self, id: str) -> Receipt:
        """Forget an entry, so that it does not come back. Raises NotFound."""
        return forget(self.context, target=id)

    def close(self) -> None:
        """Release what is held, which is nothing: the memory is its opener's. Closing twice does nothing."""

    def _model(self, given: MemorizeInput) -> Metered:
        """The model to ask, within the budgets. Raises LLMFailed if there is none."""
        llm = self.context.metered(given.llm, model=given.model)
        if llm is None:
            raise LLMFailed(f"the {self.name} provider needs a language model: set llm.model, or give it one")
        return llm

    def recalled(self, query: str, *, max_tokens: int | None = None) -> Recalled:
        """The block with the memories in it, see `protocols.MemoryProvider`."""
        raise NotImplementedError

    def _memorize(self, messages: Sequence[Mapping[str, Any]], given: MemorizeInput) -> str | None:
        """Remember at least one message; the operation's id, None if nothing was written. Raises whatever fails."""
        raise NotImplementedError
