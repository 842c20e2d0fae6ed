"""Two providers beside each other, as the benchmark compares them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import compare

SAID = (
    ("a", "user", "Remember that harbour-api runs on port 8443."),
    ("a", "assistant", "Noted."),
    ("b", "user", "I prefer green tea in the morning."),
)


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    rows = [
        {"session": session, "role": role, "content": text, "timestamp": f"2026-02-23T09:0{number}:00Z"}
        for number, (session, role, text) in enumerate(SAID)
    ]
    path = tmp_path / "conv-1.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_two_providers_stand_beside_each_other(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare.main([str(chat.parent), "--providers", "tiered, agentic"]) == 0
    out = capsys.readouterr().out
    assert "| entries | 2 | 2 |" in out
    assert "Remembered by both (2):" in out
    assert "Only by" not in out
    assert out.count("User: I prefer green tea in the morning.") == 2


def test_a_provider_that_fails_says_why_once(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare.main([str(chat), "--providers", "flat,tiered", "--query", "which port?"]) == 0
    out = capsys.readouterr().out
    assert "| failed | 2 | 0 |" in out
    assert out.count("needs a language model") == 1
    assert "Only by tiered (2):" in out
