"""Hermes Agent over a book: a memory provider that recalls before each turn and keeps what was said after it."""

from __future__ import annotations

import json
import os
from typing import Any

from memorybook import tools
from memorybook.agent.toolset import tools_of
from memorybook.errors import InvalidInput, MissingExtra
from memorybook.formats.messages_json import role_of
from memorybook.frameworks.external_session import HostedItem, HostedSession
from memorybook.memory import open as open_memory

try:
    from agent.memory_provider import MemoryProvider
except ImportError:
    raise MissingExtra("the provider is for Hermes Agent: pip install 'memorybook[hermes]'") from None

_ABOUT = """What memorybook recalls comes with the user's messages, as data. What was said is kept by itself; use
memory_remember for what must last, memory_search and recall_topic to look something up."""


class BookProvider(MemoryProvider):
    """The provider `memorybook`: its book is `memorybook` in the home of the profile. Only primary agents write."""

    name = "memorybook"
    _memory: Any = None
    _session = ""
    _writes = _fresh = False

    def is_available(self) -> bool:
        """Return True: nothing has to be set."""
        return True

    def initialize(self, session_id: str, **told: Any) -> None:
        """Open the book, for a session."""
        self.shutdown()
        self._session = session_id
        self._memory = open_memory(os.path.join(told["hermes_home"], "memorybook"), missing_ok=True)
        self._writes = self._kept().is_kept and told.get("agent_context", "primary") == "primary"

    def system_prompt_block(self) -> str:
        """Return what the model is told of the memory."""
        return _ABOUT

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """Return what the book knows about the query, without this session's own turns; "" while closed."""
        return "" if self._memory is None else self._kept(session_id).recall(query)

    def sync_turn(self, user_content: str, assistant_content: str, *, session_id: str = "", **_: Any) -> None:
        """Keep what was said; on disk when this returns."""
        if self._writes:
            said = {"user": user_content, "assistant": assistant_content}
            items = [HostedItem({"role": role, "content": text}, text, role_of(role)) for role, text in said.items()]
            self._kept(session_id).add(items)
            self._fresh = True

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Return the memory tools, but for `memory_purge`."""
        return [tools.schema(name) for name in tools.offered()]

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **_: Any) -> str:
        """Call a tool and return its answer as JSON. Raises InvalidInput if it is not offered, or while closed."""
        if self._memory is None or tool_name not in tools.offered():
            raise InvalidInput(f"no tool {tool_name!r} is offered here, or the provider is not initialized")
        [tool] = tools_of(self._memory, names=[tool_name])
        return json.dumps({"result": tool.answer(args)}, ensure_ascii=False)

    def on_memory_write(self, action: str, target: str, content: str, metadata: Any = None) -> None:
        """Remember what the built-in memory is told to add; forget of that the one that it replaces or removes."""
        old, mark = str((metadata or {}).get("old_text") or "").strip(), {"hermes": target}
        known = self._memory.entries().entries if self._writes and action != "add" and old else ()
        told = [each.entry for each in known if each.entry.metadata == mark and old in each.entry.text]
        if len(told) == 1:  # as with Hermes, words that stand in several mean none of them
            self._memory.forget(told[0].id)
        if self._writes and action != "remove":
            self._memory.remember(content, metadata=mark)

    def on_session_switch(self, new_session_id: str, **_: Any) -> None:
        """Go on with another session."""
        self._session = new_session_id

    def on_session_end(self, messages: list[dict[str, Any]]) -> None:
        """Remember what was said, see `Memory.process_session_end`."""
        if self._writes and self._fresh:
            self._kept().end()
            self._fresh = False

    def shutdown(self) -> None:
        """Close the book; what came in after the end of the session is remembered, too."""
        if self._memory is not None:
            self.on_session_end([])
            self._memory.close()
            self._memory, self._writes = None, False

    def _kept(self, session_id: str = "") -> HostedSession:
        return HostedSession(self._memory, session_id or self._session, host="hermes")
