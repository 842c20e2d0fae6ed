from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.text.days.readers import due


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("by Friday", date(2026, 6, 26)),
        ("next Monday", date(2026, 6, 22)),
        ("on Sunday", date(2026, 6, 28)),
        ("July 20 to 24", date(2026, 7, 24)),
        ("June 28 until July 2", date(2026, 7, 2)),
        ("on 3rd July", date(2026, 7, 3)),
        ("on 3 July 2027", date(2027, 7, 3)),
        ("July 3, 2027", date(2027, 7, 3)),
        ("January 12", date(2027, 1, 12)),
        ("tomorrow at 5", date(2026, 6, 22)),
        ("this evening", date(2026, 6, 21)),
        ("in 2 weeks", date(2026, 7, 5)),
        ("in a month", date(2026, 7, 21)),
        ("next week", date(2026, 6, 28)),
        ("this week", date(2026, 6, 21)),
        ("next month", date(2026, 7, 31)),
        ("end of the month", date(2026, 6, 30)),
        ("year-end", date(2026, 12, 31)),
        ("2026 年 7 月 3 日", date(2026, 7, 3)),
        ("7 月 20 到 24 号", date(2026, 7, 24)),
        ("正式上线 12 号周五", date(2026, 7, 12)),
        ("25 号给她", date(2026, 6, 25)),
        ("8 月底", date(2026, 8, 31)),
        ("八月底前", date(2026, 8, 31)),
        ("by the end of August", date(2026, 8, 31)),
        ("by the end of May 2027", date(2027, 5, 31)),
        ("下周三前", date(2026, 6, 24)),
        ("周日", date(2026, 6, 21)),
        ("周五前", date(2026, 6, 26)),
        ("大后天", date(2026, 6, 24)),
        ("后天", date(2026, 6, 23)),
        ("今晚", date(2026, 6, 21)),
        ("下周交", date(2026, 6, 28)),
        ("周末", date(2026, 6, 21)),
        ("月底前", date(2026, 6, 30)),
        ("年底", date(2026, 12, 31)),
        ("下个月底", date(2026, 7, 31)),
        ("三天后", date(2026, 6, 24)),
        ("2 个月以后", date(2026, 8, 20)),
        ("in two weeks", date(2026, 7, 5)),
        ("十五天之后", date(2026, 7, 6)),
        ("推迟到七月三号", date(2026, 7, 3)),
        ("二十五号前", date(2026, 6, 25)),
        ("on Monday instead of Friday", date(2026, 6, 22)),
        ("on Monday, not on Friday as planned", date(2026, 6, 22)),
        ("Monday rather than 3 July", date(2026, 6, 22)),
        ("not before Friday", date(2026, 6, 26)),
        ("we moved it from Friday to Monday", date(2026, 6, 22)),
        ("not this Friday but next Monday", date(2026, 6, 22)),
        ("周一发布，不是周五", date(2026, 6, 22)),
        ("周一发布，而不是原来的下周五", date(2026, 6, 22)),
        ("周五的发布改到周一", date(2026, 6, 22)),
        ("7月3日推迟到7月5日，而非7月20日", date(2026, 7, 5)),
        ("the day after tomorrow", date(2026, 6, 23)),
        ("下周末", date(2026, 6, 28)),
        ("等一下周五见", date(2026, 6, 26)),
        ("by sat", date(2026, 6, 27)),
        ("by the 25th", date(2026, 6, 25)),
        ("by 7/3", date(2026, 7, 3)),
        ("late July", date(2026, 7, 31)),
        ("7月下旬", date(2026, 7, 31)),
        ("the week of July 3", date(2026, 7, 5)),
        ("from Friday to Monday", date(2026, 6, 29)),
        ("下周四到六", date(2026, 6, 27)),
        ("10 月 5 号到 12 号", date(2026, 10, 12)),
        ("明年3月5日", date(2027, 3, 5)),
        ("by the end of next month", date(2026, 7, 31)),
    ],
)
def test_the_day_a_sentence_names(text: str, day: date) -> None:
    assert due(text, date(2026, 6, 21)) == day


@pytest.mark.parametrize(
    "text",
    [
        "I may 3",
        "the sun is shining",
        "May 5",
        "上周三",
        "上个周三",
        "上月底",
        "去年十二月底",
        "last Friday",
        "6 月 1 号",
        "每周三晚",
        "every Friday",
        "February 30",
        "13 月 40 号",
        "去年七月三号",
        "三号方案",
        "not on Friday",
        "不是周五",
        "a week ago today",
        "Wednesday two weeks ago",
        "the Friday before last",
        "两周前的周三",
        "18 July last year",
        "前年的十二月二十号",
        "every Monday and Friday",
        "每个周三",
        "刚才",
        "last week on Friday",
        "上上个月的7号",
        "in summer",
        "Sat down to write",
        "明年会更好",
        "",
    ],
)
def test_a_past_or_recurring_day_is_none(text: str) -> None:
    assert due(text, date(2026, 6, 21)) is None


@given(
    text=st.text(st.sampled_from("下周末月底号日五一三天后年前第 fridaymayin0123456789/.-"), max_size=20),
    today=st.dates(),
)
def test_no_text_is_too_strange(text: str, today: date) -> None:
    found = due(text, today)
    assert found is None or found >= today
