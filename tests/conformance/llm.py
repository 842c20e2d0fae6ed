"""What every language model promises. A test module subclasses `LLMConformance` and says how to make a model answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from memorybook.config.settings import Budget
from memorybook.errors import BudgetSpent, InvalidInput, LLMFailed
from memorybook.formats.llm_messages import Form, Reply, ToolSchema, Usage
from memorybook.inference.structured_output import Metered
from memorybook.protocols import LLM

ASKED = [{"role": "system", "content": "You keep memories."}, {"role": "user", "content": "我喜欢绿茶 and oolong."}]


def read_facts(found: Any) -> list[str]:
    if not isinstance(found, dict) or not isinstance(found.get("facts"), list):
        raise ValueError("'facts' must be a list")
    if any(not isinstance(fact, str) or not fact for fact in found["facts"]):
        raise ValueError("each of 'facts' must be a text")
    return list(found["facts"])


SCHEMA = {
    "type": "object",
    "properties": {"facts": {"type": "array", "items": {"type": "string"}}},
    "required": ["facts"],
    "additionalProperties": False,
}
FACTS = Form("save_facts", "What to remember.", SCHEMA, read_facts)
SEARCH = ToolSchema("search", "Search the memory.", {"type": "object", "properties": {"query": {"type": "string"}}})
CLOCK = ToolSchema("clock", "The time.", {"type": "object", "properties": {}})

Item = str | dict[str, Any] | list[tuple[str, dict[str, Any]]] | None
"""One answer: text; a filled form; calls of tools; None for a failure."""


class LLMConformance:
    """The suite; `script` makes the model answer its next requests with these items."""

    @pytest.fixture
    def llm(self) -> LLM:
        raise NotImplementedError

    @pytest.fixture
    def script(self) -> Callable[[Sequence[Item]], None]:
        raise NotImplementedError

    def test_it_answers_with_text(self, llm: LLM, script: Callable[[Sequence[Item]], None]) -> None:
        script(["好的, tea it is."])
        reply = llm.complete(ASKED)
        assert (reply.text, reply.data, reply.tool_calls, reply.cut) == ("好的, tea it is.", None, (), False)

    def test_usage_counts_what_went_in_and_out(self, llm: LLM, script: Callable[[Sequence[Item]], None]) -> None:
        script(["All good."])
        usage = llm.complete(ASKED).usage
        assert (usage.calls, usage.failed) == (1, 0)
        assert 0 < usage.input_tokens < 200
        assert 0 < usage.output_tokens < 50
        assert usage.seconds >= 0

    def test_a_form_comes_back_as_its_value(self, llm: LLM, script: Callable[[Sequence[Item]], None]) -> None:
        script([{"facts": ["用户喜欢绿茶", "likes oolong"]}])
        assert llm.complete(ASKED, form=FACTS).data == ["用户喜欢绿茶", "likes oolong"]

    def test_an_answer_that_does_not_fit_is_asked_for_once_more(
        self, llm: LLM, script: Callable[[Sequence[Item]], None]
    ) -> None:
        script([{"facts": "tea"}, {"facts": ["tea"]}])
        reply = llm.complete(ASKED, form=FACTS)
        assert reply.data == ["tea"]
        assert (reply.usage.calls, reply.usage.failed) == (2, 1)

    def test_two_answers_that_do_not_fit_are_a_failure_that_holds_its_usage(
        self, llm: LLM, script: Callable[[Sequence[Item]], None]
    ) -> None:
        script([{"facts": "tea"}, {"facts": [1]}])
        with pytest.raises(LLMFailed, match="each of 'facts' must be a text") as caught:
            llm.complete(ASKED, form=FACTS)
        assert caught.value.usage is not None
        assert (caught.value.usage.calls, caught.value.usage.failed) == (2, 2)
        assert caught.value.usage.tokens > 0

    @pytest.mark.parametrize(
        "text",
        [
            '```json\n{"facts": ["tea"],}\n```',
            "Sure! {'facts': ['tea']} Anything else?",
            "{“facts”：[“tea”]}",
            '{"facts": ["tea"]',
            '<think>{"facts": ["no"]}</think>{"facts": ["tea"]}',
        ],
    )
    def test_almost_json_is_read(self, llm: LLM, script: Callable[[Sequence[Item]], None], text: str) -> None:
        script([text])
        reply = llm.complete(ASKED, form=FACTS)
        assert (reply.data, reply.usage.calls) == (["tea"], 1)

    @pytest.mark.parametrize(
        "text",
        [
            "I will remember that you like tea.",
            '{"facts": ["tea", "the user is aller',
            '{"facts": ["tea"], "score": NaN}',
            '{"facts": ["tea"], "score": 1e999}',
            '{"facts": ' + "[" * 200_000,
            '{"facts": ' + "[" * 200_000 + "]" * 200_000 + "}",
            '{"facts": ["tea"], "more": ' + "9" * 5000 + "}",
        ],
        ids=["prose", "half", "nan", "1e999", "open nesting", "nesting", "digits"],
    )
    def test_nonsense_is_refused_however_often_it_comes(
        self, llm: LLM, script: Callable[[Sequence[Item]], None], text: str
    ) -> None:
        script([text, text])
        with pytest.raises(LLMFailed, match="cannot be used"):
            llm.complete(ASKED, form=FACTS)

    def test_tools_are_called(self, llm: LLM, script: Callable[[Sequence[Item]], None]) -> None:
        script([[("search", {"query": "茶 tea"})]])
        reply = llm.complete(ASKED, tools=[SEARCH, CLOCK])
        assert [(call.name, dict(call.arguments)) for call in reply.tool_calls] == [("search", {"query": "茶 tea"})]
        assert reply.tool_calls[0].id

    def test_a_conversation_goes_on_after_a_call(self, llm: LLM, script: Callable[[Sequence[Item]], None]) -> None:
        script([[("search", {"query": "tea"})], "Green tea."])
        first = llm.complete(ASKED, tools=[SEARCH])
        result = {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "likes green tea"}
        assert llm.complete([*ASKED, first.message(), result], tools=[SEARCH]).text == "Green tea."

    def test_tools_may_be_left_alone(self, llm: LLM, script: Callable[[Sequence[Item]], None]) -> None:
        script(["No need to look."])
        reply = llm.complete(ASKED, tools=[SEARCH])
        assert (reply.text, reply.tool_calls) == ("No need to look.", ())

    @pytest.mark.parametrize("choice", ["required", "search"])
    def test_a_call_that_was_demanded_is_asked_for_again(
        self, llm: LLM, script: Callable[[Sequence[Item]], None], choice: str
    ) -> None:
        script(["No.", [("search", {})]])
        reply = llm.complete(ASKED, tools=[SEARCH, CLOCK], tool_choice=choice)
        assert [call.name for call in reply.tool_calls] == ["search"]

    def test_a_tool_that_does_not_exist_is_never_called(
        self, llm: LLM, script: Callable[[Sequence[Item]], None]
    ) -> None:
        script([[("delete_all", {})], [("delete_all", {})]])
        with pytest.raises(LLMFailed, match=r"there is no tool 'delete_all'|no tool was called"):
            llm.complete(ASKED, tools=[SEARCH], tool_choice="required")

    def test_an_empty_answer_is_a_failure(self, llm: LLM, script: Callable[[Sequence[Item]], None]) -> None:
        script(["", " \n"])
        with pytest.raises(LLMFailed, match="it is empty"):
            llm.complete(ASKED)

    def test_a_failure_counts_as_a_call(self, llm: LLM, script: Callable[[Sequence[Item]], None]) -> None:
        script([None])
        with pytest.raises(LLMFailed) as caught:
            llm.complete(ASKED)
        assert caught.value.usage is not None
        assert (caught.value.usage.calls, caught.value.usage.failed) == (1, 1)

    def test_what_cannot_be_asked_is_refused_and_asks_nothing(
        self, llm: LLM, script: Callable[[Sequence[Item]], None]
    ) -> None:
        script([])
        with pytest.raises(InvalidInput, match="no messages"):
            llm.complete([])
        with pytest.raises(InvalidInput, match="'robot'"):
            llm.complete([{"role": "robot", "content": "hi"}])
        with pytest.raises(InvalidInput, match="the role None"):
            llm.complete(["hi"])  # type: ignore[list-item]
        with pytest.raises(InvalidInput, match="form and tools"):
            llm.complete(ASKED, form=FACTS, tools=[SEARCH])
        with pytest.raises(InvalidInput, match="'clock' is not among"):
            llm.complete(ASKED, tools=[SEARCH], tool_choice="clock")

    def test_any_text_can_be_sent(self, llm: LLM, script: Callable[[Sequence[Item]], None]) -> None:
        script(["ok"])
        hostile = [
            {"role": "user", "content": "\udc80 caf\u00e9 \0 \ud800 \ufeff\r\n🙂"},
            {"role": "user", "content": ""},
        ]
        assert llm.complete(hostile).text == "ok"

    def test_what_comes_back_holds_no_lone_surrogates(self, llm: LLM, script: Callable[[Sequence[Item]], None]) -> None:
        script(['{"facts": ["half \\ud83d a smile"]}', "half \ud83d a smile"])
        assert llm.complete(ASKED, form=FACTS).data == ["half \ufffd a smile"]
        assert "\ud83d" not in llm.complete(ASKED).text

    def test_what_it_thought_aloud_is_not_its_answer(self, llm: LLM, script: Callable[[Sequence[Item]], None]) -> None:
        script(["<think>\n嗯, tea?\n</think>\n\n绿茶."])
        assert llm.complete(ASKED).text == "绿茶."

    def test_what_is_no_json_cannot_be_sent(self, llm: LLM, script: Callable[[Sequence[Item]], None]) -> None:
        script(["ok"])
        circle: list[Any] = []
        circle.append(circle)
        for part in ({1, 2}, object(), circle):
            with pytest.raises(InvalidInput, match="must be JSON"):
                llm.complete([{"role": "user", "content": [part]}])

    def test_a_stream_gives_the_text_and_then_the_reply(
        self, llm: LLM, script: Callable[[Sequence[Item]], None]
    ) -> None:
        script(["Green tea, 绿茶."])
        pieces, reply = streamed(llm)
        assert "".join(pieces) == reply.text == "Green tea, 绿茶."
        assert reply.usage.calls == 1
        assert reply.usage.tokens > 0

    def test_a_budget_holds_for_second_asks_too(self, llm: LLM, script: Callable[[Sequence[Item]], None]) -> None:
        script([{"facts": "tea"}, {"facts": ["tea"]}])
        recorded: list[Usage] = []
        metered = Metered(llm, Budget(calls_per_operation=1), record=recorded.append)
        with pytest.raises(BudgetSpent, match=r"llm\.budget\.calls_per_operation"):
            metered.complete(ASKED, form=FACTS)
        assert metered.usage.calls == 1
        assert [usage.calls for usage in recorded] == [1]

    def test_threads_share_it(self, llm: LLM, script: Callable[[Sequence[Item]], None]) -> None:
        script(["ok"] * 8)
        texts: list[str] = []
        threads = [threading.Thread(target=lambda: texts.append(llm.complete(ASKED).text)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert texts == ["ok"] * 8

    def test_the_name_stays_and_holds_no_key(self, llm: LLM) -> None:
        assert llm.name
        assert "sk-" not in llm.name


def streamed(llm: Any, **options: Any) -> tuple[list[str], Reply]:
    """The pieces, and the reply that the stream returned."""
    pieces: list[str] = []
    stream = llm.stream(ASKED, **options)
    while True:
        try:
            pieces.append(next(stream))
        except StopIteration as end:
            reply: Reply = end.value
            return pieces, reply


def as_text(item: Item) -> str:
    """An item as a model writes it that has nothing but text."""
    if isinstance(item, list):
        return "\n".join(json.dumps({"name": name, "arguments": arguments}) for name, arguments in item)
    return item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
