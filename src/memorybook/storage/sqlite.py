"""SQLite as memorybook uses it: one careful way to open, to write, to read and to upgrade a database.

The only module that imports apsw, whose SQLite is new enough everywhere (before 3.51.3 a race
while the write-ahead log is reset could damage a database that several processes write to).

A `Connection` may be used from any thread: every call takes its lock, a transaction holds it, and
results are complete lists, so no cursor outlives a call. It may be used after a fork as well, on
both sides: it is closed just before the fork and opened again at its next use, because SQLite
forbids taking an open database into a child process. Nothing here opens the database file by other
means while a connection is open: closing such a descriptor would drop SQLite's locks. A fork in the
midst of a transaction leaves the child without that database: it gets Unavailable, never damage.

A database in a folder that cannot be written is read as it stands, without locks; writing it raises Unavailable.
"""

from __future__ import annotations

import os
from _thread import RLock
from _weakref import ref
from time import monotonic, sleep

import apsw

from memorybook._light import (
    Any,
    Callable,
    Iterable,
    Iterator,
    NamedTuple,
    Sequence,
    contextmanager,
    suppress,
)
from memorybook.errors import Damaged, Unavailable
from memorybook.storage.columns import Value
from memorybook.storage.safe_open import closing, create

SEAL_TABLE = """
    CREATE TABLE seal (name TEXT NOT NULL, commits INTEGER NOT NULL);
    INSERT INTO seal VALUES (lower(hex(randomblob(16))), 0);
    """
"""The migration that makes the table."""

_MARK_SIZE = 64


class Seal(NamedTuple):
    """The name of a database, and how often something was committed to it."""

    name: str
    commits: int


def mark_of(path: str) -> str:
    """Return the file with what the last commit to the database at `path` left."""
    return f"{path}.mark"


def read_mark(path: str) -> Seal | None:
    """Return what the last commit left; None if nobody knows."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    fields: list[str] = []
    with suppress(OSError), closing(os.open(mark_of(path), flags)) as descriptor:
        fields = os.read(descriptor, _MARK_SIZE).decode("ascii", "replace").split()
    whole = len(fields) == 2 and len(fields[0]) == 32 and fields[1].isdigit()
    return Seal(fields[0], int(fields[1])) if whole else None


def write_mark(path: str, seal: Seal) -> None:
    """Note what a commit left, unless another database did so; where that cannot be written, the mark stays behind."""
    known = read_mark(path)
    if known is not None and (known.name != seal.name or known.commits >= seal.commits):
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    with suppress(OSError), closing(os.open(mark_of(path), flags, 0o600)) as descriptor:
        os.pwrite(descriptor, f"{seal.name} {seal.commits}".ljust(_MARK_SIZE - 1).encode() + b"\n", 0)


def rename_if_behind(connection: Connection, path: str) -> None:
    """Give a database that is behind its mark another name, so that it is not taken for the one that left it later."""
    known = read_mark(path)
    row = connection.first("SELECT name, commits FROM seal") if known is not None else None
    if known is not None and row is not None and row[0] == known.name and row[1] < known.commits:
        connection.execute("UPDATE seal SET name=lower(hex(randomblob(16)))")


def seal_fault(connection: Connection | None, path: str, known: Seal | None) -> str:
    """Say in one sentence whether a database is gone or behind its mark, read just before; "" if it is neither."""
    if known is None:
        return ""
    row = None if connection is None else connection.first("SELECT name, commits FROM seal")
    if row is not None and row[0] == known.name and row[1] >= known.commits:
        return ""
    wrong = "was deleted" if row is None else "is another one, or an older copy of it, than was written last"
    meant = f"put the right one back, or delete {mark_of(path)!r} if it is meant to be so"
    return f"the database {path!r} {wrong}: {meant}"


Row = tuple[Any, ...]
Values = Sequence[Value]

BUSY_TIMEOUT = 30.0
"""Seconds to wait for another process that is writing."""

MOST_CHECKED = 64 * 2**20
"""Bytes of a file that is read anew to see whether it is whole, which takes a fraction of a second."""

_OLDEST = (3, 51, 3)
_READ_WRITE = apsw.SQLITE_OPEN_READWRITE

_DURABLE = "PRAGMA synchronous=FULL; PRAGMA fullfsync=ON; PRAGMA secure_delete=ON"  # fullfsync: see safe_open.sync
_NOTICE = "SELECT 1 FROM sqlite_schema LIMIT 1"  # reading a table has SQLite look at the schema that others have left
_DERIVED = "PRAGMA synchronous=NORMAL"
CAREFUL = "PRAGMA foreign_keys=ON; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0"


class Connection:
    """A database file, made by `connect`; usable from any thread and on both sides of a fork.

    `fileless` means that no file of it is reached from here: it is a server's, or in memory; `sealed` that commits are
    counted (`Seal`); `lock` is held during every call, and by a transaction to its end.
    """

    fileless = False
    sealed = False

    def __init__(
        self,
        path: str,
        *,
        durable: bool,
        readonly: bool = False,
        timeout: float = BUSY_TIMEOUT,
        setup: Callable[[apsw.Connection], object] | None = None,
    ) -> None:
        check_version(apsw.sqlite_lib_version())
        self.path = path
        self.durable = durable
        self.lock = RLock()
        self._readonly = readonly
        self.timeout_milliseconds = int(timeout * 1000)
        self._setup = setup
        self._raw: apsw.Connection | None = None
        self._frozen: tuple[int, int] | None = None
        self._closed = False
        _ = self.raw
        _open_connections[id(self)] = ref(self)

    @property
    def raw(self) -> apsw.Connection:
        """The apsw connection, for what is not wrapped here; hold `lock` around its use, and never keep it."""
        if self._frozen and self._raw and not self._raw.in_transaction and self._frozen != _state(self.path):
            self._let_go()
        if self._raw is None:
            if self._closed:
                raise Unavailable(f"the database {self.path!r} is closed; open it again")
            if self.path in _lost:
                raise Unavailable(f"this process was forked while it wrote to {self.path!r}; open it in a new process")
            self._raw = self._open()
        return self._raw

    @property
    def in_transaction(self) -> bool:
        """True if a transaction is open."""
        return self.raw.in_transaction

    def version(self) -> tuple[object, int]:
        """Return a value that equals an earlier one only if no other connection has committed anything since."""
        with self.lock:
            return self.raw, self.execute("PRAGMA data_version")[0][0]

    def _open(self) -> apsw.Connection:
        self._frozen = None
        with translated(self):
            try:
                return self._set_up(self.path, apsw.SQLITE_OPEN_READONLY if self._readonly else _READ_WRITE)
            except (apsw.CantOpenError, apsw.ReadOnlyError):
                self._frozen = _state(self.path)
                if self._frozen is None:
                    raise
            escaped = self.path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
            return self._set_up(f"file://{escaped}?immutable=1", apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)

    def _set_up(self, name: str, flags: int) -> apsw.Connection:
        raw = apsw.Connection(name, flags=flags)
        try:
            raw.set_busy_timeout(self.timeout_milliseconds)
            raw.execute(f"{CAREFUL}; {_DURABLE if self.durable else _DERIVED}").fetchall()
            if flags == _READ_WRITE:
                _use_write_ahead_log(raw, self.timeout_milliseconds / 1000)
            if self._setup is not None:
                self._setup(raw)
        except BaseException:
            raw.close()
            raise
        return raw

    def execute(self, sql: str, values: Values = ()) -> list[Row]:
        """Run one or more statements and return all their rows. Raises Unavailable, Damaged."""
        with self.lock, translated(self):
            return self.raw.execute(sql, values).fetchall()

    def executemany(self, sql: str, rows: Iterable[Values]) -> list[Row]:
        """Run a statement once for each of `rows` and return all that it returned, in their order."""
        with self.lock, translated(self):
            return self.raw.executemany(sql, rows).fetchall()

    def first(self, sql: str, values: Values = ()) -> Row | None:
        """Return the first row, or None if there is none."""
        with self.lock, translated(self):
            cursor = self.raw.execute(sql, values)
            row = cursor.fetchone()
            cursor.close(True)
            return row

    def insert(self, sql: str, values: Values = ()) -> int:
        """Run an INSERT and return the id of its row."""
        with self.lock, translated(self):
            raw = self.raw
            raw.execute(sql, values)
            return raw.last_insert_rowid()

    def modify(self, sql: str, values: Values = ()) -> int:
        """Run an INSERT, UPDATE or DELETE and return how many rows it touched."""
        with self.lock, translated(self):
            raw = self.raw
            raw.execute(sql, values)
            return raw.changes()

    def stream(self, sql: str, values: Values = ()) -> Iterator[Row]:
        """Yield rows one by one, all from one snapshot; only for a connection that nobody else uses meanwhile."""
        with translated(self):
            yield from self.raw.execute(sql, values)

    def close(self) -> None:
        """Release the file; closing twice does nothing."""
        with self.lock:
            self._closed = True
            self._let_go()
            _open_connections.pop(id(self), None)

    def _let_go(self) -> None:
        if self._raw is not None:
            self._raw.close()
            self._raw = None

    def _before_fork(self) -> None:
        # a thread that holds this lock may wait for one we hold already: never wait for ever
        if self.lock.acquire(timeout=1.0):
            _forking.append(self)
            if self._raw is not None and not self._raw.in_transaction:
                self._let_go()

    def _lose(self) -> None:
        """Abandon, in a forked child, a file that SQLite has open, without touching or closing it."""
        self.lock = RLock()
        if self._raw is not None:
            from ctypes import py_object, pythonapi

            pythonapi.Py_IncRef(py_object(self._raw))
            self._raw = None
            _lost.add(self.path)


def connect(
    path: str,
    *,
    durable: bool,
    readonly: bool = False,
    timeout: float = BUSY_TIMEOUT,
    setup: Callable[[apsw.Connection], object] | None = None,
) -> Connection:
    """Open the database at `path`, creating it (mode 0600, with its folder) unless `readonly`.

    `durable` is for what cannot be derived again: every commit is on disk when it returns and deleted content is
    overwritten. `setup` is called with every apsw connection made for it, again after a fork.

    Raises:
        Unavailable: It cannot be opened, or SQLite is older than 3.51.3.
        Damaged: It is malformed or no database.
    """
    path = os.path.abspath(path)
    if not readonly:
        create(path, durable=durable)
    return Connection(path, durable=durable, readonly=readonly, timeout=timeout, setup=setup)


def check_version(version: str) -> None:
    """Raise Unavailable if this SQLite version, such as `3.51.3`, could damage a write-ahead log."""
    if tuple(int(part) for part in version.split(".")) < _OLDEST:
        needed = ".".join(map(str, _OLDEST))
        raise Unavailable(f"SQLite {version} can damage databases; install apsw {needed} or newer")


@contextmanager
def immediate(connection: Connection) -> Iterator[Connection]:
    """Begin a transaction that may write; it waits for its turn first, so no lock can fail it half-way.

    Raises Unavailable if another process keeps writing, RuntimeError if this thread is in a transaction already.
    """
    with connection.lock:
        if connection.in_transaction:
            raise RuntimeError(f"a transaction on {connection.path!r} is open already; it cannot hold another")
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            counting = "UPDATE seal SET commits=commits+1 RETURNING name, commits"
            seal = connection.first(counting) if connection.sealed else None
            connection.execute("COMMIT")
        except BaseException:
            _end(connection, "ROLLBACK")
            raise
        if seal is not None:
            write_mark(connection.path, Seal(*seal))


@contextmanager
def reading(connection: Connection) -> Iterator[Connection]:
    """Read all that the block reads from one snapshot. Inside a transaction it adds nothing."""
    with connection.lock:
        if connection.in_transaction:
            yield connection
            return
        connection.execute("BEGIN")
        try:
            yield connection
        finally:
            _end(connection, "COMMIT")


def _end(connection: Connection, how: str) -> None:
    """End the transaction, unless SQLite did so by itself, as it does after some errors (disk full, I/O)."""
    if connection.in_transaction:
        connection.execute(how)


@contextmanager
def unforced(connection: Connection) -> Iterator[Connection]:
    """Begin a transaction that may be lost with the power, not with the process: it takes a tenth of the time."""
    with connection.lock:
        sealed, connection.sealed = connection.sealed, False
        connection.execute("PRAGMA synchronous=NORMAL")
        try:
            with immediate(connection):
                yield connection
        finally:
            connection.execute("PRAGMA synchronous=FULL")
            connection.sealed = sealed


def migrate(connection: Connection, migrations: Sequence[str]) -> None:
    """Bring the schema up to date: the n-th string makes version n (`user_version`) of version n - 1.

    Strings are only ever added at the end. Each runs in a transaction of its own; several processes may do it at once.
    Raises Unavailable for a database of a newer version.
    """
    version = user_version(connection)
    connection.execute(_NOTICE)
    while version < len(migrations):
        with immediate(connection):
            connection.execute(_NOTICE)
            if (version := user_version(connection)) < len(migrations):
                version += 1
                connection.execute(f"{migrations[version - 1]}; PRAGMA user_version={version}")
    if version > len(migrations):
        raise Unavailable(
            f"the database {connection.path!r} was made by a newer memorybook"
            f" (version {version}, this one knows {len(migrations)}); update memorybook"
        )


def user_version(connection: Connection) -> int:
    """Return the version of the schema, 0 for a new database."""
    return int(connection.execute("PRAGMA user_version")[0][0])


class Store:
    """A database that writing creates and reading does not, opened at first use and kept open.

    If the file is replaced or deleted meanwhile, the next use goes to what stands at the path then. `prepare` is called
    before the file is made; `streams` says whether others may write while a snapshot is read.
    """

    streams = True

    def __init__(
        self,
        path: str,
        migrations: Sequence[str],
        *,
        timeout: float = BUSY_TIMEOUT,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self.path = os.path.abspath(path)
        self._prepare = prepare or (lambda: None)
        self.migrations = migrations
        self._timeout = timeout
        self._lock = RLock()
        self._connection: Connection | None = None
        self._file = (0, 0)
        self._closed = False

    def existing(self) -> Connection | None:
        """Return the connection for reading; None while there is no database. Raises Unavailable, Damaged."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Unavailable(f"the database {self.path!r} cannot be used: {error.strerror}") from error
        with self._lock:
            if self._closed:
                raise Unavailable(f"the database {self.path!r} is closed; open it again")
            file = (found.st_dev, found.st_ino)
            if self._connection is None or self._file != file:
                self._reopen()
                self._file = file
            return self._connection

    def created(self) -> Connection:
        """Return the connection for writing; makes the database. Raises Unavailable, Damaged."""
        connection = self.existing()
        if connection is None:
            self._prepare()
            create(self.path, durable=True)
            connection = self.existing()
        if connection is None:
            raise Unavailable(f"the database {self.path!r} vanished, or is a link to nothing; check its folder")
        return connection

    def _reopen(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        connection = self._connect()
        try:
            migrate(connection, self.migrations)
            if not connection.fileless and connection.first("SELECT 1 FROM sqlite_schema WHERE name='seal'"):
                with suppress(Unavailable):  # one that is only read
                    rename_if_behind(connection, self.path)
                connection.sealed = True
        except BaseException:
            connection.close()
            raise
        self._connection = connection

    def _connect(self) -> Connection:
        """Return another connection to the database; a store of another kind makes another kind of these."""
        return Connection(self.path, durable=True, timeout=self._timeout)

    def snapshot(self) -> Connection:
        """Return a connection of the caller's own, to be closed by them, all of whose reading is of this moment."""
        connection = connect(self.path, durable=True, readonly=True)
        connection.execute("BEGIN")
        return connection

    def fill(self, connection: Connection, table: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
        """Let a table hold just these rows, in a transaction that is open."""
        connection.execute(f"DELETE FROM {table}")
        marks = ", ".join("?" * len(columns))
        connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)

    def fault(self, *, thorough: bool = False) -> str:
        """Say in one sentence what is wrong with the database: gone, older than it was, another one; "" if nothing is.

        `thorough` reads the file anew, and all of it up to `MOST_CHECKED` bytes. Raises Unavailable, Damaged.
        """
        known = read_mark(self.path)
        connection = self.existing()
        if connection is not None and not connection.sealed:
            return ""
        if connection is None or not thorough:
            return seal_fault(connection, self.path, known)
        anew = connect(self.path, durable=True, readonly=True)
        try:
            made = apsw.Connection(":memory:").execute(f"{'; '.join(self.migrations)}; {_NAMES}")
            if missing := {*made}.difference(anew.execute(_NAMES)):
                raise Damaged(f"the database {self.path!r} has no {' '.join(min(missing))}; {_way_out(self.path)}")
            if found := seal_fault(anew, self.path, known):
                return found
            if os.path.getsize(self.path) <= MOST_CHECKED:
                [(said,), *_] = anew.execute("PRAGMA quick_check(1)")
                if said != "ok":
                    raise Damaged(f"the database {self.path!r} is damaged ({said}); {_way_out(self.path)}")
        finally:
            anew.close()
        return ""

    def close(self) -> None:
        """Release what is held; closing twice does nothing."""
        with self._lock:
            self._closed = True
            if self._connection is not None:
                self._connection.close()
                self._connection = None


_NAMES = "SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"


def _state(path: str) -> tuple[int, int] | None:
    """Change time and size of a file that nobody can change from here; None if its folder can be written.

    None, too, if commits stand in a write-ahead log: reading the file alone would miss them.
    """
    logged = os.path.exists(path + "-wal") and os.path.getsize(path + "-wal") > 0
    effective = os.access in os.supports_effective_ids
    if logged or not os.path.exists(path) or os.access(os.path.dirname(path), os.W_OK, effective_ids=effective):
        return None
    found = os.stat(path)
    return found.st_mtime_ns, found.st_size


def _use_write_ahead_log(raw: apsw.Connection, timeout: float) -> None:
    until = monotonic() + timeout
    while True:
        try:
            mode = raw.execute("PRAGMA journal_mode=WAL").fetchone()
            break
        except apsw.BusyError:  # SQLite does not wait where several processes do this to a new file at once
            if monotonic() > until:
                raise
            sleep(0.005)
    if mode is None or mode[0] != "wal":
        raise apsw.CantOpenError(f"the file system has no write-ahead log (journal mode {mode})")


class translated:  # noqa: N801  (reads as a statement)
    """Turn apsw's errors into ours. A class, as a generator would cost more than most queries do."""

    __slots__ = ("connection",)

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if error is not None and isinstance(error, apsw.Error):
            ours = _ours(error, self.connection)
            if ours is not None:
                raise ours from error


_MISTAKES = (apsw.MisuseError, apsw.BindingsError, apsw.ThreadingViolationError, apsw.ConstraintError)


def _ours(error: apsw.Error, connection: Connection) -> Unavailable | None:
    """Return the error a user should see; None if it can only be a mistake in here."""
    path = connection.path
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return Unavailable(f"the database {path!r} is locked by another process; try again when it is done")
    if isinstance(error, (apsw.CorruptError, apsw.NotADBError)):
        way_out = _way_out(path) if connection.durable else "it is derived and can be rebuilt"
        return Damaged(f"the database {path!r} is damaged ({error}); {way_out}")
    if isinstance(error, (apsw.SQLError, apsw.MismatchError)):
        way_out = "put the right one back" if connection.durable else "it is derived and can be rebuilt"
        return Damaged(f"the database {path!r} is not as memorybook made it ({error}); {way_out}")
    if isinstance(error, apsw.ReadOnlyError):
        return Unavailable(f"the database {path!r} cannot be written; check the rights of its folder")
    if isinstance(error, _MISTAKES):
        return None
    return Unavailable(f"the database {path!r} cannot be used: {error}; check its folder, rights and free space")


def _way_out(path: str) -> str:
    return f"it is kept as it is: copy it away, then restore a backup or try `sqlite3 {path} .recover`"


# by address, so that connections nobody closed are replaced by those that come after them
_open_connections: dict[int, ref[Connection]] = {}
_forking: list[Connection] = []
_lost: set[str] = set()


def _each(act: Callable[[Connection], None]) -> None:
    for reference in list(_open_connections.values()):
        if (connection := reference()) is not None:
            act(connection)


def _after_fork_in_parent() -> None:
    while _forking:
        _forking.pop().lock.release()


def _after_fork_in_child() -> None:
    _forking.clear()
    _each(lambda connection: connection._lose())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _each(lambda connection: connection._before_fork()),
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )


# --- what keeps its tables in a store --------------------------------------------------------------


class Tables:
    """Base of what keeps its tables in a `Store`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def _rows(self, sql: str, values: Values = ()) -> list[Row]:
        """Return the rows of a query; none while there is no database."""
        db = self._store.existing()
        return [] if db is None else db.execute(sql, values)

    def _first(self, sql: str, values: Values = ()) -> Row | None:
        """Return the first row of a query, if there is a database and a row."""
        db = self._store.existing()
        return None if db is None else db.first(sql, values)

    @contextmanager
    def copying(self, path: str) -> Iterator[bool]:
        """Copy it as of the beginning of the block into `path`, which is not there or empty.

        The file is whole when the block ends; not if it raises. Writers do not wait. False, and no file, if there is
        nothing yet. Of a server's, the copy is made before the block begins. Raises Unavailable, Damaged.
        """
        store = self._store
        found = store.existing()
        if found is None or found.fileless:
            if found is not None:
                copied = Store(path, store.migrations)
                try:
                    copy_rows(store, copied)
                finally:
                    copied.close()
            yield found is not None
            return
        source = connect(store.path, durable=True, readonly=True)
        try:
            with reading(source):
                source.first(_NOTICE)  # a transaction sees what stands at its first reading
                yield True
                _copy_pages(source, path)
        finally:
            source.close()

    def check_copy(self, path: str) -> None:
        """Raise Damaged unless the file is a sound copy as `copying` makes it, with just the tables of a version."""
        from urllib.parse import quote

        fresh = apsw.Connection(":memory:")
        found = apsw.Connection(
            f"file:{quote(path)}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        )
        try:
            [(version,)] = found.execute("PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA user_version")
            if version > len(self._store.migrations):
                raise Damaged("it is of a newer memorybook: update memorybook")
            fresh.execute("; ".join(self._store.migrations[:version])).fetchall()
            if version < 1 or _schema(found) != _schema(fresh):
                raise Damaged("its tables are not those of a book")
            if (wrong := found.execute("PRAGMA quick_check(1)").fetchall()) != [("ok",)]:
                raise Damaged(str(wrong[0][0]))
        except apsw.Error as error:
            raise Damaged(str(error)) from error
        finally:
            found.close()
            fresh.close()

    def vacuum(self) -> bool:
        """Write the database anew, so that no byte of what was deleted is left in its files.

        Return False if another process still reads the write-ahead log: what it holds is gone when this is called again
        after that, or the last connection closes. Of a server's files nothing is known. Raises Unavailable, Damaged.
        """
        connection = self._store.existing()
        if connection is None or connection.fileless:
            return True
        with connection.lock:
            checkpoint(connection)
            connection.execute("PRAGMA secure_delete=ON; VACUUM")
            return checkpoint(connection)

    def fault(self, *, thorough: bool = False) -> str:
        """Return what is wrong with the database, see `Store.fault`; "" if nothing is."""
        return self._store.fault(thorough=thorough)

    def close(self) -> None:
        """Release what is held; closing twice does nothing."""
        self._store.close()


def _copy_pages(source: Connection, path: str) -> None:
    target = apsw.Connection(path)
    try:
        with translated(source), target.backup("main", source.raw, "main") as backing:
            backing.step(-1)
    finally:
        target.close()


def copy_rows(store: Store, other: Store) -> None:
    """Let the tables of the other hold what these hold, row by row; it keeps a name of its own."""
    made = apsw.Connection(":memory:")
    made.execute("; ".join(other.migrations)).fetchall()
    tables = [str(name) for (name,) in made.execute("SELECT name FROM sqlite_schema WHERE type='table'")]
    source = store.snapshot()
    try:
        target = other.created()
        with immediate(target):
            for table in tables:
                if table != "seal":
                    columns = [str(row[1]) for row in made.execute(f"PRAGMA table_info({table})")]
                    other.fill(target, table, columns, source.stream(f"SELECT {', '.join(columns)} FROM {table}"))
    finally:
        source.close()


def checkpoint(connection: Connection) -> bool:
    """Move the write-ahead log into the database and empty it, so that deleted text is not left in it.

    Returns False if a reader elsewhere still needs the log; the last connection to close does it then.
    """
    if connection.fileless:
        return True
    with connection.lock:
        raw = connection.raw
        raw.set_busy_timeout(100)
        try:
            row = connection.first("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            raw.set_busy_timeout(connection.timeout_milliseconds)
        return row is not None and row[0] == 0


def _schema(raw: apsw.Connection) -> set[tuple[Any, ...]]:
    return {*raw.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%'")}
