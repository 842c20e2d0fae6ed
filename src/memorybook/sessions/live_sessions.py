"""Sessions that a client holds from outside, several at a time: opened, said into, ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from memorybook.entries.remember import Mask
from memorybook.errors import Conflict, InvalidInput, NotFound, Unavailable
from memorybook.model import Session
from memorybook.sessions.idle_sessions import OVER, SOURCE, end
from memorybook.sessions.recall_types import Held
from memorybook.sessions.turns import store, turns_of
from memorybook.validate import text_of

if TYPE_CHECKING:
    from memorybook.memory import Memory
    from memorybook.results import Memorized

CHANNEL = "held"
"""Of sessions that are held from outside: they are no conversation of an agent of `memorybook.agent`."""


def open_session(memory: Memory, name: str = "") -> Held:
    """See `Memory.open_session`."""
    _check(memory)
    name = Mask(memory).text(" ".join(name.split()))
    known = _named(memory, name) if name else None
    if known is not None:
        _check_open(memory, known)
        return Held(known.uuid, known.name)
    now = memory.book.now()
    session = Session(uuid=str(uuid4()), name=name, created=now, updated=now, source=SOURCE, channel=CHANNEL)
    memory.book.transcripts.append(session, [])
    return Held(session.uuid, name)


def add_messages(memory: Memory, session: str, messages: Sequence[Mapping[str, Any]]) -> Held:
    """See `Memory.add_messages`."""
    _check(memory)
    known = memory.book.transcripts.session(text_of(session, "session"))
    _check_open(memory, known)
    turns = turns_of(memory, [_stamped(memory, message) for message in messages])
    stored = store(memory, known, [replace(turn, session=known.uuid) for turn in turns])
    return Held(known.uuid, known.name, tuple(turn.id for turn in turns), stored.new, stored.redacted, stored.skipped)


def end_session(memory: Memory, session: str, messages: Sequence[Mapping[str, Any]] = ()) -> Memorized:
    """See `Memory.end_session`."""
    if messages:
        add_messages(memory, session, messages)
    _check(memory)
    uuid = memory.book.transcripts.session(text_of(session, "session")).uuid
    found = memory.process_session_end(session_id=uuid)
    end(memory, uuid, memory.book.now())
    return found


def _check(memory: Memory) -> None:
    if not memory.config.transcripts.enabled:
        raise Unavailable("sessions are not kept: set transcripts.enabled = true, or give a whole talk at its end")


def _named(memory: Memory, name: str) -> Session | None:
    try:
        return memory.book.transcripts.session(name)
    except NotFound:
        return None


def _check_open(memory: Memory, session: Session) -> None:
    """Raises Conflict for a session that is over, or that somebody else holds."""
    shown = session.name or session.uuid
    if session.ended is not None or memory.book.journal.reached(session.uuid) == OVER:
        raise Conflict(f"session {shown!r} is over: open another one")
    if (session.source, session.channel) != (SOURCE, CHANNEL):
        raise Conflict(f"session {shown!r} is not held from outside, an agent or an import has it: open another one")


def _stamped(memory: Memory, message: Mapping[str, Any]) -> dict[str, Any]:
    """The message with an id and a time of its own: what is said twice was said twice."""
    if not isinstance(message, Mapping):
        raise InvalidInput(f"message {repr(message)[:80]} is no object: give role and content")
    given = {name: value for name, value in message.items() if name not in _PLACES}
    said = given.get("timestamp") or memory.book.now().isoformat()
    return {**given, "id": str(given.get("id") or uuid4()), "timestamp": said}


_PLACES = frozenset({"session", "session_id", "sessionId", "conversation_id", "thread_id", "scope"})
"""Fields that would say of which session a message is; it is of this one."""
