"""The verb that remembers a session at its end, on a real book."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import memorybook
from memorybook.context import Models
from memorybook.errors import LLMFailed
from memorybook.testing import ScriptedLLM

SAID = (
    ("user", "From now on, always write commit messages in English."),
    ("assistant", "I will."),
    ("user", "记住：我对芒果过敏，点餐的时候要避开。"),
)
TALK = [
    {"role": role, "content": text, "timestamp": f"2026-02-24T09:00:0{number}Z"}
    for number, (role, text) in enumerate(SAID)
]


@pytest.fixture
def talk(tmp_path: Path) -> str:
    path = tmp_path / "talk.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in TALK), encoding="utf-8")
    return str(path)


@pytest.fixture
def book(tmp_path: Path) -> str:
    return str(tmp_path / "book")


def test_a_session_is_remembered_once(shell: Any, book: str, talk: str) -> None:
    first = shell("--book", book, "memorize", talk, "--session", "standup")
    assert (first.code, first.out.splitlines()[0]) == (0, "session standup: 2 new")
    assert "芒果过敏" in first.out
    assert "to take it back: memorybook undo " in first.err
    again = shell("--book", book, "memorize", "--session", "standup")
    assert (again.code, again.out) == (0, "session standup: nothing new\n")


def test_as_json(shell: Any, book: str, talk: str) -> None:
    done = shell("--book", book, "--json", "memorize", "-", stdin=Path(talk).read_bytes())
    [found] = json.loads(done.out)["sessions"]
    assert (found["new"], found["queued"], found["usage"]) == (2, 0, None)


def test_what_a_model_failed_at_waits_and_is_tried_again(
    shell: Any, book: str, talk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    down = ScriptedLLM([], then=LLMFailed("the model is down, as it was told to be"))
    monkeypatch.setattr(Models, "get", lambda *_: down)
    failed = shell("--book", book, "memorize", talk, "--session", "standup")
    assert failed.code == 5
    assert "the model is down" in failed.err
    assert shell("--book", book, "memorize", "--retry").code == 5
    with memorybook.open(book) as memory:
        assert memory.entries().total == 0
    monkeypatch.undo()
    shown = shell("--book", book, "memorize", "--retry")
    assert (shown.code, "2 new" in shown.out) == (0, True)  # now, not when its turn comes
    with memorybook.open(book) as memory:
        assert memory.entries().total == 2


def test_nothing_waits(shell: Any, book: str) -> None:
    assert shell("--book", book, "memorize", "--retry").out == "Nothing waits to be remembered.\n"


@pytest.mark.parametrize("words", [(), ("talk.jsonl", "--retry"), ("--session", "s", "--retry")])
def test_it_needs_one_of_three(shell: Any, book: str, words: tuple[str, ...]) -> None:
    done = shell("--book", book, "memorize", *words)
    assert done.code == 2
    assert "memorize needs" in done.err


def test_switched_off(shell: Any, book: str, talk: str) -> None:
    done = shell("--book", book, "--set", "enabled=false", "memorize", talk)
    assert (done.code, "switched off" in done.out) == (0, True)
