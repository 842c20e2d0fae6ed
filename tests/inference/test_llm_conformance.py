"""Every language model against the one suite: both wires in every mode, functions, scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

import llm_server
from conformance.llm import Item, LLMConformance, as_text
from inference.server import Answer, Service, status
from memorybook.errors import LLMFailed
from memorybook.formats.llm_messages import Reply, ToolCall
from memorybook.inference.llm import as_llm, open_llm
from memorybook.protocols import LLM
from memorybook.testing import ScriptedLLM


def answer(item: Item) -> Answer:
    if item is None:
        return status(401)
    if isinstance(item, list):
        return llm_server.call(*((f"t{at}", name, arguments) for at, (name, arguments) in enumerate(item)))
    return llm_server.say(item) if isinstance(item, str) else llm_server.fill(item)


@pytest.fixture(scope="module")
def running() -> Iterator[Service]:
    with llm_server.serve() as service:
        yield service


class OverHTTP(LLMConformance):
    wire, mode = "openai", "auto"

    @pytest.fixture
    def service(self, running: Service) -> Service:
        running.script.clear()
        return running

    @pytest.fixture
    def llm(self, service: Service) -> Iterator[LLM]:
        llm: Any = open_llm(llm_server.settings(service, self.wire, mode=self.mode))
        yield llm
        llm.close()

    @pytest.fixture
    def script(self, service: Service) -> Callable[[Sequence[Item]], None]:
        return lambda items: service.script.extend(map(answer, items))


class TestOpenAIWithSchema(OverHTTP):
    wire, mode = "openai", "json_schema"


class TestOpenAIWithTool(OverHTTP):
    wire, mode = "openai", "tool"


class TestOpenAIPrompted(OverHTTP):
    wire, mode = "openai", "prompted"


class TestAnthropic(OverHTTP):
    wire, mode = "anthropic", "auto"


class TestAnthropicPrompted(OverHTTP):
    wire, mode = "anthropic", "prompted"


class TestCallable(LLMConformance):
    @pytest.fixture
    def items(self) -> list[Item]:
        return []

    @pytest.fixture
    def llm(self, items: list[Item]) -> LLM:
        def model(messages: list[dict[str, Any]]) -> str | dict[str, Any]:
            item = items.pop(0)
            if item is None:
                raise OSError("the line is dead")
            return item if isinstance(item, dict) else as_text(item)

        return as_llm(model)

    @pytest.fixture
    def script(self, items: list[Item]) -> Callable[[Sequence[Item]], None]:
        return items.extend


class TestScripted(LLMConformance):
    @pytest.fixture
    def llm(self) -> ScriptedLLM:
        return ScriptedLLM()

    @pytest.fixture
    def script(self, llm: ScriptedLLM) -> Callable[[Sequence[Item]], None]:
        def scripted(item: Item) -> str | dict[str, Any] | Reply | Exception:
            if item is None:
                return LLMFailed("out of order")
            if isinstance(item, list):
                return Reply(tool_calls=tuple(ToolCall("t1", name, arguments) for name, arguments in item))
            return item

        return lambda items: llm.script.extend(map(scripted, items))
