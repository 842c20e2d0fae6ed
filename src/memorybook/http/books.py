"""The served books, one or one for each tenant, and the worker threads that run verbs in them."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from contextvars import copy_context
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from memorybook.agent.session import Workspace
from memorybook.errors import InvalidInput, MemoryBookError, NotFound, Unavailable
from memorybook.http.access import Caller, Tokens, no_tenant
from memorybook.http.http_messages import Refusal, too_many_at_a_time
from memorybook.http.server_state import FileState, MemoryState, ServerState
from memorybook.memory import Memory
from memorybook.storage.directory import STATE
from memorybook.storage.safe_open import check_system
from memorybook.storage.stores import SERVED, open_storage, tenant_address

if TYPE_CHECKING:
    from memorybook.agent.session import AgentSession
    from memorybook.config.settings import Config
    from memorybook.protocols import LLM, Function, Storage

T = TypeVar("T")
Door = Literal["http", "mcp"]

_TICK = 30.0
_AT_ONCE = 3
_CLAIMED = 600.0  # s until another server looks after a tenant that this one had claimed
_INEXACT = 0.1  # of the time after which a session is idle
_PATIENCE = 10.0
_READY_FOR = 2.0
_PROBED = 1_000
_READY_WITHIN = 5.0

_log = logging.getLogger("memorybook.server")


def open_state(config: Config, root: str, *, many: bool) -> ServerState:
    """Return the state for a book at `root`, or with `many` for a workspace."""
    if config.storage.dsn:
        from memorybook.http.postgres_state import PostgresState

        return PostgresState(config.storage.dsn, "" if many else root, pool=config.storage.pool)
    if config.storage.kind == "memory":
        return MemoryState()
    check_system()
    return FileState(os.path.join(root, "tenants.json") if many else os.path.join(root, STATE, "tokens.json"))


class Books:
    """The served books and their worker threads.

    Args:
        config: Settings of every book, and of the server.
        root: Directory of one book, or with `many` of a workspace; with `storage.dsn` a name, or "".
        many: Whether each tenant has a book of its own.
        tokens: The tenants.
        llm: The model that remembers; None takes the configured one.
    """

    def __init__(
        self,
        config: Config,
        root: str,
        *,
        many: bool,
        tokens: Tokens,
        llm: LLM | Function | None = None,
    ) -> None:
        self.config = config
        self.root = root
        self.many = many
        self.tokens = tokens
        self._workspace = Workspace(root, book=None if many else root, config=config, llm=llm, door="http")
        self._sessions: dict[str, AgentSession] = {}
        self._uses = Counter[str]()
        self._closing: set[str] = set()
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(config.server.threads, thread_name_prefix="memorybook-http")
        self._heard: dict[str, float] = {}
        for tenant in tokens.tenants() if many and tokens.state.near else ():  # others know from before
            tokens.state.note(tenant, seconds=0)
        self._turns: dict[str, asyncio.Semaphore] = {}
        self._probe: asyncio.Task[bool] | None = None
        self._probed = 0.0
        self._closed = False
        self.works = 0

    # --- working in a book -----------------------------------------------------------------------

    def tenant(self, caller: Caller, named: str | None) -> str:
        """Return whose book a request is for: the token's, or the one that the owner names; "" for the only one.

        Raises:
            Refusal: A tenant's token names another.
            InvalidInput: None is named where there are many, or one where there is one book.
            NotFound: There is no such tenant.
        """
        if caller.tenant is not None:
            if named is not None and named != caller.tenant:
                raise Refusal(403, "forbidden", "this token is for another tenant's book")
            return caller.tenant
        if not self.many:
            if named is not None:
                raise InvalidInput("this server has one book and no tenants: leave X-Memorybook-Tenant out")
            return ""
        if named is None:
            raise InvalidInput("this server has a book for each tenant: name one in X-Memorybook-Tenant")
        if not self.tokens.has_tenant(named):
            raise no_tenant(named)
        return named

    @contextmanager
    def opened(self, tenant: str, *, person: bool, door: Door = "http") -> Iterator[Memory]:
        """Open a tenant's memory with the rights of the caller.

        Raises:
            NotFound: The tenant was closed meanwhile.
        """
        with self._used(tenant) as session, session.memory() as memory:
            if memory.config.llm.model:
                with suppress(MemoryBookError):  # said when it is needed
                    _ = memory.llm  # made once, not by each that sees it through a door
            # a tenant is there before its book
            yield memory.seen_by(door=door, actor="user" if person else "agent", missing_ok=self.many)

    @contextmanager
    def _used(self, tenant: str) -> Iterator[AgentSession]:
        """Hold a tenant's session, so that its book is not removed meanwhile."""
        if self.many and not self.tokens.has_tenant(tenant):
            raise no_tenant(tenant)
        with self._lock:
            if tenant in self._closing:
                raise no_tenant(tenant)
            self._uses[tenant] += 1
            session = self._sessions.get(tenant)
        try:
            if session is None:
                session = self._workspace.session(SERVED, tenant)
                with self._lock:
                    session = self._sessions.setdefault(tenant, session)
            yield session
        finally:
            with self._lock:
                self._uses[tenant] -= 1
                if not self._uses[tenant]:
                    del self._uses[tenant]

    async def work(self, tenant: str, person: bool, do: Callable[[Memory], T]) -> T:
        """Run `do` with the tenant's memory in a thread and return its result.

        Raises:
            Refusal: It takes longer than the setting `server.timeout`; it is done to its end all the same. Or too
                much runs and waits already; then nothing is done.
        """

        def done() -> T:
            with self.opened(tenant, person=person) as memory:
                return do(memory)

        return await self.run(done, self._turn_of(tenant))

    async def answering(self, tenant: str, do: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Await `do`, which uses threads of its own, in the tenant's turn; raises as `work`."""
        turn = self._turn_of(tenant)
        await self._begun(turn)
        return await self._ended(asyncio.create_task(do()), turn)

    def _turn_of(self, tenant: str) -> asyncio.Semaphore:
        """Return the semaphore of a tenant: of many, one may use at most half of the threads."""
        most = self.config.server.threads
        return self._turns.setdefault(tenant, asyncio.Semaphore(max(1, most // 2) if self.many else most))

    async def run(self, do: Callable[[], T], turn: asyncio.Semaphore | None = None) -> T:
        """Run `do` in a thread, in turn, and return its result; raises as `work`."""
        await self._begun(turn)
        return await self._ended(
            asyncio.get_running_loop().run_in_executor(self._threads, copy_context().run, do), turn
        )

    async def _begun(self, turn: asyncio.Semaphore | None) -> None:
        if self.works >= self.config.server.max_requests:
            raise too_many_at_a_time()
        self.works += 1
        try:
            if turn is not None:
                await asyncio.wait_for(turn.acquire(), self.config.server.timeout)
        except BaseException as error:
            self.works -= 1
            if isinstance(error, TimeoutError):
                raise too_many_at_a_time() from None
            raise

    async def _ended(self, future: asyncio.Future[T], turn: asyncio.Semaphore | None) -> T:
        seconds = self.config.server.timeout

        def end(future: asyncio.Future[T]) -> None:
            self.works -= 1
            if turn is not None:
                turn.release()
            if not future.cancelled():
                future.exception()  # whoever waited may have gone

        future.add_done_callback(end)
        done, _ = await asyncio.wait([future], timeout=seconds)
        if not done:
            raise Refusal(504, "late", f"it is not done within {seconds:g} s and goes on: look later what came of it")
        return future.result()

    # --- tenants ---------------------------------------------------------------------------------

    def drop(self, tenant: str, *, erase: bool) -> None:
        """Close a tenant; with `erase` also delete its book, even if it was closed before.

        Raises:
            NotFound: There is no such tenant.
            Unavailable: Its book is in use all the while, or cannot be removed; it is closed all the same.
        """
        with self._lock:
            if tenant in self._closing:
                raise Unavailable(f"tenant {tenant!r} is being closed already")
            self._closing.add(tenant)
        try:
            with closing(self._storage(tenant)) as storage:
                try:
                    self.tokens.drop_tenant(tenant)
                except NotFound:
                    if not (self.many and erase and storage.exists()):
                        raise
                self._shut(tenant)
                if erase and storage.exists():
                    storage.erase()
        except OSError as error:
            raise Unavailable(f"the book of {tenant!r} cannot be removed: {error.strerror}") from None
        finally:
            with self._lock:
                self._closing.discard(tenant)

    def _shut(self, tenant: str) -> None:
        """Close a tenant's book once it is unused. Raises Unavailable."""
        patience = time.monotonic() + _PATIENCE
        while True:
            with self._lock:
                session = self._sessions.get(tenant)
                if not (self._uses[tenant] or (session is not None and session.uses)):
                    self._sessions.pop(tenant, None)
                    self._heard.pop(tenant, None)
                    break
            if time.monotonic() > patience:
                raise Unavailable(
                    f"the book of {tenant!r} is still in use: it is closed, and was not removed; try again"
                )
            time.sleep(0.02)
        if session is not None:
            session.shut()

    # --- looking after them ----------------------------------------------------------------------

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Run the upkeep of the books; at the end finish all work and close them."""

        async def tick() -> None:
            while True:
                await asyncio.to_thread(self.tick)
                await asyncio.sleep(_TICK)

        ticking = asyncio.create_task(tick())
        try:
            yield
        finally:
            ticking.cancel()
            await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Finish all work, then close the books."""
        self._closed = True
        self._threads.shutdown(wait=True)
        self._workspace.close()

    def heard(self, tenant: str) -> None:
        """Note that a tenant may have an open session."""
        idle = self.config.idle_timeout
        now = time.monotonic()
        if self.many and now - self._heard.get(tenant, -idle) >= idle * _INEXACT:
            self._heard[tenant] = now
            self.tokens.state.note(tenant, seconds=idle * (1 + _INEXACT))

    def tick(self) -> None:
        """Close and memorize idle sessions, and ingest events of agent hosts; of many tenants those that are due."""
        try:
            self._workspace.tick()
        except Exception as error:  # it is looked again
            _log.warning("idle sessions were not looked for: %s", error)
        if not (self.config.enabled and self.config.auto_capture_on_new_session):
            return
        if not self.many:
            self._close_idle("")
            return
        try:
            while not self._closed and (due := self.tokens.state.claim(seconds=_CLAIMED)) is not None:
                if self._close_idle(due.tenant):
                    self.tokens.state.note(due.tenant, seconds=_TICK)
                else:
                    self.tokens.state.settle(due)
        except Exception as error:
            _log.warning("tenants that are due were not looked after: %s", error)

    def _close_idle(self, tenant: str) -> bool:
        """Close what a tenant left open; return whether there may be more."""
        try:
            with self.opened(tenant, person=False) as memory:
                return len(memory.close_idle(limit=_AT_ONCE)) == _AT_ONCE
        except NotFound:  # closed meanwhile
            return False
        except Exception as error:  # one tenant's book must not be another's trouble
            _log.warning("sessions that were left open were not closed: %s", error)
            return True

    @property
    def in_use(self) -> int:
        """Number of books in use."""
        with self._lock:
            return sum(bool(session.uses) for session in self._sessions.values())

    async def ready(self) -> bool:
        """Return whether the books can be written to, checked at most every two seconds.

        Concurrent callers share one check; one that takes longer than five seconds counts as failed.
        """
        if self._probe is None or (self._probe.done() and time.monotonic() - self._probed >= _READY_FOR):
            self._probe, self._probed = asyncio.create_task(asyncio.to_thread(self._writes)), time.monotonic()
        done, _ = await asyncio.wait([self._probe], timeout=_READY_WITHIN)
        return bool(done) and self._probe.result()

    def _writes(self) -> bool:
        try:
            if not self.many:
                with self.opened("", person=False) as memory:
                    memory.book.journal.pending()
                    memory.book.documents.prepare()
            self.tokens.state.check()
            tenants = list(islice(self.tokens.state.register()["tenants"], _PROBED)) if self.many else [""]
            if tenants and not any(map(self._may_write, tenants)):  # the trouble of one is not that of all
                raise Unavailable("no book can be written: check the rights of their folders")
        except (OSError, MemoryBookError) as error:
            _log.warning("not ready: %s", error)
            return False
        return True

    def _may_write(self, tenant: str) -> bool:
        with closing(self._storage(tenant)) as storage:
            return storage.writable()

    def _storage(self, tenant: str) -> Storage:
        root = tenant_address(self.config, self._workspace.root, SERVED, tenant) if self.many else self.root
        return open_storage(self.config, root)
