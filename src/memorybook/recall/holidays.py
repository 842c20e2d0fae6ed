"""Holidays by which people tell when something was: Christmas, Easter, 春节, 中秋, 国庆."""

from __future__ import annotations

from memorybook.patterns import lazily
from memorybook.recall.dates import YEAR, Span, placed
from memorybook.standard import Iterator, date
from memorybook.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import re

    from memorybook.recall.rough_days import Place

FIRST, LAST = 1990, 2060
"""Years of which the days of the moon's calendar are known here."""

_FIXED = {
    "christmas eve": ((12, 24), 1),
    "平安夜": ((12, 24), 1),
    "christmas day": ((12, 25), 1),
    "christmas": ((12, 24), 3),
    "xmas": ((12, 24), 3),
    "圣诞": ((12, 24), 3),
    "boxing": ((12, 26), 1),
    "halloween": ((10, 31), 1),
    "万圣": ((10, 31), 1),
    "valentine": ((2, 14), 1),
    "情人": ((2, 14), 1),
    "五一": ((5, 1), 5),
    "劳动": ((5, 1), 5),
    "国庆": ((10, 1), 7),
    "清明": ((4, 4), 3),
    "qingming": ((4, 4), 3),
    "双": ((11, 11), 1),
}
"""Month and day on which it begins, and how many days it lasts."""

_MOON = {
    "spring": (1, 20, -1, 8, "hApdvlEsiBqexmcujDsgzodvlEtiBqfxmcvjCrgyodwlEtiApexmcvkCrgzndwmEtiApexn"),
    "lantern": (2, 3, 0, 1, "hApdvlEsiBqexmcujDsgzodvlEtiBqfxmcvjCrgyodwlEtiApexmcvkCrgzndwmEtiApexn"),
    "dragon": (5, 25, -1, 3, "dwlEtiApfymFvkCrgzodwmDsiApfynFujCqgzpdwlEshAqfyncujCrgzoevkDthAqfxmFuj"),
    "七夕": (7, 30, 0, 1, "BrgzodvkDshAqfxmbuiBrhyodvkDsiApfxlEujBrgzncvlDsiBpexmbujCrgyncvlEshApd"),
    "mid": (9, 6, -1, 3, "BqfyodvkDsgzpfwmEtiBqgyncvjCshzpexlEtjBqgzncvkCshAoewlDtjCqfynbukDshApd"),
    "重阳": (10, 1, 0, 1, "zpdwmFtjBqfyndvkDsgzpewmbuiBqgyndwkCrhzpexlatiAqgzncvkCrhApexmDtiBqgynb"),
}
"""Month and day that a letter counts from (a is 0, A is 26), its first day from there, its length, a letter a year."""

_SAME = {
    "春节": "spring",
    "过年": "spring",
    "chinese": "spring",
    "lunar": "spring",
    "元宵": "lantern",
    "端午": "dragon",
    "中秋": "mid",
    "moon": "mid",
}

_ENGLISH = lazily(
    r"(?i)(?:^\W*(?=[\w' -]{3,24}\W*$)"
    r"|\b(?P<lead>at|over|on|during|around|since|from|until|till|between|and|to|through|last|this|past"
    r"|year's)\s+(?:the\s+)?(?:(?P<past>last|past)\s+)?)"
    r"(?P<name>christmas(?:\s+(?:eve|day))?|xmas|boxing\s+day|easter|halloween|thanksgiving|valentine'?s?(?:\s+day)?"
    r"|(?:chinese\s+|lunar\s+)new\s+year|new\s+year(?:'?s(?:\s+(?:eve|day))?)?|spring\s+festival|lantern\s+festival"
    r"|(?:mid-?autumn|dragon\s+boat|moon)\s+festival|mid-autumn|qingming)\b"
    r"(?!\s+(?:trees?|eggs?|cards?|carols?|songs?|gifts?|presents?|movies?|planners?|resolutions?|islands?|lights"
    r"|menu|recipes?|bunny|costumes?|sales?|jumpers?|sweaters?|playlist)\b)"
    rf"(?:,?\s+(?:of\s+|in\s+)?(?P<year>{YEAR}|(?:last|this)\s+year)\b)?"
)
_CHINESE = lazily(
    rf"(?:(?P<year>{YEAR})年|(?P<back>[今去上]年|大?前年|上个))?的?(?<!明年)(?<!明年的)(?<!后年)(?<!关于)(?<!为了)"
    "(?P<name>春节|除夕|元宵节?|清明节?|(?<![一二三四五六七八九十第])五一(?:劳动节|节|假期|长假|黄金周|(?=[期那的我,，。\\s]|$))"
    "|劳动节|端午节?|七夕节?|中秋节?|重阳节|国庆节?|元旦|圣诞节?|平安夜|情人节|万圣节|感恩节|复活节|双十一|双11"
    "|过年(?=的?时候|期间|那))"
    "(?!节|[之以]?[前后]|[树卡歌路]|老人|礼物|联欢|晚会|月饼|广场|快乐|放假|调休|祝福|档|大街|贺|怎么过|去哪)"
)


def found(question: str, years: list[int], today: date | None) -> list[tuple[Place, Span]]:
    """Where holidays stand, and their days; see `rough_days.found`."""
    matches = [*_ENGLISH.finditer(question), *(() if question.isascii() else _CHINESE.finditer(question))]
    return placed(matches, lambda match: _days(match, years, today))


def _days(match: re.Match[str], years: list[int], today: date | None) -> Iterator[Span]:
    name = " ".join(match["name"].lower().split())
    groups = match.groupdict()
    lead = " ".join(filter(None, (groups.get("lead"), groups.get("past")))).lower()
    given, back = (match["year"] or "").lower(), groups.get("back") or ""
    if given.isdecimal():
        years = [int(given)]
    elif today is not None and (given or back or lead.endswith(("year's", "this"))):
        years = [
            today.year - _BACK.get(back or given.partition(" ")[0] or ("last" if lead[:4] == "year" else "this"), 0)
        ]
    elif today is not None and lead.endswith(("last", "past")):
        over = (year for year in (today.year, today.year - 1) if _ends(name, year) < today.toordinal())
        years = [next(over, today.year - 2)]
    for year in years:
        if (span := days_of(name, year)) is not None:
            yield span


_BACK = {"last": 1, "去年": 1, "上年": 1, "上个": 1, "前年": 2, "大前年": 3}


def _ends(name: str, year: int) -> int:
    span = days_of(name, year)
    return span[1] if span else 0


def days_of(name: str, year: int) -> Span | None:
    """The days of a holiday in a year; None where they are not known.

    The days of the moon's calendar are those of China's; Qingming is the 4th or the 5th of April. New Year is told
    by the year that begins.
    """
    if not 1 < year < 9999:
        return None
    if name == "除夕":
        first = days_of("春节", year)
        return first and (first[0], first[0])
    key = next((same for word, same in _SAME.items() if name.startswith(word)), name)
    for word, (month, day, ahead, length, table) in _MOON.items():
        if key.startswith(word):
            return _by_moon(year, (month, day), ahead, length, table)
    if key.startswith(("new year", "元旦")):
        return _new_year(key, year)
    if key.startswith(("easter", "复活")):
        sunday = _easter(year)
        return sunday - 2, sunday + 1
    if key.startswith(("thanksgiving", "感恩")):
        november = date(year, 11, 1)
        thursday = november.toordinal() + (3 - november.weekday()) % 7 + 21
        return thursday, thursday + 3
    (month, day), length = next(value for word, value in _FIXED.items() if key.startswith(word))
    first_day = date(year, month, day).toordinal()
    return first_day, first_day + length - 1


def _easter(year: int) -> int:
    """Easter Sunday of the Gregorian calendar; after Meeus, Jones and Butcher (Astronomical Algorithms, chapter 8)."""
    golden, (century, rest) = year % 19, divmod(year, 100)
    epact = (19 * golden + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (rest // 4) - epact - rest % 4) % 7
    late = (golden + 11 * epact + 22 * weekday) // 451
    month, day = divmod(epact + weekday - 7 * late + 114, 31)
    return date(year, month, day + 1).toordinal()


def _by_moon(year: int, base: tuple[int, int], ahead: int, length: int, table: str) -> Span | None:
    if not FIRST <= year <= LAST:
        return None
    letter = table[year - FIRST]
    first = date(year, *base).toordinal() + ord(letter) - (ord("a") if letter >= "a" else ord("A") - 26) + ahead
    return first, first + length - 1


def _new_year(name: str, year: int) -> Span:
    """Its eve, of the year that ends; its day; or both and the day after."""
    first = date(year, 1, 1).toordinal()
    if name.endswith("eve"):
        last = date(year, 12, 31).toordinal()
        return last, last
    return (first, first) if name.endswith("day") else (first - 1, first + 1)
