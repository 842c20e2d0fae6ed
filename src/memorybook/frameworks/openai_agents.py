"""The OpenAI Agents SDK over a book: sessions whose items are turns, and the memory tools."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Collection, Mapping
from typing import Any

from memorybook.agent.toolset import AgentTool, tools_of
from memorybook.errors import InvalidInput, MissingExtra
from memorybook.formats.messages_json import content_of, role_of
from memorybook.frameworks import empty_if_missing
from memorybook.frameworks.external_session import HostedItem, HostedSession
from memorybook.memory import Memory
from memorybook.results import Memorized

try:
    from agents import FunctionTool, SessionSettings
except ImportError:
    raise MissingExtra("sessions need the package openai-agents: pip install 'memorybook[openai-agents]'") from None


class BookSession:
    """A conversation of the SDK (its `Session` protocol), kept in the book: found, recalled and remembered.

    Args:
        session_id: The conversation's name; the same one goes on with it, in any process.
        memory: An open memory.
        session_settings: Its `limit` is how many items `get_items` gives, the latest ones; None gives all.
    """

    def __init__(self, session_id: str, memory: Memory, *, session_settings: SessionSettings | None = None) -> None:
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()
        self._kept = HostedSession(memory, session_id, host="openai-agents")

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the items in order; with a limit, or one in the settings, only the latest so many (below 0: all)."""
        last = self.session_settings.limit if limit is None else limit
        return await to_thread(self._kept.items, None if last is None or last < 0 else last)

    async def add_items(self, items: list[Any]) -> None:
        """Add items at the end; on disk when this returns, with secrets masked."""
        await to_thread(self._kept.add, [_item(each) for each in items])

    async def pop_item(self) -> Any:
        """Take away the last item; None if there is none."""
        return await to_thread(self._kept.pop)

    async def clear_session(self) -> None:
        """Take away all items; what was remembered of them stays."""
        await to_thread(self._kept.clear)

    async def close(self) -> Memorized:
        """Remember what was said, as at the end of a session; it may go on afterwards."""
        return await to_thread(self._kept.end)

    async def __aenter__(self) -> BookSession:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def book_tools(memory: Memory, names: Collection[str] | None = None) -> list[FunctionTool]:
    """Return the memory tools for an agent's `tools`: those of these names, else all but `memory_purge`."""
    return [_function(tool) for tool in tools_of(empty_if_missing(memory), names=names)]


def _function(tool: AgentTool) -> FunctionTool:
    async def invoked(context: Any, arguments: str) -> str:
        return await to_thread(tool.answer, arguments)

    schema = tool.schema
    return FunctionTool(schema.name, schema.description, dict(schema.parameters), invoked, strict_json_schema=False)


def _item(data: Mapping[str, Any]) -> HostedItem:
    """Return an item of the Responses API with what of it is said."""
    if not isinstance(data, Mapping):
        raise InvalidInput(f"an item is an object of the Responses API, not {type(data).__name__}")
    kind = str(data.get("type") or "message")
    if kind == "message":
        return HostedItem(data, content_of(data.get("content"))[0], role_of(data.get("role")))
    if kind.endswith("_output"):
        return HostedItem(data, content_of(data.get("output"))[0], "tool")
    if not kind.endswith("_call"):
        return HostedItem(data, "", "assistant")
    call = {"id": data.get("call_id"), "name": data.get("name") or kind, "arguments": data.get("arguments")}
    return HostedItem(data, "", "assistant", tool_calls=(call,))
