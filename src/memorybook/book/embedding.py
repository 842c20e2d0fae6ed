"""Vectors for the passages that wait for one: all at once when asked to, or in the background while searches go on."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from memorybook.errors import EmbedderFailed, MemoryBookError

if TYPE_CHECKING:
    from memorybook.protocols import Index, Progress

Claim = Callable[[], AbstractContextManager[bool]]
"""Gives True inside the block to one holder at a time, in any process; to others False."""

REST = 30.0
"""Seconds after a failure until the background tries again; twice as long after each, up to `LONGEST_REST`."""

LONGEST_REST = 600.0
_LOOK_AGAIN = 0.2  # seconds until it is seen how far another process has come
_GIVE_WAY = 0.01
_GIVE_WAY_MOST = 1.0  # seconds a batch waits for searches; they may overlap for ever
_PATIENCE = 5.0  # seconds in which a batch should end; a service may take longer, and is left to itself then


class Embedding:
    """Embeds what waits in an index; one process at a time (`claim`), the others wait and see how far it is.

    `busy` says whether somebody waits for an answer, which comes first; `failure` why the background stopped; `done`
    its `(done, total)`.
    """

    def __init__(self, index: Index, *, claim: Claim | None = None, busy: Callable[[], bool] = lambda: False) -> None:
        self._index = index
        self._claim = claim or (lambda: nullcontext(True))
        self._busy = busy
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.failure = ""
        self.done = (0, 0)

    @property
    def running(self) -> bool:
        """True if the background is at work, or rests between two tries."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def by(self) -> str:
        """Who embeds just now: `this process`, `another process`, or "" for nobody."""
        if self.running:
            return "this process"
        with self._claim() as ours:
            return "" if ours else "another process"

    def finish(self, progress: Progress | None = None) -> int:
        """Embed all that waits, or wait for whoever does; return how many still wait. Raises EmbedderFailed."""
        most = 0
        while True:
            with self._claim() as ours:
                if ours:
                    return self._index.embed_pending(progress=progress)
            left = int(self._index.stats()["pending"])
            if not left:
                return 0
            most = max(most, left)
            if progress is not None:
                progress(most - left, most)
            time.sleep(_LOOK_AGAIN)

    def wake(self) -> None:
        """Start the background thread that embeds pending passages. No-op if it is running, or after `close`."""
        with self._lock:
            if self._stop.is_set() or self.running:
                return
            if self._thread is None:
                atexit.register(self.close)
            self._thread = threading.Thread(target=self._run, name="memorybook-embedding", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End the background after the batch it is at; what was embedded stays, the rest waits for the next time."""
        with self._lock:
            self._stop.set()
            thread, self._thread = self._thread, None
        if thread is not None:
            atexit.unregister(self.close)
            thread.join(_PATIENCE)

    def _run(self) -> None:
        rest = REST
        while not self._stop.is_set():
            try:
                if self._step():
                    break
            except _Stopped:
                break
            except Exception as error:  # an embedder may be anybody's and raise anything
                told = f"the embedder failed ({type(error).__name__}: {error}); mend it, or choose another"
                self.failure = str(error) if isinstance(error, MemoryBookError) else told
                if isinstance(error, MemoryBookError) and not isinstance(error, EmbedderFailed):
                    break  # the index cannot be used; the next search says so, and wakes this again
                self._stop.wait(rest)
                rest = min(2 * rest, LONGEST_REST)
        self.done = (0, 0)

    def _step(self) -> bool:
        """Embed all that waits, or wait for whoever does; True when nothing is left. A closed index is not touched."""
        with self._claim() as ours:
            self._check()
            if ours:
                left = self._index.embed_pending(progress=self._after_batch)
                self.failure = ""
                return not left
        self._stop.wait(_LOOK_AGAIN)
        self._check()
        return not self._index.stats()["pending"]

    def _after_batch(self, done: int, total: int) -> None:
        self.done, self.failure = (done, total), ""
        end = time.monotonic() + _GIVE_WAY_MOST
        while self._busy() and not self._stop.is_set() and time.monotonic() < end:
            time.sleep(_GIVE_WAY)
        self._check()

    def _check(self) -> None:
        if self._stop.is_set():
            raise _Stopped


class _Stopped(Exception):
    """The background is to end here, between two batches."""
