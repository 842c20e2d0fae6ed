"""The day that a sentence names for something to be done, English and Chinese."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from datetime import date, timedelta

from memorybook.lifecycle.days import Named, han_or_figures, named
from memorybook.lifecycle.hints import compiled

_RECURRING = (
    r"(?i)每(?:个?月|年|周|星期|逢)?[一二三四五六日天、和周星期\d\s号]*|\b(?:every|each)\s+\w+(?:\s+and\s+\w+day)?"
)
"""What comes again and again names no one day."""


def due(text: str, today: date) -> date | None:
    """The day from `today` on that `text` names; None if it names none, or only past ones.

    A day without a year is the next such day within ten months; of several the last one counts, a
    date before a weekday. One that is said not to be it, or no longer, is left out: `Monday, not Friday`.
    """
    text = compiled(_RECURRING).sub(" ", text)
    for days in (_by_calendar, *_RELATIVE):
        found = [
            day
            for day in days(text if days is _by_calendar else text.lower(), today)
            if day is not None and day >= today
        ]
        if found:
            return max(found)
    return None


# --- by the calendar -------------------------------------------------------------------------------

_LAST_DAY = (
    r"[^.。]{0,1}(?:to|-|–|~|until|through|[到至])\s*(?:\d{1,2}\s*月\s*)?(?P<day>\d{1,2})(?:st|nd|rd|"
    r"th)?(?:\s*[日号]|\b(?![:.]))"
)


def _by_calendar(text: str, today: date) -> Iterator[date | None]:
    for one in named(text):
        before, after = text[: one.start], text[one.end :]
        if _is_denied(text[one.start : one.end], before.lower(), after) or compiled(r"[去前]年$").search(
            before.rstrip()
        ):
            continue
        last = compiled(rf"\s*{_LAST_DAY}").match(after) if one.day is not None and one.year is None else None
        if last is not None:
            one = one._replace(day=int(last["day"]))
        if one.day is None and one.month is not None:
            if compiled(r"(?i)^\s*底|end of $").search(f"{after[:2]}|{before[-7:]}"):
                yield _month_end(one, today)
        elif one.day is not None and not _counts(text, one):
            yield _next(one, today)


def _counts(text: str, one: Named) -> bool:
    """Whether what looks like a day of the month is a number of something: 三号方案."""
    shown = text[one.start : one.end].lower()
    if one.month is not None or shown[0].isdigit() or shown.startswith("the"):
        return False
    return compiled(r"(?=[之以]?前|那天|[早晚上下要交，。,]|$)").match(text, one.end) is None


def _next(one: Named, today: date) -> date | None:
    """That day; without a year the one that is not long past, two months back or ten ahead."""
    assert one.day is not None
    if one.month is None:
        following = today.replace(day=1) + timedelta(days=32)
        this = _day(today.year, today.month, one.day)
        return this if this is not None and this >= today else _day(following.year, following.month, one.day)
    if one.year is not None:
        return _day(one.year, one.month, one.day)
    near = (_day(today.year + ahead, one.month, one.day) for ahead in (-1, 0, 1))
    return next((day for day in near if day is not None and -60 <= (day - today).days <= 305), None)


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _month_end(one: Named, today: date) -> date | None:
    found = _next(one._replace(day=28), today)
    return found and _last_of(found)


def _last_of(day: date) -> date:
    return day.replace(day=monthrange(day.year, day.month)[1])


# --- seen from today -------------------------------------------------------------------------------


def _is_denied(day: str, before: str, after: str) -> bool:
    """Whether a day is named only to say that it is another one: `not on Friday`, `moved from Friday`, 周五改到."""
    if day.startswith(("by ", "before ", "until ")):
        return False  # not before Friday
    return compiled(_DENIED).search(before) is not None or compiled(_LEFT).match(after) is not None


_DENIED = (
    r"(?:\b(?:not|instead of|rather than|no longer)|\b(?:mov|shift|chang|push|postpon|reschedul|switch)[^.;]*\bfrom)"
    r"(?:\s+(?:on|at|in|for|the|next|this))*\s*$|(?:不再?[是在定]|而非|不在|取代|代替)\s*(?:原[来定先])?的?\s*$"
)
_LEFT = r"[^，,。；;]{0,6}?(?:[改换挪移调]|推迟|延期?|提前)[期整]?[到成为至]"

_Read = Callable[[re.Match[str], date], date]


def _named_by(pattern: str, read: _Read) -> Callable[[str, date], Iterator[date | None]]:
    def days(text: str, today: date) -> Iterator[date | None]:
        for found in compiled(pattern).finditer(text):
            if not _is_denied(found[0], text[: found.start()], text[found.end() :]):
                yield read(found, today)

    return days


def _weekday(found: re.Match[str], today: date) -> date:
    """`Friday`: the next one, today not counting; `next Friday`, 下周五: the one of next week."""
    monday = today - timedelta(days=today.weekday())
    if found["han"]:
        weeks, day = (
            len(re.findall("下", found["next"] or "")),
            "一二三四五六日".index(found["han"].replace("天", "日")),
        )
        then = monday + timedelta(days=7 * weeks + day)
        return then if weeks or then >= today else then + timedelta(days=7)
    day = ("mon", "tue", "wed", "thu", "fri", "sat", "sun").index(found["day"][:3])
    if (found["en"] or "").startswith("next"):
        return monday + timedelta(days=7 + day)
    return today + timedelta(days=(day - today.weekday() - 1) % 7 + 1)


def _in(found: re.Match[str], today: date) -> date:
    said = found["n"] or found["zh"]
    count = _NUMBERS[said] if said in _NUMBERS else 2 if said == "两" else han_or_figures(said)
    unit = (found["unit"] or found["han"]).lstrip("个")[0]
    return today + timedelta(
        days=min(count, 400) * {"d": 1, "w": 7, "m": 30, "天": 1, "周": 7, "星": 7, "月": 30}[unit]
    )


_NUMBERS = {"a": 1} | {
    name: count for count, name in enumerate("one two three four five six seven eight nine ten".split(), 1)
}


def _end_of_month(ahead: int) -> _Read:
    return lambda _, today: _last_of(_last_of(today) + timedelta(days=28 * ahead))


def _ahead(days: int) -> _Read:
    return lambda _, today: today + timedelta(days=days)


def _week(sunday: int) -> _Read:
    return lambda _, today: today + timedelta(days=sunday - today.weekday())


_RELATIVE = tuple(
    _named_by(pattern, read)
    for pattern, read in (
        (
            r"(?<!last )(?<!past )\b(?P<en>(?:next |this |by |on |before |until )(?:next )?)?\b(?P<day>(?:mon|tues|"
            r"wednes|thurs|fri|satur|sun)day)\b"
            r"|(?<![上每])(?<!上个)(?P<next>下*个?)(?:周|星期|礼拜)(?P<han>[一二三四五六日天])",
            _weekday,
        ),
        (r"大后天", _ahead(3)),
        (r"(?<!大)后天", _ahead(2)),
        (r"\btomorrow\b|明[天早晚儿]", _ahead(1)),
        (r"\b(?:today|tonight|this (?:morning|afternoon|evening))\b|今[天晚儿]", _ahead(0)),
        (r"\bnext week\b|下(?:周|星期)(?![一二三四五六日天末])", _week(13)),
        (r"\bthis week(?:end)?\b|(?<![上每])周末", _week(6)),
        (r"\bnext month\b|下个?月(?:底|内|之?前)", _end_of_month(1)),
        (
            r"\b(?:end of (?:the|this) month|month[- ]end)\b|(?<![\d个上下一二三四五六七八九十])(?<!\d )月底",
            _end_of_month(0),
        ),
        (r"\b(?:end of (?:the|this) year|year[- ]end)\b|年底", lambda _, today: today.replace(month=12, day=31)),
        (
            rf"\bin (?P<n>{'|'.join(_NUMBERS)}|\d{{1,3}}) (?P<unit>day|week|month)s?\b"
            r"|(?P<zh>[一二三]?十[一二三四五六七八九]?|[一二三四五六七八九两\d]|\d\d)\s*(?P<han>天|周|个星期|"
            r"个月)(?:之|以)?后",
            _in,
        ),
    )
)
"""Ways to name a day from today, in the order in which they count."""
