"""What is true now stands before what it replaced."""

from __future__ import annotations

import pytest

from memorybook.memory import Memory
from memorybook.model import Supersede

BOOKS = [
    (
        "The user lives in Berlin.",
        "The user moved to Hamburg.",
        "The user's flat in Rome is let.",
        "Who lives in Berlin?",
    ),
    ("用户住在北京。", "用户搬到上海了。", "用户在罗马的公寓出租了。", "谁住在北京？"),
]


@pytest.mark.parametrize(("before", "now", "later", "question"), BOOKS)
def test_what_is_true_now_comes_first_and_what_it_replaced_says_so(
    memory: Memory, before: str, now: str, later: str, question: str
) -> None:
    old, new, newest = (memory.remember(text, category="fact").known.entry.id for text in (before, now, later))
    assert memory.search(question).hits[0].passage.entry == old
    for id, by in ((old, new), (new, newest)):
        memory.book.apply([Supersede(id=id, by=by)], actor="user", door="test")
    found = memory.search(question)
    assert [hit.passage.entry for hit in found.hits][:2] == [newest, old]
    assert found.hits[0].relevance >= found.hits[1].relevance >= found.threshold
    assert [hit.get("state") for hit in found.json()["results"]][:2] == [None, "superseded"]
    assert [hit.passage.entry for hit in memory.search(question, max_results=1).hits] == [newest]
    assert len({hit.passage.entry for hit in found.hits}) == len(found.hits)


def test_a_filter_brings_back_nothing_that_it_leaves_out(memory: Memory) -> None:
    before, now, _, question = BOOKS[0]
    old = memory.remember(before, category="fact").known.entry.id
    new = memory.remember(now, category="experience").known.entry.id
    memory.book.apply([Supersede(id=old, by=new)], actor="user", door="test")
    assert [hit.passage.entry for hit in memory.search(question, category="fact").hits] == [old]
