"""Whether texts make the same statement, and what one of them lacks."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from known import known, told
from memorybook.entries.same import (
    by_words,
    denies,
    differs,
    likeness,
    lowest_trust,
    missing,
    overlap,
    same_fact,
    same_statement,
    weekdays,
    words,
)
from memorybook.model import Trust

FIVE_FACTS = [
    ["My dog is called Rex", "The user has a dog named Rex", "Rex is the name of the user's dog"],
    ["I work at Acme as a backend engineer", "The user is employed at Acme as a backend engineer.",
     "At Acme the user works as a backend engineer"],
    ["I live in Oslo with two kids", "The user lives in Oslo with their two children",
     "The user and their two kids are based in Oslo"],
    ["The user has a peanut allergy", "Peanuts: the user is allergic to them", "The user is allergic to peanuts."],
    ["I really love long walks in the evening", "The user enjoys long evening walks",
     "Long walks at night are what the user likes"],
]  # fmt: skip
FIVE_CHINESE_FACTS = [
    ["用户对花生过敏", "我花生过敏", "用户有花生过敏"],
    ["我每周三晚上送女儿去游泳", "用户星期三晚上要送闺女去游泳", "礼拜三夜里我送女儿游泳"],
    ["我住在杭州滨江", "用户家在杭州滨江", "用户目前住杭州滨江"],
    ["用户喜欢喝绿茶", "我爱喝绿茶", "绿茶用户很喜欢喝"],
    ["代码里的注释一律用英文", "代码里注释都用英文", "代码里面注释请使用英文"],
]


@pytest.mark.parametrize("wordings", FIVE_FACTS + FIVE_CHINESE_FACTS, ids=lambda each: each[0])
def test_one_fact_in_three_wordings_is_one_statement(wordings: list[str]) -> None:
    for one, other in combinations(wordings, 2):
        assert same_statement(one, other, None), (one, other)


@pytest.mark.parametrize("facts", [FIVE_FACTS, FIVE_CHINESE_FACTS])
def test_different_facts_are_not(facts: list[list[str]]) -> None:
    for one, other in combinations(facts, 2):
        assert not any(same_statement(a, b, None) for a in one for b in other)


@pytest.mark.parametrize(
    ("one", "other", "what"),
    [
        ("Ann pays 300 euros", "Ann pays 500 euros", "the number '300'"),
        ("开会在 7 月 3 日", "开会在 7 月 4 日", "the date '7 月 3 日'"),
        ("每周一上午 10 点开会", "每周二上午 10 点开会", "the day '周一'"),
        ("The user uses Vim", "The user uses Emacs", "the name 'Vim'"),
        ("The user eats meat", "The user does not eat meat", "a denial"),
        ("用户爱吃辣", "用户不吃辣", "a denial"),
        ("Bob likes tea", "Bob hates tea", "an opposite"),
        ("用户喜欢开会", "用户讨厌开会", "an opposite"),
        ("Run tests before the deploy", "Run tests after the deploy", "an opposite"),
        ("Remove the flag from the build", "Add the flag to the build", "an opposite"),
        ("The backup runs in the morning", "The backup runs in the evening", "an opposite"),
        ("The user prefers tabs over spaces", "The user prefers spaces over tabs", "the order"),
        ("Ann owes Bob money", "Bob owes Ann money", "the order"),
        ("用茶代替咖啡", "用咖啡代替茶", "the order"),
        ("The user prefers dark mode in the editor", "The user prefers light mode in the editor", "the word 'dark'"),
        ("用户更喜欢深色主题", "用户更喜欢浅色主题", "the word '深'"),
        ("Ann: I like tea", "Kim: I am fond of tea", "the speaker"),
        ("小王：我喜欢茶", "小李：我喜欢茶", "the name '小王'"),
    ],
)
def test_what_is_near_may_yet_say_something_else(one: str, other: str, what: str) -> None:
    assert differs(one, other) == what
    assert differs(other, one) is not None
    assert not same_statement(one, other, 0.99)


@pytest.mark.parametrize(
    "text",
    ["I do not smoke", "No meetings on Friday", "Never use tabs", "I can't swim", "用户不吃辣", "没有截图不许发",
     "以后别再推荐海鲜", "拒绝 ORM", "未完成"],
)  # fmt: skip
def test_denials_are_seen(text: str) -> None:
    assert denies(text)


@pytest.mark.parametrize(
    "text",
    ["I smoke", "The notable knot", "味道不错", "不同的方案", "不过", "无论如何", "未来", "他去无锡", "差别很大"],
)
def test_words_that_only_look_like_denials_are_not(text: str) -> None:
    assert not denies(text)


def test_a_cosine_of_95_is_the_same_statement_if_nothing_differs() -> None:
    one, other = "short answers first, please", "begin with the gist"
    assert same_statement(one, other, 0.95)
    assert not same_statement(one, other, 0.94)
    assert not same_statement(one, other, None)


def test_a_wording_that_says_more_is_not_the_same_by_words() -> None:
    assert not same_statement("The user likes strong green tea in bed", "The user likes green tea in bed", None)
    assert same_statement("The user likes green tea in bed", "The user likes strong green tea in bed", None)


def test_filling_words_do_not_count_and_others_stand_for_each_other() -> None:
    assert words("I really do enjoy tea") == words("the user likes tea")
    assert words("用户一直很喜欢茶") == words("我爱喝茶") - {"喝"}


@given(st.text(max_size=60), st.text(max_size=60))
def test_likeness_is_a_share_and_the_same_from_both_sides(one: str, other: str) -> None:
    assert 0 <= overlap(one, other) == overlap(other, one) <= 1
    assert 0 <= likeness(one, other, None) == likeness(other, one, None) <= 1
    assert likeness(one, other, 0.7) >= 0.7
    assert (differs(one, other) is None) == (differs(other, one) is None)


@given(st.text(max_size=60))
def test_a_text_differs_in_nothing_from_itself(text: str) -> None:
    assert differs(text, text) is None


def test_neighbours_by_words_are_those_that_share_most() -> None:
    entries = [known("a", "Ann likes tea"), known("b", "Ann likes green tea in bed"), known("c", "the deploy failed")]
    near = by_words({one.id: one for one in entries})
    assert [one.id for one in near("green tea for Ann")] == ["b", "a"]
    assert near("什么都没有") == []
    many = {f"e{n}": known(f"e{n}", f"tea {n}") for n in range(20)}
    assert len(by_words(many)("tea")) == 8


def test_neighbours_by_words_follow_what_is_put_in_and_taken_out() -> None:
    entries = {"a": known("a", "Ann likes tea"), "b": known("b", "安妮爱喝茶")}
    near = by_words(entries)
    assert [one.id for one in near("tea for Ann")] == ["a"]
    entries["c"] = known("c", "Ann likes green tea")
    del entries["a"]
    entries["d"] = known("d", "安妮爱喝绿茶")
    assert [one.id for one in near("green tea for Ann")] == ["c"]
    assert near("绿茶")[0].id == "d"


def test_a_rare_word_finds_its_entry_among_many_that_share_common_ones() -> None:
    entries = {"old": known("old", "server heron stands in the hall")}
    entries |= {f"e{n}": known(f"e{n}", f"server {n} stands in the hall") for n in range(500)}
    assert by_words(entries)("the heron server")[0].id == "old"


def test_neighbours_by_words_are_the_same_in_whatever_order_a_book_has_them() -> None:
    """A page sorts entries by strength: an import that goes on from it is to decide as one that wrote them itself."""
    day = datetime(2026, 2, 20, tzinfo=UTC)
    entries = [known(f"e{n}", f"server {n} stands in the hall", created=day + timedelta(hours=n)) for n in range(90)]
    entries += [known(id, "a rack", session=name, created=day) for id, name in (("z", "s1"), ("a", "s2"))]
    latest = [f"e{n}" for n in range(89, 81, -1)]
    for seed in range(5):
        at_once = {one.id: one for one in random.Random(seed).sample(entries, len(entries))}
        assert [one.id for one in by_words(at_once)("servers stand in the hall")] == latest
        later = dict(list(at_once.items())[:40])
        near = by_words(later)
        near("hall")
        later |= at_once
        assert near("servers stand in the hall") == by_words(at_once)("servers stand in the hall")
        assert [one.session for one in near("a rack")] == ["s2", "s1"]


SAME_FACTS = [
    ("The user's dog is called Rex.", "Rex is the user's dog."),
    ("The user's dog is called Rex.", "The user has a dog named Rex."),
    ("The user lives in Lisbon.", "Lisbon is where the user lives."),
    ("The user lives in Lisbon.", "The user's home is in Lisbon."),
    ("The user is allergic to penicillin.", "The user has a penicillin allergy."),
    ("The user's daughter Mia is seven.", "Mia, the user's daughter, is 7 years old."),
    ("The user's cat is called Moss.", "Moss is the user's cat."),
    ("The user works at Fjordbank.", "The user is employed at Fjordbank."),
    ("The user is allergic to latex.", "The user has an allergy to latex."),
    ("The user's son Teo is nine.", "Teo, the user's son, is 9 years old."),
    ("The user lives in Graz.", "The user is based in Graz."),
    ("用户的猫叫阿灰。", "阿灰是用户的猫。"),
    ("用户住在苏州。", "用户定居苏州。"),
    ("用户在青梭科技上班。", "用户就职于青梭科技。"),
    ("用户对花粉过敏。", "用户花粉过敏。"),
    ("用户的儿子石头九岁。", "石头是用户的儿子，今年 9 岁。"),
    ("用户的狗叫旺财。", "用户养了一只叫旺财的狗。"),
    ("用户的狗叫旺财。", "旺财是用户的狗。"),
    ("用户住在杭州。", "用户家在杭州。"),
    ("用户住在杭州。", "用户现居杭州。"),
    ("用户对青霉素过敏。", "用户有青霉素过敏史。"),
    ("用户的女儿米娅七岁。", "米娅是用户的女儿，今年 7 岁。"),
]
OTHER_FACTS = [
    ("The user's dog is called Rex.", "The user's cat is called Rex."),
    ("The user lives in Lisbon.", "The user works in Lisbon."),
    ("The user is allergic to penicillin.", "The user is not allergic to penicillin."),
    ("The user prefers tea to coffee.", "The user prefers coffee to tea."),
    ("The user's daughter Mia is seven.", "The user's daughter Mia is eight."),
    ("用户的狗叫旺财。", "用户的猫叫旺财。"),
    ("用户住在杭州。", "用户在杭州上班。"),
    ("用户对青霉素过敏。", "用户对青霉素不过敏。"),
    ("用户的女儿米娅七岁。", "用户的女儿米娅八岁。"),
]


@pytest.mark.parametrize(("one", "other"), SAME_FACTS)
def test_the_same_value_of_the_same_thing_is_one_fact(one: str, other: str) -> None:
    assert same_fact(one, other)
    assert same_fact(other, one)


@pytest.mark.parametrize(("one", "other"), OTHER_FACTS)
def test_another_thing_or_value_is_another_fact(one: str, other: str) -> None:
    assert not same_fact(one, other)


# --- what one text lacks of another ------


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


@pytest.mark.parametrize(
    ("one", "other", "lower"),
    [("user", "agent", "agent"), (None, "user", "user"), ("suspect", None, "suspect"), (None, None, None)],
)
def test_the_lower_trust_wins_and_a_persons_hand_is_the_highest(
    one: Trust | None, other: Trust | None, lower: Trust | None
) -> None:
    assert lowest_trust(one, other) == lowest_trust(other, one) == lower
