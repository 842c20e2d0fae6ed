"""Long-term memory for AI agents: Markdown that a person can read, found again in milliseconds.

>>> import memorybook
>>> with memorybook.open("/tmp/my-book") as memory:  # doctest: +SKIP
...     memory.remember("The user prefers short answers.", category="preference")
...     memory.search("how long should answers be?").hits[0].snippet
'The user prefers short answers.'
"""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memorybook.config.settings import Config as Config
    from memorybook.config.settings import load as load_config
    from memorybook.errors import MemoryBookError as MemoryBookError
    from memorybook.memory import Memory as Memory
    from memorybook.memory import open as open

_HOME = {
    "Config": ("config.settings", "Config"),
    "Memory": ("memory", "Memory"),
    "MemoryBookError": ("errors", "MemoryBookError"),
    "load_config": ("config.settings", "load"),
    "open": ("memory", "open"),
}

__all__ = ["Config", "Memory", "MemoryBookError", "load_config", "open"]


def __getattr__(name: str) -> Any:
    """Public names are imported when first used, so that every command pays only for its own."""
    if name not in _HOME:
        raise AttributeError(f"module 'memorybook' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _HOME[name]
    return getattr(import_module(f"memorybook.{module}"), attribute)
