"""Import what other programs keep: sessions go the way of every session, by rules in batches, or by a model."""

from __future__ import annotations

import os
import re
import sys
import time
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import date
from itertools import groupby
from typing import IO, TYPE_CHECKING, NamedTuple

from memorybook.book import fade
from memorybook.entries.durable_notes import KINDS, notes_of
from memorybook.entries.read import Mask
from memorybook.entries.read_reply import category_of
from memorybook.errors import Conflict, InvalidInput, NotFound
from memorybook.exchange import export, importers
from memorybook.exchange.collect import fit_session, texts_still_told, without_instructions
from memorybook.exchange.importers import CountingFile, Page, Source, Statement, archive_errors, sources
from memorybook.exchange.importers.records import several
from memorybook.forget.tombstones import FORGOTTEN, discard_unquoted, not_forgotten, turn_key
from memorybook.formats import memory_md, session_md
from memorybook.formats.messages_json import CAME_IN, ImportedSession
from memorybook.formats.sessions_json import Exported
from memorybook.model import Add, Append, Change, Discarded, Entry, Session, SessionSummary
from memorybook.results import Imported
from memorybook.sessions.memorize import BY_IMPORT, How, Work, foreseen, looked_through, memorize_stored, taken, written
from memorybook.sessions.summary import mirror
from memorybook.sessions.turns import store, zone_of
from memorybook.text.screen import screen
from memorybook.text.tokens import digest, is_chinese, normalise
from memorybook.validate import day_of

if TYPE_CHECKING:
    from memorybook.book.transaction import Draft
    from memorybook.context import Context
    from memorybook.protocols import Progress


BATCH = 2500
"""Turns of sessions that an import takes in together: they are as many documents, and MEMORY.md once."""

TELL_EVERY = 0.3
"""Seconds between two reports of progress, at least."""

_WHOLE_SESSION = (ImportedSession, Exported)


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
    importing = _Import(context, scope, format, date.fromisoformat(first) if first else None, progress)
    importing.by_model = by_model and not dry_run
    importing.draft = context.book.draft() if dry_run else None
    before = export.revision(context)
    with ExitStack() as archives:
        found = [
            (path, [Source("-", 0, lambda: sys.stdin.buffer, named=True)])
            if path == "-"
            else (path, archives.enter_context(sources(path, importing.warnings.append, format)))
            for path in dict.fromkeys(paths)
        ]
        importing.total = sum(source.size for _, each in found for source in each)
        for path, each in found:
            importing.all_of(path, each)
    importing.flush()
    if dry_run:
        return importing.report(())
    synced = context.book.refresh()
    degraded = [*synced.degraded]
    if context.config.transcripts.auto_export and export.revision(context) not in (None, before):
        degraded += filter(None, [export.by_itself(context)])
    return importing.report(degraded, synced.pending_vectors)


class _Item(NamedTuple):
    """A parsed item to import, with the format and the name of its file."""

    one: importers.Taken
    format: str
    name: str


class _Import:
    """Imports files one after the other, and counts.

    Attributes:
        by_model: Whether to ask the language model, once a session.
        draft: Collects the changes of a dry run; None writes.
        total: Size of all files in bytes.
    """

    def __init__(
        self, context: Context, scope: str | None, format: str | None, since: date | None, progress: Progress | None
    ) -> None:
        self.by_model, self.total = False, 0
        self.draft: Draft | None = None
        self.warnings: list[str] = []
        self._context = context
        self._scope, self._format, self._since, self._progress = scope, format, since, progress
        self._before = self._at = self._taken_in = self._steps = 0
        self._told = time.monotonic()
        self._counts = Counter[str]()
        self._left_out = Counter[str]()
        self._skipped: list[tuple[str, str]] = []
        self._summaries: list[str] = []
        self._degraded: dict[str, None] = {}
        self._formats: dict[str, None] = {}
        self._held: list[_Item] = []
        self._holding = 0
        self._uuids: set[str] = set()
        self._names: set[str] = set()
        self._foreseen: dict[str, set[str]] = {}

    # --- files ---------------------------------------------------------------------------------

    def all_of(self, path: str, found: Sequence[Source]) -> None:
        """Take in the files of one path; of a folder or archive, those in which there is something."""
        files, left = self._counts["files"], list[tuple[str, str]]()
        for source in found:
            try:
                self._one(source)
            except (InvalidInput, NotFound) as error:
                if source.named:
                    raise
                left.append((os.path.basename(source.name), str(error)))
            self._before += source.size
        if self._counts["files"] == files:
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
        counted = CountingFile(file)
        reading = importers.opened(
            source.name,
            counted,
            scope=self._scope,
            timezone=zone_of(self._context),
            format=self._format or source.format,
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
                if one.session.name in self._names:
                    self.flush()
                one = as_continuation(self._context, one, apart=here, dry_run=self.draft is not None)
                here.add(one.session.uuid)
                self._names.add(one.session.name)
            if self._is_wanted(one):  # what is held is taken in first, where this is too much or of a session held
                uuid = one.session.uuid if isinstance(one, _WHOLE_SESSION) else ""
                if self._held and (self._holding + _size(one) > BATCH or uuid in self._uuids):
                    self.flush()
                self._uuids |= {uuid} - {""}
                self._held.append(_Item(one, reading.format, os.path.basename(source.origin or source.name)))
                self._holding += _size(one)
            self._at = self._before + counted.read_so_far * done // (whole or done)
        if not done:
            raise importers.nothing_in(source.name, reading.warnings, reading.format)
        self._counts["files"] += 1
        self._formats[reading.format] = None
        prefix = "" if source.named else f"{os.path.basename(source.name)}: "
        self.warnings += [prefix + warning for warning in importers.few(reading.warnings)]

    def _is_wanted(self, one: importers.Taken) -> bool:
        """Return whether it is of the days that are asked for: a session whole, if anything in it is."""
        if self._since is None:
            return True
        if isinstance(one, _WHOLE_SESSION):
            last = one.session.ended or one.session.updated
        else:
            last = (one.changed if isinstance(one, Statement) else one.created) or one.time
        if last is not None and self._context.book.day(last) >= self._since:
            return True
        self._left_out["without a time" if last is None else f"before {self._since}"] += 1
        return False

    # --- batches -------------------------------------------------------------------------------

    def flush(self) -> None:
        """Take in what is held, for which each document is written once."""
        sessions = [held.one for held in self._held if isinstance(held.one, _WHOLE_SESSION)]
        self._counts.update(sessions=len(sessions), turns=sum(len(one.turns) for one in sessions))
        if self.by_model:
            for one in sessions:
                self._memorize(one)
        elif sessions:
            self._capture(sessions)
        for (format, name), group in groupby(self._held, key=lambda held: (held.format, held.name)):
            stated = [held.one for held in group if isinstance(held.one, Statement | Page)]
            if stated:
                self._take(stated, format, name)
        self._held, self._holding, self._uuids, self._names = [], 0, set(), set()
        self._taken_in, self._steps = self._at, 0
        if self._progress is not None:
            self._progress(self._at, self.total)

    def _step(self) -> None:
        """Count one of the steps (stored, read, matched, written) of a session that is held; report, if it is time."""
        self._steps += 1
        now = time.monotonic()
        if self._progress is not None and now - self._told >= TELL_EVERY:
            self._told = now
            share = min(1.0, self._steps / (4 * len(self._held)))
            self._progress(round(self._taken_in + share * (self._at - self._taken_in)), self.total)

    def _memorize(self, one: ImportedSession | Exported) -> None:
        """Take in one session as the memory's language model remembers it; it is queued if the model fails."""
        context, session = self._context, one.session
        if isinstance(one, Exported):
            session = fit_session(context, session, Mask(context))
        stored = store(context, session, one.turns)
        found = memorize_stored(context, stored, How(door=BY_IMPORT))
        self._degraded |= dict.fromkeys(found.degraded)
        self._skipped += [(each.text, each.reason) for each in found.discarded]
        self._summaries += filter(None, [found.summary])
        self._counts.update(
            new_turns=stored.new,
            entries=found.new + found.updated + found.merged,
            strengthened=found.reinforced,
            notes=found.notes,
            redacted=stored.redacted if stored.new else 0,
        )

    def _capture(self, sessions: Sequence[ImportedSession | Exported]) -> None:
        """Take in sessions by rules, each once per content and in an operation of its own, and write them together.

        The turns are durable before anything is extracted from them; if it stops anywhere, the next import of the same
        session goes on from there: the journal knows what was memorized.
        """
        context, draft = self._context, self.draft
        works, exported = list[Work](), list[ExportedSession]()
        for one in sessions:
            self._step()
            if draft is None and isinstance(one, Exported):
                exported.append(store_exported(context, one))
                works.append(exported[-1].work)
                continue
            session, turns = one.session, one.turns
            if isinstance(one, Exported):
                session = fit_session(context, session, Mask(context))
            if draft is not None:  # nothing is stored that would tell which turns another file has brought
                seen = self._foreseen.setdefault(session.uuid, set())
                turns = tuple(turn for turn in turns if turn.id not in seen)
                seen.update(turn.id for turn in turns)
            works.append(taken(context, store(context, session, turns, dry_run=draft is not None)))
        for place, work in enumerate(works):
            self._step()
            works[place] = looked_through(context, work) if work.fresh else work
        fresh = [work for work in works if work.fresh]
        brought = iter(
            written(context, fresh, door=BY_IMPORT, kind="import", step=self._step)
            if draft is None
            else foreseen(context, fresh, draft)
        )
        for work in works:
            if work.fresh:
                one_written = next(brought)
                self._skipped += [(each.text, each.reason) for each in one_written.plan.discarded]
                self._summaries += filter(None, [one_written.summary])
                self._counts.update(
                    new_turns=work.stored.new if context.config.transcripts.enabled else len(work.fresh),
                    entries=len(one_written.applied("add")),
                    strengthened=len(one_written.applied("reinforce")),
                    notes=len(one_written.applied("append")),
                    redacted=work.stored.redacted if work.stored.new else 0,
                )
            else:
                self._skipped += work.stored.skipped
                if work.stored.turns and draft is None:  # a capture that was cut short may not have written it
                    mirror(context, work.stored.session, work.last.path)
        for known in exported:
            keep(context, known)

    # --- entries and notes that a file states ----------------------------------------------------

    def _take(self, found: Sequence[Statement | Page], format: str, name: str) -> None:
        """Write what is new of these statements of one file, in one operation."""
        context, mask, scope = self._context, Mask(self._context), f"import:{format}"
        skipped: list[tuple[str, str]] = []
        wishes = list(_wishes(context, found, mask, mask.text(name), skipped))
        kept = not_forgotten(context, [wish.text for wish in wishes])
        gone = [wish for wish in wishes if not kept(wish.text)]
        staying = [wish for wish in wishes if kept(wish.text)]
        known = self._known(staying, scope)
        new = [wish for wish in staying if wish.key not in known]
        if self.draft is not None:
            outcomes = [self.draft.do(wish.change) for wish in new]
        elif new:
            left = [Discarded(text=text, reason=reason) for text, reason in skipped]
            left += [discard_unquoted(wish.text) for wish in gone]
            changes = [wish.change for wish in new]
            result = context.book.apply(changes, actor=context.actor, door=BY_IMPORT, kind="import", discarded=left)
            operation, keys = result.operation.id if result.operation else "", [wish.key for wish in new]
            context.book.journal.mark_memorized(scope, *keys, operation=operation, time=context.book.now())
            outcomes = list(result.outcomes)
        else:
            outcomes = []
        kinds = [one.applied.kind if one.applied is not None else "" for one in outcomes]
        self._skipped += [*skipped, *(("(forgotten)", FORGOTTEN) for _ in gone)]
        self._counts.update(
            entries=kinds.count("add"),
            strengthened=kinds.count("reinforce"),
            notes=kinds.count("append"),
            known=len(staying) - len(new) + kinds.count(""),
            redacted=mask.count if new else 0,
        )

    def _known(self, wishes: Sequence[_Wish], scope: str) -> set[str]:
        """Return the keys of what an import that stands has brought, and of what entries that stand say."""
        journal, draft = self._context.book.journal, self.draft
        undone = journal.undone()
        standing = {normalise(entry.text) for entry in self._context.book.entries()}
        known: set[str] = set()
        for wish in wishes:
            operation = journal.memorized(scope, wish.key)
            said = isinstance(wish.change, Add) and (
                normalise(wish.text) in standing or (draft is not None and draft.saying(wish.text) is not None)
            )
            if said or (operation is not None and operation not in undone):
                known.add(wish.key)
        return known

    def report(self, degraded: Iterable[str], pending_vectors: int = 0) -> Imported:
        """Return what all of it brought."""
        left = (
            f"{several(count, 'session or memory', 'sessions or memories')} {why}, left out"
            for why, count in sorted(self._left_out.items())
        )
        names = ("sessions", "turns", "new_turns", "entries", "strengthened", "notes", "redacted", "known", "files")
        return Imported(
            **{name: self._counts[name] for name in names},
            skipped=tuple(self._skipped),
            warnings=(*self.warnings, *left, *self._degraded, *degraded),
            summaries=tuple(self._summaries),
            formats=tuple(self._formats),
            dry_run=self.draft is not None,
            pending_vectors=pending_vectors,
        )


def _size(one: importers.Taken) -> int:
    return max(1, len(one.turns)) if isinstance(one, _WHOLE_SESSION) else 1


class _Wish(NamedTuple):
    """A change that a statement asks for, and the text and key by which it is known again."""

    change: Change
    text: str
    key: str


def _wishes(
    context: Context, found: Sequence[Statement | Page], mask: Mask, name: str, skipped: list[tuple[str, str]]
) -> Iterator[_Wish]:
    categories = {kind: category for category, kind in KINDS.items()}
    for one in found:
        if isinstance(one, Statement):
            text = mask.text(" ".join(one.text.split()))
            reason = screen(text)
            if reason is not None:
                skipped.append((text, reason))
            else:
                yield _stated(context, one, text, mask, name)
            continue
        title = "" if screen(one.title) else mask.text(one.title)
        now = one.time or context.book.now()
        notes, left = notes_of(mask.text(one.text), now=now, limit=len(one.text), width=4000, every=True)
        skipped += [(each.text, each.reason) for each in left if each.reason not in ("empty", "duplicate")]
        for note in notes:
            note = replace(note, tags=tuple(dict.fromkeys((*mask.words(one.tags), *note.tags))))
            if one.time is None:
                kind = categories.get(note.kind or "", one.category or "fact")
                kind = one.category if one.category and kind == "preference" else kind
                text = note.text
                if title and normalise(title) not in normalise(text):
                    text = f"{title}：{text}" if is_chinese(text) else f"{title}: {text}"
                stated = Statement(text, "", one.created, category=kind, tags=note.tags, metadata=one.metadata)
                yield _stated(context, stated, text, mask, name)
                continue
            path, line = session_md.daily_path(context.book.day(note.time)), session_md.render_line(note)
            change = Append(path=path, line=line, reason=f"imported from {name}")
            yield _Wish(change, note.text, digest(f"{path}\0{note.text}"))


def _stated(context: Context, one: Statement, text: str, mask: Mask, name: str) -> _Wish:
    now = context.book.now()
    entry = Entry(
        id=memory_md.new_id(()),
        text=text,
        category=category_of(one.category),
        score=fade.importance_score("medium"),
        scored=now.date(),
        last_activated=now.date(),
        created=one.time or one.changed,
        source=f"import:{name}",
        tags=tuple(tag for tag in mask.words(one.tags) if not screen(re.sub(r"[-_/]+", " ", tag))),
        expires=one.expires,
        archived=one.expires is not None and one.expires < now.date(),
        trust="import",
        metadata=mask.json(one.metadata),
    )
    return _Wish(Add(entry=entry, reason=f"imported from {name}"), text, digest(f"{one.key}\0{one.text}"))


# --- sessions of an export, with their own titles and summaries, and those of their chats --------


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
    nothing = told = SessionSummary(session="", title="", summary="")
    if exported.session.path:
        told = SessionSummary(
            session=session.uuid,
            title=session.title,
            summary=session.summary,
            name=session.name,
            started=session.created,
            ended=session.ended,
            turns=len(stored.turns),
            turn_ids=tuple(turn.id for turn in stored.turns),
        )
    gone = exported.session.summary and not session.summary  # nothing that it told may stay: it is told anew
    makes = leads and not gone and (told.summary or work.last.standing is None)
    forgot = any(reason == FORGOTTEN for _, reason in stored.skipped)  # in whose words would a summary tell of it?
    said = {} if forgot else {id: replace(nothing, summary=mask.text(text)) for id, text in exported.summaries.items()}
    summaries = {id: without_instructions(each).summary for id, each in said.items()}
    work = work._replace(told=told if makes else None)
    return ExportedSession(work, session, leads, texts_still_told(context, summaries))


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
