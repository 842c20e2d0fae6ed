from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.text.day_phrases import may_name_days
from memorybook.text.days import days_of, without_days
from tables import table

TODAY = date(2023, 5, 12)  # a Friday


TABLE = Path(__file__).parents[2] / "data" / "days.tsv"
"""Phrases and the days that they mean, seen from that Friday; those that name none at the end of each language."""


def days(words: str, today: date = TODAY) -> str | None:
    found = days_of(words, today)
    if found is None:
        return None
    first, last = (str(date.fromordinal(day)) for day in found)
    return first if first == last else f"{first}…{last}"


@pytest.mark.parametrize(
    ("words", "expected"),
    table("""
        on Wednesday → 2023-05-10 ¦ Friday → 2023-05-05 ¦ 周三 → 2023-05-10 ¦ 星期天那次 → 2023-05-07
        the weekend → 2023-05-06…2023-05-07 ¦ 周末 → 2023-05-06…2023-05-07 ¦ this morning → 2023-05-12
        今早那段 → 2023-05-12 ¦ on the 14th → 2023-04-14 ¦ the 31st → 2023-03-31 ¦ 14号 → 2023-04-14
        May 20 → 2022-05-20 ¦ 五月二十号 → 2022-05-20 ¦ on 29 February → 2020-02-29
        between May 2 and May 9 → 2023-05-02…2023-05-09 ¦ 28.04.2023 → 2023-04-28 ¦ 4/28/2023 → 2023-04-28
        05/06/2023 → 2023-05-06 ¦ 06/05/2023 → 2023-05-06 ¦ last Tuesday → 2023-05-09 ¦ 四月底 → 2023-04-21…2023-04-30
        three days back → 2023-05-09 ¦ Q1 → 2023-01-01…2023-03-31 ¦ a week ago today → 2023-05-05
        in the first half of April → 2023-04-01…2023-04-15 ¦ since Monday → 2023-05-08…2023-05-12
        十来天前 → 2023-04-23…2023-05-04 ¦ 一周前的今天 → 2023-05-05 ¦ 9号以来 → 2023-05-09…2023-05-12
    """),
)
def test_the_newest_such_days_are_meant(words: str, expected: str) -> None:
    assert days(words) == expected


@pytest.mark.parametrize(
    "words",
    [
        *table("""
        hello ¦ next Wednesday ¦ 下周三 ¦ tomorrow ¦ 明天 ¦ the 3rd session ¦ every Friday ¦ 每周一到周五 ¦ 30/30/2023
        saturn ¦ 3号线 ¦ 柜子是23号 ¦ 5号场 ¦ 座位是15号 ¦ 7号窗口 ¦ 第二次
    """),
        "",
    ],
)
def test_no_past_day_is_meant(words: str) -> None:
    assert days(words) is None


@pytest.mark.parametrize("chinese", [False, True], ids=["English", "Chinese"])
def test_the_days_of_the_table_are_read(chinese: bool) -> None:
    rows = [line.split("\t") for line in TABLE.read_text("utf-8").splitlines()]
    asked = {words: expected or None for words, expected in rows if words.isascii() != chinese}
    assert len(asked) > 60
    assert {words: days(words) for words in asked} == asked
    assert [w for w, found in asked.items() if found and not may_name_days(w)] == []


@pytest.mark.parametrize(
    ("words", "left"),
    [
        *table("""
        what did we say about tea in the past two weeks? → what did we say about tea ?
        since Monday we talked of tea → we talked of tea ¦ tea in May of last year → tea
        yesterday's talk on 5/3 → talk ¦ 最近一周我们聊的绿茶 → 我们聊的绿茶 ¦ 去年5月以来的绿茶 → 的绿茶
        May I ask about tea → May I ask about tea ¦ the 2021 budget, in 2022 → the 2021 budget,
        2021年的预算 → 2021年的预算
    """),
        ("between November 1st and 6th", ""),
    ],
)
def test_the_words_that_name_days_are_taken_out_where_they_stand(words: str, left: str) -> None:
    assert without_days(words, TODAY) == left


def test_the_calendar_has_a_beginning() -> None:
    assert days("the 31st", date(1, 1, 5)) is None
    assert days("on 29 February", date(1, 3, 5)) is None


@given(st.text(st.sampled_from("第周末上个月底年初三四五五号日天 mayfristhe0123456789/.-")), st.dates())
def test_no_day_to_come_begins_a_span(words: str, today: date) -> None:
    found = days_of(words, today)
    assert found is None or found[0] <= min(found[1], today.toordinal())
