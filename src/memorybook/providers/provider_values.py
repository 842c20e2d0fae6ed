"""What providers are given and what they give back, and which messages are theirs to remember."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from memorybook.errors import InvalidInput

if TYPE_CHECKING:
    from memorybook.inference.callable import Function
    from memorybook.protocols import LLM

Provider = Literal["flat", "tiered", "agentic"]


@dataclass(frozen=True, slots=True)
class MemorizeInput:
    """A history, and how far it is remembered already.

    Attributes:
        messages: `{"role"|"speaker", "content", "timestamp", …}` in order: all that there are, old ones included.
        last_consolidated: How many of them, from the first on, are remembered.
        llm: The model to ask; None takes that of the memory.
        model: Of the configured server, which model to ask instead; "" takes the setting. Only a name where `llm`
            is given. The journal notes it.
        archive_all: Whether none is kept back: the history ends here.
        memory_window: Of a history that goes on, the newest half of that many messages are kept back.
        session: Uuid or name of the session they belong to; None if there is none.

    Raises:
        InvalidInput: A negative number, or a message that is no mapping.
    """

    messages: Sequence[Mapping[str, Any]]
    last_consolidated: int = 0
    llm: LLM | Function | None = None
    model: str = ""
    archive_all: bool = False
    memory_window: int = 50
    session: str | None = None

    def __post_init__(self) -> None:
        for name in ("last_consolidated", "memory_window"):
            if getattr(self, name) < 0:
                raise InvalidInput(f"{name} {getattr(self, name)!r} is below 0: it counts messages")
        for number, message in enumerate(self.messages):
            if not isinstance(message, Mapping):
                raise InvalidInput(f"message {number} is {message!r}: give a mapping with role and content")


@dataclass(frozen=True, slots=True)
class MemorizeResult:
    """How far the history is remembered now.

    Attributes:
        new_last_consolidated: As given where nothing was to do or it failed; 0 once everything was archived.
        ok: False if it failed: the memory is as it was before.
        reason: Why it failed, one sentence; "" if it did not.
        operation: Id of the operation that wrote it; None if nothing was written.
    """

    new_last_consolidated: int
    ok: bool
    reason: str = ""
    operation: str | None = None


Action = Literal["created", "merged", "updated", "strengthened", "discarded"]


@dataclass(frozen=True, slots=True)
class Evolution:
    """What became of a statement.

    Attributes:
        action: `created`; `merged` into one with what was known; `updated`, in the place of what is no longer true;
            `strengthened`, as it was known; `discarded`, also while it waits for a person's word.
        id: The entry that says it now; None if none does.
        detail: Why, and which other entries it concerns.
        proposals: Ids of what waits in the review queue.
    """

    action: Action
    id: str | None
    detail: str = ""
    proposals: tuple[str, ...] = ()


class Window(NamedTuple):
    """The messages `[start:end]` are to be remembered, if there are any; the offset after that is `after`."""

    start: int
    end: int
    after: int


def window(given: MemorizeInput) -> Window:
    """Which messages are to be remembered, the same for every provider.

    `[last_consolidated : len - memory_window // 2]`, or with `archive_all` all that are left. Where that is nothing,
    the offset stays, but for `archive_all`, after which there is no history any more.
    """
    count, start = len(given.messages), given.last_consolidated
    if given.archive_all:
        return Window(start, max(start, count), 0)
    end = count - given.memory_window // 2
    return Window(start, end, end) if end > start else Window(start, start, start)
