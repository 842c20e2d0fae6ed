"""Pydantic AI over a book: the files of the harness's `Memory` are documents; the memory tools as a toolset."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Collection
from typing import Any

from memorybook.agent.toolset import AgentTool, tools_of
from memorybook.errors import Conflict, InvalidInput, MemoryBookError, MissingExtra
from memorybook.frameworks import empty_if_missing
from memorybook.frameworks.memory_tool import VersionedFiles
from memorybook.memory import Memory

try:
    from pydantic_ai import FunctionToolset, ModelRetry, Tool
    from pydantic_ai_harness import memory as harness
except ImportError:
    raise MissingExtra("Pydantic AI is not installed: pip install 'memorybook[pydantic-ai-harness]'") from None


class BookStore:
    """A `MemoryStore` of the harness, with search and metadata, in a folder of an open memory's book."""

    def __init__(self, memory: Memory, *, folder: str = "agents") -> None:
        self._files = VersionedFiles(memory, folder, host="pydantic-ai")

    async def read(self, path: str, *, max_chars: int) -> Any:
        """Return the file with its text up to so many characters; None if there is none."""
        if max_chars <= 0:
            raise InvalidInput(f"max_chars {max_chars} is below 1")
        file = await to_thread(self._files.read, path)
        return file and harness.MemoryFile(file.text[:max_chars], *file[1:3], len(file.text) > max_chars, file.metadata)

    async def get_operation(self, operation: Any) -> Any:
        """Return what came of the operation when it was carried out; None if it was not."""
        try:
            found = await to_thread(self._files.receipt, operation)
        except Conflict as error:
            raise harness.MemoryOperationConflictError(str(error)) from error
        return found and harness.MemoryMutation(found.version, replayed=True, existed=found.existed)

    async def write_with_metadata(
        self, path: str, content: str | None, *, expected_version: str | None, metadata: Any, operation: Any = None
    ) -> Any:
        """Write the file if that is its version, once for each operation; what is kept has no secrets."""
        if operation and (before := await self.get_operation(operation)):
            return before
        try:
            made = await to_thread(self._files.write, path, content, expected_version, operation, metadata)
        except Conflict as error:
            if operation and (before := await self.get_operation(operation)):  # it was asked twice at once
                return before
            raise harness.MemoryConflictError(str(error)) from error
        return harness.MemoryMutation(made.version, replayed=False, existed=made.existed)

    async def write(self, path: str, content: str, **how: Any) -> Any:
        """Return the same without metadata."""
        return await self.write_with_metadata(path, content, metadata=None, **how)

    async def delete(self, path: str, **how: Any) -> Any:
        """Take the file away, as `write` does."""
        return await self.write_with_metadata(path, None, metadata=None, **how)

    async def list_paths(self, prefix: str = "", *, limit: int) -> list[str]:
        """Return the paths that begin so, sorted."""
        if limit <= 0:
            raise InvalidInput(f"limit {limit} is below 1")
        return (await to_thread(self._files.names, prefix))[:limit]

    async def search(
        self, prefix: str, query: str, *, limit: int, max_files: int, max_chars: int, max_file_chars: int
    ) -> Any:
        """Return the files right below the prefix that the book's search finds, each with what it says of the query."""
        if not query.strip() or min(limit, max_files, max_chars, max_file_chars) <= 0:
            return harness.MemorySearchResult([], 0, truncated=False)
        found = await to_thread(self._files.search, prefix, query, limit=limit + 1, most=max_files)
        matches: list[Any] = []
        for path, hit in found.hits[:limit]:
            if (max_chars := max_chars - len(path.removeprefix(prefix))) <= 0:
                break
            matches.append(harness.MemorySearchMatch(path, hit.snippet[:max_chars], hit.relevance))
            max_chars -= len(matches[-1].snippet)
        return harness.MemorySearchResult(matches, found.files, truncated=found.left or len(found.hits) > len(matches))


def book_tools(memory: Memory, names: Collection[str] | None = None) -> FunctionToolset[Any]:
    """Return the memory tools as a toolset for an agent: those of these names, else all but `memory_purge`."""
    return FunctionToolset([*map(_tool, tools_of(empty_if_missing(memory), names=names))], id="memorybook")


def _tool(tool: AgentTool) -> Tool[Any]:
    async def called(**arguments: Any) -> str:
        try:
            return str(await to_thread(tool.call, arguments))
        except MemoryBookError as error:
            raise ModelRetry(str(error)) from error

    return Tool.from_schema(called, tool.schema.name, tool.schema.description, dict(tool.schema.parameters))
