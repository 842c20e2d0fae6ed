"""What waits for a person's word: automatic writes that are proposed instead, listed, accepted, rejected.

A proposal keeps, beside each change, how the entry stood that it is about. What changed since is not carried out on
the strength of an old reason: it is shown as stale and worked out anew. What a person rejected does not come again
while the entry is what it was then; fading alone does not make it another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.book.transaction import Result
from memorybook.book.undo import Group
from memorybook.entries.merge_plan import Proposed
from memorybook.entries.proposals import KINDS, fitting, kept, key_of, overruled, proposals_of, stale, told, tombstones
from memorybook.errors import Conflict, InvalidInput, NotFound
from memorybook.formats import changes_json
from memorybook.model import Add, Append, Change, Discarded, Entry, Proposal, Put
from memorybook.results import moment

if TYPE_CHECKING:
    from memorybook.context import Context

_NEW = (Add, Append, Put)


class Submitted(NamedTuple):
    """What became of an automatic write.

    Attributes:
        result: What was carried out; has no outcomes if the changes wait.
        proposals: Ids of the proposals that wait instead.
    """

    result: Result
    proposals: tuple[str, ...] = ()


class Waiting(NamedTuple):
    """A proposal as people read it.

    Attributes:
        proposal: As the journal keeps it.
        told: Each of its changes in words, with the first of the turns that it would delete.
        stale: Why it no longer fits; "" if it does, or is decided.
    """

    proposal: Proposal
    told: tuple[str, ...]
    stale: str = ""

    def json(self) -> dict[str, Any]:
        """`{"id", "kind", "reason", "time", "state", "stale", "told", "changes", "operation"}`."""
        proposal = self.proposal
        return {
            "id": proposal.id,
            "kind": proposal.kind,
            "reason": proposal.reason,
            "time": moment(proposal.time),
            "state": proposal.state,
            "stale": self.stale,
            "told": list(self.told),
            "changes": [dict(change) for change in proposal.changes],
            "operation": proposal.operation,
        }


class Review(NamedTuple):
    """Proposals, oldest first; `kinds` counts all of the asked state by kind."""

    proposals: tuple[Waiting, ...]
    kinds: Mapping[str, int]

    def json(self) -> dict[str, Any]:
        """`{"proposals": [{…}], "total", "kinds": {kind: count}}`."""
        shown = [each.json() for each in self.proposals]
        return {"proposals": shown, "total": sum(self.kinds.values()), "kinds": dict(self.kinds)}


class Reviewed(NamedTuple):
    """What a person's word did.

    Attributes:
        accepted: Ids of proposals with that of the operation that carried each out (None: nothing was left to do).
        rejected: Ids of proposals.
        stale: Ids of proposals that no longer fit and were withdrawn, with the reason.
        anew: Ids of the proposals that took their place.
    """

    accepted: tuple[tuple[str, str | None], ...] = ()
    rejected: tuple[str, ...] = ()
    stale: tuple[tuple[str, str], ...] = ()
    anew: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        """`{"accepted": [{"id", "operation"}], "rejected": [id], "stale": [{"id", "reason"}], "anew": [id]}`."""
        return {
            "accepted": [{"id": id, "operation": operation} for id, operation in self.accepted],
            "rejected": list(self.rejected),
            "stale": [{"id": id, "reason": reason} for id, reason in self.stale],
            "anew": list(self.anew),
        }


# --- proposing -----------------------------------------------------------------------------------


def propose_or_apply(
    context: Context,
    changes: Sequence[Change],
    *,
    kind: str,
    session: str | None = None,
    discarded: Sequence[Discarded] = (),
    usage: Mapping[str, Any] | None = None,
    proposed: Iterable[Proposed] = (),
    door: str | None = None,
) -> Submitted:
    """The one way of automatic writes: carried out at once, or proposed if the setting wants a person's word.

    With `require_user_confirmation` the changes wait in the review queue, those that belong together in one proposal;
    what was left out, and what the model used, is journalled all the same.

    Args:
        changes: As for `Book.apply`; so are `kind`, `session`, `discarded` and `usage`.
        proposed: What waits in any case.
        door: None is the memory's own.

    Raises:
        As `Book.apply`.
    """
    group = Group(session, changes, discarded, usage)
    [submitted] = propose_or_apply_each(context, [group], kind=kind, door=door)
    return submitted._replace(proposals=(*submitted.proposals, *propose(context, proposed, session=session)))


def propose_or_apply_each(
    context: Context, groups: Sequence[Group], *, kind: str, door: str | None = None
) -> list[Submitted]:
    """As `propose_or_apply`, for several groups as `Book.apply_each` takes them."""
    book, door = context.book, door or context.door
    if not context.config.require_user_confirmation:
        return [Submitted(result) for result in book.apply_each(groups, actor=context.actor, door=door, kind=kind)]
    waiting = [propose(context, proposals_of(group.changes, kind), session=group.session) for group in groups]
    noted = [group._replace(changes=(), memorized=()) for group in groups]
    results = book.apply_each(noted, actor=context.actor, door=door, kind=kind)
    return [Submitted(result, ids) for result, ids in zip(results, waiting, strict=True)]


def propose(context: Context, proposed: Iterable[Proposed], *, session: str | None = None) -> tuple[str, ...]:
    """Put proposals into the queue; ids of those that wait there now.

    What waits there already keeps its id. What a person rejected before is left out.
    """
    wanted = list(proposed)
    if not wanted:
        return ()
    journal, now = context.book.journal, context.book.now()
    entries = {entry.id: entry for entry in context.book.entries()}
    decided = {key_of(each.changes): each for each in journal.proposals(state="rejected")}
    known = {key_of(each.changes): each.id for each in journal.proposals()}
    ids = []
    for kind, changes, reason in wanted:
        waiting = [kept(change, entries, session, kind) for change in changes]
        key = key_of(waiting)
        if key in decided:
            continue
        if key not in known:
            known[key] = journal.propose(kind, waiting, reason=reason, time=now)
        ids.append(known[key])
    return tuple(dict.fromkeys(ids))


# --- listing -------------------------------------------------------------------------------------


def review(context: Context, *, kind: str | None = None, state: str = "open", limit: int | None = None) -> Review:
    """What waits for a person's word, oldest first.

    Args:
        kind: Only of this kind.
        state: `open`, `accepted`, `rejected` or `withdrawn`.
        limit: At most this many, at least 1; None takes all.

    Raises:
        InvalidInput: An unknown kind or state, or a limit below 1.
    """
    if state not in ("open", "accepted", "rejected", "withdrawn"):
        raise InvalidInput(f"state {state!r} is none of open, accepted, rejected, withdrawn")
    if limit is not None and limit < 1:
        raise InvalidInput(f"limit {limit} is below 1")
    _check_kind(context, kind)
    found = context.book.journal.proposals(state=state)
    wanted = [each for each in found if kind is None or each.kind == kind]
    entries = {entry.id: entry for entry in context.book.entries()}
    book, transcripts = context.book, context.book.transcripts
    shown = tuple(
        Waiting(
            each,
            tuple(told(each.changes, entries, transcripts)),
            stale(book, each, entries) if state == "open" else "",
        )
        for each in wanted[:limit]
    )
    return Review(shown, Counter(each.kind for each in wanted))


# --- deciding ------------------------------------------------------------------------------------


def accept(context: Context, ids: Sequence[str] = (), *, kind: str | None = None, every: bool = False) -> Reviewed:
    """Carry out proposals, each as one operation on the documents as they are now.

    One that is stale is withdrawn, and worked out anew where something of it is left.

    Args:
        ids: Of open proposals; or give one of:
        kind: All of this kind.
        every: All.

    Raises:
        InvalidInput: Not exactly one of the three was given, an id is no text, or the kind is unknown.
        NotFound: There is no open proposal of one of the ids; nothing was done.
    """
    chosen = _chosen(context, ids, kind, every)
    standing = {entry.id: entry for entry in context.book.entries()} if chosen else {}
    forgets = [(each, buried) for each in chosen if (buried := tombstones(context, each, standing))]
    accepted: list[tuple[str, str | None]] = []
    outdated: list[tuple[Proposal, str]] = []
    while chosen:
        entries = {entry.id: entry for entry in context.book.entries()}
        batch, chosen = _apart(chosen)
        reasons = {each.id: stale(context.book, each, entries) or overruled(each, forgets) for each in batch}
        outdated += [(proposal, reasons[proposal.id]) for proposal in batch if reasons[proposal.id]]
        done, failed = _carried_out(context, [each for each in batch if not reasons[each.id]], entries)
        accepted += done
        outdated += failed
    anew = tuple(id for proposal, why in outdated for id in withdraw(context, proposal, why))
    return Reviewed(tuple(accepted), (), tuple((proposal.id, why) for proposal, why in outdated), anew)


def _apart(proposals: Iterable[Proposal]) -> tuple[list[Proposal], list[Proposal]]:
    """Proposals of which no two name the same entry or document, and the rest: these must see what those did."""
    apart: list[Proposal] = []
    rest: list[Proposal] = []
    named: set[str] = set()
    for proposal in proposals:
        mine = {str(change[name]) for change in proposal.changes for name in ("id", "by", "path") if name in change}
        (rest if mine & named else apart).append(proposal)
        named |= mine
    return apart, rest


def _carried_out(
    context: Context, proposals: Sequence[Proposal], entries: Mapping[str, Entry]
) -> tuple[list[tuple[str, str | None]], list[tuple[Proposal, str]]]:
    """Ids with operations of those that were carried out, each by one; and those that could not be, with why."""
    book = context.book
    groups = [
        Group(_session(each), list(map(changes_json.parse, each.changes)), bury=tombstones(context, each, entries))
        for each in proposals
    ]
    try:
        results = book.apply_each(groups, actor=context.actor, door=context.door, kind="review") if groups else []
    except (NotFound, Conflict, InvalidInput) as error:  # somebody changed something in this very moment
        if len(proposals) == 1:
            return [], [(proposals[0], str(error))]
        each_alone = [_carried_out(context, [proposal], entries) for proposal in proposals]
        return [one for done, _ in each_alone for one in done], [one for _, failed in each_alone for one in failed]
    operations = [result.operation.id if result.operation else None for result in results]
    for proposal, operation in zip(proposals, operations, strict=True):
        book.journal.decide(proposal.id, "accepted", time=book.now(), operation=operation)
    return [(proposal.id, operation) for proposal, operation in zip(proposals, operations, strict=True)], []


def _session(proposal: Proposal) -> str | None:
    return next((change["session"] for change in proposal.changes if change.get("session")), None)


def withdraw(context: Context, proposal: Proposal, why: str) -> tuple[str, ...]:
    """Take back a proposal that no longer fits; what it says that is new is proposed anew. Ids of these."""
    book = context.book
    book.journal.decide(proposal.id, "withdrawn", time=book.now())
    left = fitting(book, proposal, {entry.id: entry for entry in book.entries()})
    if not any(isinstance(change, _NEW) for change in left):
        return ()
    rest = Proposed(proposal.kind, tuple(left), f"{proposal.reason} ({why})")
    return propose(context, [rest], session=_session(proposal))


def reject(
    context: Context, ids: Sequence[str] = (), *, kind: str | None = None, every: bool = False, reason: str = ""
) -> Reviewed:
    """Settle proposals without carrying them out; the same ones do not come again, and the history keeps why.

    Args:
        ids, kind, every: As for `accept`.
        reason: Why, for the history.

    Raises:
        As `accept`.
    """
    chosen = _chosen(context, ids, kind, every)
    if not chosen:
        return Reviewed()
    book = context.book
    entries = {entry.id: entry for entry in book.entries()}
    because = f"rejected: {reason.strip()}" if reason.strip() else "rejected"
    left = [
        Discarded(text=f"{proposal.kind}: {'; '.join(told(proposal.changes, entries))}", reason=because)
        for proposal in chosen
    ]
    result = book.apply([], actor=context.actor, door=context.door, kind="review", discarded=left)
    operation = result.operation.id if result.operation else None
    for proposal in chosen:
        book.journal.decide(proposal.id, "rejected", time=book.now(), operation=operation)
    return Reviewed(rejected=tuple(proposal.id for proposal in chosen))


def _chosen(context: Context, ids: Sequence[str], kind: str | None, every: bool) -> list[Proposal]:
    if (bool(ids), kind is not None, every).count(True) != 1:
        raise InvalidInput("give ids of proposals, a kind, or all of them: exactly one of the three")
    for id in ids:
        if not isinstance(id, str):
            raise InvalidInput(f"the id of a proposal is text such as 'p1', not {id!r}: give one after the other")
    _check_kind(context, kind)
    waiting = {each.id: each for each in context.book.journal.proposals(kind=kind)}
    if not ids:
        return list(waiting.values())
    for id in ids:
        if id not in waiting:
            raise NotFound(f"no proposal {id!r} waits: see `memorybook review`")
    return [waiting[id] for id in dict.fromkeys(ids)]


def _check_kind(context: Context, kind: str | None) -> None:
    """Refuse a kind that no proposal can have."""
    if kind is None:
        return
    from memorybook.entries import tidy_proposals

    kinds = tuple(dict.fromkeys((*tidy_proposals.KINDS, *KINDS)))
    if kind not in kinds and not context.book.journal.proposals(state=None, kind=kind):
        raise InvalidInput(f"kind {kind!r} is none of {', '.join(kinds)}")
