"""Texts that have rare words in common: few enough to compare, out of very many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from memorybook.text.tokens import is_telling, query_words

MOST = 8
"""Texts found for one."""

RAREST = 12
"""Words of a text by which others are looked for."""

COMMON = 100
"""Texts with a word from which it is too common to look for."""


class Sharing:
    """An index of texts by their words (Chinese ones by pairs of characters).

    Args:
        texts: By key.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._words = {key: _words(text) for key, text in texts.items()}
        self._with: dict[str, list[str]] = {}
        for key, words in self._words.items():
            for word in words:
                self._with.setdefault(word, []).append(key)

    def of(self, text: str) -> list[str]:
        """Keys of at most 8 texts that share at least half of the words of the shorter one, the nearest first."""
        words = _words(text)
        rare = sorted(words, key=lambda word: (len(self._with.get(word, ())), word))
        rare = [word for word in rare if 0 < len(self._with.get(word, ())) <= COMMON][:RAREST]
        shared = Counter(key for word in rare for key in self._with[word])
        near = {key: _likeness(words, self._words[key]) for key, _ in shared.most_common(5 * MOST)}
        return [key for key in sorted(near, key=lambda key: (-near[key], key)) if near[key] >= 0.5][:MOST]


def _words(text: str) -> frozenset[str]:
    return frozenset(filter(is_telling, query_words(text)))


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / min(len(one), len(other))
