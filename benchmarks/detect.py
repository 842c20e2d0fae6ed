"""Knowing when to recall: precision and recall of triggering, and the scene, on labelled inputs.

Usage: python benchmarks/detect.py [FILE …] [--part tuning] [--failures] [--page docs/benchmarks.md]

A FILE holds JSON Lines: {"id", "lang": "en" | "zh", "text", "scene": "history" | "topic" | "session" | "within" |
null}; null is a look-alike that must not trigger. The inputs shipped in `tests/data/detect.jsonl` are always read.
They are split by a fixed rule, the CRC-32 of the id modulo 5: below 2 is the part kept aside, the rest the part that
the rules may be tuned on. `detect_new.jsonl` beside it was written before the rules that it measures, and is all kept
aside; `detect_taught.jsonl` is only learned from. A further file is one part, named by the file.

What is counted: precision and recall of triggering (any scene against none), in percent, and of the inputs that
should trigger the share that was given the right scene. `--failures` prints each wrong answer of the chosen part.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

if not __package__:  # run as a file: `benchmarks` is a package of the checkout
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from benchmarks import measure
from memorybook.sessions.detect import detect

DATA = Path(__file__).parent.parent / "tests" / "data"
SHIPPED, NEW, TAUGHT = DATA / "detect.jsonl", DATA / "detect_new.jsonl", DATA / "detect_taught.jsonl"


class Input(NamedTuple):
    """A labelled input and what was made of it; None as a scene is none."""

    id: str
    part: str
    language: str
    text: str
    scene: str | None
    found: str | None = None


def part_of(id: str) -> str:
    """`kept aside` for two ids of five, else `tuning`; always the same."""
    return "kept aside" if zlib.crc32(id.encode()) % 5 < 2 else "tuning"


def read(path: Path, part: str | None = None) -> list[Input]:
    """The inputs of a file, all of one part or split."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [Input(r["id"], part or part_of(r["id"]), r["lang"], r["text"], r["scene"]) for r in rows]


def tried(inputs: Iterable[Input]) -> list[Input]:
    """The inputs with what is detected."""
    return [one._replace(found=recall.scene if (recall := detect(one.text)) else None) for one in inputs]


def figures(inputs: Sequence[Input]) -> Mapping[str, float]:
    """How many, and in percent precision and recall of triggering, and how often the scene is right."""
    wanted = [one for one in inputs if one.scene]
    fired = [one for one in inputs if one.found]
    both = [one for one in wanted if one.found]
    return {
        "inputs": len(inputs),
        "to trigger": len(wanted),
        "precision": 100 * len(both) / (len(fired) or 1),
        "recall": 100 * len(both) / (len(wanted) or 1),
        "scene right": 100 * sum(one.scene == one.found for one in wanted) / (len(wanted) or 1),
    }


def table(inputs: Sequence[Input]) -> str:
    """The figures of each part and language, as Markdown."""
    groups: dict[tuple[str, str], list[Input]] = {}
    for one in inputs:
        groups.setdefault((one.part, one.language), []).append(one)
    rows = [
        [part, language, *(f"{value:.1f}" if isinstance(value, float) else str(value) for value in found.values())]
        for (part, language), members in sorted(groups.items())
        for found in [figures(members)]
    ]
    return measure.table(["part", "language", "inputs", "to trigger", "precision", "recall", "scene right"], rows)


def failures(inputs: Iterable[Input]) -> list[str]:
    """A line for each wrong answer."""
    return [f"{one.id} wanted {one.scene}, found {one.found}: {one.text}" for one in inputs if one.scene != one.found]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; 0."""
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("files", type=Path, nargs="*", help="further labelled inputs")
    flags.add_argument("--part", help="only this part: tuning, kept aside, or the name of a file")
    flags.add_argument("--failures", action="store_true", help="print each wrong answer")
    measure.add_output(flags, "detect")
    options = measure.parsed(flags, arguments, "detect")
    inputs = read(SHIPPED) + read(NEW, "new") + [one for file in options.files for one in read(file, file.stem)]
    inputs = tried([one for one in inputs if options.part in (None, one.part)])
    began = time.perf_counter()
    tried(inputs)
    took = 1000 * (time.perf_counter() - began) / max(1, len(inputs))
    measure.save(options, "detect", {"inputs": [one._asdict() for one in inputs]})
    text = f"{table(inputs)}\n{took:.2f} ms for each input, once the patterns are compiled.\n"
    measure.publish(options, "detect", text, ())
    if options.failures:
        print("\n".join(failures(inputs)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
