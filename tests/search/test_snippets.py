from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.search.snippets import sentences, snippet


def test_a_short_text_is_its_own_snippet() -> None:
    assert snippet("Two lines\nof text.", {"lines"}) == "Two lines\nof text."


@pytest.mark.parametrize(
    ("filler", "needle", "words"),
    [
        ("Nothing of note happened that day. ", "The zebra crossed the road.", {"zebra", "road"}),
        ("那天没有发生什么值得记的事。", "斑马穿过了马路。", {"斑马", "马路"}),
    ],
)
def test_a_long_text_is_cut_around_the_match(filler: str, needle: str, words: set[str]) -> None:
    cut = snippet(filler * 40 + needle + filler * 40, words, width=200)
    assert needle in cut
    assert len(cut) <= 200
    assert cut.startswith("…")
    assert cut.endswith("…")


def test_one_endless_sentence_is_still_cut() -> None:
    assert len(snippet("x" * 5000, {"x"}, width=100)) <= 100


@given(st.text(st.sampled_from("a b.!?。！？；\n茶\0"), max_size=60))
def test_sentences_end_where_a_pattern_would_end_them(text: str) -> None:
    assert sentences(text) == [
        piece for piece in re.findall(r"[^\n.!?。！？；]*(?:[.!?。！？；]+|\n|$)", text) if piece
    ]
