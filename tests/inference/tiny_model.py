"""Real sentence-transformers of a few kilobytes, made here: an embedding table and one matrix, as ONNX folders."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

DIMENSIONS = 12
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
LATIN = [chr(code) for code in range(33, 127)]
HAN = [chr(code) for code in range(0x4E00, 0x9FA6)]
WORDS = ["apples", "river", "standup", "lisbon", "the", "user", "likes", "红", "query", "passage"]


def vocabulary(*, han: bool) -> dict[str, int]:
    """Whole words, single Latin characters (as beginnings and as continuations), and perhaps all of Han."""
    pieces = [*SPECIAL, *LATIN, *("##" + letter for letter in LATIN), *WORDS]
    pieces += [character for character in HAN if han and character not in WORDS]
    return {piece: number for number, piece in enumerate(pieces)}


def tokenizer(*, han: bool = False) -> Tokenizer:
    """A BERT tokenizer: lower case, accents off, Han one by one, `[CLS]` and `[SEP]` around."""
    known = vocabulary(han=han)
    made = Tokenizer(models.WordPiece(known, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", known["[CLS]"]), ("[SEP]", known["[SEP]"])]
    )
    return made


def table(size: int, seed: int = 7) -> npt.NDArray[np.float32]:
    """A vector for each token."""
    return np.random.default_rng(seed).normal(size=(size, DIMENSIONS)).astype(np.float32)


def save_onnx(
    path: Path,
    rows: npt.NDArray[np.float32],
    *,
    output: str = "last_hidden_state",
    inputs: Sequence[str] = ("input_ids", "attention_mask"),
    integers: int = TensorProto.INT64,
) -> None:
    """`output` = rows[input_ids] · I, of a `sentence_embedding` the mean; what else is taken is not used."""
    shape = ["batch", "sequence"]
    nodes = [
        helper.make_node("Gather", ["rows", "input_ids"], ["tokens"]),
        helper.make_node("MatMul", ["tokens", "matrix"], [output if output != "sentence_embedding" else "all"]),
    ]
    made: list[Any] = [*shape, rows.shape[1]]
    if output == "sentence_embedding":
        nodes.append(helper.make_node("ReduceMean", ["all"], [output], axes=[1], keepdims=0))
        made = ["batch", rows.shape[1]]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, integers, shape) for name in inputs],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, made)],
        [
            numpy_helper.from_array(rows, "rows"),
            numpy_helper.from_array(np.eye(rows.shape[1], dtype=np.float32), "matrix"),
        ],
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


def save_json(folder: Path, name: str, value: object) -> None:
    """One of the folder's settings files."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def make(folder: Path, *, han: bool = False, file: str = "model.onnx", seed: int = 7, **model: Any) -> Path:
    """A folder with a whole model; returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer(han=han).save(str(folder / "tokenizer.json"))
    save_json(folder, "config.json", {"model_type": "bert", "hidden_size": DIMENSIONS, "max_position_embeddings": 512})
    save_onnx(folder / file, table(len(vocabulary(han=han)), seed), **model)
    return folder
