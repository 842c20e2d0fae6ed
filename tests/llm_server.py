"""A loopback language model that speaks OpenAI's wire and Anthropic's, by address, and misbehaves to order.

Answers are the same for both: `say`, `call`, `fill`; whatever else may go wrong is in `inference.server`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from inference import server
from inference.server import Answer, Handler, Service
from memorybook.config.settings import LLMSettings
from memorybook.text.tokens import query_words

KEY = server.KEY
MODEL = "qwen3-8b"

Call = tuple[str, str, Any]
"""Id, tool, arguments: an object, or text that should be one."""


@contextmanager
def serve() -> Iterator[Service]:
    """A model that says `ok` unless its script says otherwise."""
    with server.serve(MODEL) as service:
        service.usual = say("ok")
        yield service


def settings(service: Service, wire: str, **more: Any) -> LLMSettings:
    """Settings for that wire of the service."""
    base_url = service.url if wire == "openai" else service.url.removesuffix("/v1") + "/anthropic"
    return LLMSettings(base_url=base_url, api_key=KEY, model=MODEL, timeout=10.0)._replace(**more)


def say(text: str, *, cut: bool = False, usage: tuple[int, int] | None = (11, 7)) -> Answer:
    """Text, and how many tokens it took; None counts none."""
    return lambda handler, body: _answer(handler, body, text, [], cut, usage)


def call(*calls: Call, text: str = "", cut: bool = False) -> Answer:
    """Calls of tools, with some text before them."""
    return lambda handler, body: _answer(handler, body, text, list(calls), cut, (11, 7))


def fill(data: Any, *, cut: bool = False) -> Answer:
    """The form in the way that it was asked for: as a call if tools were sent, else as text. Text is given as it is."""

    def answer(handler: Handler, body: dict[str, Any]) -> None:
        if body.get("tools"):
            _answer(handler, body, "", [("t1", _names(body)[0], data)], cut, (11, 7))
        else:
            text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
            _answer(handler, body, text, [], cut, (11, 7))

    return answer


def refusing(*features: str) -> Answer:
    """A server that refuses whatever request uses one of these features, and says ok to others."""

    def answer(handler: Handler, body: dict[str, Any]) -> None:
        used = [feature for feature in features if feature in body]
        if used:
            refusal = {"error": {"message": f"{used[0]} is not supported by this server", "code": 400}}
            handler.reply(400, json.dumps(refusal).encode())
        else:
            fill({"facts": ["plain"]})(handler, body)

    return answer


def quoting(handler: Handler, body: dict[str, Any]) -> None:
    """A model that knows what it is shown: it quotes the line of its prompt that has most words of the question.

    A line that only asks tells it nothing.
    """
    messages = body["messages"]
    if "response_format" in body:
        from agent.model import extracting  # here, since Hermes Agent has a package of that name, too

        return fill(extracting(messages))(handler, body)
    asked = _words(str(messages[-1]["content"]))
    lines = [line.removeprefix("- ") for line in str(messages[0]["content"]).splitlines() if line.startswith("- ")]
    lines = [line for line in lines if not line.endswith(("?", "？"))]
    best = max(lines, key=lambda line: len(asked & _words(line)), default="")
    chinese = any("\u4e00" <= letter <= "\u9fff" for letter in str(messages[-1]["content"]))
    known, noted = ("我记得：{}", "好的。") if chinese else ("I remember: {}", "I see.")
    return say(known.format(best) if asked & _words(best) else noted)(handler, body)


def _words(text: str) -> set[str]:
    return {word for word in query_words(text) if len(word) > (3 if word.isascii() else 1)}


def _names(body: Mapping[str, Any]) -> list[str]:
    return [tool.get("function", tool)["name"] for tool in body["tools"]]


def _is_anthropic(handler: Handler) -> bool:
    return handler.path.partition("?")[0].endswith("/messages")


def _answer(
    handler: Handler,
    body: dict[str, Any],
    text: str,
    calls: list[Call],
    cut: bool,
    usage: tuple[int, int] | None,
) -> None:
    anthropic = _is_anthropic(handler)
    if body.get("stream"):
        events = _anthropic_events(text, calls, cut, usage) if anthropic else _openai_events(text, calls, cut, usage)
        handler.reply(200, "".join(events).encode(), "text/event-stream")
    else:
        found = _anthropic(text, calls, cut, usage) if anthropic else _openai(text, calls, cut, usage)
        handler.reply(200, json.dumps(found).encode())


def _written(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _openai(text: str, calls: list[Call], cut: bool, usage: tuple[int, int] | None) -> dict[str, Any]:
    made = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": _written(arguments)}}
        for id, name, arguments in calls
    ]
    message = {"role": "assistant", "content": text or None} | ({"tool_calls": made} if made else {})
    reason = "length" if cut else "tool_calls" if made else "stop"
    found: dict[str, Any] = {"choices": [{"index": 0, "message": message, "finish_reason": reason}]}
    if usage:
        found["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    return found


def _anthropic(text: str, calls: list[Call], cut: bool, usage: tuple[int, int] | None) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    blocks += [{"type": "tool_use", "id": id, "name": name, "input": arguments} for id, name, arguments in calls]
    reason = "max_tokens" if cut else "tool_use" if calls else "end_turn"
    found: dict[str, Any] = {"type": "message", "role": "assistant", "content": blocks, "stop_reason": reason}
    if usage:
        found["usage"] = {"input_tokens": usage[0] - 3, "cache_read_input_tokens": 3, "output_tokens": usage[1]}
    return found


def _halves(text: str) -> list[str]:
    half = (len(text) + 1) // 2
    return [part for part in (text[:half], text[half:]) if part]


def _openai_events(text: str, calls: list[Call], cut: bool, usage: tuple[int, int] | None) -> Iterator[str]:
    deltas: list[dict[str, Any]] = [{"content": part} for part in _halves(text)]
    for index, (id, name, arguments) in enumerate(calls):
        first, *rest = _halves(_written(arguments)) or [""]
        deltas.append({"tool_calls": [{"index": index, "id": id, "function": {"name": name, "arguments": first}}]})
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": part}}]} for part in rest]
    yield ": keep-alive\n\n"
    for delta in deltas:
        yield f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta, 'finish_reason': None}]})}\n\n"
    last: dict[str, Any] = {"choices": [{"index": 0, "delta": {}, "finish_reason": "length" if cut else "stop"}]}
    yield f"data: {json.dumps(last)}\n\n"
    if usage:
        counts = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
        yield f"data: {json.dumps({'choices': [], 'usage': counts})}\n\n"
    yield "data: [DONE]\n\n"


def _anthropic_events(text: str, calls: list[Call], cut: bool, usage: tuple[int, int] | None) -> Iterator[str]:
    def event(kind: str, **more: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n"

    counted = usage or (0, 0)
    yield event("message_start", message={"role": "assistant", "content": [], "usage": {"input_tokens": counted[0]}})
    yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    for part in _halves(text):
        yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": part})
    yield event("ping")
    for index, (id, name, arguments) in enumerate(calls, 1):
        yield event("content_block_start", index=index, content_block={"type": "tool_use", "id": id, "name": name})
        for part in _halves(_written(arguments)):
            yield event("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": part})
        yield event("content_block_stop", index=index)
    reason = "max_tokens" if cut else "end_turn"
    yield event("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": counted[1]})
    yield event("message_stop")
