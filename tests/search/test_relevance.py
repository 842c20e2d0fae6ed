from __future__ import annotations

from collections.abc import Mapping

import pytest

from memorybook.search.evidence import Sums, relevance
from memorybook.search.types import Candidate, Passage
from memorybook.search.weights import Weights, weights_for
from memorybook.text.tokens import tokens

WORDS_ONLY = weights_for(None)
HYBRID = weights_for("static/x")
IDF = {"quantum": 8.0, "physic": 8.0, "book": 2.0}


def judged(
    text: str, idf: Mapping[str, float] = IDF, weights: Weights = HYBRID, *, cosine: float | None = None
) -> float:
    holds = sum(1 << number for number, word in enumerate(idf) if word in tokens(text))
    return relevance(idf, weights)(Candidate(Passage("a.md", 1, 1, text, "note"), 1.0, cosine, holds))


def test_gains_are_summed_over_the_words_that_are_held() -> None:
    sums = Sums([5.0, 2.0, 1.0])
    assert [sums[0], sums[0b101], sums[0b111], sums[0b101]] == [0.0, 6.0, 8.0, 6.0]


def test_relevance_is_the_share_of_the_questions_weight() -> None:
    assert judged("a book") == pytest.approx(2 / 18)
    assert judged("quantum physics books") == 1.0
    assert judged("nothing") == 0.0
    assert judged("nothing", {}) == 0.0


def test_relevance_takes_the_calibrated_cosine_if_it_is_larger() -> None:
    assert judged("nothing", cosine=HYBRID.about) == 1.0
    assert judged("nothing", cosine=HYBRID.unrelated) == 0.0
    assert judged("nothing", weights=WORDS_ONLY, cosine=HYBRID.about) == 0.0


def test_single_chinese_characters_do_not_make_a_text_relevant() -> None:
    idf = {"量": 3.0, "子": 2.0, "量子": 8.0}
    assert judged("数量很多的孩子", idf) == 0.0
    assert judged("量子", idf) == 1.0
    assert judged("一匹马", {"马": 3.0}) == 1.0


def test_that_something_was_talked_about_is_not_what_is_asked_for() -> None:
    assert judged("saw an egret", {"talk": 8.0, "egret": 3.0}) == 1.0
    assert judged("看到白鹭", {"讨论": 8.0, "白鹭": 3.0}) == 1.0
    assert judged("the talk in Ghent", {"talk": 8.0}) == 1.0


def test_a_long_question_need_not_be_repeated_whole() -> None:
    idf = {f"word{number}": 5.0 for number in range(16)}
    assert judged("word0 word1 word2 word3", idf) == pytest.approx(0.5)


def test_the_words_of_a_very_long_question_are_summed() -> None:
    assert Sums([1.0] * 5000)[(1 << 5000) - 1] == 5000.0
