"""Look statements up by their words instead of comparing each with all others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable


class WordSets:
    """Sets of words, numbered in the order given; equal ones have the number of the first, empty ones none."""

    def __init__(self, sets: Iterable[frozenset[str]]) -> None:
        self.sets = list(sets)
        self._holding: dict[str, set[int]] = {}
        first = {words: number for number, words in reversed(list(enumerate(self.sets))) if words}
        for words, number in first.items():
            for word in words:
                self._holding.setdefault(word, set()).add(number)
        self._by_rarest: dict[str, list[int]] = {}
        for words, number in first.items():
            self._by_rarest.setdefault(min(words, key=self._frequency), []).append(number)
        self._rarest = frozenset(self._by_rarest)
        self._contains: dict[frozenset[str], bool] = {}

    def _frequency(self, word: str) -> tuple[int, str]:
        return len(self._holding.get(word, ())), word

    def around(self, words: frozenset[str]) -> Iterable[int]:
        """Return the sets that contain all of these words; none if there are no words."""
        if not words <= self._holding.keys():
            return ()
        held = sorted((self._holding[word] for word in words), key=len)
        return held[0].intersection(*held[1:]) if len(held) > 1 else held[0] if held else ()

    def contains(self, words: frozenset[str]) -> bool:
        """Return whether a set contains all of these words; False if there are no words."""
        known = self._contains.get(words)
        if known is None:
            known = self._contains[words] = bool(self.around(words))
        return known

    def within(self, words: frozenset[str]) -> list[int]:
        """Return the sets that have no other words than these."""
        near = words & self._rarest
        return [number for word in near for number in self._by_rarest[word] if self.sets[number] <= words]

    def nested(self, words: frozenset[str]) -> list[int]:
        """Return the sets that contain all of these words or have no others; equal ones may come twice."""
        return [*self.within(words), *self.around(words)]

    def share(self, words: frozenset[str], least: int) -> bool:
        """Return whether a set shares at least so many of these words, `least` > 0."""
        known = sorted((word for word in words if word in self._holding), key=self._frequency)
        rarest = known[: max(0, len(known) - least + 1)]  # a set without any of these shares too few
        near = {number for word in rarest for number in self._holding[word]}
        return any(len(words & self.sets[number]) >= least for number in near)


_GRAM = 6
"""Most characters by which texts are looked up inside of others."""


class Substrings:
    """Texts of one line each, to be looked for inside of others and the other way around."""

    def __init__(self, texts: Iterable[str]) -> None:
        texts = list(dict.fromkeys(texts))
        self._size = min([_GRAM, *map(len, texts)])
        many = Counter(gram for text in texts for gram in self._grams(text))
        self._by_rarest: dict[str, list[str]] = {}
        for text in texts:
            self._by_rarest.setdefault(min(self._grams(text), key=lambda gram: many[gram]), []).append(text)
        self._known = frozenset(many)
        self._joined = "\n".join(texts)

    def _grams(self, text: str) -> set[str]:
        return {text[start : start + self._size] for start in range(len(text) - self._size + 1)}

    def stands_in(self, text: str) -> bool:
        """Return whether one of the texts is a part of this one."""
        return any(one in text for gram in self._grams(text) for one in self._by_rarest.get(gram, ()))

    def has_part(self, text: str) -> bool:
        """Return whether this text, of one line, is a part of one of the texts."""
        return bool(self._by_rarest) and self._known.issuperset(self._grams(text)) and text in self._joined


def any_of(forms: Collection[bytes], depth: int = 8) -> bytes:
    """Return a pattern of any of these, as a tree by their first bytes: a search tries those alone that may match."""
    if depth == 0 or len(forms) == 1:
        return b"|".join(map(re.escape, sorted(forms)))
    by_first: dict[bytes, list[bytes]] = {}
    for form in forms:
        by_first.setdefault(form[:1], []).append(form[1:])
    if b"" in by_first:  # one of them ends here
        return b""
    return b"|".join(re.escape(first) + b"(?:" + any_of(rest, depth - 1) + b")" for first, rest in by_first.items())
