from __future__ import annotations

import pytest

from memorybook.hits import Candidate, Passage
from memorybook.recall.echoes import echoes
from memorybook.text.tokens import query_words


def passage(text: str, source: str = "turn") -> Passage:
    return Passage("p.md", 1, 1, text, "entry" if source == "entry" else "turn" if source == "turn" else "summary",
                   entry="abc234" if source == "entry" else None)  # fmt: skip


def echoed(question: str, text: str, source: str = "turn") -> bool:
    """Whether a passage found by the words that it shares with the question is its echo."""
    asked = dict.fromkeys(query_words(question), 1.0)
    holds = sum(1 << n for n, word in enumerate(asked) if word in {*query_words(text)})
    return echoes(question, [Candidate(passage(text, source), 1.0, None, holds)], asked) == {0}


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When am I going to Shanghai?", "when do I go to Shanghai"),
        ("Where is the spare key?", "Hi! Can you tell me where the spare key is?"),
        ("Tell me the names of my cats, please.", "What are the names of my cats?"),
        ("我什么时候去上海？", "我什么时候去上海来着？"),
        ("请问备用钥匙在哪里", "帮我查一下备用钥匙在哪儿"),
        ("spare key", "Spare key"),
        ("备用钥匙", "备用钥匙。"),
        ("hey is Gareth back yet or not", "Hey is Gareth back yet or not"),
    ],
)
def test_a_question_asked_before_is_an_echo(question: str, text: str) -> None:
    assert echoed(question, text)


@pytest.mark.parametrize("reply", ["Assistant: Let me check.", "User: Thanks!"])
def test_a_summary_that_only_repeats_the_question_is_an_echo(reply: str) -> None:
    assert echoed("我什么时候去上海？", "我什么时候去上海？", "summary")
    assert echoed("Where is the spare key?", f"User: where is the spare key\n{reply}", "summary")
    assert not echoed(
        "Where is the spare key?", f"User: where is the spare key\n{reply}\nUser: I lost a key.", "summary"
    )


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When am I going to Shanghai?", "I am going to Shanghai on Tuesday."),
        ("When am I going to Shanghai?", "When am I going to Shanghai? I booked the train for Tuesday."),
        ("When am I going to Shanghai?", "Which hotel did we book in Shanghai?"),
        ("What did I ask about the spare key?", "Where is the spare key?"),
        ("我问过备用钥匙吗？", "备用钥匙在哪里？"),
        ("我什么时候去上海？", "我下周二去上海。"),
        ("I like green tea", "I like green tea in the morning"),
        ("spare key", "The spare key is with Petrov"),
        ("how are you?", "I am fine"),
    ],
)
def test_what_says_something_is_none(question: str, text: str) -> None:
    assert not echoed(question, text)


def test_an_entry_is_no_echo_even_if_it_is_a_question() -> None:
    assert not echoed("Who is on call?", "Who is on call?", "entry")
