from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.recall.dates import LATER, closeness, number, spans

TODAY = date(2023, 5, 12)  # a Friday


def days(question: str, *years: int, today: date | None = TODAY) -> list[str]:
    found = spans(question, years or [2023], today)
    return [
        f"{date.fromordinal(first)}…{date.fromordinal(last)}"[: 10 if first == last else None] for first, last in found
    ]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did I do on 7 May?", "2023-05-07"),
        ("the 7th of May 2021", "2021-05-07"),
        ("on October 13, 2022", "2022-10-13"),
        ("3 June, 2024", "2024-06-03"),
        ("on 2024-02-29", "2024-02-29"),
        ("in May", "2023-05-01…2023-05-31"),
        ("in December 2022", "2022-12-01…2022-12-31"),
        ("during 2022", "2022-01-01…2022-12-31"),
        ("2022年", "2022-01-01…2022-12-31"),
        ("2024年2月", "2024-02-01…2024-02-29"),
        ("5月3日", "2023-05-03"),
        ("五月三号", "2023-05-03"),
        ("十二月二十一日", "2023-12-21"),
        ("2022年6月26日下午", "2022-06-26"),
    ],
)
def test_days_by_the_calendar(question: str, expected: str) -> None:
    assert days(question, today=None) == [expected]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what happened today", "2023-05-12"),
        ("Yesterday's meeting", "2023-05-11"),
        ("昨天的会", "2023-05-11"),
        ("前天", "2023-05-10"),
        ("last week", "2023-05-01…2023-05-07"),
        ("这周", "2023-05-08…2023-05-14"),
        ("上周三开的会", "2023-05-03"),
        ("上个星期天", "2023-05-07"),
        ("last Wednesday", "2023-05-10"),
        ("last Friday", "2023-05-05"),
        ("last month", "2023-04-01…2023-04-30"),
        ("上个月", "2023-04-01…2023-04-30"),
        ("this year", "2023-01-01…2023-12-31"),
        ("去年", "2022-01-01…2022-12-31"),
        ("3 days ago", "2023-05-09"),
        ("3 weeks ago", "2023-04-18…2023-04-24"),
        ("两周前", "2023-04-25…2023-05-01"),
        ("三个月前", "2023-01-27…2023-02-26"),
        ("2 years ago", "2021-03-13…2021-07-11"),
    ],
)
def test_days_from_today(question: str, expected: str) -> None:
    assert days(question) == [expected]
    assert days(question, today=None) == []


@pytest.mark.parametrize(
    "question",
    [
        "I may go",
        "May I ask 3 things?",
        "march on",
        "What about this?",
        "the 31st of June",
        "一个月",
        "我喜欢什么茶",
        "5 apples",
    ],
)
def test_a_question_without_a_day(question: str) -> None:
    assert days(question) == []


def test_a_date_without_its_year_may_be_of_any_that_is_known() -> None:
    assert days("on 29 February", 2023, 2024, 2020) == ["2020-02-29", "2024-02-29"]


def test_the_month_before_january_is_december() -> None:
    assert days("last month", today=date(2024, 1, 31)) == ["2023-12-01…2023-12-31"]


@pytest.mark.parametrize(
    ("text", "value"), [("7", 7), ("三", 3), ("十", 10), ("十二", 12), ("二十", 20), ("三十一", 31), ("两", 2)]
)
def test_numbers_are_read_in_both_scripts(text: str, value: int) -> None:
    assert number(text) == value


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
