"""Hand-written text of MEMORY.md and standing entries, as prompts include them."""

from __future__ import annotations

from itertools import islice

from memorybook._light import TYPE_CHECKING, Iterable, Iterator, Mapping, NamedTuple, Sequence, date, lazily, once
from memorybook.book import fade
from memorybook.entries.read import known
from memorybook.formats.memory_md import by_people
from memorybook.model import CATEGORIES
from memorybook.prompt.block import Prose, plain
from memorybook.search.tool_results import fenced
from memorybook.search.types import Hit
from memorybook.text.screen import instructs
from memorybook.text.tokens import count_tokens, language_of
from memorybook.validate import count_of

if TYPE_CHECKING:
    from memorybook.book.book import Book
    from memorybook.context import Context
    from memorybook.formats.memory_md import MemoryDocument
    from memorybook.model import Category, Entry
    from memorybook.results import Known


_COMMENT = lazily(r"(?s)<!--.*?-->")

NAMED = 6
"""Sections to name if not all of them fit."""


class Section(NamedTuple):
    """A heading as written ("" before the first), with the lines up to the next heading."""

    heading: str
    lines: tuple[str, ...]


class Handwritten:
    """The hand-written text of MEMORY.md.

    Attributes:
        sections: In their order.
        places: Each (line, section) by the line's text without list markers.
    """

    def __init__(self, prose: str) -> None:
        self.sections = tuple(sections(prose))
        self.places = {plain(line): (line, section) for section in self.sections for line in section.lines}


def sections(prose: str) -> Iterator[Section]:
    """Yield the sections of hand-written text, without comments, title and empty headings."""
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


def handwritten(written: Handwritten, found: Sequence[Hit], *, room: int, most: int, more: str) -> Prose:
    """Return the lines to include: all if they fit into `room`, else those nearest the question before the others.

    Args:
        written: The text; lines that instruct their reader are left out.
        found: Hits for the question, best first; those in hand-written lines of MEMORY.md mark lines as near.
        room: Tokens reserved for it; if not all of it fits, the rest is named.
        most: Tokens to read; of what is beyond only near lines are used.
        more: Format of the line that names the rest, with a place for section names.
    """
    lines: list[str] = []
    places: dict[str, tuple[int, int]] = {}
    near = dict.fromkeys(line for line, _ in _near(written, found))
    spent, passed = 0, False
    for section in written.sections:
        head = -1
        for line in section.lines:
            spent += count_tokens(line) + 1 if spent <= most else 0
            if instructs(line):
                continue
            if spent > most and line not in near:
                if passed:
                    continue
                passed = True  # the first line too many has no room, and says that there is a rest
            if section.heading and head < 0 and not instructs(section.heading):
                head = len(lines)
                lines.append(section.heading)
            places.setdefault(line, (head if head >= 0 else len(lines), len(lines)))
            lines.append(line)
    if not passed and _fits(lines, room):
        return Prose(lines, range(len(lines)))
    wanted = dict.fromkeys(number for line in near if line in places for number in places[line])
    return Prose(lines, tuple(wanted) if found else range(len(lines)), more.format(", ".join(_names(written.sections))))


def is_named_only(written: Handwritten, hit: Hit) -> bool:
    """Return whether a hit is hand-written text of MEMORY.md that is irrelevant to the question."""
    passage = hit.passage
    if passage.path != "MEMORY.md" or passage.entry is not None or hit.relevance > 0:
        return False
    return all(plain(line) in written.places for line in passage.text.splitlines())


def _fits(lines: Iterable[str], room: int) -> bool:
    for line in lines:
        room -= count_tokens(line) + 1
        if room < 0:
            return False
    return True


def _near(written: Handwritten, found: Sequence[Hit]) -> Iterator[tuple[str, Section]]:
    """Yield the (line, section) pairs that the search found, best first."""
    wanted = {
        plain(line): None
        for hit in found
        if hit.passage.path == "MEMORY.md" and hit.passage.entry is None and hit.relevance > 0
        for line in hit.passage.text.splitlines()
    }
    yield from (written.places[plain] for plain in wanted if plain in written.places)


def _names(written: Sequence[Section]) -> Iterator[str]:
    """Yield MEMORY.md with the names of its largest sections and the number of their lines."""
    large = sorted(written, key=lambda section: -len(section.lines))[:NAMED]
    names = [
        f"{section.heading.lstrip('# ')} ({len(section.lines)})"
        for section in large
        if section.heading and not instructs(section.heading)
    ]
    yield "MEMORY.md" + (f": {', '.join(names)}" if names else "")


def _level(line: str) -> int:
    return len(line) - len(line.lstrip("#"))


# --- the entries that every prompt takes --------------------------------------------------------

_HEADINGS: Mapping[str, Mapping[Category, str]] = {
    "en": {
        "preference": "Preferences",
        "fact": "Facts",
        "decision": "Decisions",
        "experience": "Experiences",
        "workflow": "Ways of working",
        "skill_usage": "Use of tools",
        "todo": "To do",
        "context": "As things stand",
    },
    "zh": {
        "preference": "偏好",
        "fact": "事实",
        "decision": "决定",
        "experience": "经验",
        "workflow": "做事方式",
        "skill_usage": "工具用法",
        "todo": "待办",
        "context": "现状",
    },
}

UNASKED = ("suspect", "tool", "document")
"""Trust levels that enter no prompt unasked; a search still finds them."""


def standing_entries(ordered: Iterable[Entry], *, limit: int | None = fade.PROMPT_BEST) -> list[Entry]:
    """Return the first `limit` entries for every prompt, in order, without those that instruct their reader."""
    return list(islice((entry for entry in ordered if not instructs(entry.text)), limit))


def by_strength(entries: Iterable[Entry], today: date) -> tuple[Entry, ...]:
    """Return the entries that every prompt may have: active, not expired, trusted, strength from 0.5 or pinned.

    Pinned ones come first, then the strongest; of those equal to a hundredth, the latest.
    """
    fit = [
        (entry, fade.strength(entry, today))
        for entry in entries
        if entry.state == "active"
        and (entry.pinned or entry.score >= fade.PROMPT_FROM)
        and (entry.expires is None or entry.expires >= today)
        and entry.trust not in UNASKED
    ]
    fit = [each for each in fit if each[0].pinned or each[1] >= fade.PROMPT_FROM]
    fit.sort(key=_sort_key, reverse=True)
    return tuple(entry for entry, _ in fit)


def _sort_key(each: tuple[Entry, float]) -> tuple[bool, float, float, date, float]:
    entry, strength = each
    said = entry.created.timestamp() if entry.created is not None else 0.0
    return entry.pinned, round(strength, 2), said, entry.last_activated, strength


def get_prompt_memories(context: Context, top_k: int = fade.PROMPT_BEST) -> tuple[Known, ...]:
    """See `Memory.get_prompt_memories`."""
    book, limit = context.book, count_of(top_k, "top_k")
    return tuple(known(book, standing_entries(by_strength(book.memory().entries, book.now().date()), limit=limit)))


def summarize_existing(context: Context, limit: int = 50) -> str:
    """See `Memory.summarize_existing`."""
    book, most = context.book, count_of(limit)
    held = [
        each
        for each in known(book, book.memory().entries)
        if each.entry.state == "active" and each.entry.trust != "suspect" and not instructs(each.entry.text)
        if each.entry.expires is None or each.entry.expires >= book.now().date()
    ]
    held.sort(key=lambda each: (-each.strength, each.entry.id))
    best = held[:most]
    if not best:
        return ""
    language = language_of(context.config.language, [each.entry.text for each in best])
    return "\n".join([_opening(language, len(best), len(held)), "", format_entries(context, best)])


def format_entries(context: Context, held: Sequence[Known]) -> str:
    """Return entries as one text grouped by category, in the book's language; "" for none."""
    language = language_of(context.config.language, [each.entry.text for each in held])
    parts = []
    for category in CATEGORIES:
        texts = [f"- {fenced(each.entry.text)}" for each in held if each.entry.category == category]
        if texts:
            parts.append("\n".join([f"## {_HEADINGS[language][category]}", *texts]))
    return "\n\n".join(parts)


def _opening(language: str, shown: int, held: int) -> str:
    if language == "zh":
        return f"已有记忆 {held} 条：" if shown == held else f"已有记忆 {held} 条，以下是最强的 {shown} 条："
    return f"{held} known:" if shown == held else f"{held} known, the strongest {shown} of them:"


# --- memory page ------------------------------------------------------------------------------------

_MOST = 64
_kept: dict[str, Snapshot] = {}


class Snapshot:
    """MEMORY.md as of one day, with values computed once.

    Attributes:
        document: The parsed document.
        entries: Its entries by id.
        standing: Returns the entries for every prompt, most wanted first.
        written: Returns the hand-written text.
        replaced: Returns entries by source turn (session, turn id), of turns whose entries were all superseded.
    """

    def __init__(self, document: MemoryDocument, today: date) -> None:
        self.document = document
        self.today = today
        self.entries: Mapping[str, Entry] = {entry.id: entry for entry in document.entries}
        self.standing = once(lambda: by_strength(document.entries, today))
        self.written = once(lambda: Handwritten(document.prose))
        self.replaced = once(self._replaced)

    def _replaced(self) -> Mapping[tuple[str | None, str], Sequence[Entry]]:
        resting: dict[tuple[str | None, str], list[Entry]] = {}
        if any(entry.superseded_by for entry in self.entries.values()):
            for entry in self.entries.values():
                if entry.source and entry.source.startswith("turn:"):
                    resting.setdefault((entry.session, entry.source.removeprefix("turn:")), []).append(entry)
        return {place: found for place, found in resting.items() if all(entry.superseded_by for entry in found)}


def snapshot(book: Book) -> Snapshot:
    """Return the snapshot of the book's MEMORY.md, cached until the document or the day changes."""
    document, today, root = book.memory(), book.now().date(), book.storage.root
    known = _kept.get(root)
    if known is None or known.document is not document or known.today != today:
        if len(_kept) >= _MOST:
            _kept.clear()
        known = _kept[root] = Snapshot(document, today)
    return known
