"""The default embedder: the static one, and for a book in other scripts the multilingual one where it is installed."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from memorybook.inference.static import StaticEmbedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memorybook.protocols import Embedder, Vectors

SHARE = 0.05
"""Share of a book's texts that the static embedder cannot read from which the multilingual one takes its place."""

_MARK = "multilingual"


class BundledEmbedder:
    """Embeds with the static embedder until a book holds enough that it cannot read, then with the multilingual one.

    The choice is kept in a file in `cache_dir`, so every process makes the same one; deleting it chooses anew.

    Args:
        cache_dir: The machine folder of the book.
    """

    local = True

    def __init__(self, cache_dir: str) -> None:
        self._mark = os.path.join(cache_dir, _MARK)
        self._chosen: Embedder = StaticEmbedder(cache_dir)
        if os.path.exists(self._mark):
            self._choose()

    @property
    def name(self) -> str:
        """That of the embedder chosen."""
        return self._chosen.name

    @property
    def dimensions(self) -> int:
        """That of the embedder chosen."""
        return self._chosen.dimensions

    @property
    def inline(self) -> float:
        """As many as the embedder chosen takes."""
        return getattr(self._chosen, "inline", float("inf"))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit rows in the order of `texts`; see the embedders."""
        return self._chosen.embed(texts)

    def expect(self, texts: Sequence[str]) -> None:
        """Make vectors of these texts meanwhile, if the embedder chosen does."""
        if isinstance(self._chosen, StaticEmbedder):
            self._chosen.expect(texts)

    def unread(self, share: float) -> None:
        """Take note of the share of the book's texts that got a row of zeros; from `SHARE` on, choose anew."""
        if share >= SHARE and isinstance(self._chosen, StaticEmbedder) and self._choose():
            with suppress(OSError):
                open(self._mark, "x").close()

    def close(self) -> None:
        """Release what the embedder chosen holds."""
        self._chosen.close()  # type: ignore[attr-defined]

    def _choose(self) -> bool:
        from memorybook.inference.multilingual import MultilingualEmbedder, installed

        if not installed():
            return False
        self._chosen = MultilingualEmbedder()
        return True
