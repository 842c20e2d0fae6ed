from __future__ import annotations

import pytest

from memorybook.hits import Passage
from memorybook.recall.reading import asks_when, moment, words_as_written
from memorybook.recall.weights import weights_for

HYBRID = weights_for("static/x")


def note(text: str) -> Passage:
    return Passage("daily/2026-01-01.md", 1, 1, text, "note")


def test_words_are_read_as_they_are_written() -> None:
    assert words_as_written("It's (May 7th)… 是的，好") == ["it", "s", "may", "7th", "是的", "好"]


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
