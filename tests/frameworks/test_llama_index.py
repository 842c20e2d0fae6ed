"""The memory block in LlamaIndex's memory, and through it in a chat engine."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memorybook
from frameworks import page
from memorybook.config.settings import Config

pytest.importorskip("llama_index", reason="the framework is not installed: run tests/frameworks/run")

from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.bridge.pydantic import Field
from llama_index.core.llms import ChatResponse, MockLLM
from llama_index.core.memory import InsertMethod, Memory
from llama_index.core.storage.chat_store.sql import MessageStatus

from memorybook.frameworks.llama_index import BookMemoryBlock

SAID = [
    "I prefer green tea, never coffee.", "Noted.", "我们决定星期六在港口见面。", "Noted.",
    "My password is hunter2-Xyz-99, keep it.", "I had rather not.",
]  # fmt: skip


@pytest.fixture
def book(tmp_path: Path) -> Iterator[memorybook.Memory]:
    with memorybook.open(str(tmp_path / "book")) as book:
        yield book


def messages(*texts: str) -> list[ChatMessage]:
    return [ChatMessage(text, role=("user", "assistant")[number % 2]) for number, text in enumerate(texts)]


def kept(book: memorybook.Memory, session: str) -> list[str]:
    return [turn.text for turn in book.book.transcripts.turns(book.book.transcripts.session(session).uuid)]


async def ended(block: BookMemoryBlock, window: Memory, *, times: int) -> None:
    await asyncio.gather(*(block.aend(window) for _ in range(times)))


def test_what_leaves_the_window_is_remembered_once_and_word_for_word(book: memorybook.Memory) -> None:
    block = BookMemoryBlock(memory=book)
    window = Memory.from_defaults(session_id="ann", token_limit=40, token_flush_size=10, memory_blocks=[block])
    for message in messages(*SAID):
        window.put(message)
    evicted = kept(book, "ann")
    assert 2 <= len(evicted) < len(SAID)
    assert evicted == SAID[: len(evicted)]
    asyncio.run(ended(block, window, times=4))
    assert kept(book, "ann") == [each.replace("hunter2-Xyz-99", "[REDACTED:password]") for each in SAID]
    assert {each.entry.category for each in book.entries().entries} >= {"preference", "decision"}
    assert window.get_all(MessageStatus.ACTIVE) == []


@pytest.mark.parametrize("method", [InsertMethod.SYSTEM, InsertMethod.USER])
def test_what_is_known_comes_into_the_prompt_and_is_not_remembered_again(
    book: memorybook.Memory, method: InsertMethod
) -> None:
    book.remember("Ann prefers green tea, never coffee.", category="preference")
    block = BookMemoryBlock(memory=book, max_tokens=200)
    window = Memory.from_defaults(session_id="bob", memory_blocks=[block], insert_method=method)
    window.put(ChatMessage("What does Ann drink?"))
    prompt = window.get()
    shown = next(message.content or "" for message in prompt if message.role == method.value)
    assert "<long_term_memory>" in shown
    assert "Ann prefers green tea, never coffee." in shown
    asyncio.run(block.aput(prompt, session_id="bob"))
    assert len(book.entries().entries) == 1


def test_tool_calls_are_kept_and_blank_messages_left_out(book: memorybook.Memory) -> None:
    call = ToolCallBlock(tool_call_id="1", tool_name="weather", tool_kwargs={"city": "Oslo"})
    said = [ChatMessage("Is it raining?"), ChatMessage(role="assistant", blocks=[call]), ChatMessage("", role="user")]
    asyncio.run(BookMemoryBlock(memory=book).aput([*said, ChatMessage("Rain.", role="tool")], session_id="ann"))
    turns = book.book.transcripts.turns(book.book.transcripts.session("ann").uuid)
    assert [(turn.role, turn.text) for turn in turns][::2] == [("user", "Is it raining?"), ("tool", "Rain.")]
    assert turns[1].tool_calls[0]["name"] == "weather"


def test_an_empty_book_and_one_that_is_switched_off_add_nothing(book: memorybook.Memory, tmp_path: Path) -> None:
    with memorybook.open(str(tmp_path / "off"), config=Config()._replace(enabled=False)) as off:
        for each in (book, off):
            block = BookMemoryBlock(memory=each)
            assert asyncio.run(block.aget(messages("What does Ann drink?"))) == ""
        asyncio.run(block.aput(messages(*SAID), session_id="ann"))
        assert not (tmp_path / "off").exists()


class Scripted(MockLLM):
    """A model that says what it is given to say, and keeps what it was told."""

    says: list[str] = Field(default_factory=list)
    told: list[Any] = Field(default_factory=list)

    def chat(self, messages: Any, **options: Any) -> ChatResponse:
        self.told.append(messages)
        return ChatResponse(message=ChatMessage(self.says[len(self.told) - 1], role="assistant"))


def test_the_page_is_what_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    llm = Scripted()
    llm.says = ["Noted.", "Noted.", "Green tea."]
    left = page.run("llama-index", llm=llm)
    left["book"].close()
    assert left["answer"] == "Green tea."
    first, *_, last = llm.told
    assert [message.content for message in first] == ["I prefer green tea in the morning, never coffee."]
    assert "I prefer green tea in the morning, never coffee." in last[0].content
    assert last[-1].content == "What do I drink in the morning?"
