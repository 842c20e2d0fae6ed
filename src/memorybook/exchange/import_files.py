"""Taking in what other programs keep: sessions go the way of every session, by rules in batches, or by a model."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import date, datetime
from itertools import groupby
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from memorybook.book import fade
from memorybook.book.transaction import Draft, Outcome
from memorybook.entries.durable_notes import KINDS, notes_of
from memorybook.entries.mask import Mask
from memorybook.entries.read_reply import category_of
from memorybook.errors import Conflict, InvalidInput, NotFound, UnsafePath
from memorybook.exchange import export, importers
from memorybook.exchange.importers import Page, Statement
from memorybook.exchange.importers.records import several
from memorybook.exchange.importers.sources import CountingFile, Source, archive_errors, sources
from memorybook.forget.incoming import texts_without_forgotten
from memorybook.forget.tombstones import (
    FORGOTTEN,
    remembered,
    sifted,
    turn_key,
    unnamed,
    without_forgotten,
)
from memorybook.formats import memory_md, session_md
from memorybook.formats.messages_json import CAME_IN, ImportedSession
from memorybook.formats.session_md import parse
from memorybook.formats.sessions_json import Exported
from memorybook.model import Add, Append, Change, Discarded, Entry, Session, SessionSummary, Turn
from memorybook.results import Imported
from memorybook.sessions.end_session import How, memorize_stored
from memorybook.sessions.memorize import BY_IMPORT, Work, Written, foreseen, looked_through, taken, written
from memorybook.sessions.summary import mirror, standing
from memorybook.sessions.turns import store, zone_of
from memorybook.text.screen import screen
from memorybook.text.tokens import digest, normalise
from memorybook.validate import day_of

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.protocols import Progress


BATCH = 1000
"""Turns of sessions that an import takes in together: they are as many documents, and MEMORY.md once."""


class ImportResult(NamedTuple):
    """What one session brought, or what a file remembers by itself.

    Attributes:
        new_turns: Turns that were not stored before.
        entries, notes: How many were written.
        strengthened: Entries that were known and said again.
        known: Statements that were imported before, or stand in the book.
        redacted: Secrets masked.
        skipped: Texts that were not taken, with the reason.
        summary: Path of the summary document; "" if nothing was new, or nothing of it to be told.
        degraded: What was less than it should be, one sentence each; why the session waits, if it does.
    """

    new_turns: int = 0
    entries: int = 0
    strengthened: int = 0
    notes: int = 0
    known: int = 0
    redacted: int = 0
    skipped: tuple[tuple[str, str], ...] = ()
    summary: str = ""
    degraded: tuple[str, ...] = ()


class ImportOptions(NamedTuple):
    """How to take files in.

    Attributes:
        scope: See `importers.opened`.
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
    asked = ImportOptions(scope, format, day, by_model and not dry_run, context.book.draft() if dry_run else None)
    taking = _Import(context, asked, progress)
    before = export.revision(context)
    with ExitStack() as archives:
        found = [
            (path, [Source("-", 0, lambda: sys.stdin.buffer, named=True)])
            if path == "-"
            else (path, archives.enter_context(sources(path, taking.warnings.append)))
            for path in dict.fromkeys(paths)
        ]
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


class _Item(NamedTuple):
    """What was found, until it is taken in, with the format and the name of its file."""

    one: importers.Taken
    format: str
    name: str


class _Import:
    """Takes in one file after the other, and counts."""

    def __init__(self, context: Context, asked: ImportOptions, progress: Progress | None) -> None:
        self.memory = context
        self.asked = asked
        self.total = 0
        self.warnings: list[str] = []
        self._progress = progress
        self._before = self._at = 0
        self._captured: list[ImportResult] = []
        self._formats: dict[str, None] = {}
        self._held: list[_Item] = []
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
        except archive_errors() as error:
            raise InvalidInput(f"{source.name!r} is broken in its archive ({error}): download it again") from error

    def _read(self, source: Source, file: IO[bytes]) -> None:
        counted, asked = CountingFile(file), self.asked
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
            if isinstance(one, ImportedSession) and reading.format == importers.CHAT:
                one = self._continued(one, here)
            if self._wanted(one):
                self._hold(_Item(one, reading.format, os.path.basename(source.origin or source.name)))
            self._at = self._before + counted.read_so_far * done // (whole or done)
        if not done:
            raise importers.nothing_in(source.name, reading.warnings)
        self._files += 1
        self._formats[reading.format] = None
        prefix = "" if source.named else f"{os.path.basename(source.name)}: "
        self.warnings += [prefix + warning for warning in importers.few(reading.warnings)]

    def _continued(self, one: ImportedSession, here: set[str]) -> ImportedSession:
        """Return the session as the one that it goes on with, which is none of those `here`, in its file."""
        if one.session.name in self._names:
            self.flush()
        one = as_continuation(self.memory, one, apart=here, dry_run=self.asked.draft is not None)
        here.add(one.session.uuid)
        self._names.add(one.session.name)
        return one

    def _wanted(self, one: importers.Taken) -> bool:
        """Return whether it is of the days that are asked for: a session whole, if anything in it is."""
        if self.asked.since is None:
            return True
        last = _last(one)
        if last is None:
            self._undated += 1
            return False
        early = self.memory.book.day(last) < self.asked.since
        self._early += early
        return not early

    def _hold(self, held: _Item) -> None:
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
                self._captured.append(take(self.memory, stated, format=format, name=name, draft=self.asked.draft))
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
        """Return what all of it brought."""
        captured = self._captured
        total = Counter[str]()
        for each in captured:
            total.update({name: value for name, value in each._asdict().items() if isinstance(value, int)})
        return Imported(
            sessions=self._sessions,
            turns=self._turns,
            skipped=tuple(skip for each in captured for skip in each.skipped),
            warnings=(
                *self.warnings,
                *self._left_out(),
                *dict.fromkeys(sentence for each in captured for sentence in each.degraded),
                *degraded,
            ),
            summaries=tuple(each.summary for each in captured if each.summary),
            files=self._files,
            formats=tuple(self._formats),
            dry_run=self.asked.draft is not None,
            **total,
        )

    def _left_out(self) -> Iterator[str]:
        for count, why in ((self._early, f"before {self.asked.since}"), (self._undated, "without a time")):
            if count:
                yield f"{several(count, 'session or memory', 'sessions or memories')} {why}, left out"


def _size(one: importers.Taken) -> int:
    return max(1, len(one.turns)) if isinstance(one, ImportedSession | Exported) else 1


def _last(one: importers.Taken) -> datetime | None:
    """Return when it was said or changed last."""
    if isinstance(one, ImportedSession | Exported):
        return one.session.ended or one.session.updated
    return (one.changed or one.time) if isinstance(one, Statement) else one.time


def _capture_each(
    context: Context, sessions: Sequence[ImportedSession | Exported], draft: Draft | None
) -> list[ImportResult]:
    """Take in several sessions, each once per content and in an operation of its own, and write them together.

    The turns are durable before anything is extracted from them; if it stops anywhere, the next
    import of the same session goes on from there: the journal knows what was memorized.
    With a draft nothing is kept, and what would be written is worked into that.
    """
    dry_run = draft is not None
    exported = [
        store_exported(context, each) if isinstance(each, Exported) and not dry_run else None for each in sessions
    ]
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
    captured = [_result_of(context, work, next(told) if work.fresh else None, dry_run=dry_run) for work in works]
    for known in exported:
        if known is not None:
            keep(context, known)
    return captured


def _session(context: Context, one: ImportedSession | Exported) -> Session:
    return fit_session(context, one.session) if isinstance(one, Exported) else one.session


def _by_model(context: Context, session: Session, turns: Sequence[Turn]) -> ImportResult:
    """Take in one session as the memory's language model remembers it; it is queued if the model fails."""
    stored = store(context, session, turns)
    found = memorize_stored(context, stored, How(door=BY_IMPORT))
    return ImportResult(
        new_turns=stored.new,
        entries=found.new + found.updated + found.merged,
        strengthened=found.reinforced,
        notes=found.notes,
        redacted=stored.redacted if stored.new else 0,
        skipped=tuple((each.text, each.reason) for each in found.discarded),
        summary=found.summary,
        degraded=found.degraded,
    )


def _result_of(context: Context, work: Work, brought: Written | None, *, dry_run: bool) -> ImportResult:
    """Return what was written of a session."""
    stored = work.stored
    if brought is None:
        if stored.turns and not dry_run:
            mirror(context, stored.session, work.last.path)  # a capture that was cut short may not have
        return ImportResult(skipped=stored.skipped)
    return ImportResult(
        new_turns=stored.new if context.config.transcripts.enabled else len(work.fresh),
        entries=len(brought.applied("add")),
        strengthened=len(brought.applied("reinforce")),
        notes=len(brought.applied("append")),
        redacted=stored.redacted if stored.new else 0,
        skipped=tuple((each.text, each.reason) for each in brought.plan.discarded),
        summary=brought.summary,
    )


# --- sessions of an export, with their own titles and summaries, and those of their chats --------


_MASKED = ("name", "title", "source", "channel", "chat_id")


class ExportedSession(NamedTuple):
    """A session of an export whose turns are stored.

    Attributes:
        work: What is to be memorized of it, with the summary that it came with.
        session: As the file tells it, fit to stand here.
        leads: Whether the book takes what the session says of itself from the file: it is new here, or has grown.
        summaries: Summaries of chats, by the id of a turn.
    """

    work: Work
    session: Session
    leads: bool
    summaries: dict[str, str]


def store_exported(context: Context, exported: Exported) -> ExportedSession:
    """Store the turns of an exported session that the book has not; durable on return.

    What it says of itself is masked and screened, and holds nothing that was forgotten here. A session that the book
    knows keeps what it says of itself, unless it has grown in the file.
    """
    known = _stored_session(context, exported.session.uuid)
    mask = Mask(context)
    session = fit_session(context, exported.session, mask)
    if not exported.turns and known is None and context.config.transcripts.enabled:
        context.book.transcripts.append(session, ())
    stored = store(context, session, exported.turns)
    before = None if known is None else known.updated
    newer = before is None or (session.updated is not None and session.updated >= before)
    leads = known is None or (stored.new > 0 and newer)
    work = taken(context, stored._replace(redacted=stored.redacted + mask.count))
    told = _page(session, stored.turns) if exported.session.path else SessionSummary(session="", title="", summary="")
    gone = exported.session.summary and not session.summary  # nothing that it told may stay: it is told anew
    makes = leads and not gone and (told.summary or work.last.standing is None)
    forgot = any(reason == FORGOTTEN for _, reason in stored.skipped)  # in whose words would a summary tell of it?
    given = {} if forgot else {id: _without_instructions(mask.text(said)) for id, said in exported.summaries.items()}
    left = texts_without_forgotten(context, given.values()) if given else ()
    summaries = {id: text for id, text in zip(given, left, strict=True) if text}
    return ExportedSession(work._replace(told=told if makes else None), session, leads, summaries)


def _page(session: Session, turns: Sequence[Turn]) -> SessionSummary:
    """Return what stands in the session's summary document."""
    return SessionSummary(
        session=session.uuid,
        title=session.title,
        summary=session.summary,
        name=session.name,
        started=session.created,
        ended=session.ended,
        turns=len(turns),
        turn_ids=tuple(turn.id for turn in turns),
    )


def keep(context: Context, brought: ExportedSession) -> None:
    """Let the session say of itself what it is to say, now that it is memorized."""
    transcripts, session = context.book.transcripts, brought.session
    now = _stored_session(context, session.uuid)
    if now is None:
        return
    first, second = (session, now) if brought.leads else (now, session)
    name, title = first.name or second.name, first.title or second.title
    summary = first.summary or second.summary
    transcripts.update(replace(now, name=name, title=title, summary=summary, ended=first.ended))
    standing = transcripts.chat_summaries(session.uuid)
    for id, text in brought.summaries.items():
        if id not in standing:
            with suppress(NotFound):  # that turn was forgotten
                transcripts.set_chat_summary(session.uuid, id, text)


def _stored_session(context: Context, uuid: str) -> Session | None:
    """Return the session of that uuid, as the transcripts have it."""
    found = _session_called(context, uuid)
    return found if found is not None and found.uuid == uuid else None


def fit_session(context: Context, session: Session, mask: Mask | None = None) -> Session:
    """Return the session of an export as it may stand here: masked, screened, its summary where one may be."""
    mask = mask or Mask(context)
    masked: dict[str, Any] = {name: mask.text(getattr(session, name)) for name in _MASKED}
    session = replace(session, **masked, turn_ids=())
    before = SessionSummary(
        session=session.uuid, title=session.title, summary=_without_instructions(mask.text(session.summary))
    )
    after = without_forgotten(context, before)
    told = before if _is_same_summary(before, after) else after
    session = replace(session, title="" if screen(told.title) else told.title, summary=told.summary)
    return replace(session, path=_path(context, session))


def _without_instructions(text: str) -> str:
    """Return the summary without the sentences that try to instruct their reader."""
    before = SessionSummary(session="", title="", summary=text)
    after = sifted(before, lambda part: screen(part) is None)
    return text if _is_same_summary(before, after) else after.summary


def _is_same_summary(before: SessionSummary, after: SessionSummary) -> bool:
    """Return whether nothing was taken out; sifting may have left out blanks."""
    return (before.title, before.summary.split()) == (after.title, after.summary.split())


def _path(context: Context, session: Session) -> str:
    """Return where its summary stands, or will, if that is a place for one and no other session's; "" if not."""
    if not re.fullmatch(r"sessions/[^/]+\.md", session.path):
        return ""
    try:
        there = standing(context, session.path)
    except UnsafePath:
        return ""
    return session.path if there is None or parse(there).session == session.uuid else ""


# --- entries and notes that a file states --------------------------------------------------------


_WIDTH = 4000
_CATEGORIES = {kind: category for category, kind in KINDS.items()}


class _Wish(NamedTuple):
    """A change that a statement asks for, and the text and key by which it is known again."""

    change: Change
    text: str
    key: str


def take(
    context: Context, found: Sequence[Statement | Page], *, format: str, name: str, draft: Draft | None
) -> ImportResult:
    """Write what is new of these, in one operation; with a draft, only into that.

    Args:
        context: The book's.
        found: The statements.
        format: Name of their format.
        name: Of their file.
        draft: Where to work them in for a dry run; None writes.
    """
    mask = Mask(context)
    name = mask.text(name)
    skipped: list[tuple[str, str]] = []
    wishes = list(_wishes(context, found, mask, name, skipped))
    kept = remembered(context, [wish.text for wish in wishes])
    gone = [wish for wish in wishes if not kept(wish.text)]
    skipped += [("(forgotten)", FORGOTTEN) for wish in gone]
    new = [wish for wish in wishes if kept(wish.text)]
    known = _brought_before(context, new, f"import:{format}", draft)
    new = [wish for wish in new if wish.key not in known]
    left = [Discarded(text=text, reason=reason) for text, reason in skipped if reason != FORGOTTEN]
    left += [unnamed(wish.text) for wish in gone] if draft is None else []
    outcomes = _applied(context, new, left, f"import:{format}", draft)
    kinds = [one.applied.kind if one.applied is not None else "" for one in outcomes]
    return ImportResult(
        entries=kinds.count("add"),
        strengthened=kinds.count("reinforce"),
        notes=kinds.count("append"),
        known=len(wishes) - len(gone) - len(new) + kinds.count(""),
        redacted=mask.count if new else 0,
        skipped=tuple(skipped),
    )


def _applied(
    context: Context, new: Sequence[_Wish], left: Sequence[Discarded], scope: str, draft: Draft | None
) -> tuple[Outcome, ...]:
    if draft is not None:
        return tuple(draft.do(wish.change) for wish in new)
    if not new:
        return ()
    changes = [wish.change for wish in new]
    result = context.book.apply(changes, actor=context.actor, door=BY_IMPORT, kind="import", discarded=left)
    operation = result.operation.id if result.operation else ""
    keys = [wish.key for wish in new]
    context.book.journal.mark_memorized(scope, *keys, operation=operation, time=context.book.now())
    return result.outcomes


def _brought_before(context: Context, wishes: Sequence[_Wish], scope: str, draft: Draft | None) -> set[str]:
    """Keys of what an import that stands has brought, and of what entries that stand say."""
    journal = context.book.journal
    undone = journal.undone()
    standing = {normalise(entry.text) for entry in context.book.entries()}
    known: set[str] = set()
    for wish in wishes:
        operation = journal.memorized(scope, wish.key)
        said = isinstance(wish.change, Add) and (
            normalise(wish.text) in standing or (draft is not None and draft.saying(wish.text) is not None)
        )
        if said or (operation is not None and operation not in undone):
            known.add(wish.key)
    return known


def _wishes(
    context: Context, found: Sequence[Statement | Page], mask: Mask, name: str, skipped: list[tuple[str, str]]
) -> Iterator[_Wish]:
    for one in found:
        if isinstance(one, Page):
            yield from _of_page(context, one, mask, name, skipped)
            continue
        text = mask.text(" ".join(one.text.split()))
        reason = screen(text)
        if reason is not None:
            skipped.append((text, reason))
        else:
            yield _Wish(
                Add(entry=_entry(context, one, text, mask, name), reason=f"imported from {name}"), text, _key(one)
            )


def _key(one: Statement) -> str:
    return digest(f"{one.key}\0{one.text}")


def _entry(context: Context, one: Statement, text: str, mask: Mask, name: str) -> Entry:
    now = context.book.now()
    return Entry(
        id=memory_md.new_id(()),
        text=text,
        category=category_of(one.category),
        score=fade.importance_score("medium"),
        scored=now.date(),
        last_activated=now.date(),
        created=one.time or one.changed or now,
        source=f"import:{name}",
        tags=tuple(tag for tag in mask.words(one.tags) if not screen(re.sub(r"[-_/]+", " ", tag))),
        expires=one.expires,
        archived=one.expires is not None and one.expires < now.date(),
        trust="import",
        metadata=mask.json(one.metadata),
    )


def _of_page(context: Context, page: Page, mask: Mask, name: str, skipped: list[tuple[str, str]]) -> Iterator[_Wish]:
    now = context.book.now()
    found, left = notes_of(mask.text(page.text), now=page.time or now, limit=len(page.text), width=_WIDTH, every=True)
    skipped += [(each.text, each.reason) for each in left if each.reason not in ("empty", "duplicate")]
    for note in found:
        if page.time is None:
            category = _CATEGORIES.get(note.kind or "", "fact")
            one = Statement(note.text, key="", category=category, tags=note.tags)
            yield _Wish(
                Add(entry=_entry(context, one, note.text, mask, name), reason=f"imported from {name}"),
                note.text,
                _key(one),
            )
        else:
            path, line = session_md.daily_path(context.book.day(note.time)), session_md.render_line(note)
            yield _Wish(
                Append(path=path, line=line, reason=f"imported from {name}"), note.text, digest(f"{path}\0{note.text}")
            )


# --- sessions that go on with one that an earlier file began -------------------------------------


_CONTINUES = "continues"
"""Under which the journal has the sessions that others go on with, so that what is forgotten of them stays so."""

_COUNTING = (
    r"(?i)(?:new )?(?:session|chat|conv|conversation|dialogue|talk|thread|day|[a-z]|会话|对话|聊天)?[\W_]*\d{0,4}"
)


def as_continuation(context: Context, one: ImportedSession, *, apart: Container[str], dry_run: bool) -> ImportedSession:
    """Return the session as the one of the book that it goes on with; as it is if there is none.

    It goes on with the one session that was imported under the name that its file gives it, if it begins after the
    last turn of that, with somebody who speaks there, and gives no other turn an id of there. Names that only count,
    such as `S1`, are those of one file.

    Args:
        context: The book's.
        one: The session.
        apart: Uuids of the sessions that it is not, as they are of the same file.
        dry_run: Whether the journal is left as it is.
    """
    journal, uuid = context.book.journal, one.session.uuid
    if not one.session.name or _session_called(context, uuid) is not None:
        return one
    before = journal.memorized(_CONTINUES, uuid)
    if before is None:
        found = _begun_session(context, one)
        if found is None or found.uuid in apart:
            return one
        before = found.uuid
        if not dry_run:
            journal.mark_memorized(_CONTINUES, uuid, operation=before, time=context.book.now())
    named = {CAME_IN: one.session.source}
    turns = tuple(replace(turn, session=before, metadata={**turn.metadata, **named}) for turn in one.turns)
    return ImportedSession(replace(one.session, uuid=before), turns)


def _begun_session(context: Context, one: ImportedSession) -> Session | None:
    """Return the session that it goes on with, as far as one can tell."""
    name, first = one.session.name, one.turns[0]
    found = None if re.fullmatch(_COUNTING, name) else _session_called(context, name)
    if found is None or not found.source.startswith("import:") or first.time is None or found.updated is None:
        return None
    if first.time < found.updated or context.book.journal.buried([turn_key(one.session.uuid, first.id)]):
        return None
    kept = context.book.transcripts.turns(found.uuid)
    same = first.speaker in {turn.speaker for turn in kept}
    return found if same and {turn.id for turn in kept}.isdisjoint(turn.id for turn in one.turns) else None


def _session_called(context: Context, name: str) -> Session | None:
    """Return the session of that uuid or name; None if there is none, or more than one."""
    with suppress(NotFound, Conflict):
        return context.book.transcripts.session(name)
    return None
