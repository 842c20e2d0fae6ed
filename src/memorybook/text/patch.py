"""Patches between two texts, small enough to be stored for every change; and three-way merges.

A patch turns either text into the other byte for byte. It has only the lines that differ, with one line of
context around each hunk, so that it can still be reverted when other parts of the text changed since.

A merge has no conflict marks. A line that either side removed stays out, a line that either side
added is in, and if both rewrote the same lines both versions are in, "theirs" (the person's)
before "ours". Entries of `MEMORY.md` are merged whole, by their id, so that an entry is never torn,
and one that was moved and edited is there once.
"""

from __future__ import annotations

import json
import re
import zlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from hashlib import sha256
from typing import Generic, NamedTuple, TypeVar

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


def listing(files: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield size and place of a folder and of all in it, two levels deep: `""`, `/file`, `/folder/`."""
    found: dict[tuple[str, ...], int] = {(): 0}
    for name, size in files.items():
        parts = tuple(name.split("/"))
        for depth in range(len(parts) + 1):
            found[parts[:depth]] = found.get(parts[:depth], 0) + size
    for place in sorted(found):
        if len(place) <= 2:
            name = "/".join(place)
            yield size_of(found[place]), f"/{name}" * bool(place) + "/" * (bool(place) and name not in files)


def size_of(count: int) -> str:
    """Return bytes in a few characters: `0B`, `1.5K`, `3M`."""
    power = min(max(count.bit_length() - 1, 0) // 10, 3)
    size = count / 1024**power
    return f"{size:.0f}{'BKMG'[power]}" if size == int(size) else f"{size:.1f}{'BKMG'[power]}"


# --- merging: what two people made of the same text, in one text ---------------------------------


Token = TypeVar("Token", bound=Hashable)

_ENTRY = re.compile(r"###[ \t]+\[([^\]\s]+)\]")
_HEADING = re.compile(r"#{1,6}[ \t]")
_EXACT_UP_TO = 4000  # lines in both; above it difflib may pass over lines that occur everywhere


def merge_text(base: str, ours: str, theirs: str) -> str:
    """Merge the changes that `ours` and `theirs` each made to `base`.

    Laws: `merge_text(b, b, t) == t`, `merge_text(b, o, b) == o`, `merge_text(b, x, x) == x`. Line ends are `theirs`'.
    An entry that `theirs` removed stays out; one that `theirs` changed outlives a removal by `ours`. Where both changed
    an entry, `theirs` wins title and comment lines; where both rewrote a line of its text, both copies stand.
    """
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    lines = _merge_pieces(_Pieces(base), _Pieces(ours), _Pieces(theirs))
    end = "\r\n" if _is_crlf(theirs) else "\n"
    ended = lines and (theirs.endswith("\n") or ours.endswith("\n"))
    return end.join(lines) + (end if ended else "")


def merge(base: Sequence[Token], ours: Sequence[Token], theirs: Sequence[Token]) -> list[Token]:
    """Merge sequences as `merge_text` does: kept is what neither took out, added what either put in."""
    our, their = _edits(base, ours), _edits(base, theirs)
    merged: list[Token] = []
    for place in range(len(base) + 1):
        merged += union(their.added.get(place, []), our.added.get(place, []))
        if place < len(base) and place not in our.removed and place not in their.removed:
            merged.append(base[place])
    return merged


def union(first: Sequence[Token], second: Sequence[Token]) -> list[Token]:
    """Return both sequences as one, what they share once; where they differ, `first` comes first."""
    if not first or not second:
        return [*first, *second]
    merged: list[Token] = []
    for tag, start, end, other, other_end in _opcodes(first, second):
        merged += first[start:end]
        if tag != "equal":
            merged += second[other:other_end]
    return merged


class _Edits(NamedTuple, Generic[Token]):
    """A sequence as an edit of another: positions taken out, and what was put in before a position."""

    removed: frozenset[int]
    added: dict[int, list[Token]]


def _edits(base: Sequence[Token], changed: Sequence[Token]) -> _Edits[Token]:
    removed: set[int] = set()
    added: dict[int, list[Token]] = {}
    for tag, start, end, other, other_end in _opcodes(base, changed):
        if tag != "equal":
            removed.update(range(start, end))
            added[start] = list(changed[other:other_end])
    return _Edits(frozenset(removed), added)


def _opcodes(first: Sequence[Token], second: Sequence[Token]) -> list[tuple[str, int, int, int, int]]:
    exact = len(first) + len(second) <= _EXACT_UP_TO
    return list(SequenceMatcher(None, first, second, autojunk=not exact).get_opcodes())


# --- texts as pieces: plain lines, and entries as wholes -----------------------------------------

_Key = tuple[str, int]  # an entry's id, and which of several with that id
_Lines = tuple[str, ...]


class _Pieces:
    """A text as a sequence of plain lines (str) and entries (their keys), with the entries' lines."""

    def __init__(self, text: str) -> None:
        self.order: list[str | _Key] = []
        self.entries: dict[_Key, _Lines] = {}
        entry: list[str] | None = None
        lines = text.removesuffix("\n").split("\n") if text else []
        crlf = _is_crlf(text)
        for line in [*(line.removesuffix("\r") if crlf else line for line in lines), None]:
            if entry is not None and (line is None or _HEADING.match(line)):
                blank = 0
                while not entry[-1].strip():
                    entry.pop()
                    blank += 1
                found = _ENTRY.match(entry[0])
                name = found[1] if found else entry[0]
                key = (name, sum(other == name for other, _ in self.entries))
                self.entries[key] = tuple(entry)
                self.order += [key, *[""] * blank]
                entry = None
            if line is not None and entry is None and _ENTRY.match(line):
                entry = [line]
            elif line is not None:
                (self.order if entry is None else entry).append(line)


def _is_crlf(text: str) -> bool:
    return text.count("\r\n") * 2 > text.count("\n")


def _merge_pieces(base: _Pieces, ours: _Pieces, theirs: _Pieces) -> list[str]:
    gone = {
        key
        for key, before in base.entries.items()
        if key not in theirs.entries or (key not in ours.entries and theirs.entries[key] == before)
    }
    kept_by_theirs = {key for key in base.entries if key not in ours.entries and key not in gone}
    # What theirs changed and ours removed becomes another token, so that it survives as an addition.
    their_order = [(*piece, "") if piece in kept_by_theirs else piece for piece in theirs.order]
    merged: list[str] = []
    shown: set[_Key] = set()
    for piece in merge(list[Hashable](base.order), list[Hashable](ours.order), list[Hashable](their_order)):
        if isinstance(piece, str):
            merged.append(piece)
            continue
        assert isinstance(piece, tuple)
        key = (piece[0], piece[1])
        if key not in shown and key not in gone:
            merged += _merge_entry(base.entries.get(key), ours.entries.get(key), theirs.entries.get(key))
        shown.add(key)
    return merged


def _merge_entry(base: _Lines | None, ours: _Lines | None, theirs: _Lines | None) -> _Lines:
    if ours is None or theirs is None:
        return ours or theirs or ()
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    if base is None:
        return theirs + ours

    def parts(entry: _Lines) -> tuple[str, _Lines, _Lines]:
        title, *text = entry
        end = len(text) - bool(text and text[-1].startswith("<!--"))
        return title, tuple(text[:end]), tuple(text[end:])

    title, text, comment = parts(base)
    our_title, our_text, our_comment = parts(ours)
    their_title, their_text, their_comment = parts(theirs)
    if _edits(text, our_text).removed & _edits(text, their_text).removed and our_text != their_text:
        return theirs + ours
    return (
        our_title if their_title == title else their_title,
        *merge(text, our_text, their_text),
        *(our_comment if their_comment == comment else their_comment),
    )
