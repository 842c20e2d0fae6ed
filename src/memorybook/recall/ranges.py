"""From one day to another: "between March and May", "May 2 to 9", 上周一到周三, since and 以来, 两周前的周三."""

from __future__ import annotations

from memorybook.patterns import lazily
from memorybook.recall.dates import MONTH, MONTHS, WEEKDAYS, YEAR, Span, number, span_of
from memorybook.standard import date
from memorybook.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memorybook.recall.rough_days import Place

    Placed = tuple[Place, list[Span]]

_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_HAN_N = "[0-9]{1,2}|[一二三]?十[一二三四五六七八九]?|[一二三四五六七八九]"
_TO = r"(?:to|until|till|through|thru|[-–—~～到至]|一直到)"

_JOINT = lazily(rf"(?i)\s*(?:{_TO}|(?P<and>and|and\s+the|[和与跟]))\s*(?:the\s+|了)?")
_YEAR = lazily(rf"(?<!\d){YEAR}(?!\d)|[今去前]年|last\s+year")
_BETWEEN = lazily(r"(?i)\bbetween\b[^,.;?!]{0,30}$")
_AFTER = lazily(
    rf"(?i)\s*(?:{_TO}|(?P<and>and|[和与跟]))\s*(?:the\s+)?"
    rf"(?:(?P<month>{MONTH})\b(?!\s+\d{{1,2}}\b)(?:,?\s+(?P<year>{YEAR})\b)?"
    rf"|(?P<weekday>{_DAY})\b|(?:周|星期|礼拜)?(?P<han>[一二三四五六日天])(?![个次月十点百千万])"
    rf"|(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?![:./%])(?!\s+(?:of\b|{MONTH}))|(?P<hd>{_HAN_N})[日号])"
)
_AHEAD = lazily(
    rf"(?i)(?:\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?|\b(?P<weekday>{_DAY}))\s*(?:{_TO}|(?P<and>and))\s*(?:the\s+)?$"
)
_SINCE = lazily(r"(?i)\bsince\s+(?:the\s+)?$")
_TILL_NOW = lazily(r"(?i)\s*(?:以来|至今|起(?:到现在|至今)|[到至]现在|(?:to|until|till|up\s+to)\s+now\b)")
_DAY_OF_WEEK_AFTER = lazily(
    rf"(?i)(?:\s*,?\s+on\s+(?:a\s+)?(?P<en>{_DAY})\b|的?那?个?(?:周|星期|礼拜)(?P<zh>[一二三四五六日天]))"
)
_DAY_OF_WEEK_AHEAD = lazily(rf"(?i)\b(?P<en>{_DAY}),?\s+(?:of\s+)?$")


def joined(question: str, found: list[tuple[Place, Span]], today: date | None) -> list[tuple[Place, Span]]:
    """The spans and where they stand, each that a range leads from, to or on made one with what it ends at.

    Args:
        question: In plain letters and digits.
        found: The spans and where they stand.
        today: Up to which "since" reaches; None leaves it at its beginning.
    """
    places: dict[Place, list[Span]] = {}
    for place, span in found:
        places.setdefault(place, []).append(span)
    rest = sorted(places.items())
    spans: list[tuple[Place, Span]] = []
    while rest:
        place, ways = rest.pop(0)
        while rest and (both := _both(question, place, ways, *rest[0])) is not None:
            place, ways = (place[0], rest.pop(0)[0][1]), both
        place, ways = _borrowed(question, place, ways)
        rest = [(other, them) for other, them in rest if other[0] >= place[1]]
        place, ways = to_now(question, place, ways, today)
        spans += [(place, way) for way in ways]
    return spans


def _both(question: str, place: Place, ways: list[Span], other: Place, them: list[Span]) -> list[Span] | None:
    """From the first to the second, if nothing but "to" or the like stands between them."""
    between = _JOINT.fullmatch(question, place[1], other[0])
    if between is None or not _leads(question, between["and"], place, other[1]):
        return None
    if _YEAR.search(question, *other) and not _YEAR.search(question, *place):
        ways = [(_in_year(way[0], them[0]), way[1]) for way in ways]
    return sorted({_until(way, them) for way in ways})


def _leads(question: str, conjunction: str | None, place: Place, end: int) -> bool:
    """Whether "and" joins the ends of a range."""
    return not conjunction or _BETWEEN.search(question[: place[1]]) is not None or question[end:].lstrip()[:2] == "之间"


def _until(way: Span, them: list[Span]) -> Span:
    """To the first of these that does not end before it; else it is of the year before."""
    later = min((one for one in them if one[1] >= way[0]), default=None)
    if later is not None:
        return way[0], later[1]
    earlier = _year_earlier(way[0])
    return (earlier, them[0][1]) if earlier <= them[0][1] else way


def _in_year(day: int, end: Span) -> int:
    """That day in the year in which the range ends, or in the one before."""
    year = date.fromordinal(end[1]).year
    moved = _moved(day, year)
    return moved if moved <= end[1] else _moved(day, year - 1)


def _year_earlier(day: int) -> int:
    return _moved(day, date.fromordinal(day).year - 1)


def _moved(day: int, year: int) -> int:
    """The same day of that year; the day itself before the first year, and 1 March for 29 February of most."""
    try:
        return date.fromordinal(day).replace(year=year).toordinal()
    except ValueError:
        return date(year, 3, 1).toordinal() if year > 0 else day


def _borrowed(question: str, place: Place, ways: list[Span]) -> Placed:
    """With what is told of the other end: its day of the month or of the week, its month."""
    if middles := [(first + last) // 2 for first, last in ways if 6 <= last - first <= 14]:
        if weekday := _DAY_OF_WEEK_AFTER.match(question, place[1]):
            return (place[0], weekday.end()), _of_weeks(middles, weekday["en"], weekday["zh"])
        if weekday := _DAY_OF_WEEK_AHEAD.search(question[: place[0]]):
            return (weekday.start(), place[1]), _of_weeks(middles, weekday["en"], None)
    after = _AFTER.match(question, place[1])
    if after and _leads(question, after["and"], place, after.end()):
        ends = [(first, end) for first, last in ways if (end := _end_told(after.groupdict(), first, last)) is not None]
        if ends:
            return (place[0], after.end()), ends
    ahead = _AHEAD.search(question[: place[0]])
    if ahead and (not ahead["and"] or _BETWEEN.search(question[: ahead.start()]) or _from(question, ahead.start())):
        starts = [(start, last) for first, last in ways if (start := _start_told(ahead.groupdict(), first, last))]
        if starts:
            return (ahead.start(), place[1]), starts
    return place, ways


def _from(question: str, start: int) -> bool:
    return question[:start].lower().rstrip().endswith("between")


def _of_weeks(middles: list[int], english: str | None, han: str | None) -> list[Span]:
    """That day of the week around each of these: 两周前的周三."""
    weekday = _weekday(english, han)
    return [(middle - (middle - 1) % 7 + weekday,) * 2 for middle in middles]


def _weekday(english: str | None, han: str | None) -> int:
    return WEEKDAYS.index(english[:3].lower()) if english else "一二三四五六日".index((han or "").replace("天", "日"))


def _end_told(told: dict[str, str | None], first: int, last: int) -> int | None:
    """The last day of a range that begins with these days; None if it cannot end so."""
    begun = date.fromordinal(first)
    month, day = told["month"], told["d"] or told["hd"]
    if month:
        number_of = MONTHS[month[:3].lower()]
        year = int(told["year"]) if told["year"] else begun.year + (number_of < begun.month)
        end = span_of(year, number_of, None)[1] if last - first >= 27 else 0
        return end if end > last else None
    if first != last:
        return None
    if told["weekday"] or told["han"]:
        return first + (_weekday(told["weekday"], told["han"]) - begun.weekday()) % 7
    if not day or not begun.day < number(day) <= 31:
        return None
    try:
        return begun.replace(day=number(day)).toordinal()
    except ValueError:
        return None


def _start_told(told: dict[str, str | None], first: int, last: int) -> int | None:
    """The first day of a range that ends with this one; None if it cannot begin so."""
    end = date.fromordinal(last)
    if first != last:
        return None
    if told["weekday"]:
        return last - (end.weekday() - _weekday(told["weekday"], None)) % 7
    return end.replace(day=int(told["d"])).toordinal() if told["d"] and 1 <= int(told["d"]) < end.day else None


def to_now(question: str, place: Place, ways: list[Span], today: date | None) -> Placed:
    """Up to today, with the words that say so: "since", 以来; as they are, where none do, or if today is None."""
    since = _SINCE.search(question[: place[0]])
    till = _TILL_NOW.match(question, place[1])
    begins = question[place[0] : place[0] + 6].lower() == "since "
    if today is None or not (since or till or begins):
        return place, ways
    now = today.toordinal()
    place = since.start() if since else place[0], till.end() if till else place[1]
    return place, [(first, now if first <= now else last) for first, last in ways]
