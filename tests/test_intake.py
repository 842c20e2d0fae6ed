"""The benchmark of what goes into a book counts right, and on a few labelled talks nothing is amiss."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from benchmarks import intake

DATA = Path(os.environ.get("MEMORYBOOK_DATA") or Path(__file__).parents[2] / "shared" / "data")

needs_talks = pytest.mark.skipif(
    not (DATA / "scenarios" / "talks.jsonl").is_file(), reason=f"no scenarios in {DATA}; set MEMORYBOOK_DATA"
)

GOLD: dict[str, Any] = {
    "remember": [{"fact": "On Thursdays.", "match": ["Thursdays"], "kind": "fact"}],
    "superseded": [
        {"old_match": ["Tuesdays"], "new_match": ["Wednesdays"]},
        {"old_match": ["Wednesdays"], "new_match": ["Thursdays"]},
    ],
    "never": [{"match": "\\bzig\\b", "why": "joke"}],
}


def test_entries_are_held_against_the_labels() -> None:
    found = intake.count(["On Thursdays.", "Written in Zig.", "On Tuesdays."], GOLD, ["On Wednesdays."])
    assert [one["kept"] for one in found["remember"]] == [True]
    assert [(one["old"], one["new"]) for one in found["superseded"]] == [(True, True), (False, True)]
    assert [one["kept"] for one in found["never"]] == [True]
    assert [one["right"] for one in found["entries"]] == [True, False, False]


def test_a_new_value_that_never_was_there_is_missed() -> None:
    found = intake.count(["On Thursdays."], GOLD)
    assert [(one["old"], one["new"]) for one in found["superseded"]] == [(False, False), (False, True)]


def rows(tmp_path: Path, *flags: str) -> list[dict[str, Any]]:
    out = tmp_path / "rows.json"
    assert intake.main([str(DATA), "--jobs", "1", "--json", str(out), *flags]) == 0
    found: list[dict[str, Any]] = json.loads(out.read_text(encoding="utf-8"))
    return found


TALKS = [flag for id in ("dev-en05", "dev-en10", "dev-en18", "dev-zh03", "dev-zh08", "dev-zh15")
         for flag in ("--talk", id)]  # fmt: skip


@needs_talks
def test_all_facts_and_changes_of_recorded_extractions_in_one_call_a_session(tmp_path: Path) -> None:
    for row in rows(tmp_path, "--mode", "model", *TALKS):
        assert all(one["kept"] for one in row["remember"])
        assert not any(one["old"] or not one["new"] for one in row["superseded"])
        assert (row["calls"], row["failed"]) == (row["sessions"], [])


@needs_talks
def test_nothing_of_a_misbehaving_answer_is_stored_and_it_is_said(tmp_path: Path) -> None:
    found = rows(tmp_path, "--mode", "bad", *TALKS)
    assert len(found) >= 8
    assert [row["id"] for row in found if any(row[name] for name in intake.WRONG)] == []
