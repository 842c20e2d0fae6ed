"""The two wires of language models, OpenAI's and Anthropic's: requests to bodies, bodies and events to answers.

Whatever JSON a server sends is read or refused with ValueError; nothing else happens here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.inference.almost_json import values
from memorybook.inference.structured_output import Raw, RawCall, spelled_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memorybook.formats.llm_messages import Message
    from memorybook.inference.http_client import Response
    from memorybook.inference.structured_output import Request


class Dialect(NamedTuple):
    """How one server is spoken to.

    Attributes:
        mode: How forms are asked for: `json_schema`, `tool`, `prompted`.
        fixed: Whether the mode was set, and must stay.
        limit: What the limit of tokens is called.
        forced: Whether a call of a tool can be demanded.
        counted: Whether a stream can be asked for its usage.
        temperature: Asked for; None leaves it to the server.
    """

    mode: str
    fixed: bool = False
    limit: str = "max_tokens"
    forced: bool = True
    counted: bool = True
    temperature: float | None = None


class Draft:
    """A streamed answer so far, without its text."""

    def __init__(self) -> None:
        self.input_tokens: int | None = None
        self.output_tokens: int | None = None
        self.cut = False
        self.ended = False
        self._calls: dict[str, list[str]] = {}

    def call(self, index: Any, id: str, name: str, arguments: str) -> None:
        """Add to the call of that index."""
        known = self._calls.setdefault(str(index), ["", "", ""])
        self._calls[str(index)] = [known[0] or id, known[1] or name, known[2] + arguments]

    def whole(self, text: str) -> Raw:
        """Return the answer, once all of it is there."""
        calls = tuple(RawCall(*call) for call in self._calls.values())
        return Raw(text, calls, self.input_tokens, self.output_tokens, self.cut)


# --- OpenAI --------------------------------------------------------------------------------------

_REFUSED = (400, 404, 422, 500, 501)
_NO_SCHEMA = (b"response_format", b"json_schema", b"guided", b"grammar", b"structured output", b"response format")
_NO_TOOLS = (b"tool", b"function")
_NOT_KNOWN = (b"unsupported", b"not support", b"unknown", b"unrecognized", b"extra inputs", b"schema")


class Wire:
    """OpenAI's `/chat/completions`, as Ollama, LM Studio, vLLM, SiliconFlow, OpenRouter and others speak it, too.

    Attributes:
        tail: Of the address.
    """

    tail = "chat/completions"

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers of every request."""
        return {"authorization": f"Bearer {key}"} if key else {}

    def body(self, request: Request, dialect: Dialect, model: str, *, stream: bool = False) -> dict[str, Any]:
        """Return what to post."""
        form, choice = request.form, request.tool_choice
        words = request.spelled or (form is not None and dialect.mode == "prompted")
        sent = {"model": model} | self._talk(spelled_out(request) if words else request.messages)
        sent |= self._settings(request, dialect, stream)
        tools = [(tool.name, tool.description, tool.parameters) for tool in request.tools]
        if form and dialect.mode != "prompted" and "response_format" not in sent:
            tools, choice = [(form.name, form.description, form.schema)], form.name
        if tools:
            sent["tools"] = [self._tool(name, description, dict(schema)) for name, description, schema in tools]
        if tools and choice and dialect.forced:
            sent["tool_choice"] = self._choice(choice)
        if dialect.temperature is not None:
            sent["temperature"] = dialect.temperature
        return sent | ({"stream": True} if stream else {})

    def _talk(self, messages: Sequence[Message]) -> dict[str, Any]:
        return {"messages": [dict(message) for message in messages]}

    def _settings(self, request: Request, dialect: Dialect, stream: bool) -> dict[str, Any]:
        """Return the limit, and the schema where a form is asked for by one."""
        form = request.form
        sent: dict[str, Any] = {dialect.limit: request.max_tokens} if request.max_tokens else {}
        if form and dialect.mode == "json_schema":
            schema = {"name": form.name, "description": form.description, "schema": dict(form.schema)}
            strict = {"strict": True} if _is_strict(form.schema) else {}
            sent["response_format"] = {"type": "json_schema", "json_schema": schema | strict}
        if stream and dialect.counted:
            sent["stream_options"] = {"include_usage": True}
        return sent

    def _tool(self, name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
        return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}

    def _choice(self, name: str) -> Any:
        """Return how to demand a call of that tool, or of any if `required`."""
        return name if name == "required" else {"type": "function", "function": {"name": name}}

    def concede(self, dialect: Dialect, request: Request, response: Response) -> Dialect | None:
        """Return a plainer dialect for a server that refused this request; None if none would help."""
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

    def answer(self, found: Any) -> Raw:
        """Read a decoded body. Raises ValueError if it is no answer."""
        choice = _choice(found)
        if choice is None:
            raise ValueError("no 'choices'")
        message = choice.get("message")
        if not isinstance(message, dict):
            raise ValueError("a choice without 'message'")
        usage, calls = object_at(found, "usage"), message.get("tool_calls")
        pairs = ((object_at(call), object_at(call, "function")) for call in (calls if isinstance(calls, list) else []))
        return Raw(
            text_of(message.get("content")) or text_of(message.get("refusal")),
            tuple(RawCall(text_of(c.get("id")), text_of(f.get("name")), f.get("arguments")) for c, f in pairs if f),
            count(usage.get("prompt_tokens")),
            count(usage.get("completion_tokens")),
            choice.get("finish_reason") == "length",
        )

    def piece(self, event: Any, draft: Draft) -> str:
        """Return the text that an event of a stream adds; all else goes into the draft. Raises ValueError."""
        choice, usage = _choice(event), object_at(event, "usage")
        draft.input_tokens = count(usage.get("prompt_tokens")) or draft.input_tokens
        draft.output_tokens = count(usage.get("completion_tokens")) or draft.output_tokens
        if choice is None:
            return ""
        reason, delta = choice.get("finish_reason"), object_at(choice, "delta")
        draft.ended = draft.ended or bool(reason)
        draft.cut = draft.cut or reason == "length"
        calls = delta.get("tool_calls")
        for at, call in enumerate(calls if isinstance(calls, list) else []):
            call, function = object_at(call), object_at(call, "function")
            id, name, arguments = call.get("id"), function.get("name"), function.get("arguments")
            draft.call(call.get("index", at), text_of(id), text_of(name), text_of(arguments))
        return text_of(delta.get("content"))


def _choice(found: Any) -> dict[str, Any] | None:
    """Return the first choice of an answer or event, if any. Raises ValueError if it is an error."""
    _check(found)
    choices = object_at(found).get("choices")
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None


def _is_strict(schema: Any) -> bool:
    """Return whether OpenAI would take this schema as strict: every object closed, every property required."""
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


# --- Anthropic -----------------------------------------------------------------------------------

_MAX_TOKENS = 8192  # the wire wants a number; every model in use takes this one
_REFUSES_TOOLS = (b"tool_choice", b"tool", b"thinking")


class AnthropicWire(Wire):
    """Anthropic's `/v1/messages`; a form is asked for as a tool that must be called."""

    tail = "v1/messages"

    def headers(self, key: str) -> dict[str, str]:
        """See `Wire.headers`."""
        return {"anthropic-version": "2023-06-01"} | ({"x-api-key": key} if key else {})

    def _talk(self, messages: Sequence[Message]) -> dict[str, Any]:
        system = "\n\n".join(filter(None, (text_of(m.get("content")) for m in messages if m["role"] == "system")))
        return {"messages": _turns(messages)} | ({"system": system} if system else {})

    def _settings(self, request: Request, dialect: Dialect, stream: bool) -> dict[str, Any]:
        return {"max_tokens": request.max_tokens or _MAX_TOKENS}

    def _tool(self, name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
        return {"name": name, "description": description, "input_schema": schema}

    def _choice(self, name: str) -> Any:
        return {"type": "any"} if name == "required" else {"type": "tool", "name": name}

    def concede(self, dialect: Dialect, request: Request, response: Response) -> Dialect | None:
        """See `Wire.concede`."""
        if not response.refuses(*_REFUSES_TOOLS):
            return None
        if request.form and dialect.mode != "prompted" and not dialect.fixed:
            return dialect._replace(mode="prompted")
        if request.tool_choice and dialect.forced:
            return dialect._replace(forced=False)
        return None

    def answer(self, found: Any) -> Raw:
        """See `Wire.answer`."""
        _check(found)
        content, usage = object_at(found).get("content"), object_at(found, "usage")
        if not isinstance(content, list):
            raise ValueError("no list 'content'")
        blocks = [object_at(block) for block in content]
        used = [block for block in blocks if block.get("type") == "tool_use"]
        return Raw(
            "".join(text_of(block.get("text")) for block in blocks if block.get("type") == "text"),
            tuple(RawCall(text_of(one.get("id")), text_of(one.get("name")), one.get("input")) for one in used),
            _input_tokens(usage),
            count(usage.get("output_tokens")),
            found.get("stop_reason") == "max_tokens",
        )

    def piece(self, event: Any, draft: Draft) -> str:
        """See `Wire.piece`."""
        _check(event)
        usage = object_at(event, "usage") or object_at(object_at(event, "message"), "usage")
        draft.input_tokens = _input_tokens(usage) or draft.input_tokens
        draft.output_tokens = count(usage.get("output_tokens")) or draft.output_tokens
        index, delta = object_at(event).get("index"), object_at(event, "delta")
        block = object_at(event, "content_block")
        if block.get("type") == "tool_use":
            draft.call(index, text_of(block.get("id")), text_of(block.get("name")), "")
        if delta.get("type") == "input_json_delta":
            draft.call(index, "", "", text_of(delta.get("partial_json")))
        draft.cut = draft.cut or delta.get("stop_reason") == "max_tokens"
        draft.ended = draft.ended or object_at(event).get("type") == "message_stop"
        return text_of(delta.get("text")) if delta.get("type") == "text_delta" else text_of(block.get("text"))


def _input_tokens(usage: Mapping[str, Any]) -> int | None:
    """Return all that went in, whether a cache knew it or not."""
    kinds = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(count(usage.get(kind)) or 0 for kind in kinds) or None


def _turns(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Group messages into turns of blocks: user first, then assistant and user by turns, nothing empty."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        blocks = _blocks(message) if message["role"] != "system" else []
        if not blocks:
            continue
        role = "assistant" if message["role"] == "assistant" else "user"
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
        function = object_at(call, "function")
        given = function.get("arguments")
        try:
            given = next(values(given), None) if isinstance(given, str) else given
        except ValueError:
            given = None
        arguments = dict(given) if isinstance(given, Mapping) else {}
        blocks.append({"type": "tool_use", "id": call["id"], "name": function["name"], "input": arguments})
    return blocks


# --- reading JSON that may be anything -----------------------------------------------------------


def object_at(found: Any, name: str | None = None) -> Mapping[str, Any]:
    """Return the object, or the one that it has under that name; empty if there is none."""
    if name is not None:
        found = found.get(name) if isinstance(found, Mapping) else None
        if isinstance(found, str) and found:
            found = {"message": found}
    return found if isinstance(found, Mapping) else {}


def _check(found: Any) -> None:
    """Raise ValueError if an answer, or an event of a stream, is an error."""
    error = object_at(found, "error")
    if error:
        raise ValueError(f"an error: {text_of(error) or dict(error)}"[:300])


def text_of(found: Any) -> str:
    """Return text as it stands, in a list of parts, or as the message of an error; "" for all else."""
    if isinstance(found, str):
        return found
    if isinstance(found, Mapping):
        return text_of(found.get("text") or found.get("message"))
    if isinstance(found, list):
        return "".join(text_of(part) for part in found if not isinstance(part, list))
    return ""


def count(found: Any) -> int | None:
    """Return a number of tokens; None for what cannot be one, and for 0, which servers say that do not count."""
    return found if type(found) is int and 0 < found < 10**9 else None
