"""Which memory tools an agent's model has: a small core, and every other one by name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent.conftest import Place, said
from memorybook import tools
from memorybook.agent import AgentTool, tools_of
from memorybook.agent.toolset import CORE, LOAD, offered_tools
from memorybook.errors import InvalidInput
from memorybook.formats.json_schema import WIRES
from memorybook.formats.llm_messages import Reply, ToolCall, ToolSchema
from memorybook.testing import ScriptedLLM
from memorybook.text.tokens import count_tokens


def calls(*named: tuple[str, dict[str, Any]]) -> Reply:
    return Reply(tool_calls=tuple(ToolCall(f"c{n}", name, args) for n, (name, args) in enumerate(named)))


def answers(llm: ScriptedLLM) -> list[str]:
    """What tools answered, as the model saw it last."""
    return [message["content"] for message in llm.requests[-1].messages if message["role"] == "tool"]


def names(llm: ScriptedLLM, request: int) -> list[str]:
    return [tool.name for tool in llm.requests[request].tools]


@pytest.mark.parametrize("wire", WIRES)
def test_what_is_offered_first_is_small(place: Place, wire: str) -> None:
    llm = ScriptedLLM(["Hello."])
    place.workspace(noting=False).session("a", "b").run(llm, "Hi")
    assert set(names(llm, 0)) == {*CORE, LOAD}
    sent = [
        WIRES[wire]({"name": tool.name, "description": tool.description, "parameters": tool.parameters})
        for tool in llm.requests[0].tools
    ]
    assert count_tokens(json.dumps(sent, ensure_ascii=False)) <= 2_000
    said_of = json.dumps([tool.description for tool in llm.requests[0].tools if tool.name != LOAD])
    assert not [name for name in tools.TOOLS if name not in CORE and name in said_of]


def test_every_tool_but_purge_can_be_loaded_and_called_from_the_next_step_on(place: Place) -> None:
    session = place.workspace(noting=False).session("a", "b")
    with session.memory() as memory:
        memory.remember("安喝绿茶。")
        memory.remember("Ann drinks green tea.")
    every = tools.offered()
    llm = ScriptedLLM([calls((LOAD, {"names": every})), calls(("memory_list", {}), ("recall_history", {})), "Two."])
    assert session.run(llm, "How many things do you know?").text == "Two."
    assert set(names(llm, 1)) == {*every, LOAD}
    assert names(llm, 1) == names(llm, 2)
    assert {tool.name: tool.parameters for tool in llm.requests[1].tools if tool.name != LOAD} == {
        name: without_current(tools.schema(name)["parameters"]) for name in every
    }
    assert "安喝绿茶。" in answers(llm)[1]
    llm = ScriptedLLM(["Hello."])
    session.run(llm, "And now?")
    assert set(names(llm, 0)) == {*every, LOAD}, "what the talk shows as loaded is loaded"
    session.new()
    llm = ScriptedLLM(["Hello."])
    session.run(llm, "And now?")
    assert set(names(llm, 0)) == {*CORE, LOAD}


def without_current(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters as a session has them, which says itself which conversation is the current one."""
    return {**parameters, "properties": {name: p for name, p in parameters["properties"].items() if name != "current"}}


def test_tools_are_described_before_they_are_loaded(place: Place) -> None:
    llm = ScriptedLLM([calls((LOAD, {})), calls((LOAD, {"names": ["memory_pin", "memory_dance"]})), "Hm."])
    session = place.workspace(noting=False).session("a", "b")
    session.run(llm, "What can you do?")
    described, refused = answers(llm)
    assert "- memory_pin: Keep an entry from fading, or let it fade again." in described
    assert described.count("\n- ") == len(tools.offered()) - len(CORE)
    assert refused.startswith("Error: no tool 'memory_dance' to load: there are ")
    assert set(names(llm, 2)) == {*CORE, LOAD}
    with session.memory() as memory:
        uuid = memory.book.transcripts.sessions()[0].uuid
        assert "Keep an entry" not in str(memory.book.transcripts.turns(uuid)), "lists of tools are not kept as turns"


def test_what_was_called_before_stays(place: Place) -> None:
    with place.workspace(noting=False).session("a", "b").memory() as memory:
        every = tools_of(memory)
    before = [{"role": "assistant", "content": "", "tool_calls": [ToolCall("c1", "memory_list").json()]}]
    assert list(offered_tools([], every, before)) == [LOAD, "memory_list"]
    for odd in ({}, {"function": None}, {"function": {"name": LOAD, "arguments": "{"}}):
        assert list(offered_tools([], every, [{"role": "assistant", "tool_calls": [odd]}])) == [LOAD]


def test_a_hosts_own_tool_goes_before_one_that_can_be_loaded(place: Place) -> None:
    own = AgentTool(ToolSchema("memory_list", "Mine.", {"type": "object", "properties": {}}), lambda arguments: "mine")
    llm = ScriptedLLM([calls(("memory_list", {}), (LOAD, {"names": ["memory_list"]})), "Done."])
    session = place.workspace(noting=False).session("a", "b")
    session.run(llm, "List them.", tools=[own])
    assert answers(llm)[0] == "mine"
    assert answers(llm)[1].startswith("Error: no tool 'memory_list' to load")
    taken = own._replace(schema=own.schema.__class__(LOAD, "Mine.", {"type": "object"}))
    with pytest.raises(InvalidInput, match="one name"):
        session.run(ScriptedLLM(["x"]), "?", tools=[taken])


def test_rarer_arguments_of_the_core_are_taken_without_being_shown(place: Place) -> None:
    llm = ScriptedLLM([calls(("memory_remember", {"text": "Ann drinks green tea.", "tags": ["tea"]})), "Noted."])
    session = place.workspace(noting=False).session("a", "b")
    session.run(llm, "Ann drinks green tea.")
    assert "tags" not in json.dumps([tool.parameters for tool in llm.requests[0].tools])
    with session.memory() as memory:
        assert memory.entries().entries[0].entry.tags == ("tea",)


@pytest.mark.parametrize(
    ("earlier", "now", "query"),
    [
        ("Ann likes green tea from the harbour.", "What did we say about green tea?", "green tea"),
        ("安喜欢码头那家店的绿茶。", "我们上次怎么说绿茶的？", "绿茶"),
    ],
)
def test_a_recall_leaves_out_the_current_conversation(place: Place, earlier: str, now: str, query: str) -> None:
    session = place.workspace(noting=False).session("a", "b")
    session.run(ScriptedLLM(["Good."]), earlier)
    session.new()
    llm = ScriptedLLM([calls(("recall_topic", {"query": query})), "That."])
    session.run(llm, now)
    [answer] = answers(llm)
    assert earlier in answer
    assert now not in answer


def test_the_tools_for_other_loops_are_all_there_with_all_they_take(place: Place) -> None:
    session = place.workspace(noting=False).session("a", "b")
    session.add(said("hello"))
    with session.memory() as memory:
        assert [tool.schema.name for tool in tools_of(memory)] == tools.offered()
        [recall] = tools_of(memory, names=["recall_topic"])
        assert recall.schema.parameters == tools.schema("recall_topic")["parameters"]
