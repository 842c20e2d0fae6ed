"""Times are read in every spelling, and the order of day and month once for all that stand together."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memorybook.formats.timestamps import Order, orders_of, parse_time, readings
from tables import table

SHANGHAI = ZoneInfo("Asia/Shanghai")


def at(*parts: int, zone: tzinfo = SHANGHAI) -> datetime:
    year, month, day, *clock = parts
    hour, minute, second = (*clock, 0, 0, 0)[:3]
    return datetime(year, month, day, hour, minute, second, tzinfo=zone).astimezone(UTC)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1:56 pm on 8 May, 2023", at(2023, 5, 8, 13, 56)), ("12:05 am on 1 February, 2023", at(2023, 2, 1, 0, 5)),
        ("2024年04月01日 周一 08:29", at(2024, 4, 1, 8, 29)), ("2024年4月1日下午3点半", at(2024, 4, 1, 15, 30)),
        ("2024年4月1日 上午12:05", at(2024, 4, 1, 0, 5)), ("2024年4月1日 中午12点", at(2024, 4, 1, 12)),
        ("2024年4月1日 中午1点整", at(2024, 4, 1, 13)), ("2024年4月1日 晚上12:30", at(2024, 4, 2, 0, 30)),
        ("2024年4月1日 晚8点", at(2024, 4, 1, 20)), ("2024/4/1 8:29", at(2024, 4, 1, 8, 29)),
        ("2024.04.01 12:05:09", at(2024, 4, 1, 12, 5, 9)), ("2024/4/1 3:05 PM", at(2024, 4, 1, 15, 5)),
        ("2024/4/1 8:29 +09:00", at(2024, 4, 1, 8, 29, zone=timezone(timedelta(hours=9)))),
        ("2024/4/1 8:29 -0330", at(2024, 4, 1, 8, 29, zone=timezone(-timedelta(hours=3, minutes=30)))),
        ("2024/4/1 8:29 UTC", at(2024, 4, 1, 8, 29, zone=UTC)), ("2025-12-20 (Saturday)", at(2025, 12, 20)),
        ("2023-12-25", at(2023, 12, 25)), ("2026-01-05T20:47:37+08:00", at(2026, 1, 5, 20, 47, 37)),
        ("2026-01-05T20:47:37Z", at(2026, 1, 5, 20, 47, 37, zone=UTC)),
        ("2026-01-05 20:47:37 UTC", at(2026, 1, 5, 20, 47, 37, zone=UTC)),
        ("20260105T204737Z", at(2026, 1, 5, 20, 47, 37, zone=UTC)),
        ("Tue, 3 Feb 2026 10:00:00 +0800", at(2026, 2, 3, 10)),
        ("03.01.2024", at(2024, 1, 3)), ("03.01.24, 09:15:02", at(2024, 1, 3, 9, 15, 2)),
        ("31.12.99", at(1999, 12, 31)),
        ("9:15 pm, 03.01.2024", at(2024, 1, 3, 21, 15)), ("29.12.2023 9.05", at(2023, 12, 29, 9, 5)),
        ("13/01/2024, 9:15\u202fpm", at(2024, 1, 13, 21, 15)), ("1/13/24, 12:05 AM", at(2024, 1, 13, 0, 5)),
        ("24/1/3 上午9:15", at(2024, 1, 3, 9, 15)), ("2024. 1. 3. 오후 9:15", at(2024, 1, 3, 21, 15)),
        ("2024/1/3 午後9:15", at(2024, 1, 3, 21, 15)), ("3. Januar 2024 um 21:15 Uhr", at(2024, 1, 3, 21, 15)),
        ("Mi., 3. Jan. 2024 9:15", at(2024, 1, 3, 9, 15)), ("3 de enero de 2024, 9:15 p. m.", at(2024, 1, 3, 21, 15)),
        ("3 janvier 2024 à 09:15", at(2024, 1, 3, 9, 15)), ("3 января 2024 г. в 9:15", at(2024, 1, 3, 9, 15)),
        ("03.01.2024 09:15:02 UTC+01:00", at(2024, 1, 3, 8, 15, 2, zone=UTC)), ("3 Jan 24", at(2024, 1, 3)),
        ("8 May 2023 14:00 EST", at(2023, 5, 8, 19, zone=UTC)), ("13/04/2023", at(2023, 4, 13)),
        (datetime(2026, 1, 1, 8), at(2026, 1, 1, 8)),
        (datetime(2026, 1, 1, 8, tzinfo=UTC), at(2026, 1, 1, 8, zone=UTC)),
    ],
)  # fmt: skip
def test_a_time_is_read_in_every_spelling(value: Any, expected: datetime) -> None:
    assert parse_time(value, SHANGHAI) == expected


@pytest.mark.parametrize(
    "value",
    [
        *table("""
        03/04/2023 ¦ 3/4/23 ¦ 03-04-2023 10:00 ¦ 29.02.2023 ¦ 1.2.3 ¦ yesterday
        Monday ¦ May ¦ 10 ¦ 2023 ¦ 12:30 ¦ 8 Smarch 2023 ¦ 1:56 pm on 8 Foo, 2023 ¦ 2024年13月1日
        2024-02-30 ¦ 2024/4/1 8:77 ¦ 9999-12-31T23:59:59-12:00 ¦ 10:00 XYZ 3 May 2024
    """),
        None,
        True,
        0,
        -5,
        3,
        float("nan"),
        float("inf"),
        "",
        "   ",
        "x" * 200,
        [],
        {"$date": 1},
    ],
)
def test_what_names_no_one_moment_is_none(value: Any) -> None:
    assert parse_time(value, SHANGHAI) is None


@given(st.text(max_size=30))
def test_any_text_gives_none_or_an_aware_time_in_utc(text: str) -> None:
    found = parse_time(text, SHANGHAI)
    assert found is None or found.utcoffset() == timedelta(0)


@given(st.datetimes(min_value=datetime(1980, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.just(UTC)))
def test_an_iso_time_comes_back_exactly(moment: datetime) -> None:
    assert parse_time(moment.isoformat(), SHANGHAI) == moment


# --- the order of day and month ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("talks", "orders"),
    [
        ([["03/01/2024", "13/01/2024"]], ("dmy",)),
        ([["1/3/24, 9:15 PM", "1/13/24, 9:15 PM"]], ("mdy",)),
        ([["03/01/2024", "05/01/2024", "02/02/2024"]], ("dmy",)),
        ([["01/03/2024", "01/05/2024", "02/02/2024"]], ("mdy",)),
        ([["02/02/2024", "05/01/2024", "03/01/2024"]], ("dmy",)),
        ([["03/01/2024"], ["05/01/2024", "13/02/2024"]], ("dmy",)),
        ([["24/11/03", "24/11/05", "24/12/01"]], ("ymd",)),
        ([["31-12-23", "01-01-24"]], ("dmy",)),
        ([["03/01/2024", "04/01/2024"]], ("dmy", "mdy")),
        ([["13/01/2024", "01/13/2024"]], ()),
        ([["03.01.2024", "01.02.2024"], ["12.01.2024"]], ("dmy",)),
        ([["03.01.2024", "01.13.2024"]], ("mdy",)),
        ([["2024-01-03", "yesterday"]], ()),
        ([], ()),
    ],
)
def test_the_order_is_decided_by_all_times_together(talks: list[list[str]], orders: tuple[Order, ...]) -> None:
    assert orders_of(talks) == orders


SPELLED: dict[Order, tuple[str, ...]] = {
    "dmy": ("{d:02}/{m:02}/{y}, 9:15 pm", "{d}/{m}/{s:02} 21:15", "{d:02}.{m:02}.{s:02}", "{d}-{m}-{y}"),
    "mdy": ("{m}/{d}/{s:02}, 9:15 PM", "{m:02}/{d:02}/{y}", "{m:02}-{d:02}-{y} 21:15"),
    "ymd": ("{s:02}/{m}/{d} 下午9:15", "{y}/{m}/{d} 21:15", "{y}.{m}.{d}"),
}


@given(
    st.sampled_from([(order, spelling) for order, each in SPELLED.items() for spelling in each]),
    st.lists(st.dates(date(2005, 1, 1), date(2059, 12, 31)), min_size=1, max_size=8).map(sorted),
)
def test_days_that_only_grow_are_read_right_or_told_open(spelling: tuple[Order, str], days: list[date]) -> None:
    order, pattern = spelling
    stamps = [pattern.format(y=day.year, s=day.year % 100, m=day.month, d=day.day) for day in days]
    found = orders_of([stamps])
    if not any(map(readings, stamps)):
        assert found == ()
    elif "{s" in pattern and order != "ymd" and found == ("ymd",):  # the same digits, nearer to each other
        assume(False)
    else:
        assert order in found
    alone = found[0] if len(found) == 1 else None
    read = [parse_time(stamp, UTC, alone) for stamp in stamps]
    assert all(time is None or time.date() == day for time, day in zip(read, days, strict=True))
    if any(day.day > 12 for day in days) and "{s" not in pattern:
        assert None not in read
