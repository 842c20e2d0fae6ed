"""What people wrote into MEMORY.md outside the managed sections, as a prompt tells it."""

from __future__ import annotations

from memorybook._light import Iterable, Iterator, Mapping, NamedTuple, Sequence, lazily
from memorybook.formats.sections import by_people
from memorybook.prompt.block import plain
from memorybook.search.types import Hit
from memorybook.text.screen import instructs
from memorybook.text.tokens import count_tokens

_COMMENT = lazily(r"(?s)<!--.*?-->")

NAMED = 6
"""Sections that are named where not all of them can be told."""


class Section(NamedTuple):
    """A heading as it is written ("" before the first), with the lines below it up to the next heading."""

    heading: str
    lines: tuple[str, ...]


class Written:
    """What people wrote into MEMORY.md.

    Attributes:
        sections: In their order.
        places: Each line with its section, by its text without marks.
    """

    def __init__(self, prose: str) -> None:
        self.sections = tuple(sections(prose))
        self.places = {plain(line): (line, section) for section in self.sections for line in section.lines}


def sections(prose: str) -> Iterator[Section]:
    """What people wrote that says something: no comments, no title, no heading with nothing under it."""
    lines = [line.rstrip() for line in _COMMENT.sub("", by_people(prose)).splitlines() if line.strip()]
    heading, body = "", list[str]()
    for line, following in zip(lines, [*lines, "#"][1:], strict=True):
        level = _level(line)
        if level and following.startswith("#") and _level(following) > level > 1:
            body.append(line)  # a heading of sections, with nothing of its own
        elif level:
            if body:
                yield Section(heading, tuple(body))
            heading, body = line if level > 1 else "", []
        else:
            body.append(line)
    if body:
        yield Section(heading, tuple(body))


def handwritten(written: Written, found: Sequence[Hit], *, room: int, more: str, asked: bool) -> list[str]:
    """The lines to tell, most wanted first: all of them where they fit, else those nearest the question.

    Args:
        written: All of it.
        found: Hits for the question, best first; those in MEMORY.md that are no entries say which lines are near.
        room: Tokens that the lines may take.
        more: How the rest is named, with a place for the names of its sections.
        asked: Whether there is a question; without one the lines stand in their order.
    """
    everything = _printed({section: section.lines for section in written.sections})
    if not asked or _fits(everything, room):
        return [line for line in everything if not instructs(line)]
    rest = more.format(", ".join(_names(written.sections)))
    room -= count_tokens(rest) + 1
    near: dict[Section, list[str]] = {}
    for line, section in _near(written, found):
        cost = count_tokens(line) + 1 + (0 if section in near else count_tokens(section.heading) + 1)
        if cost <= room and not instructs(line):
            room -= cost
            near.setdefault(section, []).append(line)
    return [*_printed(near), rest]


def is_named_only(written: Written, hit: Hit) -> bool:
    """Whether a hit is what people wrote into MEMORY.md and not near the question: it counts among the rest there."""
    passage = hit.passage
    if passage.path != "MEMORY.md" or passage.entry is not None or hit.relevance > 0:
        return False
    return all(plain(line) in written.places for line in passage.text.splitlines())


def _printed(parts: Mapping[Section, Sequence[str]]) -> list[str]:
    return [line for section, lines in parts.items() for line in (section.heading, *lines) if line]


def _fits(lines: Iterable[str], room: int) -> bool:
    for line in lines:
        room -= count_tokens(line) + 1
        if room < 0:
            return False
    return True


def _near(written: Written, found: Sequence[Hit]) -> Iterator[tuple[str, Section]]:
    """The lines that the search found, with their sections, best first."""
    wanted = {
        plain(line): None
        for hit in found
        if hit.passage.path == "MEMORY.md" and hit.passage.entry is None and hit.relevance > 0
        for line in hit.passage.text.splitlines()
    }
    yield from (written.places[plain] for plain in wanted if plain in written.places)


def _names(written: Sequence[Section]) -> Iterator[str]:
    """The largest sections by name, with the number of their lines."""
    large = sorted(written, key=lambda section: -len(section.lines))[:NAMED]
    names = [f"{section.heading.lstrip('# ')} ({len(section.lines)})" for section in large if section.heading]
    yield "MEMORY.md" + (f": {', '.join(names)}" if names else "")


def _level(line: str) -> int:
    return len(line) - len(line.lstrip("#"))
