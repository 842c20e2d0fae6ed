"""Sessions from what was found of them, and back to turns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.search.types import Hit, Passage
from memorybook.sessions.recalls import about, best_turns, gathered


def hit(
    session: str | None, turn: str | None, score: float, *, source: str = "turn", path: str = "", text: str = ""
) -> Hit:
    passage = Passage(path, 0, 0, text, source, session=session, turn=turn)  # type: ignore[arg-type]
    return Hit(passage, score, 1.0, "")


HITS = st.lists(st.builds(hit, st.sampled_from("abcde"), st.sampled_from("123456789"), st.floats(-1, 4)), max_size=30)


def test_a_good_find_beats_many_poor_ones_and_a_second_good_one_beats_it() -> None:
    one = hit("one", "1", 1.0)
    many = [hit("many", str(n), 0.6) for n in range(20)]
    two = [hit("two", "1", 0.95), hit("two", "2", 0.9)]
    assert [found.session for found in gathered([*many, one, *two])] == ["two", "one", "many"]
    assert gathered(two)[0].score == pytest.approx(0.95 + 0.3 * 0.9)


def test_a_summary_without_a_session_stands_for_itself_and_a_note_for_none() -> None:
    page = hit(None, None, 0.5, source="summary", path="sessions/trip.md")
    note = hit(None, None, 0.9, source="note", path="daily/2026-02-24.md")
    [found] = gathered([note, page])
    assert (found.session, found.path) == ("sessions/trip.md", "sessions/trip.md")
    assert best_turns([found], 5) == []


def test_a_turn_of_a_session_with_more_evidence_goes_first_among_equals() -> None:
    found = gathered([hit("thin", "1", 0.8), hit("thick", "1", 0.8), hit("thick", "2", 0.7)])
    assert [turn[:2] for turn in best_turns(found, 2)] == [("thick", "1"), ("thin", "1")]


@pytest.mark.parametrize(("best", "kept"), [(1.0, "ab"), (0.5, "abc")])
def test_beside_what_is_clearly_about_the_question_nothing_stands_that_has_no_relevance(best: float, kept: str) -> None:
    hits = [
        hit(name, "1", 0.5)._replace(relevance=near) for name, near in zip("abcd", (best, 0.1, 0.0, 0.0), strict=True)
    ]
    hits[3] = hits[3]._replace(score=0.01)  # too little evidence in any case
    assert "".join(one.session for one in about(gathered(hits), 0.3)) == kept


@pytest.mark.parametrize(("best", "kept"), [(1.0, "1"), (0.5, "123")])
def test_a_turn_with_nothing_of_the_question_is_told_if_it_says_something_and_nothing_is_clear(
    best: float, kept: str
) -> None:
    said = ("The port is 8080.", "它在里斯本的港口里停着。", "We sail to Marstal.", "Ok, great.", "好的，明白。")
    hits = [hit("a", str(place), 1.0 - place / 10, text=text) for place, text in enumerate(said, 1)]
    hits = [one._replace(relevance=0.0 if place else best) for place, one in enumerate(hits)]
    assert "".join(turn for _, turn, _ in best_turns(gathered(hits), 5)) == kept


@given(HITS, st.integers(1, 6))
def test_turns_are_each_once_of_the_sessions_given_best_first_and_no_more_than_asked(hits: list[Hit], top: int) -> None:
    found = gathered(hits)[:top]
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    turns = best_turns(found, top)
    assert len(turns) == len({turn[:2] for turn in turns}) <= top
    assert {session for session, _, _ in turns} <= {one.session for one in found}
    assert [score for *_, score in turns] == sorted((score for *_, score in turns), reverse=True)
