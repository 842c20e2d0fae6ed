"""The days that words mean which are given to say when: "last Tuesday", 周末, "14 May", 14号; never after today."""

from __future__ import annotations

from memorybook.patterns import lazily
from memorybook.recall.dates import MONTH, WEEKDAYS, Span, may_name_days, number, spans_at
from memorybook.recall.ranges import to_now
from memorybook.standard import date, suppress, timedelta
from memorybook.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memorybook.standard import Iterator

_DAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_LEAP = 8
"""Years back to the last 29 February."""

_AHEAD = lazily(
    r"(?i)\b(?:next|tomorrow|coming|upcoming|in\s+\w+\s+(?:days?|weeks?|months?))\b|[下明后][周天年个]"
    r"|下+个?(?:星期|礼拜)"
)
_WEEKDAY = lazily(
    r"(?i)\b(?P<en>mon|tue|wed|thu|fri|sat|sun)[a-z]*\b|(?<![每一两几])(?:周|星期|礼拜)(?P<zh>[一二三四五六日天])(?![次遍回])"
)
_NAMES = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun".split()
)
_WEEKEND = lazily(r"(?i)\bweekend\b|周末")
_TODAY = lazily(r"(?i)\b(?:this\s+(?:morning|afternoon|evening)|earlier\s+today|tonight)\b|今[早晨晚]|早上|刚才|方才")
_DAY_OF_MONTH = lazily(
    r"(?i)\bthe\s+(?P<en>\d{1,2})(?:st|nd|rd|th)\b(?!\s+(?:conversation|chat|session|discussion|talk|time|one"
    r"|call))|(?<![\d月])(?P<zh>\d{1,2}|[一二三]?十[一二三四五六七八九]?"
    r"|[一二三四五六七八九])[号日](?![线楼院门机码])"
)
_EVERY = lazily(
    rf"(?i)\bevery\s+{_DAY}(?:\s+(?:to|and)\s+{_DAY})?|每个?(?:周|星期|礼拜)[一二三四五六日天](?:[、和到至]?(?:周|星期|礼拜)?[一二三四五六日天])*"
)
_ALONE = lazily(rf"(?i)\s*(?:{MONTH}\.?|q[1-4])\s*")
"""Is a time only where nothing else is said."""
_LEADS = lazily(
    r"(?i)\b(?:(?:back|earlier)\s+)?(?:in|on|at|over|of|for|from|since|during|within|through(?:out)?|until|till|between"
    r"|around|about|by)(?:\s+(?:all\s+)?(?:of\s+)?the|\s+this)?\s+$|\b(?:the|this)\s+$|[在从自于]$"
)
"""What leads to a day, and means nothing without it."""
_IN = lazily(r"(?i)\b(?:in|of|during|since|from|until|till|between)\s+$|[在从自于]$")
_OF_IT = lazily(r"^(?:'s\b)?\s*")
_WEEKDAYS = lazily(
    rf"(?i)\b(?:(?P<between>between)\s+)?(?P<from>{_DAY})\s*(?:to|until|till|through|thru|[-–—~]|(?P<and>and))\s*(?P<to>{_DAY})\b"
    "|(?<![每上])(?:周|星期|礼拜)(?P<zfrom>[一二三四五六日天])[到至~-](?:周|星期|礼拜)?(?P<zto>[一二三四五六日天])"
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
    named = [span for _, span in days_at(_read(words), today)]
    return (min(first for first, _ in named), max(last for _, last in named)) if named else None


def spans_in(question: str, today: date) -> tuple[Span, ...]:
    """Every span of days that the question names and that has begun, in order; as `days_of` reads them."""
    return tuple(sorted({span for _, span in days_at(_read(question), today)}))


def without_days(words: str, today: date) -> str:
    """The words, in characters of the usual width (NFKC), without those that name days, and the "since" before them.

    A year stays that may belong to a thing: "the 2021 budget".

    >>> without_days("what did we decide about tea over the past two weeks?", date(2023, 5, 12))
    'what did we decide about tea ?'
    >>> without_days("过去两周我们聊了什么", date(2023, 5, 12))
    '我们聊了什么'
    """
    words = _read(words)
    for start, end in sorted({place for place, _ in days_at(words, today)}, reverse=True):
        if words[start:end].rstrip("年").isdecimal() and not _IN.search(words[:start]):
            continue
        before = _LEADS.sub("", words[:start])
        words = f"{before.rstrip()} {_OF_IT.sub('', words[end:])}"
    return words.strip()


def _read(words: str) -> str:
    from unicodedata import normalize

    words = words if words.isascii() else normalize("NFKC", words)
    return f"in {words.strip()}" if _ALONE.fullmatch(words) else words


def days_at(words: str, today: date) -> list[tuple[Span, Span]]:
    """The spans that have begun by today, each after its place: its first character and the one after it."""
    if not (may_name_days(words) or _TODAY.search(words) or _DAY_OF_MONTH.search(words)):
        return []
    words = _EVERY.sub(lambda match: " " * len(match[0]), words)
    named = _named(words, today)
    if named or _AHEAD.search(words):
        return named
    alone = [*_weekday(words, today), *_day_of_month(words, today), *_near(words, today)]
    found = []
    for place, span in alone:
        place, ways = to_now(words, place, [span], today)
        found += [(place, way) for way in ways]
    return found


def _named(words: str, today: date) -> list[tuple[Span, Span]]:
    years = range(today.year, max(0, today.year - _LEAP - 1), -1)
    for year in years if spans_at(words, years, today) else ():
        found = [(place, span) for place, span in spans_at(words, [year], today) if span[0] <= today.toordinal()]
        if found:
            return found
    return []


def _weekday(words: str, today: date) -> Iterator[tuple[Span, Span]]:
    now, weekday = today.toordinal(), today.weekday()
    for match in _WEEKDAYS.finditer(words):
        if not match["and"] or match["between"]:
            last = now - (weekday - _of(match["to"], match["zto"])) % 7
            yield match.span(), (last - (last - 1 - _of(match["from"], match["zfrom"])) % 7, last)
            return
    for match in _WEEKDAY.finditer(words):
        if not match["en"] or match[0].lower() in _NAMES:
            yield match.span(), (now - ((weekday - _of(match["en"], match["zh"])) % 7 or 7),) * 2
            return


def _of(english: str | None, han: str | None) -> int:
    return WEEKDAYS.index(english[:3].lower()) if english else "一二三四五六日".index((han or "").replace("天", "日"))


def _near(words: str, today: date) -> Iterator[tuple[Span, Span]]:
    now = today.toordinal()
    if match := _WEEKEND.search(words):
        saturday = now - (today.weekday() - 5) % 7
        yield match.span(), (saturday, saturday + 1)
    if match := _TODAY.search(words):
        yield match.span(), (now, now)


def _day_of_month(words: str, today: date) -> Iterator[tuple[Span, Span]]:
    match = _DAY_OF_MONTH.search(words)
    if not match:
        return
    day, month = number(match["en"] or match["zh"]), today.replace(day=1)
    for _ in range(4):  # a month in three has a 31st
        with suppress(ValueError):
            if (found := month.replace(day=day)) <= today:
                yield match.span(), (found.toordinal(),) * 2
                return
        if month <= date.min + timedelta(days=31):
            return
        month = (month - timedelta(days=1)).replace(day=1)
