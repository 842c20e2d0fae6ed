"""The day that a sentence names for something to be done."""

from __future__ import annotations

from memorybook._light import date, lazily
from memorybook.text.days.grammar import When, may_name_days, phrases, ranges, without_recurring
from memorybook.text.days.spans import LENGTH, Span, spans_of
from memorybook.text.days.table import LED, WEEKEND

_DENIED = lazily(
    r"(?i)(?:\b(?:not|instead of|rather than|no longer)|\b(?:mov|shift|chang|push|postpon|reschedul|switch)[^.;]*"
    r"\bfrom)(?:\s+(?:on|at|in|for|the|next|this))*\s*$|(?:不再?[是在定]|而非|不在|取代|代替)\s*(?:原[来定先])?的?\s*$"
)
_LEFT = lazily(r"[^，,。；;]{0,6}?(?:[改换挪移调]|推迟|延期?|提前)[期整]?[到成为至]")
_PASSED, _COMING = -60, 305
"""Days from today within which a date without its year is: two months back, ten ahead."""


def due(text: str, today: date) -> date | None:
    """The day from `today` on that `text` names; None if it names none, or only past ones.

    A day without a year is the next such day within ten months; of several the last one counts, a date before a
    weekday, and that before a whole week or month. One that is said not to be it, or no longer, is left out: `Monday,
    not Friday`.
    """
    if not may_name_days(text):
        return None
    text = without_recurring(text)
    found: dict[int, int] = {}
    for one in ranges(text, phrases(text)):
        when = one.until or one
        if when.level >= LED or _is_denied(when, text):
            continue
        span, begins = _last(when, text, today), None
        if one.until is not None and when.weekday is not None and not _is_denied(one, text):
            begins = _last(one.but(until=None), text, today)
        if span is not None and begins is not None and span < begins:
            span = span[0] + 7, span[1] + 7
        if span is not None and today.toordinal() <= span[1] <= date.max.toordinal():
            rank = 0 if when.day is not None else 1 if span[0] == span[1] else 2
            found[rank] = max(found.get(rank, 0), span[1])
    return date.fromordinal(found[min(found)]) if found else None


def _is_denied(when: When, text: str) -> bool:
    """Whether a day is named only to say that it is another one: `not on Friday`, `moved from Friday`, 周五改到."""
    return _DENIED.search(text[: when.start]) is not None or _LEFT.match(text, when.end) is not None


def _last(when: When, text: str, today: date) -> Span | None:
    """The days at the end of which something is to be done; None for what tells no such end."""
    now = today.toordinal()
    if when.away is not None:
        if when.lately or not when.unit or when.same is not None:
            return None
        return (now + round(when.away[1] * LENGTH[when.unit]),) * 2 if when.away[0] > 0 else None
    tells = when.day is not None or when.part == "end" or when.weekday is not None or when.weeks is not None
    if not (tells or (when.months or 0) > 0 or (when.days is not None and when.days[0] >= 0)):
        return None
    spans = spans_of(when, today, [today.year + by for by in (-1, 0, 1)], (0, 1))
    if when.either and when.year is not None:
        spans = spans[:1]
    if when.year is None and when.years is None and when.month is not None:
        spans = [span for span in spans if _PASSED <= span[1] - now <= _COMING]
        return spans[0] if spans else None
    if when.weekday is not None and not when.weeks:
        if when.weeks == 0 and spans and spans[0][1] < now:
            return spans[0][0] + 7, spans[0][1] + 7
        later = when.weekday != WEEKEND and when.weeks is None and text[when.start].isascii()  # on Friday, said on one
        spans = [span for span in spans if span[1] >= now + later]
    return next((span for span in spans if span[1] >= now), None)
