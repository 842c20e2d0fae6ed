"""Whether a statement corrects a known one, as far as rules can tell; what is doubtful stays beside it.

It names what is not so (`Lina, not Lena`, 不是小雨), or it is said as a correction (`No, …`, 更正：, 改到) and differs
in one number, day or name alone, or it says that what was denied is now so, or the other way round.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from memorybook.lifecycle.alike import denies, sequence, speaker_of, words
from memorybook.lifecycle.hints import compiled
from memorybook.lifecycle.names import squeezed


def corrects(content: str, quote: str, known: str) -> bool:
    """Whether a statement, said in the words of `quote`, corrects a known one: both cannot be so, and it says which is.

    >>> corrects("My sister is called Lina, not Lena.", "", "My sister is called Lena.")
    True
    >>> corrects("My aunt is called Lina, not Lena.", "", "My sister is called Lena.")
    False
    """
    if speaker_of(content) != speaker_of(known):
        return False
    new, old = _read(content), _read(known)
    if any(_says_what_is_not(denial, old.affirmed) for denial in new.denials):
        return True
    as_correction = new.shifted or compiled(_SAID_AS_CORRECTION).match(quote)
    return bool(as_correction and _has_another_value(new.text, old.text)) or (
        new.now and _takes_back(new.text, old.text)
    )


class _Denial(NamedTuple):
    """A value that a text says is not the one, and the text before and after it."""

    value: str
    before: str
    after: str


class _Read(NamedTuple):
    """A text as it is compared, what it denies, what it affirms, and whether it tells a move or how things are now."""

    text: str
    denials: tuple[_Denial, ...]
    affirmed: str
    shifted: bool
    now: bool


@lru_cache(maxsize=20_000)
def _read(text: str) -> _Read:
    """A text without the day that rules put behind it, names of several words as one."""
    text = compiled(r"\s*[（(]\d{4}-\d\d-\d\d[)）]").sub("", text[:_MOST])
    text = compiled(r"(?<=[a-z] )[A-Z]\w+(?: [A-Z]\w+)+").sub(lambda name: name[0].replace(" ", ""), text)
    denials, affirmed = tuple(_denials(text)), text
    while (denial := next(_denials(affirmed), None)) is not None:
        affirmed = f"{denial.before} {denial.after}"
    shifted, now = (compiled(pattern).search(text) is not None for pattern in (_SHIFTED, _NOW))
    return _Read(text, denials, affirmed, shifted, now)


_MOST = 600
"""Characters of a text that are looked at."""

_ASIDE = frozenset(
    "decid agre settl chose choos actual correct move chang reschedul postpon push shift next like"
    " 决 定 改 到 成 为 换 推 迟 提 今 如".split()
)
"""Words in which a correction and what it corrects may differ: how it was settled, and when."""


# --- it names what is not so ----------------------------------------------------------------------

_OLD = r"(?:on |at |in |to |by |for |from |an? |the )*(?P<old>[^,.;:()]{1,60}?)"
_OLD_ENDS = r"(?=\s+(?:as|because|since|like|any ?more|after all)\b|[,.;:()]|$)"
_HAN_OLD = r"\s*(?P<old>[^，,。；;！!（）()]{1,30}?)\s*"
_NAMED_DENIALS = (
    rf"(?i),\s*(?:and\s+)?not\s+{_OLD}{_OLD_ENDS}",
    rf"(?i),?(?:^|\s+)(?:instead of|rather than)\s+{_OLD}{_OLD_ENDS}",
    rf"(?i)\bnot\s+{_OLD},?\s+but\s+",
    rf"[，,]?\s*(?:而不是|不再?是|而非)(?:在)?{_HAN_OLD}(?:了\s*)?(?=[，,。；;！!（(]|$)",
    rf"不再?(?P<verb>[叫在喝吃用住去坐写姓养学][^，,。；;]??){_HAN_OLD}了?\s*[，,]\s*(?:而是|而|是|现在|只)?改?(?=(?P=verb))",
)


def _denials(text: str) -> Iterator[_Denial]:
    for pattern in _NAMED_DENIALS:
        for found in compiled(pattern).finditer(text):
            yield _Denial(found["old"], text[: found.start()], text[found.end() :])


def _says_what_is_not(denial: _Denial, known: str) -> bool:
    """Whether a known text says just what is denied, and nothing of anything else.

    All else that it says must be said again, and what comes new must be one stretch of words, not longer than what it
    takes the place of: `the team dinner is on Monday, not Friday` may be another dinner.
    """
    wrong, old = words(denial.value), words(known)
    if not wrong or not wrong <= old or squeezed(denial.value) not in squeezed(known):
        return False
    rest = words(denial.before) | words(denial.after)
    if not wrong - rest - _ASIDE:
        return False
    topic = old - wrong - _ASIDE
    if not topic or not topic <= rest or denies(denial.before + denial.after) != denies(known):
        return False
    news = [_new(part, old) for part in (denial.before, denial.after)]
    return not all(news) and all(new is not None and len(new) <= _room(new, denial.value) for new in news)


def _new(text: str, old: frozenset[str]) -> list[str] | None:
    """The words of a text that are not among the old ones; None if they do not stand together."""
    said = [word for word in sequence(text) if word not in _ASIDE]
    places = [place for place, word in enumerate(said) if word not in old]
    return None if places and places[-1] - places[0] >= len(places) else [said[place] for place in places]


def _room(new: list[str], value: str) -> int:
    """How many words may stand for a value: as many as it has; a Chinese one may have a character more."""
    return max(1, len(sequence(value))) + (bool(new) and new[0] > "\u3400")


# --- it is said as a correction -------------------------------------------------------------------

_SAID_AS_CORRECTION = (
    r"(?i)\W*(?:no|nope|sorry|wait|correction|i meant)\b\s*[,:，：.!—-]"
    r"|\W*(?:不对|不不|不是的|更正|纠正|说错|我说错|搞错|错了)"
)
_SHIFTED = (
    r"(?i)\b(?:moved|shifted|changed|rescheduled|postponed|pushed|brought forward)(?: back| forward)? to\b"
    r"|[改换挪调][到成为]|推迟到|提前到|延期?到"
)
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_VALUES = (
    r"(?P<day>\d{4}-\d\d-\d\d|\d{1,2}\s*月\s*\d{1,2}\s*[日号]?"
    rf"|(?i:\b{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?\b|\b\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH}\b))"
    rf"|(?P<weekday>下*个?(?:周|星期|礼拜)[一二三四五六日天]|(?i:\b(?:next\s+|this\s+)?{_WEEKDAY}s?\b))"
    r"|(?P<number>(?<![A-Za-z])\d[\d.,:]*(?<=\d)\s*(?:(?i:[ap]m\b)|[%点号元块岁])?)"
    r"|(?P<name>(?<=[\w,] )[A-Z]\w+(?:\s[A-Z]\w+)*|(?<=[\u3400-\u9fff])\s?[A-Z]\w+"
    r"|(?<=叫)[\u3400-\u9fff]{1,4}(?=[。，！]|$))"
)


def _has_another_value(content: str, known: str) -> bool:
    """Whether two texts are the same but for one number, day or name."""
    pattern = compiled(_VALUES)
    new, old = ([(one.lastgroup, squeezed(one[0])) for one in pattern.finditer(text)] for text in (content, known))
    if len(new) != len(old) or sum(one != other for one, other in zip(new, old, strict=True)) != 1:
        return False
    if [kind for kind, _ in new] != [kind for kind, _ in old] or denies(content) != denies(known):
        return False
    said, was = (_bare(pattern.sub(" ", text)) for text in (content, known))
    return bool(said) and said == was


def _bare(text: str) -> list[str]:
    return [word for word in sequence(text) if word not in _ASIDE]


# --- it takes back a denial, or denies what was so -----------------------------------------------

_NOW = r"(?i)\b(?:now|again|no longer|any ?more)\b|现在|如今|不再|重新"
_MAY = frozenset(
    "no not never can cannot could again longer anymor more abl don't stop 不 没 别 再 可 以 能 又 重 新".split()
)
"""Words that affirm, allow or deny."""


def _takes_back(content: str, known: str) -> bool:
    if denies(content) == denies(known):
        return False
    said, was = (words(re.sub(r"(?i)\b\w+n['’]t\b", " ", text)) - _MAY - _ASIDE for text in (content, known))
    return bool(said) and said == was
