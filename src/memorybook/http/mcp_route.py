"""MCP over streamable HTTP at `/mcp`; callers act as an agent, whatever the token."""

from __future__ import annotations

import threading
from contextlib import AbstractAsyncContextManager, ExitStack
from contextvars import ContextVar

from mcp.server.transport_security import TransportSecuritySettings
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from memorybook.http.books import Books
from memorybook.http.http_messages import Refusal
from memorybook.mcp import build
from memorybook.memory import Memory

PATH = "/mcp"


class _Use:
    """A tenant's memory, opened at first use and held until `close`."""

    def __init__(self, books: Books, tenant: str) -> None:
        self._books = books
        self._tenant = tenant
        self._lock = threading.Lock()
        self._open = ExitStack()
        self._memory: Memory | None = None

    def memory(self) -> Memory:
        """The open memory."""
        with self._lock:
            if self._memory is None:
                opened = self._books.opened(self._tenant, person=False, door="mcp")
                self._memory = self._open.enter_context(opened)
            return self._memory

    def close(self) -> None:
        """End the use."""
        with self._lock:
            self._open.close()


_use: ContextVar[_Use] = ContextVar("use")


class McpApp:
    """The ASGI application behind `PATH`; hosts and origins are checked before it.

    Args:
        books: What it is about.
    """

    def __init__(self, books: Books) -> None:
        self._books = books
        self._server = build(lambda: _use.get().memory())
        self._app = self._server.streamable_http_app(
            streamable_http_path=PATH,
            stateless_http=True,
            json_response=True,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=books.config.server.max_body,
        )

    def route(self) -> Route:
        """Return its route, without a trailing slash.

        It takes only POST: the server sends nothing unasked, and an open stream would occupy a request slot.
        """
        return Route(PATH, endpoint=self, methods=["POST"])

    def running(self) -> AbstractAsyncContextManager[None]:
        """Return the context in which it answers."""
        return self._server.session_manager.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI; for the book of the token, or the one that the owner names. Raises Refusal as `Books.work`."""
        named = Request(scope).headers.get("x-memorybook-tenant")
        tenant = self._books.tenant(scope["caller"], named)
        whole = await Request(scope, receive).body()  # before it takes the tenant's turn
        body = iter([{"type": "http.request", "body": whole}])
        begun, late = False, False

        async def given() -> Message:
            return next(body, None) or await receive()

        async def told(message: Message) -> None:
            nonlocal begun
            if not late:
                begun = True
                await send(message)

        async def answer() -> None:
            use = _Use(self._books, tenant)
            _use.set(use)
            try:
                await self._app(scope, given, told)
            finally:
                await run_in_threadpool(use.close)

        try:
            await self._books.answering(tenant, answer)
        except Refusal:
            late = True
            if not begun:
                raise
