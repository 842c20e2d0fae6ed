"""The process: where it listens, with which certificate, and the settings of uvicorn."""

from __future__ import annotations

import gc
import ipaddress
import math
import signal
import socket
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import uvicorn

from memorybook.errors import InvalidInput, Unavailable

if TYPE_CHECKING:
    from fastapi import FastAPI

    from memorybook.config.settings import ServerSettings

_LAST_WORDS = 30.0
"""Seconds that answers may take once the server is told to stop; work on books goes on to its end."""

_YOUNG = 50_000
"""New objects after which Python looks for garbage; with its own 700, views of a large book pay for looks at it all."""


def check_reach(settings: ServerSettings, *, insecure: bool) -> None:
    """Check that tokens do not cross a network unencrypted, unless `insecure`, and that the certificate is valid.

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
    """Return whether the address is reachable from this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def listen(settings: ServerSettings) -> socket.socket:
    """Open the listening socket. Raises Unavailable."""
    host = settings.host.strip("[]")
    try:
        found = socket.getaddrinfo(host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise Unavailable(f"there is no address {settings.host!r}: {error.strerror or error}") from None
    try:
        if sys.platform == "win32":  # where SO_REUSEADDR lets somebody else listen here, too
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(2048)
    except OSError as error:
        listening.close()
        told = f"cannot listen on {settings.host}:{settings.port}: {error.strerror}"
        raise Unavailable(f"{told}; give another --port") from None
    return listening


def url_of(listening: socket.socket, settings: ServerSettings) -> str:
    """Return the URL of the server for a browser on this machine."""
    host = settings.host.strip("[]")
    port = listening.getsockname()[1]
    if host.strip("0.:") == "":
        host = "localhost"
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if settings.tls_cert else 'http'}://{shown}:{port}"


def server_of(app: FastAPI, settings: ServerSettings) -> uvicorn.Server:
    """Return the server of an application. Told to stop, it answers what it has begun and closes the books."""
    gc.set_threshold(_YOUNG, *gc.get_threshold()[1:])
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            http="h11",
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=_most_connections(),
            ssl_certfile=settings.tls_cert or None,
            ssl_keyfile=settings.tls_key or None,
            timeout_graceful_shutdown=math.ceil(min(_LAST_WORDS, settings.timeout)),
        )
    )
    app.state.leaving = lambda: server.should_exit  # streams end by themselves
    return server


def _most_connections() -> int | None:
    """Return at how many connections new ones are refused, so that files are left for the books; None for no limit."""
    if sys.platform == "win32":  # which limits no process
        return None
    import resource

    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return None if soft == resource.RLIM_INFINITY else soft * 3 // 4


@contextmanager
def clean_exit() -> Iterator[None]:
    """Keep signals, which uvicorn raises anew once it has stopped, from ending the process with an error."""
    before = {sign: signal.signal(sign, lambda *_: None) for sign in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)
