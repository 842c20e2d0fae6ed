"""What stands near a statement: by vectors and words in turn, by words alone where there is nothing better."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import memorybook
from books import CONFIG, NOW
from memorybook.entries.match import Alike, Near
from memorybook.errors import Unavailable
from memorybook.memory import Memory
from memorybook.model import Entry
from memorybook.testing import FailingEmbedder, HashEmbedder

TEXTS = ("Mira drinks green tea.", "The staging database is called heron.", "小林对芒果过敏。", "Mira moved to Lyon.")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with memorybook.open(str(tmp_path / "b"), config=CONFIG, clock=lambda: NOW, embedder=HashEmbedder()) as opened:
        for text in TEXTS:
            opened.remember(text)
        yield opened


def entries(memory: Memory) -> dict[str, Entry]:
    return {entry.id: entry for entry in memory.book.entries()}


@pytest.mark.parametrize(
    ("text", "best"),
    [("Mira drinks black tea.", TEXTS[0]), ("heron is the staging database", TEXTS[1]), ("她芒果过敏", TEXTS[2])],
)
def test_the_nearest_entry_comes_first(memory: Memory, text: str, best: str) -> None:
    assert Near(memory.context, entries(memory))(text)[0].text == best


def test_what_was_put_in_since_is_found_and_what_was_taken_out_is_not(memory: Memory) -> None:
    known = entries(memory)
    near = Near(memory.context, known)
    first = near("Mira drinks black tea.")[0]
    new = memory.remember("Mira drinks black tea.").known.entry
    del known[first.id]
    known[new.id] = new
    assert near("Mira drinks black tea.")[0] == new
    assert first not in near("Mira drinks black tea.")


def test_without_an_index_words_do_it(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise Unavailable("the disk is gone")

    monkeypatch.setattr(memory.book.index, "candidates", broken)
    assert Near(memory.context, entries(memory))("the heron database")[0].text == TEXTS[1]


def test_how_alike_two_texts_are_needs_an_embedder_that_reads_both(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alike = Alike(memory.context)
    assert alike(TEXTS[0], TEXTS[0]) == pytest.approx(1.0)
    assert (alike(TEXTS[0], TEXTS[1]) or 0.0) < 0.5
    assert alike(TEXTS[0], "…") is None
    down = FailingEmbedder()
    with memorybook.open(str(tmp_path / "c"), config=CONFIG, embedder=down) as other:
        unsure = Alike(other.context)
        assert unsure("a", "b") is None
        assert unsure("c", "d") is None
        assert down.calls == 1

    def broken(*_: object) -> None:
        raise OSError("the weights are gone")

    monkeypatch.setattr(HashEmbedder, "embed", broken)
    assert Alike(memory.context)("a", "b") is None
