"""The memory tool against Anthropic's SDK: its reference store, its tool runner, its types."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import llm_server
from frameworks import page
from frameworks.steps import STEPS, seeded
from inference.server import Service
from memorybook.memory import Memory

anthropic = pytest.importorskip("anthropic", reason="run by tests/frameworks/run")

from anthropic.lib.tools import ToolError  # noqa: E402
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool  # noqa: E402

from memorybook.frameworks.anthropic import AsyncBookMemoryTool, BookMemoryTool  # noqa: E402


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    with llm_server.serve() as service:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", service.url.removesuffix("/v1"))
        monkeypatch.setenv("ANTHROPIC_API_KEY", llm_server.KEY)
        yield service


# --- beside the reference ------------------------------------------------------------------------


class Reference(BetaLocalFilesystemMemoryTool):
    """The reference, with the two deliberate differences: no empty folders, and sizes of folders are not told."""

    def execute(self, command: Any) -> Any:
        try:
            return super().execute(command)
        finally:
            for folder, _, _ in os.walk(self.memory_root, topdown=False):
                if folder != str(self.memory_root) and not os.listdir(folder):
                    os.rmdir(folder)


def outcome(tool: Any, command: dict[str, Any]) -> tuple[str, str]:
    """What came of a command; sizes of folders are left out, and the words of what the reference dies of."""
    try:
        said = str(tool.call(command))
    except ToolError as error:
        return "refused", str(error)
    except OSError:
        return "refused", "…"
    head, *lines = said.split("\n")
    if not head.startswith("Here're"):
        return "said", said
    shown = [
        re.sub(r"^\S+\t", "…\t", line) if not number or line.endswith("/") else line
        for number, line in enumerate(lines)
    ]
    return "said", "\n".join([head, *shown])


NAMES = [
    "a.md", "b.md", "todo", "notes.txt", "prefs.xml", "work", "work/a.md", "work/todo", "work/api/b.md", "喜好/茶.md",
]  # fmt: skip
NAMES += ["todo-old", "work-b.md", "work/api", "work/api/deep/c.txt", "todo/y", "v1.2.md", "has space.md", "喜好"]
ODD = ("", "/", "/../x.md", "/work/../b.md", "/./a.md", "/work/", "a.md", "//todo", "/work//a.md", "/..", "/work/../..")
TEXTS = (
    "", "\n", "one", "one\ntwo\nthree\n", "茶\r\nCRLF\r\n", "a\n\n\nb", "aaa", "x\ty ", "\ufeffmarked\n",
    "- tea\n- tea\n",
)  # fmt: skip


def drawn(random: Random) -> dict[str, Any]:
    """A command, mostly of things that are there."""

    def path() -> str:
        return "/memories" + (random.choice(ODD) if random.random() < 0.1 else f"/{random.choice(NAMES)}")

    def text() -> str:
        return random.choice(TEXTS) + (random.choice(TEXTS) if random.random() < 0.5 else "")

    match random.choice(
        ["view", "view", "create", "create", "str_replace", "str_replace", "insert", "delete", "rename"]
    ):
        case "view":
            ranges: list[dict[str, Any]] = [
                {}, {}, {"view_range": [random.randint(-2, 4), random.randint(-3, 5)]}, {"view_range": None},
            ]  # fmt: skip
            return {"command": "view", "path": path(), **random.choice(ranges)}
        case "create":
            return {"command": "create", "path": path(), "file_text": text()}
        case "str_replace":
            old = random.choice(["one", "a", "aa", "tea", "\n", "", "茶", "three\n", "nowhere"])
            return {"command": "str_replace", "path": path(), "old_str": old, "new_str": text()}
        case "insert":
            return {"command": "insert", "path": path(), "insert_line": random.randint(-1, 5), "insert_text": text()}
        case "delete":
            return {"command": "delete", "path": path()}
        case _:
            return {"command": "rename", "old_path": path(), "new_path": path()}


def test_every_command_comes_out_as_with_the_reference(memory: Memory, tmp_path: Path) -> None:
    seed, chosen = seeded()
    ours, theirs = BookMemoryTool(memory), Reference(str(tmp_path / "reference"))
    for step in range(STEPS):
        if step % 250 == 249:  # begin anew, so that not everything is taken
            shutil.rmtree(theirs.memory_root)
            theirs.memory_root.mkdir()
            for info in memory.documents():
                memory.remove_document(info.path)
        command = drawn(chosen)
        if (theirs.memory_root / command.get("old_path", "/memories/a.md/-")[10:].lstrip("/")).is_dir() and command[
            "new_path"
        ].endswith(".md"):
            continue  # a deliberate difference: no folder is called .md
        expected, found = outcome(theirs, command), outcome(ours, command)
        assert found == expected or (expected[1] == "…" and found[0] == "refused"), (seed, step, command)
        for info in [] if step % 50 else memory.documents():
            kept = theirs.memory_root / info.path.removesuffix(".plain.md")
            assert kept.read_bytes() == (tmp_path / "book" / info.path).read_bytes(), (seed, step)


# --- what is deliberate ------------------------------------------------------------------------------


def refused(tool: Any, **command: Any) -> str:
    with pytest.raises(ToolError) as error:
        tool.call(command)
    return str(error.value)


def test_what_the_reference_does_not_do(memory: Memory) -> None:
    tool = BookMemoryTool(memory)
    tool.call({"command": "create", "path": "/memories/keys", "file_text": "password: hunter2-Xyz-99\n"})
    assert "hunter2" not in tool.call({"command": "view", "path": "/memories/keys"})
    assert "is a file, no folder" in refused(tool, command="create", path="/memories/keys/a.md", file_text="x")
    assert "into itself" in refused(tool, command="rename", old_path="/memories/keys", new_path="/memories/keys/b")
    assert "starts with a dot" in refused(tool, command="create", path="/memories/.hidden", file_text="x")
    assert "'a' is kept under" in refused(tool, command="create", path="/memories/a.plain.md", file_text="x")
    assert "no command 'shred'" in refused(tool, command="shred", path="/memories/keys")
    assert "needs 'file_text'" in refused(tool, command="create", path="/memories/a")


def test_the_asynchronous_tool_says_the_same(memory: Memory) -> None:
    tool = AsyncBookMemoryTool(memory, cache_control={"type": "ephemeral"})
    made = asyncio.run(tool.call({"command": "create", "path": "/memories/a.md", "file_text": "tea"}))
    assert made == "File created successfully at: /memories/a.md"
    with pytest.raises(ToolError, match=r"File /memories/a\.md already exists"):
        asyncio.run(tool.call({"command": "create", "path": "/memories/a.md", "file_text": "tea"}))
    assert tool.to_dict()["cache_control"] == {"type": "ephemeral"}


# --- end to end ----------------------------------------------------------------------------------


def test_the_page_is_what_happens(model: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = "/memories/travel/notes.txt"
    look, read = {"command": "view", "path": "/memories"}, {"command": "view", "path": path}
    made = {"command": "create", "path": path, "file_text": "train: noon\n"}
    model.script = [
        llm_server.call(("t1", "memory", look), ("t2", "memory", read)),
        llm_server.call(("t3", "memory", made)),
        llm_server.say("Noted."),
        llm_server.call(("t4", "memory", look), ("t5", "memory", read)),
        llm_server.say("At noon."),
    ]
    left = page.run("anthropic")
    left["memory"].close()
    assert left["answer"] == "At noon."
    first, second, third, fourth, fifth = model.requests
    assert first["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    _, missing = second["messages"][-1]["content"]
    assert missing["is_error"]
    assert missing["content"] == f"The path {path} does not exist. Please provide a valid path."
    assert third["messages"][-1]["content"][0]["content"] == f"File created successfully at: {path}"
    assert [message["role"] for message in fourth["messages"]] == ["user"]
    listed, shown = fifth["messages"][-1]["content"]
    assert path in listed["content"]
    assert "train: noon" in shown["content"]
