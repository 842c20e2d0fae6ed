"""Arguments by the names that users of other memories know, at every door: Python, client, HTTP, MCP, command line."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import memorybook
from mcp_hosts import Host, Person
from memorybook import tools
from memorybook.cli import main
from memorybook.client import connect
from memorybook.config.settings import Config
from memorybook.errors import InvalidInput
from memorybook.http.rest_api import BY_VERB
from memorybook.mcp.responses import OFFERS
from memorybook.memory import Memory
from memorybook.validate import renamed
from serving import OWNER, serving

Ask = Callable[..., dict[str, Any]]

TOOLS = {
    "get": "memory_get", "search": "memory_search", "recall_memory": "recall_memory", "entries": "memory_list",
    "remember": "memory_remember", "update": "memory_update", "pin": "memory_pin", "why": "memory_why",
    "forget": "memory_forget", "revise": "memory_update",
}  # fmt: skip
"""The tool of a verb."""

ASKED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("get", {"path": "MEMORY.md"}, {"target": "MEMORY.md"}),
    ("get", {"path": "ID"}, {"target": "ID"}),
    ("get", {"memory_id": "ID"}, {"target": "ID"}),
    ("get", {"id": "ID"}, {"target": "ID"}),
    ("search", {"query": "tea", "limit": 1}, {"query": "tea", "max_results": 1}),
    ("search", {"query": "绿茶", "limit": 1}, {"query": "绿茶", "max_results": 1}),
    ("recall_memory", {"query": "tea", "limit": 2}, {"query": "tea", "max_results": 2}),
    ("entries", {"max_results": 1}, {"limit": 1}),
    ("update", {"memory_id": "ID", "content": "Green tea."}, {"id": "ID", "text": "Green tea."}),
    ("update", {"memory_id": "ID", "importance": 0.25}, {"id": "ID", "importance": 0.25}),
    ("revise", {"memory_id": "ID", "instruction": "set importance to 0.33"},
     {"id": "ID", "instruction": "set importance to 0.33"}),
    ("revise", {"memory_id": "ID", "instruction": "把重要性改为 0.7"}, {"id": "ID", "instruction": "把重要性改为 0.7"}),
    ("pin", {"memory_id": "ID"}, {"id": "ID"}),
    ("why", {"memory_id": "ID"}, {"id": "ID"}),
    ("remember", {"content": "我喜欢绿茶。", "importance": 0.93}, {"text": "我喜欢绿茶。", "importance": 0.93}),
    ("forget", {"memory_id": "ID"}, {"target": "ID"}),
]  # fmt: skip
"""A verb, what it is given, and what that is by its own names."""


def python(root: Path) -> Iterator[Ask]:
    with memorybook.open(str(root), config=Config(timezone="UTC")) as memory:
        yield lambda verb, **given: json.loads(json.dumps(getattr(memory, verb)(**given).json()))


def called(root: Path) -> Iterator[Ask]:
    with memorybook.open(str(root), config=Config(timezone="UTC")) as memory:
        yield lambda verb, **given: tools.call(memory, TOOLS[verb], given)


def mcp(root: Path) -> Iterator[Ask]:
    with memorybook.open(str(root), config=Config(timezone="UTC"), door="mcp") as memory:
        host = Host(lambda: memory, "auto")

        def ask(verb: str, **given: Any) -> dict[str, Any]:
            person = {"person": Person("yes")} if verb == "forget" else {}
            return host.answer(TOOLS[verb], **given, **person) if TOOLS[verb] in OFFERS else {"offered": False}

        yield ask


def http(root: Path) -> Iterator[Ask]:
    with serving(root) as served:

        def ask(verb: str, **given: Any) -> dict[str, Any]:
            resource = BY_VERB[verb]
            id = given.pop("memory_id", "") if "{id}" in resource.path else ""
            path = resource.path.replace("{id}", id)
            named = {"pinned": True} if verb == "pin" else given
            more = {"params": named} if resource.method == "GET" else {"json": named, "headers": {"If-Match": "*"}}
            found: dict[str, Any] = served.client.request(resource.method, path, **more).raise_for_status().json()
            return found

        yield ask


def client(root: Path) -> Iterator[Ask]:
    with serving(root) as served, connect(served.url, OWNER) as memory:
        yield lambda verb, **given: getattr(memory, verb)(**given).json()


@pytest.mark.parametrize("door", [python, called, mcp, http, client])
def test_arguments_have_the_names_that_other_memories_give_them(
    tmp_path: Path, door: Callable[[Path], Iterator[Ask]]
) -> None:
    root = tmp_path / "book"
    with memorybook.open(str(root), config=Config(timezone="UTC")) as memory:
        id = memory.remember("The user likes green tea. 绿茶", importance=0.8).known.entry.id
        memory.remember("The user rows. 绿茶")
    opened = door(root)
    ask = next(opened)
    for verb, given, _ in ASKED:
        assert ask(verb, **{name: id if value == "ID" else value for name, value in given.items()}), verb
        if "importance" in str(given) or "重要性" in str(given):
            with memorybook.open(str(root), config=Config(timezone="UTC")) as memory:
                scores = [known.entry.score for known in memory.entries().entries]
            assert float(str(given.get("importance") or given["instruction"]).split()[-1]) in scores
    found = ask("search", query="绿茶", limit=1)
    assert len(found["results"] if "results" in found else found["hits"]) == 1
    assert next(opened, None) is None


@pytest.mark.parametrize(("verb", "given", "own"), ASKED)
def test_a_name_stands_for_the_first_that_a_verb_takes(verb: str, given: dict[str, Any], own: dict[str, Any]) -> None:
    for takes in (
        inspect.signature(getattr(Memory, verb)).parameters,
        tools.schema(TOOLS[verb])["parameters"]["properties"],
    ):
        assert renamed(takes, given) == own


def test_the_command_line_knows_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    book = ["--book", str(tmp_path / "book"), "--json"]
    assert main(["add", "--content", "The user likes green tea.", "--importance", "0.93", *book]) == 0
    made = json.loads(capsys.readouterr().out)["entry"]
    assert made["score"] == 0.93
    assert main(["update", made["id"], "--instruction", "set importance to 0.25", *book]) == 0
    assert json.loads(capsys.readouterr().out)["entry"]["score"] == 0.25
    assert main(["add", "我喜欢绿茶。", *book]) == 0
    capsys.readouterr()
    assert main(["search", "tea 绿茶", "--limit", "1", *book]) == 0
    assert len(json.loads(capsys.readouterr().out)["results"]) == 1


def test_one_thing_is_not_given_under_two_names(tmp_path: Path) -> None:
    with memorybook.open(str(tmp_path / "book"), config=Config(timezone="UTC")) as memory:
        twice: dict[str, Any] = {"path": "MEMORY.md", "target": "HISTORY.md"}
        with pytest.raises(InvalidInput, match="memory_get takes no 'path'"):
            tools.call(memory, "memory_get", twice)
        with pytest.raises(TypeError, match="path"):
            memory.get(**twice)
        assert renamed(["target"], {"path": "MEMORY.md", "target": None}) == {"target": "MEMORY.md"}
