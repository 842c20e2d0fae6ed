"""Language models by settings: a server that speaks OpenAI's wire or Anthropic's, or a model of pydantic-ai.

Nothing is contacted unless `llm.model` is set, and then that one server alone.
"""

from __future__ import annotations

import json
import time
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memorybook.errors import ConfigError, LLMFailed
from memorybook.inference import anthropic_wire, openai_wire
from memorybook.inference.almost_json import sound
from memorybook.inference.http_client import Service, endpoint, excerpt, sound_key
from memorybook.inference.structured_output import Asking, as_json
from memorybook.inference.wire import Dialect, Draft

if TYPE_CHECKING:
    from collections.abc import Generator

    from memorybook.config.settings import LLMSettings
    from memorybook.inference.http_client import Response
    from memorybook.inference.structured_output import Raw, Request, Tally
    from memorybook.inference.wire import Wire
    from memorybook.protocols import LLM

MOST = 4_000_000
"""Longest answer in bytes."""

_WHAT = "the language model"
_PYDANTIC_AI = "pydantic-ai/"


def open_llm(settings: LLMSettings) -> LLM | None:
    """The model that the settings name; None if they name none. Contacts nobody.

    Raises:
        ConfigError: A setting cannot be used.
        MissingExtra: The model needs a package that is not installed.
    """
    if not settings.model.strip():
        return None
    if settings.model.startswith(_PYDANTIC_AI):
        from memorybook.inference.pydantic_ai_model import open_model

        return open_model(settings.model.removeprefix(_PYDANTIC_AI), settings)
    base_url = settings.base_url.strip() or (anthropic_wire.BASE_URL if settings.api == "anthropic" else "")
    if not base_url:
        raise ConfigError(
            f"the model {settings.model!r} needs an address: set llm.base_url to a server's, "
            "such as 'http://127.0.0.1:11434/v1', or llm.api to 'anthropic'"
        )
    spoken = _spoken(settings.api, base_url)
    wire: Wire = anthropic_wire if spoken == "anthropic" else openai_wire
    tail = wire.TAIL
    if wire is anthropic_wire:
        base_url = _without_version(base_url)
    url, host = endpoint(base_url, tail, part="llm", what=_WHAT)
    key = sound_key(settings.api_key, part="llm", what=_WHAT)
    server = Server(
        Service(url, host, key=key, headers=wire.headers(key)),
        wire,
        settings.model,
        mode=settings.mode,
        timeout=settings.timeout,
        max_tokens=settings.max_tokens,
        temperature=settings.temperature if settings.temperature >= 0 else None,
    )
    return Asking(f"{spoken}/{host}/{settings.model}", server.once, pieces=server.pieces, close=server.close)


def _spoken(api: str, base_url: str) -> str:
    """Which wire: as set, else Anthropic's for its own host and for addresses with `/anthropic` in the path."""
    if api != "auto":
        return api
    _, _, rest = base_url.lower().partition("://")
    host, _, path = rest.partition("/")
    ours = host.partition(":")[0] == "anthropic.com" or host.partition(":")[0].endswith(".anthropic.com")
    return "anthropic" if ours or "anthropic" in path.partition("?")[0].split("/") else "openai"


def _without_version(base_url: str) -> str:
    """Anthropic's address may be given with or without `/v1`, and with its tail."""
    path, mark, parameters = base_url.strip().partition("?")
    return path.rstrip("/").removesuffix("/messages").removesuffix("/v1") + mark + parameters


class Server:
    """One model of one server: a request tried up to four times, and put more plainly where the server refuses it.

    Args:
        service: Where.
        wire: How.
        model: As the server calls it.
        mode: `auto` begins with `json_schema` and learns what the server takes.
        timeout: Seconds that one request may take.
        max_tokens: Of an answer, where the request does not say; 0 leaves it to the server.
        temperature: None leaves it to the server.
    """

    def __init__(
        self,
        service: Service,
        wire: Wire,
        model: str,
        *,
        mode: str,
        timeout: float,
        max_tokens: int = 0,
        temperature: float | None = None,
    ) -> None:
        self._service = service
        self._wire = wire
        self._model = model
        self._timeout = timeout
        self._max_tokens = max_tokens
        plain = "json_schema" if mode == "auto" else mode
        self._dialect = Dialect(plain, fixed=mode != "auto", temperature=temperature)
        self.close = service.close

    def once(self, request: Request, tally: Tally) -> Raw:
        """See `asking.Once`."""
        tries, dialect = 0, self._dialect
        while True:
            tally.allow()
            began = time.monotonic()
            response = self._service.post(self._body(request, dialect), timeout=self._timeout, most=MOST)
            seconds = time.monotonic() - began
            if response.fine:
                self._dialect = dialect
                return self._raw(response, request, tally, seconds)
            tally.add(request, seconds, None, sent=_taken(response))
            tries, dialect = self._again(request, dialect, response, tries)

    def pieces(self, request: Request, tally: Tally) -> Generator[str, None, Raw]:
        """The same in pieces; tried again as long as no piece came."""
        tries, dialect = 0, self._dialect
        while True:
            tally.allow()
            draft, began = Draft(), time.monotonic()
            texts: list[str] = []
            try:
                response = yield from self._stream(self._body(request, dialect, stream=True), draft, texts)
            except ValueError as error:
                tally.add(request, time.monotonic() - began, None)
                raise self._failed(f"answered with {error}", "try again later") from None
            seconds = time.monotonic() - began
            if response.fine and draft.ended:
                self._dialect = dialect
                raw = draft.whole("".join(texts))
                tally.add(request, seconds, raw)
                return raw
            tally.add(request, seconds, None, sent=_taken(response))
            if texts or response.fine:
                why = response.reason() if not response.fine else "ended its answer in the middle"
                raise self._failed(why, "try again later")
            tries, dialect = self._again(request, dialect, response, tries)

    def _stream(self, body: bytes, draft: Draft, texts: list[str]) -> Generator[str, None, Response]:
        """Texts of the events, also into the list. Raises ValueError for an event that is none."""
        with closing(self._service.lines(body, timeout=self._timeout, most=MOST)) as lines:
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

    def _body(self, request: Request, dialect: Dialect, *, stream: bool = False) -> bytes:
        limited = replace(request, max_tokens=request.max_tokens or self._max_tokens or None)
        sent = self._wire.body(limited, dialect, self._model, stream=stream)
        return as_json(sent).encode("utf-8", "replace")

    def _raw(self, response: Response, request: Request, tally: Tally, seconds: float) -> Raw:
        try:
            raw = self._wire.answer(_decoded(response.body))
        except ValueError as error:
            tally.add(request, seconds, None)
            raise self._failed(f"answered with {error}", "check llm.base_url, llm.api and llm.model") from None
        tally.add(request, seconds, raw)
        return raw

    def _again(self, request: Request, dialect: Dialect, response: Response, tries: int) -> tuple[int, Dialect]:
        """How often it was tried, and how to ask now that it is time for another try. Raises LLMFailed if it is not.

        What a server takes is remembered once it took it, for it may have refused the request for another reason.
        """
        plainer = self._wire.concede(dialect, request, response)
        if plainer is not None:
            return tries, plainer
        wait = None if response.late else response.wait(tries + 1)
        if wait is None:
            raise self._failed(response.reason(), response.advice("llm"))
        time.sleep(wait)
        return tries + 1, dialect

    def _failed(self, what: str, advice: str) -> LLMFailed:
        return LLMFailed(self._service.masked(f"{_WHAT} at {self._service.host!r} {what}; {advice}"))


def _taken(response: Response) -> bool:
    """Whether a request that failed may have cost its tokens: not where the server says no, or is not there."""
    return response.asked and response.status in (0, 200)


def _decoded(body: bytes) -> Any:
    try:
        return sound(json.loads(body), finite=False)
    except (ValueError, RecursionError):
        raise ValueError(f"something that is not JSON, {excerpt(body)}") from None
