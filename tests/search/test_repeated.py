from __future__ import annotations

from memorybook.search.evidence import pool_of
from memorybook.search.rank import READ, rank, repeated
from memorybook.search.types import Candidate, Candidates, Passage
from memorybook.search.weights import Weights

WEIGHTS = Weights(words=1.0, vector=0.0, repeated=0.5)

DRAFT = "The garden trip begins on the first of June in Kyoto."
AGREED = "Agreed: the garden trip begins on the first of June in Kyoto, by night train."


def turn(text: str, position: int, *, speaker: str = "assistant", session: str = "s") -> Passage:
    return Passage(
        f"sessions/{session}.md",
        0,
        0,
        text,
        "turn",
        session=session,
        turn=f"t{position}",
        speaker=speaker,
        position=position,
    )


def note(text: str, line: int, path: str = "daily/2026-01-01.md") -> Passage:
    return Passage(path, line, line, text, "note")


def discounts(*passages: Passage, holds: tuple[int, ...] = ()) -> list[float]:
    held = holds or (0,) * len(passages)
    items = tuple(Candidate(p, 1.0, None, h) for p, h in zip(passages, held, strict=True))
    found = Candidates(items, (), {}, None, "scan")
    return repeated(pool_of(found), range(len(passages)), WEIGHTS)


def test_what_is_said_again_later_in_the_session_is_discounted() -> None:
    assert discounts(turn(DRAFT, 1), turn(AGREED, 2)) == [-0.5, 0.0]


def test_the_order_of_the_candidates_does_not_matter() -> None:
    assert discounts(turn(AGREED, 2), turn(DRAFT, 1)) == [0.0, -0.5]


def test_the_last_of_several_times_stays() -> None:
    assert discounts(turn(DRAFT, 1), turn(AGREED, 5), turn(DRAFT, 3)) == [-0.5, 0.0, -0.5]


def test_a_later_passage_that_says_less_repeats_nothing() -> None:
    assert discounts(turn(AGREED, 1), turn("In Kyoto, by night train.", 2)) == [0.0, 0.0]


def test_a_word_may_change() -> None:
    assert discounts(turn(DRAFT, 1), turn(DRAFT.replace("first", "second"), 2)) == [-0.5, 0.0]


def test_a_later_note_of_the_same_page_counts() -> None:
    assert discounts(note(DRAFT, 3), note(AGREED, 9)) == [-0.5, 0.0]
    assert discounts(note(DRAFT, 3), note(AGREED, 9, "daily/2026-01-02.md")) == [0.0, 0.0]


def test_chinese_is_compared_clause_by_clause() -> None:
    draft, agreed = (
        "京都之旅从六月一日开始，一共要去七天，住在同一家旅馆。",
        "京都之旅从六月一日开始，一共要去七天，住在同一家旅馆，坐夜车去。",
    )
    assert discounts(turn(draft, 1), turn(agreed, 2)) == [-0.5, 0.0]
    assert discounts(turn(draft, 1), turn("我们下次再谈京都之旅的旅馆，还有夜车的车票吧。", 2)) == [0.0, 0.0]


def test_another_speaker_or_another_session_repeats_nothing() -> None:
    assert discounts(turn(DRAFT, 1), turn(AGREED, 2, speaker="user")) == [0.0, 0.0]
    assert discounts(turn(DRAFT, 1), turn(AGREED, 2, session="other")) == [0.0, 0.0]


def test_what_lacks_a_word_of_the_question_repeats_nothing() -> None:
    assert discounts(turn(DRAFT, 1), turn(AGREED, 2), holds=(0b11, 0b10)) == [0.0, 0.0]
    assert discounts(turn(DRAFT, 1), turn(AGREED, 2), holds=(0b10, 0b11)) == [-0.5, 0.0]


def test_short_replies_and_texts_without_words_are_let_be() -> None:
    assert discounts(turn("Yes, please.", 1), turn("Yes, please, a red one.", 2)) == [0.0, 0.0]
    assert discounts(turn("-" * 30, 1), turn("-" * 30, 2)) == [0.0, 0.0]


def test_entries_and_documents_are_not_taken_for_a_course_of_events() -> None:
    plan = Passage("notes/plan.md", 1, 1, DRAFT, "document")
    assert discounts(plan, plan._replace(start_line=5, end_line=5)) == [0.0, 0.0]


def test_only_the_best_candidates_are_compared() -> None:
    others = [turn(f"Something of its own, number {n}.", 10 * n, session=f"s{n}") for n in range(READ)]
    assert discounts(*others, turn(DRAFT, 1), turn(AGREED, 2)) == [0.0] * (READ + 2)


def test_the_later_of_two_drafts_comes_first_and_the_reason_is_shown() -> None:
    other = Candidate(turn("Something else that was said.", 9), 0.1, None)
    items = (Candidate(turn(DRAFT, 1), 2.0, None), Candidate(turn(AGREED, 2), 1.9, None), other)
    ranked = list(rank("q", Candidates(items, (), {}, None, "scan"), WEIGHTS, strength=lambda _: 0.0, explain=True))
    assert ranked[0].candidate.passage.text == AGREED
    assert [r.why["repeated"] for r in ranked if "repeated" in r.why] == [-0.5]
