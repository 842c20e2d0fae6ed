"""Files as editing tools of language models show and change them, in the words that models know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from memorybook.errors import InvalidInput

MOST_LINES = 999_999
_WIDTH = len(str(MOST_LINES))


def numbered(text: str, lines: Sequence[int] = (1, -1)) -> str:
    """Lines of a text with their numbers: from the first to the last of `lines`, -1 for the end of the text."""
    first, last = max(1, lines[0]), lines[1]
    shown = text.split("\n")[first - 1 : None if last == -1 else last]
    return "\n".join(f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(shown, first))


def replaced(text: str, old: str, new: str, *, path: str) -> tuple[str, int]:
    """The text with what stands in it once replaced, and the number of the line where it begins.

    Raises:
        InvalidInput: It is not in the text, or several times.
    """
    lines = [text.count("\n", 0, place) + 1 for place in _places(text, old)]
    if not lines:
        raise InvalidInput(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
    if text.count(old) > 1:
        raise InvalidInput(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
            f"{', '.join(map(str, lines))}. Please ensure it is unique"
        )
    return text.replace(old, new), lines[0]


def _places(text: str, part: str) -> Iterator[int]:
    place = text.find(part)
    while place >= 0:
        yield place
        place = text.find(part, place + 1)


def inserted(text: str, line: int, new: str) -> str:
    """The text with a new line after that many of its lines. Raises InvalidInput if it has fewer."""
    lines = text.removesuffix("\n").split("\n") if text else []
    if not 0 <= line <= len(lines):
        raise InvalidInput(f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}].")
    text = "\n".join([*lines[:line], new.rstrip("\n"), *lines[line:]])
    return text if text.endswith("\n") else f"{text}\n"


def listing(files: Mapping[str, int], *, levels: int = 2) -> Iterator[tuple[str, str]]:
    """Size and place of a folder and of all in it so many levels deep, folder by folder: `""`, `/file`, `/folder/`.

    Args:
        files: Sizes in bytes by name, with `/` between parts. A folder's size is that of all that is in it.
        levels: How deep.
    """
    found: dict[tuple[str, ...], int] = {(): 0}
    for name, size in files.items():
        parts = tuple(name.split("/"))
        for depth in range(len(parts) + 1):
            found[parts[:depth]] = found.get(parts[:depth], 0) + size
    for place in sorted(found):
        if len(place) <= levels:
            name = "/".join(place)
            yield size_of(found[place]), f"/{name}" * bool(place) + "/" * (bool(place) and name not in files)


def size_of(count: int) -> str:
    """Bytes in a few characters: `0B`, `1.5K`, `3M`."""
    power = min(max(count.bit_length() - 1, 0) // 10, 3)
    size = count / 1024**power
    return f"{size:.0f}{'BKMG'[power]}" if size == int(size) else f"{size:.1f}{'BKMG'[power]}"
