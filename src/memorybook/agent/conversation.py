"""The conversation of one tenant as it stands: its session in the book, and its live messages."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

from memorybook.agent.messages import Kept, message_of, sent, stamped, text_of, turn_of, whole
from memorybook.errors import NotFound
from memorybook.model import Session
from memorybook.verbs import export
from memorybook.verbs.read import language_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memorybook.memory import Memory
    from memorybook.protocols import MemoryProvider
    from memorybook.replies import Message

SOURCE = "agent"
"""What the session of an agent comes from, as the transcripts have it."""

OVER = 2**62
"""Position up to which a session is memorized that is over: nothing is ever added to it."""

_LOOKED_AT = 50
"""The newest sessions, among which the open one is, and those that wait to be remembered."""


class View:
    """What of the conversations of a tenant no book keeps; outlives a book that is closed to make room.

    Attributes:
        heard: When something was last said in a session (uuid) by this process.
        session: The current session's uuid; "" before anything was said.
        start: Position in it from which on the model is shown the messages.
        summary: What stands for the messages before `start`; "" if nothing does.
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

    def now(self) -> datetime:
        """The time now, as the book has it."""
        return self.memory.book.now()

    def language(self, *texts: str) -> str:
        """`en` or `zh`: the setting, else that of the texts; of what the user said last if there are none."""
        said = [text_of(each.message) for each in self.kept[-40:] if each.message["role"] == "user"]
        return language_of(self.memory.config.language, texts or said)

    # --- what is on disk -----------------------------------------------------------------------

    def refresh(self) -> None:
        """Take in what another process stored meanwhile."""
        if self.stored and self.memory.book.transcripts.revision() != self._revision:
            self._load()

    def _load(self) -> None:
        if not self.stored:
            return
        transcripts = self.memory.book.transcripts
        self._revision = transcripts.revision()
        current = next((each for each in self._open_sessions() if not self._is_idle(each)), None)
        if current is None or current.uuid != self.uuid:
            self.kept = []
        self.session = current
        self.view.turn_to(self.uuid)
        live = {each.message["id"]: each.message for each in self.kept}
        turns = transcripts.turns(current.uuid) if current is not None else ()
        self.kept = [Kept(live.get(turn.id) or message_of(turn), turn.position) for turn in turns]

    def _open_sessions(self) -> list[Session]:
        """The tenant's sessions that are not over, the newest first."""
        return [
            each
            for each in self.memory.book.transcripts.sessions(limit=_LOOKED_AT)
            if (each.source, each.channel, each.chat_id) == (SOURCE, self.channel, self.chat_id)
            and self._reached(each.uuid) < OVER
        ]

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
        if session == self.uuid:
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
        for each in self.kept if message.get("id") else ():
            if each.message["id"] == given["id"]:
                return each.message
        self.session = self.session or self._begun()
        self.view.turn_to(self.uuid)
        self.view.heard[self.uuid] = self.now()
        position = self.kept[-1].position if self.kept else -1
        turn = turn_of(self.memory, given, self.session.uuid) if self.stored else None
        if turn is not None:
            transcripts = self.memory.book.transcripts
            known = transcripts.revision() == self._revision
            stored = transcripts.append(self.session, [turn])
            position = stored[0].position if stored else position
            self._revision += known  # by this turn; what others stored in between is still to be taken in
        elif not self.stored:
            position += 1
        self.kept.append(Kept(given, position))
        return given

    def _begun(self) -> Session:
        now = self.now()
        return Session(
            uuid=str(uuid4()), source=SOURCE, channel=self.channel, chat_id=self.chat_id, created=now, updated=now
        )

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
        self.reach(session, OVER)
        if self.stored:
            transcripts = self.memory.book.transcripts
            try:
                transcripts.update(replace(transcripts.session(session), ended=self.now()))
            except NotFound:  # forgotten meanwhile
                return
        export.after_session(self.memory)

    def history(self, most: int) -> list[Message]:
        """What the model is shown of the session: its last messages from `start` on, at most so many."""
        return [sent(message) for message in whole([each.message for each in self.shown(most)])]

    def shown(self, most: int) -> list[Kept]:
        """The last messages from `start` on, at most so many."""
        return [each for each in self.kept[-most:] if each.position >= self.view.start] if most else []

    def earlier(self, most: int) -> str:
        """What stands for the messages that `history` leaves out: a summary, "" if there is none."""
        if self.view.summary or self.session is None or len(self.kept) <= most:
            return self.view.summary
        return self.session.summary
