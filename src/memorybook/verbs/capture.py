"""Taking a conversation in: mask, store the turns, extract what is worth keeping, write the summary.

The decisions are pure steps of `lifecycle`; here they are put in order and handed to the book.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from memorybook import importers
from memorybook.answers import Imported
from memorybook.errors import Conflict, EmbedderFailed, MissingDocument
from memorybook.formats import memory_md, notes, session_md
from memorybook.lifecycle import fade
from memorybook.lifecycle.extract import Candidate, Extraction, NoteCandidate, extract
from memorybook.lifecycle.summarize import summarize
from memorybook.model import Add, Append, Change, Entry, Note, Put, Session, SessionSummary, Turn
from memorybook.text.tokens import digest, text_digest
from memorybook.verbs.write import Mask
from memorybook.writing import ATTEMPTS

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from memorybook.importers import ImportedSession
    from memorybook.memory import Memory
    from memorybook.protocols import Progress

FORGOTTEN = "forgotten before"
"""Why something is left out that an import would have brought back."""

BATCH = 1000
"""Turns of sessions that an import takes in together: they are as many documents, and MEMORY.md once."""

SUMMARIZED = "summary of the session"
COUNTED = "turns of the session, in a summary that a person edited"
"""Reasons by which the journal tells whose words a summary holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """What one session brought.

    Attributes:
        new_turns: Turns that were not stored before.
        entries, notes: How many were written.
        strengthened: Entries that were known and said again.
        redacted: Secrets masked in its turns.
        skipped: Texts that were not taken, with the reason.
        summary: Path of the summary document; "" if nothing was new.
    """

    new_turns: int = 0
    entries: int = 0
    strengthened: int = 0
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
    for batch in _batches(conversation.sessions):
        captured += _capture_each(memory, batch, door="import")
        for _, turns in batch:
            done += len(turns)
            if progress is not None:
                progress(done, total)
    report = memory.book.sync()
    return Imported(
        sessions=len(conversation.sessions),
        turns=total,
        new_turns=sum(each.new_turns for each in captured),
        entries=sum(each.entries for each in captured),
        strengthened=sum(each.strengthened for each in captured),
        notes=sum(each.notes for each in captured),
        redacted=sum(each.redacted for each in captured),
        skipped=tuple(skip for each in captured for skip in each.skipped),
        warnings=(*conversation.warnings, *report.degraded),
        summaries=tuple(each.summary for each in captured if each.summary),
    )


def _batches(sessions: Iterable[ImportedSession]) -> Iterator[list[ImportedSession]]:
    """The sessions in groups of about as many turns, for which each document is written once."""
    batch: list[ImportedSession] = []
    size = 0
    for session in sessions:
        if batch and size + len(session.turns) > BATCH:
            yield batch
            batch, size = [], 0
        batch.append(session)
        size += len(session.turns)
    yield batch


def _zone(memory: Memory) -> tzinfo:
    """The book's timezone; the machine's, with its summer time, when the setting is `local`."""
    from dateutil import tz

    return memory.book.zone or tz.tzlocal()


def turns_of(memory: Memory, messages: Sequence[Mapping[str, Any]]) -> tuple[Turn, ...]:
    """Messages of a caller as turns; raises InvalidInput if none can be read."""
    lines = (json.dumps(message, ensure_ascii=False).encode() + b"\n" for message in messages)
    conversation = importers.read("messages", timezone=_zone(memory), stream=lines)
    return tuple(turn for each in conversation.sessions for turn in each.turns)


def mask_turns(mask: Mask, turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The turns with secrets masked, in speakers, tool calls and metadata too."""
    speakers = {name: mask.text(name) for name in dict.fromkeys(turn.speaker for turn in turns)}
    return tuple(_masked(mask, turn, speakers[turn.speaker]) for turn in turns)


def _masked(mask: Mask, turn: Turn, speaker: str) -> Turn:
    text = mask.text(turn.text)
    calls = tuple(mask.json(list(turn.tool_calls))) if turn.tool_calls else ()
    metadata = mask.json(turn.metadata) if turn.metadata else turn.metadata
    if (text, speaker, calls, metadata) == (turn.text, turn.speaker, turn.tool_calls, turn.metadata):
        return turn
    return replace(turn, text=text, speaker=speaker, tool_calls=calls, metadata=metadata)


# --- one session ---------------------------------------------------------------------------------


class _Stored(NamedTuple):
    """A session as it is kept: with all its turns, how many of them are new, and what was left out."""

    session: Session
    turns: tuple[Turn, ...]
    new: int
    redacted: int
    skipped: tuple[tuple[str, str], ...]


class _Page(NamedTuple):
    """A session's summary document as it was last written here (None: never, or forgotten since), and whose words."""

    text: str | None
    ours: bool

    @property
    def turns(self) -> int:
        """How many turns were captured into it."""
        return session_md.parse(self.text).turns if self.text else 0


class _Work(NamedTuple):
    """What one session brings, before it is written.

    Attributes:
        stored: The session as it is kept.
        path, last: Its summary document, and as it was last written.
        changes: What to write besides the summary.
        summary: None if nothing is new.
        skipped: What is left out.
    """

    stored: _Stored
    path: str
    last: _Page
    changes: Sequence[Change]
    summary: SessionSummary | None
    skipped: tuple[tuple[str, str], ...]


def capture(memory: Memory, session: Session, turns: Sequence[Turn], *, door: str) -> Captured:
    """Take in one session, once per content: what was captured before is left alone.

    The turns are durable before anything is extracted from them; if it stops anywhere, the next
    capture of the same session goes on from there: the journal knows what was captured.
    """
    return _capture_each(memory, [(session, turns)], door=door)[0]


def _capture_each(memory: Memory, sessions: Iterable[tuple[Session, Sequence[Turn]]], *, door: str) -> list[Captured]:
    """Take in several sessions as `capture` does, each in an operation of its own, and write them together."""
    works = [_worked_out(memory, session, turns) for session, turns in sessions]
    told = iter(_apply(memory, [work for work in works if work.summary is not None], door))
    return [_captured(memory, work, next(told) if work.summary is not None else []) for work in works]


def _worked_out(memory: Memory, session: Session, turns: Sequence[Turn]) -> _Work:
    """Store the turns and work out what the new ones bring."""
    stored = _store(memory, session, turns)
    session = stored.session
    path = session.path or session_md.summary_path(session)
    last = _last_page(memory, path) if stored.turns else _Page(None, False)
    fresh = stored.turns[last.turns :]
    if not fresh:
        return _Work(stored, path, last, (), None, stored.skipped)
    now = memory.book.now()
    extraction = extract(fresh, session=session, now=now)
    changes, buried = _changes(memory, session, extraction, fresh, now)
    summary = summarize(stored.turns, session=session, language=memory.config.language)
    return _Work(stored, path, last, changes, summary, (*stored.skipped, *extraction.skipped, *buried))


def _captured(memory: Memory, work: _Work, written: Sequence[str]) -> Captured:
    """What was written of a session, after the transcripts know its summary."""
    stored = work.stored
    if not stored.turns:
        return Captured(skipped=work.skipped)
    _mirror(memory, stored.session, work.path)
    fresh = len(stored.turns[work.last.turns :])
    return Captured(
        new_turns=stored.new if memory.config.transcripts.enabled else fresh,
        entries=written.count("add"),
        strengthened=written.count("reinforce"),
        notes=written.count("append"),
        redacted=stored.redacted if stored.new else 0,
        skipped=work.skipped,
        summary=work.path if work.summary is not None else "",
    )


def turn_key(session: str, turn: str) -> str:
    """What a tombstone of a turn is of; unlike a statement, a turn is forgotten only where it was said."""
    return text_digest(f"turn:{session}/{turn}")


def _store(memory: Memory, session: Session, turns: Sequence[Turn]) -> _Stored:
    """Mask the turns, leave out those that were forgotten, keep the rest."""
    book = memory.book
    mask = Mask(memory)
    clean = mask_turns(mask, turns)
    session = replace(session, name=mask.text(session.name), title=mask.text(session.title))
    keys = [turn_key(session.uuid, turn.id) for turn in clean]
    buried = book.journal.buried(keys)
    skipped = [(turn.text, FORGOTTEN) for turn, key in zip(clean, keys, strict=True) if key in buried]
    clean = tuple(turn for turn, key in zip(clean, keys, strict=True) if key not in buried)
    if not memory.config.transcripts.enabled or not clean:
        return _Stored(session, clean, len(clean), mask.count, tuple(skipped))
    new = book.transcripts.append(session, clean)
    kept = {turn.id: turn for turn in book.transcripts.turns(session.uuid)}
    skipped += [(turn.text, f"turn {turn.id!r} is kept as it was") for turn in clean if turn.text != kept[turn.id].text]
    known = book.transcripts.session(session.uuid)
    ended = max((time for time in (known.ended, session.ended) if time is not None), default=None)
    return _Stored(replace(known, ended=ended), tuple(kept.values()), len(new), mask.count, tuple(skipped))


def _last_page(memory: Memory, path: str) -> _Page:
    """What the journal says was last written; without a journal, what stands there, as a person's words."""
    for operation in memory.book.journal.operations(target=path):
        for change in reversed(operation.changes):
            whole = change.kind == "put" or (change.kind == "drop" and change.after is None)
            if change.target == path and whole:
                text = _text(memory, path) if change.purged else change.after
                return _Page(text, change.reason == SUMMARIZED and not change.purged)
    return _Page(_text(memory, path), False)


def _text(memory: Memory, path: str) -> str | None:
    try:
        return memory.book.documents.read(path).text
    except MissingDocument:
        return None


def _apply(memory: Memory, works: Sequence[_Work], door: str) -> list[list[str]]:
    """Carry out what each session brings, together with its new summary; the kinds of what was done for each."""
    if not works:
        return []

    def once() -> list[list[str]]:
        groups = [(work.stored.session.uuid, [*work.changes, _page_change(memory, work)]) for work in works]
        kind = "import" if door == "import" else "memorize"
        results = memory.book.apply_each(groups, actor=memory.actor, door=door, kind=kind)
        return [
            [outcome.applied.kind for outcome in result.outcomes if outcome.applied is not None] for result in results
        ]

    for _ in range(ATTEMPTS - 1):
        with suppress(Conflict):  # the person saves it right now
            return once()
    return once()


def _page_change(memory: Memory, work: _Work) -> Put:
    """The change of a session's summary document.

    A summary that a person edited stays as they want it and is only told how many turns there are.
    """
    summary = cast("SessionSummary", work.summary)
    standing = _text(memory, work.path)
    if standing is None or (work.last.ours and standing == work.last.text):
        made = session_md.render(summary, language=memory.config.language)
        return Put(path=work.path, text=made, reason=SUMMARIZED, made_from=standing or "")
    return Put(path=work.path, text=session_md.recounted(standing, summary), reason=COUNTED, made_from=standing)


def _mirror(memory: Memory, session: Session, path: str) -> None:
    """Let the transcripts know the summary as it stands; a capture that was cut short may not have."""
    page = _text(memory, path) if memory.config.transcripts.enabled else None
    if page is None:
        return
    told = session_md.parse(page)
    session = replace(session, path=path, title=told.title, summary=told.summary)
    if session != memory.book.transcripts.session(session.uuid):
        memory.book.transcripts.update(session)
        _embed_summary(memory, session)


def _embed_summary(memory: Memory, session: Session) -> None:
    """Keep the vector of the summary beside it; without one, sessions are compared by words."""
    embedder = memory.embedder
    if embedder is None or not session.summary:
        return
    try:
        rows: Any = embedder.embed([session.summary])
    except EmbedderFailed:
        return
    vector = memoryview(rows).tobytes()
    if any(vector):
        transcripts = memory.book.transcripts
        transcripts.set_summary_embedding(session.uuid, embedder.name, vector, embedder.dimensions)


def _changes(
    memory: Memory, session: Session, extraction: Extraction, turns: Sequence[Turn], now: datetime
) -> tuple[list[Change], list[tuple[str, str]]]:
    """What to write, and what a person wanted forgotten and therefore stays out."""
    book = memory.book
    texts = [c.content for c in extraction.candidates] + [n.text for n in extraction.notes]
    buried = book.journal.buried(digest(text) for text in texts)
    changes: list[Change] = []
    skipped = [(request.text, "asks to forget: see `memorybook forget`") for request in extraction.forget_requests]
    times = {turn.id: turn.time for turn in turns}
    for candidate in extraction.candidates:
        if digest(candidate.content) in buried:
            skipped.append((candidate.content, FORGOTTEN))
        else:
            changes.append(Add(entry=_entry(candidate, session, times, now), reason=f"said: {candidate.quote}"))
    for note in extraction.notes:
        if digest(note.text) in buried:
            skipped.append((note.text, FORGOTTEN))
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
        archived=candidate.expires is not None and candidate.expires < now.date(),
        trust=candidate.trust,
    )


def _note(memory: Memory, candidate: NoteCandidate) -> Append:
    note = Note(time=candidate.time, text=" ".join(candidate.text.split()), kind=candidate.kind)
    path = notes.daily_path(memory.book.day(candidate.time))
    return Append(path=path, line=notes.render_line(note), reason=f"said in turn:{candidate.turn_id}")
