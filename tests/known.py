"""Entries and candidates for tests of matching, and a book that carries out changes to entries by the laws."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

from memorybook.book import fade
from memorybook.entries import evolve as evolving
from memorybook.entries import match as matching
from memorybook.entries.read_reply import Candidate
from memorybook.model import Add, Archive, Change, Entry, Reinforce, Supersede, Update
from memorybook.text.tokens import normalise

NOW = datetime(2026, 6, 21, 10, tzinfo=UTC)
TODAY = NOW.date()
BEFORE = date(2026, 6, 20)


def known(id: str, text: str, **fields: Any) -> Entry:
    """An entry of yesterday, said by the user in another session."""
    given: dict[str, Any] = {"category": "fact", "score": 0.6, "session": "before", "trust": "user"} | fields
    return Entry(id=id, text=text, scored=BEFORE, last_activated=BEFORE, **given)


def told(text: str, *, turn: str = "t1", **fields: Any) -> Candidate:
    """A candidate that says a text in one turn."""
    given: dict[str, Any] = {"category": "fact", "importance": "medium", "quote": text} | fields
    return Candidate(content=text, turn_ids=(turn,), **given)


def applied(entries: Iterable[Entry], changes: Iterable[Change]) -> dict[str, Entry]:
    """The entries after the changes, as a book has them that nobody else writes to."""
    book = {one.id: one for one in entries}
    for change in changes:
        if isinstance(change, Add):
            _add(book, change.entry)
        elif isinstance(change, Reinforce):
            book[change.id] = fade.reinforced(book[change.id], TODAY)
        elif isinstance(change, Supersede):
            assert change.by in book
            assert change.id != change.by
            book[change.id] = fade.contradicted(book[change.id], change.by, TODAY)
        elif isinstance(change, Archive):
            book[change.id] = replace(book[change.id], archived=True)
        elif isinstance(change, Update):
            assert "text" not in change.fields
            book[change.id] = replace(book[change.id], **change.fields)
        else:
            raise AssertionError(f"nothing that was said does this: {change}")
    return book


def _add(book: dict[str, Entry], entry: Entry) -> None:
    assert entry.id not in book
    assert not [
        one
        for one in book.values()
        if one.superseded_by is None and entry.superseded_by is None and normalise(one.text) == normalise(entry.text)
    ]
    book[entry.id] = entry


def current(book: dict[str, Entry]) -> list[str]:
    """The texts that are held true."""
    return [one.text for one in book.values() if one.superseded_by is None]


def _ledger(entries: Iterable[Entry], conflicts: Any = "newest", session: str | None = None, **talk: Any) -> Any:
    return matching.Ledger({one.id: one for one in entries}, matching.Talk(NOW, session, **talk), conflicts)


def match(
    candidates: Iterable[Candidate],
    entries: Iterable[Entry],
    *,
    neighbours: Any = None,
    similarity: Any = None,
    **of: Any,
) -> matching.Matched:
    """Settle candidates of a talk now by rules; `of` is the talk's session, times, heard, and the book's conflicts."""
    return matching.match(_ledger(entries, **of), candidates, neighbours, similarity)


def evolve(
    candidates: Iterable[Candidate],
    entries: Iterable[Entry],
    *,
    neighbours: Any = None,
    similarity: Any = None,
    llm: Any = None,
    mask: Any = str,
    **of: Any,
) -> matching.Matched:
    """As `match`, by a model or by likeness."""
    return evolving.evolve(_ledger(entries, **of), candidates, neighbours, similarity, llm=llm, mask=mask)
