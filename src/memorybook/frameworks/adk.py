"""Google's Agent Development Kit over a book: a memory service whose events are turns, and the memory tools."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from typing import Any

from memorybook.agent.toolset import AgentTool, tools_of
from memorybook.errors import InvalidInput, MissingExtra
from memorybook.formats.messages_json import role_of
from memorybook.frameworks import empty_if_missing
from memorybook.frameworks.external_session import HostedItem, UserMemory
from memorybook.memory import Memory

try:
    from google.adk.memory import base_memory_service as base
    from google.adk.tools.base_tool import BaseTool
    from google.genai import types
except ImportError:
    raise MissingExtra("the memory service needs the package google-adk: pip install 'memorybook[adk]'") from None


class BookMemoryService(base.BaseMemoryService):
    """A memory service for a `Runner`: events are turns; `memory_of` gives the open memory of an app and its user."""

    def __init__(self, memory_of: Callable[[str, str], Memory], *, limit: int = 10) -> None:
        if not callable(memory_of):
            raise InvalidInput("every user has a book: give a function of app name and user id, not a memory")
        self._memory_of, self._limit = memory_of, limit

    async def add_session_to_memory(self, session: Any) -> None:
        """Keep the events that are new and remember what was said, see `Memory.process_session_end`."""
        user = {"app_name": session.app_name, "user_id": session.user_id}
        await self.add_events_to_memory(events=session.events, session_id=session.id, **user)
        await to_thread(self._of(**user).session(session.id).end)

    async def add_events_to_memory(self, *, events: Sequence[Any], session_id: str | None = None, **of: Any) -> None:
        """Keep the events that are new; they are remembered with their session, or once it is idle."""
        items = [_item(event) for event in events if event.content and event.content.parts]
        await to_thread(self._of(**of).keep, session_id or "", items)

    async def add_memory(self, *, app_name: str, user_id: str, memories: Sequence[base.MemoryEntry], **_: Any) -> None:
        """Add an entry of each memory's text."""
        for each in memories:
            await to_thread(self._of(app_name, user_id).remember, _text(each.content), each.custom_metadata)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> base.SearchMemoryResponse:
        """Return at most `limit` events as they were said, and entries and pieces of documents as text; best first."""
        found = await to_thread(self._of(app_name, user_id).search, query, limit=self._limit)
        contents = [types.Content.model_validate(one.item or {"parts": [{"text": one.text}]}) for one in found]
        memories = [
            base.MemoryEntry(content=content, id=one.id, author=one.speaker, timestamp=one.time)
            for one, content in zip(found, contents, strict=True)
        ]
        return base.SearchMemoryResponse(memories=memories)

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Forget an event or an entry; adding its session again does not bring it back."""
        await to_thread(self._of(app_name, user_id).forget, memory_id or "")

    def _of(self, app_name: str, user_id: str, **_: Any) -> UserMemory:
        return UserMemory(self._memory_of(app_name, user_id), "adk", (app_name, user_id))


class BookTool(BaseTool):
    """One of the memory tools."""

    def __init__(self, tool: AgentTool) -> None:
        super().__init__(name=tool.schema.name, description=tool.schema.description)
        self._tool = tool

    def _get_declaration(self) -> types.FunctionDeclaration:
        told = dict(self._tool.schema.parameters)
        return types.FunctionDeclaration(name=self.name, description=self.description, parameters_json_schema=told)

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> str:
        """Return what the tool answers, or `Error: …`."""
        return await to_thread(self._tool.answer, args)


def book_tools(memory: Memory, names: Collection[str] | None = None) -> list[BookTool]:
    """Return the memory tools for an agent, over all of the book: those of these names, else all but `memory_purge`."""
    return [BookTool(tool) for tool in tools_of(empty_if_missing(memory), names=names)]


def _item(event: Any) -> HostedItem:
    parts, data = event.content.parts, event.content.model_dump(mode="json", exclude_none=True)
    calls = tuple(part.function_call.model_dump(mode="json") for part in parts if part.function_call)
    role = role_of("tool" if any(part.function_response for part in parts) else event.content.role)
    said = datetime.fromtimestamp(event.timestamp, UTC)
    return HostedItem(data, _text(event.content), role, event.author, calls, event.id, said)


def _text(content: types.Content) -> str:
    return " ".join(part.text for part in content.parts or () if part.text and not part.thought)
