"""A host and its person: the protocol's own client, in both of its eras."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest
from mcp import Client, MCPError
from mcp.types import CallToolResult, ElicitResult

import memorybook
from memorybook.config import Config
from memorybook.memory import Memory
from memorybook.servers.mcp import build

T = TypeVar("T")

CONFIG = Config(timezone="UTC")


class Person:
    """Who is asked, and says yes, leaves the tick out, says no, or goes away."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.asked: list[str] = []

    async def __call__(self, context: Any, params: Any) -> ElicitResult:
        self.asked.append(params.message)
        if self.word == "away":
            return ElicitResult(action="cancel")
        if self.word == "no":
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content={"forget": self.word == "yes"})


class Host:
    """Talks to the server of a memory, one connection for each piece of work."""

    def __init__(self, memory: Callable[[], Memory], mode: str) -> None:
        self.server = build(memory)
        self.mode = mode

    def do(self, work: Callable[[Client], Awaitable[T]], person: Person | None = None) -> T:
        """What the work brings; raises MCPError as the work does."""

        async def connected() -> T | MCPError:
            async with Client(self.server, mode=self.mode, elicitation_callback=person) as client:
                try:
                    return await work(client)
                except MCPError as error:  # out of here it would come in a group of errors
                    return error

        found = anyio.run(connected)
        if isinstance(found, MCPError):
            raise found
        return found

    def call(self, name: str, **arguments: Any) -> CallToolResult:
        """What the tool answers; a `person` among the arguments is who is asked."""
        person = arguments.pop("person", None)
        return self.do(lambda client: client.call_tool(name, arguments), person)

    def answer(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Its structured answer, which the client has held against its schema."""
        result = self.call(name, **arguments)
        assert not result.is_error, result.content
        return structured(result)


def structured(result: CallToolResult) -> dict[str, Any]:
    """The structured answer that a result has."""
    assert isinstance(result.structured_content, dict)
    return result.structured_content


def text_of(result: CallToolResult) -> str:
    """The one text that a result has."""
    [content] = result.content
    assert content.type == "text"
    return content.text


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with memorybook.open(str(tmp_path / "book"), config=CONFIG, door="mcp") as opened:
        yield opened


@pytest.fixture(params=["auto", "legacy"])
def host(request: pytest.FixtureRequest, memory: Memory) -> Host:
    """A host of either era."""
    return Host(lambda: memory, request.param)
