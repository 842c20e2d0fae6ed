"""The conversation of one tenant as it stands: its session in the book, and its live messages."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING
from uuid import uuid4

from memorybook.agent.messages import Kept, message_of, sent, stamped, text_of, turn_of, whole
from memorybook.entries.mask import Mask
from memorybook.errors import Conflict, InvalidInput, MemoryBookError, NotFound
from memorybook.forget.incoming import without_forgotten_turns
from memorybook.model import Session
from memorybook.providers.tiered import Tiered
from memorybook.sessions.dialogue import MOST_TOKENS, is_worded
from memorybook.sessions.idle_sessions import OVER, SOURCE, end
from memorybook.sessions.summarize import summarize
from memorybook.text.tokens import count_tokens, language_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memorybook.formats.llm_messages import Message
    from memorybook.memory import Memory
    from memorybook.model import Turn
    from memorybook.protocols import MemoryProvider


class View:
    """What of the conversations of a tenant no book keeps; outlives a book that is closed to make room.

    Attributes:
        heard: When something was last said in a session (uuid) by this process.
        session: The current session's uuid; "" before anything was said.
        start: Position in it from which on the model is shown the messages.
        summary: A host's own words for the messages before `start`; "" where the session's summary stands for them.
    """

    def __init__(self) -> None:
        self.heard: dict[str, datetime] = {}
        self.turn_to("")

    def turn_to(self, session: str) -> None:
        """Begin anew with that session, unless it is the one already."""
        if session != getattr(self, "session", None):
            self.session, self.start, self.summary = session, 0, ""


class Conversation:
    """What was said, each turn in the transcripts before anything else happens to it; not safe between threads.

    A session is over once the journal has it memorized up to `OVER`; of the others, the newest is the current one if
    it is not idle, and the rest wait to be remembered.

    Args:
        memory: The tenant's open memory.
        provider: The policy over it.
        channel, chat_id: The tenant.
        view: What is known of them besides.

    Attributes:
        session: The current session; None before anything was said in it.
        kept: Its messages, in order.
    """

    def __init__(self, memory: Memory, provider: MemoryProvider, channel: str, chat_id: str, view: View) -> None:
        self.memory = memory
        self.provider = provider
        self.channel = channel
        self.chat_id = chat_id
        self.session: Session | None = None
        self.kept: list[Kept] = []
        self.view = view
        self._left: set[str] = set()
        self._revision = 0
        self._load()

    @property
    def stored(self) -> bool:
        """Whether turns are kept on disk."""
        return self.memory.config.enabled and self.memory.config.transcripts.enabled

    @property
    def uuid(self) -> str:
        """Of the current session; "" before anything was said in it."""
        return self.session.uuid if self.session else ""

    @property
    def has_model(self) -> bool:
        """Whether a language model is set that may answer; False also where its settings cannot be used."""
        try:
            return self.memory.llm is not None
        except MemoryBookError:
            return False

    def now(self) -> datetime:
        """The time now, as the book has it."""
        return self.memory.book.now()

    def language(self, *texts: str) -> str:
        """`en` or `zh`: the setting, else that of the texts; of what the user said last if they are not worded."""
        said = (text_of(each.message) for each in reversed(self.kept) if each.message["role"] == "user")
        told = list(filter(is_worded, texts)) or list(islice(filter(is_worded, said), 1)) or texts
        return language_of(self.memory.config.language, told)

    # --- what is on disk -----------------------------------------------------------------------

    def refresh(self) -> None:
        """Take in what another process stored meanwhile; summaries, and what is known or another's, cost nothing."""
        if not self.stored or self.memory.book.transcripts.revision() == self._revision:
            return
        changes = self.memory.book.transcripts.changes(self._revision)
        known = {each.message["id"] for each in self.kept}
        turns = [(session, turn) for session, turn in changes.turns if self._is_ours(session)]
        ours = any(session.uuid != self.uuid or turn.id not in known for session, turn in turns)
        edited = [(session, turn) for session, turn in turns if session.uuid == self.uuid and turn.id in known]
        gone = any(session == self.uuid for session, _ in changes.removed)
        if (
            ours
            or gone
            or any(self._is_edited(turn) for _, turn in edited)
            or (self.session is not None and self._reached(self.uuid) == OVER)
        ):
            self._load()
        else:
            self._revision = changes.revision

    def _is_edited(self, turn: Turn) -> bool:
        """Whether a turn no longer says what its message does, as something of it was forgotten."""
        live = next((each.message for each in self.kept if each.message["id"] == turn.id), None)
        kept = turn_of(self.memory, live, turn.session) if live is not None else None
        return kept is not None and (kept.text, kept.tool_calls) != (turn.text, turn.tool_calls)

    def _is_ours(self, session: Session) -> bool:
        return (session.source, session.channel, session.chat_id) == (SOURCE, self.channel, self.chat_id)

    def _load(self) -> None:
        if not self.stored:
            return
        transcripts = self.memory.book.transcripts
        self._revision = transcripts.revision()
        standing = [each for each in self._open_sessions() if not self._is_idle(each)]
        current = next((each for each in standing if each.uuid == self.view.session), next(iter(standing), None))
        if current is None or current.uuid != self.uuid:
            self.kept = []
        self.session = current
        self.view.turn_to(self.uuid)
        turns = transcripts.turns(current.uuid) if current is not None else ()
        edited = {turn.id for turn in turns if self._is_edited(turn)}
        live = {each.message["id"]: each.message for each in self.kept if each.message["id"] not in edited}
        self.kept = [Kept(live.get(turn.id) or message_of(turn), turn.position) for turn in turns]

    def _open_sessions(self) -> list[Session]:
        """The tenant's sessions that are not over, the newest first."""
        found = self.memory.book.transcripts.going_on(SOURCE, self.channel, self.chat_id)
        return [each for each in found if self._reached(each.uuid) < OVER]

    def _is_idle(self, session: Session) -> bool:
        """Whether nothing was said in it for longer than the settings have it, or it was left."""
        at = self.idle_at(session)
        return session.uuid in self._left or (at is not None and self.now() > at)

    def idle_at(self, session: Session) -> datetime | None:
        """When the session is idle, if nothing more is said; None for never."""
        timeout = self.memory.config.idle_timeout
        time = self.view.heard.get(session.uuid) or session.updated
        return time + timedelta(seconds=timeout) if timeout and time is not None else None

    def waiting(self) -> list[str]:
        """Sessions that are not over and not the current one, the oldest first."""
        return [each.uuid for each in reversed(self._open_sessions()) if each.uuid != self.uuid] if self.stored else []

    def kept_of(self, session: str) -> list[Kept]:
        """The messages of a session as they are stored."""
        if session == self.uuid and self.kept:
            return list(self.kept)
        return [Kept(message_of(turn), turn.position) for turn in self.memory.book.transcripts.turns(session)]

    # --- how far it is remembered --------------------------------------------------------------

    def _reached(self, session: str) -> int:
        return self.memory.book.journal.reached(session)

    def offset(self, session: str, kept: Sequence[Kept]) -> int:
        """How many of these messages of the session are remembered."""
        return bisect_right(kept, self._reached(session), key=lambda each: each.position)

    @property
    def fresh(self) -> int:
        """How many messages of the current session are not remembered yet."""
        return len(self.kept) - self.offset(self.uuid, self.kept) if self.session else 0

    @property
    def is_paid_by_the_call(self) -> bool:
        """Whether its sessions are remembered by one call of a model each, and nothing is lost until then."""
        return self.stored and self.memory.llm is not None and isinstance(self.provider, Tiered)

    @property
    def fills_a_call(self) -> bool:
        """Whether what is not remembered of the current session is as much as a model is shown at once."""
        fresh = self.kept[self.offset(self.uuid, self.kept) :]
        return sum(count_tokens(str(each.message.get("content", ""))) for each in fresh) >= MOST_TOKENS

    def reach(self, session: str, position: int) -> None:
        """Record that the session is remembered up to that position."""
        self.memory.book.journal.reach(session, position, time=self.now())

    # --- talking -------------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        """Whether something was said, and nothing for longer than the settings have it."""
        session = self.session
        return session is not None and self._is_idle(session)

    def add(self, message: Message) -> Message:
        """Keep a message, on disk on return; one whose id is known is left as it is. Raises InvalidInput."""
        given = stamped(message, self.now())
        if self.session is None and self.stored and not self.memory.config.transcripts.auto_session:
            raise InvalidInput("no session is open, and transcripts.auto_session is false: open one by name, /new NAME")
        for each in self.kept if message.get("id") else ():
            if each.message["id"] == given["id"]:
                return each.message
        self.session = self.session or self._begun()
        self.view.turn_to(self.uuid)
        self.view.heard[self.uuid] = self.now()
        position = self.kept[-1].position if self.kept else -1
        turn = turn_of(self.memory, given, self.session.uuid) if self.stored else None
        if turn is not None:
            [left] = without_forgotten_turns(self.memory.book, [turn])
            if left != turn:
                if not left.text.strip() and not left.tool_calls:
                    return given  # it only repeats what was forgotten
                turn, given = left, message_of(left)
            transcripts = self.memory.book.transcripts
            known = transcripts.revision() == self._revision
            stored = transcripts.append(self.session, [turn])
            position = stored[0].position if stored else position
            self._revision += known  # by this turn; what others stored in between is still to be taken in
        elif not self.stored:
            position += 1
        self.kept.append(Kept(given, position))
        return given

    def _begun(self, name: str = "") -> Session:
        now = self.now()
        session = Session(uuid=str(uuid4()), name=name, created=now, updated=now)
        return replace(session, source=SOURCE, channel=self.channel, chat_id=self.chat_id)

    def usable(self, name: str) -> str:
        """The name as `open` takes it. Raises InvalidInput if it is blank, or taken by a session that cannot go on."""
        name = Mask(self.memory.context).text(" ".join(name.split()))
        if not name:
            raise InvalidInput("the name of the session is blank")
        if self.session is not None and self.session.name == name:
            raise InvalidInput(f"this session is {name!r} already: choose another name, or none")
        if self.stored and self._named(name) is None:
            try:
                self.memory.book.transcripts.session(name)
            except NotFound:
                return name
            except Conflict:
                pass
            raise InvalidInput(f"there is a session {name!r} already, which is over or another's: choose another name")
        return name

    def _named(self, name: str) -> Session | None:
        """The tenant's session of that name that is neither over nor the current one."""
        return next((each for each in self._open_sessions() if each.name == name and each.uuid != self.uuid), None)

    def open(self, name: str) -> None:
        """Go on with the session of that usable name, or begin one."""
        known = self._named(name) if self.stored else None
        self.session = known or self._begun(name)
        self.kept = self.kept_of(self.uuid) if known is not None else []
        self.view.turn_to(self.uuid)
        self.view.heard[self.uuid] = self.now()
        self._left.discard(self.uuid)
        if self.stored:
            self.memory.book.transcripts.append(self.session, [])

    def leave(self) -> str:
        """Begin anew with the next message; returns the uuid of the session that was left, "" if there was none."""
        left, self.session, self.kept = self.uuid, None, []
        self.view.turn_to("")
        if left:
            self._left.add(left)
            self.view.heard.pop(left, None)
        return left

    def close(self, session: str) -> None:
        """Record that the session is over."""
        if self.stored:
            end(self.memory.context, session, self.now())
        else:
            self.reach(session, OVER)

    def history(self, most: int) -> list[Message]:
        """What the model is shown of the session: its last messages from `start` on, at most so many."""
        return [sent(message) for message in whole([each.message for each in self.shown(most)])]

    def shown(self, most: int) -> list[Kept]:
        """The last messages from `start` on, at most so many."""
        return [each for each in self.kept[-most:] if each.position >= self.view.start] if most else []

    def earlier(self, most: int) -> str:
        """The summary of the running session; where it has none yet, one of what `history` leaves out, if it does."""
        left_out = self.view.start > 0 or len(self.kept) > most
        return self.view.summary or self.told(made=left_out)

    def told(self, *, made: bool = True) -> str:
        """What the session's summary says as it stands now; where there is none, with `made` some of its sentences."""
        if not self.stored or self.session is None:
            return ""
        transcripts = self.memory.book.transcripts
        try:
            session = transcripts.told(self.uuid).session
        except NotFound:
            return ""
        language = self.memory.config.language
        if session.summary or not made:
            return session.summary
        return summarize(transcripts.turns(self.uuid), session=session, language=language).summary
