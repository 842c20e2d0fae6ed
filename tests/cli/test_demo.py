from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memorybook.cli import demo as demo_story
from memorybook.cli.demo import _Stage
from memorybook.errors import Unavailable


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    folder = tmp_path_factory.mktemp("demo")
    return _Stage(str(folder), str(folder / "book"), None).play(), folder / "book"


def test_the_demo_remembers_what_matters(played: tuple[dict[str, Any], Path]) -> None:
    story, _ = played
    texts = " ".join(entry["text"] for entry in story["entries"])
    for word in ("terse code", "PostgreSQL", "周四", "7654"):
        assert word in texts
    assert "Agent Memory" in story["memory_md"]


def test_the_secret_is_nowhere_and_the_instruction_is_no_memory(played: tuple[dict[str, Any], Path]) -> None:
    story, book = played
    assert story["secret_masked"]
    assert story["sessions"][0]["redacted"] == 1
    assert not [file for file in book.rglob("*") if file.is_file() and demo_story.SECRET.encode() in file.read_bytes()]
    assert "skip the tests" not in story["memory_md"]


def test_the_demos_questions_are_answered_and_unrelated_ones_are_not(played: tuple[dict[str, Any], Path]) -> None:
    story, _ = played
    relevant = [search["has_relevant"] for search in story["searches"]]
    assert relevant == [True, True, True, False, False]
    assert "7654" in story["searches"][0]["results"][0]["snippet"]
    assert "周四" in story["searches"][1]["results"][0]["snippet"]


def test_a_memory_fades_step_by_step(played: tuple[dict[str, Any], Path]) -> None:
    rows = played[0]["fading"]
    scores = [row["score"] for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert rows[0]["state"] == "in every prompt"
    assert rows[-1]["state"] != "in every prompt"


def test_the_demo_tells_what_it_does(shell: Any, tmp_path: Path) -> None:
    done = shell("demo", "--keep", str(tmp_path / "kept"))
    assert done.code == 0
    assert "$ memorybook import week-1.jsonl" in done.out
    assert "## Active Memories" in done.out
    assert "Nothing relevant found." in done.out
    assert demo_story.SECRET not in done.out
    assert done.out.endswith(f"The book is kept in {tmp_path / 'kept'}\n")
    assert (tmp_path / "kept/MEMORY.md").is_file()


def test_a_directory_in_use_is_not_written_to(shell: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    for keep in (tmp_path, tmp_path / "mine.txt"):
        done = shell("demo", "--keep", str(keep))
        assert done.code == 4
        assert "is not empty" in done.err


def test_a_command_that_fails_ends_the_demo_with_its_message(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"'get nothing\.md' failed: .*there is no book"):
        _Stage(str(tmp_path), str(tmp_path / "book"), None).run("get", "nothing.md")
