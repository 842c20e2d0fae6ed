"""The talks of `benchmarks/truth` hold what their labels say, and the five figures are what they are said to be."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks import scenario_books
from benchmarks.truth import truth

TALKS = scenario_books.talks(truth.HERE)


def occurs(strings: list[str], text: str) -> bool:
    return any(each.lower() in text.lower() for each in strings)


@pytest.mark.parametrize("talk", TALKS, ids=[talk.id for talk in TALKS])
def test_labels_of_a_talk_point_to_turns_that_hold_them(talk: scenario_books.Talk) -> None:
    turns = {turn["id"]: turn["content"] for turn in talk.turns}
    assert 6 <= len(turns) <= 40
    assert [turn["timestamp"] for turn in talk.turns] == sorted(turn["timestamp"] for turn in talk.turns)
    for question in talk.gold["questions"]:
        assert question["answerable"] == bool(question["answer"])
        held = [id for id, text in turns.items() if question["answer"] and occurs(question["answer"], text)]
        assert question["turns"] == held
        assert bool(held) == question["answerable"]
        for wrong in question["wrong"]:
            assert not any(wrong.lower() in answer.lower() for answer in question["answer"])
    for label in talk.gold["never"]:
        assert occurs(label["match"], label["statement"])
        if label["turn"]:
            assert occurs(label["match"], turns[label["turn"]])
        else:
            assert not occurs(label["match"], " ".join(turns.values()))
    for order in talk.gold["forget"]:
        assert order["turns"] == [id for id, text in turns.items() if occurs(order["gone"], text)]
        assert order["turns"]
        assert not occurs(order["gone"], order["order"])
    for change in talk.gold["superseded"]:
        assert {change["old_turn"], change["new_turn"]} <= turns.keys()


def test_every_talk_has_an_order_a_question_without_an_answer_and_one_extraction_a_session() -> None:
    for talk in TALKS:
        assert talk.gold["forget"], talk.id
        assert {question["answerable"] for question in talk.gold["questions"]} == {True, False}, talk.id
        assert [session["id"] for session in talk.sessions] == list(talk.extractions), talk.id


def test_both_languages_have_talks_and_no_name_is_used_twice() -> None:
    assert not [id for id, many in Counter(talk.id for talk in TALKS).items() if many > 1]
    assert {talk.lang for talk in TALKS} == {"en", "zh"}


def test_a_turn_in_its_own_words_is_no_invention() -> None:
    turns = {"t": "what if I moved to Crete"}
    label = {"match": ["Crete"], "turn": "t", "statement": "The user moved to Crete."}
    assert not truth.invented(["user: what if I moved to Crete"], label, turns)
    assert truth.invented(["The user moved to Crete."], label, turns)
    assert not truth.invented(["用户：学书法没用。"], label | {"match": ["没用"]}, {"t": "有人说学书法没用。我不同意"})


def test_the_five_figures_of_a_talk() -> None:
    talk = scenario_books.Talk(
        "en-x",
        "en",
        [{"id": "s", "turns": [{"id": "t", "content": "It is blue."}]}],
        {
            "questions": [
                {"q": "Colour?", "answer": ["blue"], "wrong": ["red"], "answerable": True},
                {"q": "Size?", "answer": [], "wrong": [], "answerable": False},
            ],
            "never": [{"match": ["Rome"], "turn": "", "statement": "The user lives in Rome."}],
            "forget": [{"order": "Forget the colour.", "gone": ["blue"]}],
        },
        {},
    )
    told = [{"lines": ["It is red.", "It is blue."], "claimed": True}, {"lines": [], "claimed": False}]
    rows = {
        row["figure"]: row["happened"] for row in truth.score(talk, told, {"Forget the colour.": [["It is blue."]]})
    }
    assert rows == {
        "right": True, "stale": True, "invented": False, "unknown but claimed": False, "forgotten but told": True,
    }  # fmt: skip
