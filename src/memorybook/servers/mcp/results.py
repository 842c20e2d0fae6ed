"""What a call of a tool answers in the protocol's words: bounded data with a few lines of text, or one sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mcp.types import CallToolResult, TextContent

from memorybook import tools
from memorybook.errors import MemoryBookError
from memorybook.memory import Memory
from memorybook.servers.mcp.bounds import bounded
from memorybook.servers.mcp.brief import brief


def called(memory: Callable[[], Memory], name: str, arguments: Mapping[str, Any]) -> CallToolResult:
    """Call the tool; what it raises on purpose becomes an error that the model can act on."""
    try:
        answer = tools.call(memory(), name, arguments)
    except MemoryBookError as error:
        return refused(str(error))
    shown = bounded(answer)
    return CallToolResult(content=[TextContent(type="text", text=brief(shown))], structured_content=shown)


def refused(sentence: str) -> CallToolResult:
    """An error of the tool, not of the protocol: the sentence says what is wrong and what would do."""
    text = sentence.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)
