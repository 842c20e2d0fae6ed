"""What a prompt's block holds: of labelled questions, how often the answer and the evidence stand in its text.

Usage: python benchmarks/answers.py DATA [--set locomo …] [--budget 1000 …] [--system recall …]

DATA is the folder that `benchmarks/recall.py` reads. A set may also have `answers.jsonl` ({"id", "answer",
"corrected"?}); one without is judged by evidence alone. Every question that has evidence is asked for a text of at
most so many tokens (`memorybook.text.tokens.count_tokens`), at each budget, of each system:

- recall: the text of `memory.recall(question, max_tokens=BUDGET)`.
- search packed: the first 200 results of `memory.search`, from the best on, each a line `- [DAY] SPEAKER: TEXT` with
  its whole text, a turn once; a line that is too long for what is left of the budget is passed over.
- bm25: the turns by plain BM25 (k1 1.2, b 0.75, words in lower case, CJK bigrams, no stop words) over `[DAY] SPEAKER:
  TEXT`, those that share a word with the question, packed in the same way.

Each scope is imported once into a book of its own, without a language model. A question with `before_idx` is asked
when the book holds only the turns before it: they are imported piece by piece, and its questions asked in their order.

What is counted, per question, then averaged over questions; `benchmarks/standing.py` says what stands in a text:

- answer: percent of the questions with an answer whose answer stands in the text: it is said there, or follows.
- said: percent of them whose answer is said there in its own words, wherever.
- chance: `answer` for the text of another question of that book (half the list away): what is luck. Empty for sets
  that have a single question per book.
- evidence: the share of the relevant turns that stand in the text, percent.
- tokens: of the text.
- ms: of the whole call, with packing, warm; the median. Two books are measured at a time (`--jobs`).

Differences are paired over questions: see `benchmarks/difference.py`. `--held-out` and `--half` are those of
`benchmarks/recall.py`, `--categories` reports categories apart; `--limit` takes that many questions of a set, always
the same.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

if not __package__:  # run as a file: `benchmarks` is a package of the checkout
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

import memorybook
from benchmarks import books, difference, measure, recall, standing
from memorybook.text.tokens import count_tokens

SETS = ("locomo", "memdaily", "realmem")
BUDGETS = (500, 1000, 2000, 3000)
SYSTEMS = ("recall", "search packed", "bm25")
FIGURES = ("answer", "said", "chance", "evidence", "tokens", "ms")
MOST = 200

Row = dict[str, Any]
Packer = Callable[[str, int], str]
"""Question and budget -> text."""


# --- systems -------------------------------------------------------------------------------------


def line_of(day: str, speaker: str, text: str) -> str:
    """A passage as a line of a prompt."""
    return f"- {f'[{day}] ' if day else ''}{f'{speaker}: ' if speaker else ''}{' '.join(text.split())}"


def packed(lines: Iterable[str], budget: int) -> str:
    """The lines that fit, from the first on; one that is too long for what is left is passed over."""
    kept: list[str] = []
    for line in lines:
        size = count_tokens(line + "\n")
        if size <= budget:
            kept.append(line)
            budget -= size
    return "\n".join(kept)


def recalled(memory: memorybook.Memory) -> Packer:
    """The block of the book."""
    return lambda question, budget: memory.recall(question, max_tokens=budget).text


def searched(memory: memorybook.Memory) -> Packer:
    """The results of a search as lines."""

    def text(question: str, budget: int) -> str:
        passages = [hit.passage for hit in memory.search(question, max_results=MOST).hits]
        once = {one.turn or (one.path, one.start_line, one.text): one for one in reversed(passages)}
        best = [one for one in passages if once[one.turn or (one.path, one.start_line, one.text)] is one]
        return packed((line_of(one.date or "", one.speaker, one.text) for one in best), budget)

    return text


_WORD = re.compile(r"[\u2e80-\uffff]+|(?:(?![\u2e80-\uffff])\w)+")


def bm25_words(text: str) -> list[str]:
    """Lower-case words; of scripts without spaces the overlapping bigrams."""
    runs = _WORD.findall(text.lower())
    return [word for run in runs for word in (_bigrams(run) if run[0] >= "\u2e80" else (run,))]


def _bigrams(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(max(1, len(run) - 1))]


def bm25(lines: Sequence[str], k1: float = 1.2, b: float = 0.75) -> Packer:
    """The lines ranked by BM25."""
    counts = [Counter(bm25_words(line)) for line in lines]
    sizes = [count.total() for count in counts]
    usual = measure.mean(sizes)
    known = Counter(word for count in counts for word in count)
    weight = {word: math.log(1 + (len(lines) - n + 0.5) / (n + 0.5)) for word, n in known.items()}

    def score(at: int, words: Sequence[str]) -> float:
        count, norm = counts[at], k1 * (1 - b + b * sizes[at] / usual)
        return sum(weight[word] * count[word] * (k1 + 1) / (count[word] + norm) for word in words if word in count)

    def text(question: str, budget: int) -> str:
        words = bm25_words(question)
        scores = [score(at, words) for at in range(len(lines))]
        best = sorted((at for at, value in enumerate(scores) if value), key=lambda at: -scores[at])
        return packed((lines[at] for at in best), budget)

    return text


# --- one book ------------------------------------------------------------------------------------


def said(row: Mapping[str, Any]) -> standing.Turn:
    """What a row of a conversation says, and when."""
    return standing.Turn(str(row.get("text", row.get("content", ""))), str(row.get("ts", row.get("timestamp", ""))))


def turn_line(row: Mapping[str, Any]) -> str:
    """A row of a conversation as a line, with its day as 2026-05-07."""
    text, when = said(row)
    day = next(("-".join(f"{part:02d}" for part in one if part) for one in standing.dates(when)), "")
    return line_of(day, str(row.get("speaker", "")), text)


def run(folder: Path, asked: Sequence[Row], budgets: Sequence[int], systems: Sequence[str]) -> list[Row]:
    """All questions of one scope, of all systems at all budgets."""
    scope = str(asked[0]["scope"])
    own = folder / f"{scope}.jsonl"
    path = own if own.exists() else folder / "corpus.jsonl"
    turns = [row for row in recall.lines(path) if row.get("scope", scope) == scope]
    ends = sorted({_end(query, turns) for query in asked})
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as root, books.opened(Path(root), {}) as memory:
        for end in ends:
            there = [row for at, row in enumerate(turns) if row.get("idx", at) < end]
            part = Path(root) / path.name
            part.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in there), encoding="utf-8")
            memory.import_file(str(part), scope=scope)
            books.finish(memory)
            packers = {
                "recall": recalled(memory),
                "search packed": searched(memory),
                "bm25": bm25([turn_line(row) for row in there]),
            }
            now = [query for query in asked if _end(query, turns) == end]
            for name in systems:
                packers[name](now[0]["question"], budgets[0])  # what a process pays once is not a question's time
                found += _asked(name, packers[name], now, budgets)
    measure.say(f"{folder.name} {scope}: {len(asked)} questions")
    judge(found, asked, {str(row["id"]): said(row) for row in turns})
    kept = {query["id"]: {key: query[key] for key in ("id", "scope", "category", "half")} for query in asked}
    return [{"set": folder.name, **kept[row.pop("id")], **row} for row in found]


def _end(query: Mapping[str, Any], turns: Sequence[Row]) -> int:
    """The place before which turns may be known to a question."""
    last = int(turns[-1].get("idx", len(turns) - 1)) + 1
    return min(last, int(query.get("before_idx", last)))


def _asked(name: str, packer: Packer, asked: Sequence[Row], budgets: Sequence[int]) -> Iterator[Row]:
    for query in asked:
        for budget in budgets:
            started = time.perf_counter()
            text = packer(query["question"], budget)
            taken = 1000 * (time.perf_counter() - started)
            yield {"id": query["id"], "system": name, "budget": budget, "text": text, "ms": measure.significant(taken)}


def judge(found: Sequence[Row], asked: Sequence[Row], turns: Mapping[str, standing.Turn]) -> None:
    """Replace each row's text by its figures."""
    texts = {(row["system"], row["budget"], row["id"]): row.pop("text") for row in found}
    queries = {query["id"]: query for query in asked}
    ids = list(queries)
    others = dict(zip(ids, ids[len(ids) // 2 :] + ids[: len(ids) // 2], strict=True))
    for row in found:
        query = queries[row["id"]]
        relevant = [turns[id] for id in query["relevant_ids"]]
        text = texts[row["system"], row["budget"], row["id"]]
        lines = standing.lines_of(text)
        row |= {"evidence": standing.share_of(relevant, lines), "tokens": count_tokens(text)}
        row |= {"answer": None, "said": None, "chance": None}
        if answers := query.get("answers"):
            row["answer"] = 100.0 * standing.stands(answers, query["question"], relevant, lines)
            row["said"] = 100.0 * standing.is_said(answers, query["question"], lines)
            if len(ids) > 1:
                other = standing.lines_of(texts[row["system"], row["budget"], others[row["id"]]])
                row["chance"] = 100.0 * standing.stands(answers, query["question"], relevant, other)


# --- a set ---------------------------------------------------------------------------------------


def questions(folder: Path, limit: int | None = None) -> list[Row]:
    """The questions of a set that have evidence, with their accepted `answers` where it has some; at most so many."""
    path = folder / "answers.jsonl"
    known = {row["id"]: {"answers": standing.accepted(row)} for row in recall.lines(path)} if path.exists() else {}
    found = [{**query, **known.get(query["id"], {})} for query in recall.questions(folder)]
    drawn = sorted(found, key=lambda query: zlib.crc32(f"{folder.name}/{query['id']}".encode()))[:limit]
    taken = {query["id"] for query in drawn}
    return [query for query in found if query["id"] in taken]


def measured(options: argparse.Namespace) -> list[Row]:
    """All questions of all sets that are there, the largest books first."""
    work: list[tuple[Path, list[Row]]] = []
    for name in options.sets or SETS:
        folder = options.data / name
        if not (folder / "queries.jsonl").exists():
            measure.say(f"skipped {name}: no {folder / 'queries.jsonl'}")
            continue
        chosen = [query for query in questions(folder, options.limit) if options.half in (None, query["half"])]
        work += [(folder, group) for group in recall.grouped(chosen, "scope").values()]
    order = sorted(range(len(work)), key=lambda at: -len(work[at][1]))
    calls = [(*work[at], options.budgets or BUDGETS, options.systems or SYSTEMS) for at in order]
    if options.jobs == 1:
        done = [run(*call) for call in calls]
    else:
        with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
            done = list(pool.map(run, *zip(*calls, strict=True))) if calls else []
    rows = dict(zip(order, done, strict=True))
    return [row for at in range(len(work)) for row in rows[at]]


# --- tables --------------------------------------------------------------------------------------


def cell(rows: Sequence[Row], figure: str) -> str:
    """One figure of some rows; a dash where they have none."""
    values = [row[figure] for row in rows if row[figure] is not None]
    if not values:
        return "–"
    value = measure.median(values) if figure == "ms" else measure.mean(values)
    return f"{value:.{0 if figure == 'tokens' else 1}f}"


def side_by_side(rows: Sequence[Row], *keys: str, figures: Sequence[str] = FIGURES) -> str:
    """The systems next to each other: a line for each set, figure and budget, and for each of further keys."""
    systems = list(dict.fromkeys(row["system"] for row in rows))
    body = []
    for group, members in recall.grouped(rows, "set", *keys).items():
        budgets = recall.grouped(members, "budget")
        for figure in figures:
            for (budget,), there in budgets.items():
                cells = [cell([row for row in there if row["system"] == name], figure) for name in systems]
                if {*cells} != {"–"}:
                    body.append([*group, len(there) // len(systems), figure, budget, *cells])
    return measure.table(["set", *keys, "questions", "figure", "budget", *systems], body)


def differences(rows: Sequence[Row]) -> str:
    """The first system minus each other, paired over questions."""
    first, *others = dict.fromkeys(row["system"] for row in rows)
    body = []
    for (name, budget), members in recall.grouped(rows, "set", "budget").items():
        for other in others:
            for figure in ("answer", "said", "evidence"):
                here, there = (
                    {row["id"]: row[figure] for row in members if row["system"] == system and row[figure] is not None}
                    for system in (first, other)
                )
                if here:
                    found = difference.difference([there[id] for id in here], [*here.values()])
                    interval = f"{found.low:+.1f} … {found.high:+.1f}"
                    body.append([name, figure, budget, other, f"{found.change:+.1f}", interval, found.verdict])
    body.sort(key=lambda line: [line[0], line[1], line[3]])
    return measure.table(["set", "figure", "budget", f"{first} minus", "difference", "95 % interval", ""], body)


def report(rows: Sequence[Row], facts: Mapping[str, str], *further: str) -> str:
    """All tables; those of `answer` and `evidence` also by each further key, such as `half`."""
    parts = [side_by_side(rows)]
    if len({row["system"] for row in rows}) > 1:
        parts.append("Paired differences, points:\n\n" + differences(rows))
    for key in further:
        parts.append(f"By {key}:\n\n" + side_by_side(rows, key, figures=("answer", "evidence")))
    return "\n".join([*parts, measure.where_and_when(facts)])


# --- the command ---------------------------------------------------------------------------------


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return value


def parser() -> argparse.ArgumentParser:
    """The flags."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("data", type=Path, help="folder of the sets")
    made.add_argument("--set", action="append", dest="sets", help=f"only this set (default: {', '.join(SETS)})")
    made.add_argument("--budget", action="append", dest="budgets", type=_count, help="only this many tokens")
    made.add_argument("--system", action="append", dest="systems", choices=SYSTEMS, help="only this system")
    made.add_argument("--half", choices=("a", "b"), help="only this half")
    made.add_argument("--held-out", action="store_true", help="report both halves apart")
    made.add_argument("--categories", action="store_true", help="report the categories apart")
    made.add_argument("--limit", type=_count, help="at most this many questions of a set")
    made.add_argument("--jobs", type=_count, default=2, help="books measured at a time (default: 2)")
    made.add_argument("--json", type=Path, help="file for the figures of every question")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; the arguments are those of the command line if None."""
    options = parser().parse_args(arguments)
    rows = measured(options)
    if not rows:
        measure.say(f"nothing to ask in {options.data}")
        return 1
    facts = measure.machine()
    if options.json:
        text = json.dumps({"facts": facts, "questions": rows}, ensure_ascii=False, indent=1)
        options.json.write_text(f"{text}\n", encoding="utf-8")
    further = [key for key, given in (("category", options.categories), ("half", options.held_out)) if given]
    print(report(rows, facts, *further))
    return 0


if __name__ == "__main__":
    sys.exit(main())
