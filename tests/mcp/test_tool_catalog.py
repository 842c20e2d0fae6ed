"""What the tools answer is what the shapes promise: nothing missing, nothing more, and nothing promised in vain."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import memorybook
from memorybook import tools
from memorybook.config.settings import Config
from memorybook.mcp.responses import ANSWERS, OFFERS, answers, bounded, once, schema_of
from memorybook.memory import Memory
from memorybook.model import Add, Change, Discarded, Entry, Supersede

CONFIG = Config(timezone="UTC")
KEY = "sk-proj-T3BlbkFJq8Zr5Yw2Lx9Vn4Kd7Hs1Gm6Pb0QcXe"
TALK = """
{"id":"t1","session":"tea","speaker":"Ann","timestamp":"2026-02-20T09:01:00Z","content":"I prefer tea, never coffee."}
{"id":"t2","session":"tea","role":"assistant","timestamp":"2026-02-20T09:02:00Z","content":"Good to know."}
{"id":"t3","session":"tea","role":"tool","tool":"curl","content":"green tea: 8 EUR"}
{"id":"u1","session":"茶","speaker":"安","content":"我喜欢绿茶，不喝咖啡。"}
""".lstrip()


def closed(schema: Any) -> Any:
    """The schema, its objects with fields closed to any other."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    shut = {"additionalProperties": False} if "properties" in schema else {}
    return {name: closed(one) for name, one in schema.items()} | shut


STRICT = {name: jsonschema.Draft202012Validator(closed(schema_of(shape))) for name, shape in ANSWERS.items()}


def filled(value: Any) -> Any:
    """The answer without nulls: what may be null may be missing."""
    if isinstance(value, list):
        return [filled(one) for one in value]
    return {n: filled(v) for n, v in value.items() if v is not None} if isinstance(value, dict) else value


def model(messages: Any) -> dict[str, str]:
    """A language model that rewrites, unless it is to shout."""
    louder = "louder" in str(messages)
    return {"text": "" if louder else "Bob has a red bike.", "refused": "it would be wrong" if louder else ""}


Call = tuple[str, dict[str, Any]]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """A book with something of everything."""
    folder = tmp_path_factory.mktemp("shapes")
    (folder / "talk.jsonl").write_text(TALK, encoding="utf-8")
    root = folder / "book"
    with memorybook.open(str(root), config=CONFIG, clock=lambda: datetime(2024, 1, 1, tzinfo=UTC)) as old:
        old.remember("The old office was in Kiel.", category="context", importance=0.2)
    with memorybook.open(str(root), config=CONFIG, llm=model) as opened:
        opened.import_file(str(folder / "talk.jsonl"))
        opened.tidy()
        yield opened


@pytest.fixture(scope="module")
def answered(memory: Memory) -> list[Call]:
    """What every tool answers, called as agents call them."""
    found: list[Call] = []

    def call(name: str, **arguments: Any) -> dict[str, Any]:
        found.append((name, tools.call(memory, name, arguments)))
        return found[-1][1]

    id = call("memory_remember", text=f"Ann drinks green tea, key {KEY}", tags=["tea"], metadata={"a": [1]})["entry"][
        "id"
    ]
    call("memory_remember", text="Ann 每天喝绿茶", category="todo", expires="2099-01-01", session="s1", group="home/茶")
    call("memory_update", id=id, text=f"Ann drinks green tea at noon, key {KEY}", importance=0.9)
    bike = call("memory_remember", text="Bob has a bike that is red.")["entry"]["id"]
    call("memory_update", id=bike, tags=["bike"])
    call("memory_update", id=bike, instruction="make it shorter")
    call("memory_update", id=bike, instruction="make it louder")
    call("memory_pin", id=id)
    call("memory_update", id=id, confirmed=True)
    call("memory_append", text="The tea was bought.")
    call("memory_append", text="The tea was bought.")
    for _ in range(2):
        call("memory_flush", text="# Plan\n- We decided to buy more tea on Friday.\n- ok")
    for target in (id, "MEMORY.md", "turn:t1"):
        call("memory_get", target=target)
    for query in ("green tea", "绿茶", "what did we decide about the harbour of Rotterdam"):
        call("memory_search", query=query, explain=True)
        call("memory_search", query=query, min_score=0.99)
        for name in ("memory_search", "recall_memory"):
            found.append((name, tools.call(memory, name, {"query": query}, for_model=True)))
        call("recall_memory", query=query)
        call("memory_recall", query=query)
        call("recall_topic", query=query)
    call("recall_topic", query="what did we say of tea on 2026-02-20")
    call("recall_history")
    call("recall_session", which="tea")
    call("recall_within", session="tea", query="coffee")
    call("memory_list")
    newer = contradicted(memory, id)
    for each in (id, bike, newer):
        call("memory_why", id=each)
    call("memory_review")
    call("memory_status")
    undone = call("memory_history")["operations"][0]["id"]
    call("memory_undo", operation=undone, dry_run=True)
    call("memory_history", id=id)
    call("memory_forget", query="green tea", dry_run=True)
    call("memory_forget", session="tea")
    call("memory_purge", forgotten=True)
    return found


def contradicted(memory: Memory, id: str) -> str:
    """The id of an entry that takes the other's place, and rests on what was said."""
    entry = Entry(
        id="n1", text="Ann drinks black tea.", category="fact", score=0.6, scored=date(2026, 2, 24),
        last_activated=date(2026, 2, 24), source="turn:t1", contradicts=(id,),
    )  # fmt: skip
    left = Discarded(text="Ann drinks a lot.", reason="no statement", quote="a lot")
    changes: list[Change] = [Add(entry=entry, reason="said"), Supersede(id=id, by="n1")]
    memory.book.apply(changes, actor="agent", door="python", kind="memorize", discarded=[left])
    return "n1"


@pytest.mark.parametrize("name", list(ANSWERS))
def test_a_tool_answers_what_its_shape_says(name: str, answered: list[Call]) -> None:
    answers = [answer for tool, answer in answered if tool == name]
    assert answers, "is called here"
    for answer in answers:
        STRICT[name].validate(filled(answer))


@pytest.mark.parametrize("name", list(OFFERS))
def test_what_a_host_is_shown_is_what_it_was_promised(name: str, answered: list[Call], tmp_path: Path) -> None:
    promised = jsonschema.Draft202012Validator(closed(answers(name)))
    for answer in (answer for tool, answer in answered if tool == name):
        promised.validate(bounded(once(name, answer)))
    with memorybook.open(str(tmp_path / "book"), config=CONFIG._replace(enabled=False)) as memory:
        needed = tools.schema(name)["parameters"]["required"]
        promised.validate(bounded(tools.call(memory, name, dict.fromkeys(needed, "tea"))))
    assert not promised.is_valid({**bounded(once(name, answer)), "more": 1})
    assert name == "memory_get" or not promised.is_valid({})
