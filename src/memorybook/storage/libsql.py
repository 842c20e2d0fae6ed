"""The tables of the transcripts over libSQL: a file or a server, through the package `libsql`.

It looks to `memorybook.storage.sqlite.Connection` as apsw does, so that all that is said there holds, with these
differences, which are the package's (0.1.11, SQLite 3.45.1):

- A file keeps a rollback journal, not a write-ahead log, which SQLite before 3.51.3 may damage when several processes
  write. So readers and writers wait for each other, and what changed is read at once, not as it is iterated.
- The package holds Python's lock while it waits. So it is never let wait for another writer: that is done here; and a
  server is talked to by a process of its own.
- Text with NUL is stored as bytes, for it is cut short on reading.
- Each statement takes a server two round trips.
- What a server deleted it may keep in its own files and backups.
"""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from time import monotonic, sleep

import apsw

from memorybook._light import Any, Iterable, Sequence, cast
from memorybook.errors import ConfigError, MissingExtra, Unavailable
from memorybook.storage.libsql_process import Distant
from memorybook.storage.sqlite import (
    BUSY_TIMEOUT,
    CAREFUL,
    Connection,
    Row,
    Store,
    Values,
    migrate,
    translated,
    user_version,
)

_SCHEMES = ("libsql://", "https://", "http://")
_ANSWER = 30.0  # seconds to wait for each answer of a server
_LOCAL = f"PRAGMA synchronous=EXTRA; PRAGMA secure_delete=ON; {CAREFUL}"
"""EXTRA, for the removal of the journal is a commit: it must be on disk."""


class LibsqlStore(Store):
    """`Store` over libSQL. A server is asked at first use, and its tables are made by the first writing.

    Args:
        url: `libsql://…`, `https://…` or `http://…` of a server, else the path of a file.
        auth_token: What the server wants to be shown; "" for none.
        migrations, timeout: See `Store`.

    Raises:
        ConfigError: An address with a user, a password or a token in it.
    """

    streams = False

    def __init__(
        self, url: str, migrations: Sequence[str], *, auth_token: str = "", timeout: float = BUSY_TIMEOUT
    ) -> None:
        super().__init__(url, migrations, timeout=timeout)
        self._token = auth_token
        self._remote = url.startswith(_SCHEMES)
        self._made = False
        if self._remote:
            if "@" in url or "?" in url:
                raise ConfigError("transcripts.url holds a password or a token: set transcripts.auth_token instead")
            self.path = url

    def existing(self) -> Connection | None:
        """Return the connection for reading; None while there are no tables. Raises Unavailable, Damaged."""
        if not self._remote:
            return super().existing()
        connection = self._asked(make=False)
        return connection if self._made else None

    def created(self) -> Connection:
        """Return the connection for writing; makes the tables. Raises Unavailable, Damaged."""
        if not self._remote:
            return super().created()
        return self._asked(make=True)

    def _asked(self, *, make: bool) -> Connection:
        """Return the connection to a server.

        If it has tables, or to `make` them, these are brought up to date once: each question goes over the network.
        """
        with self._lock:
            if self._closed:
                raise Unavailable(f"the database {self.path!r} is closed; open it again")
            if self._connection is None:
                self._connection = self._connect()
            if not self._made and (make or user_version(self._connection)):
                migrate(self._connection, self.migrations)
                self._made = True
            return self._connection

    def _connect(self) -> Connection:
        return LibsqlConnection(self.path, self._token, remote=self._remote, timeout=self._timeout)

    def snapshot(self) -> Connection:
        """Return a connection of the caller's own that reads one moment; writers wait until it is closed."""
        connection = self._connect()
        try:
            connection.execute("BEGIN")
        except BaseException:
            connection.close()
            raise
        return connection


class LibsqlConnection(Connection):
    """`Connection` through the package `libsql`; `path` is a file, or the address of a server with its token."""

    def __init__(self, path: str, token: str, *, remote: bool, timeout: float) -> None:
        self.fileless = remote
        self._token = token
        super().__init__(path, durable=True, timeout=timeout)

    def _open(self) -> apsw.Connection:
        with translated(self):
            raw = _Raw(self.path, self._token, self.timeout_milliseconds, remote=self.fileless)
            return cast("apsw.Connection", raw)


class _Rows(list[Row]):
    """What a statement returned, as apsw's cursor gives it."""

    def fetchall(self) -> list[Row]:
        return list(self)

    def fetchone(self) -> Row | None:
        return self[0] if self else None

    def close(self, force: bool) -> None:
        """Do nothing: nothing is left open."""


class _Raw:
    """What of an apsw connection the store uses, through the package `libsql`."""

    def __init__(self, path: str, token: str, timeout: int, *, remote: bool) -> None:
        self._path = path
        self._remote = remote
        self._timeout = timeout
        try:
            found = find_spec("libsql")
        except ValueError:  # it is switched off
            found = None
        if found is None:
            raise MissingExtra("transcripts.url needs the package libsql: pip install 'memorybook[libsql]'")
        self._db: Any
        if remote:
            self._db = Distant(path, token, _ANSWER)
            return
        import libsql

        self._db = self._tried(partial(libsql.connect, path, timeout=0.0, isolation_level=None), once=True)
        try:
            mode = self.execute("PRAGMA journal_mode=DELETE").fetchone()
            if mode != ("delete",):
                raise apsw.CantOpenError(f"it cannot have a rollback journal (journal mode {mode})")
            self.execute(_LOCAL)
        except BaseException:
            self.close()
            raise

    @property
    def in_transaction(self) -> bool:
        return bool(self._db.in_transaction)

    def set_busy_timeout(self, milliseconds: int) -> None:
        self._timeout = milliseconds

    def execute(self, sql: str, values: Values = ()) -> _Rows:
        """Return one statement, or several of our own, which have no semicolon in them; the rows of the last."""
        given = tuple(value.encode() if isinstance(value, str) and "\0" in value else value for value in values)
        rows: Any = None
        for one in [sql] if given else filter(str.strip, sql.split(";")):  # scripts of the package hide failures
            if self._remote:
                rows = self._tried(partial(self._db.execute, one, given))
            else:
                rows = self._tried(lambda one=one: self._db.execute(one, given).fetchall())
        return _Rows(rows or ())

    def executemany(self, sql: str, rows: Iterable[Values]) -> _Rows:
        return _Rows(row for values in rows for row in self.execute(sql, values))

    def last_insert_rowid(self) -> int:
        return int(self.execute("SELECT last_insert_rowid()")[0][0])  # the package's own is 0 for some servers

    def changes(self) -> int:
        return int(self.execute("SELECT changes()")[0][0])

    def close(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            db.close()

    def _tried(self, work: Any, *, once: bool = False) -> Any:
        """Return what the work gives, tried again while another is writing; failures as apsw has them."""
        patience = monotonic() + self._timeout / 1000
        while True:
            try:
                return work()
            except BaseException as error:
                if not isinstance(error, ValueError) and type(error).__name__ != "PanicException":
                    raise
                said = str(error)
                known = [kind(said) for words, kind in _FAILURES if any(word in said for word in words)]
                silent = Unavailable(f"the server {self._path!r} does not answer: {said}")
                problem: Exception = (*known, silent if self._remote else apsw.SQLError(said))[0]
                if once or not isinstance(problem, apsw.BusyError) or monotonic() > patience:
                    raise problem from error
            sleep(0.005)


_FAILURES: tuple[tuple[tuple[str, ...], type[apsw.Error]], ...] = (
    (("is locked", "SQLITE_BUSY"), apsw.BusyError),
    (("malformed", "not a database"), apsw.CorruptError),
    (("readonly", "read-only"), apsw.ReadOnlyError),
    (("unable to open", "disk I/O", "disk is full"), apsw.CantOpenError),
    (("constraint failed",), apsw.ConstraintError),
    (("no such table", "no such column", "syntax error"), apsw.SQLError),
)
"""What the package says, which has one error for all, and the error it is."""
