"""The command line as a function: what it prints and returns, on a machine with no settings of its own."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from machine import without_settings
from memorybook.cli import main
from memorybook.cli.call import Call


class Done(NamedTuple):
    code: int
    out: str
    err: str


Shell = Callable[..., Done]


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home and project; returns the project."""
    without_settings(monkeypatch, tmp_path / "home")
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.chdir(project)
    return project


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Call `memorybook` with words, and bytes for its stdin."""

    def run(*words: str, stdin: bytes = b"") -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(list(words))
        return Done(code, *capsys.readouterr())

    return run


class Recorded:
    """What the tools were asked, and what they answer."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.answers: dict[str, Any] = {}

    def __call__(self, _: Call, name: str, **arguments: Any) -> dict[str, Any]:
        self.asked.append((name, arguments))
        answer = self.answers.get(name, {"disabled": True})
        if isinstance(answer, BaseException):
            raise answer
        shown: dict[str, Any] = answer
        return shown

    @property
    def last(self) -> tuple[str, dict[str, Any]]:
        return self.asked[-1]


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    """In place of a book: records what each verb asks of the tools."""
    recorded = Recorded()
    monkeypatch.setattr(Call, "tool", lambda call, name, **arguments: recorded(call, name, **arguments))
    return recorded
