"""What every service over HTTP promises, of embeddings and on both wires of language models: time, key, errors."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

import llm_server
from conformance.llm import ASKED
from inference import server
from inference.server import KEY, Answer, Service, raw, status
from memorybook.config.settings import LLMSettings
from memorybook.errors import ConfigError, EmbedderFailed, LLMFailed, MemoryBookError
from memorybook.inference.http_client import RemoteEmbedder
from memorybook.inference.llm import ServerModel

TEXTS = ["first text", "second text"]
KINDS = ["embeddings", "openai", "anthropic"]


class Asker:
    """One client of a service; settings are called as the language model's are."""

    def __init__(self, kind: str, service: Service) -> None:
        self.kind, self.part = kind, "embeddings" if kind == "embeddings" else "llm"
        self._usual: dict[str, Any] = {"base_url": service.url, "api_key": KEY, "model": service.model, "timeout": 10.0}

    def make(self, **settings: Any) -> RemoteEmbedder | ServerModel:
        given = self._usual | settings
        if self.kind == "embeddings":
            return RemoteEmbedder(**given)
        settings_of = LLMSettings(api=self.kind, **given)
        return ServerModel(settings_of.base_url, settings_of)

    def ask(self, **settings: Any) -> MemoryBookError | None:
        """Ask once; the error, if it fails."""
        made = self.make(**settings)
        try:
            made.embed(TEXTS) if isinstance(made, RemoteEmbedder) else made.complete(ASKED)
        except (EmbedderFailed, LLMFailed) as error:
            return error
        finally:
            made.close()
        return None


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def service(kind: str) -> Iterator[Service]:
    with server.serve() if kind == "embeddings" else llm_server.serve() as running:
        yield running


@pytest.fixture
def asker(kind: str, service: Service) -> Asker:
    return Asker(kind, service)


@pytest.mark.parametrize("tail", ["", "/", "/TAIL", "?api=2"])
def test_the_address_is_taken_as_people_give_it(service: Service, asker: Asker, tail: str) -> None:
    last = {"embeddings": "embeddings", "openai": "chat/completions", "anthropic": "messages"}[asker.kind]
    service.usual = status(400)
    asker.ask(base_url=service.url + tail.replace("TAIL", last))
    assert service.paths == [f"/v1/{last}{tail if '?' in tail else ''}"]


@pytest.mark.parametrize(
    "settings",
    [
        {"base_url": "api.example.org/v1"}, {"base_url": "ftp://example.org"}, {"base_url": "https:///v1"},
        {"base_url": "https://me:secret@example.org/v1"}, {"api_key": "sk-\nsecret"}, {"api_key": "密钥secret"},
    ],
)  # fmt: skip
def test_settings_that_cannot_be_used_are_refused_without_being_told(asker: Asker, settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=rf"{asker.part}\.") as caught:
        asker.make(**settings)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("code", [408, 429, 500, 503, 529])
def test_what_may_pass_is_tried_again_a_few_times(
    service: Service, asker: Asker, pauses: list[float], code: int
) -> None:
    service.script = [status(code), server.cut]
    assert asker.ask() is None
    assert pauses == [0.5, 1.0]
    service.usual = status(code)
    error = asker.ask()
    assert f"HTTP {code}: " in str(error)
    assert pauses[2:] == [0.5, 1.0, 2.0]
    if isinstance(error, LLMFailed) and error.usage is not None:
        assert (error.usage.calls, error.usage.failed) == (4, 4)


def test_retry_after_is_honoured_up_to_a_limit(service: Service, asker: Asker, pauses: list[float]) -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=10), usegmt=True)
    service.script = [status(429, retry_after=wait) for wait in ("7", soon, "soon")]
    assert asker.ask() is None
    assert (pauses[0], 7 < pauses[1] <= 10, pauses[2]) == (7.0, True, 2.0)
    service.script = [status(429, retry_after="Thu, 01 Jan 1970 00:00:00 GMT"), status(429, retry_after="3600")]
    assert "HTTP 429 and asks to wait 3600 seconds" in str(asker.ask())
    assert pauses[3:] == [0.0]


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (307, "redirects are not followed, set PART.base_url"), (401, "check PART.api_key"),
        (403, "check PART.api_key"), (404, "check PART.base_url and PART.model"), (418, "check PART.model"),
    ],
)  # fmt: skip
def test_what_will_not_pass_is_reported_at_once_with_what_to_do(
    service: Service, asker: Asker, code: int, advice: str
) -> None:
    with server.serve() as other:
        service.script = [status(code, b"no " * 50_000, location=f"{other.url}/elsewhere")]
        error = str(asker.ask())
        assert (len(service.requests), other.paths) == (1, [])
    assert f"127.0.0.1:{service.server_port}" in error
    assert f"HTTP {code}: 'no no " in error
    assert f"…'; {advice.replace('PART', asker.part)}" in error
    assert len(error) < 450


@pytest.mark.parametrize("body", [b"", b"[" * 200_000, b"\xff\xfe" * 20, b"<!doctype html><title>Sign in</title>"])
def test_what_is_not_json_is_refused(service: Service, asker: Asker, body: bytes) -> None:
    service.script = [raw(body, "text/html")]
    error = asker.ask()
    shown = " ".join(body[:200].decode("utf-8", "replace").split())
    assert f"answered with something that is not JSON, {shown!r}"[:150] in str(error)
    assert len(service.requests) == 1
    if isinstance(error, LLMFailed) and error.usage is not None:
        assert (error.usage.calls, error.usage.failed, error.usage.input_tokens > 0) == (1, 1, True)


def test_an_answer_that_is_too_long_is_not_read_to_its_end(service: Service, asker: Asker) -> None:
    service.script = [raw(b" " * 10_000_000)]
    assert "answered with more than " in str(asker.ask())


def test_a_service_that_is_not_there_is_reported(asker: Asker, pauses: list[float]) -> None:
    error = asker.ask(base_url="http://127.0.0.1:9/v1")
    assert "'127.0.0.1:9' could not be reached (ConnectError" in str(error)
    assert f"{asker.part}.base_url" in str(error)
    assert pauses == [0.5, 1.0, 2.0]
    if isinstance(error, LLMFailed) and error.usage is not None:
        assert (error.usage.calls, error.usage.tokens) == (4, 0)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("misbehave", [server.hang, server.drip, server.drip_headers])
def test_one_that_takes_too_long_is_left(
    service: Service, asker: Asker, pauses: list[float], misbehave: Answer
) -> None:
    service.usual = misbehave
    began = time.monotonic()
    error = str(asker.ask(timeout=0.2))
    assert time.monotonic() - began < 3
    assert f"did not answer within 0.2 seconds; check that it runs, or raise {asker.part}.timeout" in error
    assert len(service.requests) == (4 if asker.kind == "embeddings" else 1)


@pytest.mark.parametrize(
    "answer",
    [
        status(401, f"Incorrect API key provided: {KEY}".encode()),
        status(500, f"header was 'Bearer {KEY}'".encode()),
        raw(f"<html>{KEY}</html>".encode()),
    ],
)
def test_messages_never_hold_the_key(service: Service, asker: Asker, pauses: list[float], answer: Answer) -> None:
    service.usual = answer
    error = str(asker.ask())
    assert KEY not in error
    assert "***" in error
    assert KEY not in asker.make().name


def test_a_key_too_short_to_be_one_masks_no_words_and_none_is_not_sent(service: Service, asker: Asker) -> None:
    service.script = [status(401, b"Check that it works.")] * 2
    assert "Check that it works." in str(asker.ask(api_key="k"))
    asker.ask(api_key="")
    assert not {"authorization", "x-api-key"} & service.headers[1].keys()


def test_connections_are_used_again_and_proxies_never(
    service: Service, asker: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    made = asker.make()
    for _ in range(3):
        made.embed(TEXTS) if isinstance(made, RemoteEmbedder) else made.complete(ASKED)
    made.close()
    assert len(service.clients) == 1
