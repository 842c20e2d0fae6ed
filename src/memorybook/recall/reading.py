"""Evidence that takes reading a passage's words: for the best candidates only."""

# No `from __future__ import annotations`: it is not needed, and this is on the path of a cold search.
import re
from functools import lru_cache

from memorybook.hits import Passage
from memorybook.recall.weights import Weights
from memorybook.text.passages import indexed_text
from memorybook.text.tokens import tokens

READ = 80
"""How many of the best candidates are read."""


def words_of(passage: Passage) -> frozenset[str]:
    """The distinct words by which a passage is found."""
    return _distinct(indexed_text(passage))


@lru_cache(maxsize=4096)
def _distinct(text: str) -> frozenset[str]:
    return frozenset(tokens(text))


def moment(passage: Passage, weights: Weights) -> float:
    """For a passage that says when; of use only if the question asks that."""
    said = not _times().isdisjoint(words_of(passage)) or _dates().search(passage.text) is not None
    return weights.moment if said else 0.0


def asks_when(question: str) -> bool:
    """Whether a question, English or Chinese, asks for a time.

    >>> asks_when("When did Ann move?"), asks_when("安什么时候搬的家"), asks_when("Where does Ann live?")
    (True, True, False)
    """
    return _when().search(question) is not None


# Compiled when first used: few questions ask for a time.


@lru_cache(maxsize=1)
def _when() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:when|how (?:long|recently)|(?:what|which) (?:date|day|week|month|season|year|time))\b"
        r"|什么时[候间]|啥时候|何时|哪一?[天年月周日]|几[点号月时]|多久|日期|时间",
        re.IGNORECASE,
    )


@lru_cache(maxsize=1)
def _times() -> frozenset[str]:
    english = """yesterday today tomorrow tonight morning night last next ago since recently just week month year
    weekend monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december"""
    chinese = "昨天 今天 明天 去年 今年 明年 上周 下周 上月 下月 星期 周一 周二 周三 周四 周五 周六 周日 周末"
    return frozenset((*tokens(english), *chinese.split()))


@lru_cache(maxsize=1)
def _dates() -> re.Pattern[str]:
    return re.compile("(?:19|20)[0-9]{2}|[0-9](?:st|nd|rd|th)|[0-9一二三四五六七八九十][年月日号点]")
