"""Recall of small books as people keep them: which entry is first, and whether the book knows that it does not know.

Usage: python benchmarks/small.py [FILE …] [--setting words backend=sqlite_fts …] [--failures] [--page PAGE]

A FILE holds JSON Lines, a book each: {"name", "part", "lang", "entries": [text, …], "questions": [{"q", "want":
[number of an entry that answers, …], "kind"}, …], "none": [question without an answer, …]}, and where days are asked
for "days": [day of an entry, …] in order and the day "today" of the questions. Without one the books shipped in
`tests/data/small_books.jsonl` are asked: 3 to 90 entries each, of a developer, a family, a shop …; those of
`tests/data/languages.jsonl` are Japanese, Korean, and a diary in English and Chinese asked in the other of the two.

Each book is made twice, of entries and of what the user says in one talk (`kept`), and asked twice: as it is, and after
all its questions were asked before (`echoes`: in sessions of two questions, each with a reply that says nothing), as a
book is after a week of use. Questions of the kind `synonym`
share no word that tells something with what answers them; they are counted apart.

- R@k: the share of questions of which an entry that answers is among the first k results, in percent.
- knows: the share of questions for which the answer says `has_relevant`; of those without an answer: `wrongly`.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

if not __package__:  # run as a file: `benchmarks` is a package of the checkout
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

import memorybook
from benchmarks import books, measure, recall

SHIPPED = Path(__file__).parent.parent / "tests" / "data" / "small_books.jsonl"
REPLIES = {
    "en": ("Let me check.", "I don't have anything about that.", "Sure! Give me a moment."),
    "zh": ("我看看。", "我的记忆里没有这方面的内容。", "好的，请稍等。"),
    "ja": ("確認します。", "それについては何も覚えていません。", "はい、少々お待ちください。"),
    "ru": ("Сейчас проверю.", "Об этом я ничего не знаю.", "Да, секунду."),
    "ko": ("확인해 볼게요.", "그것에 대해서는 기억나는 것이 없습니다.", "네, 잠시만요."),
}
DEPTHS = (1, 5, 10)
KEPT = ("entries", "turns")

Row = Mapping[str, Any]


class Asked(NamedTuple):
    """One question and what came of it.

    Attributes:
        part, lang, setting, kind: See the file's lines; `none` is the kind of a question without an answer.
        kept: `entries` or `turns`.
        echoes: Whether it had been asked before.
        question: As asked.
        rank: Of the first entry that answers, from 1; 0 if there is none among the first ten.
        knows: `has_relevant` of the answer.
        first: Text of the first result; "" if there is none.
    """

    part: str
    lang: str
    setting: str
    kept: str
    kind: str
    echoes: bool
    question: str
    rank: int
    knows: bool
    first: str


def asked(book: Row, given: Mapping[str, str], setting: str, kept: str) -> Iterator[Asked]:
    """Every question of one book, before and after all of them were said in sessions."""
    day = today = book.get("today", "")

    def clock() -> datetime:
        return datetime.fromisoformat(f"{day}T12:00:00+00:00") if day else datetime.now(UTC)

    ids: list[str] = []
    with tempfile.TemporaryDirectory() as folder, books.opened(Path(folder), given, clock=clock) as memory:
        told = zip(book.get("days", [today] * len(book["entries"])), book["entries"], strict=True)
        for day, dated in groupby(told, key=itemgetter(0)):
            texts = [text for _, text in dated]
            ids += _remembered(memory, texts) if kept == "entries" else _told(memory, texts, f"told {day}".strip())
        day = today
        books.finish(memory)
        for echoes in (False, True):
            if echoes:
                _said_before(memory, book)
            questions = [(one["q"], one["kind"], {ids[n] for n in one["want"]}) for one in book["questions"]]
            nothing: list[tuple[str, str, set[str]]] = [(text, "none", set()) for text in book["none"]]
            for question, kind, wanted in questions + nothing:
                answer = memory.search(question, max_results=max(DEPTHS))
                found = [hit.passage.entry if kept == "entries" else hit.passage.turn for hit in answer.hits]
                rank = next((place for place, id in enumerate(found, 1) if id in wanted), 0)
                first = answer.hits[0].passage.text if answer.hits else ""
                yield Asked(
                    book["part"], book["lang"], setting, kept, kind, echoes, question, rank, answer.has_relevant, first
                )


def _remembered(memory: memorybook.Memory, texts: Sequence[str]) -> list[str]:
    """Their ids as entries."""
    return [memory.remember(text).known.entry.id for text in texts]


def _told(memory: memorybook.Memory, texts: Sequence[str], name: str) -> list[str]:
    """Their ids as turns of the user in one session that ended."""
    session = memory.open_session(name)
    held = memory.add_messages(session.session, [{"role": "user", "content": text} for text in texts])
    memory.end_session(session.session)
    return list(held.turns)


def _said_before(memory: memorybook.Memory, book: Row) -> None:
    replies = REPLIES[book["lang"].partition(" ")[0]]
    questions = [one["q"] for one in book["questions"]] + book["none"]
    for at in range(0, len(questions), 2):
        session = memory.open_session(f"talk {at}")
        for number, question in enumerate(questions[at : at + 2], at):
            reply = {"role": "assistant", "content": replies[number % len(replies)]}
            memory.add_messages(session.session, [{"role": "user", "content": question}, reply])
        memory.end_session(session.session)
    books.finish(memory)


def figures(rows: Sequence[Asked]) -> list[str]:
    """How many questions, R@k and knows, as cells."""
    shares = [[0 < row.rank <= depth for row in rows] for depth in DEPTHS] + [[row.knows for row in rows]]
    return [str(len(rows)), *(f"{100 * measure.mean(share):.1f}" for share in shares)]


def table(rows: Sequence[Asked]) -> str:
    """A line for each part, language, setting, what is kept and whether it was asked before."""
    groups: dict[tuple[str, str, str, str, bool], list[Asked]] = {}
    for row in rows:
        groups.setdefault((row.part, row.lang, row.setting, row.kept, row.echoes), []).append(row)
    body = []
    for (*group, echoes), members in sorted(groups.items()):
        plain = [row for row in members if row.kind not in ("synonym", "none")]
        synonyms = [row for row in members if row.kind == "synonym"]
        none = [row.knows for row in members if row.kind == "none"]
        told = [*figures(plain), *figures(synonyms)[:3], f"{sum(none)} of {len(none)}"]
        body.append([*group, "yes" if echoes else "no", *told])
    head = ["part", "lang", "setting", "kept", "asked before", "questions", "R@1", "R@5", "R@10", "knows"]
    return measure.table([*head, "synonyms", "R@1", "R@5", "wrongly"], body)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; 0."""
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("files", type=Path, nargs="*", help="books (default: those shipped)")
    flags.add_argument("--setting", action="append", nargs="+", metavar=("NAME", "KEY=VALUE"), dest="settings")
    flags.add_argument("--failures", action="store_true", help="print each question whose entry is not first")
    measure.add_output(flags, "small")
    options = measure.parsed(flags, arguments, "small")
    try:
        settings = recall.settings_of(options.settings)
    except ValueError as error:
        flags.error(str(error))
    shelf = [book for file in options.files or [SHIPPED] for book in recall.lines(file)]
    runs = [(book, given, name, kept) for book in shelf for name, given in settings.items() for kept in KEPT]
    rows = [row for run in runs for row in asked(*run)]
    facts = measure.machine()
    measure.save(options, "small", {"facts": facts, "settings": settings, "questions": [row._asdict() for row in rows]})
    measure.publish(options, "small", f"{table(rows)}\n{measure.where_and_when(facts)}", ())
    if options.failures:
        for row in rows:
            if row.rank != 1 and (row.kind != "none" or row.knows):
                print(
                    row.part,
                    row.setting,
                    row.kind,
                    "again" if row.echoes else "",
                    row.rank,
                    row.question,
                    "|",
                    row.first,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
