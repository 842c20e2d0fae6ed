"""What a prompt needs of MEMORY.md, worked out once for each version of it."""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Mapping, Sequence, date, once
from memorybook.prompt.handwritten import Written
from memorybook.prompt.standing import by_strength

if TYPE_CHECKING:
    from memorybook.book.book import Book
    from memorybook.formats.memory_md import MemoryDocument
    from memorybook.model import Entry

_MOST = 64
_kept: dict[str, Snapshot] = {}


class Snapshot:
    """MEMORY.md as it was read on a day.

    Attributes:
        document: As parsed.
        entries: Its entries by id.
        standing: Answers with the entries that a prompt may always take, most wanted first.
        written: Answers with what people wrote.
        replaced: Answers with the entries that rest on a turn, by (session, turn id), where all of them were replaced.
    """

    def __init__(self, document: MemoryDocument, today: date) -> None:
        self.document = document
        self.today = today
        self.entries: Mapping[str, Entry] = {entry.id: entry for entry in document.entries}
        self.standing = once(lambda: by_strength(document.entries, today))
        self.written = once(lambda: Written(document.prose))
        self.replaced = once(self._replaced)

    def _replaced(self) -> Mapping[tuple[str | None, str], Sequence[Entry]]:
        resting: dict[tuple[str | None, str], list[Entry]] = {}
        if any(entry.superseded_by for entry in self.entries.values()):
            for entry in self.entries.values():
                if entry.source and entry.source.startswith("turn:"):
                    resting.setdefault((entry.session, entry.source.removeprefix("turn:")), []).append(entry)
        return {place: found for place, found in resting.items() if all(entry.superseded_by for entry in found)}


def snapshot(book: Book) -> Snapshot:
    """The book's MEMORY.md as it is now; the last one of a book is kept while nothing changes."""
    document, today, root = book.memory(), book.now().date(), book.documents.root
    known = _kept.get(root)
    if known is None or known.document is not document or known.today != today:
        if len(_kept) >= _MOST:
            _kept.clear()
        known = _kept[root] = Snapshot(document, today)
    return known
