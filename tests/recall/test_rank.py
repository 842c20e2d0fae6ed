from __future__ import annotations

from collections.abc import Mapping

import pytest

from memorybook.hits import Candidate, Candidates, Hit, Passage
from memorybook.recall.rank import Weights, asked_person, diverse, rank, relevance, weights_for
from memorybook.text.tokens import is_question

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
        asks=is_question(text),
    )


def found(
    *items: Candidate, neighbours: tuple[Passage, ...] = (), idf: Mapping[str, float] | None = None
) -> Candidates:
    return Candidates(items, neighbours, idf or {}, "static/x", "sqlite_hybrid")


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
    ranked = rank("What does Bob's week look like?", found(ann, bob), WORDS_ONLY, strength=lambda _: 0)
    assert ranked[0].candidate.passage.speaker == "Bob"
    assert ranked[0].why["speaker"] == pytest.approx(0.3)


@pytest.mark.parametrize("question", ["what did I say about tea", "我之前说过喜欢什么茶"])
def test_the_first_person_means_the_user(question: str) -> None:
    user = Candidate(turn("tea", 0, speaker="user", role="user"), 1.0, None)
    other = Candidate(turn("tea", 5, speaker="assistant", role="assistant"), 1.0, None)
    assert rank(question, found(other, user), WORDS_ONLY, strength=lambda _: 0)[0].candidate == user


@pytest.mark.parametrize(
    ("question", "speakers", "asked"),
    [
        ("Where did Caroline go?", {"Caroline", "Melanie"}, {"Caroline"}),
        ("caroline's dog", {"Caroline"}, {"Caroline"}),
        ("Carolines everywhere", {"Caroline"}, set()),
        ("顾怀川住在哪里", {"顾怀川", "小满"}, {"顾怀川"}),
        ("What about you?", {"", "Ann"}, set()),
        ("my dog", {"Ann"}, {"user"}),
    ],
)
def test_who_is_asked_about(question: str, speakers: set[str], asked: set[str]) -> None:
    assert asked_person(question, frozenset(speakers)) == asked


def test_a_turn_after_a_question_inherits_from_it() -> None:
    question = Candidate(turn("What breed is your dog?", 3), 9.0, None)
    other = Candidate(turn("something else", 50), 1.0, None)
    answer = turn("A beagle!", 4, speaker="Bob")
    ranked = rank("dog breed", found(question, other, neighbours=(answer,)), WORDS_ONLY, strength=lambda _: 0)
    inherited = next(r for r in ranked if r.candidate.passage == answer)
    assert inherited.why == pytest.approx({"answer": 0.2, "neighbour": 0.1})


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
    ranked = rank("q", candidates, WORDS_ONLY, strength=lambda _: 1.0)
    assert ranked[0].candidate.passage.entry == "a"


def test_components_add_up_to_the_score() -> None:
    a = Candidate(turn("I like dogs?", 1, date="2024-01-01"), 4.0, 0.7)
    b = Candidate(turn("Me too", 2, date="2024-02-01"), 2.0, 0.3)
    for ranked in rank("do I like dogs", found(a, b), HYBRID, strength=lambda _: 0.5):
        assert sum(ranked.why.values()) == pytest.approx(ranked.score)


def test_weights_follow_the_kind_of_embedder_and_the_settings() -> None:
    assert weights_for(None).vector == 0
    assert weights_for("static/a") != weights_for("remote/b")
    assert weights_for("mine").words == weights_for("remote/b").words
    mixed = weights_for("static/a", vector=3, words=1)
    assert (mixed.vector, mixed.words) == (0.75, 0.25)
    assert weights_for(None, vector=3, words=1).vector == 0


IDF = {"quantum": 8.0, "physic": 8.0, "book": 2.0}


def test_relevance_is_the_share_of_the_questions_weight() -> None:
    candidate = Candidate(turn("x", 0), 1.0, None)
    assert relevance(candidate, "a book", IDF, HYBRID) == pytest.approx(2 / 18)
    assert relevance(candidate, "quantum physics books", IDF, HYBRID) == 1.0
    assert relevance(candidate, "nothing", IDF, HYBRID) == 0.0
    assert relevance(candidate, "nothing", {}, HYBRID) == 0.0


def test_relevance_takes_the_calibrated_cosine_if_it_is_larger() -> None:
    near = Candidate(turn("x", 0), None, HYBRID.about)
    far = Candidate(turn("x", 0), None, HYBRID.unrelated)
    assert relevance(near, "nothing", IDF, HYBRID) == 1.0
    assert relevance(far, "nothing", IDF, HYBRID) == 0.0
    assert relevance(near, "nothing", IDF, WORDS_ONLY) == 0.0


def test_single_chinese_characters_do_not_make_a_text_relevant() -> None:
    candidate = Candidate(turn("x", 0), 1.0, None)
    idf = {"量": 3.0, "子": 2.0, "量子": 8.0}
    assert relevance(candidate, "数量很多的孩子", idf, HYBRID) == 0.0
    assert relevance(candidate, "量子", idf, HYBRID) == 1.0
    assert relevance(candidate, "一匹马", {"马": 3.0}, HYBRID) == 1.0


def test_diverse_prefers_what_says_something_else() -> None:
    def hit(text: str, score: float) -> Hit:
        return Hit(turn(text, 0), score, 1.0, text)

    same = [hit("the cat sat on the mat", 1.0), hit("the cat sat on the mat!", 0.99)]
    other = hit("dogs bark at night", 0.9)
    low = hit("rain", 0.0)
    assert [h.snippet for h in diverse([*same, other, low], limit=2)] == [
        "the cat sat on the mat",
        "dogs bark at night",
    ]
    assert diverse([], limit=3) == []
