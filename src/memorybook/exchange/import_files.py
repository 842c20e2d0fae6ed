"""Taking in what other programs keep: sessions go the way of every session, by rules in batches, or by a model."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from datetime import date, datetime
from itertools import groupby
from typing import IO, TYPE_CHECKING, NamedTuple

from memorybook.book.transaction import Draft
from memorybook.errors import InvalidInput, NotFound
from memorybook.exchange import export, importers
from memorybook.exchange.import_entries import Stated, take
from memorybook.exchange.import_export import brought, fit, keep
from memorybook.exchange.importers import Page, Statement
from memorybook.exchange.importers.records import several
from memorybook.exchange.importers.sources import Counted, Source, broken, sources
from memorybook.exchange.session_continuation import continued
from memorybook.formats.messages_json import ImportedSession
from memorybook.formats.sessions_json import Exported
from memorybook.model import Session, Turn
from memorybook.results import Imported
from memorybook.sessions.end_session import How, memorize_stored
from memorybook.sessions.memorize import BY_IMPORT, Work, Written, foreseen, looked_through, taken, written
from memorybook.sessions.summary import mirror
from memorybook.sessions.turns import store, zone_of
from memorybook.validate import day_of

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.protocols import Progress

_NAMED = "chat"
"""The format in which a session has the name that somebody gave it."""

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


class Asked(NamedTuple):
    """How to take files in.

    Attributes:
        scope: See `importers.read`.
        format: Name of the format of every file; None finds it.
        since: First day of which something is wanted; None wants all.
        by_model: Whether the language model is asked, once a session.
        draft: Where the changes of a dry run go; None writes.
    """

    scope: str | None = None
    format: str | None = None
    since: date | None = None
    by_model: bool = False
    draft: Draft | None = None


def import_files(
    context: Context,
    paths: Sequence[str],
    *,
    scope: str | None,
    format: str | None,
    since: str | date | None,
    by_model: bool,
    dry_run: bool,
    progress: Progress | None,
) -> Imported:
    """See `Memory.import_file`."""
    if not paths:
        raise InvalidInput("nothing to import: name a file, a folder or a zip archive")
    if format is not None and format not in importers.NAMES:
        raise InvalidInput(f"no format is called {format!r}: use one of {', '.join(importers.NAMES)}")
    first = day_of(since, "since")
    day = date.fromisoformat(first) if first else None
    asked = Asked(scope, format, day, by_model and not dry_run, context.book.draft() if dry_run else None)
    taking = _Taking(context, asked, progress)
    before = export.revision(context)
    with ExitStack() as archives:
        found = [(path, archives.enter_context(_sources(path, taking))) for path in dict.fromkeys(paths)]
        taking.total = sum(source.size for _, each in found for source in each)
        for path, each in found:
            taking.all_of(path, each)
    taking.flush()
    if dry_run:
        return taking.report(())
    degraded = [*context.book.sync().degraded]
    if context.config.transcripts.auto_export and export.revision(context) not in (None, before):
        degraded += filter(None, [export.by_itself(context)])
    return taking.report(degraded)


def _sources(path: str, taking: _Taking) -> AbstractContextManager[list[Source]]:
    if path == "-":
        return nullcontext([Source("-", 0, lambda: sys.stdin.buffer, named=True)])
    return sources(path, taking.warnings.append)


class _Held(NamedTuple):
    """What was found, until it is taken in, with the format and the name of its file."""

    one: importers.Taken
    format: str
    name: str


class _Taking:
    """Takes in one file after the other, and counts."""

    def __init__(self, context: Context, asked: Asked, progress: Progress | None) -> None:
        self.memory = context
        self.asked = asked
        self.total = 0
        self.warnings: list[str] = []
        self._progress = progress
        self._before = self._at = 0
        self._captured: list[Captured] = []
        self._stated: list[Stated] = []
        self._formats: dict[str, None] = {}
        self._held: list[_Held] = []
        self._holding = 0
        self._uuids: set[str] = set()
        self._names: set[str] = set()
        self._foreseen: dict[str, set[str]] = {}
        self._files = self._sessions = self._turns = self._early = self._undated = 0

    def all_of(self, path: str, found: Sequence[Source]) -> None:
        """Take in the files of one path; of a folder or archive, those in which there is something."""
        files, left = self._files, list[tuple[str, str]]()
        for source in found:
            try:
                self._one(source)
            except (InvalidInput, NotFound) as error:
                if source.named:
                    raise
                left.append((os.path.basename(source.name), str(error)))
            self._before += source.size
        if self._files == files:
            why = f": {left[0][1]}" if left else " of a kind that could be read"
            raise InvalidInput(f"nothing in {path!r} could be imported; {several(len(left), 'file')}{why}")
        if left:
            names = ", ".join(dict.fromkeys(name for name, _ in left[:5])) + (" …" if len(left) > 5 else "")
            self.warnings.append(f"{several(len(left), 'file')} in {path!r} without anything to import: {names}")

    def _one(self, source: Source) -> None:
        try:
            with ExitStack() as closing:
                file = source.open()
                if source.name != "-":
                    closing.enter_context(file)
                self._read(source, file)
        except FileNotFoundError:
            raise NotFound(f"no file {source.name!r}: it went away meanwhile") from None
        except OSError as error:
            raise InvalidInput(f"cannot read {source.name!r}: {error.strerror or error}") from error
        except broken() as error:
            raise InvalidInput(f"{source.name!r} is broken in its archive ({error}): download it again") from error

    def _read(self, source: Source, file: IO[bytes]) -> None:
        counted, asked = Counted(file), self.asked
        reading = importers.opened(
            source.name,
            counted,
            scope=asked.scope,
            timezone=zone_of(self.memory),
            format=asked.format,
            strict=not source.named,
            origin=source.origin,
        )
        found: Iterable[importers.Taken] = reading.found if reading.lazy else list(reading.found)
        whole = 0 if isinstance(found, Iterator) else sum(map(_size, found))
        done = 0
        here: set[str] = set()
        for one in found:
            done += _size(one)
            if isinstance(one, ImportedSession) and reading.format == _NAMED:
                one = self._continued(one, here)
            if self._wanted(one):
                self._hold(_Held(one, reading.format, os.path.basename(source.origin or source.name)))
            self._at = self._before + counted.read_so_far * done // (whole or done)
        if not done:
            raise importers.nothing_in(source.name, reading.warnings)
        self._files += 1
        self._formats[reading.format] = None
        prefix = "" if source.named else f"{os.path.basename(source.name)}: "
        self.warnings += [prefix + warning for warning in importers.few(reading.warnings)]

    def _continued(self, one: ImportedSession, here: set[str]) -> ImportedSession:
        """The session as the one that it goes on with, which is none of those `here`, in its file."""
        if one.session.name in self._names:
            self.flush()
        one = continued(self.memory, one, apart=here, dry_run=self.asked.draft is not None)
        here.add(one.session.uuid)
        self._names.add(one.session.name)
        return one

    def _wanted(self, one: importers.Taken) -> bool:
        """Whether it is of the days that are asked for: a session whole, if anything in it is."""
        if self.asked.since is None:
            return True
        last = _last(one)
        if last is None:
            self._undated += 1
            return False
        early = self.memory.book.day(last) < self.asked.since
        self._early += early
        return not early

    def _hold(self, held: _Held) -> None:
        """Take in what is held first, where this would be too much, or is of a session that is held."""
        uuid = held.one.session.uuid if isinstance(held.one, ImportedSession | Exported) else ""
        if self._held and (self._holding + _size(held.one) > BATCH or uuid in self._uuids):
            self.flush()
        self._uuids |= {uuid} if uuid else set()
        self._held.append(held)
        self._holding += _size(held.one)

    def flush(self) -> None:
        """Take in what is held, for which each document is written once."""
        sessions = [held.one for held in self._held if isinstance(held.one, ImportedSession | Exported)]
        self._sessions += len(sessions)
        self._turns += sum(len(one.turns) for one in sessions)
        if self.asked.draft is not None:
            sessions = list(map(self._unforeseen, sessions))
        if self.asked.by_model:
            self._captured += [_by_model(self.memory, _session(self.memory, one), one.turns) for one in sessions]
        elif sessions:
            self._captured += _capture_each(self.memory, sessions, self.asked.draft)
        for (format, name), group in groupby(self._held, key=lambda held: (held.format, held.name)):
            stated = [held.one for held in group if isinstance(held.one, Statement | Page)]
            if stated:
                self._stated.append(take(self.memory, stated, format=format, name=name, draft=self.asked.draft))
        self._held, self._holding, self._uuids, self._names = [], 0, set(), set()
        if self._progress is not None:
            self._progress(self._at, self.total)

    def _unforeseen(self, one: ImportedSession | Exported) -> ImportedSession | Exported:
        """The session without the turns that another file has brought; without a dry run the transcripts know it."""
        seen = self._foreseen.setdefault(one.session.uuid, set())
        new = tuple(turn for turn in one.turns if turn.id not in seen)
        seen.update(turn.id for turn in new)
        return one._replace(turns=new)

    def report(self, degraded: Iterable[str]) -> Imported:
        """What all of it brought."""
        captured, stated = self._captured, self._stated
        both: list[Captured | Stated] = [*captured, *stated]
        return Imported(
            sessions=self._sessions,
            turns=self._turns,
            new_turns=sum(each.new_turns for each in captured),
            entries=sum(each.entries for each in both),
            strengthened=sum(each.strengthened for each in both),
            notes=sum(each.notes for each in both),
            redacted=sum(each.redacted for each in both),
            skipped=tuple(skip for each in both for skip in each.skipped),
            warnings=(
                *self.warnings,
                *self._left_out(),
                *dict.fromkeys(sentence for each in captured for sentence in each.degraded),
                *degraded,
            ),
            summaries=tuple(each.summary for each in captured if each.summary),
            known=sum(each.known for each in stated),
            files=self._files,
            formats=tuple(self._formats),
            dry_run=self.asked.draft is not None,
        )

    def _left_out(self) -> Iterator[str]:
        for count, why in ((self._early, f"before {self.asked.since}"), (self._undated, "without a time")):
            if count:
                yield f"{several(count, 'session or memory', 'sessions or memories')} {why}, left out"


def _size(one: importers.Taken) -> int:
    return max(1, len(one.turns)) if isinstance(one, ImportedSession | Exported) else 1


def _last(one: importers.Taken) -> datetime | None:
    """When it was said or changed last."""
    if isinstance(one, ImportedSession | Exported):
        return one.session.ended or one.session.updated
    return (one.changed or one.time) if isinstance(one, Statement) else one.time


def _capture_each(
    context: Context, sessions: Sequence[ImportedSession | Exported], draft: Draft | None
) -> list[Captured]:
    """Take in several sessions, each once per content and in an operation of its own, and write them together.

    The turns are durable before anything is extracted from them; if it stops anywhere, the next
    import of the same session goes on from there: the journal knows what was memorized.
    With a draft nothing is kept, and what would be written is worked into that.
    """
    dry_run = draft is not None
    exported = [brought(context, each) if isinstance(each, Exported) and not dry_run else None for each in sessions]
    works = [
        taken(context, store(context, _session(context, each), each.turns, dry_run=dry_run))
        if known is None
        else known.work
        for each, known in zip(sessions, exported, strict=True)
    ]
    works = [looked_through(context, work) if work.fresh else work for work in works]
    fresh = [work for work in works if work.fresh]
    told = iter(
        written(context, fresh, door=BY_IMPORT, kind="import") if draft is None else foreseen(context, fresh, draft)
    )
    captured = [_captured(context, work, next(told) if work.fresh else None, dry_run=dry_run) for work in works]
    for known in exported:
        if known is not None:
            keep(context, known)
    return captured


def _session(context: Context, one: ImportedSession | Exported) -> Session:
    return fit(context, one.session) if isinstance(one, Exported) else one.session


def _by_model(context: Context, session: Session, turns: Sequence[Turn]) -> Captured:
    """Take in one session as the memory's language model remembers it; it is queued if the model fails."""
    stored = store(context, session, turns)
    found = memorize_stored(context, stored, How(door=BY_IMPORT))
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


def _captured(context: Context, work: Work, brought: Written | None, *, dry_run: bool) -> Captured:
    """What was written of a session."""
    stored = work.stored
    if brought is None:
        if stored.turns and not dry_run:
            mirror(context, stored.session, work.last.path)  # a capture that was cut short may not have
        return Captured(skipped=stored.skipped)
    return Captured(
        new_turns=stored.new if context.config.transcripts.enabled else len(work.fresh),
        entries=len(brought.applied("add")),
        strengthened=len(brought.applied("reinforce")),
        notes=len(brought.applied("append")),
        redacted=stored.redacted if stored.new else 0,
        skipped=tuple((each.text, each.reason) for each in brought.plan.discarded),
        summary=brought.summary,
    )
