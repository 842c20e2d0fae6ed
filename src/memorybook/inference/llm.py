"""Language models: of a server that speaks OpenAI's wire or Anthropic's, of pydantic-ai, or any function.

Nothing is contacted unless `llm.model` is set, and then that one server alone. A wire makes bodies of requests, and
reads whatever JSON comes back or refuses it with ValueError.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from memorybook.errors import ConfigError, InvalidInput, LLMFailed, MissingExtra
from memorybook.formats.llm_messages import Reply
from memorybook.inference.http_client import Service, endpoint, excerpt, sound_key
from memorybook.inference.structured_output import (
    LanguageModel,
    Raw,
    RawCall,
    Request,
    Tally,
    as_json,
    clean,
    count,
    object_at,
    sound,
    spelled_out,
    text_of,
    values,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from memorybook.config.settings import LLMSettings
    from memorybook.formats.llm_messages import Message
    from memorybook.inference.http_client import Response
    from memorybook.inference.structured_output import Request, Tally
    from memorybook.protocols import LLM, Function


class Dialect(NamedTuple):
    """The dialect of one server.

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


def _check(found: Any) -> None:
    """Raise ValueError if an answer, or an event of a stream, is an error."""
    error = object_at(found, "error")
    if error:
        raise ValueError(f"an error: {text_of(error) or dict(error)}"[:300])


# --- wires ---------------------------------------------------------------------------------------


MOST = 4_000_000
"""Longest answer in bytes."""

_WHAT = "the language model"
_PYDANTIC_AI = "pydantic-ai/"


def open_llm(settings: LLMSettings) -> LLM | None:
    """Return the model that the settings name; None if they name none. Contacts nobody.

    Raises:
        ConfigError: A setting cannot be used.
        MissingExtra: The model needs a package that is not installed.
    """
    if not settings.model.strip():
        return None
    if settings.model.startswith(_PYDANTIC_AI):
        return open_model(settings.model.removeprefix(_PYDANTIC_AI), settings)
    base_url = settings.base_url.strip() or ("https://api.anthropic.com" if settings.api == "anthropic" else "")
    if not base_url:
        raise ConfigError(
            f"the model {settings.model!r} needs an address: set llm.base_url to a server's, "
            "such as 'http://127.0.0.1:11434/v1', or llm.api to 'anthropic'"
        )
    return ServerModel(base_url, settings)


def as_llm(given: LLM | Function) -> LLM:
    """Return the model itself, or a model of a function. Raises InvalidInput for anything else."""
    if hasattr(given, "complete"):
        return cast("LLM", given)
    if not callable(given):
        raise InvalidInput(f"{given!r} is no language model: give a function of messages, or an object with `complete`")
    return CallableModel(given)


# --- a function ----------------------------------------------------------------------------------


class CallableModel(LanguageModel):
    """Any function of messages; forms and tools are asked for in words, whatever it raises becomes LLMFailed."""

    def __init__(self, function: Function, *, name: str = "") -> None:
        super().__init__(name or f"callable/{getattr(function, '__name__', type(function).__name__)}")
        self._function = function

    def request(self, request: Request, tally: Tally) -> Raw:
        """See `LanguageModel.request`."""
        messages = spelled_out(request) if request.form or request.tools else request.messages

        def ask() -> Raw:
            return raw_of(self._function([dict(message) for message in messages]))

        return self._timed(request, tally, ask, f"the language model {self.name!r} failed")


def raw_of(answer: Any) -> Raw:
    """Return what a function answered, as any model's answer. Raises TypeError for what is none."""
    if isinstance(answer, str):
        return Raw(answer)
    if isinstance(answer, Reply):
        text = answer.text if answer.data is None or answer.text else json.dumps(answer.data, ensure_ascii=False)
        calls = tuple(RawCall(call.id, call.name, call.arguments) for call in answer.tool_calls)
        return Raw(text, calls, answer.usage.input_tokens or None, answer.usage.output_tokens or None, answer.cut)
    if isinstance(answer, Mapping):
        return Raw(json.dumps(dict(answer), ensure_ascii=False))
    raise TypeError(f"it returned {type(answer).__name__}; return text, a dict or a Reply")


# --- a server ------------------------------------------------------------------------------------


class ServerModel(LanguageModel):
    """One model of one server: a request is tried up to four times, and put more plainly if the server refuses it.

    Args:
        base_url: Of the server; with `llm.api = "auto"` it also says which wire is spoken.
        settings: `mode = "auto"` begins with `json_schema` and learns what the server takes; `max_tokens` 0 and a
            `temperature` below 0 are left to the server.

    Raises:
        ConfigError: Address or key cannot be used.
    """

    def __init__(self, base_url: str, settings: LLMSettings) -> None:
        spoken = settings.api
        if spoken == "auto":  # Anthropic's for its own host and for addresses with `/anthropic` in the path
            host, _, path = base_url.lower().partition("://")[2].partition("/")
            own = f".{host.partition(':')[0]}".endswith(".anthropic.com")
            spoken = "anthropic" if own or "anthropic" in path.partition("?")[0].split("/") else "openai"
        self._wire = Wire()
        if spoken == "anthropic":  # its address may be given with or without `/v1`, and with its tail
            self._wire = AnthropicWire()
            path, mark, parameters = base_url.partition("?")
            base_url = path.rstrip("/").removesuffix("/messages").removesuffix("/v1") + mark + parameters
        url, host = endpoint(base_url, self._wire.tail, part="llm", what=_WHAT)
        key = sound_key(settings.api_key, part="llm", what=_WHAT)
        super().__init__(f"{spoken}/{host}/{settings.model}")
        self._service = Service(url, host, key=key, headers=self._wire.headers(key))
        self._settings = settings
        self._dialect = Dialect(
            "json_schema" if settings.mode == "auto" else settings.mode,
            fixed=settings.mode != "auto",
            temperature=settings.temperature if settings.temperature >= 0 else None,
        )

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        self._service.close()

    def request(self, request: Request, tally: Tally) -> Raw:
        """See `LanguageModel.request`."""
        try:
            next(self._answers(request, tally, stream=False))
        except StopIteration as end:
            raw: Raw = end.value
        return raw

    def pieces(self, request: Request, tally: Tally) -> Generator[str, None, Raw]:
        """See `LanguageModel.pieces`; tried again as long as no piece came."""
        return self._answers(request, tally, stream=True)

    def _answers(self, request: Request, tally: Tally, *, stream: bool) -> Generator[str, None, Raw]:
        """Ask until there is an answer; its dialect is kept then, for it may have been refused for another reason."""
        limited = replace(request, max_tokens=request.max_tokens or self._settings.max_tokens or None)
        tries, dialect, timeout = 0, self._dialect, self._settings.timeout
        while True:
            tally.allow()
            began, draft, texts = time.monotonic(), Draft(), list[str]()
            body = as_json(self._wire.body(limited, dialect, self._settings.model, stream=stream))
            data, raw = body.encode("utf-8", "replace"), None
            try:
                if stream:
                    response = yield from self._stream(data, draft, texts)
                    if response.fine and draft.ended:
                        raw = draft.whole("".join(texts))
                else:
                    response = self._service.post(data, timeout=timeout, most=MOST)
                    if response.fine:
                        raw = self._wire.answer(_decoded(response.body))
            except ValueError as error:
                tally.add(request, time.monotonic() - began, None)
                advice = "try again later" if stream else "check llm.base_url, llm.api and llm.model"
                raise self._failed(f"answered with {error}", advice) from None
            taken = response.asked and response.status in (0, 200)  # a request that failed may have cost its tokens
            tally.add(request, time.monotonic() - began, raw, sent=taken)
            if raw is not None:
                self._dialect = dialect
                return raw
            if texts or response.fine:
                why = "ended its answer in the middle" if response.fine else response.reason()
                raise self._failed(why, "try again later")
            plainer = self._wire.concede(dialect, request, response)
            if plainer is not None:
                dialect = plainer
                continue
            tries += 1
            wait = None if response.late else response.wait(tries)
            if wait is None:
                raise self._failed(response.reason(), response.advice("llm"))
            time.sleep(wait)

    def _stream(self, body: bytes, draft: Draft, texts: list[str]) -> Generator[str, None, Response]:
        """Yield the texts of the events, also into the list. Raises ValueError for an event that is none."""
        with closing(self._service.lines(body, timeout=self._settings.timeout, most=MOST)) as lines:
            while True:
                try:
                    line = next(lines)
                except StopIteration as end:
                    response: Response = end.value
                    return response
                data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
                draft.ended = draft.ended or data == "[DONE]"
                text = self._wire.piece(_decoded(data.encode()), draft) if data not in ("", "[DONE]") else ""
                if text:
                    texts.append(text)
                    yield text

    def _failed(self, what: str, advice: str) -> LLMFailed:
        return LLMFailed(self._service.masked(f"{_WHAT} at {self._service.host!r} {what}; {advice}"))


def _decoded(body: bytes) -> Any:
    try:
        return sound(json.loads(body), finite=False)
    except (ValueError, RecursionError):
        raise ValueError(f"something that is not JSON, {excerpt(body)}") from None


# --- a model of pydantic-ai -----------------------------------------------------------------------


def open_model(model: Any, settings: LLMSettings) -> LanguageModel:
    """Return the model of that name, such as `openai:gpt-5-mini`, or one made with pydantic-ai.

    Raises:
        MissingExtra: pydantic-ai, or its part for this provider, is not installed.
        ConfigError: It knows no such model, or the provider's key is not set.
    """
    try:
        from pydantic_ai.exceptions import UserError
        from pydantic_ai.models import infer_model
    except ImportError as error:
        raise MissingExtra(_missing(error)) from None
    try:
        inferred = infer_model(model)
    except ImportError as error:
        raise MissingExtra(_missing(error)) from None
    except (UserError, ValueError) as error:
        raise ConfigError(f"pydantic-ai cannot use llm.model {model!r}: {error}") from None
    return PydanticAIModel(inferred, settings)


def _missing(error: ImportError) -> str:
    return f"llm.model wants pydantic-ai ({error}): pip install 'memorybook[pydantic-ai]', and the provider's package"


class PydanticAIModel(LanguageModel):
    """Asks in an event loop of its own, so that it works wherever it is called from."""

    def __init__(self, model: Any, settings: LLMSettings) -> None:
        import asyncio  # which the other wires need not wait for

        super().__init__(f"pydantic-ai/{model.model_name}")
        self._model = model
        self._settings = settings
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="memorybook-llm", daemon=True)
        self._thread.start()

    def request(self, request: Request, tally: Tally) -> Raw:
        """See `LanguageModel.request`."""
        from asyncio import run_coroutine_threadsafe, wait_for

        from pydantic_ai.direct import model_request
        from pydantic_ai.messages import TextPart, ToolCallPart

        settings = self._settings
        words = request.spelled or (request.form and settings.mode == "prompted")
        limit = request.max_tokens or settings.max_tokens

        def ask() -> Raw:
            asked = model_request(
                self._model,
                _messages(spelled_out(request) if words else request.messages),
                model_settings={"timeout": settings.timeout}
                | ({"max_tokens": limit} if limit else {})
                | ({"temperature": settings.temperature} if settings.temperature >= 0 else {}),
                model_request_parameters=_parameters(request, settings.mode),
            )
            try:
                answer = run_coroutine_threadsafe(wait_for(asked, settings.timeout), self._loop).result()
            except Exception as error:  # providers raise what they like
                late = f"did not answer within {settings.timeout:g} seconds"
                what = late if isinstance(error, TimeoutError) else f"failed: {error}"
                raise LLMFailed(f"the language model {self._model.model_name!r} {what}; try again later") from None
            called = [part for part in answer.parts if isinstance(part, ToolCallPart)]
            calls = tuple(RawCall(part.tool_call_id, part.tool_name, part.args) for part in called)
            text = "".join(part.content for part in answer.parts if isinstance(part, TextPart))
            usage, cut = answer.usage, answer.finish_reason == "length"
            return Raw(text, calls, usage.input_tokens or None, usage.output_tokens or None, cut)

        return self._timed(request, tally, ask, f"the language model {self._model.model_name!r} failed")

    def close(self) -> None:
        """End the event loop; the model cannot be used afterwards."""
        if self._loop.is_running():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


def _parameters(request: Request, mode: str) -> Any:
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition

    form = request.form
    if form and mode == "json_schema":
        wanted = OutputObjectDefinition(json_schema=dict(form.schema), name=form.name, description=form.description)
        return ModelRequestParameters(output_mode="native", output_object=wanted)
    if form and mode != "prompted":
        tool = _tool(form.name, form.description, form.schema, kind="output")
        return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)
    tools = [_tool(tool.name, tool.description, tool.parameters) for tool in request.tools]
    return ModelRequestParameters(function_tools=tools, allow_text_output=not request.tool_choice)


def _tool(name: str, description: str, schema: Mapping[str, Any], *, kind: str = "function") -> Any:
    from pydantic_ai.tools import ToolDefinition

    return ToolDefinition(name=name, parameters_json_schema=dict(schema), description=description, kind=kind)


def _messages(messages: Any) -> list[Any]:
    from pydantic_ai import messages as theirs

    made: list[Any] = []
    names: dict[str, str] = {}
    for message in messages:
        text = clean(text_of(message.get("content")))
        if message["role"] == "assistant":
            parts: list[Any] = [theirs.TextPart(text)] if text else []
            for call in message.get("tool_calls") or ():
                names[call["id"]] = call["function"]["name"]
                parts.append(theirs.ToolCallPart(call["function"]["name"], call["function"]["arguments"], call["id"]))
            made.append(theirs.ModelResponse(parts=parts))
        elif message["role"] == "tool":
            id = str(message.get("tool_call_id"))
            made.append(theirs.ModelRequest(parts=[theirs.ToolReturnPart(names.get(id, "tool"), text, id)]))
        else:
            part = theirs.SystemPromptPart if message["role"] == "system" else theirs.UserPromptPart
            made.append(theirs.ModelRequest(parts=[part(text)]))
    return made
