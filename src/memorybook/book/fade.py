"""How entries age, as pure functions: how a score gains and loses strength, and since when nobody confirmed an entry.

A score is written for a day (`scored`) and read on a later one. After the last activation an entry
keeps its strength for `GRACE_DAYS` days, then loses 1 % a day::

    eff(t)   = max(0, days(t - activated) - 7)
    score(t) = score * 0.99 ** (eff(t) - eff(scored))

The exponents of two readings add up, so it makes no difference how often an entry is written anew
in between. Days are whole UTC dates. Nothing here hides an entry: the bounds say where it is kept.

An entry counts as confirmed on the day it was said, said again by somebody trusted no less, or confirmed by
`Memory.confirm` (`Entry.confirmed_on`). How long that holds is the setting `stale`, by category. Dates of every year,
such as birthdays, entries with a last day of their own, and those marked `lasting` hold for good.
"""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Callable, Memo, lazily
from memorybook.errors import InvalidInput

if TYPE_CHECKING:
    from datetime import date

    from memorybook.config.settings import StaleSettings
    from memorybook.model import Entry
    from memorybook.search.types import Hit, Passage

ARCHIVE_BELOW = 0.2
"""An active entry weaker than this is archived."""

REMOVE_BELOW = 0.05
"""An archived entry weaker than this is taken out of the documents."""

PROMPT_FROM = 0.5
"""The least strength of an active entry that is put into a prompt unasked."""

PROMPT_BEST = 20
"""How many entries a prompt takes unasked, the strongest first."""

MOST_DROPPED = 0.25
"""Share of the active entries that one run of tidying, or one rewrite of a page, archives or removes unasked."""

GRACE_DAYS = 7
"""Days after the last activation during which nothing fades."""

_KEPT_PER_DAY = 0.99
_GAIN = 0.2
_CONTRADICTED = 0.5
_IMPORTANCE = {
    "high": 0.8, "medium": 0.6, "low": 0.4,
    "高": 0.8, "中": 0.6, "低": 0.4,
}  # fmt: skip


def fade(score: float, *, scored: date, activated: date, today: date, pinned: bool = False) -> float:
    """Return the strength on `today` of a score written for the day `scored`; never more, and the same if pinned."""
    if pinned or today <= scored:
        return score
    faded_days = max(0, (today - activated).days - GRACE_DAYS) - max(0, (scored - activated).days - GRACE_DAYS)
    return score * _KEPT_PER_DAY**faded_days if faded_days else score


def strength(entry: Entry, today: date) -> float:
    """Return the entry's score as it reads today, 0..1."""
    scored, activated = entry.scored, entry.last_activated
    return fade(entry.score, scored=scored, activated=activated, today=today, pinned=entry.pinned)


def falls_below(entry: Entry, bound: float, today: date) -> date | None:
    """Return the first day from today on when the entry is weaker than a bound, if nothing is said of it again.

    None if it is that weak already, is pinned, or keeps its strength for four years.
    """
    from datetime import timedelta

    if entry.pinned or bound <= 0 or strength(entry, today) < bound:
        return None
    more = _days_to_fade((entry.score, bound))
    already = max(0, (entry.scored - entry.last_activated).days - GRACE_DAYS)
    left = (entry.last_activated - today).days + GRACE_DAYS + already + more
    return today + timedelta(days=left) if left <= 1_500 else None


def _days_below(scores: tuple[float, float]) -> int:
    """Return after how many days of fading a score is below a bound, at least 1."""
    from math import log

    score, bound = scores
    more = max(1, int(log(bound / score) / log(_KEPT_PER_DAY)))  # or one off: floats are not exact
    while more > 1 and score * _KEPT_PER_DAY ** (more - 1) < bound:
        more -= 1
    while score * _KEPT_PER_DAY**more >= bound:
        more += 1
    return more


_days_to_fade: Callable[[tuple[float, float]], int] = Memo(_days_below, 1_000).__getitem__


def next_step(entry: Entry, today: date) -> tuple[str, date | None]:
    """Return what becomes of an entry next if nothing is said of it again, and on which day; None for any day now.

    It leaves the `prompt`, goes to the `archive`, does so as its date is past (`expire`), or goes for good (`remove`).
    A pinned entry stays: "" and None.
    """
    from datetime import timedelta

    if entry.pinned:
        return "", None
    now = strength(entry, today)
    if entry.archived:
        step, bound = "remove", REMOVE_BELOW
    elif entry.superseded_by is None and now >= PROMPT_FROM:
        step, bound = "prompt", PROMPT_FROM
    else:
        step, bound = "archive", ARCHIVE_BELOW
    day = falls_below(entry, bound, today) if now >= bound else today
    expires = None if entry.archived else entry.expires
    if expires is not None and day is not None and expires < day:
        step, day = "expire", expires + timedelta(days=1)
    return step, None if day is None or day <= today else day


def reinforced(entry: Entry, today: date, confirmed: date | None = None) -> Entry:
    """Return the entry after it was said again or used: today's strength and a fifth of what it lacks to 1.

    `confirmed` is the day on which somebody trusted said that it is so; None if nobody did.
    """
    score = strength(entry, today)
    score = min(1.0, score + (1.0 - score) * _GAIN)
    day = max(filter(None, (entry.confirmed_on, confirmed)), default=None)
    after = _replace(entry, score=score, scored=today, last_activated=today, hits=entry.hits + 1, verified=None)
    return after if day in (None, after.confirmed_on) else _replace(after, verified=day)


def contradicted(entry: Entry, by: str, today: date) -> Entry:
    """Return the entry after the entry `by` replaced it: half of today's strength, and it says who replaced it."""
    score = strength(entry, today) * _CONTRADICTED
    return _replace(entry, score=score, scored=max(entry.scored, today), superseded_by=by)


def tidied(entry: Entry, today: date) -> Entry:
    """Return the same entry with today's strength written down; unchanged if it was written for today or later."""
    if today <= entry.scored:
        return entry
    return _replace(entry, score=strength(entry, today), scored=today)


def importance_score(value: str | float) -> float:
    """Return the score of a new entry: high 0.8, medium 0.6, low 0.4 (高, 中, 低), or 0..1. Raises InvalidInput."""
    known = _IMPORTANCE.get(value.strip().lower()) if isinstance(value, str) else None
    if known is not None:
        return known
    try:
        score = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        score = float("nan")
    except OverflowError:
        score = value = float("inf")
    if not 0.0 <= score <= 1.0:
        raise InvalidInput(f"importance {value!r} is not known; say high, medium, low or a number from 0 to 1")
    return score


def _replace(entry: Entry, **fields: object) -> Entry:
    from dataclasses import replace  # a search reads strengths but changes no entry, and must not pay for this

    return replace(entry, **fields)  # type: ignore[arg-type]


def dropped_at_once(active: int) -> int:
    """Return how many of so many entries one run may archive or remove: a quarter, at least one."""
    return max(1, int(active * MOST_DROPPED))


# --- what nobody confirmed for long ---------------------------------------------------------------


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
