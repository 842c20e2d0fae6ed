"""LangChain over a book: the memory tools for its agents, and a retriever that is the book's search."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from memorybook.agent.toolset import AgentTool, tools_of
from memorybook.errors import MemoryBookError, MissingExtra
from memorybook.frameworks import empty_if_missing
from memorybook.memory import Memory

try:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import StructuredTool, ToolException
except ImportError:
    raise MissingExtra("tools need the package langchain-core: pip install 'memorybook[langchain]'") from None


def book_tools(memory: Memory, names: Collection[str] | None = None) -> list[StructuredTool]:
    """Return the memory tools for `bind_tools` and agents: those of these names, else all but `memory_purge`.

    What a tool refuses comes back as a message of status `error` that says why.
    """
    return [_tool(tool) for tool in tools_of(empty_if_missing(memory), names=names)]


def _tool(tool: AgentTool) -> StructuredTool:
    def called(**arguments: Any) -> str:
        try:
            return str(tool.call(arguments))
        except MemoryBookError as error:
            raise ToolException(str(error)) from error

    told = tool.schema
    return StructuredTool(
        name=told.name,
        description=told.description,
        args_schema=dict(told.parameters),
        func=called,
        handle_tool_error=True,
    )


class BookRetriever(BaseRetriever):
    """What `Memory.search` finds, as documents: the whole passage, and as metadata all else that is told of a hit.

    Each field but `memory` may be given to `invoke` too. Raises as `Memory.search`.

    Attributes:
        memory: An open memory.
        k: At most this many, 1..200; None takes the setting `max_results`.
        min_score, category, since, until, session: As for `Memory.search`.
    """

    memory: Memory
    k: int | None = None
    min_score: float | None = None
    category: str | None = None
    since: str | None = None
    until: str | None = None
    session: str | None = None

    def _get_relevant_documents(self, query: str, *, run_manager: Any, **given: Any) -> list[Document]:
        fields = {name: getattr(self, name) for name in ("k", "min_score", "category", "since", "until", "session")}
        options = fields | given
        answer = empty_if_missing(self.memory).search(query, max_results=options.pop("k"), **options)
        found = []
        for hit in answer.hits:
            told = {name: value for name, value in hit.json().items() if name != "snippet" and value is not None}
            found.append(Document(page_content=hit.passage.text, metadata=told))
        return found
