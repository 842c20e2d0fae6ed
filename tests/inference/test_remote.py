from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

from conformance.embedder import EmbedderConformance, rows
from inference import server
from inference.server import KEY, Answer, Service, altered, raw, serve, status
from memorybook.errors import EmbedderFailed
from memorybook.inference.http_client import RemoteEmbedder
from memorybook.protocols import Embedder
from memorybook.testing import HashEmbedder

TWO = ["first text", "second text"]


@pytest.fixture
def service() -> Iterator[Service]:
    with serve() as running:
        yield running


@pytest.fixture
def remote(service: Service) -> Iterator[RemoteEmbedder]:
    embedder = client(service)
    yield embedder
    embedder.close()


def client(service: Service, **settings: Any) -> RemoteEmbedder:
    usual: dict[str, Any] = {"base_url": service.url, "api_key": KEY, "model": service.model, "dimensions": 1024}
    return RemoteEmbedder(**(usual | settings))


class TestRemoteEmbedder(EmbedderConformance):
    @pytest.fixture
    def embedder(self, remote: RemoteEmbedder) -> Embedder:
        return remote


class TestRemoteEmbedderThatLearnsItsDimensions(EmbedderConformance):
    @pytest.fixture
    def embedder(self, service: Service) -> Iterator[Embedder]:
        embedder = client(service, dimensions=None)
        embedder.embed([])
        yield embedder
        embedder.close()


def test_speaks_the_protocol_of_the_service(service: Service, remote: RemoteEmbedder) -> None:
    found = rows(remote, ["喜欢咖啡", "likes coffee"])
    assert service.paths == ["/v1/embeddings"]
    assert service.requests == [
        {"model": "BAAI/bge-m3", "input": ["喜欢咖啡", "likes coffee"], "encoding_format": "float", "dimensions": 1024}
    ]
    assert found == pytest.approx(rows(HashEmbedder(1024), ["喜欢咖啡", "likes coffee"]), abs=1e-5)


def test_many_texts_go_in_batches_and_blank_ones_stay_here(service: Service) -> None:
    remote = client(service, batch=4)
    found = rows(remote, [f"text {number}" if number % 3 else "  " for number in range(15)])
    assert [len(request["input"]) for request in service.requests] == [4, 4, 2]
    assert [bool(row.any()) for row in found] == [number % 3 != 0 for number in range(15)]
    remote.embed(["", " "])
    assert len(service.requests) == 3
    remote.close()


def test_results_are_put_in_order_by_their_index(service: Service, remote: RemoteEmbedder) -> None:
    service.script = [altered(lambda answer: answer["data"].reverse())]
    assert rows(remote, TWO) == pytest.approx(rows(remote, TWO), abs=1e-7)


def test_dimensions_are_learned_and_then_insisted_on(service: Service) -> None:
    remote = client(service, dimensions=None)
    assert (remote.dimensions, remote.name) == (0, f"remote/127.0.0.1:{service.server_port}/BAAI/bge-m3")
    remote.embed(TWO)
    assert remote.dimensions == 1024
    assert "dimensions" not in service.requests[0]
    service.dimensions = 512
    with pytest.raises(EmbedderFailed, match="512 dimensions at index 0 where 1024 were expected"):
        remote.embed(TWO)
    remote.close()


def test_a_model_that_cannot_be_asked_for_dimensions_is_asked_without(service: Service, remote: RemoteEmbedder) -> None:
    service.script = [status(400, b'{"message": "Model does not support Matryoshka representation"}')]
    assert rows(remote, TWO).shape == (2, 1024)
    assert ["dimensions" in request for request in service.requests] == [True, False]


def test_long_texts_are_cut_and_surrogates_replaced(service: Service, remote: RemoteEmbedder) -> None:
    remote.embed(["a" * 7000, "caf\udce9"])
    assert service.requests[0]["input"] == ["a" * 6000, "caf?"]


def without_index(answer: dict[str, Any]) -> None:
    del answer["data"][1]["index"]


def put(value: object) -> Answer:
    def change(answer: dict[str, Any]) -> None:
        answer["data"][1]["embedding"][7] = value

    return altered(change)


def put_row(value: object) -> Answer:
    return altered(lambda answer: answer["data"][1].update(embedding=value))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (altered(lambda answer: answer["data"].pop()), "1 vectors for 2 texts"),
        (altered(lambda answer: answer["data"].append(answer["data"][0])), "3 vectors for 2 texts"),
        (altered(lambda answer: answer["data"][1].update(index=0)), "two vectors of 'index' 0"),
        (altered(without_index), "a vector whose 'index' is None"),
        (altered(lambda answer: answer["data"][1].update(index=2)), "a vector whose 'index' is 2"),
        (altered(lambda answer: answer["data"][1].update(index=True)), "a vector whose 'index' is True"),
        (altered(lambda answer: answer["data"].__setitem__(1, "x")), "a vector whose 'index' is None"),
        (altered(lambda answer: answer["data"][1]["embedding"].pop()), "1023 dimensions at index 1 where 1024"),
        (put(float("nan")), "index 1 that holds NaN or infinity"),
        (put(float("inf")), "index 1 that holds NaN or infinity"),
        (put(1e200), "index 1 that holds NaN or infinity"),
        (put(10**400), "index 1 that holds"),
        (put("0.5"), "index 1 that is not a list of numbers"),
        (put(None), "index 1 that is not a list of numbers"),
        (put(True), "index 1 that is not a list of numbers"),
        (put_row(None), "index 1 that is not a list of numbers"),
        (put_row([]), "index 1 that is not a list of numbers"),
        (put_row([0.0] * 1024), "a vector of zeros at index 1"),
        (put_row([1e-300] * 1024), "only values too small"),
        (altered(lambda answer: answer.update(data=None)), "JSON without a list 'data'"),
        (raw(b"[]"), "JSON without a list 'data'"),
    ],
)
def test_an_unsound_answer_is_refused_by_name(
    service: Service, remote: RemoteEmbedder, answer: Answer, message: str
) -> None:
    service.script = [answer]
    with pytest.raises(EmbedderFailed, match=message) as caught:
        remote.embed(TWO)
    assert f"127.0.0.1:{service.server_port}" in str(caught.value)
    assert len(service.requests) == 1


def test_vectors_of_another_model_in_mid_run_are_refused(service: Service, remote: RemoteEmbedder) -> None:
    service.script = [server.normal, altered(lambda answer: answer.update(model="BAAI/bge-large-zh"))]
    remote.embed(TWO)
    with pytest.raises(EmbedderFailed, match=r"the model 'BAAI/bge-large-zh' after those of 'BAAI/bge-m3'"):
        remote.embed(TWO)


def test_a_refused_answer_teaches_nothing(service: Service) -> None:
    remote = client(service, dimensions=None)
    service.script = [altered(lambda answer: answer["data"][1]["embedding"].pop())]
    with pytest.raises(EmbedderFailed, match="1023 dimensions at index 1"):
        remote.embed(TWO)
    assert remote.dimensions == 0
    remote.close()


@pytest.mark.parametrize("code", [413, 422])
def test_a_batch_that_is_too_large_is_halved_from_then_on(service: Service, code: int) -> None:
    remote = client(service, batch=64)
    texts = [f"text {number}" for number in range(80)]
    service.script = [status(code, b'{"message": "input batch size 64 > maximum allowed batch size 32"}')]
    found = rows(remote, texts)
    assert [len(request["input"]) for request in service.requests] == [64, 32, 32, 16]
    np.testing.assert_allclose(found, rows(HashEmbedder(1024), texts), rtol=0, atol=1e-5)
    remote.close()


def test_one_text_that_is_too_long_for_the_model_is_reported(service: Service, remote: RemoteEmbedder) -> None:
    service.script = [status(413)]
    with pytest.raises(EmbedderFailed, match=r"HTTP 413: .*; choose a model that takes longer texts"):
        remote.embed(["one text"])


NO_LENGTH = server.late(0.35, status(400, b"dimensions are not supported"))


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    ("dimensions", "script"),
    [
        (1024, [server.late(0.6)]), (1024, [NO_LENGTH, server.late(0.35)]), (1024, [NO_LENGTH, server.hang]),
        (1024, [NO_LENGTH, server.drip]), (None, [server.late(0.6)]), (None, [server.drip_headers]),
    ],
)  # fmt: skip
def test_a_query_takes_no_longer_than_is_set_however_many_requests_it_needs(
    service: Service, dimensions: int | None, script: list[Answer]
) -> None:
    remote = client(service, timeout=0.5, dimensions=dimensions)
    service.script = list(script)
    started = time.monotonic()
    with pytest.raises(EmbedderFailed, match=r"did not answer within 0.5 seconds; .*raise embeddings.timeout"):
        remote.embed(["one question"])
    assert time.monotonic() - started < 0.7
    remote.close()


@pytest.mark.timeout(10)
def test_all_addresses_of_a_service_share_its_time(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    with ExitStack() as opened:
        full = opened.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(2):  # what comes now waits for a place
            waiting = opened.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        place = (socket.AF_INET, socket.SOCK_STREAM, 6, "", full.getsockname())
        remote = client(service, base_url=f"http://localhost:{full.getsockname()[1]}/v1", timeout=0.3)
        monkeypatch.setattr(socket, "getaddrinfo", lambda host, *_, **__: [place] * (4 if host == "localhost" else 1))
        started = time.monotonic()
        with pytest.raises(EmbedderFailed, match=r"did not answer within 0.3 seconds"):
            remote.embed(["one question"])
        assert time.monotonic() - started < 0.5


def test_an_address_that_refuses_leaves_the_next(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = socket.getaddrinfo("127.0.0.1", service.server_port, type=socket.SOCK_STREAM)
    refuses = [(*one[:4], ("127.0.0.2", service.server_port)) for one in usual]
    remote = client(service)
    calls = []

    def both(host: str, *_: Any, **__: Any) -> Any:
        calls.append(host)
        return [*refuses, *usual] if len(calls) == 1 else [one for one in (*refuses, *usual) if one[4][0] == host]

    monkeypatch.setattr(socket, "getaddrinfo", both)
    assert rows(remote, ["one question"]).any()
    assert calls[1:] == ["127.0.0.2", "127.0.0.1"]
    remote.close()


def test_after_a_failed_query_single_texts_fail_at_once_for_a_while(
    service: Service, remote: RemoteEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.script = [status(503)]
    for _ in range(3):
        with pytest.raises(EmbedderFailed, match="HTTP 503"):
            remote.embed(["one question"])
    assert len(service.requests) == 1
    later = time.monotonic() + 11
    monkeypatch.setattr("memorybook.inference.http_client.time.monotonic", lambda: later)
    assert rows(remote, ["one question"]).any()


def test_a_batch_is_tried_even_after_a_failed_query_and_its_success_counts(
    service: Service, remote: RemoteEmbedder
) -> None:
    service.script = [status(503)]
    with pytest.raises(EmbedderFailed):
        remote.embed(["one question"])
    remote.embed(TWO)
    assert rows(remote, ["one question"]).any()


def test_an_unsound_answer_to_a_query_does_not_make_it_rest(service: Service, remote: RemoteEmbedder) -> None:
    service.script = [raw(b"{}")]
    with pytest.raises(EmbedderFailed):
        remote.embed(["one question"])
    assert rows(remote, ["one question"]).any()


def test_an_address_that_is_none_is_reported() -> None:
    remote = RemoteEmbedder(base_url="http://exa mple:port/v1", model="m")
    with pytest.raises(EmbedderFailed, match="could not be reached"):
        remote.embed(["one question"])
