from __future__ import annotations

import pytest

from memorybook.search.time_words import asks_when, moment, words_as_written
from memorybook.search.types import Passage
from memorybook.search.weights import weights_for

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
        "她是哪个月来的",
        "哪几天下雨",
        "住了多少天",
        "那是什么日子",
        "他多会儿回来",
        "And how many days did she stay?",
        "how many of them, and how many years?",
    ],
)
def test_a_question_for_a_time(question: str) -> None:
    assert asks_when(question)


@pytest.mark.parametrize(
    "question",
    [
        "Where does she live?",
        "Whenever is a word",
        "我喜欢什么茶",
        "几个人来了",
        "how many",
        "For many days how many dogs?",
    ],
)
def test_a_question_for_something_else(question: str) -> None:
    assert not asks_when(question)


@pytest.mark.parametrize(
    "text",
    [
        *("I went there last Tuesday.", "It was 2021", "on the 7th"),
        *"昨天去了 5月3日搬家 上周三开会 去年".split(),
        *"前天 后天见 昨晚没睡 明早走 最近很忙 三天前 两个月前 半年前 ５年前 周天 二〇二〇年 ３月５日".split(),
    ],
)
def test_a_passage_that_says_when(text: str) -> None:
    assert moment(note(text), HYBRID) == HYBRID.moment


@pytest.mark.parametrize("text", ["I like the sea.", "我喜欢大海", "blast", "春天前往大海", "前面"])
def test_a_passage_that_does_not_say_when(text: str) -> None:
    assert moment(note(text), HYBRID) == 0.0
