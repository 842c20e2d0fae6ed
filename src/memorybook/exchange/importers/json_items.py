"""The items of a JSON array, one at a time: an export of gigabytes is never held whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from memorybook.errors import InvalidInput

MOST = 256 << 20
"""Characters of a single item, line or object, from which on it is refused: each is held whole."""


class Unfinished(ValueError):
    """The text ends before its array does."""


class Items:
    """Iterates over the texts of the items; what stands in them is not looked at, so that a broken one can be skipped.

    Args:
        name: Of the file, for messages.
        pieces: The text, in pieces of any size; its first character that is no blank is `[`.

    Raises:
        Unfinished: While iterating, at the end of a text whose array does not end.
        InvalidInput: While iterating, for an item of more than `MOST` characters.
    """

    def __init__(self, name: str, pieces: Iterator[str]) -> None:
        self._name = name
        self._pieces = pieces
        self._text = ""
        self._at = 0

    def __iter__(self) -> Iterator[str]:
        opened = False
        while True:
            begin = self._peek(opened)
            if begin == "":
                raise Unfinished
            if not opened:
                opened, self._at = True, self._at + 1
            elif begin == "]":
                return
            else:
                yield self._nested() if begin in "[{" else self._plain()

    def _peek(self, opened: bool) -> str:
        """The next character that is neither a blank nor, in the array, a comma; "" at the end."""
        while True:
            found = _pattern(r"[\s,]*" if opened else r"[\s\ufeff]*").match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._grow():
                return ""

    def _grow(self) -> bool:
        """Read as much again as is held; whether there was more."""
        parts = [self._text[self._at :]]
        wanted = len(parts[0]) + 1
        for piece in self._pieces:
            parts.append(piece)
            wanted -= len(piece)
            if wanted <= 0:
                break
        self._text, self._at = "".join(parts), 0
        return len(parts) > 1

    def _plain(self) -> str:
        """A string, a number or a word."""
        while True:
            found = _pattern(r'"(?:[^"\\]++|\\.)*"|[^\s,\]"]+|"').match(self._text, self._at)
            end = found.end() if found else self._at + 1
            whole = end < len(self._text) and self._text[self._at : end] != '"'
            if whole or not self._more():
                text, self._at = self._text[self._at : end], end
                return text

    def _nested(self) -> str:
        """An object or an array, up to the bracket that closes it."""
        depth = place = 0
        while True:
            found = _pattern(r'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*")*([\[\]{}])?').match(self._text, self._at + place)
            bracket = found[1] if found else None
            place = (found.end() if found else self._at) - self._at
            if bracket is None:
                if not self._more():
                    raise Unfinished
                continue
            depth += 1 if bracket in "[{" else -1
            if depth == 0:
                text = self._text[self._at : self._at + place]
                self._at += place
                return text

    def _more(self) -> bool:
        if len(self._text) - self._at > MOST:
            raise InvalidInput(f"an item of {self._name!r} is larger than {MOST >> 20} MB: split the file")
        return self._grow()


@cache
def _pattern(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.DOTALL)
