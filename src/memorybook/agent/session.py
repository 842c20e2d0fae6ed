"""A tenant's session with an agent: messages in, prompts out, and nothing forgotten before it is remembered."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.agent.agent_prompt import Gathered, gathered, recollected, system_text
from memorybook.agent.agent_words import WORDS, found_text, remembered, waiting
from memorybook.agent.conversation import Conversation, View
from memorybook.agent.events import Event, Kind
from memorybook.agent.messages import Kept, aligned, cut_at, recalled_by_tools, says_nothing, text_of, words_of
from memorybook.agent.sentences_zh import told_in
from memorybook.agent.session_memory import Remembered, Remembering
from memorybook.agent.turning import Turning
from memorybook.agent.window import echoes
from memorybook.errors import InvalidInput
from memorybook.sessions.dialogue import ECHOES
from memorybook.sessions.summary_updates import refresh

if TYPE_CHECKING:
    from memorybook.agent.workspace import Workspace
    from memorybook.formats.llm_messages import Message
    from memorybook.memory import Memory
    from memorybook.sessions.recall_types import Recollection


class Compacted(NamedTuple):
    """What is left of a conversation.

    Attributes:
        messages: Its last messages, as a model is sent them.
        summary: What stands for those before.
        remembered: What memory was given before.
    """

    messages: tuple[Message, ...]
    summary: str
    remembered: Remembered


class AgentSession(Turning):
    """The session of one tenant; made by `Workspace.session`, safe to share between threads.

    Each call opens the tenant's book if it is not open, takes in what other processes stored, and notices a session
    that is idle: that one is given to memory, and the next message begins another. A book that was closed to make
    room is opened again by the next call.

    Attributes:
        channel, chat_id: The tenant.
        key: Folder of its book in the workspace.
        uses: How many calls have the book open right now.
        quiet: How many of these are nobody's turn, and hold up nothing but its closing.
        before: Uuid of an earlier session that the talk goes on from, which each prompt then shows; "" for none.
    """

    def __init__(self, workspace: Workspace, channel: str, chat_id: str, key: str) -> None:
        self.channel = channel
        self.chat_id = chat_id
        self.key = key
        self.uses = 0
        self.quiet = 0
        self.before = ""
        self._workspace = workspace
        self.placeless = workspace.placeless
        self._lock = threading.RLock()
        self._turn = threading.RLock()
        self._remembering = Remembering(workspace.memory_window, self._tell)
        self._talk: Conversation | None = None
        self._view = View()
        self._scheduled: set[tuple[str, bool]] = set()
        self._untold: set[str] = set()  # sessions in which something was said that their summaries do not tell
        self._telling = False
        self._given = ""  # the context of the last turn
        self._behind = True  # whether sessions may wait that nothing is scheduled for

    # --- opening and closing ---------------------------------------------------------------------

    @contextmanager
    def memory(self) -> Iterator[Memory]:
        """The tenant's open memory, which stays open until the block ends."""
        with self._in_use() as talk:
            yield talk.memory

    @contextmanager
    def _in_use(self) -> Iterator[Conversation]:
        """The conversation, open and up to date, which is not closed before the block ends."""
        self._workspace.take(self)
        try:
            yield self._opened()
        finally:
            self._workspace.leave(self)

    def _opened(self) -> Conversation:
        with self._lock:
            talk = self._talk
            if talk is None:
                talk = self._talk = self._workspace.converse(self, self._view)
            else:
                talk.refresh()
            if self._behind and self._remembering.ready(talk):
                self._behind = False
                for session in talk.waiting() if talk.memory.config.auto_capture_on_new_session else ():
                    self._later(session)
            if talk.idle and self._workspace.turns_in(self) == 1:
                self._leave(talk)
        return talk

    def _leave(self, talk: Conversation) -> None:
        """Begin another session with the next message; the one before is remembered in the background."""
        kept, left = list(talk.kept), talk.leave()
        if left and talk.memory.config.auto_capture_on_new_session:
            self._later(left, None if talk.stored else kept)

    def shut(self) -> datetime | None:
        """Close the book if nobody uses it; returns when the session will be idle, None if nothing waits for that."""
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
        """Whether it is open, and its next call would notice something: that it is idle, or that sessions wait."""
        talk = self._talk
        return talk is not None and (talk.idle or (self._behind and self._remembering.ready(talk)))

    @property
    def given(self) -> str:
        """What the last turn was given besides the talk; "" before there was one."""
        return self._given

    # --- messages ----------------------------------------------------------------------------------

    @property
    def uuid(self) -> str:
        """Of the current session; "" before anything was said in it."""
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
            message: `{"role", "content", …}` as models have it; `id` and `timestamp` are made where they are missing.

        Returns:
            The message with `id` and `timestamp`. One whose `id` is known is left as it was.

        Raises:
            InvalidInput: No role that is known, no JSON, or a user who says nothing.
            Unavailable: The disk refuses.
        """
        if isinstance(message, Mapping) and says_nothing(message):
            raise InvalidInput("the user's message is empty: give its content")
        with self._in_use() as talk:
            with self._lock:
                kept = talk.add(self._without_echo(talk, message))
                wanted = self._remembering.wanted(talk)
            if wanted:
                self._later(talk.uuid, whole=False)
            reply = _is_reply(kept)
            if talk.stored and (reply or (kept["role"] == "user" and not talk.has_model)):
                self._retell(talk)
            return kept

    def _without_echo(self, talk: Conversation, message: Message) -> Message:
        """The message; of a reply it is noted what it only says again of what was recalled, see `talk.ECHOES`."""
        if not (isinstance(message, Mapping) and _is_reply(message)):
            return message
        found = echoes(text_of(message), [self._given, *recalled_by_tools([each.message for each in talk.kept])])
        return {**message, ECHOES: found} if found else message

    def build_messages(self, system: str, user_content: str | Sequence[Any]) -> list[Message]:
        """The messages for a turn: the system's words with the memory, the history, what the user says now.

        The system's words get the rule to search before answering about the past, and the context of the turn, see
        `agent.context`: what the provider recalls for the user's words, what these ask to be recalled of past
        conversations (with `recall.auto_recall = false` only what is always in the prompt, unless they ask for the
        past), and a summary of what the history leaves out. If that fails there is an event, and the turn goes on
        without it. Nothing is stored: see `add`.

        Args:
            system: The host's own words.
            user_content: What the user says: text, or blocks of content.
        """
        with self._in_use() as talk:
            asked = words_of(user_content)
            language = talk.language(system, asked)
            known = self._gathered(talk, asked, language, whole=True).context.text
            with self._lock:
                history = talk.history(self._workspace.memory_window)
            return [*self._head(talk, system, known, language), *history, {"role": "user", "content": user_content}]

    def recollect(self, text: str) -> Recollection | None:
        """What a user's words ask to be recalled of past talks, told as in a turn: for a host without a model."""
        with self._in_use() as talk:
            return self._announced(talk, recollected(talk, text), talk.language(text)).found

    def _head(self, talk: Conversation, system: str, known: str, language: str) -> list[Message]:
        text = system_text(system, rule=talk.memory.config.enabled, known=known, language=language)
        return [{"role": "system", "content": text}] if text else []

    def _gathered(self, talk: Conversation, asked: str, language: str, *, whole: bool) -> Gathered:
        """What is known for these words; `whole` for a prompt that shows the talk."""
        most = self._workspace.memory_window if whole else 0
        known = gathered(talk, asked, language, most=most, before=self.before)
        self._given = known.context.text if whole else self._given
        return self._announced(talk, known, language)

    def _announced(self, talk: Conversation, known: Gathered, language: str) -> Gathered:
        """The same, its events told."""
        if known.found is not None and known.found.has_relevant:
            said = found_text(known.found, language, talk.memory.book.zone)
            self._tell(talk, "recalled", said, found=known.found)
        for reason in known.failures:
            text = WORDS[language].no_recall.format(reason=told_in(language, reason))
            self._tell(talk, "recall_failed", text, reason=reason)
        return known

    def _tell(self, talk: Conversation, kind: Kind, text: str, **data: Any) -> None:
        self._workspace.tell(Event(kind, text, self.channel, self.chat_id, talk.uuid, data))

    # --- remembering -------------------------------------------------------------------------------

    def _later(self, session: str, kept: Sequence[Kept] | None = None, *, whole: bool = True) -> None:
        """Give what is new in a session to memory in the background, once at a time; see `_catch_up`."""
        work = (session, whole)
        with self._lock:
            if work in self._scheduled:
                return
            self._scheduled.add(work)
        self._workspace.submit(
            self, lambda: self._catch_up(session, kept, whole), lambda: self._scheduled.discard(work)
        )

    def _retell(self, talk: Conversation) -> None:
        """Bring the summaries of the session up to what was said, in the background, once at a time."""
        with self._lock:
            self._untold.add(talk.uuid)
            if self._telling:
                return
            self._telling = True

        def retell() -> None:
            try:
                while session := self._next_untold():
                    if reason := refresh(talk.memory.context, session).degraded:
                        language = talk.language()
                        text = WORDS[language].not_retold.format(reason=told_in(language, reason))
                        self._tell(talk, "retell_failed", text, reason=reason)
            except BaseException:
                self._telling = False
                raise

        self._workspace.submit(self, retell, quiet=True)

    def _next_untold(self) -> str:
        """A session in which something was said that its summaries do not tell yet; "" for none, then nobody tells."""
        with self._lock:
            self._telling = bool(self._untold)
            return self._untold.pop() if self._untold else ""

    def _catch_up(self, session: str, kept: Sequence[Kept] | None, whole: bool) -> None:
        """The whole of a session that was left, which is over then; or what has left the window of the current one."""
        with self._in_use() as talk:
            if not whole and (session != talk.uuid or not self._remembering.wanted(talk)):
                return
            if kept is None:
                with self._lock:
                    kept = talk.kept_of(session)
            done = self._remembering.remember(talk, session, kept, archive_all=whole)
            if not whole:
                return
            if done.ok:
                self._over(talk, session, talk.language())
            else:
                self._behind = True

    def trim_history(self, messages: Sequence[Message], keep: int = 10) -> list[Message]:
        """The last `keep` messages of a history; what is cut off is given to memory first.

        The history may be the caller's own: what of the cut was not added to the session is added now. The system's
        messages stay, and calls of tools stay with their answers. If memory fails, what is cut waits on disk and is
        tried again; where turns are not kept on disk, nothing is cut then.

        Raises:
            InvalidInput: `keep` below 0, or a message that cannot be read.
        """
        if keep < 0:
            raise InvalidInput(f"keep {keep} is below 0: it counts messages")
        place = cut_at(messages, keep)
        cut = [message for message in messages[:place] if message.get("role") != "system"]
        if not cut:
            return list(messages)
        with self._in_use() as talk:
            with self._lock:
                known = aligned(talk.kept, cut)
                for number, message in enumerate(cut):
                    if number not in known:
                        known[number] = len(talk.kept)
                        talk.add(message)
                upto = talk.kept[: max(known.values()) + 1]
            done = self._remembering.remember(talk, talk.uuid, upto, archive_all=True)
            if not done.ok and not talk.stored:
                return list(messages)
            talk.view.start = max(talk.view.start, upto[-1].position + 1)
        return [each for number, each in enumerate(messages) if number >= place or each.get("role") == "system"]

    def compact(self, summary: str | Callable[[Sequence[Message]], str] = "", *, keep: int = 10) -> Compacted:
        """Give the conversation but for the last `keep` messages to memory, then go on with a summary in their place.

        If memory fails they wait on disk and are tried again; the conversation is compacted all the same, for a model
        that is full takes no more. `auto_flush_on_compaction = false` leaves memory out of it.

        Args:
            summary: The host's own, or a function that makes it of the messages that go; "" takes the session's, or
                some sentences of it. The event `compacted` holds it.
            keep: How many of the last messages stay.

        Raises:
            InvalidInput: `keep` below 0.
        """
        if keep < 0:
            raise InvalidInput(f"keep {keep} is below 0: it counts messages")
        with self._in_use() as talk:
            with self._lock:
                kept = list(talk.kept)
            place = cut_at([each.message for each in kept], keep)
            cut, done = kept[:place], Remembered(True)
            if cut and talk.memory.config.auto_flush_on_compaction:
                done = self._remembering.remember(talk, talk.uuid, cut, archive_all=True)
            if not done.ok and not talk.stored:
                return Compacted(tuple(talk.history(len(kept))), talk.view.summary, done)
            text = summary(tuple(each.message for each in cut)) if callable(summary) else summary
            with self._lock:
                if cut:
                    talk.view.start = cut[-1].position + 1
                    if text.strip() or talk.told():
                        talk.view.summary = text.strip()
                left, told = tuple(talk.history(max(1, len(talk.kept)))), talk.earlier(len(talk.kept))
            self._tell(talk, "compacted", WORDS[talk.language()].compacted, summary=told, count=done.things)
            return Compacted(left, told, done)

    # --- ending ------------------------------------------------------------------------------------

    def new(self, name: str = "", *, language: str = "", keep: bool = True) -> Remembered:
        """What `/new` does: give the whole session to memory, then begin another with the next message.

        With a name that session is opened at once; one of that name that is not over goes on. With the setting
        `transcripts.auto_session = false` there is no other way to open one. If remembering fails the session is kept
        as it is, and the answer says so; without `keep` it ends all the same, and waits in the queue to be remembered.
        With `require_user_confirmation` the answer says how many proposals wait in review. It is in `language`, "" for
        that of what the user said last.

        Raises:
            InvalidInput: The name is blank, or that of this session, of one that is over, or of another's.
        """
        with self._turn, self._in_use() as talk:
            language = language or talk.language()
            name = talk.usable(name) if name else ""
            count = 0
            while True:
                with self._lock:
                    session, kept = talk.uuid, list(talk.kept)
                done = self._remembering.remember(talk, session, kept, archive_all=True)
                count += done.things
                if not done.ok and keep:
                    return done._replace(text=WORDS[language].kept.format(reason=told_in(language, done.reason)))
                with self._lock:
                    if talk.uuid == session and len(talk.kept) == len(kept):  # else something was said meanwhile
                        talk.leave()
                        break
            if not done.ok:
                done = self._remembering.put_off(talk, session, kept, done.reason)
                count += done.things
            if session:
                self._over(talk, session, language)
            if name:
                with self._lock:
                    talk.open(name)
            told = [remembered(count, language)] if count else []
            told += [] if done.ok else [WORDS[language].put_off.format(reason=told_in(language, done.reason))]
            told += [waiting(left, language)] if (left := self._waiting(talk)) else []
            more = WORDS[language].aside.format(("；" if language == "zh" else ", ").join(told)) if told else ""
            return Remembered(done.ok, count, done.reason, WORDS[language].started + more)

    def put_off(self, reason: str) -> None:
        """End the session without asking the model: it waits in the queue to be remembered, as `new` has it."""
        with self._in_use() as talk:
            with self._lock:
                kept, session = list(talk.kept), talk.leave()
            if session:
                self._remembering.put_off(talk, session, kept, reason)
                self._over(talk, session, talk.language())

    def _waiting(self, talk: Conversation) -> int:
        """How many proposals wait for a person's word, where everything does."""
        config = talk.memory.config
        return len(talk.memory.book.journal.proposals()) if config.enabled and config.require_user_confirmation else 0

    def _over(self, talk: Conversation, session: str, language: str) -> None:
        if talk.memory.config.enabled:
            talk.close(session)
        self._tell(talk, "ended", WORDS[language].ended, ended=session)


def _is_reply(message: Message) -> bool:
    """Whether the model says something in it to the user."""
    return message.get("role") == "assistant" and not message.get("tool_calls")
