from __future__ import annotations

from itertools import chain, pairwise

import pytest

from memorybook.text.synonyms import FIRST
from memorybook.text.tokens import is_telling, query_words, tokens


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("老婆的生日", "我妻子的生日是五月三日"),
        ("男朋友叫什么", "他的男友叫陈越"),
        ("西红柿", "番茄"),
        ("马铃薯", "土豆"),
        ("礼拜三的会", "每星期三开会"),
        ("我的家庭地址", "家庭住址在文华路"),
    ],
)
def test_a_word_is_found_by_another_of_its_meaning(asked: str, said: str) -> None:
    told = [word for word in query_words(asked) if len(word) > 1]
    assert set(told) & set(tokens(said)) - set(map("".join, pairwise(asked)))


def test_every_word_has_one_meaning_and_is_cut_out_whole() -> None:
    words = [*chain(FIRST, set(FIRST.values()))]
    assert len(words) == len(set(words))
    assert {len(word) for word in words} == {2}
    assert all(tokens(word)[1] == FIRST.get(word, word) for word in words)


def test_no_word_says_less_for_another_one() -> None:
    """A word that tells something does not count as one that tells nothing, but for words of days."""
    assert {word for word, first in FIRST.items() if is_telling(word) and not is_telling(first)} == set(
        "今日 昨日 明日 天天".split()
    )


def test_what_is_no_word_stays_as_it_is() -> None:
    assert tokens("老树") == ["老", "老树", "树"]
    assert tokens("妻") == ["妻"]
