"""Staying true: which entries nobody confirmed for longer than their kind holds. It is told; nothing is hidden for it.

An entry counts as confirmed on the day it was said, said again by somebody trusted no less, or confirmed by
`Memory.confirm` (`Entry.confirmed_on`). How long that holds is the setting `stale`, by category. Dates of every year,
such as birthdays, entries with a last day of their own, and those marked `lasting` hold for good.
"""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Callable, lazily

if TYPE_CHECKING:
    from datetime import date

    from memorybook.config.settings import StaleSettings
    from memorybook.search.types import Hit, Passage

EVERY_YEAR = (
    r"(?i:\b(?:(?:birthday|anniversary|name\s+day)\s+(?:is|was|falls)|(?:was|were)\s+born)\s+(?:on\s+)?(?:the\s+)?"
    r"(?:\d|(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]*\s+\d)"
    r"(?!.*\b(?:need|must|have|should|let's|book|buy|get|by)\b))"
    r"|(?:生日|纪念日|忌日)[是在为：:\s]*[\d一二三四五六七八九十]+\s*月(?!.*[要得买订送前])"
)
"""Days of every year: no todo, and never over."""

_EVERY_YEAR = lazily(EVERY_YEAR)
_HINTS = ("birthday", "anniversary", "name", "born", "日")
"""Of which such a day has one: a cold search has not the time to compile the pattern."""

MONTHS = "January February March April May June July August September October November December".split()


def unconfirmed(stale: StaleSettings, today: date) -> Callable[[Passage], str]:
    """Return what tells the day since which nobody confirmed an entry whose kind needs it, `YYYY-MM-DD`; "" if none.

    What was replaced says so already.
    """
    from datetime import timedelta

    bounds = {kind: (today - timedelta(days)).isoformat() for kind, days in stale._asdict().items() if days}

    def since(passage: Passage) -> str:
        day = passage.verified
        if not day or passage.state == "superseded" or day >= bounds.get(passage.category or "", ""):
            return ""
        text = passage.text.lower()
        return "" if any(hint in text for hint in _HINTS) and _EVERY_YEAR.search(text) else day

    return since


def told_of(hits: tuple[Hit, ...], stale: StaleSettings, today: date) -> tuple[Hit, ...]:
    """Return the hits, each with the day since which it was not confirmed."""
    since = unconfirmed(stale, today)
    return tuple([hit._replace(unconfirmed=since(hit.passage)) for hit in hits])


def month(day: str, language: str) -> str:
    """Return the month of a day as people say it.

    >>> month("2026-03-09", "en"), month("2026-03-09", "zh")
    ('March 2026', '2026年3月')
    """
    year, number = day[:4], int(day[5:7])
    return f"{year}年{number}月" if language == "zh" else f"{MONTHS[number - 1]} {year}"
