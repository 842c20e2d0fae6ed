"""The days that a phrase may mean, seen from one day."""

from __future__ import annotations

from memorybook._light import Iterable, Iterator, cast, date
from memorybook.text.days.grammar import When
from memorybook.text.days.holidays import days_of
from memorybook.text.days.table import WEEKEND

Span = tuple[int, int]
"""First and last day, as proleptic Gregorian ordinals."""

LENGTH = {"d": 1, "w": 7, "f": 14, "m": 30, "y": 365}
"""Days of a unit."""

_PLAY = {"d": 0, "w": 3, "f": 7, "m": 15, "y": 60}
"""Days by which a number of units may be wrong; two thirds of it for one "and a half"."""

_HALF = {"m": (15, 5), "y": (183, 45)}
"""Days of half a unit, and by how many they may be wrong."""


def spans_of(when: When, today: date | None, years: Iterable[int], near: Iterable[int]) -> list[Span]:
    """Every span of days that a phrase may mean, none beyond the calendar.

    Args:
        when: What the phrase says; not to be a range.
        today: None leaves out what is counted from it.
        years: Those that a date without its year may be of.
        near: Weeks, months or years from today of which a day without its week, month or year may be.
    """
    if today is None and (when.month or when.term or when.holiday):
        when = when.but(years=None)
    spans: list[Span] = []
    swapped = [when.but(month=when.day, day=when.month)] if when.either and when.month != when.day else []
    places = [(way, *place) for way in (when, *swapped) for place in _months(way, today, years, near)]
    for way, year, month in places:
        try:
            spans += _within(way, today, year, month, near)
        except (ValueError, OverflowError):  # the 31st of June, before the first year or after the last
            continue
    spans = [span for span in spans if 0 < span[0] <= span[1] <= date.max.toordinal()]
    if when.which and today is not None:
        now = today.toordinal()
        over = [span for span in spans if (span[1] < now if when.which < 0 else span[0] > now)]
        return [max(over) if when.which < 0 else min(over)] if over else []
    return spans


def shifted(day: date, months: int) -> tuple[int, int]:
    """The year and the month so many months away."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return year, month + 1


def week_of(day: int, weeks: int = 0) -> Span:
    """Monday to Sunday of the week so many weeks from that of the day."""
    monday = day - (day - 1) % 7 + 7 * weeks  # ordinal 1 was a Monday
    return monday, monday + 6


def _months(when: When, today: date | None, years: Iterable[int], near: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The years and months in which the days may be, the month 0 for what is of no month, -1 for what is of neither."""
    counted = when.days or when.away or when.weekday is not None or when.weeks is not None or when.quarters is not None
    of_month = when.months is not None or (when.month is None and (when.day or when.open == "month"))
    if today is not None and counted:
        yield today.year, -1
    elif today is not None and of_month:
        yield from (shifted(today, months) for months in ([when.months] if when.months is not None else near))
    elif not (counted or of_month):
        if when.year is not None:
            years = [when.year]
        elif when.years is not None or when.which is not None or when.open:
            ahead = range(-2, 3) if when.which else near if when.open else [when.years or 0]
            years = [today.year + by for by in ahead] if today is not None else []
        yield from ((year, when.month or 0) for year in years)


def _within(when: When, today: date | None, year: int, month: int, near: Iterable[int]) -> Iterator[Span]:
    if today is not None and month < 0:
        yield from _from_today(when, today, near)
    elif month:
        yield _in_month(when, today, year, month)
    elif when.holiday:
        days = days_of(when.holiday, year)
        if days is not None or when.year is not None:
            yield days or _reach(year, 1, 12)
    elif when.term:
        yield _reach(year, *when.term)
    elif when.part:
        yield _reach(year, {"start": 1, "middle": 6, "end": 11}[when.part], 2)
    elif when.same is not None and today is not None:
        yield _same(today, year, today.month, when.same)
    elif when.year is not None or when.years is not None:
        yield _reach(year, 1, 12)


def _reach(year: int, month: int, count: int = 1) -> Span:
    """The first and the last day of so many months from that one on."""
    after = date(*shifted(date(year, month, 1), count), 1)
    return date(year, month, 1).toordinal(), after.toordinal() - 1


def _in_month(when: When, today: date | None, year: int, month: int) -> Span:
    first, last = _reach(year, month)
    if when.day is not None and not (when.months is not None and when.day > last - first + 1):
        day = date(year, month, when.day).toordinal()
        return week_of(day) if when.whole else (day, day)
    if when.part:
        return {"start": (first, first + 9), "middle": (first + 10, first + 19), "end": (first + 20, last)}[when.part]
    if when.half is not None:
        return (first, first + 14) if when.half == 1 else (first + 15, last)
    if when.nth is not None:
        return (first + 7 * when.nth - 7, min(first + 7 * when.nth - 1, last)) if when.nth else (last - 6, last)
    if when.same is not None and today is not None:
        return _same(today, year, month, when.same // 5)
    return first, last


def _same(today: date, year: int, month: int, play: int) -> Span:
    """The day of that month which has the number of today, or the last if there is none, give or take some days."""
    first, last = _reach(year, month)
    day = min(first + today.day - 1, last)
    return day - play, day + play


def _from_today(when: When, today: date, near: Iterable[int]) -> Iterator[Span]:
    now = today.toordinal()
    if when.days is not None:
        yield now + when.days[0], now + when.days[1]
    elif when.away is not None:
        yield _away(when, today)
    elif when.quarters is not None:
        year, month = shifted(today, 3 * when.quarters)
        yield _reach(year, month - (month - 1) % 3, 3)
    else:
        for weeks in [when.weeks] if when.weeks is not None else near:
            yield _in_week(week_of(now, weeks), when.weekday)


def _in_week(week: Span, weekday: int | None) -> Span:
    if weekday is None:
        return week
    return (week[1] - 1, week[1]) if weekday == WEEKEND else (week[0] + weekday,) * 2


def _away(when: When, today: date) -> Span:
    now, (least, most) = today.toordinal(), cast("tuple[float, float]", when.away)
    if when.lately:
        return now - int(most * LENGTH[when.unit]), now
    if not when.unit and when.weekday is not None:  # so many Fridays ago
        if when.weekday == WEEKEND:
            return _in_week(week_of(now, int(least)), WEEKEND)
        return (now - ((now - 1 - when.weekday) % 7 or 7) + 7 * (int(most) + 1),) * 2
    length = LENGTH[when.unit]
    if when.same is not None:
        if when.unit not in "my":
            return (now + int(most) * length,) * 2
        return _same(today, *shifted(today, int(most) * (12 if when.unit == "y" else 1)), when.same)
    play = _PLAY[when.unit] if most == int(most) else _PLAY[when.unit] * 2 // 3
    if least != most:
        play = length // 2
    elif abs(most) == 0.5 and when.unit in _HALF:
        days, play = _HALF[when.unit]
        least = most = days * 2 * most / length
    first, last = now + round(least * length) - play, now + round(most * length) + play
    return (first, last) if when.weekday is None else _in_week(week_of((first + last) // 2), when.weekday)
