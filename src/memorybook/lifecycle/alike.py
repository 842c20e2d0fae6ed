"""Whether two texts make the same statement: how near they are, and what may not differ between them.

Nearness alone takes "likes tea" for "dislikes tea" and "before" for "after"; so whatever is near is also compared by
its numbers, dates, days, names, denials, opposites, and by the order of what it sets against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

from memorybook.lifecycle.hints import compiled
from memorybook.lifecycle.merge import missing
from memorybook.lifecycle.sentences import is_chinese
from memorybook.model import Entry
from memorybook.text.tokens import han_share, is_telling, query_words, tokens

SAME = 0.95
"""Cosine from which two texts are the same statement, where nothing differs that may not."""

SAME_WORDS = 0.8
"""Share of common words (Latin) from which they are, where no cosine is to be had."""

SAME_CHARACTERS = 0.72
"""The same of pairs of characters (Chinese)."""

NEAR = 0.55
"""Likeness from which an entry is a neighbour worth showing or linking to."""

MOST_NEAR = 8
"""Neighbours of one text."""


def same_statement(one: str, other: str, cosine: float | None) -> bool:
    """Whether two texts say the same.

    By cosine at least 0.95; where there is none by their common words: Latin words at least 0.8 of all, pairs of
    Chinese characters at least 0.72; and nothing may differ, see `differs`.
    """
    if cosine is not None:
        near = cosine >= SAME
    else:
        near = overlap(one, other) >= (SAME_CHARACTERS if is_chinese(one) else SAME_WORDS)
    return near and differs(one, other) is None


def likeness(one: str, other: str, cosine: float | None) -> float:
    """How near two texts are, 0..1: their cosine, or the share of the shorter one's words that the other has."""
    first, second = telling(one), telling(other)
    shared = len(first & second) / (min(len(first), len(second)) or 1) if min(len(first), len(second)) >= 3 else 0.0
    return max(cosine or 0.0, shared)


def overlap(one: str, other: str) -> float:
    """Common words by all words (Jaccard), 0..1; of Chinese texts common pairs of characters."""
    first, second = _pieces(one), _pieces(other)
    return len(first & second) / (len(first | second) or 1)


@lru_cache(maxsize=4096)
def _pieces(text: str) -> frozenset[str]:
    """What is compared of a text: pairs of CJK characters, and all other words, stop words too."""
    chinese = han_share(text) > 0
    return frozenset(word for word in tokens(text) if not chinese or word.isascii() or len(word) > 1)


@lru_cache(maxsize=4096)
def telling(text: str) -> frozenset[str]:
    """The words of a text that say something."""
    return frozenset(filter(is_telling, query_words(text)))


# --- what may not differ -------------------------------------------------------------------------


def differs(one: str, other: str) -> str | None:
    """What sets two texts apart however near they are, such as `the number '300'`; None if nothing is seen."""
    lost = missing([one], other) or missing([other], one)
    if lost:
        return lost[0]
    return turned(one, other)


def turned(one: str, other: str) -> str | None:
    """Why one text may say the contrary of the other: a denial, an opposite, another order; None if nothing is seen."""
    if denies(one) != denies(other):
        return "a denial"
    for pair in _OPPOSITES:
        sides = tuple(tuple(compiled(side).search(text) is not None for side in pair) for text in (one, other))
        if sides in (((True, False), (False, True)), ((False, True), (True, False))):
            return "an opposite"
    return "the order" if _ordered(one) != _ordered(other) and _reordered(one, other) else None


_DENIALS = (
    r"(?i)\b(?:no|not|never|none|neither|nor|without|cannot|nobody|nothing|stopped|stops|quit|avoids?)\b|n['’]t\b"
    r"|不(?![错同过仅但管论少断久]|得不|可或缺|止)|(?<![淹沉])没(?![收])|别(?=[再给用把让在叫说]|的?[去做写])"
    r"|无(?!论|线|锡)|未(?![来])|勿|拒绝|禁止|戒|避开|否(?!则)"
)


def denies(text: str) -> bool:
    """Whether a text denies or forbids something."""
    return compiled(_DENIALS).search(text) is not None


_OPPOSITES = tuple(
    (rf"(?i)\b(?:{first})\b|{_first}", rf"(?i)\b(?:{second})\b|{_second}")
    for first, _first, second, _second in (
        ("likes?|loves?|enjoys?", "喜欢|爱(?=[吃喝看玩用])", "hates?|dislikes?", "讨厌|厌恶|反感"),
        ("before", "之前|[前](?=[做用发上])", "after", "之后|[后](?=[做用发上])"),
        ("always", "总是|一律|都要", "never|rarely|seldom", "从不|很少"),
        ("enabled?s?|turn(?:ed|s)? on", "开启|启用|打开", "disabled?s?|turn(?:ed|s)? off", "关闭|停用|禁用"),
        ("added|adds?", "添加|新增|加上", "removed?s?|dropped|drops?|deleted?s?", "删除|去掉|移除"),
        ("starts?|started|begins?|began", "开始", "stops?|stopped|ends?|ended", "停止|结束"),
        (r"a\.?m|mornings?", "早上|上午|早晨", r"p\.?m|evenings?|nights?|afternoons?", "晚上?|下午|夜里"),
        (r"increas\w+|rais\w+|up", "增加|提高|上调", r"decreas\w+|reduc\w+|lower\w*|down", "减少|降低|下调"),
        ("bought|buys?", "买", "sold|sells?", "卖"),
        (
            "husband|father|brother|son|he|his",
            "丈夫|父亲|爸|儿子",
            "wife|mother|sister|daughter|she|her",
            "妻|母|妈|女儿",
        ),
        ("left", "左", "right", "右"),
        ("public", "公开", "private", "私有|保密"),
        (r"allow\w*|permit\w*", "(?<!不)允许", r"forbid\w*|block\w*|den(?:y|ies|ied)", "禁止|不允许"),
    )
)
"""Words of which one text must not have the first where the other has the second."""

_SETTING_APART = (
    r"(?i)\b(?:over|than|instead|rather|not|before|after|from|to|into|beats?|replaces?d?|follow(?:s|ed)?)\b|n['’]t\b"
    r"|而不是|不是|不用|不要|不如|比|胜过|超过|代替|替代|换成|改成|换到|改用|从|先|再|之前|之后|给"
)


def _ordered(text: str) -> tuple[str, ...]:
    """The telling words of a text that sets things against each other, in order; () of another."""
    if compiled(_SETTING_APART).search(text) is None:
        return ()
    return tuple(filter(is_telling, query_words(text)))


def _reordered(one: str, other: str) -> bool:
    """Whether the words that two texts have in common come in another order."""
    first, second = _ordered(one), _ordered(other)
    shared = set(first) & set(second)
    return [word for word in first if word in shared] != [word for word in second if word in shared]


# --- neighbours by words -------------------------------------------------------------------------


def by_words(entries: Mapping[str, Entry]) -> Callable[[str], Sequence[Entry]]:
    """Neighbours from words alone: the entries that share most telling words with a text, at most 8."""

    def neighbours(text: str) -> Sequence[Entry]:
        words = telling(text)
        shared = {one.id: len(words & telling(one.text)) for one in entries.values()}
        near = sorted((one for one in entries.values() if shared[one.id]), key=lambda one: (-shared[one.id], one.id))
        return near[:MOST_NEAR]

    return neighbours


def names_of(text: str, entities: Iterable[str]) -> frozenset[str]:
    """The names of a text and those given with it, as they are compared."""
    from memorybook.lifecycle.names import names_in, squeezed

    return frozenset(filter(None, map(squeezed, (*names_in(text, entities), *entities))))
