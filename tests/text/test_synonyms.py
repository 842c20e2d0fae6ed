from __future__ import annotations

from itertools import pairwise

import pytest

from memorybook.text.tokens import query_words, tokens
from tables import table


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("老婆的生日", "我妻子的生日是五月三日"), ("男朋友叫什么", "他的男友叫陈越"), ("西红柿", "番茄"),
        ("马铃薯", "土豆"), ("他的绰号", "大家给他起的昵称"), ("薪水", "每月的工资"),
    ],
)  # fmt: skip
def test_a_word_is_found_by_another_of_its_meaning(asked: str, said: str) -> None:
    told = {word for word in query_words(asked) if len(word) > 1}
    assert told & set(tokens(said)) - set(map("".join, pairwise(asked)))


@pytest.mark.parametrize(
    ("word", "said"),
    table("""
        高铁 → 我买了一辆电动车 ¦ 妻子 → 隔壁老太太养了一只猫 ¦ 丈夫 → 他去了老公司 ¦ 目标 → 项目的负责人是张伟
        周三 → 试用期三个月 ¦ 原因 → 处理由张三负责 ¦ 电话 → 二手机器 ¦ 逝世 → 看过世界杯 ¦ 每天 → 今天天气很好
        公司 → 企业微信群 ¦ 拍照 → 按照相关规定 ¦ 钱包 → 皮夹克是黑色的
    """),
)
def test_what_only_looks_like_a_word_is_none(word: str, said: str) -> None:
    assert word not in tokens(said)
