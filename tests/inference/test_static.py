from __future__ import annotations

import importlib
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.embedder import TEXTS, EmbedderConformance, rows
from memorybook.errors import EmbedderFailed
from memorybook.inference import static
from memorybook.inference.static import StaticEmbedder, readable
from memorybook.protocols import Embedder


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def embedder(cache: str) -> StaticEmbedder:
    return StaticEmbedder(cache)


def without(_: float) -> None:
    """No numpy."""


class TestStaticEmbedder(EmbedderConformance):
    @pytest.fixture
    def embedder(self, cache: str, monkeypatch: pytest.MonkeyPatch) -> Embedder:
        monkeypatch.setattr(static, "arrays", without)
        return StaticEmbedder(cache)


class TestStaticEmbedderWithNumpy(EmbedderConformance):
    @pytest.fixture
    def embedder(self, cache: str) -> Embedder:
        return StaticEmbedder(cache)


class TestStaticEmbedderInBulk(EmbedderConformance):
    @pytest.fixture
    def embedder(self, cache: str, monkeypatch: pytest.MonkeyPatch) -> Embedder:
        monkeypatch.setattr(static, "_BULK", 0)
        return StaticEmbedder(cache)


@pytest.fixture(scope="module")
def wordllama() -> Iterator[Any]:
    """The package itself, which configures logging when it is imported."""
    handlers, level = list(logging.root.handlers), logging.root.level
    package = importlib.import_module("wordllama")
    yield package.WordLlama.load(cache_dir=Path(str(package.__file__)).parent, disable_download=True)
    logging.root.handlers[:], logging.root.level = handlers, level


def test_vectors_are_those_of_wordllama(embedder: StaticEmbedder, wordllama: Any) -> None:
    single_spaced = [" ".join(text.split()) for text in TEXTS]
    theirs = wordllama.embed(single_spaced, norm=True)
    assert np.abs(rows(embedder, TEXTS) - theirs).max() < 1e-3


def test_one_by_one_and_in_bulk_give_equal_vectors(embedder: StaticEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [*TEXTS, "", "喜欢咖啡", "我们用 Postgres 吧", "word " * 3000, "?!"]
    few = rows(embedder, texts[:3])
    assert isinstance(embedder.embed(texts[:3]), np.ndarray)
    monkeypatch.setattr(static, "_BULK", 0)
    bulk = rows(embedder, texts)
    monkeypatch.setattr(static, "arrays", without)
    monkeypatch.setattr(static, "_BULK", 1_000_000)
    assert isinstance(embedder.embed(texts), memoryview)
    assert bulk[:3] == pytest.approx(few, abs=1e-5)
    assert bulk == pytest.approx(rows(embedder, texts), abs=1e-5)


def test_many_texts_import_numpy_and_a_question_does_not(cache: str) -> None:
    script = (
        f"import sys; from memorybook.inference.static import StaticEmbedder as E; e = E({cache!r}); "
        "e.embed(['hello']); before = 'numpy' in sys.modules; "
        "e.embed(['hello world'] * 2000); print(before, 'numpy' in sys.modules)"
    )
    assert fresh(script) == "False True"


def test_white_space_counts_as_single_spaces(embedder: StaticEmbedder) -> None:
    plain, spaced, marked = rows(embedder, ["one two", "\tone \r\n  two\n", "▁one▁▁two"])
    assert np.array_equal(plain, spaced)
    assert np.array_equal(plain, marked)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("plain words", "plain words"),
        ("café, naïve — ok", "café, naïve — ok"),
        (
            "remember that our pre-release branch is called `pre`，你写错了",
            "remember that our pre-release branch is called `pre`",
        ),
        ("The word 咖啡 means coffee; in Japanese コーヒー", "The word means coffee; in Japanese"),
        ("We met in 서울 last spring with the whole team", "We met in last spring with the whole team"),
        ("bytes \udcff that were not UTF-8", "bytes that were not UTF-8"),
        ("RemoteEmbedder 的超时是多少", ""),
        ("我喜欢咖啡", ""),
        ("コーヒーが好き", ""),
        ("커피를 좋아해요", ""),
        ("…！？", ""),
        ("?! --", ""),
        ("", ""),
        ("42", "42"),
    ],
)
def test_reads_what_is_not_cjk_unless_that_leaves_most_unread(text: str, read: str) -> None:
    assert readable(text) == read


def test_what_it_cannot_read_gets_zeros_beside_what_it_can(embedder: StaticEmbedder) -> None:
    found = rows(embedder, ["今天讨论了数据库", "today we discussed the database", "RemoteEmbedder 的超时是多少"])
    assert [bool(row.any()) for row in found] == [False, True, False]


def fresh(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_a_question_in_a_fresh_process_imports_nothing_heavy(cache: str) -> None:
    script = (
        "import sys; before = set(sys.modules); from memorybook.inference.static import StaticEmbedder; "
        f"StaticEmbedder({cache!r}).embed(['When did Caroline go to the support group?']); "
        "heavy = {'numpy', 'tokenizers', 'safetensors', 'wordllama', 'json', 'dataclasses', 'pathlib'}; "
        "print(sorted(heavy & set(sys.modules) - before))"
    )
    fresh(script)  # makes the cache, unless it is there
    assert fresh(script) == "[]"


def installed(folder: Path, header: str, rows: bytes) -> None:
    (folder / "wordllama/weights").mkdir(parents=True)
    (folder / "wordllama/tokenizers").mkdir()
    vocabulary = {f"<{number}>": number for number in range(259)} | {"▁": 259, "a": 260, "▁a": 261}
    tokenizer = folder / "wordllama/tokenizers/l2_supercat_tokenizer_config.json"
    tokenizer.write_text(json.dumps({"model": {"vocab": vocabulary}}), encoding="utf-8")
    weights = folder / "wordllama/weights/l2_supercat_256.safetensors"
    weights.write_bytes(len(header).to_bytes(8, "little") + header.encode() + rows)


HEADER = '{"embedding.weight":{"dtype":"F16","shape":[262,256],"data_offsets":[0,134144]}}'


def test_the_wheel_is_found_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.zeros((262, 256), dtype="<f2")
    table[261, 0] = 5.0
    installed(tmp_path, HEADER, table.tobytes())
    monkeypatch.setattr(sys, "path", ["/nowhere", str(tmp_path)])
    assert rows(StaticEmbedder(), ["a"])[0, 0] == 1.0


def test_a_missing_wheel_is_reported_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["/nowhere"])
    with pytest.raises(EmbedderFailed, match="not installed; run: pip install 'wordllama"):
        StaticEmbedder().embed(["a"])


@pytest.mark.parametrize(
    ("header", "size", "message"),
    [
        (HEADER.replace("F16", "F32"), 134_144, "no table of 262 rows"),
        (HEADER.replace("256", "64"), 134_144, "no table of 262 rows"),
        (HEADER, 134_143, "134231 bytes where 134232 were expected"),
        ("", 0, "no table of 262 rows"),
    ],
)
def test_weights_of_another_kind_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, header: str, size: int, message: str
) -> None:
    installed(tmp_path, header, bytes(size))
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(EmbedderFailed, match=f"{message}.*reinstall 'wordllama"):
        StaticEmbedder().embed(["a"])
    (tmp_path / "wordllama/tokenizers/l2_supercat_tokenizer_config.json").write_text("[]", encoding="utf-8")
    with pytest.raises(EmbedderFailed, match="cannot be used"):
        StaticEmbedder(str(tmp_path / "cache")).embed(["a"])
