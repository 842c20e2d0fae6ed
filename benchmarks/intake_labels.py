"""How many entries of labelled talks are true, current and understandable alone, by labels that a person gave.

Usage: python benchmarks/intake.py DATA --mode rules --json ROWS && python benchmarks/intake_labels.py ROWS [LABELS]

LABELS (default: tests/data/intake_labels.jsonl) holds 100 entries drawn at random from what rules alone kept, each with
`good` and, where it is not, `why`. Those that are no longer kept are counted apart: they say nothing of today's rules.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

LABELS = Path(__file__).parents[1] / "tests" / "data" / "intake_labels.jsonl"


def main(arguments: Sequence[str] | None = None) -> int:
    """Count; the arguments are those of the command line if None."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given:
        print(__doc__)
        return 2
    rows = json.loads(Path(given[0]).read_text(encoding="utf-8"))
    kept = {(row["talk"], entry["text"]) for row in rows for entry in row["entries"]}
    lines = Path(given[1]) if len(given) > 1 else LABELS
    labels = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    standing = [one for one in labels if (one["talk"], one["text"]) in kept]
    good = sum(one["good"] for one in standing)
    print(f"{good} of {len(standing)} labelled entries are good; {len(labels) - len(standing)} are no longer kept")
    return 0


if __name__ == "__main__":
    sys.exit(main())
