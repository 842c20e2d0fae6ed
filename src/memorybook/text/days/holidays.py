"""Days of holidays by which people tell when something was: Christmas, Easter, 春节, 中秋, 国庆."""

from __future__ import annotations

from memorybook._light import date

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


def days_of(name: str, year: int) -> tuple[int, int] | None:
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
    if key.startswith(("new year", "元旦", "新年")):
        return _new_year(key, year)
    if key.startswith(("easter", "复活")):
        sunday = _easter(year)
        return sunday - 2, sunday + 1
    if key.startswith(("thanksgiving", "感恩")):
        november = date(year, 11, 1)
        thursday = november.toordinal() + (3 - november.weekday()) % 7 + 21
        return thursday, thursday + 3
    (month, day), length = max((word, value) for word, value in _FIXED.items() if key.startswith(word))[1]
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


def _by_moon(year: int, base: tuple[int, int], ahead: int, length: int, table: str) -> tuple[int, int] | None:
    if not FIRST <= year <= LAST:
        return None
    letter = table[year - FIRST]
    first = date(year, *base).toordinal() + ord(letter) - (ord("a") if letter >= "a" else ord("A") - 26) + ahead
    return first, first + length - 1


def _new_year(name: str, year: int) -> tuple[int, int]:
    """Its eve, of the year that ends; its day; or both and the day after."""
    first = date(year, 1, 1).toordinal()
    if name.endswith("eve"):
        last = date(year, 12, 31).toordinal()
        return last, last
    return (first, first) if name.endswith("day") else (first - 1, first + 1)
