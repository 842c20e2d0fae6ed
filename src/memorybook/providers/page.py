"""The long-term memory as one page of Markdown: as a prompt shows it, and as a model gives it back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from typing import NamedTuple

from memorybook.formats.entry_block import HANDMADE_SCORE, read_entry, render_entry
from memorybook.formats.escape import Fences, unescape
from memorybook.formats.memory_md import MemoryDocument
from memorybook.formats.sections import Section
from memorybook.model import Category, Entry
from memorybook.prompt.standing import UNASKED
from memorybook.providers.flat_prompts import CONSOLIDATE
from memorybook.text.screen import screen
from memorybook.text.splitting import blocks
from memorybook.text.tokens import normalise

_MARK = re.compile(r"(?m)^(?:(#{1,6})[ \t]+\S[^\n]*|```|~~~)")
_COMMENT = re.compile(r"(?s)<!--.*?-->")
_ENTRY = re.compile(r"###[ \t]*(?:\[[^\]\n]+\]|[^\n]*\|)")
_ARCHIVED = re.compile(r"(?i)archived?\b|归档|存档")
_WRAPPED = re.compile(r"(?s)\A\s*(`{3,}|~{3,})[ \t]*(?:markdown|md)?[ \t]*\n(.*?)\n?\1\s*\Z")

_ELIDED = re.compile(
    r"""(?ix)[\W_]*(?:
        (?:there\s(?:are|is)\s)?no\s(?:changes?|updates?|new\s(?:information|memor\w+|facts?))
        (?:\s(?:needed|required|necessary))?
      | (?:(?:the\s)?(?:rest|others?|existing)(?:\s(?:of\s(?:the\s)?)?\w+)?|all\sothers?(?:\s\w+)?
        |memory|everything(?:\selse)?)?
        \s*(?:(?:is|are|stays?|remains?)\s)?(?:unchanged|the\ssame|as\s(?:before|above|is))
      | \w+\somitted(?:\sfor\sbrevity)?
      | (?:记忆|内容)?(?:无|没有|暂无|未有)(?:任何)?(?:变化|更新|变动|新增(?:内容|信息)?|改动)
      | (?:其余|其他|其它|剩余|记忆|内容)?\w{0,6}(?:不变|同上|从略|省略|保持原样|无需更新)
    )[\W_]*|\s*(?:[-*]\s*)?[\[(]?(?:\.{3,}|…+)[\])]?\s*"""
)
"""A line that stands for what is not written out again."""

_LONGEST_ELIDED = 80

_CATEGORIES: tuple[tuple[str, Category], ...] = (
    (r"prefer|likes|style|偏好|喜好|习惯", "preference"),
    (r"decision|decided|决定|决策", "decision"),
    (r"\bto-?dos?\b|tasks?\b|待办|任务", "todo"),
    (r"workflow|process|流程|规矩", "workflow"),
    (r"experience|lesson|learn|经验|教训", "experience"),
    (r"tools?\b|skills?\b|工具|技能", "skill_usage"),
    (r"context|status|current|背景|现状|进展", "context"),
)
"""What stands under a heading that holds such a word; anything else is a fact."""


class Page(NamedTuple):
    """The long-term memory as it is shown.

    Attributes:
        text: What a person wrote and the entries that may be shown, in the order of the document; "" if nothing.
        entries: Of each entry in it, by id, the text that is shown.
        prose: What a person wrote, normalised, item by item.
    """

    text: str
    entries: Mapping[str, str]
    prose: frozenset[str]


def page_of(document: MemoryDocument, *, today: date, mask: Callable[[str], str] = str) -> Page:
    """MEMORY.md without comments, and without headings that have nothing under them.

    What is archived, superseded or lapsed is no part of it, nor what tries to instruct its reader.

    Args:
        document: The document.
        today: UTC day: what expired before it has lapsed.
        mask: What each text goes through, for a page that leaves the machine.
    """
    pieces: list[str] = []
    entries: dict[str, str] = {}
    prose: list[str] = []
    for part in document.parts:
        if isinstance(part, str):
            written = mask(_unharmed(part))
            prose += statements(written)
            pieces.append(written)
        elif not part.archived:
            pieces.append(_shown_section(part, today, mask, entries))
    return Page(_without_empty_headings("\n\n".join(pieces)), entries, frozenset(map(normalise, prose)))


def _unharmed(text: str) -> str:
    """A person's text without comments and without the lines that try to instruct."""
    text = _harmless(_COMMENT.sub("", text.removeprefix("\ufeff")))
    return "\n".join(line.rstrip() for line in text.splitlines() if not screen(line))


def _harmless(text: str) -> str:
    """The text, unable to end the markers around the page."""
    return text.replace("<!--", "<! --").replace("-->", "-- >")


def _shown_section(section: Section, today: date, mask: Callable[[str], str], entries: dict[str, str]) -> str:
    """The section's heading and what of its blocks is shown; its entries go into `entries`."""
    shown = [section.heading.strip()]
    for block in section.blocks:
        if block.entry is None:
            shown.append(mask(_unharmed(block.raw)).strip())
        elif is_shown(block.entry, today):
            title, _, rest = render_entry(block.entry).partition("\n")
            text = mask(_harmless(rest[: rest.rindex("\n<!--")]))
            entries[block.entry.id] = unescape(text)
            shown.append(f"{title}\n{text}")
    return "\n\n".join(filter(None, shown))


def is_shown(entry: Entry, today: date) -> bool:
    """Whether an entry may stand in a prompt unasked: active, not lapsed, trusted."""
    return (
        entry.state == "active"
        and (entry.expires is None or entry.expires >= today)
        and entry.trust not in UNASKED
        and not screen(entry.text)
    )


# --- headings ------------------------------------------------------------------------------------


class _Part(NamedTuple):
    """A heading (level 0 and "": none) and what stands between it and the next one."""

    level: int
    heading: str
    body: str


def _parts(text: str) -> Iterator[_Part]:
    """The text by its headings; what looks like one in a closed code fence is none."""
    fences = Fences(text)
    level, heading, begin, skip = 0, "", 0, 0
    for mark in _MARK.finditer(text):
        if mark.start() < skip:
            continue
        if mark[1] is None:
            skip = fences.end(mark.start())
            continue
        yield _Part(level, heading, text[begin : mark.start()])
        level, heading, begin = len(mark[1]), mark[0].rstrip(), mark.end() + 1
    yield _Part(level, heading, text[begin:])


def _without_empty_headings(text: str) -> str:
    kept: list[str] = []
    following = 0  # level of the next heading that is kept
    for part in reversed(list(_parts(text))):
        body = re.sub(r"\n{3,}", "\n\n", part.body.strip("\n")).rstrip()
        if body or following > part.level > 0:
            kept.append("\n".join(filter(None, (part.heading, body))))
            following = part.level
    return "\n\n".join(reversed(kept))


# --- what a model gives back -----------------------------------------------------------------------


class Statement(NamedTuple):
    """Something that the page did not say before: its text, as what, and how strong (0..1)."""

    text: str
    category: Category
    score: float = HANDMADE_SCORE


class Rewrite(NamedTuple):
    """How a page that a model gives back differs from the one that it was shown.

    Attributes:
        changed: Text and category of entries, by id, that say something else now.
        gone: Ids of entries that it no longer has.
        new: What it has besides, in order.
    """

    changed: Mapping[str, Statement]
    gone: tuple[str, ...]
    new: tuple[Statement, ...]


def read_rewrite(text: str, page: Page, categories: Mapping[str, Category], *, day: date) -> Rewrite:
    """Compare a page with the one that was shown, by id; a text that is the same is the same entry without one too.

    What a person wrote is theirs: it is not gone if the page lacks it. Nothing is gone from a page that leaves out
    something and says so ("no changes", 其余不变, a line of dots).

    Args:
        text: The whole page in Markdown, as a model wrote it.
        page: As it was shown.
        categories: Of the entries that were shown, by id.
        day: Today, UTC.
    """
    reading = _Reading(page, categories)
    wrapped = _WRAPPED.match(text)
    lines = (wrapped[2] if wrapped else text).split("\n")
    whole = [line for line in lines if len(line) > _LONGEST_ELIDED or not _ELIDED.fullmatch(line)]
    for part in _parts(_COMMENT.sub("", "\n".join(whole))):
        reading.take(part, day)
    gone = tuple(id for id in page.entries if id not in reading.seen) if len(whole) == len(lines) else ()
    return Rewrite(reading.changed, gone, tuple(reading.new))


class _Reading:
    """The pages compared so far."""

    def __init__(self, page: Page, categories: Mapping[str, Category]) -> None:
        self.seen: set[str] = set()
        self.changed: dict[str, Statement] = {}
        self.new: list[Statement] = []
        self._page = page
        self._categories = categories
        self._by_text = {normalise(text): id for id, text in page.entries.items()}
        self._known = {*page.prose, *(normalise(words.empty) for words in CONSOLIDATE.values())}
        self._path: list[tuple[int, str]] = []

    def take(self, part: _Part, day: date) -> None:
        """Read what stands under one heading."""
        if part.level == 3 and _ENTRY.match(part.heading):
            self._entry(part, day)
            return
        if part.level:
            self._path = [above for above in self._path if above[0] < part.level]
            self._path.append((part.level, part.heading))
        self._loose(part.body)

    def _entry(self, part: _Part, day: date) -> None:
        if self._archived():
            return
        found = read_entry(f"{part.heading}\n{part.body}", day=day, archived=False).entry
        if found is not None:
            self._take(found.id, Statement(found.text, found.category, found.score))
        else:
            named = re.search(r"\[([^\[\]\s]+)\]", part.heading)
            self.seen |= {named[1]} & self._page.entries.keys() if named else set()

    def _loose(self, body: str) -> None:
        for text in () if self._archived() else statements(body):
            named = re.match(r"\[([^\[\]\s]+)\]\s+(?=\S)", text)
            if named and named[1] in self._page.entries:
                self._take(named[1], Statement(text[named.end() :], self._categories[named[1]]))
            else:
                self._add(Statement(text, _category(self._path)))

    def _archived(self) -> bool:
        return any(_ARCHIVED.search(heading) for _, heading in self._path)

    def _take(self, id: str, said: Statement) -> None:
        """What stands under an id: the entry as it was, or reworded; new if the page showed no such entry."""
        shown = self._page.entries.get(id)
        if shown is None or id in self.seen or self._by_text.get(normalise(said.text), id) != id:
            self._add(said)
            return
        self.seen.add(id)
        if _folded(shown) != _folded(said.text) or said.category != self._categories[id]:
            self.changed[id] = said
            self._known.add(normalise(said.text))

    def _add(self, said: Statement) -> None:
        """Something without the id of an entry that was shown: known by its text, or new."""
        key = normalise(said.text)
        if key in self._by_text:
            self.seen.add(self._by_text[key])
        elif key and key not in self._known:
            self._known.add(key)
            self.new.append(said)


def statements(text: str) -> list[str]:
    """The items and paragraphs of Markdown."""
    return [unescape(block.text) for block in blocks(text)]


def _category(path: Iterable[tuple[int, str]]) -> Category:
    """By the nearest heading that says."""
    for _, heading in reversed(list(path)):
        for words, category in _CATEGORIES:
            if re.search(words, heading, re.I):
                return category
    return "fact"


def _folded(text: str) -> str:
    return " ".join(text.split())
