"""Connections of a process to a PostgreSQL server, lent to threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

Raw = psycopg.Connection[tuple[Any, ...]]

LEAST = 3
"""Connections that a thread has at most at a time: for a snapshot, a transaction, and what is looked up meanwhile."""


class Pool(ConnectionPool[Raw]):
    """Connections to a server, of which a thread may take several although others want some, too.

    Threads that have none leave so many that one of those that have some can go on, and give them back.
    """

    def __init__(
        self, dsn: str, size: int, patience: float, options: dict[str, Any], configure: Callable[[Raw], None]
    ) -> None:
        self._turn = threading.Condition()
        self._takers: list[int] = []
        self._taken: dict[int, int] = {}
        super().__init__(
            dsn,
            kwargs=options,
            configure=configure,
            min_size=0,
            max_size=max(size, LEAST),
            timeout=patience,
            open=True,
        )

    def getconn(self, timeout: float | None = None) -> Raw:
        """Return a connection. Raises PoolTimeout."""
        taker, patience = threading.get_ident(), self.timeout if timeout is None else timeout

        def free() -> bool:
            left = max(LEAST - 1 - self._takers.count(taker), 0)
            return len(self._takers) + left < self.max_size

        with self._turn:
            if not self._turn.wait_for(free, patience):
                raise PoolTimeout(f"no connection within {patience:g} s")
            self._takers.append(taker)
        try:
            raw = super().getconn(timeout)
        except BaseException:
            self._left(taker)
            raise
        self._taken[id(raw)] = taker
        return raw

    def putconn(self, conn: Raw) -> None:
        """Take a connection back, from whichever thread."""
        taker = self._taken.pop(id(conn))
        try:
            super().putconn(conn)
        finally:
            self._left(taker)

    def _left(self, taker: int) -> None:
        with self._turn:
            self._takers.remove(taker)
            self._turn.notify_all()
