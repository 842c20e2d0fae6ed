"""Messages of a caller are read as they are, whatever else they carry."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.errors import InvalidInput
from memorybook.formats.messages_json import parse_time, read_messages
from tables import table

INNER = {"role": "user", "content": "the inner text"}


@pytest.mark.parametrize(
    "more",
    [
        {"type": "user", "uuid": "u1", "message": INNER, "sessionId": "s"},
        {"mapping": {"node": {"message": INNER}}, "title": "a chat"},
        {"chat_messages": [INNER]},
        {"messages": [INNER]},
        {"results": [{"memory": "the inner text"}]},
        {"_type": "metadata", "key": "channel:chat"},
        {"display": "the inner text", "timestamp": "2026-11-02T09:00:00Z"},
        {"type": "response_item", "payload": INNER},
    ],
)
@pytest.mark.parametrize("text", ["The ferry leaves at 14:30.", "渡轮下午两点半开。"])
def test_a_message_is_not_taken_for_another_programs_export(more: Mapping[str, Any], text: str) -> None:
    [found] = read_messages([{"role": "user", "content": text, **more}], timezone=UTC)
    assert [(turn.role, turn.text) for turn in found.turns] == [("user", text)]


def test_times_and_sessions_are_those_of_the_messages() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "one", "timestamp": datetime(2026, 11, 2, 9, tzinfo=UTC), "session": "a"},
        {"speaker": "Mia", "text": "two", "session": "b"},
    ]
    found = read_messages(messages, timezone=UTC)
    assert [(each.session.name, each.turns[0].speaker) for each in found] == [("a", "user"), ("b", "Mia")]
    assert found[0].turns[0].time == datetime(2026, 11, 2, 9, tzinfo=UTC)


@pytest.mark.parametrize("messages", [[], [{}], [{"role": "user", "content": " "}]])
def test_what_holds_no_message_is_refused(messages: list[dict[str, Any]]) -> None:
    with pytest.raises(InvalidInput, match="give each a role or speaker"):
        read_messages(messages, timezone=UTC)


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
        yesterday ¦ Monday ¦ May ¦ 10 ¦ 2023 ¦ 12:30 ¦ 8 Smarch 2023 ¦ 1:56 pm on 8 Foo, 2023 ¦ 2024年13月1日
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


def test_a_date_that_could_be_two_days_is_none() -> None:
    assert parse_time("03/04/2023", UTC) is None


@given(st.text(max_size=30))
def test_any_text_gives_none_or_an_aware_time_in_utc(text: str) -> None:
    found = parse_time(text, SHANGHAI)
    assert found is None or found.utcoffset() == timedelta(0)


@given(st.datetimes(min_value=datetime(1980, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.just(UTC)))
def test_an_iso_time_comes_back_exactly(moment: datetime) -> None:
    assert parse_time(moment.isoformat(), SHANGHAI) == moment
