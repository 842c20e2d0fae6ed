"""Parse phrases that name days, in English and Chinese, independently of the day they are said on.

The phrases of the `table` are found; then neighbours are combined (去年 + 5月, "two weeks ago" + "on Monday"), and the
two ends of ranges.
"""

from __future__ import annotations

from itertools import pairwise

from memorybook._light import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Memo, NamedTuple, lazily
from memorybook.text.days import table
from memorybook.text.days.table import month, weekday
from memorybook.text.tokens import number

if TYPE_CHECKING:
    import re

SHORT = 24
"""Most characters of a text that is about the time it begins with: "March budget"."""


class When(NamedTuple):
    """The days of a phrase, its span, and its certainty; None for what it leaves open.

    Fields in the plural count from the day on which it is said: `weeks=-1` is last week.
    """

    start: int
    end: int
    level: int = table.SURE
    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None  # Monday is 0
    years: int | None = None
    quarters: int | None = None
    months: int | None = None
    weeks: int | None = None
    days: tuple[int, int] | None = None  # the first and the last
    away: tuple[float, float] | None = None  # the least and the most of the units, below 0 if they are past
    unit: str = ""  # of `away`: d, w, f (fortnight), m or y
    lately: bool = False  # from there until today
    term: tuple[int, int] | None = None  # months of a year: the first, and how many
    holiday: str = ""
    part: str = ""  # start, middle or end of a month or year
    nth: int | None = None  # week of a month, 0 for the last
    half: int | None = None  # of a month or year
    open: str = ""  # the month or year of which only a part is told: "the end of the month"
    which: int | None = None  # of what comes every year: -1 the last, 0 this year's, 1 the next
    same: int | None = None  # the same day there, give or take so many
    whole: bool = False  # the week of the day
    either: bool = False  # month and day may be the other way round
    since: bool = False  # from then on
    until: Any = None  # what ends a range

    def but(self, **fields: Any) -> When:
        """Return the same with other values in these fields."""
        values = list(self)
        for name, value in fields.items():
            values[_FIELDS[name]] = value
        return When._make(values)


_FIELDS = {name: place for place, name in enumerate(When._fields)}
_BARE = When(0, 0)


# --- from a text to its phrases ------------------------------------------------------------------


_PLAIN = bytes(code if chr(code).isalnum() else 32 for code in range(128)).ljust(256)
_RULES = (*table.BOTH, *table.ENGLISH, *table.CHINESE)
_WORDS = frozenset().union(*(rule.words for rule in _RULES))
_HAN_WORDS = tuple({word for rule in _RULES for word in (*rule.words, *rule.also) if not word.isascii()})


def _fitting(text: str) -> Iterator[table.Rule]:
    """Yield the rules whose words the text has: a look that costs a hundredth of trying the patterns."""
    lower = text.lower()
    if not text.isascii():
        lower = lower.replace("i̇", "i").replace("ı", "i").replace("ſ", "s")  # patterns take them for i and s
    words = set(lower.encode("ascii", "replace").translate(_PLAIN).decode().split())
    figures = [word for word in words if word[0] <= "9"]
    if any(word[:4].isdecimal() and len(word) > 3 for word in figures):
        words.add("#")
    if any(word.endswith(("st", "nd", "rd", "th")) for word in figures):
        words.add("#th")
    for mark in "/.":
        if mark in text and any(a[-1:].isdecimal() and b[:1].isdecimal() for a, b in pairwise(text.split(mark))):
            words.add(mark)
    if not text.isascii():
        words.update(word for word in _HAN_WORDS if word in lower)
    if words.isdisjoint(_WORDS):
        return
    for rule in _RULES[: -len(table.CHINESE)] if text.isascii() else _RULES:
        if not rule.words.isdisjoint(words) and not (rule.also and rule.also.isdisjoint(words)):
            yield rule


def may_name_days(text: str) -> bool:
    """Return whether a text may name days, without compiling a pattern: says yes too often, never no too often."""
    return any(rule.level < table.BESIDE for rule in _fitting(text if text.isascii() else plain(text)))


def plain(text: str) -> str:
    """Return full-width digits and letters as the usual ones."""
    if text.isascii():
        return text
    from unicodedata import normalize

    return normalize("NFKC", text)


def every(text: str) -> list[When]:
    """Return all that phrases of a text may mean, those within longer ones too."""
    return [one for rule in _fitting(text) for one in _found(rule, text)]


def phrases(text: str, found: Iterable[When] | None = None) -> list[When]:
    """Return the phrases of a text in order, the longer of two that overlap; neighbours that mean one day are one."""
    chosen: list[When] = []
    for one in sorted(every(text) if found is None else found, key=lambda one: one.start - one.end):
        if not any(one.start < other.end and other.start < one.end for other in chosen):
            chosen.append(one)
    chosen.sort(key=lambda one: one.start)
    merged: list[When] = []
    for one in chosen:
        if one.level == table.LED:  # sure, if a word leads to it or the text is about it
            alone = len(text) <= SHORT and not any(map(str.isalnum, text[: one.start]))
            if alone or _LEADS.search(text[max(0, one.start - SHORT) : one.start]):
                one = one.but(level=table.SURE)
        while merged and one.start - merged[-1].end <= SHORT and _GAP.fullmatch(text, merged[-1].end, one.start):
            before, comma = merged[-1], "," in text[merged[-1].end : one.start]
            both = (None if comma else _within(before, one)) or _within(one, before)
            if both is None:
                break
            one = both.but(start=merged.pop().start, end=one.end)
        merged.append(one)
    return merged


def ranges(text: str, found: Iterable[When]) -> list[When]:
    """Join phrases between which "to" stands, and take in what says that one goes on until now."""
    rest = list(found)
    joined: list[When] = []
    while rest:
        one = rest.pop(0)
        if rest and (both := _from_to(one, rest[0], text)) is not None:
            one = both
            rest.pop(0)
        elif one.until is None:
            one = _borrowed(one, text)
            rest = [other for other in rest if other.start >= one.end]
        since, till = _SINCE.search(text[max(0, one.start - SHORT) : one.start]), _TILL_NOW.match(text, one.end)
        if since or till:  # it goes on until now
            start = one.start - len(since[0]) if since else one.start
            one = one.but(start=start, end=till.end() if till else one.end, since=True)
        joined.append(one)
    return joined


def without_recurring(text: str) -> str:
    """Return the text with spaces for what comes again and again: it names no one day."""
    return _RECURRING.sub(lambda match: " " * len(match[0]), text)


def _compiled(
    rule: table.Rule,
) -> tuple[re.Pattern[str], list[tuple[str, str, Callable[[str], Any]]], int, dict[str, Any]]:
    """Return the pattern of a rule, its groups (field and reader of each), its level, and what it fixes."""
    import re

    groups: list[tuple[str, str, Callable[[str], Any]]] = []

    def spelt(match: re.Match[str]) -> str:
        name, _, words = match[1].partition(":")
        inner = _written(table.WORDS.get(words or name.removeprefix("="), words))
        if name.startswith("="):
            return inner
        group = f"{name}_{len(groups)}"
        groups.append((group, *table.READ[name]))
        return f"(?P<{group}>{inner})"

    def _written(text: str) -> str:
        text = re.sub(r"\{([a-z=](?:[^{}]|\{[^{}]*\})*)\}", spelt, text)
        return re.sub(r"(?<!\\)\((?!\?)", "(?:", text.replace(" ", r"\s+"))

    return re.compile(f"(?i){_written(rule.pattern)}"), groups, rule.level, rule.fixed


_ready = Memo(_compiled, 200).__getitem__


def _found(rule: table.Rule, text: str) -> Iterator[When]:
    pattern, groups, level, fixed = _ready(rule)
    for match in pattern.finditer(text):
        fields = dict(fixed)
        start = match.start()
        for group, field, read in groups:
            if field == "at":
                start = max(start, match.start(group))
            elif told := match[group]:
                fields[field] = read(" ".join(told.lower().split()))
        if not 1 <= fields.get("month", 1) <= (31 if "either" in fields else 12) or not 1 <= fields.get("day", 1) <= 31:
            continue
        if "away" in fields or "unit" in fields:
            least, most = fields.get("away") or (1, 1)
            if fields.pop("and_half", False):
                least, most = least + 0.5, most + 0.5
            fields["away"] = (-most, -least) if fields.pop("ago", False) else (least, most)
        yield _BARE.but(start=start, end=match.end(), level=table.SURE if "which" in fields else level, **fields)


_RECURRING = lazily(
    r"(?i)每个?(?:月|年|周|星期|礼拜|逢)?[一二三四五六日天、和到至周星期礼拜\d\s号]*|\b(?:every|each)\s+\w+(?:\s+(?:and|to)\s+\w+day)?"
)


# --- neighbours ----------------------------------------------------------------------------------

_LEADS = lazily(r"(?i)\b(?:in|of|during|since|until|till|between|from|through|at|over|on|around)\s+(?:the\s+)?$")
_GAP = lazily(r"(?i)[\s,]*(?:(?:of|in|on|for)\s+)?(?:the\s+|an?\s+)?|'s\s+(?:on\s+)?|\s*(?:之?前)?的?那?个?\s*")
_TO = r"(?:to|until|till|up\s+to|through|thru|[-–—~～到至]|一直到)"
_JOINT = lazily(rf"(?i)\s*(?:{_TO}|(?P<and>and|[和与跟]))\s*(?:the\s+|了)?")
_BETWEEN = lazily(r"(?i)\bbetween\b[^,.;?!]{0,30}$")
_END = lazily(
    rf"(?i)\s*(?:{_TO}|(?P<and>and|[和与跟]))\s*(?:the\s+)?(?:(?P<weekday>[一二三四五六日天])(?![个次月十点百千万])"
    rf"|(?P<month>{table.WORDS['month']})(?!\s+\d)|(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?![:/%]|\.\d)(?!\s+(?:of\b|{table.WORDS['month']}))"
    rf"|(?P<han>{table.WORDS['n']})[日号])"
)
_BEGIN = lazily(rf"(?i)\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s*(?:{_TO}|(?P<and>and))\s*(?:the\s+)?$")
_SINCE = lazily(r"(?i)\bsince\s+(?:the\s+)?$")
_TILL_NOW = lazily(r"(?i)\s*(?:以来|至今|起(?:到现在|至今)|[到至]现在|(?:to|until|till|up\s+to)\s+now\b)")


def _says(one: When) -> set[str]:
    """Return the fields that a phrase fills."""
    return {name for name, value, left in zip(When._fields[3:], one[3:], _BARE[3:], strict=True) if value != left}


def _within(large: When, small: When) -> When | None:
    """Join the smaller of two with what the larger says, such as its year; None if that means nothing."""
    whole, part, level = _says(large), _says(small), large.level
    if part == {"same"} or small.days == (0, 0):
        if whole == {"weeks"}:
            return small.but(level=table.SURE, days=(7 * (large.weeks or 0),) * 2, same=None)
        small, level = small.but(days=None, same=small.same or 0), table.SURE
        fits = bool(whole) and whole <= {"years", "months", "away", "unit"}
    elif whole in ({"year"}, {"years"}):
        if part == {"half"}:
            small = small.but(half=None, term=(6 * (small.half or 1) - 5, 6))
        fits, level = not part & {"year", "years", "which", "either"}, table.SURE
        fits = fits and bool(small.month or small.term or small.holiday)
    elif part == {"whole"}:
        fits = "day" in whole
    elif whole & {"month", "months"}:
        fits = whole <= {"month", "months", "year", "years", "which"} and part <= {"day", "nth", "half"}
    else:
        fits = whole == {"weeks"} or (whole == {"away", "unit"} and large.unit in "wf")
        fits = fits and part == {"weekday"} and small.level == table.ALONE
    return small.but(level=level, **{name: getattr(large, name) for name in whole}) if fits else None


# --- ranges --------------------------------------------------------------------------------------


def _leads(text: str, conjunction: str | None, start: int, end: int) -> bool:
    """Return whether "and" joins the ends of a range."""
    between = _BETWEEN.search(text[max(0, start - 60) : start])
    return not conjunction or between is not None or text[end:].lstrip()[:2] == "之间"


def _from_to(one: When, other: When, text: str) -> When | None:
    if min(one.level, other.level) > table.LED:
        return None
    joint = _JOINT.fullmatch(text, one.end, other.start)
    if joint is None or not _leads(text, joint["and"], one.start, other.end):
        return None
    start, end, level = one.start, other.end, min(one.level, other.level)
    if _says(other) <= {"day", "weekday"}:
        other = _beside(other, one, 1) or other
    elif _says(one) <= {"day", "weekday"}:
        one = _beside(one, other, -1) or one
    if (_says(one) == {"day"}) != (_says(other) == {"day"}):
        return None
    return one.but(start=start, end=end, level=level, until=other)


def _beside(one: When, other: When, direction: int) -> When | None:
    """Return a day told by its number or day of the week alone, in the month or week of the other end of the range."""
    if one.day is not None and other.day is not None and other.month is not None:
        fits = (one.day - other.day) * direction > 0
        return other.but(start=one.start, end=one.end, day=one.day) if fits else None
    if one.weekday is not None and other.weekday is not None and other.weeks is not None:
        over = (one.weekday - other.weekday) * direction < 0
        return other.but(start=one.start, end=one.end, weekday=one.weekday, weeks=other.weeks + over * direction)
    return None


def _borrowed(one: When, text: str) -> When:
    """Return a range, one end of which says only its day, of the month or the week of the other end."""
    end = _END.match(text, one.end)
    if end and _leads(text, end["and"], one.start, end.end()):
        day = int(number(end["day"] or end["han"] or "0"))
        name = weekday(end["weekday"]) if end["weekday"] else None
        until = When(end.start(), end.end(), day=day or None, weekday=name)
        if end["month"] and one.month is not None:
            return one.but(end=end.end(), until=until.but(month=month(end["month"].lower())))
        if name is not None and one.weekday is not None:
            return one.but(end=end.end(), until=_beside(until, one, 1) or until)
        if day <= 31 and (last := _beside(until, one, 1)) is not None:
            return one.but(end=end.end(), until=last)
    begin = _BEGIN.search(text[max(0, one.start - SHORT) : one.start]) if one.day is not None else None
    if begin:
        start = one.start - len(begin[0])
        first = _beside(When(start, one.start, day=int(begin["day"])), one, -1)
        if first is not None and (not begin["and"] or _BETWEEN.search(text[max(0, start - 60) : start])):
            return first.but(end=one.end, until=one)
    return one
