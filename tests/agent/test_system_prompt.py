"""The system prompt of a host: its files in order, and the memory block after them."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorybook.agent.turn_context import FILES, MOST, system_prompt
from memorybook.memory import Memory


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_hosts_files_stand_in_order_before_what_is_remembered(memory: Memory, tmp_path: Path, language: str) -> None:
    told = {"en": "The user likes green tea.", "zh": "用户喜欢绿茶。"}[language]
    memory.remember(told, importance="high")
    for name in reversed(FILES):
        (tmp_path / name).write_text(f"# {name}\n\nwords of {name}\n", encoding="utf-8")
    made = system_prompt(memory, "tea 绿茶", folder=str(tmp_path))
    places = [made.text.index(f"words of {name}") for name in FILES] + [made.text.index(told)]
    assert (places, made.files, made.left_out) == (sorted(places), FILES, ())
    assert made.tokens > 0


def test_files_are_those_that_are_named_and_what_is_not_read_is_said(memory: Memory, tmp_path: Path) -> None:
    memory.init()
    (tmp_path / "USER.md").write_text("\ufeffThe user is Anna.", encoding="utf-8")
    (tmp_path / "OLD.md").write_bytes("旧的".encode("gbk"))
    (tmp_path / "LONG.md").write_text("x" * (MOST + 5), encoding="utf-8")
    (tmp_path / "EMPTY.md").write_text("\n", encoding="utf-8")
    (tmp_path / "FOLDER.md").mkdir()
    names = ("USER.md", "MISSING.md", "OLD.md", "LONG.md", "EMPTY.md", "FOLDER.md")
    made = system_prompt(memory, folder=str(tmp_path), files=names)
    assert made.files == ("USER.md", "LONG.md")
    assert [name for name, _ in made.left_out] == ["OLD.md", "LONG.md", "FOLDER.md"]
    assert made.text.startswith("## USER.md\n\nThe user is Anna.\n\n## LONG.md")


def test_without_files_it_is_the_memory_block(memory: Memory, tmp_path: Path) -> None:
    memory.remember("The user likes green tea.", importance="high")
    assert system_prompt(memory, "tea", folder=str(tmp_path)).text == memory.recall("tea").text
