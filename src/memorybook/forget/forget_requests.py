"""Carry out what a user explicitly asks an agent to forget.

It is cut out at once; a person is asked first only if more memories would go than are likely meant. An order not to
keep what is said removes those words, and only what came of this session.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memorybook.entries.cues import find
from memorybook.entries.match import Proposed
from memorybook.forget.cutting import plan_cut
from memorybook.forget.finder import Finder
from memorybook.forget.order_text import (
    asked_to_forget,
    is_unresolved,
    leaves_out,
    names_a_matter,
    names_everything,
    split_order,
)
from memorybook.forget.tombstones import filter_summary
from memorybook.forget.units import Found, TurnKey, merge_found, queries_for, sentences_in, topic_of, words_of
from memorybook.model import Change, Discarded, Entry, SessionSummary, Turn
from memorybook.text.sentences import sentences
from memorybook.text.tokens import PLACEHOLDERS, is_chinese

if TYPE_CHECKING:
    from datetime import datetime

    from memorybook.context import Context
    from memorybook.entries.read_reply import Candidate, ForgetRequest

MOST = 10
"""Most memories that one request removes without a person's confirmation."""


class Orders(NamedTuple):
    """The outcome of requests to forget.

    Attributes:
        changes: Changes to carry out.
        gone: Ids of the entries that go.
        bury: Tombstone digests.
        proposed: What waits for a person's confirmation.
        discarded: Requests that nothing was done for, with the reason.
        said: The removed texts, as they were said.
        turns: New texts of turns.
        near: Statements that may be meant where nothing was found.
    """

    changes: tuple[Change, ...] = ()
    gone: tuple[str, ...] = ()
    bury: tuple[str, ...] = ()
    proposed: tuple[Proposed, ...] = ()
    discarded: tuple[Discarded, ...] = ()
    said: tuple[str, ...] = ()
    turns: tuple[tuple[TurnKey, str], ...] = ()
    near: tuple[str, ...] = ()

    def then(self, other: Orders) -> Orders:
        """Return these outcomes followed by the others."""
        return Orders(*map(operator.add, self, other))


NOT_OBEYED = "asks to forget: see `memorybook forget`"
EVERYTHING = "asks to forget everything: see `memorybook forget` and `memorybook purge`"
LEFT_OUT = "asks not to keep what is said: nothing of it is remembered"
UNNAMED = "asks to forget, and says not what: see `memorybook forget`"


NOT_FOUND = "asks to forget: nothing was found under these words"


def resolve_all(
    context: Context,
    requests: Iterable[ForgetRequest],
    turns: Sequence[Turn],
    entries: Mapping[str, Entry],
    *,
    obeyed: bool,
    page: str,
) -> Orders:
    """Decide what to do about requests to forget: with `obeyed` carry out, or propose, what users ask; else explain.

    `page` is the path of the session's page if that is rewritten anyway, else "".
    """
    users = {turn.id: turn for turn in turns if turn.role in ("user", "")}
    meant: list[tuple[ForgetRequest, Turn, Found]] = []
    orders = Orders()
    for request in requests:
        turn = users.get(request.turn_id)
        if not obeyed or turn is None:
            orders = orders.then(_not_obeyed(request, sought=False))
            continue
        found, near = _resolve(context, request, turn, entries.values(), turns)
        if found:
            meant.append((request, turn, found))
        else:
            orders = orders.then(_not_obeyed(request, sought=True)._replace(near=tuple(near)))
    return _carry_out(context, meant, page).then(orders) if meant else orders


def _resolve(
    context: Context, request: ForgetRequest, turn: Turn, entries: Iterable[Entry], turns: Sequence[Turn]
) -> tuple[Found, Sequence[str]]:
    """Return what a request means, and, if nothing is found, suggestions of what it may mean.

    That is what it points at in this session, else everything about the topic it names, else the nearest statement.
    """
    if names_everything(request.text):
        return Found(), ()
    own = (turn.session, turn.id)
    aside = leaves_out(request.text) and not names_a_matter(request.text)
    if not request.ids and (aside or (request.said and not _names_somebody(request, turn))):
        came = [entry for entry in entries if entry.session == turn.session]
        without = [own] if request.said_in not in ("", turn.id) else []
        finder = Finder(context, [request.said or request.text], entries=came, without=without, turns=turns)
        return finder.said_in((turn.session, request.said_in or turn.id), request.said or request.text), ()
    topic = topic_of(_with_reasons(request, turn))
    if not topic.words and not request.ids:
        return Found(), ()
    finder = Finder(context, queries_for(topic), entries=entries, without=[own], turns=turns)
    named = [entry for entry in finder.entries if entry.id in request.ids]
    found = finder.about(topic, entries=named)
    return (found, ()) if found else finder.nearest(topic)


def _names_somebody(request: ForgetRequest, turn: Turn) -> bool:
    """Return whether an order refers to somebody named beside it: `Ann left. Forget her.`."""
    return request.said_in == turn.id and re.search(r"(?i)\b(?:him|her|them)\b|[他她]", request.text) is not None


def _with_reasons(request: ForgetRequest, turn: Turn) -> str:
    """Return the order with the sentence before it in its turn, which may name what it calls `her`."""
    before = ""
    for said in sentences(turn.text):
        if request.text in said.text or said.text in request.text:
            return f"{before} {request.text}".strip()
        before = said.text
    return request.text


def _carry_out(context: Context, meant: Sequence[tuple[ForgetRequest, Turn, Found]], page: str) -> Orders:
    """Cut everything that the requests mean at once, and mask the orders; propose the requests that are not plain."""
    orders = Orders()
    plain = [(request, turn, found) for request, turn, found in meant if _is_plain(context, turn, found)]
    for request, turn, found in (each for each in meant if each not in plain):
        wait = plan_cut(context, found, reason=_reason(request), masked=_mask_orders([(request, turn)]), without=[page])
        orders = orders.then(Orders(proposed=(Proposed("forget", wait.changes, _proposal_reason(context, request)),)))
    if not plain:
        return orders
    found = merge_found(each[2] for each in plain)
    masked = _mask_orders([each[:2] for each in plain])
    done = plan_cut(context, found, reason=_reason(plain[0][0]), masked=masked, without=[page])
    gone = tuple(entry.id for entry in found.entries)
    alone = [request for request, _, _ in plain if not request.said and leaves_out(request.text)]
    said = tuple(text for text in done.said if not any(text in request.text for request in alone))
    left = tuple(Discarded(text=request.text, reason=LEFT_OUT) for request in alone if not said)
    done_at_once = Orders(done.changes, gone, tuple(sorted(done.bury)), (), left, said, tuple(done.turns.items()))
    return done_at_once.then(orders)


def _is_plain(context: Context, turn: Turn, found: Found) -> bool:
    """Return whether a request may be carried out unasked: surely an order, of few memories, none pinned."""
    pinned = any(one.pinned for one in found.entries)
    few = found.memories <= MOST
    return few and not pinned and not context.config.require_user_confirmation and _asks_to_forget(turn.text)


def _reason(request: ForgetRequest) -> str:
    """Return the reason for the journal, without the order's words, which name what is gone."""
    return f"asked to be forgotten turn:{request.turn_id}"


def _mask_orders(orders: Iterable[tuple[ForgetRequest, Turn]]) -> dict[TurnKey, str]:
    """Return new texts for the turns of orders, with the words that name what is gone masked."""
    texts: dict[TurnKey, str] = {}
    for request, turn in orders:
        key = (turn.session, turn.id)
        text = texts.get(key, turn.text)
        words = topic_of(_with_reasons(request, turn)).words | words_of(request.said)
        for sentence in reversed(sentences_in(text)):
            order = request.text in " ".join(sentence.split()) or " ".join(sentence.split()) in request.text
            if order or (words & words_of(sentence) and sentence not in PLACEHOLDERS):
                mask = PLACEHOLDERS[is_chinese(sentence)] if order else ""
                text = text.replace(sentence, mask)
        texts[key] = text.strip() or PLACEHOLDERS[is_chinese(turn.text)]
    return texts


def _asks_to_forget(text: str) -> bool:
    """Return whether the text itself asks to forget; a model may report requests that are none."""
    return any(_is_cue(sentence.text, "forget") for sentence in sentences(text))


def _only_asks_to_forget(text: str) -> bool:
    """Return whether a text is nothing but orders to forget, and so says nothing of what is meant."""
    return all(_is_cue(part, "forget") for said in sentences(text) for part in split_order(said.text))


def last_statement(turn: Turn, turns: Sequence[Turn]) -> Turn | None:
    """Return the last earlier turn in which a user said something other than orders to forget, or None."""
    ids = [one.id for one in turns]
    earlier = turns[: ids.index(turn.id)] if turn.id in ids else turns
    users = (one for one in reversed(earlier) if one.role in ("user", "") and one.text.strip())
    return next((one for one in users if not _only_asks_to_forget(one.text)), None)


def asked_to_remember(one: Candidate, turns: Iterable[Turn], now: datetime | None) -> datetime | None:
    """Return when a user last asked explicitly to remember this; None if never or unknown.

    `now` dates turns without a time; if it is None, such turns are skipped.
    """
    times = []
    for turn in turns:
        time = turn.time or now
        if turn.id in one.turn_ids and turn.role in ("user", "") and time is not None:
            quoted = (said for said in sentences(turn.text) if one.quote in turn.text[said.start : said.end])
            parts = (part for said in quoted for part in split_order(said.text))
            times += [time for part in parts if one.quote and _is_cue(part, "explicit")]
    return max(times, default=None)


def _is_cue(text: str, kind: str) -> bool:
    cue = find(text, talk="agent", dated=False)
    return cue is not None and cue.kind == kind


def _not_obeyed(request: ForgetRequest, *, sought: bool) -> Orders:
    if leaves_out(request.text):
        reason = LEFT_OUT
    elif names_everything(request.text):
        reason = EVERYTHING
    elif is_unresolved(request):
        reason = UNNAMED
    else:
        reason = NOT_FOUND if sought else NOT_OBEYED
    return Orders(discarded=(Discarded(text=request.text, reason=reason),))


def _proposal_reason(context: Context, request: ForgetRequest) -> str:
    """Return the reason for a proposal; it quotes the order only if transcripts are kept."""
    return f"asked to be forgotten: {request.text}" if context.config.transcripts.enabled else "asked to be forgotten"


def without_requested(summary: SessionSummary, requests: Iterable[ForgetRequest]) -> SessionSummary:
    """Return the summary without the sentences that somebody asked to forget."""
    requests = tuple(requests)
    if not requests:
        return summary

    return filter_summary(summary, lambda text: not any(asked_to_forget(text, request) for request in requests))
