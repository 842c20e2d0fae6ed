from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.llm import ASKED, FACTS, SCHEMA, SEARCH, streamed
from memorybook.config.settings import Budget
from memorybook.errors import BudgetSpent, InvalidInput, LLMFailed
from memorybook.formats.llm_messages import Form, Message, Reply, ToolCall, ToolSchema, Usage
from memorybook.inference.llm import CallableModel, as_llm
from memorybook.inference.structured_output import Metered, Request, tokens_of
from memorybook.protocols import LLM
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


FREE = Budget(tokens_per_operation=0, calls_per_operation=0)
COST = tokens_of(Request(tuple(ASKED)))


class Plain:
    """A model of somebody's own: no gate, no stream."""

    name = "plain"

    def __init__(self, answer: Reply | Exception) -> None:
        self.answer = answer
        self.calls = 0

    def complete(
        self,
        messages: Sequence[Message],
        *,
        form: Form[Any] | None = None,
        tools: Sequence[ToolSchema] = (),
        tool_choice: str | None = None,
        max_tokens: int | None = None,
    ) -> Reply:
        self.calls += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def metered(llm: Any, budget: Budget, spent: Usage | None = None) -> tuple[Metered, list[Usage]]:
    """With a day in which so much was spent, and what is recorded added to it."""
    recorded: list[Usage] = []
    start = spent or Usage()
    return Metered(llm, budget, spent_today=lambda: sum(recorded, start), record=recorded.append), recorded


def test_within_its_budget_it_is_the_model_it_keeps() -> None:
    llm = ScriptedLLM(["ok", {"facts": ["茶"]}])
    kept, recorded = metered(llm, Budget())
    as_model: LLM = kept
    assert as_model.name == "scripted"
    assert as_model.complete(ASKED, max_tokens=9).text == "ok"
    assert as_model.complete(ASKED, form=FACTS).data == ["茶"]
    assert llm.requests[0].max_tokens == 9
    assert kept.usage == sum(recorded, Usage())
    assert kept.usage.calls == 2


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        (FREE._replace(calls_per_operation=2),
         r"of 2 calls per operation 2 are used; raise llm\.budget\.calls_per_operation, now 2"),
        (FREE._replace(calls_per_day=12),
         r"of 12 calls per day 12 are used; wait for tomorrow \(UTC\), or raise llm\.budget\.calls_per_day"),
        (FREE._replace(tokens_per_operation=3 * COST),
         r"of \d\d tokens per operation \d+ are used and the next call takes about \d+; raise"),
        (FREE._replace(tokens_per_day=1000 + 3 * COST),
         r"of 1,0\d\d tokens per day 1,0\d\d are used .*llm\.budget\.tokens_per_day"),
    ],
)  # fmt: skip
def test_once_it_is_spent_the_model_is_not_asked(budget: Budget, message: str) -> None:
    llm = ScriptedLLM(then="ok")
    kept, recorded = metered(llm, budget, Usage(10, 0, 500, 500, 0.0))
    kept.complete(ASKED)
    kept.complete(ASKED)
    with pytest.raises(BudgetSpent, match=message) as caught:
        kept.complete(ASKED)
    assert len(llm.requests) == 2
    assert caught.value.usage is None
    assert len(recorded) == 2


def test_failures_are_recorded_too() -> None:
    kept, recorded = metered(ScriptedLLM([LLMFailed("down"), "prose", "prose again"]), Budget())
    for _ in range(2):
        with pytest.raises(LLMFailed):
            kept.complete(ASKED, form=FACTS)
    assert [(usage.calls, usage.failed) for usage in recorded] == [(1, 1), (2, 2)]
    assert kept.usage.failed == 3


def test_the_budget_may_end_in_the_middle_of_an_answer_and_what_it_took_is_recorded() -> None:
    llm = ScriptedLLM(["prose", {"facts": []}])
    kept, recorded = metered(llm, Budget(calls_per_operation=1))
    with pytest.raises(BudgetSpent) as caught:
        kept.complete(ASKED, form=FACTS)
    assert len(llm.requests) == 1
    assert caught.value.usage == recorded[0]
    assert (recorded[0].calls, recorded[0].failed) == (1, 1)


def test_a_model_without_a_gate_is_kept_between_its_answers() -> None:
    llm = Plain(Reply("ok", usage=Usage(3, 0, 10, 10, 0.0)))
    kept, _ = metered(llm, Budget(calls_per_operation=3))
    kept.complete(ASKED, tools=[SEARCH])
    with pytest.raises(BudgetSpent):
        kept.complete(ASKED)
    assert llm.calls == 1


@pytest.mark.parametrize("error", [OSError("the line is dead"), LLMFailed("down")])
def test_a_failure_that_does_not_say_what_it_took_counts_its_prompt(error: Exception) -> None:
    kept, recorded = metered(Plain(error), Budget())
    with pytest.raises(LLMFailed, match=str(error)):  # whatever somebody's model raises
        kept.complete(ASKED)
    assert recorded == [Usage(1, 1, COST, 0, 0.0)]


def test_what_cannot_be_recorded_is_counted_once_all_the_same() -> None:
    def full(usage: Usage) -> None:
        raise OSError("the disk is full")

    kept = Metered(ScriptedLLM(["ok"]), Budget(), record=full)
    with pytest.raises(OSError, match="the disk is full"):
        kept.complete(ASKED)
    assert kept.usage.calls == 1


def test_what_could_not_be_asked_took_nothing() -> None:
    kept, recorded = metered(ScriptedLLM(), Budget())
    with pytest.raises(InvalidInput):
        kept.complete([])
    assert recorded == []


def test_a_stream_is_kept_too() -> None:
    kept, recorded = metered(ScriptedLLM(["茶", "tea"]), Budget(calls_per_operation=1))
    assert list(kept.stream(ASKED)) == ["茶"]
    assert [usage.calls for usage in recorded] == [1]
    with pytest.raises(BudgetSpent):
        list(kept.stream(ASKED))


def test_a_stream_that_is_left_before_its_end_counts_its_prompt() -> None:
    kept, recorded = metered(ScriptedLLM(["茶"]), Budget())
    stream = kept.stream(ASKED)
    assert next(stream) == "茶"
    stream.close()
    assert recorded == [Usage(1, 1, COST, 0, 0.0)]


def test_a_model_without_streams_gives_its_text_at_once() -> None:
    kept, recorded = metered(Plain(Reply("tea", usage=Usage(1, 0, 1, 1, 0.0))), Budget())
    assert list(kept.stream(ASKED)) == ["tea"]
    assert recorded == [Usage(1, 0, 1, 1, 0.0)]


def test_threads_lose_no_usage() -> None:
    kept, _ = metered(ScriptedLLM(then="ok"), FREE)
    threads = [threading.Thread(target=lambda: [kept.complete(ASKED) for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert kept.usage.calls == 80


USAGES = st.builds(Usage, *[st.integers(0, 1000)] * 4, st.integers(0, 100).map(float))


@given(USAGES, USAGES, USAGES)
def test_usage_adds_up_in_any_order(first: Usage, second: Usage, third: Usage) -> None:
    assert first + second == second + first
    assert (first + second) + third == first + (second + third)
    assert first + Usage() == first
    assert (first + second).tokens == first.tokens + second.tokens


def test_a_reply_continues_the_conversation() -> None:
    assert Reply("好").message() == {"role": "assistant", "content": "好"}
    message = Reply("", None, (ToolCall("t1", "search", {"query": "茶"}),)).message()
    assert message["tool_calls"][0]["id"] == "t1"
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"query": "茶"}
