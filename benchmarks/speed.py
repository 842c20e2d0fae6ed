"""How fast a book is, from a thousand passages to a million: the growth curve, as times and as ratios.

Usage: python benchmarks/speed.py [--sizes 1k,10k,100k] [--only search,cold] [--out FOLDER]

For each size a book is made of generated text (`benchmarks/corpus.py`: half Markdown, half turns of
conversations, one passage in five Chinese), and measured step by step, each step in a process of its own:

- ingest: turns imported and Markdown passages brought in per second, until found by words and meaning; memory, disk.
- search: warm, the whole answer, for four kinds of questions; ratio to an exact numpy search (float32 matrix-vector
  product and the best ten) over as many vectors of 256.
- cold: the whole process `memorybook search`; ratio to `python -c pass`.
- append: `append` and a sync, after which a search in any process finds it; `append` and the next `search`, which has
  to find it; ratios to one locked, fsynced append of a line by hand.
- rebuild: passages per second with kept vectors and with every vector made again, and the searches answered
  meanwhile; ratio to the embedder alone on the same texts.
- sync: a sync that finds nothing changed in a book of `--files` files; ratio to `os.scandir` and stat of them.

What is measured and its reference run in turn, pair by pair, so that a machine that gets slower slows both: a
ratio is the median over pairs. A step that fails is shown as failed and does not cost the others. With
`--work FOLDER` the books made there are kept and used again by the next run. A million passages take about 4 GB;
most of the time goes into importing half a million turns, which rules read for what is worth keeping:
with `--turns 50k` the rest of them are Markdown.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

if not __package__:  # run as a file: `benchmarks` is a package of the checkout
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from benchmarks import corpus, measure, phases

STEPS = ("ingest", "search", "cold", "append", "rebuild", "sync")
SUFFIXES = {"k": 1_000, "m": 1_000_000}

Figures = dict[str, Any]


# --- measuring -----------------------------------------------------------------------------------


def measured(work: Path, options: argparse.Namespace, given: Mapping[str, str]) -> Iterator[Figures]:
    """All that is known after each size, and after the sync, which has a size of its own."""
    found: Figures = {"sizes": {}}
    for size in options.sizes:
        found["sizes"][str(size)] = at_size(work / folder_name(size, options.turns, given), size, options, given)
        yield found
    if "sync" in options.only:
        with tempfile.TemporaryDirectory(dir=work) as own:
            found["sync"] = step("sync", phases.unchanged, Path(own), options.files, given, options.rounds)
        yield found


def folder_name(size: int, turns: int | None, given: Mapping[str, str]) -> str:
    """A book of its own for each size, share of turns and settings."""
    parts = [str(size), *([] if turns is None else [f"{turns}-turns"]), *(f"{name}={given[name]}" for name in given)]
    return " ".join(parts).replace(os.sep, "_")


def at_size(folder: Path, size: int, options: argparse.Namespace, given: Mapping[str, str]) -> Figures:
    """The steps asked for on a book of that size; making it comes first, if it is not there."""
    made = folder / "ingest.json"
    if made.exists():
        found = {"ingest": json.loads(made.read_text(encoding="utf-8"))}
    else:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        found = {"ingest": step(f"{size} ingest", phases.ingest, folder, size, given, options.turns)}
        if "failed" in found["ingest"]:
            return found
        made.write_text(json.dumps(found["ingest"]), encoding="utf-8")
    arguments: dict[str, tuple[Callable[..., Figures], tuple[int, ...]]] = {
        "search": (phases.search, (options.questions, options.repeat)),
        "cold": (phases.cold, (options.rounds,)),
        "append": (phases.append, (options.rounds,)),
        "rebuild": (phases.rebuild, ()),
    }
    for name, (call, more) in arguments.items():
        if name in options.only:
            found[name] = step(f"{size} {name}", call, folder, size, given, *more)
    return found


def step(title: str, call: Callable[..., Figures], *arguments: Any) -> Figures:
    """One step in a process of its own, announced."""
    measure.say(title)
    found = measure.apart(call, *arguments)
    if "failed" in found:
        measure.say(f"failed: {title}: {found['failed']}")
    return found


# --- tables --------------------------------------------------------------------------------------

Cell = Callable[[Figures], str]


def time_of(*path: str, high: bool = False) -> Cell:
    """A cell `p50 (ratio ×)` of a `Timing`, or `p50 / p95 (ratio ×)`."""

    def cell(figures: Figures) -> str:
        timing = at(figures, *path)
        tail = f" / {shown(timing['p95'])}" if high else ""
        return f"{shown(timing['p50'])}{tail} ({shown(measure.significant(timing['ratio'], 2))} ×)"

    return cell


def number_of(*path: str, unit: str = "") -> Cell:
    """A cell of one number."""
    return lambda figures: shown(at(figures, *path)) + unit


def at(figures: Figures, *path: str) -> Any:
    """The value at that path; raises KeyError if a step was not run or failed."""
    found: Any = figures
    for name in path:
        found = found[name]
    return found


def shown(value: float) -> str:
    """Three digits, thousands apart."""
    rounded = measure.significant(value, 3)
    return f"{rounded:,.0f}" if abs(rounded) >= 100 or rounded == int(rounded) else f"{rounded:g}"


ROWS: tuple[tuple[str, Cell], ...] = (
    ("passages in the index", number_of("ingest", "passages")),
    ("turns among them", number_of("ingest", "turns")),
    ("files", number_of("ingest", "files")),
    *(
        (f"search, {kind}, p50 / p95 ms (× numpy)", time_of("search", "kinds", kind, high=True))
        for kind in corpus.KINDS
    ),
    ("search, all, p50 / p95 ms (× numpy)", time_of("search", "all", high=True)),
    ("numpy float32 search, ms", number_of("search", "all", "reference")),
    ("listing the book's files, ms", number_of("search", "listing_ms")),
    ("passage asked for among the first ten", number_of("search", "found", unit=" %")),
    ("cold `memorybook search`, ms (× `python -c pass`)", time_of("cold", "time")),
    ("append, ms (× by hand)", time_of("append", "append")),
    ("append to searchable, p50 / p95 ms (× by hand)", time_of("append", "append_to_searchable", high=True)),
    ("append to found, p50 / p95 ms (× by hand)", time_of("append", "append_to_found", high=True)),
    ("import, turns/s", number_of("ingest", "turns_per_s")),
    ("Markdown brought in, passages/s", number_of("ingest", "notes_per_s")),
    ("rebuild, vectors kept, passages/s", number_of("rebuild", "kept_per_s")),
    ("rebuild, vectors made again, passages/s", number_of("rebuild", "again_per_s")),
    ("the same, × embedding alone", number_of("rebuild", "ratio")),
    ("the same by CPU time", number_of("rebuild", "cpu_ratio")),
    ("search during that rebuild, p50 / p95 ms (× before)", time_of("rebuild", "search", high=True)),
    ("peak memory, MB: search", number_of("search", "peak_mb")),
    ("peak memory, MB: cold search", number_of("cold", "peak_mb")),
    ("peak memory, MB: ingest", number_of("ingest", "peak_mb")),
    ("peak memory, MB: rebuild", number_of("rebuild", "peak_mb")),
    ("disk, MB: documents", number_of("ingest", "documents_mb")),
    ("disk, MB: index, transcripts, journal", number_of("ingest", "machine_mb")),
)


def cell_of(cell: Cell, figures: Figures) -> str:
    """The cell's text; a dash for what was not measured."""
    try:
        return cell(figures)
    except KeyError:
        return "–"


def report(found: Figures, facts: Mapping[str, str]) -> str:
    """The tables, as they stand in docs/benchmarks.md."""
    sizes = found["sizes"]
    rows = [[label, *(cell_of(cell, figures) for figures in sizes.values())] for label, cell in ROWS]
    parts = []
    if sizes:
        head = ["", *(f"{int(size):,}" for size in sizes)]
        parts.append(measure.table(head, [row for row in rows if set(row[1:]) != {"–"}]))
    if "time" in found.get("sync", {}):
        files = shown(found["sync"]["files"])
        parts.append(
            f"Nothing changed among {files} files: {time_of('time', high=True)(found['sync'])} ms p50 / p95, "
            "in brackets as a multiple of `os.scandir` and stat.\n"
        )
    broken = {
        f"{size} {name}": step["failed"]
        for size, steps in sizes.items()
        for name, step in steps.items()
        if "failed" in step
    }
    if "failed" in found.get("sync", {}):
        broken["sync"] = found["sync"]["failed"]
    parts += [f"Failed: {name}: {reason}\n" for name, reason in broken.items()]
    return "\n".join([*parts, measure.where_and_when(facts)])


def panels(found: Figures) -> list[measure.Panel]:
    """Growth curves: times, rates, sizes."""
    times: dict[str, Sequence[str]] = {
        **{kind: ("search", "kinds", kind, "p50") for kind in corpus.KINDS},
        "numpy float32 search": ("search", "all", "reference"),
        "append to found": ("append", "append_to_found", "p50"),
        "cold process": ("cold", "time", "p50"),
    }
    rates: dict[str, Sequence[str]] = {
        "turns imported": ("ingest", "turns_per_s"),
        "Markdown brought in": ("ingest", "notes_per_s"),
        "rebuild, vectors kept": ("rebuild", "kept_per_s"),
        "rebuild, vectors made again": ("rebuild", "again_per_s"),
        "embedding alone": ("rebuild", "embed_per_s"),
    }
    sizes: dict[str, Sequence[str]] = {
        "memory: search": ("search", "peak_mb"),
        "memory: rebuild": ("rebuild", "peak_mb"),
        "disk: documents": ("ingest", "documents_mb"),
        "disk: machine state": ("ingest", "machine_mb"),
    }
    drawn = (("Times", times, "ms"), ("Rates", rates, "per second"), ("Sizes", sizes, "MB"))
    panels = [measure.Panel(title, _lines(found, lines), "passages", unit, log=True) for title, lines, unit in drawn]
    return [panel for panel in panels if panel.lines]


def _lines(found: Figures, paths: Mapping[str, Sequence[str]]) -> dict[str, list[tuple[float, float]]]:
    """Name -> points (size, value) of what was measured."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for name, path in paths.items():
        for size, figures in found["sizes"].items():
            try:
                lines.setdefault(name, []).append((float(size), float(at(figures, *path))))
            except KeyError:
                continue
    return {name: points for name, points in lines.items() if points}


# --- the command ---------------------------------------------------------------------------------


def count_of(text: str) -> int:
    """`50`, `1k`, `2.5k` or `1M` as a number; raises ValueError."""
    scale = SUFFIXES.get(text[-1:].lower(), 1)
    return math.floor(float(text[:-1] if scale > 1 else text) * scale)


def sizes_of(text: str) -> list[int]:
    """`1k,100k,1M` as numbers, each at least 20."""
    sizes = [count_of(word) for word in text.split(",")]
    if min(sizes) < 20:
        raise argparse.ArgumentTypeError(f"{min(sizes)} is too small: give at least 20 passages")
    return sizes


def steps_of(text: str) -> list[str]:
    """Names of steps."""
    names = text.split(",")
    unknown = [name for name in names if name not in STEPS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is no step: choose from {', '.join(STEPS)}")
    return names


def parser() -> argparse.ArgumentParser:
    """The flags."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = made.add_argument
    add("--sizes", type=sizes_of, default=sizes_of("1k,10k,100k"), help="passages: 1k,10k,100k,1M")
    add("--only", type=steps_of, default=list(STEPS), help=f"steps: {','.join(STEPS)}")
    add("--set", action="append", default=[], dest="given", metavar="KEY=VALUE", help="a setting of the book")
    add("--turns", type=count_of, help="most passages that are turns, 50k; half of them by default")
    add("--questions", type=int, default=15, help="questions of each kind (default 15)")
    add("--repeat", type=int, default=3, help="rounds of the questions; each counts with its median (default 3)")
    add("--rounds", type=int, default=30, help="pairs of everything else (default 30)")
    add("--files", type=int, default=10_000, help="files of the sync that finds nothing changed")
    add("--work", type=Path, help="folder for the books, kept; a temporary one by default")
    measure.add_output(made, "speed")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and show; the arguments are those of the command line if None. 1 if a step failed."""
    flags = parser()
    options = measure.parsed(flags, arguments, "speed")
    wrong = [text for text in options.given if "=" not in text]
    if wrong:
        flags.error(f"--set {wrong[0]!r} is no KEY=VALUE")
    given = dict(text.split("=", 1) for text in options.given)
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        facts = measure.machine()
        for found in measured(work, options, given):
            measure.save(options, "speed", {"facts": facts, "settings": given, **found})
    text = report(found, facts)
    measure.publish(options, "speed", text, panels(found))
    return 1 if "Failed: " in text else 0


if __name__ == "__main__":
    sys.exit(main())
