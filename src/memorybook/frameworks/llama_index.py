"""A memory block for LlamaIndex's `Memory`: remembers what leaves its window, adds what is known to the prompt."""

from __future__ import annotations

from asyncio import sleep, to_thread
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from memorybook.errors import MissingExtra
from memorybook.frameworks import empty_if_missing
from memorybook.memory import Memory

try:
    from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
    from llama_index.core.bridge.pydantic import Field
    from llama_index.core.memory import BaseMemoryBlock
    from llama_index.core.memory import Memory as Window
except ImportError:
    raise MissingExtra(
        "memory blocks need the package llama-index-core: pip install 'memorybook[llama-index]'"
    ) from None

_ENDING: dict[str, object] = {}
"""Who ends the talk of a session just now."""


class BookMemoryBlock(BaseMemoryBlock[str]):
    """A block for `Memory.from_defaults(memory_blocks=[…])`, over an open memory; while that is off it is empty.

    Attributes:
        memory: An open memory.
        max_tokens: Size of what comes into the prompt, at least 1; None takes 2,000.
        name: What the block is called in the prompt.
        priority: As for every block; 0 never leaves it out.
    """

    memory: Memory = Field(exclude=True)
    max_tokens: int | None = None
    name: str = "long_term_memory"

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        """Return what is known about the user's last message, see `Memory.recall`; "" if nothing is."""
        said = [message.content or "" for message in messages or () if message.role == "user"]
        if not self.memory.config.enabled:
            return ""
        recall = empty_if_missing(self.memory).recall
        return (await to_thread(recall, said[-1] if said else "", max_tokens=self.max_tokens)).text

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Keep messages as turns of their session and remember what was said, see `Memory.process_session_end`."""
        said = [message for message in messages if message.content or _calls(message)]
        if said and self.memory.config.enabled:
            session = said[0].additional_kwargs.get("session_id")
            now = self.memory.book.now().isoformat()
            told: list[Mapping[str, Any]] = [
                {"role": str(message.role.value), "content": message.content or "", "tool_calls": _calls(message)}
                | {"id": uuid4().hex, "timestamp": now}
                for message in said
            ]
            await to_thread(self.memory.process_session_end, told, session)

    async def aend(self, window: Window) -> None:
        """Remember what is still in the window of a chat's memory; it is empty then. For the end of a talk."""
        session, store, claim = window.session_id, window.sql_store, object()
        while _ENDING.setdefault(session, claim) is not claim:  # who takes messages out at the same time gets the same
            await sleep(0.01)
        try:
            if left := await store.archive_oldest_messages(session, n=await store.count_messages(session)):
                await self.aput(left, session_id=session)
        finally:
            del _ENDING[session]


def _calls(message: ChatMessage) -> list[Mapping[str, Any]]:
    called = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
    return [{"id": each.tool_call_id, "name": each.tool_name, "arguments": each.tool_kwargs} for each in called]
