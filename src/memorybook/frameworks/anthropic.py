"""Anthropic's memory tool over a book: the book is `/memories`, in the words of the reference that models know."""

from __future__ import annotations

from asyncio import to_thread
from typing import Any

from memorybook.errors import MemoryBookError, MissingExtra
from memorybook.frameworks.memory_tool import Editor
from memorybook.memory import Memory

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
except ImportError:
    raise MissingExtra("the memory tool needs the package anthropic: pip install 'memorybook[anthropic]'") from None


class BookMemoryTool(BetaAbstractMemoryTool):
    """The memory tool (`memory_20250818`) for `client.beta.messages.tool_runner`, over an open memory.

    Each command that writes is an operation of the book; what the book refuses is a ToolError that says why.
    `options` are those of the base class, such as `cache_control`.
    """

    def __init__(self, memory: Memory, **options: Any) -> None:
        super().__init__(**options)
        self._editor = Editor(memory)

    def execute(self, command: Any) -> str:
        """Carry out a command. Raises ToolError if it cannot be, or while memory is switched off."""
        try:
            return self._editor.run(dict(command))
        except MemoryBookError as error:
            raise ToolError(str(error)) from error

    view = create = str_replace = insert = delete = rename = execute


class AsyncBookMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for AsyncAnthropic; each command is carried out in a thread."""

    def __init__(self, memory: Memory, **options: Any) -> None:
        super().__init__(**options)
        self._tool = BookMemoryTool(memory)

    async def execute(self, command: Any) -> str:
        """Carry out a command, see `BookMemoryTool.execute`."""
        return await to_thread(self._tool.execute, command)

    view = create = str_replace = insert = delete = rename = execute
