from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from known import TODAY, known, told
from memorybook.entries.combine import lowest, merged, missing, weekdays
from memorybook.model import TRUST_ORDER, Trust


@pytest.mark.parametrize(
    ("parent", "text", "lost"),
    [
        ("Ann pays 300 euros", "Ann pays three hundred euros", ()),
        ("Ann pays 300 euros", "Ann pays some euros", ("the number '300'",)),
        ("每月定投 2000 元", "每月定投两千元", ()),
        ("每月定投 2500 元", "每月定投三千元", ("the number '2500'",)),
        ("The release is on 2026-07-03", "The release is on July 3, 2026", ()),
        ("The release is on 2026-07-03", "The release is on July 3", ("the date '2026-07-03'",)),
        ("7 月 3 日发版", "2026 年 7 月 3 日发版", ()),
        ("We meet on Fridays", "We meet every week", ("the day 'Fridays'",)),
        ("每周三游泳", "每周四游泳", ("the day '周三'",)),
        ("每周日游泳", "星期天游泳", ()),
        ("Deploys go through Jenkins", "Deploys go through CI", ("the name 'Jenkins'",)),
        ("Martin moved to the new office", "Somebody moved to the new office", ("the name 'Martin'",)),
        ("The config is in src/main.py", "The config is in a file", ("the name 'src/main.py'",)),
        ("数据库用 PostgreSQL 16", "数据库用 MySQL 16", ("the name 'PostgreSQL'",)),
        ("The branch is called “release/next”", "There is a branch", ("the name 'release/next'",)),
        ("He works at Door Dash", "He works at DoorDash", ()),
        ("", "anything", ()),
    ],
)
def test_what_a_text_lacks_of_another_is_named(parent: str, text: str, lost: tuple[str, ...]) -> None:
    assert missing([parent], text)[: len(lost) or None] == lost


def test_a_name_that_only_stands_in_a_longer_one_is_lost() -> None:
    assert missing([known("a", "The cake is for Ann", entities=("Ann",))], "The cake is for Anna") == (
        "the name 'Ann'",
    )


def test_chinese_names_are_known_as_entities() -> None:
    candidate = told("小满对芒果过敏", entities=("小满",))
    assert missing([candidate], "孩子对芒果过敏") == ("the name '小满'",)
    assert missing([candidate], "小满不能吃芒果") == ()


def test_an_entity_that_stands_nowhere_in_its_text_is_no_loss() -> None:
    assert missing([told("likes tea", entities=("Ann",))], "likes tea") == ()


def test_both_parents_count() -> None:
    lost = missing([known("a", "Ann has 2 cats and 3 dogs"), told("Ann has 5 fish")], "Ann has 2 cats and 5 fish")
    assert lost == ("the number '3'",)


@given(st.text(max_size=80))
def test_a_text_lacks_nothing_of_itself(text: str) -> None:
    assert missing([text], text) == ()


def test_days_of_the_week_are_numbered_from_monday() -> None:
    assert [day for day, _ in weekdays("Mon, tuesdays, Wed, Thurs, 周五, 礼拜六, 星期天")] == list(range(7))
    assert weekdays("Monetary sundry frisbee") == []


def test_a_merged_entry_has_the_worth_of_both() -> None:
    target = known(
        "old",
        "Ann likes tea",
        hits=2,
        tags=("drinks",),
        entities=("Ann",),
        links=("x",),
        group="life",
        created=datetime(2026, 1, 1, tzinfo=UTC),
        metadata={"a": 1},
        trust="agent",
        score=0.9,
    )
    new = known("new", "milk", tags=("milk",), expires=date(2026, 9, 1), metadata={"b": 2}, links=("old",))
    both = merged(target, new, "Ann likes tea with milk", heard=False)
    assert (both.id, both.text, both.hits) == ("new", "Ann likes tea with milk", 3)
    assert both.score == pytest.approx(0.9 + 0.1 * 0.2)
    assert (both.tags, both.entities, both.links) == (("drinks", "milk"), ("Ann",), ("x", "old"))
    assert (both.group, both.expires, both.trust) == ("life", date(2026, 9, 1), "agent")
    assert both.created == datetime(2026, 1, 1, tzinfo=UTC)
    assert both.metadata == {"a": 1, "b": 2}


def test_a_target_heard_in_this_session_is_not_reinforced_by_merging() -> None:
    both = merged(known("old", "a", hits=2), known("new", "b", score=0.4), "a b", heard=True)
    assert (both.hits, both.score, both.scored) == (2, 0.6, known("new", "b").scored)
    assert both.scored < TODAY


@pytest.mark.parametrize(
    ("one", "other", "lower"),
    [("user", "agent", "agent"), (None, "user", "user"), ("suspect", None, "suspect"), (None, None, None)],
)
def test_the_lower_trust_wins_and_a_persons_hand_is_the_highest(
    one: Trust | None, other: Trust | None, lower: Trust | None
) -> None:
    assert lowest(one, other) == lowest(other, one) == lower
    assert TRUST_ORDER[0] == "suspect"
