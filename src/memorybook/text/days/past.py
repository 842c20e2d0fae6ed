"""Days that a question speaks of, by the calendar or from today; and those that words mean which say when."""

from __future__ import annotations

from memorybook._light import Iterable, Sequence, date, lazily
from memorybook.text.days.grammar import When, may_name_days, phrases, plain, ranges, without_recurring
from memorybook.text.days.spans import Span, spans_of
from memorybook.text.days.table import ALONE, SURE, WEEKEND

MOST = 2000
"""Characters of a question that are read for days: patterns may take the square of it."""

LATER = 14
"""Days after a span in which it may still be spoken of."""

_LEAP = 8
"""Years back to the last 29 February."""

_BACK = (0, -1, -2, -3)
"""Weeks and months from today in which the newest such day is sought: a month in three has a 31st."""

_LEADS = lazily(
    r"(?i)\b(?:(?:back|earlier)\s+)?(?:in|on|at|over|of|for|from|since|during|within|through(?:out)?|until|till|between"
    r"|around|about|by)(?:\s+(?:all\s+)?(?:of\s+)?the|\s+this)?\s+$|\b(?:the|this)\s+$|[在从自于]$"
)
"""What leads to a day, and means nothing without it."""
_IN = lazily(r"(?i)\b(?:in|of|during|since|from|until|till|between)\s+$|[在从自于]$")
_OF_IT = lazily(r"^(?:'s\b)?\s*")


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
    return [span for _, span in spans_at(question, years, today)]


def spans_at(question: str, years: Iterable[int], today: date | None) -> list[tuple[Span, Span]]:
    """The same, each after the place where it stands in the question: its first character and the one after it.

    Places are those of the question in characters of the usual width (NFKC).
    """
    known, named = sorted(years), [when for when in _named(question) if when.level == SURE and not _is_to_come(when)]
    return [((when.start, when.end), span) for when in named for span in _spans(when, known, today)]


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


def days_of(words: str, today: date) -> Span | None:
    """From the first to the last day that the words mean; None if they name none, or only days to come.

    A date without its year is the newest that is not after today; a weekday the newest before today.

    Args:
        words: In English or Chinese, a phrase or a whole question.
        today: The day on which they are said.

    >>> [str(date.fromordinal(day)) for day in days_of("on Wednesday", date(2023, 5, 12))]
    ['2023-05-10', '2023-05-10']
    >>> days_of("下周三", date(2023, 5, 12)) is None
    True
    """
    named = [span for _, span in days_at(words, today)]
    return (min(first for first, _ in named), max(last for _, last in named)) if named else None


def spans_in(question: str, today: date) -> tuple[Span, ...]:
    """Every span of days that the question names and that has begun, in order; as `days_of` reads them."""
    return tuple(sorted({span for _, span in days_at(question, today)}))


def without_days(words: str, today: date) -> str:
    """The words, in characters of the usual width (NFKC), without those that name days, and the "since" before them.

    A year stays that may belong to a thing: "the 2021 budget".

    >>> without_days("what did we decide about tea over the past two weeks?", date(2023, 5, 12))
    'what did we decide about tea ?'
    >>> without_days("过去两周我们聊了什么", date(2023, 5, 12))
    '我们聊了什么'
    """
    words = plain(words)
    for start, end in sorted({place for place, _ in days_at(words, today)}, reverse=True):
        if words[start:end].rstrip("年").isdecimal() and not _IN.search(words[:start]):
            continue
        before = _LEADS.sub("", words[:start])
        words = f"{before.rstrip()} {_OF_IT.sub('', words[end:])}"
    return words.strip()


def days_at(words: str, today: date) -> list[tuple[Span, Span]]:
    """The spans that have begun by today, each after its place: its first character and the one after it."""
    found = _named(words) if may_name_days(words) else []
    for level in (SURE, ALONE):
        named = [when for when in found if when.level == level]
        years = range(today.year, max(0, today.year - (_LEAP if any(map(_of_any_year, named)) else 0) - 1), -1)
        for year in years:
            spans = [((when.start, when.end), span) for when in named for span in _spans(when, [year], today)]
            if begun := [(place, span) for place, span in spans if span[0] <= today.toordinal()]:
                return begun
        if any(map(_is_to_come, named)):
            break
    return []


def _named(words: str) -> list[When]:
    words = without_recurring(plain(words)[:MOST])
    return ranges(words, phrases(words))


def _of_any_year(when: When) -> bool:
    """Whether a phrase leaves open of which year it is."""
    yearly = when.month or when.term or when.holiday
    left = when.year is None and when.years is None and when.which is None
    return bool(yearly and left) or (when.until is not None and _of_any_year(when.until))


def _is_to_come(when: When) -> bool:
    ahead = (when.years, when.quarters, when.months, when.weeks, when.which)
    later = (when.days or (0,))[0] > 0 or (when.away or (0,))[0] > 0
    return any((by or 0) > 0 for by in ahead) or (later and not when.lately)


def _spans(when: When, years: Sequence[int], today: date | None) -> list[Span]:
    """The days of a phrase, of one that leaves its week or month open the newest that have begun."""
    now = None if today is None else today.toordinal()
    if when.until is not None:
        spans = _range(when.but(until=None, since=False), when.until, years, today)
    elif when.either:
        ways = [spans_of(when, today, [year], ()) for year in ([when.year] if when.year else years)]
        spans = [next((way for way in each if now and way[0] <= now), each[0]) for each in ways if each]
    else:
        spans = spans_of(when, today, years, _BACK)
        if now is not None and _is_open(when):
            day = when.weekday not in (None, WEEKEND)
            spans = [span for span in spans if span[0] <= now - day][:1]
    if when.since and now is not None:
        return [(first, now if first <= now else last) for first, last in spans]
    return spans


def _is_open(when: When) -> bool:
    """Whether a phrase leaves its week or month open, or the year of a part of it."""
    if when.weekday is not None:
        return when.weeks is None and when.away is None
    return bool(when.open) or (when.day is not None and when.month is None and when.months is None)


def _range(first: When, last: When, years: Sequence[int], today: date | None) -> list[Span]:
    """From one to the other; each by itself if they are no range."""
    starts, ends = _spans(first, years, today), _spans(last, years, today)
    if _is_open(last) and last.weekday is not None:
        if _is_open(first) and today is not None:
            end = today.toordinal() - (today.weekday() - last.weekday) % 7
            spans = [(end - (end - 1 - (first.weekday or 0)) % 7, end)]
        else:
            spans = [(day, day + (last.weekday - day + 1) % 7) for day, end in starts if day == end]
    elif _is_open(first) and first.weekday is not None:
        spans = [(day - (day - 1 - first.weekday) % 7, day) for start, day in ends if start == day]
    elif _of_any_year(first):
        begun = {date.fromordinal(day).year - by for day, _ in ends for by in (0, 1)}
        before = [(end, [start for start, _ in _spans(first, sorted(begun), today) if start <= end]) for _, end in ends]
        spans = [(max(begins), end) for end, begins in before if begins]
    else:
        over = {date.fromordinal(day).year + by for day, _ in starts for by in (0, 1)}
        ends_of = _spans(last, sorted(over), today)
        after = [(start, [end for _, end in ends_of if end >= start]) for start, _ in starts]
        spans = [(start, min(behind)) for start, behind in after if behind]
    return spans or [*starts, *(ends if last.level == SURE else ())]
