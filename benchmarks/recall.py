"""Recall of a book on labelled conversations: per set, category and setting, with what it costs.

Usage: python benchmarks/recall.py DATA [--set locomo …] [--setting words backend=sqlite_fts …]

DATA holds a folder per set, each with `queries.jsonl` ({"id", "scope", "question", "relevant_ids",
"category"?, "before_idx"?}) and either `corpus.jsonl` or one `SCOPE.jsonl` per conversation. Each
scope is imported into a book of its own, once per setting, and every question that has evidence is
asked there.

What is counted, per question, in percent, then averaged over questions. The list that is judged
holds the turns of the first 20 results, in their order: a result that rests on a turn counts as that turn, one
that rests on none (a summary, say) is passed over, a turn counts once. A question with `before_idx` may only
find turns before it: it is asked for what is dated until the day of the last of them, the first 50 results are
taken, and later turns of that day are left out.

- R@k: the share of the relevant turns that are among the first k of the list.
- session R@k: the same for the sessions of the relevant turns; a session is found once any of its turns is
  among the first k.
- nDCG@10: sum over relevant turns at rank r <= 10 of 1/log2(r + 1), over the best that sum can be.
- MRR: one over the rank of the first relevant turn, 0 if it is not in the list.
- tokens: of the text of the first 10 results, by the book's own counter.
- knows: the share of questions for which the answer says `has_relevant`.
- p50: of the whole search for that many results, milliseconds, warm.

`--held-out` reports two fixed halves apart, `--half` runs one: a scope is in half `a` or `b` by the lowest bit of
the CRC-32 of "SET/SCOPE" (of "SET/QUESTION" in a set of less than three scopes). Every setting is compared with
the first by a paired bootstrap over questions (the questions drawn anew 10,000 times, a fixed seed); a difference
below two points, or one whose 95 % interval holds zero, is noise. `--compare OLD.json NEW.json` does so for two runs.
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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

if not __package__:  # run as a file: `benchmarks` is a package of the checkout
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

import memorybook
from benchmarks import books, difference, measure
from memorybook.text.tokens import count_tokens

SETS = ("locomo", "realmem", "memdaily", "madial", "cmrc")
DEFAULTS = (("words", "backend=sqlite_fts"), ("hybrid",))
DEPTHS = (1, 5, 10, 20)
SHOWN, DEEP = 20, 50
DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
FEWEST = 3
"""Scopes of a set that is split by scope; one of fewer is split by question."""

COLUMNS = (*(f"R@{k}" for k in DEPTHS), "nDCG@10", "MRR", *(f"session R@{k}" for k in DEPTHS), "tokens", "knows")

Row = dict[str, Any]


# --- one question --------------------------------------------------------------------------------


def recall_at(found: Sequence[object], relevant: Iterable[object], k: int) -> float:
    """Share of what is relevant among the first k, percent."""
    wanted = set(relevant)
    return 100 * len(set(found[:k]) & wanted) / len(wanted)


def ndcg(found: Sequence[object], relevant: Iterable[object], k: int = 10) -> float:
    """Normalised discounted cumulative gain of the first k, every relevant one worth the same, percent."""
    wanted = set(relevant)
    gain = sum(1 / math.log2(rank + 2) for rank, turn in enumerate(found[:k]) if turn in wanted)
    return 100 * gain / sum(1 / math.log2(rank + 2) for rank in range(min(k, len(wanted))))


def reciprocal_rank(found: Sequence[object], relevant: Iterable[object]) -> float:
    """One over the rank of the first relevant one, percent; 0 without any."""
    wanted = set(relevant)
    return next((100 / rank for rank, turn in enumerate(found, 1) if turn in wanted), 0.0)


def judged(found: Sequence[str], query: Mapping[str, Any], sessions: Mapping[str, str]) -> Row:
    """The figures of one question whose list of turns is `found`, best first; `sessions` has each turn's."""
    relevant = query["relevant_ids"]
    met = [sessions.get(turn, turn) for turn in found]
    wanted = [sessions.get(turn, turn) for turn in relevant]
    return {
        **{f"R@{k}": recall_at(found, relevant, k) for k in DEPTHS},
        "nDCG@10": ndcg(found, relevant),
        "MRR": reciprocal_rank(found, relevant),
        **{f"session R@{k}": recall_at(met, wanted, k) for k in DEPTHS},
    }


def _until(turns: Mapping[str, Row], limit: int) -> str | None:
    """The day of the last turns before a place, where all of them say theirs; None if not."""
    days = [str(row.get("ts", ""))[:10] for row in turns.values() if row.get("idx", 0) < limit]
    return max(days) if days and all(map(DAY.fullmatch, days)) else None


def ask(memory: memorybook.Memory, query: Mapping[str, Any], turns: Mapping[str, Row]) -> Row:
    """One question to an open book whose turns are known."""
    limit = query.get("before_idx")
    until = None if limit is None else _until(turns, limit)
    started = time.perf_counter()
    answer = memory.search(query["question"], max_results=SHOWN if limit is None else DEEP, until=until)
    taken = 1000 * (time.perf_counter() - started)
    hits = [hit for hit in answer.hits if limit is None or _index(turns, hit.passage.turn) < limit]
    found = list(dict.fromkeys(hit.passage.turn for hit in hits if hit.passage.turn))[:SHOWN]
    sessions = {turn: str(row.get("session", "")) for turn, row in turns.items()}
    return {
        **judged(found, query, sessions),
        "tokens": sum(count_tokens(hit.passage.text) for hit in hits[:10]),
        "knows": 100.0 * answer.has_relevant,
        "ms": measure.significant(taken),
        "found": found,
        "degraded": [*answer.state["degraded"], *(["vectors are pending"] if answer.state["pending_vectors"] else [])],
    }


def _index(turns: Mapping[str, Row], turn: str | None) -> float:
    """Place of a turn in its conversation; what rests on no turn that is known is from after everything."""
    return float(turns[turn].get("idx", 0)) if turn is not None and turn in turns else math.inf


# --- a set ---------------------------------------------------------------------------------------


def lines(path: Path) -> list[Row]:
    """The objects of a JSON Lines file."""
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def half_of(name: str, scope: str) -> str:
    """`a` or `b`, for good: the lowest bit of the CRC-32 of "NAME/SCOPE"."""
    return "ab"[zlib.crc32(f"{name}/{scope}".encode()) & 1]


def questions(folder: Path) -> list[Row]:
    """The questions of a set that have evidence, each with the `half` it is in."""
    asked = [query for query in lines(folder / "queries.jsonl") if query["relevant_ids"]]
    key = "scope" if len({query["scope"] for query in asked}) >= FEWEST else "id"
    return [{"category": "", **query, "half": half_of(folder.name, str(query[key]))} for query in asked]


def run(folder: Path, settings: Mapping[str, Mapping[str, str]], chosen: Sequence[Row]) -> Iterator[Row]:
    """Each chosen question under each setting, book by book."""
    for scope in dict.fromkeys(query["scope"] for query in chosen):
        own = folder / f"{scope}.jsonl"
        path = own if own.exists() else folder / "corpus.jsonl"
        turns = {str(row["id"]): row for row in lines(path) if row.get("scope", scope) == scope}
        asked = [query for query in chosen if query["scope"] == scope]
        for name, given in settings.items():
            with tempfile.TemporaryDirectory() as root, books.opened(Path(root), given) as memory:
                memory.import_file(str(path), scope=scope)
                books.finish(memory)
                memory.search(asked[0]["question"])  # what a process pays once is not a search's time
                for query in asked:
                    kept = {key: query[key] for key in ("id", "scope", "category", "half")}
                    yield {"set": folder.name, "setting": name, **kept, **ask(memory, query, turns)}
        measure.say(f"{folder.name} {scope}: {len(asked)} questions")


# --- tables --------------------------------------------------------------------------------------


def averages(rows: Sequence[Row]) -> dict[str, float]:
    """Each figure averaged over questions; `p50` of the time."""
    return {
        **{name: measure.mean([row[name] for row in rows]) for name in COLUMNS},
        "p50": measure.median([row["ms"] for row in rows]),
    }


def grouped(rows: Iterable[Row], *keys: str) -> dict[tuple[str, ...], list[Row]]:
    """Rows by the values of these keys, in the order they came."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def by(rows: Sequence[Row], *keys: str, columns: Sequence[str]) -> str:
    """A table with one line for each group of these keys: sets and settings in their order, the rest sorted."""
    sets = list(dict.fromkeys(row["set"] for row in rows))
    groups = grouped(rows, *keys).items()
    ordered = sorted(groups, key=lambda group: (sets.index(group[0][0]), *group[0][1:-1]))
    body = [[*group, len(members), *cells(averages(members), columns)] for group, members in ordered]
    return measure.table([*keys, "questions", *columns], body)


def cells(figures: Mapping[str, float], columns: Sequence[str]) -> list[str]:
    """The figures with one decimal; tokens are whole."""
    return [f"{figures[name]:.{0 if name == 'tokens' else 1}f}" for name in columns]


def macro(rows: Sequence[Row]) -> str:
    """Averages of the sets' averages, one line for each setting."""
    body = []
    for (setting,), members in grouped(rows, "setting").items():
        sets = [averages(group) for group in grouped(members, "set").values()]
        body.append([setting, *cells({name: measure.mean([one[name] for one in sets]) for name in MAIN}, MAIN)])
    return measure.table(["setting", *MAIN], body)


MAIN = ("R@1", "R@5", "R@10", "R@20", "nDCG@10", "MRR", "session R@10", "tokens", "knows", "p50")
SHORT = ("R@1", "R@5", "R@10", "R@20", "nDCG@10", "session R@10")


def report(rows: Sequence[Row], facts: Mapping[str, str], *, held_out: bool) -> str:
    """All tables, as they stand in docs/benchmarks.md."""
    parts = [by(rows, "set", "setting", columns=MAIN)]
    if len({row["set"] for row in rows}) > 1:
        parts.append("Averaged over the sets:\n\n" + macro(rows))
    with_categories = [row for row in rows if len(categories(rows, row["set"])) > 1]
    if with_categories:
        parts.append("By category:\n\n" + by(with_categories, "set", "category", "setting", columns=SHORT))
    if held_out:
        parts.append("By half:\n\n" + by(rows, "set", "half", "setting", columns=SHORT))
    names = list(dict.fromkeys(row["setting"] for row in rows))
    for name in names[1:]:
        text = difference.table(
            [r for r in rows if r["setting"] == names[0]], [r for r in rows if r["setting"] == name]
        )
        parts.append(f"`{name}` against `{names[0]}`, R@10, paired bootstrap:\n\n{text}")
    degraded = sorted({f"{row['setting']}: {reason}" for row in rows for reason in row["degraded"]})
    parts += [f"Degraded: {'; '.join(degraded)}.\n"] if degraded else []
    return "\n".join([*parts, measure.where_and_when(facts)])


def categories(rows: Sequence[Row], name: str) -> set[str]:
    """The categories of a set."""
    return {row["category"] for row in rows if row["set"] == name}


def panels(rows: Sequence[Row]) -> list[measure.Panel]:
    """R@k curves: one diagram for each set, one line for each setting."""
    shown = []
    for (name,), members in grouped(rows, "set").items():
        curves = {
            setting: [(k, averages(group)[f"R@{k}"]) for k in DEPTHS]
            for (setting,), group in grouped(members, "setting").items()
        }
        shown.append(measure.Panel(f"{name}, {len(members) // len(curves)} questions", curves, "k", "R@k, %"))
    return shown


# --- the command ---------------------------------------------------------------------------------


def parser() -> argparse.ArgumentParser:
    """The flags."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("data", type=Path, nargs="?", help="folder of the sets")
    made.add_argument("--set", action="append", dest="sets", help=f"only this set (default: {', '.join(SETS)})")
    made.add_argument("--scope", help="only this conversation")
    made.add_argument("--setting", action="append", nargs="+", metavar=("NAME", "KEY=VALUE"), dest="settings")
    made.add_argument("--half", choices=("a", "b"), help="only this half")
    made.add_argument("--held-out", action="store_true", help="report both halves apart")
    made.add_argument("--compare", nargs=2, type=Path, metavar=("OLD", "NEW"), help="compare two runs' recall.json")
    measure.add_output(made, "recall")
    return made


def settings_of(given: Sequence[Sequence[str]] | None) -> dict[str, dict[str, str]]:
    """Name -> settings of `--setting NAME KEY=VALUE …`. Raises ValueError for a value without `=`."""
    named = {}
    for name, *values in given or DEFAULTS:
        wrong = [value for value in values if "=" not in value]
        if wrong:
            raise ValueError(f"--setting {name}: {wrong[0]!r} is no KEY=VALUE")
        named[name] = dict(value.split("=", 1) for value in values)
    return named


def measured(options: argparse.Namespace, settings: Mapping[str, Mapping[str, str]]) -> list[Row]:
    """All questions of all sets that are there."""
    rows: list[Row] = []
    for name in options.sets or SETS:
        folder = options.data / name
        if not (folder / "queries.jsonl").exists():
            measure.say(f"skipped {name}: no {folder / 'queries.jsonl'}")
            continue
        chosen = [query for query in questions(folder) if options.scope in (None, query["scope"])]
        rows += run(folder, settings, [query for query in chosen if options.half in (None, query["half"])])
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, or compare what was measured; the arguments are those of the command line if None."""
    flags = parser()
    options = measure.parsed(flags, arguments, "recall")
    try:
        if options.compare:
            print(difference.files(*options.compare))
            return 0
        settings = settings_of(options.settings)
    except (OSError, ValueError) as error:
        flags.error(str(error))
    if options.data is None:
        flags.error("name the folder of the sets")
    rows = measured(options, settings)
    if not rows:
        measure.say(f"nothing to ask in {options.data}")
        return 1
    facts = measure.machine()
    measure.save(options, "recall", {"facts": facts, "settings": settings, "questions": rows})
    measure.publish(options, "recall", report(rows, facts, held_out=options.held_out), panels(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
