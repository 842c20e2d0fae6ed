"""What is taken of a request, before any route."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from memorybook.config import ServerSettings
from memorybook.servers.http.limits import Limits


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
        for path in ("/api/v1/entries", "/api/v1/entries", "/healthz", "/readyz"):
            tasks.append(asyncio.create_task(limits(request(path), nothing, unsent)))
        await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()

    async def nothing() -> Message:
        return {"type": "http.request"}

    tasks = list[asyncio.Task[None]]()
    asyncio.run(asked())
    assert begun == ["/api/v1/entries", "/healthz", "/readyz"]
