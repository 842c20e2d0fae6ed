"""Every day that a text may mean, seen from the day on which it was said.

Made for doubting, not for reading: where a phrase is vague it gives every day that it could mean, so that a date is
only called unfounded when nothing that was said can have meant it.
"""

from __future__ import annotations

from memorybook._light import Iterable, Iterator, NamedTuple, date, lazily
from memorybook.text.days.grammar import When, every, phrases, ranges
from memorybook.text.days.spans import LENGTH, Span, spans_of
from memorybook.text.days.table import BESIDE, WEEKEND

NEAR = 10
"""Days in a span up to which one day in it counts as meant."""

_SLACK = {"d": 1, "w": 3, "f": 4, "m": 8, "y": 100}
"""Days by which a number of units may be wrong."""

_AROUND = (-2, -1, 0, 1, 2, 3, 4)

_NEXT = lazily(r"(?i)头[天晚]|前一[天晚]|第二天|次日|\b(?:day|night|evening)\s+before\b|\bnext\s+(?:day|morning)\b")


class Named(NamedTuple):
    """A date as a text has it: year, month and day, None where it leaves one out, and where it stands."""

    year: int | None
    month: int | None
    day: int | None
    start: int
    end: int


def named(text: str) -> list[Named]:
    """The dates that a text names by the calendar, in full or in part."""
    return [
        Named(one.year, one.month, one.day, one.start, one.end)
        for one in phrases(text)
        if (one.year or one.month or one.day) and not one.either and one.level != BESIDE
    ]


def meant(text: str, said: date) -> set[Span]:
    """The spans of days that a text said on that day may mean; that day itself always."""
    if not 10 <= said.year <= 9_990:
        return set()  # nobody says anything then; the calendar ends too near
    now = said.toordinal()
    found = every(text)
    told = phrases(text, found)
    ends = [one.until for one in ranges(text, told) if one.until is not None]
    spans = {(now, now), *(span for one in (*found, *told, *ends) for span in _possible(one.but(until=None), said))}
    if _NEXT.search(text):  # the day before or after one of them
        spans |= {(first + by, last + by) for first, last in spans for by in (-1, 1)}
    return spans


def _possible(one: When, said: date) -> Iterator[Span]:
    """The days that a phrase can mean, its missing parts taken from around the day it was said on."""
    now = said.toordinal()
    if one.weekday is not None:
        for day in range(now - 14, now + 15):
            if (day - 1) % 7 == (one.weekday if one.weekday != WEEKEND else 5):
                yield (day, day) if one.weekday != WEEKEND else (day - 1, day + 1)
    elif one.weeks is not None:  # on whichever day weeks begin
        yield now + 7 * one.weeks - 6, now + 7 * one.weeks + 6
    elif one.away is not None and one.same is None and not one.lately:
        least, most = one.away
        for count in {least, most} if most - least > 12 else [least + by for by in range(int(most - least) + 1)]:
            middle = now + round(count * LENGTH[one.unit])
            yield middle - _SLACK[one.unit], middle + _SLACK[one.unit]
    elif one.days is not None and one.days[0] < one.days[1] <= 0:
        yield now + min(one.days[0], -NEAR), now
    else:
        for first, last in spans_of(one.but(which=None), said, [said.year + by for by in (-1, 0, 1)], _AROUND):
            yield (first - 1, last + 1) if one.holiday else (first, last)
            if one.part and last - first > 2 * NEAR:
                yield (last - NEAR + 1, last) if one.part == "end" else (first, first + NEAR - 1)


# --- whether a date is among them ----------------------------------------------------------------


def among(one: Named, spans: Iterable[Span]) -> bool:
    """Whether a date may be one of these spans: a day in a short one, a month in one of a season, a year in any."""
    return any(_fits(one, first, last) for first, last in spans)


def _fits(one: Named, first: int, last: int) -> bool:
    if one.month is None and one.day is None:
        return one.year is not None and _of(first).year <= one.year <= _of(last).year
    most, step = (2 * NEAR, 1) if one.day is not None else (92, 28)
    days = map(_of, (*range(first, last, step), last)) if last - first <= most else ()
    told = (one.year, one.month, one.day)
    return any(all(a in (None, b) for a, b in zip(told, (day.year, day.month, day.day), strict=True)) for day in days)


def _of(ordinal: int) -> date:
    return date.fromordinal(max(1, min(ordinal, date.max.toordinal())))
