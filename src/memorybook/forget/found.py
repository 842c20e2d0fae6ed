"""What says a statement, as values: entries, lines, spans of turns, and what stays beside them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memorybook.text.utterances import says_something

if TYPE_CHECKING:
    from memorybook.model import Entry, Turn

TurnKey = tuple[str, str]
"""Session and id of a turn."""

Place = str | tuple[str, str]
"""Id of an entry, or path and line."""


def turn_ids(source: str | None) -> list[str]:
    """The turns that an entry rests on, by its source."""
    return re.findall(r"turn:([^\s,;]+)", source or "")


class Found(NamedTuple):
    """What says a statement.

    Attributes:
        entries: Entries; of those in `left` what goes of them.
        left: What stays of entries and lines that say something else, too, by id or (path, line).
        notes: Notes, and lines that a person wrote, as (path, line).
        cuts: Spans to cut by turn.
        turns: The turns of `cuts`.
        texts: What is said in all of these, a text each.
        values: Names and identifiers that nothing but these has.
        told: What the entries and notes say.
        pages: What summaries alone say, as (path, sentence).
        rare: Words that nothing but these has.
        named: Words of the topic by which it was found.
    """

    entries: tuple[Entry, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    cuts: Mapping[TurnKey, tuple[tuple[int, int], ...]] = {}
    turns: Mapping[TurnKey, Turn] = {}
    texts: tuple[str, ...] = ()
    values: frozenset[str] = frozenset()
    told: tuple[str, ...] = ()
    pages: tuple[tuple[str, str], ...] = ()
    rare: frozenset[str] = frozenset()
    left: Mapping[Place, str] = {}
    named: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.entries or self.notes or self.cuts or self.pages)

    @property
    def memories(self) -> int:
        """How many memories go: entries, notes, and statements of turns that no entry of these rests on."""
        rested = {id for entry in self.entries for id in turn_ids(entry.source)}
        others = [spans for (_, turn), spans in self.cuts.items() if turn not in rested]
        return len(self.entries) + len(self.notes) + sum(len(list(runs(spans))) for spans in others)


def runs(spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Spans that touch, as one."""
    start = end = -1
    for first, last in sorted(spans):
        if first > end >= 0:
            yield start, end
            start = first
        elif end < 0:
            start = first
        end = max(end, last)
    if end >= 0:
        yield start, end


def together(parts: Iterable[Found]) -> Found:
    """All of them as one, everything once."""
    entries: dict[str, Entry] = {}
    lines: Counter[tuple[str, str]] = Counter()
    pages: dict[tuple[str, str], None] = {}
    cuts: dict[TurnKey, dict[tuple[int, int], None]] = {}
    turns: dict[TurnKey, Turn] = {}
    texts: dict[str, None] = {}
    told: dict[str, None] = {}
    left: dict[Place, str] = {}
    values = rare = named = frozenset[str]()
    for part in parts:
        for line in part.notes:
            if line in lines and line not in part.left:
                left.pop(line, None)
        for entry in part.entries:
            stays = part.left.get(entry.id, "")
            if entry.id in left:  # both leave something of it, or one takes it whole
                stays = stays and left.pop(entry.id).replace(entry.text, "").strip()
            if entry.id not in entries or left.get(entry.id) != stays:
                entries[entry.id] = entry
            left |= {entry.id: stays} if says_something(stays) else {}
        lines |= Counter(part.notes)
        left |= {place: stays for place, stays in part.left.items() if place not in left and not isinstance(place, str)}
        pages |= dict.fromkeys(part.pages)
        for key, spans in part.cuts.items():
            cuts.setdefault(key, {}).update(dict.fromkeys(spans))
        turns |= part.turns
        texts |= dict.fromkeys(part.texts)
        told |= dict.fromkeys(part.told)
        values |= part.values
        rare |= part.rare
        named |= part.named
    spans_of = {key: tuple(sorted(spans)) for key, spans in cuts.items()}
    notes_of = tuple(lines.elements())
    return Found(
        tuple(entries.values()),
        notes_of,
        spans_of,
        turns,
        tuple(texts),
        values,
        tuple(told),
        tuple(pages),
        rare,
        left,
        named,
    )
