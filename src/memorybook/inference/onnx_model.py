"""A loaded sentence-transformer: texts to token ids to one vector each, with onnxruntime and tokenizers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.errors import EmbedderFailed
from memorybook.inference.static import readable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    import numpy.typing as npt

    from memorybook.inference.model_folder import Recipe

    Floats = npt.NDArray[np.float32]

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
        """Unit rows in the order of `texts`."""
        import numpy as np

        encoded = [self._encode(text, prompt) for text in texts]
        rows: dict[int, Floats] = {}
        for batch in _batches(encoded, self._padding):
            rows.update(zip(batch.places, self._run(batch), strict=True))
        width = self._width(rows)
        blank = np.zeros(width, dtype=np.float32)
        return np.array([rows.get(place, blank) for place in range(len(texts))], dtype=np.float32).reshape(-1, width)

    def _width(self, rows: dict[int, Floats]) -> int:
        """The model's dimensions, asked for with a word if nothing else was."""
        for row in rows.values():
            return int(row.shape[0])
        [batch] = _batches([self._tokenizer.encode("word").ids], self._padding)
        return int(self._run(batch).shape[1])

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
        return self._unit(_pooled(np.asarray(answer, dtype=np.float32), batch, self.recipe))

    def _unit(self, rows: Floats) -> Floats:
        import numpy as np

        lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
        if not np.isfinite(lengths).all():
            raise EmbedderFailed(f"the model {self.recipe.onnx!r} gave NaN or infinity; it is damaged, export it again")
        unit: Floats = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 1e-12, casting="same_kind")
        return unit


def _pooled(answer: Floats, batch: _Batch, recipe: Recipe) -> Floats:
    """One vector a text, of one vector a token."""
    import numpy as np

    if answer.ndim == 2 and answer.shape[0] == len(batch.places):
        return answer
    if answer.ndim != 3 or answer.shape[:2] != batch.ids.shape:
        raise EmbedderFailed(f"the model {recipe.onnx!r} gave an array of shape {answer.shape} for {batch.ids.shape}")
    if recipe.pooling == "cls":
        first: Floats = answer[:, 0]
        return first
    if recipe.pooling == "last":
        last: Floats = answer[np.arange(len(answer)), batch.mask.sum(axis=1) - 1]
        return last
    mask = batch.mask[:, :, None]
    if recipe.pooling == "max":
        best: Floats = np.where(mask > 0, answer, -np.inf).max(axis=1)
        return best
    mean: Floats = (np.where(mask > 0, answer, 0).sum(axis=1) / mask.sum(axis=1)).astype(np.float32)
    return mean


def _output(names: list[str], recipe: Recipe) -> str:
    if "sentence_embedding" in names:
        return "sentence_embedding"
    if not recipe.plain:
        raise ValueError("it needs more than pooling, and its ONNX file has no output 'sentence_embedding'")
    return next((name for name in ("last_hidden_state", "token_embeddings") if name in names), names[0])


def _batches(encoded: list[list[int]], padding: int) -> Iterator[_Batch]:
    """Texts of like length together, so that little of what is computed is padding; empty ones are left out."""
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
    """Share of a text's pieces that stand for nothing the tokenizer knows: unknown words and single bytes.

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
    """What an error says, on one line."""
    return " ".join(str(error).split())[:200]
