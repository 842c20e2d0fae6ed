"""Learn which inputs are like those that ask for a recall, and write the weights that ship with the package.

Usage: python benchmarks/likeness.py

Reads `tests/data/detect_taught.jsonl` and the part of `tests/data/detect.jsonl` that may be tuned on (see
`benchmarks/detect.py`), and nothing else. A softmax over four scenes and none, on the runs of
`memorybook.sessions.detect` that at least two inputs have; plain gradient descent with momentum from zero, so that it
comes out the same each time. It learns three times: of the runs that say most, the more often the better, twice `MOST`
of each language are kept, then `MOST`, each learned anew without those that went.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if not __package__:  # run as a file: `benchmarks` is a package of the checkout
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from benchmarks.detect import SHIPPED, TAUGHT, Input, read
from memorybook.sessions import detect

if TYPE_CHECKING:
    from memorybook.sessions.detect import Language

KEPT = Path(detect.__file__).with_name("likeness.tsv")
RARE, SHRINK, RATE, STEPS = 2, 1e-4, 2.0, 300
MOST: dict[Language, int] = {"en": 220, "zh": 150}


def learned(inputs: Sequence[Input], language: Language) -> list[str]:
    """A line for each run that says something: language, run, and what it says for each scene against none."""
    seen = [detect.runs(detect.rules(language).plain(one.text), language) for one in inputs]
    counts = Counter(run for runs in seen for run in runs)
    names = sorted(run for run in counts if counts[run] >= RARE)
    scenes = [None, *detect.SCENES]
    wanted = np.eye(5)[[scenes.index(one.scene) for one in inputs]]  # type: ignore[arg-type]
    said = _fitted(seen, names, wanted)
    for most in (2 * MOST[language], MOST[language]):
        telling = np.abs(said[:-1]).max(axis=1) * np.sqrt([counts[run] for run in names])
        names = [names[at] for at in np.sort(np.argsort(-telling, kind="stable")[:most])]
        said = _fitted(seen, names, wanted)
    whole = np.rint(detect.SCALE * said).astype(int)
    return ["\t".join([language, name, *map(str, row)]) for name, row in zip([*names, detect.BIAS], whole, strict=True)]


def _fitted(seen: Sequence[set[str]], names: Sequence[str], wanted: np.ndarray) -> np.ndarray:
    """What each of the runs, and none, says for each scene against none."""
    places = {run: place for place, run in enumerate(names)}
    x = np.zeros((len(seen), len(names) + 1))
    for row, runs in zip(x, seen, strict=True):
        known = [places[run] for run in runs if run in places]
        row[known] = 1 / np.sqrt(len(known) or 1)
    x[:, -1] = 1
    weights = np.zeros((x.shape[1], wanted.shape[1]))
    speed = np.zeros_like(weights)
    for _ in range(STEPS):
        odds = np.exp(x @ weights)
        step = x.T @ (odds / odds.sum(axis=1, keepdims=True) - wanted) / len(seen) + SHRINK * weights
        speed = 0.9 * speed - RATE * step
        weights += speed
    return weights[:, 1:] - weights[:, :1]


def main() -> int:
    """Write the weights; 0."""
    inputs = [one for one in read(SHIPPED) if one.part == "tuning"] + read(TAUGHT, "taught")
    lines = [line for name in ("en", "zh") for line in learned([one for one in inputs if one.language == name], name)]
    KEPT.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"{len(lines)} weights in {KEPT.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
