"""Keeping a book in order on the command line: review and tidy."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import memorybook
from cli.conftest import Shell
from memorybook.cli.call import seconds
from memorybook.config.settings import Config
from memorybook.entries.tidy import Tidied
from memorybook.errors import InvalidInput
from memorybook.memory import Memory

CONFIG = Config(timezone="UTC", vector_enabled=False)
TEXTS = [
    "The heron is grey", "Postgres runs on port 5432", "芒果在冰箱里", "The harbour opens at six", "Violins need rosin",
]  # fmt: skip


@pytest.fixture
def book(tmp_path: Path) -> str:
    """A book with four strong entries, and two that faded 40 days ago."""
    root = str(tmp_path / "book")
    before = datetime.now(UTC) - timedelta(days=47)
    with memorybook.open(root, config=CONFIG, clock=lambda: before) as memory:
        for text in TEXTS:
            memory.remember(text, importance=0.9)
        memory.remember("The old printer jams", importance=0.25)
        memory.remember("The older printer smokes", importance=0.22)
    return root


def test_tidying_is_shown_and_said(shell: Shell, book: str) -> None:
    would = shell("--book", book, "tidy", "--dry-run")
    assert (would.code, would.err) == (0, "")
    assert would.out.startswith("would do archive\n  archive ")
    assert would.out.count("would do archive") == 2
    assert "because strength 0.147 is below 0.2: last said on " in would.out
    done = shell("--book", book, "tidy")
    assert "done     archive" in done.out
    assert "to take it back: memorybook undo 2" in done.err
    assert shell("--book", book, "tidy").out == "Nothing to tidy.\n"


def test_what_waits_is_listed_accepted_and_rejected(shell: Shell, book: str) -> None:
    assert shell("--book", book, "review").out == "Nothing waits.\n"
    shell("--book", book, "tidy", "--apply", "")
    listed = shell("--book", book, "review", "-n", "1")
    assert listed.out.startswith("p1   archive   ")
    assert "because strength 0.147" in listed.out
    assert "1 of 2 (2 archive); more with --limit" in listed.err
    accepted = shell("--book", book, "review", "accept", "p1")
    assert accepted.out.startswith("accepted p1  2")
    assert "to take one back: memorybook undo OPERATION" in accepted.err
    rejected = shell("--book", book, "review", "reject", "--all", "--reason", "still needed")
    assert rejected.out == "rejected p2\n"
    assert "p2   archive" in shell("--book", book, "review", "--state", "rejected").out
    assert shell("--book", book, "review", "accept", "--all").out == "Nothing waits.\n"
    assert "rejected: still needed" in shell("--book", book, "history", "-n", "1").out


def test_a_stale_proposal_is_shown_as_such(shell: Shell, book: str) -> None:
    shell("--book", book, "tidy", "--apply", "")
    shell("--book", book, "add", "The older printer smokes")
    assert "  no longer fits: entry " in shell("--book", book, "review").out
    accepted = shell("--book", book, "review", "accept", "--kind", "archive")
    assert "withdrawn p1, it no longer fits: entry " in accepted.out
    assert "accepted p2" in accepted.out
    shell("--book", book, "add", "The dusty printer hums", "--importance", "0.1")
    shell("--book", book, "tidy", "--apply", "")
    shell("--book", book, "add", "The dusty printer hums")
    assert "would be withdrawn p3, it no longer fits" in shell("--book", book, "tidy", "--dry-run").out


def test_new_things_in_a_stale_proposal_are_named(shell: Shell, book: str) -> None:
    from memorybook.entries.match import Proposed
    from memorybook.entries.review import propose
    from memorybook.model import Add, Archive

    with memorybook.open(book, config=CONFIG) as memory:
        old, other = memory.book.entries()[:2]
        from dataclasses import replace

        new = replace(old, id="n1", text="The heron is white")
        propose(memory.context, [Proposed("conflict", (Add(entry=new), Archive(id=other.id)), "two colours")])
    shell("--book", book, "forget", other.id, "--yes")
    assert "proposed anew: p2" in shell("--book", book, "review", "accept", "p1").out


@pytest.mark.parametrize("words", [["review", "p1"], ["review", "accept"], ["tidy", "--every", "1h", "--dry-run"]])
def test_what_cannot_be_meant_is_refused(shell: Shell, book: str, words: list[str]) -> None:
    assert shell("--book", book, *words).code == 2


def test_times_are_read() -> None:
    assert [seconds(text) for text in ("90s", "30m", "6h", "1.5d")] == [90, 1800, 21600, 129600]
    for text in ("", "6", "h", "-1h", "0m", "1w"):
        with pytest.raises(InvalidInput):
            seconds(text)


@pytest.mark.parametrize("as_json", [False, True])
def test_a_heartbeat_tells_each_run(shell: Shell, book: str, as_json: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def beat(memory: Memory, every: float, *, on_run: object) -> None:
        assert every == 21600.0
        assert callable(on_run)
        on_run(Tidied(False, degraded=("somebody saves it",)))
        raise KeyboardInterrupt

    monkeypatch.setattr(Memory, "heartbeat", beat)
    done = shell("--book", book, *(["--json"] if as_json else []), "tidy", "--every", "6h")
    assert done.code == 130
    if as_json:
        assert json.loads(done.out)["degraded"] == ["somebody saves it"]
    else:
        assert done.out == "Nothing to tidy.\n"
        assert "while it is idle; Ctrl-C ends it" in done.err


def test_a_reason_is_for_rejecting_alone(shell: Shell, book: str) -> None:
    for words in (("review", "accept", "--all", "--reason", "x"), ("review", "--reason", "x")):
        done = shell("--book", book, *words)
        assert (done.code, "--reason is for reject" in done.err) == (2, True)
    assert "kind 'nosuch' is none of" in shell("--book", book, "review", "--kind", "nosuch").err
