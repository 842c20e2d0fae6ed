"""OpenAI's `/chat/completions`, as OpenAI, Ollama, LM Studio, vLLM, SiliconFlow, OpenRouter and others speak it.

Pure functions between requests, bodies and answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memorybook.inference.structured_output import Raw, RawCall, spelled_out
from memorybook.inference.wire import Dialect, Draft, check, count, named, text_of

if TYPE_CHECKING:
    from memorybook.inference.http_client import Response
    from memorybook.inference.structured_output import Request

TAIL = "chat/completions"

_REFUSED = (400, 404, 422, 500, 501)
_NO_SCHEMA = (b"response_format", b"json_schema", b"guided", b"grammar", b"structured output", b"response format")
_NO_TOOLS = (b"tool", b"function")
_NOT_KNOWN = (b"unsupported", b"not support", b"unknown", b"unrecognized", b"extra inputs", b"schema")


def headers(key: str) -> dict[str, str]:
    """Of every request."""
    return {"authorization": f"Bearer {key}"} if key else {}


def body(request: Request, dialect: Dialect, model: str, *, stream: bool = False) -> dict[str, Any]:
    """What to post."""
    form, mode = request.form, dialect.mode
    words = request.spelled or (form is not None and mode == "prompted")
    sent: dict[str, Any] = {
        "model": model,
        "messages": [dict(m) for m in (spelled_out(request) if words else request.messages)],
    }
    if request.max_tokens:
        sent[dialect.limit] = request.max_tokens
    if dialect.temperature is not None:
        sent["temperature"] = dialect.temperature
    if form and mode == "json_schema":
        schema = {"name": form.name, "description": form.description, "schema": dict(form.schema)}
        strict = {"strict": True} if _is_strict(form.schema) else {}
        sent["response_format"] = {"type": "json_schema", "json_schema": schema | strict}
    elif form and mode == "tool":
        sent["tools"] = [_tool(form.name, form.description, form.schema)]
        if dialect.forced:
            sent["tool_choice"] = _named(form.name)
    elif request.tools:
        sent["tools"] = [_tool(tool.name, tool.description, tool.parameters) for tool in request.tools]
        if request.tool_choice and dialect.forced:
            sent["tool_choice"] = "required" if request.tool_choice == "required" else _named(request.tool_choice)
    if stream:
        sent["stream"] = True
        if dialect.counted:
            sent["stream_options"] = {"include_usage": True}
    return sent


def concede(dialect: Dialect, request: Request, response: Response) -> Dialect | None:
    """A plainer dialect for a server that refused this request; None if none would help."""
    if response.status not in _REFUSED:
        return None
    said = response.body.lower()

    def names(*words: bytes) -> bool:
        return any(word in said for word in words)

    if dialect.limit == "max_tokens" and names(b"max_completion_tokens"):
        return dialect._replace(limit="max_completion_tokens")
    if dialect.counted and names(b"stream_options"):
        return dialect._replace(counted=False)
    if dialect.forced and names(b"tool_choice") and (request.tool_choice or dialect.mode == "tool"):
        return dialect._replace(forced=False)
    if request.form is None or dialect.fixed:
        return None
    vague = response.status in (400, 422) and names(*_NOT_KNOWN)
    if dialect.mode == "json_schema" and (vague or names(*_NO_SCHEMA)):
        return dialect._replace(mode="tool")
    if dialect.mode == "tool" and (vague or names(*_NO_TOOLS)):
        return dialect._replace(mode="prompted")
    return None


def answer(found: Any) -> Raw:
    """The answer in a decoded body. Raises ValueError if it is none."""
    check(found)
    choices = found.get("choices") if isinstance(found, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise ValueError("no 'choices'")
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise ValueError("a choice without 'message'")
    usage = named(found, "usage")
    return Raw(
        text_of(message.get("content")) or text_of(message.get("refusal")),
        tuple(_calls(message.get("tool_calls"))),
        count(usage.get("prompt_tokens")),
        count(usage.get("completion_tokens")),
        choices[0].get("finish_reason") == "length",
    )


def piece(event: Any, draft: Draft) -> str:
    """The text that an event of a stream adds; all else of it goes into the draft. Raises ValueError."""
    check(event)
    usage = named(event, "usage")
    draft.input_tokens = count(usage.get("prompt_tokens")) or draft.input_tokens
    draft.output_tokens = count(usage.get("completion_tokens")) or draft.output_tokens
    choices = event.get("choices") if isinstance(event, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return ""
    reason = choices[0].get("finish_reason")
    draft.ended = draft.ended or bool(reason)
    draft.cut = draft.cut or reason == "length"
    delta = named(choices[0], "delta")
    calls = delta.get("tool_calls")
    for at, call in enumerate(calls if isinstance(calls, list) else []):
        function = named(call, "function")
        index = call.get("index", at) if isinstance(call, dict) else at
        draft.call(
            index, text_of(named(call).get("id")), text_of(function.get("name")), text_of(function.get("arguments"))
        )
    return text_of(delta.get("content"))


def _calls(found: Any) -> list[RawCall]:
    """Calls in an answer; what is none of them is passed over."""
    calls = [named(call) for call in found] if isinstance(found, list) else []
    functions = [(call, named(call, "function")) for call in calls]
    return [RawCall(text_of(call.get("id")), text_of(f.get("name")), f.get("arguments")) for call, f in functions if f]


def _tool(name: str, description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": description, "parameters": dict(schema)}}


def _named(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


def _is_strict(schema: Any) -> bool:
    """Whether OpenAI would take this schema as strict: every object closed, every property required."""
    waiting = [schema]
    for part in waiting:
        if isinstance(part, Mapping):
            properties = part.get("properties")
            if part.get("type") == "object" and (
                part.get("additionalProperties") is not False
                or not isinstance(properties, Mapping)
                or set(part.get("required", ())) != set(properties)
            ):
                return False
            waiting += part.values()
        elif isinstance(part, list | tuple):
            waiting += part
    return True
