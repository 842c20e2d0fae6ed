from __future__ import annotations

from typing import Any

import pytest

from memorybook.errors import LLMFailed
from memorybook.memory import Memory
from memorybook.providers import MemorizeInput, open_provider
from memorybook.providers.tiered import Tiered
from memorybook.testing import ScriptedLLM
from providers.conftest import Opened, documents

SAID = "Remember that harbour-api runs on port 8443."


def messages(*said: str) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": text, "timestamp": f"2026-02-23T09:{number:02d}:00Z"}
        for number, text in enumerate(said)
    ]


def test_it_is_the_default(memory: Memory) -> None:
    assert isinstance(open_provider(memory), Tiered)
    assert open_provider(memory).name == "tiered"


def test_it_recalls_as_the_memory_does(memory: Memory) -> None:
    memory.remember("harbour-api runs on port 8443.", importance="low")
    block = Tiered(memory).recall("which port?")
    assert "8443" in block
    assert block == memory.recall("which port?").text


def test_a_session_that_goes_on_brings_what_is_new_once(memory: Memory) -> None:
    tiered = Tiered(memory)
    said = messages(SAID, *(f"Crane {number} is being painted." for number in range(9)), "I prefer green tea.")
    first = tiered.memorize(MemorizeInput(said[:8], memory_window=4, session="s"))
    assert (first.new_last_consolidated, first.ok) == (6, True)
    last = tiered.memorize(MemorizeInput(said, 6, archive_all=True, session="s"))
    assert (last.new_last_consolidated, last.ok) == (0, True)
    [session] = memory.book.transcripts.sessions()
    assert len(memory.book.transcripts.turns(session.uuid)) == 11
    assert all(one.entry.hits == 1 for one in memory.entries().entries)


def test_a_failure_parks_the_turns_besides(opened: Opened) -> None:
    memory = opened(ScriptedLLM(then=LLMFailed("the language model is down")))
    before = documents(memory)
    result = Tiered(memory).memorize(MemorizeInput(messages(SAID), archive_all=True, session="s"))
    assert (result.new_last_consolidated, result.ok) == (0, False)
    assert "is down" in result.reason
    assert documents(memory) == before
    assert [parked.kind for parked in memory.book.journal.parked()] == ["memorize"]


@pytest.mark.parametrize("model", ["", "small"])
def test_the_model_that_was_given_is_asked(opened: Opened, model: str) -> None:
    own, given = ScriptedLLM(), ScriptedLLM(then={"summary": "", "candidates": []})
    asked = MemorizeInput(messages(SAID), llm=given, model=model, archive_all=True, session="s")
    assert Tiered(opened(own)).memorize(asked).ok
    assert (len(own.requests), len(given.requests)) == (0, 1)
