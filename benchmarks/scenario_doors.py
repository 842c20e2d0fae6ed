"""After "forget …": every door through which a book could still tell it, see `benchmarks/scenarios.py`."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import memorybook
from benchmarks import books
from benchmarks.scenario_books import ORDER, Distractor, Row, Taken, Talk, files
from memorybook.agent.turn_context import compose
from memorybook.hooks.event import context
from memorybook.providers import open_provider
from memorybook.search.types import place_of
from memorybook.sessions.user_commands import Obeyed

PASSES = ("said", "again", "echoed")

ONCE = ("recall_history", "recall_session", "summaries", "documents", "entries", "hook start", "flat page", "export")
"""Doors that no question is asked at."""

ASKED = ("recall", "search", "inject", "recall_topic", "recall_within", "recollect", "hook prompt", "compose", "agent")
"""Doors that every question is asked at."""

MANY = 50
"""Results of a search."""

LAST = {"en": "last time", "zh": "上次"}

ECHOES = {
    "en": ("What do you still know about me?", "As you told me before: {}"),
    "zh": ("你还记得我的哪些事？", "你之前告诉过我：{}"),
}
"""What a user asks, and how an assistant says again what was to be gone."""

Verdict = Callable[[Sequence[str], Row], Mapping[str, bool]]


# --- what must not be told -------------------------------------------------------------------------


class Judge:
    """Tells whether an answer holds what was to be gone."""

    def __init__(self, gone: Sequence[str], beside: Distractor) -> None:
        self._patterns = [re.compile(_pattern(each), re.I) for each in gone]
        self._beside = beside

    def lines(self, text: str, *, echo: str = "") -> list[str]:
        """The lines that hold it, but for the distractor's and for echoes of the question."""
        found = []
        for line in text.splitlines():
            told = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.]*(?:Z|[+-]\d\d:\d\d)?", "", line)
            told = told.replace(echo, "") if echo else told
            if any(each.search(told) for each in self._patterns) and not self._beside.said(line):
                found.append(line.strip())
        return found


def _pattern(gone: str) -> str:
    """A text as a pattern; figures stand alone, for ids hold some."""
    plain = re.escape(gone)
    return rf"(?<![0-9A-Za-z.]){plain}(?![0-9A-Za-z])" if re.fullmatch(_FIGURES, gone) else plain


_FIGURES = r"[\d.,:]+"


def kinds_of_bytes(gone: str) -> set[bytes]:
    """The text as files may hold it, in lower case, as patterns; figures stand alone, for times and ids hold some."""
    if re.fullmatch(_FIGURES, gone):
        return {_pattern(gone).encode()}
    texts = (gone, gone.lower())
    found = {text.encode(encoding).lower() for text in texts for encoding in ("utf-8", "utf-16-le", "utf-16-be")}
    return {re.escape(kind) for kind in found | {json.dumps(text)[1:-1].encode().lower() for text in texts}}


def holding(folder: Path, beside: Distractor, gone: Sequence[str]) -> list[str]:
    """The files of a book that hold a text as bytes more often than in the distractor's book."""
    found = []
    for path in files(folder):
        name = path.relative_to(folder / books.BOOK)
        before = beside.folder / books.BOOK / name
        here = path.read_bytes().lower()
        there = before.read_bytes().lower() if before.is_file() else b""
        kinds = [re.compile(kind) for each in gone for kind in kinds_of_bytes(each)]
        if any(len(kind.findall(here)) > len(kind.findall(there)) for kind in kinds):
            found.append(str(name))
    return found


# --- the doors -------------------------------------------------------------------------------------


def _ours(memory: memorybook.Memory, taken: Taken) -> list[str]:
    """The sessions that are not the distractor's."""
    return [one.uuid for one in memory.sessions(limit=None).sessions if one.uuid not in taken.beside.sessions]


def once(memory: memorybook.Memory, taken: Taken) -> Iterator[tuple[str, str]]:
    """What the doors of `ONCE` tell, by name."""
    yield "recall_history", memory.recall_history(MANY).text
    for which in (*_ours(memory, taken), LAST[taken.talk.lang]):
        yield "recall_session", memory.recall_session(which).text
    for one in memory.sessions(limit=None).sessions:
        if one.uuid not in taken.beside.sessions:
            yield "summaries", f"{one.title}\n{one.summary}\n{one.path}"
    for info in memory.documents():
        if not info.path.startswith("notes/cmrc"):
            page = memory.get(info.path)
            assert isinstance(page, memorybook.results.Lines)
            yield "documents", f"{page.text}\n{info.path}"
    yield "entries", "\n".join(known.entry.text for known in memory.entries().entries)
    yield "hook start", context("start", {"source": "startup"}, taken.config, str(taken.root))
    yield "flat page", open_provider(memory, "flat").recalled("").text
    yield "export", "\n".join(_texts(json.loads(Path(memory.export().path).read_text(encoding="utf-8"))))


def _texts(value: Any) -> Iterator[str]:
    """All texts of a JSON document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            yield name
            yield from _texts(each)


def asked(memory: memorybook.Memory, taken: Taken, question: str) -> Iterator[tuple[str, str]]:
    """What the doors of `ASKED` tell, but for the agent's, by name."""
    yield "recall", memory.recall(question, max_tokens=2_000).text
    found = memory.search(question, max_results=MANY)
    yield "search", "\n".join(f"{' '.join(hit.snippet.split())} ({place_of(hit.passage)})" for hit in found.hits)
    yield "inject", memory.retrieve_and_inject(question).text
    yield "recall_topic", memory.recall_topic(question).text
    for session in _ours(memory, taken):
        yield "recall_within", memory.recall_within(session, question).text
    recollected = memory.recollect(question)
    yield "recollect", "" if recollected is None else recollected.text
    yield "hook prompt", context("prompt", {"prompt": question}, taken.config, str(taken.root))
    yield "compose", compose("", [], found, question).prompt.removesuffix(question)


def told(taken: Taken, order: Row) -> tuple[dict[str, int], list[Row]]:
    """How many answers of each door hold what was to be gone, and the lines."""
    judge = Judge(order["gone"], taken.beside)
    counts = dict.fromkeys((*ASKED, *ONCE), 0)
    seen: list[Row] = []

    def look(door: str, question: str, text: str) -> None:
        if lines := judge.lines(text, echo="" if question == order["order"] else question):
            counts[door] += 1
            seen.append({"door": door, "q": question, "lines": lines})

    questions = [order["order"], *(question["q"] for question in taken.talk.gold["questions"])]
    with taken.open() as memory:
        for question in questions:
            for door, text in asked(memory, taken, question):
                look(door, question, text)
        for door, text in once(memory, taken):
            look(door, "", text)
    with taken.workspace() as place:
        session = place.session("bench", "reader")
        for question in questions:
            [system, *_] = [*session.build_messages("", question), {"content": ""}]
            look("agent", question, str(system["content"]) if system.get("role") == "system" else "")
    return counts, seen


# --- what happens ----------------------------------------------------------------------------------


def say(taken: Taken, order: Row, *, accept: bool = False) -> Obeyed | None:
    """Say the order in a chat of its own, which then ends; what was done at once.

    With `accept` the user agrees to what it leaves to a person's word.
    """
    text, id = order["order"], f"{taken.talk.id}-{ORDER}"
    taken.clock.now += timedelta(hours=1)
    answer = {
        "summary": "",
        "forget": [{"turn": id, "what": text}],
        "gone": taken.stated([[each] for each in order["gone"]]),
    }
    taken.expect(answer, {id: text})
    with taken.open() as memory:
        before = {one.proposal.id for one in memory.review().proposals}
    with taken.workspace() as place:
        session = place.session("chat", "")
        kept = session.add({"role": "user", "content": text, "id": id})
        done = session.obey(kept)
        session.new()
        place.wait()
    with taken.open() as memory:
        waiting = [one.proposal.id for one in memory.review().proposals if one.proposal.id not in before]
        if accept and waiting:
            memory.accept(*waiting)
    taken.clock.now += timedelta(hours=1)
    return done


def again(taken: Taken) -> None:
    """Take the talk in again, as it was and as a file of another name."""
    path = taken.folder / "copy.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number, session in enumerate(taken.talk.sessions, 1):
            for turn in session["turns"]:
                line = {"session": f"copy {number}", **{name: turn[name] for name in turn if name != "id"}}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
    with taken.open() as memory:
        taken.take_in(memory, again=True)
        memory.import_file(str(path))
        books.finish(memory)
    taken.clock.now += timedelta(hours=1)


def statement(talk: Talk, gone: Sequence[str]) -> str:
    """What an assistant would say of it: the recorded statement that holds it, else the turn."""
    stated = [str(one["content"]) for each in talk.extractions.values() for one in each["candidates"]]
    said = [str(turn["content"]) for turn in talk.turns]
    return next(text for text in (*stated, *said) if any(each.lower() in text.lower() for each in gone))


def echo(taken: Taken, order: Row) -> None:
    """An assistant says it again in a new session; a model takes that for worth keeping."""
    ask, reply = ECHOES[taken.talk.lang]
    text = statement(taken.talk, order["gone"])
    id = f"{taken.talk.id}-echo"
    at = [taken.clock.now + timedelta(seconds=seconds) for seconds in (0, 10)]
    turns = [
        {"id": f"{id}-1", "role": "user", "content": ask, "timestamp": at[0].isoformat()},
        {"id": f"{id}-2", "role": "assistant", "content": reply.format(text), "timestamp": at[1].isoformat()},
    ]
    taken.clock.now += timedelta(minutes=1)
    candidate = {"content": text, "category": "fact", "importance": "medium", "quote": text, "turns": [f"{id}-2"]}
    taken.expect({"candidates": [candidate]}, {turn["id"]: turn["content"] for turn in turns})
    with taken.open() as memory:
        memory.process_session_end(turns, id)
        books.finish(memory)
    taken.clock.now += timedelta(hours=1)


def outside(talk: Talk, gone: Sequence[str]) -> list[Row]:
    """The answerable questions whose answers lie elsewhere than what was to be gone."""
    turns = {turn["id"]: str(turn["content"]) for turn in talk.turns}

    def touched(question: Row) -> bool:
        texts = [*question["answer"], *(turns[id] for id in question["turns"])]
        return any(each.lower() in text.lower() for each in gone for text in texts)

    return [question for question in talk.gold["questions"] if question["answerable"] and not touched(question)]


def right(taken: Taken, questions: Sequence[Row], verdict: Verdict) -> list[str]:
    """Those of these questions that a prompt's block answers."""
    with taken.open() as memory:
        return [
            question["q"] for question in questions if verdict(taken.told(memory, question["q"]), question)["right"]
        ]


def purged(taken: Taken, gone: Sequence[str]) -> list[str]:
    """The files that hold it after purging a copy of the book."""
    copy = taken.folder / "purged"
    shutil.copytree(taken.folder / books.BOOK, copy / books.BOOK)
    with books.opened(copy, taken.settings, llm=taken.model, clock=taken.clock) as memory:
        memory.purge(forgotten=True)
    return holding(copy, taken.beside, gone)


def forgotten(taken: Taken, order: Row, verdict: Verdict, *, accept: bool = False) -> Row:
    """Say the order, then ask at every door, in three passes."""
    talk, gone = taken.talk, order["gone"]
    others = outside(talk, gone)
    with taken.open() as memory:
        memory.export()  # a file of before, which must not keep it
    counted: dict[str, Any] = {"questions": len(others)}
    lost: dict[str, list[str]] = {}
    before = right(taken, others, verdict)
    done = say(taken, order, accept=accept)
    row: Row = {"talk": talk.id, "lang": talk.lang, "mode": taken.mode, **order}
    row["heard"] = done is not None and bool(done.forgotten or done.proposals)
    row["stored"] = done is not None and bool(done.remembered)
    row["obeyed"] = None if done is None else done._asdict()
    with taken.open() as memory:
        row["waiting"] = [one.told for one in memory.review().proposals]
    judge = Judge(gone, taken.beside)
    row["proposed"] = any(judge.lines("\n".join(one)) for one in row["waiting"])
    passes, seen = {}, {}
    for name in PASSES:
        if name == "again":
            row["files before"] = holding(taken.folder, taken.beside, gone)
            row["files"] = purged(taken, gone)
            again(taken)
        elif name == "echoed":
            echo(taken, order)
        passes[name], seen[name] = told(taken, order)
        after = right(taken, others, verdict)
        counted[name] = len(after)
        lost[name] = [question for question in before if question not in after]
    return {**row, "passes": passes, "seen": seen, "outside": {"before": len(before), **counted}, "lost": lost}
