from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.text.tokens import figures, number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("300", 300), ("三百", 300), ("3百", 300), ("three hundred", 300), ("0.3k", 300), ("3,412", 3412),
        ("2k", 2000), ("1.2万", 12000), ("一万二", 12000), ("12 thousand", 12000), ("三千五", 3500),
        ("twenty-five", 25), ("fifteen", 15), ("四百多条", 400), ("二十来米", 20), ("百分之十五", 15), ("40%", 40),
        ("300ms", 300), ("16G", 16), ("3 亿", 3e8), ("a dozen", 12), ("twice", 2), ("两台", 2), ("27.4", 27.4),
        ("numeric(18,4)", 18), ("第三", 3), ("1,000,000", 1e6), ("5 million", 5e6), ("一百零五", 105),
    ],
)  # fmt: skip  # fmt: skip
def test_the_same_number_has_the_same_value_however_it_is_written(text: str, value: float) -> None:
    assert value in {value for one in figures(text) for value in one.values}


def test_a_time_is_its_hour_in_both_ways_and_its_minute() -> None:
    [one] = figures("at 14:30")
    assert one.values == {14, 2, 30}
    [whole] = figures("at 3:00")
    assert whole.values == {3, 15}


@pytest.mark.parametrize("text", ["万一", "一律", "一个", "second to none", "they both left", "一清二楚"])
def test_what_may_be_no_number_is_not_sure(text: str) -> None:
    assert not any(one.sure for one in figures(text))


@pytest.mark.parametrize("text", ["三个人", "十分钟", "四百多条", "seven", "12"])
def test_what_counts_is_sure(text: str) -> None:
    assert any(one.sure for one in figures(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7), ("三", 3), ("十", 10), ("十二", 12), ("二十", 20), ("三十一", 31), ("两", 2), ("A", 1), ("an", 1),
        ("twelve", 12), ("twenty-five", 25), ("九", 9),
    ],
)  # fmt: skip
def test_numbers_are_read_in_both_scripts(text: str, value: int) -> None:
    assert number(text) == value


@given(text=st.text(max_size=100) | st.text(alphabet="0123456789.,:一二十百万亿零k%", max_size=40))
def test_no_text_fails(text: str) -> None:
    for one in figures(text):
        assert text[one.start : one.end] == one.text
