"""Long-term memory for AI agents: Markdown that a person can read, found again in milliseconds.

>>> import memorybook
>>> with memorybook.open("/tmp/my-book") as memory:  # doctest: +SKIP
...     id = memory.remember("The user prefers short answers.", category="preference").entry.id
...     for hit in memory.search("how long should answers be?"):
...         print(hit.snippet)
The user prefers short answers.

What to know:

- `open(book)` opens the memory of a book, a folder of Markdown; each verb is a method of the `Memory` that it returns.
- To write: `remember` a statement, `append` a note, `process_session_end` for a whole conversation, `import_file`.
- To read: `search` for passages, `recall` for the block that goes into a prompt, `get` for one thing by its name.
- To take back: `undo` an operation, `forget` what should no longer be told, `purge` what should no longer exist.
- `memorybook.aio` has the same verbs awaited, `memorybook.client` those of a server, `memorybook.agent` sessions of
  agents, `memorybook.providers` other policies over the same book, `memorybook.frameworks` adapters.
- Everything that goes wrong is a `MemoryBookError`; each says what to do. All other modules are private.
"""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memorybook.config.settings import Config as Config
    from memorybook.config.settings import load as load_config
    from memorybook.errors import BookLocked as BookLocked
    from memorybook.errors import BudgetSpent as BudgetSpent
    from memorybook.errors import ConfigError as ConfigError
    from memorybook.errors import Conflict as Conflict
    from memorybook.errors import Damaged as Damaged
    from memorybook.errors import EmbedderFailed as EmbedderFailed
    from memorybook.errors import InvalidInput as InvalidInput
    from memorybook.errors import LLMFailed as LLMFailed
    from memorybook.errors import MemoryBookError as MemoryBookError
    from memorybook.errors import MissingDocument as MissingDocument
    from memorybook.errors import MissingExtra as MissingExtra
    from memorybook.errors import NotFound as NotFound
    from memorybook.errors import Refused as Refused
    from memorybook.errors import Unavailable as Unavailable
    from memorybook.errors import UnsafePath as UnsafePath
    from memorybook.memory import Memory as Memory
    from memorybook.memory import open as open
    from memorybook.model import Entry as Entry
    from memorybook.search.types import Answer as Answer
    from memorybook.search.types import Hit as Hit

__all__ = [
    "Answer", "BookLocked", "BudgetSpent", "Config", "ConfigError", "Conflict", "Damaged", "EmbedderFailed", "Entry",
    "Hit", "InvalidInput", "LLMFailed", "Memory", "MemoryBookError", "MissingDocument", "MissingExtra", "NotFound",
    "Refused", "Unavailable", "UnsafePath", "load_config", "open",
]  # fmt: skip

_HOME = {
    "Config": "config.settings",
    "load_config": "config.settings",
    "Memory": "memory",
    "open": "memory",
    "Entry": "model",
    "Answer": "search.types",
    "Hit": "search.types",
}
"""Name -> module; all others are errors."""


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    """Import a public name at its first use, so that a command pays only for what it needs."""
    if name not in __all__:
        raise AttributeError(f"module 'memorybook' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"memorybook.{_HOME.get(name, 'errors')}"), name.removesuffix("_config"))
