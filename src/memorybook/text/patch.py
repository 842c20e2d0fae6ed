"""What differs between two texts, small enough to be kept for every change: hunks of lines.

A patch leads from either text to the other byte for byte. Only lines that differ are in it, with one line of
context around each hunk, so that it can still be taken back when other parts of the text changed since.
"""

from __future__ import annotations

import json
import zlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple

Lines = tuple[str, ...]


class Hunk(NamedTuple):
    """One place where two texts differ.

    Attributes:
        start: Index of its first line in the text before.
        old, new: The lines there before and after; either may be empty.
        above, below: The lines around it, the same in both texts; None at an end of the text.
    """

    start: int
    old: Lines
    new: Lines
    above: str | None
    below: str | None


def fingerprint(text: str | None) -> str | None:
    """A digest of the text, 128 bits in hex; None for no text."""
    return None if text is None else sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def diff(before: str | None, after: str | None) -> list[Hunk]:
    """The hunks that make `after` of `before`, in order; no text counts as the empty one."""
    old, new = _lines(before), _lines(after)
    hunks = []
    for start, end, other, other_end in _differences(old, new):
        above = old[start - 1] if start else None
        below = old[end] if end < len(old) else None
        hunks.append(Hunk(start, tuple(old[start:end]), tuple(new[other:other_end]), above, below))
    return hunks


def appended(before: str | None, lines: Sequence[str]) -> tuple[str, list[Hunk]]:
    """The text with these lines at its end, a torn last line ended first, and the hunks that make it: `diff`, quick."""
    start = before.count("\n") if before else 0
    torn = bool(before) and not (before or "").endswith("\n")
    text = (before or "") + "\n" * torn + "".join([f"{line}\n" for line in lines])
    above = None if not before else before.removesuffix("\n").rpartition("\n")[2]
    if torn:
        return text, [Hunk(start + 1, (), (*lines, ""), above, None)]
    return text, [Hunk(start, (), tuple(lines), above, "")]


def forward(hunks: Sequence[Hunk], before: str | None) -> str:
    """The text after, from exactly the text before."""
    lines = _lines(before)
    for hunk in reversed(hunks):
        lines[hunk.start : hunk.start + len(hunk.old)] = hunk.new
    return "\n".join(lines)


def backward(hunks: Sequence[Hunk], after: str | None) -> str:
    """The text before, from exactly the text after."""
    lines = _lines(after)
    for hunk in hunks:
        lines[hunk.start : hunk.start + len(hunk.new)] = hunk.old
    return "\n".join(lines)


def taken_back(hunks: Sequence[Hunk], text: str) -> str | None:
    """A text that changed elsewhere since, without these changes; None if one of them no longer stands as it was.

    A line that was taken out comes back where its neighbours stand, or at the end.
    """
    lines = text.split("\n")
    for hunk in reversed(hunks):
        place = _place(hunk, lines)
        if place is None:
            return None
        lines[place : place + len(hunk.new)] = hunk.old
    return "\n".join(lines)


def pack(hunks: Sequence[Hunk]) -> bytes:
    """The hunks as bytes."""
    return zlib.compress(json.dumps(hunks, separators=(",", ":")).encode(), 1)


def unpack(packed: bytes) -> list[Hunk]:
    """The hunks in these bytes."""
    return [
        Hunk(start, tuple(old), tuple(new), above, below)
        for start, old, new, above, below in json.loads(zlib.decompress(packed))
    ]


def _lines(text: str | None) -> list[str]:
    return (text or "").split("\n")


def _place(hunk: Hunk, lines: Sequence[str]) -> int | None:
    """Where the hunk's new lines stand now: with the same around them if there is such a place, then nearest to before.

    None if they do not stand anywhere.
    """
    above = [] if hunk.above is None else [hunk.above]
    below = [] if hunk.below is None else [hunk.below]
    for before, after in ((above, below), (above, []), ([], below), ([], [])):
        wanted = [*before, *hunk.new, *after]
        found = [place + len(before) for place in _occurrences(wanted, lines)] if wanted else []
        if found:
            return min(found, key=lambda place: abs(place - hunk.start))
    if hunk.new:
        return None
    return len(lines) - 1 if lines and not lines[-1] else len(lines)


def _occurrences(wanted: list[str], lines: Sequence[str]) -> Iterator[int]:
    for place, line in enumerate(lines):
        if line == wanted[0] and list(lines[place : place + len(wanted)]) == wanted:
            yield place


def _differences(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Spans (start, end) of `old` and (start, end) of `new` that differ; what lies between them is equal."""
    here = there = 0
    for place, other in [*_anchors(old, new), (len(old), len(new))]:
        if place < here or other < there:
            continue
        while here < place and there < other and old[here] == new[there]:
            here, there = here + 1, there + 1
        end, other_end = place, other
        while end > here and other_end > there and old[end - 1] == new[other_end - 1]:
            end, other_end = end - 1, other_end - 1
        if end > here or other_end > there:
            yield here, end, there, other_end
        here, there = place, other


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Lines that stand once in either text, in the longest order that both share: patience diff."""
    start, most = 0, min(len(old), len(new))
    while start < most and old[start] == new[start]:
        start += 1
    tail = 0
    while tail < most - start and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    ours, theirs = old[start : len(old) - tail], new[start : len(new) - tail]
    once = Counter(theirs)
    places = {line: place for place, line in enumerate(theirs, start) if once[line] == 1}
    counts = Counter(ours)
    pairs = [(p, places[line]) for p, line in enumerate(ours, start) if counts[line] == 1 and line in places]
    return [*_rising(pairs)]


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs, in order, whose second numbers rise."""
    tops: list[int] = []
    piles: list[int] = []
    before: list[int] = []
    for number, (_, other) in enumerate(pairs):
        pile = bisect_left(tops, other)
        before.append(piles[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [other]
        piles[pile : pile + 1] = [number]
    chosen = []
    at = piles[-1] if piles else -1
    while at >= 0:
        chosen.append(pairs[at])
        at = before[at]
    return chosen[::-1]
