"""The adapter over pydantic-ai, run where that is installed."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from conformance.llm import ASKED, FACTS, SEARCH, Item, LLMConformance, as_text
from memorybook.config.settings import LLMSettings
from memorybook.errors import ConfigError, LLMFailed
from memorybook.inference.llm import open_llm, open_model
from memorybook.protocols import LLM

pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")


def test_a_model_that_it_does_not_know_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"llm\.model 'nobody:knows'"):
        open_llm(LLMSettings(model="pydantic-ai/nobody:knows"))


def test_its_own_test_model_fills_a_form() -> None:
    llm: Any = open_llm(LLMSettings(model="pydantic-ai/test"))
    try:
        assert isinstance(llm.complete(ASKED, form=FACTS).data, list)
        assert llm.name == "pydantic-ai/test"
    finally:
        llm.close()
        llm.close()


class Scripted(LLMConformance):
    """A FunctionModel of pydantic-ai that answers with the items."""

    mode = "auto"

    @pytest.fixture
    def items(self) -> list[Item]:
        return []

    @pytest.fixture
    def seen(self) -> list[Any]:
        return []

    @pytest.fixture
    def llm(self, items: list[Item], seen: list[Any]) -> Iterator[LLM]:
        from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
        from pydantic_ai.models.function import FunctionModel

        def answer(messages: Any, info: Any) -> Any:
            seen.append((messages, info))
            item = items.pop(0)
            if item is None:
                raise OSError("the line is dead")
            if isinstance(item, dict) and info.output_tools:
                return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, item, "t1")])
            if isinstance(item, list):
                return ModelResponse(parts=[ToolCallPart(name, json.dumps(given), "t1") for name, given in item])
            return ModelResponse(parts=[TextPart(as_text(item))])

        llm = open_model(
            FunctionModel(answer),
            LLMSettings(model="pydantic-ai/function", mode=self.mode, timeout=10, temperature=0.3),
        )
        yield llm
        llm.close()

    @pytest.fixture
    def script(self, items: list[Item]) -> Callable[[Sequence[Item]], None]:
        return items.extend


class TestByTool(Scripted):
    def test_messages_calls_and_results_are_handed_over(
        self, llm: LLM, script: Callable[[Sequence[Item]], None], seen: list[Any]
    ) -> None:
        script([[("search", {"query": "茶"})], "ok"])
        first = llm.complete(ASKED, tools=[SEARCH], max_tokens=70)
        result = {"role": "tool", "tool_call_id": "t1", "content": "喜欢绿茶"}
        llm.complete([*ASKED, first.message(), result], tools=[SEARCH])
        messages, info = seen[1]
        kinds = [part.part_kind for message in messages for part in message.parts]
        assert kinds == ["system-prompt", "user-prompt", "tool-call", "tool-return"]
        assert messages[-1].parts[0].content == "喜欢绿茶"
        assert messages[-1].parts[0].tool_name == "search"
        assert info.function_tools[0].name == "search"
        assert seen[0][1].model_settings["max_tokens"] == 70
        assert seen[0][1].model_settings["temperature"] == 0.3

    def test_it_works_inside_a_running_loop(self, llm: LLM, script: Callable[[Sequence[Item]], None]) -> None:
        async def inside() -> str:
            return llm.complete(ASKED).text

        script(["ok"])
        assert asyncio.run(inside()) == "ok"


class TestPrompted(Scripted):
    mode = "prompted"


class TestBySchema(Scripted):
    mode = "json_schema"


def test_one_that_takes_too_long_is_left() -> None:
    from pydantic_ai.models.function import FunctionModel

    async def slow(messages: Any, info: Any) -> Any:
        await asyncio.sleep(30)

    llm = open_model(FunctionModel(slow), LLMSettings(model="m", timeout=0.2))
    began = time.monotonic()
    try:
        with pytest.raises(LLMFailed, match=r"did not answer within 0\.2 seconds"):
            llm.complete(ASKED)
    finally:
        llm.close()
    assert time.monotonic() - began < 5
