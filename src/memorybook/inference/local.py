"""A sentence-transformer on this machine: an ONNX model run by onnxruntime, without torch.

Needs the extra `local`. Nothing of it is imported before the first text is embedded: onnxruntime alone
takes longer to import than a search by words takes as a whole.
"""

from __future__ import annotations

import os
from _thread import allocate_lock
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from memorybook.errors import ConfigError, EmbedderFailed
from memorybook.inference import hub, model_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memorybook.inference.onnx_model import Floats, OnnxModel
    from memorybook.protocols import Vectors

KIND = "local/"
"""What `embeddings.model` begins with for a model on this machine, and the embedder's name."""

_FEW = 8  # texts that a sync may embed by itself
_LONGEST_MAKE = 1800.0  # seconds; the largest of these models takes a few minutes


class LocalEmbedder:
    """Embeds with a sentence-transformer that was exported to ONNX, from a folder or by its name on the hub.

    Of several ONNX files an int8 one is taken. If there is only one of float32, and the package `onnx` is
    installed, it is quantised once into `cache_dir`: a third faster, a quarter of the size, and a cosine to the
    float model of 0.99. Pooling, prompts and the longest text are what the folder says.

    A single model may not read every language. Where its tokenizer does not know the common Han characters,
    CJK is passed over and a text that is mostly CJK gets a row of zeros, as does one of which the tokenizer
    does not know a third. Blank texts too get zeros. Safe to share between threads.

    Args:
        model: A folder (a path that begins with `/`, `~` or `.`), or the name of a model on the hub, which is
            fetched by the first `embed` and then never again; `ORG/NAME@REVISION` pins it.
        cache_dir: For quantised models; None to use what there is.
        dimensions: Insisted on if not 0.

    Attributes:
        name: `local/` with the folder's name and a fingerprint of its files, or with the name on the hub.
        dimensions: 0 until the first text was embedded, if not given.

    Raises:
        ConfigError: No such folder, no model in it, or no name that a model can have.
    """

    local = True

    def __init__(self, model: str, *, cache_dir: str | None = None, dimensions: int = 0) -> None:
        self._model = model
        self._folder = os.path.expanduser(model) if model[:1] in ("/", "~", ".") else ""
        self._cache_dir = cache_dir
        self._wanted = self.dimensions = dimensions
        self._opened: _Opened | None = None
        self._ready = False
        self._preparing = allocate_lock()  # may take minutes: whoever asks a question never waits for it
        self._loading = allocate_lock()
        self.name = KIND + (_folder_name(self._folder) if self._folder else _hub_name(model))

    @property
    def inline(self) -> int:
        """A few, but none while the model is still to be fetched or quantised: no search waits for that."""
        if self._opened is not None:
            return _FEW if self._opened.final else 0
        if not self._ready:
            try:
                folder = self._folder or hub.cached(self._model)
                self._ready = folder is not None and self._recipe(folder, make=False)[1]
            except (EmbedderFailed, OSError, ValueError):  # it is told when a text is to be embedded
                return 0
        return _FEW if self._ready else 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A float32 array (n, dimensions) of unit rows; zeros for what the model cannot read.

        Raises EmbedderFailed: the extra is not installed, the model cannot be loaded, or what it gives is no vector.
        """
        model = self._model_for(bulk=True)
        return self._checked(model.embed(texts, model.recipe.passage))

    def embed_questions(self, questions: Sequence[str]) -> Vectors:
        """As `embed`, with what the model wants to stand before a question; never fetches a model."""
        model = self._model_for(bulk=False)
        return self._checked(model.embed(questions, model.recipe.question))

    def close(self) -> None:
        """Let go of the model; the next `embed` loads it again."""
        self._opened = None

    def _checked(self, rows: Floats) -> Floats:
        if self._wanted and rows.shape[1] != self._wanted:
            raise EmbedderFailed(
                f"the model {self._model!r} gives {rows.shape[1]} dimensions where embeddings.dimensions asks for"
                f" {self._wanted}; remove that setting"
            )
        self.dimensions = rows.shape[1]
        return rows

    def _model_for(self, *, bulk: bool) -> OnnxModel:
        """The loaded model. Raises EmbedderFailed in a fork of the process that loaded it, which lacks its threads."""
        opened = self._opened
        if opened is None or not opened.serves(bulk):
            opened = self._final() if bulk else self._at_hand()
        if opened.process != os.getpid():
            raise EmbedderFailed(f"the model {self._model!r} was loaded before this process was forked; start it anew")
        return opened.model

    def _final(self) -> _Opened:
        """The model for many texts, fetched and quantised if need be; questions are answered meanwhile."""
        with self._preparing:
            opened = self._opened
            if opened is not None and opened.serves(True):
                return opened
            with self._told():
                import onnxruntime  # noqa: F401  (without the extra a model is not fetched in vain)

                recipe, _ = self._recipe(self._folder or hub.cached(self._model) or hub.fetch(self._model), make=True)
                return self._load(recipe, final=True)

    def _at_hand(self) -> _Opened:
        """The model that is on this machine by now."""
        folder = self._folder or hub.cached(self._model)
        if folder is None:
            raise EmbedderFailed(f"the model {self._model!r} was not fetched yet; run: memorybook sync")
        with self._told():
            recipe, final = self._recipe(folder, make=False)
            return self._load(recipe, final=final)

    def _recipe(self, folder: str, *, make: bool) -> tuple[model_folder.Recipe, bool]:
        """How to use the model of a folder, quantised if that was done or `make`, and whether that is the last word."""
        recipe = model_folder.read(folder)
        if recipe.int8 or self._cache_dir is None:
            return recipe, True
        made = os.path.join(self._cache_dir, f"{model_folder.fingerprint_of(recipe.onnx)}-int8.onnx")
        if os.path.exists(made) or (make and _make(_QUANTISE, recipe.onnx, made)):
            return recipe._replace(onnx=made, int8=True), True
        return recipe, make or not _can_quantise()

    def _load(self, recipe: model_folder.Recipe, *, final: bool) -> _Opened:
        with self._loading:
            opened = self._opened
            if opened is None or (final and not opened.serves(True)):
                from memorybook.inference.onnx_model import OnnxModel

                opened = self._opened = _Opened(os.getpid(), OnnxModel(recipe), final)
            return opened

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Raises EmbedderFailed for whatever hinders the model's use."""
        try:
            yield
        except ImportError as error:
            raise EmbedderFailed(f"a local model needs the package {error.name!r}: {hub.INSTALL}") from None
        except (OSError, ValueError) as error:
            raise EmbedderFailed(
                f"the model {self._model!r} cannot be used: {error}; check embeddings.model"
            ) from error


class _Opened(NamedTuple):
    """A loaded model, the process that loaded it, and whether it is the one for many texts too."""

    process: int
    model: OnnxModel
    final: bool

    def serves(self, bulk: bool) -> bool:
        """Whether nothing else is to be loaded; in a fork nothing can be."""
        return self.final or not bulk or self.process != os.getpid()


def _folder_name(folder: str) -> str:
    try:
        return f"{os.path.basename(os.path.abspath(folder))}@{model_folder.fingerprint(folder)}"
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        what = f"the folder {folder!r} holds no model: {reason}" if os.path.isdir(folder) else f"no folder {folder!r}"
        raise ConfigError(f"embeddings.model: {what}; give a folder with model.onnx and tokenizer.json") from None


def _hub_name(model: str) -> str:
    if not hub.is_name(model):
        raise ConfigError(
            f"embeddings.model: {model!r} is neither a folder (such as 'local//home/me/model') nor the name of a model"
            " (such as 'local/sentence-transformers/all-MiniLM-L6-v2')"
        )
    return model


# --- int8 ------------------------------------------------------------------------------------------

_QUANTISE = """
import sys
from onnxruntime.quantization import QuantType, quantize_dynamic
# Per channel, and within seven bits: processors without VNNI overflow beyond them.
quantize_dynamic(sys.argv[1], sys.argv[2], per_channel=True, reduce_range=True, weight_type=QuantType.QInt8)
"""


def _can_quantise() -> bool:
    import sys
    from importlib.util import find_spec

    return find_spec("onnx") is not None and bool(sys.executable)


def _make(script: str, source: str, made: str) -> bool:
    """Run a script that writes a file, which is there whole or not at all; returns whether it is.

    By another process, for it takes a while, much memory, and writes to the log.
    """
    import subprocess
    import sys

    if not _can_quantise():
        return False
    temporary = f"{made}.{os.getpid()}.tmp"
    try:
        os.makedirs(os.path.dirname(made), exist_ok=True)
        command = [sys.executable, "-c", script, source, temporary]
        subprocess.run(command, check=True, capture_output=True, timeout=_LONGEST_MAKE)  # noqa: S603
        os.replace(temporary, made)
    except (OSError, subprocess.SubprocessError):
        if os.path.exists(temporary):
            os.unlink(temporary)
        return False
    return True
