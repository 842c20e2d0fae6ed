"""Keep what a person wrote when an agent's edit would remove it; the edit waits for a person in review.

An entry is a person's by its trust, a line of MEMORY.md by the stamp it lacks, a line of any other document unless the
journal names an agent who wrote it; items are the values of a program, whoever looked in. What an edit adds, or takes
away of an agent's own, is done at once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from memorybook import locale
from memorybook.book import fade
from memorybook.entries.match import Proposed
from memorybook.entries.review import propose
from memorybook.errors import InvalidInput
from memorybook.formats.item_md import FOLDER
from memorybook.model import IMPORTANCE, Change, Drop, Entry, Operation
from memorybook.text import patch
from memorybook.text.tokens import normalise

if TYPE_CHECKING:
    from datetime import date

    from memorybook.book.book import Book
    from memorybook.context import Context

_MOVES = ("rename", "undo")
"""Kinds of operations by which lines come to stand somewhere that were written before."""


def takes_away(before: Entry, after: Entry | None, today: date) -> bool:
    """Return whether an edit of a person's entry removes something of it.

    It is reworded, gets an expiry or an earlier one, is archived, unpinned, weakened below low importance, or gone.
    """
    if before.trust not in ("user", None):
        return False
    if after is None or normalise(after.text) != normalise(before.text) or after.archived > before.archived:
        return True
    if before.pinned > after.pinned:
        return True
    if after.expires is not None and (before.expires is None or after.expires < before.expires):
        return True
    least = min(IMPORTANCE["low"], fade.strength(before, today))
    return after.score < least - 0.005  # pages round to hundredths


def wait_for_person(context: Context, proposed: Sequence[Proposed], name: str) -> tuple[str, ...]:
    """Put an agent's edits into review; return the ids. Raises InvalidInput for one that a person rejected before."""
    ids = [propose(context, [one]) for one in proposed]
    if not all(ids):
        raise locale.error(InvalidInput, "problems.edit_rejected", name=repr(name))
    return tuple(dict.fromkeys(id for each in ids for id in each))


def edit(changes: Sequence[Change], name: str, kind: str = "change") -> Proposed:
    """Return the proposal of an agent's edit of an entry or a document."""
    return Proposed(kind, tuple(changes), f"an agent's edit of {name}, which a person wrote")


def without_losses(path: str, before: str, after: str, lines: Collection[str]) -> tuple[str, list[Proposed]]:
    """Return the text after an edit that leaves these lines in their place, and what of the edit waits for that."""
    hunks, waiting = [], []
    for hunk in patch.diff(before, after):
        kept = [line for line in hunk.old if line.rstrip() in lines]
        if kept:
            new = [line.removesuffix("\r") for line in hunk.new]
            while new and not new[-1].strip():
                new.pop()
            lefts = new if len(new) == len(kept) else ["\n".join(new), *[""] * (len(kept) - 1)]
            drops = [
                Drop(path=path, line=line.removesuffix("\r"), left=left) for line, left in zip(kept, lefts, strict=True)
            ]
            waiting.append(edit(drops, path))
            first, last = hunk.old.index(kept[0]), len(hunk.old) - hunk.old[::-1].index(kept[-1])
            between = hunk.old[first:last]  # with the blank lines that part them
            hunk = hunk._replace(new=tuple(line for line in between if line in kept or not line.strip()))
        hunks.append(hunk)
    return patch.forward(hunks, before), waiting


def lines_lost(book: Book, path: str, before: str, after: str | None) -> set[str]:
    """Return the lines that say something, no longer stand in a document, and were written by no agent."""
    lost = set() if path.startswith(f"{FOLDER}/") else _said(before) - _said(after or "")
    return lost - _agents_lines(book, path, lost) if lost else lost


def _said(text: str) -> set[str]:
    return {line.rstrip() for line in text.split("\n") if any(map(str.isalnum, line))}


def _agents_lines(book: Book, path: str, wanted: Collection[str]) -> set[str]:
    """Return those of the lines that an agent wrote into a document, under this or an earlier name of it."""
    found: set[str] = set()
    for operation in book.journal.operations(target=path):
        if operation.actor != "user" and operation.kind not in _MOVES:
            for change in operation.changes:
                if change.target == path and not change.purged:
                    found |= (_said(change.after or "") - _said(change.before or "")) & set(wanted)
        elif old := _moved_from(operation, path):
            found |= _agents_lines(book, old, set(wanted) - found)
        if found >= set(wanted):
            break
    return found


def _moved_from(operation: Operation, path: str) -> str | None:
    """Return from where an operation moved a document to this path; None if it did not."""
    text = next((one.after for one in operation.changes if one.target == path and one.kind == "put"), None)
    if operation.kind != "rename" or text is None:
        return None
    gone = (one.target for one in operation.changes if one.kind == "drop" and one.before == text)
    return next(gone, None)


def held_back(known: Entry, edited: Entry) -> Entry:
    """Return an edited entry with what is a person's as it was: its words, its place, its day and its trust."""
    return replace(edited, text=known.text, archived=known.archived, trust=known.trust, expires=known.expires)
