"""Whether a book knows what it was told: what was said apart from what was not, and the newer before the older.

Usage: python benchmarks/knowing.py [FOLDER] [--setting words backend=sqlite_fts …] [--out FOLDER]

FOLDER holds `talks.jsonl` and `questions.jsonl` as in `tests/data/knowing`, which is asked without one. Each talk is
taken in session by session, each session by the rules as it ended, into a book of its own.

- AUC: how often a question with an answer has a greater `knows` than one without, in percent; equal ones count half.
- known, claimed: the share of the questions with an answer, and of those without, for which it says `has_relevant`.
- R@10: the share of the questions with an answer of which a turn that has it is among the first ten hits. Who read
  those ten and knew at once could tell no more questions from those without an answer.
- newer: of the questions whose answer changed, those where both are among the first 20 hits, a turn with the newer
  before all with the older; and those where both are told in the block of a prompt, by the order of its lines.
- MRR: over the first 20 hits, of the questions whose answer changed, and of those where it stayed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

if not __package__:  # run as a file: `benchmarks` is a package of the checkout
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

import memorybook
from benchmarks import books, measure, recall, scenario_books

SHIPPED = Path(__file__).parent.parent / "tests" / "data" / "knowing"
HITS = 20
TOKENS = 2_000
"""Of a prompt's block."""

Row = Mapping[str, Any]


class Asked(NamedTuple):
    """One question and what came of it.

    Attributes:
        talk, setting, question: What was asked of which book.
        answerable, changed: Whether the talk answers it, and whether it had answered otherwise before.
        knows, claimed: `knows` and `has_relevant` of the answer.
        newer, older: Place of the first hit that has the answer, and the one before it; 0 if it is not found.
        newer_line, older_line: The same by the lines of the block of a prompt.
    """

    talk: str
    setting: str
    question: str
    answerable: bool
    changed: bool
    knows: float
    claimed: bool
    newer: int = 0
    older: int = 0
    newer_line: int = 0
    older_line: int = 0


def auc(known: Sequence[float], unknown: Sequence[float]) -> float:
    """How often one of the first is greater than one of the second, percent; equal ones count half."""
    pairs = [(one > other) + 0.5 * (one == other) for one in known for other in unknown]
    return 100 * measure.mean(pairs)


def first_of(found: Sequence[str | None], wanted: Iterable[str]) -> int:
    """Place of the first that is wanted, from 1; 0 if none is."""
    among = set(wanted)
    return next((place for place, turn in enumerate(found, 1) if turn in among), 0)


def line_of(lines: Sequence[str], texts: Iterable[str]) -> int:
    """Place of the first line that tells one of the texts, at least how it begins, from 1; 0 if none does."""
    starts = [" ".join(text.split())[:40] for text in texts]
    return next((place for place, line in enumerate(lines, 1) if any(start in line for start in starts)), 0)


def asked(talk: Row, questions: Sequence[Row], given: Mapping[str, str], setting: str) -> Iterator[Asked]:
    """Every question about one talk, asked an hour after it."""
    whole = scenario_books.Talk(talk["id"], talk["lang"], talk["sessions"], {}, {})
    said = {turn["id"]: turn["content"] for turn in whole.turns}
    clock = scenario_books.Clock(scenario_books.BEFORE)
    settings = {"timezone": scenario_books.zone_of(whole), **given}
    with tempfile.TemporaryDirectory() as folder, books.opened(Path(folder), settings, clock=clock) as memory:
        for session in talk["sessions"]:
            ended = datetime.fromisoformat(session["turns"][-1]["timestamp"])
            clock.now = ended.astimezone(UTC) + timedelta(minutes=1)
            memory.process_session_end(session["turns"], session["id"])
        clock.now += timedelta(hours=1)
        books.finish(memory)
        for row in questions:
            yield _asked(memory, row, said, setting)


def _asked(memory: memorybook.Memory, row: Row, said: Mapping[str, str], setting: str) -> Asked:
    answer = memory.search(row["question"], max_results=HITS)
    changed = bool(row["older"])
    plain = Asked(row["talk"], setting, row["question"], row["answerable"], changed, answer.knows, answer.has_relevant)
    if not row["answerable"]:
        return plain
    found = [hit.passage.turn for hit in answer.hits]
    plain = plain._replace(newer=first_of(found, row["turns"]), older=first_of(found, row["older"]))
    if not changed:
        return plain
    lines = [" ".join(line.split()) for line in memory.recall(row["question"], max_tokens=TOKENS).text.splitlines()]
    newer, older = (line_of(lines, [said[turn] for turn in row[name]]) for name in ("turns", "older"))
    return plain._replace(newer_line=newer, older_line=older)


def table(rows: Sequence[Asked]) -> str:
    """A line for each talk and setting."""
    groups: dict[tuple[str, str], list[Asked]] = {}
    for row in rows:
        groups.setdefault((row.setting, row.talk), []).append(row)
    body = []
    for group, members in groups.items():
        sure, unsure = ([row for row in members if row.answerable == answerable] for answerable in (True, False))
        changed, stayed = ([row for row in sure if row.changed == change] for change in (True, False))
        figures = [
            auc([row.knows for row in sure], [row.knows for row in unsure]),
            *(100 * measure.mean([row.claimed for row in some]) for some in (sure, unsure)),
            100 * measure.mean([0 < row.newer <= 10 for row in sure]),
        ]
        ranks = [
            100 * measure.mean([1 / row.newer if row.newer else 0.0 for row in some]) for some in (changed, stayed)
        ]
        newer = [_before((row.newer, row.older) for row in changed)]
        newer.append(_before((row.newer_line, row.older_line) for row in changed))
        body.append([*group, len(sure), len(unsure), *(f"{one:.1f}" for one in (*figures, *ranks)), *newer])
    head = ["setting", "talk", "answerable", "not", "AUC", "known", "claimed", "R@10", "MRR changed", "MRR stayed"]
    return measure.table([*head, "newer, search", "newer, block"], body)


def _before(places: Iterable[tuple[int, int]]) -> str:
    """Of the pairs of which both are there, how many have the first before the second."""
    both = [(newer, older) for newer, older in places if newer and older]
    return f"{sum(newer <= older for newer, older in both)} of {len(both)}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; 0."""
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("folder", type=Path, nargs="?", default=SHIPPED, help="of the talks (default: those shipped)")
    flags.add_argument("--setting", action="append", nargs="+", metavar=("NAME", "KEY=VALUE"), dest="settings")
    measure.add_output(flags, "knowing")
    options = measure.parsed(flags, arguments, "knowing")
    try:
        settings = recall.settings_of(options.settings)
    except ValueError as error:
        flags.error(str(error))
    questions = recall.lines(options.folder / "questions.jsonl")
    rows = [
        row
        for name, given in settings.items()
        for talk in recall.lines(options.folder / "talks.jsonl")
        for row in asked(talk, [one for one in questions if one["talk"] == talk["id"]], given, name)
    ]
    facts = measure.machine()
    measure.save(
        options, "knowing", {"facts": facts, "settings": settings, "questions": [row._asdict() for row in rows]}
    )
    measure.publish(options, "knowing", f"{table(rows)}\n{measure.where_and_when(facts)}", ())
    return 0


if __name__ == "__main__":
    sys.exit(main())
