"""Models by their name on the Hugging Face hub: fetched once, into the hub library's own cache, then never asked for.

What is in the cache is found by its documented layout (`models--ORG--NAME/refs`, `…/snapshots`), so that a model
that is there starts without any attempt at a connection.
"""

from __future__ import annotations

import os
import re

from memorybook.errors import EmbedderFailed
from memorybook.inference import model_folder

INSTALL = "pip install 'memorybook[local]'"
_NAME = r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?(@[\w./-]+)?"


def is_name(model: str) -> bool:
    """Whether this can be a model's name, `ORG/NAME`, perhaps with `@REVISION`."""
    return re.fullmatch(_NAME, model) is not None and ".." not in model


def cached(model: str) -> str | None:
    """The folder of a model that was fetched to its end; None if it was not.

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
        model_folder.choose(model_folder.files(folder))  # it is fetched last
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
        chosen = model_folder.choose(names)
        beside = [name for name in names if name in model_folder.SETTINGS or model_folder.belongs(chosen, name)]
        # by the ONNX file `cached` knows that all is there
        for wanted in ([name for name in beside if name != chosen], [chosen]):
            folder = snapshot_download(repo, revision=revision or None, allow_patterns=wanted)
    except Exception as error:  # the library's own, its HTTP client's, the system's: all say that it is not here
        raise EmbedderFailed(
            f"the model {model!r} is not in the hub's cache and could not be fetched"
            f" ({type(error).__name__}: {_first_line(error)}); check the name and the network, or give a folder"
        ) from error
    finally:
        if not quiet:
            enable_progress_bars()
    return folder


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "no reason given")


def _missing() -> EmbedderFailed:
    return EmbedderFailed(f"a model by its name needs the package 'huggingface_hub': {INSTALL}, or give a folder")
