"""The two wires of language models, OpenAI's and Anthropic's, and that of embeddings: requests to bodies and back.

Whatever JSON a server sends is read or refused with ValueError; nothing else happens here.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.errors import ConfigError, EmbedderFailed
from memorybook.inference.almost_json import values
from memorybook.inference.arrays import stacked, unit_row
from memorybook.inference.http_client import Service, endpoint, ends_within, excerpt, sound_key
from memorybook.inference.structured_output import Raw, RawCall, spelled_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memorybook.formats.llm_messages import Message
    from memorybook.inference.http_client import Response
    from memorybook.inference.structured_output import Request
    from memorybook.protocols import Vectors


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


# --- vectors from a service that speaks openai's `/embeddings` ----------------------------------

_WHAT = "the embedding service"
_REST = 10.0  # seconds without another attempt once a query found the service down
_BYTES_PER_NUMBER = 32
_UNKNOWN_DIMENSIONS = 8192
_LONGEST_TEXT = 6000  # characters; services refuse whole batches for one text above their limit (8k tokens)


class RemoteEmbedder:
    """Embeds through one service, and contacts nothing else: no redirects, no proxies from the environment.

    A single text is taken for a question that somebody waits for: it has its vector within `timeout`, in one try, or
    fails; after a failure single texts fail at once for ten seconds. Several texts are tried up to four times, with
    the pauses that the service asks for (`Retry-After`) or of 0.5, 1 and 2 seconds. Blank texts are never sent (a row
    of zeros), texts beyond 6,000 characters are cut. Safe to share between threads.

    Args:
        base_url: Up to but without `/embeddings`, such as `https://api.siliconflow.cn/v1`.
        api_key: Sent as bearer token; "" sends none.
        model: As the service calls it, such as `BAAI/bge-m3`.
        dimensions: Length of the vectors, asked for and insisted on; None takes what comes first.
        batch: Most texts in one request; halved when the service says that these are too many.
        timeout: Seconds that one request may take, and all that a single text needs.

    Attributes:
        dimensions: 0 until the first answer, if not given.

    Raises:
        ConfigError: An argument cannot be used.
    """

    local = False

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key: str = "",
        dimensions: int | None = None,
        batch: int = 32,
        timeout: float = 30.0,
    ) -> None:
        url, host = endpoint(base_url, "embeddings", part="embeddings", what=_WHAT)
        if not model.strip():
            raise ConfigError("the embedding service needs a model name, such as 'BAAI/bge-m3'; set embeddings.model")
        key = sound_key(api_key, part="embeddings", what=_WHAT)
        for setting, value in (("dimensions", dimensions), ("batch", batch), ("timeout", timeout)):
            if value is not None and not value > 0:
                raise ConfigError(f"embeddings.{setting} is {value!r}; it must be greater than 0")
        self.name = f"remote/{host}/{model}" + (f"@{dimensions}" if dimensions else "")
        self.dimensions = dimensions or 0
        self._model = model
        self._ask_dimensions = dimensions is not None
        self._batch = batch
        self._timeout = timeout
        self._service = Service(url, host, key=key, headers={"authorization": f"Bearer {key}"} if key else {})
        self._served: str | None = None
        self._down: tuple[float, str] = (0.0, "")

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a float32 array (n, dimensions), unit rows in the order of `texts`, zeros for blank ones.

        Raises EmbedderFailed; the message says what to do and never holds the key.
        """
        query = len(texts) == 1
        sent = [number for number, text in enumerate(texts) if text and not text.isspace()]
        found: dict[int, bytes] = {}
        with ends_within(self._timeout) if query else nullcontext():
            while len(found) < len(sent):
                numbers = sent[len(found) : len(found) + self._batch]
                cut = [texts[number][:_LONGEST_TEXT].encode("utf-8", "replace").decode() for number in numbers]
                found.update(zip(numbers, self._rows(cut, query=query), strict=True))
            if not self.dimensions:
                self._rows(["dimensions"], query=True)
        blank = bytes(4 * self.dimensions)
        return stacked([found.get(number, blank) for number in range(len(texts))], self.dimensions)

    def close(self) -> None:
        """Close the connections; the next `embed` opens new ones."""
        self._service.close()

    def _rows(self, texts: list[str], *, query: bool) -> list[bytes]:
        """Return one row for each text, in as many requests as the service wants."""
        body = self._answer(texts, query)
        if body is None:
            self._batch = half = len(texts) // 2
            return self._rows(texts[:half], query=query) + self._rows(texts[half:], query=query)
        try:
            model, vectors = _vectors(body, len(texts))
            served = self._served
            if model is not None and served is not None and model != served:
                raise ValueError(f"vectors of the model {model!r} after those of {served!r}")
            dimensions = self.dimensions or (len(vectors[0]) if isinstance(vectors[0], list) else 0)
            rows = []
            for at, row in enumerate(vectors):
                if not isinstance(row, list) or not row or not all(type(value) in (float, int) for value in row):
                    raise ValueError(f"an 'embedding' at index {at} that is not a list of numbers")
                if dimensions and len(row) != dimensions:
                    raise ValueError(
                        f"a vector of {len(row)} dimensions at index {at} where {dimensions} were expected"
                    )
                try:
                    rows.append(unit_row(row))
                except (ValueError, OverflowError) as error:
                    raise ValueError(f"a vector at index {at} that holds {error}") from None
                if not any(rows[-1]):
                    raise ValueError(f"a vector of zeros at index {at}")
        except ValueError as error:
            raise self._failed(f"answered with {error}", "check embeddings.model, and the service itself") from None
        self.dimensions, self._served = dimensions, served or model
        return rows

    def _answer(self, texts: list[str], query: bool) -> bytes | None:
        """Return the body of a successful answer, retrying as due; None if these are too many texts at once."""
        if query and time.monotonic() < self._down[0]:
            raise EmbedderFailed(self._down[1])
        payload: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._ask_dimensions:
            payload["dimensions"] = self.dimensions
        data, tries = json.dumps(payload, ensure_ascii=False).encode(), 0
        most = 65536 + len(texts) * (self.dimensions or _UNKNOWN_DIMENSIONS) * _BYTES_PER_NUMBER
        while True:
            reply = self._service.post(data, timeout=self._timeout, most=most)
            if reply.fine:
                self._down = (0.0, "")
                return reply.body
            if self._ask_dimensions and reply.refuses(b"dimension", b"matryoshka"):
                self._ask_dimensions = False  # a model with one length only: it is checked all the same
                return self._answer(texts, query)
            if len(texts) > 1 and (reply.status == 413 or reply.refuses(b"batch")):
                return None
            tries += 1
            wait = None if query else reply.wait(tries)
            if wait is None:
                break
            time.sleep(wait)
        known = {413: "choose a model that takes longer texts", 429: "try again later, or lower embeddings.batch"}
        failure = self._failed(reply.reason(), known.get(reply.status) or reply.advice("embeddings"))
        if query and reply.passing():
            self._down = (time.monotonic() + _REST, str(failure))
        raise failure

    def _failed(self, what: str, advice: str) -> EmbedderFailed:
        return EmbedderFailed(self._service.masked(f"{_WHAT} {self._service.host!r} {what}; {advice}"))


def _vectors(body: bytes, count: int) -> tuple[Any, list[Any]]:
    """Return the model that answered, and its vectors by their `index`, each of 0 … count-1 once."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError(f"something that is not JSON, {excerpt(body)}") from None
    items = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(items, list):
        raise ValueError(f"JSON without a list 'data', {excerpt(body)}")
    if len(items) != count:
        raise ValueError(f"{len(items)} vectors for {count} texts")
    vectors: dict[int, Any] = {}
    for item in items:
        index = item.get("index") if isinstance(item, dict) else None
        if type(index) is not int or not 0 <= index < count:
            raise ValueError(f"a vector whose 'index' is {index!r}, which must be one of 0 … {count - 1}")
        if index in vectors:
            raise ValueError(f"two vectors of 'index' {index}")
        vectors[index] = item.get("embedding")
    return answer.get("model"), [vectors[index] for index in range(count)]
