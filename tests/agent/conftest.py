from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clock import Clock
from memorybook.agent import AgentSession, Event, Workspace
from memorybook.config.settings import Config
from memorybook.formats.llm_messages import Message
from memorybook.memory import Memory
from memorybook.providers import MemorizeInput, MemorizeResult, window

CONFIG = Config(timezone="UTC", vector_enabled=False)


class Noted:
    """A provider that notes what it is given, and fails to order."""

    name = "noted"

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.failure = ""
        self.closed = False
        self.asked: list[str] = []
        self.given: list[MemorizeInput] = []
        self.answer: str | Exception = ""
        self.refusal = ""
        self.before: Callable[[], Any] = lambda: None

    def recall(self, query: str) -> str:
        self.asked.append(query)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def memorize(self, given: MemorizeInput) -> MemorizeResult:
        self.given.append(given)
        self.before()
        if self.refusal:
            return MemorizeResult(given.last_consolidated, False, self.refusal)
        return MemorizeResult(window(given).after, True)

    def close(self) -> None:
        self.closed = True

    @property
    def taken(self) -> list[list[str]]:
        """What was new in each of the inputs."""
        return [
            [str(message["content"]) for message in given.messages[window(given).start : window(given).end]]
            for given in self.given
        ]


class Place:
    """A workspace, with the clock, the events and the providers of its tenants."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = Clock()
        self.events: list[Event] = []
        self.noted: dict[str, Noted] = {}
        self.opened: list[Workspace] = []

    def workspace(self, *, config: Config = CONFIG, noting: bool = True, **options: Any) -> Workspace:
        if noting:
            options.setdefault("provider", self._noting)
        options = {"clock": self.clock, "on_event": self.events.append, **options}
        self.opened.append(Workspace(str(self.root), config=config, **options))
        return self.opened[-1]

    def _noting(self, memory: Memory) -> Noted:
        self.noted[Path(memory.root).name] = Noted(memory)
        return self.noted[Path(memory.root).name]

    def provider(self, session: AgentSession) -> Noted:
        return self.noted[session.key]

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path / "books")
    yield made
    for workspace in made.opened:
        workspace.close()


def said(text: str, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": text, **more}


def texts(messages: list[Message] | tuple[Message, ...]) -> list[str]:
    return [str(message["content"]) for message in messages]


def talk(session: AgentSession, count: int, start: int = 0) -> None:
    """That many messages, user's and assistant's by turns."""
    for number in range(start, start + count):
        session.add(said(f"message {number}", "assistant" if number % 2 else "user"))
