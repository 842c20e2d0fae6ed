"""Characters that would be read as structure, written as character references, and read back.

One escape serves every document: a hexadecimal character reference such as `&#x23;` for `#`, which
Markdown shows as the character itself. Only characters that stand where they would be taken for
structure are written so, and the `&` of a text that holds such a reference already. `&#x;` is the
empty text, for places where nothing would be read as absence.

So `unescape(escape(x)) == x` for every text, and what a person writes by hand is read as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from sys import maxunicode

UNSAFE = r"[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029\ufeff\ud800-\udfff]|&(?=#x)"
"""Never written as they are: controls, other line ends, surrogates (not UTF-8), and the escape itself."""

_REFERENCE = re.compile(r"&#x([0-9A-Fa-f]{0,6});")
_FENCE = re.compile(r"(?m)^(?:(`{3,})[^`\n]*|(~{3,})[^\n]*)$")


def escape(pattern: str, text: str) -> str:
    """Replace every character that the pattern (given as text, compiled when needed) matches by a reference."""
    return re.sub(pattern, reference, text)


def reference(match: re.Match[str]) -> str:
    """Return the matched characters as references."""
    return "".join([f"&#x{ord(char):X};" for char in match[0]])


def unescape(text: str) -> str:
    """Return the text with its references as characters; one that names no character stays."""
    if "&#x" not in text:
        return text
    return _REFERENCE.sub(
        lambda at: at[0] if int(at[1] or "0", 16) > maxunicode else at[1] and chr(int(at[1], 16)), text
    )


class Fences:
    """The fenced code blocks of a text. A fence at a line's start that nothing closes is no fence."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._unclosed: dict[str, int] = {}  # shortest fence of each kind that is known to have no end further on

    def end(self, start: int) -> int:
        """Return the end of the fenced block that starts at `start`, 0 if it stays open.

        Ask in the order of the text.
        """
        opening = _FENCE.match(self._text, start)
        if opening is None:
            return 0
        marks = opening[1] or opening[2]
        if len(marks) >= self._unclosed.get(marks[0], len(marks) + 1):
            return 0
        closing = re.compile(rf"(?m)^{marks[0]}{{{len(marks)},}}[ \t\r]*$").search(self._text, opening.end())
        if closing is None:
            self._unclosed[marks[0]] = len(marks)
            return 0
        return closing.end()


def fences(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of every fenced block; a fence that stays open has the end 0."""
    reader = Fences(text)
    at = 0
    while (opening := _FENCE.search(text, at)) is not None:
        end = reader.end(opening.start())
        yield opening.start(), end
        at = end or opening.end()


def has_open_fence(text: str) -> bool:
    """Return whether a code fence is opened that nothing closes."""
    return ("```" in text or "~~~" in text) and any(not end for _, end in fences(text))
