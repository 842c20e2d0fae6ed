"""Days that texts name: past ones that a question asks about, any that may be meant, and the day something is due."""

from __future__ import annotations

from memorybook._light import Iterable, Iterator, NamedTuple, Sequence, cast, date, lazily
from memorybook.text.day_phrases import (
    ALONE,
    BESIDE,
    LED,
    SURE,
    WEEKEND,
    When,
    every,
    may_name_days,
    phrases,
    plain,
    ranges,
    without_recurring,
)

FIRST, LAST = 1990, 2060
"""Years of which the days of the moon's calendar are known here."""

_FIXED = {
    name: ((month, day), length)
    for names, month, day, length in (
        ("christmas|xmas|圣诞", 12, 24, 3), ("christmas eve|平安夜", 12, 24, 1), ("christmas day", 12, 25, 1),
        ("boxing", 12, 26, 1), ("halloween|万圣", 10, 31, 1), ("双", 11, 11, 1), ("valentine|情人", 2, 14, 1),
        ("五一|劳动", 5, 1, 5), ("国庆|十一", 10, 1, 7), ("清明|qingming", 4, 4, 3), ("大年|年", 1, 20, 34),
    )
    for name in names.split("|")
}  # fmt: skip
"""Month and day on which it begins, and how many days it lasts; of two that fit the longer counts."""

_MOON = {
    "spring": (1, 20, -1, 8, "hApdvlEsiBqexmcujDsgzodvlEtiBqfxmcvjCrgyodwlEtiApexmcvkCrgzndwmEtiApexn"),
    "lantern": (2, 3, 0, 1, "hApdvlEsiBqexmcujDsgzodvlEtiBqfxmcvjCrgyodwlEtiApexmcvkCrgzndwmEtiApexn"),
    "dragon": (5, 25, -1, 3, "dwlEtiApfymFvkCrgzodwmDsiApfynFujCqgzpdwlEshAqfyncujCrgzoevkDthAqfxmFuj"),
    "七夕": (7, 30, 0, 1, "BrgzodvkDshAqfxmbuiBrhyodvkDsiApfxlEujBrgzncvlDsiBpexmbujCrgyncvlEshApd"),
    "mid": (9, 6, -1, 3, "BqfyodvkDsgzpfwmEtiBqgyncvjCshzpexlEtjBqgzncvkCshAoewlDtjCqfynbukDshApd"),
    "重阳": (10, 1, 0, 1, "zpdwmFtjBqfyndvkDsgzpewmbuiBqgyndwkCrhzpexlatiAqgzncvkCrhApexmDtiBqgynb"),
}
"""Month and day that a letter counts from (a is 0, A is 26), its first day from there, its length, a letter a year."""

_SAME = {"元宵": "lantern", "端午": "dragon", "中秋": "mid", "moon": "mid"}
_SAME |= dict.fromkeys(("春节", "过年", "chinese", "lunar"), "spring")


def holiday(name: str, year: int) -> tuple[int, int] | None:
    """Return the days of a holiday in a year, if known.

    China's moon calendar, Qingming on 4 or 5 April, New Year by its first day.
    """
    if not 1 < year < 9999:
        return None
    if name == "除夕":
        first = holiday("春节", year)
        return first and (first[0], first[0])
    key = next((same for word, same in _SAME.items() if name.startswith(word)), name)
    for word, (month, day, ahead, length, table) in _MOON.items():
        if key.startswith(word):
            if not FIRST <= year <= LAST:
                return None
            letter = table[year - FIRST]
            begins = date(year, month, day).toordinal() + ahead
            begins += ord(letter) - (ord("a") if letter >= "a" else ord("A") - 26)
            return begins, begins + length - 1
    if key.startswith(("new year", "元旦", "新年")):
        first_day = date(year, 1, 1).toordinal()
        if key.endswith("eve"):  # of the year that ends
            return (date(year, 12, 31).toordinal(),) * 2
        return (first_day, first_day) if key.endswith("day") else (first_day - 1, first_day + 1)
    if key.startswith(("easter", "复活")):
        from dateutil.easter import easter

        sunday = easter(year).toordinal()
        return sunday - 2, sunday + 1
    if key.startswith(("thanksgiving", "感恩")):
        november = date(year, 11, 1)
        thursday = november.toordinal() + (3 - november.weekday()) % 7 + 21
        return thursday, thursday + 3
    (month, day), length = max((word, value) for word, value in _FIXED.items() if key.startswith(word))[1]
    first_day = date(year, month, day).toordinal()
    return first_day, first_day + length - 1


Span = tuple[int, int]
"""First and last day, as proleptic Gregorian ordinals."""

LENGTH = {"d": 1, "w": 7, "f": 14, "m": 30, "y": 365}
"""Days of a unit."""

_PLAY = {"d": 0, "w": 3, "f": 7, "m": 15, "y": 60}
"""Days by which a number of units may be wrong; two thirds of it for one "and a half"."""

_HALF = {"m": (15, 5), "y": (183, 45)}  # days of half a unit, and by how many they may be wrong


def spans_of(when: When, today: date | None, years: Iterable[int], near: Iterable[int]) -> list[Span]:
    """Return every span of days that a phrase may mean.

    `today` None leaves out what is counted from it; `years` are those of a date without its year; `near` the weeks,
    months or years around today that a day without them may be of.
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
    """Return the year and the month so many months away."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return year, month + 1


def week_of(day: int, weeks: int = 0) -> Span:
    """Return Monday to Sunday of the week so many weeks from that of the day."""
    monday = day - (day - 1) % 7 + 7 * weeks  # ordinal 1 was a Monday
    return monday, monday + 6


def _months(when: When, today: date | None, years: Iterable[int], near: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield years and months in which the days may be; month 0 is of no month, -1 of neither."""
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
        days = holiday(when.holiday, year)
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
    """Return the first and the last day of so many months from that one on."""
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
    """Return the day of that month with the number of today, or the last if there is none, give or take some days."""
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


MOST = 2000
"""Characters of a question that are read for days: patterns may take the square of it."""

LATER = 14
"""Days after a span in which it may still be spoken of."""

_LEAP = 8  # years back to the last 29 February
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
    """Return every span of days that the question names; `years` are those of a date without its year.

    >>> [tuple(map(date.fromordinal, s)) for s in spans("on 7 May", [2023], None)]
    [(datetime.date(2023, 5, 7), datetime.date(2023, 5, 7))]
    >>> spans("上周三", [], date(2023, 5, 12)) == spans("2023年5月3日", [], None)
    True
    """
    return [span for _, span in spans_at(question, years, today)]


def spans_at(question: str, years: Iterable[int], today: date | None) -> list[tuple[Span, Span]]:
    """Return the same spans, each after its place (start, end) in the NFKC-normalised question."""
    known, named = sorted(years), [when for when in _named(question) if when.level == SURE and not _is_to_come(when)]
    return [((when.start, when.end), span) for when in named for span in _spans(when, known, today)]


def closeness(day: int, wanted: Iterable[Span]) -> float:
    """Return 1 for a day (ordinal) within a span, then less until `LATER` days after it; else 0."""
    return max(
        (
            1.0 if first <= day <= last else (1 - (day - last) / (LATER + 1)) / 2
            for first, last in wanted
            if first <= day <= last + LATER
        ),
        default=0.0,
    )


def days_of(words: str, today: date) -> Span | None:
    """Return the first and last day that the words mean; None if they name none, or only days to come.

    A date without its year is the newest that is not after today; a weekday the newest before today.

    >>> [str(date.fromordinal(day)) for day in days_of("on Wednesday", date(2023, 5, 12))]
    ['2023-05-10', '2023-05-10']
    >>> days_of("下周三", date(2023, 5, 12)) is None
    True
    """
    named = [span for _, span in days_at(words, today)]
    return (min(first for first, _ in named), max(last for _, last in named)) if named else None


def spans_in(question: str, today: date) -> tuple[Span, ...]:
    """Return every span of days that the question names and that has begun, in order; as `days_of` reads them."""
    return tuple(sorted({span for _, span in days_at(question, today)}))


def without_days(words: str, today: date) -> str:
    """Remove what names days, and the "since" before it, from the NFKC-normalised words.

    "the 2021 budget" keeps its year.

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
    """Return the spans that have begun by today, each after its place: its first character and the one after it."""
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
    """Return whether a phrase leaves open of which year it is."""
    yearly = when.month or when.term or when.holiday
    left = when.year is None and when.years is None and when.which is None
    return bool(yearly and left) or (when.until is not None and _of_any_year(when.until))


def _is_to_come(when: When) -> bool:
    ahead = (when.years, when.quarters, when.months, when.weeks, when.which)
    later = (when.days or (0,))[0] > 0 or (when.away or (0,))[0] > 0
    return any((by or 0) > 0 for by in ahead) or (later and not when.lately)


def _spans(when: When, years: Sequence[int], today: date | None) -> list[Span]:
    """Return the days of a phrase, of one that leaves its week or month open the newest that have begun."""
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
    """Return whether a phrase leaves its week or month open, or the year of a part of it."""
    if when.weekday is not None:
        return when.weeks is None and when.away is None
    return bool(when.open) or (when.day is not None and when.month is None and when.months is None)


def _range(first: When, last: When, years: Sequence[int], today: date | None) -> list[Span]:
    """Return spans from one to the other; each by itself if they are no range."""
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


NEAR = 10
"""Days in a span up to which one day in it counts as meant."""

_SLACK = {"d": 1, "w": 3, "f": 4, "m": 8, "y": 100}  # days by which a number of units may be wrong
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
    """Return the dates that a text names by the calendar, in full or in part."""
    return [
        Named(one.year, one.month, one.day, one.start, one.end)
        for one in phrases(text)
        if (one.year or one.month or one.day) and not one.either and one.level != BESIDE
    ]


def meant(text: str, said: date) -> set[Span]:
    """Return the spans of days that a text said on that day may mean; that day itself always."""
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
    """Yield the days that a phrase can mean, its missing parts taken from around the day it was said on."""
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
    """Return whether a date may be in these spans: a day in a short one, a month in a season's, a year in any."""
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


_DENIED = lazily(
    r"(?i)(?:\b(?:not|instead of|rather than|no longer)|\b(?:mov|shift|chang|push|postpon|reschedul|switch)[^.;]*"
    r"\bfrom)(?:\s+(?:on|at|in|for|the|next|this))*\s*$|(?:不再?[是在定]|而非|不在|取代|代替)\s*(?:原[来定先])?的?\s*$"
)
_LEFT = lazily(r"[^，,。；;]{0,6}?(?:[改换挪移调]|推迟|延期?|提前)[期整]?[到成为至]")
_PASSED, _COMING = -60, 305
"""Days from today within which a date without its year is: two months back, ten ahead."""


def due(text: str, today: date) -> date | None:
    """Return the day from `today` on that `text` names; None if it names none, or only past ones.

    A day without a year is the next within ten months; of several the last counts, a date before a weekday before a
    week or month. A day said not to be it (`Monday, not Friday`) is left out.
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
    """Return whether a day is named only to say that it is another: `not on Friday`, `moved from Friday`, 周五改到."""
    return _DENIED.search(text[: when.start]) is not None or _LEFT.match(text, when.end) is not None


def _last(when: When, text: str, today: date) -> Span | None:
    """Return the days at the end of which something is to be done; None for what tells no such end."""
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
