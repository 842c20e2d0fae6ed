"""Every day that a text may mean, seen from the day on which it was said; English and Chinese.

Made for doubting, not for reading: where a phrase is vague it gives every day that it could mean, so that a date is
only called unfounded when nothing that was said can have meant it.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from typing import NamedTuple

from memorybook.lifecycle.hints import compiled

Span = tuple[int, int]
"""First and last day, as proleptic Gregorian ordinals."""

NEAR = 10
"""Days in a span up to which one day in it counts as meant."""

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_HAN = "一二三四五六七八九"
_N = r"(?:\d{1,2}|[一二三]?十[一二三四五六七八九]?|[一二三四五六七八九])"
_YEAR = r"(?:19|20)\d\d"


class Named(NamedTuple):
    """A date as a text has it: year, month and day, None where it leaves one out, and where it stands."""

    year: int | None
    month: int | None
    day: int | None
    start: int
    end: int


_NAMED = (
    rf"(?i)(?<!\d)(?P<y1>{_YEAR})[-/.](?P<m1>\d{{1,2}})(?:[-/.](?P<d1>\d{{1,2}}))?(?!\d)"
    rf"|(?P<y2>{_YEAR})\s*年(?:\s*(?P<m2>{_N})\s*月(?:\s*(?P<d2>{_N})\s*(?:[日号]|(?=[、到至~-]\s*\d)))?)?"
    rf"|(?<![\d个一二三四五六七八九十])(?P<m3>{_N})\s*月(?:份|\s*(?P<d3>{_N})\s*[日号]?(?![\d个点]))?"
    rf"|(?<![\d.一二三四五六七八九十])(?P<d4>{_N})\s*[号日](?![线楼院门机码])"
    rf"|\b(?P<m5>{_MONTH})\s+(?:the\s+)?(?P<d5>\d{{1,2}})(?:st|nd|rd|th)?\b(?![:.]\d)(?:,?\s+(?P<y5>{_YEAR})\b)?"
    rf"|\b(?P<d6>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<m6>{_MONTH})(?:,?\s+(?P<y6>{_YEAR})\b)?"
    rf"|\b(?P<m7>{_MONTH}),?\s+(?:of\s+)?(?P<y7>{_YEAR})\b"
    r"|(?-i:\b(?P<m8>January|February|March|April|May|June|July|August|September|October|November|December)\b)"
    rf"|\bthe\s+(?P<d9>\d{{1,2}})(?:st|nd|rd|th)\b(?!\s+(?:of\s+)?{_MONTH})"
    rf"|(?<![\w.:/-])(?P<y10>{_YEAR})(?![\w:/]|-\d|\.\d)"
)


def named(text: str) -> list[Named]:
    """The dates that a text names by the calendar, in full or in part."""
    return [date_ for found in compiled(_NAMED).finditer(text) if (date_ := _named(found)) is not None]


def _named(found: re.Match[str]) -> Named | None:
    parts: dict[str, int] = {}
    for name, part in found.groupdict().items():
        if part is not None:
            parts[name[0]] = (
                _month(part) if name[0] == "m" and part[0].isalpha() and part.isascii() else han_or_figures(part)
            )
    year, month, day = parts.get("y"), parts.get("m"), parts.get("d")
    if (month is not None and not 1 <= month <= 12) or (day is not None and not 1 <= day <= 31):
        return None
    return Named(year, month, day, found.start(), found.end())


def _month(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1


def han_or_figures(text: str) -> int:
    """A number up to 99 in figures or Chinese numerals."""
    if text.isdigit():
        return int(text)
    tens, ten, ones = text.partition("十")
    if not ten:
        return _HAN.index(text) + 1
    return (_HAN.index(tens) + 1 if tens else 1) * 10 + (_HAN.index(ones) + 1 if ones else 0)


def meant(text: str, said: date) -> set[Span]:
    """The spans of days that a text said on that day may mean; that day itself always."""
    if not 10 <= said.year <= 9_990:
        return set()  # nobody says anything then; the calendar ends too near
    spans: set[Span] = {(said.toordinal(), said.toordinal())}
    for one in named(text):
        spans.update(_possible(one, said))
    for found in compiled(_RANGE).finditer(text):
        spans.update(_possible(Named(None, _month(found["month"]), int(found["day"]), 0, 0), said))
    for found in compiled(_SLASHED).finditer(text):
        for month, day in ((found[1], found[2]), (found[2], found[1])):
            spans.update(_possible(Named(None, int(month), int(day), 0, 0), said))
    for pattern, spans_of in _RELATIVE:
        for found in compiled(pattern).finditer(text):
            spans.update(spans_of(found, said))
    for one in _alone(text):
        spans.update(_possible(one, said))
    if compiled(_BESIDE).search(text):
        spans |= {(first + by, last + by) for first, last in spans for by in (-1, 1)}
    return spans


def _alone(text: str) -> Iterator[Named]:
    """The days of a text of which the month was said before: the 30th, the first of June, 27 到 30."""
    for found in compiled(_DAY_ALONE).finditer(text):
        for day in filter(None, (found["day"], found["first"], found["last"])):
            yield Named(None, None, int(day), 0, 0)
        if found["word"]:
            month = _month(found["month"]) if found["month"] else None
            yield Named(None, month, 1 + _ORDINALS.index(found["word"].lower()), 0, 0)


_RANGE = (
    rf"(?i)\b(?P<month>{_MONTH})\s+\d{{1,2}}(?:st|nd|rd|th)?\s*(?:to|-|–|until|till|through)\s*(?P<day>\d{{1,2}})\b"
)
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth"
    " sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third twenty-fourth"
    " twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth thirtieth thirty-first"
).split()
_DAY_ALONE = (
    rf"(?i)\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)\b|\b(?P<word>{'|'.join(sorted(_ORDINALS, key=len, reverse=True))})\b"
    rf"(?:\s+of\s+(?P<month>{_MONTH}))?|(?<![\d.])(?P<first>\d{{1,2}})\s*(?:到|至|[-~–、])\s*(?P<last>\d{{1,2}})(?![\d.%])"
)
_BESIDE = r"(?i)头[天晚]|前一[天晚]|第二天|次日|\b(?:day|night|evening)\s+before\b|\bnext\s+(?:day|morning)\b"
_SLASHED = r"(?<![\d/.])(\d{1,2})[/.](\d{1,2})(?![\d/.%])"


def _possible(one: Named, said: date) -> Iterator[Span]:
    """The days that a date can be, its missing parts taken from around the day it was said on."""
    if one.month is None and one.day is None:
        if one.year is not None:
            yield date(one.year, 1, 1).toordinal(), date(one.year, 12, 31).toordinal()
        return
    years = (one.year,) if one.year is not None else (said.year - 1, said.year, said.year + 1)
    if one.month is None:
        for ahead in range(-2, 5):
            yield from _whole(*_shifted(said, ahead), one.day)
        return
    for year in years:
        yield from _whole(year, one.month, one.day)


def _shifted(said: date, months: int) -> tuple[int, int]:
    years, month = divmod(said.month - 1 + months, 12)
    return said.year + years, month + 1


def _whole(year: int, month: int, day: int | None) -> Iterator[Span]:
    """That day, or the whole month; nothing if there is no such day."""
    if not (1 <= year <= 9999 and 1 <= month <= 12):
        return
    last = monthrange(year, month)[1]
    if day is None:
        yield date(year, month, 1).toordinal(), date(year, month, last).toordinal()
    elif 1 <= day <= last:
        yield date(year, month, day).toordinal(), date(year, month, day).toordinal()


# --- seen from the day ---------------------------------------------------------------------------

_SpansOf = Callable[[re.Match[str], date], Iterable[Span]]


def _around(first: int, last: int) -> _SpansOf:
    """Days from `first` to `last`, counted from the day."""
    return lambda _, said: [(said.toordinal() + first, said.toordinal() + last)]


def _months(*ahead: int) -> _SpansOf:
    return lambda _, said: [span for months in ahead for span in _whole(*_shifted(said, months), None)]


def _years(*ahead: int) -> _SpansOf:
    def spans(_: re.Match[str], said: date) -> Iterator[Span]:
        for years in ahead:
            yield date(said.year + years, 1, 1).toordinal(), date(said.year + years, 12, 31).toordinal()

    return spans


def _yearly(*first_to_last: int) -> _SpansOf:
    """A feast: from month, day to month, day, in this year and its neighbours."""
    month, day, last_month, last_day = first_to_last

    def spans(_: re.Match[str], said: date) -> Iterator[Span]:
        for year in (said.year - 1, said.year, said.year + 1):
            yield date(year, month, day).toordinal(), date(year, last_month, last_day).toordinal()

    return spans


_WEEKDAYS = "mon tue wed thu fri sat sun".split()


def _weekday(found: re.Match[str], said: date) -> Iterator[Span]:
    """Days of that name within two weeks."""
    name = found["day"]
    weekday = _WEEKDAYS.index(name[:3].lower()) if name else "一二三四五六日".index(found["han"].replace("天", "日"))
    for ahead in range(-14, 15):
        day = said.toordinal() + ahead
        if (day - 1) % 7 == weekday:  # ordinal 1 was a Monday
            yield day, day


def _weekend(_: re.Match[str], said: date) -> Iterator[Span]:
    """Fridays to Sundays within two weeks."""
    for ahead in range(-14, 15):
        day = said.toordinal() + ahead
        if (day - 1) % 7 == 5:
            yield day - 1, day + 1


_WORDS = "one two three four five six seven eight nine ten eleven twelve".split()
_UNITS = {"d": (1, 1), "w": (7, 3), "m": (30, 8), "y": (365, 100), "天": (1, 1), "日": (1, 1), "周": (7, 3)}
_COUNT = rf"(?P<n>\d{{1,3}}|an?|a\s+couple\s+of|a\s+few|several|half\s+a|{'|'.join(_WORDS)})"
_HAN_COUNT = r"(?P<n>\d{1,3}|[两几半数]|[一二三]?十[一二三四五六七八九]?|[一二三四五六七八九])"


def _distance(sign: int) -> _SpansOf:
    """So many days, weeks, months or years away."""

    def spans(found: re.Match[str], said: date) -> Iterator[Span]:
        text, unit = " ".join(found["n"].lower().split()), found["unit"].lower()
        size, slack = _UNITS.get(unit[0]) or (
            (7, 3) if "星" in unit or "礼" in unit else (365, 100) if "年" in unit else (30, 8)
        )
        for count in _counts(text):
            middle = said.toordinal() + sign * round(count * size)
            if middle > slack:
                yield middle - slack, middle + slack

    return spans


def _counts(text: str) -> Iterable[float]:
    if text in ("a few", "several", "几", "数"):
        return (2, 3, 4, 5, 6)
    if text in ("half a", "半"):
        return (0.5,)
    if text in ("a couple of", "两"):
        return (2,)
    if text in ("a", "an"):
        return (1,)
    return (_WORDS.index(text) + 1,) if text in _WORDS else (han_or_figures(text),)


_RELATIVE: tuple[tuple[str, _SpansOf], ...] = (
    (r"(?i)\byesterday\b|\blast\s+night\b|昨", _around(-1, -1)),
    (r"(?i)\btomorrow\b|\btmrw?\b|明[天早晚儿日]", _around(1, 1)),
    (r"(?i)\bday\s+before\s+yesterday\b|前[天晚]", _around(-3, -2)),
    (r"(?i)\bday\s+after\s+tomorrow\b|后天", _around(2, 3)),
    (
        r"(?i)\b(?P<day>(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?)s?\b"
        r"|(?:周|星期|礼拜)(?P<han>[一二三四五六日天])",
        _weekday,
    ),
    (r"(?i)\blast\s+week|\bweek\s+before\b|上个?(?:周|星期|礼拜)(?![一二三四五六日天])", _around(-14, -1)),
    (r"(?i)\bweekend\b|周末", _weekend),
    (r"(?i)\bthis\s+week\b|[这本]个?(?:周|星期|礼拜)(?![一二三四五六日天])", _around(-6, 6)),
    (r"(?i)\bnext\s+week\b|下个?(?:周|星期|礼拜)(?![一二三四五六日天])", _around(1, 14)),
    (
        r"(?i)\b(?:few\s+days\s+ago|the\s+other\s+day|recently|lately)\b|前几天|前两天|这几天|这两天|最近",
        _around(-10, 0),
    ),
    (r"(?i)\bthis\s+month\b|[这本]个?月|月[底末初中]|中旬|\b(?:end|middle)\s+of\s+(?:the\s+)?month\b", _months(0)),
    (r"(?i)\blast\s+month\b|上个?月", _months(-1)),
    (r"(?i)\bnext\s+month\b|下个?月|月[底末初]", _months(1)),
    (r"(?i)\bthis\s+year\b|今年", _years(0)),
    (r"(?i)\blast\s+year\b|去年", _years(-1)),
    (r"前年|\byear\s+before\s+last\b", _years(-2, -3)),
    (r"(?i)\bnext\s+year\b|明年", _years(1)),
    (rf"(?i)\b{_COUNT}\s+(?P<unit>days?|weeks?|months?|years?)\s+(?:ago|back|earlier|before)\b", _distance(-1)),
    (rf"(?i)\b(?:in|after|within|for)\s+{_COUNT}\s+(?P<unit>days?|weeks?|months?|years?)\b", _distance(1)),
    (rf"(?i)\b{_COUNT}\s+(?P<unit>days?|weeks?|months?|years?)\s+(?:later|from\s+now|after)\b", _distance(1)),
    (rf"{_HAN_COUNT}\s*(?P<unit>天|日|周|个?(?:星期|礼拜)|个?月|年)(?:之|以)?前", _distance(-1)),
    (rf"{_HAN_COUNT}\s*(?P<unit>天|日|周|个?(?:星期|礼拜)|个?月|年)(?:之|以)?[后内]", _distance(1)),
    (r"(?i)\bnew\s+year\b|元旦|新年", _yearly(1, 1, 1, 3)),
    (r"春节|过年|除夕|大年|年后|年前", _yearly(1, 20, 2, 22)),
    (r"清明", _yearly(4, 3, 4, 6)),
    (r"五一|劳动节", _yearly(5, 1, 5, 5)),
    (r"端午", _yearly(5, 25, 6, 25)),
    (r"中秋", _yearly(9, 7, 10, 8)),
    (r"国庆|十一(?!月|[点个号])", _yearly(10, 1, 10, 8)),
    (r"(?i)\bvalentine|情人节", _yearly(2, 14, 2, 14)),
    (r"(?i)\bhalloween\b|万圣", _yearly(10, 31, 11, 1)),
    (r"(?i)\bthanksgiving\b|感恩节", _yearly(11, 22, 11, 28)),
    (r"(?i)\bchristmas\b|\bxmas\b|圣诞", _yearly(12, 24, 12, 26)),
    (r"(?i)\bend\s+of\s+(?:the|this)\s+year\b|\byear[- ]end\b|年[底末]", _yearly(12, 22, 12, 31)),
    (r"(?i)\bspring\b|春[天季]", _yearly(3, 1, 5, 31)),
    (r"(?i)\bsummer\b|夏[天季]|暑假", _yearly(6, 1, 8, 31)),
    (r"(?i)\b(?:autumn|fall)\b|秋[天季]", _yearly(9, 1, 11, 30)),
    (r"(?i)\bwinter\b|冬[天季]|寒假", _yearly(12, 1, 12, 31)),
)


# --- whether a date is among them ----------------------------------------------------------------


def among(one: Named, spans: Iterable[Span]) -> bool:
    """Whether a date may be one of these spans: a day in a short one, a month in one of a season, a year in any."""
    return any(_fits(one, first, last) for first, last in spans)


def _fits(one: Named, first: int, last: int) -> bool:
    if one.month is None and one.day is None:
        return one.year is not None and _of(first).year <= one.year <= _of(last).year
    if one.day is None:
        ends = (_of(first), _of(last))
        return last - first <= 92 and any(
            (one.year is None or day.year == one.year) and day.month == one.month for day in _each_month(*ends)
        )
    if last - first > 2 * NEAR:
        return False
    return any(
        day.day == one.day
        and (one.month is None or day.month == one.month)
        and (one.year is None or day.year == one.year)
        for day in map(_of, range(first, last + 1))
    )


def _each_month(first: date, last: date) -> Iterator[date]:
    while first <= last:
        yield first
        first = date(*_shifted(first, 1), 1)
    yield last


def _of(ordinal: int) -> date:
    return date.fromordinal(max(1, min(ordinal, date.max.toordinal())))
