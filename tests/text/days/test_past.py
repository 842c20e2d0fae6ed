from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.text.day_phrases import may_name_days
from memorybook.text.days import LATER, closeness, spans
from tables import table

TODAY = date(2023, 5, 12)  # a Friday


def days(question: str, *years: int, today: date | None = TODAY) -> list[str]:
    found = spans(question, years or [2023], today)
    return [
        f"{date.fromordinal(first)}…{date.fromordinal(last)}"[: 10 if first == last else None] for first, last in found
    ]


@pytest.mark.parametrize(
    ("question", "expected"),
    table("""
        What did I do on 7 May? → 2023-05-07 ¦ the 7th of May 2021 → 2021-05-07 ¦ on October 13, 2022 → 2022-10-13
        3 June, 2024 → 2024-06-03 ¦ on 2024-02-29 → 2024-02-29 ¦ in May → 2023-05-01…2023-05-31
        in December 2022 → 2022-12-01…2022-12-31 ¦ during 2022 → 2022-01-01…2022-12-31 ¦ 2022年 → 2022-01-01…2022-12-31
        2024年2月 → 2024-02-01…2024-02-29 ¦ 5月3日 → 2023-05-03 ¦ 五月三号 → 2023-05-03 ¦ 十二月二十一日 → 2023-12-21
        2022年6月26日下午 → 2022-06-26
    """),
)
def test_days_by_the_calendar(question: str, expected: str) -> None:
    assert may_name_days(question)
    assert days(question, today=None) == [expected]


@pytest.mark.parametrize(
    ("question", "expected"),
    table("""
        what happened today → 2023-05-12 ¦ Yesterday's meeting → 2023-05-11 ¦ 昨天的会 → 2023-05-11 ¦ 前天 → 2023-05-10
        last week → 2023-05-01…2023-05-07 ¦ 这周 → 2023-05-08…2023-05-14 ¦ 上周三开的会 → 2023-05-03
        上个星期天 → 2023-05-07 ¦ last Wednesday → 2023-05-10 ¦ last Friday → 2023-05-05
        last month → 2023-04-01…2023-04-30 ¦ 上个月 → 2023-04-01…2023-04-30 ¦ this year → 2023-01-01…2023-12-31
        去年 → 2022-01-01…2022-12-31 ¦ 3 days ago → 2023-05-09 ¦ 3 weeks ago → 2023-04-18…2023-04-24
        两周前 → 2023-04-25…2023-05-01 ¦ 三个月前 → 2023-01-27…2023-02-26 ¦ 2 years ago → 2021-03-13…2021-07-11
        二十五天前 → 2023-04-17 ¦ ５天前 → 2023-05-07 ¦ 大前天 → 2023-05-09 ¦ the day before yesterday → 2023-05-10
        去年5月 → 2022-05-01…2022-05-31 ¦ 去年的五月三号 → 2022-05-03 ¦ last year in May → 2022-05-01…2022-05-31
        May last year → 2022-05-01…2022-05-31 ¦ 这周三 → 2023-05-10 ¦ 本周 → 2023-05-08…2023-05-14
        上个星期 → 2023-05-01…2023-05-07 ¦ 上周一起 → 2023-05-01…2023-05-07 ¦ 上上周三 → 2023-04-26
        two weeks ago → 2023-04-25…2023-05-01 ¦ a week ago → 2023-05-02…2023-05-08 ¦ 一个星期前 → 2023-05-02…2023-05-08
        两个礼拜前 → 2023-04-25…2023-05-01 ¦ Ten years ago → 2013-03-15…2013-07-13
        last weekend → 2023-05-06…2023-05-07 ¦ 上周末 → 2023-05-06…2023-05-07 ¦ this weekend → 2023-05-13…2023-05-14
        前年 → 2021-01-01…2021-12-31 ¦ the year before last → 2021-01-01…2021-12-31 ¦ 大前年 → 2020-01-01…2020-12-31
        the week before last → 2023-04-24…2023-04-30 ¦ the month before last → 2023-03-01…2023-03-31
        半年前 → 2022-09-26…2022-12-25 ¦ half a year ago → 2022-09-26…2022-12-25 ¦ 半个月前 → 2023-04-22…2023-05-02
        昨晚吃了什么 → 2023-05-11 ¦ last night → 2023-05-11
    """),
)
def test_days_from_today(question: str, expected: str) -> None:
    assert may_name_days(question)
    assert days(question) == [expected]


@pytest.mark.parametrize(
    ("question", "expected"),
    table("""
        this Wednesday → 2023-05-10 ¦ last May → 2022-05-01…2022-05-31 ¦ last March → 2023-03-01…2023-03-31
        this May → 2023-05-01…2023-05-31 ¦ two Fridays ago → 2023-04-28 ¦ the Friday before last → 2023-04-28
        Tuesday last week → 2023-05-02 ¦ last week on Monday → 2023-05-01 ¦ the week of May 5 → 2023-05-01…2023-05-07
        the week of 5 May → 2023-05-01…2023-05-07 ¦ 5月5号那周 → 2023-05-01…2023-05-07
        over the weekend → 2023-05-06…2023-05-07 ¦ the weekend before last → 2023-04-29…2023-04-30
        a few days ago → 2023-05-06…2023-05-10 ¦ 几天前 → 2023-05-06…2023-05-10
        several weeks back → 2023-03-28…2023-05-01 ¦ a couple of months ago → 2023-02-26…2023-03-28
        a fortnight ago → 2023-04-21…2023-05-05 ¦ two or three days ago → 2023-05-09…2023-05-10
        2-3 weeks back → 2023-04-18…2023-05-01 ¦ 两三天前 → 2023-05-09…2023-05-10 ¦ 三两天前 → 2023-05-09…2023-05-10
        2到3天前 → 2023-05-09…2023-05-10 ¦ 二十三天前 → 2023-04-19 ¦ the past three days → 2023-05-09…2023-05-12
        最近三天 → 2023-05-09…2023-05-12 ¦ 过去半年 → 2022-11-11…2023-05-12 ¦ the other day → 2023-05-05…2023-05-11
        前几天 → 2023-05-05…2023-05-11 ¦ 前两天 → 2023-05-08…2023-05-11 ¦ 这几天 → 2023-05-08…2023-05-12
        前阵子 → 2023-02-26…2023-05-05 ¦ early last month → 2023-04-01…2023-04-10
        at the end of the month → 2023-04-21…2023-04-30 ¦ mid-February → 2023-02-11…2023-02-20
        late April 2022 → 2022-04-21…2022-04-30 ¦ beginning of the year → 2023-01-01…2023-02-28
        the end of last year → 2022-11-01…2022-12-31 ¦ last winter → 2022-12-01…2023-02-28
        last summer → 2022-06-01…2022-08-31 ¦ winter last year → 2022-12-01…2023-02-28
        the summer of 2021 → 2021-06-01…2021-08-31 ¦ this spring → 2023-03-01…2023-05-31 ¦ 上个月5号 → 2023-04-05
        本月3号 → 2023-05-03 ¦ 上月底 → 2023-04-21…2023-04-30 ¦ 上上个月 → 2023-03-01…2023-03-31
        年初 → 2023-01-01…2023-02-28 ¦ 月底 → 2023-04-21…2023-04-30 ¦ 月初 → 2023-05-01…2023-05-10
        四月中旬 → 2023-04-11…2023-04-20 ¦ 四月底 → 2023-04-21…2023-04-30 ¦ 去年四月底 → 2022-04-21…2022-04-30
        去年年底 → 2022-11-01…2022-12-31 ¦ 去年冬天 → 2022-12-01…2023-02-28 ¦ 2022年夏天 → 2022-06-01…2022-08-31
        三个礼拜前 → 2023-04-18…2023-04-24
    """),
)
def test_days_told_roughly(question: str, expected: str) -> None:
    assert may_name_days(question)
    assert days(question) == [expected]


@pytest.mark.parametrize(
    "question", ["下周三", "一年初", "年初二", "四月中国", "the 31st week of nothing", "the past", "上个月31号"]
)
def test_a_longer_phrase_names_no_rough_day(question: str) -> None:
    rough = {"四月中国": ["2023-04-01…2023-04-30"], "上个月31号": ["2023-04-01…2023-04-30"]}
    assert days(question) == rough.get(question, [])


@pytest.mark.parametrize(
    "question", ["last week", "上周三", "两周前", "前年", "a week ago", "月底", "last summer", "前几天"]
)
def test_days_from_today_are_none_while_today_is_not_known(question: str) -> None:
    assert days(question, today=None) == []


@pytest.mark.parametrize(
    "question",
    table("""
        I may go ¦ May I ask 3 things? ¦ march on ¦ What about this? ¦ the 31st of June ¦ 一个月 ¦ 我喜欢什么茶
        5 apples ¦ half an hour ago ¦ 目前年龄多大 ¦ 从前天气怎样 ¦ 一百天前
    """),
)
def test_a_question_without_a_day(question: str) -> None:
    assert days(question) == []


def test_a_date_without_its_year_may_be_of_any_that_is_known() -> None:
    assert days("on 29 February", 2023, 2024, 2020) == ["2020-02-29", "2024-02-29"]


def test_what_is_said_soon_after_is_close_too() -> None:
    wanted = [(100, 110), (500, 500)]
    assert closeness(100, wanted) == closeness(110, wanted) == closeness(500, wanted) == 1.0
    assert 0.5 > closeness(111, wanted) > closeness(110 + LATER, wanted) > 0.0
    assert closeness(99, wanted) == closeness(111 + LATER, wanted) == 0.0
    assert closeness(5, []) == 0.0


@given(st.text(st.sampled_from(" 0123456789-/.月日年号周前个上去今昨天三十两mayjunlstog")), st.dates())
def test_no_question_is_too_strange(question: str, today: date) -> None:
    for first, last in spans(question, [1, 2023, 9999], today):
        assert first <= last


@pytest.mark.parametrize(
    ("question", "today"), [("last year", date.min), ("last month", date.min), ("这个月", date.max)]
)
def test_a_day_outside_the_calendar_is_none(question: str, today: date) -> None:
    assert days(question, today=today) == []
