from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.strategies import TEXTS
from memorybook.formats.entry_block import UNSAFE, escape, fenced_blocks, has_open_fence, unescape


@given(TEXTS, st.sampled_from([UNSAFE, rf"[;,]|{UNSAFE}", rf"(?m)^#|{UNSAFE}"]))
def test_what_is_escaped_comes_back(text: str, pattern: str) -> None:
    assert unescape(escape(pattern, text)) == text


def test_what_names_no_character_stays() -> None:
    assert unescape("&#xFFFFFF; &amp; &#35;") == "&#xFFFFFF; &amp; &#35;"


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("```\nx\n```", [(0, 9)]), ("```py\nx\n````  \ny", [(0, 14)]), ("~~~\n```\n~~~", [(0, 11)]),
        ("````\n```\n````", [(0, 13)]), ("```\nx", [(0, 0)]), ("```a```\nx", []), ("a ```\nx\n```", [(8, 0)]),
    ],
)  # fmt: skip
def test_fences_close_as_in_markdown(text: str, spans: list[tuple[int, int]]) -> None:
    assert list(fenced_blocks(text)) == spans


def test_an_open_fence_is_found_after_a_closed_one() -> None:
    assert has_open_fence("```\nx\n```\n~~~\n")
    assert not has_open_fence("```\nx\n```\n")
