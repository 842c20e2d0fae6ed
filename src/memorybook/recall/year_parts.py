"""Parts of years and months that are counted: quarters, halves, weeks of a month, this time last year."""

from __future__ import annotations

from memorybook.patterns import lazily
from memorybook.recall.dates import MONTH, MONTHS, NUMERAL, YEAR, Span, number, placed, span_of
from memorybook.standard import Iterator, date
from memorybook.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import re

    from memorybook.recall.rough_days import Place

SAME_TIME = 15
"""Days before and after that "this time last year" may be."""

_OF = rf"(?:\s*,?\s*(?:of\s+|in\s+)?(?P<{{}}>{YEAR}|(?:last|this)\s+year|the\s+year))"
_NTH = "first second third fourth last final".split()
_ENGLISH = lazily(
    r"(?i)\b(?P<which>last|this|past|previous|current)\s+quarter\b(?!\s+(?:of|past|mile|century|final|pound))"
    r"|\b(?P<before>quarter\s+before\s+last)\b"
    rf"|(?:\b(?P<lead>in|during|since|from|last|our)\s+)?(?:the\s+)?\b(?:q(?P<q>[1-4])|(?P<nth>{'|'.join(_NTH)})\s+quarter)"
    rf"\b(?![_.-]\w)(?:{_OF.format('y1')}\b)?"
    rf"|\b(?:h(?P<h>[12])|(?:the\s+)?(?P<half>first|second)\s+half)\b{_OF.format('y2')}\b"
    rf"|\b(?:the\s+)?(?P<wn>first|second|third|fourth|last)\s+(?P<what>week|half)\s+(?:of|in)\s+"
    rf"(?:(?P<wm>{MONTH})\b(?:,?\s+(?P<y3>{YEAR}))?|(?P<wback>last|this|the)\s+month\b)"
    r"|\b(?P<ago>a|one|two|three)\s+(?P<unit>year|week)s?\s+ago\s+today\b|\b(?P<same>(?:this|same)\s+time\s+last\s+year)\b"
)
_CHINESE = lazily(
    "(?P<back>(?<!上)上+|[这本])(?:一?个)?季度"
    rf"|(?:(?P<y1>{YEAR})年|(?P<yback>[今去]年|大?前年))?的?(?:第?(?P<q>[一二三四1-4])季度|[Qq](?P<q2>[1-4])(?![\w.-])"
    "|(?P<half>[上下])半年)"
    "|(?P<wback>[一二两三]|上)个?(?:周|星期|礼拜)(?:之?前)?的?今天"
    "|(?P<sback>[去前]年|上个?月)的?(?:(?P<today>今天)|这个?时候|这会儿|同期|此时)"
    rf"|(?:(?P<mback>(?<!上)上+|[这本])个?月|(?:(?P<y2>{YEAR})年|(?P<yback2>[今去]年|大?前年))?的?"
    rf"(?<![个\d一二三四五六七八九十])(?P<month>{NUMERAL})月份?)的?(?:第(?P<wn>[一二三四五])个?|(?P<wlast>最后)(?:一个?)?)"
    "(?:周|星期|礼拜)(?![一二三四五六日天])"
)
_BACK = {"今": 0, "去": 1, "前": 2, "大": 3, "last": 1, "this": 0, "the": 0}


def found(question: str, years: list[int], today: date | None) -> list[tuple[Place, Span]]:
    """Where such phrases stand, and their days; see `rough_days.found`."""
    told = placed(_ENGLISH.finditer(question), lambda match: _english(match, years, today))
    if not question.isascii():
        told += placed(_CHINESE.finditer(question), lambda match: _chinese(match, years, today))
    return told


def _english(match: re.Match[str], years: list[int], today: date | None) -> Iterator[Span]:
    if today is not None and (match["which"] or match["before"]):
        back = 2 if match["before"] else 0 if match["which"].lower() in ("this", "current") else 1
        yield _quarter_back(today, back)
    elif match["q"] or match["nth"]:
        if match["lead"] or match["y1"]:
            nth = int(match["q"] or 0) or min(_NTH.index(match["nth"].lower()) + 1, 4)
            yield from (_months(year, 3 * nth - 2, 3) for year in _years(match["y1"], years, today))
    elif match["h"] or match["half"]:
        second = match["h"] == "2" or (match["half"] or "").lower() == "second"
        yield from (_months(year, 7 if second else 1, 6) for year in _years(match["y2"], years, today))
    elif match["wm"]:
        month, part = MONTHS[match["wm"][:3].lower()], _half_of if match["what"].lower() == "half" else _week_of
        yield from (part(year, month, match["wn"].lower()) for year in _years(match["y3"], years, today))
    elif today is not None and match["wback"]:
        part = _half_of if match["what"].lower() == "half" else _week_of
        yield part(*_month_back(today, int(match["wback"].lower() == "last")), match["wn"].lower())
    elif today is not None and (match["ago"] or match["same"]):
        yield _ago(today, match)


def _chinese(match: re.Match[str], years: list[int], today: date | None) -> Iterator[Span]:
    if match["back"]:
        if today is not None:
            yield _quarter_back(today, match["back"].count("上"))
    elif match["q"] or match["q2"]:
        nth = number(match["q"] or match["q2"])
        yield from (_months(year, 3 * nth - 2, 3) for year in _years(match["y1"] or match["yback"], years, today))
    elif match["half"]:
        first = 1 if match["half"] == "上" else 7
        yield from (_months(year, first, 6) for year in _years(match["y1"] or match["yback"], years, today))
    elif match["month"]:
        which = match["wn"] or "last"
        known = _years(match["y2"] or match["yback2"], years, today)
        yield from (_week_of(year, number(match["month"]), which) for year in known)
    elif today is not None and match["mback"]:
        yield _week_of(*_month_back(today, match["mback"].count("上")), match["wn"] or "last")
    elif today is not None and match["wback"]:
        back = 1 if match["wback"] == "上" else number(match["wback"])
        yield (today.toordinal() - 7 * back,) * 2
    elif today is not None and match["sback"]:
        play = 0 if match["today"] else SAME_TIME
        if match["sback"].startswith("上"):
            year, month = _month_back(today, 1)
            middle = min(date(year, month, 1).toordinal() + today.day - 1, span_of(year, month, None)[1])
            yield middle - play // 5, middle + play // 5
        else:
            yield _years_ago(today, _BACK[match["sback"][0]], play)


# --- the arithmetic ------------------------------------------------------------------------------


def _years(told: str | None, years: list[int], today: date | None) -> list[int]:
    """The year that is told, in figures or from today; else those that are known."""
    if not told:
        return years
    if told.isdecimal():
        return [int(told)]
    return [] if today is None else [today.year - _BACK[told.lower().split()[0] if told.isascii() else told[0]]]


def _months(year: int, first: int, count: int) -> Span:
    return span_of(year, first, None)[0], span_of(year, first + count - 1, None)[1]


def _month_back(today: date, back: int) -> tuple[int, int]:
    year, month = divmod(today.year * 12 + today.month - 1 - back, 12)
    return year, month + 1


def _quarter_back(today: date, back: int) -> Span:
    year, month = _month_back(today, 3 * back)
    return _months(year, month - (month - 1) % 3, 3)


def _half_of(year: int, month: int, which: str) -> Span:
    """The first fifteen days of a month, or the others."""
    first, last = span_of(year, month, None)
    return (first, first + 14) if which == "first" else (first + 15, last)


def _week_of(year: int, month: int, which: str) -> Span:
    """The first, second, third, fourth or last seven days of a month; after the 28th, what is left."""
    first, last = span_of(year, month, None)
    if which == "last":
        return last - 6, last
    begins = first + 7 * (_NTH.index(which) if which.isascii() else number(which) - 1)
    return begins, min(begins + 6, last)


def _ago(today: date, match: re.Match[str]) -> Span:
    if (match["unit"] or "").lower() == "week":
        return (today.toordinal() - 7 * number(match["ago"]),) * 2
    return _years_ago(today, number(match["ago"] or "one"), 0 if match["ago"] else SAME_TIME)


def _years_ago(today: date, back: int, play: int) -> Span:
    day = min(today.day, 28) if today.month == 2 else today.day
    middle = date(today.year - back, today.month, day).toordinal()
    return middle - play, middle + play
