"""Workspace: the books of many tenants, a few of them open at a time."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from memorybook.agent.conversation import Conversation, View
from memorybook.agent.events import Event, OnEvent, told
from memorybook.agent.session import AgentSession
from memorybook.config import settings
from memorybook.config.project import tenant_key
from memorybook.errors import ConfigError, InvalidInput, Unavailable
from memorybook.memory import Memory
from memorybook.memory import open as open_memory
from memorybook.providers import open_provider

if TYPE_CHECKING:
    from memorybook.config.settings import Config
    from memorybook.protocols import LLM, Embedder, Function, MemoryProvider


class Workspace:
    """Sessions of many tenants, each with a book of its own; safe to share between threads.

    At most `max_open` books are open at a time, but for those that are in use: the one that was used longest ago is
    closed first. What is remembered in the background is done by `workers` threads.

    Args:
        root: Directory of the books; None takes the setting `workspace_dir`.
        book: Directory of one book that all sessions share, instead of one of each tenant's own under `root`.
        config: Settings of every book; None loads them, see `config.load`.
        llm: The model that remembers; None takes the configured one.
        embedder: Of every book; None takes the configured one, which they share.
        provider: Makes the policy over a memory; None takes the setting `provider`.
        clock: The time now, timezone-aware; None takes the system's.
        max_open: At least 1.
        memory_window: Once that many messages of a session are not remembered, all but the newest half of them are
            given to memory; as many are shown to the model. At least 2.
        workers: At least 1.
        on_event: Told what happens, see `Event`; called in whatever thread it happens in.
        door: See `Memory`.

    Raises:
        ConfigError: The settings keep the databases of all books in one file.
        InvalidInput: A number that is too small.
    """

    def __init__(
        self,
        root: str | None = None,
        *,
        book: str | None = None,
        config: Config | None = None,
        llm: LLM | Function | None = None,
        embedder: Embedder | None = None,
        provider: Callable[[Memory], MemoryProvider] = open_provider,
        clock: Callable[[], datetime] | None = None,
        max_open: int = 50,
        memory_window: int = 50,
        workers: int = 4,
        on_event: OnEvent | None = None,
        door: str = "python",
    ) -> None:
        for name, value, least in (
            ("max_open", max_open, 1),
            ("memory_window", memory_window, 2),
            ("workers", workers, 1),
        ):
            if value < least:
                raise InvalidInput(f"{name} {value} is below {least}")
        config = config or settings.load(cwd=os.getcwd(), env=os.environ)
        places = {"db_path": config.db_path, "transcripts.db_path": config.transcripts.db_path}
        places["transcripts.url"] = config.transcripts.url
        places["transcripts.export_path"] = config.transcripts.export_path
        name = next((name for name, place in places.items() if place), "")
        if book is None and name:
            raise ConfigError(f"{name} would put the books of all tenants into one place: leave it out for a workspace")
        self.root = os.path.abspath(os.path.expanduser(root or config.workspace_dir))
        self.placeless = settings.machine_paths(config, self.root) if book is None else str
        self._book = None if book is None else os.path.abspath(os.path.expanduser(book))
        self.memory_window = memory_window
        self._config = config
        self._llm = llm
        self._embedder = embedder
        self._provider = provider
        self._clock = clock or (lambda: datetime.now(UTC))
        self._max_open = max_open
        self._on_event = on_event
        self._door = door
        self._lock = threading.RLock()
        self._sessions: WeakValueDictionary[str, AgentSession] = WeakValueDictionary()
        self._open: OrderedDict[str, AgentSession] = OrderedDict()
        self._resting: dict[str, tuple[AgentSession, datetime]] = {}
        self._closed = False
        self._workers = ThreadPoolExecutor(workers, thread_name_prefix="memorybook-agent")
        self._works: set[Future[None]] = set()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- sessions ----------------------------------------------------------------------------------

    def session(self, channel: str, chat_id: str | int) -> AgentSession:
        """The session of a tenant, the same object for as long as somebody holds it; opens its book.

        Sessions of the tenant that ended without being remembered, by a crash or by idleness, are given to memory in
        the background; the newest goes on where it was if it is not idle.

        Args:
            channel: Where the tenant talks, such as `telegram`.
            chat_id: Any name or number; 7 and "7" are one tenant.

        Raises:
            InvalidInput: A channel or chat id that is no text.
            Unavailable: The workspace is closed, or the disk refuses.
        """
        key = tenant_key(channel, chat_id)
        with self._lock:
            session = self._sessions.get(key)
            if session is None:
                session = self._sessions[key] = AgentSession(self, channel, str(chat_id), key)
        with session.memory():
            pass
        self.tick()
        return session

    def tick(self) -> int:
        """Notice sessions that are idle, or wait for another try, and have them remembered in the background.

        Returns how many tenants there were. For a server's timer; cheap. Books that were closed to make room are
        opened again for it.
        """
        now = self._clock()
        with self._lock:
            if self._closed:
                return 0
            resting = [session for session, idle_at in self._resting.values() if idle_at < now]
            due = [session for session in self._open.values() if session.uses <= session.quiet and session.due]
        for session in (*due, *resting):
            self._notice(session)
        return len(due) + len(resting)

    def _notice(self, session: AgentSession) -> None:
        """Have a session see that it is idle; what fails is seen again when the tenant comes back."""
        try:
            with session.memory():
                pass
        except Exception as error:  # one tenant's book must not be another's trouble
            self._failed(session, error)
            with self._lock:
                self._resting.pop(session.key, None)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for what is being remembered in the background, at most so many seconds; whether all is done."""
        with self._lock:
            works = set(self._works)
        return not wait(works, timeout).not_done

    def close(self) -> None:
        """Finish what is being remembered and close all books; closing twice does nothing.

        Sessions are not ended by it: the next workspace goes on with them, or has them remembered if they are idle.
        A book that is in use is closed by who uses it last.
        """
        with self._lock:
            self._closed = True
        self._workers.shutdown(wait=True)
        with self._lock:
            sessions = list(self._open.values())
        for session in sessions:
            session.shut()
            with self._lock:
                if not session.uses:
                    self._open.pop(session.key, None)

    # --- for sessions ------------------------------------------------------------------------------

    def take(self, session: AgentSession, *, quiet: bool = False) -> None:
        """Count a use of the session, which keeps its book open. Raises Unavailable if the workspace is closed."""
        with self._lock:
            if self._closed and not session.uses:
                raise Unavailable(f"the workspace {self.root!r} is closed")
            session.uses += 1
            session.quiet += quiet
            self._open[session.key] = session
            self._open.move_to_end(session.key)
            self._resting.pop(session.key, None)
            spare = self._spare()
        self._shut(spare)

    def leave(self, session: AgentSession, *, quiet: bool = False) -> None:
        """End a use of the session, one that was taken so."""
        with self._lock:
            session.uses -= 1
            session.quiet -= quiet
            spare = self._spare()
            if self._closed and not session.uses:
                self._open.pop(session.key, None)
                spare.append(session)
        self._shut(spare)

    def _spare(self) -> list[AgentSession]:
        """Takes out what is to be closed to make room: what nobody uses, the one used longest ago first."""
        over = len(self._open) - self._max_open
        spare = [session for session in self._open.values() if not session.uses][: max(0, over)]
        for session in spare:
            del self._open[session.key]
        return spare

    def _shut(self, sessions: list[AgentSession]) -> None:
        for session in sessions:
            idle_at = session.shut()
            with self._lock:
                if idle_at is not None and session.key not in self._open:
                    self._resting[session.key] = session, idle_at

    def converse(self, session: AgentSession, view: View) -> Conversation:
        """Open the book of a session and the conversation that stands in it; `view` as `Conversation` has it."""
        memory = open_memory(
            self._book or os.path.join(self.root, session.key),
            config=self._config._replace(root_dir=""),
            door=self._door,
            clock=self._clock,
            embedder=self._embedder,
            llm=self._llm,
            missing_ok=True,
        )
        self._embedder = self._embedder or memory.context.embedder
        try:
            return Conversation(memory, self._provider(memory), session.channel, session.chat_id, view)
        except BaseException:
            memory.close()
            raise

    def turns_in(self, session: AgentSession) -> int:
        """How many uses of the session are somebody's."""
        with self._lock:
            return session.uses - session.quiet

    def submit(
        self,
        session: AgentSession,
        work: Callable[[], object],
        done: Callable[[], None] = lambda: None,
        *,
        quiet: bool = False,
    ) -> None:
        """Have something done in the background, with the session in use until it is; `done` is called in any case.

        `quiet` for what nobody waits for, see `AgentSession.quiet`.
        """
        self.take(session, quiet=quiet)

        def run() -> None:
            try:
                work()
            except Exception as error:  # what fails here is tried again when the session is opened next
                self._failed(session, error)
            finally:
                done()
                self.leave(session, quiet=quiet)

        try:
            future = self._workers.submit(run)
        except RuntimeError:  # the workspace is being closed: it waits on disk
            done()
            self.leave(session, quiet=quiet)
            return
        with self._lock:
            self._works.add(future)
        future.add_done_callback(self._works.discard)

    def _failed(self, session: AgentSession, error: Exception) -> None:
        text = f"{type(error).__name__}: {error}"
        self.tell(Event("memorize_failed", text, session.channel, session.chat_id, "", {"reason": text}))

    def tell(self, event: Event) -> None:
        """Tell whoever listens."""
        told(event, self._on_event)
