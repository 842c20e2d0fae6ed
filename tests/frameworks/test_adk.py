"""The memory service and the tools against Google's ADK: its own service, its runner."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

import memorybook
from frameworks import page
from frameworks.steps import STEPS, seeded
from memorybook.config.settings import Config
from memorybook.errors import InvalidInput
from memorybook.memory import Memory

pytest.importorskip("google.adk", reason="run by tests/frameworks/run")

from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.memory import InMemoryMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models import BaseLlm, LLMRegistry, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.sessions import Session
from google.genai import types

from memorybook.frameworks.adk import BookMemoryService, book_tools


class Scripted(BaseLlm):
    """A model that gives these replies one after the other: text, or calls of tools as (name, arguments)."""

    model: str = "scripted"
    replies: list[Any]
    sent: list[Any]

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncGenerator[Any, None]:
        self.sent.append(llm_request.model_copy(deep=True))
        reply = self.replies.pop(0)
        if isinstance(reply, str):
            parts = [types.Part(text=reply)]
        else:
            parts = [types.Part(function_call=types.FunctionCall(name=name, args=args)) for name, args in reply]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


def said(text: str, *, id: str, author: str = "user", parts: Any = None) -> Any:
    content = types.Content(role="user" if author == "user" else "model", parts=parts or [types.Part(text=text)])
    return Event(id=id, author=author, content=content, timestamp=1_770_000_000.0)


# --- beside the reference ------------------------------------------------------------------------

USERS = [("tea", "ann"), ("tea", "bob/x"), ("tea/bob", "x")]


async def change(service: Any, kind: str, user: tuple[str, str], session: str, events: list[Any], id: str) -> None:
    """One operation on a service."""
    scope = {"app_name": user[0], "user_id": user[1]}
    match kind:
        case "session":
            await service.add_session_to_memory(Session(id=session, events=events, **scope))
        case "events":
            await service.add_events_to_memory(events=events, session_id=session, **scope)
        case "delete":
            await service.delete_memory(memory_id=id, **scope)


async def found(service: Any, user: tuple[str, str], word: str) -> list[Any]:
    """The event that has the word; what an entry or a summary tells of it is left out."""
    answer = await service.search_memory(app_name=user[0], user_id=user[1], query=word)
    told = [(each.id, each.content, each.author) for each in answer.memories if word in str(each.content)]
    return [each for each in told if each[0] == "e" + word[2:-1]]


@pytest.mark.timeout(600)
def test_every_step_comes_out_as_with_the_reference(tmp_path: Path) -> None:
    seed, random = seeded()
    books = {user: memorybook.open(str(tmp_path / str(number))) for number, user in enumerate(USERS)}
    ours, reference = BookMemoryService(lambda *user: books[user]), InMemoryMemoryService()
    sessions: dict[tuple[tuple[str, str], str], list[Any]] = {}
    count = 0

    def drawn() -> Any:
        nonlocal count
        count += 1
        author = random.choice(["user", "helper"])
        # what an agent says again, in other words too, of what was forgotten is no event: it has words of its own
        words = random.choice(["tea", "茶", "Ann prefers"]) if author == "user" else f"answer{count}"
        milk = [types.Part(text="and milk")] if author == "user" else []
        more = random.choice([[], milk, [types.Part.from_function_call(name="f", args={})]])
        return said("", id=f"e{count}", author=author, parts=[types.Part(text=f"{words} zq{count}x"), *more])

    async def run() -> None:
        for number in range(STEPS):
            user, session = random.choice(USERS), f"s{random.randrange(150)}"
            events = sessions.setdefault((user, session), [])
            kind = random.choice(["session", *["events"] * 6, *["delete"] * 3, *["find"] * 10])
            if kind in ("session", "events") and len(events) < 6:
                events += [drawn() for _ in range(random.choice([0, 1, 2]))]
            asked = random.randrange(max(0, count - 20), count + 2)  # mostly one of the last, said or not
            for service in (ours, reference):
                await change(service, kind, user, session, events, f"e{asked}")
            each, word = random.choice(USERS), f"zq{asked}x"
            assert await found(ours, each, word) == await found(reference, each, word), (seed, number)

    asyncio.run(run())
    for book in books.values():
        book.close()


# --- what is deliberate --------------------------------------------------------------------------


def test_what_one_user_said_is_neither_shown_nor_held_equal_to_another_s(tmp_path: Path, memory: Memory) -> None:
    asked: list[str] = []

    def answered(messages: Any, **_: Any) -> str:
        asked.append(str(messages))
        return '{"memories": []}'

    def entry(text: str) -> Any:
        return MemoryEntry(content=types.Content(parts=[types.Part(text=text)]))

    async def run(books: dict[str, Memory]) -> None:
        service = BookMemoryService(lambda app_name, user_id: books[user_id])
        for user in books:
            await service.add_memory(app_name="tea", user_id=user, memories=[entry("The tea is in the blue tin.")])
        await service.add_memory(app_name="tea", user_id="ann", memories=[entry("Ann has epilepsy.")])
        talk = [said("I always drink black tea at noon, remember that.", id="e1")]
        await service.add_session_to_memory(Session(id="s", app_name="tea", user_id="bob", events=talk))
        for user in books:
            found = await service.search_memory(app_name="tea", user_id=user, query="blue tin of tea")
            assert "The tea is in the blue tin." in [each.content.parts[0].text for each in found.memories]

    with memorybook.open(str(tmp_path / "bob"), config=Config(timezone="UTC"), llm=answered) as other:
        asyncio.run(run({"ann": memory, "bob": other}))
    assert asked
    assert "epilepsy" not in str(asked)
    with pytest.raises(InvalidInput, match="every user has a book"):
        BookMemoryService(memory)  # type: ignore[arg-type]


def test_secrets_and_thoughts_are_not_told(memory: Memory) -> None:
    thought = types.Part(text="the tea is dear", thought=True)
    event = said("", id="e1", parts=[thought, types.Part(text="my password: hunter2-Xyz-99")])

    async def run() -> Any:
        service, user = BookMemoryService(lambda *_: memory), {"app_name": "tea", "user_id": "ann"}
        await service.add_events_to_memory(events=[event], **user)
        assert not (await service.search_memory(query="dear tea", **user)).memories
        return (await service.search_memory(query="password", **user)).memories

    [found] = asyncio.run(run())
    assert found.timestamp == "2026-02-02T02:40:00+00:00"
    assert "hunter2" not in str(found.content)


# --- tools, end to end ---------------------------------------------------------------------------


def test_an_agent_calls_the_tools_and_is_told_what_is_wrong(memory: Memory) -> None:
    calls = [("memory_remember", {"text": " "}), ("memory_remember", {"text": "Ann likes tea"})]
    model = Scripted(replies=[calls, "Noted."], sent=[])
    runner = InMemoryRunner(LlmAgent(name="assistant", model=model, tools=book_tools(memory)))
    events = asyncio.run(runner.run_debug("Remember my tea.", quiet=True))
    assert events[-1].content.parts[0].text == "Noted."
    refused, done = (part.function_response.response["result"] for part in events[-2].content.parts)
    assert refused == "Error: text is blank: give some words"
    assert '"action": "created"' in done
    assert [known.entry.text for known in memory.entries().entries] == ["Ann likes tea"]


def test_the_page_is_what_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked = [("load_memory", {"query": "drink in the morning"})]
    model = Scripted(replies=["Noted.", asked, "Green tea."], sent=[])
    monkeypatch.setattr(LLMRegistry, "new_llm", lambda name: model)
    left = page.run("adk")
    left["memory"].close()
    assert left["answer"] == "Green tea."
    told = model.sent[2].contents[-1].parts[0].function_response.response
    assert "I prefer green tea in the morning, never coffee." in str(told)
