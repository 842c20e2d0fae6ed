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

SHARE = 0.05
"""Share of a book's texts that the static embedder cannot read from which the multilingual one takes its place."""


class BundledEmbedder:
    """Embeds with the static embedder until a book holds enough that it cannot read, then with the multilingual one.

    The choice is kept in a file in `cache_dir`, so every process makes the same one; deleting the file chooses anew.

    Args:
        cache_dir: The machine folder of the book.
    """

    local = True

    def __init__(self, cache_dir: str) -> None:
        self._mark = os.path.join(cache_dir, "multilingual")
        self._static = StaticEmbedder(cache_dir)
        self._choose(self._static)
        if os.path.exists(self._mark):
            self._multilingual()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit rows in the order of `texts`. Raises EmbedderFailed."""
        return self._chosen.embed(texts)

    def expect(self, texts: Sequence[str]) -> None:
        """Have the static embedder make vectors of these texts meanwhile."""
        if self._chosen is self._static or not texts:
            self._static.expect(texts)

    def unread(self, share: float) -> None:
        """Take note of the share of the book's texts that got a row of zeros; from `SHARE` on, choose anew."""
        if share >= SHARE and self._chosen is self._static:
            self._multilingual()
            with suppress(OSError):
                open(self._mark, "x").close()

    def close(self) -> None:
        """End what makes vectors meanwhile."""
        self._static.close()

    def _multilingual(self) -> None:
        from memorybook.inference.multilingual import MultilingualEmbedder

        self._static.close()
        self._choose(MultilingualEmbedder())

    def _choose(self, embedder: StaticEmbedder | MultilingualEmbedder) -> None:
        self._chosen = embedder
        self.name, self.dimensions = embedder.name, embedder.dimensions
        self.inline: float = getattr(embedder, "inline", inf)
