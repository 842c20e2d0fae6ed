"""Language models: of a server that speaks OpenAI's wire or Anthropic's, of pydantic-ai, or any function.

Nothing is contacted unless `llm.model` is set, and then that one server alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from memorybook.errors import ConfigError, InvalidInput, LLMFailed
from memorybook.formats.llm_messages import Reply
from memorybook.inference.almost_json import sound
from memorybook.inference.http_client import Service, endpoint, excerpt, sound_key
from memorybook.inference.structured_output import LanguageModel, Raw, RawCall, as_json, spelled_out
from memorybook.inference.wires import AnthropicWire, Dialect, Draft, Wire

if TYPE_CHECKING:
    from collections.abc import Generator

    from memorybook.config.settings import LLMSettings
    from memorybook.inference.http_client import Response
    from memorybook.inference.structured_output import Request, Tally
    from memorybook.protocols import LLM, Function

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
        from memorybook.inference.pydantic_ai_model import open_model

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
