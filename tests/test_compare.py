"""Two providers beside each other, as the benchmark compares them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import compare
from memorybook.testing import ScriptedLLM

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


def saved(messages: Any) -> dict[str, Any]:
    page = "### fact | high\nharbour-api runs on port 8443."
    return {"name": "save_memory", "arguments": {"history_entry": "[2026-02-23 09:00] Hi.", "memory_update": page}}


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


def test_what_a_model_took_is_counted(chat: Path) -> None:
    ran = compare.run("flat", compare.conversations(chat), "which port?", {}, ScriptedLLM(then=saved))
    assert (ran["calls"], ran["failed"], ran["entries"]) == (2, 0, 1)
    assert ran["tokens in"] > 0
    assert "harbour-api runs on port 8443." in ran["prompt"]


@pytest.mark.parametrize(
    "arguments",
    [["--providers", "flat"], ["--providers", "flat,graph"], ["--providers", "flat,flat"], ["--set", "tiered"]],
)
def test_wrong_use_is_one_sentence(chat: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        compare.main([str(chat), *arguments])
    assert "error: " in capsys.readouterr().err
