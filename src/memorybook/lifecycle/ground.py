"""Whether a candidate rests on what was said: its numbers, dates, names and quote, looked for in its turns.

No model takes part. A number or date must stand in the turns that the candidate rests on, in those beside them, or in
a known entry that it repeats, reinforces or contradicts; a name, and a number of three figures, may stand anywhere in
the talk, a name also among the known entries: who "she" is was often said long before. What a text leaves open counts
for the candidate: the aim is to catch what was made up and hardly ever to doubt what was not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, tzinfo
from functools import lru_cache
from typing import NamedTuple

from memorybook.lifecycle.candidate import Candidate
from memorybook.lifecycle.hints import compiled
from memorybook.lifecycle.names import Said
from memorybook.lifecycle.quotes import found_quote
from memorybook.model import Discarded, Entry, Turn
from memorybook.text.days.possible import Named, among, meant, named
from memorybook.text.days.spans import Span
from memorybook.text.numbers import Figure, figures, han_number
from memorybook.text.tokens import normalise


class Grounded(NamedTuple):
    """Candidates that rest on what was said, with quotes that do, and those set aside, with the reason."""

    kept: tuple[Candidate, ...]
    set_aside: tuple[Discarded, ...]


def ground(
    candidates: Iterable[Candidate],
    turns: Sequence[Turn],
    *,
    known: Iterable[Entry] = (),
    now: datetime | None = None,
    zone: tzinfo | None = None,
) -> Grounded:
    """Set aside what has a number, a date or a name that nobody said, naming the thing.

    A quote that stands in no turn is replaced by the sentence that says most of the candidate; without one the
    candidate is set aside. Entities that nobody named, and a last day that nobody spoke of, are taken out of it.

    Args:
        candidates: Of this talk.
        turns: All of it, in order, as it was said.
        known: The entries the model was shown or that candidates name.
        now: Dates turns without a time; None leaves their relative days unread.
        zone: In which days are counted; None is UTC.
    """
    talk = _Talk(turns, {entry.id: entry for entry in known}, now, zone or UTC)
    kept: list[Candidate] = []
    set_aside: list[Discarded] = []
    for one in candidates:
        checked = talk.checked(one)
        if isinstance(checked, str):
            set_aside.append(Discarded(text=one.content, reason=checked, quote=one.quote))
        else:
            kept.append(checked)
    return Grounded(tuple(kept), tuple(set_aside))


def unfounded(
    text: str,
    sources: Sequence[str],
    *,
    entities: Iterable[str] = (),
    now: datetime | None = None,
    zone: tzinfo | None = None,
) -> str | None:
    """The first date, number or name of a text that stands in none of the sources; None if all of them do.

    It is named as `the number '8080'`. `entities` are looked for where they stand in the text; the rest as `ground`.
    """
    talk = _Talk([Turn(id=str(place), session="", text=one) for place, one in enumerate(sources)], {}, now, zone or UTC)
    return talk.unfounded(text, entities, talk.read())


class _Sources(NamedTuple):
    """What a candidate may have its numbers and dates from."""

    values: frozenset[float]
    spans: frozenset[Span]


class _Talk:
    """A talk that candidates are held against; what is read out of a turn is read once."""

    def __init__(self, turns: Sequence[Turn], known: Mapping[str, Entry], now: datetime | None, zone: tzinfo) -> None:
        self._turns = turns
        self._places = {turn.id: place for place, turn in enumerate(turns)}
        self._known = known
        self._now = now
        self._zone = zone
        self._said = Said([*(turn.text for turn in turns), *(turn.speaker for turn in turns)], known.values())
        self._repeats = {normalise(entry.text): entry.id for entry in known.values()}
        self._of_turn = lru_cache(maxsize=None)(self._read)

    def checked(self, one: Candidate) -> Candidate | str:
        """The candidate with what can be mended mended, or why it is set aside."""
        places = sorted({self._places[id] for id in one.turn_ids if id in self._places})
        if not places:
            return "rests on no turn of the talk"
        sources = self._sources(places, one)
        thing = self.unfounded(one.content, one.entities, sources)
        if thing:
            return f"{thing} stands in no turn that it rests on"
        own = [self._turns[place] for place in places]
        near = [self._turns[place] for place in self._near(places) if place not in places]
        quote = found_quote(one, own, near, self._turns)
        if quote is None:
            return "says nothing that stands in the turns it rests on"
        return replace(
            one,
            quote=quote.text,
            turn_ids=tuple(dict.fromkeys((*one.turn_ids, *quote.turn_ids))),
            entities=tuple(name for name in one.entities if self._said.names(name)),
            expires=one.expires if one.expires is None or _spoken_of(one.expires, one, sources) else None,
        )

    def unfounded(self, content: str, entities: Iterable[str], sources: _Sources) -> str | None:
        """The first date, number or name of a text that nobody said; None if there is none."""
        thing = _unfounded_date(content, sources) or _unfounded_number(content, sources)
        return thing or self._said.unfounded(content, entities)

    def read(self) -> _Sources:
        """What all of the talk says."""
        read = [self._of_turn(place) for place in range(len(self._turns))]
        return _Sources(
            frozenset().union(*(values for values, _ in read)), frozenset().union(*(days for _, days in read))
        )

    def _near(self, places: Iterable[int]) -> list[int]:
        """These places and those beside them."""
        return sorted({each + by for each in places for by in (-1, 0, 1) if 0 <= each + by < len(self._turns)})

    def _sources(self, places: Sequence[int], one: Candidate) -> _Sources:
        """What the turns at these places say, those beside them, and the entries that the candidate names."""
        values: set[float] = set()
        spans: set[Span] = set()
        for place in self._near(places):
            turn_values, turn_spans = self._of_turn(place)
            values |= turn_values
            spans |= turn_spans
        for id in (*one.reinforces, *one.contradicts, self._repeats.get(normalise(one.content), "")):
            entry = self._known.get(id)
            if entry is not None:
                values |= _values(entry.text)
                spans |= meant(entry.text, entry.created.date() if entry.created else entry.scored)
                spans |= {(entry.expires.toordinal(),) * 2} if entry.expires else set()
        every = (value for place in range(len(self._turns)) for value in self._of_turn(place)[0])
        return _Sources(frozenset(values | set(filter(_is_telling, every))), frozenset(spans))

    def _read(self, place: int) -> tuple[frozenset[float], frozenset[Span]]:
        turn = self._turns[place]
        time = turn.time or self._now
        said = time.astimezone(self._zone).date() if time is not None else None
        spans = meant(turn.text, said) if said is not None else _written(turn.text)
        return frozenset(_values(turn.text)), frozenset(spans)


def _is_telling(value: float) -> bool:
    """Whether a number is hardly said twice by chance: such a one may stand anywhere in the talk."""
    return value >= 100 or value != int(value)


def _written(text: str) -> set[Span]:
    """The days that a text names with their year."""
    return {
        (day, day)
        for one in named(text)
        if one.year is not None and one.month is not None and one.day is not None
        for day in _ordinals(one)
    }


def _ordinals(one: Named) -> Iterator[int]:
    try:
        yield date(one.year or 1, one.month or 1, one.day or 1).toordinal()
    except ValueError:
        return


def _values(text: str) -> set[float]:
    """Every value of a number in the text that is not part of a date, hours in both ways of counting."""
    dates = [(one.start, one.end) for one in named(text)]
    found = {
        value
        for one in figures(text)
        if not any(start <= one.start < end for start, end in dates)
        for value in one.values
    }
    hours = compiled(r"(\d{1,2})\s*(?:点|时(?!间)|[ap]\.?m\b)").findall(text.lower())
    found.update(float(hour) + 12 for hour in hours if int(hour) <= 12)
    found.update(value for pattern, value in _HALVES if compiled(pattern).search(text))
    for whole, part in compiled("([零一二两三四五六七八九十百]+)[点个](半|[零一二三四五六七八九]+)").findall(text):
        found.add((han_number(whole) or 0) + (0.5 if part == "半" else float(f"0.{int(han_number(part) or 0)}")))
    return found | {(han_number(tenths) or 0) * 10 for tenths in compiled("([一二三四五六七八九])成").findall(text)}


_HALVES = (
    (r"(?i)[点时]半|\bhalf\s+past\b|半个?(?:小时|钟头)|\bhalf\s+an\s+hour\b", 30.0),
    (r"(?i)半年|\bhalf\s+a\s+year\b", 6.0),
    (r"(?i)一刻|\bquarter\s+(?:past|of\s+an\s+hour)\b", 15.0),
    (r"(?i)半|\bhalf\b", 0.5),
)
"""Numbers that people say without saying them."""


def _unfounded_date(content: str, sources: _Sources) -> str | None:
    """The first date of a text that nobody can have meant; None if there is none."""
    for one in named(content):
        if not among(one, sources.spans) and not _as_numbers(one, sources.values):
            return f"the date {content[one.start : one.end].rstrip(' .,')!r}"
    return None


def _as_numbers(one: Named, values: frozenset[float]) -> bool:
    """Whether a date that names one part only may be a number that was said."""
    parts = [part for part in (one.year, one.month, one.day) if part is not None]
    return len(parts) == 1 and one.month is None and float(parts[0]) in values


def _unfounded_number(content: str, sources: _Sources) -> str | None:
    """The first number of a text that nobody said; None if there is none."""
    dates = [(one.start, one.end) for one in named(content)]
    for one in figures(content):
        dated = any(start <= one.start < end for start, end in dates)
        if one.sure and not dated and not _counted(one, sources) and not _listed(one, content):
            return f"the number {one.text!r}"
    return None


def _counted(one: Figure, sources: _Sources) -> bool:
    """Whether a number was said: any of its values, or each part of a clock time or version."""
    if ":" in one.text or "：" in one.text or one.text.count(".") > 1:
        parts = [float(part) for part in re.split("[:：.]", one.text)]
        return all(part == 0 or {part, part - 12, part + 12} & sources.values for part in parts)
    return bool(one.values & sources.values) or any(value in (0.0, 1.0) for value in one.values)


def _listed(one: Figure, content: str) -> bool:
    """Whether a small number counts what the text lists after it: three people: Ada, Bob and Cyd."""
    found = compiled(r"[^。.!！?？]*?[:：（(—](?P<list>[^。.!！?？）)]*)").match(content, one.end)
    if found is None:
        return False
    count = len(compiled(r"[、，,;；和与及&]|\band\b").split(found["list"]))
    return any(2 <= value <= count <= value + 1 for value in one.values)


def _spoken_of(day: date, one: Candidate, sources: _Sources) -> bool:
    """Whether a last day may have been meant: the day, its month, or a date that the candidate itself names."""
    if among(Named(None, day.month, None, 0, 0), sources.spans):
        return True
    return any(
        (found.month, found.day) in ((day.month, day.day), (day.month, None), (None, day.day))
        for found in named(one.content)
    )
