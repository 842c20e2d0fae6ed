"""Documents, entries and turns as MCP resources, whole, for a person to attach."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import anyio.to_thread
from mcp.server import MCPServer
from mcp.types import Annotations, Resource

from memorybook.mcp.responses import refusals, writable

if TYPE_CHECKING:
    from memorybook.formats.document import DocumentInfo
    from memorybook.memory import Memory

_NEWEST = 10
"""Daily notes, and summaries, that are listed."""


class Resources:
    """What the book holds, by address: `memory://PATH`, `memory://entry/ID`, `memory://turn/ID`."""

    def __init__(self, memory: Callable[[], Memory]) -> None:
        self._memory = memory

    def add_templates(self, server: MCPServer[Any]) -> None:
        """Tell the server how each kind is addressed; the first template that fits an address is taken."""
        plain = "text/plain"
        server.resource("memory://entry/{id}", name="entry", title="Entry", mime_type=plain)(self.entry)
        server.resource("memory://turn/{+id}", name="turn", title="Turn of a conversation", mime_type=plain)(self.turn)
        server.resource("memory://{+path}", name="document", title="Document", mime_type="text/markdown")(self.document)

    def document(self, path: str) -> str:
        """A document of the book, such as MEMORY.md or daily/2026-02-24.md."""
        return self._read(lambda memory: memory.document(path).text)

    def entry(self, id: str) -> str:
        """The statement of an entry."""
        if id.endswith(".md"):  # a document in a folder of that name
            return self.document(f"entry/{id}")
        return self._opened(id, lambda answer: answer["entry"]["text"])

    def turn(self, id: str) -> str:
        """What was said in a turn: its id, or SESSION/ID."""
        if id.endswith(".md"):
            return self.document(f"turn/{id}")
        return self._opened(f"turn:{id}", lambda answer: answer["text"])

    def _opened(self, target: str, text: Callable[[dict[str, Any]], str]) -> str:
        return self._read(lambda memory: text(memory.get(target).json()))

    def _read(self, look: Callable[[Memory], str]) -> str:
        with refusals():
            memory = self._memory()
            memory.config.check_enabled()
            text: str = writable(look(memory))
            return text

    async def newest(self) -> list[Resource]:
        """MEMORY.md, the newest daily notes, the newest summaries; nothing while memory is switched off."""
        return await anyio.to_thread.run_sync(self._listed)

    def _listed(self) -> list[Resource]:
        with refusals():
            memory = self._memory()
            if not memory.config.enabled:
                return []
            documents = sorted(memory.book.documents.list(), key=lambda info: info.path, reverse=True)
        first = [info for info in documents if info.path == "MEMORY.md"]
        days = [info for info in documents if info.path.startswith("daily/")]
        talks = [info for info in documents if info.path.startswith("sessions/")]
        return [_resource(info) for info in (*first, *days[:_NEWEST], *talks[:_NEWEST])]


def _resource(info: DocumentInfo) -> Resource:
    changed = datetime.fromtimestamp(info.modified, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Resource(
        uri="memory://" + quote(info.path.encode("utf-8", "surrogateescape")),
        name=writable(info.path),
        mime_type="text/markdown",
        size=info.size,
        annotations=Annotations(last_modified=changed, priority=1.0 if info.path == "MEMORY.md" else 0.5),
    )
