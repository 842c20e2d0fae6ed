"""The package `libsql` in a process of its own, which is how a server is talked to.

In ours it would hold Python's lock for as long as a server is silent: no other thread, no time limit, no Ctrl-C. Run
as a program with the numbers of two pipes, this is that process; it imports nothing of memorybook and ends with ours.
"""

from __future__ import annotations

import os
import subprocess
import sys
from multiprocessing.connection import Connection
from typing import Any


class Distant:
    """A connection to a server, as the package's own is used; opened at first use, and again after a failure.

    Args:
        url: Of the server.
        token: What it wants to be shown.
        timeout: Seconds to wait for each answer.

    Attributes:
        in_transaction: Whether a transaction is open.
    """

    def __init__(self, url: str, token: str, timeout: float) -> None:
        self.in_transaction = False
        self._where = url, token
        self._timeout = timeout
        self._process: subprocess.Popen[bytes] | None = None

    def execute(self, sql: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Return the rows of a statement. Raises ValueError, as the package does, also without an answer in time."""
        try:
            if self._process is None:
                self._start()
            self._to.send((sql, values))
            if not self._from.poll(self._timeout):
                raise ValueError(f"no answer within {self._timeout:g} s")
            rows, self.in_transaction, failure = self._from.recv()
        except (EOFError, OSError) as error:
            self.close()
            raise ValueError(f"its process ended ({type(error).__name__})") from error
        except BaseException:
            self.close()
            raise
        if failure is not None:
            raise ValueError(failure)
        return rows or []

    def _start(self) -> None:
        theirs, ours_to = os.pipe()
        ours_from, theirs_back = os.pipe()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - this very file
                [sys.executable, "-P", __file__, str(theirs), str(theirs_back)],
                pass_fds=(theirs, theirs_back),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # a Ctrl-C is ours
            )
        finally:
            os.close(theirs)
            os.close(theirs_back)
        self._to, self._from = Connection(ours_to, readable=False), Connection(ours_from, writable=False)
        self._to.send((*self._where, sys.path))

    def close(self) -> None:
        """End the process; closing twice does nothing."""
        process, self._process = self._process, None
        self.in_transaction = False
        if process is None:
            return
        self._to.close()
        self._from.close()
        process.kill()
        process.wait()

    def __del__(self) -> None:
        self.close()


def _serve(orders: Connection, answers: Connection) -> None:
    """Carry out what comes until nobody is there any more."""
    url, token, sys.path[:] = orders.recv()
    import libsql

    db: Any = None
    while True:
        sql, values = orders.recv()
        rows, failure = None, None
        try:
            db = db or libsql.connect(url, isolation_level=None, auth_token=token)
            rows = db.execute(sql, values).fetchall()
        except BaseException as error:
            failure = str(error) or type(error).__name__
        answers.send((rows, db is not None and bool(db.in_transaction), failure))


if __name__ == "__main__":
    try:
        _serve(Connection(int(sys.argv[1]), writable=False), Connection(int(sys.argv[2]), readable=False))
    except (EOFError, OSError):
        sys.exit(0)
