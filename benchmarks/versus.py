"""How the comparison with peers is shown: tables, the claim, the plot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks import measure
from benchmarks.roster import PEERS

Row = dict[str, Any]
OURS = "memorybook"
QUALITY = ("R@1", "R@5", "R@10", "nDCG@10")
TIME = ("p50_ms", "p95_ms", "cold_ms", "passages_per_s", "disk_mb", "rss_mb", "installed_mb", "found")


def report(rows: Sequence[Row], facts: Mapping[str, str]) -> str:
    """All tables as Markdown."""
    parts = [_quality(rows)]
    parts += [_time(rows, size) for size in sizes(rows)]
    parts += [_failures(rows), _notes(rows), measure.where_and_when(facts)]
    return "\n".join(part for part in parts if part)


def sizes(rows: Iterable[Row]) -> list[str]:
    """The sizes that were timed, smallest first."""
    found = {row["corpus"] for row in rows} - {"locomo", "all"}
    return sorted(found, key=int)


def shown(rows: Iterable[Row]) -> list[Row]:
    """Of each peer its defaults and, where it is another, its best by R@10; the best peer first."""
    picked: list[Row] = []
    by_peer: dict[str, list[Row]] = {}
    for row in rows:
        if row["corpus"] == "locomo" and "failed" not in row:
            by_peer.setdefault(row["peer"], []).append(row)
    best = {peer: max(found, key=lambda row: (row["R@10"], row["nDCG@10"])) for peer, found in by_peer.items()}
    for peer in sorted(best, key=lambda peer: -best[peer]["R@10"]):
        picked += [best[peer], *(row for row in by_peer[peer][:1] if row is not best[peer])]
    return picked


def hybrids(rows: Iterable[Row], size: str, *, durable: bool = True) -> list[Row]:
    """Rows of hybrid search at that size over durable storage (or over memory alone), fastest first."""
    found = [row for row in rows if row["corpus"] == size and row.get("hybrid") and row.get("durable") is durable]
    return sorted((row for row in found if "failed" not in row), key=lambda row: float(row["p50_ms"]))


def claim(rows: Sequence[Row], size: str) -> str:
    """Our hybrid search beside the fastest hybrid search of a peer over durable storage; "" without both."""
    ours = next((row for row in hybrids(rows, size) if row["peer"] == OURS), None)
    theirs = next((row for row in hybrids(rows, size) if row["peer"] != OURS), None)
    if not ours or not theirs:
        return ""
    held = hybrids(rows, size, durable=False)[:1]
    parts = [
        f"Hybrid search over durable storage, {int(size):,} passages: memorybook {ours['p50_ms']} ms, "
        f"the fastest peer {_beside(theirs, ours)}.",
        *(f"Of those that hold the index in memory: {_beside(row, ours)}." for row in held),
    ]
    return " ".join(parts) + "\n"


def _beside(theirs: Row, ours: Row) -> str:
    times = theirs["p50_ms"] / ours["p50_ms"]
    return f"({theirs['title']}, {theirs['setting']}) {theirs['p50_ms']} ms: {times:.1f} times as long"


def panels(rows: Sequence[Row]) -> list[measure.Panel]:
    """Quality against time, a point a peer: its best R@10 on the conversations, that setting's p50 at each size."""
    best = {row["peer"]: row for row in reversed(shown(rows))}  # the best comes first, so it stays
    made = []
    for size in sizes(rows):
        timed = {(row["peer"], row["setting"]): row for row in rows if row["corpus"] == size and "failed" not in row}
        lines = {
            f"{row['title']}: {row['setting']}": [(timed[peer, row["setting"]]["p50_ms"], row["R@10"])]
            for peer, row in best.items()
            if (peer, row["setting"]) in timed
        }
        if lines:
            title = f"best of each peer, {int(size):,} passages"
            made.append(measure.Panel(title, lines, "p50 of a search, ms", "R@10, LoCoMo", log_x=True))
    return made


def _quality(rows: Sequence[Row]) -> str:
    picked = shown(rows)
    if not picked:
        return ""
    head = ("peer", "version", "setting", "turns given as", *QUALITY, "p50, ms")
    lines = [
        (row["title"], row["version"], row["setting"], row["text"], *(row[name] for name in QUALITY), row["p50_ms"])
        for row in picked
    ]
    counted = f"LoCoMo, {picked[0]['questions']} questions, embedder: {picked[0]['embedder']}."
    return f"{counted}\n\n{measure.table(head, lines)}"


def _time(rows: Sequence[Row], size: str) -> str:
    timed = [row for row in rows if row["corpus"] == size and "failed" not in row]
    if not timed:
        return ""
    kinds = ("peer", "setting", "hybrid", "writes are on disk")
    figures = ("p50, ms", "p95, ms", "cold, ms", "passages/s in", "disk, MB", "memory, MB", "installed, MB", "found, %")
    lines = [
        (row["title"], row["setting"], *_kind(row), *(row[name] for name in TIME))
        for row in sorted(timed, key=lambda row: float(row["p50_ms"]))
    ]
    tabled = measure.table((*kinds, *figures), lines)
    return f"{int(size):,} generated passages.\n\n{tabled}\n{claim(rows, size)}"


def _kind(row: Row) -> tuple[str, str]:
    return "yes" if row["hybrid"] else "no", "at once" if row["durable"] else "when saved"


def _failures(rows: Iterable[Row]) -> str:
    head = ("peer", "setting", "corpus", "why there is no figure")
    lines = [
        (row["title"], row.get("setting", "all"), _corpus(row), row["failed"].replace("|", "/"))
        for row in rows
        if "failed" in row
    ]
    return measure.table(head, lines) if lines else ""


def _corpus(row: Row) -> str:
    return f"{row['corpus']}, {row['text']}" if row["corpus"] == "locomo" else str(row["corpus"])


def _notes(rows: Iterable[Row]) -> str:
    seen = {row["peer"] for row in rows}
    return "".join(f"- {peer.title}: {peer.note}.\n" for peer in PEERS if peer.note and peer.name in seen)
