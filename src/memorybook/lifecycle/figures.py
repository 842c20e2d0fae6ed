"""The numbers in a text by value: 300, three hundred, 三百, 3百, 0.3k are the same; English and Chinese."""

from __future__ import annotations

import re
from typing import NamedTuple

from memorybook.lifecycle.hints import compiled


class Figure(NamedTuple):
    """A number as it stands in a text, with every value that it may have, and where it stands.

    `sure` is False for what may be no number at all: a lone Chinese numeral or a small English one.
    """

    text: str
    values: frozenset[float]
    start: int
    end: int
    sure: bool


_UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split()
_UNITS += "seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_ORDINALS = {"second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9} | {
    "tenth": 10, "twice": 2, "couple": 2, "pair": 2, "both": 2, "double": 2, "dozen": 12, "hundred": 100,
    "thousand": 1_000, "million": 1_000_000, "thrice": 3, "triple": 3,
}  # fmt: skip
WORDS: dict[str, int] = (
    {word: value for value, word in enumerate(_UNITS)}
    | {word: 20 + 10 * place for place, word in enumerate(_TENS)}
    | _ORDINALS
)
_SCALES = {
    "k": 1e3,
    "千": 1e3,
    "w": 1e4,
    "万": 1e4,
    "亿": 1e8,
    "百": 1e2,
    "十": 10.0,
    "百万": 1e6,
    "千万": 1e7,
    "百亿": 1e10,
}
_SCALES |= {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9}

_CLOCK = r"(?<![\d:.])(?P<hour>\d{1,2})[:：](?P<minute>\d{2})(?:[:：]\d{2})?(?![\d:：])"
_ARABIC = (
    r"(?<![A-Za-z_\d])(?<![A-Za-z_\d][.-])(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)*)"
    r"(?:\s?(?P<scale>hundred|thousand|million|billion|百万|千万|百亿|[千万亿百])|(?P<letter>[kKwW])(?![A-Za-z]))?"
)
_ENGLISH = (
    rf"(?i)\b(?:(?P<tens>{'|'.join(_TENS)})[\s-](?P<ones>{'|'.join(_UNITS[1:10])})"
    rf"|(?P<count>{'|'.join(_UNITS[1:10])})\s(?P<scale>hundred|thousand|million)|(?P<word>{'|'.join(WORDS)}))\b(?!-a-)"
)
_CHINESE = r"[零〇一二两三四五六七八九][零〇一二两三四五六七八九十百千万亿]*|十[一二三四五六七八九]?[万亿]?"
_MEASURE = (
    r"多?来?(?:个|天|月|年|次|台|条|元|块|米|点|分|秒|小时|周|名|位|页|行|单|家|签|岁|人|层|倍|份|种|项|张|只|件|套|轮|间|届|"
    r"期|度|折|成|节|桌|站|公里|斤|克|吨|票|批|款|步|杯|瓶|集|章|号|楼|室|组|段|句|遍|盘|辆|门|本|篇|股|核|本书|星期|礼拜|%)"
)


def figures(text: str) -> list[Figure]:
    """The numbers in a text, in no order. Letters with digits in them (`utf8`, `K3s`) are names and not among them."""
    found = [_clock(match) for match in compiled(_CLOCK).finditer(text)]
    clocks = [(one.start, one.end) for one in found]
    for match in compiled(_ARABIC).finditer(text):
        if not any(start <= match.start() < end for start, end in clocks):
            found.append(_arabic(match))
    found += [_english(match) for match in compiled(_ENGLISH).finditer(text)]
    for match in compiled(_CHINESE).finditer(text):
        figure = _chinese(match, text)
        if figure is not None:
            found.append(figure)
    return found


def _clock(match: re.Match[str]) -> Figure:
    """Hour and minute; the hour in both ways of counting."""
    hour, minute = int(match["hour"]), int(match["minute"])
    values = {float(hour), float(hour - 12 if hour > 12 else hour + 12)} | ({float(minute)} if minute else set())
    return Figure(match[0], frozenset(values), match.start(), match.end(), True)


def _arabic(match: re.Match[str]) -> Figure:
    digits = match["digits"].replace(",", "") if "," in match["digits"] else match["digits"]
    if digits.count(".") > 1:  # a version, or dates in figures: its parts
        values = {float(part) for part in digits.split(".") if len(part) < 300}
    else:
        value = float(digits[:300])
        scale = _SCALES[(match["scale"] or match["letter"]).lower()] if match["scale"] or match["letter"] else 1.0
        values = {round(value * scale, 6)}
    return Figure(match[0], frozenset(values), match.start(), match.end(), True)


def _english(match: re.Match[str]) -> Figure:
    if match["tens"] or match["count"]:
        value = (
            WORDS[match["tens"].lower()] + WORDS[match["ones"].lower()]
            if match["tens"]
            else WORDS[match["count"].lower()] * WORDS[match["scale"].lower()]
        )
        return Figure(match[0], frozenset({float(value)}), match.start(), match.end(), True)
    value = WORDS[match["word"].lower()]
    return Figure(match[0], frozenset({float(value)}), match.start(), match.end(), match["word"].lower() in _COUNTED)


_COUNTED = frozenset((*_UNITS[3:], *_TENS))
"""Words that are hardly ever anything but a number."""


def _chinese(match: re.Match[str], text: str) -> Figure | None:
    """A Chinese numeral; None for what only looks like one (万一, 千万)."""
    value = han_number(match[0])
    if value is None:
        return None
    values = {value}
    if compiled(r"[零〇一二两三四五六七八九]{2,}").fullmatch(match[0]):  # digits read out, or two numbers
        values |= {float(han_number(digit) or 0) for digit in match[0]}
    measured = compiled(_MEASURE).match(text, match.end()) is not None
    sure = value >= 2 and (measured or compiled("[十百千万亿]").search(match[0]) is not None)
    return Figure(match[0], frozenset(values), match.start(), match.end(), sure)


def han_number(text: str) -> float | None:
    """The value of Chinese numerals, 三千五 and digits read out included; None for what has none.

    >>> han_number("三百"), han_number("一万二"), han_number("二〇二六")
    (300.0, 12000.0, 2026.0)
    """
    digits = {numeral: value for value, numeral in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
    units = {"十": 10, "百": 100, "千": 1_000}
    if all(one in digits for one in text):
        return float("".join(str(digits[one]) for one in text)) if text else None
    total = section = 0.0
    digit: float | None = None
    last = 1.0
    for one in text:
        if one in digits:
            digit = float(digits[one])
            last = 10.0 if one in "零〇" else last
        elif one in units:
            section += (digit if digit is not None else 1.0) * units[one]
            digit, last = None, float(units[one])
        elif one in "万亿":
            scale = 1e4 if one == "万" else 1e8
            total = (
                (total + section + (digit or 0.0)) * scale if one == "亿" else total + (section + (digit or 0)) * scale
            )
            section, digit, last = 0.0, None, scale
        else:
            return None
    tail = digit * last / 10 if digit is not None and last > 10 else digit or 0.0
    return total + section + tail
