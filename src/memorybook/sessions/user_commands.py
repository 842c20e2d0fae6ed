"""Carry out explicit orders of a user to remember or forget at once, not only at the session's end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.book.book import Group
from memorybook.entries.durable_notes import PRIVATE_REASONS, clean, notes_of
from memorybook.entries.extract import extract
from memorybook.entries.ground import ground
from memorybook.entries.read import Mask
from memorybook.entries.read_reply import Extraction, Skipped
from memorybook.entries.remember import note_change
from memorybook.entries.review import Submitted, propose, propose_or_apply_each
from memorybook.entries.rules import by_rules
from memorybook.errors import ConfigError, InvalidInput, LLMFailed, MemoryBookError, Unavailable
from memorybook.exchange.export import renew
from memorybook.forget.cutting import without_forgotten_turns
from memorybook.forget.forget import replaced_by
from memorybook.forget.forget_requests import last_statement
from memorybook.forget.order_text import ASKED, is_unresolved, leaves_out
from memorybook.forget.tombstones import FORGOTTEN, ORDER, as_journaled, discard_unquoted, not_forgotten
from memorybook.model import Discarded, Note, Turn
from memorybook.results import Flushed
from memorybook.search.types import Query
from memorybook.sessions.memorize import Work, planned
from memorybook.sessions.summary import last_page
from memorybook.sessions.turns import Stored, mask_turns, turns_of, zone_of
from memorybook.text.sentences import clauses, content_size, is_question, sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memorybook.context import Context
    from memorybook.model import Session, Turn


class Obeyed(NamedTuple):
    """The result of a user's orders.

    Attributes:
        remembered: Id and text of each new entry.
        known: Id and text of each entry that said it already.
        suspect: Ids of new entries that try to instruct their reader: stored, but never shown unasked.
        forgotten: The forgotten texts.
        proposals: Ids of proposals that wait for a person instead.
        refused: Orders not carried out, with the reason.
        operation: Id of the operation; None if nothing was written.
        before: Earlier statements that a forgotten one had replaced; they stay, as no longer so.
        near: Suggestions for an order to forget of which nothing was found.
        asked: What else the user asked; "" if they only gave orders.
    """

    remembered: tuple[tuple[str, str], ...] = ()
    forgotten: tuple[str, ...] = ()
    proposals: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    operation: str | None = None
    asked: str = ""
    known: tuple[tuple[str, str], ...] = ()
    suspect: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    near: tuple[str, ...] = ()


def orders_in(turn: Turn, session: Session, context: Context) -> Extraction:
    """Return what a turn tells to remember or forget, by rules; without statements that are merely worth keeping."""
    found = by_rules([turn], session=session, now=context.book.now(), orders=True)
    if not any(map(is_unresolved, found.forget_requests)):
        return found
    before = last_statement(turn, context.book.transcripts.turns(session.uuid, last=_LOOKED_BACK))
    return by_rules([turn], session=session, now=context.book.now(), orders=True, before=before)


_LOOKED_BACK = 50
"""Turns among which the one is looked for that `forget what I just said` means: tools may have said many of them."""


def obey(context: Context, session: Session, turn: Turn) -> Obeyed | None:
    """Carry out what a user's turn plainly asks for; None if it asks for nothing.

    The session's end finds the same words in the turn again, and the entry that says them: it is neither added twice
    nor reinforced by that.

    Args:
        context: Whose book it is.
        session: In which it was said.
        turn: What was said, secrets masked.

    Raises:
        As `Book.apply`.
    """
    found = _with_named(orders_in(turn, session, context), turn, session, context)
    if not (found.candidates or found.forget_requests):
        refused = tuple((left.text, left.reason) for left in found.skipped)
        return Obeyed(refused=refused, asked=" ".join(_asked(turn, session, context))) if refused else None
    work = Work(Stored(session, (turn,)), last_page(context, session), (turn,), found)
    [plan] = planned(context, [work], door=context.door, summary=False)
    group = Group(session.uuid, plan.changes, as_journaled(context, plan.discarded), None, plan.orders.bury, ())
    if context.config.require_user_confirmation:
        [submitted] = propose_or_apply_each(context, [group], kind=ORDER)
    else:  # the user's own doing, whoever passes it on: only a person takes it back
        [result] = context.book.apply_each([group], actor="user", door=context.door, kind=ORDER)
        submitted = Submitted(result)
    if plan.orders.said:
        context.book.storage.drop_prepared()
        renew(context)
    waiting = propose(context, plan.proposed, session=session.uuid)
    outcomes = [one for one in submitted.result.outcomes if one.applied is not None]
    operation = submitted.result.operation
    written = {one.entry.id for one in outcomes if one.entry is not None}
    said = [(one.id, one.text) for one in plan.decisions if one.id is not None]
    doubted = {entry.id for entry in context.book.entries() if entry.trust == "suspect"}
    return Obeyed(
        tuple(one for one in said if one[0] in written),
        () if submitted.proposals else plan.orders.said,
        (*submitted.proposals, *waiting),
        tuple((left.text, left.reason) for left in plan.discarded if left.reason != ASKED),
        operation.id if operation is not None and outcomes else None,
        " ".join(_asked(turn, session, context)),
        () if submitted.proposals else tuple(one for one in said if one[0] not in written),
        tuple(id for id, _ in said if id in doubted),
        replaced_by(context, {one.applied.target for one in outcomes if one.applied and one.applied.kind == "remove"}),
        plan.orders.near,
    )


_SHOWN = 50
"""Entries that a model is shown with an order to forget."""


def _with_named(found: Extraction, turn: Turn, session: Session, context: Context) -> Extraction:
    """Return the orders with the entries that a model, where there is one that answers, says are to be forgotten."""
    if not found.forget_requests or all(leaves_out(request.text) for request in found.forget_requests):
        return found
    try:
        llm = context.metered()
        if llm is None:
            return found
        words = " ".join(request.text for request in found.forget_requests)
        hits = context.book.search(Query(words, pool=4 * _SHOWN, sources=frozenset({"entry"})), limit=_SHOWN).hits
        near = [hit.passage.entry for hit in hits]
        entries = [entry for entry in context.book.entries() if entry.trust != "suspect"]
        known = sorted(entries, key=lambda one: (one.id not in near, -one.score))[:_SHOWN]
        zone, mask = zone_of(context), Mask(context).text
        read = extract([turn], session=session, now=context.book.now(), llm=llm, known=known, zone=zone, mask=mask)
    except MemoryBookError:  # the rules alone obey, too
        return found
    ids = tuple(dict.fromkeys(id for request in read.forget_requests for id in request.ids))
    first, *others = found.forget_requests
    return replace(found, forget_requests=(replace(first, ids=ids), *others))


def _asked(turn: Turn, session: Session, context: Context) -> Iterator[str]:
    """Return the questions of a turn; of one that is an order, too, the clauses that only ask."""

    def tells(text: str) -> bool:
        found = orders_in(replace(turn, text=text), session, context)
        return bool(found.candidates or found.forget_requests)

    for sentence in sentences(turn.text):
        if sentence.question and not tells(sentence.text):
            yield sentence.text
        elif sentence.question:
            parts = filter(is_question, clauses(sentence.text))
            yield from (part for part in parts if content_size(part) >= _ASKS_SOMETHING and not tells(part))


_ASKS_SOMETHING = 3
"""Words from which a clause asks more than `will you?`; a Han character is half a word."""


# --- flush --------------------------------------------------------------------------------------


def flush(context: Context, text: str | None, messages: Sequence[Mapping[str, Any]] | None) -> Flushed:
    """See `Memory.flush`."""
    if (text is None) == (messages is None):
        raise InvalidInput("flush takes a text or messages, one of the two")
    mask = Mask(context)
    book = context.book
    found: list[Note] = []
    skipped: list[Skipped] = []
    cut: list[Discarded] = []
    if text is not None:
        found, skipped = notes_of(mask.text(text), now=book.now())
    else:
        left_out: list[Skipped] = []
        turns = mask_turns(mask, turns_of(context, messages or ()))
        left = without_forgotten_turns(book, turns, now=book.now())
        said = [clean(turn, left_out) for turn in left if turn.text.strip()]
        cut = [discard_unquoted(was.text) for turn, was in zip(left, turns, strict=True) if turn != was]
        if said or not turns:
            found, skipped = notes_of(_extracted(context, said, left_out), now=book.now())
            skipped = [*left_out, *skipped]
    kept = not_forgotten(context, [note.text for note in found] if messages is not None else [])
    gone = [note for note in found if not kept(note.text)]
    found = [note for note in found if note not in gone]
    reasons = [(each.text, each.reason) for each in skipped] + [(note.text, FORGOTTEN) for note in gone]
    reasons += [(each.text, each.reason) for each in cut]
    changes = [note_change(context, n.text, kind=n.kind, tags=n.tags, reason="flushed") for n in found]
    lost = [
        discard_unquoted(each.text, each.reason)
        if each.reason in PRIVATE_REASONS
        else Discarded(text=each.text, reason=each.reason)
        for each in skipped
        if each.text
    ]
    lost += [*cut, *(discard_unquoted(note.text) for note in gone)]
    result = book.apply(changes, actor=context.actor, door=context.door, kind="flush", discarded=lost)
    written = []
    for note, outcome in zip(found, result.outcomes, strict=True):
        if outcome.applied is None:
            reasons.append((note.text, "duplicate"))
        else:
            written.append((outcome.path, outcome.line))
    return Flushed(tuple(written), tuple(reasons), mask.count, result.operation.id if result.operation else None)


def _extracted(context: Context, turns: Sequence[Turn], skipped: list[Skipped]) -> Extraction:
    """Extract what in turns is worth keeping: by the model where there is one, else, or where it fails, by rules."""
    now, zone = context.book.now(), zone_of(context)
    try:
        llm = context.metered()
        if llm is not None:
            language, mask = context.config.language, Mask(context).text
            found = extract(turns, session=None, now=now, llm=llm, language=language, zone=zone, mask=mask)
            grounded = ground(found.candidates, turns, now=now, zone=zone)
            doubted = [Discarded(text=one.content, reason=one.doubt, quote=one.quote) for one in grounded if one.doubt]
            kept = tuple(one for one in grounded if not one.doubt)
            return replace(found, candidates=kept, discarded=(*found.discarded, *doubted))
    except (LLMFailed, ConfigError, Unavailable) as error:
        skipped.append(Skipped("", f"rules looked, not a model: {error}"))
    return extract(turns, session=None, now=now)
