"""Days that a question speaks of, in English and Chinese, by the calendar or from today."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import date, timedelta

from memorybook.patterns import lazily
from memorybook.recall.reading import words_as_written
from memorybook.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import re

Span = tuple[int, int]
"""First and last day, as proleptic Gregorian ordinals."""

LATER = 14
"""Days after a span in which it may still be spoken of."""

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_WEEKDAYS = "mon tue wed thu fri sat sun".split()
_UNITS = frozenset(
    "today yesterday ago week month year monday tuesday wednesday thursday friday saturday sunday"
    " mon tue tues wed thu thur thurs fri sat sun".split()
)
_HAN_UNITS = frozenset("年月日号周天星前")
_HAN = {numeral: number for number, numeral in enumerate("一二三四五六七八九", 1)}


_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_YEAR = r"(?:19|20)\d\d"
_NUMERAL = "(?:[0-3]?[0-9]|[一二三]?十[一二三四五六七八九]?|[一二三四五六七八九])"

_CALENDAR = lazily(
    "(?i)"
    rf"\b(?P<y1>{_YEAR})[-/.](?P<m1>\d{{1,2}})(?:[-/.](?P<d1>\d{{1,2}}))?(?!\d)"
    rf"|\b(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<m2>{_MONTH})\b\.?(?:,?\s+(?P<y2>{_YEAR})\b)?"
    rf"|(?:\b(?:in|of|during|since|until|last|this|early|late|mid)\s+(?=\w+\b(?!\s+\d))|(?=\w+\.?\s+(?:the\s+)?\d))"
    rf"\b(?P<m3>{_MONTH})\b\.?(?:\s+(?:the\s+)?(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\b)?(?:,?\s+(?P<y3>{_YEAR})\b)?"
    rf"|(?:(?P<y4>{_YEAR})年)?(?<![个\d一二三四五六七八九十])(?P<m4>{_NUMERAL})月(?:份|(?P<d4>{_NUMERAL})[日号]?)?"
    rf"|(?<!\d)(?P<y5>{_YEAR})(?:年|\b)"
)

_RELATIVE = lazily(
    "(?i)"
    r"\b(?P<n>\d{1,2})\s+(?P<unit>days?|weeks?|months?|years?)\s+ago\b"
    r"|(?P<hn>\d{1,2}|[一二两三四五六七八九十]{1,2})(?P<hunit>天|周|个?星期|个?月|年)(?:之|以)?前"
    r"|\blast\s+(?P<weekday>mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b"
    r"|上个?(?:周|星期)(?P<hday>[一二三四五六日天末])"
    r"|\b(?:today|yesterday|(?:this|last) (?:week|month|year))\b"
    r"|[今昨前]天|[今去]年|[上本这]周|上星期|上个?月|本月|这个月"
)


def spans(question: str, years: Iterable[int], today: date | None) -> list[Span]:
    """Every span of days that the question names.

    Args:
        question: As asked.
        years: Those that a date without its year may be of.
        today: What yesterday and the like are counted from; None leaves them out.

    >>> [tuple(map(date.fromordinal, s)) for s in spans("on 7 May", [2023], None)]
    [(datetime.date(2023, 5, 7), datetime.date(2023, 5, 7))]
    >>> spans("上周三", [], date(2023, 5, 12)) == spans("2023年5月3日", [], None)
    True
    """
    known = sorted(set(years))
    found = [span for match in _CALENDAR.finditer(question) for span in _of_calendar(match, known)]
    if today is not None:
        found += [span for match in _RELATIVE.finditer(question) if (span := _reached(match, today)) is not None]
    return found


def may_name_days(question: str) -> bool:
    """A cheap look, so that the patterns are compiled for few questions; says yes too often, never no too often."""
    if not question.isascii() and not _HAN_UNITS.isdisjoint(question):
        return True
    words = words_as_written(question)
    if not _UNITS.isdisjoint(words):
        return True
    return any(word[:3] in _MONTHS or word[:4].isdecimal() for word in words if len(word) > 2 and word != "maybe")


def closeness(day: int, wanted: Iterable[Span]) -> float:
    """1 for a day (ordinal) within a span, then less and less until `LATER` days after it; else 0."""
    return max(
        (
            1.0 if first <= day <= last else (1 - (day - last) / (LATER + 1)) / 2
            for first, last in wanted
            if first <= day <= last + LATER
        ),
        default=0.0,
    )


def _of_calendar(match: re.Match[str], years: list[int]) -> Iterator[Span]:
    year = next((int(match[name]) for name in ("y1", "y2", "y3", "y4", "y5") if match[name]), None)
    named = match["m2"] or match["m3"]
    months = [match["m1"], match["m4"], str(_MONTHS.index(named[:3].lower()) + 1) if named else None]
    month = next((number(text) for text in months if text), None)
    day = next((number(match[name]) for name in ("d1", "d2", "d3", "d4") if match[name]), None)
    for each in [year] if year else years:
        try:
            yield _span(each, month, day)
        except ValueError:  # the 31st of June
            continue


def _span(year: int, month: int | None, day: int | None) -> Span:
    if month is None:
        return date(year, 1, 1).toordinal(), date(year, 12, 31).toordinal()
    if day is None:
        after = date(year + month // 12, month % 12 + 1, 1)
        return date(year, month, 1).toordinal(), after.toordinal() - 1
    return (date(year, month, day).toordinal(),) * 2


def number(text: str) -> int:
    """A number up to 99 in digits or Chinese numerals."""
    if text.isascii():
        return int(text)
    tens, ten, ones = text.rpartition("十")
    return (_HAN.get(tens, 1) * 10 if ten else 0) + _HAN.get(ones.replace("两", "二"), 0)


def _reached(match: re.Match[str], today: date) -> Span | None:
    try:
        return _of_today(match, today)
    except (ValueError, OverflowError):  # before the first year or after the last
        return None


def _of_today(match: re.Match[str], today: date) -> Span | None:
    word = match[0].lower()
    if match["n"] or match["hn"]:
        return _ago(number(match["n"] or match["hn"]), (match["unit"] or match["hunit"])[0].lower(), today)
    if match["weekday"] or match["hday"]:
        wanted = _WEEKDAYS.index(match["weekday"][:3].lower()) if match["weekday"] else _han_weekday(match["hday"])
        back = (today.weekday() - wanted) % 7 or 7
        if match["hday"]:  # 上周三 is of the week before, last Wednesday the one before today
            back = today.weekday() + 7 - wanted
        return (today.toordinal() - back,) * 2
    return next(span(today) for name, span in _NAMED.items() if word in name)


def _han_weekday(text: str) -> int:
    return 6 if text in "日天末" else _HAN[text] - 1


def _ago(count: int, unit: str, today: date) -> Span | None:
    """`unit` is d, w, m, y or 天, 周 (星), 个 (months), 月, 年."""
    length, play = {
        "d": (1, 0),
        "天": (1, 0),
        "w": (7, 3),
        "周": (7, 3),
        "星": (7, 3),
        "y": (365, 60),
        "年": (365, 60),
    }.get(unit, (30, 15))
    middle = today.toordinal() - count * length
    return (middle - play, middle + play) if middle > play else None


def _day(back: int) -> Callable[[date], Span]:
    return lambda today: (today.toordinal() - back,) * 2


def _week(back: int) -> Callable[[date], Span]:
    def span(today: date) -> Span:
        monday = today.toordinal() - today.weekday() - 7 * back
        return monday, monday + 6

    return span


def _month(back: int) -> Callable[[date], Span]:
    def span(today: date) -> Span:
        first = today.replace(day=1)
        for _ in range(back):
            first = (first - timedelta(days=1)).replace(day=1)
        return _span(first.year, first.month, None)

    return span


def _year(back: int) -> Callable[[date], Span]:
    return lambda today: _span(today.year - back, None, None)


_NAMED: dict[tuple[str, ...], Callable[[date], Span]] = {
    ("today", "今天"): _day(0),
    ("yesterday", "昨天"): _day(1),
    ("前天",): _day(2),
    ("this week", "本周", "这周"): _week(0),
    ("last week", "上周", "上星期"): _week(1),
    ("this month", "本月", "这个月"): _month(0),
    ("last month", "上个月", "上月"): _month(1),
    ("this year", "今年"): _year(0),
    ("last year", "去年"): _year(1),
}
