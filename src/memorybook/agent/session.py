"""Sessions of many tenants with an agent: messages in, prompts out, and nothing forgotten before it is remembered."""

from __future__ import annotations

import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from memorybook import locale
from memorybook.agent import turn_context
from memorybook.agent.conversation import (
    Compacted,
    Conversation,
    Event,
    Kind,
    OnEvent,
    Remembered,
    SessionMemorizer,
    StoredMessage,
    View,
    align,
    cut_position,
    is_empty,
    is_reply,
    turn_of,
    words_of,
)
from memorybook.agent.toolset import MAX_ROUNDS, AgentTool, Outcome, converse, core_of, tools_of
from memorybook.config import settings
from memorybook.config.project import tenant_key
from memorybook.errors import ConfigError, InvalidInput, Unavailable
from memorybook.memory import Memory
from memorybook.memory import open as open_memory
from memorybook.providers import open_provider
from memorybook.sessions.summary import refresh
from memorybook.sessions.user_commands import obey
from memorybook.storage import stores

if TYPE_CHECKING:
    from memorybook.config.settings import Config
    from memorybook.formats.llm_messages import Message
    from memorybook.protocols import LLM, Embedder, Function, MemoryProvider
    from memorybook.sessions.recall_block import Recollection
    from memorybook.sessions.user_commands import Obeyed

_log = logging.getLogger("memorybook.agent")

NEW = "/new"
"""What a user says to begin a new session."""


class AgentSession:
    """The session of one tenant; made by `Workspace.session`, safe to share between threads.

    Each call opens the tenant's book if it is closed, takes in what other processes stored, and notices that the
    session is idle: then it is given to memory, and the next message begins another.

    Attributes:
        channel, chat_id: The tenant.
        key: Folder of its book in the workspace.
        uses: How many calls have the book open right now.
        quiet: How many of these are background work that no turn waits for.
        before: Uuid of an earlier session that this one continues, which each prompt then shows; "" for none.
        given: The memory block of the last turn; "" before there was one.
    """

    def __init__(self, workspace: Workspace, channel: str, chat_id: str, key: str) -> None:
        self.channel = channel
        self.chat_id = chat_id
        self.key = key
        self.uses = 0
        self.quiet = 0
        self.before = ""
        self.given = ""
        self._workspace = workspace
        self._lock = threading.RLock()
        self._turn = threading.RLock()
        self._memorizer = SessionMemorizer(workspace.memory_window, self._tell)
        self._talk: Conversation | None = None
        self._view = View()
        self._scheduled: set[tuple[str, bool]] = set()
        self._unsummarized: set[str] = set()  # sessions with turns that their summaries do not cover
        self._summarizing = False
        self._behind = True  # whether sessions may wait that nothing is scheduled for

    # --- opening and closing ---------------------------------------------------------------------

    @contextmanager
    def memory(self) -> Iterator[Memory]:
        """Yield the tenant's open memory, which stays open until the block ends."""
        with self._in_use() as talk:
            yield talk.memory

    @contextmanager
    def _in_use(self) -> Iterator[Conversation]:
        """Yield the conversation, open and up to date, which is not closed before the block ends."""
        self._workspace.take(self)
        try:
            with self._lock:
                talk = self._talk
                if talk is None:
                    talk = self._talk = self._workspace.converse(self, self._view)
                else:
                    talk.refresh()
                if self._behind and self._memorizer.ready(talk):
                    self._behind = False
                    for session in talk.waiting() if talk.memory.config.auto_capture_on_new_session else ():
                        self._later(session)
                if talk.idle and self._workspace.turns_in(self) == 1:
                    self._leave(talk)
            yield talk
        finally:
            self._workspace.leave(self)

    def _leave(self, talk: Conversation) -> None:
        """Begin another session with the next message; the one before is remembered in the background."""
        kept, left = list(talk.kept), talk.leave()
        if left and talk.memory.config.auto_capture_on_new_session:
            self._later(left, None if talk.stored else kept)

    def shut(self) -> datetime | None:
        """Close the book if nobody uses it; return when the session will be idle, None if nothing waits for that."""
        with self._lock:
            talk = self._talk
            if talk is None or self.uses:
                return None
            self._talk, self._behind = None, True
            talk.provider.close()
            talk.memory.close()
            return talk.idle_at(talk.session) if talk.session is not None else None

    @property
    def due(self) -> bool:
        """True if it is open, and its next call would notice that it is idle or that sessions wait."""
        talk = self._talk
        return talk is not None and (talk.idle or (self._behind and self._memorizer.ready(talk)))

    # --- messages ----------------------------------------------------------------------------------

    @property
    def uuid(self) -> str:
        """Uuid of the current session; "" before its first message."""
        with self._in_use() as talk:
            return talk.uuid

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages of the current session, each with `id` and `timestamp`."""
        with self._in_use() as talk, self._lock:
            return tuple(each.message for each in talk.kept)

    def add(self, message: Message) -> Message:
        """Store a message's turn, on disk on return, secrets masked; the live one stays as it is.

        Args:
            message: `{"role", "content", …}` as models have it; `id` and `timestamp` are added if they are missing.

        Returns:
            The message with `id` and `timestamp`. One whose `id` is known is left as it was.

        Raises:
            InvalidInput: No known role, not JSON, or a user who says nothing.
            Unavailable: The disk refuses.
        """
        if isinstance(message, Mapping) and is_empty(message):
            raise InvalidInput("the user's message is empty: give its content")
        with self._in_use() as talk:
            with self._lock:
                kept = talk.add(turn_context.mark_echoes(message, self.given, [each.message for each in talk.kept]))
                wanted = self._memorizer.wanted(talk)
            if wanted:
                self._later(talk.uuid, whole=False)
            if talk.stored and (is_reply(kept) or (kept["role"] == "user" and not talk.has_model)):
                self._summarize(talk)
            return kept

    def build_messages(self, system: str, user_content: str | Sequence[Any]) -> list[Message]:
        """Build the messages for a turn: system prompt with the memory, history, the user's words. Stores nothing.

        The system prompt gets the rule to search before answering about the past, and one block of what is known, see
        `turn_context.gather`. If recalling fails there is an event, and the turn goes on without it.

        Args:
            system: The host's own system prompt.
            user_content: What the user says: text, or blocks of content.
        """
        with self._in_use() as talk:
            asked = words_of(user_content)
            language = talk.language(system, asked)
            known = self._gather(talk, asked, language, whole=True).context.text
            with self._lock:
                history = talk.history(self._workspace.memory_window)
            head = self._system_message(talk, system, known, language)
            return [*head, *history, {"role": "user", "content": user_content}]

    def recollect(self, text: str) -> Recollection | None:
        """Recall the past talks that a user's words ask for, as a turn does: for a host without a model."""
        with self._in_use() as talk:
            return self._announce(talk, turn_context.recollect(talk, text), talk.language(text)).found

    def _system_message(self, talk: Conversation, system: str, known: str, language: str) -> list[Message]:
        rule = locale.message("agent.search_rule", language) if talk.memory.config.enabled else ""
        text = "\n\n".join(filter(None, (system.strip(), rule, known)))
        return [{"role": "system", "content": text}] if text else []

    def _gather(self, talk: Conversation, asked: str, language: str, *, whole: bool) -> turn_context.Gathered:
        """Gather what is known for these words; `whole` for a prompt that shows the talk."""
        most = self._workspace.memory_window if whole else 0
        known = turn_context.gather(talk, asked, language, most=most, before=self.before)
        self.given = known.context.text if whole else self.given
        return self._announce(talk, known, language)

    def _announce(self, talk: Conversation, known: turn_context.Gathered, language: str) -> turn_context.Gathered:
        if known.found is not None and known.found.has_relevant:
            text = turn_context.describe_recollection(known.found, language, talk.memory.book.zone)
            self._tell(talk, "recalled", text, found=known.found)
        for reason in known.failures:
            self._tell_failure(talk, "recall_failed", reason, language)
        return known

    def _tell(self, talk: Conversation, kind: Kind, text: str, **data: Any) -> None:
        self._workspace.tell(Event(kind, text, self.channel, self.chat_id, talk.uuid, data))

    def _tell_failure(self, talk: Conversation, kind: Kind, reason: str, language: str) -> None:
        text = locale.message(f"agent.{kind}", language, reason=locale.translate(reason, language))
        self._tell(talk, kind, text, reason=reason)

    # --- turns -------------------------------------------------------------------------------------

    def run(
        self,
        llm: LLM | Function | None,
        user_content: str | Sequence[Any],
        *,
        system: str = "",
        tools: Sequence[AgentTool] = (),
        max_rounds: int = MAX_ROUNDS,
        piece: Callable[[str], None] | None = None,
        orders: bool = False,
    ) -> Outcome:
        """Run a turn: store what the user says, let the model call tools and answer, store what it says.

        The model always has the core memory tools and loads the others by name, see `toolset.CORE`. Two turns of one
        session wait for each other. `/new` is answered without the model, see `new`.

        Args:
            llm: The model, or a function; None takes that of the memory. The budgets of the settings hold.
            user_content: What the user says: text, or blocks of content.
            system: The host's own system prompt.
            tools: The agent's own.
            max_rounds: Rounds of tools, at least 0.
            piece: Called with the answer piece by piece, see `converse`.
            orders: Carry out at once what the user plainly tells to remember or forget, see `obey`.

        Raises:
            Unavailable: There is no model; LLMFailed, BudgetSpent: it failed. What the user said is stored.
            InvalidInput: Two tools of one name.
            KeyboardInterrupt: What the user said is stored, and the part of the answer that came.
        """
        order, _, name = words_of(user_content).strip().partition(" ")
        if order == NEW and "\n" not in name:
            return Outcome(self.new(name.strip()).text)
        message = {"role": "user", "content": user_content}
        return self._take_turn(llm, message, system, orders=orders, tools=tools, max_rounds=max_rounds, piece=piece)

    def obey(self, message: Message) -> Obeyed | None:
        """Carry out what an added message plainly tells to remember or forget; None if it tells nothing.

        Sends the event `obeyed`. The end of the session does not do it again.

        Raises:
            As `Book.apply`.
        """
        with self._in_use() as talk:
            turn = turn_of(talk.memory, message, talk.uuid) if talk.session is not None else None
            if turn is None or talk.session is None or not talk.memory.config.enabled:
                return None
            done = obey(talk.memory.context, talk.session, turn)
            if done is not None:
                self._tell(talk, "obeyed", turn_context.describe_obeyed(done, talk.language(turn.text)), done=done)
            return done

    def heartbeat(
        self,
        llm: LLM | Function | None,
        prompt: str,
        *,
        system: str = "",
        tools: Sequence[AgentTool] = (),
        max_rounds: int = MAX_ROUNDS,
    ) -> Outcome:
        """Run a turn that nobody asked for, as `run`: the prompt is not the user's; memory is given it at the end."""
        message = {"role": "user", "content": prompt, "boot": True}
        outcome = self._take_turn(llm, message, system, tools=tools, max_rounds=max_rounds)
        with self._in_use() as talk:
            with self._lock:
                kept = list(talk.kept)
            self._memorizer.remember(talk, talk.uuid, kept, archive_all=True)
        return outcome

    def delegate(
        self,
        llm: LLM | Function | None,
        task: str,
        *,
        system: str = "",
        tools: Sequence[AgentTool] = (),
        max_rounds: int = MAX_ROUNDS,
    ) -> Outcome:
        """Let a worker do a task with its own tools and the memory tools; its talk is not stored.

        Arguments and errors are those of `run`. May be called by a tool of a turn.
        """
        with self._in_use() as talk:
            language = talk.language(system, task)
            known = self._gather(talk, task, language, whole=False).context.text
            messages = [*self._system_message(talk, system, known, language), {"role": "user", "content": task}]
            return self._converse(talk, llm, messages, tools, language=language, max_rounds=max_rounds)

    def _take_turn(
        self, llm: LLM | Function | None, message: Message, system: str, *, orders: bool = False, **options: Any
    ) -> Outcome:
        """Run a turn with that message; `options` as `_converse` has them."""
        with self._turn, self._in_use() as talk:
            with self._lock:
                history = talk.history(self._workspace.memory_window)
            kept = self.add(message)
            obeyed = self.obey(kept) if orders else None
            asked = words_of(message["content"])
            language = talk.language(system, asked)
            looked_for = "" if obeyed is not None and obeyed.forgotten else asked  # nor is it to be recalled again
            known = self._gather(talk, looked_for, language, whole=True)
            block = known.context.text
            if obeyed is not None:
                done = f"{locale.message('agent.done_now', language)}\n{turn_context.describe_obeyed(obeyed, language)}"
                block = f"{block}\n\n{done}" if block else done
            messages = self._system_message(talk, system, block, language)
            messages += [*history, {"role": "user", "content": message["content"]}]
            options |= {"current": talk.uuid, "language": language, "keep": self.add}
            outcome = self._converse(talk, llm, messages, **options)
            return outcome._replace(context=known.context, found=known.found)

    def _converse(
        self,
        talk: Conversation,
        llm: LLM | Function | None,
        messages: Sequence[Message],
        tools: Sequence[AgentTool],
        current: str = "",
        **options: Any,
    ) -> Outcome:
        """Run the loop of a turn with these and the memory tools; `options` as `converse` has them."""
        model = talk.memory.context.metered(llm)
        if model is None:
            raise locale.error(Unavailable, "agent.no_model")
        made: list[str] = []

        def called(name: str, ok: bool) -> None:
            self._tell(talk, "tool", name, name=name, ok=ok, operations=tuple(made))
            made.clear()

        own = {tool.schema.name for tool in tools}
        shown = self._workspace.placeless
        memory_tools = [tool._replace(shown=shown) for tool in tools_of(talk.memory, made.extend, current=current)]
        more = [tool for tool in memory_tools if tool.schema.name not in own]
        return converse(model, messages, [*tools, *core_of(memory_tools)], more=more, called=called, **options)

    # --- remembering -------------------------------------------------------------------------------

    def _later(self, session: str, kept: Sequence[StoredMessage] | None = None, *, whole: bool = True) -> None:
        """Give what is new in a session to memory in the background, once at a time.

        That is all of a session that was left, which ends, or what has left the window of the current one.
        """
        work = (session, whole)
        with self._lock:
            if work in self._scheduled:
                return
            self._scheduled.add(work)

        def catch_up() -> None:
            try:
                with self._in_use() as talk:
                    if not whole and (session != talk.uuid or not self._memorizer.wanted(talk)):
                        return
                    with self._lock:
                        given = talk.kept_of(session) if kept is None else kept
                    done = self._memorizer.remember(talk, session, given, archive_all=whole)
                    if whole and done.ok:
                        self._over(talk, session, talk.language())
                    elif whole:
                        self._behind = True
            finally:
                self._scheduled.discard(work)

        self._workspace.submit(self, catch_up)

    def _summarize(self, talk: Conversation) -> None:
        """Bring the summaries of the session up to date in the background, once at a time."""
        with self._lock:
            self._unsummarized.add(talk.uuid)
            if self._summarizing:
                return
            self._summarizing = True

        def work() -> None:
            try:
                while True:
                    with self._lock:
                        self._summarizing = bool(self._unsummarized)
                        if not self._summarizing:
                            return
                        session = self._unsummarized.pop()
                    if reason := refresh(talk.memory.context, session):
                        self._tell_failure(talk, "retell_failed", reason, talk.language())
            except BaseException:
                self._summarizing = False
                raise

        self._workspace.submit(self, work, quiet=True)

    def trim_history(self, messages: Sequence[Message], keep: int = 10) -> list[Message]:
        """Return the last `keep` messages of a history; what is cut off is given to memory first.

        The history may be the caller's own: messages of the cut that are not in the session are added now. System
        messages stay, and tool calls stay with their answers. If memory fails, what is cut waits on disk and is tried
        again; where turns are not stored, nothing is cut then.

        Raises:
            InvalidInput: `keep` below 0, or a message that cannot be read.
        """
        place = cut_position(messages, keep)
        cut = [message for message in messages[:place] if message.get("role") != "system"]
        if not cut:
            return list(messages)
        with self._in_use() as talk:
            with self._lock:
                known = align(talk.kept, cut)
                for number, message in enumerate(cut):
                    if number not in known:
                        known[number] = len(talk.kept)
                        talk.add(message)
                upto = talk.kept[: max(known.values()) + 1]
            done = self._memorizer.remember(talk, talk.uuid, upto, archive_all=True)
            if not done.ok and not talk.stored:
                return list(messages)
            if upto:  # else all of it only repeats what was forgotten
                talk.view.start = max(talk.view.start, upto[-1].position + 1)
        return [each for number, each in enumerate(messages) if number >= place or each.get("role") == "system"]

    def compact(self, summary: str | Callable[[Sequence[Message]], str] = "", *, keep: int = 10) -> Compacted:
        """Give all but the last `keep` messages to memory, then go on with a summary in their place.

        If memory fails they wait on disk and are tried again, and the conversation is compacted all the same. With
        `auto_flush_on_compaction = false` memory is given nothing.

        Args:
            summary: The host's own, or a function that makes it of the messages that go; "" takes the session's, or
                some sentences of it. The event `compacted` has it.
            keep: How many of the last messages stay.

        Raises:
            InvalidInput: `keep` below 0.
        """
        with self._in_use() as talk:
            with self._lock:
                kept = list(talk.kept)
            place = cut_position([each.message for each in kept], keep)
            cut, done = kept[:place], Remembered(True)
            if cut and talk.memory.config.auto_flush_on_compaction:
                done = self._memorizer.remember(talk, talk.uuid, cut, archive_all=True)
            if not done.ok and not talk.stored:
                return Compacted(tuple(talk.history(len(kept))), talk.view.summary, done)
            text = summary(tuple(each.message for each in cut)) if callable(summary) else summary
            with self._lock:
                if cut:
                    talk.view.start = cut[-1].position + 1
                    if text.strip() or talk.summary():
                        talk.view.summary = text.strip()
                left, told = tuple(talk.history(max(1, len(talk.kept)))), talk.earlier(len(talk.kept))
            said = locale.message("agent.compacted", talk.language())
            self._tell(talk, "compacted", said, summary=told, count=done.things)
            return Compacted(left, told, done)

    # --- ending ------------------------------------------------------------------------------------

    def new(self, name: str = "", *, language: str = "", keep: bool = True) -> Remembered:
        """Do what `/new` does: give the whole session to memory, then begin another with the next message.

        With a name that session is opened at once, or continued if it is not over; `transcripts.auto_session = false`
        leaves no other way to open one. If remembering fails the session stays, and the answer says so; without `keep`
        it ends all the same, and is queued. The answer also says how many proposals wait in review where everything
        must be confirmed. It is in `language`, "" for that of what the user said last.

        Raises:
            InvalidInput: The name is blank, or that of this session, of one that is over, or of another's.
        """
        with self._turn, self._in_use() as talk:
            language = language or talk.language()

            def say(id: str, /, **values: Any) -> str:
                return locale.message(f"agent.{id}", language, **values)

            name = talk.usable(name) if name else ""
            count = 0
            while True:
                with self._lock:
                    session, kept = talk.uuid, list(talk.kept)
                done = self._memorizer.remember(talk, session, kept, archive_all=True)
                count += done.things
                if not done.ok and keep:
                    return done._replace(text=say("not_archived", reason=locale.translate(done.reason, language)))
                with self._lock:
                    if talk.uuid == session and len(talk.kept) == len(kept):  # else something was said meanwhile
                        talk.leave()
                        break
            if not done.ok:
                done = self._memorizer.put_off(talk, session, kept, done.reason)
                count += done.things
            if session:
                self._over(talk, session, language)
            if name:
                with self._lock:
                    talk.open(name)
            told = [say("remembered", count=count)] if count else []
            told += [] if done.ok else [say("put_off", reason=locale.translate(done.reason, language))]
            config = talk.memory.config
            asks = config.enabled and config.require_user_confirmation
            waiting = len(talk.memory.book.journal.proposals()) if asks else 0
            told += [say("in_review", count=waiting)] if waiting else []
            more = say("aside", text=("；" if language == "zh" else ", ").join(told)) if told else ""
            return Remembered(done.ok, count, done.reason, say("new_session") + more)

    def put_off(self, reason: str) -> None:
        """End the session without asking the model: it is queued to be remembered."""
        with self._in_use() as talk:
            with self._lock:
                kept, session = list(talk.kept), talk.leave()
            if session:
                self._memorizer.put_off(talk, session, kept, reason)
                self._over(talk, session, talk.language())

    def _over(self, talk: Conversation, session: str, language: str) -> None:
        if talk.memory.config.enabled:
            talk.close(session)
        self._tell(talk, "ended", locale.message("agent.ended", language), ended=session)


class Workspace:
    """Sessions of many tenants, each with a book of its own; safe to share between threads.

    At most `max_open` books are open at a time, besides those in use; the least recently used is closed first.

    Args:
        root: Directory of the books; None takes the setting `workspace_dir`. With `storage.dsn` there is none.
        book: Directory, or with `storage.dsn` name, of one book that all sessions share, instead of one per tenant.
        config: Settings of every book; None loads them, see `config.settings.load`.
        llm: The model that remembers; None takes the configured one.
        embedder: Of every book; None takes the configured one, which they share unless it chooses by what they hold.
        provider: Makes the policy over a memory; None takes the setting `provider`.
        clock: Returns the time, timezone-aware; None takes the system's.
        max_open: At least 1.
        memory_window: Once that many messages of a session are not remembered, all but the newest half of them are
            given to memory; as many are shown to the model. At least 2.
        workers: Threads that remember in the background, at least 1.
        on_event: Called with each `Event`, in the thread it happens in.
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
        bounds = (("max_open", max_open, 1), ("memory_window", memory_window, 2), ("workers", workers, 1))
        for name, value, least in bounds:
            if value < least:
                raise InvalidInput(f"{name} {value} is below {least}")
        config = config or settings.load(cwd=os.getcwd(), env=os.environ)
        kept = config.transcripts
        places = {"db_path": config.db_path, "transcripts.db_path": kept.db_path}
        places |= {"transcripts.url": kept.url, "transcripts.export_path": kept.export_path}
        name = next((name for name, place in places.items() if place), "")
        if book is None and name:
            raise ConfigError(f"{name} would put the books of all tenants into one place: leave it out for a workspace")
        self.root = stores.address(config, root or ("" if config.storage.dsn else config.workspace_dir))
        self.placeless = stores.placeless(config, self.root) if book is None else str
        self._book = None if book is None else stores.address(config, book)
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
        """Return the session of a tenant, the same object for as long as somebody holds it; opens its book.

        Sessions that ended without being remembered, by a crash or by idleness, are given to memory in the background;
        the newest goes on if it is not idle.

        Args:
            channel: Where the tenant talks, such as `telegram`.
            chat_id: Any name or number; 7 and "7" are one tenant.

        Raises:
            InvalidInput: A channel or chat id that is no text.
            Unavailable: The workspace is closed, or the disk refuses.
        """
        key = tenant_key(channel, chat_id)
        with self._lock:
            session = self._sessions.setdefault(key, AgentSession(self, channel, str(chat_id), key))
        with session.memory():
            pass
        self.tick()
        return session

    def tick(self) -> int:
        """Have idle sessions, and those due for another try, remembered in the background; return how many.

        For a server's timer; cheap. Books that were closed to make room are opened again for it.
        """
        now = self._clock()
        with self._lock:
            if self._closed:
                return 0
            resting = [session for session, idle_at in self._resting.values() if idle_at < now]
            due = [session for session in self._open.values() if session.uses <= session.quiet and session.due]
        for session in (*due, *resting):
            try:
                with session.memory():
                    pass
            except Exception as error:  # one tenant's book must not be another's trouble
                self._failed(session, error)
                with self._lock:
                    self._resting.pop(session.key, None)
        return len(due) + len(resting)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait at most so many seconds for background work; return whether all is done."""
        with self._lock:
            works = set(self._works)
        return not wait(works, timeout).not_done

    def close(self) -> None:
        """Finish background work and close all books; closing twice is a no-op.

        Sessions stay open: the next workspace goes on with them, or has them remembered if they are idle. A book in use
        is closed by its last user.
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
        """Begin a use of the session, which keeps its book open. Raises Unavailable if the workspace is closed."""
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
        """End a use of the session."""
        with self._lock:
            session.uses -= 1
            session.quiet -= quiet
            spare = self._spare()
            if self._closed and not session.uses:
                self._open.pop(session.key, None)
                spare.append(session)
        self._shut(spare)

    def _spare(self) -> list[AgentSession]:
        """Take out the sessions to close to make room: unused ones, the least recently used first."""
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
        """Open the book of a session, and its conversation with that view."""
        memory = open_memory(
            self._book or stores.tenant_address(self._config, self.root, session.channel, session.chat_id),
            config=self._config._replace(root_dir=""),
            door=self._door,
            clock=self._clock,
            embedder=self._embedder,
            llm=self._llm,
            missing_ok=True,
        )
        if not hasattr(memory.context.embedder, "chosen"):  # one that chooses, does so by what each book holds
            self._embedder = self._embedder or memory.context.embedder
        try:
            return Conversation(memory, self._provider(memory), session.channel, session.chat_id, view)
        except BaseException:
            memory.close()
            raise

    def turns_in(self, session: AgentSession) -> int:
        """Count the uses of the session that are not background work."""
        with self._lock:
            return session.uses - session.quiet

    def submit(self, session: AgentSession, work: Callable[[], object], *, quiet: bool = False) -> None:
        """Run work in the background with the session in use; see `AgentSession.quiet`."""
        self.take(session, quiet=quiet)

        def run() -> None:
            try:
                work()
            except Exception as error:  # what fails here is tried again when the session is opened next
                self._failed(session, error)
            finally:
                self.leave(session, quiet=quiet)

        try:
            future = self._workers.submit(run)
        except RuntimeError:  # the workspace is being closed: it waits on disk
            self.leave(session, quiet=quiet)
            return
        with self._lock:
            self._works.add(future)
        future.add_done_callback(self._works.discard)

    def _failed(self, session: AgentSession, error: Exception) -> None:
        text = f"{type(error).__name__}: {error}"
        self.tell(Event("memorize_failed", text, session.channel, session.chat_id, "", {"reason": text}))

    def tell(self, event: Event) -> None:
        """Log the event, failures as warnings, and call the listener, whose own errors are only logged."""
        level = logging.WARNING if event.kind.endswith("_failed") else logging.DEBUG
        _log.log(level, "%s:%s: %s", *event[2:4], event.text if level > logging.DEBUG else event.kind)
        try:
            if self._on_event is not None:
                self._on_event(event)
        except Exception:  # the listener is anybody's
            _log.exception("what listens to events failed at %r", event.kind)
