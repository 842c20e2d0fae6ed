"""The bundled embedders: what a book holds decides which of them it takes; the multilingual one keeps every promise."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import memorybook
from conformance.embedder import EmbedderConformance
from memorybook.inference import multilingual
from memorybook.inference.bundled import BundledEmbedder
from memorybook.inference.multilingual import MultilingualEmbedder
from memorybook.inference.static import StaticEmbedder, vectors_of
from memorybook.memory import Memory
from memorybook.protocols import Embedder

ENGLISH = ["The ferry leaves at six.", "Ann plays the oboe.", "The bike is red.", "We moved the depot to Graz."]
CHINESE = ["我不吃香菜。", "渡轮六点开。", "店租每月四千五。"]


def embedder_of(memory: Memory) -> str:
    assert memory.context.embedder is not None
    return memory.context.embedder.name


class TestMultilingualEmbedder(EmbedderConformance):
    texts: ClassVar[list[str]] = [
        *EmbedderConformance.texts, *CHINESE, "フェリーは六時に出ます。", "Паром отходит в шесть.",
    ]  # fmt: skip

    @pytest.fixture
    def embedder(self) -> Embedder:
        return MultilingualEmbedder()

    def test_the_same_in_other_languages_is_nearer_than_anything_else(self) -> None:
        texts = [ENGLISH[0], CHINESE[1], "フェリーは六時に出ます。", "Паром отходит в шесть.", ENGLISH[1], CHINESE[2]]
        made = np.asarray(MultilingualEmbedder().embed(texts))
        likeness = made @ made.T
        assert likeness[:4, :4].min() > likeness[:4, 4:].max()

    def test_texts_of_late_are_not_read_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        embedder, read, model = MultilingualEmbedder(), list[str](), multilingual._model()
        encode = model.encode

        def encoding(texts: Sequence[str]) -> Any:
            read.extend(texts)
            return encode(texts)

        monkeypatch.setattr(model, "encode", encoding)
        monkeypatch.setattr(multilingual, "KEPT", 4)
        made = [np.asarray(embedder.embed(texts)) for texts in (CHINESE, [*CHINESE, "!", ENGLISH[0]], ENGLISH, CHINESE)]
        assert read == [*CHINESE, "!", ENGLISH[0], *ENGLISH[1:], *CHINESE]
        assert (made[0] == made[1][:3]).all()
        assert not made[1][3].any()


def test_the_arrays_that_are_kept_give_the_vectors_that_were_made_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = []
    for _ in range(2):
        multilingual._model.cache_clear()
        made.append(np.asarray(MultilingualEmbedder().embed(CHINESE)))
    multilingual._model.cache_clear()
    assert list(tmp_path.glob("memorybook/multilingual-*/table.npy"))
    assert len(list(tmp_path.glob("memorybook/*"))) == 1
    assert (made[0] == made[1]).all()
    next(tmp_path.glob("memorybook/multilingual-*/d0.npy")).write_bytes(b"")
    assert (np.asarray(MultilingualEmbedder().embed(CHINESE)) == made[0]).all()  # a damaged folder is made anew
    multilingual._model.cache_clear()


@pytest.mark.parametrize(
    ("said", "embedder"),
    [
        (ENGLISH, "static/"),
        ([*ENGLISH, *CHINESE], "multilingual/"),
        (CHINESE, "multilingual/"),
        (["Паром отходит в шесть.", "Я не ем кинзу."], "multilingual/"),
    ],
)
def test_a_book_takes_the_embedder_that_reads_it_and_keeps_to_it(
    tmp_path: Path, said: list[str], embedder: str
) -> None:
    for _ in range(2):
        with memorybook.open(tmp_path) as memory:
            for text in said:
                memory.append(text)
            answer = memory.search("ferry")
            assert embedder_of(memory).startswith(embedder)
            assert answer.state["pending_vectors"] == 0
            assert answer.state["degraded"] == []


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("我有什么忌口？", CHINESE[0]),
        ("What don't I eat?", CHINESE[0]),
        ("几点的船？", ENGLISH[0]),
        ("What is the rent?", CHINESE[2]),
    ],
)
def test_questions_find_what_was_written_in_other_words_or_in_another_language(
    tmp_path: Path, question: str, answer: str
) -> None:
    with memorybook.open(tmp_path) as memory:
        for text in (*ENGLISH, CHINESE[0], CHINESE[2]):
            memory.append(text)
        memory.search("boat")
        assert memory.search(question).hits[0].passage.text == answer


def test_a_book_that_is_open_takes_what_another_process_chose(tmp_path: Path) -> None:
    with memorybook.open(tmp_path) as first, memorybook.open(tmp_path) as second:
        first.append(ENGLISH[0])
        first.search("boat")
        for text in CHINESE:
            second.append(text)
        second.search("船")
        assert first.search("有什么忌口？").hits[0].passage.text == CHINESE[0]
        assert embedder_of(first) == embedder_of(second) == MultilingualEmbedder.name


def test_vectors_are_of_one_embedder_whoever_chooses_anew_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundled, embed = BundledEmbedder(str(tmp_path)), StaticEmbedder.embed

    def interrupted(self: StaticEmbedder, texts: Sequence[str]) -> Any:
        rows = embed(self, texts)
        bundled.unread(len(CHINESE), len(CHINESE))  # as another thread does, which embeds the same book
        return rows

    monkeypatch.setattr(StaticEmbedder, "embed", interrupted)
    before, after = vectors_of(bundled, ENGLISH), vectors_of(bundled, ENGLISH)
    assert [len(row or b"") // 4 for row in (*before, *after)] == [256] * len(ENGLISH) + [512] * len(ENGLISH)


def test_an_english_book_with_a_rare_word_of_another_script_stays_with_the_quick_one(tmp_path: Path) -> None:
    with memorybook.open(tmp_path) as memory:
        for number in range(60):
            memory.append(f"The ferry number {number} leaves at six.")
        memory.append("茶")
        memory.search("ferry")
        assert embedder_of(memory).startswith("static/")


def test_a_command_loads_the_slow_one_only_where_words_find_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with memorybook.open(tmp_path) as memory:
        for text in (*ENGLISH, *CHINESE):
            memory.append(text)
        memory.search("boat")
    model, loaded = multilingual._model, []

    def load() -> Any:
        loaded.append("")
        return model()

    monkeypatch.setattr(multilingual, "_model", load)
    with memorybook.open(tmp_path, door="cli") as memory:
        assert memory.search("香菜").hits[0].passage.text == CHINESE[0]
        assert not loaded
        assert memory.search("What don't I eat?").hits[0].passage.text == CHINESE[0]
        assert loaded
