"""A network on which a whole request ends in time, however slowly its bytes drip.

An HTTP client's timeout is that of one read: who sends a byte now and then, of the headers already, is never
late. Here each wait is cut to what is left of the time that `ends_within` gives to all of them.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import httpcore2
import httpx2


class _Time(threading.local):
    """When what this thread waits for is over; a request is sent and read in one thread."""

    ends: float | None = None


_time = _Time()


@contextmanager
def ends_within(seconds: float) -> Iterator[None]:
    """Limit all waiting for the network in this block and thread to so many seconds.

    A block in another ends with that one at the latest.
    """
    before, ends = _time.ends, time.monotonic() + seconds
    _time.ends = ends if before is None else min(before, ends)
    try:
        yield
    finally:
        _time.ends = before


def _left(timeout: float | None) -> float | None:
    """Return what is left of the time. Raises ReadTimeout if it is over."""
    if _time.ends is None:
        return timeout
    left = _time.ends - time.monotonic()
    if left <= 0:
        raise httpcore2.ReadTimeout("the time is up")
    return left if timeout is None else min(timeout, left)


class Transport(httpx2.HTTPTransport):
    """As httpx2's own, with deadlines; without proxies and settings of the environment."""

    def __init__(self, *, verify: bool) -> None:
        context = httpx2.create_ssl_context(verify=verify, trust_env=False)
        super().__init__(verify=context, trust_env=False)
        self._pool = httpcore2.ConnectionPool(
            ssl_context=context, max_connections=100, max_keepalive_connections=20, network_backend=_Network()
        )


class _Network(httpcore2.SyncBackend):
    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        try:  # by hand: each of a host's addresses would have the whole time to itself
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error
        problem: Exception = httpcore2.ConnectError(f"{host} has no address")
        for *_, address in found:
            try:
                connected = super().connect_tcp(str(address[0]), port, _left(timeout), local_address, socket_options)
                return _Stream(connected)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                problem = error
        raise problem


class _Stream(httpcore2.NetworkStream):
    def __init__(self, stream: httpcore2.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, _left(timeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
