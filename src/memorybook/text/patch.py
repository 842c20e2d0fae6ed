"""What differs between two texts, small enough to be kept for every change: hunks of lines.

A patch leads from either text to the other byte for byte. Only lines that differ are in it, with one line of
context around each hunk, so that it can still be taken back when other parts of the text changed since.
"""

from __future__ import annotations

import json
import re
import zlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from memorybook.errors import InvalidInput

Lines = tuple[str, ...]

_TELLING = 8  # characters in which a line that was edited is still told from others


class Hunk(NamedTuple):
    """One difference: index of its first old line, old and new lines, the equal lines around it (None at an end)."""

    start: int
    old: Lines
    new: Lines
    above: str | None
    below: str | None


def fingerprint(text: str | None) -> str | None:
    """Return a digest of the text, 128 bits in hex; None for no text."""
    return None if text is None else sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def diff(before: str | None, after: str | None) -> list[Hunk]:
    """Return the hunks that make `after` of `before`, in order; no text counts as the empty one."""
    old, new = _lines(before), _lines(after)
    spans: list[tuple[int, int, int, int]] = []
    for start, end, other, other_end in _differences(old, new):
        if spans and (spans[-1][1], spans[-1][3]) == (start, other):  # they touch
            start, _, other, _ = spans.pop()
        spans.append((start, end, other, other_end))
    hunks = []
    for start, end, other, other_end in spans:
        above = old[start - 1] if start else None
        below = old[end] if end < len(old) else None
        hunks.append(Hunk(start, tuple(old[start:end]), tuple(new[other:other_end]), above, below))
    return hunks


def appended(before: str | None, lines: Sequence[str]) -> tuple[str, list[Hunk]]:
    """Append lines, ending a torn last line first; return the text and its hunks. As `diff`, but quick."""
    start = before.count("\n") if before else 0
    torn = bool(before) and not (before or "").endswith("\n")
    text = (before or "") + "\n" * torn + "".join([f"{line}\n" for line in lines])
    above = None if not before else before.removesuffix("\n").rpartition("\n")[2]
    if torn:
        return text, [Hunk(start + 1, (), (*lines, ""), above, None)]
    return text, [Hunk(start, (), tuple(lines), above, "")]


def forward(hunks: Sequence[Hunk], before: str | None) -> str:
    """Return the text after, from exactly the text before."""
    lines = _lines(before)
    for hunk in reversed(hunks):
        lines[hunk.start : hunk.start + len(hunk.old)] = hunk.new
    return "\n".join(lines)


def backward(hunks: Sequence[Hunk], after: str | None) -> str:
    """Return the text before, from exactly the text after."""
    lines = _lines(after)
    for hunk in hunks:
        lines[hunk.start : hunk.start + len(hunk.new)] = hunk.old
    return "\n".join(lines)


def taken_back(hunks: Sequence[Hunk], text: str) -> str | None:
    """Undo these changes in a text that changed elsewhere since; None if one no longer stands as it was."""
    lines = text.split("\n")
    for hunk in reversed(hunks):
        place = _place(hunk, lines)
        if place is None:
            return None
        lines[place : place + len(hunk.new)] = hunk.old
    return "\n".join(lines)


def pack(hunks: Sequence[Hunk]) -> bytes:
    """Return the hunks as bytes."""
    return zlib.compress(json.dumps(hunks, separators=(",", ":")).encode(), 1)


def unpack(packed: bytes) -> list[Hunk]:
    """Return the hunks in these bytes."""
    return [
        Hunk(start, tuple(old), tuple(new), above, below)
        for start, old, new, above, below in json.loads(zlib.decompress(packed))
    ]


def _lines(text: str | None) -> list[str]:
    return (text or "").split("\n")


def _place(hunk: Hunk, lines: Sequence[str]) -> int | None:
    """Find where the hunk's new lines stand now, by their neighbours, then nearest to before; None if nowhere."""
    above = [] if hunk.above is None else [hunk.above]
    below = [] if hunk.below is None else [hunk.below]
    for before, after in ((above, below), (above, []), ([], below), ([], [])):
        wanted = [*before, *hunk.new, *after]
        found = [
            place + len(before)
            for place, line in enumerate(lines)
            if wanted and line == wanted[0] and list(lines[place : place + len(wanted)]) == wanted
        ]
        if found:
            return min(found, key=lambda place: abs(place - hunk.start))
    if hunk.new:
        return None
    return len(lines) - 1 if lines and not lines[-1] else len(lines)


def _differences(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Yield spans (start, end) of `old` and (start, end) of `new` that differ; what lies between them is equal."""
    here, end, other_end = 0, len(old), len(new)
    while end and other_end and old[end - 1] == new[other_end - 1]:
        end, other_end = end - 1, other_end - 1
    while here < min(end, other_end):
        first, second = old[here], new[here]
        if first != second:
            if len(first) < _TELLING or first[:_TELLING] != second[:_TELLING]:
                break
            yield here, here + 1, here, here + 1  # likely one line before and after an edit: a header, a title
        here += 1
    there = here
    ours, theirs = old[here:end], new[here:other_end]
    counts, once = Counter(ours), Counter(theirs)  # patience diff: lines that stand once in either span
    places = {line: other for other, line in enumerate(theirs, here) if once[line] == 1}
    pairs = [(place, places[line]) for place, line in enumerate(ours, here) if counts[line] == 1 and line in places]
    for place, other in [*_rising(pairs), (end, other_end)]:
        last, other_last = place, other
        while here < last and there < other_last and old[here] == new[there]:
            here, there = here + 1, there + 1
        while last > here and other_last > there and old[last - 1] == new[other_last - 1]:
            last, other_last = last - 1, other_last - 1
        if last > here or other_last > there:
            yield here, last, there, other_last
        here, there = place, other


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest run of pairs, in order, whose second numbers rise."""
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


MOST_LINES = 999_999
_WIDTH = len(str(MOST_LINES))


def numbered(text: str, lines: Sequence[int] = (1, -1)) -> str:
    """Return lines of a text with their numbers: from the first to the last of `lines`, -1 for the end of the text."""
    first, last = max(1, lines[0]), lines[1]
    shown = text.split("\n")[first - 1 : None if last == -1 else last]
    return "\n".join(f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(shown, first))


def replaced(text: str, old: str, new: str, *, path: str) -> tuple[str, int]:
    """Replace what stands once in the text; return it with the number of the line. Raises InvalidInput otherwise."""
    lines = [text.count("\n", 0, found.start()) + 1 for found in re.finditer(f"(?={re.escape(old)})", text)]
    if not lines:
        raise InvalidInput(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
    if text.count(old) > 1:
        raise InvalidInput(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
            f"{', '.join(map(str, lines))}. Please ensure it is unique"
        )
    return text.replace(old, new), lines[0]


def inserted(text: str, line: int, new: str) -> str:
    """Return the text with a new line after that many of its lines. Raises InvalidInput if it has fewer."""
    lines = text.removesuffix("\n").split("\n") if text else []
    if not 0 <= line <= len(lines):
        raise InvalidInput(f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}].")
    text = "\n".join([*lines[:line], new.rstrip("\n"), *lines[line:]])
    return text if text.endswith("\n") else f"{text}\n"


def listing(files: Mapping[str, int], *, levels: int = 2) -> Iterator[tuple[str, str]]:
    """Yield size and place of a folder and of all in it, `levels` deep: `""`, `/file`, `/folder/`."""
    found: dict[tuple[str, ...], int] = {(): 0}
    for name, size in files.items():
        parts = tuple(name.split("/"))
        for depth in range(len(parts) + 1):
            found[parts[:depth]] = found.get(parts[:depth], 0) + size
    for place in sorted(found):
        if len(place) <= levels:
            name = "/".join(place)
            yield size_of(found[place]), f"/{name}" * bool(place) + "/" * (bool(place) and name not in files)


def size_of(count: int) -> str:
    """Return bytes in a few characters: `0B`, `1.5K`, `3M`."""
    power = min(max(count.bit_length() - 1, 0) // 10, 3)
    size = count / 1024**power
    return f"{size:.0f}{'BKMG'[power]}" if size == int(size) else f"{size:.1f}{'BKMG'[power]}"
