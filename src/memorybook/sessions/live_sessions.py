"""Sessions that a client holds from outside, several at a time: opened, said into, ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from memorybook.entries.read import Mask
from memorybook.errors import Conflict, InvalidInput, NotFound, Unavailable
from memorybook.model import Session
from memorybook.sessions.recall_block import Held
from memorybook.sessions.turns import store, turns_of
from memorybook.sessions.waiting_sessions import OVER, SOURCE, end
from memorybook.validate import text_of

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.results import Memorized

CHANNEL = "held"
"""Of sessions that are held from outside: they are no conversation of an agent of `memorybook.agent`."""


def open_session(context: Context, name: str = "") -> Held:
    """See `Memory.open_session`."""
    _check(context)
    name = Mask(context).text(" ".join(name.split()))
    known = _named(context, name) if name else None
    if known is not None:
        _check_open(context, known)
        return Held(known.uuid, known.name)
    now = context.book.now()
    session = Session(uuid=str(uuid4()), name=name, created=now, updated=now, source=SOURCE, channel=CHANNEL)
    context.book.transcripts.append(session, [])
    return Held(session.uuid, name)


def add_messages(context: Context, session: str, messages: Sequence[Mapping[str, Any]]) -> Held:
    """See `Memory.add_messages`."""
    _check(context)
    known = context.book.transcripts.session(text_of(session, "session"))
    _check_open(context, known)
    turns = turns_of(context, [_stamped(context, message) for message in messages])
    stored = store(context, known, [replace(turn, session=known.uuid) for turn in turns])
    return Held(known.uuid, known.name, tuple(turn.id for turn in turns), stored.new, stored.redacted, stored.skipped)


def end_session(context: Context, session: str, messages: Sequence[Mapping[str, Any]] = ()) -> Memorized:
    """See `Memory.end_session`."""
    if messages:
        add_messages(context, session, messages)
    _check(context)
    uuid = context.book.transcripts.session(text_of(session, "session")).uuid
    from memorybook.sessions.end_session import process_session_end

    found = process_session_end(context, (), uuid)
    end(context, uuid, context.book.now())
    return found


def _check(context: Context) -> None:
    if not context.config.transcripts.enabled:
        raise Unavailable("sessions are not kept: set transcripts.enabled = true, or give a whole talk at its end")


def _named(context: Context, name: str) -> Session | None:
    try:
        return context.book.transcripts.session(name)
    except NotFound:
        return None


def _check_open(context: Context, session: Session) -> None:
    """Raises Conflict for a session that is over, or that somebody else holds."""
    shown = session.name or session.uuid
    if session.ended is not None or context.book.journal.reached(session.uuid) == OVER:
        raise Conflict(f"session {shown!r} is over: open another one")
    if (session.source, session.channel) != (SOURCE, CHANNEL):
        raise Conflict(f"session {shown!r} is not held from outside, an agent or an import has it: open another one")


def _stamped(context: Context, message: Mapping[str, Any]) -> dict[str, Any]:
    """The message with an id and a time of its own: what is said twice was said twice."""
    if not isinstance(message, Mapping):
        raise InvalidInput(f"message {repr(message)[:80]} is no object: give role and content")
    given = {name: value for name, value in message.items() if name not in _PLACES}
    said = given.get("timestamp") or context.book.now().isoformat()
    return {**given, "id": str(given.get("id") or uuid4()), "timestamp": said}


_PLACES = frozenset({"session", "session_id", "sessionId", "conversation_id", "thread_id", "scope"})
"""Fields that would say of which session a message is; it is of this one."""
