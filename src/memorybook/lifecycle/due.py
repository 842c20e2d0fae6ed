"""Days that a sentence names for something to be done, English and Chinese."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta
from functools import cache
from typing import NamedTuple

from memorybook.lifecycle.days import han_or_figures
from memorybook.lifecycle.hints import Sieve, compiled, fold, sieve

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]*\.?"
_WEEKDAY = r"(mon|tues|wednes|thurs|fri|satur|sun)day\b"
_HAN_WEEK = "一二三四五六日"
_HAN_DIGITS = "一二三四五六七八九十"
_HAN_N = "(?:[一二三]?十[一二三四五六七八九]?|[一二三四五六七八九])"
_HAN_MONTHS = (*_HAN_DIGITS, "十一", "十二")

_RECURRING = r"每(?:个?月|年|周|星期|逢)?[一二三四五六日天、和周星期\d\s号]*|\b(?:every|each)\s+\w+(?:\s+and\s+\w+day)?"
"""What comes again and again names no one day."""

_Read = Callable[[re.Match[str], date], date | None]


class _Rule(NamedTuple):
    """A way to name a day: hints (see `lifecycle.hints`), pattern, which day a match names, and whether by digits."""

    sieve: Sieve
    pattern: str
    read: _Read
    digits: bool


def due(text: str, today: date) -> date | None:
    """The day from `today` on that `text` names; None if it names none, or only past ones.

    A day without a year is the next such day within ten months; of several the last one counts, a
    date before a weekday. One that is said not to be it, or no longer, is left out: `Monday, not Friday`.
    """
    text = text.lower()
    rules = _rules_for(text)
    if not rules:
        return None
    text = compiled(_RECURRING).sub(" ", text)
    for rule in rules:
        named = (match for match in compiled(rule.pattern).finditer(text) if not _is_denied(match))
        days = (rule.read(match, today) for match in named)
        found = [day for day in days if day is not None and day >= today]
        if found:
            return max(found)
    return None


def _is_denied(day: re.Match[str]) -> bool:
    """Whether a day is named only to say that it is another one: `not on Friday`, `moved from Friday`, 周五改到."""
    if day[0].startswith(("by ", "before ", "until ")):
        return False  # not before Friday
    before, after = day.string[: day.start()], day.string[day.end() :]
    return compiled(_DENIED).search(before) is not None or compiled(_LEFT).match(after) is not None


_DENIED = (
    r"(?:\b(?:not|instead of|rather than|no longer)|\b(?:mov|shift|chang|push|postpon|reschedul|switch)[^.;]*\bfrom)"
    r"(?:\s+(?:on|at|in|for|the|next|this))*\s*$|(?:不再?[是在定]|而非|不在|取代|代替)\s*(?:原[来定先])?的?\s*$"
)
_LEFT = r"[^，,。；;]{0,6}?(?:[改换挪移调]|推迟|延期?|提前)[期整]?[到成为至]"


def _rules_for(text: str) -> list[_Rule]:
    """The rules that a text in lower case can fit, also once what recurs is taken out: no hint has a space in it."""
    folded = fold(text)
    rules = _rules(not folded.other, _DIGIT.search(text) is not None)
    return [rule for rule in rules if rule.sieve.passes(folded)]


@cache
def _rules(ascii: bool, digits: bool) -> tuple[_Rule, ...]:
    """The rules for texts of ASCII alone or not, with digits or without."""
    return tuple(rule for rule in (_ENGLISH if ascii else (*_ENGLISH, *_CHINESE)) if digits or not rule.digits)


_DIGIT = re.compile(r"\d")


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _near(month: int, day: int, today: date) -> date | None:
    """That day of the year in which it is not long past: two months back, ten ahead."""
    for year in (today.year - 1, today.year, today.year + 1):
        found = _day(year, month, day)
        if found is not None and -60 <= (found - today).days <= 305:
            return found
    return None


def _month(name: str) -> int:
    return _MONTHS.index(name[:3]) + 1


def _this_month(day: int, today: date) -> date | None:
    """That day of this month, or of the next one if it is over."""
    found = _day(today.year, today.month, day)
    if found is not None and found >= today:
        return found
    following = today.replace(day=1) + timedelta(days=32)
    return _day(following.year, following.month, day)


def _month_end(today: date, ahead: int = 0) -> date:
    years, month = divmod(today.month - 1 + ahead, 12)
    return date(today.year + years, month + 1, monthrange(today.year + years, month + 1)[1])


def _end_of(month: int, today: date, year: str = "") -> date | None:
    """The last day of that month, without a year of the next such one within ten months."""
    found = _day(int(year), month, 28) if year else _near(month, 28, today)
    return None if found is None else _month_end(found)


def _next_weekday(found: re.Match[str], today: date) -> date:
    """`Friday`: the next one, today not counting; `next Friday`: the one of next week."""
    weekday = _WEEKDAYS.index(found[2][:3])
    if found[1] and found[1].startswith("next"):
        return today + timedelta(days=7 - today.weekday() + weekday)
    return today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)


def _in(found: re.Match[str], today: date) -> date:
    count = int(found[1]) if found[1].isdecimal() else _NUMBERS[found[1]]
    unit = {"d": 1, "w": 7, "m": 30}[found[2][0]]
    return today + timedelta(days=min(count, 400) * unit)


def _han_weekday(found: re.Match[str], today: date) -> date:
    weekday = _HAN_WEEK.index(found[2].replace("天", "日"))
    weeks = len(re.findall("下", found[1] or ""))
    monday = today - timedelta(days=today.weekday())
    day = monday + timedelta(days=7 * weeks + weekday)
    return day if weeks or day >= today else day + timedelta(days=7)


def _han_in(found: re.Match[str], today: date) -> date:
    count = _han(found[1])
    return today + timedelta(days=count * {"天": 1, "周": 7, "个星期": 7, "个月": 30}[found[2]])


def _han(text: str) -> int:
    """A number up to 99 in figures or Chinese numerals."""
    return 2 if text == "两" else han_or_figures(text)


_NUMBERS = {"a": 1, "an": 1} | {
    name: count for count, name in enumerate("one two three four five six seven eight nine ten".split(), 1)
}

_MONTH_HINTS = "|".join(_MONTHS)


def _word(hints: str, pattern: str, read: _Read) -> _Rule:
    return _Rule(sieve(hints), pattern, read, digits=False)


def _date(hints: str, pattern: str, read: _Read) -> _Rule:
    return _Rule(sieve(hints), pattern, read, digits=True)


_ENGLISH: tuple[_Rule, ...] = (
    _date("-", r"\b(\d{4})-(\d\d)-(\d\d)\b", lambda m, _: _day(int(m[1]), int(m[2]), int(m[3]))),
    _date(
        _MONTH_HINTS,
        rf"\b{_MONTH} (\d{{1,2}})(?:st|nd|rd|th)?"
        rf"(?:\s*(?:to|-|–|until|through)\s*(?:{_MONTH} )?(\d{{1,2}})(?:st|nd|rd|th)?)?"
        r"\b(?!:)(?:,? (\d{4}))?",
        lambda m, today: (
            _day(int(m[5]), _month(m[3] or m[1]), int(m[4] or m[2]))
            if m[5]
            else _near(_month(m[3] or m[1]), int(m[4] or m[2]), today)
        ),
    ),
    _date(
        _MONTH_HINTS,
        rf"\b(\d{{1,2}})(?:st|nd|rd|th)? (?:of )?{_MONTH}\b(?:,? (\d{{4}}))?",
        lambda m, today: _day(int(m[3]), _month(m[2]), int(m[1])) if m[3] else _near(_month(m[2]), int(m[1]), today),
    ),
    _word(
        "monday|tuesday|wednesday|thursday|friday|saturday|sunday",
        rf"(?<!last )(?<!past )\b(?:(next |this |by |on |before |until )(?:next )?)?\b{_WEEKDAY}",
        _next_weekday,
    ),
    _word("tomorrow", r"\btomorrow\b", lambda _, today: today + timedelta(days=1)),
    _word("today|tonight|this", r"\b(?:today|tonight|this (?:morning|afternoon|evening))\b", lambda _, today: today),
    _word("next", r"\bnext week\b", lambda _, today: today + timedelta(days=13 - today.weekday())),
    _word("this", r"\bthis week(?:end)?\b", lambda _, today: today + timedelta(days=6 - today.weekday())),
    _word("next", r"\bnext month\b", lambda _, today: _month_end(today, 1)),
    _word("month", r"\b(?:end of (?:the|this) month|month[- ]end)\b", lambda _, today: _month_end(today)),
    _word(
        "end",
        r"\bend of (january|february|march|april|may|june|july|august|september|october|november|december)\b"
        r"(?:,? (\d{4}))?",
        lambda m, today: _end_of(_month(m[1]), today, m[2] or ""),
    ),
    _word("year", r"\b(?:end of (?:the|this) year|year[- ]end)\b", lambda _, today: date(today.year, 12, 31)),
    _word("day|week|month", rf"\bin ({'|'.join(_NUMBERS)}|\d{{1,3}}) (day|week|month)s?\b", _in),
)

_CHINESE: tuple[_Rule, ...] = (
    _date(
        "年", r"(\d{4})\s*年\s*(\d{1,2})\s*月\s*(\d{1,2})\s*[日号]?", lambda m, _: _day(int(m[1]), int(m[2]), int(m[3]))
    ),
    _date(
        "月",
        r"(?<![年\d])(\d{1,2})\s*月\s*(\d{1,2})\s*[日号]?(?:\s*[到至\-~]\s*(?:(\d{1,2})\s*月)?\s*(\d{1,2})\s*[日号])?",
        lambda m, today: _near(int(m[3] or m[1]), int(m[4] or m[2]), today),
    ),
    _date(
        "号",
        r"(?<![月年\d.])(?<![月年]\s)(\d{1,2})\s*[号](?![线楼院门机码])",
        lambda m, today: _this_month(int(m[1]), today),
    ),
    _date(
        "月",
        r"(?<![年\d])(\d{1,2})\s*月底",
        lambda m, today: _end_of(int(m[1]), today) if 1 <= int(m[1]) <= 12 else None,
    ),
    _word(
        "月底",
        rf"(?<![明去前后]年)(?<![{_HAN_DIGITS}])({'|'.join(reversed(_HAN_MONTHS))})月底",
        lambda m, today: _end_of(_HAN_MONTHS.index(m[1]) + 1, today),
    ),
    _word(
        "月",
        rf"(?<![年\d个上下{_HAN_DIGITS}])({_HAN_N})月({_HAN_N})[日号](?![线楼院门机码])",
        lambda m, today: _near(_han(m[1]), _han(m[2]), today),
    ),
    _word(
        "号",
        rf"(?<![月年第\d{_HAN_DIGITS}])({_HAN_N})号(?=[之以]?前|那天|[早晚上下要交，。,]|$)",
        lambda m, today: _this_month(_han(m[1]), today),
    ),
    _word("周|星期|礼拜", r"(?<![上每])(?<!上个)(下*个?)(?:周|星期|礼拜)([一二三四五六日天])", _han_weekday),
    _word("大后天", r"大后天", lambda _, today: today + timedelta(days=3)),
    _word("后天", r"(?<!大)后天", lambda _, today: today + timedelta(days=2)),
    _word("明", r"明(?:天|早|晚|儿)", lambda _, today: today + timedelta(days=1)),
    _word("今", r"今(?:天|晚|儿)", lambda _, today: today),
    _word(
        "下", r"下(?:周|星期)(?![一二三四五六日天末])", lambda _, today: today + timedelta(days=13 - today.weekday())
    ),
    _word("周末", r"(?<![上每])周末", lambda _, today: today + timedelta(days=6 - today.weekday())),
    _word("月底", rf"(?<![\d个上下{_HAN_DIGITS}])(?<!\d )月底", lambda _, today: _month_end(today)),
    _word("年底", r"年底", lambda _, today: date(today.year, 12, 31)),
    _word("月", r"下个?月(?:底|内|之?前)", lambda _, today: _month_end(today, 1)),
    _word("后", rf"({_HAN_N}|[两\d]|\d\d)\s*(天|周|个星期|个月)(?:之|以)?后", _han_in),
)
