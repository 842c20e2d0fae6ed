"""Sessions and tools against OpenAI's SDKs: their reference session, their runner, their types."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

import memorybook
from frameworks import page
from frameworks.steps import STEPS, seeded
from memorybook import tools
from memorybook.config.settings import Config
from memorybook.errors import InvalidInput, Unavailable
from memorybook.memory import Memory

agents = pytest.importorskip("agents", reason="run by tests/frameworks/run")

from agents.memory import Session, SessionSettings, SQLiteSession  # noqa: E402
from agents.testing import ScriptedModel, assistant_message, function_call  # noqa: E402

from memorybook.frameworks.openai_agents import BookSession, book_tools  # noqa: E402

agents.set_tracing_disabled(True)


# --- beside the reference ------------------------------------------------------------------------

WORDS = ["tea", "茶", "", "two\nlines", "CRLF\r\n", "half a pair \ud83d", "\x00", "  kept  ", "zażółć", '{"a": 1}']


def drawn(random: Random) -> dict[str, Any]:
    """An item as the Responses API has them, or nearly."""
    text = random.choice(WORDS) + random.choice(WORDS)
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return random.choice(
        [
            {"role": "user", "content": text},
            {"content": [{"type": "input_text", "text": text}], "role": "user", "type": "message"},
            {"id": "msg_1", "content": [part], "role": "assistant", "status": "completed", "type": "message"},
            {"arguments": json.dumps({"query": text}), "call_id": "call_1", "name": "search", "type": "function_call"},
            {"call_id": "call_1", "output": text, "type": "function_call_output"},
            {"id": "rs_1", "summary": [], "type": "reasoning", "encrypted_content": "gAAAAABotdkEAFzrF2s7mYxq=="},
            {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": None},
            {"role": "developer", "content": text, "odd": [1, 2.5, True, None, {"深": [[]]}]},
        ]
    )


async def step(session: Any, random: Random) -> Any:
    """One operation on a session; the same for equal states of what draws."""
    match random.choice(
        ["add", "add", "add", "get", "get", "pop", "limit", "clear" if random.random() < 0.1 else "get"]
    ):
        case "add":
            return await session.add_items([drawn(random) for _ in range(random.choice([0, 1, 1, 2, 5]))])
        case "get":
            return await session.get_items(random.choice([None, None, 0, 1, 2, 7, 1000, -1]))
        case "pop":
            return await session.pop_item()
        case "limit":
            session.session_settings = SessionSettings(limit=random.choice([None, None, 0, 3, -2]))
            return None
        case _:
            return await session.clear_session()


def test_every_step_comes_out_as_with_the_reference(memory: Memory) -> None:
    seed, chosen = seeded()

    async def run() -> None:
        pairs = [(BookSession(name, memory), SQLiteSession(name)) for name in ("Ann", "Bob")]
        for number in range(STEPS):
            ours, theirs = chosen.choice(pairs)
            if number % 100 == 99:  # another process goes on with it
                ours = BookSession(ours.session_id, memory, session_settings=theirs.session_settings)
                pairs = [(ours, theirs) if each[1] is theirs else each for each in pairs]
            one = chosen.random()
            found, expected = await step(ours, Random(one)), await step(theirs, Random(one))
            assert found == expected, (seed, number)
            assert json.dumps(found) == json.dumps(expected), (seed, number)

    asyncio.run(run())


# --- what is deliberate --------------------------------------------------------------------------


def test_a_session_is_one_of_the_sdk_and_masks_secrets(memory: Memory) -> None:
    async def run() -> list[Any]:
        session = BookSession("Ann", memory)
        await session.add_items([{"role": "user", "content": "my password: hunter2-Xyz-99"}])
        return await session.get_items()

    assert isinstance(BookSession("Ann", memory), Session)
    [item] = asyncio.run(run())
    assert item["role"] == "user"
    assert "hunter2" not in item["content"]


def test_without_transcripts_a_session_says_so(tmp_path: Path) -> None:
    config = Config(transcripts=Config().transcripts._replace(enabled=False))
    with (
        memorybook.open(str(tmp_path / "book"), config=config) as memory,
        pytest.raises(Unavailable, match=r"transcripts\.enabled"),
    ):
        asyncio.run(BookSession("Ann", memory).get_items())


# --- tools ---------------------------------------------------------------------------------------


def test_tools_are_those_asked_for_and_items_are_objects(memory: Memory) -> None:
    assert [tool.name for tool in book_tools(memory)] == [name for name in tools.TOOLS if name != "memory_purge"]
    assert [tool.name for tool in book_tools(memory, ["memory_search"])] == ["memory_search"]
    with pytest.raises(InvalidInput, match="object of the Responses API"):
        asyncio.run(BookSession("Ann", memory).add_items(["tea"]))
    with pytest.raises(InvalidInput, match="no tool 'memory_dance'"):
        book_tools(memory, ["memory_dance"])


def test_an_agent_calls_the_tools_and_is_told_what_is_wrong(memory: Memory) -> None:
    script = ScriptedModel(
        [
            [function_call("memory_remember", {"text": "Ann likes green tea"}, call_id="c1")],
            [function_call("memory_remember", {}, call_id="c2"), function_call("memory_search", "[1]", call_id="c3")],
            [assistant_message("done")],
        ]
    )
    agent = agents.Agent(name="Assistant", model=script, tools=book_tools(memory))

    async def run() -> tuple[Any, list[Any]]:
        session = BookSession("Ann", memory)
        return await agents.Runner.run(agent, "remember my tea", session=session), await session.get_items()

    result, items = asyncio.run(run())
    script.assert_complete()
    assert result.final_output == "done"
    assert [known.entry.text for known in memory.entries().entries] == ["Ann likes green tea"]
    outputs = [item["output"] for item in items if item.get("type") == "function_call_output"]
    assert '"action": "created"' in outputs[0]
    assert outputs[1:] == [
        "Error: memory_remember needs 'text'",
        "Error: the arguments of memory_search are a JSON object, not '[1]'",
    ]
    kept = [turn.text for turn in memory.book.transcripts.turns(memory.book.transcripts.session("Ann").uuid)]
    assert kept[:4] == ["remember my tea", "", "", ""]  # what a tool told of the book is not said once more


# --- end to end ----------------------------------------------------------------------------------


def test_the_page_is_what_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    script = ScriptedModel([[assistant_message(each)] for each in ("Noted.", "Green tea.", "好的。")])
    monkeypatch.setattr(agents.MultiProvider, "get_model", lambda self, name: script)
    left = page.run("openai-agents")
    left["memory"].close()
    script.assert_complete()
    assert left["answer"] == "Green tea."
    assert [item.get("content") for item in script.calls[1].input][0::2] == [
        "I prefer green tea in the morning, never coffee.",
        "What do I drink in the morning?",
    ]
