"""Ground what a model says: check each claim against the turns that it names.

A claim is a candidate, a sentence of a summary or a decision. It is aligned with the sentence that says most of it, and
stands if nothing in it is made up: its numbers, days, names and words were said, and its sense was not turned round.

- Numbers and days must stand in the turns that the claim rests on, in those beside them, or in a known entry that it
  repeats or contradicts; a name, and a number of three figures, may stand anywhere in the talk, for who "she" is was
  often said long before.
- One telling word at least is said in its turns, where these only agree to something (`yes, that one`) in those beside
  them; most words are said somewhere in the talk or known.
- What it affirms is not denied there, and what it denies not affirmed.
- Its trust is the lowest of the turns that hold its words, whichever it names. What it ascribes to somebody and
  only a tool or a document says does not stand.

No model takes part. What a text leaves open counts for the claim: the aim is to catch what was made up and hardly ever
to doubt what was not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, tzinfo
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

from memorybook.entries.read_reply import Candidate, trust_of
from memorybook.entries.replaces import replaces
from memorybook.entries.same import Said, Unit, forms, is_said, names_in, squeezed, units, weekdays
from memorybook.model import TRUST_ORDER, Entry, Trust, Turn
from memorybook.sessions.dialogue import is_worded
from memorybook.text.days import Named, Span, among, meant, named
from memorybook.text.screen import screen
from memorybook.text.sentences import compiled, prose, sentences
from memorybook.text.tokens import WORDS, Figure, figures, han_number, is_chinese, is_stop_word, normalise, query_words

ALIKE = 0.75
"""Share of a quote's words that a sentence must have to be what was quoted."""

MADE_UP = 0.5
"""Share of words nobody said from which a claim is unfounded."""

AGAIN, AGAIN_NAMED = 0.2, 0.1
"""Share of a known statement's words in and beside the turns from which it counts as said again; less where a model
names the statement, as people seldom repeat its words."""

MOST_CHANGED = 2
"""Most known entries that one candidate may contradict."""

WIDTH = 300
"""Most characters of a sentence used as a quote."""

FOREIGN = "is in another language than what was said"
"""Doubt of a claim in a language nobody spoke."""

Claim = Candidate | str
"""A candidate, or a sentence about a whole conversation."""


def ground(
    candidates: Iterable[Candidate],
    turns: Sequence[Turn],
    *,
    known: Iterable[Entry] = (),
    now: datetime | None = None,
    zone: tzinfo | None = None,
) -> tuple[Candidate, ...]:
    """Return the candidates, each with the reason why it is unfounded as its `doubt`, "" if it is founded.

    A quote that no turn has is replaced by the sentence that says most of the candidate. Entities that nobody named,
    and an expiry day that nobody spoke of, are removed.

    Args:
        candidates: Candidates from these turns.
        turns: The whole conversation, in order.
        known: Entries that the model was shown or that candidates name.
        now: Dates turns without a time; None ignores their relative days.
        zone: Time zone of days; None is UTC.
    """
    said = Grounder(turns, known, now, zone)
    return tuple(map(said.grounded, candidates))


def unfounded(
    text: str,
    sources: Sequence[str],
    *,
    entities: Iterable[str] = (),
    now: datetime | None = None,
    zone: tzinfo | None = None,
) -> str | None:
    """Return the first date, number or name of a text that no source has, as `the number '8080'`, or None.

    Of `entities` only those in the text count; other parameters as for `ground`.
    """
    talk = Grounder([Turn(id=str(place), session="", text=one) for place, one in enumerate(sources)], (), now, zone)
    return talk.unfounded(text, entities, talk.sources(range(len(sources))))


def has_quote(quote: str, text: str) -> bool:
    """Return whether a text has a quote, or in order the parts of a quote with ellipses."""
    whole, place = squeezed(text), 0
    parts = [part for part in (squeezed(part) for part in re.split(r"\.{3,}|…+|\[…\]", quote)) if part]
    for part in parts:
        place = whole.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return bool(parts)


_QUOTED = r"[「『《“\"][^「」『』《》“”\"]{1,60}[」』》”\"]"


class _Sources(NamedTuple):
    """Numbers and dates that a claim may use."""

    values: frozenset[float]
    spans: frozenset[Span]


class _Read(NamedTuple):
    """The words, numbers and days of a turn, and its trust."""

    words: frozenset[str]
    values: frozenset[float]
    spans: frozenset[Span]
    trust: Trust


class Grounder:
    """A conversation to check claims against; each turn is read once."""

    def __init__(
        self,
        turns: Sequence[Turn],
        known: Iterable[Entry],
        now: datetime | None,
        zone: tzinfo | None,
        shown: Iterable[Entry] | None = None,
    ) -> None:
        self._turns = turns
        self._places = {turn.id: place for place, turn in enumerate(turns)}
        self._known = {entry.id: entry for entry in known}
        self._now = now
        self._zone = zone or UTC
        self._said = Said([*(turn.text for turn in turns), *(turn.speaker for turn in turns)], self._known.values())
        self._repeats = {normalise(entry.text): entry for entry in self._known.values()}
        self._of_turn = lru_cache(maxsize=None)(self._read)
        self._names = {name for entry in self._known.values() for name in entry.entities}
        held = [one for one in shown or self._known.values() if one.trust in (None, "user", "agent")]
        self._of_known = frozenset().union(*(forms(entry.text) for entry in held))
        spoken = [turn.text for turn in turns if turn.role in ("user", "") and is_worded(turn.text)]
        self._languages = set(map(is_chinese, spoken))

    # --- claims ----------------------------------------------------------------------------------

    def grounded(self, one: Candidate) -> Candidate:
        """Return the candidate with quote, turns, entities and expiry corrected, its trust, and its doubt."""
        places = sorted({self._places[id] for id in one.turn_ids if id in self._places})
        if not places:
            return replace(one, doubt="rests on no turn of the talk")
        sources = self.sources(self._near(places), one)
        quote, beside = self._quote(one, places)
        places = sorted({*places, *beside})
        expires = one.expires if one.expires is None or _may_be_meant(one.expires, one, sources) else None
        mended = replace(
            one,
            quote=quote or one.quote,
            turn_ids=tuple(dict.fromkeys((*one.turn_ids, *(self._turns[place].id for place in beside)))),
            entities=tuple(name for name in one.entities if self._said.names(name)),
            expires=expires,
        )
        again = tuple(
            id
            for id in one.reinforces
            if self._is_said_again(id, places, named=True) and not self._is_another(one, self._known[id])
        )
        gone = self._changed(mended, places)
        waits = tuple(id for id in one.contradicts if id not in gone)
        mended = replace(mended, reinforces=again, contradicts=gone, disputes=waits)
        trust, ascribed = self._trust(mended, places, beside)
        doubt = self._doubt(replace(mended, entities=one.entities), places, sources)
        if not doubt and ascribed:
            doubt = f"is ascribed to others than the {ascribed} that said it"
        return replace(mended, trust=min(trust, one.trust, key=TRUST_ORDER.index), doubt=doubt)

    def doubt(self, sentence: str) -> str:
        """Return why a sentence about the whole conversation is unfounded, "" if it is not. Tool turns do not count."""
        people = [place for place in range(len(self._turns)) if self._of_turn(place).trust in ("user", "agent")]
        return self._doubt(sentence, people, self.sources(range(len(self._turns))))

    def _doubt(self, claim: Claim, places: Sequence[int], sources: _Sources) -> str:
        """Return what is wrong with a claim that rests on these turns; "" if nothing is."""
        text, entities = (claim, ()) if isinstance(claim, str) else (claim.content, claim.entities)
        if self._is_foreign(text):
            return FOREIGN
        thing = self.unfounded(text, entities, sources)
        if thing:
            return f"{thing} stands in no turn that it rests on"
        reason = self._unsaid(claim, text, entities, places)
        if reason:
            return reason
        subject = next((name for name in entities if text.startswith(name)), "")
        turned = contrary(
            text, [self._turns[place].text for place in self._nearest_turns(text, places)], subject=subject
        )
        if turned is not None:
            return f"says the contrary of what was said of {turned!r}"
        return "has another number than what was said" if self._revalued(claim, places) else ""

    def _is_foreign(self, text: str) -> bool:
        """Return whether a claim is in Chinese and nothing that people said is, or the other way round."""
        if not self._languages:
            return False
        chinese = compiled("[\u3400-\u9fff]").search(text) is not None
        return True not in self._languages if chinese else False not in self._languages and is_worded(text)

    def _unsaid(self, claim: Claim, text: str, entities: Sequence[str], places: Sequence[int]) -> str:
        """Return why too little of a claim was said, in its turns or at all; "" if enough was."""
        speakers = {turn.speaker for turn in self._turns if turn.role == ""}
        wanted = units(_without(text, {*entities, *speakers, *self._names}))
        own, near = self._words(places), self._words(self._near(places, 2))
        if not wanted:
            return ""
        known = self._repeated(claim)
        if known is not None:
            named = isinstance(claim, Candidate) and known.id in claim.reinforces
            return "" if self._is_said_again(known.id, places, named=named) else "is known, and was not said again"
        evidence = self._evidence(text, entities, places)
        in_turn = bool(evidence) or any(is_said(unit, own) for unit in wanted)
        if not in_turn and not any(is_said(unit, near) for unit in wanted):
            return "says nothing that stands in the turns it rests on"
        every = own if isinstance(claim, str) else self._words(range(len(self._turns)))
        unsaid = [one for one in wanted if len(one[0]) > 1 and not is_said(one, every | self._of_known)]
        most = (MADE_UP if in_turn else MADE_UP / 2) * (len(wanted) + evidence)
        short = isinstance(claim, str) and len(wanted) < 3  # of two words one may be a name
        if len(unsaid) > most or (short and len(unsaid) == most):
            return f"says what nobody said: {_join(unsaid)}"
        return ""

    def _nearest_turns(self, text: str, places: Sequence[int]) -> list[int]:
        """Return the three of these turns that say most of a text."""
        wanted = units(text)
        return sorted(places, key=lambda place: -sum(is_said(unit, self._of_turn(place).words) for unit in wanted))[:3]

    def _evidence(self, text: str, entities: Sequence[str], places: Sequence[int]) -> int:
        """Count what a claim shares with its turns besides words: names, speakers, and twice each number and day."""
        read = [self._of_turn(place) for place in places]
        values = frozenset().union(*(one.values for one in read))
        days = frozenset().union(*(one.spans for one in read)) - {self._said_on(place) for place in places}
        if len(places) > 3:  # a sentence on the whole talk: who takes part in it is no evidence
            return 2 * sum(bool(one.values & values) for one in _numbers(text))
        told = "\n".join(f"{self._turns[place].speaker}: {self._turns[place].text}" for place in places)
        names = {squeezed(name) for name in (*entities, *names_in(text, ()), *self._speakers(places))}
        bare, said = squeezed(text), squeezed(told)
        found = sum(len(name) > 1 and name in bare and name in said for name in names)
        found += 2 * sum(bool(one.values & values) for one in _numbers(text))
        return found + 2 * sum(among(one, days) for one in named(text))

    def _revalued(self, claim: Claim, places: Sequence[int]) -> bool:
        """Return whether a claim repeats a known entry's number where its turns have another number."""
        known = self._repeated(claim)
        if known is None:
            return False
        said = frozenset().union(*(self._of_turn(place).values for place in places))
        texts = [self._turns[place].text for place in places]
        new = {side for text in texts for one in _numbers(text) for side in _neighbouring(one, text)}
        old = [one for one in _numbers(known.text) if not one.values & said]
        return any(new.intersection(_neighbouring(one, known.text)) for one in old)

    def _repeated(self, claim: Claim) -> Entry | None:
        """Return the known entry whose statement a claim repeats, or None."""
        return self._repeats.get(normalise(claim.content)) if isinstance(claim, Candidate) else None

    def _is_said_again(self, id: str, places: Sequence[int], *, named: bool) -> bool:
        """Return whether enough of a known statement was said in or beside these turns; less suffices with `named`."""
        if id not in self._known:
            return False
        text, beside = self._known[id].text, self._near(places, 2)
        wanted, near = units(text), self._words(beside)
        said = {day for place in beside for day, _ in weekdays(self._turns[place].text)}
        days = sum(day in said for day, _ in weekdays(text))
        again = sum(is_said(unit, near) for unit in wanted) + 2 * days + self._evidence(text, (), places)
        return again >= max(1, (AGAIN_NAMED if named else AGAIN) * len(wanted))

    def _is_another(self, one: Candidate, known: Entry) -> bool:
        """Return whether a candidate says something else of somebody in the same frame: likes jazz, likes green tea."""
        names = {*one.entities, *known.entities, *self._names}
        new, old = units(_without(one.content, names)), units(_without(known.text, names))
        same = sum(is_said(unit, forms(known.text)) for unit in new)
        return same < len(new) and 0 < 2 * same <= min(len(new), len(old))

    @cached_property
    def _often(self) -> frozenset[str]:
        """Forms of words that a fifth of the known entries have, and at least four."""
        spread = Counter(form for entry in self._known.values() for form in forms(entry.text))
        return frozenset(form for form, count in spread.items() if count > max(3, len(self._known) // 5))

    def _changed(self, one: Candidate, places: Sequence[int]) -> tuple[str, ...]:
        """Return ids of the contradicted entries that candidate or turns really speak of; none if it names over two."""
        if not 0 < len(one.contradicts) <= MOST_CHANGED:
            return ()
        said = forms(f"{one.content} {one.quote}") | self._words(self._near(places, 2))
        said = said - self._often if len(one.contradicts) > 1 else said

        def about(entry: Entry | None) -> bool:
            told = entry is None or any(is_said(unit, said) for unit in units(entry.text))
            return told or (entry is not None and replaces(one, entry) is not None)

        return tuple(id for id in one.contradicts if about(self._known.get(id)))

    # --- whose words they are --------------------------------------------------------------------

    def _trust(self, one: Candidate, places: Sequence[int], beside: Sequence[int]) -> tuple[Trust, str]:
        """Return the lowest trust of the turns with the words of a candidate, and "tool" if only a tool said them."""
        own = [self._of_turn(place).trust for place in places if place not in beside] or ["user"]
        best = max(own, key=TRUST_ORDER.index)
        quoted = min((self._of_turn(place).trust for place in beside), key=TRUST_ORDER.index, default=best)
        levels = [level for unit in units(one.content) if (level := self._level(unit)) is not None]
        low = [level for level in levels if TRUST_ORDER.index(level) < TRUST_ORDER.index(best)]
        lowest: Trust = min(low, key=TRUST_ORDER.index) if 3 * len(low) >= len(levels) and low else best
        lowest = min(lowest, quoted, key=TRUST_ORDER.index)
        told_by_tool = lowest in ("tool", "suspect") and lowest not in own
        ascribed = told_by_tool and (quoted == lowest or 2 * len(low) > len(levels))
        return lowest, "tool" * ascribed

    def _level(self, unit: Unit) -> Trust | None:
        """Return the highest trust of the turns and entries with a word; None if there are none."""
        if is_said(unit, self._of_known):
            return "user"
        read = map(self._of_turn, range(len(self._turns)))
        levels = {one.trust for one in read if is_said(unit, one.words)}
        return max(levels, key=TRUST_ORDER.index, default=None)

    # --- quotes ----------------------------------------------------------------------------------

    def _quote(self, one: Candidate, places: Sequence[int]) -> tuple[str, list[int]]:
        """Return the candidate's quote, or the best sentence in its place, and further turns that it comes from.

        A quote may have ellipses, and differ in case, spaces and punctuation. If only another turn has it, or only a
        turn next to its own speaks of it, the candidate rests on that one, too.
        """
        if one.quote:
            if any(has_quote(one.quote, self._turns[place].text) for place in places):
                return one.quote, []
            other = [place for place, turn in enumerate(self._turns) if has_quote(one.quote, turn.text)]
            if other:
                best = max(other, key=lambda place: TRUST_ORDER.index(self._of_turn(place).trust))
                return one.quote, [best]
            text, share, _ = self._nearest(one.quote, places)
            if share >= ALIKE:
                return text, []
        text, share, _ = self._nearest(one.content, places)
        if share == 0:
            near = [each for each in self._near(places) if each not in places]
            beside, share, place = self._nearest(one.content, near)
            if share > 0:
                return beside, [place]
        return text, []

    def _nearest(self, wanted: str, places: Sequence[int]) -> tuple[str, float, int]:
        """Return the sentence with most of the wanted words, their share 0..1, and the index of its turn."""
        asked = units(wanted)
        best = "", 0.0, -1
        for place in places:
            for text in _sentences(self._turns[place].text):
                heard = forms(text)
                share = sum(is_said(unit, heard) for unit in asked) / (len(asked) or 1)
                if not best[0] or share > best[1]:
                    best = text[:WIDTH], share, place
        return best

    # --- what is read out of turns ---------------------------------------------------------------

    def unfounded(self, content: str, entities: Iterable[str], sources: _Sources) -> str | None:
        """Return the first date, number or name of a text that nobody said, or None."""
        plain = compiled(_QUOTED).sub(self._blank, content)  # what something is called is no date: “漓湾六号”
        thing = _unfounded_date(plain, sources) or _unfounded_number(plain, sources)
        return thing or self._said.unfounded(content, entities)

    def _blank(self, found: re.Match[str]) -> str:
        return " " * len(found[0]) if self._said.names(found[0]) else found[0]

    def sources(self, places: Iterable[int], one: Candidate | None = None) -> _Sources:
        """Return the numbers and days of these turns, and of the entries that a candidate names."""
        values: set[float] = set()
        spans: set[Span] = set()
        for place in places:
            values |= self._of_turn(place).values
            spans |= self._of_turn(place).spans
        repeated = self._repeats.get(normalise(one.content)) if one else None
        named = [self._known.get(id) for id in (*one.reinforces, *one.contradicts)] if one else []
        for entry in (repeated, *named):
            if entry is not None:
                values |= _values(entry.text)
                spans |= meant(entry.text, entry.created.date() if entry.created else entry.scored)
                spans |= {(entry.expires.toordinal(),) * 2} if entry.expires else set()
        every = (value for place in range(len(self._turns)) for value in self._of_turn(place).values)
        return _Sources(frozenset(values | set(filter(_is_telling, every))), frozenset(spans))

    def _near(self, places: Iterable[int], width: int = 1) -> list[int]:
        """Return these indexes and those up to `width` beside them."""
        last = len(self._turns)
        return sorted({each + by for each in places for by in range(-width, width + 1) if 0 <= each + by < last})

    def _words(self, places: Iterable[int]) -> frozenset[str]:
        return frozenset().union(*(self._of_turn(place).words for place in places))

    def _speakers(self, places: Iterable[int]) -> list[str]:
        """Return the speakers' names; the name of a role does not count."""
        return [turn.speaker for place in places if (turn := self._turns[place]).speaker not in ("", turn.role)]

    def _said_on(self, place: int) -> Span:
        """Return the day of a turn as a span; day 0 if unknown."""
        time = self._turns[place].time or self._now
        day = time.astimezone(self._zone).date().toordinal() if time is not None else 0
        return day, day

    def _read(self, place: int) -> _Read:
        turn, (day, _) = self._turns[place], self._said_on(place)
        spans = meant(turn.text, date.fromordinal(day)) if day else _full_dates(turn.text)
        return _Read(
            forms(turn.text),
            frozenset(_values(turn.text)),
            frozenset(spans),
            "suspect" if screen(turn.text) else trust_of([turn]),
        )


# --- words -----------------------------------------------------------------------------------------


def _join(units: Iterable[Unit]) -> str:
    """Join up to five words for a message."""
    return ", ".join(dict.fromkeys(unit[0] for unit in list(units)[:5]))


def _without(text: str, names: Iterable[str]) -> str:
    """Return a text without these names and any other name in it."""
    for name in sorted({*names, *names_in(text, ())}, key=len, reverse=True):
        if name:
            text = text.replace(name, " ")
    return text


def _sentences(text: str) -> list[str]:
    """Return the sentences of a text, and its lines if it has no prose, like code and output."""
    found = [text[sentence.start : sentence.end] for sentence in sentences(text)]
    if not found or not prose(text).strip():
        found += [line.strip() for line in text.splitlines() if re.search(r"\w", line)]
    return found


# --- numbers and days --------------------------------------------------------------------------------


def _numbers(text: str) -> list[Figure]:
    """Return the numbers of a text that are not part of a date."""
    dates = [(one.start, one.end) for one in named(text)]
    return [one for one in figures(text) if one.sure and not any(start <= one.start < end for start, end in dates)]


def _neighbouring(one: Figure, text: str) -> list[str]:
    """Return the characters right before and after a number: 千字 360."""
    return [side for side in (squeezed(text[: one.start])[-2:], squeezed(text[one.end :])[:3]) if len(side) > 1]


def _is_telling(value: float) -> bool:
    """Return whether a number is unlikely to recur by chance, so that any turn may be its source."""
    return value >= 100 or value != int(value)


def _full_dates(text: str) -> set[Span]:
    """Return the full dates in a text, as spans."""
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
    """Return all possible values of the numbers in a text, without dates; hours in 12 and 24 hour notation."""
    dates = [(one.start, one.end) for one in named(text)]
    found = {
        value
        for one in figures(text)
        if not any(start <= one.start < end for start, end in dates)
        for value in one.values
    }
    hours = compiled(r"(\d{1,2})\s*(?:点|时(?!间)|[ap]\.?m\b)").findall(text.lower())
    found.update(float(hour) + 12 for hour in hours if int(hour) <= 12)
    for word in compiled(_HALF_HOUR).findall(text.lower()):  # half nine
        found |= {value for one in figures(word) for value in one.values}
    found.update(value for pattern, value in _HALVES if compiled(pattern).search(text))
    for whole, part in compiled("([零一二两三四五六七八九十百]+)[点个](半|[零一二三四五六七八九]+)").findall(text):
        found.add((han_number(whole) or 0) + (0.5 if part == "半" else float(f"0.{int(han_number(part) or 0)}")))
    return found | {(han_number(tenths) or 0) * 10 for tenths in compiled("([一二三四五六七八九])成").findall(text)}


_HALF_HOUR = r"\bhalf (one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d{1,2})\b"
_HALVES = (
    (rf"(?i)[点时]半|\bhalf\s+past\b|{_HALF_HOUR}|半个?(?:小时|钟头)|\bhalf\s+an\s+hour\b", 30.0),
    (r"(?i)半年|\bhalf\s+a\s+year\b", 6.0),
    (r"(?i)一刻|\bquarter\s+(?:past|of\s+an\s+hour)\b", 15.0),
    (r"(?i)半|\bhalf\b", 0.5),
    (r"俩", 2.0),
    (r"仨", 3.0),
)
"""Numbers that are said in words such as half."""


def _unfounded_date(content: str, sources: _Sources) -> str | None:
    """Return the first date of a text that nobody can have meant, or None."""
    for one in named(content):
        if not among(one, sources.spans) and not _as_numbers(one, sources.values):
            return f"the date {content[one.start : one.end].rstrip(' .,')!r}"
    return None


def _as_numbers(one: Named, values: frozenset[float]) -> bool:
    """Return whether a date with only a year or day may be a number that was said."""
    parts = [part for part in (one.year, one.month, one.day) if part is not None]
    return len(parts) == 1 and one.month is None and float(parts[0]) in values


def _unfounded_number(content: str, sources: _Sources) -> str | None:
    """Return the first number of a text that nobody said, or None."""
    dates = [(one.start, one.end) for one in named(content)]
    for one in figures(content):
        dated = any(start <= one.start < end for start, end in dates)
        if one.sure and not dated and not _was_said(one, sources) and not _counts_list(one, content):
            return f"the number {one.text!r}"
    return None


def _was_said(one: Figure, sources: _Sources) -> bool:
    """Return whether a number was said: any of its values, or each part of a clock time or version."""
    if compiled(r"\d+[:：.]\d").search(one.text) and not one.values & sources.values:
        parts = [float(part) for part in re.split("[:：.]", one.text)]
        return all(part == 0 or {part, part - 12, part + 12} & sources.values for part in parts)
    return bool(one.values & sources.values) or any(value in (0.0, 1.0) for value in one.values)


def _counts_list(one: Figure, content: str) -> bool:
    """Return whether a small number counts what the text lists after it: three people: Ada, Bob and Cyd."""
    found = compiled(r"[^。.!！?？]*?[:：（(—](?P<list>[^。.!！?？）)]*)").match(content, one.end)
    if found is None:
        return False
    count = len(compiled(r"[、，,;；和与及&]|\band\b").split(found["list"]))
    return any(2 <= value <= count <= value + 1 for value in one.values)


def _may_be_meant(day: date, one: Candidate, sources: _Sources) -> bool:
    """Return whether an expiry day may have been meant: the sources have its month, or the candidate such a date."""
    if among(Named(None, day.month, None, 0, 0), sources.spans):
        return True
    return any(
        (found.month, found.day) in ((day.month, day.day), (day.month, None), (None, day.day))
        for found in named(one.content)
    )


# --- polarity ---------------------------------------------------------------------------------------


class Clause(NamedTuple):
    """The affirmed and the denied words of a clause."""

    affirmed: frozenset[str]
    denied: frozenset[str]


def contrary(text: str, sources: Iterable[str], *, subject: str = "") -> str | None:
    """Return a word that a text affirms and its sources only deny, or the other way round; None if there is none.

    What a text denies counts only against a source clause that it mostly repeats, or that has all it denies, since
    denials are often inferred (韵达丢了我三单, so 不发韵达) and affirmations hardly ever. Words of `subject`, who it
    is about, are ignored.
    """
    own, said = polar_clauses(text), [clause for source in sources for clause in polar_clauses(source)]
    affirmed = frozenset().union(*(one.affirmed for one in said))
    denied = frozenset().union(*(one.denied for one in said))
    left = frozenset(_words(subject.lower()))
    mine = frozenset().union(*(one.affirmed | one.denied for one in own)) - left
    turned = frozenset().union(*(one.affirmed for one in own if not one.denied)) & (denied - affirmed)
    refused = frozenset().union(*(one.denied for one in own if not one.denied & denied))
    refused -= frozenset().union(*(one.affirmed for one in own))
    whole = [one.denied for one in own if len(one.denied) > 1]
    for one in said:
        plain = one.affirmed - left
        if not one.denied and (2 * len(plain & mine) >= len(plain) > 0 or any(denial <= plain for denial in whole)):
            turned |= refused & plain
    return min(turned - left, key=lambda word: (text.lower().find(word), word), default=None)


@lru_cache(maxsize=20_000)
def polar_clauses(text: str) -> tuple[Clause, ...]:
    """Return the clauses of a text that affirm or deny something, in order."""
    text = compiled(_NAMES).sub(lambda found: found[0].translate(_HIDING), text.lower())
    for pattern, mark in _MARKS:
        text = compiled(pattern).sub(mark, text)
    return tuple(_clause(part) for part in text.split(_END) if _OPEN not in part and compiled(r"\w").search(part))


def _clause(text: str) -> Clause:
    affirmed: set[str] = set()
    denied: set[str] = set()
    topic: set[str] = set()
    denies = False
    for mark, part in compiled(f"([{_NOT}{_UNDO}{_LAST}]?)([^{_NOT}{_UNDO}{_LAST}]*)").findall(text):
        denies = not denies if mark == _UNDO else denies or bool(mark)
        if mark == _LAST:
            denied |= topic
            affirmed -= topic
        (denied if denies else affirmed).update(_words(part))
        topic = _words(compiled("[了过]").split(part)[-1])
    return Clause(frozenset(affirmed), frozenset(denied))


def _words(text: str) -> set[str]:
    """Return stems of Latin words, and pairs of Chinese characters."""
    spoken = [word for word in compiled(_LATIN).findall(text) if not word.isdigit() and not is_stop_word(word)]
    telling = (word for word in spoken if len(word) > 1 and word not in _EMPTY and word not in WORDS)
    found = {query_words(word)[0].rstrip("i") for word in telling}  # allergy, allergic
    for run in compiled("(?:(?![的我你您他她它们])[\u3400-\u9fff])+").findall(text):
        found.update(one + other for one, other in pairwise(run))
    return found


_EMPTY = frozenset("now then before after here there".split())
_LATIN = r"[a-z0-9](?:[\w+#./-]*[\w+#])?"
_NOT, _UNDO, _LAST, _OPEN, _END = "\ue000\ue001\ue002\ue003\ue004"
_HIDING = str.maketrans("不没无别未", "□□□□□")
_NAMES = r"[「『《“\"][^「」『』《》“”\"]{1,20}[」』》”\"]"
_DONE = rf"\s*(?=\(|$|{_END})"
_NO = r"不(?:要|能|许|准|用|再|可以?|该|让|给)?|没|(?<![特分个区类级性差告])别(?![的人处墅名样致])|勿"
_MARKS: tuple[tuple[str, str], ...] = (
    (
        r"\b(?:only|except|unless|until|till|nothing but|no (?:more|later|less) than|at (?:most|least))\b"
        r"|只(?!身)|仅|除[了非]?|才|最多|以外|之外",
        _OPEN,
    ),
    (r"\b(?:instead of|rather than)\b|而不是", _END + _OPEN),
    (r"从[\u3400-\u9fffa-z0-9 ]{1,12}?(?=[换改转])|\bfrom [^,.;]{1,40}? (?=to\b)", _END),
    (
        r"[。！？!?；;–—()（）|\n…]|[:：](?!\s*(?:never|no|not|不|别)\b)|\.(?=\s|$)|\s-\s"
        r"|\b(?:but|because|although|though|while|which|who)\b"
        r"|且|但是?|而(?!是)|因为?|所以|(?<![以之今往最])后(?![天来])",
        _END,
    ),
    (rf",(?![^,;.{_END}]{{1,30}}\b(?:or|nor)\b)|，", _END),
    (
        r"不(?:错|仅|但|管|论|少|断|久|止|同|变|可或缺|得不)|(?<![\u3400-\u9fff])不过|无(?:论|线|锡)|未来|没收|没有?忘"
        r"|([\u3400-\u9fff])不\1|不是(?:说)?不|不能不|没有不|(?:不要|别|勿|不能|不许)[让叫使]?[我你他她它]?忘[了记掉]?"
        r"|\b(?:can['’]?t|cannot) wait\b|\bnot without\b|\b(?:don['’]?t|do not|never|not)\s+(?:ever\s+)?forget\b",
        " ",
    ),
    (r"(?<=[有养])[一两三几]\s?[只条头辆台个套张把](?=[\u3400-\u9fff])", ""),
    (r"没(?!有)(?=[\u3400-\u9fff][了吧啊呢]*(?:\W|$))", "没有"),
    (
        r"((?![日天晚早午])[\u3400-\u9fff])不([住动到起下完好开上出来清见着过])(?<!过(?=敏|分|瘾))",
        rf"{_NOT}\1得\2{_END}",
    ),
    (
        r"\b(?:left alone|never again|no more|no way|no thanks|(?:mean|do)(?:s|es)? nothing)\b"
        rf"|(?:\b(?:is|are|was)|['’]s) (?:over|out|off|done|gone|history){_DONE}"
        rf"|(?:取消|作废|戒|停[了止用掉做更订打吃喝练]?|退[了掉出])[了吧啊呢的吗]*{_DONE}"
        rf"|(?:{_NO})(?=[\u3400-\u9fff]?[了的吧啊呢吗过着]*{_DONE})",
        _LAST,
    ),
    (
        r"\b(?:without|forg[eo]t\w*|avoid\w*|stop(?:s|ped|ping)?(?= +[a-z])|quit(?:s|ting)?|refus\w+|cancel\w*"
        r"|forb[ia]d\w*|prohibit\w*"
        r"|(?:gave|giv\w+) up|pack(?:s|ed|ing)? in|free of|(?:can['’]?t|cannot) stand|dislik\w+|hat(?:e|es|ed))\b"
        r"|忘了?|戒[了掉]?|避[开免]|拒绝|禁止",
        _UNDO,
    ),
    (
        r"\b(?:no longer|not|no|never|none|neither|nor|cannot|nobody|nothing|unable|lacks?|lacked)\b|\b\w+n['’]t\b"
        rf"|{_NO}|无[法需意权]|未|停[了止用掉做更订打吃喝练]|取消|作废",
        _NOT,
    ),
)
"""Marks of what is left open, of the end of a clause, of what only looks like a denial, and of the kinds of denials."""
