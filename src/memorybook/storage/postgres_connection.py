"""One tenant's tables in PostgreSQL, which look like a database of SQLite to what reads and writes them.

`PostgresConnection` is a `Connection` in every respect that journal, transcripts and index use: they speak one SQL, and
what the two databases spell differently is translated (`postgres_schema`). Connections to the server are borrowed from
a pool of the process for as long as a transaction lasts, which begins by naming the tenant; row-level security does the
rest.

- One writer at a time, as with a file: a transaction that writes takes an advisory lock of its tenant and database.
- Inside `Tenant.transaction` everything that its thread writes is one transaction.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from itertools import count
from time import monotonic, sleep
from typing import Any
from weakref import WeakKeyDictionary

import apsw

from memorybook.errors import BookLocked, ConfigError, Damaged, MissingExtra, Unavailable
from memorybook.storage.index.index_schema import NOTED
from memorybook.storage.postgres_schema import (
    ARRIVING,
    LEFT,
    MIGRATIONS,
    MOVED,
    RESTING,
    ROLE,
    adapted,
    of_many,
    restored,
    translated,
)
from memorybook.storage.sqlite import BUSY_TIMEOUT, Connection, Row, Store, Values

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
    from psycopg.pq import TransactionStatus
    from psycopg_pool import PoolTimeout

    from memorybook.storage.postgres_pool import Pool
    from memorybook.storage.postgres_pool import Raw as Raw
except ImportError:
    raise MissingExtra("storage.dsn needs the package psycopg: pip install 'memorybook[postgres]'") from None

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # what it warns of is raised, too

_STANDBY_PATIENCE = 1.0
"""Seconds that a search waits for a connection to a standby, before it asks the primary."""

_PATIENCE = 10.0
"""Seconds that a writer of a book waits for another, and that a pool waits for a connection."""

LOCKS = ("documents", "rebuild", "journal", "transcripts", "index")
"""What writers of a book exclude each other by, in the order in which they nest."""

_AWAY = 30.0
"""Seconds for which nobody asks a standby that did not answer."""

_STREAMED = 1_000
_FEW = 4  # rows that are as well sent one by one
_PREPARED = 1_000
_numbers = count()
_NOTICED = 0.05  # seconds for which notices are gathered
CHANNEL = "memorybook"


# --- the pool of a process -------------------------------------------------------------------------


_pools: dict[tuple[int, str], Pool] = {}  # those of a parent process are kept, and never touched
_opening = threading.Lock()


def pool_of(dsn: str, size: int) -> Pool:
    """Return this process's pool of connections to a server, opened at first use.

    Raises Unavailable if the server does not answer, or its tables are of another version than these.
    """
    key = (os.getpid(), dsn)
    if key not in _pools:
        with failures(dsn), connect(dsn) as first:
            check(first, dsn)
    with _opening:
        if key not in _pools:
            _pools[key] = Pool(dsn, size, _PATIENCE, _HOW, take_role)
            atexit.register(_close, *key)
        return _pools[key]


def _close(process: int, dsn: str) -> None:
    if process == os.getpid():  # a child would end its parent's connections
        _pools[process, dsn].close()


_HOW: dict[str, Any] = {
    "autocommit": True,
    "cursor_factory": psycopg.RawCursor,
    "application_name": "memorybook",
    "prepare_threshold": None,
}
_LOOKUPS = (
    f"SET ROLE {ROLE}; SET search_path=memorybook; SET plan_cache_mode=force_generic_plan; SET jit=off;"
    " SET max_parallel_workers_per_gather=0; SET join_collapse_limit=1; SET enable_seqscan=off;"
    " SET enable_hashjoin=off; SET enable_mergejoin=off; SET enable_memoize=off; SET enable_material=off"
)
"""Every statement is written for lookups in indexes, in the order of its text: it is planned once, whatever is known of
the tables by then."""


def connect(dsn: str) -> Raw:
    """Return a connection of the caller's own, with the rights of its user, to be closed. May raise psycopg.Error."""
    return psycopg.connect(dsn, **_HOW)


def take_role(raw: Raw) -> None:
    """Give a connection the rights and the settings of a server's."""
    raw.execute(_LOOKUPS)
    raw.prepare_threshold, raw.prepared_max = 0, _PREPARED


def check(raw: Raw, dsn: str) -> None:
    """Raise Unavailable unless the tables of the database are of this version."""
    version = version_of(raw)
    if version < len(MIGRATIONS):
        raise Unavailable(
            f"the database {shown(dsn)!r} has no tables of this version: run memorybook db upgrade --dsn {shown(dsn)}"
        )
    if version > len(MIGRATIONS):
        raise Unavailable(f"the database {shown(dsn)!r} was made by a newer memorybook: update memorybook")


def version_of(raw: Raw) -> int:
    """Return how many migrations a database has, 0 for none."""
    [(there,)] = raw.execute("SELECT to_regclass('memorybook.migrations') IS NOT NULL").fetchall()
    if not there:
        return 0
    [(version,)] = raw.execute("SELECT coalesce(max(number), 0) FROM memorybook.migrations").fetchall()
    return int(version)


def dsns_of(setting: str) -> list[str]:
    """Return the addresses that `storage.dsn` holds: several have blanks between, which an address has as `%20`.

    Raises ConfigError, which quotes nothing, as it may be of a password.
    """
    words = setting.split()
    several = all(word.startswith(("postgresql://", "postgres://")) for word in words)
    for dsn in words if several else [setting]:
        try:
            known = conninfo_to_dict(dsn)
        except psycopg.ProgrammingError:
            known = {"port": "?"}
        if "@" in str(known.get("host", "")) or not str(known.get("port", "0")).replace(",", "").isdecimal():
            raise ConfigError(
                "storage.dsn is no address of a PostgreSQL server, postgresql://user@host/database: in a password write"
                " '@' as %40, ':' as %3A, '/' as %2F, or leave it to PGPASSWORD or ~/.pgpass"
            )
    return words if several else [setting]


def without_password(dsn: str) -> str:
    """Return an address as it may be stored: whoever uses it has the password from elsewhere."""
    known: dict[str, Any] = conninfo_to_dict(dsn)
    known.pop("password", None)
    return make_conninfo("", **known)


def by_rank(dsns: Sequence[str], name: str) -> list[str]:
    """Return servers in the order in which they are to have a tenant's book, by rendezvous hashing.

    Of a server that is added, each of the others gives up an equal share; what was at one that is gone is spread.
    """

    def rank(dsn: str) -> bytes:
        known = conninfo_to_dict(dsn)
        place = [known.get(part) for part in ("service", "host", "hostaddr", "port", "dbname")]
        return sha256(repr((place, name)).encode("utf-8", "surrogatepass")).digest()

    return sorted(dsns, key=rank)


def shown(dsn: str) -> str:
    """Return an address for people: without its password."""
    try:
        known = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        return "postgresql://"
    user = f"{known['user']}@" if known.get("user") else ""
    port = f":{known['port']}" if known.get("port") else ""
    return f"postgresql://{user}{known.get('host', '')}{port}/{known.get('dbname', '')}"


# --- errors ----------------------------------------------------------------------------------------


@contextmanager
def failures(dsn: str) -> Iterator[None]:
    """Turn errors of the driver into those of memorybook."""
    try:
        yield
    except psycopg.Error as error:
        where, said = f"the database {shown(dsn)!r}", str(error).strip().partition("\n")[0]
        if isinstance(error, (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected)):
            raise BookLocked(f"{where} is locked by another process; try again when it is done") from error
        if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
            raise Unavailable(f"{where} takes no writes: it is a standby; name the primary too in the DSN") from error
        if isinstance(error, psycopg.errors.IntegrityError):
            raise apsw.ConstraintError(said) from error
        if isinstance(error, (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn)):
            raise Damaged(f"{where} is not as memorybook made it ({said})") from error
        if isinstance(error, psycopg.errors.InvalidParameterValue) and ROLE in said:
            raise Unavailable(f"{where} has no role {ROLE!r}: run memorybook db upgrade") from error
        if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
            raise Unavailable(f"{where} does not answer: {said}") from error
        raise Unavailable(f"{where} cannot be used: {said}") from error


# --- a tenant and its transactions -----------------------------------------------------------------


_ENTER = (
    "SELECT moved(moved) FROM (SELECT set_config('memorybook.tenant', $1, true) AS name OFFSET 0) AS entered,"
    " LATERAL (SELECT moved FROM books WHERE tenant=entered.name AND moved<>'' OFFSET 0) AS there"
)
"""Names the tenant, and fails if it was moved: what is looked up depends on what was set."""
STANDING = (
    "SELECT (SELECT revision FROM books), (SELECT revision FROM state),"
    " (SELECT value FROM versions WHERE name='index'), (SELECT identity FROM books)"
)
"""Counters of changes to a tenant's documents, turns and index, and the identity of its book."""

_away: dict[str, float] = {}  # until when no standby of an address is asked
_TURNS = 5  # places that a tenant is followed to
_lent: WeakKeyDictionary[Raw, Pool] = WeakKeyDictionary()


Wake = Callable[["Tenant", str], None]
"""What makes a book again of the file of that name."""


class _Held(threading.local):
    """What of the process's connections a thread holds in a `Tenant.transaction`."""

    raw: Raw | None = None
    depth = 0
    changed = False


class Tenant:
    """A tenant of a server: where its transactions begin. Safe to share between threads.

    Of several servers a tenant is at that which has its book, see `place_of`; a book that is moved while it is used is
    followed when the next transaction begins.

    Args:
        dsn: Of the server, or of several, see `dsns_of`.
        name: Of the tenant; not empty.
        size: Connections that this process has at most to each server.
        wake: What makes the book again of the file of that name, if it is at rest.
    """

    def __init__(self, dsn: str, name: str, size: int, wake: Wake | None = None) -> None:
        self._servers = dsns_of(dsn)
        self._dsn = self._servers[0] if len(self._servers) == 1 else ""
        self.name = name
        self.size = size
        self._wake = wake
        self.root = f"{shown(dsn)}#{name}" if self._dsn else f"postgresql:#{name}"
        self.held = _Held()
        self.made = False

    @property
    def dsn(self) -> str:
        """Of the server that has the tenant, as far as is known by now."""
        return self._dsn or self._place()

    def _place(self) -> str:
        """Find the server that has the tenant's book; if none has it by now, return which is to have it."""
        ranked = by_rank(self._servers, self.name)
        for dsn in ranked:
            there = Tenant(dsn, self.name, self.size, self._wake)
            there._servers = self._servers
            if there.rows("SELECT 1 FROM books"):
                self._dsn = there.dsn
                return self._dsn
        return ranked[0]

    def _follow(self, error: BaseException) -> bool:
        """Turn to the server that the tenant was moved to, or wake it; False if the error says nothing of that."""
        if not isinstance(error, psycopg.Error) or error.sqlstate != MOVED:
            return False
        mark, place = (error.diag.message_primary or "").split(" ", 1)
        if mark == RESTING:
            if self._wake is None:
                raise Unavailable(
                    f"the book {self.root!r} is at rest as {place!r}: set storage.idle_folder to the folder that has it"
                )
            self._wake(self, place)
            return True
        there = next((dsn for dsn in self._servers if without_password(dsn) == place), place)
        if mark == ARRIVING:  # true as long as it did not leave there; whoever finds that it did, says so here
            here, at = self.dsn, f"{ARRIVING} {place}"
            if self._asked(there, "SELECT moved FROM books") == [(f"{LEFT} {without_password(here)}",)]:
                self._asked(here, "UPDATE books SET moved='' WHERE moved=$1", (at,))
                return True
        self._dsn, self.made = there, False
        return True

    def _asked(self, dsn: str, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a statement at a server, wherever the tenant is."""
        with pool_of(dsn, self.size).connection() as raw, raw.transaction():
            raw.execute("SELECT set_config('memorybook.tenant', $1, true)", (self.name,))
            return _fetched(raw.execute(sql, values))

    def begin(self, how: str, *first: tuple[str, Sequence[Any]]) -> Raw:
        """Borrow a connection and begin a transaction on it, with statements that go before all others.

        If it proves to be dead, as after a failover, so may be the others: all are tried, and it begins once more.
        """
        again = True
        for _ in range(_TURNS):
            raw, pool = self._borrowed()
            try:
                with raw.pipeline():
                    raw.execute(f"BEGIN {how}")
                    raw.execute(_ENTER, (self.name,))
                    for sql, values in first:
                        raw.execute(sql, values)
            except BaseException as error:
                lost = raw.closed or raw.broken
                with suppress(psycopg.Error):
                    raw.rollback()
                self.give_back(raw)
                if self._follow(error):
                    continue
                if not (again and lost and isinstance(error, psycopg.OperationalError)):
                    raise
                again = False
                pool.check()  # the others are dead as well, perhaps
            else:
                return raw
        raise Unavailable(f"the book {self.root!r} is being moved; try again")

    def begin_at_standby(self, standing: Row) -> Raw | None:
        """Begin a snapshot at a standby; None if none answers, or it does not have all of `standing` (`STANDING`)."""
        dsn = self.dsn
        if monotonic() < _away.get(dsn, 0.0):
            return None
        standby, raw = make_conninfo(dsn, target_session_attrs="standby", load_balance_hosts="random"), None
        if (os.getpid(), standby) not in _pools:
            _away[dsn] = monotonic() + _AWAY  # others need not wait for its first answer
        try:
            pool = pool_of(standby, self.size)
            raw = pool.getconn(timeout=_STANDBY_PATIENCE)
            _lent[raw] = pool
            with raw.pipeline():
                raw.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
                raw.execute(_ENTER, (self.name,))
                cursor = raw.execute(STANDING, binary=True)
            _away.pop(dsn, None)
            if _fetched(cursor) == [standing]:
                return raw
        except (psycopg.Error, PoolTimeout, Unavailable):
            _away[dsn] = monotonic() + _AWAY
        if raw is not None:
            with suppress(psycopg.Error):
                raw.rollback()
            self.give_back(raw)
        return None

    def _borrowed(self) -> tuple[Raw, Pool]:
        pool = pool_of(self.dsn, self.size)
        try:
            raw = pool.getconn()
        except PoolTimeout as error:
            raise Unavailable(
                f"the database {shown(self.dsn)!r} gives no connection within {_PATIENCE:g} s: it does not answer, or"
                f" all {self.size} of this process are in use (storage.pool)"
            ) from error
        _lent[raw] = pool
        return raw, pool

    def give_back(self, raw: Raw) -> None:
        """Give a borrowed connection back."""
        _lent.pop(raw).putconn(raw)

    def end(self, raw: Raw, how: str) -> None:
        """End a transaction and give its connection back.

        Raises psycopg.Error if it cannot be committed, also where a statement failed, or the connection was lost, and
        whoever ran it went on.
        """
        try:
            if how == "COMMIT" and raw.info.transaction_status == TransactionStatus.INERROR:
                raise psycopg.errors.InFailedSqlTransaction("a statement failed, so that nothing of it was kept")
            if how == "COMMIT" and raw.closed:
                raise psycopg.OperationalError("the connection was lost, so that nothing of it was kept")
            if not raw.closed:
                raw.execute(how)
        finally:
            self.give_back(raw)

    @contextmanager
    def transaction(self, locked: str = "documents") -> Iterator[Raw]:
        """Let all that this thread writes until the block ends be one transaction; the only one with that lock.

        Reentrant. Raises BookLocked.
        """
        held = self.held
        if held.raw is not None:
            yield held.raw
            return
        with failures(self.dsn):
            try:
                waiting = (f"SET LOCAL lock_timeout={int(_PATIENCE * 1000)}", ())
                raw = held.raw = self.begin("", waiting, self.lock(locked))
            except psycopg.errors.LockNotAvailable as error:
                raise BookLocked(
                    f"the book {self.root!r} was locked by another writer for {_PATIENCE:g} s; try again"
                ) from error
            held.changed = False
            try:
                yield raw
            except BaseException:
                held.raw, self.made = None, False
                with suppress(psycopg.Error):
                    self.end(raw, "ROLLBACK")
                raise
            held.raw, made, self.made = None, self.made, False
            self.end(raw, "COMMIT")
            self.made = made
        if held.changed:
            notify(self)

    def lock(self, what: str) -> tuple[str, tuple[str]]:
        """Return the statement that waits for one of the tenant's locks, to be held until the transaction ends."""
        return "SELECT locked($1)", (f"{self.name}/{what}",)

    @contextmanager
    def reading(self) -> Iterator[Raw]:
        """Yield this thread's transaction, or one for the block."""
        if self.held.raw is not None:
            yield self.held.raw
            return
        with failures(self.dsn):
            raw = self.begin("")
            try:
                yield raw
            except BaseException:
                with suppress(psycopg.Error):
                    self.end(raw, "ROLLBACK")
                raise
            self.end(raw, "COMMIT")

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run one statement of PostgreSQL's own, in this thread's transaction or by itself; return its rows."""
        held = self.held.raw
        if held is not None:
            with failures(self.dsn):
                return _fetched(held.execute(sql, values))
        with failures(self.dsn):
            again = True
            for _ in range(_TURNS):
                raw, pool = self._borrowed()
                try:
                    with raw.pipeline():  # one transaction and one round trip
                        raw.execute(_ENTER, (self.name,))
                        cursor = raw.execute(sql, values, binary=True)
                    return _fetched(cursor)
                except psycopg.Error as error:
                    if self._follow(error):
                        continue
                    lost = isinstance(error, psycopg.OperationalError) and (raw.closed or raw.broken)
                    if not (again and lost and sql.startswith("SELECT")):
                        raise
                    again = False
                    pool.check()
                finally:
                    self.give_back(raw)
        raise Unavailable(f"the book {self.root!r} is being moved; try again")


def _fetched(cursor: Any) -> list[Row]:
    return cursor.fetchall() if cursor.description is not None else []


# --- the connection and the store ------------------------------------------------------------------


class PostgresConnection(Connection):
    """`Connection` to one of a tenant's databases: `journal`, `transcripts` or `index`.

    Args:
        tenant: Whose.
        name: Of the database: what its writers exclude each other by.
        needed: Statements that make what its tables need before they are written.
        counted: Whether `version` is asked for.
    """

    fileless = True

    def __init__(self, tenant: Tenant, name: str, needed: Sequence[str] = (), *, counted: bool = False) -> None:
        self.tenant = tenant
        self.name = name
        self._needed = [(one, ()) for one in needed]
        self._counted = counted
        self._own = 0
        self._forced = True
        self._transaction: Raw | None = None
        self._nested = False
        self._writes = False
        self._noted: dict[Any, Any] | None = None
        self.standing: Row | None = None
        """If set, snapshots may be of a standby that has the tenant as it was then (`STANDING`)."""
        super().__init__(tenant.root, durable=True, timeout=BUSY_TIMEOUT)

    @property
    def raw(self) -> apsw.Connection:
        """Nothing: it is not SQLite."""
        return None  # type: ignore[return-value]

    @property
    def in_transaction(self) -> bool:
        """True if a transaction is open."""
        return self._transaction is not None

    def version(self) -> tuple[object, int]:
        """Return a value that equals an earlier one only if nobody else has committed anything since."""
        with self.lock:
            row = self.first("SELECT value FROM versions WHERE name=?", (self.name,))
            return self, (row[0] if row is not None else 0) - self._own

    def execute(self, sql: str, values: Values = ()) -> list[Row]:
        """Run one statement and return all its rows, or begin or end a transaction. Raises Unavailable, Damaged."""
        with self.lock:
            control = _CONTROL.get(sql)
            if control is not None:
                control(self)
                return []
            return self._run(sql, values)[0]

    def _run(self, sql: str, values: Values) -> tuple[list[Row], int]:
        if self._closed:
            raise Unavailable(f"the database {self.path!r} is closed; open it again")
        if sql == NOTED and self._transaction is not None and not self._writes:  # it is one snapshot
            if self._noted is None:
                self._noted = dict(self._run("SELECT name, value FROM meta", ())[0])
            return [(self._noted[name],) for name in values if name in self._noted], 1
        sql, given = translated(sql), adapted(values)
        if self._transaction is None and self.tenant.held.raw is None:
            rows = self.tenant.rows(sql, given)
            return restored(rows), len(rows)
        with failures(self.tenant.dsn):
            raw = self._transaction or self.tenant.held.raw
            assert raw is not None  # or the tenant's own way was taken above
            anew = False if "=pending." in sql else None  # the plan of a queue must fit the sizes of now
            cursor = raw.execute(sql, given, binary=True, prepare=anew)
            return restored(_fetched(cursor)), cursor.rowcount

    def executemany(self, sql: str, rows: Iterable[Values]) -> list[Row]:
        """Run a statement once for each of `rows` and return all that it returned, in their order."""
        with self.lock:
            given = [adapted(row) for row in rows]
            if not given:
                return []
            sql = translated(sql)
            together = of_many(sql) if len(given) > _FEW else None
            with failures(self.tenant.dsn), self.ready() as raw, raw.cursor(binary=True) as cursor:
                if together is not None and _differ(given, together[1]):
                    cursor.execute(together[0], [[*column] for column in zip(*given, strict=True)], prepare=False)
                    return restored(_fetched(cursor))
                cursor.executemany(sql, given, returning=True)
                found: list[Row] = []
                while True:
                    found += _fetched(cursor)
                    if not cursor.nextset():
                        return restored(found)

    @contextmanager
    def ready(self) -> Iterator[Raw]:
        """Yield what the transaction that is open runs on, or one for the block."""
        if self._transaction is not None:
            yield self._transaction
        else:
            with self.tenant.reading() as raw:
                yield raw

    def first(self, sql: str, values: Values = ()) -> Row | None:
        """Return the first row, or None if there is none."""
        with self.lock:
            return next(iter(self._run(sql, values)[0]), None)

    def insert(self, sql: str, values: Values = ()) -> int:
        """Run an INSERT and return the number of its row."""
        key = "seq" if sql.startswith("INSERT INTO operations") else "id"
        with self.lock:
            [(number,)] = self._run(f"{sql} RETURNING {key}", values)[0]
            return int(number)

    def modify(self, sql: str, values: Values = ()) -> int:
        """Run an INSERT, UPDATE or DELETE in a transaction and return how many rows it touched."""
        with self.lock:
            return self._run(sql, values)[1]

    def stream(self, sql: str, values: Values = ()) -> Iterator[Row]:
        """Yield rows some at a time, all from one snapshot; only in a transaction."""
        name = f"streamed_{next(_numbers)}"
        with failures(self.tenant.dsn), self.ready() as raw, psycopg.RawServerCursor(raw, name) as cursor:
            cursor.itersize = _STREAMED
            for row in cursor.execute(translated(sql), adapted(values), binary=True):
                yield from restored([row])

    def close(self) -> None:
        """End what is open; closing twice does nothing."""
        with self.lock:
            self._closed = True
            if self._transaction is not None:
                self._finish("ROLLBACK")

    # --- transactions ---

    def _begin(self, *, writes: bool) -> None:
        first = [
            (f"SET LOCAL lock_timeout={self.timeout_milliseconds}", ()),
            self.tenant.lock(self.name),
            *self._needed,  # also where the book was erased while this waited
        ]
        with failures(self.tenant.dsn):
            held = self.tenant.held.raw
            if held is None:
                forced = [] if self._forced else [("SET LOCAL synchronous_commit=off", ())]
                if not writes and self.standing is not None:
                    self._transaction = self.tenant.begin_at_standby(self.standing)
                how = "" if writes else "ISOLATION LEVEL REPEATABLE READ"
                self._transaction = self._transaction or self.tenant.begin(how, *([*forced, *first] if writes else ()))
            else:
                if writes:
                    held.execute(f"SAVEPOINT {self.name}")
                    try:
                        with held.pipeline():
                            for sql, values in first:
                                held.execute(sql, values)
                    except psycopg.Error:
                        held.execute(f"ROLLBACK TO SAVEPOINT {self.name}")
                        raise
                self._transaction = held
            self._nested, self._writes, self._noted = held is not None, writes, None

    def _finish(self, how: str) -> None:
        raw, self._transaction = self._transaction, None
        if raw is None:
            return
        with failures(self.tenant.dsn):
            counts = self._counted and self._writes and how == "COMMIT"
            if counts:
                raw.execute(
                    "INSERT INTO versions (name, value) VALUES ($1, 1) ON CONFLICT (tenant, name)"
                    " DO UPDATE SET value=versions.value+1",
                    (self.name,),
                )
            if not self._nested:
                self.tenant.end(raw, how)
            elif self._writes and not raw.closed:
                raw.execute(f"{'RELEASE' if how == 'COMMIT' else 'ROLLBACK TO'} SAVEPOINT {self.name}")
            self._own += counts

    def _force(self, *, on: bool) -> None:
        self._forced = on

    def _lose(self) -> None:
        """Leave what is open to the process that this one was forked of."""
        super()._lose()
        self._transaction = None
        self.tenant.held = _Held()


def _differ(rows: Sequence[Sequence[Any]], places: Sequence[int]) -> bool:
    return not places or len({tuple([row[place] for place in places]) for row in rows}) == len(rows)


_CONTROL: dict[str, Callable[[PostgresConnection], None]] = {
    "BEGIN": lambda one: one._begin(writes=False),
    "BEGIN IMMEDIATE": lambda one: one._begin(writes=True),
    "COMMIT": lambda one: one._finish("COMMIT"),
    "ROLLBACK": lambda one: one._finish("ROLLBACK"),
    "PRAGMA synchronous=NORMAL": lambda one: one._force(on=False),
    "PRAGMA synchronous=FULL": lambda one: one._force(on=True),
}


class PostgresStore(Store):
    """`Store` of a tenant: there is something to read once the tenant has a book, and writing makes it."""

    def __init__(self, tenant: Tenant, name: str, migrations: Sequence[str], needed: Sequence[str]) -> None:
        super().__init__(name, migrations)
        self.path = tenant.root
        self._tenant = tenant
        self._database = name
        self._needed = needed

    def existing(self) -> Connection | None:
        """Return the connection for reading; None while there is no book. Raises Unavailable."""
        with self._lock:
            if self._closed:
                raise Unavailable(f"the database {self.path!r} is closed; open it again")
            if not self._tenant.made:
                self._tenant.made = bool(self._tenant.rows("SELECT 1 FROM books"))
            return self.created() if self._tenant.made else None

    def created(self) -> Connection:
        """Return the connection for writing, which makes the book. Raises Unavailable."""
        with self._lock:
            if self._closed:
                raise Unavailable(f"the database {self.path!r} is closed; open it again")
            if self._connection is None:
                self._connection = self._connect()
            return self._connection

    def _connect(self) -> Connection:
        return PostgresConnection(self._tenant, self._database, self._needed)

    def snapshot(self) -> Connection:
        """Return a connection of the caller's own, to be closed by them, all of whose reading is of this moment."""
        connection = PostgresConnection(self._tenant, self._database)
        connection.execute("BEGIN")
        return connection

    def fault(self, *, thorough: bool = False) -> str:
        """Return nothing: the server answers for its files."""
        return ""


# --- notices ---------------------------------------------------------------------------------------
# NOTIFY lets all commits of a server wait for each other, so it is left out of the transactions that write: a thread
# of this process tells of them soon after.

_told: dict[tuple[int, str], set[str]] = {}


def notify(tenant: Tenant) -> None:
    """Tell whoever listens that documents of the tenant changed, soon."""
    key = (os.getpid(), tenant.dsn)
    with _opening:
        waiting = _told.get(key)
        _told.setdefault(key, set()).add(tenant.name)
    if waiting is None:
        threading.Thread(target=_tell, args=(tenant, key), daemon=True, name="memorybook-notices").start()


def _tell(tenant: Tenant, key: tuple[int, str]) -> None:
    sleep(_NOTICED)
    with _opening:
        names = _told.pop(key)
    with suppress(psycopg.Error, Unavailable):
        pool = pool_of(tenant.dsn, tenant.size)
        pool.check()  # one that is dead would swallow them
        with pool.connection() as raw:
            for name in names:
                raw.execute("SELECT pg_notify($1, $2)", (CHANNEL, name[:4000]))
