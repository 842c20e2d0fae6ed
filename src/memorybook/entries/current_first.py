"""What is true now stands before what it replaced, wherever something is searched."""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memorybook.book.book import Book
    from memorybook.model import Entry
    from memorybook.search.types import Answer, Hit, Passage, Query


def renewed(book: Book, asked: Query, answer: Answer, *, limit: int) -> Answer:
    """The answer with what is true now before what it replaced, and as relevant.

    So it is for entries, and for turns of which nothing else is remembered. What a filter of the query leaves out is
    not brought back.
    """
    entries = {entry.id: entry for entry in book.entries()}
    if all(entry.superseded_by is None for entry in entries.values()):
        return answer
    found = {hit.passage.entry: hit for hit in answer.hits if hit.passage.source == "entry"}
    hits: dict[object, Hit] = {}
    for number, hit in enumerate(answer.hits):
        now = _now(_held(hit.passage, entries), entries)
        if now is not None and now.id not in hits:
            newer = found.get(now.id) or _hit_of(book, asked, now)
            if newer is not None:
                relevance, score = max(newer.relevance, hit.relevance), max(newer.score, hit.score)
                hits[now.id] = newer._replace(relevance=relevance, score=score)
        hits.setdefault(hit.passage.entry if hit.passage.source == "entry" else number, hit)
    return answer._replace(hits=tuple(hits.values())[:limit])


def _held(passage: Passage, entries: Mapping[str, Entry]) -> Entry | None:
    """The entry that a passage is; of a turn one that rests on it, if none of those is true any more."""
    if passage.source != "turn":
        return entries.get(passage.entry or "")
    source = f"turn:{passage.turn}"
    resting = [one for one in entries.values() if one.source == source and one.session == passage.session]
    return resting[0] if resting and all(one.superseded_by for one in resting) else None


def _now(entry: Entry | None, entries: Mapping[str, Entry]) -> Entry | None:
    """What is true in place of an entry; None if that is the entry itself, or is gone."""
    seen: set[str] = set()
    while entry is not None and entry.superseded_by is not None and entry.id not in seen:
        seen.add(entry.id)
        entry = entries.get(entry.superseded_by)
    return entry if entry is not None and seen and entry.id not in seen else None


def _hit_of(book: Book, asked: Query, entry: Entry) -> Hit | None:
    found = book.search(asked._replace(text=entry.text), limit=1, keep=lambda one: one.entry == entry.id)
    return found.hits[0] if found.hits else None
