"""Messages of a session become turns under the ids by which they are known, however much of it is told again."""

from __future__ import annotations

from typing import Any

import pytest

from memorybook.memory import Memory
from memorybook.verbs.turns import as_known, store, talk_of, turns_of


def said(*texts: str, **more: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text, **more} for text in texts]


def kept(memory: Memory, *texts: str, **more: Any) -> list[str]:
    store(memory, *talk_of(memory, said(*texts, **more), "s1"))
    return [turn.text for turn in memory.book.transcripts.turns("s1")]


@pytest.mark.parametrize(
    ("told", "then"),
    [
        (["a", "b", "c"], ["a", "b", "c", "d"]),  # all of it, grown
        (["c", "d"], ["a", "b", "c", "d"]),  # its end, and what is new
        (["b", "c"], ["a", "b", "c"]),  # a part of it
        (["d", "e"], ["a", "b", "c", "d", "e"]),  # only what is new
        (["a", "b", "c"], ["a", "b", "c"]),  # the same
    ],
)
def test_what_is_known_is_stored_once(memory: Memory, told: list[str], then: list[str]) -> None:
    kept(memory, "a", "b", "c")
    assert kept(memory, *(then if told == ["a", "b", "c"] else told)) == then


def test_a_word_that_comes_back_is_kept_where_all_of_it_is_told(memory: Memory) -> None:
    assert kept(memory, "go on", "a", "go on", "b") == ["go on", "a", "go on", "b"]
    assert kept(memory, "go on", "b", "c") == ["go on", "a", "go on", "b", "c"]


def test_ids_of_the_messages_are_left_alone(memory: Memory) -> None:
    turns = turns_of(memory, [{"id": "m1", "role": "user", "content": "a"}])
    assert as_known(turns, turns_of(memory, said("a"))) == turns


def test_turns_that_another_program_stored_are_found_by_what_they_say(memory: Memory) -> None:
    messages = [{"id": f"m{n}", "role": "user", "content": text} for n, text in enumerate("abc")]
    store(memory, *talk_of(memory, messages, "s1"))
    assert kept(memory, "a", "b", "c", "d") == ["a", "b", "c", "d"]
    assert [turn.id for turn in memory.book.transcripts.turns("s1")][:3] == ["m0", "m1", "m2"]


def test_a_secret_in_a_turn_does_not_make_it_another(memory: Memory) -> None:
    secret = "the key is sk-" + "proj-Zq83hTnW0vLxKd52RmYb71CsEuPf64Ga"
    kept(memory, "a", secret)
    assert len(kept(memory, "a", secret, "b")) == 3
