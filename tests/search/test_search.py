from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.search.evidence import weights_for
from memorybook.search.search import RERANKED, Found, Ranked, Reranker, find, sentences, snippet
from memorybook.search.types import Candidate, Candidates, Passage
from memorybook.text.tokens import query_words, tokens


def passage(text: str, **fields: Any) -> Passage:
    return Passage("daily/2026-01-01.md", 1, 1, text, "note")._replace(**fields)


def _held(candidate: Candidate, idf: dict[str, float]) -> Candidate:
    """The candidate with what an index would say of it."""
    words = tokens(candidate.passage.text)
    return candidate._replace(holds=sum(1 << number for number, word in enumerate(idf) if word in words))


def search(
    *candidates: Candidate,
    idf: dict[str, float],
    limit: int = 10,
    min_score: float = 0.0,
    rerank: Reranker | None = None,
) -> Found:
    found = Candidates(tuple(_held(candidate, idf) for candidate in candidates), (), idf, None, "scan")
    return find("q", found, weights_for(None), limit=limit, min_score=min_score, strength=lambda _: 0.0, rerank=rerank)


def test_a_threshold_cuts_by_relevance_and_says_how_many() -> None:
    about = Candidate(passage("zebra crossing"), 1.0, None)
    beside = Candidate(passage("pedestrian"), 9.0, None)
    idf = {"zebra": 6.0, "cross": 5.0, "pedestrian": 3.0}
    found = search(beside, about, idf=idf, min_score=0.5)
    assert [hit.passage.text for hit in found.hits] == ["zebra crossing"]
    assert found.cut == 1
    assert found.has_relevant


def test_a_threshold_never_costs_an_old_or_weak_hit() -> None:
    """Age and score reorder only: a relevant hit of no strength passes the highest threshold."""
    faded = Candidate(passage("zebra", source="entry", entry="a", score=0.0, date="1999-01-01"), 0.1, None)
    fresh = Candidate(passage("zebra too", date="2026-01-01"), 9.0, None)
    found = search(fresh, faded, idf={"zebra": 6.0}, min_score=1.0)
    assert len(found.hits) == 2


def test_an_unrelated_question_has_no_relevant_hit_but_may_have_hits() -> None:
    found = search(Candidate(passage("the moon"), 2.0, None), idf={"moon": 1.0, "cheese": 5.0})
    assert found.hits
    assert not found.has_relevant


def test_an_entry_and_the_turn_it_rests_on_are_shown_once() -> None:
    entry = Candidate(passage("likes tea", source="entry", entry="a", session="s", turn="t1"), 5.0, None)
    said = Candidate(passage("I like tea", source="turn", session="s", turn="t1", position=0), 3.0, None)
    other = Candidate(passage("I like tea", source="turn", session="s2", turn="t1", position=0), 1.0, None)
    found = search(said, entry, other, idf={"tea": 2.0})
    assert [hit.passage.source for hit in found.hits] == ["entry", "turn"]


@pytest.mark.parametrize("state", ["active", "superseded"])
def test_an_entry_takes_the_place_of_the_turn_that_it_was_made_of(state: str) -> None:
    entry = Candidate(passage("likes tea", source="entry", entry="a", session="s", turn="t1", state=state), 1.0, None)
    said = Candidate(passage("I like tea", source="turn", session="s", turn="t1", position=0), 5.0, None)
    other = Candidate(passage("tea time", source="turn", session="s2", turn="t2", position=0), 3.0, None)
    hits = search(said, other, entry, idf={"tea": 2.0}).hits
    assert [hit.passage.source for hit in hits] == ["entry", "turn"]
    assert hits[0].score > hits[1].score


def test_a_note_that_quotes_a_turn_is_shown_once_with_the_turns_id() -> None:
    note = Candidate(passage("I adopted a beagle called Max."), 5.0, None)
    said = Candidate(
        passage("Guess what! I adopted a beagle called Max.", source="turn", session="s", turn="t1", speaker="Ann"),
        3.0,
        None,
    )
    hits = search(said, note, idf={"beagl": 2.0}).hits
    assert [(hit.passage.source, hit.passage.turn, hit.passage.speaker) for hit in hits] == [("note", "t1", "Ann")]
    hits = search(said._replace(words=9.0), note, idf={"beagl": 2.0}).hits
    assert [hit.passage.source for hit in hits] == ["turn"]


def test_a_note_that_names_its_speaker_quotes_the_turn_all_the_same() -> None:
    note = Candidate(passage("Ann: I adopted a beagle called Max."), 5.0, None)
    said = Candidate(
        passage("Guess what! I adopted a beagle called Max.", source="turn", session="s", turn="t1", speaker="Ann"),
        3.0,
        None,
    )
    assert [hit.passage.turn for hit in search(said, note, idf={"beagl": 2.0}).hits] == ["t1"]


def test_two_turns_that_say_the_same_are_both_shown() -> None:
    one = Candidate(passage("Good morning to you", source="turn", session="s", turn="t1", position=0), 3.0, None)
    two = Candidate(passage("Good morning to you", source="turn", session="s", turn="t9", position=9), 3.0, None)
    assert len(search(one, two, idf={"morn": 2.0}).hits) == 2


def test_the_limit_is_kept_and_nothing_found_is_nothing() -> None:
    many = [Candidate(passage(f"tea {n}"), float(n), None) for n in range(30)]
    assert len(search(*many, idf={"tea": 1.0}, limit=7).hits) == 7
    assert search(idf={}) == Found((), False, 0)


def test_a_turn_that_is_not_shown_itself_lends_its_id_to_the_note_that_quotes_it() -> None:
    note = Candidate(passage("I adopted a beagle called Max."), 9.0, None)
    others = [Candidate(passage(f"a beagle of somebody else, number {n}"), 5.0, None) for n in range(20)]
    said = Candidate(
        passage("Guess what! I adopted a beagle called Max.", source="turn", session="s", turn="t1", speaker="Ann"),
        1.0,
        None,
    )
    found = search(said, *others, note, idf={"beagl": 2.0}, limit=1)
    assert [(hit.passage.source, hit.passage.turn) for hit in found.hits] == [("note", "t1")]


def test_what_is_relevant_may_stand_below_what_is_shown() -> None:
    beside = [Candidate(passage(f"pedestrian {n}"), 9.0, None) for n in range(3)]
    about = Candidate(passage("zebra crossing"), 1.0, None)
    idf = {"zebra": 6.0, "cross": 5.0, "pedestrian": 3.0}
    assert search(*beside, about, idf=idf, limit=1).has_relevant
    assert not search(*beside, idf=idf, limit=1).has_relevant


def test_what_is_judged_does_not_depend_on_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """The turn says what the note says, so the entry stands for itself, even where the note need not be compared."""
    candidates = (
        Candidate(passage("nothing of the kind"), 4.0, None),
        Candidate(passage("green tea a lot"), 3.0, None),
        Candidate(passage("anna likes green tea a lot", source="turn", session="s", turn="t1"), 2.0, None),
        Candidate(passage("anna likes green", source="entry", session="s", turn="t2"), 1.0, 0.99),
    )
    ranked = [Ranked(candidate, 1.0, {}, candidate) for candidate in candidates]
    monkeypatch.setattr("memorybook.search.search.rank", lambda *_, **__: iter(ranked))
    found = Candidates(candidates, (), {}, "static/x", "scan")
    for limit in (1, 40):
        assert find("q", found, weights_for("static/x"), limit=limit, strength=lambda _: 0.0).has_relevant


@pytest.mark.parametrize(("heading", "relevant"), [("Trip to Shanghai", True), ("Trip to Shanghai > Decisions", False)])
def test_a_line_of_a_section_is_not_about_what_the_title_of_its_page_says(heading: str, relevant: bool) -> None:
    line = passage("Ann paints the bike.", source="summary", heading=heading)
    found = Candidates((Candidate(line, 1.0, 0.9, 0b1),), (), {"shanghai": 2.0}, "static/x", "scan")
    assert find("Shanghai", found, weights_for(None), limit=5, strength=lambda _: 0.0).has_relevant == relevant


@pytest.mark.parametrize("question", ["Where is the spare key?", "备用钥匙在哪里？"])
def test_the_question_itself_is_not_what_a_book_knows_about_it(question: str) -> None:
    idf = dict.fromkeys(query_words(question), 2.0)
    asked = _held(Candidate(passage(question, source="turn", session="s", turn="t1", asks=2), 5.0, None), idf)
    told = _held(Candidate(passage("The spare key 备用钥匙 is with Petrov."), 1.0, None), idf)
    alone, both = (
        find(question, Candidates(items, (), idf, None, "scan"), weights_for(None), limit=5, strength=lambda _: 0.0)
        for items in ((asked,), (asked, told))
    )
    assert ([hit.relevance for hit in alone.hits], alone.has_relevant) == ([0.0], False)
    assert ([hit.passage for hit in both.hits], both.has_relevant) == ([told.passage, asked.passage], True)


@pytest.mark.parametrize(
    ("about", "beside", "idf"),
    [
        ("saw an egret", "I talk to Ann", {"talk": 5.0, "egret": 3.0}),
        ("看到一只白鹭", "我和安聊天", {"聊天": 5.0, "白鹭": 3.0}),
    ],
)
def test_the_only_hit_about_the_question_is_first_whatever_else_speaks_for_others(
    about: str, beside: str, idf: dict[str, float]
) -> None:
    related = Candidate(passage(about), 1.0, None)
    unrelated = Candidate(passage(beside, date="2026-03-01"), 9.0, None)
    found = search(unrelated, related, idf=idf)
    assert [hit.passage.text for hit in found.hits] == [about, beside]
    assert found.hits[0].score >= found.hits[1].score
    assert found.knows == 1.0
    assert [hit.passage.text for hit in search(unrelated, related, idf=idf, limit=1).hits] == [about]


# --- snippets --------------------------------------------------------------------------------------


def test_a_short_text_is_its_own_snippet() -> None:
    assert snippet("Two lines\nof text.", {"lines"}) == "Two lines\nof text."


@pytest.mark.parametrize(
    ("filler", "needle", "words"),
    [
        ("Nothing of note happened that day. ", "The zebra crossed the road.", {"zebra", "road"}),
        ("那天没有发生什么值得记的事。", "斑马穿过了马路。", {"斑马", "马路"}),
    ],
)
def test_a_long_text_is_cut_around_the_match(filler: str, needle: str, words: set[str]) -> None:
    cut = snippet(filler * 40 + needle + filler * 40, words, width=200)
    assert needle in cut
    assert len(cut) <= 200
    assert cut.startswith("…")
    assert cut.endswith("…")


def test_one_endless_sentence_is_still_cut() -> None:
    assert len(snippet("x" * 5000, {"x"}, width=100)) <= 100


@given(st.text(st.sampled_from("a b.!?。！？；\n茶\0"), max_size=60))
def test_sentences_end_where_a_pattern_would_end_them(text: str) -> None:
    assert sentences(text) == [
        piece for piece in re.findall(r"[^\n.!?。！？；]*(?:[.!?。！？；]+|\n|$)", text) if piece
    ]


# --- reranking -----------------------------------------------------------------------------------


def test_a_reranker_has_a_say_in_the_order_of_the_best_alone() -> None:
    texts = [f"apple number {number}" for number in range(RERANKED + 5)]
    given = [Candidate(passage(text), 9.0 - place / 10, None) for place, text in enumerate(texts)]
    read: list[str] = []

    def fourth_first(_: str, best: Sequence[str]) -> list[float]:
        read.extend(best)
        return [float(text == texts[3]) for text in best]

    plain = search(*given, idf={"apple": 6.0}, limit=30)
    asked = search(*given, idf={"apple": 6.0}, limit=30, rerank=fourth_first)
    assert read == texts[:RERANKED]
    assert [hit.passage.text for hit in asked.hits] == [texts[3], *texts[:3], *texts[4:]]
    assert [hit.score for hit in asked.hits] == sorted((hit.score for hit in asked.hits), reverse=True)
    assert {hit.relevance for hit in asked.hits} == {hit.relevance for hit in plain.hits}
    assert search(*given, idf={"apple": 6.0}, limit=30, rerank=lambda *_: None).hits == plain.hits


@pytest.mark.parametrize("texts", [("red apples", "green apples"), ("红苹果", "青苹果")])
def test_a_reranker_is_told_who_spoke(texts: Sequence[str]) -> None:
    turns = [
        Candidate(passage(text, source="turn", session="s", turn=text, speaker=name), 9.0, None)
        for text, name in zip(texts, ("Ann", ""), strict=True)
    ]
    read: list[str] = []
    search(*turns, idf={"apple": 6.0, "苹果": 6.0}, rerank=lambda _, best: read.extend(best))
    assert sorted(read) == sorted([f"Ann: {texts[0]}", texts[1]])
