"""The default embedder: the static one, and the multilingual one for a book that holds other scripts."""

from __future__ import annotations

import os
from math import inf

from memorybook._light import TYPE_CHECKING, suppress
from memorybook.inference.static import StaticEmbedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memorybook.inference.multilingual import MultilingualEmbedder
    from memorybook.protocols import Vectors

LEAST, SHARE = 2, 0.25
"""How many of a book's texts the static embedder cannot read, and which share, from which the other takes its place."""


class BundledEmbedder:
    """Embeds with the static embedder until a book holds enough that it cannot read, then with the multilingual one.

    The choice is kept in a file in `cache_dir`, which every process looks for as long as it has not chosen; deleting
    the file chooses anew.

    Args:
        cache_dir: The machine folder of the book.
    """

    local = True

    def __init__(self, cache_dir: str | None) -> None:
        self._mark = os.path.join(cache_dir, "multilingual") if cache_dir else ""
        self._static = StaticEmbedder(cache_dir)
        self._multilingual: MultilingualEmbedder | None = None

    @property
    def chosen(self) -> StaticEmbedder | MultilingualEmbedder:
        """The embedder that answers by now."""
        if self._multilingual is None and os.path.exists(self._mark):
            self._choose()
        return self._multilingual or self._static

    @property
    def name(self) -> str:
        """That of the embedder chosen by now."""
        return self.chosen.name

    @property
    def dimensions(self) -> int:
        """That of the embedder chosen by now."""
        return self.chosen.dimensions

    @property
    def inline(self) -> float:
        """As many texts as the embedder chosen by now takes at once."""
        return getattr(self.chosen, "inline", inf)

    @property
    def slow(self) -> bool:
        """True if the first text takes longer than a search by words."""
        return self.chosen is not self._static

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit rows in the order of `texts`. Raises EmbedderFailed."""
        return self.chosen.embed(texts)

    def expect(self, texts: Sequence[str]) -> None:
        """Have the static embedder make vectors of these texts meanwhile."""
        if not texts or self.chosen is self._static:
            self._static.expect(texts)

    def unread(self, count: int, total: int) -> None:
        """Take note how many of the book's texts got rows of zeros; from `LEAST` and `SHARE` on, choose anew."""
        if count >= max(LEAST, SHARE * total) and self.chosen is self._static:
            with suppress(OSError):
                open(self._mark, "x").close()
            self._choose()

    def close(self) -> None:
        """End what makes vectors meanwhile."""
        self._static.close()

    def _choose(self) -> None:
        from memorybook.inference.multilingual import MultilingualEmbedder

        self._static.close()
        self._multilingual = MultilingualEmbedder()
