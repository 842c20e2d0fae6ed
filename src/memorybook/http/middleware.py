"""Middleware besides authentication: limits of size, rate and concurrency; HEAD; request ids, metrics and the log."""

from __future__ import annotations

import asyncio
import logging
import math
import re
import secrets
import time
from collections import Counter
from urllib.parse import unquote

from prometheus_client import CollectorRegistry, Gauge, Histogram
from prometheus_client import Counter as Count
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memorybook.config.settings import ServerSettings
from memorybook.config.telemetry import Span, span
from memorybook.http.access import PUBLIC, STREAM
from memorybook.http.http_messages import Refusal, refuse, response, too_many_at_a_time
from memorybook.http.server_state import ServerState, ask


class Heads:
    """Route HEAD as GET and end the answer where its body begins."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the middleware (ASGI)."""
        if scope.get("method") != "HEAD":
            await self.app(scope, receive, send)
            return
        asked, ended = {**scope, "method": "GET"}, False

        async def head(message: Message) -> None:
            nonlocal ended
            if message["type"] != "http.response.body":
                await send(message)
            elif not ended:  # a stream hears then that nobody listens
                ended = True
                await send({"type": "http.response.body", "body": b""})

        try:
            await self.app(asked, receive, head)
        finally:
            scope["route"] = asked.get("route")


class Limits:
    """Refuse requests that are too large, too frequent or too many at a time; streams are counted apart."""

    def __init__(self, app: ASGIApp, settings: ServerSettings, state: ServerState) -> None:
        self.app = app
        self.settings = settings
        self._state = state
        self._now = Counter[bool]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the middleware (ASGI)."""
        if scope["type"] not in ("http", "websocket") or scope["path"] in PUBLIC:  # these answer however busy it is
            await self.app(scope, receive, send)
            return
        try:
            await self._check(scope)
        except Refusal as refusal:
            await refuse(scope, receive, send, refusal)
            return
        stream = scope["path"] == STREAM
        self._now[stream] += 1
        try:
            await self.app(scope, self._counted(receive) if scope["type"] == "http" else receive, send)
        finally:
            self._now[stream] -= 1

    async def _check(self, scope: Scope) -> None:
        try:
            unquote(scope.get("raw_path", b"").decode("ascii"), errors="strict")
        except UnicodeDecodeError:
            raise Refusal(400, "invalid_input", "the address is not UTF-8") from None
        caller, rate = scope.get("caller"), self.settings.rate
        wait = await ask(self._state, lambda: self._state.wait(caller.token, rate)) if caller and rate else 0.0
        if wait:
            after = {"Retry-After": str(math.ceil(wait))}
            raise Refusal(429, "too_many", f"this token may make {self.settings.rate:g} requests a second", after)
        if self._now[scope["path"] == STREAM] >= self.settings.max_requests:
            raise too_many_at_a_time()
        length = Headers(scope=scope).get("content-length", "0")
        if not length.isdecimal() or len(length) > 20 or int(length) > self.settings.max_body:
            raise self._too_large()

    def _too_large(self) -> Refusal:
        message = f"the body has more than {self.settings.max_body} bytes: set server.max_body"
        return Refusal(413, "too_large", message, {"Connection": "close"})

    def _counted(self, receive: Receive) -> Receive:
        """Limit the size and the duration of a body."""
        left, more = self.settings.max_body, True
        ends = time.monotonic() + self.settings.timeout  # for all of it: a byte now and then is no progress

        async def counted() -> Message:
            nonlocal left, more
            try:
                message = await asyncio.wait_for(receive(), max(0.0, ends - time.monotonic()) if more else None)
            except TimeoutError:
                told = f"the body did not come within {self.settings.timeout:g} s"
                raise Refusal(408, "too_slow", told, {"Connection": "close"}) from None
            more = message.get("more_body", False)
            left -= len(message.get("body", b""))
            if left < 0:
                raise self._too_large()
            return message

        return counted


# --- tracing -----------------------------------------------------------------------------------------

_log = logging.getLogger("memorybook.server")
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

_ALWAYS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}


class Metrics:
    """Prometheus metrics, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Count(
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
    """Give each request an id, count and log it, and answer uncaught exceptions."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the middleware (ASGI)."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        asked = headers.get("x-request-id", "")
        id = scope["request_id"] = asked if _ID.fullmatch(asked) else secrets.token_hex(8)
        method = scope["method"] if scope["method"] in _METHODS else "other"
        carrier = {name: headers.get(name, "") for name in ("traceparent", "tracestate")}
        with span(method, kind="server", carrier=carrier, http__request__method=method) as done:
            await self._answer(scope, receive, send, id, done)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, id: str, done: Span) -> None:
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
                problem: Exception
                if isinstance(error, Exception):
                    problem = error
                else:
                    stops = "the server is stopping and finishes this request: check the result later"
                    problem = Refusal(504, "late", stops)
                await response(problem, id)(scope, receive, named)
        seconds = time.perf_counter() - began
        route = getattr(scope.get("route"), "path", "") or ("/mcp" if scope["path"].startswith("/mcp") else "other")
        method = done.facts["http.request.method"]
        self.metrics.requests.labels(method, route, str(status)).inc()
        self.metrics.seconds.labels(route).observe(seconds)
        caller = scope.get("caller")
        who = caller.token if caller is not None else "-"
        done.name = f"{method} {route}"
        done.set(http__route=route, http__response__status_code=status)
        done.set(memorybook__request_id=id, memorybook__token=who, memorybook__tenant=caller and caller.tenant)
        _log.info("%s %s %s %d %.1f ms token=%s", id, method, route, status, seconds * 1000, who)


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
