from __future__ import annotations

from collections.abc import Mapping

import pytest

from memorybook.search.rank import rank
from memorybook.search.types import Candidate, Candidates, Passage
from memorybook.search.weights import Weights, weights_for
from memorybook.text.tokens import is_question
from memorybook.text.utterances import only_asks

WORDS_ONLY = weights_for(None)
HYBRID = weights_for("static/x")


def turn(text: str, position: int, *, speaker: str = "Ann", role: str = "", date: str | None = None) -> Passage:
    return Passage(
        path="sessions/s.md",
        start_line=0,
        end_line=0,
        text=text,
        source="turn",
        session="s",
        turn=f"t{position}",
        speaker=speaker,
        role=role,
        position=position,
        date=date,
        asks=2 if only_asks(text) else int(is_question(text)),
    )


def found(
    *items: Candidate, neighbours: tuple[Passage, ...] = (), idf: Mapping[str, float] | None = None
) -> Candidates:
    beside = tuple(Candidate(passage, None, None) for passage in neighbours)
    return Candidates(items, beside, idf or {}, "static/x", "sqlite_hybrid")


def order(question: str, candidates: Candidates, weights: Weights = HYBRID, strength: float = 0.0) -> list[str]:
    ranked = rank(question, candidates, weights, strength=lambda _: strength)
    return [r.candidate.passage.text for r in ranked]


def test_the_stronger_leg_wins_and_both_legs_count() -> None:
    both = Candidate(turn("both", 0), 5.0, 0.9)
    words = Candidate(turn("words", 10), 6.0, None)
    vector = Candidate(turn("vector", 20), None, 0.95)
    weak = Candidate(turn("weak", 30), 1.0, 0.1)
    assert order("q", found(weak, vector, words, both)) == ["both", "words", "vector", "weak"]


def test_a_hit_of_one_leg_alone_can_come_first() -> None:
    alone = Candidate(turn("alone", 0), None, 0.9)
    rest = [Candidate(turn(f"rest{n}", 10 * n), None, 0.5 + n / 100) for n in range(1, 4)]
    assert order("q", found(*rest, alone))[0] == "alone"


def test_the_named_speaker_is_preferred() -> None:
    ann = Candidate(turn("I swim", 0, speaker="Ann"), 3.0, None)
    bob = Candidate(turn("I swim", 5, speaker="Bob"), 3.0, None)
    question = "What does Bob's week look like?"
    best = next(rank(question, found(ann, bob), WORDS_ONLY, strength=lambda _: 0, explain=True))
    assert best.candidate.passage.speaker == "Bob"
    assert best.why["speaker"] == pytest.approx(WORDS_ONLY.speaker)


@pytest.mark.parametrize("question", ["what did I say about tea", "我之前说过喜欢什么茶"])
def test_the_first_person_means_the_user(question: str) -> None:
    user = Candidate(turn("tea", 0, speaker="user", role="user"), 1.0, None)
    other = Candidate(turn("tea", 5, speaker="assistant", role="assistant"), 1.0, None)
    assert next(rank(question, found(other, user), WORDS_ONLY, strength=lambda _: 0)).candidate == user


@pytest.mark.parametrize("question", ["When do I go to Turku?", "我什么时候去图尔库？"])
def test_the_question_itself_comes_last_and_lends_little(question: str) -> None:
    asked = Candidate(turn(question, 0, speaker="user", role="user"), 9.0, 1.0, 0b11)
    reply = Candidate(turn("Let me see.", 1, speaker="assistant", role="assistant"), None, None)
    told = Candidate(turn("The ferry to Turku leaves on Friday.", 9, speaker="user", role="user"), 4.0, 0.6, 0b10)
    ranked = [*rank(question, found(asked, reply, told, idf={"go": 1.0, "turku": 1.0}), HYBRID, strength=lambda _: 0)]
    assert [r.candidate for r in ranked] == [told, reply, asked]
    assert [r.about for r in ranked] == [told, reply, None]


@pytest.mark.parametrize(
    ("question", "said"),
    [("Where is the spare key?", "With Petrov, second floor."), ("备用钥匙在哪里？", "在二楼彼得那儿。")],
)
def test_what_was_answered_to_the_same_question_is_about_it(question: str, said: str) -> None:
    asked = Candidate(turn(question, 0, speaker="user", role="user"), 9.0, None, 0b11)
    reply = Candidate(turn(said, 1, speaker="assistant", role="assistant"), None, None)
    other = Candidate(turn("The user likes hiking.", 9, speaker="user", role="user"), None, 0.2)
    ranked = [*rank(question, found(asked, reply, other, idf={"spare": 1.0, "key": 1.0}), HYBRID, strength=lambda _: 0)]
    assert [(r.candidate, r.about) for r in ranked] == [(reply, asked), (other, other), (asked, None)]


def test_a_passage_that_waits_for_its_vector_is_not_put_behind_for_it() -> None:
    waiting = Candidate(turn("the only one with the word", 0), 9.0, None)
    embedded = [Candidate(turn(f"unrelated {n}", 10 * n), None, 0.3 + n / 100) for n in range(1, 4)]
    weights = weights_for("remote/x")
    assert order("q", found(*embedded, waiting), weights)[0] != "the only one with the word"
    pending = found(*embedded, waiting)._replace(pending_vectors=1)
    assert order("q", pending, weights)[0] == "the only one with the word"


def test_a_neighbour_of_another_session_inherits_nothing() -> None:
    question = Candidate(turn("What breed?", 3), 9.0, None)
    elsewhere = turn("A beagle!", 4)._replace(session="other")
    assert order("breed", found(question, neighbours=(elsewhere,)), WORDS_ONLY) == ["What breed?"]


def test_on_a_tie_the_newer_comes_first_and_of_one_day_the_later_said() -> None:
    early = Candidate(turn("early", 0, date="2026-01-01"), 5.0, None)
    late = Candidate(turn("late", 20, date="2026-01-01"), 5.0, None)
    newer = Candidate(turn("newer", 10, date="2026-01-02"), 5.0, None)
    undated = Candidate(turn("undated", 40), 5.0, None)
    timeless = WORDS_ONLY._replace(recency=0.0)
    assert order("q", found(undated, early, newer, late), timeless) == ["newer", "late", "early", "undated"]


def test_recency_is_bounded_and_breaks_ties() -> None:
    old = Candidate(turn("old", 0, date="2020-01-01"), 5.0, None)
    new = Candidate(turn("new", 9, date="2026-01-01"), 5.0, None)
    better = Candidate(turn("better", 20, date="2020-01-01"), 9.0, None)
    worst = Candidate(turn("worst", 30, date="2023-01-01"), 1.0, None)
    assert order("q", found(worst, old, new, better), WORDS_ONLY) == ["better", "new", "old", "worst"]


def test_strength_reorders_equals_and_never_hides() -> None:
    entry = turn("fact", 0)._replace(source="entry", entry="a", position=-1, score=0.01)
    plain = turn("fact", 5)
    candidates = found(Candidate(plain, 2.0, None), Candidate(entry, 2.0, None))
    assert len(order("q", candidates, WORDS_ONLY, strength=0.0)) == 2
    first = next(rank("q", candidates, WORDS_ONLY, strength=lambda _: 1.0))
    assert first.candidate.passage.entry == "a"


def test_components_add_up_to_the_score() -> None:
    a = Candidate(turn("I like dogs?", 1, date="2024-01-01"), 4.0, 0.7)
    b = Candidate(turn("Me too", 2, date="2024-02-01"), 2.0, 0.3)
    ranked = list(rank("do I like dogs", found(a, b), HYBRID, strength=lambda _: 0.5, explain=True))
    assert [sum(r.why.values()) for r in ranked] == pytest.approx([r.score for r in ranked])
    assert len(ranked) == 2


def test_weights_follow_the_kind_of_embedder_and_the_settings() -> None:
    assert weights_for(None).vector == 0
    assert weights_for("static/a") != weights_for("remote/b")
    assert weights_for("mine").words == weights_for("remote/b").words
    mixed = weights_for("static/a", vector=3, words=1)
    assert (mixed.vector, mixed.words) == (0.75, 0.25)
    assert weights_for(None, vector=3, words=1).vector == 0


def test_a_question_for_a_time_prefers_what_speaks_of_one() -> None:
    said = Candidate(turn("We moved to Bern in May 2023", 0), 2.0, None)
    plain = Candidate(turn("We moved to Bern by train", 10), 2.2, None)
    weak = Candidate(turn("Bern", 20), 0.1, None)
    assert order("When did they move to Bern?", found(plain, said, weak))[0] == said.passage.text
    assert order("How did they move to Bern?", found(plain, said, weak))[0] == plain.passage.text
