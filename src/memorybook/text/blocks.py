"""Markdown cut into blocks with exact lines: paragraphs, list items and code, each under its heading path.

Lines end with a newline and nothing else, so a range of lines means the same to every reader of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memorybook.formats.escape import Fences
from memorybook.text.tokens import count_tokens

_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|[ \t\r]*\Z)")
_UNDERLINE = re.compile(r" {0,3}(?:(=+)|-+)[ \t\r]*\Z")
_ITEM = re.compile(r" {0,3}(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]+|\Z)(?:\[[ xX]\][ \t]+)?")
_INDENTED = re.compile(r" {2,}|\t")
_LETTER = re.compile(r"\w")
_SENTENCE_END = re.compile(r"(?<=[.!?])[ \t]+|(?<=[。！？；])|\n")

_BETWEEN = count_tokens("\n\n")


class Block(NamedTuple):
    """A piece of Markdown.

    Attributes:
        start, end: Its lines, 1-based and inclusive.
        text: As it stands, without the marker of a list item and white space around; never without a letter or digit.
        heading: Path of the headings above it, `A > B`; "" if none.
        run: Number of the run of blocks between which there is nothing but blank lines.
        item: Whether it is a list item.
        code: Whether it is a fenced block.
    """

    start: int
    end: int
    text: str
    heading: str
    run: int
    item: bool = False
    code: bool = False


def blocks(text: str, *, first_line: int = 1) -> list[Block]:
    """The blocks of a Markdown text in order. Headings, comments, rules and blank lines are none.

    `first_line` is the number of the text's first line in its document.
    """
    reader = _Reader(text, first_line)
    while reader.at < len(reader.lines):
        reader.step()
    reader.flush(reader.at)
    return reader.found


def merged(text: str, pieces: Sequence[Block], limit: int, *, first_line: int = 1) -> Iterator[Block]:
    """Neighbouring blocks of one run together as long as they are within `limit` tokens; longer ones cut."""
    lines = text.split("\n")
    group: list[Block] = []
    size = 0
    for piece in pieces:
        tokens = count_tokens(piece.text)
        if group and (piece.run != group[-1].run or size + tokens + _BETWEEN > limit):
            yield _together(lines, group, first_line)
            group, size = [], 0
        if tokens > limit:
            yield from _cut(lines, piece, limit, first_line)
        else:
            group.append(piece)
            size += tokens + _BETWEEN
    if group:
        yield _together(lines, group, first_line)


class _Reader:
    """One pass over the lines; a block is open from `opened` until it is flushed."""

    def __init__(self, text: str, first_line: int) -> None:
        self.lines = text.split("\n")
        self.found: list[Block] = []
        self.at = 0
        self._text = text
        self._first = first_line
        self._fences = Fences(text) if "```" in text or "~~~" in text else None
        self._offset = 0
        self._last_comment_end = text.rfind("-->")
        self._opened: int | None = None
        self._item = False
        self._path: list[tuple[int, str]] = []
        self._run = 0

    def step(self) -> None:
        """Read the line at `at`, or the whole fence or comment that begins there."""
        line = self.lines[self.at]
        if not line.strip():
            if not self._goes_on():
                self.flush(self.at)
            self._advance(1)
        elif (fence := self._fences.end(self._offset) if self._fences else 0) or self._opens_comment(line):
            self._whole(fence)
        elif heading := _HEADING.match(line):
            self._head(len(heading[1]), _title(line[heading.end() :]))
        elif self._opened == self.at - 1 and not self._item and (underline := _UNDERLINE.match(line)):
            title = self.lines[self.at - 1].strip()
            self._opened = None
            self._head(1 if underline[1] else 2, title)
        else:
            self._plain(line)

    def flush(self, end: int, *, code: bool = False) -> None:
        """Close the open block before line `end`."""
        if self._opened is None:
            return
        start, self._opened = self._opened, None
        whole = "\n".join(self.lines[start:end])
        marker = _ITEM.match(whole) if self._item else None
        text = (whole[marker.end() :] if marker else whole).strip()
        if _LETTER.search(text):
            last = start + whole.rstrip().count("\n") + 1
            self.found.append(
                Block(
                    self._first + start,
                    self._first + last - 1,
                    text,
                    " > ".join([title for _, title in self._path]),
                    self._run,
                    self._item,
                    code,
                )
            )
        self._item = False

    def _advance(self, count: int) -> None:
        for line in self.lines[self.at : self.at + count]:
            self._offset += len(line) + 1
        self.at += count

    def _opens_comment(self, line: str) -> bool:
        return self._offset < self._last_comment_end and line.lstrip().startswith("<!--")

    def _whole(self, fence: int) -> None:
        """A fence becomes a block of its own, a comment none."""
        self.flush(self.at)
        end = fence or self._text.find("-->", self._offset) + 3
        count = self._text.count("\n", self._offset, end) + 1
        if fence:
            self._opened = self.at
            self.flush(self.at + count, code=True)
        else:
            self._run += 1
        self._advance(count)

    def _head(self, level: int, title: str) -> None:
        self.flush(self.at)
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        if title.strip():
            self._path.append((level, title.strip()))
        self._run += 1
        self._advance(1)

    def _plain(self, line: str) -> None:
        if _ITEM.match(line):
            self.flush(self.at)
            self._item = True
        if self._opened is None:
            self._opened = self.at
        self._advance(1)

    def _goes_on(self) -> bool:
        """Whether the open list item continues behind the blank line at hand."""
        following = self.lines[self.at + 1] if self.at + 1 < len(self.lines) else ""
        return self._item and _INDENTED.match(following) is not None and following.strip() != ""


def _title(text: str) -> str:
    """What stands behind the marks of a heading, without the marks that may close it."""
    title = text.rstrip(" \t\r").lstrip(" \t")
    opened = title.rstrip("#")
    return opened if not opened or opened[-1] in " \t" else title


def _together(lines: Sequence[str], group: Sequence[Block], first_line: int) -> Block:
    if len(group) == 1:
        return group[0]
    start, end = group[0].start, group[-1].end
    text = "\n".join(lines[start - first_line : end - first_line + 1]).strip()
    return group[0]._replace(end=end, text=text, item=False, code=False)


def _cut(lines: Sequence[str], block: Block, limit: int, first_line: int) -> Iterator[Block]:
    """A block that is too long, in pieces of whole sentences (of code: whole lines) as far as they fit."""
    text = "\n".join(lines[block.start - first_line : block.end - first_line + 1])
    line, counted = block.start, 0
    for start, end in _spans(text, limit, code=block.code):
        piece = text[start:end]
        begin = start + len(piece) - len(piece.lstrip())
        piece = piece.strip()
        line += text.count("\n", counted, begin)
        counted = begin
        if _LETTER.search(piece):
            yield block._replace(start=line, end=line + piece.count("\n"), text=piece)


def _spans(text: str, limit: int, *, code: bool) -> Iterator[tuple[int, int]]:
    """Offsets of consecutive pieces of at most about `limit` tokens."""
    start = end = size = 0
    for stop in _stops(text, code=code):
        tokens = count_tokens(text[end:stop])
        if size and size + tokens > limit:
            yield start, end
            start, size = end, 0
        step = max(1, (stop - start) * limit // max(tokens, 1))
        while tokens > limit and stop - start > step:
            middle = _break_at(text, start, start + step)
            yield start, middle
            start, tokens = middle, tokens * (stop - middle) // (stop - start)
        end, size = stop, size + tokens
    if start < end:
        yield start, end


def _stops(text: str, *, code: bool) -> Iterator[int]:
    pattern = re.compile("\n") if code else _SENTENCE_END
    yield from (match.end() for match in pattern.finditer(text) if match.end() < len(text))
    yield len(text)


def _break_at(text: str, start: int, at: int) -> int:
    """The last blank before `at`, so that no word is cut; `at` itself if there is none nearby."""
    blank = text.rfind(" ", max(start + 1, at - 80), at)
    return blank if blank > start else at
