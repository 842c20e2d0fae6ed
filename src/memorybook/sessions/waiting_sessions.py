"""Sessions that wait in the queue to be remembered, and the turns that the queue alone keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memorybook._light import datetime, timedelta
from memorybook.errors import LLMFailed, NotFound
from memorybook.forget.incoming import without_forgotten_turns
from memorybook.forget.tombstones import turn_key
from memorybook.formats import changes_json
from memorybook.model import Session, Turn
from memorybook.sessions.turns import Stored

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.formats.llm_messages import Usage
    from memorybook.model import Parked
    from memorybook.protocols import LLM


KIND = "memorize"
"""Kind of the queue's items, and of the operations that remember them."""


def parked(context: Context) -> Sequence[Parked]:
    """The sessions that wait to be remembered, oldest first."""
    return context.book.journal.parked(kind=KIND)


def waiting(context: Context) -> str:
    """What waits to be remembered, in a sentence; "" if nothing does."""
    found = parked(context)
    if not found:
        return ""
    last = max(found, key=lambda each: each.tries)
    many = "1 session waits" if len(found) == 1 else f"{len(found)} sessions wait"
    soonest = min((each.next for each in found if each.next is not None), default=None)
    then = "" if soonest is None else f", next try after {soonest.astimezone(context.book.zone):%Y-%m-%d %H:%M}"
    tried = "once" if last.tries == 1 else f"{last.tries} times"
    return f"{many} to be remembered: {last.reason.rstrip('.')}; tried {tried}{then}"


def name_of(session: Session) -> str:
    """Return the id of the session's item in the queue."""
    return f"{KIND}:{session.uuid}"


def waits_for(context: Context, session: Session) -> Parked | None:
    """Return the session's item in the queue; None if it does not wait."""
    return next((each for each in parked(context) if each.id == name_of(session)), None)


def with_kept(context: Context, stored: Stored) -> Stored:
    """The session with the turns that wait in the queue, which nothing else keeps if there are no transcripts."""
    waits = waits_for(context, stored.session)
    if waits is None or "kept" not in waits.payload:
        return stored
    turns = {turn.id: turn for turn in (*kept(context, waits).turns, *stored.turns)}
    return stored._replace(turns=tuple(turns.values()))


def kept_in_queue(context: Context, name: str) -> Stored | None:
    """A session, by uuid or name, of which turns are kept in the queue alone; None if there is none."""
    for waits in parked(context):
        if "kept" in waits.payload:
            known, turns, _ = changes_json.parse_turns(waits.payload["kept"])
            if name in (known.uuid, known.name):
                return Stored(known, tuple(turns))
    return None


def drop_empty(context: Context) -> None:
    """Take sessions out of the queue of which no turn is left."""
    for waits in parked(context):
        if not kept(context, waits).turns:
            context.book.journal.unpark(waits.id)


def forgotten_in_queue(context: Context) -> Iterator[Turn]:
    """The turns that the queue alone keeps, and that were forgotten."""
    for waits in parked(context):
        if "kept" in waits.payload:
            left = kept(context, waits).turns
            yield from (turn for turn in changes_json.parse_turns(waits.payload["kept"])[1] if turn not in left)


def kept(context: Context, waits: Parked) -> Stored:
    """The session that is parked, with its turns as they are by now."""
    session = waits.session or ""
    if "kept" in waits.payload:
        known, turns, _ = changes_json.parse_turns(waits.payload["kept"])
        gone = context.book.journal.buried([turn_key(session, turn.id) for turn in turns])
        left = [turn for turn in turns if turn_key(session, turn.id) not in gone]
        told = zip(left, without_forgotten_turns(context.book, left), strict=True)
        return Stored(known, tuple(turn for was, turn in told if turn == was or turn.text.strip()))
    try:
        known = context.book.transcripts.session(session)
    except NotFound:  # forgotten meanwhile
        return Stored(Session(uuid=session), ())
    return Stored(known, tuple(context.book.transcripts.turns(session)))


def sure(llm: LLM | None) -> Any:
    """The model, with every failure of it an LLMFailed; None if there is none."""
    return None if llm is None else _Sure(llm)


class _Sure:
    """A model of which every failure is an LLMFailed: anybody's model may raise anything."""

    def __init__(self, llm: LLM) -> None:
        self.name = llm.name
        self._llm = llm

    @property
    def usage(self) -> Usage | None:
        """What was used so far, if the model counts it."""
        return getattr(self._llm, "usage", None)

    def complete(self, messages: Sequence[Mapping[str, Any]], **options: Any) -> Any:
        """See `LLM.complete`."""
        try:
            return self._llm.complete(messages, **options)
        except LLMFailed:
            raise
        except Exception as error:
            raise LLMFailed(f"the language model {self.name!r} failed ({type(error).__name__}: {error})") from error


# --- sessions of agents and chats that nobody ended ---------------------------------------------

SOURCE = "agent"
"""What the session of an agent or a chat comes from, as the transcripts have it."""

HOSTED = "hook"
"""What the session of an agent host comes from, whose hooks tell of it; not every host tells of its end."""

GOING_ON = (SOURCE, HOSTED)
"""Sources of sessions that go on by themselves until they are ended; all others are given whole."""

OVER = 2**62
"""Position up to which a session is memorized that is over: nothing is ever added to it."""


def left_open(context: Context, *, limit: int | None = None) -> Sequence[str]:
    """The sessions (uuid) in which nothing was said for longer than `idle_timeout`, oldest of a source first. Cheap."""
    config = context.config
    if not (config.enabled and config.transcripts.enabled and config.idle_timeout):
        return ()
    before = context.book.now() - timedelta(seconds=config.idle_timeout)
    known = context.book.transcripts.left_open
    return [*known(SOURCE, before, limit=limit), *known(HOSTED, before, limit=limit)][:limit]


def end(context: Context, session: str, time: datetime) -> None:
    """Record that a session is over, with its summaries as they stand then; of one that is gone nothing is done."""
    from dataclasses import replace

    from memorybook.sessions.summary_updates import refresh

    context.book.journal.reach(session, OVER, time=context.book.now())
    transcripts = context.book.transcripts
    try:
        transcripts.update(replace(transcripts.told(session).session, ended=time))
    except NotFound:  # forgotten meanwhile
        return
    refresh(context, session, over=True)
    if context.config.transcripts.auto_export:
        from memorybook.exchange.export import after_session

        after_session(context)
