from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from books import files
from memorybook.cli import demo as demo_story
from memorybook.cli import main
from memorybook.cli.demo import _Stage
from memorybook.errors import Unavailable


class Played(NamedTuple):
    """The demo: what it showed, the answers of its commands, and its book."""

    shown: str
    story: dict[str, Any]
    book: Path


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    book, told, play = tmp_path_factory.mktemp("demo") / "kept", list[dict[str, Any]](), _Stage.play

    def playing(stage: _Stage) -> dict[str, Any]:
        told.append(play(stage))
        return told[0]

    with pytest.MonkeyPatch.context() as patched, redirect_stdout(io.StringIO()) as shown:
        patched.setattr(_Stage, "play", playing)
        assert main(["demo", "--keep", str(book)]) == 0
    return Played(shown.getvalue(), told[0], book)


def test_the_demo_remembers_what_matters(played: Played) -> None:
    story = played.story
    texts = " ".join(entry["text"] for entry in story["entries"])
    for word in ("terse code", "PostgreSQL", "周四", "7654"):
        assert word in texts
    assert "Agent Memory" in story["memory_md"]


def test_the_secret_is_nowhere_and_the_instruction_is_no_memory(played: Played) -> None:
    story = played.story
    assert story["secret_masked"]
    assert story["sessions"][0]["redacted"] == 1
    assert demo_story.SECRET.encode() not in b"".join(files(played.book).values())
    assert "skip the tests" not in story["memory_md"]


def test_the_demos_questions_are_answered_and_unrelated_ones_are_not(played: Played) -> None:
    story = played.story
    relevant = [search["has_relevant"] for search in story["searches"]]
    assert relevant == [True, True, True, False, False]
    assert "7654" in story["searches"][0]["results"][0]["snippet"]
    assert "周四" in story["searches"][1]["results"][0]["snippet"]


def test_a_memory_fades_step_by_step(played: Played) -> None:
    rows = played.story["fading"]
    scores = [row["score"] for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert rows[0]["state"] == "in every prompt"
    assert rows[-1]["state"] != "in every prompt"


def test_the_demo_tells_what_it_does(played: Played) -> None:
    assert "$ memorybook import week-1.jsonl" in played.shown
    assert "## Active Memories" in played.shown
    assert "Nothing relevant found." in played.shown
    assert demo_story.SECRET not in played.shown
    assert played.shown.endswith(f"The book is kept in {played.book}\n")
    assert (played.book / "MEMORY.md").is_file()


def test_a_directory_in_use_is_not_written_to(shell: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    for keep in (tmp_path, tmp_path / "mine.txt"):
        done = shell("demo", "--keep", str(keep))
        assert done.code == 4
        assert "is not empty" in done.err


def test_a_command_that_fails_ends_the_demo_with_its_message(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"'get nothing\.md' failed: .*there is no book"):
        _Stage(str(tmp_path), str(tmp_path / "book"), None).run("get", "nothing.md")
