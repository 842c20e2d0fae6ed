"""Days that a question speaks of, in English and Chinese, by the calendar or from today."""

from __future__ import annotations

from itertools import pairwise

from memorybook.patterns import lazily
from memorybook.recall.reading import words_as_written
from memorybook.standard import Callable, Iterable, Iterator, Mapping, date, timedelta
from memorybook.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import re

Span = tuple[int, int]
"""First and last day, as proleptic Gregorian ordinals."""

MOST = 2000
"""Characters of a question that are read for days: patterns may take the square of it."""

LATER = 14
"""Days after a span in which it may still be spoken of."""

MONTHS = {name: number for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
_MONTH_NAMES = frozenset(
    "january february march april june july august sept september october november december".split()
).union(MONTHS)
WEEKDAYS = "mon tue wed thu fri sat sun".split()
_UNITS = frozenset(
    "today yesterday ago week month year monday tuesday wednesday thursday friday saturday sunday"
    " mon tue tues wed thu thur thurs fri sat sun weekend night days weeks months mondays tuesdays wednesdays thursdays"
    " fridays saturdays sundays spring summer autumn winter fall other weekends"
    " quarter q1 q2 q3 q4 h1 h2 christmas xmas boxing easter halloween thanksgiving valentine valentines festival"
    " qingming".split()
)
_HAN_UNITS = frozenset("年月日号周天星前拜今昨季")
_OF_PARTS = (
    *("quarter", "half of", "q1", "q2", "q3", "q4", "h1", "h2", "ago today", "this time", "same time", "week of"),
    *("week in", "季度", "半年", "今天", "个时候", "年这", "年同", "年此", "第", "最后"),
)
_OF_HOLIDAYS = (
    *"christmas xmas boxing easter halloween thanksgiving valentine festival qingming chinese lunar".split(),
    *("autumn", "new year"),
)
_HAN_HOLIDAYS = (
    "春节 过年 除夕 元宵 清明 五一 劳动节 端午 七夕 中秋 重阳 国庆 元旦 圣诞 平安夜 情人节 万圣 感恩节 复活节"
    " 双十一 双11"
).split()
_JOINERS = (
    *(" to ", "till", "through", "thru", "and", "since", "now", "day", "的周", "的星", "的礼", "那周", "前周"),
    *"-–—~到至起以和与跟",
)
_NUMBERS = (
    "a one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_HAN = {numeral: number for number, numeral in enumerate("一二三四五六七八九", 1)}


MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
YEAR = r"(?:19|20)\d\d"
NUMERAL = "(?:[0-3]?[0-9]|[一二三]?十[一二三四五六七八九]?|[一二三四五六七八九])"

_CALENDAR = lazily(
    "(?i)"
    rf"\b(?P<y1>{YEAR})[-/.](?P<m1>\d{{1,2}})(?:[-/.](?P<d1>\d{{1,2}}))?(?!\d)"
    rf"|\b(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<m2>{MONTH})\b\.?(?:,?\s+(?P<y2>{YEAR})\b)?"
    rf"|(?:\b(?:in|of|during|since|until|between|from|through|last|this|early|late|mid)\s+(?=\w+\b(?!\s+\d))"
    rf"|\b(?=\w+\.?\s+(?:(?:the\s+)?\d|(?:of\s+)?(?:last|this)\s+year)))"
    rf"\b(?P<m3>{MONTH})\b\.?(?:\s+(?:the\s+)?(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\b)?(?:,?\s+(?P<y3>{YEAR})\b)?"
    rf"|(?:(?P<y4>{YEAR})年)?(?<![个\d一二三四五六七八九十])(?P<m4>{NUMERAL})月(?!一?[次回遍])(?:份|(?P<d4>{NUMERAL})[日号]?)?"
    rf"|(?<![0-9a-z_])(?<!\d/)(?P<y5>{YEAR})(?:年|\b)"
)

AGO = rf"(?:\d{{1,3}}|an|(?:{'|'.join(_TENS)})(?:[\s-](?:{'|'.join(_NUMBERS[1:10])}))?|{'|'.join(_NUMBERS)})"
HAN_AGO = "(?:[0-9]{1,3}|[一二两三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九])"
_NOT_AGO = "(?<![从以之目年月天周期拜])"  # 三天前天气很好 speaks of no 前天

_RELATIVE = lazily(
    "(?i)"
    rf"\b(?P<n>{AGO})(?P<more>\s+and\s+a\s+half)?\s+(?P<unit>day|week|month|year)s?(?P<more2>\s+and\s+a\s+half)?\s+(?:ago|back)\b"
    rf"|(?<![\d.十百千])(?P<hn>{HAN_AGO})(?P<hmore>个半(?=[月星礼])|年半)?(?P<hunit>天|周|个?(?:星期|礼拜)|个?月|(?<=年半)|年)(?:之|以)?前"
    r"|(?P<half>\bhalf\s+a\s+(?:month|year)\s+ago\b|(?<![个年])半(?:个?月|年)(?:之|以)?前)"
    r"|\blast\s+(?P<weekday>mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b"
    r"|(?P<week>(?<!上)上+|[这本])个?(?:周|星期|礼拜)(?P<hday>[二三四五六日天末]|一(?![起些直]))?"
    rf"|(?P<year>\b(?:this|last)\s+year\b|\byear\s+before\s+last\b|[今去]年|{_NOT_AGO}大?前年(?![轻龄纪]))"
    r"|\b(?:today|day\s+before\s+yesterday|yesterday|last\s+night|(?:this|last)\s+(?:weekend|week|month))\b"
    r"|\b(?:week|month)\s+before\s+last\b"
    rf"|[今昨](?:[天日晚夜早]|儿(?!童|子))|{_NOT_AGO}大?前[天儿](?!气|[童子])|上个?月|本月|这个月"
)


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
    question, known = _plain(question)[:MOST], sorted(years)
    told = _longest([each for way in _ways(question) for each in way(question, known, today)])
    taken = [place for place, _ in told]
    written = [m for m in _CALENDAR.finditer(question) if not _within(m, taken)]
    relative = [] if today is None else [m for m in _RELATIVE.finditer(question) if not _within(m, taken)]
    reached = [(m, span) for m in relative if today and (span := _reached(m, today))]
    of_years: list[re.Match[str]] = []
    if any(match["m2"] or match["m3"] or match["m4"] for match in written if not _year_of(match)):
        of_years = [match for match, _ in reached if match["year"]]
    year_at = {match: date.fromordinal(first).year for match, (first, _) in reached if match in of_years}
    found = [
        (_with(m, of_years), span) for m in written for span in _of_calendar(m, _years_beside(m, year_at) or known)
    ]
    found += [(m.span(), span) for m, span in reached if m not in of_years]
    found += told
    if not _holds(question, _JOINERS):
        return found
    from memorybook.recall.ranges import joined

    return joined(question, found, today)


def _with(match: re.Match[str], years: Iterable[re.Match[str]]) -> Span:
    """The place of a date with that of a year told right before or after it: 去年5月."""
    start, end = match.span()
    for year in years:
        if year.end() <= start <= year.end() + 1:
            start = year.start()
        elif end <= year.start() and match.string[end : year.start()].strip() in ("", "of"):
            end = year.end()
    return start, end


def _ways(question: str) -> Iterator[Callable[[str, list[int], date | None], list[tuple[Span, Span]]]]:
    """What finds further phrases, as far as one of its words is there: each takes a while to import."""
    from memorybook.recall import rough_days

    yield rough_days.found
    if _holds(question, _OF_PARTS):
        from memorybook.recall import year_parts

        yield year_parts.found
    if _holds(question, _OF_HOLIDAYS) or (not question.isascii() and _holds(question, _HAN_HOLIDAYS)):
        from memorybook.recall import holidays

        yield holidays.found
    if _holds(question, "/.-"):
        from memorybook.recall import figures

        yield figures.found


def _holds(question: str, words: Iterable[str]) -> bool:
    lower = question.lower()
    return any(word in lower for word in words)


def _years_beside(match: re.Match[str], year_at: Mapping[re.Match[str], int]) -> list[int]:
    """The years told for a date without its own: 去年5月 is the May of that year, neither any nor all of it."""
    beside = {year for told, year in year_at.items() if told.end() <= match.start() <= told.end() + 1}
    return sorted(beside or set(year_at.values()))


def _longest(told: list[tuple[Span, Span]]) -> list[tuple[Span, Span]]:
    """Places and days without those of which a longer phrase has a part."""
    return [
        (place, span)
        for place, span in told
        if not any(
            other[1] - other[0] > place[1] - place[0] and other[0] < place[1] and place[0] < other[1]
            for other, _ in told
        )
    ]


def _within(match: re.Match[str], taken: Iterable[Span]) -> bool:
    """Whether a longer phrase has it: the last month of "the end of last month" is not meant as a whole."""
    return any(start < match.end() and match.start() < end for start, end in taken)


def placed(
    matches: Iterable[re.Match[str]], read: Callable[[re.Match[str]], Iterable[Span]]
) -> list[tuple[Span, Span]]:
    """Where phrases stand and the days they mean, but for those beyond the calendar."""
    found: list[tuple[Span, Span]] = []
    for match in matches:
        try:
            found += [(match.span(), span) for span in read(match)]
        except (ValueError, OverflowError):
            continue
    return found


def by_calendar(question: str, start: int, years: list[int]) -> tuple[list[Span], int]:
    """The days of a date that stands right there, and where it ends; none if it is no date."""
    match = _CALENDAR.match(question, start)
    return (list(_of_calendar(match, years)), match.end()) if match else ([], start)


def may_name_days(question: str) -> bool:
    """A cheap look, so that the patterns are compiled for few questions; says yes too often, never no too often."""
    if not question.isascii():
        question = _plain(question)
        if not _HAN_UNITS.isdisjoint(question) or any(map(str.isdecimal, question)):
            return True
        if any(name in question for name in _HAN_HOLIDAYS):
            return True
        question = "".join(c if c.isalnum() else " " for c in question)
    words = words_as_written(question)  # they end where patterns see an end
    if not _UNITS.isdisjoint(words):
        return True
    if any(word in _MONTH_NAMES or word[:4].isdecimal() for word in words if len(word) > 2):
        return True
    return any(one[-1:].isdecimal() and other[:1].isdecimal() for one, other in pairwise(question.split("/")))


def _plain(question: str) -> str:
    """Full-width digits and letters as the usual ones."""
    if question.isascii():
        return question
    from unicodedata import normalize

    return normalize("NFKC", question)


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


def _of_calendar(match: re.Match[str], years: list[int]) -> Iterator[Span]:
    year = _year_of(match)
    named = match["m2"] or match["m3"]
    months = [match["m1"], match["m4"], str(MONTHS[named[:3].lower()]) if named else None]
    month = next((number(text) for text in months if text), None)
    day = next((number(match[name]) for name in ("d1", "d2", "d3", "d4") if match[name]), None)
    for each in [year] if year else years:
        try:
            yield span_of(each, month, day)
        except ValueError:  # the 31st of June
            continue


def _year_of(match: re.Match[str]) -> int | None:
    return next((int(match[name]) for name in ("y1", "y2", "y3", "y4", "y5") if match[name]), None)


def span_of(year: int, month: int | None, day: int | None) -> Span:
    """A year, a month of it, or a day of that; raises ValueError for what the calendar does not have."""
    if month is None:
        return date(year, 1, 1).toordinal(), date(year, 12, 31).toordinal()
    if day is None:
        after = date(year + month // 12, month % 12 + 1, 1)
        return date(year, month, 1).toordinal(), after.toordinal() - 1
    return (date(year, month, day).toordinal(),) * 2


def number(text: str) -> int:
    """A number in digits, one up to 99 in Chinese numerals or in English words."""
    if text.isdecimal():
        return int(text)
    if text.isascii():
        tens, _, ones = text.lower().replace("-", " ").partition(" ")
        if tens in _TENS:
            return 10 * _TENS.index(tens) + 20 + (_NUMBERS.index(ones) if ones else 0)
        return _NUMBERS.index("a" if tens == "an" else tens) or 1
    tens, ten, ones = text.replace("两", "二").rpartition("十")
    return (_HAN.get(tens, 1) * 10 if ten else 0) + _HAN.get(ones, 0)


def _reached(match: re.Match[str], today: date) -> Span | None:
    try:
        return _of_today(match, today)
    except (ValueError, OverflowError):  # before the first year or after the last
        return None


def _of_today(match: re.Match[str], today: date) -> Span | None:
    if match["n"] or match["hn"]:
        half = match["more"] or match["more2"] or match["hmore"]
        return _ago(number(match["n"] or match["hn"]) + (0.5 if half else 0), _unit(match), today)
    if match["half"]:
        return _around(
            today, *((183, 45) if match["half"][:2] == "半年" or "year" in match["half"].lower() else (15, 5))
        )
    if match["weekday"]:  # last Wednesday is the one before today, 上周三 is of the week before
        back = (today.weekday() - WEEKDAYS.index(match["weekday"][:3].lower())) % 7 or 7
        return (today.toordinal() - back,) * 2
    if match["week"]:
        return _of_week(match["hday"], match["week"].count("上"), today)
    word = " ".join(match[0].lower().split())
    return next(span(today) for name, span in _NAMED.items() if word in name)


def _unit(match: re.Match[str]) -> str:
    return (match["unit"] or match["hunit"].removeprefix("个") or "年")[0].lower()


def _of_week(day: str | None, back: int, today: date) -> Span:
    """A day (一…六, 日 or 天), the weekend (末) or all of the week so many weeks back."""
    monday, sunday = _week(back)(today)
    if day is None:
        return monday, sunday
    if day == "末":
        return sunday - 1, sunday
    return (sunday if day in "日天" else monday + _HAN[day] - 1,) * 2


def _ago(count: float, unit: str, today: date) -> Span | None:
    """`unit` is d, w, m, y or 天, 周 (星, 礼), 月, 年."""
    length, play = {
        "d": (1, 0),
        "天": (1, 0),
        "w": (7, 3),
        "周": (7, 3),
        "星": (7, 3),
        "礼": (7, 3),
        "y": (365, 60),
        "年": (365, 60),
    }.get(unit, (30, 15))
    whole = count == int(count)
    return _around(today, round(count * length), play if whole else play * 2 // 3)


def _around(today: date, back: int, play: int) -> Span | None:
    middle = today.toordinal() - back
    return (middle - play, middle + play) if middle > play else None


def _day(back: int) -> Callable[[date], Span]:
    return lambda today: (today.toordinal() - back,) * 2


def _week(back: int) -> Callable[[date], Span]:
    def span(today: date) -> Span:
        monday = today.toordinal() - today.weekday() - 7 * back
        return monday, monday + 6

    return span


def _month(back: int) -> Callable[[date], Span]:
    def span(today: date) -> Span:
        first = today.replace(day=1)
        for _ in range(back):
            first = (first - timedelta(days=1)).replace(day=1)
        return span_of(first.year, first.month, None)

    return span


def _year(back: int) -> Callable[[date], Span]:
    return lambda today: span_of(today.year - back, None, None)


def _weekend(back: int) -> Callable[[date], Span]:
    return lambda today: _of_week("末", back, today)


_NAMED: dict[tuple[str, ...], Callable[[date], Span]] = {
    ("today", "今天", "今日", "今晚", "今夜", "今早", "今儿"): _day(0),
    ("yesterday", "last night", "昨天", "昨日", "昨晚", "昨夜", "昨早", "昨儿"): _day(1),
    ("大前天", "大前儿"): _day(3),
    ("day before yesterday", "前天", "前儿"): _day(2),
    ("this week",): _week(0),
    ("last week",): _week(1),
    ("week before last",): _week(2),
    ("this weekend",): _weekend(0),
    ("last weekend",): _weekend(1),
    ("this month", "本月", "这个月"): _month(0),
    ("last month", "上个月", "上月"): _month(1),
    ("month before last",): _month(2),
    ("this year", "今年"): _year(0),
    ("last year", "去年"): _year(1),
    ("year before last", "前年"): _year(2),
    ("大前年",): _year(3),
}
