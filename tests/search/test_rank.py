from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import pytest

from memorybook.search.evidence import Weights, pool_of, weights_for
from memorybook.search.search import READ, Ranked, echoes, rank, repeated, says_nothing
from memorybook.search.types import Candidate, Candidates, Passage
from memorybook.text.tokens import is_question, only_asks, query_words, tokens

WORDS_ONLY = weights_for(None)
HYBRID = weights_for("static/x")


def turn(text: str, position: int, *, speaker: str = "Ann", role: str = "", date: str | None = None) -> Passage:
    return Passage(
        path="sessions/s.md", start_line=0, end_line=0, text=text, source="turn", session="s", turn=f"t{position}",
        speaker=speaker, role=role, position=position, date=date, asks=2 if only_asks(text) else int(is_question(text)),
    )  # fmt: skip


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


# --- repeated ---------------------------------------------------------------------------------------

REPEATING = Weights(words=1.0, vector=0.0, repeated=0.5)
DRAFT = "The garden trip begins on the first of June in Kyoto."
AGREED = "Agreed: the garden trip begins on the first of June in Kyoto, by night train."
DRAFT_ZH = "京都之旅从六月一日开始，一共要去七天，住在同一家旅馆。"
AGREED_ZH = "京都之旅从六月一日开始，一共要去七天，住在同一家旅馆，坐夜车去。"
OTHER_ZH = "我们下次再谈京都之旅的旅馆，还有夜车的车票吧。"
PLAN = Passage("notes/plan.md", 1, 1, DRAFT, "document")


def note(text: str, line: int, path: str = "daily/2026-01-01.md") -> Passage:
    return Passage(path, line, line, text, "note")


def discounts(*passages: Passage, holds: tuple[int, ...] = ()) -> list[float]:
    held = holds or (0,) * len(passages)
    items = tuple(Candidate(p, 1.0, None, h) for p, h in zip(passages, held, strict=True))
    return repeated(pool_of(Candidates(items, (), {}, None, "scan")), range(len(passages)), REPEATING)


@pytest.mark.parametrize(
    ("passages", "again"),
    [
        ([turn(DRAFT, 1), turn(AGREED, 2)], [1, 0]),
        ([turn(AGREED, 2), turn(DRAFT, 1)], [0, 1]),
        ([turn(DRAFT, 1), turn(AGREED, 5), turn(DRAFT, 3)], [1, 0, 1]),
        ([turn(AGREED, 1), turn("In Kyoto, by night train.", 2)], [0, 0]),
        ([turn(DRAFT, 1), turn(DRAFT.replace("first", "second"), 2)], [1, 0]),
        ([note(DRAFT, 3), note(AGREED, 9)], [1, 0]),
        ([note(DRAFT, 3), note(AGREED, 9, "daily/2026-01-02.md")], [0, 0]),
        ([turn(DRAFT_ZH, 1), turn(AGREED_ZH, 2)], [1, 0]),
        ([turn(DRAFT_ZH, 1), turn(OTHER_ZH, 2)], [0, 0]),
        ([turn(DRAFT, 1), turn(AGREED, 2, speaker="user")], [0, 0]),
        ([turn(DRAFT, 1), turn(AGREED, 2)._replace(session="other")], [0, 0]),
        ([turn("Yes, please.", 1), turn("Yes, please, a red one.", 2)], [0, 0]),
        ([turn("-" * 30, 1), turn("-" * 30, 2)], [0, 0]),
        ([PLAN, PLAN._replace(start_line=5, end_line=5)], [0, 0]),
    ],
)
def test_what_is_said_again_later_is_discounted(passages: list[Passage], again: list[int]) -> None:
    assert discounts(*passages) == [-0.5 * times for times in again]


def test_what_lacks_a_word_of_the_question_repeats_nothing() -> None:
    assert discounts(turn(DRAFT, 1), turn(AGREED, 2), holds=(0b11, 0b10)) == [0.0, 0.0]
    assert discounts(turn(DRAFT, 1), turn(AGREED, 2), holds=(0b10, 0b11)) == [-0.5, 0.0]


def test_only_the_best_candidates_are_compared() -> None:
    others = [turn(f"Something of its own, number {n}.", 10 * n)._replace(session=f"s{n}") for n in range(READ)]
    assert discounts(*others, turn(DRAFT, 1), turn(AGREED, 2)) == [0.0] * (READ + 2)


def test_the_later_of_two_drafts_comes_first_and_the_reason_is_shown() -> None:
    texts = ((DRAFT, 1, 2.0), (AGREED, 2, 1.9), ("Something else that was said.", 9, 0.1))
    items = [Candidate(turn(text, position), words, None) for text, position, words in texts]
    ranked = list(rank("q", found(*items), REPEATING, strength=lambda _: 0.0, explain=True))
    assert ranked[0].candidate.passage.text == AGREED
    assert [r.why["repeated"] for r in ranked if "repeated" in r.why] == [-0.5]


# --- newer: what says that something changed stands before what was said until then -----------------


def said(text: str, date: str, **fields: Any) -> Passage:
    turn = Passage("", 0, 0, text, "turn", date=date, session=date, turn=date, speaker="user", role="user", position=0)
    return turn._replace(**fields)


def ranked_by_words(question: str, *passages: Passage) -> list[Ranked]:
    """The first passage is the best by its words, the others nearly as good."""
    idf = dict.fromkeys(query_words(question), 4.0)
    items = []
    for number, passage in enumerate(passages):
        words = tokens(passage.text)
        holds = sum(1 << place for place, word in enumerate(idf) if word in words)
        items.append(Candidate(passage, 9.0 - number, None, holds))
    found = Candidates(tuple(items), (), idf, None, "scan")
    return list(rank(question, found, weights_for(None), strength=lambda _: 0.0, explain=True))


def dates(question: str, *passages: Passage) -> list[str | None]:
    return [one.candidate.passage.date for one in ranked_by_words(question, *passages)]


OLD, NEW = "2026-01-11", "2026-03-01"
RENT = (
    "What do I pay the landlady?",
    "I pay the landlady 1150, the contract renews",
    "The contract changed, it is 1240",
)
CLASS = ("我星期几去练瑜伽？", "我的瑜伽课在周三，老师姓丁", "丁老师那个瑜伽课改到周五了，老师姓丁")


@pytest.mark.parametrize(("question", "old", "new"), [RENT, CLASS])
def test_a_change_stands_before_what_it_changed(question: str, old: str, new: str) -> None:
    assert dates(question, said(old, OLD), said(new, NEW)) == [NEW, OLD]


@pytest.mark.parametrize(("question", "old", "new"), [RENT, CLASS])
def test_the_order_of_days_decides_not_that_of_the_words(question: str, old: str, new: str) -> None:
    assert dates(question, said(old, NEW), said(new, OLD))[0] == NEW


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        (RENT[0], RENT[1], "I switched to decaf"),
        (CLASS[0], CLASS[1], "咖啡换成低因的了"),
        (RENT[0], RENT[1], "The contract lies on the desk"),
        (CLASS[0], CLASS[1], "丁老师很严格，老师姓丁"),
    ],
)
def test_neither_another_point_nor_no_change_comes_first(question: str, old: str, new: str) -> None:
    assert dates(question, said(old, OLD), said(new, NEW))[0] == OLD


def test_what_others_say_changes_nothing() -> None:
    question, old, new = RENT
    for other in ({"role": "assistant", "speaker": "assistant"}, {"role": "", "speaker": "Bob"}, {"role": "tool"}):
        assert dates(question, said(old, OLD), said(new, NEW, **other))[0] == OLD


def test_the_components_still_add_up_and_the_scores_descend() -> None:
    question, old, new = RENT
    found = ranked_by_words(question, said(old, OLD), said(new, NEW), said("unrelated", NEW, turn="t3"))
    assert found[0].why["newer"] > 0
    for one in found:
        assert sum(one.why.values()) == pytest.approx(one.score)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


# --- echoes -----------------------------------------------------------------------------------------


def echoed(question: str, text: str, source: Literal["turn", "summary", "entry"] = "turn") -> bool | None:
    """Whether a passage found by the words that it shares with the question is its echo, and asks it."""
    passage = Passage("p.md", 1, 1, text, source, asks=2 if source == "turn" and only_asks(text) else 0)
    asked = dict.fromkeys(query_words(question), 1.0)
    holds = sum(1 << n for n, word in enumerate(asked) if word in {*query_words(text)})
    pool = pool_of(found(Candidate(passage, 1.0, None, holds)))
    return echoes(question, pool, asked).asks.get(0)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When am I going to Shanghai?", "when do I go to Shanghai"),
        ("Where is the spare key?", "Hi! Can you tell me where the spare key is?"),
        ("Tell me the names of my cats, please.", "What are the names of my cats?"),
        ("which file loads the config", "which file loads the config"),
        ("spare key", "Where is the spare key?"),
        ("我什么时候去上海？", "我什么时候去上海来着？"),
        ("请问备用钥匙在哪里", "帮我查一下备用钥匙在哪儿"),
        ("备用钥匙", "备用钥匙在哪里？"),
        ("谁是我的法律顾问？", "谁是我的法律顾问？"),
        ("会议是星期几", "会议是星期几"),
    ],
)
def test_a_question_asked_before_is_an_echo(question: str, text: str) -> None:
    assert echoed(question, text) is True


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("spare key", "Spare key"), ("备用钥匙", "备用钥匙。"), ("我什么时候去上海？", "上海"),
        ("Where is my passport?", "passport"), ("I like green tea", "I like green tea"),
    ],
)  # fmt: skip
def test_what_has_its_text_or_a_word_of_it_does_not_ask(question: str, text: str) -> None:
    assert echoed(question, text) is False


@pytest.mark.parametrize("reply", ["Assistant: Let me check.", "User: Thanks!"])
def test_a_summary_that_only_repeats_the_question_is_an_echo(reply: str) -> None:
    assert echoed("我什么时候去上海？", "我什么时候去上海？", "summary")
    assert echoed("deploy key", "deploy key", "summary")
    assert echoed("Where is the spare key?", f"User: where is the spare key?\n{reply}", "summary")
    assert not echoed(
        "Where is the spare key?", f"User: where is the spare key?\n{reply}\nUser: I lost a key.", "summary"
    )


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When am I going to Shanghai?", "I am going to Shanghai on Tuesday."),
        ("When am I going to Shanghai?", "When am I going to Shanghai? I booked the train for Tuesday."),
        ("When am I flying to Shanghai?", "I'm flying to Shanghai on Tuesday, can you remind me?"),
        ("When does my flight to Oslo leave?", "My flight to Oslo leaves at 6, doesn't it?"),
        ("When am I going to Shanghai?", "Which hotel did we book in Shanghai?"),
        ("What did I ask about the spare key?", "Where is the spare key?"),
        ("Did we talk about where I should stay in Shanghai?", "Where should I stay in Shanghai?"),
        ("我问过备用钥匙吗？", "备用钥匙在哪里？"),
        ("我提到过上海吗", "上海怎么样？"),
        ("我什么时候去上海？", "我下周二去上海。"),
        ("我表妹在广州上班吗？", "我表妹在广州上班呢。"),
        ("尿酸复查是约在5月16号吗？", "尿酸复查我约在 5 月 16 号"),
        ("Does Will live in Oslo?", "Will lives in Oslo"),
        ("When do I check the oven?", "Check the oven at 5"),
        ("where are the can openers in the drawer", "Can openers are in the drawer"),
        ("spare key", "The spare key is with Petrov"),
        ("how are you?", "I am fine"),
    ],
)
def test_what_says_something_is_none(question: str, text: str) -> None:
    assert echoed(question, text) is None


def test_an_entry_is_no_echo_even_if_it_is_a_question() -> None:
    assert echoed("Who is on call?", "Who is on call?", "entry") is None


# --- empty answers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Let me check.", "I don’t know your plate number, sorry.",
        "I don't know what cache you use. You haven't told me yet. Which is it?", "One moment…", "我不知道你的车牌号。",
        "抱歉，我目前还不清楚你的生日，请告诉我。", "让我查一下",
        "申し訳ありません、それについては何も覚えていません。", "はい、確認します。",
        "죄송합니다, 그것에 대해서는 기억나는 것이 없습니다.", "네, 잠시만요.",
        "К сожалению, об этом я ничего не знаю.",
    ],
)  # fmt: skip
def test_an_answer_that_only_does_not_know_says_nothing(text: str) -> None:
    assert says_nothing(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "What is it?", "Let me check: the port is 8080.", "I don't know your number but Ann has it.",
        "I don't know why. The server is down.", "我不知道你的车牌号，但你的车是红色的。",
        "让我查一下。你的航班是九点四十。", "確認します。便は九時です。",
        "모르겠습니다. 비행기는 아홉 시에 출발합니다.", "Сейчас проверю. Рейс в девять.",
    ],
)  # fmt: skip
def test_an_answer_that_tells_something_beside_is_kept(text: str) -> None:
    assert not says_nothing(text)
