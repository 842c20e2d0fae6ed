"""What changed stands before what it changed: of two statements on one point the newer is the better answer."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from math import log
from operator import add

from memorybook._light import AbstractSet, Mapping, Sequence
from memorybook.search.evidence import Component, Pool
from memorybook.search.types import Passage
from memorybook.text.tokens import is_stop_word, is_telling, tokens

READ = 30
"""How many of the best candidates are compared with each other."""

ON_ONE_POINT = 2.0
"""Sum of log(1 + `READ` / n) over the words that two texts have in common beside the question's, n being how many of
the best have the word, from which both are on one point: one word that at most four have, or two that more have. A pair
of Chinese characters counts half: two texts on one point have several."""

LEAST = 0.3
"""Share of the score of the older that the newer has at least: what has nothing to do with the question stays below."""

_MARKS = str.maketrans("?.,:;!()", " " * 8)

LONGEST = 240
"""Characters of a text that are compared."""

_CHANGE = frozenset(
    "now nowaday anymor instead actual decid final switch move chang replac swap push postpon cancel drop upgrad becom"
    " becam".split()
)
_CHANGE_PHRASES = (
    " no longer ",
    " any more ",
    " no more ",
    " these days ",
    " after all ",
    " in the end ",
    " turns out ",
    " as of ",
    " from next ",
    " goes up ",
    " goes down ",
    " went up ",
    " went down ",
    " go up ",
    " go down ",
    " going up ",
    " going down ",
    " back to ",
)
_CHANGE_ZH = "改 换 转 不再 现在 如今 变成 变了 取消 定了 定在 定下 最后 最终 终于 涨 降 推迟 提前 以后 不是".split()


def newer_first(
    pool: Pool, ranked: Sequence[int], scores: Sequence[float], idf: Mapping[str, float]
) -> tuple[list[int], Component]:
    """The ranking in which what says that something changed stands before what was said of it until then.

    The newer comes right before the older if both are what one person said, or was written down, on different days,
    they are on one point, and the newer speaks of a change. Turns of which it is not known that the user said them
    stay where they are: what two people say of one thing is no change.

    Args:
        pool: The candidates.
        ranked: Their numbers, best first.
        scores: Of all candidates, by number.
        idf: See `Candidates.idf`.

    Returns:
        The numbers, best first, and what each gained: the newer has the score of the older then.
    """
    gained = [0.0] * len(scores)
    best = [number for number in ranked[:READ] if _is_told(pool.passages[number])]
    if len({pool.passages[number].date for number in best}) < 2:
        return list(ranked), gained
    changes = {number for number in best if speaks_of_change(pool.passages[number].text)}
    if not changes:
        return list(ranked), gained
    words = {number: _words(pool.passages[number].text) for number in best}
    said = frozenset(chain.from_iterable(words[number] for number in changes))
    words = {number: held & said for number, held in words.items()}
    common = Counter(chain.from_iterable(words.values()))
    worth = {word: _worth(word, n) for word, n in common.items() if n > 1 and word not in idf and _tells(word)}
    rare = {number: held & worth.keys() for number, held in words.items()}
    order: list[int] = []
    for number in ranked[:READ]:
        at = len(order)
        if number in changes and rare[number]:
            newer = pool.passages[number]
            at = next(
                (
                    place
                    for place, older in enumerate(order)
                    if not rare[number].isdisjoint(rare.get(older, ()))
                    and _is_later(newer, pool.passages[older])
                    and scores[number] >= LEAST * scores[older]
                    and sum(worth[word] for word in rare[number] & rare[older]) >= ON_ONE_POINT
                ),
                at,
            )
        if at < len(order):
            gained[number] = max(0.0, scores[order[at]] + gained[order[at]] - scores[number])
        order.insert(at, number)
    return [*order, *ranked[READ:]], gained


def speaks_of_change(text: str) -> bool:
    """Whether a text, English or Chinese, has a word for a change, for its outcome, or for how things are by now.

    >>> [speaks_of_change(text) for text in ("The rent went up.", "I've switched to decaf.", "The rent is high.")]
    [True, True, False]
    >>> [speaks_of_change(text) for text in ("瑜伽课改到周五了", "瑜伽课在周三")]
    [True, False]
    """
    if _is_spaceless(text):
        return any(word in text for word in _CHANGE_ZH)
    if not _CHANGE.isdisjoint(tokens(text)):
        return True
    spaced = f" {' '.join(text.lower().replace(',', ' ').replace('.', ' ').split())} "
    return any(phrase in spaced for phrase in _CHANGE_PHRASES)


def _is_told(passage: Passage) -> bool:
    """Whether it is dated, and the user's word or written down; a question tells nothing."""
    if not passage.date or passage.asks == 2:
        return False
    return passage.role == "user" if passage.source == "turn" else passage.source in ("entry", "note")


def _is_later(passage: Passage, than: Passage) -> bool:
    """Whether it is from a later day and not known to be somebody else's word."""
    if (passage.date or "") <= (than.date or ""):
        return False
    return passage.speaker == than.speaker or "turn" not in (passage.source, than.source) or not than.speaker


def _words(text: str) -> AbstractSet[str]:
    """The words a text begins with; of a Chinese one its pairs of characters, and its Latin words as written."""
    if not _is_spaceless(text):
        return frozenset(tokens(text[:LONGEST]))
    text = text[:LONGEST]
    latin = text.encode("ascii", "replace").decode("ascii").lower().translate(_MARKS).split()
    return frozenset(chain(map(add, text, text[1:]), latin))


def _is_spaceless(text: str) -> bool:
    """Whether there is Chinese, or another script without spaces, in a text."""
    return not text.isascii() and max(text) >= "\u2e80"


def _tells(word: str) -> bool:
    if word.isascii():
        return len(word) > 2 and not is_stop_word(word)
    return len(word) == 2 and min(word) >= "\u2e80" and word.isalpha() and is_telling(word)


def _worth(word: str, texts: int) -> float:
    return log(1 + READ / texts) * (1.0 if word.isascii() else 0.5)
