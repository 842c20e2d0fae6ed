"""What a prompt is told of labelled talks, what a book keeps of them, and what it still tells after "forget …".

Usage: python benchmarks/scenarios.py DATA [--only told|forget] [--lang en] [--mode rules] [--talk dev-en01]
       [--json FILE] [--accept]

DATA holds `scenarios` (its README says what is labelled), `locomo` and `cmrc`. Each talk is taken into a book of its
own beside a distractor (English: the imported conv-26 of LoCoMo; Chinese: 500 passages of CMRC as documents in the
book's folder), session by session, the clock at the end of each: by `rules` without a model, and with a `model` that
replays recorded extractions. Lines of the distractor are taken out of every text before it is judged. Case never
matters. Questions are asked an hour after the last turn.

Told, by question. The block is `recall(question, max_tokens=2000)`; `search` is a search for 50 results packed into as
many tokens; `whole` is the whole talk, which holds the labels together.

- right: an answer is in it. misled: a wrong value is in it, and no answer.
- old first: right, but a line with a wrong value and no answer stands above the first line with an answer.
- known, claimed: the share of answerable and of unanswerable questions for which the book claims to know
  (`has_relevant` of the recall if it says so, else of the search).

Kept, on active entries (the distractor's left out): see `benchmarks/intake.py`.

Forget: the order is said in a chat of its own (`Workspace`, as the command `chat` has it), the chat ends, then the
order and every question of the talk are asked at each door. A door fails for an order if any answer holds a `gone`
text (echoes of the question in it do not count, the stored order does). Three passes: once it was `said`; after the
talk was taken in `again` and imported under another name; after an assistant `echoed` the statement in a new session.
`heard`: something was forgotten or proposed at once; `proposed`: something that holds it waits for a person's word once
the chat is over; `stored`: the order itself was remembered as a statement.
`outside` are the questions whose answers lie elsewhere: how many are right before and after. `files` are those that
hold a `gone` text as bytes after `purge(forgotten=True)`, beyond what the distractor has there. With `--accept` the
user agrees to what the order left to a person's word. The hook has no clock to set: it tells as of the real day.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

if not __package__:  # run as a file: `benchmarks` is a package of the checkout
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

import memorybook
from benchmarks import measure, scenario_doors
from benchmarks.intake import MODES, grouped, kept, kept_table, percent
from benchmarks.scenario_books import (
    TOKENS,
    Distractor,
    Row,
    Taken,
    Talk,
    add_flags,
    asked_talks,
    build,
    distractor,
    spread,
)
from memorybook.search.types import Hit, place_of
from memorybook.text.tokens import count_tokens

PARTS = ("told", "forget")
WAYS = ("block", "search", "whole")


# --- what a prompt is told -------------------------------------------------------------------------


def verdict(lines: Sequence[str], question: Row) -> dict[str, bool]:
    """Whether these lines tell the answer, only a wrong value, or a wrong value first."""
    answers = [each.lower() for each in question["answer"]]
    wrong = [each.lower() for each in question["wrong"]]
    held = [any(each in line.lower() for each in answers) for line in lines]
    old = [any(each in line.lower() for each in wrong) for line in lines]
    right = any(held)
    first = held.index(True) if right else len(lines)
    return {"right": right, "misled": any(old) and not right, "old first": right and any(old[:first])}


def packed(hits: Iterable[Hit]) -> str:
    """The results of a search as lines, as many as fit into a block."""
    left, lines = TOKENS, []
    for hit in hits:
        line = f"- {hit.passage.speaker}: {' '.join(hit.snippet.split())} ({place_of(hit.passage)})"
        left -= count_tokens(line) + 1
        if left < 0:
            break
        lines.append(line)
    return "\n".join(lines)


def told(memory: memorybook.Memory, taken: Taken) -> list[Row]:
    """A row for each question."""
    beside, talk = taken.beside, taken.talk
    whole = [str(turn["content"]) for turn in talk.turns]
    rows = []
    for question in talk.gold["questions"]:
        began = time.perf_counter()
        recalled = memory.recall(question["q"], max_tokens=TOKENS)
        taken_ms = 1000 * (time.perf_counter() - began)
        found = memory.search(question["q"], max_results=50)
        claimed = getattr(recalled, "has_relevant", None)
        lines = {
            "block": beside.without(recalled.text, bare=True),
            "search": beside.without(packed(found.hits), bare=True),
            "whole": whole,
        }
        rows.append(
            {
                "talk": talk.id, "lang": talk.lang, "mode": taken.mode, **question,
                "claimed": found.has_relevant if claimed is None else claimed,
                **{way: verdict(lines[way], question) for way in WAYS},
                "ms": measure.significant(taken_ms), "text": recalled.text,
            }
        )  # fmt: skip
    return rows


# --- one talk --------------------------------------------------------------------------------------


_BESIDE: dict[str, Distractor] = {}


def measured(talk: Talk, mode: str, root: str, parts: Sequence[str], accept: bool) -> dict[str, Any]:
    """All figures of a talk in one mode."""
    key = f"{root} {talk.lang}"
    if key not in _BESIDE:
        _BESIDE[key] = distractor(Path(root), talk.lang)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=root) as folder:
        taken = Taken(talk, mode, _BESIDE[key], Path(folder))
        figures: dict[str, Any] = {"told": [], "kept": [], "forget": []}
        with taken.open() as memory:
            taken.take_in(memory)
            if "told" in parts:
                figures["told"] = told(memory, taken)
                figures["kept"] = [kept(memory, taken)]
        if "forget" in parts:
            [order] = talk.gold["forget"]
            figures["forget"] = [scenario_doors.forgotten(taken, order, verdict, accept=accept)]
    measure.say(f"{talk.id} {mode}: {time.perf_counter() - began:.1f} s")
    return figures


def run(
    data: Path,
    chosen: Sequence[Talk],
    modes: Sequence[str],
    parts: Sequence[str],
    *,
    jobs: int,
    accept: bool = False,
    padded: bool = False,
) -> dict[str, Any]:
    """The figures of these talks in these modes, in `jobs` processes."""
    figures: dict[str, Any] = {"told": [], "kept": [], "forget": []}
    with tempfile.TemporaryDirectory() as root:
        for lang in sorted({talk.lang for talk in chosen}):
            build(data, Path(root), lang, padded=padded)
        tasks = [(talk, mode, root, parts, accept) for mode in modes for talk in chosen]
        done = spread(measured, tasks, jobs)
    for one in done:
        for name, rows in one.items():
            figures[name] += rows
    return figures


# --- tables ----------------------------------------------------------------------------------------


def told_table(rows: Sequence[Row]) -> str:
    """A line for each mode, language and text that a prompt could be given."""
    body = []
    for (mode, lang), members in grouped(rows).items():
        sure = [row for row in members if row["answerable"]]
        unsure = [row for row in members if not row["answerable"]]
        for way in WAYS:
            marks = [percent(row[way][name] for row in sure) for name in ("right", "misled", "old first")]
            claims = [percent(row["claimed"] for row in some) if way == "block" else "" for some in (sure, unsure)]
            body.append([mode, lang, way, len(sure), *marks, *claims])
    head = ["mode", "lang", "text", "answerable", "right", "misled", "old first", "known", "claimed"]
    return measure.table(head, body)


def forget_tables(rows: Sequence[Row]) -> str:
    """What became of the orders, then doors: for how many orders each still told what was to be gone."""
    passes = scenario_doors.PASSES
    head = ["mode", "lang", "orders", "heard", "proposed", "stored", *(f"clean, {one}" for one in passes)]
    head += [f"outside, {one}" for one in ("before", *passes)]
    head += ["with files before purge", "after", "files"]
    body = []
    groups = grouped(rows)
    for (mode, lang), members in groups.items():
        clean = [sum(not any(row["passes"][one].values()) for row in members) for one in passes]
        outside = [sum(row["outside"][one] for row in members) for one in ("before", *passes)]
        asked = sum(row["outside"]["questions"] for row in members)
        holding = [sum(bool(row[name]) for row in members) for name in ("files before", "files")]
        many = sum(len(row["files"]) for row in members)
        heard = [sum(row[name] for row in members) for name in ("heard", "proposed", "stored")]
        figures = [len(members), *heard, *clean, *(f"{one}/{asked}" for one in outside), *holding, many]
        body.append([mode, lang, *figures])
    doors = [
        [name, *(_in_passes(members, name) for members in groups.values())] for name in rows[0]["passes"][passes[0]]
    ]
    told = measure.table(["door", *(" ".join(key) for key in groups)], doors)
    names = ", ".join(passes)
    return f"{measure.table(head, body)}\nOrders of which a door still tells it ({names}):\n\n{told}"


def _in_passes(rows: Sequence[Row], door: str) -> str:
    """For how many orders a door failed, pass by pass."""
    return " ".join(str(sum(bool(row["passes"][one][door]) for row in rows)) for one in scenario_doors.PASSES)


def report(figures: Mapping[str, Sequence[Row]]) -> str:
    """All tables."""
    parts = []
    if figures["told"]:
        parts += ["Told:\n", told_table(figures["told"]), "Kept:\n", kept_table(figures["kept"])]
        seen = [row for row in figures["kept"] if "shown" in row]
        if seen:
            shown, unshown = (sum(row[name] for row in seen) for name in ("shown", "unshown"))
            parts.append(f"Superseded statements that the prompts showed: {shown} of {shown + unshown}.\n")
        failed = Counter(name for row in seen for name in row["failed"])
        parts += [f"Other forms asked for, which fail: {dict(failed)}.\n"] if failed else []
    if figures["forget"]:
        parts += ["Forget:\n", forget_tables(figures["forget"])]
    return "\n".join([*parts, measure.where_and_when(measure.machine())])


# --- the command -----------------------------------------------------------------------------------


def parser() -> argparse.ArgumentParser:
    """The flags."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_flags(made)
    made.add_argument("--only", choices=PARTS, help="only this part")
    made.add_argument("--mode", choices=MODES, help="only this mode")
    made.add_argument("--large", action="store_true", help="beside 5,000 hand-written lines and 10,000 entries")
    made.add_argument("--accept", action="store_true", help="accept what an order to forget leaves to a person's word")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; the arguments are those of the command line if None."""
    flags = parser()
    options = flags.parse_args(arguments)
    chosen = asked_talks(flags, options)
    if not chosen:
        return 0
    modes = [options.mode] if options.mode else MODES
    parts = [options.only] if options.only else PARTS
    figures = run(options.data, chosen, modes, parts, jobs=options.jobs, accept=options.accept, padded=options.large)
    if options.json:
        options.json.write_text(json.dumps(figures, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(report(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
