"""What agent hosts reported, taken in: the transcript of a session captured, memorized when it is compacted or ends.

Everything on the way is known again when it comes twice, so that an event is removed only when all of it is done; a
process that dies in between leaves it to the next.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.entries.read import Mask
from memorybook.errors import InvalidInput, MemoryBookError, NotFound, Unavailable
from memorybook.exchange import importers
from memorybook.exchange.importers.records import several
from memorybook.formats.messages_json import ImportedSession
from memorybook.results import Memorized
from memorybook.sessions import event_queue
from memorybook.sessions.end_session import How, process_session_end, process_stored
from memorybook.sessions.turns import Stored, store, talk_of, zone_of
from memorybook.sessions.waiting_sessions import HOSTED, end, left_open

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.model import Session, Turn

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
        """`{"events", "sessions", "turns", "memorized": [{…}], "aside": […], "waiting"}`."""
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
    machine = _machine(context)
    if not context.config.enabled or not event_queue.names(machine):
        return Ingested()
    with context.alone("spool") as ours:
        return _ingested(context, limit) if ours else Ingested()


def close_idle(context: Context, *, limit: int | None = None) -> tuple[Memorized, ...]:
    """See `Memory.close_idle`; what another process closes at this moment is left to it."""
    told = ingest(context, limit=limit).memorized
    limit = limit and max(0, limit - len(told))
    if limit == 0 or not left_open(context, limit=1):
        return told
    with context.alone("closing") as ours:
        return (*told, *(_closed(context, uuid) for uuid in left_open(context, limit=limit))) if ours else told


def _closed(context: Context, uuid: str) -> Memorized:
    """Remember a session, or queue it, and end it when it was last heard of."""
    told = context.book.transcripts.told(uuid)
    found = process_session_end(context, (), uuid)
    end(context, uuid, told.session.updated or context.book.now())
    return found


def _machine(context: Context) -> str:
    return os.path.join(context.root, ".memorybook")


def _ingested(context: Context, limit: int | None) -> Ingested:
    done = Ingested()
    groups: dict[tuple[str, str], list[_Event]] = {}
    for event in _events(_machine(context)):
        groups.setdefault((event.host, event.session_id or event.transcript_path), []).append(event)
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
            event_queue.remove(_machine(context), event.name)
    return done


def _events(machine: str) -> Iterator[_Event]:
    for name in event_queue.names(machine):
        fields = event_queue.read(machine, name)
        if fields is not None and fields.get("kind"):
            yield _Event(name, fields)
        else:  # nobody's, or the disk's doing: there is nothing in it to be taken in
            event_queue.remove(machine, name)


def _set_aside(context: Context, events: Sequence[_Event], reason: str) -> str:
    """Keep the events of a session where nobody tries them again: the last one, or all that tell what was said.

    They may stay there for good, so secrets are masked in them.
    """
    mask = Mask(context)
    reason = mask.text(" ".join(reason.split()))
    for event in events if events[-1].host not in TRANSCRIBING else events[-1:]:
        clean = {name: mask.text(text) for name, text in event.fields.items()}
        event_queue.put(_machine(context), {**clean, "why": reason}, name=event.name, part=event_queue.ASIDE)
    return reason


def set_aside(context: Context) -> list[str]:
    """Why events were set aside or wait, with how many and where they are: for the status of a book."""
    machine = _machine(context)
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
    """Why so many unsettled events wait."""
    return (
        f"{several(count, 'event')} of agent hosts came while the settings could not be read: "
        "once they can, the next event takes them in, or: memorybook hook ingest"
    )


# --- one session -----------------------------------------------------------------------------------


def _taken(context: Context, events: Sequence[_Event]) -> tuple[int, list[Memorized]]:
    """How many turns of a session were new, and what memorizing it brought."""
    kinds = [event.kind for event in events]
    stored = list(_stored(context, events))
    wanted = "end" in kinds or ("compact" in kinds and context.config.auto_flush_on_compaction)
    if not (wanted or not context.config.transcripts.enabled):
        return sum(each.new for each in stored), []
    how = How(evolving=context.config.provider == "agentic", door=DOOR)
    found = [process_stored(context, each, how) for each in stored]
    last = [event for event in events if event.kind != "compact"]
    if last and last[-1].kind == "end":
        for each in stored:
            end(context, each.session.uuid, each.session.updated or _time(last[-1]) or context.book.now())
    return sum(each.new for each in stored), found


def _stored(context: Context, events: Sequence[_Event]) -> Iterator[Stored]:
    """The session as it is kept now: one, but for transcripts in which several are."""
    told = _told(context, events) if events[-1].host not in TRANSCRIBING else _transcript(context, events)
    for session, turns in told:
        stored = store(context, replace(session, source=HOSTED, ended=None), turns)
        if stored.new and stored.session.source == HOSTED:
            _go_on(context, stored.session.uuid)
        yield stored


def _go_on(context: Context, uuid: str) -> None:
    """A session that had ended, and was taken up again by its host, has not."""
    if not context.config.transcripts.enabled:
        return
    known = context.book.transcripts.session(uuid)
    if known.ended is not None:
        context.book.transcripts.update(replace(known, ended=None))


def _transcript(context: Context, events: Sequence[_Event]) -> Sequence[tuple[Session, Sequence[Turn]]]:
    """What stands in the transcript of a session. Raises NotFound, InvalidInput."""
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
    """What the events themselves tell of a session."""
    name = events[-1].session_id
    messages = [message for event in events if event.kind == "said" for message in _messages(event)]
    return [talk_of(context, messages, name or None)] if messages else _captured(context, name)


def _captured(context: Context, name: str) -> Sequence[tuple[Session, Sequence[Turn]]]:
    """The session as it was captured before; nothing if it is not known."""
    try:
        known = context.book.transcripts.session(name)
    except NotFound:
        return []
    return [(known, context.book.transcripts.turns(known.uuid))]


def _messages(event: _Event) -> Iterable[dict[str, str]]:
    for role, field in (("user", "prompt"), ("assistant", "prompt_response")):
        text = re.sub(_PUT_IN, "", event.fields.get(field, ""))
        if text.strip():
            yield {"role": role, "content": text, "id": f"{event.name[:-5]}-{role}", "timestamp": event.time}


def _time(event: _Event) -> datetime | None:
    try:
        return datetime.strptime(event.time, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None
