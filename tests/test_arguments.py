"""Every verb refuses what its annotations do not name, in one sentence with the argument and the value."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import memorybook
from books import IN_MEMORY as CONFIG
from memorybook import aio, locale, tools
from memorybook.errors import InvalidInput, MemoryBookError
from memorybook.memory import Memory

WRONG: list[Any] = [
    3, True, 1.5, math.nan, 10**30, -1, "x", "无", "", b"bytes", None, object(), [], [1], ["a"], [None], [["a"]], {},
    {"a": 1}, "half \ud83d", "caf\udce9", ["\ud83d"], date(2026, 2, 24),
]  # fmt: skip

FITTING = {
    "query": "绿茶", "text": "The user likes tea.", "target": "MEMORY.md", "instruction": "shorter", "path": "a.md",
    "to": "b.md", "messages": [{"role": "user", "content": "我喜欢绿茶。"}], "task_goal": "Deploy", "which": "last",
}  # fmt: skip

FILES = {"backup", "export", "import_file", "restore", "sync_summaries"}
"""Verbs that write where they are told."""

VERBS = [
    name
    for name in dir(Memory)
    if name[0] != "_" and inspect.isfunction(getattr(Memory, name)) and name not in ("close", "seen_by", "watch")
]


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.chdir(tmp_path)
    with memorybook.open(str(tmp_path / "book"), config=CONFIG) as opened:
        opened.remember("The user likes green tea.")
        yield opened


def call(memory: Memory, verb: str, argument: str, value: Any) -> Any:
    given, words = {}, list[Any]()
    for each in [*inspect.signature(getattr(Memory, verb)).parameters.values()][1:]:
        if each.kind is each.VAR_POSITIONAL:
            words = [value] if each.name == argument else []
        elif each.name == argument:
            given[each.name] = value
        elif each.default is each.empty:
            given[each.name] = FITTING.get(each.name, "x")
    return getattr(memory, verb)(*words, **given)


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "heartbeat"])
def test_whatever_is_given_no_error_is_raw(memory: Memory, verb: str) -> None:
    for argument in {*inspect.signature(getattr(Memory, verb)).parameters} - {"self", "llm", "stop"}:
        for value in WRONG:
            if verb in FILES and isinstance(value, str) and value:
                continue
            with suppress(MemoryBookError):
                call(memory, verb, argument, value)


@pytest.mark.parametrize(
    ("verb", "argument", "value", "told", "zh"),
    [
        ("search", "max_results", "x", "must be a whole number, not 'x'", "max_results 必须是整数，不能是 'x'"),
        ("search", "min_score", "半", "must be a number, not '半'", "min_score 必须是数字，不能是 '半'"),
        ("search", "explain", 1, "must be true or false, not 1", "explain 必须是 true 或 false，不能是 1"),
        ("search", "since", 2026, "must be text or a date, not 2026", "since 必须是文字或日期，不能是 2026"),
        ("search", "category", ["fact"], "must be text, not ['fact']", "category 必须是文字，不能是 ['fact']"),
        ("recall", "query", 5, "must be text, not 5", "query 必须是文字，不能是 5"),
        ("recall_topic", "query", ["茶"], "must be text, not ['茶']", "query 必须是文字，不能是 ['茶']"),
        ("remember", "text", 5, "must be text, not 5", "text 必须是文字，不能是 5"),
        ("remember", "importance", ["高"], "must be text or a number, not",
         "importance 必须是文字或数字，不能是 ['高']"),
        ("remember", "tags", "茶", "must be a list of texts, not '茶'", "tags 必须是文字列表，不能是 '茶'"),
        ("remember", "tags", ["tea", 3], "must be a list of texts, not", "tags 必须是文字列表，不能是 ['tea', 3]"),
        ("remember", "metadata", "{}", "must be an object of names", "metadata 必须是键值对象，不能是 '{}'"),
        ("remember", "session", 3, "must be text, not 3", "session 必须是文字，不能是 3"),
        ("pin", "pinned", "yes", "must be true or false, not 'yes'", "pinned 必须是 true 或 false，不能是 'yes'"),
        ("entries", "limit", "十", "must be a whole number, not '十'", "limit 必须是整数，不能是 '十'"),
        ("forget", "dry_run", "false", "must be true or false, not", "dry_run 必须是 true 或 false，不能是 'false'"),
        ("accept", "ids", 1, "must be text, not 1", "ids 必须是文字，不能是 1"),
        ("write_document", "text", b"x", "must be text, not b'x'", "text 必须是文字，不能是 b'x'"),
        ("add_messages", "messages", "你好", "must be a list of objects, not",
         "messages 必须是对象列表，不能是 '你好'"),
        ("sync_summaries", "sources", 3, "must be text or a list of texts", "sources 必须是文字或文字列表，不能是 3"),
        ("tidy", "apply", "archive", "must be a list of texts, not", "apply 必须是文字列表，不能是 'archive'"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named_with_what_would(
    memory: Memory, verb: str, argument: str, value: Any, told: str, zh: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        call(memory, verb, argument, value)
    assert str(refused.value).startswith(f"{argument} {told}")
    assert locale.describe(refused.value, "zh") == zh


def test_every_door_refuses_it(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="takes 'max_results' as an integer, not 'x'"):
        tools.call(memory, "memory_search", {"query": "tea", "limit": "x"})
    with pytest.raises(InvalidInput, match="max_results must be a whole number, not 'x'"):
        memory.search("tea", limit="x")  # type: ignore[call-arg]
    with pytest.raises(InvalidInput, match="query must be text, not 5"):
        memory.search(5)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="project must be text, not 5"):
        memorybook.open(str(tmp_path / "b"), project=5)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="book must be text or a path, not 5"):
        memorybook.open(5)  # type: ignore[arg-type]


def test_awaited_verbs_refuse_it_too(tmp_path: Path) -> None:
    async def ask() -> None:
        async with aio.open(str(tmp_path / "book"), config=CONFIG) as memory:
            with pytest.raises(InvalidInput, match="text must be text, not 5"):
                await memory.remember(5)  # type: ignore[arg-type]
            with pytest.raises(InvalidInput, match="limit must be a whole number, not '十'"):
                await memory.entries(limit="十")  # type: ignore[arg-type]

    asyncio.run(ask())


@pytest.mark.parametrize("given", ["half \ud83d", "半个\ud83d字", "\udc00", "\ud83d\ud83d", "a\udfffb"])
def test_half_a_character_names_no_place(memory: Memory, tmp_path: Path, given: str) -> None:
    for act in (
        lambda: memory.sync_summaries(str(tmp_path / given)),
        lambda: memory.sync_summaries([str(tmp_path / given)]),
        lambda: memory.sync_summaries(to=str(tmp_path), group=given),
        lambda: memory.backup(str(tmp_path / given)),
        lambda: memory.export(str(tmp_path / given)),
    ):
        with pytest.raises(InvalidInput, match=r"has '\\u[0-9a-f]{4}' at \d+, which is no whole character"):
            act()
    assert memory.search(given) is not None
    memory.remember(given)
