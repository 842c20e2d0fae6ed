"""Export, backup and restore as commands: what they print, and their exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memorybook.text.screen import visible

TALK = b'{"role": "user", "content": "I prefer green tea, never coffee.", "id": "t1"}\n'


@pytest.fixture
def talked(shell: Any) -> Any:
    """A shell in whose book is a session."""
    assert shell("memorize", "-", "--session", "tea", stdin=TALK).code == 0
    return shell


def test_an_export_says_what_the_file_holds_and_what_is_new(talked: Any, nowhere: Path) -> None:
    first = talked("export", "sessions.json")
    assert first.out == "sessions.json holds 1 session with 1 turn; 1 session and 1 turn new\n"
    assert json.loads(talked("export", "sessions.json", "--json").out)["new_turns"] == 0
    assert talked("forget", "--session", "tea", "--yes").code == 0
    last = talked("export", "sessions.json")
    assert last.out == "sessions.json holds 0 sessions with 0 turns; 0 sessions and 0 turns new\n"
    assert "1 turn of what was forgotten since went out of it" in last.err
    assert json.loads(Path("sessions.json").read_text()) == []


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_an_export_to_stdout_is_the_document_alone(talked: Any, flags: tuple[str, ...]) -> None:
    [session] = json.loads(talked("export", "-", "--session", "tea", *flags).out)
    assert session["name"] == "tea"
    assert talked("export", "-", "--session", "none", *flags).code == 3


@pytest.mark.parametrize("nasty", ["\x1b[2J", "\x9b31m", "\u202egnp", "\u2069", "\U000e0041", "\x7f 绿茶"])
def test_an_export_holds_nothing_that_acts_on_a_terminal(shell: Any, nasty: str) -> None:
    said = {"role": "user", "content": f"I prefer tea. {nasty}", "id": "t1"}
    assert shell("memorize", "-", "--session", "tea", stdin=json.dumps(said).encode()).code == 0
    out = shell("export", "-").out
    assert visible(out) == out
    assert json.loads(out)[0]["chats"][0]["user_input"] == said["content"]


def test_a_backup_comes_back_as_a_book(talked: Any, nowhere: Path) -> None:
    Path(json.loads(talked("status", "--json").out)["root"], "photo.jpg").write_bytes(b"x")
    done = talked("backup", "book.tar.gz")
    assert "book.tar.gz holds 2 documents, the turns and the journal, " in done.out
    assert "not in it, as they are no documents: photo.jpg" in done.err
    assert talked("restore", "book.tar.gz", "--into", "copy").out.startswith(f"{nowhere}/copy is the book again: ")
    assert "green tea" in talked("--book", "copy", "search", "what about coffee?").out
    assert talked("restore", "book.tar.gz").code == 4
    replaced = talked("restore", "book.tar.gz", "--replace")
    assert "what stood there before is kept in " in replaced.err
    assert json.loads(talked("restore", "book.tar.gz", "--into", "other", "--json").out)["documents"] == 2


def test_what_cannot_be_used_is_a_sentence(talked: Any, nowhere: Path) -> None:
    Path("mine.txt").write_text("mine")
    for words in (["export", "mine.txt"], ["backup", "mine.txt"], ["restore", "mine.txt", "--into", "x"]):
        done = talked(*words)
        assert (done.code, done.err.count("\n")) == (2, 1), done.err
        assert "'mine.txt'" in done.err
    assert talked("restore", "none.tar.gz").code == 3
    assert talked("--book", "nothing", "export", "x.json").code == 3
    assert talked("--set", "enabled=false", "backup", "x.tar.gz").code == 0
    assert not Path("x.tar.gz").exists()
