from __future__ import annotations

import pytest

from memorybook.hits import Candidate, Passage
from memorybook.recall.reading import asks_when, coverage, moment, relevance, words_of
from memorybook.recall.weights import weights_for

WORDS_ONLY = weights_for(None)
HYBRID = weights_for("static/x")
IDF = {"quantum": 8.0, "physic": 8.0, "book": 2.0}


def note(text: str) -> Passage:
    return Passage("daily/2026-01-01.md", 1, 1, text, "note")


def said(text: str, *, cosine: float | None = None) -> Candidate:
    return Candidate(note(text), 1.0, cosine)


def test_a_passage_is_read_by_the_words_that_find_it() -> None:
    assert words_of(note("Two dogs")._replace(heading="pets", category="fact")) == {"two", "dog", "pet", "fact"}


def test_coverage_is_the_share_of_the_questions_weight_however_often_it_is_said() -> None:
    assert coverage(note("books, books and books"), IDF, HYBRID) == pytest.approx(HYBRID.coverage * 2 / 18)
    assert coverage(note("quantum physics books"), IDF, HYBRID) == pytest.approx(HYBRID.coverage)
    assert coverage(note("nothing"), IDF, HYBRID) == 0.0
    assert coverage(note("nothing"), {}, HYBRID) == 0.0


@pytest.mark.parametrize(
    "question",
    [
        "When did Caroline move?",
        "What year was it?",
        "how long did it take",
        "我们什么时候搬的家",
        "苏眠生日是几月几号？",
        "哪天删的旧库",
    ],
)
def test_a_question_for_a_time(question: str) -> None:
    assert asks_when(question)


@pytest.mark.parametrize("question", ["Where does she live?", "Whenever is a word", "我喜欢什么茶", "几个人来了"])
def test_a_question_for_something_else(question: str) -> None:
    assert not asks_when(question)


@pytest.mark.parametrize(
    "text", ["I went there last Tuesday.", "It was 2021", "on the 7th", "昨天去了", "5月3日搬家", "上周三开会", "去年"]
)
def test_a_passage_that_says_when(text: str) -> None:
    assert moment(note(text), HYBRID) == HYBRID.moment


@pytest.mark.parametrize("text", ["I like the sea.", "我喜欢大海", "blast"])
def test_a_passage_that_does_not_say_when(text: str) -> None:
    assert moment(note(text), HYBRID) == 0.0


# --- relevance ---


def test_relevance_is_the_share_of_the_questions_weight() -> None:
    assert relevance(said("a book"), IDF, HYBRID) == pytest.approx(2 / 18)
    assert relevance(said("quantum physics books"), IDF, HYBRID) == 1.0
    assert relevance(said("nothing"), IDF, HYBRID) == 0.0
    assert relevance(said("nothing"), {}, HYBRID) == 0.0


def test_relevance_takes_the_calibrated_cosine_if_it_is_larger() -> None:
    assert relevance(said("nothing", cosine=HYBRID.about), IDF, HYBRID) == 1.0
    assert relevance(said("nothing", cosine=HYBRID.unrelated), IDF, HYBRID) == 0.0
    assert relevance(said("nothing", cosine=HYBRID.about), IDF, WORDS_ONLY) == 0.0


def test_single_chinese_characters_do_not_make_a_text_relevant() -> None:
    idf = {"量": 3.0, "子": 2.0, "量子": 8.0}
    assert relevance(said("数量很多的孩子"), idf, HYBRID) == 0.0
    assert relevance(said("量子"), idf, HYBRID) == 1.0
    assert relevance(said("一匹马"), {"马": 3.0}, HYBRID) == 1.0


def test_a_long_question_need_not_be_repeated_whole() -> None:
    idf = {f"word{number}": 5.0 for number in range(16)}
    assert relevance(said("word0 word1 word2 word3"), idf, HYBRID) == pytest.approx(0.5)
