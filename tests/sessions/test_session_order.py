from __future__ import annotations

from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.model import Session
from memorybook.sessions.session_list import pick
from tables import table

TODAY = date(2023, 5, 12)  # a Friday
SESSIONS = [
    Session(uuid=uuid, created=datetime.fromisoformat(began))
    for uuid, began in (
        ("today", "2023-05-12T08:00"), ("evening", "2023-05-11T21:00"), ("morning", "2023-05-11T09:00"),
        ("sunday", "2023-05-07T10:00"), ("april", "2023-04-28T20:00"), ("oldest", "2023-04-01T12:00"),
    )
]  # fmt: skip


def picked(words: str) -> str | None:
    session, _ = pick(words, SESSIONS, TODAY)
    return session.uuid if session else None


@pytest.mark.parametrize(
    ("words", "expected"),
    table("""
        last time → today ¦ What did we talk about last time? → today ¦ the session before this one → today
        where did we leave off / where were we → today ¦ previous → today ¦ 上次 → today
        上一次我们聊到哪儿了 → today ¦ 最近一次会话 → today ¦ the time before last → evening
        two sessions ago → evening ¦ last but one → evening ¦ second to last chat → evening ¦ 上上次 → evening
        上上个会话 → evening ¦ 倒数第二次 → evening ¦ last but two → morning ¦ 上上上次 → morning ¦ first → oldest
        our very first chat → oldest ¦ 第一次 → oldest ¦ 最早的那次聊天 → oldest ¦ the second session → april
        the 3rd session → sunday ¦ 第二次聊天时咱们谈了什么 → april
    """),
)
def test_words_of_order(words: str, expected: str) -> None:
    assert picked(words) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    table("""
        earlier today's session → today ¦ yesterday's chat → evening ¦ yesterday morning → morning
        the first chat of yesterday → morning ¦ 昨天第二次聊天 → evening ¦ 昨天上午那段 → morning
        last Sunday's chat → sunday ¦ 周末那次 → sunday ¦ over the weekend → sunday ¦ 四月底有一次聊到很晚 → april
        the 28th → april ¦ 4月1号 → oldest ¦ what did we do on 4/28/2023 → april
    """),
)
def test_words_of_time(words: str, expected: str) -> None:
    assert picked(words) == expected


@pytest.mark.parametrize(
    "words",
    [
        "", "hello", "the ninth session", "第九次", "last Tuesday", "前天的对话", "next Sunday", "明天",
        "the 0th session", "第零次",
    ],
)  # fmt: skip
def test_words_that_name_none(words: str) -> None:
    assert pick(words, SESSIONS, TODAY) == (None, "")


def test_the_reason_says_how_the_words_were_read() -> None:
    assert pick("上上次", SESSIONS, TODAY)[1] == "number 2 from the end"
    assert "2023-05-11" in pick("yesterday", SESSIONS, TODAY)[1]
    assert "2023-05-06 to 2023-05-07" in pick("周末那次", SESSIONS, TODAY)[1]


def test_a_session_that_lasted_over_midnight_is_of_both_days() -> None:
    late = Session(uuid="late", created=datetime(2023, 5, 9, 23), updated=datetime(2023, 5, 10, 1))
    unknown = Session(uuid="unknown")
    for words in ("last Tuesday", "on Wednesday"):
        assert pick(words, [unknown, late], TODAY)[0] == late
    assert pick("last time", [], TODAY) == (None, "")


@given(st.text(st.sampled_from("上次一二第前最早个回 lastfirsecondthe0123456789号周末昨天")), st.dates())
def test_any_words_name_a_known_session_or_none(words: str, today: date) -> None:
    session, reason = pick(words, SESSIONS, today)
    assert (session is None) == (reason == "")
    assert session is None or session in SESSIONS
