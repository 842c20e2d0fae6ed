"""The benchmark of what a book knows: its figures are what they are said to be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import knowing


def test_the_area_under_the_curve_is_the_share_of_pairs_in_order() -> None:
    assert knowing.auc([0.9, 0.5], [0.5, 0.1]) == pytest.approx(87.5)
    assert knowing.auc([0.1], [0.9]) == 0


def test_a_place_is_that_of_the_first_that_is_wanted() -> None:
    assert knowing.first_of(["a", None, "b"], ["b", "c"]) == 3
    assert knowing.first_of(["a"], ["b"]) == 0
    assert knowing.line_of(["# Memory", "- User: It is on Mondays."], ["It is on  Mondays."]) == 2


def test_a_talk_is_taken_in_and_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = ("Yoga class is on Mondays", "I like plain tea", "Yoga class moved to Friday, Mondays are full")
    sessions = []
    for day, text in enumerate(said, 1):
        time = f"2026-03-0{day}T10:00:00+00:00"
        turn = {"id": f"t{day}", "role": "user", "content": text, "timestamp": time}
        sessions.append({"id": f"s{day}", "time": time, "turns": [turn]})
    changed = {"answerable": True, "answer": ["Friday"], "turns": ["t3"], "older": ["t1"]}
    unknown: dict[str, Any] = {"answerable": False, "answer": [], "turns": [], "older": []}
    questions = [
        {"id": "q1", "talk": "one", "question": "Which day is the yoga class?", **changed},
        {"id": "q3", "talk": "one", "question": "Which tea do I like?", **changed, "turns": ["t2"], "older": []},
        {"id": "q2", "talk": "one", "question": "Who repaired the submarine?", **unknown},
    ]
    for name, rows in (("talks", [{"id": "one", "lang": "en", "sessions": sessions}]), ("questions", questions)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert knowing.main([str(tmp_path), "--setting", "words", "backend=sqlite_fts"]) == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| words | one")]
    assert line == "| words | one | 2 | 1 | 100.0 | 50.0 | 0.0 | 100.0 | 100.0 | 100.0 | 1 of 1 | 1 of 1 |"
