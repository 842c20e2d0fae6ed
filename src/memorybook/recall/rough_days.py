"""Days that are told roughly or by more than a date: parts of months and years, seasons, a weekday of a week."""

from __future__ import annotations

from memorybook.patterns import lazily
from memorybook.recall.dates import (
    AGO,
    HAN_AGO,
    MONTH,
    MONTHS,
    NUMERAL,
    WEEKDAYS,
    YEAR,
    Span,
    by_calendar,
    number,
    span_of,
)
from memorybook.standard import Iterable, Iterator, date
from memorybook.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import re

Place = tuple[int, int]
"""Where a phrase begins and ends in the question."""

FEW = (2, 6)
"""How many "a few" and 几 may be."""

WHILE = (7, 75)
"""How many days ago "a while ago" and 前阵子 may be."""

_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_SEASON = "(?:spring|summer|autumn|fall|winter)"
_PART = r"(?:(?:early|late|mid)(?:\s+in)?|(?:the\s+)?(?:start|beginning|middle|end)\s+of)"
_UNIT = "(?:day|week|month|year|fortnight)s?"

_MANY = rf"(?:{AGO}|few|couple(?:\s+of)?|several)"

_EITHER = lazily(r"\s+(?:or|to)\s+|(?<=\d)\s*[-–]\s*(?=\d)")

_ENGLISH = lazily(
    "(?i)"
    rf"\b(?:(?P<n>{AGO})\s+(?:(?P<days>{_DAY}|weekend)s?|(?P<unit>fortnights?))|(?P<many>(?:a\s+)?few"
    rf"|a\s+couple(?:\s+of)?|several|{AGO}\s+(?:or|to)\s+{AGO}|\d{{1,3}}\s*[-–]\s*\d{{1,3}})"
    rf"\s+(?P<munit>{_UNIT}))\s+(?:ago|back)\b"
    rf"|\bthe\s+(?P<second>{_DAY}|weekend)\s+before\s+last\b"
    rf"|\b(?:(?P<d1>{_DAY})\s+(?:of\s+|in\s+)?(?P<w1>last|this)\s+week"
    rf"|(?P<w2>last|this)\s+week(?:'s)?\s+(?:on\s+)?(?P<d2>{_DAY}))\b"
    rf"|\bthis\s+(?:past\s+)?(?P<d3>{_DAY})\b|\b(?:over|at|during)\s+the\s+(?P<weekend>weekend)\b"
    rf"|\b(?P<week>week\s+of\s+)|\b(?P<part>{_PART})[\s-]+(?:(?P<which>last|this)\s+(?P<whole>month|year)"
    rf"|(?:the\s+)?(?P<now>month|year)\b(?!\s+\d)|(?P<m1>{MONTH})\b(?!\s+\d{{1,2}}\b)(?:,?\s+(?P<y1>{YEAR}))?)"
    rf"|\b(?P<which2>last|this|that)\s+(?P<season>{_SEASON})\b"
    rf"|\b(?P<season2>{_SEASON})\s+(?:of\s+)?(?P<y2>{YEAR}|last\s+year|this\s+year)\b"
    rf"|\b(?P<which3>last|this)\s+(?P<m2>{MONTH})\b(?!\s+\d)"
    rf"|\b(?:past\s+(?!day\b)(?:(?P<pn>{_MANY})\s+)?|last\s+(?P<ln>{_MANY})\s+)(?P<punit>{_UNIT})\b"
    r"|\bthe\s+other\s+(?P<other>day|night|evening|week)\b"
)

_HAN_PART = "(?:[初底末]旬?|中旬?(?![国间])|[上下]旬)"
_HAN_UNIT = "天|周|个?(?:星期|礼拜)|个?月|年"
_HAN_TWO = "[一二两三四五六七八][、到]?[二两三四五六七八九]|[1-9][、到~-][1-9]"
_CHINESE = lazily(
    f"(?P<back>(?<!上)上+|[这本])个?月份?的?(?:(?P<mday>{NUMERAL})[日号]|(?P<mpart>{_HAN_PART}))|(?<!上)上上+个?(?P<before>月)"
    f"|(?:(?P<y1>{YEAR})年|(?P<yback>[今去]年"
    f"|大?前年))?的?(?<![个\\d一二三四五六七八九十])(?P<month>{NUMERAL})月(?P<part>{_HAN_PART})"
    f"|(?:(?P<y2>{YEAR})年|(?P<yback2>[今去]年|大?前年))年?(?P<ypart>[初底末]|中(?![国间]))"
    "|(?<![\\d〇零一二三四五六七八九十去今前明后每成半百])年(?P<nowyear>[初底])(?!二)"
    "|(?<![个\\d一二三四五六七八九十上这本])月(?P<nowmonth>[初底末])"
    f"|(?:(?P<y3>{YEAR})年|(?P<yback3>[今去]年|大?前年|上个?|[这本]个?))的?(?P<season>[春夏秋冬])[天季]"
    "|(?P<near>前[几些两]天|前些日子|这[几两]天|近[几两]天)|(?P<while>前一?阵子?|前一?段(?:时间|日子))"
    f"|好?(?P<few>[几数]|(?<![\\d.十百千])(?:{_HAN_TWO}))(?P<funit>{_HAN_UNIT})(?:之|以)?前"
    f"|(?P<some>[二三四五六七八九]?十)[几来多](?P<sunit>{_HAN_UNIT})(?:之|以)?前"
    f"|(?:最近|过去|近|这)的?(?P<pn>{HAN_AGO}|[几半])(?P<punit>{_HAN_UNIT})(?!之?前)"
)
_WEEK_AFTER = lazily("\\s*那个?一?(?:周|星期|礼拜)")

_LENGTH = {"d": 1, "f": 14, "w": 7, "m": 30, "y": 365, "天": 1, "周": 7, "星": 7, "礼": 7, "月": 30, "年": 365}
_SEASONS = {"sp": 3, "su": 6, "au": 9, "fa": 9, "wi": 12, "春": 3, "夏": 6, "秋": 9, "冬": 12}
_BACK_YEARS = {"今": 0, "这": 0, "本": 0, "去": 1, "上": 1, "前": 2, "大": 3}


def found(question: str, years: list[int], today: date | None) -> list[tuple[Place, Span]]:
    """The phrases of either language, where each stands, and the days that it means; none after the calendar's end.

    Args:
        question: In plain letters and digits.
        years: Those that a month without its year may be of, in ascending order.
        today: What the phrases are counted from; None leaves those out that need it.
    """
    told = [(match, _english) for match in _ENGLISH.finditer(question)]
    if not question.isascii():
        told += [(match, _chinese) for match in _CHINESE.finditer(question)]
    spans: list[tuple[Place, Span]] = []
    for match, read in told:
        try:
            spans += [((match.start(), max(match.end(), end)), span) for span, end in read(match, years, today)]
        except (ValueError, OverflowError):  # the 31st of last month, or before the first year
            continue
    return spans + ([] if question.isascii() else list(_weeks_of_dates(question, years)))


def _weeks_of_dates(question: str, years: list[int]) -> Iterator[tuple[Place, Span]]:
    """5月5号那周: the week of that day."""
    for match in _WEEK_AFTER.finditer(question):
        for start in range(max(0, match.start() - 11), match.start()):
            days, end = by_calendar(question, start, years)
            if days and end == match.start():
                yield from (((start, match.end()), _week(first)) for first, _ in days)
                break


def _english(match: re.Match[str], years: list[int], today: date | None) -> Iterator[tuple[Span, int]]:
    if match["week"]:
        days, end = by_calendar(match.string, match.end(), years)
        yield from ((_week(first), end) for first, _ in days)
    elif match["m1"] and match["part"]:
        for year in [int(match["y1"])] if match["y1"] else years:
            yield _third(year, MONTHS[match["m1"][:3].lower()], match["part"].lower()), 0
    elif match["season2"] and match["y2"].isdecimal():
        yield _season(int(match["y2"]), match["season2"]), 0
    elif today is not None and (span := _from_today(match, today)):
        yield span, 0


def _from_today(match: re.Match[str], today: date) -> Span | None:
    now = today.toordinal()
    weekday = match["d1"] or match["d2"] or match["d3"]
    if match["days"] and match["days"].lower() == "weekend":
        return _weekend(now, _counts(match["n"])[0])
    if match["days"]:
        return _weekday_back(now, match["days"], _counts(match["n"])[0])
    if match["n"] or match["many"]:
        return _ago(match["n"] or match["many"], match["unit"] or match["munit"], now)
    if match["second"]:
        return _weekend(now, 2) if match["second"].lower() == "weekend" else _weekday_back(now, match["second"], 2)
    if weekday:
        back = (match["w1"] or match["w2"] or "").lower() == "last"
        return (now - today.weekday() - 7 * back + WEEKDAYS.index(weekday[:3].lower()),) * 2
    if match["weekend"]:
        return _weekend(now, 1 if today.weekday() < 5 else 0)
    if match["punit"]:
        return _lately(match["pn"] or match["ln"] or "one", match["punit"][0].lower(), now)
    if match["other"]:
        return (now - 13, now - 6) if match["other"].lower() == "week" else (now - 7, now - 1)
    return _of_calendar_from(match, today)


def _of_calendar_from(match: re.Match[str], today: date) -> Span | None:
    """Parts of this or the last month or year, the last summer, the last May."""
    part = (match["part"] or "").lower()
    if match["whole"] or match["now"]:
        back = (0, 1) if match["now"] else (int(match["which"].lower() == "last"),)
        return _begun(_parts(today, (match["whole"] or match["now"]).lower(), back, part), today)
    if match["season"]:
        return (
            _last_season(today, match["season"])
            if match["which2"].lower() == "last"
            else _season(today.year, match["season"])
        )
    if match["season2"]:
        return _season(today.year - match["y2"].lower().startswith("last"), match["season2"])
    month = MONTHS[match["m2"][:3].lower()]
    over = month < today.month or match["which3"].lower() == "this"
    return span_of(today.year - (not over), month, None)


def _chinese(match: re.Match[str], years: list[int], today: date | None) -> Iterator[tuple[Span, int]]:
    year = next((int(match[name]) for name in ("y1", "y2", "y3") if match[name]), None)
    back = match["yback"] or match["yback2"] or match["yback3"]
    if back and today is not None:
        year = today.year - _BACK_YEARS[back[0]]
    if match["month"]:
        for each in years if year is None else [year]:
            yield _third(each, number(match["month"]), match["part"]), 0
    elif match["season"]:
        if year is not None:
            yield _season(year, match["season"]), 0
    elif match["ypart"]:
        if year is not None:
            yield _part_of_year(year, match["ypart"]), 0
    elif today is not None:
        yield _chinese_from(match, today), 0


def _chinese_from(match: re.Match[str], today: date) -> Span:
    now = today.toordinal()
    if match["nowyear"] or match["nowmonth"]:
        unit = "year" if match["nowyear"] else "month"
        return _begun(_parts(today, unit, (0, 1), match["nowyear"] or match["nowmonth"]), today)
    if match["near"]:
        return (now - 4, now) if match["near"][0] in "这近" else (now - (4 if "两" in match["near"] else 7), now - 1)
    if match["while"]:
        return now - WHILE[1], now - WHILE[0]
    if match["few"]:
        few = "few" if match["few"] in "几数" else f"{match['few'][0]} or {match['few'][-1]}"
        return _ago(few, match["funit"].removeprefix("个"), now)
    if match["some"]:
        length = _LENGTH[match["sunit"].removeprefix("个")[0]]
        return now - (number(match["some"]) + 9) * length, now - (number(match["some"]) - 2) * length
    if match["punit"]:
        return _lately(match["pn"], match["punit"].removeprefix("个")[0], now)
    year, month = _months_back(today, (match["back"] or "上上").count("上"))
    if match["mday"]:
        return span_of(year, month, number(match["mday"]))
    return _third(year, month, match["mpart"] or "")


# --- the arithmetic ------------------------------------------------------------------------------


def _week(day: int) -> Span:
    monday = day - (day - 1) % 7  # ordinal 1 was a Monday
    return monday, monday + 6


def _weekend(now: int, back: int) -> Span:
    sunday = _week(now)[1] - 7 * back
    return sunday - 1, sunday


def _weekday_back(now: int, name: str, count: int) -> Span:
    """The day of that name so many times back, before today."""
    first = (now - 1 - WEEKDAYS.index(name[:3].lower())) % 7 or 7
    return (now - first - 7 * (count - 1),) * 2


def _counts(text: str) -> tuple[int, int]:
    """The least and the greatest that a number in words may be."""
    text = text.lower()
    if "couple" in text:
        return 2, 2
    if "few" in text or "several" in text or text in "几数":
        return FEW
    either = [number(part) for part in _EITHER.split(text)]
    return min(either), max(either)


def _ago(count: str, unit: str, now: int) -> Span:
    least, most = _counts(count)
    length = _LENGTH[unit[0].lower()]
    play = length // 2 if length > 1 else 0
    return now - most * length - play, now - least * length + play


def _lately(count: str, unit: str, now: int) -> Span:
    """The last so many days, weeks, months or years, today included."""
    days = _LENGTH[unit] // 2 if count == "半" else _counts(count)[1] * _LENGTH[unit]
    return now - days, now


def _months_back(today: date, back: int) -> tuple[int, int]:
    years, month = divmod(today.year * 12 + today.month - 1 - back, 12)
    return years, month + 1


def _third(year: int, month: int, part: str) -> Span:
    """The first, second or last ten days of a month; all of it for "" as the part."""
    first, last = span_of(year, month, None)
    if part.startswith(("early", "初", "上")) or "start" in part or "begin" in part:
        return first, first + 9
    if part.startswith(("mid", "中")) or "middle" in part:
        return first + 10, first + 19
    return (first + 20, last) if part else (first, last)


def _part_of_year(year: int, part: str) -> Span:
    """January and February, June and July, or November and December."""
    early = part.startswith(("early", "初")) or "start" in part or "begin" in part
    month = 1 if early else 6 if part.startswith(("mid", "中")) or "middle" in part else 11
    return span_of(year, month, None)[0], span_of(year, month + 1, None)[1]


def _season(year: int, name: str) -> Span:
    """Three months; a winter goes on into the next year."""
    month = _SEASONS[name[:2].lower()]
    end = span_of(year + 1, 2, None) if month == 12 else span_of(year, month + 2, None)
    return span_of(year, month, None)[0], end[1]


def _parts(today: date, unit: str, back: Iterable[int], part: str) -> list[Span]:
    """That part of the year or month so many years or months back."""
    if unit == "year":
        return [_part_of_year(today.year - years, part) for years in back]
    return [_third(*_months_back(today, months), part) for months in back]


def _begun(spans: list[Span], today: date) -> Span:
    """The first that has begun; else the last."""
    return next((span for span in spans if span[0] <= today.toordinal()), spans[-1])


def _last_season(today: date, name: str) -> Span:
    """The newest that is over."""
    spans = (_season(year, name) for year in (today.year, today.year - 1))
    return next((span for span in spans if span[1] < today.toordinal()), _season(today.year - 2, name))
