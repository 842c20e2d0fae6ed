"""What is answered in the protocol's words: bounded data with a few lines of text, or why not in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from mcp.types import INTERNAL_ERROR, INVALID_PARAMS, CallToolResult, TextContent

from mcp import MCPError
from memorybook import tools
from memorybook.errors import InvalidInput, MemoryBookError, NotFound
from memorybook.mcp import tool_catalog
from memorybook.mcp.summaries import brief
from memorybook.mcp.truncate import bounded, writable
from memorybook.memory import Memory
from memorybook.search.snippets import marked

_LONGEST = 1_000
"""Characters of an error."""


def called(memory: Callable[[], Memory], name: str, arguments: Mapping[str, Any]) -> CallToolResult:
    """Call the tool; what it raises on purpose becomes an error that the model can act on."""
    try:
        answer = tools.call(memory(), name, arguments, for_model=True)
    except MemoryBookError as error:
        return refused(str(error))
    return answered(tool_catalog.once(name, answer))


def answered(answer: dict[str, Any]) -> CallToolResult:
    """An answer, bounded.

    Its lines stand between the markers of recalled text, so that a host's transcript brings them back to no book.
    """
    shown = bounded(answer)
    return CallToolResult(content=[TextContent(type="text", text=marked(brief(shown)))], structured_content=shown)


def refused(sentence: str, *lines: str) -> CallToolResult:
    """An error of the tool, not of the protocol: the sentence says what is wrong and what would do.

    Lines of the book below it are marked as those of an answer are.
    """
    told = _short(sentence)
    if lines:
        told += "\n" + str(writable(marked("\n".join(lines))))
    return CallToolResult(content=[TextContent(type="text", text=told)], is_error=True)


def _short(sentence: str) -> str:
    """The sentence, for a value that it quotes may be as long as a caller likes: its beginning and its end."""
    told = str(writable(sentence))
    return told if len(told) <= _LONGEST else f"{told[: _LONGEST // 2]}…{told[-_LONGEST // 2 :]}"


@contextmanager
def refusals() -> Iterator[None]:
    """Where no tool is called, what is raised on purpose becomes an error of the protocol with the same sentence."""
    try:
        yield
    except MemoryBookError as error:
        code = INVALID_PARAMS if isinstance(error, InvalidInput | NotFound) else INTERNAL_ERROR
        raise MCPError(code=code, message=_short(str(error))) from error
