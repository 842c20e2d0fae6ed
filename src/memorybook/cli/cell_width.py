"""Text on a terminal, where a wide character takes two columns."""

from __future__ import annotations


def cells(text: str) -> int:
    """Count the columns of a terminal that the text takes: two for a wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def padded(text: str, width: int) -> str:
    """Return the text with spaces behind it up to so many cells."""
    return text + " " * (width - cells(text))


def wrapped(line: str, width: int) -> list[str]:
    """Wrap the line into rows of at most `width` cells, at spaces or between any two wide characters."""
    if cells(line) <= width:
        return [line]
    pieces = [""]  # between which the line may be broken
    for char in line:
        last = pieces[-1][-1:]
        if char == " " or last == " " or _is_wide(char) or _is_wide(last):
            pieces.append(char)
        else:
            pieces[-1] += char
    rows, row, used = [], "", 0
    for word in pieces:
        size = cells(word)
        if used and used + size > width:
            rows.append(row.rstrip())
            row, used, word = "", 0, word.lstrip(" ")
            size = cells(word)
        while size > width:
            cut = max(width, 1)
            rows.append(word[:cut])
            word = word[cut:]
            size = cells(word)
        row, used = row + word, used + size
    return [*rows, row.rstrip()]


def _is_wide(char: str) -> bool:
    return not char.isascii() and cells(char) == 2
