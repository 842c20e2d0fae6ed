"""Three-way merge of lines: what two people made of the same text, in one text.

There are no conflict marks. A line that either side took out stays out, a line that either side
added is there, and where both rewrote the same lines both versions stand, "theirs" (the person's)
before "ours". Entries of `MEMORY.md` are merged as wholes, known by their id, so that an entry is
never torn, and one that was moved and edited is there once.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeVar

Token = TypeVar("Token", bound=Hashable)

_ENTRY = re.compile(r"###[ \t]+\[([^\]\s]+)\]")
_HEADING = re.compile(r"#{1,6}[ \t]")


def merge_text(base: str, ours: str, theirs: str) -> str:
    """One text with the changes that `ours` and `theirs` each made to `base`.

    Laws: `merge_text(b, b, t) == t`, `merge_text(b, o, b) == o`, `merge_text(b, x, x) == x`. Line
    ends are `theirs`' (a text is CRLF if most of its lines are). A removal of an entry by `theirs`
    stands even if `ours` changed that entry; otherwise a changed entry outlives a removed one.
    """
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    crlf = _is_crlf(theirs)
    base, ours = (text if _is_crlf(text) == crlf else _with_ends(text, crlf=crlf) for text in (base, ours))
    pieces = _merge_pieces(_split(base), _split(ours), _split(theirs))
    end = "\r\n" if crlf else "\n"
    whole = "".join(piece if piece.endswith("\n") else piece + end for piece in pieces)
    ended = not whole or all(text.endswith("\n") or not text for text in (ours, theirs))
    return whole if ended else whole.removesuffix(end)


def merge(base: Sequence[Token], ours: Sequence[Token], theirs: Sequence[Token]) -> list[Token]:
    """`merge_text` for any sequence: kept is what neither side took out, added what either side put in."""
    our, their = _edits(base, ours), _edits(base, theirs)
    merged: list[Token] = []
    for place in range(len(base) + 1):
        merged += union(their.added.get(place, []), our.added.get(place, []))
        if place < len(base) and place not in our.removed and place not in their.removed:
            merged.append(base[place])
    return merged


def union(first: Sequence[Token], second: Sequence[Token]) -> list[Token]:
    """Both sequences in one, what they have in common once; where they differ, `first` comes first."""
    if not first or not second:
        return [*first, *second]
    merged: list[Token] = []
    for tag, start, end, other, other_end in _opcodes(first, second):
        merged += first[start:end]
        if tag != "equal":
            merged += second[other:other_end]
    return merged


class _Edits(NamedTuple):
    """A sequence as an edit of another: positions taken out, and what was put in before a position."""

    removed: frozenset[int]
    added: dict[int, list[Hashable]]


def _edits(base: Sequence[Token], changed: Sequence[Token]) -> _Edits:
    removed: set[int] = set()
    added: dict[int, list[Hashable]] = {}
    for tag, start, end, other, other_end in _opcodes(base, changed):
        if tag != "equal":
            removed.update(range(start, end))
            added[start] = list(changed[other:other_end])
    return _Edits(frozenset(removed), added)
