"""Three-way merge of lines: what two people made of the same text, in one text.

There are no conflict marks. A line that either side took out stays out, a line that either side
added is there, and where both rewrote the same lines both versions stand, "theirs" (the person's)
before "ours". Entries of `MEMORY.md` are merged as wholes, known by their id, so that an entry is
never torn, and one that was moved and edited is there once.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher
from typing import Generic, NamedTuple, TypeVar

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
