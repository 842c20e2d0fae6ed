"""A book that is not there, read at every door: each says so, names the nearest ones, and makes nothing."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

import memorybook
from machine import without_settings
from mcp import Client, MCPError
from memorybook import tools
from memorybook.agent import Workspace
from memorybook.cli import main
from memorybook.config.settings import Config
from memorybook.errors import MemoryBookError, NotFound
from memorybook.mcp import build
from memorybook.memory import Memory
from serving import serving

CONFIG = Config(timezone="UTC", backend="sqlite_fts")


@pytest.fixture
def books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with some books in it, and a project that has none."""
    without_settings(monkeypatch, tmp_path / "home")
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "home" / ".memorybook"
    for name in ("notes", "harbour-1a2b3c4d", "读书笔记"):
        with memorybook.open(str(place / name), config=CONFIG) as memory:
            memory.remember("The user likes tea.")
    (place / "no-book").mkdir()
    return place


def listed(place: Path) -> list[str]:
    return sorted(str(path.relative_to(place)) for path in place.parent.rglob("*") if path.is_relative_to(place))


READS: dict[str, Callable[[Memory], object]] = {
    "search": lambda memory: memory.search("tea"),
    "搜索": lambda memory: memory.search("茶"),
    "recall": lambda memory: memory.recall("tea"),
    "recall_memory": lambda memory: memory.recall_memory("tea"),
    "get": lambda memory: memory.get("MEMORY.md"),
    "get_entry": lambda memory: memory.get("a1b2c3"),
    "get_turn": lambda memory: memory.get("turn:t1"),
    "entries": lambda memory: memory.entries(),
    "documents": lambda memory: memory.documents(),
    "document": lambda memory: memory.document("MEMORY.md"),
    "sessions": lambda memory: memory.sessions(),
    "recall_history": lambda memory: memory.recall_history(),
    "recall_topic": lambda memory: memory.recall_topic("tea"),
    "recall_session": lambda memory: memory.recall_session("last time"),
    "recall_within": lambda memory: memory.recall_within("last time", "tea"),
    "recollect": lambda memory: memory.recollect("上次我们聊了什么？"),
    "history": lambda memory: memory.history(),
    "why": lambda memory: memory.why("a1b2c3"),
    "review": lambda memory: memory.review(),
    "get_prompt_memories": lambda memory: memory.get_prompt_memories(),
    "summarize_existing": lambda memory: memory.summarize_existing(),
    "sync": lambda memory: memory.sync(),
    "rebuild": lambda memory: memory.rebuild(),
    "tidy": lambda memory: memory.tidy(),
    "export": lambda memory: memory.export(),
    "backup": lambda memory: memory.backup("/tmp/never.tar.gz"),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_python_says_so(books: Path, read: Callable[[Memory], object]) -> None:
    before = listed(books)
    with memorybook.open(str(books / "note"), config=CONFIG) as memory:
        with pytest.raises(NotFound) as caught:
            read(memory)
        assert str(caught.value).startswith(f"there is no book at '{books / 'note'}'; the nearest are 'notes', ")
    assert listed(books) == before


LINES = [
    ["search", "tea"], ["search", "茶", "--below-prompt"], ["recall", "tea"], ["list"], ["list", "--archived"],
    ["get", "MEMORY.md"], ["sessions"], ["recall-topic", "茶"], ["recall-session", "last time"], ["history"],
    ["why", "a1b2c3"], ["review"], ["tidy"], ["sync"], ["rebuild"], ["export", "-"],
]  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [*([*line, "--project", "harbour"] for line in LINES), ["search", "tea", "--book", "home/.memorybook/harbour"]],
    ids=" ".join,
)
def test_the_command_line_says_so(books: Path, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    before = listed(books)
    assert main(words) == 3
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"memorybook: there is no book at '{books / 'harbour'}'; the nearest are 'harbour-1a2b")
    assert main([*words, "--json"]) == 3
    assert json.loads(capsys.readouterr().err)["error"]["code"] in ("not_found", "missing_document")
    assert listed(books) == before


def test_the_status_of_a_book_that_is_not_there_says_so(books: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--project", "笔记", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["exists"] is False
    assert "the nearest are '读书笔记'" in shown["degraded"][0]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("memory_search", {"query": "tea"}), ("memory_get", {"target": "MEMORY.md"}),
        ("memory_get", {"target": "turn:t1"}), ("recall_memory", {"query": "tea"}), ("recall_topic", {"query": "茶"}),
        ("recall_history", {}), ("recall_session", {"which": "上次"}),
    ],
)  # fmt: skip
def test_hosts_of_mcp_are_told(books: Path, name: str, arguments: dict[str, Any]) -> None:
    before = listed(books)
    with memorybook.open(str(books / "noets"), config=CONFIG, door="mcp") as memory:

        async def ask() -> Any:
            async with Client(build(lambda: memory)) as client:
                return await client.call_tool(name, arguments)

        result = anyio.run(ask)
        assert result.is_error
        assert f"there is no book at '{books / 'noets'}'; the nearest are 'notes'" in result.content[0].text
        with pytest.raises(NotFound, match="there is no book"):
            tools.call(memory, name, arguments)
    assert listed(books) == before


def test_a_resource_of_a_book_that_is_not_there_says_so(books: Path) -> None:
    with memorybook.open(str(books / "noets"), config=CONFIG, door="mcp") as memory:

        async def ask() -> str:
            async with Client(build(lambda: memory)) as client:
                try:
                    await client.read_resource("memory://MEMORY.md")
                except MCPError as error:
                    return str(error)
                return ""

        assert "there is no book at" in anyio.run(ask)


def test_the_server_says_so_and_a_tenant_has_an_empty_book_before_its_first_word(tmp_path: Path) -> None:
    with memorybook.open(str(tmp_path / "notes"), config=CONFIG) as memory:
        memory.remember("The user likes tea.")
    (tmp_path / "noets").mkdir()
    with serving(tmp_path / "noets" / "deep") as served:
        for found in (
            served.client.get("/entries"),
            served.client.get("/documents"),
            served.client.get("/documents/MEMORY.md"),
            served.client.get("/sessions"),
            served.client.get("/search?query=茶"),
            served.client.post("/prompt", json={"query": "tea"}),
        ):
            assert found.status_code == 404, found.text
            assert "there is no book at" in found.text
    with serving(tmp_path / "many", many=True) as served:
        served.client.post("/tenants", json={"name": "ann"})
        token = served.client.post("/tokens", headers={"X-Memorybook-Tenant": "ann"}, json={}).json()["token"]
        with served.asking(token) as ann:
            assert ann.get("/entries").json()["entries"] == []
            assert ann.post("/search", json={"query": "tea"}).json()["hits"] == []


@pytest.mark.parametrize(
    ("language", "says"), [("en", "there is no book at"), ("zh", "处没有记忆库；最接近的是 'notes'")]
)
def test_a_chat_says_so_and_makes_nothing_until_something_is_said(
    books: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, language: str, says: str
) -> None:
    before = listed(books)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"/memory\n/sessions\n")))
    assert main(["chat", "--project", "note", "--set", f"language={language}"]) == 0
    shown = capsys.readouterr()
    assert (shown.out + shown.err).count(says) == 3
    assert listed(books) == before


def test_a_session_of_an_agent_begins_its_book(tmp_path: Path) -> None:
    with Workspace(str(tmp_path / "many"), config=CONFIG) as workspace:
        session = workspace.session("telegram", 7)
        with session.memory() as memory:
            assert memory.search("tea").hits == ()
            assert memory.get_prompt_memories() == ()
    assert not (tmp_path / "many").exists()


def test_a_copy_of_a_project_says_whose_book_it_does_not_take(
    books: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading makes nothing; writing makes a book of its own, and says so."""
    import shutil

    app = books.parent.parent / "app"
    (app / ".git").mkdir(parents=True)
    monkeypatch.chdir(app)
    assert main(["add", "The secret project is called Heron."]) == 0
    assert main(["search", "Heron"]) == 0
    shutil.copytree(app, app.parent / "copy")
    monkeypatch.chdir(app.parent / "copy")
    capsys.readouterr()
    assert main(["search", "Heron"]) == 3
    assert f"copy is a copy of {app} and has none of its own" in capsys.readouterr().err
    assert main(["add", "The copy is called Crane."]) == 0
    assert f"is a copy of {app}: what is remembered here goes into a book of its own" in capsys.readouterr().err
    assert main(["search", "Heron", "--json"]) == 0
    shown = capsys.readouterr()
    assert "The secret project" not in shown.out
    assert "is a copy of" not in shown.err
    monkeypatch.chdir(app)
    assert main(["search", "Heron"]) == 0
    assert "The secret project is called Heron." in capsys.readouterr().out


def test_what_is_not_there_is_no_secret_of_whom_is_switched_off(books: Path) -> None:
    with memorybook.open(str(books / "note"), config=CONFIG._replace(enabled=False)) as memory:
        assert memory.search("tea").disabled
        assert memory.entries().entries == ()


def test_a_loop_that_begins_a_book_is_told_beside_its_empty_block(books: Path) -> None:
    with memorybook.open(str(books / "note"), config=CONFIG) as memory:
        found = memory.retrieve_and_inject("Which tea?")
        assert found.text == ""
        assert found.json()["index"]["degraded"][0].startswith("there is no book at")
        with memory.task("Brew tea") as task:
            task.result = "Green tea needs 70 degrees."
    assert not (books / "note" / "archive").exists()


def test_what_made_the_book_goes_on_with_it(books: Path) -> None:
    with memorybook.open(str(books / "note"), config=CONFIG) as memory:
        with pytest.raises(MemoryBookError, match="there is no book"):
            memory.search("tea")
        memory.remember("The user likes tea.")
        assert memory.search("tea").hits


def test_a_book_that_may_be_missing_has_an_empty_index_made_anew(tmp_path: Path) -> None:
    with memorybook.open(str(tmp_path / "book"), missing_ok=True) as memory:
        assert memory.rebuild()["checked"] == 0
    assert not (tmp_path / "book").exists()
