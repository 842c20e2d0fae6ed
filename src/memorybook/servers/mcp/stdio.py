"""The server on a pipe: a host starts it and talks over its stdin and stdout."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType

from memorybook.memory import Memory
from memorybook.servers.mcp.server import build


class Opening:
    """A memory that is opened when it is first asked for, and closed once."""

    def __init__(self, opened: Callable[[], Memory]) -> None:
        self._open = opened
        self._lock = threading.Lock()
        self._memory: Memory | None = None

    def __call__(self) -> Memory:
        """The one memory; raises what opening it raises, and is tried again the next time."""
        with self._lock:
            if self._memory is None:
                self._memory = self._open()
            return self._memory

    def close(self) -> None:
        """Close it if it was opened."""
        if self._memory is not None:
            self._memory.close()


def serve(opened: Callable[[], Memory]) -> None:
    """Serve until stdin ends; a signal to stop closes the book and ends the process.

    Nothing but the protocol is written to stdout, and the log to stderr.

    Args:
        opened: Opens the book, at the first call that needs it.
    """
    memory = Opening(opened)

    def leave(number: int, _: FrameType | None) -> None:  # the thread that reads stdin cannot be woken
        memory.close()
        os._exit(128 + number)

    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, leave)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="memorybook: %(message)s")
    server = build(memory)
    gc.freeze()  # what was imported stays
    gc.enable()
    try:
        server.run("stdio")
    finally:
        memory.close()
        sys.stderr.flush()
