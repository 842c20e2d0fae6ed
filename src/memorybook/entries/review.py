"""The review queue: automatic writes that wait for a person, listed, accepted, rejected; and confirming.

A proposal keeps, beside each change, how the entry stood that it is about. What changed since is not carried out on
the strength of an old reason: it is shown as stale and worked out anew. What a person rejected does not come again
while the entry is what it was then; fading alone does not make it another.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from memorybook import locale
from memorybook._light import NamedTuple
from memorybook.book import fade
from memorybook.book.book import Group
from memorybook.book.fade import unconfirmed
from memorybook.book.transaction import Result, statement
from memorybook.entries.match import Proposed
from memorybook.entries.read import known
from memorybook.errors import Conflict, InvalidInput, NotFound, Unavailable
from memorybook.forget.cutting import repeat_digests
from memorybook.forget.tombstones import summary_sentences, tombstones_of, turn_key, without_label
from memorybook.formats import changes_json, session_md
from memorybook.model import (
    Add,
    Append,
    Archive,
    Change,
    Discarded,
    Drop,
    Entry,
    Proposal,
    Put,
    Reinforce,
    Remove,
    RemoveTurns,
    Supersede,
    Update,
)
from memorybook.results import moment, to_json
from memorybook.sessions.recall_block import short
from memorybook.text.screen import screen
from memorybook.text.splitting import entry_passage
from memorybook.text.tokens import digest, text_digest
from memorybook.validate import count_of

if TYPE_CHECKING:
    from datetime import datetime

    from memorybook.book.book import Book
    from memorybook.context import Context
    from memorybook.protocols import Transcripts
    from memorybook.results import Known


class Submitted(NamedTuple):
    """The result of an automatic write.

    Attributes:
        result: What was carried out; has no outcomes if the changes wait.
        proposals: Ids of the proposals that wait instead.
    """

    result: Result
    proposals: tuple[str, ...] = ()


class Waiting(NamedTuple):
    """A proposal as shown to people.

    Attributes:
        proposal: The record in the journal.
        told: A description of each change, with the first of the turns that it would delete.
        stale: Why it no longer applies; "" if it does, or is decided.
    """

    proposal: Proposal
    told: tuple[str, ...]
    stale: str = ""

    def json(self) -> dict[str, Any]:
        """Return `{"id", "kind", "reason", "time", "state", "stale", "told", "changes", "operation"}`."""
        time = moment(self.proposal.time)
        return {**to_json(self.proposal), "time": time, "stale": self.stale, "told": list(self.told)}


class Review(NamedTuple):
    """Proposals, oldest first, over which it iterates; `kinds` counts all of the asked state by kind."""

    proposals: tuple[Waiting, ...]
    kinds: Mapping[str, int]

    def __iter__(self) -> Iterator[Waiting]:  # type: ignore[override]
        return iter(self.proposals)

    def __len__(self) -> int:
        return len(self.proposals)

    def json(self) -> dict[str, Any]:
        """Return `{"proposals": [{…}], "total", "kinds": {kind: count}}`."""
        shown = [each.json() for each in self.proposals]
        return {"proposals": shown, "total": sum(self.kinds.values()), "kinds": dict(self.kinds)}


class Reviewed(NamedTuple):
    """The result of accepting or rejecting proposals.

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
        """Return `{"accepted": [{"id", "operation"}], "rejected": [id], "stale": [{"id", "reason"}], "anew": [id]}`."""
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
) -> Submitted:
    """Apply automatic writes, or propose them if the setting wants a person's word.

    With `require_user_confirmation` the changes wait in the review queue, those that belong together in one proposal;
    what was left out, and what the model used, is journalled all the same.

    Args:
        changes: As for `Book.apply`; so are `kind`, `session`, `discarded` and `usage`.
        proposed: What waits in any case.

    Raises:
        As `Book.apply`.
    """
    group = Group(session, changes, discarded, usage)
    [submitted] = propose_or_apply_each(context, [group], kind=kind)
    return submitted._replace(proposals=(*submitted.proposals, *propose(context, proposed, session=session)))


def propose_or_apply_each(
    context: Context, groups: Sequence[Group], *, kind: str, door: str | None = None
) -> list[Submitted]:
    """Apply or propose several groups, as `Book.apply_each` takes them."""
    book, door = context.book, door or context.door
    if not context.config.require_user_confirmation:
        return [Submitted(result) for result in book.apply_each(groups, actor=context.actor, door=door, kind=kind)]
    waiting = [propose(context, proposals_of(group.changes, kind), session=group.session) for group in groups]
    noted = [group._replace(changes=(), memorized=()) for group in groups]
    results = book.apply_each(noted, actor=context.actor, door=door, kind=kind)
    return [Submitted(result, ids) for result, ids in zip(results, waiting, strict=True)]


def propose(context: Context, proposed: Iterable[Proposed], *, session: str | None = None) -> tuple[str, ...]:
    """Put proposals into the queue; return ids of those that wait there now.

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
    """See `Memory.review`."""
    if state not in ("open", "accepted", "rejected", "withdrawn"):
        raise InvalidInput(f"state {state!r} is none of open, accepted, rejected, withdrawn")
    limit = count_of(limit)
    _check_kind(context, kind)
    book = context.book
    found = book.journal.proposals(state=state)
    wanted = [each for each in found if kind in (None, each.kind) and not says_forgotten(book, each)]
    entries = {entry.id: entry for entry in book.entries()}
    shown: list[Waiting] = []
    for each in wanted[:limit]:
        why = stale(book, each, entries) if state == "open" else ""
        shown.append(Waiting(each, tuple(told(each.changes, entries, book.transcripts)), why))
    return Review(tuple(shown), Counter(each.kind for each in wanted))


# --- deciding ------------------------------------------------------------------------------------


def accept(context: Context, ids: Sequence[str] = (), *, kind: str | None = None, every: bool = False) -> Reviewed:
    """See `Memory.accept`. What is left of a stale proposal is worked out anew."""
    chosen = _choose(context, ids, kind, every)
    standing = {entry.id: entry for entry in context.book.entries()} if chosen else {}
    forgets = [(each, buried) for each in chosen if (buried := tombstones(context, each, standing))]
    accepted: list[tuple[str, str | None]] = []
    outdated: list[tuple[Proposal, str]] = []
    while chosen:
        entries = {entry.id: entry for entry in context.book.entries()}
        batch: list[Proposal] = []  # these share no entry or document; the rest must see what they did
        rest: list[Proposal] = []
        named: set[str] = set()
        for proposal in chosen:
            mine = {str(change[name]) for change in proposal.changes for name in ("id", "by", "path") if name in change}
            (rest if mine & named else batch).append(proposal)
            named |= mine
        chosen = rest
        reasons = {each.id: stale(context.book, each, entries) or overruling_reason(each, forgets) for each in batch}
        outdated += [(proposal, reasons[proposal.id]) for proposal in batch if reasons[proposal.id]]
        done, failed = _carry_out(context, [each for each in batch if not reasons[each.id]], entries)
        accepted += done
        outdated += failed
    anew = tuple(id for proposal, why in outdated for id in withdraw(context, proposal, why))
    return Reviewed(tuple(accepted), (), tuple((proposal.id, why) for proposal, why in outdated), anew)


def _carry_out(
    context: Context, proposals: Sequence[Proposal], entries: Mapping[str, Entry]
) -> tuple[list[tuple[str, str | None]], list[tuple[Proposal, str]]]:
    """Carry out proposals, each as an operation; return ids with operations, and what failed, with why."""
    book, done, failed = context.book, [], []
    groups = [
        Group(_session(each), list(map(changes_json.parse, each.changes)), bury=tombstones(context, each, entries))
        for each in proposals
    ]
    try:
        results = book.apply_each(groups, actor=context.actor, door=context.door, kind="review") if groups else []
    except (NotFound, Conflict, InvalidInput) as error:  # somebody changed something in this very moment
        if len(proposals) == 1:
            return [], [(proposals[0], str(error))]
        for proposal in proposals:
            one_done, one_failed = _carry_out(context, [proposal], entries)
            done += one_done
            failed += one_failed
        return done, failed
    for proposal, result in zip(proposals, results, strict=True):
        operation = result.operation.id if result.operation else None
        book.journal.decide(proposal.id, "accepted", time=book.now(), operation=operation)
        done.append((proposal.id, operation))
    return done, failed


def _session(proposal: Proposal) -> str | None:
    return next((change["session"] for change in proposal.changes if change.get("session")), None)


def withdraw(context: Context, proposal: Proposal, why: str) -> tuple[str, ...]:
    """Take back a proposal that no longer fits; what it says that is new is proposed anew. Ids of these."""
    book = context.book
    book.journal.decide(proposal.id, "withdrawn", time=book.now())
    against = _against(book, proposal, {entry.id: entry for entry in book.entries()})
    left = [changes_json.parse(each) for each, why in zip(proposal.changes, against, strict=True) if not why]
    if not any(isinstance(change, Add | Append | Put) for change in left):
        return ()
    rest = Proposed(proposal.kind, tuple(left), f"{proposal.reason} ({why})")
    return propose(context, [rest], session=_session(proposal))


def reject(
    context: Context, ids: Sequence[str] = (), *, kind: str | None = None, every: bool = False, reason: str = ""
) -> Reviewed:
    """See `Memory.reject`."""
    chosen = _choose(context, ids, kind, every)
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


def _choose(context: Context, ids: Sequence[str], kind: str | None, every: bool) -> list[Proposal]:
    if (bool(ids), kind is not None, every).count(True) != 1:
        raise locale.error(InvalidInput, "problems.one_of_three")
    _check_kind(context, kind)
    waiting = {each.id: each for each in context.book.journal.proposals(kind=kind)}
    if not ids:
        return list(waiting.values())
    for id in ids:
        if id not in waiting:
            raise locale.error(NotFound, "problems.no_proposal", name=repr(id))
    return [waiting[id] for id in dict.fromkeys(ids)]


def _check_kind(context: Context, kind: str | None) -> None:
    """Refuse a kind that no proposal can have."""
    kinds = tuple(dict.fromkeys((*TIDYING, *KINDS)))
    if kind not in (None, *kinds) and not context.book.journal.proposals(state=None, kind=kind):
        raise InvalidInput(f"kind {kind!r} is none of {', '.join(kinds)}")


# --- proposals --------------------------------------------------------------------------------------

_ABOUT_ENTRIES = (Update, Reinforce, Archive, Remove, Supersede)
_KINDS: tuple[tuple[str, type[Any]], ...] = (
    ("remove", Remove),
    ("replace", Supersede),
    ("archive", Archive),
    ("change", Update),
    ("new", Add),
    ("repeat", Reinforce),
    ("note", Append),
    ("summary", Put),
)
_PASSING = frozenset({"score", "scored"})
_TURNS_TOLD = 3

_FORGOTTEN = "it was forgotten since"

FORGET = "forget"
"""Kind of what a person asked to forget: it holds however often it was said again, and leaves tombstones."""

CONFIRM = "confirm"
"""Kind of what tidying asks a person: whether it still holds. Nothing answers that by itself."""

KINDS = (*(kind for kind, _ in _KINDS), FORGET, "doubtful", CONFIRM)
"""Kinds of proposals, but for those of tidying."""

TIDYING = ("expire", "archive", "remove", "duplicate", "conflict", "promote")
"""Kinds of what tidying does or proposes."""


def key(changes: Iterable[Change], entries: Mapping[str, Entry]) -> str:
    """Return the key of changes that are not kept yet, see `key_of`."""
    return key_of([kept(change, entries, None) for change in changes])


def key_of(changes: Sequence[Mapping[str, Any]]) -> str:
    """Return the key of a proposal: equal ones do the same to unchanged entries, or add the same text."""
    named = {change["entry"]["id"]: digest(change["entry"]["text"]) for change in changes if change.get("do") == "add"}

    def key_of_change(change: Mapping[str, Any]) -> str:
        kind = change.get("do")
        if kind == "add":
            return f"add {digest(change['entry']['text'])}"
        if kind == "append":
            return f"append {digest(statement(change['line']))}"
        if kind == "put":
            return f"put {change['path']} {text_digest(change['text'])}"
        fields = {name: value for name, value in change.get("fields", {}).items() if name not in _PASSING}
        fields = {name: named.get(each, each) if isinstance(each, str) else each for name, each in fields.items()}
        by = change.get("by", "")
        turns: tuple[object, ...] | None = None
        if kind == "removeturns":
            turns = (change.get("session"), sorted(change.get("turn_ids") or ()))
        elif kind == "editturns":
            turns = (change.get("session"), sorted(change.get("texts", {}).items()))
        where = (change.get("path"), change.get("line"), change.get("left"), turns)
        return f"{kind} {change.get('id')} {named.get(by, by)} {change.get('seen')} {where} {sorted(fields.items())}"

    return text_digest(repr(sorted(map(key_of_change, changes))))


def kept(change: Change, entries: Mapping[str, Entry], session: str | None, kind: str = "") -> dict[str, Any]:
    """Return the change as it is kept: with its session, and a stamp of the entry it is about."""
    shown = changes_json.render(change)
    if session is not None and "session" not in shown:
        shown["session"] = session
    if isinstance(change, _ABOUT_ENTRIES) and change.id in entries:
        shown["seen"] = _stamp(change, entries[change.id], kind)
    return shown


def _stamp(change: Change, entry: Entry, kind: str) -> str:
    """Return a digest of what a change depends on in an entry; fading alone does not change it."""
    said = (entry.text, entry.category, entry.archived, entry.pinned, entry.superseded_by, entry.expires)
    if isinstance(change, Reinforce) and change.confirms:
        return text_digest(repr((said, entry.confirmed_on, entry.lasting)))
    if isinstance(change, Reinforce | Supersede) or kind == FORGET:
        return text_digest(repr(said))
    anew = fade.fade(1.0, scored=entry.last_activated, activated=entry.last_activated, today=entry.scored)
    used = (entry.hits, entry.last_activated, f"{entry.score / anew:.3g}" if anew else "")
    return text_digest(repr((said, used)))


def proposals_of(changes: Iterable[Change], verb: str) -> Iterator[Proposed]:
    """Yield a proposal for each group of changes that name the same entries, in order."""
    groups: list[tuple[set[str], list[Change]]] = []
    for change in changes:
        ids = ids_of(change)
        joined = [group for group in groups if group[0] & ids]
        groups = [group for group in groups if not group[0] & ids]
        groups.append((ids.union(*(group[0] for group in joined)), [*(c for _, mine in joined for c in mine), change]))
    for _, group in groups:
        kind = next((name for name, of in _KINDS if any(isinstance(change, of) for change in group)), "forget")
        reasons = "; ".join(dict.fromkeys(change.reason for change in group if change.reason))
        yield Proposed(kind, tuple(group), f"{verb}: {reasons}" if reasons else verb)


def ids_of(change: Change) -> set[str]:
    """Return ids of the entries that a change is about."""
    if isinstance(change, Add):
        return {change.entry.id}
    if not isinstance(change, _ABOUT_ENTRIES):
        return set()
    by = change.fields.get("superseded_by") if isinstance(change, Update) else getattr(change, "by", None)
    return {change.id, by or change.id}


def tombstones(context: Context, proposal: Proposal, entries: Mapping[str, Entry]) -> set[str]:
    """Return what must not come back once this is carried out; empty but for requests to forget. Ask before."""
    if proposal.kind != FORGET:
        return set()
    changes = list(map(changes_json.parse, proposal.changes))
    removed = [entries[one.id] for one in changes if isinstance(one, Remove) and one.id in entries]
    lines = [one.line for one in changes if isinstance(one, Drop) and one.line]
    turns = [
        turn
        for one in changes
        if isinstance(one, RemoveTurns) and one.turn_ids
        for turn in context.book.transcripts.turns(one.session)
        if turn.id in one.turn_ids
    ]
    return tombstones_of(context, removed, lines=lines, turns=turns)


# --- in words ------------------------------------------------------------------------------------


def told(
    changes: Sequence[Mapping[str, Any]], entries: Mapping[str, Entry], transcripts: Transcripts | None = None
) -> Iterator[str]:
    """Describe changes; with the transcripts, quote the turns that would go."""
    said = {id: entry.text for id, entry in entries.items()}
    said |= {change["entry"]["id"]: change["entry"]["text"] for change in changes if change.get("do") == "add"}
    for change in changes:
        kind, id = change.get("do"), str(change.get("id", ""))
        text = line(said.get(id, "(gone)"))
        if kind == "add":
            yield f"+ {line(change['entry']['text'])}"
        elif kind == "append":
            yield f"+ {change['path']}: {line(change['line'])}"
        elif kind == "supersede":
            yield f"{id} is no longer true: {text} (now: {line(said.get(change['by'], '(gone)'))})"
        elif kind == "update":
            fields = {name.replace("_", " "): value for name, value in change["fields"].items() if name not in _PASSING}
            yield f"{id}, {', '.join(f'{name} → {_value(value)}' for name, value in fields.items())}: {text}"
        elif kind in ("archive", "remove", "reinforce"):
            yield f"{'confirm' if change.get('confirms') and not change.get('said') else kind} {id}: {text}"
        elif kind == "drop":
            yield f"- {change['path']}" + (f": {line(change['line'])}" if change.get("line") else ", all of it")
            yield from [f"+ {change['path']}: {line(change['left'])}"] if change.get("left") else []
        elif kind == "removeturns":
            ids = change.get("turn_ids")
            count = f"{len(ids)} turn{'s' * (len(ids) != 1)}" if ids else "all turns"
            yield f"- {count} of session {short(change['session'])}"
            yield from _quote_turns(change, transcripts)
        elif kind == "editturns":
            yield from _describe_edited(change, transcripts)
        elif kind == "put":
            yield "\n".join(_describe_page(change["path"], change.get("made_from") or "", change["text"]))
        else:
            yield f"{kind}, which this version does not know"


def _quote_turns(change: Mapping[str, Any], transcripts: Transcripts | None) -> Iterator[str]:
    """Quote the first of the turns that would go, and count the rest."""
    session, ids = change["session"], change.get("turn_ids")
    try:
        if transcripts is None:
            return
        turns = [one for id in ids for one in transcripts.find(id, session)] if ids else transcripts.turns(session)
    except Unavailable:  # what is said to be about them must do
        return
    for turn in turns[:_TURNS_TOLD]:
        if screen(turn.text) is None:
            yield f"  turn:{turn.id}: {line(turn.text, 120)}"
        else:
            yield f"  turn:{turn.id}: (it tries to instruct whoever reads it)"
    if len(turns) > _TURNS_TOLD:
        yield f"  and {len(turns) - _TURNS_TOLD} more"


def _describe_edited(change: Mapping[str, Any], transcripts: Transcripts | None) -> Iterator[str]:
    """Tell turns that would be cut, as they are, if that can be read, and as they would be."""
    for id, text in change.get("texts", {}).items():
        before = ""
        with suppress(Unavailable):
            turns = transcripts.find(id, change["session"]) if transcripts is not None else ()
            before = next((turn.text for turn in turns if screen(turn.text) is None), "")
        yield (
            f"~ turn:{id}: {line(before)} → {line(text)}" if before not in ("", text) else f"~ turn:{id}: {line(text)}"
        )
    for name in ("title", "summary"):
        if change.get(name) is not None:
            yield f"~ session:{short(change['session'])}: {name} → {line(change[name])}"


def _describe_page(path: str, before: str, after: str) -> Iterator[str]:
    """Describe a page that is written; of a summary its title, and what it no longer says and says now."""
    if not path.startswith("sessions/"):
        yield f"write {path}: {line(after)}"
        return
    old, new = session_md.parse(before), session_md.parse(after)
    was, says = (
        dict.fromkeys(
            (
                *summary_sentences(page.summary),
                *(f"decided: {each}" for each in page.decisions),
                *(f"open: {each}" for each in page.open_questions),
            )
        )
        for page in (old, new)
    )
    yield f"{'change' if before else 'write'} {path}: {line(new.title or new.name)}"
    yield from (f"- {line(row)}" for row in was if row not in says)
    yield from (f"+ {line(row)}" for row in says if row not in was)


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "nothing" if value is None else str(value)


def line(text: str, most: int = 300) -> str:
    """Return a text in one line, cut."""
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


# --- whether they fit -----------------------------------------------------------------------------


def stale(book: Book, proposal: Proposal, entries: Mapping[str, Entry]) -> str:
    """Return why a proposal no longer fits what stands there now; "" if it does."""
    if says_forgotten(book, proposal):
        return _FORGOTTEN
    return next(filter(None, _against(book, proposal, entries)), "")


def says_forgotten(book: Book, proposal: Proposal) -> bool:
    """Return whether a proposal says, in any words, what was forgotten since it was made; it is then hidden."""
    if proposal.kind == FORGET or not book.journal.buries():
        return False

    def texts(value: Any) -> Iterator[str]:
        if isinstance(value, Mapping):
            yield from (value[name] for name in ("text", "line", "quote") if isinstance(value.get(name), str))
            value = list(value.values())
        if isinstance(value, list | tuple):
            yield from (text for each in value for text in texts(each))

    marks = {mark for text in texts(proposal.changes) for mark in repeat_digests(text)}
    return _forgotten_since(book, tuple(marks), proposal.time)


def overruling_reason(proposal: Proposal, forgets: Iterable[tuple[Proposal, set[str]]]) -> str:
    """Return why a later request to forget, given with its tombstones, stands against a proposal; "" if none."""
    if proposal.kind == FORGET:
        return ""
    shown = ((changes_json.parse(each), each.get("session") or "") for each in proposal.changes)
    brings = {one for change, session in shown for one in _says_and_rests_on(change, session)}
    later = (buried for each, buried in forgets if each.time > proposal.time)
    return "" if all(map(brings.isdisjoint, later)) else "it is to be forgotten"


def _against(book: Book, proposal: Proposal, entries: Mapping[str, Entry]) -> Iterator[str]:
    """Yield for each change of a proposal what stands against it; "" if nothing does."""
    adding = [change for change in proposal.changes if change.get("do") == "add"]
    added = {one["entry"]["id"] for one in adding if not _misfit(book, one, proposal, set(), entries)}
    return (_misfit(book, change, proposal, added, entries) for change in proposal.changes)


def _misfit(
    book: Book, shown: Mapping[str, Any], proposal: Proposal, added: set[str], entries: Mapping[str, Entry]
) -> str:
    """Return why a change does not fit, given the ids that its proposal can still add; "" if it does."""
    try:
        change = changes_json.parse(shown)
    except ValueError as error:
        return str(error)
    if isinstance(change, Add) and change.entry.id in entries:
        return f"entry {change.entry.id} is in the book already"
    brings = () if proposal.kind == FORGET else _says_and_rests_on(change, shown.get("session") or "")
    if _forgotten_since(book, tuple(brings), proposal.time):
        return _FORGOTTEN
    if isinstance(change, Put):
        standing = ""
        with suppress(NotFound):
            standing = book.documents.read(change.path).text
        return "" if change.made_from in (None, standing) else f"{change.path} was changed since"
    if not isinstance(change, _ABOUT_ENTRIES):
        return ""
    entry = entries.get(change.id)
    if entry is None:
        return "" if change.id in added else f"entry {change.id} is gone"
    if _stamp(change, entry, proposal.kind) != shown.get("seen"):
        return f"entry {change.id} was changed since"
    if isinstance(change, Supersede) and change.by not in entries and change.by not in added:
        return f"entry {change.by} is gone"
    return ""


def _forgotten_since(book: Book, digests: Sequence[str], time: datetime) -> bool:
    """Return whether one of these was forgotten after that time, not by requests made before and accepted since."""
    if not book.journal.buried(digests, since=time):
        return False
    asked = (each for each in book.journal.proposals(state="accepted", kind=FORGET) if each.time < time)
    return bool(book.journal.buried(digests, since=time, but={each.operation for each in asked if each.operation}))


def _says_and_rests_on(change: Change, session: str) -> Iterator[str]:
    """Yield the tombstones that would stand against a change: of its text, and of the turns it rests on."""
    if isinstance(change, Add):
        source = change.entry.source or ""
        yield digest(change.entry.text)
        yield turn_key(change.entry.session or session, source.removeprefix("turn:"))
    elif isinstance(change, Append):
        yield digest(statement(change.line))
        yield from (turn_key(session, turn) for turn in re.findall(r"\bturn:(\S+)", change.reason))
    elif isinstance(change, Put) and change.path.startswith("sessions/"):
        page = session_md.parse(change.text)
        said = (*summary_sentences(page.summary), *page.decisions, *page.open_questions)
        yield from (digest(form) for text in said for form in (text, without_label(text)))
        yield from (turn_key(page.session, turn) for turn in page.turn_ids)


# --- confirming -----------------------------------------------------------------------------------


MOST_ASKED = 10
"""Entries that a person is asked about in one run."""


def confirm(context: Context, id: str, *, lasting: bool | None = None) -> Known:
    """See `Memory.confirm`. What was said or confirmed today already is left as it is."""
    book = context.book
    entry = next((one for one in book.entries() if one.id == id), None)
    if entry is None:
        raise locale.error(NotFound, "problems.no_entry", name=repr(id))
    if entry.superseded_by is not None:
        raise locale.error(Conflict, "problems.confirm_replaced", name=repr(id), other=repr(entry.superseded_by))
    today = book.now().date()
    changes: list[Change] = []
    if entry.confirmed_on is None or entry.confirmed_on < today:
        changes.append(Reinforce(id=id, reason="confirmed", confirms=True))
    fields: dict[str, bool] = {} if lasting in (None, entry.lasting) else {"lasting": bool(lasting)}
    if entry.archived and not (entry.expires and entry.expires < today):
        fields["archived"] = False
    if fields:
        changes.append(Update(id=id, fields=fields, reason="confirmed"))
    result = book.apply(changes, actor=context.actor, door=context.door, kind="confirm")
    [now] = known(book, [next((one.entry for one in reversed(result.outcomes) if one.entry), entry)])
    return now._replace(operation=result.operation.id if result.operation else None)


def to_confirm(context: Context, entries: Mapping[str, Entry], planned: Iterable[Proposed]) -> list[Proposed]:
    """Propose to confirm what nobody did for longer than its kind holds, the strongest first, a few at a time.

    Entries of other proposals are left out, those that came in or were said in the last days, and those of which a
    person did not want to be asked.
    """
    today, journal = context.book.now().date(), context.book.journal
    since = unconfirmed(context.config.stale, today)
    taken = {id for each in planned for change in each.changes for id in ids_of(change)}
    bound = today - timedelta(fade.GRACE_DAYS)
    current = [one for one in entries.values() if one.state == "active" and one.id not in taken]
    current = [one for one in current if one.last_activated < bound]
    asked = [(one, day) for one in current if (day := since(entry_passage(one)))]
    asked.sort(key=lambda each: (each[0].pinned, fade.strength(each[0], today)), reverse=True)
    found = [
        Proposed(CONFIRM, (Reinforce(id=one.id, reason="confirmed", confirms=True),), f"not confirmed since {day}")
        for one, day in asked
    ]
    rejected = {key_of(each.changes) for each in journal.proposals(state="rejected", kind=CONFIRM)}
    return [each for each in found if key(each.changes, entries) not in rejected][:MOST_ASKED]
