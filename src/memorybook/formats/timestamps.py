"""Times as people and programs write them, in many languages.

One is never guessed: what does not name a whole day is None. `03/01/2024` names two days; which one is meant is decided
once for all times that stand together, by those that have only one meaning and by the order in which they stand.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal, get_args
from unicodedata import normalize

from dateutil import parser

from memorybook._light import lazily

Order = Literal["dmy", "mdy", "ymd"]
"""In which a date of three numbers names day, month and year; two digits are a year of this century or the last."""

_YEARS = (1900, 2200)  # a year outside is a serial number or a slip, not the time of a message
_US_ZONES = {"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}


def parse_time(value: Any, timezone: tzinfo, order: Order | None = None) -> datetime | None:
    """Return the moment that `value` names, in UTC; None if it names none, or could mean more than one.

    Reads ISO 8601, seconds to nanoseconds since the epoch, and most spellings of English, Chinese and other languages
    (`1:56 pm on 8 May, 2023`, `2024/4/1 下午3:05`, `3. Januar 2024`). A day is its midnight; a time without an offset
    is in `timezone`. Numbers with dots are day first; others are read by `order`, or where they have one meaning.
    """
    if isinstance(value, datetime):
        return _utc(value, timezone)
    if isinstance(value, int | float):
        return None if isinstance(value, bool) or abs(value) > 1e20 else _epoch(float(value))
    if not isinstance(value, str) or len(value) > 100:
        return None
    text = value.strip()
    if re.fullmatch(r"\d{9,19}(\.\d+)?", text):
        return _epoch(float(text))
    named = readings(text)
    if not named:
        moment = _moment(text)
    else:
        day = named.get(order) if order is not None else _only_day(text, named)
        moment = None if day is None else _moment_of(text, day)
    return moment and _utc(moment, timezone)


# --- the order of day and month ------------------------------------------------------------------


_NUMBERS = lazily(
    r"(?s)(?!.*(?<![\d./-])\d{4}\s?[-/.年]\s?\d{1,2}\s?[-/.月])"  # the year first has one meaning
    r"(.*?)(?<![\d.:/+-])(\d{1,2})([./-])\s?(\d{1,2})\3\s?(\d{4}|\d{1,2})(?![\d/-])\.?(.*)"
)
_EAST_ASIAN = lazily(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")


def readings(stamp: str) -> Mapping[Order, date]:
    """Return the day that a time names by each order in which its date can be read.

    Empty for a time whose day is not in question, and for one that names none.
    """
    return {} if len(stamp) > 100 or stamp[:4].isdigit() else _numbers(stamp)[0]


@lru_cache(maxsize=65536)
def _numbers(stamp: str) -> tuple[Mapping[Order, date], str, str, str]:
    """Return the days that three numbers of a time can name, what stands before and behind them, and between them."""
    text = _plain(stamp)
    found = _NUMBERS.match(text)
    if found is None:
        return {}, "", "", ""
    before, one, between, two, three, after = found.groups()
    spelled: list[tuple[Order, str, str, str]] = [("dmy", one, two, three), ("mdy", two, one, three)]
    if len(one) == 2 and len(three) < 4:
        spelled.append(("ymd", three, two, one))
        if len(three) == 1 or _EAST_ASIAN.search(text):  # the year stands first there
            spelled = spelled[2:]
    elif len(three) == 1:
        spelled = []
    days: dict[Order, date] = {}
    for order, day, month, year in spelled:
        century = 0 if len(year) == 4 else 2000 if int(year) < 70 else 1900
        with suppress(ValueError):
            days[order] = date(century + int(year), int(month), int(day))
    return days, before, after, between


def _moment_of(stamp: str, day: date) -> datetime | None:
    """Read a time whose three numbers name this day."""
    _, before, after, _ = _numbers(stamp)
    if before.strip():
        return _moment(f"{before}{day.day} {_ENGLISH[day.month - 1]} {day.year} {after}")
    return _moment(f"{day.isoformat()} {_clocked(after)}".strip())


def orders_of(talks: Iterable[Sequence[str]]) -> tuple[Order, ...]:
    """Return the orders in which all times that stand together can be read; one, if that is decided.

    An order goes that makes no day of one of them. Numbers with dots are day first then, if all can be. Else only an
    order stays in which every talk goes forward in time, or every talk backward, if there is one; and the year stands
    first only where nothing else is left, or where the times are nearer to each other that way.

    Args:
        talks: The times of each talk in turn, as they are spelled; those whose day is not in question do not count.

    Returns:
        The orders; none if different times need different ones, or no day is in question.
    """
    in_question = [[stamp for stamp in talk if readings(stamp)] for talk in talks]
    every = {stamp: readings(stamp) for talk in in_question for stamp in talk}
    possible = [order for order in get_args(Order) if every and all(order in found for found in every.values())]
    if "dmy" in possible and all(map(is_dotted, every)):
        return ("dmy",)
    days = {order: [[every[stamp][order] for stamp in talk] for talk in in_question] for order in possible}
    left = [order for order in possible if _go_one_way(days[order])] or possible
    if "ymd" in left and len(left) > 1:
        reach = {order: _reach(days[order]) for order in left}
        left.remove("ymd")
        left = ["ymd"] if all(reach["ymd"] < reach[order] for order in left) else left
    return tuple(left)


def is_dotted(stamp: str) -> bool:
    """Return whether the date of a time is three numbers with dots between them."""
    return _numbers(stamp)[3] == "."


def _go_one_way(talks: Sequence[Sequence[date]]) -> bool:
    """Return whether all of them go forward, or all backward."""
    steps = [(one, other) for talk in talks for one, other in pairwise(talk)]
    return all(one <= other for one, other in steps) or all(one >= other for one, other in steps)


def _reach(talks: Iterable[Sequence[date]]) -> timedelta:
    days = [day for talk in talks for day in talk]
    return max(days) - min(days)


def _only_day(stamp: str, named: Mapping[Order, date]) -> date | None:
    """Return the day of a time that stands alone; None if it is not certain."""
    if "dmy" in named and is_dotted(stamp):
        return named["dmy"]
    days = {day for order, day in named.items() if order != "ymd"} or set(named.values())
    return days.pop() if len(days) == 1 else None


# --- one moment ----------------------------------------------------------------------------------


_HALF = lazily(
    r"(?i)(?:(?P<am>午前|오전|(?<![^\W\d_])(?:vorm|a[.\s]{0,2}m)\b)|午後|오후|(?<![^\W\d_])(?:nachm|p[.\s]{0,2}m)\b)\.?"
)
"""Halves of the day in other spellings and languages."""

_MONTHS = {
    name: english
    for english, names in (
        ("Jan", "januar januari janvier janv jänner jän enero ene gennaio gen janeiro января янв"),
        ("Feb", "februar februari février févr fév febrero febbraio fevereiro fev февраля февр фев"),
        ("Mar", "märz mär mrz maart mrt mars marzo março марта мар"),
        ("Apr", "april avril avr abril abr aprile апреля апр"),
        ("May", "mai mei mayo maggio mag maio мая май"),
        ("Jun", "juni juin junio giugno giu junho июня июн"),
        ("Jul", "juli juillet juil julio luglio lug julho июля июл"),
        ("Aug", "august augustus août aout agosto ago augusti августа авг"),
        ("Sep", "september septembre septiembre settembre setembro set сентября сент сен"),
        ("Oct", "oktober okt octobre octubre ottobre ott outubro out октября окт"),
        ("Nov", "november novembre noviembre novembro ноября нояб"),
        ("Dec", "dezember dez december décembre déc diciembre dic dicembre dezembro декабря дек"),
    )
    for name in names.split()
}
"""Names of months in other languages."""

_BESIDE = frozenset(
    "montag dienstag mittwoch donnerstag freitag samstag sonntag mo di mi do fr sa so lundi mardi mercredi jeudi "
    "vendredi samedi dimanche lun mer jeu ven sam dim lunes martes miércoles jueves viernes sábado domingo mié jue vie "
    "sáb dom пн вт ср чт пт сб вс de del den der um uhr à às alle a las le il г в".split()
)
"""Weekdays in other languages, and what else stands beside a date there."""

_ENGLISH = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _plain(text: str) -> str:
    """Return the text with one kind of blanks, digits and punctuation, and `am` or `pm` for the halves of the day."""
    return _HALF.sub(lambda half: "am" if half["am"] else "pm", normalize("NFKC", text)).strip()


def _clocked(text: str) -> str:
    """Return what stands behind a date: the hour with colons, and no word for `at` before it."""
    return re.sub(r"^[,.\s]*(?:klo|kl|um|at|à|às|alle)?\.?\s*(\d{1,2})[.:](\d\d)(?:[.:](\d\d))?(?!\d)", _colons, text)


def _colons(found: re.Match[str]) -> str:
    return ":".join(filter(None, found.groups()))


def _moment(text: str) -> datetime | None:
    """Read a time whose day is not in question, as it is written."""
    if re.match(r"\d{4}-?\d\d-?\d\d", text):
        with suppress(ValueError):
            return datetime.fromisoformat(text.replace(" UTC", "Z") if text.endswith(" UTC") else text)
    text = _plain(text)
    return _year_first(text) or _other(_in_english(text))


def _in_english(text: str) -> str:
    """Return the text with the month in English and without what stands beside it, if it is in another language."""
    if text.isascii() and not re.search(r"[a-z]{3}", text, re.I):
        return text
    words = re.findall(r"[^\W\d_]+", text.lower())
    if not any(word in _MONTHS or word in _BESIDE for word in words):
        return text

    def known(found: re.Match[str]) -> str:
        word = found[1].lower()
        return _MONTHS.get(word, "" if word in _BESIDE else found[0])

    return re.sub(r"([^\W\d_]+)\.?", known, re.sub(r"(?<=\d)\.(?=\s)", " ", text))


def _utc(moment: datetime, timezone: tzinfo) -> datetime | None:
    """Return `moment` in UTC, if its year is plausible."""
    if not _YEARS[0] <= moment.year <= _YEARS[1]:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=timezone)).astimezone(UTC)


def _epoch(number: float) -> datetime | None:
    """Read seconds since the epoch, or thousandths, millionths, billionths of them, told apart by size."""
    for limit, unit in ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6), (1e20, 1e9)):
        if 1e8 <= number < limit:
            return _utc(datetime.fromtimestamp(number / unit, UTC), UTC)
    return None


def _clock(hour: int, half: str | None) -> int:
    """Return hour of the day, 0..24, from a clock face and the half of the day it stands in."""
    if half in ("am", "上午", "早上", "凌晨", "清晨", "早晨"):
        return 0 if hour == 12 else hour
    if half in ("pm", "下午", "傍晚"):
        return hour if hour >= 12 else hour + 12
    if half in ("晚上", "夜里", "晚"):
        return hour + 12 if hour <= 12 else hour
    if half == "中午":
        return hour + 12 if hour <= 3 else hour
    return hour


_YEAR_FIRST = lazily(
    r"(?i)(\d{4})\s*[年년/.\-]\s*(\d{1,2})\s*[月월/.\-]\s*(\d{1,2})\s*[日号일.]?"
    r"[,，\s]*(?:[(（]?\s*(?:周|星期|礼拜)[一二三四五六日天]\s*[)）]?|[(（]\s*[A-Za-z]+\s*[)）])?[,，\s]*"
    r"(?:(上午|下午|早上|晚上|凌晨|中午|清晨|早晨|傍晚|夜里|晚|[ap]m)?\s*(\d{1,2})\s*(?:[:：]|时|点钟?)\s*"
    r"(?:(\d{1,2}|半|整)\s*分?(?:\s*[:：]?\s*(\d{1,2})(?:\.\d+)?\s*秒?)?)?\s*([ap]m)?)?"
    r"\s*(Z|(?:UTC|GMT)?[+\-]\d\d:?\d\d|UTC|GMT)?"
)


def _year_first(text: str) -> datetime | None:
    """Read year first, in any punctuation, with a weekday, half of the day, hour, offset, or none of them."""
    found = _YEAR_FIRST.fullmatch(text)
    if found is None:
        return None
    year, month, day, before, hour, minute, second, after, offset = found.groups()
    half = (before or after or "").lower() or None
    hours = _clock(int(hour), half) if hour else 0
    minutes = {"半": 30, "整": 0, None: 0}[minute] if minute in ("半", "整", None) else int(minute)
    if hours > 24 or minutes > 59:
        return None
    try:  # hour 24 is the next day's midnight
        moment = datetime(int(year), int(month), int(day))
        moment += timedelta(hours=hours, minutes=minutes, seconds=min(int(second or 0), 59))
        offset = re.sub(r"(?i)^(?:UTC|GMT)(?=.)", "", offset or "")
        if offset.upper() in ("Z", "UTC", "GMT"):
            return moment.replace(tzinfo=UTC)
        if offset:
            east = timedelta(hours=int(offset[1:3]), minutes=int(offset[-2:]))
            return moment.replace(tzinfo=timezone(-east if offset[0] == "-" else east))
    except (ValueError, OverflowError):
        return None
    return moment


@lru_cache(maxsize=1024)
def _other(text: str) -> datetime | None:
    """Return what dateutil makes of it, if it would say the same on another day and with the day put first."""
    if not re.search(r"\d", text):
        return None
    text = re.sub(r"(?i)(?<![\d:])(1[3-9]|2[0-4])((?::\d\d){1,2})\s*[ap]\.?m\b\.?", r"\1\2", text)  # 13:05 pm
    zones = {name: hours * 3600 for name, hours in _US_ZONES.items()}
    found = set()
    for default, day_first in ((datetime(2001, 1, 1), False), (datetime(2003, 3, 3), True)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # an unknown time zone is a warning there, and a wrong hour here
                found.add(parser.parse(text, default=default, dayfirst=day_first, tzinfos=zones))
        except (ValueError, OverflowError, TypeError, Warning):
            return None
    return found.pop() if len(found) == 1 else None
