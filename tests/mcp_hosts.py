"""A host and its person: the protocol's own client, in both of its eras."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest
from jsonschema import Draft202012Validator
from mcp.server import MCPServer
from mcp.types import CallToolResult, ElicitResult

import memorybook
from mcp import Client, MCPError
from memorybook.config.settings import Config, StorageSettings
from memorybook.mcp import build
from memorybook.memory import Memory
from memorybook.search.tool_results import CLOSE, OPEN
from memorybook.text.sentences import without_recalled

T = TypeVar("T")

CONFIG = Config(timezone="UTC")

_OPENED: list[Callable[[], Memory]] = []
"""What opens the memory of the host that asks."""


@lru_cache(maxsize=1)
def server() -> MCPServer[Any]:
    """The one server that all hosts ask."""
    return build(lambda: _OPENED[0]())


@pytest.fixture(scope="module", autouse=True)
def _each_schema_is_checked_once() -> Iterator[None]:
    """Each connection has the schema of an answer checked, which takes longer than all else that it does."""
    check, found = Draft202012Validator.check_schema, dict[str, None]()

    def once(schema: Any) -> None:
        if (told := json.dumps(schema, sort_keys=True)) not in found:
            check(schema)
            found[told] = None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Draft202012Validator, "check_schema", once)
        yield


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
        self.memory = memory
        self.mode = mode

    def do(self, work: Callable[[Client], Awaitable[T]], person: Person | None = None) -> T:
        """What the work brings; raises MCPError as the work does."""

        async def connected() -> T | MCPError:
            async with Client(server(), mode=self.mode, elicitation_callback=person) as client:
                try:
                    return await work(client)
                except MCPError as error:  # out of here it would come in a group of errors
                    return error

        _OPENED[:] = [self.memory]
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
    """The one text that a result has; what was found stands between the markers that let capture cut it out."""
    [content] = result.content
    assert content.type == "text"
    if result.is_error:
        return content.text
    assert without_recalled(content.text) == ""
    return content.text.removeprefix(f"{OPEN}\n").removesuffix(f"\n{CLOSE}")


@pytest.fixture
def memory(tmp_path: Path, kept_in: str) -> Iterator[Memory]:
    config = CONFIG._replace(storage=StorageSettings(kept_in))
    with memorybook.open(str(tmp_path / "book"), config=config, door="mcp") as opened:
        yield opened


@pytest.fixture(params=["auto", "legacy"])
def host(request: pytest.FixtureRequest, memory: Memory) -> Host:
    """A host of either era."""
    return Host(lambda: memory, request.param)
