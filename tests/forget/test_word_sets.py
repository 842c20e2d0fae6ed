"""Statements are looked up by their words with the answers that comparing each with all others gives."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from books import in_memory as in_memory
from memorybook.forget.units import Substrings, WordSets, any_of
from memorybook.memory import Memory
from memorybook.model import Session, Turn

WORDS = st.frozensets(st.sampled_from(["tea", "cup", "茶", "杯子", "12"]))
TEXTS = st.text(alphabet="ab茶 ", min_size=1, max_size=12)


@given(st.lists(WORDS, max_size=8), WORDS, st.integers(1, 4))
def test_sets_are_found_by_their_words(sets: list[frozenset[str]], words: frozenset[str], least: int) -> None:
    found = WordSets(sets)
    around = {each for each in sets if words and words <= each}
    within = {each for each in sets if each and each <= words}
    assert {found.sets[number] for number in found.around(words)} == around
    assert {found.sets[number] for number in found.within(words)} == within
    assert {found.sets[number] for number in found.nested(words)} == around | within
    assert found.contains(words) == bool(around)
    assert found.share(words, least) == any(len(words & each) >= least for each in sets)


@given(st.lists(WORDS.filter(bool), max_size=8))
def test_equal_sets_have_the_number_of_the_first(sets: list[frozenset[str]]) -> None:
    found = WordSets(sets)
    assert {number for each in sets for number in found.nested(each)} == {sets.index(each) for each in sets}


@given(st.lists(TEXTS, max_size=6), TEXTS)
def test_texts_are_found_in_others(texts: list[str], text: str) -> None:
    found = Substrings(texts)
    assert found.stands_in(text) == any(each in text for each in texts)
    assert found.has_part(text) == any(text in each for each in texts)


@given(st.sets(TEXTS, min_size=1, max_size=6), TEXTS)
def test_bytes_are_found_by_one_pattern(texts: set[str], text: str) -> None:
    found = re.search(any_of({each.encode() for each in texts}), text.encode())
    assert bool(found) == any(each in text for each in texts)


@pytest.mark.parametrize(
    ("said", "query"),
    [("Message {} of the garden walk.", "message"), ("第{}次花园散步的消息。", "花园散步")],
)
def test_the_work_of_a_query_grows_with_the_book_and_not_with_its_square(memory: Memory, said: str, query: str) -> None:
    few = calls(memory, said, query, range(20))
    many = calls(memory, said, query, range(20, 120))
    assert many < 8 * few  # of six times as much


def calls(memory: Memory, said: str, query: str, numbers: range) -> int:
    """Add sessions and entries that all match, and count the calls of Python that finding them takes."""
    now = memory.book.now()
    for number in numbers:
        turn = Turn(id="t0", session=f"s{number}", role="user", text=said.format(number), time=now)
        memory.book.transcripts.append(Session(uuid=turn.session, name=turn.session, created=now), [turn])
        memory.remember(said.format(1000 + number))
    memory.sync()
    memory.forget(query=query, dry_run=True)  # texts that were read before are cut into words already
    count = 0

    def counted(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        receipt = memory.forget(query=query, dry_run=True)
    finally:
        sys.setprofile(None)
    assert receipt.turns >= len(numbers)
    return count
