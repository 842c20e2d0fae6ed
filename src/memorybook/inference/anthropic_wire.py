"""Anthropic's `/v1/messages`, as Anthropic and servers that imitate it speak it.

Pure functions between requests, bodies and answers. A form is asked for as a tool that must be called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memorybook.inference.almost_json import values
from memorybook.inference.structured_output import Raw, RawCall, spelled_out
from memorybook.inference.wire import Dialect, Draft, check, count, named, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memorybook.formats.llm_messages import Message
    from memorybook.inference.http_client import Response
    from memorybook.inference.structured_output import Request

TAIL = "v1/messages"
BASE_URL = "https://api.anthropic.com"

_VERSION = "2023-06-01"
_MAX_TOKENS = 8192  # the wire wants a number; every model in use takes this one
_NO_TOOLS = (b"tool_choice", b"tool", b"thinking")


def headers(key: str) -> dict[str, str]:
    """Of every request."""
    return {"anthropic-version": _VERSION} | ({"x-api-key": key} if key else {})


def body(request: Request, dialect: Dialect, model: str, *, stream: bool = False) -> dict[str, Any]:
    """What to post."""
    form = request.form
    words = request.spelled or (form is not None and dialect.mode == "prompted")
    messages = spelled_out(request) if words else request.messages
    sent: dict[str, Any] = {
        "model": model,
        "max_tokens": request.max_tokens or _MAX_TOKENS,
        "messages": _turns([message for message in messages if message["role"] != "system"]),
    }
    system = "\n\n".join(filter(None, (text_of(m.get("content")) for m in messages if m["role"] == "system")))
    if system:
        sent["system"] = system
    if dialect.temperature is not None:
        sent["temperature"] = dialect.temperature
    if form and dialect.mode != "prompted":
        sent["tools"] = [_tool(form.name, form.description, form.schema)]
        sent["tool_choice"] = {"type": "tool", "name": form.name}
    elif request.tools:
        sent["tools"] = [_tool(tool.name, tool.description, tool.parameters) for tool in request.tools]
        if request.tool_choice and dialect.forced:
            wanted = request.tool_choice
            sent["tool_choice"] = {"type": "any"} if wanted == "required" else {"type": "tool", "name": wanted}
    return sent | ({"stream": True} if stream else {})


def concede(dialect: Dialect, request: Request, response: Response) -> Dialect | None:
    """A plainer dialect for a server that refused this request; None if none would help."""
    if not response.refuses(*_NO_TOOLS):
        return None
    if request.form and dialect.mode != "prompted" and not dialect.fixed:
        return dialect._replace(mode="prompted")
    if request.tool_choice and dialect.forced:
        return dialect._replace(forced=False)
    return None


def answer(found: Any) -> Raw:
    """The answer in a decoded body. Raises ValueError if it is none."""
    check(found)
    content = named(found).get("content")
    if not isinstance(content, list):
        raise ValueError("no list 'content'")
    blocks = [named(block) for block in content]
    calls = [
        RawCall(text_of(b.get("id")), text_of(b.get("name")), b.get("input"))
        for b in blocks
        if b.get("type") == "tool_use"
    ]
    return Raw(
        "".join(text_of(block.get("text")) for block in blocks if block.get("type") == "text"),
        tuple(calls),
        _taken(named(found, "usage")),
        count(named(found, "usage").get("output_tokens")),
        found.get("stop_reason") == "max_tokens",
    )


def piece(event: Any, draft: Draft) -> str:
    """The text that an event of a stream adds; all else of it goes into the draft. Raises ValueError."""
    check(event)
    usage = named(event, "usage") or named(named(event, "message"), "usage")
    draft.input_tokens = _taken(usage) or draft.input_tokens
    draft.output_tokens = count(usage.get("output_tokens")) or draft.output_tokens
    index, delta, block = named(event).get("index"), named(event, "delta"), named(event, "content_block")
    if block.get("type") == "tool_use":
        draft.call(index, text_of(block.get("id")), text_of(block.get("name")), "")
    if delta.get("type") == "input_json_delta":
        draft.call(index, "", "", text_of(delta.get("partial_json")))
    draft.cut = draft.cut or delta.get("stop_reason") == "max_tokens"
    draft.ended = draft.ended or named(event).get("type") == "message_stop"
    return text_of(delta.get("text")) if delta.get("type") == "text_delta" else text_of(block.get("text"))


def _taken(usage: Mapping[str, Any]) -> int | None:
    """All that went in, whether a cache knew it or not."""
    kinds = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(count(usage.get(kind)) or 0 for kind in kinds) or None


def _tool(name: str, description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "description": description, "input_schema": dict(schema)}


def _turns(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The messages in turns of blocks: user first, then assistant and user by turns, nothing empty."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        blocks = _blocks(message)
        role = "assistant" if message["role"] == "assistant" else "user"
        if not blocks:
            continue
        if not turns and role == "assistant":
            turns.append({"role": "user", "content": [{"type": "text", "text": "…"}]})
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    return turns or [{"role": "user", "content": [{"type": "text", "text": "…"}]}]


def _blocks(message: Message) -> list[dict[str, Any]]:
    text = text_of(message.get("content"))
    if message["role"] == "tool":
        return [{"type": "tool_result", "tool_use_id": message.get("tool_call_id", ""), "content": text or "(nothing)"}]
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text.strip() else []
    for call in message.get("tool_calls") or ():
        function = named(call, "function")
        blocks.append(
            {
                "type": "tool_use",
                "id": call["id"],
                "name": function["name"],
                "input": _arguments(function.get("arguments")),
            }
        )
    return blocks


def _arguments(found: Any) -> dict[str, Any]:
    """Arguments as an object, whatever the message holds."""
    try:
        read = next(values(found), None) if isinstance(found, str) else found
    except ValueError:
        read = None
    return dict(read) if isinstance(read, Mapping) else {}
