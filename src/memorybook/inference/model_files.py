"""Files of a sentence-transformer exported to ONNX: which of a folder count, what they ask for, how the hub gives them.

The layouts are those of the `sentence-transformers` and `optimum` exports: see `SETTINGS`; the ONNX file stands beside
them or in `onnx/`. A model by its name is fetched once into the hub library's own cache and found there by its
documented layout (`models--ORG--NAME/refs`, `…/snapshots`), so that it starts without any attempt at a connection.
"""

from __future__ import annotations

import json
import os
import re
from binascii import crc32
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.errors import EmbedderFailed

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    """Fingerprint one ONNX file and the weights beside it by sizes and samples. Raises OSError."""
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

    Raises EmbedderFailed without the library.
    """
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
