"""What every embedder promises. A test module subclasses `EmbedderConformance` and gives the `embedder`."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pytest

from memorybook.inference.static import vectors_of
from memorybook.protocols import Embedder

TEXTS = [
    "The user prefers short answers.",
    "Release notes are written on Fridays",
    "def parse(line: str) -> Entry:  # see formats/memory_md.py",
    "Postgres 16 replaced MySQL in the billing service",
    "a cat sat on the mat",
    "Met Zoë at the café — 3 p.m. 🙂",
]


def rows(embedder: Embedder, texts: Sequence[str]) -> npt.NDArray[np.float32]:
    """As an index takes them: what it would refuse fails here."""
    found = vectors_of(embedder, texts)
    blank = bytes(4 * embedder.dimensions)
    return np.array([np.frombuffer(row or blank, dtype=np.float32) for row in found])


class EmbedderConformance:
    """The suite; `texts` are some that the embedder can read."""

    texts: ClassVar[list[str]] = TEXTS

    @pytest.fixture
    def embedder(self) -> Embedder:
        raise NotImplementedError

    def test_answers_with_a_contiguous_float32_array_of_one_row_a_text(self, embedder: Embedder) -> None:
        answer = np.asarray(embedder.embed(self.texts))
        assert answer.dtype == np.float32
        assert answer.shape == (len(self.texts), embedder.dimensions)
        assert answer.flags["C_CONTIGUOUS"]

    def test_rows_have_unit_length(self, embedder: Embedder) -> None:
        assert np.linalg.norm(rows(embedder, self.texts), axis=1) == pytest.approx(1.0, abs=1e-5)

    def test_blank_texts_get_rows_of_zeros_in_their_place(self, embedder: Embedder) -> None:
        found = rows(embedder, ["", self.texts[0], " \n\t\u3000"])
        assert not found[0].any()
        assert found[1].any()
        assert not found[2].any()

    def test_no_texts_give_an_array_without_rows(self, embedder: Embedder) -> None:
        answer = np.asarray(embedder.embed([]))
        assert answer.shape == (0, embedder.dimensions)
        assert answer.dtype == np.float32

    def test_the_same_text_gives_the_same_row(self, embedder: Embedder) -> None:
        once = vectors_of(embedder, self.texts)
        assert vectors_of(embedder, self.texts) == once
        assert len(set(once)) == len(self.texts)

    def test_order_is_kept_whatever_stands_beside_a_text(self, embedder: Embedder) -> None:
        texts = self.texts * 6
        random.Random(5).shuffle(texts)
        alone = {text: rows(embedder, [text])[0] for text in self.texts}
        for text, row in zip(texts, rows(embedder, texts), strict=True):
            assert row == pytest.approx(alone[text], abs=1e-5)

    def test_threads_may_share_one(self, embedder: Embedder) -> None:
        expected = rows(embedder, self.texts)
        with ThreadPoolExecutor(4) as threads:
            for found in threads.map(lambda _: rows(embedder, self.texts), range(20)):
                assert found == pytest.approx(expected, abs=1e-5)

    def test_any_text_at_all_is_taken(self, embedder: Embedder) -> None:
        hostile = [
            "\udc80\udcff caf\u00e9",
            "NUL \0 and \ufeff BOM\r\n",
            "▁▁ <s> </s> <0x41>",
            "x" * 50_000,
            "▁",
            "喜欢咖啡",
            "…",
        ]
        lengths = np.linalg.norm(rows(embedder, hostile), axis=1)
        assert all(length == pytest.approx(1.0, abs=1e-5) or length == 0.0 for length in lengths)

    def test_the_name_tells_the_kind_and_stays(self, embedder: Embedder) -> None:
        name = embedder.name
        embedder.embed(self.texts)
        assert embedder.name == name
        assert name.split("/")[0] in {"static", "multilingual", "local", "remote"}
        assert embedder.local == (not name.startswith("remote/"))
