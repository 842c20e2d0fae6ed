"""What a host's own memory file has of the answers to LoCoMo's questions, if the talk itself stands in it.

Usage: python benchmarks/host_file.py DATA

A host such as Claude Code loads the first 200 lines of MEMORY.md, at most 25 kB, into every conversation and searches
nothing. Here each turn is a line, as `[date] Speaker: text`; printed is the share of answering turns among the lines
that are loaded, averaged over the questions, and how many tokens these are (four bytes each): once for the oldest turns
first and once for the newest first. A model that keeps the file by itself would shorten, and choose.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from dateutil import parser

if not __package__:  # run as a file: `benchmarks` is a package of the checkout
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from benchmarks.recall import lines

LINES, BYTES = 200, 25_000


def loaded(turns: Iterable[dict[str, Any]]) -> tuple[set[str], int]:
    """The ids of the turns that fit, and their bytes."""
    ids, size = set[str](), 0
    for turn in turns:
        day = parser.parse(turn["timestamp"], dayfirst=True)
        size_with_it = size + len(f"[{day:%Y-%m-%d}] {turn['speaker']}: {turn['content']}\n".encode())
        if len(ids) == LINES or size_with_it > BYTES:
            break
        ids.add(str(turn["id"]))
        size = size_with_it
    return ids, size


def main(arguments: Sequence[str]) -> int:
    """Print the figures as JSON."""
    folder = Path(arguments[0], "locomo")
    queries = [query for query in lines(folder / "queries.jsonl") if query["relevant_ids"]]
    talks = {scope: lines(folder / f"{scope}.jsonl") for scope in {query["scope"] for query in queries}}
    for order, step in (("oldest first", 1), ("newest first", -1)):
        files = {scope: loaded(turns[::step]) for scope, turns in talks.items()}
        shares = [len(files[q["scope"]][0] & {*q["relevant_ids"]}) / len({*q["relevant_ids"]}) for q in queries]
        tokens = [files[q["scope"]][1] / 4 for q in queries]
        found, size = (sum(each) / len(queries) for each in (shares, tokens))
        figures = {"questions": len(queries), "found, %": round(100 * found, 1), "tokens": round(size)}
        print(json.dumps({"order": order, **figures}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
