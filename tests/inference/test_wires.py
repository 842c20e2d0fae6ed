"""Whatever JSON a server sends, a wire makes an answer of it or refuses it; nothing else happens."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.llm import ASKED, CLOCK, FACTS, SEARCH
from memorybook.formats.llm_messages import Usage
from memorybook.inference.http_client import Response
from memorybook.inference.llm import AnthropicWire, Dialect, Draft, Wire
from memorybook.inference.structured_output import Raw, Request, reply_of, tokens_of

WIRES: list[Wire] = [Wire(), AnthropicWire()]
BOTH = pytest.mark.parametrize("wire", WIRES, ids=["openai", "anthropic"])

KEYS = st.sampled_from(
    "choices message content text tool_calls function name arguments id index delta finish_reason usage error type "
    "prompt_tokens completion_tokens input_tokens output_tokens input stop_reason content_block partial_json".split()
)
LEAVES = (
    st.none() | st.booleans() | st.integers(-2, 12) | st.sampled_from(["", "茶", "search", "tool_use", "text", "{"])
)
ANYTHING = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=25
)
MESSAGES = st.fixed_dictionaries(
    {}, optional={"content": ANYTHING, "tool_calls": ANYTHING, "refusal": ANYTHING, "function": ANYTHING}
)
ANSWERS = (
    ANYTHING
    | st.fixed_dictionaries({"choices": st.lists(st.fixed_dictionaries({"message": MESSAGES | ANYTHING}), max_size=2)})
    | st.fixed_dictionaries({"content": st.lists(ANYTHING, max_size=4)})
)
REFUSALS = ["tool_choice", "max_completion_tokens", "response_format", "does not support tools", "stream_options"]
TOOLS = Request(tuple(ASKED), tools=(SEARCH, CLOCK))
FORM = Request(tuple(ASKED), form=FACTS)


@BOTH
@given(found=ANSWERS)
def test_any_answer_is_read_or_refused(wire: Wire, found: Any) -> None:
    with suppress(ValueError):
        raw = wire.answer(found)
        for request in (TOOLS, FORM):
            with suppress(ValueError):
                assert reply_of(raw, request, Usage()).usage == Usage()


@BOTH
@given(events=st.lists(ANYTHING | st.fixed_dictionaries({"choices": st.lists(ANYTHING)}), max_size=4))
def test_any_event_is_read_or_refused(wire: Wire, events: list[Any]) -> None:
    draft = Draft()
    texts: list[str] = []
    with suppress(ValueError):
        texts += [wire.piece(event, draft) for event in events]
    raw = draft.whole("".join(texts))
    assert isinstance(raw, Raw)
    with suppress(ValueError):
        reply_of(raw, TOOLS, Usage())


@BOTH
@pytest.mark.parametrize("mode", ["json_schema", "tool", "prompted"])
@given(status=st.sampled_from([400, 404, 422, 500, 501, 503]), said=st.text() | st.sampled_from(REFUSALS))
def test_what_a_server_takes_is_conceded_in_finitely_many_steps(wire: Wire, mode: str, status: int, said: str) -> None:
    for request in (TOOLS, FORM, Request(tuple(ASKED), tools=(SEARCH,), tool_choice="required")):
        dialect: Dialect | None = Dialect(mode)
        steps = 0
        while dialect is not None:
            json.dumps(wire.body(request, dialect, "m"))
            dialect = wire.concede(dialect, request, Response(status, said.encode("utf-8", "replace")))
            steps += 1
        assert steps <= 6


@BOTH
def test_a_call_may_have_any_index(wire: Wire) -> None:
    call = {"index": [], "id": "t", "function": {"name": "clock", "arguments": "{}"}}
    draft = Draft()
    wire.piece({"choices": [{"delta": {"tool_calls": [call]}}]}, draft)
    wire.piece({"index": {}, "content_block": {"type": "tool_use", "id": "t", "name": "clock"}}, draft)
    assert [one.name for one in draft.whole("").calls] == ["clock"]


def test_estimates_count_all_that_is_sent() -> None:
    plain = tokens_of(Request(tuple(ASKED)))
    assert tokens_of(FORM) > plain
    assert tokens_of(TOOLS) > plain
    call = {"id": "t", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    assert tokens_of(Request((*ASKED, {"role": "assistant", "content": None, "tool_calls": [call]}))) > plain
