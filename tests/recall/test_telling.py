from __future__ import annotations

from typing import Any

import pytest
from memorybook.recall.telling import says_nothing, telling

from memorybook.hits import Hit, Passage


def hit(text: str, source: Any = "turn", **fields: Any) -> Hit:
    return Hit(Passage("a.md", 1, 1, text, source)._replace(**fields), 1.0, 1.0, text)


def said(text: str, who: str = "user", **fields: Any) -> Hit:
    return hit(text, speaker=who, role=who, **fields)


@pytest.mark.parametrize(
    "text",
    [
        "Let me check.",
        "I don’t know your plate number, sorry.",
        "I don't know what cache you use. You haven't told me yet. Which is it?",
        "One moment…",
        "我不知道你的车牌号。",
        "抱歉，我目前还不清楚你的生日，请告诉我。",
        "让我查一下",
    ],
)
def test_an_answer_that_only_does_not_know_says_nothing(text: str) -> None:
    assert says_nothing(text)
    assert telling([said(text, "assistant"), hit(f"Assistant: {text}", "summary")], "plate") == []
    assert telling([said(text)], "plate") == [said(text)]  # of a user it is worth knowing


@pytest.mark.parametrize(
    "text",
    [
        "",
        "What is it?",
        "Let me check: the port is 8080.",
        "I don't know your number but Ann has it.",
        "I don't know why. The server is down.",
        "我不知道你的车牌号，但你的车是红色的。",
        "让我查一下。你的航班是九点四十。",
    ],
)
def test_an_answer_that_tells_something_beside_is_kept(text: str) -> None:
    assert not says_nothing(text)


@pytest.mark.parametrize("text", ["Your flight is at 9:40.", "你的航班是九点四十。"])
def test_of_what_says_the_same_the_newest_stays_where_the_best_stood(text: str) -> None:
    old, new = said(text, "assistant", date="2026-11-10"), said(f"Let me check. {text}", date="2026-11-13")
    new = new._replace(passage=new.passage._replace(role="assistant", speaker="assistant"), score=0.5)
    other = said("The gate is B7.", date="2026-11-11")
    assert telling([old, other, new], "flight") == [new._replace(score=1.0), other]


def test_an_entry_and_a_note_stand_for_the_words_that_they_retell() -> None:
    turns = [said("I live in Berlin."), said("I swim daily.", date="2026-11-12")]
    written = [hit("The user lives in Berlin.", "entry"), hit("The user swims daily.", "note", date="2026-11-11")]
    retold = {"I live in Berlin.": "The user lives in Berlin.", "I swim daily.": "The user swims daily."}.__getitem__
    assert telling([*turns, *written], "user", retold=retold) == [written[0], turns[1]]
    assert telling([turns[0], written[1]], "user", known=["The user lives in Berlin"], retold=retold) == [written[1]]


def test_what_two_people_say_of_themselves_is_not_the_same() -> None:
    both = [said("I love tea.", "Ann"), said("I love tea.", "Bob")]
    assert telling([*both, hit("Ann: I love tea.", "summary")], "tea") == both


@pytest.mark.parametrize(
    ("question", "summary", "left"),
    [
        (
            "Which cache do we use?",
            "User: I go to Shanghai on Thursday.\nUser: The cache is Redis.\nAssistant: I don't know your cache.\n"
            "User: Which cache do we use",
            "User: The cache is Redis.",
        ),
        (
            "我的车牌号是多少",
            "用户：我女儿叫小雨。\n用户：车牌号是沪A123。\n助手：我不知道你的车牌号。",
            "用户：车牌号是沪A123。",
        ),
        ("horses", "User: I go to Shanghai.\nAssistant: Let me look.", "User: I go to Shanghai."),
    ],
)
def test_of_a_summary_the_lines_about_the_question_stay(question: str, summary: str, left: str) -> None:
    found = hit(summary, "summary", speaker="user")
    assert [each.snippet for each in telling([found], question)] == [left]
    turn = said(left.removeprefix("User: ").removeprefix("用户："))
    assert telling([found, turn], question) == [turn]
