from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date

import pytest

from memorybook.search import evidence
from memorybook.search.evidence import (
    Pool,
    Sums,
    Weights,
    asked_person,
    asks_when,
    minmax,
    pool_of,
    relevance,
    says_when,
    weights_for,
    words_as_written,
    words_leg,
)
from memorybook.search.types import Candidate, Candidates, Passage
from memorybook.text.tokens import is_question, only_asks, tokens

WEIGHTS = Weights(words=0.6, vector=0.4, speaker=1.0, answer=0.5, neighbour=0.3, session=0.6, recency=0.2)


def turn(text: str, position: int, *, speaker: str = "Ann", role: str = "", session: str = "s") -> Passage:
    return Passage(
        path=f"sessions/{session}.md", start_line=0, end_line=0, text=text, source="turn", session=session,
        turn=f"t{position}", speaker=speaker, role=role, position=position,
        asks=2 if only_asks(text) else int(is_question(text)),
    )  # fmt: skip


def note(text: str, path: str = "daily/2026-01-01.md") -> Passage:
    return Passage(path, 1, 1, text, "note")


def pool(*passages: Passage) -> Pool:
    return pool_of(Candidates(tuple(Candidate(p, 1.0, None) for p in passages), (), {}, None, "scan"))


def test_minmax_spreads_what_is_known_and_leaves_the_rest_at_nothing() -> None:
    assert minmax([None, 1.0, 3.0, 2.0]) == pytest.approx([0.0, 0.001, 1.0, 0.5005])
    assert minmax([5.0, None]) == [1.0, 0.0]
    assert minmax([None]) == [0.0]


def test_neighbours_of_the_best_are_numbered_with_them() -> None:
    made = pool_of(
        Candidates((Candidate(turn("a", 3), 1.0, None),), (Candidate(turn("b", 4), None, None),), {}, None, "scan")
    )
    assert [c.passage.text for c in made.items] == ["a", "b"]
    assert made.items[1].words is None
    assert made.talks == {"s": {3: 0, 4: 1}}


def test_words_say_nothing_of_what_is_in_another_script_where_languages_are_compared() -> None:
    found = [Candidate(note("我姐姐对坚果过敏"), 4.0, 0.1), Candidate(note("My sister is allergic"), None, 0.9)]
    both = pool_of(Candidates(tuple(found), (), {}, "multilingual/x", "scan"))
    across, apart = (evidence.WEIGHTS[name]._replace(words=0.6) for name in ("multilingual", "static"))
    assert words_leg("我姐姐对什么过敏", both, across) == [0.6, 0.6]
    assert words_leg("Is she allergic?", both, across) == pytest.approx([0.6, 0.0], abs=0.001)
    assert words_leg("我姐姐对什么过敏", both, apart) == [0.6, 0.0]


@pytest.mark.parametrize(
    ("question", "speakers", "asked"),
    [
        ("Where did Caroline go?", {"Caroline", "Melanie"}, {"Caroline"}),
        ("caroline's dog", {"Caroline"}, {"Caroline"}),
        ("Carolines everywhere", {"Caroline"}, set()),
        ("顾怀川住在哪里", {"顾怀川", "小满"}, {"顾怀川"}),
        ("What about you?", {"", "Ann"}, set()),
        ("my dog", {"Ann"}, {"user"}),
        ("what I've read", {"Ann"}, {"user"}),
        ("咱们去哪了", {"小满"}, {"user"}),
        ("what's Bob’s colour?", {"S", "Bob"}, {"Bob"}),
        ("Bob喜欢什么", {"Bob"}, {"Bob"}),
        ("where is 'O'Brien'", {"Pat O'Brien"}, {"Pat O'Brien"}),
    ],
)
def test_who_is_asked_about(question: str, speakers: set[str], asked: set[str]) -> None:
    assert asked_person(question, frozenset(speakers)) == asked


def speakers_share(question: str, *passages: Passage) -> list[float]:
    return evidence.speaker(question, pool(*passages), WEIGHTS)


@pytest.mark.parametrize(("question", "name"), [("Where does Ann live?", "Ann"), ("小满住在哪里", "小满")])
def test_what_the_named_person_said_is_preferred(question: str, name: str) -> None:
    said = [turn("here", 0, speaker=name), turn("here", 1, speaker="Bob")]
    assert speakers_share(question, *said) == [1.0, 0.0]


def test_a_note_that_names_the_person_counts_half() -> None:
    assert speakers_share("Where does Ann live?", turn("x", 0), note("Ann lives here"), note("Bob")) == [1.0, 0.5, 0.0]


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("Also, almonds from Alabama", 0.0), ("Bob's and Al's tea", 0.5), ("Also Al", 0.5), ("Al喜欢茶", 0.5),
        ("(Al)", 0.5), ("al dente", 0.0),
    ],
)  # fmt: skip
def test_a_name_is_no_part_of_a_word(text: str, share: float) -> None:
    assert speakers_share("what does Al like?", turn("x", 0, speaker="Al"), note(text)) == [1.0, share]


@pytest.mark.parametrize("question", ["Where do I live?", "我住在哪里", "咱住在哪里"])
def test_what_is_written_in_the_book_may_be_about_its_user(question: str) -> None:
    summary = note("x")._replace(source="summary")
    assert speakers_share(question, note("Lives in Turku"), summary) == [0.5, 0.0]


def test_an_entry_counts_as_said_by_the_user() -> None:
    entry = note("Lives in Turku")._replace(source="entry", entry="abc234")
    assert speakers_share("Where do I live?", entry, note("x")) == [1.0, 0.5]


@pytest.mark.parametrize("text", ["Where do I live?", "我住在哪里？"])
def test_who_only_asks_says_nothing_of_anybody(text: str) -> None:
    asked, told = (turn(said, n, speaker="user", role="user") for n, said in enumerate((text, f"In Turku. {text}")))
    assert speakers_share(text, asked, told) == [0.0, 1.0]


def test_an_entry_that_rests_on_a_turn_is_of_its_speaker() -> None:
    entry = note("Bob swims")._replace(source="entry", session="s", turn="t1")
    share = speakers_share("what do I like", entry, turn("I swim", 1, speaker="Bob", role="assistant"))
    assert share == [0.0, 0.0]
    share = speakers_share("what do I like", entry, turn("I swim", 1, speaker="user", role="user"))
    assert share == [1.0, 1.0]


def test_a_question_about_nobody_prefers_nobody() -> None:
    assert speakers_share("Which colour?", turn("red", 0), note("Ann")) == [0.0, 0.0]


def test_a_turn_after_a_question_inherits_from_it() -> None:
    asked, reply = turn("What breed is your dog?", 3), turn("A beagle!", 4, speaker="Bob")
    assert evidence.answer([0.8, 0.0], pool(asked, reply), WEIGHTS) == pytest.approx([0.0, 0.4])


def test_a_turn_after_a_statement_inherits_nothing() -> None:
    said, reply = turn("My dog is a beagle.", 3), turn("How nice", 4)
    assert evidence.answer([0.8, 0.0], pool(said, reply), WEIGHTS) == [0.0, 0.0]


def test_neighbours_share_less_the_further_they_are() -> None:
    talk = [turn("x", position) for position in range(5)]
    smoothed = evidence.neighbour([1.0, 0.0, 0.0, 0.0, 0.0], pool(*talk), WEIGHTS)
    assert smoothed == pytest.approx([0.0, 0.3, 0.2, 0.1, 0.0])


def test_a_neighbour_of_another_session_shares_nothing() -> None:
    apart = pool(turn("What breed?", 3), turn("A beagle!", 4, session="other"))
    assert evidence.neighbour([1.0, 0.0], apart, WEIGHTS) == [0.0, 0.0]
    assert evidence.answer([1.0, 0.0], apart, WEIGHTS) == [0.0, 0.0]


def test_the_three_best_others_of_a_session_speak_for_a_turn() -> None:
    together = [turn("x", 10 * n) for n in range(5)]
    alone = turn("x", 0, session="other")
    shared = evidence.session([0.9, 0.6, 0.3, 0.3, 0.0, 0.9], pool(*together, alone), WEIGHTS)
    assert shared == pytest.approx([0.24, 0.3, 0.36, 0.36, 0.36, 0.0])


def test_turns_next_to_each_other_do_not_speak_for_each_other() -> None:
    talk = pool(turn("x", 1), turn("x", 2), turn("x", 3))
    assert evidence.session([0.9, 0.6, 0.3], talk, WEIGHTS) == pytest.approx([0.06, 0.0, 0.18])


def test_passages_of_one_document_speak_for_each_other() -> None:
    shared = evidence.session([0.6, 0.3, 0.9], pool(note("a"), note("b"), note("c", "other.md")), WEIGHTS)
    assert shared == pytest.approx([0.06, 0.12, 0.0])


def test_a_summary_does_not_speak_for_the_turns_it_repeats() -> None:
    summary = turn("x", 0)._replace(source="summary", position=-1, turn=None)
    assert evidence.session([0.6, 0.9], pool(turn("x", 0), summary), WEIGHTS) == pytest.approx([0.0, 0.12])


@pytest.mark.parametrize("question", ["Did you see my dog?", "你见过我的狗吗？"])
def test_what_only_asks_is_put_behind(question: str) -> None:
    assert evidence.asking(pool(turn(question, 0), turn("I saw it.", 1)), WEIGHTS) == [-WEIGHTS.asking, 0.0]


def test_coverage_is_the_share_of_the_questions_weight_that_a_passage_holds() -> None:
    weights = WEIGHTS._replace(coverage=0.9)
    made = pool_of(
        Candidates(tuple(Candidate(note("x"), 1.0, None, holds) for holds in (0, 0b100, 0b111)), (), {}, None, "scan")
    )
    idf = {"quantum": 8.0, "physic": 8.0, "book": 2.0}
    assert evidence.coverage(made, idf, weights) == pytest.approx([0.0, 0.1, 0.9])
    assert evidence.coverage(pool(note("x")), {}, weights) == [0.0]


def test_talk_between_people_ages_less_than_notes_do() -> None:
    said = turn("x", 0, speaker="Ann", role="user")
    dated = [
        p._replace(date=day) for p in (said, said._replace(speaker="user")) for day in ("2026-01-01", "2026-01-11")
    ]
    assert evidence.recency(pool(*dated), WEIGHTS) == pytest.approx([0.0, 0.2 * evidence.TALK, 0.0, 0.2])


def test_recency_runs_from_the_oldest_to_the_newest() -> None:
    dated = [note("x")._replace(date=day) for day in ("2026-01-01", "2026-01-06", "2026-01-11", None)]
    assert evidence.recency(pool(*dated), WEIGHTS) == pytest.approx([0.0, 0.1, 0.2, 0.0])
    assert evidence.recency(pool(dated[0], dated[0], dated[3]), WEIGHTS) == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("question", ["What happened in May 2026?", "2026年5月发生了什么"])
def test_what_is_of_the_days_asked_for_is_preferred(question: str) -> None:
    dated = [note("x")._replace(date=day) for day in ("2026-04-30", "2026-05-10", "2026-06-07", None)]
    assert evidence.dated(question, pool(*dated), WEIGHTS, None) == pytest.approx(
        [0.0, WEIGHTS.dated, WEIGHTS.dated * (1 - 7 / 15) / 2, 0.0]
    )


def test_yesterday_is_counted_from_today() -> None:
    dated = [note("x")._replace(date=day) for day in ("2026-05-09", "2026-05-10")]
    assert evidence.dated("what did I eat yesterday", pool(*dated), WEIGHTS, date(2026, 5, 10)) == [
        WEIGHTS.dated,
        pytest.approx(WEIGHTS.dated * (1 - 1 / 15) / 2),
    ]
    assert evidence.dated("what did I eat yesterday", pool(*dated), WEIGHTS, None) == [0.0, 0.0]


def test_a_day_that_the_calendar_does_not_have_is_none() -> None:
    dated = [note("x")._replace(date=day) for day in ("2026-02-30", "2026-02-01", "2026-02-11")]
    assert evidence.recency(pool(*dated), WEIGHTS) == pytest.approx([0.0, 0.0, 0.2])
    assert evidence.dated("in February 2026", pool(*dated), WEIGHTS, None) == [0.0, WEIGHTS.dated, WEIGHTS.dated]


# --- words as they are written ---------------------------------------------------------------------


def test_words_are_read_as_they_are_written() -> None:
    assert words_as_written("It's (May 7th)… 是的，好") == ["it", "s", "may", "7th", "是的", "好"]


ASKING = (
    "When did Caroline move? | What year was it? | how long did it take | 我们什么时候搬的家 | 苏眠生日是几月几号？ |"
    " 哪天删的旧库 | 她是哪个月来的 | 哪几天下雨 | 住了多少天 | 那是什么日子 | 他多会儿回来 |"
    " And how many days did she stay? | how many of them, and how many years?"
)
ASKING_ELSE = (
    "Where does she live? | Whenever is a word | 我喜欢什么茶 | 几个人来了 | how many | For many days how many dogs?"
)
DATED = (
    "I went there last Tuesday. | It was 2021 | on the 7th | 昨天去了 | 5月3日搬家 | 上周三开会 | 去年 | 前天 |"
    " 后天见 | 昨晚没睡 | 明早走 | 最近很忙 | 三天前 | 两个月前 | 半年前 | ５年前 | 周天 | 二〇二〇年 | ３月５日"
)
UNDATED = "I like the sea. | 我喜欢大海 | blast | 春天前往大海 | 前面"


@pytest.mark.parametrize(
    ("of", "texts", "expected"),
    [
        (asks_when, ASKING, True),
        (asks_when, ASKING_ELSE, False),
        (says_when, DATED, True),
        (says_when, UNDATED, False),
    ],
)
def test_what_asks_for_a_time_and_what_tells_one(of: Callable[[str], bool], texts: str, expected: bool) -> None:
    for text in texts.split(" | "):
        assert of(text.strip()) is expected, text


# --- relevance -------------------------------------------------------------------------------------

WORDS_ONLY = weights_for(None)
HYBRID = weights_for("static/x")
IDF = {"quantum": 8.0, "physic": 8.0, "book": 2.0}


def judged(
    text: str, idf: Mapping[str, float] = IDF, weights: Weights = HYBRID, *, cosine: float | None = None
) -> float:
    holds = sum(1 << number for number, word in enumerate(idf) if word in tokens(text))
    return relevance(idf, weights)(Candidate(Passage("a.md", 1, 1, text, "note"), 1.0, cosine, holds))


def test_gains_are_summed_over_the_words_that_are_held() -> None:
    sums = Sums([5.0, 2.0, 1.0])
    assert [sums[0], sums[0b101], sums[0b111], sums[0b101]] == [0.0, 6.0, 8.0, 6.0]


def test_relevance_is_the_share_of_the_questions_weight() -> None:
    assert judged("a book") == pytest.approx(2 / 18)
    assert judged("quantum physics books") == 1.0
    assert judged("nothing") == 0.0
    assert judged("nothing", {}) == 0.0


def test_relevance_takes_the_calibrated_cosine_if_it_is_larger() -> None:
    wide, narrow = (weights_for("static/x", unrelated=cosine) for cosine in (0.2, 0.8))
    for weights, cosines in ((wide, (0.2, 0.38, 0.56)), (narrow, (0.8, 0.845, 0.89))):
        assert [judged("nothing", weights=weights, cosine=one) for one in cosines] == pytest.approx([0.0, 0.5, 1.0])
    assert judged("nothing", weights=WORDS_ONLY, cosine=0.9) == 0.0


def test_single_chinese_characters_do_not_make_a_text_relevant() -> None:
    idf = {"量": 3.0, "子": 2.0, "量子": 8.0}
    assert judged("数量很多的孩子", idf) == 0.0
    assert judged("量子", idf) == 1.0
    assert judged("一匹马", {"马": 3.0}) == 1.0


def test_that_something_was_talked_about_is_not_what_is_asked_for() -> None:
    assert judged("saw an egret", {"talk": 8.0, "egret": 3.0}) == 1.0
    assert judged("看到白鹭", {"讨论": 8.0, "白鹭": 3.0}) == 1.0
    assert judged("the talk in Ghent", {"talk": 8.0}) == 1.0


def test_a_long_question_need_not_be_repeated_whole() -> None:
    idf = {f"word{number}": 5.0 for number in range(16)}
    assert judged("word0 word1 word2 word3", idf) == pytest.approx(0.5)


def test_the_words_of_a_very_long_question_are_summed() -> None:
    assert Sums([1.0] * 5000)[(1 << 5000) - 1] == 5000.0
