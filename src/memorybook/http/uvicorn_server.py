"""The process: where it listens, what it tells at its start, and a stop that loses nothing."""

from __future__ import annotations

import asyncio
import ipaddress
import math
import os
import resource
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from memorybook.errors import InvalidInput, Unavailable

if TYPE_CHECKING:
    from fastapi import FastAPI

    from memorybook.config.settings import ServerSettings

_PATIENCE = 10.0
"""Seconds within which the head of a request must have come, and something of an answer be read."""

_QUIET = 1.0
"""Seconds for which a peer may be quiet once the server is told to stop."""

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
    """A connection, which is closed if its peer goes quiet, or if there are too many.

    Whoever has no token yet may hold it as long as it takes to ask, and leaves files for the books.
    """

    _received = 0
    _resumed = 0
    _seen: tuple[str, object] = ("asks", None)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See asyncio."""
        super().connection_made(transport)
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if soft != resource.RLIM_INFINITY and len(self.connections) > soft * 3 // 4:
            transport.abort()
            return
        self.loop.call_later(_PATIENCE, self._look)

    def data_received(self, data: bytes) -> None:
        """See asyncio."""
        self._received += len(data)
        super().data_received(data)

    def resume_writing(self) -> None:
        """See asyncio."""
        self._resumed += 1
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """See uvicorn; it takes no care of an answer that has begun, or will."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.abort()

    def awaited(self) -> tuple[str, object]:
        """What the peer is to do, and how far it is: it asks, sends, or reads; "" while it is the server's turn."""
        if unread := self.transport.get_write_buffer_size():
            return "reads", (unread, self._resumed)
        if self.cycle is None or self.cycle.response_complete:
            return "asks", self.cycle  # a byte of a head now and then is no progress
        return ("sends", self._received) if self.cycle.more_body and not self.flow.read_paused else ("", None)

    def _look(self) -> None:
        """Close it if the peer has not got on since the last look; for bodies there is a limit of its own."""
        if self not in self.connections:
            return
        seen, self._seen = self._seen, self.awaited()
        if self._seen == seen and seen[0] in ("asks", "reads"):
            self.transport.abort()
            return
        self.loop.call_later(_PATIENCE, self._look)


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
                ws="none",
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

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn; whoever has gone quiet is not waited for."""
        for server in self.servers:
            server.close()
        self.servers.clear()  # of Python 3.12 and later: else it waits for handshakes of TLS, too
        hanging_up = asyncio.create_task(self._hang_up())
        try:
            await super().shutdown(sockets)
        finally:
            hanging_up.cancel()

    async def _hang_up(self) -> None:
        """Close, again and again, the connections whose peers have not got on."""
        seen: dict[Connection, tuple[str, object]] = {}
        while True:
            await asyncio.sleep(_QUIET)
            now = {each: each.awaited() for each in cast("set[Connection]", self.server_state.connections)}
            for connection, awaited in now.items():
                if awaited[0] == "asks" or (awaited[0] and seen.get(connection) == awaited):
                    connection.transport.abort()
            seen = now

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Takes signals as a wish to stop, Ctrl-C once more as one to leave at once; in a thread there are none."""
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
        if self.should_exit and sign == signal.SIGINT:
            os._exit(128 + sign)  # what was acknowledged is on disk; threads would be waited for
        self.handle_exit(sign, frame)
