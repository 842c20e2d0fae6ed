"""Each program in `examples/` runs as it stands, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from machine import without_settings

EXAMPLES = sorted(Path(__file__).parent.parent.glob("examples/*.py"))


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without settings of its own."""
    without_settings(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)


def run(name: Path, *arguments: str) -> str:
    """What the example prints."""
    done = subprocess.run([sys.executable, name, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_runs_as_it_stands(example: Path) -> None:
    assert run(example)


@pytest.mark.parametrize("name", ["agent.py", "agent_async.py"])
@pytest.mark.parametrize(
    ("said", "asked", "known"),
    [
        ("I prefer green tea in the morning.", "What do I drink in the morning?", "green tea"),
        ("我早上喜欢喝绿茶。", "我早上喝什么？", "绿茶"),
    ],
)
def test_the_agent_of_the_tutorial_knows_what_an_earlier_process_was_told(
    name: str, said: str, asked: str, known: str
) -> None:
    agent = next(example for example in EXAMPLES if example.name == name)
    run(agent, said)
    assert known in run(agent, asked)
