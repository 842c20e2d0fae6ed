"""The labelled talks of `benchmarks/scenarios.py`: read, replayed by a scripted model, each in a book of its own."""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import memorybook
from benchmarks import books, measure, recall
from benchmarks.scripted import Recorded
from memorybook.agent.session import Workspace

if TYPE_CHECKING:
    from memorybook.config.settings import Config

Row = dict[str, Any]

TOKENS = 2_000
"""Of a prompt's block."""

PASSAGES = 500
"""Of the Chinese distractor."""

BEFORE = datetime(2025, 9, 1, tzinfo=UTC)
"""When the distractor came into the book: before all talks."""

LEAST = {"en": 12, "zh": 6}
"""Characters of a line below which it is not taken for one of the distractor's by its text alone."""

ORDER = "order"
"""The session in which a user orders to forget."""


class Clock:
    """A time that stands still until it is set."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """The time now."""
        return self.now


# --- what is labelled ----------------------------------------------------------------------------


class Talk(NamedTuple):
    """A talk, what is labelled of it, and what a careful model extracts from each session (by its name)."""

    id: str
    lang: str
    sessions: Sequence[Row]
    gold: Row
    extractions: Mapping[str, Row]

    @property
    def turns(self) -> list[Row]:
        """All turns, in order."""
        return [turn for session in self.sessions for turn in session["turns"]]


def talks(folder: Path) -> list[Talk]:
    """The talks of DATA/scenarios."""
    gold = {row["id"]: row for row in recall.lines(folder / "gold.jsonl")}
    extracted: dict[str, dict[str, Row]] = {}
    for row in recall.lines(folder / "extractions.jsonl"):
        extracted.setdefault(row["id"], {})[row["session"]] = row
    return [
        Talk(row["id"], row["lang"], row["sessions"], gold[row["id"]], extracted.get(row["id"], {}))
        for row in recall.lines(folder / "talks.jsonl")
    ]


def matches(match: str | Sequence[str], text: str) -> bool:
    """Whether a label is in a text: a string is a pattern, of a list all must occur; case never matters."""
    if isinstance(match, str):
        return re.search(match, text, re.I | re.S) is not None
    return all(part.lower() in text.lower() for part in match)


Task = tuple[Any, ...]


def spread(call: Callable[..., Any], tasks: Sequence[Task], jobs: int) -> list[Any]:
    """What a function returns for each tuple of arguments, in `jobs` processes."""
    if jobs == 1:
        return [call(*task) for task in tasks]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        return list(pool.map(call, *zip(*tasks, strict=True)))


def zone_of(talk: Talk) -> str:
    """The timezone in which the talk's people live, as the setting takes it."""
    offset = datetime.fromisoformat(talk.sessions[0]["time"]).utcoffset() or timedelta()
    hours, rest = divmod(int(offset.total_seconds()), 3600)
    return "Asia/Kolkata" if rest else f"Etc/GMT{-hours:+d}" if hours else "UTC"


# --- beside what a talk stands ---------------------------------------------------------------------


class Distractor:
    """What else a book holds, and how its lines are known.

    Args:
        folder: Where the book is, see `books.BOOK`.
        lang: Of the talks beside it.
        texts: All that was put into it.
    """

    def __init__(self, folder: Path, lang: str, texts: Sequence[str]) -> None:
        self.folder = folder
        self.lang = lang
        with books.opened(folder, {}, now=BEFORE) as memory:
            memory.context = memory.context._replace(missing_ok=True)
            self.entries = {known.entry.id for known in memory.entries().entries}
            self.sessions = {one.uuid for one in memory.sessions(limit=None).sessions}
            pages = [memory.document(one.path).text for one in memory.documents()]
        self.blob = " ".join(" ".join([*texts, *pages]).split())

    _PLACE = re.compile(r" ?\((?:\d{4}-\d\d-\d\d, )?(?:[^\s()]+#L\d+(?:-L?\d+)?|turn:[^\s()]+)(?:, [^()]*)?\)$")
    _OWN = re.compile(r"\((?:[^()]*, )?(?:notes/cmrc|turn:(?:[^()/]+/)?D\d+:\d+)")
    _HEAD = re.compile(r"^(?:[-*>] |\[[^\]]*\] |\(score: [^)]*\) |\d{4}-\d\d-\d\d\S* )+")

    def bare(self, line: str) -> str:
        """A line of a block without what says where it stands and of which day it is."""
        return self._HEAD.sub("", self._PLACE.sub("", line.strip()))

    def said(self, line: str) -> bool:
        """Whether a line is the distractor's, by its place or by its exact text."""
        if self._OWN.search(line):
            return True
        if "turn:dev-" in line:
            return False
        bare = " ".join(self.bare(line).strip("… ").split())
        parts = (bare, *(bare.partition(mark)[2].strip("… ") for mark in (": ", "：")))
        return any(len(part) >= LEAST[self.lang] and part in self.blob for part in parts)

    def without(self, text: str, *, bare: bool = False) -> list[str]:
        """The lines of a text that are not the distractor's; with `bare` only what they say."""
        lines = (line for line in text.splitlines() if line.strip() and not self.said(line))
        return [self.bare(line) if bare else line for line in lines]


LINES, SECTIONS, ENTRIES = 5_000, 20, 10_000
"""Hand-written lines, their sections, and entries of a large book."""


def large(lang: str) -> str:
    """The text of a large MEMORY.md, always the same: statements of random words that nobody asks about."""
    drawn = random.Random(1)
    words = (NOUNS_EN if lang == "en" else NOUNS_ZH).split()
    join = " ".join if lang == "en" else "".join
    parts = ["# Agent Memory\n"]
    for section in range(SECTIONS):
        parts.append(f"## {words[section]} {section}\n")
        parts += [f"- {join(drawn.sample(words, 6))} {number}" for number in range(LINES // SECTIONS)]
        parts.append("")
    parts.append("## Active Memories\n")
    say = "The {} is kept beside the {}, number {}." if lang == "en" else "{}放在{}旁边，编号{}。"
    for number in range(ENTRIES):
        day = f"2025-{1 + number % 12:02d}-{1 + number % 28:02d}"
        parts.append(f"### [p{number:05d}] fact | 0.60 | {day} | 1\n{say.format(*drawn.sample(words, 2), number)}")
        parts.append(f"<!-- score: 0.6; scored: {day}; created: {day}T10:00:00Z; trust: user -->\n")
    return "\n".join(parts)


NOUNS_EN = (
    "river stone cloud window paper garden bridge market engine harbour copper silver pocket candle thunder orchard"
    " lantern compass barrel ladder pillow anchor basket mirror feather kettle saddle marble ribbon timber"
)
NOUNS_ZH = (
    "石头 云朵 纸张 花园 桥梁 集市 引擎 港口 铜器 银器 口袋 蜡烛 雷声 果园 灯笼 罗盘"
    " 木桶 梯子 枕头 船锚 篮子 镜子 羽毛 水壶 马鞍 大理石 丝带 木材 毛毯 风筝"
)


def build(data: Path, root: Path, lang: str, *, padded: bool = False) -> None:
    """A book with the distractor of a language: an imported conversation, or documents in the book's folder.

    With `padded`, its MEMORY.md is `large`, too.
    """
    folder = root / lang
    (folder / books.BOOK).mkdir(parents=True)
    if padded:
        (folder / books.BOOK / "MEMORY.md").write_text(large(lang), encoding="utf-8")
    texts: list[str] = []
    with books.opened(folder, {}, now=BEFORE) as memory:
        if lang == "en" and (path := data / "locomo" / "conv-26.jsonl").exists():
            texts = [str(row["content"]) for row in recall.lines(path)]
            memory.import_file(str(path))
        elif lang == "zh" and (path := data / "cmrc" / "corpus.jsonl").exists():
            rows = recall.lines(path)[:PASSAGES]
            texts = [str(row["text"]) for row in rows]
            articles: dict[str, list[str]] = {}
            for row in rows:
                articles.setdefault(row["session"], []).append(row["text"])
            notes = folder / books.BOOK / "notes"
            notes.mkdir()
            for number, parts in enumerate(articles.values(), 1):
                (notes / f"cmrc-{number}.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
        memory.remember("distractor") if not texts else None
        books.finish(memory)
        memory.export()  # a file that the talk's export is held against
    (folder / "texts.json").write_text(json.dumps(texts, ensure_ascii=False), encoding="utf-8")


def distractor(root: Path, lang: str) -> Distractor:
    """The distractor that `build` made."""
    return Distractor(root / lang, lang, json.loads((root / lang / "texts.json").read_text(encoding="utf-8")))


# --- a talk in its book ----------------------------------------------------------------------------


class Taken:
    """A talk that was taken into a book of its own, beside the distractor, session by session, as of their days.

    Attributes:
        model: The scripted model; None in mode `rules`.
        clock: Its time: after `take_in` an hour after the last turn.
    """

    def __init__(self, talk: Talk, mode: str, beside: Distractor, folder: Path) -> None:
        self.talk = talk
        self.mode = mode
        self.beside = beside
        self.folder = folder
        self.settings = {"timezone": zone_of(talk)}
        self.clock = Clock(BEFORE)
        texts = {turn["id"]: turn["content"] for turn in talk.turns}
        self.model = Recorded(texts) if mode == "model" else None
        # others read the distractor meanwhile: what SQLite keeps beside its databases comes and goes
        ignored = shutil.ignore_patterns("*-shm", "*-wal")
        shutil.copytree(beside.folder / books.BOOK, folder / books.BOOK, ignore=ignored)

    def open(self) -> memorybook.Memory:
        """The book, by the talk's clock."""
        return books.opened(self.folder, self.settings, llm=self.model, clock=self.clock)

    @property
    def root(self) -> Path:
        """Directory of the book."""
        return self.folder / books.BOOK

    @property
    def config(self) -> Config:
        """The settings of `open`."""
        return memorybook.load_config(cwd=str(self.folder), env={"HOME": str(self.folder)}, arguments=self.settings)

    def workspace(self) -> Workspace:
        """The book as agents and chats have it, by the same clock."""
        return Workspace(book=str(self.root), config=self.config, llm=self.model, clock=self.clock, workers=1)

    def told(self, memory: memorybook.Memory, question: str) -> list[str]:
        """What a prompt's block says for a question, line by line, without the distractor's."""
        return self.beside.without(memory.recall(question, max_tokens=TOKENS).text, bare=True)

    def take_in(self, memory: memorybook.Memory, *, again: bool = False) -> None:
        """Take in every session as it ended; `again` later, by the clock as it is."""
        for session in self.talk.sessions:
            last = datetime.fromisoformat(session["turns"][-1]["timestamp"])
            if not again:
                self.clock.now = last.astimezone(UTC) + timedelta(minutes=1)
            self.expect(self._recorded(session["id"]))
            memory.process_session_end(session["turns"], session["id"])
        if not again:
            self.clock.now += timedelta(hours=1)
        books.finish(memory)

    def _recorded(self, session: str) -> Row:
        """What is recorded for a session, with what was found before that the user wants gone."""
        labels = [one["match"] for one in self.talk.gold["never"] if one["why"] == "forget_order"]
        return {**self.talk.extractions.get(session, {}), "gone": self.stated(labels)}

    def stated(self, labels: Sequence[str | Sequence[str]]) -> list[str]:
        """The recorded statements that match one of these labels."""
        found = [one["content"] for each in self.talk.extractions.values() for one in each["candidates"]]
        return [text for text in found if any(matches(label, text) for label in labels)]

    def expect(self, answer: Row, texts: Mapping[str, str] | None = None) -> None:
        """What the model answers next, with turns that are new to it."""
        if self.model is not None:
            self.model.answer = answer
            self.model.texts = {**self.model.texts, **(texts or {})}


def files(folder: Path) -> list[Path]:
    """All files of the book in a folder."""
    return sorted(path for path in (folder / books.BOOK).rglob("*") if path.is_file())


# --- the command line ----------------------------------------------------------------------------


def add_flags(made: argparse.ArgumentParser) -> None:
    """Add the arguments that say which talks are measured and where the rows go."""
    made.add_argument("data", type=Path, help="folder of the sets")
    made.add_argument("--lang", choices=("en", "zh"), help="only talks in this language")
    made.add_argument("--talk", action="append", dest="talks", help="only this talk")
    made.add_argument("--json", type=Path, help="a file for all rows, with the texts that were judged")
    made.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")


def asked_talks(flags: argparse.ArgumentParser, options: argparse.Namespace) -> list[Talk]:
    """The talks that the flags choose; [], and a remark, where the set is missing. Exit with 2 if none fits."""
    folder = options.data / "scenarios"
    if not (folder / "talks.jsonl").exists():
        measure.say(f"skipped: no {folder / 'talks.jsonl'}")
        return []
    chosen = [
        talk
        for talk in talks(folder)
        if options.lang in (None, talk.lang) and (not options.talks or talk.id in options.talks)
    ]
    if not chosen:
        flags.error("there is no such talk")
    return chosen
