"""The end of a session: what was said becomes memories, at once or, where the model fails, at the next occasion."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.entries.read import Mask
from memorybook.errors import BudgetSpent, ConfigError, Conflict, InvalidInput, LLMFailed, NotFound, Unavailable
from memorybook.formats import changes_json
from memorybook.model import Session, Turn
from memorybook.results import Left, Memorized
from memorybook.sessions.dialogue import stretches
from memorybook.sessions.memorize import BY_IMPORT, Work, Written, looked_through, taken, written
from memorybook.sessions.turns import Stored, store, talk_of
from memorybook.sessions.waiting_sessions import KIND, kept, name_of, parked, sure, waits_for, with_kept

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.protocols import LLM, Function

"""Of the operations, and of what is parked."""

AT_ONCE = 3
"""Sessions of the queue that the end of another one works off."""

WAITS = (timedelta(minutes=5), timedelta(minutes=15), timedelta(hours=1), timedelta(hours=4), timedelta(hours=12))
"""How long a session waits after its first failure, its second …; after that a day each time."""

BUSY = "another process was remembering a session all the while"
CUT_SHORT = "it is being remembered now, or whoever did so has died over it"


class How(NamedTuple):
    """How a session is to be memorized.

    Attributes:
        llm: The model to ask; None is the memory's own.
        model: Of the configured server, which model to ask instead; "" is the configured one.
        evolving: Whether new statements meet their neighbours (`entries.evolve`).
        door: Where it came in; "" is the door of the memory.
    """

    llm: LLM | Function | None = None
    model: str = ""
    evolving: bool = False
    door: str = ""


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
    if context.config.transcripts.auto_export:
        from memorybook.exchange import export

        failed = export.by_itself(context)
        found = found._replace(degraded=(*found.degraded, failed)) if failed else found
    return found


def process_stored(context: Context, stored: Stored, how: How) -> Memorized:
    """Memorize what is new in a session that is stored, sum it up, work off some of the queue, tidy if it is time."""
    from memorybook.sessions.summary_updates import refresh

    found = memorize_stored(context, stored, how)
    try:
        reason = refresh(context, found.session, over=True).degraded
        if not found.queued:
            with context.alone(KIND) as ours:
                if ours:
                    _work_off(context, AT_ONCE, how)
    except Unavailable as error:  # what was said is remembered all the same
        reason = str(error)
    if reason:
        found = found._replace(degraded=tuple(dict.fromkeys((*found.degraded, reason))))
    return found if found.queued else _tidied(context, found)


def memorize_stored(context: Context, stored: Stored, how: How) -> Memorized:
    """Memorize what is new in a session that is stored, or queue it; waits while another session is memorized."""
    if not stored.turns:
        return Memorized(session=stored.session.uuid, discarded=_left(stored.skipped), redacted=stored.redacted)
    with _alone(context) as ours:
        if ours:
            return _memorize(context, stored, how)
        return _parked(context, taken(context, with_kept(context, stored)), Unavailable(BUSY), how)


def put_off(context: Context, messages: Sequence[Mapping[str, Any]], session: str, reason: str) -> Memorized:
    """Have a session wait in the queue that a provider could not remember; what waits already is left as it is.

    Where there is no language model to wait for, rules remember it.
    """
    stored = _stored(context, messages, session)
    if not stored.turns:
        return Memorized(session=stored.session.uuid)
    if waits_for(context, stored.session) is not None:
        return Memorized(session=stored.session.uuid, queued=len(parked(context)), degraded=(reason,))
    try:
        if context.metered() is None:
            return memorize_stored(context, stored, How())
    except ConfigError:
        pass
    return _parked(context, taken(context, stored), LLMFailed(reason), How())


def _tidied(context: Context, found: Memorized) -> Memorized:
    """The report with what tidying archived and proposed, if it was time for that."""
    from memorybook.entries.tidy import after_session

    try:
        tidied = after_session(context)
    except (Conflict, NotFound, Unavailable) as error:
        return found._replace(degraded=(*found.degraded, f"the book was not tidied: {error}"))
    if tidied is None:
        return found
    waiting = tuple(each.proposal for each in tidied.proposed if each.proposal is not None)
    gone = sum(each.kind == "remove" for each in tidied.done)
    return found._replace(
        archived=found.archived + sum(each.kind in ("archive", "expire") for each in tidied.done),
        removed=found.removed + gone,
        proposals=tuple(dict.fromkeys((*found.proposals, *waiting))),
    )


def retry_parked(context: Context, *, limit: int | None = None, due: bool = True) -> tuple[Memorized, ...]:
    """Try again to memorize the sessions whose turn it is, oldest first, until the model fails again.

    Args:
        memory: Whose queue is worked off.
        limit: At most this many sessions; None takes all.
        due: Whether only those whose turn it is; False takes all that wait, now.

    Returns:
        What became of each; nothing if another process works the queue off at this moment.
    """
    with context.alone(KIND) as ours:
        return tuple(_work_off(context, limit, How(), due=due)) if ours else ()


# --- one session ---------------------------------------------------------------------------------


def _stored(context: Context, messages: Sequence[Mapping[str, Any]], session: str | None) -> Stored:
    said = [message for message in messages if not _is_blank(message)]
    if said:
        return store(context, *talk_of(context, said, session))
    if not session:
        raise InvalidInput("there is nothing to remember: give messages, or a session whose turns are stored")
    try:
        known = context.book.transcripts.session(session)
    except NotFound:
        return Stored(Session(uuid=session), ())
    return Stored(known, tuple(context.book.transcripts.turns(known.uuid)))


def _is_blank(message: Mapping[str, Any]) -> bool:
    """Whether it is a message of somebody that says nothing and calls no tool."""
    if not isinstance(message, Mapping) or not ("role" in message or "speaker" in message):
        return False
    said = [message[name] for name in ("content", "text", "tool_calls") if name in message]
    return bool(said) and not any(each.strip() if isinstance(each, str) else each for each in said)


def _memorize(context: Context, stored: Stored, how: How) -> Memorized:
    """Memorize what is new in a session, stretch by stretch, or park what is left; whoever calls is alone at it."""
    stored = with_kept(context, stored)
    work = taken(context, stored)
    if not work.fresh:
        context.book.journal.unpark(name_of(stored.session))
        return Memorized(session=stored.session.uuid, redacted=stored.redacted)
    parts = [work.fresh]
    done: list[Memorized] = []
    try:
        if context.metered(how.llm, model=how.model) is not None:
            _promise(context, work, how)
            parts = list(stretches(work.fresh))
        for part in parts:
            work = _upto(context, stored, part)
            done.append(_remembered(context, work, how))
    except (LLMFailed, ConfigError, Unavailable, Conflict) as error:
        try:
            return _all((*done, _parked(context, taken(context, stored), error, how)))
        except Unavailable as again:
            raise Unavailable(f"{error}; and it cannot wait to be tried again: {again}") from error
    with suppress(Unavailable):  # it is remembered: the next try finds nothing new
        context.book.journal.unpark(name_of(stored.session))
    return _all(done)


def _upto(context: Context, stored: Stored, part: Sequence[Turn]) -> Work:
    """The work that a stretch of a session is, as if nothing had been said after it."""
    end = next(place for place, turn in enumerate(stored.turns, 1) if turn.id == part[-1].id)
    return taken(context, stored._replace(turns=stored.turns[:end]))._replace(fresh=tuple(part))


def _remembered(context: Context, work: Work, how: How) -> Memorized:
    """Memorize one stretch of a session, in one call of the model where there is one."""
    work = looked_through(context, work, sure(context.metered(how.llm, model=how.model)))
    kind = BY_IMPORT if how.door == BY_IMPORT else KIND
    [brought] = written(context, [work], door=how.door or context.door, kind=kind, evolving=how.evolving)
    return _told(work, brought)


def _all(parts: Sequence[Memorized]) -> Memorized:
    """What the stretches of a session brought together; what waits is told by the last."""
    whole = parts[0]
    for part in parts[1:]:
        both = {name: getattr(whole, name) + getattr(part, name) for name in _ADDED}
        usage = whole.usage + part.usage if whole.usage and part.usage else part.usage or whole.usage
        summary, operation = part.summary or whole.summary, part.operation or whole.operation
        whole = part._replace(usage=usage, summary=summary, operation=operation, **both)
    return whole


_ADDED = (
    "new", "updated", "merged", "reinforced", "contradicted", "archived", "removed", "notes", "discarded", "memories",
    "proposals", "degraded",
)  # fmt: skip


def _told(work: Work, brought: Written) -> Memorized:
    """What a session brought, counted by what was carried out."""
    plan, submitted = brought.plan, brought.submitted
    added = [one.entry for one in brought.applied("add") if one.entry is not None]
    ids = {entry.id for entry in added}
    made = [one for one in plan.decisions if one.id in ids]
    operation = submitted.result.operation
    again = len(brought.applied("reinforce"))
    return Memorized(
        session=work.stored.session.uuid,
        new=sum(one.action == "created" for one in made),
        updated=sum(one.action == "updated" for one in made) + again,
        merged=sum(one.action == "merged" for one in made),
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


def _left(skipped: Sequence[tuple[str, str]]) -> tuple[Left, ...]:
    return tuple(Left(text, reason) for text, reason in skipped)


# --- the queue -----------------------------------------------------------------------------------


@contextmanager
def _alone(context: Context) -> Iterator[bool]:
    """Wait to be the only one that memorizes in this book, for as long as a call of a model may take twice."""
    patience = time.monotonic() + 2 * context.config.llm.timeout
    while True:
        with context.alone(KIND) as ours:
            if ours or time.monotonic() > patience:
                yield ours
                return
        time.sleep(0.05)


def _promise(context: Context, work: Work, how: How) -> None:
    """Queue the session before a model is asked, which takes long: should the process die, somebody else goes on."""
    if waits_for(context, work.stored.session) is None:
        _park(context, work, CUT_SHORT, how, context.book.now())


def _parked(context: Context, work: Work, error: Exception, how: How) -> Memorized:
    """Keep what could not be memorized, to be tried again; entries, notes and offsets are as they were."""
    before = waits_for(context, work.stored.session)
    promised = before is not None and before.reason == CUT_SHORT
    if before is not None and promised:
        context.book.journal.unpark(before.id)  # what was promised was no try
    failures = 0 if before is None or promised else before.tries
    reason = Mask(context).text(str(error))  # it may hold what the model said
    _park(context, work, reason, how, _next(context.book.now(), failures, error))
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
    session = work.stored.session
    if not context.config.transcripts.enabled:
        payload["kept"] = changes_json.render_turns(session, work.fresh, whole=False)
    context.book.journal.park(
        name_of(session),
        kind=KIND,
        payload=payload,
        reason=reason,
        time=context.book.now(),
        session=session.uuid,
        next=again,
    )


def _next(now: datetime, failures: int, error: Exception) -> datetime:
    """When to try again: after a wait that grows, or when the budget of the day is a new one."""
    if str(error) == BUSY:
        return now
    if isinstance(error, BudgetSpent) and "per day" in str(error):
        return datetime.combine(now.astimezone(UTC).date() + timedelta(days=1), datetime.min.time(), UTC)
    return now + (WAITS[failures] if failures < len(WAITS) else timedelta(days=1))


def _work_off(context: Context, limit: int | None, how: How, *, due: bool = True) -> list[Memorized]:
    """Memorize what is parked and due, or all of it, until something fails again."""
    done: list[Memorized] = []
    for each in context.book.journal.parked(kind=KIND, due=context.book.now() if due else None)[:limit]:
        same = how._replace(evolving=bool(each.payload.get("evolving")), door=str(each.payload.get("door", "")))
        found = _memorize(context, kept(context, each), same)
        done.append(found)
        if found.queued:
            break
    return done
