"""Days written in figures alone: 4/28/2023, 28.04.2023, "on 5/3", 5/3那次."""

from __future__ import annotations

from memorybook.patterns import lazily
from memorybook.recall.dates import Span, placed
from memorybook.standard import Iterator, date, suppress
from memorybook.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import re

    from memorybook.recall.rough_days import Place

_TALK = "(?:meeting|call|chat|session|talk|conversation|discussion|sync|standup)"
_WITH_YEAR = r"(?<![\w./-])(?P<a>\d{1,2})(?P<by>[./-])(?P<b>\d{1,2})(?P=by)(?P<year>(?:19|20)\d\d)(?![\w/-])"
_IN_FULL = lazily(_WITH_YEAR)
_SHORT = lazily(
    rf"(?i){_WITH_YEAR}"
    r"|(?:^\W*|\b(?:on|from|since|between|until|till|around)\s+|(?<=\d\s)(?:and|to)\s+|(?<=[\u3400-\u9fff])\s?)"
    r"(?P<a2>\d{1,2})/(?P<b2>\d{1,2})(?=\W*$|\s+(?!of\b|the\b|inch|cups?\b)[a-z]|[,;?!]|\s?(?:[那号日早晚,，。?？]|上午|中午|下午|我们|的会|的讨论|的对话|[聊说谈到至]))"
    rf"|(?<![\w./-])(?P<a3>\d{{1,2}})/(?P<b3>\d{{1,2}})(?='?s?\s+{_TALK}|\s?(?:[那号日]|我们|的会|的讨论|的对话))"
)


def found(question: str, years: list[int], today: date | None) -> list[tuple[Place, Span]]:
    """Where such days stand, and what they mean; see `rough_days.found`.

    The month comes first, the day before a dot; the other way round if there is no such day, or if that one is still
    to come and the other is not.
    """
    matches = (_SHORT if "/" in question else _IN_FULL).finditer(question)
    return placed(matches, lambda match: _days(match, years, today))


def _days(match: re.Match[str], years: list[int], today: date | None) -> Iterator[Span]:
    groups = match.groupdict()
    one, other = next(
        (int(groups[a]), int(groups[b])) for a, b in (("a", "b"), ("a2", "b2"), ("a3", "b3")) if groups[a]
    )
    if groups["a"] is None and {one, other} == {24, 7}:
        return
    ways = ((one, other), (other, one)) if match["by"] != "." else ((other, one), (one, other))
    for year in [int(match["year"])] if match["year"] else years:
        days = [day for month, number in ways if (day := _day(year, month, number))]
        if days:
            yield (next((day for day in days if today and day <= today.toordinal()), days[0]),) * 2


def _day(year: int, month: int, day: int) -> int:
    """0 for what the calendar does not have."""
    with suppress(ValueError):
        return date(year, month, day).toordinal()
    return 0
