from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.entries.read_reply import CONTENT, MOST, Aliases, Candidate, ForgetRequest, Reading, read_reply
from memorybook.model import CATEGORIES, Entry, Role, Turn

DAY = date(2026, 3, 1)


def turn(id: str, text: str, role: Role = "user") -> Turn:
    return Turn(id=id, session="s", text=text, role=role, speaker=role, time=datetime(2026, 3, 1, 9, tzinfo=UTC))


def entry(id: str, text: str) -> Entry:
    return Entry(id=id, text=text, category="fact", score=0.8, scored=DAY, last_activated=DAY)


ALIASES = Aliases(
    turns={
        "t1": (turn("u1", "I moved to Bergen in March."),),
        "t2": (turn("a1", "Noted: Bergen.", "assistant"),),
        "t3": (turn("o1", "weather: rain", "tool"),),
        "t4": (turn("u2", "我每周三晚上要送女儿去游泳课"),),
    },
    known={"m1": entry("e1", "The user lives in Oslo."), "m2": entry("e2", "2026-01-05 起，用户住在杭州滨江。")},
)

GOOD: dict[str, Any] = {
    "content": "The user moved to Bergen in March 2026.", "category": "fact", "importance": "high",
    "tags": ["#home", "move"], "entities": ["Bergen"], "group": "life/home", "turns": ["t1"],
    "quote": "I moved to Bergen", "reinforces": [], "contradicts": ["m1"], "expires_at": None,
}  # fmt: skip


def reading(*candidates: Any, **fields: Any) -> Reading:
    return read_reply({"candidates": list(candidates), **fields}, ALIASES)


def one(**fields: Any) -> Candidate:
    [candidate] = reading({**GOOD, **fields}).candidates
    return candidate


def test_a_whole_answer_is_read() -> None:
    found = reading(GOOD, summary="They talked.", decisions=["Use Go."], open_questions=["When?"])
    assert found == Reading(
        candidates=(
            Candidate(
                content="The user moved to Bergen in March 2026.", category="fact", importance="high",
                tags=("home", "move"), entities=("Bergen",), group="life/home", turn_ids=("u1",),
                quote="I moved to Bergen", contradicts=("e1",),
            ),
        ),
        summary="They talked.",
        decisions=("Use Go.",),
        open_questions=("When?",),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({**GOOD, "content": " \n "}, "has no content"),
        ({**GOOD, "content": "…。"}, "has no content"),
        ({**GOOD, "content": None}, "has no content"),
        ({**GOOD, "content": 7}, "has no content"),
        ({**GOOD, "content": "x" * (CONTENT + 1)}, "has 501 characters, more than 500"),
        ({**GOOD, "importance": float("nan")}, "has an importance that is no number from 0 to 1"),
        ({**GOOD, "importance": float("inf")}, "has an importance that is no number from 0 to 1"),
        ({**GOOD, "importance": 10**400}, "has an importance that is no number from 0 to 1"),
        ({**GOOD, "importance": -1}, "has an importance that is no number from 0 to 1"),
        ({**GOOD, "importance": "NaN"}, "has an importance that is no number from 0 to 1"),
        ({**GOOD, "turns": ["t9"], "quote": ""}, "rests on t9, which is no turn of the talk"),
        ({**GOOD, "turns": [], "quote": ""}, "rests on no turn of the talk"),
        ({**GOOD, "contradicts": ["m7"]}, "names m7, which is no known memory"),
        ({**GOOD, "reinforces": ["e1"]}, "names e1, which is no known memory"),
        ({**GOOD, "contradicts": "a1b2c3d4"}, "names a1b2c3d4, which is no known memory"),
        ({"category": "fact"}, "has no content"),
        ({}, "has no content"),
        ("The user likes tea.", "is not an object"),
        (None, "is not an object"),
        ([], "is not an object"),
    ],
)
def test_a_candidate_that_cannot_be_used_is_set_aside_and_the_others_stay(bad: Any, reason: str) -> None:
    found = reading(bad, GOOD)
    assert [each.content for each in found.candidates] == [GOOD["content"]]
    assert [each.reason for each in found.discarded] == [reason]


@pytest.mark.parametrize(
    ("word", "category"),
    [
        *((name, name) for name in CATEGORIES), ("Preference", "preference"), ("skill", "experience"),
        ("pattern", "workflow"), ("skill usage", "skill_usage"), ("preferences", "preference"),
        ("decisions", "decision"), ("task", "todo"), ("偏好", "preference"), ("待办", "todo"), ("zebra", "fact"),
        ("", "fact"), (None, "fact"), (3, "fact"),
    ],
)  # fmt: skip
def test_an_unknown_category_becomes_the_nearest(word: object, category: str) -> None:
    assert one(category=word).category == category


@pytest.mark.parametrize(
    ("given", "importance"),
    [
        ("HIGH", "high"), ("高", "high"), ("low", "low"), ("低", "low"), ("middling", "medium"), (None, "medium"),
        (True, "medium"), (0.9, 0.9), (0.55, 0.55), (0, 0.0), (8, 0.8), (5, 0.5), ("0.73", 0.73), ("7", 0.7),
    ],
)  # fmt: skip
def test_importance_is_read_from_words_and_numbers(given: object, importance: object) -> None:
    assert one(importance=given).importance == importance


@pytest.mark.parametrize(
    ("given", "ids"),
    [
        (["t1", "t2"], ("u1", "a1")), (["T1", " t2 "], ("u1", "a1")), ("t1, t4", ("u1", "u2")),
        ("t1、t4", ("u1", "u2")), ("[t1]", ("u1",)), (1, ("u1",)), ([1, "4"], ("u1", "u2")), (["t1", "t99"], ("u1",)),
        (["t1", "t1", None, {}, [[]]], ("u1",)),
    ],
)  # fmt: skip
def test_turns_are_read_in_the_ways_models_write_them(given: object, ids: tuple[str, ...]) -> None:
    assert one(turns=given).turn_ids == ids


def test_without_turns_the_quote_finds_them() -> None:
    assert one(turns=None, quote="每周三晚上要送女儿").turn_ids == ("u2",)
    assert one(turns=["t77"], quote="i moved to bergen").turn_ids == ("u1",)


@pytest.mark.parametrize(
    ("turns", "trust"),
    [(["t1"], "user"), (["t1", "t2"], "user"), (["t2"], "agent"), (["t3"], "tool"), (["t2", "t3"], "tool")],
)
def test_trust_comes_from_who_said_it(turns: list[str], trust: str) -> None:
    assert one(turns=turns).trust == trust


@pytest.mark.parametrize(
    ("given", "group"),
    [
        ("work/api", "work/api"), (" 工作 / 织桥 ", "工作/织桥"), ("a/b/c/d", "a/b/c"), ("a > b", "a/b"), ("//", None),
        ("", None), ("null", None), (None, None), (["work"], None), ("x" * 61, None),
    ],
)  # fmt: skip
def test_a_group_is_a_short_path(given: object, group: str | None) -> None:
    assert one(group=given).group == group


def test_tags_may_be_one_text_with_chinese_commas() -> None:
    assert one(tags="游泳，女儿、周三").tags == one(tags="#游泳 #女儿 #周三").tags == ("游泳", "女儿", "周三")
    assert one(tags=["#a", "a", "", None, 3, "b" * 41]).tags == ("a",)


def test_a_copy_of_what_is_known_gets_its_full_wording() -> None:
    candidate = one(content="用户住在杭州滨江", reinforces=["m2"], contradicts=[])
    assert candidate.content == "2026-01-05 起，用户住在杭州滨江。"


def test_what_is_contradicted_is_not_reinforced() -> None:
    candidate = one(reinforces=["m1", "m2"], contradicts=["m1"])
    assert (candidate.reinforces, candidate.contradicts) == (("e2",), ("e1",))
    assert one(reinforces="m1, m2", contradicts="m1") == candidate


@pytest.mark.parametrize("nothing", ["", "-", "None", "n/a", "无", "nothing", "[]", '""', "(none)", "no"])
def test_a_word_for_nothing_names_nothing(nothing: str) -> None:
    found = one(reinforces=nothing, contradicts=nothing, group=nothing, tags=nothing, entities=[nothing])
    assert (found.reinforces, found.contradicts, found.group, found.tags, found.entities) == ((), (), None, (), ())


@pytest.mark.parametrize(
    "named", ["m1, m2", "m1 and m2", '["m1", "m2"]', ["m1: Mira has 3 cats", "m2"], ["m1 Mira has 3 cats", "m2 (Oslo)"]]
)
def test_an_alias_may_come_with_what_it_stands_for(named: object) -> None:
    assert one(reinforces=named, contradicts=[]).reinforces == ("e1", "e2")


def test_the_same_statement_twice_is_one() -> None:
    [candidate] = reading(
        GOOD, {**GOOD, "content": "the user moved to Bergen in March 2026", "turns": ["t2"]}
    ).candidates
    assert candidate.turn_ids == ("u1", "a1")


def test_of_two_hundred_candidates_the_most_important_are_kept() -> None:
    many = [{**GOOD, "content": f"Statement number {number}.", "importance": "low"} for number in range(200)]
    many[190]["importance"] = "high"
    found = reading(*many)
    assert len(found.candidates) == MOST
    assert found.candidates[-1].content == "Statement number 190."
    assert [each.reason for each in found.discarded] == [f"is one of more than {MOST}"] * 150


@pytest.mark.parametrize(
    "value",
    [
        None, 7, "text", True, {}, {"answer": []}, {"candidates": "none"}, {"candidates": 3}, ["a", 1], [{}],
        {"candidates": [{**GOOD, "turns": ["t9"], "quote": "?"}]}, {"candidates": [{**GOOD, "contradicts": ["m9"]}]},
    ],
)  # fmt: skip
def test_an_answer_of_which_nothing_can_be_used_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"candidates|answer"):
        read_reply(value, ALIASES)


@pytest.mark.parametrize("name", ["memories", "facts", "items"])
def test_other_names_for_the_list_are_understood(name: str) -> None:
    assert len(read_reply({name: [GOOD]}, ALIASES).candidates) == 1
    assert len(read_reply([GOOD], ALIASES).candidates) == 1
    assert len(read_reply({"candidates": GOOD}, ALIASES).candidates) == 1


def test_requests_to_forget_name_entries_that_were_shown() -> None:
    found = reading(
        GOOD,
        forget=[
            {"turn": "t4", "text": "忘掉那件事", "known": ["m2", "m9"]},
            {"turn": "t9", "text": "no such turn", "known": []},
            {"turn": "t1", "text": " "},
            "forget it",
        ],
    )
    assert found.forget_requests == (ForgetRequest(text="忘掉那件事", turn_id="u2", ids=("e2",)),)


def test_no_text_holds_what_a_file_cannot() -> None:
    candidate = one(content="half \ud800 pair\x00 and\u2028line", entities=["\udfff"], quote="I moved \ud800")
    candidate.content.encode()
    candidate.quote.encode()
    assert "\x00" not in candidate.content
    assert "\u2028" not in candidate.content


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["t1", "m1", "m9", "t1,t2"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*GOOD, "candidates", "summary", "forget", "turn", "text", "known"]), inner)
    ),
    max_leaves=25,
)


@given(value=JSON)
def test_any_json_is_read_or_refused_with_a_value_error(value: Any) -> None:
    found = Reading()
    with suppress(ValueError):
        found = read_reply(value, ALIASES)
    for candidate in found.candidates:
        assert candidate.content.strip()
        assert {*candidate.reinforces, *candidate.contradicts} <= {"e1", "e2"}
        assert set(candidate.turn_ids) <= {"u1", "a1", "o1", "u2"}
        assert candidate.turn_ids


@given(fields=st.dictionaries(st.sampled_from(list(GOOD)), JSON))
def test_half_a_candidate_never_hurts_a_good_one(fields: dict[str, Any]) -> None:
    found = reading({**GOOD, "content": "Another one.", **fields}, GOOD)
    assert GOOD["content"] in [each.content for each in found.candidates]
    json.dumps([each.text for each in found.discarded]).encode()
