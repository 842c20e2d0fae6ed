"""Servers on loopback, each in a thread of its own, and clients of them."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
import uvicorn
from fastapi import FastAPI

from memorybook.config.settings import Config, ServerSettings, StorageSettings
from memorybook.http import uvicorn_server
from memorybook.http.access import Logins, Tokens
from memorybook.http.app import build_app
from memorybook.http.books import Books, open_state
from memorybook.http.rest_api import API
from memorybook.http.server_state import FileState

OWNER = "the-owner-of-all-of-it"

TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For clients that need none, as reading the certificates of the system takes long."""


class Served(NamedTuple):
    """A server that runs.

    Attributes:
        url: Where.
        client: With the owner's token, on the API.
        books: What it serves.
        app, logins, server: Its own.
    """

    url: str
    client: httpx2.Client
    books: Books
    app: FastAPI
    logins: Logins
    server: uvicorn.Server

    def asking(self, token: str | None = None, **headers: str) -> httpx2.Client:
        """A client with another token, or none, on the API."""
        bearer = {} if token is None else {"Authorization": f"Bearer {token}"}
        return httpx2.Client(base_url=self.url + API, headers={**bearer, **headers}, verify=TLS, timeout=30)


def books_at(
    root: Path,
    *,
    many: bool = False,
    llm: Callable[[Any], Any] | None = None,
    timezone: str = "UTC",
    dsn: str = "",
    **settings: Any,
) -> Books:
    """What a server of the book, or with `many` of the workspace, at `root` or in a database serves."""
    server = ServerSettings(**{"port": 0, "rate": 0.0, **settings})
    storage = StorageSettings(dsn=dsn)
    config = Config(backend="sqlite_fts", timezone=timezone, server=server, storage=storage)
    state = open_state(config, "", many=many) if dsn else FileState(str(root / "tokens.json"))
    return Books(config, "" if dsn else str(root), many=many, tokens=Tokens(state, OWNER), llm=llm)


@contextmanager
def serving(
    root: Path, *, many: bool = False, llm: Callable[[Any], Any] | None = None, **settings: Any
) -> Iterator[Served]:
    """A server of the book, or with `many` of the workspace, at `root`."""
    books = books_at(root, many=many, llm=llm, **settings)
    logins = Logins(books.tokens.state)
    server = books.config.server
    app, listening = build_app(books, logins), uvicorn_server.listen(server)
    runs = uvicorn_server.server_of(app, server)
    thread = threading.Thread(target=lambda: runs.run(sockets=[listening]))
    thread.start()
    try:
        url = uvicorn_server.url_of(listening, server)
        bearer = {"Authorization": f"Bearer {OWNER}"}
        with httpx2.Client(base_url=url + API, headers=bearer, verify=TLS, timeout=30) as client:
            yield Served(url, client, books, app, logins, runs)
    finally:
        runs.should_exit = True
        thread.join(20)  # less than what unfinished answers are given: what holds it can still be seen
        state = runs.server_state
        assert not thread.is_alive(), f"it does not end: {[vars(each) for each in state.connections]}, {state.tasks}"


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of one book."""
    with serving(tmp_path_factory.mktemp("one") / "book") as served:
        yield served


def _judge(messages: Any) -> dict[str, Any]:
    return {"text": "Tea: green.", "refused": ""}


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of tenants' books, which has a model."""
    with serving(tmp_path_factory.mktemp("many"), many=True, llm=_judge) as served:
        yield served
