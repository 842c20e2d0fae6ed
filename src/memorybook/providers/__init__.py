"""Providers: three policies over a book that decide what enters a prompt and what is remembered.

`flat` keeps one page that a model rewrites, `tiered` (the default) keeps entries by their laws, `agentic` lets new
statements meet their neighbours. All three read and write the book that `memorybook.open` opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args, overload

from memorybook.errors import InvalidInput
from memorybook.protocols import (
    Action,
    Evolution,
    MemorizeInput,
    MemorizeResult,
    Provider,
    Window,
    window,
)

if TYPE_CHECKING:
    from memorybook.protocols import Manageable
    from memorybook.providers.over_book import OpenMemory
    from memorybook.providers.tiered import Agentic


__all__ = [
    "PROVIDERS", "Action", "Evolution", "MemorizeInput", "MemorizeResult", "Provider", "Window", "open_provider",
    "window",
]  # fmt: skip

PROVIDERS: tuple[Provider, ...] = get_args(Provider)


@overload
def open_provider(memory: OpenMemory, name: Literal["agentic"]) -> Agentic: ...


@overload
def open_provider(memory: OpenMemory, name: str | None = None) -> Manageable: ...


def open_provider(memory: OpenMemory, name: str | None = None) -> Manageable:
    """Return the provider of that name over this memory, which stays its caller's to close.

    Args:
        memory: An open memory.
        name: `flat`, `tiered` or `agentic`; None takes the setting `provider`.

    Raises:
        InvalidInput: There is no such provider.
    """
    from memorybook.providers.flat import Flat
    from memorybook.providers.tiered import Agentic, Tiered

    name = name or memory.context.config.provider
    for kind in (Flat, Tiered, Agentic):
        if kind.name == name:
            return kind(memory)
    raise InvalidInput(f"there is no provider {name!r}: it is one of {', '.join(PROVIDERS)}")
