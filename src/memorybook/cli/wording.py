"""The sentences of the command line, in English or as the catalogue has them, and their width on a terminal."""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class Wording:
    """Wording of answers: English, or a translation table.

    Args:
        table: Each English sentence as it stands in the code, with the one that is said instead; what is counted stands
            in it as `{} entry`.
    """

    language = "en"

    def __init__(self, table: Mapping[str, str] | None = None) -> None:
        self._table = table or {}

    def __call__(self, sentence: str, **values: Any) -> str:
        """Return the sentence, translated, with its braces filled in."""
        said = self._table.get(sentence, sentence)
        return said.format(**values) if values else said

    def counted(self, number: int, one: str, many: str = "") -> str:
        """Return `1 entry`, `2 entries`, `2 条记忆`."""
        said = self._table.get(f"{{}} {one}", "")
        return said.format(number) if said else f"{number} {one if number == 1 else many or one + 's'}"


class Translated(Wording):
    """Wording of a language, `en` or `zh`: by the catalogue's answers, else as text that is composed in English."""

    def __init__(self, language: str) -> None:
        from memorybook import locale  # of which a search in English has no need

        super().__init__(locale.table("answers", language))
        self._translate, self.language = locale.translate, language

    def __call__(self, sentence: str, **values: Any) -> str:
        """Return the sentence, its braces filled in."""
        said = super().__call__(sentence, **values)
        return self._translate(sentence, self.language) if said == sentence and not values else said


# --- text on a terminal, where a wide character takes two columns ---------------------------------


def visible(text: str) -> str:
    r"""Return the text with the characters that would act on a terminal written as escapes.

    >>> visible("\x1b[31mred 红")
    '\\x1b[31mred 红'
    """
    if text.isprintable():
        return text
    import re

    from memorybook.text.screen import ACTING  # a search that finds plain lines has no need of it

    return re.sub(ACTING, lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


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
