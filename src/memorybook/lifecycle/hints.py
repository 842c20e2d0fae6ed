"""Hints: literals without which a pattern cannot fit, so that most patterns are never tried on most texts.

A look for a literal costs a hundredth of a regular expression's search. Hints are written in lower
case, single spaces between words; a text is folded once and asked for the hints of every pattern.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple


class Folded(NamedTuple):
    """A text as hints are looked for in it: lower case, white space as single spaces.

    Attributes:
        ascii: What of it is ASCII, run together: whatever stood in the text stands here too.
        other: All of it; "" if it is ASCII alone.
    """

    ascii: str
    other: str


class Sieve(NamedTuple):
    """Hints by the texts that may hold them."""

    ascii: tuple[str, ...]
    other: tuple[str, ...]

    def passes(self, text: Folded) -> bool:
        """Whether the text holds one of the hints. Plain loops: half the price of `any`."""
        for hint in self.ascii:
            if hint in text.ascii:
                return True
        if text.other:
            for hint in self.other:
                if hint in text.other:
                    return True
        return False


def sieve(*hints: str) -> Sieve:
    """The sieve of these hints, written with `|` between them."""
    every = tuple("|".join(hints).split("|"))
    return Sieve(tuple(filter(str.isascii, every)), tuple(hint for hint in every if not hint.isascii()))


def fold(text: str) -> Folded:
    """A text with all in it that a pattern, whether it cares for case or not, takes for a hint."""
    if text.isascii():
        return Folded(" ".join(text.lower().split()), "")
    text = text.replace("İ", "i").replace("ı", "i").replace("ſ", "s")  # re.IGNORECASE takes them for i and s
    folded = " ".join(text.lower().split())
    return Folded(folded.encode("ascii", "ignore").decode(), folded)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern of a rule, compiled when a text first needs it."""
    return re.compile(pattern)
