"""A book, a host's transcript in Claude Code's own format, and events told to hooks in this process."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import memorybook
from hosted import SESSION, TALK, write
from machine import without_settings
from memorybook.hooks import event
from memorybook.memory import Memory

Tell = Callable[..., str]


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home of its own, and no settings from outside."""
    without_settings(monkeypatch, tmp_path / "home")
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """An empty book that is there."""
    root = tmp_path / "book"
    with memorybook.open(str(root)) as memory:
        memory.init()
    return root


@pytest.fixture
def memory(book: Path) -> Iterator[Memory]:
    with memorybook.open(str(book)) as memory:
        yield memory


@pytest.fixture
def tell(book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Tell:
    """Tell an event as a host does; returns what stands on stdout."""
    received = event.received
    monkeypatch.setattr(event, "end_after", lambda seconds: None)

    def told(name: str, *words: str, host: str = "claude-code", raw: bytes | None = None, **fields: Any) -> str:
        data = json.dumps({"session_id": SESSION, "hook_event_name": name, **fields}).encode() if raw is None else raw
        stdin = tmp_path / "stdin"
        stdin.write_bytes(data)
        monkeypatch.setattr(event, "received", lambda _: received(os.open(stdin, os.O_RDONLY)))
        event.answer([name, "--host", host, *(words or ("--book", str(book)))])
        return capfd.readouterr().out

    return told


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    """The file of a recorded session."""
    path = tmp_path / f"{SESSION}.jsonl"
    write(path, *TALK)
    return path
