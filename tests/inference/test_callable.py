from __future__ import annotations

from typing import Any

import pytest

from conformance.llm import ASKED, FACTS, SCHEMA, SEARCH, streamed
from memorybook.errors import BudgetSpent, InvalidInput, LLMFailed
from memorybook.formats.llm_messages import Form, Reply, ToolCall, ToolSchema, Usage
from memorybook.inference.llm import CallableModel, as_llm
from memorybook.testing import ScriptedLLM


def test_a_model_is_taken_as_it_is_and_a_function_becomes_one() -> None:
    llm = ScriptedLLM()
    assert as_llm(llm) is llm

    def mine(messages: list[dict[str, Any]]) -> str:
        return str(messages[-1]["content"]).upper()

    assert as_llm(mine).name == "callable/mine"
    assert CallableModel(mine, name="own").name == "own"
    assert as_llm(mine).complete([{"role": "user", "content": "tea"}]).text == "TEA"


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'gpt' is no language model: give a function"):
        as_llm("gpt")  # type: ignore[arg-type]


def test_the_function_is_told_in_words_what_to_fill_in() -> None:
    asked: list[list[dict[str, Any]]] = []

    def model(messages: list[dict[str, Any]]) -> dict[str, Any]:
        asked.append(messages)
        return {"facts": ["茶"]}

    assert as_llm(model).complete(ASKED, form=FACTS).data == ["茶"]
    assert "What to remember.\nAnswer with one JSON object" in asked[0][-1]["content"]
    assert "What to remember" not in str(ASKED)


@pytest.mark.parametrize(
    ("choice", "english", "chinese"),
    [
        (None, "To call a tool", "要调用工具"),
        ("required", "You must call one of them.", "你必须调用一个工具。"),
        ("search", "You must call search.", "你必须调用 search。"),
    ],
)
def test_tools_are_explained_in_their_own_language(choice: str | None, english: str, chinese: str) -> None:
    asked: list[str] = []

    def model(messages: list[dict[str, Any]]) -> str:
        asked.append(messages[-1]["content"])
        return '{"name": "search", "arguments": {"query": "茶"}}'

    for tool in (SEARCH, ToolSchema("search", "搜索记忆。", SEARCH.parameters)):
        reply = as_llm(model).complete(ASKED, tools=[tool], tool_choice=choice)
        assert dict(reply.tool_calls[0].arguments) == {"query": "茶"}
    assert english in asked[0]
    assert chinese in asked[1]


def test_a_reply_is_taken_with_its_calls_usage_and_data() -> None:
    usage = Usage(1, 0, 100, 20, 9.0)
    llm = as_llm(lambda messages: Reply("", None, (ToolCall("t1", "search", {"query": "茶"}),), usage, True))
    reply = llm.complete(ASKED, tools=[SEARCH])
    assert reply.tool_calls == (ToolCall("t1", "search", {"query": "茶"}),)
    assert (reply.usage.calls, reply.usage.input_tokens, reply.usage.output_tokens) == (1, 100, 20)
    assert reply.cut
    assert as_llm(lambda messages: Reply(data={"facts": ["茶"]})).complete(ASKED, form=FACTS).data == ["茶"]


@pytest.mark.parametrize("answer", [{"facts": [float("nan")]}, {"facts": [float("inf")]}])
def test_a_dict_is_believed_no_more_than_text(answer: dict[str, Any]) -> None:
    anything = Form("f", "", SCHEMA, lambda found: found)
    with pytest.raises(LLMFailed, match="is not a number"):
        as_llm(lambda messages: answer).complete(ASKED, form=anything)


@pytest.mark.parametrize("answer", [None, 7, b"tea", {"facts": {1, 2}}])
def test_what_is_no_answer_is_a_failure_of_the_function(answer: Any) -> None:
    with pytest.raises(LLMFailed, match=r"the language model 'callable/<lambda>' failed \(TypeError"):
        as_llm(lambda messages: answer).complete(ASKED)


def test_what_the_function_raises_is_a_failure_that_counts() -> None:
    def broken(messages: list[dict[str, Any]]) -> str:
        raise OSError("the line is dead")

    with pytest.raises(LLMFailed, match=r"OSError: the line is dead") as caught:
        as_llm(broken).complete(ASKED)
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.usage is not None
    assert (caught.value.usage.calls, caught.value.usage.failed) == (1, 1)


def test_a_spent_budget_of_its_own_is_passed_on() -> None:
    def spent(messages: list[dict[str, Any]]) -> str:
        raise BudgetSpent("no more today")

    with pytest.raises(BudgetSpent, match="no more today"):
        as_llm(spent).complete(ASKED)


def test_a_stream_is_one_piece() -> None:
    assert streamed(as_llm(lambda messages: "茶 tea"))[0] == ["茶 tea"]
    with pytest.raises(LLMFailed, match="it is empty"):
        streamed(as_llm(lambda messages: ""))
