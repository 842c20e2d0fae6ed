"""Taking a conversation file in: its sessions go the way of every session, by rules in batches, or by a model."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memorybook import importers
from memorybook.answers import Imported
from memorybook.model import Session, Turn
from memorybook.verbs.memorize import BY_IMPORT, Work, Written, looked_through, taken, written
from memorybook.verbs.sessions import How, memorize_stored
from memorybook.verbs.summary import mirror
from memorybook.verbs.turns import store, zone_of

if TYPE_CHECKING:
    from memorybook.importers import ImportedSession
    from memorybook.memory import Memory
    from memorybook.protocols import Progress

BATCH = 1000
"""Turns of sessions that an import takes in together: they are as many documents, and MEMORY.md once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """What one session brought.

    Attributes:
        new_turns: Turns that were not stored before.
        entries, notes: How many were written.
        strengthened: Entries that were known and said again.
        redacted: Secrets masked in its turns.
        skipped: Texts that were not taken, with the reason.
        summary: Path of the summary document; "" if nothing was new, or nothing of it to be told.
        degraded: What was less than it should be, one sentence each; why the session waits, if it does.
    """

    new_turns: int = 0
    entries: int = 0
    strengthened: int = 0
    notes: int = 0
    redacted: int = 0
    skipped: tuple[tuple[str, str], ...] = ()
    summary: str = ""
    degraded: tuple[str, ...] = ()


def import_file(
    memory: Memory, path: str, *, scope: str | None, progress: Progress | None, by_model: bool = False
) -> Imported:
    """See `Memory.import_file`."""
    stream = sys.stdin.buffer if path == "-" else None
    conversation = importers.read(path, scope=scope, timezone=zone_of(memory), stream=stream)
    total = sum(len(each.turns) for each in conversation.sessions)
    captured: list[Captured] = []
    done = 0
    for batch in _batches(conversation.sessions):
        captured += [_by_model(memory, *each) for each in batch] if by_model else _capture_each(memory, batch)
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
        warnings=(
            *conversation.warnings,
            *dict.fromkeys(sentence for each in captured for sentence in each.degraded),
            *report.degraded,
        ),
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


def _capture_each(memory: Memory, sessions: Iterable[tuple[Session, Sequence[Turn]]]) -> list[Captured]:
    """Take in several sessions, each once per content and in an operation of its own, and write them together.

    The turns are durable before anything is extracted from them; if it stops anywhere, the next
    import of the same session goes on from there: the journal knows what was memorized.
    """
    works = [taken(memory, store(memory, session, turns)) for session, turns in sessions]
    works = [looked_through(memory, work) if work.fresh else work for work in works]
    told = iter(written(memory, [work for work in works if work.fresh], door=BY_IMPORT, kind="import"))
    return [_captured(memory, work, next(told) if work.fresh else None) for work in works]


def _by_model(memory: Memory, session: Session, turns: Sequence[Turn]) -> Captured:
    """Take in one session as the memory's language model remembers it; it is queued if the model fails."""
    stored = store(memory, session, turns)
    found = memorize_stored(memory, stored, How(door=BY_IMPORT))
    return Captured(
        new_turns=stored.new,
        entries=found.new + found.updated + found.merged,
        strengthened=found.reinforced,
        notes=found.notes,
        redacted=stored.redacted if stored.new else 0,
        skipped=tuple((each.text, each.reason) for each in found.discarded),
        summary=found.summary,
        degraded=found.degraded,
    )


def _captured(memory: Memory, work: Work, brought: Written | None) -> Captured:
    """What was written of a session."""
    stored = work.stored
    if brought is None:
        if stored.turns:
            mirror(memory, stored.session, work.last.path)  # a capture that was cut short may not have
        return Captured(skipped=stored.skipped)
    return Captured(
        new_turns=stored.new if memory.config.transcripts.enabled else len(work.fresh),
        entries=len(brought.applied("add")),
        strengthened=len(brought.applied("reinforce")),
        notes=len(brought.applied("append")),
        redacted=stored.redacted if stored.new else 0,
        skipped=tuple((each.text, each.reason) for each in brought.plan.discarded),
        summary=brought.summary,
    )
