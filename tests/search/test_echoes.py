from __future__ import annotations

from typing import Literal

import pytest

from memorybook.search.evidence import pool_of
from memorybook.search.rank import echoes
from memorybook.search.types import Candidate, Candidates, Passage
from memorybook.text.tokens import query_words
from memorybook.text.utterances import only_asks


def echoed(question: str, text: str, source: Literal["turn", "summary", "entry"] = "turn") -> bool | None:
    """Whether a passage found by the words that it shares with the question is its echo, and asks it."""
    passage = Passage("p.md", 1, 1, text, source, asks=2 if source == "turn" and only_asks(text) else 0)
    asked = dict.fromkeys(query_words(question), 1.0)
    holds = sum(1 << n for n, word in enumerate(asked) if word in {*query_words(text)})
    found = Candidates((Candidate(passage, 1.0, None, holds),), (), asked, None, "scan")
    return echoes(question, pool_of(found), asked).asks.get(0)


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
        ("spare key", "Spare key"),
        ("备用钥匙", "备用钥匙。"),
        ("我什么时候去上海？", "上海"),
        ("Where is my passport?", "passport"),
        ("I like green tea", "I like green tea"),
    ],
)
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
