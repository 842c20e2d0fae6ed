"""How long a writer holds the book's lock, and so keeps every other writer waiting.

Usage: python benchmarks/lock.py [--entries 2000] [--runs 30]

Each verb is called by one long-lived process (`warm`), by processes that do nothing else (`cold`), and
after every save of a person (`edited`), on a MEMORY.md of that many entries. Prints one JSON object;
milliseconds from taking the lock to letting it go.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import memorybook
from memorybook.config.settings import Config

WORDS = "alpha beta gamma delta tea code rust python harbour 部署 偏好 简洁 数据库 会议".split()


def fill(root: Path, entries: int) -> None:
    """A book whose MEMORY.md holds that many entries with all their fields, a tenth of them archived."""
    rnd = random.Random(7)
    parts = ["# Agent Memory\n\n## Preferences\n\n## Active Memories\n"]
    for number in range(entries):
        if number == entries * 9 // 10:
            parts.append("## Archived Memories\n")
        text = " ".join(rnd.choices(WORDS, k=15))
        parts.append(
            f"### [e{number:05d}] fact | 0.60 | 2026-02-20 | 1\n{text} {number}\n<!-- score: 0.6; scored: 2026-02-20; "
            "created: 2026-01-03T09:12:00Z; tags: style, python; trust: user -->\n"
        )
    root.mkdir()
    Path(root, "MEMORY.md").write_text("\n".join(parts), encoding="utf-8")


def watched(memory: memorybook.Memory) -> list[float]:
    """Milliseconds for which this memory holds the lock, once for each time, as they come."""
    documents: Any = memory.book.documents
    lock, held, depth = documents.lock, [], [0]

    @contextmanager
    def timed() -> Iterator[None]:
        with lock():
            depth[0] += 1
            started = time.perf_counter()
            try:
                yield
            finally:
                depth[0] -= 1
                if not depth[0]:
                    held.append(1000 * (time.perf_counter() - started))

    documents.lock = timed
    return held


def call(memory: memorybook.Memory, verb: str, number: object) -> None:
    """Say something new by that verb."""
    if verb == "remember":
        memory.remember(f"The new statement {number} says nothing that was said before")
    elif verb == "append":
        memory.append(f"the note {number} says nothing that was said before")
    else:
        memory.append(f"the item {number} says nothing that was said before", section="Preferences")


def measured(root: Path, verb: str, runs: int, *, edit: bool) -> list[float]:
    """The longest hold of each call."""
    with memorybook.open(str(root), config=Config(timezone="UTC")) as memory:
        held = watched(memory)
        call(memory, verb, f"first {edit}")
        longest = []
        for number in range(runs):
            if edit:
                page = Path(root, "MEMORY.md")
                text = page.read_text(encoding="utf-8")
                page.write_text(text.replace("## Preferences\n", f"## Preferences\n- edit {verb} {number}\n"), "utf-8")
                time.sleep(0.05)
                memory.search("edit")  # what a person saved is looked for and merged by whoever comes first
            held.clear()
            call(memory, verb, f"{number} {edit}")
            longest.append(max(held))
    return longest


def cold(root: Path, verb: str, runs: int) -> list[float]:
    """The same, each call in a process of its own."""
    longest = []
    for number in range(runs):
        command = [sys.executable, __file__, "--one", verb, "--root", str(root), "--number", f"cold {number}"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        longest.append(float(done.stdout))
    return longest


def figures(longest: list[float]) -> dict[str, float]:
    return {"p50": round(statistics.median(longest), 1), "max": round(max(longest), 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--root", help=argparse.SUPPRESS)
    parser.add_argument("--number", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        with memorybook.open(options.root, config=Config(timezone="UTC")) as memory:
            held = watched(memory)
            call(memory, options.one, options.number)
        print(max(held))
        return
    shown: dict[str, Any] = {"entries": options.entries, "runs": options.runs}
    for verb in ("remember", "append", "append_item"):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder, "book")
            fill(root, options.entries)
            shown[verb] = {
                "cold": figures(cold(root, verb, max(3, options.runs // 5))),
                "warm": figures(measured(root, verb, options.runs, edit=False)),
                "edited": figures(measured(root, verb, max(3, options.runs // 3), edit=True)),
            }
    print(json.dumps(shown, indent=2))


if __name__ == "__main__":
    main()
