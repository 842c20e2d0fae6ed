from __future__ import annotations

import pytest

from memorybook.search.rank import says_nothing


@pytest.mark.parametrize(
    "text",
    [
        "Let me check.",
        "I don’t know your plate number, sorry.",
        "I don't know what cache you use. You haven't told me yet. Which is it?",
        "One moment…",
        "我不知道你的车牌号。",
        "抱歉，我目前还不清楚你的生日，请告诉我。",
        "让我查一下",
    ],
)
def test_an_answer_that_only_does_not_know_says_nothing(text: str) -> None:
    assert says_nothing(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "What is it?",
        "Let me check: the port is 8080.",
        "I don't know your number but Ann has it.",
        "I don't know why. The server is down.",
        "我不知道你的车牌号，但你的车是红色的。",
        "让我查一下。你的航班是九点四十。",
    ],
)
def test_an_answer_that_tells_something_beside_is_kept(text: str) -> None:
    assert not says_nothing(text)
