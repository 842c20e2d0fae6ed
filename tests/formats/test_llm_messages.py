from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from memorybook.formats.llm_messages import Reply, ToolCall, Usage

USAGES = st.builds(Usage, *[st.integers(0, 1000)] * 4, st.integers(0, 100).map(float))


@given(USAGES, USAGES, USAGES)
def test_usage_adds_up_in_any_order(first: Usage, second: Usage, third: Usage) -> None:
    assert first + second == second + first
    assert (first + second) + third == first + (second + third)
    assert first + Usage() == first
    assert (first + second).tokens == first.tokens + second.tokens


def test_usage_as_json() -> None:
    found = Usage(2, 1, 30, 4, 0.12345).json()
    assert found == {"calls": 2, "failed": 1, "input_tokens": 30, "output_tokens": 4, "seconds": 0.123}


def test_a_reply_continues_the_conversation() -> None:
    assert Reply("好").message() == {"role": "assistant", "content": "好"}
    message = Reply("", None, (ToolCall("t1", "search", {"query": "茶"}),)).message()
    assert message["tool_calls"][0]["id"] == "t1"
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"query": "茶"}
