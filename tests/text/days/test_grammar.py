from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.text import day_phrases
from memorybook.text.day_phrases import BOTH, CHINESE, ENGLISH, phrases, ranges

RULES = [*BOTH, *ENGLISH, *CHINESE]
AROUND = "the last this next on in of to at 3 2023 5/3 7th 2023-05-03 a two ago and since".split()
AROUND += "上 这 下 个 的 前 到 和 第 半 İ ı ſ ， \t".split(" ")
WORDS = sorted({word for rule in RULES for word in (*rule.words, *rule.also)} | set(AROUND))

texts = st.lists(st.sampled_from(WORDS), max_size=7).flatmap(
    lambda words: st.sampled_from(("", " ")).map(lambda gap: gap.join(words))
)


@given(texts | st.text(max_size=40))
def test_phrases_stand_one_after_the_other(text: str) -> None:
    end = 0
    for one in phrases(text):
        assert end <= one.start < one.end <= len(text)
        end = one.end
    for one in ranges(text, phrases(text)):
        assert 0 <= one.start < one.end <= len(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("on Tuesday of last week", {"weeks": -1, "weekday": 1}), ("上周二", {"weeks": -1, "weekday": 1}),
        ("two weeks ago on Friday", {"away": (-2, -2), "unit": "w", "weekday": 4}),
        ("两周前的那个周五", {"away": (-2, -2), "unit": "w", "weekday": 4}),
        ("in May of last year", {"years": -1, "month": 5}), ("去年的 5 月", {"years": -1, "month": 5}),
        ("Q3 of this year", {"years": 0, "term": (7, 3)}), ("今年三季度", {"years": 0, "term": (7, 3)}),
        ("the first week of last month", {"months": -1, "nth": 1}), ("上个月的第一周", {"months": -1, "nth": 1}),
        ("three or four days ago", {"away": (-4, -3), "unit": "d"}), ("三四天前", {"away": (-4, -3), "unit": "d"}),
        ("the week of May 5", {"month": 5, "day": 5, "whole": True}),
        ("5月5号那周", {"month": 5, "day": 5, "whole": True}), ("next summer", {"which": 1, "term": (6, 3)}),
        ("下个夏天", {"which": 1, "term": (6, 3)}),
    ],
)  # fmt: skip
def test_both_languages_say_the_same(text: str, said: dict[str, object]) -> None:
    [one] = phrases(text)
    assert {name: getattr(one, name) for name in day_phrases._says(one)} == said
