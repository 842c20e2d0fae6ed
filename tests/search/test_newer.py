"""What says that something changed stands before what was said until then."""

from __future__ import annotations

from typing import Any

import pytest

from memorybook.search.rank import Ranked, rank
from memorybook.search.types import Candidate, Candidates, Passage
from memorybook.search.weights import weights_for
from memorybook.text.tokens import query_words, tokens


def said(text: str, date: str, **fields: Any) -> Passage:
    turn = Passage("", 0, 0, text, "turn", date=date, session=date, turn=date, speaker="user", role="user", position=0)
    return turn._replace(**fields)


def ranked(question: str, *passages: Passage) -> list[Ranked]:
    """The first passage is the best by its words, the others nearly as good."""
    idf = dict.fromkeys(query_words(question), 4.0)
    items = []
    for number, passage in enumerate(passages):
        words = tokens(passage.text)
        holds = sum(1 << place for place, word in enumerate(idf) if word in words)
        items.append(Candidate(passage, 9.0 - number, None, holds))
    found = Candidates(tuple(items), (), idf, None, "scan")
    return list(rank(question, found, weights_for(None), strength=lambda _: 0.0, explain=True))


def dates(question: str, *passages: Passage) -> list[str | None]:
    return [one.candidate.passage.date for one in ranked(question, *passages)]


OLD, NEW = "2026-01-11", "2026-03-01"
RENT = (
    "What do I pay the landlady?",
    "I pay the landlady 1150, the contract renews",
    "The contract changed, it is 1240",
)
CLASS = ("我星期几去练瑜伽？", "我的瑜伽课在周三，老师姓丁", "丁老师那个瑜伽课改到周五了，老师姓丁")


@pytest.mark.parametrize(("question", "old", "new"), [RENT, CLASS])
def test_a_change_stands_before_what_it_changed(question: str, old: str, new: str) -> None:
    assert dates(question, said(old, OLD), said(new, NEW)) == [NEW, OLD]


@pytest.mark.parametrize(("question", "old", "new"), [RENT, CLASS])
def test_the_order_of_days_decides_not_that_of_the_words(question: str, old: str, new: str) -> None:
    assert dates(question, said(old, NEW), said(new, OLD))[0] == NEW


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        (RENT[0], RENT[1], "I switched to decaf"),
        (CLASS[0], CLASS[1], "咖啡换成低因的了"),
        (RENT[0], RENT[1], "The contract lies on the desk"),
        (CLASS[0], CLASS[1], "丁老师很严格，老师姓丁"),
    ],
)
def test_neither_another_point_nor_no_change_comes_first(question: str, old: str, new: str) -> None:
    assert dates(question, said(old, OLD), said(new, NEW))[0] == OLD


def test_what_others_say_changes_nothing() -> None:
    question, old, new = RENT
    for other in ({"role": "assistant", "speaker": "assistant"}, {"role": "", "speaker": "Bob"}, {"role": "tool"}):
        assert dates(question, said(old, OLD), said(new, NEW, **other))[0] == OLD


def test_the_components_still_add_up_and_the_scores_descend() -> None:
    question, old, new = RENT
    found = ranked(question, said(old, OLD), said(new, NEW), said("unrelated", NEW, turn="t3"))
    assert found[0].why["newer"] > 0
    for one in found:
        assert sum(one.why.values()) == pytest.approx(one.score)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
