"""What a user asks an agent to forget, in so many words: what is meant, and what is done about it.

Entries, notes and sentences of summaries go at once, where they are few, so that they can be undone together; the
turns in which it was said wait for a person's word. An order not to keep what is said takes out nothing but what came
of this talk.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from memorybook.errors import NotFound
from memorybook.formats import notes, session_md
from memorybook.hits import Query
from memorybook.lifecycle.cues import find
from memorybook.lifecycle.forgetting import asked_to_forget, leaves_out, named, names_everything, parted, points_back
from memorybook.lifecycle.ledger import Proposed
from memorybook.lifecycle.sentences import sentences
from memorybook.model import Change, Discarded, Drop, Entry, Put, Remove, RemoveTurns, SessionSummary, Turn
from memorybook.verbs.forget import meant_by
from memorybook.verbs.forgotten import sifted, tombstones_of
from memorybook.verbs.summary import page_at

if TYPE_CHECKING:
    from datetime import datetime

    from memorybook.lifecycle.candidate import Candidate, ForgetRequest
    from memorybook.memory import Memory

MOST = 3
"""Entries and notes that the requests of one talk take out without a person's word: more are hardly meant."""


class Orders(NamedTuple):
    """What requests to forget come to.

    Attributes:
        changes: What is carried out.
        gone: Ids of the entries that go.
        bury: Tombstones of what goes.
        proposed: What waits for a person's word.
        discarded: Requests that nothing was done for, with the reason.
    """

    changes: tuple[Change, ...] = ()
    gone: tuple[str, ...] = ()
    bury: tuple[str, ...] = ()
    proposed: tuple[Proposed, ...] = ()
    discarded: tuple[Discarded, ...] = ()

    def then(self, other: Orders) -> Orders:
        """These, and others after them."""
        return Orders(*map(operator.add, self, other))

    @property
    def texts(self) -> int:
        """How many entries and notes go."""
        return sum(isinstance(change, Remove | Drop) for change in self.changes)


STILL_SAID = "what was said of it is still in the transcripts"

MOST_FOUND = 10
"""Turns that are looked at for one request."""


NOT_OBEYED = "asks to forget: see `memorybook forget`"
EVERYTHING = "asks to forget everything: see `memorybook forget` and `memorybook purge`"
LEFT_OUT = "asks not to keep what is said: nothing of it is remembered, the words stay in the talk"
UNNAMED = "asks to forget, and says not what: see `memorybook forget`"


def asked(
    memory: Memory,
    requests: Iterable[ForgetRequest],
    turns: Sequence[Turn],
    entries: Mapping[str, Entry],
    *,
    obeyed: bool,
    page: str,
) -> Orders:
    """What is done about requests to forget: with `obeyed` what a user plainly asked for, of few entries; else told.

    Each request meets what those before it leave. `page` is the summary of the session in which it is asked, which
    is written anew in any case.
    """
    users = {turn.id: turn for turn in turns if turn.role in ("user", "")}
    orders = Orders()
    for request in requests:
        turn = users.get(request.turn_id)
        if obeyed and turn is not None:
            meant = _of_this_talk if request.said or leaves_out(request.text) else _of_the_book
            found = meant(memory, request, turn.session, entries, page, orders)
            orders = orders.then(_order(memory, request, found, plain=_asks_to_forget(turn.text), before=orders))
        else:
            orders = orders.then(_not_obeyed(request))
    return orders


def _asks_to_forget(text: str) -> bool:
    """Whether a user's own words ask for it; what a model takes for a request may be none."""
    return any(_is_cue(sentence.text, "forget") for sentence in sentences(text))


def _only_asks_to_forget(text: str) -> bool:
    """Whether somebody's words are orders to forget and nothing else, which say nothing of what is meant."""
    return all(_is_cue(part, "forget") for said in sentences(text) for part in parted(said.text))


def said_before(turn: Turn, turns: Sequence[Turn]) -> Turn | None:
    """The last of the turns before this one in which a user said something else than what to forget; None if none."""
    ids = [one.id for one in turns]
    earlier = turns[: ids.index(turn.id)] if turn.id in ids else turns
    users = (one for one in reversed(earlier) if one.role in ("user", "") and one.text.strip())
    return next((one for one in users if not _only_asks_to_forget(one.text)), None)


def asked_to_remember(one: Candidate, turns: Iterable[Turn], now: datetime | None) -> datetime | None:
    """When a user last asked in so many words that this be remembered; None if never, or if nobody knows.

    `now` dates turns without a time, of which with None nobody knows.
    """
    times = []
    for turn in turns:
        time = turn.time or now
        if turn.id in one.turn_ids and turn.role in ("user", "") and time is not None:
            quoted = (said for said in sentences(turn.text) if one.quote in turn.text[said.start : said.end])
            parts = (part for said in quoted for part in parted(said.text))
            times += [time for part in parts if one.quote and _is_cue(part, "explicit")]
    return max(times, default=None)


def _is_cue(text: str, kind: str) -> bool:
    cue = find(text, talk="agent", dated=False)
    return cue is not None and cue.kind == kind


def _not_obeyed(request: ForgetRequest) -> Orders:
    if leaves_out(request.text):
        reason = LEFT_OUT
    elif names_everything(request.text):
        reason = EVERYTHING
    else:
        reason = UNNAMED if points_back(request) else NOT_OBEYED
    return Orders(discarded=(Discarded(text=request.text, reason=reason),))


class _Found(NamedTuple):
    """What a request means: entries, notes as (path, line), summaries without it, and what is proposed of turns."""

    entries: Sequence[Entry]
    notes: Sequence[tuple[str, str]]
    pages: Sequence[Put] = ()
    said: tuple[Proposed, ...] = ()


def _of_the_book(
    memory: Memory, request: ForgetRequest, session: str, entries: Mapping[str, Entry], page: str, before: Orders
) -> _Found:
    """What says what a request names, wherever it stands."""
    standing = {id: entry for id, entry in entries.items() if id not in before.gone}
    meant = [standing[id] for id in request.ids if id in standing]
    meant += [one for one in standing.values() if one not in meant and asked_to_forget(one.text, request)]
    lines = list(_notes(memory, request, before))
    pages = list(_pages(memory, request, page, before))
    known = bool(meant or lines or pages)
    return _Found(meant, lines, pages, _turns(memory, request, _why(memory, request), known=known))


def _of_this_talk(
    memory: Memory, request: ForgetRequest, session: str, entries: Mapping[str, Entry], page: str, before: Orders
) -> _Found:
    """What came of what a request points at, or of the talk in which it was asked not to keep something.

    What is in the book from before is not meant, whatever it says, unless a model says that the request means it.
    """
    came: Sequence[Entry] = [one for one in entries.values() if one.session == session]
    lines: Sequence[tuple[str, str]] = ()
    if request.said:
        came, lines = _came_of(memory, f"turn:{session}/{request.said_in}")
    ids = {one.id for one in came if asked_to_forget(one.text, request)}.difference(before.gone)
    meant = [one for id, one in entries.items() if id in ids]
    lines = [line for line in lines if line in list(_notes(memory, request, before))]
    if leaves_out(request.text):
        return _Found(meant, lines)
    meant += [entries[id] for id in request.ids if id in entries and id not in {*ids, *before.gone}]
    turns = tuple(dict.fromkeys((request.said_in, request.turn_id)))
    why = _why(memory, request)
    change = RemoveTurns(session=session, turn_ids=turns, reason=why)
    return _Found(meant, lines, said=(Proposed("forget", (change,), f"{why}; {STILL_SAID}"),))


def _came_of(memory: Memory, turn: str) -> tuple[Sequence[Entry], Sequence[tuple[str, str]]]:
    """Entries and notes that were remembered from a turn; none if it is not kept."""
    with suppress(NotFound):
        meant = meant_by(memory, target=None, query=None, session=None, source=turn)
        return meant.entries, meant.notes
    return (), ()


def _why(memory: Memory, request: ForgetRequest) -> str:
    """Without the words of the order where talks are not kept: then they stand nowhere."""
    return f"asked to be forgotten: {request.text}" if memory.config.transcripts.enabled else "asked to be forgotten"


def _order(memory: Memory, request: ForgetRequest, found: _Found, *, plain: bool, before: Orders) -> Orders:
    """What one request comes to after those before it; `plain` if it is no doubt one."""
    why = _why(memory, request)
    reason = f"said: {request.text} turn:{request.turn_id}" if memory.config.transcripts.enabled else why
    changes: tuple[Change, ...] = (
        *(Remove(id=one.id, reason=reason) for one in found.entries),
        *(Drop(path=path, line=line, reason=reason) for path, line in found.notes),
        *found.pages,
    )
    if not changes and not found.said:
        return _not_obeyed(request)
    few = before.texts + len(found.entries) + len(found.notes) <= MOST
    pinned = any(one.pinned for one in found.entries)
    if not plain or not few or pinned or memory.config.require_user_confirmation:
        return Orders(proposed=(Proposed("forget", changes, why), *found.said) if changes else found.said)
    bury = tombstones_of(memory, found.entries, lines=(line for _, line in found.notes))
    return Orders(changes, tuple(one.id for one in found.entries), tuple(sorted(bury)), found.said)


def _paths(memory: Memory, folder: str) -> list[str]:
    return sorted(info.path for info in memory.book.documents.list() if info.path.startswith(folder))


def _notes(memory: Memory, request: ForgetRequest, before: Orders) -> Iterator[tuple[str, str]]:
    """Path and line of the notes that are meant and are still there."""
    gone = {(change.path, change.line) for change in before.changes if isinstance(change, Drop)}
    for path in _paths(memory, "daily/"):
        day = notes.day_of(path)
        for line in memory.book.documents.read(path).text.split("\n"):
            note = notes.parse_line(line.removesuffix("\r"), day=day)
            found = path, line.removesuffix("\r")
            if note is not None and found not in gone and asked_to_forget(note.text, request):
                yield found


def _pages(memory: Memory, request: ForgetRequest, but: str, before: Orders) -> Iterator[Put]:
    """The summaries without the sentences that are meant; a summary in a person's words stays."""
    anew = {change.path: change.text for change in before.changes if isinstance(change, Put)}
    for path in _paths(memory, "sessions/"):
        standing = anew.get(path) or memory.book.documents.read(path).text
        summary = session_md.parse(standing)
        left = unasked(summary, [request])
        last = page_at(memory, path) if left != summary and path != but else None
        if last is not None and last.ours:
            text = session_md.render(left, language=memory.config.language)
            yield Put(path=path, text=text, reason=last.reason, made_from=standing)


def unasked(summary: SessionSummary, requests: Iterable[ForgetRequest]) -> SessionSummary:
    """The summary without the sentences that somebody asked to forget."""
    requests = tuple(requests)
    if not requests:
        return summary

    return sifted(summary, lambda text: not any(asked_to_forget(text, request) for request in requests))


def _turns(memory: Memory, request: ForgetRequest, why: str, *, known: bool) -> tuple[Proposed, ...]:
    """What is proposed of the turns in which it was said, the request itself among them if it is not all there is.

    A request that says something else, too, is a proposal of its own: with its turn that would go.
    """
    said: dict[str, list[str]] = {}
    mixed: list[RemoveTurns] = []
    words = " ".join(sorted(named(request.text)))  # those of the order itself would be found in the order alone
    asked = Query(words or request.text, sources=frozenset({"turn"}))
    for hit in memory.book.search(asked, limit=MOST_FOUND).hits:
        passage = hit.passage
        own, orders = passage.turn == request.turn_id, _only_asks_to_forget(passage.text)
        if not own and orders:
            continue
        if passage.session and passage.turn and asked_to_forget(passage.text, request):
            if own and not orders:
                mixed.append(RemoveTurns(session=passage.session, turn_ids=(passage.turn,), reason=why))
            else:
                said.setdefault(passage.session, []).append(passage.turn)
    if not known and {id for ids in said.values() for id in ids} <= {request.turn_id}:
        return ()
    changes = tuple(RemoveTurns(session=uuid, turn_ids=tuple(ids), reason=why) for uuid, ids in said.items())
    found = [Proposed("forget", changes, f"{why}; {STILL_SAID}")] if changes else []
    found += [
        Proposed("forget", (one,), f"{why}; the words that ask it, which say something else too") for one in mixed
    ]
    return tuple(found)
