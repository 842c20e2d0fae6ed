"""Messages of a session become turns under the ids by which they are known, however much of it is told again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from books import files
from memorybook.memory import Memory
from memorybook.sessions.turns import as_known, store, talk_of, turns_of


def said(*texts: str, **more: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text, **more} for text in texts]


def kept(memory: Memory, *texts: str, **more: Any) -> list[str]:
    store(memory.context, *talk_of(memory.context, said(*texts, **more), "s1"))
    return [turn.text for turn in memory.book.transcripts.turns("s1")]


@pytest.mark.parametrize(
    ("told", "then"),
    [
        (["a", "b", "c"], ["a", "b", "c", "d"]),  # all of it, grown
        (["c", "d"], ["a", "b", "c", "d"]),  # its end, and what is new
        (["b", "c"], ["a", "b", "c"]),  # a part of it
        (["d", "e"], ["a", "b", "c", "d", "e"]),  # only what is new
        (["a", "b", "c"], ["a", "b", "c"]),  # the same
    ],
)
def test_what_is_known_is_stored_once(memory: Memory, told: list[str], then: list[str]) -> None:
    kept(memory, "a", "b", "c")
    assert kept(memory, *(then if told == ["a", "b", "c"] else told)) == then


def test_a_word_that_comes_back_is_kept_where_all_of_it_is_told(memory: Memory) -> None:
    assert kept(memory, "go on", "a", "go on", "b") == ["go on", "a", "go on", "b"]
    assert kept(memory, "go on", "b", "c") == ["go on", "a", "go on", "b", "c"]


def test_ids_of_the_messages_are_left_alone(memory: Memory) -> None:
    turns = turns_of(memory.context, [{"id": "m1", "role": "user", "content": "a"}])
    assert as_known(turns, turns_of(memory.context, said("a"))) == turns


def test_turns_that_another_program_stored_are_found_by_what_they_say(memory: Memory) -> None:
    messages = [{"id": f"m{n}", "role": "user", "content": text} for n, text in enumerate("abc")]
    store(memory.context, *talk_of(memory.context, messages, "s1"))
    assert kept(memory, "a", "b", "c", "d") == ["a", "b", "c", "d"]
    assert [turn.id for turn in memory.book.transcripts.turns("s1")][:3] == ["m0", "m1", "m2"]


def test_a_secret_in_a_turn_does_not_make_it_another(memory: Memory) -> None:
    secret = "the key is sk-" + "proj-Zq83hTnW0vLxKd52RmYb71CsEuPf64Ga"
    kept(memory, "a", secret)
    assert len(kept(memory, "a", secret, "b")) == 3


PASSED, TOKEN = "Zq7!mbKp4w9", "ghp_" + "A8f3kQ9zLm2XcNw5" * 2 + "abcd"


def _ended(memory: Memory, name: str, folder: Path) -> object:
    return [memory.process_session_end(said(text), name).session for text in ("I prefer tea.", "我不喝酒。")]


def _opened(memory: Memory, name: str, folder: Path) -> object:
    return memory.add_messages(memory.open_session(name).session, said("I prefer tea."))


def _remembered(memory: Memory, name: str, folder: Path) -> object:
    return memory.remember("I prefer tea.", session=name)


def _imported(memory: Memory, name: str, folder: Path) -> object:
    (folder / "talk.jsonl").write_text(json.dumps(said("I prefer tea.", session=name)[0]), encoding="utf-8")
    return memory.import_file(str(folder / "talk.jsonl"))


def _imported_file(memory: Memory, name: str, folder: Path) -> object:
    (folder / f"{name}.jsonl").write_text(json.dumps(said("I prefer tea.")[0]), encoding="utf-8")
    return memory.import_file(str(folder / f"{name}.jsonl"))


def _imported_page(memory: Memory, name: str, folder: Path) -> object:
    (folder / f"{name}.md").write_text("# Notes\n\n- I prefer tea.\n", encoding="utf-8")
    return memory.import_file(str(folder / f"{name}.md"))


@pytest.mark.parametrize("do", [_ended, _opened, _remembered, _imported, _imported_file, _imported_page])
@pytest.mark.parametrize(
    "name",
    [
        f"my password is {PASSED}", f"我的密码是{PASSED}", f"{PASSED} is my password", f"deploy {TOKEN}",
        f"db_password={PASSED}", f"wifi Home 密码 {PASSED}", f"{PASSED} 是我的密码",
    ],
)  # fmt: skip
def test_no_session_and_no_source_is_called_by_a_secret(
    memory: Memory, tmp_path: Path, do: Callable[[Memory, str, Path], object], name: str
) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    answer = do(memory, name, folder)
    memory.search("tea 酒")
    if isinstance(answer, list):
        assert len({*answer}) == 1, "the same name is the same session"
    for path, data in files(memory.root).items():
        for secret in (PASSED, TOKEN):
            assert secret not in path
            assert secret.encode() not in data, path
