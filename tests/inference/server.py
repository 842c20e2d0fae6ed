"""A loopback service that speaks OpenAI's `/embeddings` (other wires: `llm_server`), and misbehaves to order."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from memorybook.testing import HashEmbedder

KEY = "sk-test-0123456789abcdef"

Answer = Callable[["Handler", dict[str, Any]], None]


class Service(ThreadingHTTPServer):
    """Answers requests by its `script`, one item each, and normally when that is used up."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, model: str, dimensions: int, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.model = model
        self.dimensions = dimensions
        self.script: list[Answer] = []
        self.usual: Answer = normal
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.clients: set[int] = set()
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is part of the tests."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits 40 ms for an acknowledgement
    server: Service

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append(body)
        self.server.clients.add(self.client_address[1])
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        self.server.paths.append(self.path)
        answer = self.server.script.pop(0) if self.server.script else self.server.usual
        answer(self, body)

    def do_GET(self) -> None:
        self.server.paths.append(self.path)
        self.reply(405, b"")

    def reply(self, status: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Tests are quiet."""


def vectors(service: Service, texts: list[str]) -> list[list[float]]:
    """Not of unit length, as with some models; never zeros, as with all."""
    rows = np.asarray(HashEmbedder(service.dimensions).embed(texts)).tolist()
    return [[round(3 * value, 6) for value in row] if any(row) else [1.0] * service.dimensions for row in rows]


def answer_for(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    data = [
        {"object": "embedding", "index": index, "embedding": vector}
        for index, vector in enumerate(vectors(service, body["input"]))
    ]
    return {"object": "list", "model": service.model, "data": data, "usage": {"prompt_tokens": 5, "total_tokens": 5}}


def normal(handler: Handler, body: dict[str, Any]) -> None:
    """What the service documents: bearer token, JSON, one object for each input."""
    if handler.headers["authorization"] != f"Bearer {KEY}":
        handler.reply(401, b'"Api key is invalid"')
    elif handler.path != "/v1/embeddings" or body["model"] != handler.server.model:
        handler.reply(404, b'{"error": {"message": "no such model"}}')
    elif body.get("encoding_format") != "float" or not 0 < len(body["input"]) <= 32 or "" in body["input"]:
        handler.reply(400, b'{"code": 20015, "message": "The parameter is invalid. Please check again."}')
    else:
        handler.reply(200, json.dumps(answer_for(handler.server, body)).encode())


def altered(change: Callable[[dict[str, Any]], object]) -> Answer:
    """A good answer in which something is changed in place."""

    def answer(handler: Handler, body: dict[str, Any]) -> None:
        good = answer_for(handler.server, body)
        change(good)
        handler.reply(200, json.dumps(good).encode())

    return answer


def status(code: int, body: bytes = b'{"message": "out of order"}', **headers: str) -> Answer:
    return lambda handler, _: handler.reply(code, body, **headers)


def raw(body: bytes, kind: str = "application/json") -> Answer:
    return lambda handler, _: handler.reply(200, body, kind)


def late(seconds: float, then: Answer = normal) -> Answer:
    """An answer that takes its time."""

    def answer(handler: Handler, body: dict[str, Any]) -> None:
        handler.server.released.wait(seconds)
        then(handler, body)

    return answer


def hang(handler: Handler, body: dict[str, Any]) -> None:
    handler.server.released.wait(10)
    handler.close_connection = True


def cut(handler: Handler, body: dict[str, Any]) -> None:
    """Promise a body, send half of it, hang up."""
    handler.send_response(200)
    handler.send_header("content-length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"data": [')
    handler.wfile.flush()
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def drip(handler: Handler, body: dict[str, Any]) -> None:
    """A byte now and then, always before the client's patience with a read ends."""
    handler.send_response(200)
    handler.send_header("content-length", "1000")
    handler.end_headers()
    while not handler.server.released.wait(0.05):
        handler.wfile.write(b" ")
        handler.wfile.flush()


def drip_headers(handler: Handler, body: dict[str, Any]) -> None:
    """The same before there is an answer at all."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nx-patience: ")
    while not handler.server.released.wait(0.05):
        handler.wfile.write(b"z")
        handler.wfile.flush()


@contextmanager
def serve(model: str = "BAAI/bge-m3", dimensions: int = 1024, port: int = 0) -> Iterator[Service]:
    with Service(model, dimensions, port) as service:
        thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield service
        finally:
            service.released.set()
            service.shutdown()
            thread.join()
