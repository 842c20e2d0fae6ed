"""Vectors made ahead by a second process, while this one still reads and splits what they are to be made of.

Nothing rests on it: a vector that is not there yet is made by whoever asks for it. Texts go to the process
through a file without a name and rows come back through another, so that neither side ever waits for the
other; a pipe says how much there is to read. When the pipe is silent for `IDLE` seconds, or this process is gone,
killed perhaps, the other ends.
"""

from __future__ import annotations

import marshal
import os
import sys
from contextlib import suppress
from itertools import repeat
from mmap import ACCESS_READ, mmap
from struct import Struct
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from subprocess import Popen

MOST = 262_144
"""Texts that are known ahead at most, a kilobyte of disk each."""

IDLE = 60.0

_PART = Struct("<qq")  # where in the file of texts, and how many bytes
_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[4:]; from memorybook.inference.embed_worker import serve;"
    " from memorybook.inference.static import StaticEmbedder;"
    " serve(int(sys.argv[1]), int(sys.argv[2]), StaticEmbedder(sys.argv[3] or None).rows)"
)


class Ahead:
    """Rows made by a second process. Safe to share between threads.

    Args:
        cache_dir: As of `StaticEmbedder`; the files without names are there, too.
        width: Bytes of a row.

    Raises:
        OSError: There can be no such process here.
    """

    def __init__(self, cache_dir: str | None, width: int) -> None:
        self._width = width
        self._lock = Lock()
        self._places: dict[int, int] = {}
        self._given = 0
        self._end: Callable[[], object] | None = None
        self._start(cache_dir)

    def _start(self, cache_dir: str | None) -> None:
        import subprocess
        from tempfile import TemporaryFile
        from weakref import finalize

        if not _is_plain(sys.executable) or _processors() < 2:
            raise OSError("a second process would be of no use, or cannot be started")
        if cache_dir:
            os.makedirs(cache_dir, exist_ok=True)
        self._texts = TemporaryFile(dir=cache_dir)  # noqa: SIM115  (both are closed with the process)
        self._rows = TemporaryFile(dir=cache_dir)  # noqa: SIM115
        files = [self._texts.fileno(), self._rows.fileno()]
        folders = [folder or os.getcwd() for folder in sys.path]
        self._process = subprocess.Popen(  # noqa: S603  (this interpreter, no shell)
            [sys.executable, "-I", "-S", "-c", _PROGRAM, *map(str, files), cache_dir or "", *folders],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=files,
        )
        self._end = finalize(self, _stop, self._process)

    @property
    def over(self) -> bool:
        """Whether the process ended, so that nothing more will be made."""
        return self._end is None or self._process.poll() is not None

    def add(self, texts: Sequence[str]) -> None:
        """Have rows made of these texts; what is too much, or comes when the process is gone, is passed over."""
        with self._lock:
            if self._end is None or self._given + len(texts) > MOST or self._process.stdin is None:
                return
            data = marshal.dumps(list(texts))
            try:
                start = self._texts.seek(0, os.SEEK_END)
                self._texts.write(data)
                self._texts.flush()
                self._process.stdin.write(_PART.pack(start, len(data)))
                self._process.stdin.flush()
            except OSError:  # a full disk, or the process ended: what it made stays of use
                return
            self._places.update(zip(map(hash, texts), range(self._given, self._given + len(texts)), strict=True))
            self._given += len(texts)

    def take(self, texts: Sequence[str]) -> list[bytes | None] | None:
        """The row of each text, None for those that are not made; None when nothing is left to be had."""
        with self._lock:
            if self._end is None:
                return None
            places = [*map(self._places.pop, map(hash, texts), repeat(-1))]
            rows = self._made(places)
            if not self._places:
                self._close()
            return rows

    def _made(self, places: list[int]) -> list[bytes | None]:
        width = self._width
        made = os.fstat(self._rows.fileno()).st_size // width
        if not made:
            return [None] * len(places)
        with mmap(self._rows.fileno(), made * width, access=ACCESS_READ) as rows:
            return [rows[at * width : (at + 1) * width] if 0 <= at < made else None for at in places]

    def close(self) -> None:
        """End the process and let the files go; closing twice does nothing."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._end is not None:
            self._end()
            self._end = None
            self._places.clear()
            self._texts.close()
            self._rows.close()


def _is_plain(executable: str) -> bool:
    """Whether running this runs Python, and not the program that has Python in it."""
    return os.path.basename(executable).startswith("python") and not getattr(sys, "frozen", False)


def _processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _stop(process: Popen[bytes]) -> None:
    process.kill()
    if process.stdin is not None:
        with suppress(OSError):  # it may have ended before it had read all
            process.stdin.close()
    process.wait()


# --- in the other process --------------------------------------------------------------------------


def serve(texts: int, rows: int, embed: Callable[..., Any]) -> None:
    """Make the rows of one part of the file `texts` after the other, until no more is said on standard input."""
    from select import select

    at, parent = 0, os.getppid()
    while select([0], [], [], IDLE)[0]:
        part = os.read(0, _PART.size)
        if len(part) < _PART.size:
            return
        start, size = _PART.unpack(part)
        wanted: list[str] = marshal.loads(_read(texts, start, size))  # noqa: S302  (nobody else can write there)
        for first in range(0, len(wanted), 512):
            if os.getppid() != parent:
                return
            data = memoryview(embed(wanted[first : first + 512], bulk=True)).cast("B")
            while data:
                done = os.pwrite(rows, data, at)
                at, data = at + done, data[done:]


def _read(file: int, start: int, size: int) -> bytes:
    found = bytearray()
    while len(found) < size and (piece := os.pread(file, size - len(found), start + len(found))):
        found += piece
    return bytes(found)
