"""What a user asks an agent to forget, in so many words: which entries and notes are meant, and what is done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memorybook.formats import notes
from memorybook.hits import Query
from memorybook.lifecycle.ledger import Proposed
from memorybook.lifecycle.rules import asked_to_forget
from memorybook.model import Change, Discarded, Drop, Entry, Remove, Turn
from memorybook.text.tokens import digest

if TYPE_CHECKING:
    from memorybook.lifecycle.candidate import ForgetRequest
    from memorybook.memory import Memory

MOST = 3
"""Entries that one request takes out without a person's word: more than these are hardly meant."""


class Orders(NamedTuple):
    """What requests to forget come to.

    Attributes:
        changes: What is carried out.
        gone: Ids of the entries that go.
        bury: Digests of their texts.
        proposed: What waits for a person's word.
        discarded: Requests that nothing was done for, with the reason.
    """

    changes: tuple[Change, ...] = ()
    gone: tuple[str, ...] = ()
    bury: tuple[str, ...] = ()
    proposed: tuple[Proposed, ...] = ()
    discarded: tuple[Discarded, ...] = ()


NOT_OBEYED = "asks to forget: see `memorybook forget`"


def asked(
    memory: Memory,
    requests: Iterable[ForgetRequest],
    turns: Sequence[Turn],
    entries: Mapping[str, Entry],
    *,
    obeyed: bool,
) -> Orders:
    """What is done about requests to forget: with `obeyed` what a user plainly asked for, of few entries; else told."""
    users = {turn.id for turn in turns if turn.role in ("user", "")}
    found = [
        _order(memory, request, entries) if obeyed and request.turn_id in users else _not_obeyed(request)
        for request in requests
    ]
    return Orders(
        tuple(change for one in found for change in one.changes),
        tuple(id for one in found for id in one.gone),
        tuple(text for one in found for text in one.bury),
        tuple(each for one in found for each in one.proposed),
        tuple(left for one in found for left in one.discarded),
    )


def _not_obeyed(request: ForgetRequest) -> Orders:
    return Orders(discarded=(Discarded(text=request.text, reason=NOT_OBEYED),))


def _order(memory: Memory, request: ForgetRequest, entries: Mapping[str, Entry]) -> Orders:
    meant = [entries[id] for id in request.ids if id in entries]
    meant += [one for one in entries.values() if one not in meant and asked_to_forget(one.text, request)]
    lines = list(_notes(memory, request))
    if not meant and not lines:
        return _not_obeyed(request)
    reason = f"said: {request.text} turn:{request.turn_id}"
    changes: tuple[Change, ...] = (
        *(Remove(id=one.id, reason=reason) for one in meant),
        *(Drop(path=path, line=line, reason=reason) for path, line, _ in lines),
    )
    if len(meant) + len(lines) > MOST or any(one.pinned for one in meant) or memory.config.require_user_confirmation:
        return Orders(proposed=(Proposed("forget", changes, f"asked to be forgotten: {request.text}"),))
    texts = [one.text for one in meant] + [text for _, _, text in lines]
    return Orders(changes, tuple(one.id for one in meant), tuple(map(digest, texts)))


def _notes(memory: Memory, request: ForgetRequest) -> Iterator[tuple[str, str, str]]:
    """Path, line and text of the notes that are meant."""
    found = memory.book.search(Query(request.text, sources=frozenset({"note"})), limit=10).hits
    for hit in found:
        if asked_to_forget(hit.passage.text, request):
            lines = memory.book.documents.read(hit.passage.path).text.split("\n")
            line = lines[hit.passage.start_line - 1].removesuffix("\r")
            note = notes.parse_line(line, day=notes.day_of(hit.passage.path))
            yield hit.passage.path, line, note.text if note else line
