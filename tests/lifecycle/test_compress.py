from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.errors import BudgetSpent, LLMFailed
from memorybook.lifecycle.compress import MOST_CALLS, chunks, compress, read_lines, telling
from memorybook.lifecycle.talk import MOST_TOKENS, Piece
from memorybook.model import Role, Turn
from memorybook.testing import ScriptedLLM
from memorybook.text.tokens import count_tokens

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


def piece(text: str, number: int = 0, role: Role = "user", session: str = "s", minutes: int = 0) -> Piece:
    time = NOW + timedelta(minutes=minutes)
    return Piece((Turn(id=f"u{number}", session=session, text=text, role=role, speaker=role, time=time),), text)


def long_talk(turns: int, words: int = 100) -> list[Piece]:
    return [
        piece(
            f"On day {number} I met Nora. " + "so we talked about this and that " * (words // 7), number, minutes=number
        )
        for number in range(turns)
    ]


def size(pieces: Sequence[Piece]) -> int:
    return sum(count_tokens(one.text) for one in pieces)


def echo_first_words(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A good model: of each turn shown, its first words."""
    lines = [line.split(" ", 2) for line in messages[1]["content"].splitlines() if line.startswith("t")]
    return {"lines": [{"turn": line[0], "text": line[2][:40]} for line in lines]}


def test_a_short_talk_is_left_alone() -> None:
    pieces = long_talk(3)
    model = ScriptedLLM()
    assert compress(pieces, llm=model, now=NOW, language="en") == (tuple(pieces), None, "")
    assert model.requests == []


def test_a_long_talk_becomes_lines_that_name_their_turns() -> None:
    pieces = long_talk(150)
    model = ScriptedLLM(then=echo_first_words)
    found = compress(pieces, llm=model, now=NOW, language="en")
    assert size(found.pieces) <= MOST_TOKENS
    assert [one.turns[0].id for one in found.pieces] == [f"u{number}" for number in range(150)]
    assert found.pieces[7].turns[0].text == pieces[7].text
    assert found.usage is not None
    assert 1 < found.usage.calls == len(model.requests) <= MOST_CALLS
    assert found.left_out == ""


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_prompt_shows_the_part_as_data_and_how_much_is_wanted(language: Any) -> None:
    model = ScriptedLLM(then=echo_first_words)
    compress(long_talk(150), llm=model, now=NOW, language=language)
    system, user = (message["content"] for message in model.requests[0].messages)
    assert count_tokens(system) < 500
    assert "{tokens}" not in system
    assert "t1 09:00 user: On day 0" in user


def test_however_long_the_talk_the_calls_and_the_result_are_bounded_and_it_says_what_is_left_out() -> None:
    model, pieces = ScriptedLLM(then=echo_first_words), long_talk(1_500)
    found = compress(pieces, llm=model, now=NOW, language="en")
    assert len(model.requests) <= MOST_CALLS
    assert 0 < size(found.pieces) <= MOST_TOKENS
    lost, whole = (int(each.replace(",", "")) for each in re.findall(r"[\d,]+00", found.left_out)[:2])
    shown = sum(count_tokens(str(request.messages[1])) for request in model.requests)
    assert whole == round(size(pieces), -2)
    assert whole - shown <= lost <= whole - MOST_CALLS * MOST_TOKENS / 2
    assert found.left_out.endswith("more than 64,000 are not given to a model")


@pytest.mark.parametrize("failure", [LLMFailed("down"), BudgetSpent("spent"), {"lines": []}, "prose", {"lines": [1]}])
def test_what_a_model_does_not_shorten_is_shortened_without_it(failure: Any) -> None:
    found = compress(long_talk(150), llm=ScriptedLLM(then=failure), now=NOW, language="en")
    assert 0 < size(found.pieces) <= MOST_TOKENS
    assert any("Nora" in one.text for one in found.pieces)
    assert found.usage is None or found.usage.calls > 0


def test_one_failed_part_does_not_lose_the_others() -> None:
    model = ScriptedLLM([LLMFailed("down")], then=echo_first_words)
    found = compress(long_talk(150), llm=model, now=NOW, language="en")
    assert {one.turns[0].id for one in found.pieces} >= {"u149"}
    assert int(found.pieces[0].turns[0].id[1:]) < 40
    assert found.left_out.endswith("the model did not shorten 1 of 3 parts")


def test_a_model_that_fails_at_two_parts_is_asked_for_no_other() -> None:
    model = ScriptedLLM([LLMFailed("down")] * 2, then=echo_first_words)
    found = compress(long_talk(150), llm=model, now=NOW, language="en")
    assert (len(model.requests), "3 of 3 parts" in found.left_out) == (2, True)
    assert size(found.pieces) <= MOST_TOKENS


def test_a_model_that_shortens_nothing_is_cut_short() -> None:
    def everything(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        lines = [line.split(" ", 2) for line in messages[1]["content"].splitlines() if line.startswith("t")]
        return {"lines": [{"turn": line[0], "text": line[2]} for line in lines]}

    assert (
        size(compress(long_talk(150), llm=ScriptedLLM(then=everything), now=NOW, language="en").pieces) <= MOST_TOKENS
    )


def test_without_a_model_the_most_telling_sentences_stay() -> None:
    pieces = [
        *long_talk(200),
        piece("ok. well. hmm. I prefer tabs over spaces. lovely weather, or is it?", 500),
        piece("以后都用 pnpm，别用 npm。", 501),
        piece("Maybe you could try something else in general.", 502, "assistant"),
    ]
    found = compress(pieces, llm=None, now=NOW, language="en")
    assert size(found.pieces) <= MOST_TOKENS
    texts = {one.turns[0].id: one.text for one in found.pieces}
    assert "I prefer tabs over spaces." in texts["u500"]
    assert "pnpm" in texts["u501"]
    assert [int(id[1:]) for id in texts] == sorted(int(id[1:]) for id in texts)


def test_the_telling_keep_cues_then_names_and_numbers_then_the_rest() -> None:
    pieces = [
        piece("It was quite a nice thing to do there with all of those other people of ours.", 1),
        piece("The box was given to Nora with 14 apples.", 2),
        piece("I always drink green tea.", 3),
        piece("A long answer about 12 things by Nora.", 4, "assistant"),
        piece("exit status 1", 5, "tool"),
    ]
    for room, kept in ((20, {"u3"}), (45, {"u3", "u2"}), (72, {"u3", "u2", "u1"}), (500, {"u3", "u2", "u1", "u4"})):
        assert {one.turns[0].id for one in telling(pieces, room)} == kept


def test_parts_end_where_the_talk_turns() -> None:
    talk = [piece("word " * 40, number, minutes=number) for number in range(10)]
    talk += [piece("word " * 40, number, minutes=number + 90) for number in range(10, 22)]
    first, second = chunks(talk, 2)
    assert (len(first), len(second)) == (10, 12)


def test_another_session_divides_more_than_a_pause() -> None:
    talk = [piece("word " * 40, number, session="a" if number < 11 else "b", minutes=number) for number in range(20)]
    talk[8:] = [piece("word " * 40, n, session="a" if n < 11 else "b", minutes=n + 60) for n in range(8, 20)]
    assert [len(part) for part in chunks(talk, 2)] == [11, 9]


def test_an_answer_stays_with_its_question() -> None:
    talk = [
        piece("word " * 40, number, "user" if number % 4 == 0 else "assistant", minutes=number) for number in range(16)
    ]
    assert all(part[0].turns[0].role == "user" for part in chunks(talk, 4))


@given(
    sizes=st.lists(st.integers(min_value=1, max_value=400), min_size=1, max_size=60),
    count=st.integers(min_value=1, max_value=8),
)
def test_parts_are_the_whole_in_order(sizes: list[int], count: int) -> None:
    talk = [piece("word " * words, number) for number, words in enumerate(sizes)]
    parts = list(chunks(talk, count))
    assert [one for part in parts for one in part] == talk
    assert len(parts) <= count
    assert all(parts)


@pytest.mark.parametrize("value", [None, 3, "x", [], {}, {"lines": None}, {"lines": [{"turn": "t9", "text": "x"}]}])
def test_lines_of_which_none_can_be_used_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="lines"):
        read_lines(value, [piece("a")])


def test_lines_are_put_back_in_order_and_joined() -> None:
    part = [piece("a", 0), piece("b", 1)]
    answer = [
        {"turn": "T2", "text": "second\nline"},
        {"turn": "t1", "text": "first"},
        {"turn": "t2", "text": "again"},
        {"turn": 1, "text": "no"},
        {"turn": "t²", "text": "no"},
        {"turn": "t1", "text": " "},
        "t1: no",
    ]
    found = read_lines(answer, part)
    assert [(one.turns[0].id, one.text) for one in found] == [("u0", "first"), ("u1", "second line again")]


@given(value=st.recursive(
    st.none() | st.integers() | st.floats() | st.text() | st.just("t1"),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["lines", "turn", "text"]), inner),
))  # fmt: skip
def test_any_json_is_read_or_refused(value: Any) -> None:
    try:
        found = read_lines(value, [piece("a")])
    except ValueError:
        found = []
    assert all(one.text for one in found)
