"""The days that words mean which are given to say when: "last Tuesday", 周末, "14 May", 14号; never after today."""

from __future__ import annotations

from memorybook.patterns import lazily
from memorybook.recall.dates import MONTH, WEEKDAYS, Span, number, spans
from memorybook.standard import date, timedelta
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
_A_MONTH = lazily(rf"(?i)\s*{MONTH}\.?\s*")
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
    from unicodedata import normalize

    words = _EVERY.sub(" ", normalize("NFKC", words))
    if _A_MONTH.fullmatch(words):
        words = f"in {words.strip()}"
    named = _named(words, today)
    if not named and not _AHEAD.search(words):
        named = [span for span in (_weekday(words, today), _day_of_month(words, today), *_near(words, today)) if span]
    return (min(first for first, _ in named), max(last for _, last in named)) if named else None


def _named(words: str, today: date) -> list[Span]:
    for year in range(today.year, max(0, today.year - _LEAP - 1), -1):
        found = [span for span in spans(words, [year], today) if span[0] <= today.toordinal()]
        if found:
            return found
    return []


def _weekday(words: str, today: date) -> Span | None:
    now, weekday = today.toordinal(), today.weekday()
    for match in _WEEKDAYS.finditer(words):
        if not match["and"] or match["between"]:
            last = now - (weekday - _of(match["to"], match["zto"])) % 7
            return last - (last - 1 - _of(match["from"], match["zfrom"])) % 7, last
    for match in _WEEKDAY.finditer(words):
        if not match["en"] or match[0].lower() in _NAMES:
            return (now - ((weekday - _of(match["en"], match["zh"])) % 7 or 7),) * 2
    return None


def _of(english: str | None, han: str | None) -> int:
    return WEEKDAYS.index(english[:3].lower()) if english else "一二三四五六日".index((han or "").replace("天", "日"))


def _near(words: str, today: date) -> Iterator[Span]:
    now = today.toordinal()
    if _WEEKEND.search(words):
        saturday = now - (today.weekday() - 5) % 7
        yield saturday, saturday + 1
    if _TODAY.search(words):
        yield now, now


def _day_of_month(words: str, today: date) -> Span | None:
    match = _DAY_OF_MONTH.search(words)
    if not match:
        return None
    day, month = number(match["en"] or match["zh"]), today.replace(day=1)
    for _ in range(4):  # a month in three has a 31st
        try:
            if (found := month.replace(day=day)) <= today:
                return (found.toordinal(),) * 2
        except ValueError:
            pass
        if month <= date.min + timedelta(days=31):
            return None
        month = (month - timedelta(days=1)).replace(day=1)
    return None
