from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.text.days import Named, among, meant, named
from tables import table

SAID = date(2026, 3, 25)  # a Wednesday


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-05", (2026, 3, 5)), ("2026/3/5", (2026, 3, 5)), ("2026-03", (2026, 3, None)),
        ("2026 年 3 月 5 日", (2026, 3, 5)), ("2026年5月底", (2026, 5, None)), ("3月5号", (None, 3, 5)),
        ("三月十五号", (None, 3, 15)), ("5 月份", (None, 5, None)), ("9 号", (None, None, 9)),
        ("March 5, 2026", (2026, 3, 5)), ("Mar. 5th", (None, 3, 5)), ("5 March 2026", (2026, 3, 5)),
        ("the 5th of March", (None, 3, 5)), ("in March 2026", (2026, 3, None)), ("in March", (None, 3, None)),
        ("on the 9th", (None, None, 9)), ("since 2019", (2019, None, None)),
    ],
)  # fmt: skip
def test_a_date_is_found_in_every_common_form(text: str, expected: tuple[int | None, ...]) -> None:
    [found] = named(text)
    assert found[:3] == expected


@pytest.mark.parametrize(
    "text",
    table("""
        三个月后 ¦ 两个月 ¦ 5 号线 ¦ 13 月 ¦ version 1.2.3 ¦ we may go ¦ 10:30 ¦ v2026 ¦ port 20260 ¦ marching on
    """),
)
def test_what_is_no_date_is_none(text: str) -> None:
    assert named(text) == []


def day(text: str) -> Named:
    year, month, number = (int(part) if part != "?" else None for part in text.split("-"))
    return Named(year, month, number, 0, 0)


@pytest.mark.parametrize(
    ("text", "can", "cannot"),
    table("""
        yesterday → 2026-3-24 → 2026-3-23 ¦ 昨晚发版 → 2026-3-24 → 2026-3-26 ¦ 前天 → 2026-3-23 → 2026-3-24
        tomorrow → 2026-3-26 → 2026-3-27 ¦ 明天下午 → 2026-3-26 → 2026-3-28 ¦ 后天 → 2026-3-27 → 2026-3-26
        last Friday → 2026-3-20 → 2026-3-21 ¦ next Friday → 2026-4-3 → 2026-4-4 ¦ 上周三 → 2026-3-18 → 2026-3-17
        下周二上午 → 2026-3-31 → 2026-4-1 ¦ 周六 → 2026-3-28 → 2026-3-27 ¦ this weekend → 2026-3-29 → 2026-3-30
        周末 → 2026-3-28 → 2026-3-30 ¦ last week → 2026-3-17 → 2026-3-26 ¦ 上周 → 2026-3-17 → 2026-3-26
        下个月5号 → 2026-4-5 → 2026-4-6 ¦ 9 号交了 → 2026-3-9 → 2026-3-10 ¦ 3 月 5 号到 7 号 → 2026-3-7 → 2026-3-8
        July 20 to 24 → 2026-7-24 → 2026-7-23 ¦ on 6/12 → 2026-6-12 → 2026-6-13 ¦ 五一之前 → 2026-5-1 → 2026-4-28
        by Christmas → 2026-12-25 → 2026-12-10 ¦ three days ago → 2026-3-22 → 2026-3-28
        in two weeks → 2026-4-8 → 2026-4-20 ¦ 两周后 → 2026-4-8 → 2026-4-20 ¦ in January → 2026-1-? → 2026-4-?
        this month → 2026-3-? → 2026-2-? ¦ last month → 2026-2-? → 2026-4-? ¦ 下个月 → 2026-4-? → 2026-2-?
        三个月后再看 → 2026-6-? → 2026-9-? ¦ in the summer → 2026-7-? → 2026-11-? ¦ 去年 → 2025-?-? → 2023-?-?
        two years ago → 2024-?-? → 2021-?-? ¦ 明年 → 2027-?-? → 2028-?-? ¦ nothing at all → 2026-3-25 → 2026-3-26
        3 月 5 号 → ?-3-5 → ?-3-6 ¦ 五月十二号 → ?-5-12 → ?-6-12 ¦ 5 月 12 日 → ?-5-12 → ?-4-12
        下周二去郑州，周四回 → 2026-4-2 → 2026-4-14
    """),
)
def test_what_a_text_can_mean_and_what_not(text: str, can: str, cannot: str) -> None:
    spans = meant(text, SAID)
    assert among(day(can), spans)
    assert not among(day(cannot), spans)


def test_a_month_alone_is_no_day_in_it() -> None:
    assert not among(day("2026-4-14"), meant("next month", SAID))


def test_a_year_is_found_in_a_day() -> None:
    assert among(day("2025-?-?"), meant("2025-12-31", SAID))


@given(text=st.text(max_size=80), said=st.dates())
def test_no_text_on_no_day_fails(text: str, said: date) -> None:
    spans = meant(text, said)
    for one in named(text):
        among(one, spans)


@given(
    said=st.dates(min_value=date(1990, 1, 1), max_value=date(2099, 12, 31)),
    other=st.dates(min_value=date(1990, 1, 1), max_value=date(2099, 12, 31)),
)
def test_a_date_in_full_is_always_its_own_day(said: date, other: date) -> None:
    for text in (
        other.isoformat(),
        f"{other.year}年{other.month}月{other.day}日",
        f"{other:%B} {other.day}, {other.year}",
    ):
        [one] = named(f"on {text} then")
        assert among(one, meant(text, said))
        assert (one.year, one.month, one.day) == (other.year, other.month, other.day)
