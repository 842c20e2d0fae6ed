"""How many secrets are masked, and how many look-alikes by mistake, per language.

Usage: python make_lines.py > lines.jsonl; python benchmarks/masking.py lines.jsonl

Lines are {"label": "secret" | "benign", "lang", "text", "secret"}: a secret counts as masked if its
`secret` part does not survive whole (without such a part: if the line changed), a benign line as a
false alarm if anything in it changes.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

from memorybook.text.redact import redact


def main(path: str) -> int:
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        clean = redact(row["text"]).text
        tally = counts[row["lang"]]
        tally[row["label"]] += 1
        gone = row["secret"] not in clean if row["secret"] else clean != row["text"]
        tally["masked"] += row["label"] == "secret" and gone
        tally["false_alarms"] += row["label"] == "benign" and clean != row["text"]
    for language, tally in sorted(counts.items()):
        recall = 100 * tally["masked"] / tally["secret"]
        alarms = 100 * tally["false_alarms"] / tally["benign"]
        print(json.dumps({"lang": language, **tally, "recall": round(recall, 1), "false_positives": round(alarms, 1)}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
