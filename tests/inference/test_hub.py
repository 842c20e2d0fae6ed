"""Models by their name: fetched once from a hub, here one on the loopback, and then used without any connection."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from huggingface_hub import constants

from inference import hub_server, tiny_model
from memorybook.errors import EmbedderFailed
from memorybook.inference import local
from memorybook.inference.local import LocalEmbedder

NAME = "tiny/english"

# What a process does with the model: everything it connects to is on stderr.
SCRIPT = """
import socket, sys
connect = socket.socket.connect
def told(self, address):
    print("connected", address, file=sys.stderr)
    return connect(self, address)
socket.socket.connect = told
from memorybook.inference.local import LocalEmbedder
from memorybook.errors import EmbedderFailed
e = LocalEmbedder(sys.argv[1])
print(e.name, e.inline)
for embed in (e.embed_questions, e.embed):
    try:
        print(embed(["apples"]).round(5).tolist())
    except EmbedderFailed as error:
        print(error)
print(e.name, e.inline)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the hub has: also much that nobody needs."""
    made = tiny_model.make(tmp_path_factory.mktemp("hub"), file="onnx/model_quantized.onnx")
    shutil.copy(made / "onnx" / "model_quantized.onnx", made / "onnx" / "model.onnx")
    tiny_model.save_json(made, "1_Pooling/config.json", {"pooling_mode_cls_token": True})
    (made / "pytorch_model.bin").write_bytes(b"many megabytes")
    (made / "README.md").write_text("# Tiny\n", encoding="utf-8")
    return made


def run(name: str, home: Path, endpoint: str = "http://127.0.0.1:9") -> tuple[list[str], list[str]]:
    """What the script printed, and what it connected to."""
    environment = {"HF_HOME": str(home), "HF_ENDPOINT": endpoint, "PATH": "", "HOME": str(home)}
    command = [sys.executable, "-c", SCRIPT, name]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=60)
    return done.stdout.splitlines(), [line for line in done.stderr.splitlines() if line.startswith("connected")]


def test_a_model_is_fetched_once_and_then_needs_no_network(folder: Path, tmp_path: Path) -> None:
    with hub_server.serve(NAME, folder) as running:
        first, connected = run(NAME, tmp_path, running.url)
    asked = " ".join(running.asked)
    assert first[0] == f"local/{NAME} 0", "it is not fetched by a sync that a search waits for"
    assert first[1] == f"the model {NAME!r} was not fetched yet; run: memorybook sync"
    expected = np.asarray(LocalEmbedder(str(folder)).embed(["apples"])).round(5).tolist()
    assert first[2] == str(expected)
    assert first[3] == f"local/{NAME} 8"
    assert connected
    assert "1_Pooling/config.json" in asked
    assert not any(file in asked for file in ("pytorch_model.bin", "README.md", "onnx/model.onnx"))
    again, connected = run(NAME, tmp_path)
    assert (again, connected) == ([first[3], first[2], first[2], first[3]], [])


def test_without_network_and_cache_it_fails_in_one_sentence(tmp_path: Path) -> None:
    printed, _ = run(NAME, tmp_path)
    assert printed[2].startswith(f"the model {NAME!r} is not in the hub's cache and could not be fetched (")
    assert printed[2].endswith("); check the name and the network, or give a folder")


def test_a_name_that_the_hub_does_not_know_is_told(folder: Path, tmp_path: Path) -> None:
    with hub_server.serve(NAME, folder) as running:
        printed, _ = run("tiny/chinese", tmp_path, running.url)
    assert "RepositoryNotFoundError" in printed[2]


def test_weights_that_lie_beside_the_model_are_fetched_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is killed in between leaves no folder that looks like a whole model."""
    names = ["config.json", "onnx/model.onnx", "onnx/model.onnx_data", "tokenizer.json", "README.md"]
    fetched: list[list[str]] = []

    class Api:
        def model_info(self, repo: str, *, revision: str | None) -> SimpleNamespace:
            return SimpleNamespace(siblings=[SimpleNamespace(rfilename=name) for name in names])

    def download(repo: str, *, revision: str | None, allow_patterns: list[str]) -> str:
        fetched.append(allow_patterns)
        return "the folder"

    monkeypatch.setattr("huggingface_hub.HfApi", Api)
    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    assert local.fetch(NAME) == "the folder"
    assert fetched == [["config.json", "onnx/model.onnx_data", "tokenizer.json"], ["onnx/model.onnx"]]


# --- the cache -------------------------------------------------------------------------------------


@pytest.fixture
def cache(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that holds the model, laid out as the hub's library documents it."""
    root = tmp_path / "hub" / "models--tiny--english"
    shutil.copytree(folder, root / "snapshots" / hub_server.COMMIT)
    (root / "refs").mkdir()
    (root / "refs" / "main").write_text(hub_server.COMMIT, encoding="ascii")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return root


def test_a_cached_model_is_found_by_name_and_by_revision(cache: Path) -> None:
    snapshot = str(cache / "snapshots" / hub_server.COMMIT)
    assert local.cached(NAME) == local.cached(f"{NAME}@main") == local.cached(f"{NAME}@{hub_server.COMMIT}") == snapshot
    assert local.cached(f"{NAME}@v2") is None
    assert local.cached("tiny/other") is None
    assert LocalEmbedder(f"{NAME}@main").name == f"local/{NAME}@main"


def test_half_a_model_is_not_a_cached_one(cache: Path) -> None:
    shutil.rmtree(cache / "snapshots" / hub_server.COMMIT / "onnx")
    assert local.cached(NAME) is None


def test_without_the_library_a_name_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    for work in (local.cached, local.fetch):
        with pytest.raises(
            EmbedderFailed, match=r"'huggingface_hub': pip install 'memorybook\[local\]', or give a folder"
        ):
            work(NAME)
    assert LocalEmbedder(NAME).inline == 0


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ("sentence-transformers/all-MiniLM-L6-v2", True), ("Xenova/bge-small-zh-v1.5@main", True),
        ("all-MiniLM-L6-v2", True), ("a/b/c", False), ("a/../b", False), ("a b", False), ("", False),
    ],
)  # fmt: skip
def test_names_are_told_from_what_cannot_be_one(text: str, fine: bool) -> None:
    assert local.is_name(text) is fine
