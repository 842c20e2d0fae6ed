"""Two wordings made one, and what must not get lost by it: numbers, dates and names of both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from memorybook.book import fade
from memorybook.entries.candidate import Candidate
from memorybook.entries.names import Said, names_in, squeezed
from memorybook.model import TRUST_ORDER, Entry, Trust
from memorybook.text.days.readers import Named, named
from memorybook.text.numbers import figures
from memorybook.text.sentences import compiled
from memorybook.text.tokens import tokens

_WEEKDAY = (
    r"(?i)\b(?P<en>mon|tue|wed|thu|fri|sat|sun)(?:s|nes|rs|ur)?(?:day)?s?\b|(?:周|星期|礼拜)(?P<zh>[一二三四五六日天])"
)
_WEEK = {name: place for place, name in enumerate("mon tue wed thu fri sat sun".split())} | {
    name: place for place, name in enumerate("一二三四五六日")
}


def missing(parents: Iterable[Entry | Candidate | str], text: str) -> tuple[str, ...]:
    """The numbers, dates, days of the week and names of the parents that a text lacks, each as `the number '300'`.

    Empty says that the text may stand for all of them. A number is kept in whatever notation (300, three hundred,
    三百), a date with at least the parts it had, a name as it was or shortened as people do.

    >>> missing(["Ann pays 300 euros", "Ann pays on Friday"], "Ann pays three hundred euros")
    ("the day 'Friday'",)
    """
    found: dict[str, None] = {}
    for parent in parents:
        parts = (parent, ()) if isinstance(parent, str) else (_text(parent), parent.entities)
        found.update(dict.fromkeys(_lost(*parts, text)))
    return tuple(found)


def merged(target: Entry, new: Entry, text: str, *, heard: bool) -> Entry:
    """The entry that takes the place of a known one and of a new statement; nothing of either's worth is lost.

    Args:
        target: What was known; the caller archives it, superseded by this one.
        new: What the new statement alone would become; its id, day and session are those of the merged entry.
        text: Of the merged entry; see `missing`.
        heard: Whether the target was heard in this session already, so that it is not reinforced by it again.
    """
    known = target if heard else fade.reinforced(target, new.scored)
    return replace(
        new,
        text=text,
        score=max(new.score, fade.strength(known, new.scored)),
        hits=known.hits,
        created=min((time for time in (target.created, new.created) if time is not None), default=None),
        tags=_joined(target.tags, new.tags),
        entities=_joined(target.entities, new.entities),
        links=_joined(target.links, new.links),
        contradicts=_joined(target.contradicts, new.contradicts),
        group=new.group or target.group,
        expires=new.expires or target.expires,
        metadata={**target.metadata, **new.metadata},
        trust=lowest(target.trust, new.trust),
    )


def _joined(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))


def lowest(one: Trust | None, other: Trust | None) -> Trust | None:
    """The lower of two trusts; None, a person's own hand, is the highest."""
    known = [trust for trust in (one, other) if trust is not None]
    return min(known, key=TRUST_ORDER.index, default=None)


def _text(parent: Entry | Candidate) -> str:
    return parent.text if isinstance(parent, Entry) else parent.content


# --- what a text lacks ---------------------------------------------------------------------------


def _lost(parent: str, entities: Iterable[str], text: str) -> Iterator[str]:
    yield from _lost_dates(parent, text)
    yield from _lost_days(parent, text)
    yield from _lost_numbers(parent, text)
    yield from _lost_names(parent, entities, text)


def _lost_dates(parent: str, text: str) -> Iterator[str]:
    kept = named(text)
    for one in named(parent):
        if not any(_holds(other, one) for other in kept) and not _counts(one, text):
            yield f"the date {parent[one.start : one.end].strip()!r}"


def _holds(one: Named, other: Named) -> bool:
    """Whether a date has every part that the other one has."""
    pairs = ((one.year, other.year), (one.month, other.month), (one.day, other.day))
    return all(part is None or have == part for have, part in pairs)


def _counts(one: Named, text: str) -> bool:
    """Whether what looks like a year may be a number that the text has."""
    return one.month is None and one.day is None and any(float(one.year or 0) in each.values for each in figures(text))


def _lost_days(parent: str, text: str) -> Iterator[str]:
    kept = {day for day, _ in weekdays(text)}
    for day, word in weekdays(parent):
        if day not in kept:
            yield f"the day {word!r}"


def weekdays(text: str) -> list[tuple[int, str]]:
    """The days of the week that a text names, Monday as 0, each with its words."""
    found = compiled(_WEEKDAY).finditer(text)
    return [(_WEEK[(one["en"] or one["zh"]).lower().replace("天", "日")], one[0]) for one in found]


def _lost_numbers(parent: str, text: str) -> Iterator[str]:
    dates = [(one.start, one.end) for one in named(parent)]
    kept = {value for one in figures(text) for value in one.values}
    for one in figures(parent):
        if one.sure and not one.values & kept and not any(start <= one.start < end for start, end in dates):
            yield f"the number {one.text!r}"


def _lost_names(parent: str, entities: Iterable[str], text: str) -> Iterator[str]:
    bare, words, kept = squeezed(text), set(tokens(text)), set(names_in(text, ()))
    for name in names_in(parent, entities):
        parts = set(tokens(name))
        if name not in kept and not parts <= words and (len(parts) < 2 or squeezed(name) not in bare):
            yield f"the name {name!r}"
    other = Said([text], ()).unfounded(parent, ())  # names that open a sentence, and what is quoted
    if other is not None:
        yield other
