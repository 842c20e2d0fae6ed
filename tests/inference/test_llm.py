from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import llm_server
from conformance.llm import ASKED, CLOCK, FACTS, SCHEMA, SEARCH, streamed
from inference import server
from inference.server import KEY, Answer, Handler, Service, raw, status
from llm_server import MODEL, call, fill, refusing, say, serve
from memorybook.config.settings import LLMSettings
from memorybook.errors import LLMFailed, MissingExtra
from memorybook.formats.llm_messages import Form
from memorybook.inference.llm import open_llm
from memorybook.inference.structured_output import LanguageModel

WIRES = pytest.mark.parametrize("wire", ["openai", "anthropic"])
STRICT = {
    "type": "json_schema",
    "json_schema": {"name": "save_facts", "description": "What to remember.", "schema": SCHEMA},
}


@pytest.fixture
def service() -> Iterator[Service]:
    with serve() as running:
        yield running


@contextmanager
def opened(service: Service, wire: str = "openai", **more: Any) -> Iterator[LanguageModel]:
    llm = open_llm(llm_server.settings(service, wire, **more))
    assert isinstance(llm, LanguageModel)
    try:
        yield llm
    finally:
        llm.close()


def failure(llm: LanguageModel, **options: Any) -> LLMFailed:
    with pytest.raises(LLMFailed) as caught:
        llm.complete(ASKED, **options)
    return caught.value


# --- opening -------------------------------------------------------------------------------------


def test_without_a_model_there_is_none() -> None:
    assert open_llm(LLMSettings()) is None
    assert open_llm(LLMSettings(base_url="http://127.0.0.1:9/v1", model=" ")) is None


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (LLMSettings(base_url="http://localhost:11434/v1", model="qwen3"), "openai/localhost:11434/qwen3"),
        (LLMSettings(base_url="https://api.anthropic.com", model="claude-x"), "anthropic/api.anthropic.com/claude-x"),
        (LLMSettings(base_url="https://api.deepseek.com/anthropic", model="m"), "anthropic/api.deepseek.com/m"),
        (LLMSettings(base_url="https://host/v1", model="claude-x"), "openai/host/claude-x"),
        (
            LLMSettings(base_url="https://anthropic.com.evil.example/v1", model="m"),
            "openai/anthropic.com.evil.example/m",
        ),
        (LLMSettings(api="anthropic", model="claude-x"), "anthropic/api.anthropic.com/claude-x"),
        (LLMSettings(api="anthropic", base_url="http://host", model="m"), "anthropic/host/m"),
        (LLMSettings(api="openai", base_url="https://api.anthropic.com/v1", model="m"), "openai/api.anthropic.com/m"),
    ],
)
def test_the_wire_is_chosen_by_setting_or_by_address(settings: LLMSettings, name: str) -> None:
    llm = open_llm(settings)
    assert llm is not None
    assert llm.name == name


def test_a_model_of_a_package_that_is_not_installed_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai.exceptions", None)
    with pytest.raises(MissingExtra, match=r"pip install 'memorybook\[pydantic-ai\]'"):
        open_llm(LLMSettings(model="pydantic-ai/openai:gpt-5-mini"))


# --- what is sent --------------------------------------------------------------------------------


def test_a_form_is_asked_for_by_schema(service: Service) -> None:
    service.script = [fill({"facts": ["茶"]})]
    with opened(service, max_tokens=500) as llm:
        assert llm.complete(ASKED, form=FACTS).data == ["茶"]
    strict = {**STRICT, "json_schema": {**STRICT["json_schema"], "strict": True}}  # type: ignore[dict-item]
    assert service.requests == [{"model": MODEL, "messages": ASKED, "max_tokens": 500, "response_format": strict}]
    assert service.headers[0]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
@pytest.mark.parametrize("temperature", [0.0, 0.3, 1.0, None])
@pytest.mark.parametrize("stream", [False, True])
def test_temperature_and_limit_are_sent_as_they_are_set(
    service: Service, wire: str, temperature: float | None, stream: bool
) -> None:
    given = {"max_tokens": 321} | ({} if temperature is None else {"temperature": temperature})
    with opened(service, wire, **given) as llm:
        if stream:
            list(llm.stream(ASKED))
        else:
            llm.complete(ASKED)
    [sent] = service.requests
    assert (sent["max_tokens"], sent.get("temperature")) == (321, temperature)


def test_a_schema_that_leaves_things_open_is_not_called_strict(service: Service) -> None:
    loose = Form("f", "", {"type": "object", "properties": {"a": {"type": "string"}}}, lambda found: found)
    service.script = [fill({"a": "b"})]
    with opened(service) as llm:
        llm.complete(ASKED, form=loose)
    assert "strict" not in service.requests[0]["response_format"]["json_schema"]


def test_a_form_is_asked_for_as_a_tool(service: Service) -> None:
    service.script = [fill({"facts": []}), fill({"facts": []})]
    with opened(service, mode="tool") as llm:
        llm.complete(ASKED, form=FACTS)
    with opened(service, "anthropic") as llm:
        llm.complete(ASKED, form=FACTS)
    function = {"name": "save_facts", "description": "What to remember.", "parameters": SCHEMA}
    assert service.requests[0]["tools"] == [{"type": "function", "function": function}]
    assert service.requests[0]["tool_choice"] == {"type": "function", "function": {"name": "save_facts"}}
    assert service.requests[1] == {
        "model": MODEL,
        "max_tokens": 8192,
        "system": "You keep memories.",
        "messages": [{"role": "user", "content": [{"type": "text", "text": ASKED[1]["content"]}]}],
        "tools": [{"name": "save_facts", "description": "What to remember.", "input_schema": SCHEMA}],
        "tool_choice": {"type": "tool", "name": "save_facts"},
    }
    assert service.headers[1]["x-api-key"] == KEY
    assert service.headers[1]["anthropic-version"] == "2023-06-01"
    assert "authorization" not in service.headers[1]


def test_a_form_is_asked_for_in_words_at_the_end(service: Service) -> None:
    service.script = [fill({"facts": []}), fill({"facts": []})]
    chinese = Form("save_facts", "要记住的内容。", SCHEMA, FACTS.read)
    with opened(service, mode="prompted") as llm:
        llm.complete(ASKED, form=FACTS)
        llm.complete([*ASKED, {"role": "assistant", "content": "好的"}], form=chinese)
    assert "response_format" not in service.requests[0]
    said = service.requests[0]["messages"][-1]["content"]
    assert said.startswith(f"{ASKED[1]['content']}\n\nWhat to remember.\nAnswer with one JSON object")
    assert said.endswith(json.dumps(SCHEMA))
    assert service.requests[1]["messages"][-1]["role"] == "user"
    assert "只回答一个 JSON 对象" in service.requests[1]["messages"][-1]["content"]


@WIRES
def test_the_second_ask_shows_the_answer_and_what_was_wrong(service: Service, wire: str) -> None:
    service.script = [say("用户喜欢茶。"), fill({"facts": ["茶"]})]
    with opened(service, wire) as llm:
        assert llm.complete(ASKED, form=FACTS).data == ["茶"]
    said = json.dumps(service.requests[1]["messages"], ensure_ascii=False)
    assert "用户喜欢茶。" in said
    assert "there is no JSON in it" in said
    assert "Answer with one JSON object" in said
    service.script = [say("用户喜欢茶。"), fill({"facts": ["茶"]})]
    with opened(service, wire) as llm:
        llm.complete(ASKED, form=Form("save_facts", "要记住的内容。", SCHEMA, FACTS.read))
    assert "这个回答不能用" in json.dumps(service.requests[-1]["messages"][-1], ensure_ascii=False)


@pytest.mark.parametrize(
    ("choice", "openai", "anthropic"),
    [
        ("required", "required", {"type": "any"}),
        ("search", {"type": "function", "function": {"name": "search"}}, {"type": "tool", "name": "search"}),
        (None, None, None),
    ],
)
def test_a_tool_can_be_demanded(service: Service, choice: str | None, openai: Any, anthropic: Any) -> None:
    for wire, sent in (("openai", openai), ("anthropic", anthropic)):
        service.script = [call(("t1", "search", {}))]
        with opened(service, wire) as llm:
            llm.complete(ASKED, tools=[SEARCH, CLOCK], tool_choice=choice)
        assert service.requests[-1].get("tool_choice") == sent


def test_calls_and_results_stand_on_anthropics_wire_as_it_wants_them(service: Service) -> None:
    service.script = [call(("t1", "search", {"query": "茶"}), ("t2", "clock", {}), text="Let me see."), say("Green.")]
    with opened(service, "anthropic") as llm:
        first = llm.complete(ASKED, tools=[SEARCH, CLOCK])
        assert first.text == "Let me see."
        results = [
            {"role": "tool", "tool_call_id": c.id, "content": c.name * at} for at, c in enumerate(first.tool_calls)
        ]
        llm.complete([*ASKED, first.message(), *results, {"role": "user", "content": "And?"}], tools=[SEARCH, CLOCK])
    user, assistant, answers = service.requests[1]["messages"]
    assert user["role"] == "user"
    assert [block["type"] for block in assistant["content"]] == ["text", "tool_use", "tool_use"]
    assert assistant["content"][1] == {"type": "tool_use", "id": "t1", "name": "search", "input": {"query": "茶"}}
    assert answers["role"] == "user"
    assert [block["type"] for block in answers["content"]] == ["tool_result", "tool_result", "text"]
    assert answers["content"][0] == {"type": "tool_result", "tool_use_id": "t1", "content": "(nothing)"}


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "assistant", "content": "Hello!"}, {"role": "user", "content": ""}],
        [{"role": "system", "content": "Be short."}],
        [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "t", "function": {"name": "f", "arguments": "{bad"}}],
            }
        ],
    ],
)
def test_anthropics_wire_gets_a_user_first_and_nothing_empty(service: Service, messages: list[dict[str, Any]]) -> None:
    with opened(service, "anthropic") as llm:
        llm.complete(messages)
    turns = service.requests[0]["messages"]
    assert turns[0]["role"] == "user"
    assert all(block.get("text") != "" for turn in turns for block in turn["content"])


@WIRES
def test_parts_of_a_message_are_sent(service: Service, wire: str) -> None:
    with opened(service, wire) as llm:
        llm.complete([{"role": "user", "content": [{"type": "text", "text": "茶"}]}])
    assert service.requests[0]["messages"][0]["content"] == [{"type": "text", "text": "茶"}]


# --- what a server takes is learned --------------------------------------------------------------


@pytest.mark.parametrize(
    ("wire", "refused", "fields", "sent"),
    [
        ("openai", ["response_format", "tools"], "response_format tools", ["10", "01", "00"]),
        ("openai", ["response_format", "tool_choice"], "response_format tools tool_choice", ["100", "011", "010"]),
        ("anthropic", ["tool_choice"], "tools", ["1", "0"]),
    ],
)
def test_a_form_is_asked_for_more_plainly_until_the_server_takes_it(
    service: Service, wire: str, refused: list[str], fields: str, sent: list[str]
) -> None:
    service.usual = refusing(*refused)
    with opened(service, wire) as llm:
        reply = llm.complete(ASKED, form=FACTS)
        assert reply.data == ["plain"]
        assert (reply.usage.calls, reply.usage.failed) == (len(sent), len(sent) - 1)
        assert llm.complete(ASKED, form=FACTS).usage.calls == 1, "it is learned"
    used = ["".join(str(int(name in request)) for name in fields.split()) for request in service.requests]
    assert used == [*sent, sent[-1]]


@pytest.mark.parametrize(
    ("settings", "said", "options"),
    [
        ({}, b"unknown model", {"form": FACTS}),
        ({"mode": "json_schema"}, b"response_format is not supported", {"form": FACTS}),
        ({}, b"registry.ollama.ai/library/gemma does not support tools", {"tools": [SEARCH]}),
        ({"temperature": 0.3}, b"Unsupported value: temperature does not support 0.3", {}),
    ],
)
def test_a_refusal_that_nothing_helps_against_is_reported_and_teaches_nothing(
    service: Service, settings: dict[str, Any], said: bytes, options: dict[str, Any]
) -> None:
    service.usual = status(400, said)
    with opened(service, **settings) as llm:
        assert said.decode() in str(failure(llm, **options))
        service.requests.clear()
        service.usual = fill({"facts": []})
        llm.complete(ASKED, form=FACTS)
    assert "response_format" in service.requests[0]


def test_the_other_name_of_the_limit_is_learned(service: Service) -> None:
    message = b"{\"error\": \"Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.\"}"
    service.script = [status(400, message)]
    with opened(service) as llm:
        assert llm.complete(ASKED, max_tokens=50).text == "ok"
        llm.complete(ASKED, max_tokens=60)
    assert [request.get("max_completion_tokens") for request in service.requests] == [None, 50, 60]
    assert "max_tokens" not in service.requests[1]


@WIRES
def test_a_tool_that_cannot_be_demanded_is_offered(service: Service, wire: str) -> None:
    service.script = [status(400, b"tool_choice does not support being set to required"), call(("t", "search", {}))]
    with opened(service, wire) as llm:
        reply = llm.complete(ASKED, tools=[SEARCH], tool_choice="required")
    assert reply.tool_calls[0].name == "search"
    assert "tool_choice" not in service.requests[1]


# --- what may come back --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        {
            "choices": [
                {"message": {"content": [{"type": "thinking", "thinking": "…"}, {"type": "text", "text": "茶"}]}}
            ]
        },
        {"choices": [{"message": {"content": None, "refusal": "茶"}}], "usage": {"prompt_tokens": "many"}},
        {"choices": [{"message": {"content": "茶", "tool_calls": None, "reasoning_content": "…"}}], "usage": None},
        {
            "choices": [{"message": {"content": "茶", "tool_calls": ["x", {"function": 1}]}}],
            "usage": {"prompt_tokens": -1},
        },
    ],
)
def test_the_ways_in_which_servers_differ_are_taken(service: Service, body: dict[str, Any]) -> None:
    service.script = [raw(json.dumps(body).encode(), "text/plain")]
    with opened(service) as llm:
        reply = llm.complete(ASKED)
    assert reply.text == "茶"
    assert reply.usage.input_tokens > 0


@WIRES
def test_tokens_are_the_servers_or_estimated(service: Service, wire: str) -> None:
    service.script = [say("Fine."), say("Fine.", usage=None)]
    with opened(service, wire) as llm:
        counted, estimated = llm.complete(ASKED).usage, llm.complete(ASKED).usage
    assert (counted.input_tokens, counted.output_tokens) == (11, 7)
    assert 10 < estimated.input_tokens < 40
    assert 0 < estimated.output_tokens < 5


@pytest.mark.parametrize("arguments", ['{"query": "茶', "tea", "[1]", '{"query": NaN}', "null5", 7])
def test_bad_arguments_of_a_call_are_asked_for_again(service: Service, arguments: Any) -> None:
    service.script = [call(("t1", "search", arguments)), call(("t1", "search", "{'query': '茶'}"))]
    with opened(service) as llm:
        reply = llm.complete(ASKED, tools=[SEARCH])
    assert dict(reply.tool_calls[0].arguments) == {"query": "茶"}
    assert (reply.usage.calls, reply.usage.failed) == (2, 1)
    assert "the arguments of search" in service.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize("number", ["NaN", "1e999", "-Infinity"])
def test_numbers_that_are_none_are_asked_for_again_on_anthropics_wire_too(service: Service, number: str) -> None:
    block = '{"type": "tool_use", "id": "t", "name": "save_facts", "input": {"facts": [], "score": 0.7}}'
    body = f'{{"content": [{block}]}}'.replace("0.7", number).encode()
    service.script = [raw(body), fill({"facts": ["茶"]})]
    with opened(service, "anthropic") as llm:
        reply = llm.complete(ASKED, form=FACTS)
    assert (reply.data, reply.usage.failed) == (["茶"], 1)
    assert "out of range" in json.dumps(service.requests[1])


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "save_facts", "arguments": {"facts": ["茶"]}}',
        '{"name": "save_facts", "parameters": {"facts": ["茶"]}}',
        '{"save_facts": {"facts": ["茶"]}}',
        'As [1] says: {"facts": ["茶"]}',
    ],
)
def test_a_form_or_a_call_that_stands_in_the_text_is_found(service: Service, text: str) -> None:
    service.script = [
        say(text),
        say('<tool_call>\n{"name": "search", "arguments": {"query": "茶"}}\n</tool_call>'),
        call(("", "clock", ""), ("", "clock", "{}")),
    ]
    with opened(service) as llm:
        reply = llm.complete(ASKED, form=FACTS)
        assert (reply.data, reply.usage.calls) == (["茶"], 1)
        reply = llm.complete(ASKED, tools=[SEARCH])
        assert (dict(reply.tool_calls[0].arguments), reply.text) == ({"query": "茶"}, "")
        calls = llm.complete(ASKED, tools=[CLOCK]).tool_calls
        assert [(c.id, dict(c.arguments)) for c in calls] == [("call_1", {}), ("call_2", {})]


@WIRES
def test_an_answer_that_was_cut_is_not_taken_for_a_whole_one(service: Service, wire: str) -> None:
    service.script = [
        say('{"facts": ["茶", "tea"]', cut=True),
        say('{"facts": ["茶"]}', cut=True),
        say("half a sen", cut=True),
    ]
    with opened(service, wire) as llm:
        reply = llm.complete(ASKED, form=FACTS)
        assert (reply.data, reply.usage.failed) == (["茶"], 1)
        assert llm.complete(ASKED).cut
    assert "cut off at the limit of tokens" in json.dumps(service.requests[1])


# --- streams -------------------------------------------------------------------------------------


@WIRES
def test_a_stream_comes_in_pieces_with_calls_and_usage(service: Service, wire: str) -> None:
    service.script = [call(("t1", "search", {"query": "茶"}), ("t2", "clock", {}), text="Let me see.")]
    with opened(service, wire) as llm:
        pieces, reply = streamed(llm, tools=[SEARCH, CLOCK])
    assert len(pieces) == 2
    assert "".join(pieces) == reply.text == "Let me see."
    assert [(c.id, c.name, dict(c.arguments)) for c in reply.tool_calls] == [
        ("t1", "search", {"query": "茶"}),
        ("t2", "clock", {}),
    ]
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (11, 7)


@WIRES
def test_a_stream_that_was_cut_says_so_and_one_without_usage_is_estimated(service: Service, wire: str) -> None:
    service.script = [say("half a sen", cut=True, usage=None)]
    with opened(service, wire) as llm:
        reply = streamed(llm)[1]
    assert reply.cut
    assert reply.usage.input_tokens > 0


def test_a_stream_is_tried_again_before_its_first_piece(service: Service, pauses: list[float]) -> None:
    service.usual = refusing("stream_options")
    with opened(service) as llm:
        assert streamed(llm)[1].text, "it need not be counted"
    service.usual, service.script = say("ok"), [status(503), server.cut]
    with opened(service) as llm:
        pieces, reply = streamed(llm)
    assert (pieces, pauses) == (["o", "k"], [0.5, 1.0])
    assert (reply.usage.calls, reply.usage.failed) == (3, 2)


def events(*data: str, end: bool = False) -> Answer:
    body = "".join(f"data: {one}\n\n" for one in (*data, *(["[DONE]"] if end else [])))
    return raw(body.encode(), "text/event-stream")


SOME = json.dumps({"choices": [{"delta": {"content": "half"}}]})


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (events(SOME), "ended its answer in the middle"),
        (events(SOME, "{bad"), "not JSON"),
        (events(SOME, '{"error": {"message": "overloaded"}, "type": "error"}'), "an error: overloaded"),
        (events("[]", end=True), "it is empty"),
        (raw(b" " * 5_000_000, "text/event-stream"), "more than 4,000,000 bytes"),
    ],
)
def test_a_stream_that_breaks_off_is_a_failure(service: Service, answer: Answer, message: str) -> None:
    service.script = [answer]
    with opened(service) as llm, pytest.raises(LLMFailed, match=message) as caught:
        streamed(llm)
    assert caught.value.usage is not None
    assert caught.value.usage.failed == 1


def test_a_stream_may_be_left_before_its_end(service: Service) -> None:
    service.script = [say("a long answer")]
    with opened(service) as llm:
        stream = llm.stream(ASKED)
        assert next(stream)
        stream.close()
        assert llm.complete(ASKED).text == "ok"


def stop(handler: Handler, body: dict[str, Any]) -> None:
    handler.send_response(200)
    handler.end_headers()
    handler.wfile.write(f"data: {SOME}\n\n".encode())
    handler.wfile.flush()
    server.hang(handler, body)


def drip(handler: Handler, body: dict[str, Any]) -> None:
    handler.send_response(200)
    handler.end_headers()
    while not handler.server.released.wait(0.02):
        handler.wfile.write(b": ping\n\n")
        handler.wfile.flush()


@pytest.mark.timeout(10)
@pytest.mark.parametrize("answer", [stop, drip])
def test_a_stream_that_stops_or_never_ends_is_left(service: Service, answer: Answer) -> None:
    service.usual = answer
    with opened(service, timeout=0.1) as llm, pytest.raises(LLMFailed, match=r"did not answer within 0.1 seconds"):
        streamed(llm)
    assert len(service.requests) == 1
