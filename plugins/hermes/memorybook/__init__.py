"""memorybook as the MemoryProvider of Hermes Agent: this folder goes into `plugins` of its home."""

from __future__ import annotations

from typing import Any

from memorybook.frameworks.hermes import BookProvider


def register(context: Any) -> None:
    """Give Hermes the provider."""
    context.register_memory_provider(BookProvider())
