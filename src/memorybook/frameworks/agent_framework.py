"""Microsoft Agent Framework over a book: recalled context, conversations kept as turns, the memory tools."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Collection, Sequence
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from memorybook.agent.toolset import AgentTool, tools_of
from memorybook.entries.read import Mask
from memorybook.errors import MissingExtra
from memorybook.formats.messages_json import role_of
from memorybook.frameworks import empty_if_missing
from memorybook.frameworks.external_session import HostedItem, HostedSession
from memorybook.memory import Memory
from memorybook.results import Memorized

try:
    import agent_framework as af
except ImportError:
    raise MissingExtra("Agent Framework is not installed: pip install 'memorybook[agent-framework]'") from None


class BookHistory(af.HistoryProvider):
    """The messages of each session as turns of the book; a session goes on in any process. `flags` are the base's."""

    def __init__(self, memory: Memory, source_id: str = "memorybook_history", **flags: Any) -> None:
        super().__init__(source_id, **flags)
        self.memory = memory

    def session(self, session_id: str | None) -> HostedSession:
        """Return the conversation as the book has it; without an id the one that has none."""
        return HostedSession(self.memory, session_id or "", host="agent-framework")

    async def get_messages(self, session_id: str | None, **more: Any) -> list[af.Message]:
        """Return all messages of the session, in order."""
        return [af.Message.from_dict(each) for each in await to_thread(self.session(session_id).items)]

    async def save_messages(self, session_id: str | None, messages: Sequence[af.Message], **more: Any) -> None:
        """Add those that are new, one with a `message_id` once; on disk when this returns, with secrets masked."""
        known = await self.get_messages(session_id)
        said = [af.Message.from_dict(Mask(self.memory.context).json(each.to_dict())) for each in messages]
        state = {"messages": known}
        await af.InMemoryHistoryProvider().save_messages(session_id, said, state=state)  # it says which are new
        await to_thread(self.session(session_id).add, [*map(_item, state["messages"][len(known) :])])


class BookContext(af.ContextProvider):
    """Context provider: adds relevant memory before each run, and stores what was said after it.

    What is kept is remembered by `end`, or once the session is idle. While memory is switched off it does nothing.
    `max_tokens` is the size of what comes into the prompt, at least 1; None takes 2,000.
    """

    def __init__(self, memory: Memory, source_id: str = "memorybook", *, max_tokens: int | None = None) -> None:
        super().__init__(source_id)
        self._max_tokens = max_tokens
        self._history = BookHistory(memory)

    async def before_run(self, *, context: Any, **run: Any) -> None:
        """Add the recalled block as a message; it is marked as data."""
        said = "\n".join(message.text for message in context.input_messages if message.role == "user")
        recall = self._history.session(context.session_id).recall
        if block := await to_thread(recall, said, max_tokens=self._max_tokens):
            context.extend_messages(self, [af.Message("user", [block])])

    async def after_run(self, *, agent: Any, context: Any, **run: Any) -> None:
        """Keep what was said, where no `BookHistory` of the agent does so in this book."""
        histories = [each for each in getattr(agent, "context_providers", ()) if isinstance(each, BookHistory)]
        done = any(each.memory is self._history.memory for each in histories)
        if not done and self._history.session(context.session_id).is_kept:
            await self._history.after_run(agent=agent, context=context, **run)

    async def end(self, session: af.AgentSession) -> Memorized:
        """Remember what was said in a session, see `Memory.process_session_end`; it may go on afterwards."""
        return await to_thread(self._history.session(session.session_id).end)


def book_tools(memory: Memory, names: Collection[str] | None = None) -> list[af.FunctionTool]:
    """Return the memory tools for an agent's `tools`: those of these names, else all but `memory_purge`."""
    return [_tool(tool) for tool in tools_of(empty_if_missing(memory), names=names)]


def _tool(tool: AgentTool) -> af.FunctionTool:
    def called(**arguments: Any) -> str:
        return tool.answer(arguments)

    schema = {"name": tool.schema.name, "description": tool.schema.description}
    return af.FunctionTool(**schema, func=called, input_model=dict(tool.schema.parameters))


def _item(message: af.Message) -> HostedItem:
    said = [message.text, *(str(each.result) for each in message.contents if each.type == "function_result")]
    calls = (each for each in message.contents if each.type == "function_call")
    told = tuple({"id": each.call_id, "name": each.name, "arguments": each.arguments} for each in calls)
    # one that has an id is kept once, however many runs save it; but some servers give everything the same id
    id = str(uuid5(NAMESPACE_OID, message.to_json())) if message.message_id else ""
    return HostedItem(message.to_dict(), "\n".join(said).strip(), role_of(message.role), tool_calls=told, id=id)
