"""Remembering what was said: turns -> extract -> ground -> match -> one operation with the summary of the session.

The one pipeline of every way in: the end of a session (by a model where there is one) and imports (by rules). The
decisions are pure steps of `lifecycle`; here they are put in order. The model is asked outside of every lock but one
of its own, and what it said is carried out on the entries as they stand by then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, cast

from memorybook.book.transaction import Draft, Outcome, Result
from memorybook.book.undo import ATTEMPTS, Group
from memorybook.entries.extract import extract
from memorybook.entries.match import Alike, Decision, Ledger, Near, Proposed, Talk, match
from memorybook.entries.read import Mask
from memorybook.entries.read_reply import Candidate, Extraction, ForgetRequest, NoteCandidate
from memorybook.entries.review import Submitted, propose, propose_or_apply_each
from memorybook.entries.rules import by_rules
from memorybook.errors import Conflict, NotFound, Unavailable
from memorybook.exchange.export import renew
from memorybook.forget.forget_requests import Orders, asked, asked_to_remember, said_before, unasked
from memorybook.forget.order_text import asked_to_forget
from memorybook.forget.tombstones import (
    FORGOTTEN,
    ORDER,
    as_journaled,
    remembered,
    taken_back,
    turn_key,
    turns_without,
    unnamed,
    untold,
    without_forgotten,
    worth_telling,
)
from memorybook.formats import session_md
from memorybook.model import Append, Change, Discarded, Entry, Note, SessionSummary, Turn
from memorybook.prompt import session_start_cache
from memorybook.sessions.summary import BROUGHT, Page, last_page, made, mirror, page_change
from memorybook.sessions.turns import Stored, zone_of
from memorybook.text.tokens import digest

if TYPE_CHECKING:
    from datetime import datetime

    from memorybook.context import Context
    from memorybook.protocols import LLM

BY_IMPORT = "import"
"""The door of conversations that a person brings: carried out at once, and nobody's orders in them are obeyed."""


class Work(NamedTuple):
    """What one session brings, before it is matched.

    Attributes:
        stored: The session as it is kept.
        last: Its summary as it was last written.
        fresh: Its turns that were not memorized before.
        found: What is in them; None until it was looked for.
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
    """What the work of one session does to the book as it stands.

    Attributes:
        changes: What to write besides the summary.
        discarded: What is not stored, with the reason.
        proposed: What waits for a person's word.
        decisions: What became of each candidate.
        bury: Digests of what the user asked to forget.
        forgotten: What goes at a user's word, as it was said.
        turns: Texts of turns as they will be then, by session and id.
        near: What an order to forget may mean of which nothing was found.
        degraded: Why less was decided by a model than is set; "" if not.
    """

    changes: tuple[Change, ...] = ()
    discarded: tuple[Discarded, ...] = ()
    proposed: tuple[Proposed, ...] = ()
    decisions: tuple[Decision, ...] = ()
    bury: tuple[str, ...] = ()
    degraded: str = ""
    forgotten: tuple[str, ...] = ()
    turns: Mapping[tuple[str, str], str] = {}
    near: tuple[str, ...] = ()


class Written(NamedTuple):
    """What was planned for a session, and what became of it.

    Attributes:
        summary: Path of the session's summary; "" if none was written, as it would tell of nothing or waits.
    """

    plan: Plan
    submitted: Submitted
    summary: str

    def applied(self, kind: str) -> list[Outcome]:
        """The outcomes of one kind of change that did something."""
        outcomes = self.submitted.result.outcomes
        return [one for one in outcomes if one.applied is not None and one.applied.kind == kind]


# --- what is new ---------------------------------------------------------------------------------


def taken(context: Context, stored: Stored) -> Work:
    """The work that a stored session is: its turns that were not memorized yet."""
    last = last_page(context, stored.session)
    return Work(stored, last, stored.turns[_memorized(context, stored, last) :])


def _memorized(context: Context, stored: Stored, last: Page) -> int:
    """How many of the turns, from the first on, were memorized by an operation that stands.

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
    """The work with what is in its turns: by the model, held against what was said, or by rules.

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
        before=said_before(work.fresh[0], work.stored.turns) if work.fresh else None,
        whole=work.stored.turns,
    )
    return work._replace(found=found, llm=llm)


# --- what to do ----------------------------------------------------------------------------------


def planned(
    context: Context, works: Sequence[Work], *, door: str, evolving: bool = False, summary: bool = True
) -> list[Plan]:
    """What the works do to the book as it stands now, each after those before it; `summary` if theirs is made anew."""
    entries = {entry.id: entry for entry in context.book.entries()}
    near, alike = Near(context, entries), Alike(context)
    return [_planned(context, work, entries, near, alike, door, evolving, summary) for work in works]


def _planned(
    context: Context,
    work: Work,
    entries: dict[str, Entry],
    near: Near,
    alike: Alike,
    door: str,
    evolving: bool,
    summary: bool,
) -> Plan:
    found = _standing(context, work)
    page = work.last.path if summary else ""
    orders = asked(context, found.forget_requests, work.fresh, entries, obeyed=door != BY_IMPORT, page=page)
    for id in orders.gone:
        entries.pop(id, None)
    now = None if door == BY_IMPORT else context.book.now()
    kept, buried = _unforgotten(context, found, work.fresh, orders, now=now)
    matched = _matched(context, work, kept, entries, near, alike, evolving)
    noted = [_note(context, note) for note in kept.notes]
    skipped = [Discarded(text=text, reason=reason) for text, reason in (*work.stored.skipped, *found.skipped)]
    return matched._replace(
        changes=(*orders.changes, *matched.changes, *noted),
        discarded=_untold(
            context, (*skipped, *found.discarded, *orders.discarded, *buried, *matched.discarded), orders
        ),
        proposed=(*orders.proposed, *matched.proposed),
        bury=orders.bury,
        forgotten=orders.said,
        turns=dict(orders.turns),
        near=orders.near,
    )


def _unforgotten(
    context: Context, found: Extraction, turns: Sequence[Turn], orders: Orders, *, now: datetime | None
) -> tuple[Extraction, list[Discarded]]:
    """What was found without what a person wants forgotten, unless they asked to remember it since; and that."""
    kept = remembered(context, [*(each.content for each in found.candidates), *(each.text for each in found.notes)])

    def wanted(one: Candidate) -> bool:
        going = digest(one.content) in orders.bury
        if kept(one.content) and not going:
            return True
        asked = asked_to_remember(one, turns, now)
        return asked is not None and (going or remembered(context, [one.content], since=asked)(one.content))

    candidates = tuple(filter(wanted, found.candidates))
    left = tuple(each for each in found.notes if kept(each.text))
    stay = {*map(id, candidates), *map(id, left)}
    gone = [each.turn_ids[0] for each in found.candidates if id(each) not in stay]
    gone += [each.turn_id for each in found.notes if id(each) not in stay]
    return replace(found, candidates=candidates, notes=left), [
        Discarded(text=f"turn:{turn}", reason=FORGOTTEN) for turn in gone
    ]


def _untold(context: Context, discarded: Sequence[Discarded], orders: Orders) -> tuple[Discarded, ...]:
    """What is set aside, without the words of what is forgotten: the journal keeps no copy of it."""
    kept = remembered(context, [left.text for left in discarded])
    return tuple(
        left if kept(left.text) and digest(left.text) not in orders.bury else unnamed(left.text, left.reason)
        for left in discarded
    )


def heard(context: Context, session: str) -> set[str]:
    """Ids of the entries that a session reinforced before, or added at a user's word, by operations that stand."""
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
    """What was found, without what rests on turns alone whose order was taken back."""
    found = cast("Extraction", work.found)
    back = taken_back(context, work.stored.session.uuid)
    if not back:
        return found
    return replace(
        found,
        candidates=tuple(one for one in found.candidates if not one.turn_ids or not back.issuperset(one.turn_ids)),
        forget_requests=tuple(one for one in found.forget_requests if one.turn_id not in back),
    )


def _talk(context: Context, work: Work) -> Talk:
    session = work.stored.session.uuid
    times = {turn.id: turn.time for turn in work.fresh}
    return Talk(context.book.now(), session, times, heard(context, session))


def _matched(
    context: Context,
    work: Work,
    found: Extraction,
    entries: dict[str, Entry],
    near: Near,
    alike: Alike,
    evolving: bool,
) -> Plan:
    """Plan what becomes of the candidates: by rules, or if `evolving` by the model where there is one."""
    ledger = Ledger(dict(entries) if evolving else entries, _talk(context, work), context.config.conflicts)
    if evolving:
        from memorybook.entries.evolve import evolve

        language, mask = context.config.language, Mask(context).text
        matched = evolve(ledger, found.candidates, near, alike, llm=work.llm, language=language, mask=mask)
    else:
        matched = match(ledger, found.candidates, near, alike)
    return Plan(matched.changes, matched.discarded, matched.proposals, matched.decisions, degraded=matched.degraded)


def _note(context: Context, candidate: NoteCandidate) -> Append:
    note = Note(time=candidate.time, text=" ".join(candidate.text.split()), kind=candidate.kind)
    path = session_md.daily_path(context.book.day(candidate.time))
    return Append(path=path, line=session_md.render_line(note), reason=f"said in turn:{candidate.turn_id}")


# --- doing it ------------------------------------------------------------------------------------


def written(context: Context, works: Sequence[Work], *, door: str, kind: str, evolving: bool = False) -> list[Written]:
    """Carry out what each work brings, with its summary, as an operation of its own; planned anew if an entry went.

    Raises:
        As `Book.apply`.
    """
    if not works:
        return []
    for _ in range(ATTEMPTS - 1):
        with suppress(Conflict, NotFound):  # a person saves a summary, or takes out an entry, right now
            return _written(context, works, door, kind, evolving)
    return _written(context, works, door, kind, evolving)


def foreseen(context: Context, works: Sequence[Work], draft: Draft) -> list[Written]:
    """What `written` would do for an import, worked into a draft alone."""
    plans = planned(context, works, door=BY_IMPORT)
    groups = [_group(context, work, plan) for work, plan in zip(works, plans, strict=True)]
    results = [Result(None, tuple(map(draft.do, group.changes))) for group in groups]
    told = zip(works, plans, results, strict=True)
    return [Written(plan, Submitted(result), _page(work, result)) for work, plan, result in told]


def _page(work: Work, result: Result) -> str:
    return work.last.path if any(one.path == work.last.path for one in result.outcomes) else ""


def _written(context: Context, works: Sequence[Work], door: str, kind: str, evolving: bool) -> list[Written]:
    plans = planned(context, works, door=door, evolving=evolving)
    groups = [_group(context, work, plan) for work, plan in zip(works, plans, strict=True)]
    if door == BY_IMPORT:
        results = context.book.apply_each(groups, actor=context.actor, door=door, kind=kind)
        submitted = [Submitted(result) for result in results]
    else:
        submitted = propose_or_apply_each(context, groups, kind=kind, door=door)
    try:
        return [_settled(context, *each) for each in zip(works, plans, submitted, strict=True)]
    except Unavailable as error:
        done = " ".join(one.result.operation.id for one in submitted if one.result.operation is not None)
        raise Unavailable(
            f"{error}; what was said is remembered, that is done ({done})" if done else str(error)
        ) from error


def _group(context: Context, work: Work, plan: Plan) -> Group:
    found = _standing(context, work)
    session = untold(context, work.stored.session)
    requests = _requests(context, work, found)
    kept = worth_telling(context, session.uuid, work.stored.turns)
    as_left = [
        tuple(replace(turn, text=plan.turns.get((turn.session, turn.id), turn.text)) for turn in turns)
        for turns in (work.stored.turns, work.fresh)
    ]
    turns, fresh = (
        turns_without(turns, lambda text: kept(text) and not any(asked_to_forget(text, one) for one in requests))
        for turns in as_left
    )
    summary, reason = (
        made(context, session, turns, fresh, found, work.last) if work.told is None else (work.told, BROUGHT)
    )
    summary = without_forgotten(context, unasked(summary, requests))
    told = work.last.standing is not None or summary.summary or summary.decisions or summary.open_questions
    page = [page_change(context, work.last, summary, reason)] if told else []
    used = getattr(work.llm, "usage", None) or found.usage
    usage = {**used.json(), "model": work.llm.name} if used is not None and work.llm is not None else None
    changes = [*plan.changes, *page]
    discarded = as_journaled(context, plan.discarded)
    return Group(session.uuid, changes, discarded, usage, plan.bury, _keys(work) if changes else ())


def _keys(work: Work) -> list[str]:
    """Under which the journal has it that the new turns of a session are memorized."""
    return [turn_key(work.stored.session.uuid, turn.id) for turn in work.fresh]


def _requests(context: Context, work: Work, found: Extraction) -> list[ForgetRequest]:
    """What was asked to be forgotten in what is new of a session, and before: its turns are told anew."""
    fresh = {turn.id for turn in work.fresh}
    before = [turn for turn in work.stored.turns if turn.id not in fresh]
    back = taken_back(context, work.stored.session.uuid)
    earlier = by_rules(before, session=None, now=context.book.now()).forget_requests
    return [*found.forget_requests, *(one for one in earlier if one.turn_id not in back)]


def _settled(context: Context, work: Work, plan: Plan, submitted: Submitted) -> Written:
    """Put into the queue what waits, and mark how far the session is memorized where no operation does."""
    session = work.stored.session
    if plan.forgotten:
        session_start_cache.drop(context.book.documents.root)
        renew(context)
    waiting = propose(context, plan.proposed, session=session.uuid)
    result = submitted.result
    if result.operation is None or not result.outcomes:  # nothing came of it, or it waits for a person's word
        context.book.journal.mark_memorized(session.uuid, *_keys(work), operation="", time=context.book.now())
    mirror(context, session, work.last.path)
    return Written(plan, submitted._replace(proposals=(*submitted.proposals, *waiting)), _page(work, result))
