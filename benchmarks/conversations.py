"""The four recalls of past conversations on labelled talks, and what they cost as the transcripts grow.

Usage: python benchmarks/conversations.py DATA [--set locomo …] [--only recall,growth] [--out FOLDER]

DATA holds a folder per set, as for `benchmarks/recall.py`; `zh-agent` has `conversation.jsonl`. Each conversation is
imported into a book of its own, once per setting, and every question that has evidence is asked there. Recall@5 in
percent, averaged over questions: the share of the sessions of the relevant turns among the first five sessions of the
answer, and of the relevant turns among its first five turns. A set whose `annotations.json` says `now` is asked then.

- topic: `recall_topic(question, top=5)`. A question with `before_idx` is asked for what was said until that day;
  sessions and turns that came later are left out.
- within: `recall_within(session, question, top=5)` in each session that has evidence; turns are those of that session.
- session: `recall_session(words)` for each session that has evidence, by its name, its day (2026-03-10, "March 10,
  2026", 2026年3月10日) and its place ("the third session", 第三次), averaged; turns are those of the session that came.
- history: `recall_history(5)` from the first to the last day of the month of each session that has evidence. A turn
  counts if a line of a summary quotes it.

`sums` compares ways to sum up a session's evidence, over the first 100 results of a search for the question.

Growth: storing one turn, opening a session, recalling one, and a topic recall with 100,000 turns in 2,000 sessions,
against the same with 1,000 turns in 20; both books in one process, in turn, pair by pair.
"""

from __future__ import annotations

import argparse
import calendar
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

if not __package__:  # run as a file: `benchmarks` is a package of the checkout
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

import memorybook
from benchmarks import books, corpus, measure, recall
from memorybook.agent.session import Workspace
from memorybook.errors import NotFound
from memorybook.model import Session, Turn
from memorybook.search.types import Query

SETS = ("locomo", "realmem", "zh-agent")
PARTS = ("recall", "growth")
SMALL, LARGE = 1_000, 100_000
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
HAN = "一二三四五六七八九十"
SCENES = ("topic", "within", "session", "history")

SUMS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "best": max,
    "sum of 3": lambda scores: sum(scores[:3]),
    "sum of all": sum,
    "square root of the sum of squares": lambda scores: sum(score**2 for score in scores) ** 0.5,
    "sixth root of the sum of sixth powers": lambda scores: sum(score**6 for score in scores) ** (1 / 6),
    "geometric, 0.3": lambda scores: sum(score * 0.3**place for place, score in enumerate(scores)),
    "geometric, 0.5": lambda scores: sum(score * 0.5**place for place, score in enumerate(scores)),
}
"""Ways to sum up the scores of a session's results, best first."""

Row = dict[str, Any]


# --- the four recalls ------------------------------------------------------------------------------


class Talk:
    """A conversation as a set has it.

    Args:
        turns: Id of a turn -> its row.
    """

    def __init__(self, turns: Mapping[str, Row]) -> None:
        self.turns = turns
        self.session = {id: str(row["session"]) for id, row in turns.items()}
        self.first: dict[str, int] = {}
        for place, (id, row) in enumerate(turns.items()):
            self.first.setdefault(self.session[id], int(row.get("idx", place)))

    def evidence(self, query: Row) -> dict[str, set[str]]:
        """The relevant turns by session."""
        found: dict[str, set[str]] = {}
        for id in query["relevant_ids"]:
            if id in self.session:
                found.setdefault(self.session[id], set()).add(id)
        return found

    def known(self, id: str, limit: int | None) -> bool:
        """Whether a turn had been said when the question was asked."""
        return id in self.turns and (limit is None or int(self.turns[id].get("idx", 0)) < limit)


def topic(memory: memorybook.Memory, talk: Talk, query: Row) -> tuple[list[str], list[str]]:
    """Sessions and turns that a recall by topic brings, best first."""
    limit = query.get("before_idx")
    until = None if limit is None else recall._until(talk.turns, limit)
    found = memory.recall_topic(query["question"], top=5 if limit is None else 20, until=until)
    names = [session.name for session in found.sessions]
    sessions = [name for name in names if limit is None or talk.first.get(name, limit) < limit]
    return sessions[:5], [turn.id for turn in found.turns if talk.known(turn.id, limit)][:5]


def within(memory: memorybook.Memory, talk: Talk, query: Row, session: str) -> list[str]:
    """Turns of a session that a recall within it brings, best first."""
    limit = query.get("before_idx")
    found = memory.recall_within(session, query["question"], top=5 if limit is None else 20)
    return [turn.id for turn in found.turns if talk.known(turn.id, limit)][:5]


def named(memory: memorybook.Memory, sessions: Sequence[Any], session: str) -> Iterator[str]:
    """Words that mean a session, of all sessions of a book, newest first."""
    known = next(one for one in sessions if one.name == session)
    yield session
    if known.started is not None:
        day = memory.book.day(known.started)
        same = [one for one in sessions if one.started is not None and memory.book.day(one.started) == day]
        if same[0].name == session:  # a day means the last session of it
            yield day.isoformat()
            yield f"{day:%B} {day.day}, {day.year}"
            yield f"{day.year}年{day.month}月{day.day}日"
    place = len(sessions) - [one.name for one in sessions].index(session)
    if place <= len(ORDINALS):
        yield f"the {ORDINALS[place - 1]} session"
        yield f"第{HAN[place - 1]}次"


def opened(memory: memorybook.Memory, words: str) -> tuple[str, set[str]]:
    """Name and turns of the session that words mean; none if they mean none."""
    try:
        found = memory.recall_session(words)
    except NotFound:
        return "", set()
    return found.sessions[0].name, {turn.id for turn in found.turns}


def month(memory: memorybook.Memory, known: Any) -> tuple[list[str], str]:
    """Names of the sessions, and all summaries, of the month in which a session began."""
    if known.started is None:
        return [], ""
    day = memory.book.day(known.started)
    last = date(day.year, day.month, calendar.monthrange(day.year, day.month)[1])
    found = memory.recall_history(5, since=day.replace(day=1), until=last)
    return [session.name for session in found.sessions], "\n".join(session.summary for session in found.sessions)


def quotes(summaries: str, text: str) -> bool:
    """Whether a line of the summaries quotes a text."""
    said = " ".join(text.split())
    lines = (line.partition(": ")[2] or line.partition("：")[2] for line in summaries.splitlines())
    return any(len(line) > 5 and line.rstrip("…") in said for line in lines)


def ask(memory: memorybook.Memory, talk: Talk, query: Row, known: Mapping[str, Row]) -> Row:
    """The figures of one question; `known` holds what is the same for every question about a session."""
    evidence = talk.evidence(query)
    wanted = [(session, id) for session, ids in evidence.items() for id in ids]
    sessions, turns = topic(memory, talk, query)
    inside = {id for session in evidence for id in within(memory, talk, query, session)}
    months = [known[session]["month"] for session in evidence]
    words = [known[session]["words"] for session in evidence]
    return {
        "topic sessions": recall.recall_at(sessions, evidence, 5),
        "topic turns": recall.recall_at(turns, query["relevant_ids"], 5),
        "within turns": 100 * len(inside & {id for _, id in wanted}) / len(wanted),
        "session sessions": 100 * measure.mean([measure.mean(right) for right in words]),
        "session turns": 100 * measure.mean([measure.mean(known[session]["words"]) for session, _ in wanted]),
        "history sessions": 100
        * measure.mean([session in names for session, (names, _) in zip(evidence, months, strict=True)]),
        "history turns": 100
        * measure.mean([quotes(known[session]["month"][1], str(text_of(talk.turns[id]))) for session, id in wanted]),
        "sums": sums(memory, query, evidence, known),
    }


def text_of(row: Row) -> str:
    """What was said."""
    return str(row.get("content") or row.get("text") or "")


def sums(
    memory: memorybook.Memory, query: Row, evidence: Mapping[str, set[str]], known: Mapping[str, Row]
) -> dict[str, float]:
    """Session recall at 5 by each of `SUMS`; questions about an earlier day are left out."""
    if query.get("before_idx") is not None:
        return {}
    groups: dict[str, list[float]] = {}
    asked = Query(query["question"], sources=frozenset({"turn", "summary"}))
    for hit in memory.book.search(asked, limit=100).hits:
        if hit.passage.session:
            groups.setdefault(hit.passage.session, []).append(max(0.0, hit.score))
    names = {one["uuid"]: name for name, one in known.items()}
    found = {}
    for name, way in SUMS.items():
        order = sorted(groups, key=lambda session: -way(groups[session]))
        found[name] = recall.recall_at([names.get(session, session) for session in order], evidence, 5)
    return found


def sessions_of(memory: memorybook.Memory, names: Iterable[str]) -> dict[str, Row]:
    """What is the same for every question about a session, by its name."""
    listed = memory.sessions(limit=None).sessions
    found = {}
    for name in names:
        one = next(session for session in listed if session.name == name)
        right = [float(opened(memory, words)[0] == name) for words in named(memory, listed, name)]
        found[name] = {"uuid": one.uuid, "words": right, "month": month(memory, one)}
    return found


# --- a set -----------------------------------------------------------------------------------------


def scopes(folder: Path) -> Iterator[tuple[Path, str | None, dict[str, Row], list[Row]]]:
    """Each conversation of a set: its file, its scope in it, its turns, and the questions that have evidence."""
    asked = [
        {**query, "relevant_ids": query.get("relevant_ids") or query.get("relevant_turns") or []}
        for query in recall.lines(folder / "queries.jsonl")
    ]
    by_scope: dict[str | None, list[Row]] = {}
    for query in asked:
        if query["relevant_ids"]:
            by_scope.setdefault(query.get("scope"), []).append(query)
    key = "scope" if len(by_scope) >= recall.FEWEST else "id"
    for scope, queries in by_scope.items():
        files = [folder / f"{scope}.jsonl", folder / "corpus.jsonl", folder / "conversation.jsonl"]
        path = next(path for path in files if path.exists())
        turns = {str(row["id"]): row for row in recall.lines(path) if row.get("scope", scope) == scope}
        for query in queries:
            query["half"] = recall.half_of(folder.name, str(query[key]))
        yield path, scope, turns, queries


def run(folder: Path, settings: Mapping[str, Mapping[str, str]]) -> Iterator[Row]:
    """Each question of a set under each setting, book by book."""
    notes = folder / "annotations.json"
    now = datetime.fromisoformat(json.loads(notes.read_text(encoding="utf-8"))["now"]) if notes.exists() else None
    for path, scope, turns, queries in scopes(folder):
        talk = Talk(turns)
        for setting, given in settings.items():
            with tempfile.TemporaryDirectory() as root, books.opened(Path(root), given, now=now) as memory:
                memory.import_file(str(path), scope=scope)
                books.finish(memory)
                names = dict.fromkeys(name for query in queries for name in talk.evidence(query))
                known = sessions_of(memory, names)
                for query in queries:
                    about = {"set": folder.name, "setting": setting, "id": query["id"], "half": query["half"]}
                    yield {**about, **ask(memory, talk, query, known)}
        measure.say(f"{folder.name} {scope or ''}: {len(queries)} questions")


# --- growth ----------------------------------------------------------------------------------------


def fill(memory: memorybook.Memory, turns: int) -> None:
    """Sessions of fifty turns of the made-up corpus, each with a title and a summary of its own."""
    for start in range(0, turns, corpus.TURNS_PER_SESSION):
        said = [corpus.passage(2 * number + 1) for number in range(start, start + corpus.TURNS_PER_SESSION)]
        uuid = said[0].session
        summary = "\n".join(f"{one.speaker}: {one.text[:200]}" for one in said[::10])
        session = Session(uuid=uuid, name=uuid, title=" ".join(said[0].words[:4]), summary=summary, ended=said[-1].time)
        memory.book.transcripts.append(session, [turn_of(uuid, one) for one in said])
    books.finish(memory)


def turn_of(session: str, said: corpus.Passage) -> Turn:
    """A passage of the corpus as a turn."""
    return Turn(id=f"p{said.number}", session=session, text=said.text, speaker=said.speaker, time=said.time)


def growth(rounds: int) -> Row:
    """Timings with many turns against few, in turn, in one process."""
    with tempfile.TemporaryDirectory() as root:
        folders = {turns: Path(root, str(turns)) for turns in (SMALL, LARGE)}
        for turns, folder in folders.items():
            folder.mkdir()
            with books.opened(folder, {}) as memory:
                fill(memory, turns)
            measure.say(f"{turns} turns stored")
        with books.opened(folders[SMALL], {}) as small, books.opened(folders[LARGE], {}) as large:
            steps = {
                "storing a turn": (storing(small), storing(large), rounds),
                "recalling a session": (recalling(small), recalling(large), rounds),
                "a recall by topic": (asking(small), asking(large), rounds),
                "opening a session": (opening(folders[SMALL]), opening(folders[LARGE]), max(5, rounds // 4)),
            }
            return {name: measure.pairs(many, few, times).json() for name, (few, many, times) in steps.items()}


def storing(memory: memorybook.Memory) -> Callable[[], object]:
    """Stores one more turn in the newest session, durably."""
    [newest] = memory.book.transcripts.sessions(limit=1)
    numbers = iter(range(10**9))

    def store() -> object:
        said = corpus.passage(-1 - 2 * next(numbers))
        at = (newest.updated or said.time) + timedelta(seconds=1)
        turn = Turn(id=f"m{said.number}", session=newest.uuid, text=said.text, speaker=said.speaker, time=at)
        return memory.book.transcripts.append(newest, [turn])

    return store


def recalling(memory: memorybook.Memory) -> Callable[[], object]:
    """Recalls the first session: its summary and its turns."""
    name = corpus.passage(1).session
    return partial(memory.recall_session, name)


def asking(memory: memorybook.Memory) -> Callable[[], object]:
    """Asks the next of some questions on what both books hold."""
    questions = [question.text for question in corpus.questions(2 * SMALL, 10)]
    numbers = iter(range(10**9))
    return lambda: memory.recall_topic(questions[next(numbers) % len(questions)])


def opening(folder: Path) -> Callable[[], object]:
    """Opens the book and a session in it, with what was said there before, and closes both."""
    config = memorybook.load_config(cwd=str(folder), env={"HOME": str(folder)}, arguments={})

    def open_session() -> object:
        with Workspace(book=str(folder / books.BOOK), config=config) as place:
            return place.session("bench", "1").messages

    return open_session


# --- tables ----------------------------------------------------------------------------------------

COLUMNS = (
    ("topic", "sessions"), ("topic", "turns"), ("within", "turns"), ("session", "sessions"), ("session", "turns"),
    ("history", "sessions"), ("history", "turns"),
)  # fmt: skip


def report(rows: Sequence[Row], grown: Mapping[str, Row], facts: Mapping[str, str]) -> str:
    """All tables, as they stand in docs/benchmarks.md."""
    parts = []
    if rows:
        parts += [averages(rows, "set", "setting"), "By half:\n\n" + averages(rows, "set", "setting", "half")]
        parts.append("Ways to sum up a session, R@5 of sessions:\n\n" + summed(rows))
    if grown:
        body = [
            [name, f"{one['reference']:.2f}", f"{one['p50']:.2f}", f"{one['ratio']:.2f}", one["rounds"]]
            for name, one in grown.items()
        ]
        head = ["step", f"{SMALL:,} turns, ms", f"{LARGE:,} turns, ms", "ratio", "pairs"]
        parts.append("As transcripts grow:\n\n" + measure.table(head, body))
    return "\n".join([*parts, measure.where_and_when(facts)])


def averages(rows: Sequence[Row], *keys: str) -> str:
    """A line for each group of these keys, in the order they came."""
    body = []
    for group, members in recall.grouped(rows, *keys).items():
        figures = [measure.mean([row[f"{scene} {what}"] for row in members]) for scene, what in COLUMNS]
        body.append([*group, len(members), *(f"{figure:.1f}" for figure in figures)])
    return measure.table([*keys, "questions", *(f"{scene}: {what}" for scene, what in COLUMNS)], body)


def summed(rows: Sequence[Row]) -> str:
    """A line for each way to sum up, a column for each set and setting."""
    groups = recall.grouped([row for row in rows if row["sums"]], "set", "setting")
    body = [
        [way, *(f"{measure.mean([row['sums'][way] for row in members]):.1f}" for members in groups.values())]
        for way in SUMS
    ]
    return measure.table(["way", *(" ".join(group) for group in groups)], body)


# --- the command -----------------------------------------------------------------------------------


def parser() -> argparse.ArgumentParser:
    """The flags."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("data", type=Path, nargs="?", help="folder of the sets")
    made.add_argument("--set", action="append", dest="sets", help=f"only this set (default: {', '.join(SETS)})")
    made.add_argument("--setting", action="append", nargs="+", metavar=("NAME", "KEY=VALUE"), dest="settings")
    made.add_argument("--only", default=",".join(PARTS), help=f"some of: {', '.join(PARTS)}")
    made.add_argument("--rounds", type=int, default=100, help="pairs of timings of each step")
    measure.add_output(made, "conversations")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; the arguments are those of the command line if None."""
    flags = parser()
    options = measure.parsed(flags, arguments, "conversations")
    parts = options.only.split(",")
    try:
        settings = recall.settings_of(options.settings)
        if unknown := set(parts) - set(PARTS):
            raise ValueError(f"--only {min(unknown)!r}: there are {', '.join(PARTS)}")
        if "recall" in parts and options.data is None:
            raise ValueError("name the folder of the sets")
    except ValueError as error:
        flags.error(str(error))
    rows: list[Row] = []
    for name in (options.sets or SETS) if "recall" in parts else ():
        if (options.data / name / "queries.jsonl").exists():
            rows += run(options.data / name, settings)
        else:
            measure.say(f"skipped {name}: no {options.data / name / 'queries.jsonl'}")
    grown = measure.apart(growth, options.rounds) if "growth" in parts else {}
    grown.pop("peak_mb", None)
    facts = measure.machine()
    measure.save(options, "conversations", {"facts": facts, "questions": rows, "growth": grown})
    measure.publish(options, "conversations", report(rows, grown, facts), [])
    return 0


if __name__ == "__main__":
    sys.exit(main())
