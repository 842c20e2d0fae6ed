from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.text.days import due
from tables import table


@pytest.mark.parametrize(
    ("text", "day"),
    table("""
        by Friday → 2026-06-26 ¦ next Monday → 2026-06-22 ¦ on Sunday → 2026-06-28 ¦ July 20 to 24 → 2026-07-24
        June 28 until July 2 → 2026-07-02 ¦ on 3rd July → 2026-07-03 ¦ on 3 July 2027 → 2027-07-03
        July 3, 2027 → 2027-07-03 ¦ January 12 → 2027-01-12 ¦ tomorrow at 5 → 2026-06-22 ¦ this evening → 2026-06-21
        in 2 weeks → 2026-07-05 ¦ in a month → 2026-07-21 ¦ next week → 2026-06-28 ¦ this week → 2026-06-21
        next month → 2026-07-31 ¦ end of the month → 2026-06-30 ¦ year-end → 2026-12-31 ¦ 2026 年 7 月 3 日 → 2026-07-03
        7 月 20 到 24 号 → 2026-07-24 ¦ 正式上线 12 号周五 → 2026-07-12 ¦ 25 号给她 → 2026-06-25 ¦ 8 月底 → 2026-08-31
        八月底前 → 2026-08-31 ¦ by the end of August → 2026-08-31 ¦ by the end of May 2027 → 2027-05-31
        下周三前 → 2026-06-24 ¦ 周日 → 2026-06-21 ¦ 周五前 → 2026-06-26 ¦ 大后天 → 2026-06-24 ¦ 后天 → 2026-06-23
        今晚 → 2026-06-21 ¦ 下周交 → 2026-06-28 ¦ 周末 → 2026-06-21 ¦ 月底前 → 2026-06-30 ¦ 年底 → 2026-12-31
        下个月底 → 2026-07-31 ¦ 三天后 → 2026-06-24 ¦ 2 个月以后 → 2026-08-20 ¦ in two weeks → 2026-07-05
        十五天之后 → 2026-07-06 ¦ 推迟到七月三号 → 2026-07-03 ¦ 二十五号前 → 2026-06-25
        on Monday instead of Friday → 2026-06-22 ¦ on Monday, not on Friday as planned → 2026-06-22
        Monday rather than 3 July → 2026-06-22 ¦ not before Friday → 2026-06-26
        we moved it from Friday to Monday → 2026-06-22 ¦ not this Friday but next Monday → 2026-06-22
        周一发布，不是周五 → 2026-06-22 ¦ 周一发布，而不是原来的下周五 → 2026-06-22 ¦ 周五的发布改到周一 → 2026-06-22
        7月3日推迟到7月5日，而非7月20日 → 2026-07-05 ¦ the day after tomorrow → 2026-06-23 ¦ 下周末 → 2026-06-28
        等一下周五见 → 2026-06-26 ¦ by sat → 2026-06-27 ¦ by the 25th → 2026-06-25 ¦ by 7/3 → 2026-07-03
        late July → 2026-07-31 ¦ 7月下旬 → 2026-07-31 ¦ the week of July 3 → 2026-07-05
        from Friday to Monday → 2026-06-29 ¦ 下周四到六 → 2026-06-27 ¦ 10 月 5 号到 12 号 → 2026-10-12
        明年3月5日 → 2027-03-05 ¦ by the end of next month → 2026-07-31
    """),
)
def test_the_day_a_sentence_names(text: str, day: str) -> None:
    assert str(due(text, date(2026, 6, 21))) == day


@pytest.mark.parametrize(
    "text",
    [
        *table("""
        I may 3 ¦ the sun is shining ¦ May 5 ¦ 上周三 ¦ 上个周三 ¦ 上月底 ¦ 去年十二月底 ¦ last Friday ¦ 6 月 1 号
        每周三晚 ¦ every Friday ¦ February 30 ¦ 13 月 40 号 ¦ 去年七月三号 ¦ 三号方案 ¦ not on Friday ¦ 不是周五
        a week ago today ¦ Wednesday two weeks ago ¦ the Friday before last ¦ 两周前的周三 ¦ 18 July last year
        前年的十二月二十号 ¦ every Monday and Friday ¦ 每个周三 ¦ 刚才 ¦ last week on Friday ¦ 上上个月的7号 ¦ in summer
        Sat down to write ¦ 明年会更好
    """),
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
