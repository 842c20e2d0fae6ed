"""Numbers of both languages by value: 300, three hundred, 三百, 3百, 0.3k are the same."""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Iterator, NamedTuple, lazily

if TYPE_CHECKING:
    import re


class Figure(NamedTuple):
    """A number in a text: every value it may have, and its place; not `sure` if it may be no number at all."""

    text: str
    values: frozenset[float]
    start: int
    end: int
    sure: bool


_ONES = "one two three four five six seven eight nine".split()
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
WORDS: dict[str, int] = {word: value for value, word in enumerate(("zero", *_ONES, *_TEENS))}
_COUNTED = frozenset((*_ONES[2:], *_TEENS, *_TENS))  # words that are hardly ever anything but a number
WORDS |= {word: 20 + 10 * place for place, word in enumerate(_TENS)}
WORDS |= {
    word: 2 + place for place, word in enumerate("second third fourth fifth sixth seventh eighth ninth tenth".split())
}
WORDS |= dict.fromkeys("twice couple pair both double".split(), 2) | {"thrice": 3, "triple": 3, "dozen": 12}
WORDS |= {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_HAN_DIGITS = {numeral: value for value, numeral in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_HAN_UNITS = {"十": 1e1, "百": 1e2, "千": 1e3, "万": 1e4, "亿": 1e8}
_SCALES = _HAN_UNITS | {"百万": 1e6, "千万": 1e7, "百亿": 1e10, "k": 1e3, "w": 1e4}
_SCALES |= {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9}

_CLOCK = lazily(r"(?<![\d:.])(?P<hour>\d{1,2})[:：](?P<minute>\d{2})(?:[:：]\d{2})?(?![\d:：])")
_ARABIC = lazily(
    r"(?<![A-Za-z_\d])(?<![A-Za-z_\d][.-])(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)*)"
    r"(?:\s?(?P<scale>hundred|thousand|million|billion|百万|千万|百亿|[千万亿百])|(?P<letter>[kKwW])(?![A-Za-z]))?"
)
_ENGLISH = lazily(
    rf"(?i)\b(?:(?P<tens>{'|'.join(_TENS)})[\s-](?P<ones>{'|'.join(_ONES)})"
    rf"|(?P<count>{'|'.join(_ONES)})\s(?P<scale>hundred|thousand|million)|(?P<word>{'|'.join(WORDS)}))\b(?!-a-)"
)
_CHINESE = lazily(r"[零〇一二两三四五六七八九][零〇一二两三四五六七八九十百千万亿]*|十[一二三四五六七八九]?[万亿]?")
_READ_OUT = lazily("[零〇一二两三四五六七八九]{2,}")
_MEASURE = lazily(
    r"多?来?(?:个|天|月|年|次|台|条|元|块|米|点|分|秒|小时|周|名|位|页|行|单|家|签|岁|人|层|倍|份|种|项|张|只|件|套|轮|间|届|"
    r"期|度|折|成|节|桌|站|公里|斤|克|吨|票|批|款|步|杯|瓶|集|章|号|楼|室|组|段|句|遍|盘|辆|门|本|篇|股|核|本书|星期|礼拜|%)"
)


def number(text: str) -> int:
    """Return a number in digits, in Chinese numerals, or below a hundred in English words; raises KeyError for none.

    >>> number("7"), number("三十一"), number("an"), number("twenty-five")
    (7, 31, 1, 25)
    """
    if text.isdecimal():
        return int(text)
    if text and text.isascii():
        return sum(1 if word in ("a", "an") else WORDS[word] for word in text.lower().replace("-", " ").split())
    value = han_number(text)
    if value is None:
        raise KeyError(text)
    return int(value)


def figures(text: str) -> list[Figure]:
    """Return the numbers in a text, in no order. Letters with digits in them (`utf8`, `K3s`) are names."""
    return [Figure(one[0], frozenset(values), one.start(), one.end(), sure) for one, values, sure in _found(text)]


def _found(text: str) -> Iterator[tuple[re.Match[str], set[float], bool]]:
    """Yield each number with the values that it may have, and whether it is one for sure."""
    clocks = list(_CLOCK.finditer(text))
    for match in clocks:  # the hour in both ways of counting
        hour, minute = int(match["hour"]), int(match["minute"])
        values = {float(hour), float(hour - 12 if hour > 12 else hour + 12)}
        yield match, values | ({float(minute)} if minute else set()), True
    for match in _ARABIC.finditer(text):
        digits, scale = match["digits"].replace(",", ""), (match["scale"] or match["letter"] or "").lower()
        if any(clock.start() <= match.start() < clock.end() for clock in clocks):
            continue
        if digits.count(".") > 1:  # a version, or dates in figures: its parts
            yield match, {float(part) for part in digits.split(".") if len(part) < 300}, True
        else:
            yield match, {round(float(digits[:300]) * _SCALES.get(scale, 1.0), 6)}, True
    for match in _ENGLISH.finditer(text):
        value = number(match["count"]) * number(match["scale"]) if match["count"] else number(match[0])
        yield match, {float(value)}, match["word"] is None or match["word"].lower() in _COUNTED
    for match in _CHINESE.finditer(text):
        counted = han_number(match[0])
        if counted is not None:  # it is None for what only looks like a numeral (万一, 千万)
            digits_or_two = match[0] if _READ_OUT.fullmatch(match[0]) else ""
            measured = _MEASURE.match(text, match.end()) or not _HAN_UNITS.keys().isdisjoint(match[0])
            yield match, {counted, *(float(_HAN_DIGITS[one]) for one in digits_or_two)}, counted >= 2 and bool(measured)


def han_number(text: str) -> float | None:
    """Return the value of Chinese numerals, 三千五 and digits read out included; None for what has none.

    >>> han_number("三百"), han_number("一万二"), han_number("二〇二六")
    (300.0, 12000.0, 2026.0)
    """
    if all(one in _HAN_DIGITS for one in text):
        return float("".join(str(_HAN_DIGITS[one]) for one in text)) if text else None
    total = section = 0.0
    digit: float | None = None
    last = 1.0
    for one in text:
        if one in _HAN_DIGITS:
            digit = float(_HAN_DIGITS[one])
            last = 10.0 if one in "零〇" else last
        elif one in "十百千":
            section += (digit if digit is not None else 1.0) * _HAN_UNITS[one]
            digit, last = None, _HAN_UNITS[one]
        elif one in "万亿":
            scale = _HAN_UNITS[one]
            section += digit or 0
            total = (total + section) * scale if one == "亿" else total + section * scale
            section, digit, last = 0.0, None, scale
        else:
            return None
    tail = digit * last / 10 if digit is not None and last > 10 else digit or 0.0
    return total + section + tail
