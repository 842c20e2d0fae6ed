"""Recall of a book on labelled conversations, per back end: the figures in docs/benchmarks.md.

Usage: python benchmarks/recall.py DATA [--set locomo] [--backend sqlite_hybrid] [--scope conv-26]

DATA holds a folder per set, each with `queries.jsonl` ({"id", "scope", "question", "relevant_ids",
"before_idx"?}) and either `corpus.jsonl` or one `SCOPE.jsonl` per conversation. Each scope is
imported into a book of its own; a query counts the share of its relevant turns among the first k
results that are of a turn (a result that rests on a turn counts as that turn).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import memorybook
from memorybook.config import Config

BACKENDS = ("sqlite_hybrid", "sqlite_fts", "scan")


def lines(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def scopes(folder: Path, queries: list[dict[str, Any]]) -> Iterator[tuple[str, Path]]:
    """Each scope that is asked about, with the file that holds its turns."""
    for scope in dict.fromkeys(query["scope"] for query in queries):
        own = folder / f"{scope}.jsonl"
        yield scope, own if own.exists() else folder / "corpus.jsonl"


def recall_at(found: list[str], relevant: list[str], k: int) -> float:
    return len(set(found[:k]) & set(relevant)) / len(set(relevant))


def run(folder: Path, backend: str, only: str | None) -> dict[str, Any]:
    queries = [q for q in lines(folder / "queries.jsonl") if q["relevant_ids"]]
    if only:
        queries = [query for query in queries if query["scope"] == only]
    totals: dict[str, list[float]] = defaultdict(list)
    for scope, path in scopes(folder, queries):
        position = {str(row["id"]): row.get("idx", 0) for row in lines(path) if row.get("scope", scope) == scope}
        with tempfile.TemporaryDirectory() as root, memorybook.open(root, config=Config(backend=backend)) as memory:
            memory.import_file(str(path), scope=scope)
            for query in queries:
                if query["scope"] != scope:
                    continue
                limit = query.get("before_idx")
                started = time.perf_counter()
                answer = memory.search(query["question"], max_results=200 if limit is not None else 20)
                totals["ms"].append((time.perf_counter() - started) * 1000)
                found = [hit.passage.turn for hit in answer.hits if hit.passage.turn]
                if limit is not None:
                    found = [turn for turn in found if position.get(turn, 0) < limit]
                for k in (1, 5, 10):
                    totals[f"R@{k}"].append(100 * recall_at(found, query["relevant_ids"], k))
                totals["relevant"].append(100.0 * answer.has_relevant)
    report: dict[str, Any] = {"set": folder.name, "backend": backend, "queries": len(totals["R@10"])}
    for name in ("R@1", "R@5", "R@10", "relevant"):
        report[name] = round(sum(totals[name]) / len(totals[name]), 1)
    report["p50_ms"] = round(sorted(totals["ms"])[len(totals["ms"]) // 2], 1)
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--set", action="append", dest="sets")
    parser.add_argument("--backend", action="append", dest="backends", choices=BACKENDS)
    parser.add_argument("--scope")
    arguments = parser.parse_args()
    for name in arguments.sets or ("locomo", "realmem", "memdaily", "madial", "cmrc"):
        folder = arguments.data / name
        if not (folder / "queries.jsonl").exists():
            print(f"skipped {name}: no {folder / 'queries.jsonl'}", file=sys.stderr)
            continue
        for backend in arguments.backends or BACKENDS:
            print(json.dumps(run(folder, backend, arguments.scope)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
