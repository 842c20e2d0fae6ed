"""The process: where it listens, what it tells at its start, and a stop that loses nothing."""

from __future__ import annotations

import asyncio
import ipaddress
import math
import resource
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from memorybook.errors import InvalidInput, Unavailable

if TYPE_CHECKING:
    from fastapi import FastAPI

    from memorybook.config import ServerSettings

_HEAD = 10.0
"""Seconds within which the head of a request must have come."""

_LAST_WORDS = 30.0
"""Seconds that answers may take once the server is told to stop; work on books goes on to its end all the same."""


def check_reach(settings: ServerSettings, *, insecure: bool) -> None:
    """Check that tokens go over no network in plain text, unless that is wanted, and that the certificate is good.

    Raises:
        InvalidInput: Otherwise.
    """
    if bool(settings.tls_cert) != bool(settings.tls_key):
        raise InvalidInput("a certificate and its key are given together: --tls-cert FILE --tls-key FILE")
    if settings.tls_cert:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(settings.tls_cert, settings.tls_key)
        except OSError as error:  # those of TLS are some, too
            told = f"certificate {settings.tls_cert!r} with key {settings.tls_key!r} cannot be used"
            raise InvalidInput(f"{told}: {error.strerror or error}") from None
    if not (settings.tls_cert or insecure or is_loopback(settings.host)):
        raise InvalidInput(
            f"{settings.host!r} is not this machine alone, and tokens would pass in plain text: give --tls-cert and "
            "--tls-key, or --insecure-no-tls where something else encrypts"
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine itself gets to that address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def listen(settings: ServerSettings) -> socket.socket:
    """A socket where the settings say. Raises Unavailable."""
    host = settings.host.strip("[]")
    try:
        found = socket.getaddrinfo(host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise Unavailable(f"there is no address {settings.host!r}: {error.strerror or error}") from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(2048)
    except OSError as error:
        listening.close()
        told = f"cannot listen on {settings.host}:{settings.port}: {error.strerror}"
        raise Unavailable(f"{told}; give another --port") from None
    return listening


def url_of(listening: socket.socket, settings: ServerSettings) -> str:
    """The address of the server as a browser on this machine has it."""
    host = settings.host.strip("[]")
    port = listening.getsockname()[1]
    if host.strip("0.:") == "":
        host = "localhost"
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if settings.tls_cert else 'http'}://{shown}:{port}"


class Connection(H11Protocol):
    """A connection, which is closed if no request comes on it in time, or if there are too many.

    Whoever has no token yet may hold it as long as it takes to ask, and leaves files for the books.
    """

    _idle_since: object = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See asyncio."""
        super().connection_made(transport)
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if soft != resource.RLIM_INFINITY and len(self.connections) > soft * 3 // 4:
            transport.abort()
            return
        self.loop.call_later(_HEAD, self._look)

    def _look(self) -> None:
        """Close it if it has waited for the same next request before."""
        if self.transport.is_closing():
            return
        cycle = self.cycle
        if (cycle is None or cycle.response_complete) and cycle is self._idle_since:
            self.transport.close()
            return
        self._idle_since = cycle if cycle is not None and cycle.response_complete else self
        self.loop.call_later(_HEAD, self._look)


class Server(uvicorn.Server):
    """Serves until it is told to stop, by `should_exit` or a signal; then answers what it has begun.

    Args:
        app: What is served.
        settings: How.
        tell: Called once it listens.
    """

    def __init__(self, app: FastAPI, settings: ServerSettings, tell: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=Connection,
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                ssl_certfile=settings.tls_cert or None,
                ssl_keyfile=settings.tls_key or None,
                timeout_graceful_shutdown=math.ceil(min(_LAST_WORDS, settings.timeout)),
            )
        )
        self._tell = tell

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn."""
        await super().startup(sockets)
        if self.started:
            self._tell()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Takes signals as a wish to stop; in a thread there are none."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {sign: signal.signal(sign, self._stop) for sign in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for sign, handler in before.items():
                signal.signal(sign, handler)

    def _stop(self, sign: int, frame: FrameType | None) -> None:
        self.handle_exit(sign, frame)
