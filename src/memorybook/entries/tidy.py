"""Tidying a book: by command, after a session's end, or on a heartbeat while nobody uses it.

By default lapsed todos and faded entries are archived at once: a search still finds them, and nothing is reworded.
Removal takes text out of the documents, and duplicates, conflicts and promotions are judgements that rules or a
model may get wrong: these wait for a person's word, unless the setting `tidy.apply` says otherwise.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.book import fade
from memorybook.entries.match import Alike, Proposed
from memorybook.entries.model_prompts import Language, ask
from memorybook.entries.read import Mask
from memorybook.entries.review import kept, key, key_of, propose_or_apply, stale, told, withdraw
from memorybook.entries.tidy_proposals import (
    JUDGE,
    KINDS,
    LAWS,
    OFTEN,
    DatedNote,
    divide,
    doubtful,
    named,
    plan,
    proposals,
    question,
    read,
)
from memorybook.errors import Conflict, InvalidInput, MemoryBookError, MissingDocument, NotFound, Unavailable
from memorybook.formats import session_md
from memorybook.model import Add, Entry
from memorybook.prompt.recall import note_key
from memorybook.results import to_json
from memorybook.text.tokens import digest, language_of, text_digest

if TYPE_CHECKING:
    from memorybook.context import Context


NOTES_DAYS = 90
"""Days of notes that are looked at for what is said often."""

MARK = "tidy"
"""Under this name the journal keeps up to which day the book was tidied, and what a model was asked about."""

ATTEMPTS = 3


class Suggested(NamedTuple):
    """Something that was done, or waits: its kind, why, and its changes in words; `proposal` is the id if it waits."""

    kind: str
    reason: str
    told: tuple[str, ...]
    proposal: str | None = None


class Tidied(NamedTuple):
    """What tidying did, or would.

    Attributes:
        dry_run: True if nothing was done.
        done: What was carried out, or would be.
        proposed: What waits for a person's word now, or would; what waited before is not told again.
        withdrawn: Ids of proposals that no longer fit.
        fading: Active entries whose strength is less than when it was written; nothing is written for that.
        operation: Id of the operation; None if nothing was done.
        usage: What a language model used; None if none was asked.
        degraded: Why less was done than is set, one sentence each.
    """

    dry_run: bool
    done: tuple[Suggested, ...] = ()
    proposed: tuple[Suggested, ...] = ()
    withdrawn: tuple[str, ...] = ()
    fading: int = 0
    operation: str | None = None
    usage: Mapping[str, Any] | None = None
    degraded: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        """Return all fields, and `counts` of what was done and proposed by kind."""
        counts = {name: dict(Counter(one.kind for one in getattr(self, name))) for name in ("done", "proposed")}
        return {**to_json(self), "counts": counts}


def tidy(context: Context, *, dry_run: bool = False, apply: Sequence[str] | None = None) -> Tidied:
    """Archive what has faded, and propose what else would do the book good.

    Work that failed before is tried again first. All that has faded or is past its day goes in one run, as far as the
    setting names its kind, even what waited before for a person's word. Of what is judged, no more than a quarter of
    the active entries (one in any case) is merged away; the rest waits in the review queue, and so does everything
    with `require_user_confirmation`.

    Args:
        dry_run: Only say what would happen; nothing is written, no model is asked.
        apply: Kinds that are carried out without asking, see `tidy_proposals.KINDS`; None takes the setting.

    Raises:
        InvalidInput: An unknown kind.
        Conflict: A person kept saving the documents all the while.
    """
    return _run(context, kinds_of(context, apply), dry_run, _Asked() if dry_run else _asked(context))


def kinds_of(context: Context, apply: Sequence[str] | None) -> tuple[str, ...]:
    """Return the kinds to carry out unasked; None takes the setting. Raises InvalidInput for an unknown one."""
    kinds = context.config.tidy.apply if apply is None else tuple(apply)
    unknown = set(kinds) - set(KINDS)
    if unknown:
        raise InvalidInput(f"tidying knows no {min(unknown)!r}: use some of {', '.join(KINDS)}")
    return kinds


class _Asked(NamedTuple):
    """What a model said of entries that rules cannot tell apart, with the entries as it saw them."""

    found: Sequence[Proposed] = ()
    seen: Mapping[str, Entry] = {}
    usage: Mapping[str, Any] | None = None
    degraded: tuple[str, ...] = ()


def _run(context: Context, kinds: Sequence[str], dry_run: bool, asked: _Asked, since: date | None = None) -> Tidied:
    for _ in range(ATTEMPTS - 1):
        with suppress(NotFound, Conflict):  # a person takes an entry out right now
            return _tidied(context, kinds, dry_run, asked, since)
    return _tidied(context, kinds, dry_run, asked, since)


def _tidied(context: Context, kinds: Sequence[str], dry_run: bool, asked: _Asked, since: date | None) -> Tidied:
    book, journal = context.book, context.book.journal
    entries = {entry.id: entry for entry in book.entries()}
    outdated = {each.id: why for each in journal.proposals() if (why := stale(book, each, entries))}
    open_ = journal.proposals()
    for each in open_ if not dry_run else ():
        if each.id in outdated:
            withdraw(context, each, outdated[each.id])
    planned = _planned(context, entries, since)
    taken = {id for each in planned for id in named(each.changes)}
    for one in asked.found:  # only of entries that are as the model saw them
        ids = named(one.changes)
        if not ids & taken and all(entries.get(id) == asked.seen[id] for id in ids if id in asked.seen):
            planned.append(one)
    unasked = () if context.config.require_user_confirmation else kinds
    due = set(unasked) & set(LAWS)  # these need nobody's word any more
    waiting = [each for each in journal.proposals() if each.kind not in due and each.id not in outdated]
    known = {key_of(each.changes) for each in (*waiting, *journal.proposals(state="rejected"))}
    fresh = [each for each in planned if key(each.changes, entries) not in known]
    now, later = divide(fresh, apply=unasked, entries=entries.values())
    done, proposed = (
        tuple(
            Suggested(each.kind, each.reason, tuple(told([kept(one, entries, None) for one in each.changes], entries)))
            for each in part
        )
        for part in (now, later)
    )
    today = book.now().date()
    fading = sum(entry.state == "active" and fade.strength(entry, today) < entry.score for entry in entries.values())
    report = Tidied(dry_run, done, proposed, tuple(outdated), fading, usage=asked.usage, degraded=asked.degraded)
    return report if dry_run else _carried_out(context, report, now, later)


def _carried_out(context: Context, report: Tidied, now: Sequence[Proposed], later: Sequence[Proposed]) -> Tidied:
    book = context.book
    changes = [change for each in now for change in each.changes]
    submitted = propose_or_apply(context, changes, kind="tidy", proposed=later, usage=report.usage)
    operation = submitted.result.operation.id if submitted.result.operation else None
    book.journal.reach(MARK, book.now().date().toordinal(), time=book.now())
    ids = {key_of(each.changes): each.id for each in book.journal.proposals()}
    entries = {entry.id: entry for entry in book.entries()}
    waiting = tuple(
        each._replace(proposal=ids.get(key(one.changes, entries)))
        for each, one in zip(report.proposed, later, strict=True)
    )
    return report._replace(proposed=waiting, operation=operation)


# --- what to do ----------------------------------------------------------------------------------


def _planned(context: Context, entries: Mapping[str, Entry], since: date | None = None) -> list[Proposed]:
    """Plan what tidying does, but for what people wanted forgotten."""
    book = context.book
    found = plan(
        entries.values(),
        today=book.now().date(),
        notes=_notes(context),
        uses=book.access_counts(entries),
        similarity=_alike(context),
        since=since,
    )
    adding = [{digest(one.entry.text) for one in each.changes if isinstance(one, Add)} for each in found]
    buried = book.journal.buried({one for each in adding for one in each})
    return [each for each, texts in zip(found, adding, strict=True) if texts.isdisjoint(buried)]


def _alike(context: Context) -> Alike | None:
    """Return cosines of a local embedder; tidying sends no memories to a service for that."""
    return Alike(context) if context.embedder is not None and context.embedder.local else None


def _asked(context: Context) -> _Asked:
    """Ask the model, if there is one and it may be asked, about pairs that it was not asked about before."""
    tokens, journal = context.config.tidy.tokens, context.book.journal
    try:
        llm = context.metered() if tokens else None
    except MemoryBookError as error:
        return _Asked(degraded=(f"no language model was asked: {error}",))
    if llm is None:
        return _Asked()
    entries = {entry.id: entry for entry in context.book.entries()}

    def name(pair: tuple[Entry, Entry]) -> str:
        return text_digest(f"{pair[0].text}\n{pair[1].text}")  # another wording is another pair

    doubts = doubtful(entries.values(), _planned(context, entries), _alike(context))
    doubts = [pair for pair in doubts if journal.memorized(MARK, name(pair)) is None]
    spoken = language_of(context.config.language, [older.text for older, _ in doubts])
    language: Language = "zh" if spoken == "zh" else "en"
    shown, pairs = question(doubts, language, tokens=tokens, mask=Mask(context).text)
    if not pairs:
        return _Asked()
    try:
        answer, _ = ask(llm, JUDGE, language, shown, lambda value: read(value, pairs))
    except Exception as error:  # anybody's model may raise anything, and rules have done the rest
        used = {**llm.usage.json(), "model": llm.name}
        return _Asked(usage=used, degraded=(f"the language model could not be asked: {error}",))
    for pair in pairs:
        journal.mark_memorized(MARK, name(pair), operation="", time=context.book.now())
    found = proposals(answer, context.book.now().date(), by=llm.name)
    return _Asked(found, entries, {**llm.usage.json(), "model": llm.name})


def _notes(context: Context) -> list[DatedNote]:
    """List the notes of the last 90 days, oldest first, with the days on which each stood in a prompt."""
    book = context.book
    first = book.day(book.now()) - timedelta(days=NOTES_DAYS)
    days = {day for info in book.documents.list() if (day := session_md.day_of(info.path)) and day >= first}
    found = [each for day in sorted(days) for each in _of_page(context, day)]
    counts = book.access_counts({note_key(each.note.text) for each in found})
    often = {key for key, count in counts.items() if count >= OFTEN}
    shown = {key: frozenset(book.day(each.time) for each in book.journal.prompts_of(key)) for key in often}
    return [each._replace(shown=shown.get(note_key(each.note.text), frozenset())) for each in found]


def _of_page(context: Context, day: date) -> Iterator[DatedNote]:
    path = session_md.daily_path(day)
    with suppress(MissingDocument):
        for number, line in enumerate(context.book.documents.read(path).text.split("\n"), 1):
            note = session_md.parse_line(line, day=day)
            if note is not None and note.text.strip():
                yield DatedNote(note, f"{path}#L{number}", day)


# --- when ----------------------------------------------------------------------------------------


def after_session(context: Context) -> Tidied | None:
    """Tidy after a session's end, at most once a UTC day; None if that was done today or is switched off.

    What failed before is not tried again here, no model is asked, and duplicates and conflicts are looked for only of
    what was said since the last time: a session's end should not cost more than it must.
    """
    book = context.book
    today, last = book.now().date().toordinal(), book.journal.reached(MARK)
    if not context.config.tidy.after_session or last >= today:
        return None
    since = date.fromordinal(last) if last > 0 else None
    return _run(context, context.config.tidy.apply, False, _Asked(), since)


def is_idle(context: Context, idle: float) -> bool:
    """Whether nobody wrote to the book for `idle` seconds: no turn was stored, nothing was done but tidying."""
    book = context.book
    times = [session.updated for session in book.transcripts.sessions(limit=1)]
    times += [each.time for each in book.journal.operations(limit=10) if each.kind != "tidy"][:1]
    since = book.now() - timedelta(seconds=idle)
    return all(time is None or time <= since for time in times)


def heartbeat(
    context: Context,
    run: Callable[[], Tidied],
    *,
    every: float,
    idle: float | None = None,
    stop: threading.Event | None = None,
    on_run: Callable[[Tidied], None] = lambda tidied: None,
) -> None:
    """Tidy now and then, only while the book is idle, until `stop` is set.

    Args:
        run: Tidies once.
        every: Seconds from one run to the next, above 0.
        idle: Seconds without a write that make the book idle; None takes `idle_timeout`. While it is busy, it is
            looked at again after that time.
        stop: None never stops.
        on_run: Told what each run did.

    Raises:
        InvalidInput: `every` is not above 0.
    """
    if not every > 0:
        raise InvalidInput(f"every {every:g} seconds is not above 0")
    idle = context.config.idle_timeout if idle is None else idle
    stop = stop or threading.Event()
    while not stop.is_set():
        pause = every
        try:
            if is_idle(context, idle):
                on_run(run())
            else:
                pause = min(every, max(idle, 1.0))
        except (Conflict, Unavailable) as error:  # the next run may find it free
            on_run(Tidied(False, degraded=(str(error),)))
        stop.wait(pause)
