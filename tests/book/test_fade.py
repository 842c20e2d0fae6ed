from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.book import fade
from memorybook.errors import InvalidInput
from memorybook.model import Entry

DAY = date(2026, 2, 1)
SCORES = st.floats(0, 1)
DAYS = st.integers(-400, 4000).map(lambda days: DAY + timedelta(days=days))


def entry(score: float = 0.5, *, pinned: bool = False) -> Entry:
    return Entry(
        id="a1", text="Likes tea.", category="fact", score=score, scored=DAY, last_activated=DAY, pinned=pinned
    )


def after(days: int) -> date:
    return DAY + timedelta(days=days)


def test_nothing_fades_in_the_days_of_grace() -> None:
    assert fade.strength(entry(0.5), after(7)) == 0.5


def test_after_the_days_of_grace_one_percent_goes_each_day() -> None:
    assert fade.strength(entry(0.5), after(10)) == pytest.approx(0.5 * 0.99**3, abs=1e-15)


def test_a_score_written_later_fades_from_that_day_on() -> None:
    faded = fade.fade(0.4, scored=after(20), activated=DAY, today=after(23))
    assert faded == pytest.approx(0.4 * 0.99**3, abs=1e-15)


def test_a_pinned_entry_never_fades() -> None:
    assert fade.strength(entry(0.5, pinned=True), after(1000)) == 0.5


@given(SCORES, DAYS, DAYS, DAYS, DAYS)
def test_fading_never_grows_and_never_goes_back(
    score: float, scored: date, activated: date, one: date, two: date
) -> None:
    first, second = sorted([one, two])
    sooner = fade.fade(score, scored=scored, activated=activated, today=first)
    later = fade.fade(score, scored=scored, activated=activated, today=second)
    assert 0 <= later <= sooner <= score


@given(SCORES, st.integers(-200, 200), st.integers(-200, 200), st.sampled_from([0.05, 0.2, 0.5]))
def test_the_day_on_which_it_falls_below_is_the_first(score: float, scored: int, activated: int, bound: float) -> None:
    one = replace(entry(score), scored=after(scored), last_activated=after(activated))
    day = fade.falls_below(one, bound, DAY)
    weak = (each for each in range(1000) if fade.strength(one, after(each)) < bound)
    first = next(weak, None)
    assert day == (after(first) if first else None)


def test_what_becomes_of_an_entry_next() -> None:
    assert fade.next_step(entry(0.6), DAY) == ("prompt", after(26))
    assert fade.next_step(entry(0.3), DAY) == ("archive", after(48))
    assert fade.next_step(entry(0.1), DAY) == ("archive", None)
    assert fade.next_step(replace(entry(0.1), archived=True), DAY) == ("remove", after(76))
    assert fade.next_step(replace(entry(0.6), superseded_by="b1"), DAY)[0] == "archive"
    assert fade.next_step(entry(0.6, pinned=True), DAY) == ("", None)
    due = replace(entry(0.6), expires=after(3))
    assert fade.next_step(due, DAY) == ("expire", after(4))
    assert fade.next_step(due, after(4)) == ("expire", None)
    assert fade.next_step(due, after(3)) == ("expire", after(4))


def test_the_last_day_of_all_breaks_nothing() -> None:
    last = date.max
    assert fade.next_step(replace(entry(0.6), expires=last), DAY) == ("prompt", after(26))
    assert fade.next_step(replace(entry(0.6), scored=last, last_activated=last), DAY) == ("prompt", None)


def test_tidying_keeps_all_but_the_score_and_its_day() -> None:
    tidied = fade.tidied(entry(0.5), after(10))
    assert replace(tidied, score=0.5, scored=DAY) == entry(0.5)
    assert tidied.scored == after(10)


def test_a_reinforced_entry_gains_a_fifth_of_what_it_lacks() -> None:
    reinforced = fade.reinforced(entry(0.5), after(10))
    assert reinforced.score == pytest.approx(0.5 * 0.99**3 + (1 - 0.5 * 0.99**3) * 0.2)
    assert (reinforced.hits, reinforced.scored, reinforced.last_activated) == (2, after(10), after(10))


@given(SCORES)
def test_reinforcement_grows_towards_one_and_never_beyond(score: float) -> None:
    strengthened = entry(score)
    for _ in range(300):
        before, strengthened = strengthened, fade.reinforced(strengthened, DAY)
        assert before.score <= strengthened.score <= 1.0
    assert strengthened.score > 0.999


def test_a_contradicted_entry_halves_and_says_by_what() -> None:
    contradicted = fade.contradicted(entry(0.8), "b2", after(8))
    assert contradicted.score == pytest.approx(0.8 * 0.99 * 0.5)
    assert (contradicted.superseded_by, contradicted.scored, contradicted.state) == ("b2", after(8), "superseded")


@pytest.mark.parametrize(
    ("value", "score"),
    [
        ("high", 0.8), (" Medium ", 0.6), ("low", 0.4), ("高", 0.8), ("中", 0.6), ("低", 0.4), ("0.35", 0.35), (1, 1.0),
        (0.0, 0.0),
    ],
)  # fmt: skip
def test_importance_is_a_word_or_a_number(value: str | float, score: float) -> None:
    assert fade.importance_score(value) == score


@pytest.mark.parametrize("value", ["urgent", "", "1.5", -0.1, float("nan"), True, "很高", 10**400])
def test_another_importance_is_refused_by_name(value: str | float) -> None:
    with pytest.raises(InvalidInput, match="high, medium, low"):
        fade.importance_score(value)
