from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from memorybook.text.tokens import _MEANINGS, FIRST, is_telling, query_words, tokens


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("老婆的生日", "我妻子的生日是五月三日"),
        ("男朋友叫什么", "他的男友叫陈越"),
        ("西红柿", "番茄"),
        ("马铃薯", "土豆"),
        ("他的绰号", "大家给他起的昵称"),
        ("薪水", "每月的工资"),
    ],
)
def test_a_word_is_found_by_another_of_its_meaning(asked: str, said: str) -> None:
    told = {word for word in query_words(asked) if len(word) > 1}
    assert told & set(tokens(said)) - set(map("".join, pairwise(asked)))


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("高铁", "我买了一辆电动车"),
        ("妻子", "隔壁老太太养了一只猫"),
        ("丈夫", "他去了老公司"),
        ("目标", "项目的负责人是张伟"),
        ("周三", "试用期三个月"),
        ("原因", "处理由张三负责"),
        ("电话", "二手机器"),
        ("逝世", "看过世界杯"),
        ("每天", "今天天气很好"),
        ("公司", "企业微信群"),
        ("拍照", "按照相关规定"),
        ("钱包", "皮夹克是黑色的"),
    ],
)
def test_what_only_looks_like_a_word_is_none(word: str, said: str) -> None:
    assert word not in tokens(said)


def test_every_word_has_one_meaning_and_is_cut_out_whole() -> None:
    words = _MEANINGS.split()
    assert [word for word, times in Counter(words).items() if times > 1] == []
    assert all(tokens(f"{word}叫") == tokens(f"{FIRST.get(word, word)}叫") for word in words)
    assert all(word in tokens(f"我{word}叫") for word in FIRST.values())


def test_no_word_says_more_or_less_for_another_one() -> None:
    """What tells something of itself does so by its meaning, and what tells nothing does not."""
    assert [word for word, first in FIRST.items() if len(word) == 2 and is_telling(word) != is_telling(first)] == []


def test_what_is_no_word_stays_as_it_is() -> None:
    assert tokens("老树") == ["老", "老树", "树"]
    assert tokens("妻") == ["妻"]
