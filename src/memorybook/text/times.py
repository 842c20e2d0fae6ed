"""Times as people and programs write them, English and Chinese, read into UTC.

A time is never guessed: what does not name a whole day, or could mean two days, is None.
"""

from __future__ import annotations

import re
import warnings
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Any

from dateutil import parser

from memorybook._light import lazily

_YEARS = (1900, 2200)  # a year outside is a serial number or a slip, not the time of a message
_US_ZONES = {"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}


def parse_time(value: Any, timezone: tzinfo) -> datetime | None:
    """Return the moment that `value` names, in UTC; None if it names none, or could mean more than one.

    Reads ISO 8601, seconds to nanoseconds since the epoch, and most English and Chinese spellings (`1:56 pm on 8 May,
    2023`, `2024/4/1 下午3:05`). A day is its midnight; a time without an offset is in `timezone`.
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
    moment = None
    if re.match(r"\d{4}-?\d\d-?\d\d", text):
        with suppress(ValueError):
            moment = datetime.fromisoformat(text.replace(" UTC", "Z"))
    moment = moment or _chinese(text) or _other(text)
    return moment and _utc(moment, timezone)


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


_CHINESE = lazily(
    r"(?i)(\d{4})\s*[年/.\-]\s*(\d{1,2})\s*[月/.\-]\s*(\d{1,2})\s*[日号]?"
    r"[,，\s]*(?:[(（]?\s*(?:周|星期|礼拜)[一二三四五六日天]\s*[)）]?|[(（]\s*[A-Za-z]+\s*[)）])?[,，\s]*"
    r"(?:(上午|下午|早上|晚上|凌晨|中午|清晨|早晨|傍晚|夜里|晚|[ap]m)?\s*(\d{1,2})\s*(?:[:：]|时|点钟?)\s*"
    r"(?:(\d{1,2}|半|整)\s*分?(?:\s*[:：]?\s*(\d{1,2})(?:\.\d+)?\s*秒?)?)?\s*([ap]m)?)?"
    r"\s*(Z|UTC|[+\-]\d\d:?\d\d)?"
)


def _chinese(text: str) -> datetime | None:
    """Read year first, in any punctuation, with a weekday, half of the day, hour, offset, or none of them."""
    found = _CHINESE.fullmatch(text)
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
        if offset and offset.upper() in ("Z", "UTC"):
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
