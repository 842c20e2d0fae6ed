"""What people wrote into MEMORY.md outside the managed sections, as a prompt tells it."""

from __future__ import annotations

from memorybook.formats.prose import by_people
from memorybook.hits import Hit
from memorybook.patterns import lazily
from memorybook.recall.format import fenced
from memorybook.standard import Iterator, Sequence
from memorybook.text.screen import screen
from memorybook.text.tokens import count_tokens
from memorybook.typed import NamedTuple

_COMMENT = lazily(r"(?s)<!--.*?-->")

NAMED = 6
"""Sections that are named where not all of them can be told."""


class Section(NamedTuple):
    """A heading with the lines below it, up to the next heading; "" before the first."""

    heading: str
    lines: tuple[str, ...]


def lines_of(prose: str) -> list[str]:
    """The lines that say something: no comments, no title, no heading with nothing under it, nothing suspect."""
    text = by_people(prose)
    lines = [line.rstrip() for line in _COMMENT.sub("", text).splitlines() if line.strip()]
    kept: list[str] = []
    for line, following in zip(lines, [*lines, "#"][1:], strict=True):
        level = _level(line)
        if level == 1 or (level and following.startswith("#") and _level(following) <= level):
            continue
        kept.append(line)
    return [line for line in kept if not screen(line)]


def handwritten(prose: str, found: Sequence[Hit], *, room: int, more: str) -> list[str]:
    """The lines to tell, most wanted first: all of them where they fit, else those nearest the question.

    Args:
        prose: See `lines_of`.
        found: Hits for the question, best first; those in MEMORY.md that are no entries say which lines are near.
        room: Tokens that the lines may take.
        more: How the rest is named, with a place for the names of its sections.
    """
    lines = lines_of(prose)
    if sum(count_tokens(line) + 1 for line in lines) <= room:
        return lines
    sections = list(_sections(lines))
    rest = more.format(", ".join(_names(sections)))
    room -= count_tokens(rest) + 1
    near: dict[str, list[str]] = {}
    for text, heading in _wanted(sections, found):
        cost = count_tokens(text) + 1 + (0 if heading in near else count_tokens(heading) + 1)
        if cost > room:
            break
        room -= cost
        near.setdefault(heading, []).append(text)
    told = [line for heading, texts in near.items() for line in filter(None, (heading, *texts))]
    return [*told, rest]


def _wanted(sections: Sequence[Section], found: Sequence[Hit]) -> Iterator[tuple[str, str]]:
    """Lines with their headings, those that the search found first, then each section's from its beginning."""
    place = {line: section.heading for section in reversed(sections) for line in section.lines}
    plain = {_plain(line): line for line in reversed([*place])}
    told: set[str] = set()
    for hit in found:
        passage = hit.passage
        if passage.path == "MEMORY.md" and passage.entry is None and hit.relevance > 0:
            for text in passage.text.splitlines():
                line = plain.get(_plain(text))
                if line is not None and line not in told:
                    told.add(line)
                    yield line, place[line]
    depth = max((len(section.lines) for section in sections), default=0)
    for number in range(depth):  # the first line of each section, then the second
        for section in sections:
            if number < len(section.lines) and section.lines[number] not in told:
                told.add(section.lines[number])
                yield section.lines[number], section.heading


def _plain(line: str) -> str:
    return fenced(line).lstrip("-*+ ").strip()


def _sections(lines: Sequence[str]) -> Iterator[Section]:
    heading, body = "", list[str]()
    for line in lines:
        if _level(line):
            if body:
                yield Section(heading, tuple(body))
            heading, body = line, []
        else:
            body.append(line)
    if body:
        yield Section(heading, tuple(body))


def _names(sections: Sequence[Section]) -> Iterator[str]:
    """The largest sections by name, with what opens them."""
    large = sorted(sections, key=lambda section: -len(section.lines))[:NAMED]
    names = [f"{section.heading.lstrip('# ')} ({len(section.lines)})" for section in large if section.heading]
    yield "MEMORY.md" + (f": {', '.join(names)}" if names else "")


def _level(line: str) -> int:
    return len(line) - len(line.lstrip("#"))
