"""A sentence-transformer on this machine: an ONNX model run by onnxruntime, without torch.

Needs the extra `local`, of which nothing is imported before the first text is embedded: onnxruntime alone takes
longer to import than a search by words takes as a whole.
"""

from __future__ import annotations

import os
from _thread import allocate_lock
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.errors import ConfigError, EmbedderFailed
from memorybook.inference import model_files
from memorybook.inference.static import readable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    import numpy.typing as npt

    from memorybook.inference.model_files import Recipe
    from memorybook.protocols import Vectors

    Floats = npt.NDArray[np.float32]

KIND = "local/"
"""What `embeddings.model` begins with for a model on this machine, and the embedder's name."""

_FEW = 8  # texts that a sync may embed by itself
_LONGEST_MAKE = 1800.0  # seconds; the largest of these models takes a few minutes


UNREAD = 0.3
"""Share of pieces that the tokenizer does not know from which a text counts as not read."""

_ROWS = 8  # texts at a time; more are no faster on a CPU, and a question waits for them to end
_TOKENS = 4096  # of a batch, padding included
_CHARACTERS_PER_TOKEN = 12  # more is cut off before tokenizing, which is linear in the whole text
_INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
_COMMON_HAN = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作"
    "里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实"
)


class LocalEmbedder:
    """Embeds with a sentence-transformer that was exported to ONNX, from a folder or by its name on the model_files.

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
        name: `local/` with the folder's name and a fingerprint of its files, or with the name on the model_files.
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
        self._opened: _LoadedModel | None = None
        self._ready = False
        self._preparing = allocate_lock()  # may take minutes: whoever asks a question never waits for it
        self._loading = allocate_lock()
        self.name = KIND + self._checked_name()

    def _checked_name(self) -> str:
        """Return the folder's name with its fingerprint, or the model's name on the hub. Raises ConfigError."""
        model, folder = self._model, self._folder
        if not folder and model_files.is_name(model):
            return model
        if not folder:
            raise ConfigError(
                f"embeddings.model: {model!r} is neither a folder (such as 'local//home/me/model') nor the name of a"
                " model (such as 'local/sentence-transformers/all-MiniLM-L6-v2')"
            )
        try:
            return f"{os.path.basename(os.path.abspath(folder))}@{model_files.fingerprint(folder)}"
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            holds = f"the folder {folder!r} holds no model: {reason}"
            what = holds if os.path.isdir(folder) else f"no folder {folder!r}"
            raise ConfigError(f"embeddings.model: {what}; give a folder with model.onnx and tokenizer.json") from None

    @property
    def inline(self) -> int:
        """How many texts a sync may embed by itself: none while the model is still to be fetched or quantised."""
        if self._opened is not None:
            return _FEW if self._opened.final else 0
        if not self._ready:
            try:
                folder = self._folder or model_files.cached(self._model)
                self._ready = folder is not None and self._recipe(folder, make=False)[1]
            except (EmbedderFailed, OSError, ValueError):  # it is told when a text is to be embedded
                return 0
        return _FEW if self._ready else 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a float32 array (n, dimensions) of unit rows; zeros for what the model cannot read.

        Raises EmbedderFailed: the extra is not installed, the model cannot be loaded, or what it gives is no vector.
        """
        model = self._model_for(bulk=True)
        return self._checked(model.embed(texts, model.recipe.passage))

    def embed_questions(self, questions: Sequence[str]) -> Vectors:
        """Embed questions, with the model's prompt for them; never fetches a model."""
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
        """Return the loaded model: the best one for many texts, else the one at hand, so that questions never wait.

        Raises EmbedderFailed in a fork of the process that loaded it, which lacks its threads.
        """
        opened = self._opened
        if opened is None or not opened.serves(bulk):
            with self._preparing if bulk else nullcontext():
                opened = self._opened
                if opened is None or not opened.serves(bulk):
                    opened = self._load(bulk)
        if opened.process != os.getpid():
            raise EmbedderFailed(f"the model {self._model!r} was loaded before this process was forked; start it anew")
        return opened.model

    def _load(self, bulk: bool) -> _LoadedModel:
        """Load the model, for many texts fetched and quantised if need be. Raises EmbedderFailed."""
        try:
            folder = self._folder or model_files.cached(self._model)
            if folder is None and not bulk:
                raise EmbedderFailed(f"the model {self._model!r} was not fetched yet; run: memorybook sync")
            import onnxruntime  # noqa: F401  (without the extra a model is not fetched in vain)

            recipe, final = self._recipe(folder or model_files.fetch(self._model), make=bulk)
            with self._loading:
                opened = self._opened
                if opened is None or (final and not opened.serves(True)):
                    opened = self._opened = _LoadedModel(os.getpid(), OnnxModel(recipe), final)
                return opened
        except ImportError as error:
            raise EmbedderFailed(f"a local model needs the package {error.name!r}: {model_files.INSTALL}") from None
        except (OSError, ValueError) as error:
            raise EmbedderFailed(
                f"the model {self._model!r} cannot be used: {error}; check embeddings.model"
            ) from error

    def _recipe(self, folder: str, *, make: bool) -> tuple[Recipe, bool]:
        """Return (recipe, final). Uses the cached int8 model and quantises it now if `make`.

        `final` is False if a better one may follow.
        """
        recipe = model_files.read(folder)
        if recipe.int8 or self._cache_dir is None:
            return recipe, True
        made = os.path.join(self._cache_dir, f"{model_files.fingerprint_of(recipe.onnx)}-int8.onnx")
        if os.path.exists(made) or (make and _make(_QUANTISE, recipe.onnx, made)):
            return recipe._replace(onnx=made, int8=True), True
        return recipe, make or not _can_quantise()


class _LoadedModel(NamedTuple):
    """A loaded model, the process that loaded it, and whether it is the one for many texts too."""

    process: int
    model: OnnxModel
    final: bool

    def serves(self, bulk: bool) -> bool:
        """Return whether nothing else is to be loaded; in a fork nothing can be."""
        return self.final or not bulk or self.process != os.getpid()


# --- a loaded model ------------------------------------------------------------------------------


class _Batch(NamedTuple):
    """Texts that go through the model together: their places, token ids, and which of those are no padding."""

    places: list[int]
    ids: npt.NDArray[np.int64]
    mask: npt.NDArray[np.int64]


class OnnxModel:
    """A loaded model; safe to share between threads.

    Raises:
        ValueError: Its files are damaged, or ask for what cannot be given.
        ImportError: The extra is not installed.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self._tokenizer = _tokenizer(recipe)
        self._session = _session(recipe.onnx)
        self._inputs = {one.name: one.type for one in self._session.get_inputs()}
        unknown = [name for name in self._inputs if name not in _INPUTS]
        if unknown or "input_ids" not in self._inputs:
            raise ValueError(f"its input {unknown[0]!r} is not known" if unknown else "it takes no 'input_ids'")
        self._output = _output([one.name for one in self._session.get_outputs()], recipe)
        padding = [self._tokenizer.token_to_id(token) for token in ("[PAD]", "<pad>")]
        self._padding = next((number for number in padding if number is not None), 0)
        self._reads_han = _unknown(self._tokenizer.encode(_COMMON_HAN)) < UNREAD

    def embed(self, texts: Sequence[str], prompt: str) -> Floats:
        """Return unit rows in the order of `texts`."""
        import numpy as np

        encoded = [self._encode(text, prompt) for text in texts]
        rows: dict[int, Floats] = {}
        for batch in _batches(encoded, self._padding):
            rows.update(zip(batch.places, self._run(batch), strict=True))
        if rows:
            width = len(next(iter(rows.values())))
        else:  # asked for with a word
            [batch] = _batches([self._tokenizer.encode("word").ids], self._padding)
            width = self._run(batch).shape[1]
        blank = np.zeros(width, dtype=np.float32)
        return np.array([rows.get(place, blank) for place in range(len(texts))], dtype=np.float32).reshape(-1, width)

    def _encode(self, text: str, prompt: str) -> list[int]:
        """Token ids; none for a text that the model cannot read."""
        text = text[: _CHARACTERS_PER_TOKEN * self.recipe.longest].encode("utf-8", "ignore").decode()
        if not self._reads_han:
            text = readable(text)
        if not text or text.isspace():
            return []
        pieces = self._tokenizer.encode(text)
        if _unknown(pieces) >= UNREAD:
            return []
        ids: list[int] = (self._tokenizer.encode(prompt + text) if prompt else pieces).ids
        return ids

    def _run(self, batch: _Batch) -> Floats:
        import numpy as np

        given = {
            "input_ids": batch.ids,
            "attention_mask": batch.mask,
            "token_type_ids": np.zeros_like(batch.ids),
            "position_ids": np.broadcast_to(np.arange(batch.ids.shape[1]), batch.ids.shape),
        }
        kinds = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
        try:
            feed = {name: given[name].astype(kinds.get(kind, np.int64)) for name, kind in self._inputs.items()}
            [answer] = self._session.run([self._output], feed)
        except Exception as error:  # onnxruntime's own errors share no class
            raise EmbedderFailed(f"the model {self.recipe.onnx!r} failed: {short(error)}") from error
        rows = _pooled(np.asarray(answer, dtype=np.float32), batch, self.recipe)
        lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
        if not np.isfinite(lengths).all():
            raise EmbedderFailed(f"the model {self.recipe.onnx!r} gave NaN or infinity; it is damaged, export it again")
        unit: Floats = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 1e-12, casting="same_kind")
        return unit


def _pooled(answer: Floats, batch: _Batch, recipe: Recipe) -> Floats:
    """Pool the vectors of tokens into one vector a text."""
    import numpy as np

    if answer.ndim == 2 and answer.shape[0] == len(batch.places):
        return answer
    if answer.ndim != 3 or answer.shape[:2] != batch.ids.shape:
        raise EmbedderFailed(f"the model {recipe.onnx!r} gave an array of shape {answer.shape} for {batch.ids.shape}")
    last, mask = batch.mask.sum(axis=1) - 1, batch.mask[:, :, None]
    if recipe.pooling in ("cls", "last"):
        pooled = answer[np.arange(len(answer)), last if recipe.pooling == "last" else 0]
    elif recipe.pooling == "max":
        pooled = np.where(mask > 0, answer, -np.inf).max(axis=1)
    else:
        pooled = np.where(mask > 0, answer, 0).sum(axis=1) / mask.sum(axis=1)
    return np.asarray(pooled, dtype=np.float32)


def _output(names: list[str], recipe: Recipe) -> str:
    if "sentence_embedding" in names:
        return "sentence_embedding"
    if not recipe.plain:
        raise ValueError("it needs more than pooling, and its ONNX file has no output 'sentence_embedding'")
    return next((name for name in ("last_hidden_state", "token_embeddings") if name in names), names[0])


def _batches(encoded: list[list[int]], padding: int) -> Iterator[_Batch]:
    """Yield texts of like length together, so that little of what is computed is padding; empty ones are left out."""
    import numpy as np

    order = sorted((place for place, ids in enumerate(encoded) if ids), key=lambda place: len(encoded[place]))
    while order:
        count = min(_ROWS, len(order))
        while count > 1 and count * len(encoded[order[count - 1]]) > _TOKENS:
            count -= 1
        places, order = order[:count], order[count:]
        ids = np.full((count, len(encoded[places[-1]])), padding, dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, place in enumerate(places):
            ids[row, : len(encoded[place])] = encoded[place]
            mask[row, : len(encoded[place])] = 1
        yield _Batch(places, ids, mask)


def _unknown(encoded: Any) -> float:
    """Return the share of pieces that stand for nothing the tokenizer knows: unknown words and single bytes.

    A tokenizer over bytes has no unknown pieces: there it takes more of them than there are characters.
    """
    pieces = [piece for piece, added in zip(encoded.tokens, encoded.special_tokens_mask, strict=True) if not added]
    if len(pieces) > 1.3 * max((end for _, end in encoded.offsets), default=0) + 2:
        return 1.0
    unknown = sum(piece in ("[UNK]", "<unk>") or piece.startswith("<0x") for piece in pieces)
    return unknown / len(pieces) if pieces else 1.0


# --- loading ---------------------------------------------------------------------------------------


def _tokenizer(recipe: Recipe) -> Any:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(recipe.tokenizer)
    except Exception as error:  # the library raises Exception itself
        raise ValueError(f"its tokenizer.json cannot be read ({short(error)})") from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(recipe.longest)
    return tokenizer


def _session(path: str) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    options.log_severity_level = 4  # whatever goes wrong is raised as well
    # threads that spin while they wait take the processor from searches
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own errors share no class
        raise ValueError(f"its {os.path.basename(path)} cannot be loaded ({short(error)})") from error


def short(error: Exception) -> str:
    """Return what an error says, on one line."""
    return " ".join(str(error).split())[:200]


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
