"""What is told of every request: its id, its place in the metrics, a line in the log."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memorybook.http.error_responses import response, stopping

_log = logging.getLogger("memorybook.server")
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

_ALWAYS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}


class Metrics:
    """What the server counts, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "memorybook_requests", "Requests answered.", ["method", "route", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "memorybook_request_seconds",
            "Time from a request to the end of its answer.",
            ["route"],
            registry=self.registry,
        )
        self.now = Gauge("memorybook_requests_now", "Requests that are being answered.", registry=self.registry)
        self.works = Gauge("memorybook_works_now", "Works on books that run or wait.", registry=self.registry)
        self.books = Gauge("memorybook_books_now", "Books that are worked in.", registry=self.registry)
        self.ready = Gauge("memorybook_ready", "1 while writes succeed.", registry=self.registry)


class Tracing:
    """Gives each request an id, counts and logs it, and answers for what nobody else caught.

    Args:
        app: What is behind it.
        metrics: Where it is counted.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        asked = Headers(scope=scope).get("x-request-id", "")
        id = scope["request_id"] = asked if _ID.fullmatch(asked) else secrets.token_hex(8)
        began, status = time.perf_counter(), 0

        async def named(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = id
                for name, value in _ALWAYS.items():
                    headers.setdefault(name, value)
            await send(message)

        with self.metrics.now.track_inprogress():
            try:
                await self.app(scope, receive, named)
            except (Exception, asyncio.CancelledError) as error:
                if status:  # too late to say so
                    raise
                told = stopping() if isinstance(error, asyncio.CancelledError) else error
                await response(told, id)(scope, receive, named)
        self._tell(scope, id, status, time.perf_counter() - began)

    def _tell(self, scope: Scope, id: str, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "") or ("/mcp" if scope["path"].startswith("/mcp") else "other")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self.metrics.requests.labels(method, route, str(status)).inc()
        self.metrics.seconds.labels(route).observe(seconds)
        caller = scope.get("caller")
        who = caller.token if caller is not None else "-"
        _log.info("%s %s %s %d %.1f ms token=%s", id, method, route, status, seconds * 1000, who)


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
