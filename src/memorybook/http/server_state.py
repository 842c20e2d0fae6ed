"""What the servers of the same books share: tenants and tokens for good, links and logins for a time, and rates."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple, Protocol, TypeVar

from memorybook.errors import Unavailable
from memorybook.storage.output_file import put_in_place

T = TypeVar("T")

_log = logging.getLogger("memorybook.server")

PARTS = {"tenants": ("created",), "tokens": ("sha256", "tenant", "acts_as", "label", "created")}
"""Parts of the register, and what each of their entries has."""

_KNOWN = 10_000
"""Tokens whose rate is remembered by one server."""

_PROBE = b"ready?\n" * 600

Register = Mapping[str, MutableMapping[str, dict[str, str]]]
"""Tenants by name, and the tokens that were given out by id."""


class Due(NamedTuple):
    """A tenant to be looked after, and the time until which it is claimed."""

    tenant: str
    until: float


class ServerState(Protocol):
    """Safe to share between threads; any method may raise Unavailable."""

    near: bool
    """True if no method waits for another machine, so that an event loop may call it; see `ask`."""

    def register(self) -> Mapping[str, Mapping[str, Mapping[str, str]]]:
        """Return the tenants and tokens as they are now; read-only. Looking one up is cheap, going through them not."""

    def changing(self) -> AbstractContextManager[Register]:
        """Yield them to be changed, with no other server in between; durable when the block ends, unless it raises."""

    def put(self, kind: str, key: str, value: Any, *, seconds: float) -> None:
        """Keep a value of JSON for so long."""

    def get(self, kind: str, key: str) -> Any:
        """Return it; None if there is none."""

    def take(self, kind: str, key: str) -> Any:
        """Return it to one who asks, and to nobody again."""

    def wait(self, token: str, rate: float) -> float:
        """Take one request of a token that may make `rate` a second; return the seconds to wait, 0 if it is allowed."""

    def note(self, tenant: str, *, seconds: float) -> None:
        """Have some server look after a tenant once so many seconds have passed; replaces an earlier note of it."""

    def claim(self, *, seconds: float) -> Due | None:
        """Return a tenant whose time has come, None if there is none; nobody else is given it for so many seconds."""

    def settle(self, due: Due) -> None:
        """Say that a claimed tenant was looked after; what was noted meanwhile stays."""

    def check(self) -> None:
        """Raise OSError or Unavailable unless what is registered now would be kept."""


async def ask(state: ServerState, question: Callable[[], T]) -> T:
    """Return what a question to the state returns, asked in a thread if it may take its time.

    It is asked for whoever comes, known or not: that the state does not answer is told without saying where it is.
    """
    if state.near:
        return question()
    try:
        return await asyncio.to_thread(question)
    except Unavailable as error:
        _log.warning("the state of the servers: %s", error)
        raise Unavailable("what the servers share does not answer; try again later") from error


class MemoryState:
    """`ServerState` of one server, gone with it.

    Args:
        clock: Seconds, growing.
    """

    near = True

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._register: Register = {part: {} for part in PARTS}
        self._values: dict[tuple[str, str], tuple[float, Any]] = {}
        self._left: dict[str, tuple[float, float]] = {}
        self._due: dict[str, float] = {}

    def register(self) -> Register:
        """Return the tenants and tokens."""
        return self._register

    @contextmanager
    def changing(self) -> Iterator[Register]:
        """Change a copy, which takes its place at the end."""
        with self._lock:
            register = {part: dict(values) for part, values in self._register.items()}
            yield register
            self._register = register

    def put(self, kind: str, key: str, value: Any, *, seconds: float) -> None:
        """Keep a value for so long."""
        with self._lock:
            now = self._clock()
            self._values = {known: one for known, one in self._values.items() if one[0] > now}
            self._values[kind, key] = (now + seconds, value)

    def get(self, kind: str, key: str) -> Any:
        """Return the value; None if there is none."""
        with self._lock:
            ends, value = self._values.get((kind, key), (0.0, None))
            return value if ends > self._clock() else None

    def take(self, kind: str, key: str) -> Any:
        """Return the value once."""
        with self._lock:
            value = self.get(kind, key)
            self._values.pop((kind, key), None)
            return value

    def wait(self, token: str, rate: float) -> float:
        """Take one request out of the token's bucket, which holds two seconds' worth of them."""
        if not rate:
            return 0.0
        with self._lock:
            now, size = self._clock(), max(1.0, 2 * rate)
            left, since = self._left.pop(token, (size, now))
            left = min(size, left + (now - since) * rate)
            if len(self._left) >= _KNOWN:
                self._left.pop(next(iter(self._left)))
            self._left[token] = (left - 1, now) if left >= 1 else (left, now)
            return 0.0 if left >= 1 else (1 - left) / rate

    def note(self, tenant: str, *, seconds: float) -> None:
        """Have the tenant claimed in so many seconds."""
        with self._lock:
            self._due[tenant] = self._clock() + seconds

    def claim(self, *, seconds: float) -> Due | None:
        """Return the tenant that waits longest of those whose time has come."""
        with self._lock:
            tenant = min(self._due, key=self._due.__getitem__, default=None)
            if tenant is None or self._due[tenant] > self._clock():
                return None
            self._due[tenant] = self._clock() + seconds
            return Due(tenant, self._due[tenant])

    def settle(self, due: Due) -> None:
        """Forget the note that was claimed."""
        with self._lock:
            if self._due.get(due.tenant) == due.until:
                del self._due[due.tenant]

    def check(self) -> None:
        """Do nothing."""


class FileState(MemoryState):
    """`ServerState` whose tenants and tokens are in a file, which other servers may read and change, too.

    Links, logins and rates are this server's own.

    Args:
        path: The file; made when something is written.
    """

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self._stamp: tuple[int, ...] = ()

    def register(self) -> Register:
        """Return the content of the file, read again if it changed."""
        with self._lock:
            return self._read_anew()

    @contextmanager
    def changing(self) -> Iterator[Register]:
        """Change a copy of the file's content, which is saved at the end; other servers are locked out."""
        with self._lock, put_in_place(self._path, make=True) as new, open(new, "w", encoding="utf-8") as file:
            self._stamp = ()  # a file that took its place within the tick of the clock may look the same
            kept = {part: dict(values) for part, values in self._read_anew().items()}
            yield kept
            file.write(json.dumps(kept, indent=1) + "\n")

    def _read_anew(self) -> Register:
        try:
            found = os.stat(self._path)
            stamp: tuple[int, ...] = (found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode)
            if stamp != self._stamp:
                if found.st_mode & 0o077:
                    raise Unavailable("others may read or change the tokens that were given out: chmod 600 their file")
                with open(self._path, encoding="utf-8") as file:
                    kept = json.load(file)
                for part, needed in PARTS.items():
                    told = kept[part].values()
                    if not all(isinstance(each[name], str) for each in told for name in needed):
                        raise ValueError("half a token")
                self._register, self._stamp = kept, stamp
        except FileNotFoundError:
            self._stamp, self._register = (), {part: {} for part in PARTS}
        except (OSError, ValueError, LookupError, TypeError, AttributeError):  # or it is something else
            raise Unavailable("the tokens that were given out cannot be read") from None
        return self._register

    def check(self) -> None:
        """Write beside the file."""
        self.register()  # raises for a file that would let nobody in
        folder = os.path.dirname(self._path)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(_PROBE)
            probe.flush()
            os.fsync(probe.fileno())
