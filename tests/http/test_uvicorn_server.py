from __future__ import annotations

import asyncio
import errno
import gc
import json
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import wraps
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock
from urllib.parse import urlsplit

import httpx2
import pytest
from starlette.types import Message, Receive, Scope, Send

import memorybook
from memorybook.cli import main
from memorybook.config.settings import Config, ServerSettings
from memorybook.http.http_messages import Refusal
from memorybook.http.middleware import Limits, Metrics, Tracing
from memorybook.http.server_state import MemoryState
from memorybook.memory import Memory
from serving import OWNER, TLS, Served, books_at, serving

# --- limits --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that takes little."""
    root = tmp_path_factory.mktemp("small") / "book"
    with serving(root, max_body=2048, rate=5.0, max_requests=3, threads=2) as served:
        yield served


def hurry(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let it wait for bodies and for the work on books a moment only."""
    config = served.books.config
    server, limits = config.server._replace(timeout=0.1), cast("Any", served.app.middleware_stack)
    while not isinstance(limits, Limits):
        limits = limits.app
    monkeypatch.setattr(limits, "settings", server)
    monkeypatch.setattr(served.books, "config", config._replace(server=server))


def another(served: Served) -> httpx2.Client:
    """A client with a token, and so a rate, of its own."""
    return served.asking(served.books.tokens.issue("")["token"])


def test_a_body_is_taken_up_to_the_limit_whether_or_not_its_length_is_told(small: Served) -> None:
    with another(small) as client:
        long = json.dumps({"text": "x" * 3000})
        assert client.post("/notes", content=long).status_code == 413
        assert client.post("/notes", content=iter([long.encode()])).status_code == 413
        assert client.post("/notes", content=iter([b'{"text": ', b'"short"}'])).status_code == 200


def test_a_body_that_never_ends_is_not_waited_for(small: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(small, monkeypatch)
    place = urlsplit(small.url)
    for path in ("/api/v1/notes", "/mcp"):
        with socket.create_connection((place.hostname, place.port), timeout=20) as slow:
            head = f"POST {path} HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {OWNER}\r\n"
            more = "Content-Length: 100\r\nContent-Type: application/json\r\nAccept: application/json\r\n\r\n"
            slow.sendall((head + more).encode())
            assert slow.recv(65536).startswith(b"HTTP/1.1 408")


def test_a_token_has_a_rate(small: Served) -> None:
    with another(small) as client:
        answers = [client.get("/documents") for _ in range(10)]
        assert [answer.status_code for answer in answers] == [200] * 10

        def is_refused() -> bool:
            answers.append(client.get("/documents"))
            return answers[-1].status_code == 429

        until(is_refused)
        assert int(answers[-1].headers["Retry-After"]) >= 1
    with another(small) as other:
        assert other.get("/documents").status_code == 200


def test_what_takes_too_long_is_told_to_go_on_and_does(small: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    append, go = Memory.append, threading.Event()

    @wraps(append)
    def slowly(memory: Memory, text: str, **more: Any) -> Any:
        assert go.wait(20)
        return append(memory, text, **more)

    monkeypatch.setattr(Memory, "append", slowly)
    hurry(small, monkeypatch)
    with another(small) as client:
        late = client.post("/notes", json={"text": "late"}, headers={"X-Request-ID": "mine-1"})
        assert (late.status_code, late.json()["error"]["code"]) == (504, "late")
        assert late.json()["error"]["request_id"] == late.headers["X-Request-ID"] == "mine-1"
        called = {"name": "memory_append", "arguments": {"text": "tool"}}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called}
        accepts = {"Accept": "application/json, text/event-stream"}
        tool = client.post(f"{small.url}/mcp", json=asked, headers=accepts)
        assert (tool.status_code, tool.json()["error"]["code"]) == (504, "late")
        go.set()
        until(lambda: bool(find(small, "late") and find(small, "tool")) and small.books.works == 0)


def test_so_many_requests_are_taken_at_a_time(small: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    go, begun = threading.Event(), threading.Semaphore(0)

    def slowly(memory: Memory) -> Any:
        begun.release()
        assert go.wait(20)
        return {}

    monkeypatch.setattr(Memory, "status", slowly)
    with another(small) as client, another(small) as second, another(small) as third:
        threads = [threading.Thread(target=each.get, args=["/status"]) for each in (client, second)]
        for thread in threads:
            thread.start()
        assert all(begun.acquire(timeout=20) for _ in threads)
        hurry(small, monkeypatch)
        refused = third.get("/status")
        go.set()
        for thread in threads:
            thread.join(20)
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "busy")
    assert refused.headers["Retry-After"] == "1"
    assert not begun.acquire(blocking=False), "what is refused is not done later"


def test_of_many_tenants_none_has_all_threads(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    books = books_at(tmp_path, many=True, threads=2)
    for name in ("ann", "bob"):
        books.tokens.add_tenant(name)
    go, begun = threading.Event(), list[str]()

    def slowly(memory: Memory) -> str:
        begun.append(memory.root)
        assert go.wait(20)
        return "done"

    async def asked() -> list[str]:
        hers = [asyncio.create_task(books.work("ann", False, slowly)) for _ in range(2)]
        while not begun:
            await asyncio.sleep(0.01)
        his = await books.work("bob", False, lambda memory: memory.root)
        assert [root == his for root in begun] == [False]
        go.set()
        return await asyncio.gather(*hers)

    try:
        assert asyncio.run(asked()) == ["done", "done"]
    finally:
        books.close()
    books.tokens.state.note("ann", seconds=0)
    books.tick()
    assert not caplog.records, "what is closed is not looked after"


def find(served: Served, word: str) -> list[Any]:
    with served.books.opened("", person=True) as memory:
        return [hit for hit in memory.search(word).hits if word in hit.snippet]


def until(holds: Any, seconds: float = 20) -> None:
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.02)


# --- what it tells of itself ---------------------------------------------------------------------


def test_requests_have_ids_and_are_counted(one: Served) -> None:
    assert one.client.post("/init").status_code == 200
    assert one.client.get("/entries", headers={"X-Request-ID": "a b"}).headers["X-Request-ID"] != "a b"
    assert one.client.get("/entries", headers={"X-Request-ID": "abc.1"}).headers["X-Request-ID"] == "abc.1"
    told = one.client.get(f"{one.url}/metrics").text
    assert 'memorybook_requests_total{method="GET",route="/entries",status="200"}' in told
    assert "memorybook_ready 1.0" in told
    assert OWNER not in told


def test_a_mistake_of_the_servers_own_is_told_without_its_traceback(
    one: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def mistaken(memory: Memory) -> None:
        raise ZeroDivisionError("private")

    monkeypatch.setattr(Memory, "status", mistaken)
    wrong = one.client.get("/status", headers={"X-Request-ID": "mine-2"})
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (500, "unexpected")
    assert "private" not in wrong.text
    assert [record.exc_info is not None for record in caplog.records if "mine-2" in record.getMessage()][:1] == [True]


def test_it_is_ready_while_something_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    books, state = books_at(tmp_path / "book"), tmp_path / "book" / ".memorybook"

    def ready_now() -> bool:
        books._probe = None
        return asyncio.run(books.ready())

    try:
        assert ready_now()
        shutil.rmtree(state)
        state.write_text("no folder")
        assert not ready_now()
        state.unlink()
        assert ready_now()
        (tmp_path / "book" / "daily").mkdir()
        monkeypatch.setattr(os, "access", lambda folder, _: not folder.endswith("daily"))
        assert not ready_now(), "documents cannot be written"
        monkeypatch.undo()
        (tmp_path / "book").rename(tmp_path / "aside")
        assert not ready_now(), "the book is gone"
        (tmp_path / "book").mkdir()
        assert not ready_now(), "something else is in its place"
        (tmp_path / "book").rmdir()
        (tmp_path / "aside").rename(tmp_path / "book")
        kept = tmp_path / "book" / "tokens.json"
        kept.write_text("[]")
        assert not ready_now(), "nobody is let in"
        kept.unlink()
        assert ready_now()
        before = os.listdir(state)
        monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
        assert not ready_now(), "the disk is full"
        monkeypatch.undo()
        assert os.listdir(state) == before
    finally:
        books.close()


def test_one_that_is_not_ready_says_so_to_anybody(one: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    go, looks = threading.Event(), list[bool]()

    def look() -> bool:
        looks.append(go.wait(20))
        return False

    monkeypatch.setattr("memorybook.http.books._READY_WITHIN", 0.1)
    monkeypatch.setattr(one.books, "_probe", None)
    monkeypatch.setattr(one.books, "_writes", look)
    hung = [httpx2.get(f"{one.url}/readyz").status_code for _ in range(2)]
    go.set()
    until(lambda: looks)
    assert (hung, looks) == ([503, 503], [True]), "a disk that does not answer is looked at once"
    red = httpx2.get(f"{one.url}/readyz")
    assert (red.status_code, red.json()) == (503, {"status": "not_ready"})
    assert httpx2.get(f"{one.url}/healthz").json() == {"status": "failing"}
    assert httpx2.get(f"{one.url}/livez").status_code == 200
    assert "memorybook_ready 0.0" in one.client.get(f"{one.url}/metrics").text


# --- the process ---------------------------------------------------------------------------------


def test_a_server_rarely_looks_through_a_large_book_for_garbage(tmp_path: Path) -> None:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    try:
        with serving(tmp_path / "book"):
            assert gc.get_threshold()[0] >= 50_000
    finally:
        gc.set_threshold(*before)


def test_a_stop_loses_no_line_that_was_acknowledged(tmp_path: Path) -> None:
    book = tmp_path / "book"
    command = [sys.executable, "-m", "memorybook", "--book", str(book), "serve", "--port", "0", "--json", "-q"]
    env = os.environ | {"MEMORYBOOK_TOKEN": f"{OWNER}\n", "HOME": str(tmp_path), "MEMORYBOOK_SERVER_RATE": "0"}
    with subprocess.Popen(
        [*command, "--set", "backend=scan"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=tmp_path
    ) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        acknowledged = asyncio.run(appending(told["url"], lambda: process.send_signal(signal.SIGTERM)))
        _, complaint = process.communicate(timeout=30)
        assert (process.returncode, complaint) == (0, b"")
    assert len(acknowledged) >= 20
    with memorybook.open(str(book), config=Config(backend="scan")) as memory:
        lines = "".join(memory.document(info.path).text for info in memory.documents()).split()
    assert [line for line in acknowledged if lines.count(line) != 1] == []


async def appending(url: str, stop: Any) -> list[str]:
    """Lines that were acknowledged before the server was gone; it is told to stop after some."""
    done: list[str] = []

    async def one(client: httpx2.AsyncClient, number: int) -> None:
        for step in range(1000):
            line = f"line-{number}-{step}"
            try:
                answer = await client.post("/api/v1/notes", json={"text": line})
            except httpx2.HTTPError:
                return
            if answer.status_code == 200:
                done.append(line)
            if len(done) == 20:
                stop()

    bearer = {"Authorization": f"Bearer {OWNER}"}
    async with httpx2.AsyncClient(base_url=url, headers=bearer, verify=TLS, timeout=30) as client:
        await asyncio.gather(*(one(client, number) for number in range(8)))
    return done


@pytest.fixture
def _log(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What the command makes of the log is for itself alone."""
    monkeypatch.setattr(logging.root, "handlers", [])
    yield
    for name in ("memorybook.server", "uvicorn.error"):
        logging.getLogger(name).setLevel(logging.NOTSET)


@pytest.mark.usefixtures("_log")
def test_what_cannot_be_served_is_said_before_anything_is_opened(
    one: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MEMORYBOOK_TOKEN", OWNER)
    monkeypatch.chdir(tmp_path)
    taken = str(urlsplit(one.url).port)
    for words, code, told in (
        (["--host", "0.0.0.0"], 2, "--insecure-no-tls"),
        (["--port", "many"], 2, "server.port"),
        (["--workspace", "books", "--book", "book"], 2, "leave --book and --project out"),
        (["--tls-cert", "cert.pem"], 2, "given together"),
        (["--port", taken], 5, f"cannot listen on 127.0.0.1:{taken}"),
        (["--host", "nowhere.invalid", "--insecure-no-tls"], 5, "no address 'nowhere.invalid'"),
    ):
        assert main(["serve", *words]) == code
        assert told in capsys.readouterr().err
    monkeypatch.setenv("MEMORYBOOK_TOKEN", "short")
    assert main(["serve"]) == 2
    assert "too short" in capsys.readouterr().err
    assert os.listdir(tmp_path) == []


def test_without_its_packages_it_says_how_to_get_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr("memorybook.http.uvicorn_server")
    monkeypatch.delitem(sys.modules, "memorybook.http.uvicorn_server")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve", "--port", "many"]) == 5
    assert "pip install 'memorybook[server]'" in capsys.readouterr().err


# --- What is taken of a request, before any route -------------------------------------------------


async def unsent(message: Message) -> None:
    """Where an answer goes that nobody looks at."""


def request(path: str) -> dict[str, Any]:
    return {"type": "http", "path": path, "headers": [], "method": "POST"}


def test_a_probe_is_answered_however_much_is_asked() -> None:
    begun = list[str]()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        begun.append(scope["path"])
        await asyncio.Event().wait()

    async def asked() -> None:
        limits = Limits(app, ServerSettings(max_requests=1), MemoryState())
        for path in ("/api/v1/entries", "/api/v1/entries", "/livez", "/healthz", "/readyz"):
            tasks.append(asyncio.create_task(limits(request(path), nothing, unsent)))
        await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()

    async def nothing() -> Message:
        return {"type": "http.request"}

    tasks = list[asyncio.Task[None]]()
    asyncio.run(asked())
    assert begun == ["/api/v1/entries", "/livez", "/healthz", "/readyz"]


def test_a_body_that_comes_in_drops_must_be_there_in_time() -> None:
    async def drop() -> Message:
        await asyncio.sleep(0.02)
        return {"type": "http.request", "body": b" ", "more_body": True}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for _ in range(20):
            await receive()

    limits = Limits(app, ServerSettings(timeout=0.1), MemoryState())
    with pytest.raises(Refusal, match="did not come within"):
        asyncio.run(limits(request("/mcp"), drop, unsent))


def test_what_a_stop_waits_for_no_longer_is_told_so() -> None:
    begun, sent = asyncio.Event(), list[Message]()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        await asyncio.Event().wait()

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    async def stopped() -> None:
        task = asyncio.create_task(Tracing(app, Metrics())(request("/api/v1/notes"), receive, send))
        await begun.wait()
        task.cancel()
        await task

    asyncio.run(stopped())
    assert sent[0]["status"] == 504
    assert json.loads(sent[1]["body"])["error"]["code"] == "late"
