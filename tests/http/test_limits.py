"""What is taken of a request, before any route."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from memorybook.config.settings import ServerSettings
from memorybook.http.http_messages import Refusal
from memorybook.http.middleware import Limits, Metrics, Tracing


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
        limits = Limits(app, ServerSettings(max_requests=1))
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

    limits = Limits(app, ServerSettings(timeout=0.1))
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
