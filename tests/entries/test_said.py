"""What of a sentence that a person says is kept without a model, by the kind of sentence."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memorybook.entries.rules import by_rules
from memorybook.model import Turn

NOW = datetime(2026, 6, 21, 10, tzinfo=UTC)
SAID = [
    json.loads(line) for line in (Path(__file__).parents[1] / "data" / "said.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("row", SAID, ids=lambda row: f"{row['point']}: {row['said'][:40]}")
def test_what_is_kept_of_a_sentence(row: dict[str, Any]) -> None:
    """`kept` is a part of each entry, in order, with its full stop all of it; what is `standing` never lapses."""
    name = row.get("speaker", "")
    turn = Turn(id="t", session="s", text=row["said"], role="" if name else "user", speaker=name or "user", time=NOW)
    found = by_rules([turn], session=None, now=NOW).candidates
    texts = [one.content for one in found]
    assert len(texts) == len(row["kept"]), texts
    for part, text in zip(row["kept"], texts, strict=True):
        assert text == part if part[-1] in ".。" else part in text
    if row.get("standing"):
        assert not [
            one for one in found if one.category == "todo" or one.expires or re.search(r"\d{4}-\d\d", one.content)
        ]
