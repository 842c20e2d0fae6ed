"""Sessions from outside: what agent hosts reported, taken in, and those that a client holds open.

The transcript of a host's session is captured, and memorized when it is compacted or ends. Everything on the way is
known again when it comes twice, so that an event is removed only when all of it is done; a process that dies in
between leaves it to the next.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from memorybook.entries.read import Mask
from memorybook.errors import Conflict, InvalidInput, MemoryBookError, NotFound, Unavailable
from memorybook.exchange import importers
from memorybook.exchange.importers.records import several
from memorybook.formats.messages_json import ImportedSession, plain
from memorybook.model import Session
from memorybook.results import Memorized
from memorybook.sessions import event_queue
from memorybook.sessions.memorize import OVER, How, end, left_open, process_session_end, process_stored
from memorybook.sessions.recall_block import Held
from memorybook.sessions.turns import HOSTED, SOURCE, Stored, store, talk_of, turns_of, zone_of
from memorybook.validate import text_of

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.model import Turn

DOOR = "hook"
"""Where these sessions come in, as the journal has it."""

_PUT_IN = r"(?s)<hook_context>.*?</hook_context>\s*"
"""What hooks gave to a prompt, as Gemini CLI tells it along with the prompt, its markers escaped."""

TRANSCRIBING = ("claude-code", "codex")
"""Hosts that write transcripts, in the formats of these names; any other tells in its events what was said."""


_NEVER_WHOLE = "it was never kept whole, as the disk was full or its process was killed"


class Ingested(NamedTuple):
    """What was taken in.

    Attributes:
        events: How many.
        sessions: Of how many sessions.
        turns: How many turns were not stored before.
        memorized: What became of the sessions that were compacted or ended.
        aside: Why events could not be taken in and were set aside, one sentence each.
        waiting: Why the rest waits; "" if nothing does, or another process is at it.
    """

    events: int = 0
    sessions: int = 0
    turns: int = 0
    memorized: tuple[Memorized, ...] = ()
    aside: tuple[str, ...] = ()
    waiting: str = ""

    def json(self) -> dict[str, Any]:
        """Return `{"events", "sessions", "turns", "memorized": [{…}], "aside": […], "waiting"}`."""
        return {
            **self._asdict(),
            "memorized": [each.json() for each in self.memorized],
            "aside": list(self.aside),
        }


class _Event(NamedTuple):
    """An event of the spool: the name of its file, and its fields, "" for those that it does not have."""

    name: str
    fields: dict[str, str]

    def __getattr__(self, field: str) -> str:
        return self.fields.get(field, "")


def ingest(context: Context, *, limit: int | None = None) -> Ingested:
    """See `Memory.ingest`."""
    machine = context.book.storage.machine
    if not context.config.enabled or not event_queue.names(machine):
        return Ingested()
    with context.book.storage.lease("spool") as ours:
        return _ingested(context, limit) if ours else Ingested()


def close_idle(context: Context, *, limit: int | None = None) -> tuple[Memorized, ...]:
    """See `Memory.close_idle`; what another process closes at this moment is left to it."""
    told = ingest(context, limit=limit).memorized
    limit = limit and max(0, limit - len(told))
    if limit == 0 or not left_open(context, limit=1):
        return told
    with context.book.storage.lease("closing") as ours:
        for uuid in left_open(context, limit=limit) if ours else ():
            heard = context.book.transcripts.told(uuid).session.updated
            told = (*told, process_session_end(context, (), uuid))
            end(context, uuid, heard or context.book.now())
        return told


def _ingested(context: Context, limit: int | None) -> Ingested:
    done, machine = Ingested(), context.book.storage.machine
    groups: dict[tuple[str, str], list[_Event]] = {}
    for name in event_queue.names(machine):
        event = _Event(name, event_queue.read(machine, name) or {})
        if event.kind:
            groups.setdefault((event.host, event.session_id or event.transcript_path), []).append(event)
        else:  # nobody's, or the disk's doing: there is nothing in it to be taken in
            event_queue.remove(machine, name)
    for events in islice(groups.values(), limit):
        try:
            turns, memorized = _taken(context, events)
        except Unavailable as error:
            return done._replace(waiting=str(error))
        except Exception as error:  # whatever a transcript holds, the others are not kept from being taken in
            why = str(error) if isinstance(error, MemoryBookError) else f"{type(error).__name__}: {error}"
            done = done._replace(aside=(*done.aside, _set_aside(context, events, why)))
        else:
            many = done.events + len(events)
            known = (*done.memorized, *memorized)
            done = done._replace(events=many, sessions=done.sessions + 1, turns=done.turns + turns, memorized=known)
        for event in events:
            event_queue.remove(machine, event.name)
    return done


def _set_aside(context: Context, events: Sequence[_Event], reason: str) -> str:
    """Keep the events of a session where nobody tries them again: the last one, or all that tell what was said.

    They may stay there for good, so secrets are masked in them.
    """
    mask = Mask(context)
    reason = mask.text(" ".join(reason.split()))
    for event in events if events[-1].host not in TRANSCRIBING else events[-1:]:
        clean = {name: mask.text(text) for name, text in event.fields.items()}
        event_queue.put(context.book.storage.machine, {**clean, "why": reason}, name=event.name, part=event_queue.ASIDE)
    return reason


def set_aside(context: Context) -> list[str]:
    """Say why events were set aside or wait, how many and where, for the status of a book."""
    machine = context.book.storage.machine
    unsettled = event_queue.names(machine, part=event_queue.UNSETTLED)
    read = [
        event_queue.read(machine, name, part=event_queue.ASIDE) or {}
        for name in event_queue.names(machine, part=event_queue.ASIDE)
    ]
    counts = Counter(fields.get("why", _NEVER_WHOLE) for fields in read)
    where = os.path.join(machine, event_queue.FOLDER, event_queue.ASIDE)
    told = [
        f"{several(count, 'session')} of an agent host could not be taken in: {why} (see {where})"
        for why, count in counts.items()
    ]
    return [*told, *([waits(len(unsettled))] if unsettled else [])]


def waits(count: int) -> str:
    """Say why so many unsettled events wait."""
    return (
        f"{several(count, 'event')} of agent hosts came while the settings could not be read: "
        "once they can, the next event takes them in, or: memorybook hook ingest"
    )


# --- one session -----------------------------------------------------------------------------------


def _taken(context: Context, events: Sequence[_Event]) -> tuple[int, list[Memorized]]:
    """Return how many turns of a session were new, and what memorizing it brought.

    A session that had ended, and was taken up again by its host, has not.
    """
    kinds, transcripts, known = {event.kind for event in events}, context.config.transcripts, context.book.transcripts
    last = events[-1]
    told = _told(context, events) if last.host not in TRANSCRIBING else _transcript(context, events)
    stored: list[Stored] = []  # one, but for transcripts in which several are
    for session, turns in told:
        stored.append(store(context, replace(session, source=HOSTED, ended=None), turns))
        if stored[-1].new and stored[-1].session.source == HOSTED and transcripts.enabled:
            standing = known.session(stored[-1].session.uuid)
            if standing.ended is not None:
                known.update(replace(standing, ended=None))
    new = sum(each.new for each in stored)
    wanted = "end" in kinds or ("compact" in kinds and context.config.auto_flush_on_compaction)
    if not wanted and transcripts.enabled:
        return new, []
    how = How(evolving=context.config.provider == "agentic", door=DOOR)
    found = [process_stored(context, each, how) for each in stored]
    ending = [event for event in events if event.kind != "compact"][-1:]
    if ending and ending[0].kind == "end":
        try:
            time = datetime.strptime(ending[0].time, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        except ValueError:
            time = context.book.now()
        for each in stored:
            end(context, each.session.uuid, each.session.updated or time)
    return new, found


def _transcript(context: Context, events: Sequence[_Event]) -> Sequence[tuple[Session, Sequence[Turn]]]:
    """Return what stands in the transcript of a session. Raises NotFound, InvalidInput."""
    last = next((event for event in reversed(events) if event.transcript_path), None)
    path = os.path.join(last.cwd, os.path.expanduser(last.transcript_path)) if last is not None else ""
    if not os.path.exists(path):
        known = _captured(context, events[-1].session_id)
        if all(event.kind == "end" for event in events) and (known or not path):
            return known  # all of it is captured, or nothing was said: the hook names no transcript that never was
        raise NotFound(f"the transcript {path!r} is gone" if path else "its events name no transcript")
    if not os.path.isfile(path):
        raise InvalidInput(f"the transcript {path!r} is no file")
    if os.path.getsize(path) == 0:
        return []
    with open(path, "rb") as file:
        reading = importers.opened(path, file, timezone=zone_of(context), format=events[-1].host, origin=path)
        found = [(one.session, one.turns) for one in reading.found if isinstance(one, ImportedSession)]
    broken = next((warning for warning in reading.warnings if warning.startswith("line ")), "")
    if broken and not found:
        raise InvalidInput(f"the transcript {path!r} is damaged: {broken}")
    return found


def _told(context: Context, events: Sequence[_Event]) -> Sequence[tuple[Session, Sequence[Turn]]]:
    """Return what the events themselves say of a session."""
    messages = []
    for event in events:
        for role, field in (("user", "prompt"), ("assistant", "prompt_response")) if event.kind == "said" else ():
            text = re.sub(_PUT_IN, "", event.fields.get(field, ""))
            id = f"{event.name[:-5]}-{role}"
            messages += [{"role": role, "content": text, "id": id, "timestamp": event.time}] if text.strip() else []
    name = events[-1].session_id
    return [talk_of(context, messages, name or None)] if messages else _captured(context, name)


def _captured(context: Context, name: str) -> Sequence[tuple[Session, Sequence[Turn]]]:
    """Return the session as it was captured before; nothing if it is not known."""
    try:
        known = context.book.transcripts.session(name)
    except NotFound:
        return []
    return [(known, context.book.transcripts.turns(known.uuid))]


# --- sessions that a client holds ------------------------------------------------------------------

CHANNEL = "held"
"""Of sessions that are held from outside: they are no conversation of an agent of `memorybook.agent`."""


def open_session(context: Context, name: str = "") -> Held:
    """See `Memory.open_session`."""
    _check(context)
    name = Mask(context).text(" ".join(name.split()))
    with suppress(NotFound):
        if name:
            known = context.book.transcripts.session(name)
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
    stamped = []
    for message in messages:  # each with an id and a time of its own: what is said twice was said twice
        given = {name: value for name, value in plain(message).items() if name not in _PLACES}
        time = given.get("timestamp") or context.book.now().isoformat()
        stamped.append({**given, "id": str(given.get("id") or uuid4()), "timestamp": time})
    turns = turns_of(context, stamped)
    stored = store(context, known, [replace(turn, session=known.uuid) for turn in turns])
    return Held(known.uuid, known.name, tuple(turn.id for turn in turns), stored.new, stored.redacted, stored.skipped)


def end_session(context: Context, session: str, messages: Sequence[Mapping[str, Any]] = ()) -> Memorized:
    """See `Memory.end_session`."""
    if messages:
        add_messages(context, session, messages)
    _check(context)
    uuid = context.book.transcripts.session(text_of(session, "session")).uuid
    found = process_session_end(context, (), uuid)
    end(context, uuid, context.book.now())
    return found


def _check(context: Context) -> None:
    if not context.config.transcripts.enabled:
        raise Unavailable("sessions are not kept: set transcripts.enabled = true, or give a whole talk at its end")


def _check_open(context: Context, session: Session) -> None:
    """Raise Conflict for a session that is over, or that somebody else holds."""
    shown = session.name or session.uuid
    if session.ended is not None or context.book.journal.reached(session.uuid) == OVER:
        raise Conflict(f"session {shown!r} is over: open another one")
    if (session.source, session.channel) != (SOURCE, CHANNEL):
        raise Conflict(f"session {shown!r} is not held from outside, an agent or an import has it: open another one")


_PLACES = frozenset({"session", "session_id", "sessionId", "conversation_id", "thread_id", "scope"})
"""Fields that would say of which session a message is; it is of this one."""
