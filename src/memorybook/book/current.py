"""What is true now among the hits of a search, before what it replaced."""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Iterable, Mapping
from memorybook.search.search import snippet
from memorybook.text.tokens import query_words

if TYPE_CHECKING:
    from memorybook.book.book import Book
    from memorybook.search.types import Answer, Hit, Passage, Query


def renewed(book: Book, asked: Query, answer: Answer, *, limit: int) -> Answer:
    """Put what is true now before what it replaced, and as relevant.

    So it is for entries, and for turns of which nothing else is remembered. What a filter of the query leaves out is
    not brought back.
    """
    resting = _resting(book, answer)
    replaced = [resting.get(_turn_of(hit.passage), hit.passage) for hit in answer.hits]
    known = _with_successors(book, replaced)
    ids = [_now(passage, known) for passage in replaced]
    current = {one.entry: one for one in reversed(book.entry_passages([id for id in ids if id], query=asked))}
    found = {hit.passage.entry: hit for hit in answer.hits if hit.passage.source == "entry"}
    words = frozenset(query_words(asked.text))
    hits: dict[object, Hit] = {}
    for number, (hit, id) in enumerate(zip(answer.hits, ids, strict=True)):
        if id in current and id not in hits:
            passage = current[id]
            newer = found.get(id) or hit._replace(passage=passage, snippet=snippet(passage.text, words), why={})
            relevance, score = max(newer.relevance, hit.relevance), max(newer.score, hit.score)
            hits[id] = newer._replace(relevance=relevance, score=score)
        hits.setdefault(hit.passage.entry if hit.passage.source == "entry" else number, hit)
    return answer._replace(hits=book.told_of(tuple(hits.values())[:limit]))


def _turn_of(passage: Passage) -> tuple[str, str]:
    return (passage.session or "", passage.turn or "") if passage.source == "turn" else ("", "")


def _resting(book: Book, answer: Answer) -> dict[tuple[str, str], Passage]:
    """Return for each turn among the hits an entry that rests on it, if none of those is true any more."""
    turns = {_turn_of(hit.passage) for hit in answer.hits} - {("", "")}
    found: dict[tuple[str, str], list[Passage]] = {}
    for entry in book.entry_passages(turns=turns):
        found.setdefault((entry.session or "", entry.turn or ""), []).append(entry)
    return {turn: entries[0] for turn, entries in found.items() if all(one.superseded_by for one in entries)}


def _with_successors(book: Book, passages: Iterable[Passage]) -> dict[str, Passage]:
    """Return what replaced these entries, and what replaced that, by id."""
    known: dict[str, Passage] = {}
    wanted = {one.superseded_by for one in passages if one.superseded_by}
    while wanted:
        for one in reversed(book.entry_passages(wanted)):
            known[one.entry or ""] = one
        wanted = {by for id in wanted if id in known and (by := known[id].superseded_by)} - known.keys()
    return known


def _now(passage: Passage, known: Mapping[str, Passage]) -> str | None:
    """Return the id of what is true in place of an entry; None if that is the entry itself, or is gone."""
    seen = {passage.entry}
    while passage.superseded_by is not None:
        if passage.superseded_by in seen or passage.superseded_by not in known:
            return None
        seen.add(passage.superseded_by)
        passage = known[passage.superseded_by]
    return passage.entry if len(seen) > 1 else None
