from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import memorybook
from memorybook.config.settings import Config
from memorybook.memory import Memory


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    memory = memorybook.open(tmp_path / "book", config=Config(backend="sqlite_fts"), door="cli", missing_ok=True)
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "MEMORY.md").write_text("# Agent Memory\n\n- Answer in British English.\n", encoding="utf-8")
    memory.remember("The staging database listens on port 6543.")
    memory.remember("预发布环境的数据库端口是 6543。")
    memory.process_session_end([{"role": "user", "content": "Which port does the staging database listen on?"}], "s1")
    memory.process_session_end([{"role": "tool", "content": "The staging database listens on port 9999."}], "s2")
    return memory


@pytest.mark.parametrize("query", ["Which port does staging use?", "预发布环境用哪个端口？", ""])
@pytest.mark.parametrize("max_tokens", [60, 200, 2_000])
def test_the_lines_are_the_block_that_an_agent_gets(memory: Memory, query: str, max_tokens: int) -> None:
    shown, told = memory.preview(query, max_tokens=max_tokens), memory.recall(query, max_tokens=max_tokens)
    assert (shown.text, shown.tokens, shown.has_relevant) == (told.text, told.tokens, told.has_relevant)
    assert [line for each in shown.lines for line in each.text.split("\n") if line] == list(
        filter(None, told.text.split("\n"))
    )


def test_each_line_names_what_it_rests_on(memory: Memory) -> None:
    id = next(known.entry.id for known in memory.entries().entries if "staging" in known.entry.text)
    lines = memory.preview("Which port does staging use?").lines
    assert {(line.part, line.target) for line in lines if "6543" in line.text and "staging" in line.text} <= {
        ("standing", id),
        ("found", id),
    }
    assert [line.target for line in lines if line.part == "written"] == ["MEMORY.md"]


def test_what_is_left_out_says_why(memory: Memory) -> None:
    left = {each.text: each.reason for each in memory.preview("Which port does staging use?").left_out}
    assert left["The staging database listens on port 9999."] == "suspect"  # a tool's words
    tight = memory.preview("Which port does the staging database listen on?", max_tokens=60)
    assert {each.reason for each in tight.left_out} <= {"budget", "question", "suspect", "repeated"}
    assert tight.left_out


def test_looking_counts_no_use(memory: Memory) -> None:
    memory.preview("Which port does staging use?")
    assert {known.access_count for known in memory.entries().entries} == {0}
    memory.recall("Which port does staging use?")
    assert max(known.access_count for known in memory.entries().entries) == 1


@pytest.mark.parametrize(
    ("language", "heading"), [("en", "Said lately, newest first:"), ("zh", "最近说过的（新的在前）：")]
)
def test_nothing_is_asked_of_a_block_without_a_question(memory: Memory, language: Any, heading: str) -> None:
    memory.context = memory.context._replace(config=memory.context.config._replace(language=language))
    memory.process_session_end([{"role": "user", "content": "The fence got its paint, and it rained at once."}], "s3")
    told = memory.recall("").text
    assert heading in told
    assert "question" not in told
