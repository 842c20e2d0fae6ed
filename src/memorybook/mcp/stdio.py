"""The server on a pipe: a host starts it and talks over its stdin and stdout."""

from __future__ import annotations

import gc
import io
import logging
import os
import re
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, BinaryIO

from mcp.types import jsonrpc_message_adapter

from memorybook.config import telemetry
from memorybook.mcp.server import Opening, build
from memorybook.memory import Memory

_ESCAPES = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
"""A backslash that stands for itself, a whole pair, and what is left: half of one."""


_ID = re.compile(rb'"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d{1,18}(?!\d))')

_MOMENT = 0.5
"""Seconds that what is being done has left once the host is gone."""

UNREADABLE = "a line that is no message of the protocol"
"""The method that is asked for in place of a line that cannot be read: there is none, and that is answered."""


class Mended(io.RawIOBase):
    """A host's lines, mended so that every request is answered.

    The protocol's reader answers nothing to a line that it cannot read, for which the host would wait in vain. Half of
    a surrogate pair, as a host writes that cut a text in two, becomes U+FFFD; what cannot be read for another reason
    becomes a request of the same id for a method that there is not. At their end `ended` is called, once.
    """

    def __init__(self, lines: BinaryIO, ended: Callable[[], None] | None = None) -> None:
        self._lines = lines
        self._ended = ended
        self._left = memoryview(b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read from the next line."""
        if not self._left:
            line = self._lines.readline()
            if not line and self._ended is not None:
                self._ended()
                self._ended = None
            if b"\\u" in line:
                line = _ESCAPES.sub(lambda found: rb"\ufffd" if found[1] else found[0], line)
            self._left = memoryview(_answerable(line))
        count = min(len(buffer), len(self._left))
        buffer[:count], self._left = self._left[:count], self._left[count:]
        return count


def _answerable(line: bytes) -> bytes:
    try:
        jsonrpc_message_adapter.validate_json(line.decode(errors="replace"), by_name=False)  # as the reader does
    except ValueError:
        told = _ID.search(line.partition(b'"params"')[0]) or next(reversed(list(_ID.finditer(line))), None)
        if told and b'"method"' in line:
            return b'{"jsonrpc": "2.0", "id": %b, "method": "%b"}\n' % (told[1], UNREADABLE.encode())
    return line


def serve(opened: Callable[[], Memory]) -> None:
    """Serve until stdin ends, or a signal to stop comes: then the book is closed, and the process ends within a second.

    Nothing but the protocol is written to stdout, and the log to stderr.

    Args:
        opened: Opens the book, at the first call that needs it.
    """
    memory = Opening(opened)

    def leave(code: int) -> None:  # neither a thread that reads stdin nor one at work can be woken
        memory.close(wait=False)
        telemetry.flush(_MOMENT)
        os._exit(code)

    def stop(number: int, _: FrameType | None) -> None:
        _at_a_signal(signal.SIG_DFL)
        leave(128 + number)

    late = threading.Timer(_MOMENT, leave, [0])
    late.daemon = True
    _at_a_signal(stop)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="memorybook: %(message)s")
    server = build(memory)
    lines = os.fdopen(os.dup(0), "rb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # stdin itself is empty from now on
    os.close(nothing)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(Mended(lines, late.start)), encoding="utf-8")
    gc.freeze()  # what was imported stays
    gc.enable()
    try:
        server.run("stdio")
    finally:
        late.cancel()
        _at_a_signal(signal.SIG_DFL)  # who cannot wait for the end need not
        memory.close(wait=False)
        sys.stderr.flush()


def _at_a_signal(handler: Any) -> None:
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, handler)
