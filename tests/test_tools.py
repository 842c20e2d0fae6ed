from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

import memorybook
from memorybook import tools
from memorybook.config.settings import Config
from memorybook.errors import InvalidInput
from memorybook.memory import Memory
from memorybook.model import CATEGORIES, CATEGORY_ALIASES, State


@pytest.mark.parametrize("name", list(tools.TOOLS))
def test_every_tool_has_a_whole_schema(name: str) -> None:
    schema = tools.schema(name)
    assert schema["name"] == name
    assert schema["description"].endswith((".", "three."))
    for parameter, described in schema["parameters"]["properties"].items():
        assert described["type"], parameter
        assert described["description"], parameter
    assert set(schema["parameters"]["required"]) <= set(schema["parameters"]["properties"])
    json.dumps(schema)


def test_types_come_from_the_signature() -> None:
    properties = tools.schema("memory_remember")["parameters"]["properties"]
    assert properties["text"] == {"type": "string", "description": "A complete statement."}
    assert properties["category"]["enum"] == [*CATEGORIES, *CATEGORY_ALIASES]
    assert tools.schema("memory_list")["parameters"]["properties"]["state"]["enum"] == [*get_args(State)]
    assert properties["importance"]["type"] == ["string", "number"]
    assert properties["importance"]["default"] == "medium"
    assert properties["tags"]["type"] == "array"
    assert properties["tags"]["items"] == {"type": "string"}
    assert properties["metadata"]["type"] == "object"
    assert tools.schema("memory_search")["parameters"]["properties"]["max_results"]["type"] == "integer"
    assert tools.schema("memory_search")["parameters"]["required"] == ["query"]


def test_a_conversation_with_tools_alone(memory: Memory) -> None:
    """Remember, find, open, change, pin, list, forget: all by name, all JSON."""

    def call(name: str, **arguments: object) -> dict[str, object]:
        answer = tools.call(memory, name, arguments)
        json.dumps(answer)
        return answer

    entry = call("memory_remember", text="The user keeps bees.", category="fact")["entry"]
    assert isinstance(entry, dict)
    found = call("memory_search", query="bees")
    assert found["has_relevant"] is True
    assert call("memory_get", target=entry["id"])["entry"] == entry
    changed = call("memory_update", id=entry["id"], text="The user keeps bees and geese.")["entry"]
    assert isinstance(changed, dict)
    assert changed["text"] == "The user keeps bees and geese."
    pinned = call("memory_pin", id=entry["id"])
    assert (pinned["entry"], pinned["operation"]) == (
        {**changed, "pinned": True},
        memory.history().operations[0].operation.id,
    )
    assert call("memory_list")["total"] == 1
    assert "bees" in str(call("memory_recall", query="animals")["text"])
    assert call("recall_memory", query="bees")["results"] == []
    assert call("memory_append", text="fed the bees")["duplicate"] is False
    assert call("memory_flush", text="- The hives moved to the orchard in spring.")["skipped"] == []
    receipt = call("memory_forget", target=entry["id"])["receipt"]
    assert isinstance(receipt, dict)
    assert receipt["entries"] == [entry["id"]]
    assert call("memory_status")["exists"] is True


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("memory_dance", {}, "no tool 'memory_dance'"),
        ("memory_search", {}, "needs 'query'"),
        ("memory_search", {"query": "x", "size": 3}, "takes no 'size'"),
        ("memory_search", {"query": None}, "needs 'query'"),
        ("memory_search", "", "needs 'query'"),
        ("memory_search", '{"query": ', "the arguments of memory_search are no JSON"),
        ("memory_search", '["tea"]', "are a JSON object, not"),
        ("memory_status", {"verbose": True}, "takes no 'verbose': it takes nothing"),
        ("memory_search", {"query": 5}, "memory_search takes 'query' as a string, not 5"),
        ("memory_search", {"query": "x", "max_results": "5"}, "takes 'max_results' as an integer, not '5'"),
        ("memory_search", {"query": "x", "max_results": True}, "as an integer, not True"),
        ("memory_search", {"query": "x", "max_results": 2.5}, "as an integer, not 2.5"),
        ("memory_search", {"query": "x", "min_score": "0.5"}, "takes 'min_score' as a number, not '0.5'"),
        ("memory_search", {"query": "x", "explain": 1}, "takes 'explain' as a boolean, not 1"),
        ("memory_list", {"limit": "3"}, "takes 'limit' as an integer, not '3'"),
        ("memory_get", {"target": "MEMORY.md", "start": 3}, "takes no 'start': it takes target, from, lines"),
        ("memory_remember", {"text": "x", "tags": "a"}, "takes 'tags' as an array of strings, not 'a'"),
        ("memory_remember", {"text": "x", "tags": ["a", 1]}, "as an array of strings"),
        ("memory_remember", {"text": "x", "importance": True}, "as a string or a number, not True"),
        ("memory_remember", {"text": "x", "metadata": [1]}, "takes 'metadata' as an object"),
        ("memory_remember", {"text": "x", "metadata": {"a": float("nan")}}, "metadata cannot be kept as JSON"),
        ("memory_flush", {"messages": ["hello"]}, "takes 'messages' as an array of objects"),
        ("memory_append", {"text": "x", "section": ""}, "section is blank"),
    ],
)
def test_bad_calls_are_named(memory: Memory, name: str, arguments: dict[str, object] | str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        tools.call(memory, name, arguments)


def test_what_fits_its_type_is_taken(memory: Memory) -> None:
    """A whole number is a number, null is left out, a tuple is an array."""
    kept = tools.call(memory, "memory_remember", {"text": "tea", "importance": 1, "tags": ("a",), "session": "s1"})
    assert (kept["entry"]["score"], kept["entry"]["tags"], kept["entry"]["session"]) == (1.0, ["a"], "s1")
    assert tools.call(memory, "memory_search", {"query": "tea", "explain": None, "min_score": 0})["has_relevant"]


def test_schemas_are_in_the_form_of_each_wire_and_calls_come_back_as_models_write_them(memory: Memory) -> None:
    schema = tools.schema("memory_append")
    name, description, parameters = schema.values()
    for wire, expected in {
        "openai": {"type": "function", "function": schema},
        "openai-responses": {"type": "function", "strict": False, **schema},
        "anthropic": {"name": name, "description": description, "input_schema": parameters},
    }.items():
        assert tools.schemas(wire, ["memory_append"]) == [expected]
    offered = [each["name"] for each in tools.schemas("anthropic")]
    assert offered == [name for name in tools.TOOLS if name != "memory_purge"]
    assert tools.call(memory, "memory_append", '{"text": "fed the bees", "kind": null}')["duplicate"] is False
    with pytest.raises(InvalidInput, match="no wire 'smoke': there are openai, openai-responses, anthropic"):
        tools.schemas("smoke")
    with pytest.raises(InvalidInput, match="no tool 'memory_dance'"):
        tools.schemas("openai", ["memory_dance"])


@pytest.mark.parametrize(("text", "query"), [("The user keeps bees.", "bees"), ("用户养蜜蜂。", "蜜蜂")])
def test_an_answer_as_text_for_a_model(memory: Memory, text: str, query: str) -> None:
    entry = tools.call(memory, "memory_remember", {"text": text}, for_model=True)
    assert json.loads(tools.text(entry)) == entry
    for for_model in (True, False):
        found = tools.call(memory, "memory_search", {"query": query}, for_model=for_model)
        assert tools.text(found).startswith("1. 1.00 MEMORY.md#L")
        assert tools.text(found).endswith(f"id {entry['entry']['id']}): {text}")
        assert "degraded" in found["index"], "as data it is whole"


def test_get_takes_the_name_that_its_answer_has(memory: Memory) -> None:
    memory.append("one")
    path = memory.append("two").path
    assert tools.schema("memory_get")["parameters"]["properties"]["from"]["default"] == 1
    answer = tools.call(memory, "memory_get", {"target": path, "from": 2})
    assert (answer["from"], answer["lines"]) == (2, 1)
    assert answer["text"].endswith("two")


def test_switched_off_every_tool_says_disabled_and_writes_nothing(tmp_path: Path) -> None:
    with memorybook.open(str(tmp_path / "book"), config=Config(enabled=False)) as off:
        for name in tools.TOOLS:
            given = dict.fromkeys(tools.schema(name)["parameters"]["required"], "x")
            for for_model in (False, True):
                answer = tools.call(off, name, given, for_model=for_model)
                assert answer.get("disabled") is True, name
                assert json.loads(tools.text(answer))["disabled"] is True
    assert not (tmp_path / "book").exists()


def test_an_instruction_is_given_alone(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="given alone"):
        tools.call(memory, "memory_update", {"id": "x", "text": "y", "instruction": "shorter"})


def test_an_agent_does_not_take_back_what_a_person_did(tmp_path: Path) -> None:
    root = str(tmp_path / "shared")
    with memorybook.open(root, door="cli") as person:
        person.remember("tea")
        [done] = person.book.journal.operations()
    with memorybook.open(root) as agent:
        with pytest.raises(InvalidInput, match="was a person's: only a person takes it back"):
            tools.call(agent, "memory_undo", {"operation": done.id})
        own = agent.remember("coffee")
        assert own.known.entry.text == "coffee"
        [newest] = agent.book.journal.operations(limit=1)
        assert tools.call(agent, "memory_undo", {"operation": newest.id})["undone"] == newest.id
    with memorybook.open(root, door="cli") as person:
        assert tools.call(person, "memory_undo", {"operation": done.id})["undone"] == done.id
