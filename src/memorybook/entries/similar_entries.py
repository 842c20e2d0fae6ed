"""What stands near a new statement in a book: neighbours by vectors and words, and how alike two texts are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from operator import mul
from struct import unpack
from typing import TYPE_CHECKING

from memorybook.entries.alike import MOST_NEAR, arrivals, by_words
from memorybook.errors import EmbedderFailed, Unavailable
from memorybook.inference.arrays import vectors_of
from memorybook.search.types import Query

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.model import Entry
    from memorybook.search.types import Candidate


class Near:
    """Neighbours of a text in a book, see `lifecycle.match.Neighbours`.

    Args:
        context: Its index is brought up to date when it is asked first.
        entries: Those of the book by id, in which whoever asks may put more: they are found by their words.
    """

    def __init__(self, context: Context, entries: dict[str, Entry]) -> None:
        self._memory = context
        self._entries = entries
        self._known = frozenset(entries)
        self._arrived = arrivals(entries)
        self._arrived()
        self._since: dict[str, Entry] = {}
        self._near = by_words(self._since)
        self._found: dict[str, tuple[str, ...]] = {}

    def __call__(self, text: str) -> Sequence[Entry]:
        """At most 8 entries, best first: what was put in since, then in turn by vectors and by words."""
        self._since.update((entry.id, entry) for entry in self._arrived())
        found = self._near(text)
        if text not in self._found:
            self._found[text] = tuple(self._indexed(text))
        ids = dict.fromkeys((*(entry.id for entry in found), *self._found[text]))
        return [self._entries[id] for id in ids if id in self._entries][:MOST_NEAR]

    def _indexed(self, text: str) -> Iterator[str]:
        """Ids of entries that the index finds near a text, best first."""
        if not self._known:
            return
        book = self._memory.book
        try:
            if not self._found:
                book.refresh()
            items = book.index.candidates(Query(text, sources=frozenset({"entry"}))).items
        except Unavailable:
            yield from (entry.id for entry in by_words({id: self._entries[id] for id in self._known})(text))
            return
        for pair in zip_longest(_best(items, lambda one: one.cosine), _best(items, lambda one: one.words)):
            yield from (one.passage.entry for one in pair if one is not None and one.passage.entry)


def _best(items: Sequence[Candidate], worth: Callable[[Candidate], float | None]) -> list[Candidate]:
    found = [(value, one) for one in items if (value := worth(one)) is not None]
    return [one for _, one in sorted(found, key=lambda pair: -pair[0])][: 2 * MOST_NEAR]


class Alike:
    """Cosine of two texts, see `lifecycle.match.Similarity`; an embedder that fails is not asked again."""

    def __init__(self, context: Context) -> None:
        self._embedder = context.embedder
        self._rows: dict[str, tuple[float, ...]] = {}

    def __call__(self, one: str, other: str) -> float | None:
        """-1..1; None without an embedder that reads both."""
        self._read([text for text in (one, other) if text not in self._rows])
        first, second = self._rows.get(one), self._rows.get(other)
        if self._embedder is None or not first or not second:
            return None
        return float(sum(map(mul, first, second)))

    def _read(self, texts: Sequence[str]) -> None:
        if self._embedder is None or not texts:
            return
        try:
            rows = vectors_of(self._embedder, texts)
        except EmbedderFailed:
            self._embedder = None
            return
        numbers = (unpack(f"<{len(row) // 4}f", row) if row is not None else () for row in rows)
        self._rows |= dict(zip(texts, numbers, strict=True))
