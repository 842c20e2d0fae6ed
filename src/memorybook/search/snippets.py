"""Texts as a reader or a prompt gets them: cut around a match, on one line, between markers."""

from __future__ import annotations

from memorybook._light import AbstractSet
from memorybook.text.tokens import tokens

SNIPPET = 480
"""Longest snippet, characters."""

_ENDS = ".!?。！？；"
"""What ends a sentence, also several of them; a line's end does, too."""

OPEN, CLOSE = "<!-- memorybook:recalled -->", "<!-- /memorybook:recalled -->"
"""Around recalled text in a prompt, so that capture can cut it out again (no echo)."""


def snippet(text: str, words: AbstractSet[str], *, width: int = SNIPPET) -> str:
    """`text`, or the stretch of at most `width` characters that holds most of `words`, with … where it is cut."""
    if len(text) <= width:
        return text
    pieces = sentences(text)
    counts = [len(words & set(tokens(piece))) for piece in pieces]
    best, start, end = -1, 0, 0
    for first in range(len(pieces)):
        size = total = 0
        last = first
        while last < len(pieces) and (last == first or size + len(pieces[last]) <= width - 2):
            size += len(pieces[last])
            total += counts[last]
            last += 1
        if total > best:
            best, start, end = total, first, last
    cut = "".join(pieces[start:end])[: width - 2].strip()
    return ("…" if start else "") + cut + ("…" if end < len(pieces) or len(cut) == width - 2 else "")


def sentences(text: str) -> list[str]:
    """The text cut after each sentence and line, without a pattern: what makes those costs a cold start more."""
    pieces = [text]
    for end in (*_ENDS, "\n"):
        if end in text:
            pieces = [cut for piece in pieces for cut in _cut_after(piece, end)]
    found: list[str] = []
    for piece in pieces:
        if found and piece in _ENDS and found[-1][-1] in _ENDS:
            found[-1] += piece
        elif piece:
            found.append(piece)
    return found


def _cut_after(text: str, end: str) -> list[str]:
    *whole, rest = text.split(end)
    return [part + end for part in whole] + ([rest] if rest else [])


def fenced(text: str) -> str:
    """A text on one line, unable to close the markers around it."""
    return " ".join(text.split()).replace("<!--", "<! --").replace("-->", "-- >")


def marked(text: str) -> str:
    """A text between the markers, unable to close them."""
    return f"{OPEN}\n{text.replace(CLOSE, '<!-- /memorybook:recalled -- >')}\n{CLOSE}"
