"""Two settings, or two runs, question by question: is the difference more than chance?"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import measure

RESAMPLES = 10_000
SEED = 11
LEAST = 2.0
"""Points below which a difference is noise whatever the bootstrap says."""

_AT_ONCE = 2_000_000


class Difference(NamedTuple):
    """One paired comparison.

    Attributes:
        questions: How many pairs.
        before, after: Averages.
        change: After minus before, points.
        low, high: Bounds of its 95 % interval.
        agree: Share (0..1) of the resamples whose difference has the sign of `change`.
    """

    questions: int
    before: float
    after: float
    change: float
    low: float
    high: float
    agree: float

    @property
    def verdict(self) -> str:
        """`equal` if no question differs, `noise` if it may be chance or is too small to matter, `better`, `worse`."""
        if self.low == self.high == 0:
            return "equal"
        if abs(self.change) < LEAST or self.low <= 0 <= self.high:
            return "noise"
        return "better" if self.change > 0 else "worse"


def difference(before: Sequence[float], after: Sequence[float]) -> Difference:
    """Paired bootstrap over questions: the pairs drawn anew, with replacement, always in the same way."""
    change = np.asarray(after, dtype=np.float64) - np.asarray(before, dtype=np.float64)
    rng = np.random.default_rng(SEED)
    step = max(1, _AT_ONCE // len(change))
    drawn = [
        change[rng.integers(0, len(change), (min(step, RESAMPLES - done), len(change)))].mean(axis=1)
        for done in range(0, RESAMPLES, step)
    ]
    means = np.concatenate(drawn)
    low, high = np.percentile(means, (2.5, 97.5))
    sign = np.sign(change.mean())
    agree = float((np.sign(means) == sign).mean())
    return Difference(
        len(change), measure.mean(before), measure.mean(after), float(change.mean()), float(low), float(high), agree
    )


def table(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]], metric: str = "R@10") -> str:
    """A line for each set and, where it has several, each category: of the questions that both answer."""
    known = {(row["set"], row["id"]): row for row in before}
    both = [(known[key], row) for row in after if (key := (row["set"], row["id"])) in known]
    groups: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for old, new in both:
        for category in ("all", new["category"]):
            groups.setdefault((new["set"], category), []).append((old[metric], new[metric]))
    several = {name for name, _ in groups if sum(group[0] == name for group in groups) > 2}
    rows = [
        [name, category, *_cells(difference([old for old, _ in values], [new for _, new in values]))]
        for (name, category), values in groups.items()
        if category == "all" or name in several
    ]
    head = ["set", "category", "questions", "before", "after", "difference", "95 % interval", "agree", ""]
    return measure.table(head, rows)


def _cells(found: Difference) -> list[str]:
    return [
        str(found.questions),
        f"{found.before:.1f}",
        f"{found.after:.1f}",
        f"{found.change:+.1f}",
        f"{found.low:+.1f} … {found.high:+.1f}",
        f"{100 * found.agree:.0f} %",
        found.verdict,
    ]


def files(old: Path, new: Path) -> str:
    """The tables for every setting that both runs have; raises ValueError if they share none."""
    runs = [json.loads(path.read_text(encoding="utf-8"))["questions"] for path in (old, new)]
    shared = [name for name in dict.fromkeys(row["setting"] for row in runs[0]) if _of(runs[1], name)]
    if not shared:
        raise ValueError(f"{old} and {new} have no setting of the same name")
    return "\n".join(f"`{name}`, R@10:\n\n{table(_of(runs[0], name), _of(runs[1], name))}" for name in shared)


def _of(rows: Sequence[Mapping[str, Any]], setting: str) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["setting"] == setting]
