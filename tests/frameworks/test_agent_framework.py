"""The providers and the tools against the Microsoft Agent Framework: its own history, its agents."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random
from typing import Any

import pytest

import memorybook
from frameworks import page
from frameworks.steps import STEPS, seeded
from memorybook.config.settings import Config
from memorybook.memory import Memory

af = pytest.importorskip("agent_framework", reason="run by tests/frameworks/run")

from agent_framework import BaseChatClient, FunctionInvocationLayer  # noqa: E402

from memorybook.frameworks.agent_framework import BookContext, BookHistory, book_tools  # noqa: E402


class Scripted(FunctionInvocationLayer, BaseChatClient):
    """A chat client that gives these replies one after the other: text, or contents such as calls of tools."""

    def __init__(self, *replies: Any) -> None:
        super().__init__()
        self.replies = list(replies)
        self.sent: list[list[Any]] = []

    async def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **more: Any) -> Any:
        self.sent.append(list(messages))
        reply = self.replies.pop(0)
        return af.ChatResponse(messages=[af.Message("assistant", [reply] if isinstance(reply, str) else reply)])


# --- beside the reference ------------------------------------------------------------------------

WORDS = ["tea", "茶", "", "two\nlines", "CRLF\r\n", "\x00", "  kept  ", "zażółć", '{"a": 1}']


def drawn(random: Random) -> Any:
    """A message as chat clients have them."""
    text, id = random.choice(WORDS) + random.choice(WORDS), f"call_{random.randrange(9)}"
    contents = random.choice(
        [
            [text],
            [text, random.choice(WORDS)],
            [af.Content.from_function_call(call_id=id, name="search", arguments={"query": text})],
            [af.Content.from_function_result(call_id=id, result=text)],
            [af.Content.from_uri("https://example.org/a.png", media_type="image/png"), text],
            [],
        ]
    )
    more = random.choice([{}, {}, {"author_name": "Ann"}, {"message_id": f"m{random.random()}"}])
    return af.Message(random.choice(["user", "assistant", "tool"]), contents, **more)


def test_every_step_comes_out_as_with_the_reference(memory: Memory) -> None:
    seed, chosen = seeded()
    reference = af.InMemoryHistoryProvider()

    async def run() -> None:
        states: dict[str, dict[str, Any]] = {"Ann": {}, "Bob": {}}
        for number in range(STEPS):
            ours, one, name = BookHistory(memory), chosen.random(), chosen.choice(["Ann", "Bob"])
            if len(states[name].get("messages", ())) > 60:  # what was said is replayed as a whole, so it may not grow
                states[name] = {}
                ours.session(name).clear()
            known = states[name].get("messages", [])
            random = Random(one)
            if random.random() < 0.6:
                said = [drawn(random) for _ in range(random.choice([0, 1, 1, 2, 4]))]
                if random.random() < 0.3:  # a client that sends all, or the end of what was said, once more
                    said = [*known[random.randrange(len(known) + 1) :], *said]
                await ours.save_messages(name, said)
                await reference.save_messages(name, said, state=states[name])
            found, expected = await ours.get_messages(name), await reference.get_messages(name, state=states[name])
            assert [each.to_dict() for each in found] == [each.to_dict() for each in expected], (seed, number)

    asyncio.run(run())


# --- what is deliberate --------------------------------------------------------------------------


def test_what_both_providers_keep_is_kept_once_and_nothing_while_memory_is_off(tmp_path: Path) -> None:
    async def run(memory: Memory, *providers: Any) -> Any:
        agent = af.Agent(Scripted("Noted.", "Yes."), context_providers=providers)
        session = agent.create_session(session_id="s")
        await agent.run("my password: hunter2-Xyz-99", session=session)
        await agent.run("Is it kept?", session=session)
        await providers[-1].end(session)
        return agent.client.sent[1]

    with memorybook.open(str(tmp_path / "on")) as memory:
        sent = asyncio.run(run(memory, BookHistory(memory), BookContext(memory)))
        kept = asyncio.run(BookHistory(memory).get_messages("s"))
        assert [message.role for message in kept] == ["user", "assistant"] * 2
        assert "hunter2" not in kept[0].text
        assert [message.text for message in sent][1:] == ["Noted.", "Is it kept?"]
    with memorybook.open(str(tmp_path / "off"), config=Config(enabled=False)) as memory:
        sent = asyncio.run(run(memory, BookContext(memory)))
        assert [message.text for message in sent] == ["my password: hunter2-Xyz-99", "Noted.", "Is it kept?"]
    assert not (tmp_path / "off" / "MEMORY.md").exists()


def test_a_message_with_an_id_that_many_runs_save_is_kept_once(memory: Memory) -> None:
    first, other = af.Message("user", ["tea"], message_id="m"), af.Message("user", ["茶"], message_id="m")

    async def run() -> list[str]:
        client = Scripted(*map(str, range(8)))
        agent = af.Agent(client, context_providers=[BookHistory(memory), BookContext(memory)])
        session = agent.create_session(session_id="s")
        await asyncio.gather(*(agent.run([first], session=session) for _ in range(8)))
        await BookHistory(memory).save_messages("s", [other])
        return [message.text for message in await BookHistory(memory).get_messages("s")]

    assert sorted(asyncio.run(run())) == sorted([*map(str, range(8)), "tea", "茶"])


# --- tools, end to end ---------------------------------------------------------------------------


def test_an_agent_calls_the_tools_and_is_told_what_is_wrong(memory: Memory) -> None:
    wrong = af.Content.from_function_call(call_id="c1", name="memory_remember", arguments={"text": " "})
    right = af.Content.from_function_call(call_id="c2", name="memory_remember", arguments='{"text": "Ann likes tea"}')
    client = Scripted([wrong, right], "Noted.")
    context = BookContext(memory)

    async def run() -> Any:
        agent = af.Agent(client, context_providers=[context], tools=book_tools(memory))
        session = agent.create_session()
        answer = await agent.run("Remember my tea.", session=session)
        await context.end(session)
        return answer

    assert asyncio.run(run()).text == "Noted."
    refused, done = (content.result for message in client.sent[1] for content in message.contents if content.result)
    assert refused == "Error: text is blank: give some words"
    assert '"action": "created"' in done
    assert [known.entry.text for known in memory.entries().entries] == ["Ann likes tea"]  # and no echo of the answer


def test_the_page_is_what_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    client = Scripted("Noted.", "Noted, too.", "Green tea.")
    left = page.run("agent-framework", client=client)
    left["memory"].close()
    assert left["answer"] == "Green tea."
    first, second, third = ([message.text for message in sent] for sent in client.sent)
    assert first == ["I prefer green tea in the morning, never coffee."]
    assert second == [*first, "Noted.", "My train leaves at noon."]
    block, asked = third
    assert "prefer green tea" in block
    assert asked == "What do I drink in the morning?"
