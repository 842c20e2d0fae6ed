"""Read entries as the journal kept them: from one of its changes, or all as they were on a day."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memorybook.formats import memory_md

if TYPE_CHECKING:
    from memorybook.book.book import Book
    from memorybook.model import Entry

OF_LINES = ("append", "drop", "put", "item", "turns", "edit")
"""Kinds of changes that are of lines and documents, not of entries."""


def entries_at(book: Book, day: str) -> list[Entry]:
    """Return the entries as the book had them at the end of a day, by taking back what was done since.

    What was purged since is missing. A change that no operation recorded counts as always there.
    """
    found = {entry.id: entry for entry in book.entries()}
    _, end = book.span(None, day)
    for target, kind, text in book.journal.stood(end) if end is not None else ():
        if kind not in OF_LINES:
            before = entry_of(text)
            if before is not None:
                found[target] = before
            elif not text:
                found.pop(target, None)
    return list(found.values())


def entry_of(text: str | None) -> Entry | None:
    """Return the entry that the journal kept; None if there is none, or it cannot be read."""
    with suppress(ValueError):
        return memory_md.parse_entry(text, modified=datetime(1970, 1, 1, tzinfo=UTC)) if text else None
    return None
