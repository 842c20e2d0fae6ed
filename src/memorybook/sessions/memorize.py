"""Remembering what was said: turns -> extract -> ground -> match -> one operation with the summary of the session.

The one pipeline of every way in: the end of a session (by a model where there is one) and imports (by rules). The
decisions are pure steps of `entries`; here they are put in order. The model is asked outside of every lock but one
of its own, and what it said is carried out on the entries as they stand by then. Where the model fails the session
waits in a queue for the next occasion.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from memorybook.book.book import Group, retried
from memorybook.book.transaction import Draft, Outcome, Result
from memorybook.entries.evolve import evolve
from memorybook.entries.extract import extract
from memorybook.entries.match import Decision, EmbedderSimilarity, IndexNeighbours, Ledger, Proposed, Talk, match
from memorybook.entries.read import Mask
from memorybook.entries.read_reply import Candidate, Extraction
from memorybook.entries.review import Submitted, propose, propose_or_apply_each
from memorybook.entries.rules import by_rules
from memorybook.entries.same import by_words
from memorybook.entries.tidy import after_session
from memorybook.errors import BudgetSpent, ConfigError, Conflict, InvalidInput, LLMFailed, NotFound, Unavailable
from memorybook.exchange import export
from memorybook.forget.cutting import without_forgotten_turns
from memorybook.forget.forget_requests import Orders, asked_to_remember, last_statement, resolve_all, without_requested
from memorybook.forget.order_text import asked_to_forget
from memorybook.forget.tombstones import (
    FORGOTTEN,
    ORDER,
    as_journaled,
    discard_unquoted,
    filter_turns,
    not_forgotten,
    summary_filter,
    turn_key,
    undone_orders,
    without_forgotten,
    without_undone_orders,
)
from memorybook.formats import changes_json, session_md
from memorybook.model import Append, Change, Discarded, Note, Session, SessionSummary, Turn
from memorybook.results import Left, Memorized
from memorybook.sessions.dialogue import stretches
from memorybook.sessions.summary import BROUGHT, Page, last_page, made, mirror, page_change, refresh
from memorybook.sessions.turns import HOSTED, SOURCE, Stored, store, talk_of, zone_of
from memorybook.text.tokens import digest

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.model import Parked
    from memorybook.protocols import LLM, Function

KIND = "memorize"
"""Kind of the queue's items, and of the operations that remember them."""

BY_IMPORT = "import"
"""The door of conversations that a person brings: carried out at once, and nobody's orders in them are obeyed."""

AT_ONCE = 3
"""Sessions of the queue that the end of another one works off."""

WAITS = (timedelta(minutes=5), timedelta(minutes=15), timedelta(hours=1), timedelta(hours=4), timedelta(hours=12))
"""How long a session waits after its first failure, its second …; after that a day each time."""

BUSY = "another process was remembering a session all the while"
CUT_SHORT = "it is being remembered now, or whoever did so has died over it"

OVER = 2**62
"""Position up to which a session is memorized that is over: nothing is ever added to it."""


Step = Callable[[], None]
"""Called as one thing after the other is done."""


class Work(NamedTuple):
    """The work on one session before matching.

    Attributes:
        stored: The stored session.
        last: Its page as last written.
        fresh: Its turns not memorized before.
        found: Their extraction; None until it is made.
        llm: The model that was asked, if any.
        told: The summary that it came with; None if one is to be made.
    """

    stored: Stored
    last: Page
    fresh: tuple[Turn, ...]
    found: Extraction | None = None
    llm: LLM | None = None
    told: SessionSummary | None = None


class Plan(NamedTuple):
    """The effect of one session on the book as it is.

    Attributes:
        changes: Changes besides the summary.
        discarded: What is not stored, with the reason.
        proposed: What waits for a person's confirmation.
        decisions: The outcome of each candidate.
        orders: The outcome of requests to forget.
        degraded: Why a model decided less than is set; "" if not.
    """

    changes: tuple[Change, ...] = ()
    discarded: tuple[Discarded, ...] = ()
    proposed: tuple[Proposed, ...] = ()
    decisions: tuple[Decision, ...] = ()
    orders: Orders = Orders()
    degraded: str = ""


class Written(NamedTuple):
    """The plan for a session, and its result.

    Attributes:
        summary: Path of the session's summary; "" if none was written, because it would be empty or waits.
    """

    plan: Plan
    submitted: Submitted
    summary: str

    def applied(self, kind: str) -> list[Outcome]:
        """Return the outcomes of one kind of change that did something."""
        outcomes = self.submitted.result.outcomes
        return [one for one in outcomes if one.applied is not None and one.applied.kind == kind]


class How(NamedTuple):
    """Options for memorizing a session.

    Attributes:
        llm: The model to ask; None is the memory's own.
        model: Another model of the configured server; "" is the configured one.
        evolving: Whether to compare new statements with their neighbours (`entries.evolve`).
        door: The interface it came through; "" is the memory's.
    """

    llm: LLM | Function | None = None
    model: str = ""
    evolving: bool = False
    door: str = ""


# --- the end of a session --------------------------------------------------------------------------


def process_session_end(
    context: Context,
    messages: Sequence[Mapping[str, Any]],
    session: str | None = None,
    *,
    llm: LLM | Function | None = None,
    model: str = "",
    evolving: bool | None = None,
) -> Memorized:
    """See `Memory.process_session_end`; if `evolving` (None: by the setting `provider`) statements meet neighbours."""
    how = How(llm, model, context.config.provider == "agentic" if evolving is None else evolving)
    found = process_stored(context, _stored(context, messages, session), how)
    failed = export.by_itself(context) if context.config.transcripts.auto_export else ""
    return found._replace(degraded=(*found.degraded, failed)) if failed else found


def process_stored(context: Context, stored: Stored, how: How) -> Memorized:
    """Memorize what is new in a session that is stored, sum it up, work off some of the queue, tidy if it is time."""
    found = memorize_stored(context, stored, how)
    try:
        reason = refresh(context, found.session, over=True)
        if not found.queued:
            with context.book.storage.lease(KIND) as ours:
                if ours:
                    _work_off(context, AT_ONCE, how)
    except Unavailable as error:  # what was said is remembered all the same
        reason = str(error)
    if reason:
        found = found._replace(degraded=tuple(dict.fromkeys((*found.degraded, reason))))
    if found.queued:
        return found
    try:
        tidied = after_session(context)
    except (Conflict, NotFound, Unavailable) as error:
        return found._replace(degraded=(*found.degraded, f"the book was not tidied: {error}"))
    if tidied is None:
        return found
    waiting = tuple(each.proposal for each in tidied.proposed if each.proposal is not None)
    return found._replace(
        archived=found.archived + sum(each.kind in ("archive", "expire") for each in tidied.done),
        removed=found.removed + sum(each.kind == "remove" for each in tidied.done),
        proposals=tuple(dict.fromkeys((*found.proposals, *waiting))),
    )


def memorize_stored(context: Context, stored: Stored, how: How) -> Memorized:
    """Memorize what is new in a session that is stored, or queue it; waits while another session is memorized.

    It waits for as long as a call of a model may take twice.
    """
    if not stored.turns:
        left = tuple(Left(*each) for each in stored.skipped)
        return Memorized(session=stored.session.uuid, discarded=left, redacted=stored.redacted)
    patience = time.monotonic() + 2 * context.config.llm.timeout
    while True:
        with context.book.storage.lease(KIND) as ours:
            if ours:
                return _memorize(context, stored, how)
            if time.monotonic() > patience:
                return _parked(context, taken(context, with_kept(context, stored)), Unavailable(BUSY), how)
        time.sleep(0.05)


def put_off(context: Context, messages: Sequence[Mapping[str, Any]], session: str, reason: str) -> Memorized:
    """Have a session wait in the queue that a provider could not remember; what waits already is left as it is.

    Where there is no language model to wait for, rules remember it.
    """
    stored = _stored(context, messages, session)
    if not stored.turns:
        return Memorized(session=stored.session.uuid)
    if waits_for(context, stored.session) is not None:
        return Memorized(session=stored.session.uuid, queued=len(parked(context)), degraded=(reason,))
    with suppress(ConfigError):
        if context.metered() is None:
            return memorize_stored(context, stored, How())
    return _parked(context, taken(context, stored), LLMFailed(reason), How())


def end(context: Context, session: str, time: datetime) -> None:
    """Record that a session is over, with its summaries as they stand then; of one that is gone nothing is done."""
    context.book.journal.reach(session, OVER, time=context.book.now())
    transcripts = context.book.transcripts
    try:
        transcripts.update(replace(transcripts.told(session).session, ended=time))
    except NotFound:  # forgotten meanwhile
        return
    refresh(context, session, over=True)
    if context.config.transcripts.auto_export:
        export.after_session(context)


def left_open(context: Context, *, limit: int | None = None) -> Sequence[str]:
    """Return sessions (uuid) idle for longer than `idle_timeout`, oldest of a source first. Cheap."""
    config = context.config
    if not (config.enabled and config.transcripts.enabled and config.idle_timeout):
        return ()
    before = context.book.now() - timedelta(seconds=config.idle_timeout)
    known = context.book.transcripts.left_open
    return [*known(SOURCE, before, limit=limit), *known(HOSTED, before, limit=limit)][:limit]


def _stored(context: Context, messages: Sequence[Mapping[str, Any]], session: str | None) -> Stored:
    said = [message for message in messages if not _is_blank(message)]
    if said:
        return store(context, *talk_of(context, said, session))
    if not session:
        raise InvalidInput("there is nothing to remember: give messages, or a session whose turns are stored")
    return _as_stored(context, session)


def _as_stored(context: Context, session: str) -> Stored:
    try:
        known = context.book.transcripts.session(session)
    except NotFound:  # never stored, or forgotten meanwhile
        return Stored(Session(uuid=session), ())
    return Stored(known, tuple(context.book.transcripts.turns(known.uuid)))


def _is_blank(message: Mapping[str, Any]) -> bool:
    """Return whether a message of somebody says nothing and calls no tool."""
    if not isinstance(message, Mapping) or not ("role" in message or "speaker" in message):
        return False
    said = [message[name] for name in ("content", "text", "tool_calls") if name in message]
    return bool(said) and not any(each.strip() if isinstance(each, str) else each for each in said)


def _memorize(context: Context, stored: Stored, how: How) -> Memorized:
    """Memorize what is new in a session, stretch by stretch, or park what is left; whoever calls is alone at it."""
    stored = with_kept(context, stored)
    work = taken(context, stored)
    if not work.fresh:
        context.book.journal.unpark(_item(stored.session))
        return Memorized(session=stored.session.uuid, redacted=stored.redacted)
    parts = [work.fresh]
    done: list[Memorized] = []
    door, kind = how.door or context.door, BY_IMPORT if how.door == BY_IMPORT else KIND
    try:
        if context.metered(how.llm, model=how.model) is not None:
            if waits_for(context, stored.session) is None:  # a model takes long: should the process die over it
                _park(context, work, CUT_SHORT, how, context.book.now())
            parts = list(stretches(work.fresh))
        for part in parts:  # each as if nothing had been said after it
            upto = next(place for place, turn in enumerate(stored.turns, 1) if turn.id == part[-1].id)
            work = taken(context, stored._replace(turns=stored.turns[:upto]))._replace(fresh=tuple(part))
            work = looked_through(context, work, context.metered(how.llm, model=how.model))
            [brought] = written(context, [work], door=door, kind=kind, evolving=how.evolving)
            done.append(_report(work, brought))
    except (LLMFailed, ConfigError, Unavailable, Conflict) as error:
        try:
            return _joined((*done, _parked(context, taken(context, stored), error, how)))
        except Unavailable as again:
            raise Unavailable(f"{error}; and it cannot wait to be tried again: {again}") from error
    with suppress(Unavailable):  # it is remembered: the next try finds nothing new
        context.book.journal.unpark(_item(stored.session))
    return _joined(done)


def _report(work: Work, brought: Written) -> Memorized:
    """Count what was carried out for a session."""
    plan, submitted = brought.plan, brought.submitted
    added = [one.entry for one in brought.applied("add") if one.entry is not None]
    ids = {entry.id for entry in added}
    made = [one.action for one in plan.decisions if one.id in ids]
    operation = submitted.result.operation
    again = len(brought.applied("reinforce"))
    return Memorized(
        session=work.stored.session.uuid,
        new=made.count("created"),
        updated=made.count("updated") + again,
        merged=made.count("merged"),
        reinforced=again,
        contradicted=len(brought.applied("supersede")),
        archived=len(brought.applied("archive")) + sum(entry.archived for entry in added),
        removed=len(brought.applied("remove")),
        notes=len(brought.applied("append")),
        discarded=tuple(Left(each.text, each.reason) for each in plan.discarded),
        memories=tuple((one.action, one.id, one.text, one.reason) for one in plan.decisions),
        summary=brought.summary,
        operation=operation.id if operation else None,
        proposals=submitted.proposals,
        usage=getattr(work.llm, "usage", None) or (work.found.usage if work.found else None),
        redacted=work.stored.redacted,
        degraded=(plan.degraded,) if plan.degraded else (),
    )


_ADDED = (
    "new", "updated", "merged", "reinforced", "contradicted", "archived", "removed", "notes", "discarded", "memories",
    "proposals", "degraded",
)  # fmt: skip


def _joined(parts: Sequence[Memorized]) -> Memorized:
    """Add up the reports of a session's stretches; what waits is as the last one says."""
    whole = parts[0]
    for part in parts[1:]:
        both = {name: getattr(whole, name) + getattr(part, name) for name in _ADDED}
        usage = whole.usage + part.usage if whole.usage and part.usage else part.usage or whole.usage
        summary, operation = part.summary or whole.summary, part.operation or whole.operation
        whole = part._replace(usage=usage, summary=summary, operation=operation, **both)
    return whole


# --- what is new -----------------------------------------------------------------------------------


def taken(context: Context, stored: Stored) -> Work:
    """Return the work of a stored session: its turns that were not memorized yet."""
    last = last_page(context, stored.session)
    return Work(stored, last, stored.turns[_memorized(context, stored, last) :])


def _memorized(context: Context, stored: Stored, last: Page) -> int:
    """Count the leading turns that were memorized by an operation that stands.

    All of an operation are marked, and it itself, so that what is forgotten of them takes no others along. Where marks
    are missing, as the journal is or what was accepted was taken back, the count in the summary makes up for them.
    """
    journal = context.book.journal
    undone, session = journal.undone(), stored.session.uuid
    whole = last.operation is not None and journal.memorized(session, last.operation) is not None
    waits = () if last.operation in undone.values() else ("",)  # proposed; anew if what was accepted is taken back
    for place in reversed(range(len(stored.turns))):
        operation = journal.memorized(session, turn_key(session, stored.turns[place].id))
        if operation is None or operation in undone:
            continue
        if whole or operation in waits or last.operation in (None, operation):
            return place + 1
    return last.turns if context.config.transcripts.enabled and not whole else 0


def looked_through(context: Context, work: Work, llm: LLM | None = None) -> Work:
    """Extract what is in the turns of a work: by the model, grounded in the turns, or by rules.

    Raises:
        LLMFailed: The model gave nothing that can be used.
    """
    book, zone = context.book, zone_of(context)
    known = [entry for entry in book.entries() if entry.state == "active" and entry.trust != "suspect"] if llm else []
    found = extract(
        work.fresh,
        session=work.stored.session,
        now=book.now(),
        llm=llm,
        known=known,
        language=context.config.language,
        zone=zone if llm else None,
        mask=Mask(context).text,
        before=last_statement(work.fresh[0], work.stored.turns) if work.fresh else None,
        whole=work.stored.turns,
    )
    return work._replace(found=found, llm=llm)


# --- what to do ------------------------------------------------------------------------------------


def planned(
    context: Context,
    works: Sequence[Work],
    *,
    door: str,
    evolving: bool = False,
    summary: bool = True,
    step: Step = lambda: None,
) -> list[Plan]:
    """Plan what the works do to the book as it stands, each after those before it; `summary` if theirs is made anew.

    Candidates are matched by rules, or if `evolving` by the model where there is one.
    """
    entries = {entry.id: entry for entry in context.book.entries()}
    # what a file brings is compared by words alone: it is much at once, and its vectors are made when all is in
    near = by_words(entries) if door == BY_IMPORT else IndexNeighbours(context, entries)
    alike, now = EmbedderSimilarity(context), context.book.now()
    ledger, plans = Ledger(dict(entries) if evolving else entries, Talk(now), context.config.conflicts), []
    for work in works:
        step()
        session, found = work.stored.session.uuid, _standing(context, work)
        page = work.last.path if summary else ""
        orders = resolve_all(context, found.forget_requests, work.fresh, entries, obeyed=door != BY_IMPORT, page=page)
        for id in orders.gone:
            entries.pop(id, None)
            ledger.entries.pop(id, None)
        kept, buried = _unforgotten(context, found, work.fresh, orders, now=None if door == BY_IMPORT else now)
        times = {turn.id: turn.time or (None if door == BY_IMPORT else now) for turn in work.fresh}
        ledger.begin(Talk(now, session, times, heard(context, session)))
        if evolving:
            language, mask = context.config.language, Mask(context).text
            alone = [one for one in kept.candidates if not one.leans]
            matched = evolve(ledger, alone, near, alike, llm=work.llm, language=language, mask=mask)
        else:
            matched = match(ledger, kept.candidates, near, alike)
        noted = [
            Append(
                path=session_md.daily_path(context.book.day(note.time)),
                line=session_md.render_line(Note(time=note.time, text=" ".join(note.text.split()), kind=note.kind)),
                reason=f"said in turn:{note.turn_id}",
            )
            for note in kept.notes
        ]
        left = [Discarded(text=text, reason=reason) for text, reason in (*work.stored.skipped, *found.skipped)]
        left += [*found.discarded, *orders.discarded, *buried, *matched.discarded]
        tellable = not_forgotten(
            context, [each.text for each in left]
        )  # the journal keeps no copy of what is forgotten
        plan = Plan(
            (*orders.changes, *matched.changes, *noted),
            tuple(
                each
                if tellable(each.text) and digest(each.text) not in orders.bury
                else discard_unquoted(each.text, each.reason)
                for each in left
            ),
            (*orders.proposed, *matched.proposals),
            matched.decisions,
            orders,
            matched.degraded,
        )
        plans.append(plan)
    return plans


def _unforgotten(
    context: Context, found: Extraction, turns: Sequence[Turn], orders: Orders, *, now: datetime | None
) -> tuple[Extraction, list[Discarded]]:
    """Leave out what a person wants forgotten, unless asked to remember it since; return the rest and what went."""
    kept = not_forgotten(context, [*(each.content for each in found.candidates), *(each.text for each in found.notes)])

    def wanted(one: Candidate) -> bool:
        going = digest(one.content) in orders.bury
        if kept(one.content) and not going:
            return True
        asked = asked_to_remember(one, turns, now)
        return asked is not None and (going or not_forgotten(context, [one.content], since=asked)(one.content))

    candidates = tuple(filter(wanted, found.candidates))
    left = tuple(each for each in found.notes if kept(each.text))
    stay = {*map(id, candidates), *map(id, left)}
    gone = [each.turn_ids[0] for each in found.candidates if id(each) not in stay]
    gone += [each.turn_id for each in found.notes if id(each) not in stay]
    return replace(found, candidates=candidates, notes=left), [
        Discarded(text=f"turn:{turn}", reason=FORGOTTEN) for turn in gone
    ]


def heard(context: Context, session: str) -> set[str]:
    """Return ids of entries that standing operations of a session reinforced, or added at a user's word."""
    journal = context.book.journal
    undone = journal.undone()
    return {
        change.target
        for operation in journal.operations(session=session)
        if operation.id not in undone
        for change in operation.changes
        if change.kind == "reinforce" or (change.kind == "add" and operation.kind == ORDER)
    }


def _standing(context: Context, work: Work) -> Extraction:
    """Return what was found, without what rests only on turns whose order was taken back."""
    found = cast("Extraction", work.found)
    back = undone_orders(context, work.stored.session.uuid)
    if not back:
        return found
    return replace(
        found,
        candidates=tuple(one for one in found.candidates if not one.turn_ids or not back.issuperset(one.turn_ids)),
        forget_requests=tuple(one for one in found.forget_requests if one.turn_id not in back),
    )


# --- doing it --------------------------------------------------------------------------------------


def written(
    context: Context, works: Sequence[Work], *, door: str, kind: str, evolving: bool = False, step: Step = lambda: None
) -> list[Written]:
    """Carry out what each work brings, with its summary, as an operation of its own; planned anew if an entry went.

    `step` is called twice for each: when it is planned, and when it is done.

    Raises:
        As `Book.apply`.
    """
    if not works:
        return []  # a person may save a summary, or take out an entry, right now
    return retried(lambda: _written(context, works, door, kind, evolving, step), Conflict, NotFound)


def foreseen(context: Context, works: Sequence[Work], draft: Draft) -> list[Written]:
    """Return what `written` would do for an import, worked into a draft alone."""
    plans = planned(context, works, door=BY_IMPORT)
    groups = [_group(context, work, plan) for work, plan in zip(works, plans, strict=True)]
    results = [Result(None, tuple(map(draft.do, group.changes))) for group in groups]
    told = zip(works, plans, results, strict=True)
    return [Written(plan, Submitted(result), _page(work, result)) for work, plan, result in told]


def _page(work: Work, result: Result) -> str:
    return work.last.path if any(one.path == work.last.path for one in result.outcomes) else ""


def _written(
    context: Context, works: Sequence[Work], door: str, kind: str, evolving: bool, step: Step
) -> list[Written]:
    plans = planned(context, works, door=door, evolving=evolving, step=step)
    groups = [_group(context, work, plan) for work, plan in zip(works, plans, strict=True)]
    if door == BY_IMPORT:
        results = context.book.apply_each(groups, actor=context.actor, door=door, kind=kind)
        submitted = [Submitted(result) for result in results]
    else:
        submitted = propose_or_apply_each(context, groups, kind=kind, door=door)
    try:
        return [_settled(context, *each, step) for each in zip(works, plans, submitted, strict=True)]
    except Unavailable as error:
        done = " ".join(one.result.operation.id for one in submitted if one.result.operation is not None)
        raise Unavailable(
            f"{error}; what was said is remembered, that is done ({done})" if done else str(error)
        ) from error


def _group(context: Context, work: Work, plan: Plan) -> Group:
    """Make the operation of a work: its changes, and its summary without what was asked to be forgotten."""
    found, stored = _standing(context, work), work.stored
    session = without_undone_orders(context, stored.session)
    new = {turn.id for turn in work.fresh}
    back = undone_orders(context, session.uuid)
    before = [turn for turn in stored.turns if turn.id not in new]
    earlier = by_rules(before, session=None, now=context.book.now()).forget_requests
    requests = [*found.forget_requests, *(one for one in earlier if one.turn_id not in back)]
    kept = summary_filter(context, session.uuid, stored.turns)
    said = dict(plan.orders.turns)
    as_left = [replace(turn, text=said.get((turn.session, turn.id), turn.text)) for turn in stored.turns]
    turns = filter_turns(as_left, lambda text: kept(text) and not any(asked_to_forget(text, one) for one in requests))
    fresh = [turn for turn in turns if turn.id in new]
    summary, reason = (
        made(context, session, turns, fresh, found, work.last) if work.told is None else (work.told, BROUGHT)
    )
    summary = without_forgotten(context, without_requested(summary, requests))
    told = work.last.standing is not None or summary.summary or summary.decisions or summary.open_questions
    page = [page_change(context, work.last, summary, reason)] if told else []
    used = getattr(work.llm, "usage", None) or found.usage
    usage = {**used.json(), "model": work.llm.name} if used is not None and work.llm is not None else None
    changes = [*plan.changes, *page]
    discarded = as_journaled(context, plan.discarded)
    return Group(session.uuid, changes, discarded, usage, plan.orders.bury, _keys(work) if changes else ())


def _keys(work: Work) -> list[str]:
    """Return the keys by which the journal knows the new turns of a session as memorized."""
    return [turn_key(work.stored.session.uuid, turn.id) for turn in work.fresh]


def _settled(context: Context, work: Work, plan: Plan, submitted: Submitted, step: Step) -> Written:
    """Put into the queue what waits, and mark how far the session is memorized where no operation does."""
    step()
    session = work.stored.session
    if plan.orders.said:
        context.book.storage.drop_prepared()
        export.renew(context)
    waiting = propose(context, plan.proposed, session=session.uuid)
    result = submitted.result
    if result.operation is None or not result.outcomes:  # nothing came of it, or it waits for a person's word
        context.book.journal.mark_memorized(session.uuid, *_keys(work), operation="", time=context.book.now())
    mirror(context, session, work.last.path)
    return Written(plan, submitted._replace(proposals=(*submitted.proposals, *waiting)), _page(work, result))


# --- the queue -------------------------------------------------------------------------------------


def parked(context: Context) -> Sequence[Parked]:
    """Return the sessions that wait to be remembered, oldest first."""
    return context.book.journal.parked(kind=KIND)


def waiting(context: Context) -> str:
    """Describe in a sentence what waits to be remembered; "" if nothing does."""
    found = parked(context)
    if not found:
        return ""
    last = max(found, key=lambda each: each.tries)
    many = "1 session waits" if len(found) == 1 else f"{len(found)} sessions wait"
    soonest = min((each.next for each in found if each.next is not None), default=None)
    then = "" if soonest is None else f", next try after {soonest.astimezone(context.book.zone):%Y-%m-%d %H:%M}"
    tried = "once" if last.tries == 1 else f"{last.tries} times"
    return f"{many} to be remembered: {last.reason.rstrip('.')}; tried {tried}{then}"


def retry_parked(context: Context, *, limit: int | None = None, due: bool = True) -> tuple[Memorized, ...]:
    """Try again to memorize the sessions whose turn it is, oldest first, until the model fails again.

    Args:
        context: Whose queue is worked off.
        limit: At most this many sessions; None takes all.
        due: Whether only those whose turn it is; False takes all that wait, now.

    Returns:
        What became of each; nothing if another process works the queue off at this moment.
    """
    with context.book.storage.lease(KIND) as ours:
        return tuple(_work_off(context, limit, How(), due=due)) if ours else ()


def _work_off(context: Context, limit: int | None, how: How, *, due: bool = True) -> list[Memorized]:
    """Memorize what is parked and due, or all of it, until something fails again."""
    done: list[Memorized] = []
    for each in context.book.journal.parked(kind=KIND, due=context.book.now() if due else None)[:limit]:
        same = how._replace(evolving=bool(each.payload.get("evolving")), door=str(each.payload.get("door", "")))
        done.append(_memorize(context, kept(context, each), same))
        if done[-1].queued:
            break
    return done


def _item(session: Session) -> str:
    """Return the id of the session's item in the queue."""
    return f"{KIND}:{session.uuid}"


def waits_for(context: Context, session: Session) -> Parked | None:
    """Return the session's item in the queue; None if it does not wait."""
    return next((each for each in parked(context) if each.id == _item(session)), None)


def _parked(context: Context, work: Work, error: Exception, how: How) -> Memorized:
    """Keep what could not be memorized, to be tried again; entries, notes and offsets are as they were.

    It is tried again after a wait that grows, or when the budget of the day is a new one.
    """
    before = waits_for(context, work.stored.session)
    failures = 0 if before is None else before.tries
    if before is not None and before.reason == CUT_SHORT:
        context.book.journal.unpark(before.id)  # what was promised was no try
        failures = 0
    now = context.book.now()
    if isinstance(error, BudgetSpent) and "per day" in str(error):
        again = datetime.combine(now.astimezone(UTC).date() + timedelta(days=1), datetime.min.time(), UTC)
    elif str(error) == BUSY:
        again = now
    else:
        again = now + (WAITS[failures] if failures < len(WAITS) else timedelta(days=1))
    reason = Mask(context).text(str(error))  # it may hold what the model said
    _park(context, work, reason, how, again)
    return Memorized(
        session=work.stored.session.uuid,
        queued=len(parked(context)),
        degraded=(reason,),
        usage=getattr(error, "usage", None),
        redacted=work.stored.redacted,
    )


def _park(context: Context, work: Work, reason: str, how: How, again: datetime) -> None:
    payload: dict[str, Any] = {
        "first": work.fresh[0].id if work.fresh else None,
        "last": work.fresh[-1].id if work.fresh else None,
        "turns": len(work.fresh),
        "evolving": how.evolving,
        "door": how.door,
    }
    session, now = work.stored.session, context.book.now()
    if not context.config.transcripts.enabled:
        payload["kept"] = changes_json.render_turns(session, work.fresh, whole=False)
    context.book.journal.park(
        _item(session), kind=KIND, payload=payload, reason=reason, time=now, session=session.uuid, next=again
    )


def with_kept(context: Context, stored: Stored) -> Stored:
    """Add the turns that only the queue keeps, as there are no transcripts."""
    waits = waits_for(context, stored.session)
    if waits is None or "kept" not in waits.payload:
        return stored
    turns = {turn.id: turn for turn in (*kept(context, waits).turns, *stored.turns)}
    return stored._replace(turns=tuple(turns.values()))


def kept(context: Context, waits: Parked) -> Stored:
    """Return the session that is parked, with its turns as they are by now."""
    session = waits.session or ""
    if "kept" not in waits.payload:
        return _as_stored(context, session)
    known, turns, _ = changes_json.parse_turns(waits.payload["kept"])
    gone = context.book.journal.buried([turn_key(session, turn.id) for turn in turns])
    left = [turn for turn in turns if turn_key(session, turn.id) not in gone]
    told = zip(left, without_forgotten_turns(context.book, left), strict=True)
    return Stored(known, tuple(turn for was, turn in told if turn == was or turn.text.strip()))


def kept_in_queue(context: Context, name: str) -> Stored | None:
    """Return a session, by uuid or name, of which only the queue keeps turns; None if there is none."""
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
    """Yield the turns that only the queue keeps, and that were forgotten."""
    for waits in parked(context):
        if "kept" in waits.payload:
            left = kept(context, waits).turns
            yield from (turn for turn in changes_json.parse_turns(waits.payload["kept"])[1] if turn not in left)
