"""Taking a conversation in: mask, store the turns, extract what is worth keeping, write the summary.

The decisions are pure steps of `lifecycle`; here they are put in order and handed to the book.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from memorybook import importers
from memorybook.answers import Imported
from memorybook.errors import MissingDocument
from memorybook.formats import memory_md, notes, session_md
from memorybook.lifecycle import fade
from memorybook.lifecycle.extract import Candidate, Extraction, NoteCandidate, extract
from memorybook.lifecycle.summarize import summarize
from memorybook.model import Add, Append, Change, Entry, Note, Put, Session, Turn
from memorybook.text.tokens import digest
from memorybook.verbs.write import masked, masked_json

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from memorybook.memory import Memory
    from memorybook.protocols import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """What one session brought.

    Attributes:
        new_turns: Turns that were not stored before.
        entries, notes: How many were written; an entry that was known and is reinforced counts.
        redacted: Secrets masked in its turns.
        skipped: Texts that were not taken, with the reason.
        summary: Path of the summary document; "" if nothing was new.
    """

    new_turns: int = 0
    entries: int = 0
    notes: int = 0
    redacted: int = 0
    skipped: tuple[tuple[str, str], ...] = ()
    summary: str = ""


def import_file(memory: Memory, path: str, *, scope: str | None, progress: Progress | None) -> Imported:
    """See `Memory.import_file`."""
    zone = _zone(memory)
    stream = sys.stdin.buffer if path == "-" else None
    conversation = importers.read(path, scope=scope, timezone=zone, stream=stream)
    total = sum(len(each.turns) for each in conversation.sessions)
    captured: list[Captured] = []
    done = 0
    for session, turns in conversation.sessions:
        captured.append(capture(memory, session, turns, door="import"))
        done += len(turns)
        if progress is not None:
            progress(done, total)
    memory.book.sync()
    return Imported(
        sessions=len(conversation.sessions),
        turns=total,
        new_turns=sum(each.new_turns for each in captured),
        entries=sum(each.entries for each in captured),
        notes=sum(each.notes for each in captured),
        redacted=sum(each.redacted for each in captured),
        skipped=tuple(skip for each in captured for skip in each.skipped),
        warnings=conversation.warnings,
        summaries=tuple(each.summary for each in captured if each.summary),
    )


def _zone(memory: Memory) -> tzinfo:
    """The book's timezone; the machine's, with its summer time, when the setting is `local`."""
    from dateutil import tz

    return memory.book.zone or tz.tzlocal()


def turns_of(memory: Memory, messages: Sequence[Mapping[str, Any]]) -> tuple[Turn, ...]:
    """Messages of a caller as turns; raises InvalidInput if none can be read."""
    lines = (json.dumps(message, ensure_ascii=False).encode() + b"\n" for message in messages)
    conversation = importers.read("messages", timezone=_zone(memory), stream=lines)
    return tuple(turn for each in conversation.sessions for turn in each.turns)


def mask_turns(memory: Memory, turns: Sequence[Turn]) -> tuple[tuple[Turn, ...], int]:
    """The turns with secrets masked in text, tool calls and metadata; and how many were found in texts."""
    if not memory.config.redaction.enabled:
        return tuple(turns), 0
    count = 0
    clean = []
    for turn in turns:
        text = masked(memory, turn.text)
        count += len(text.masked)
        clean.append(
            replace(
                turn,
                text=text.text,
                tool_calls=tuple(masked_json(memory, call) for call in turn.tool_calls),
                metadata=masked_json(memory, turn.metadata),
            )
        )
    return tuple(clean), count


def capture(memory: Memory, session: Session, turns: Sequence[Turn], *, door: str) -> Captured:
    """Take in one session, once per content: what was captured before is left alone.

    The turns are durable before anything is extracted from them; if it stops in between, the next
    capture of the same session finds them stored and not yet summarised, and goes on from there.
    """
    book = memory.book
    clean, redacted = mask_turns(memory, turns)
    if memory.config.transcripts.enabled:
        new = book.transcripts.append(session, clean)
        session = book.transcripts.session(session.uuid)
        clean = tuple(book.transcripts.turns(session.uuid))
    else:
        new = clean
    path = session.path or session_md.summary_path(session)
    fresh = clean[_captured(memory, session, path, len(clean) - len(new)) :]
    if not fresh:
        return Captured(new_turns=len(new), redacted=redacted if new else 0)
    now = book.now()
    extraction = extract(fresh, session=session, now=now)
    summary = summarize(clean, session=session, language=memory.config.language)
    language = "zh" if memory.config.language == "zh" else "en"
    changes, buried = _changes(memory, session, extraction, now)
    document = session_md.render(summary, language=language)
    changes.append(Put(path=path, text=document, reason="summary of the session"))
    result = book.apply(changes, actor=memory.actor, door=door, session=session.uuid)
    written = [outcome.applied.kind for outcome in result.outcomes if outcome.applied is not None]
    if memory.config.transcripts.enabled:
        book.transcripts.update(replace(session, path=path, title=summary.title, summary=summary.summary))
    return Captured(
        new_turns=len(new),
        entries=sum(kind in ("add", "reinforce") for kind in written),
        notes=written.count("append"),
        redacted=redacted,
        skipped=(*extraction.skipped, *buried),
        summary=path,
    )


def _captured(memory: Memory, session: Session, path: str, stored_before: int) -> int:
    """How many of a session's turns were captured already: its summary says so.

    A summary that a person deleted says that all turns stored before this time were.
    """
    try:
        return session_md.parse(memory.book.documents.read(path).text).turns
    except MissingDocument:
        return stored_before if session.path else 0


def _changes(
    memory: Memory, session: Session, extraction: Extraction, now: datetime
) -> tuple[list[Change], list[tuple[str, str]]]:
    """What to write, and what a person wanted forgotten and therefore stays out."""
    book = memory.book
    texts = [c.content for c in extraction.candidates] + [n.text for n in extraction.notes]
    buried = book.journal.buried(digest(text) for text in texts)
    changes: list[Change] = []
    skipped = [(request.text, "asks to forget: see `memorybook forget`") for request in extraction.forget_requests]
    times = {turn.id: turn.time for turn in book.transcripts.turns(session.uuid)}
    for candidate in extraction.candidates:
        if digest(candidate.content) in buried:
            skipped.append((candidate.content, "forgotten before"))
        else:
            changes.append(Add(entry=_entry(candidate, session, times, now), reason=f"said: {candidate.quote}"))
    for note in extraction.notes:
        if digest(note.text) in buried:
            skipped.append((note.text, "forgotten before"))
        else:
            changes.append(_note(memory, note))
    return changes, skipped


def _entry(candidate: Candidate, session: Session, times: Mapping[str, datetime | None], now: datetime) -> Entry:
    """The new entry: it fades from today on, when it came into the book; `created` is when it was said."""
    turn = candidate.turn_ids[0] if candidate.turn_ids else None
    return Entry(
        id=memory_md.new_id(()),
        text=candidate.content,
        category=candidate.category,
        score=fade.importance_score(candidate.importance),
        scored=now.date(),
        last_activated=now.date(),
        created=times.get(turn or "") or now,
        session=session.uuid,
        source=f"turn:{turn}" if turn else None,
        tags=candidate.tags,
        entities=candidate.entities,
        group=candidate.group,
        expires=candidate.expires,
        trust=candidate.trust,
    )


def _note(memory: Memory, candidate: NoteCandidate) -> Append:
    note = Note(time=candidate.time, text=" ".join(candidate.text.split()), kind=candidate.kind)
    path = notes.daily_path(memory.book.day(candidate.time))
    return Append(path=path, line=notes.render_line(note), reason=f"said in turn:{candidate.turn_id}")
