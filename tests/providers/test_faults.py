"""Every way a model can fail, over both wires: whatever the provider, nothing is lost and the next try succeeds."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

import llm_server
from inference import server
from inference.server import Answer, Handler, Service
from memorybook.memory import Memory
from memorybook.providers import PROVIDERS, MemorizeInput, open_provider
from providers.conftest import NOW, Opened, documents, talk

HUGE = json.dumps({"history_entry": "[2026-02-23 09:00] x", "memory_update": "x" * 10_000_000})
DEEP = '{"memory_update":' * 200_000


def slow(handler: Handler, body: dict[str, Any]) -> None:
    """Longer than anybody waits."""
    handler.server.released.wait(30)


def plain(answer: dict[str, Any]) -> Answer:
    """An answer that no wire has."""
    return server.raw(json.dumps(answer).encode())


FAULTS: dict[str, Answer] = {
    "prose": llm_server.say("I would rather write you a poem."),
    "nothing": llm_server.say(""),
    "half JSON": llm_server.fill('{"history_entry": "[2026-02-23 09:00] They sp'),
    "numbers that are none": llm_server.fill('{"history_entry": NaN, "memory_update": 1e999, "candidates": NaN}'),
    "other types": llm_server.fill({"history_entry": ["a"], "memory_update": {"b": 1}, "candidates": "none"}),
    "another tool": llm_server.call(("t1", "delete_everything", {"sure": True})),
    "a tool without arguments": llm_server.call(("t1", "save_memory", "")),
    "cut off": llm_server.fill('{"history_entry": "[2026-02-23 09:00] a", "memory_update": "- a', cut=True),
    "10 MB": llm_server.fill(HUGE),
    "200,000 levels": llm_server.fill(DEEP),
    "no JSON at all": server.raw(b"<html>gateway</html>", "text/html"),
    "another shape": plain({"choices": [], "content": []}),
    "too many requests": server.status(429, Retry_After="0"),
    "an error inside": server.status(500),
    "a wrong key": server.status(401),
    "a cut connection": server.cut,
    "silence": slow,
}


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with llm_server.serve() as running:
        yield running


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)


def good(handler: Handler, body: dict[str, Any]) -> None:
    """What each provider asks for, filled in."""
    found = {
        "history_entry": "[2026-02-23 09:09] They spoke of the harbour.", "memory_update": "- The user likes tea.",
        "summary": "The harbour.", "decisions": [], "open_questions": [], "candidates": [], "forget": [],
    }  # fmt: skip
    llm_server.fill(found)(handler, body)


def remembering(memory: Memory, name: str, service: Service, answer: Answer) -> Any:
    service.script, service.usual = [], answer
    given = MemorizeInput(talk(20), 3, memory_window=10, session="s")
    return open_provider(memory, name).memorize(given)


CASES = [
    (fault, name, ("openai", "anthropic")[(place + other) % 2])  # each fault on both wires, each provider on both
    for place, fault in enumerate(FAULTS)
    for other, name in enumerate(PROVIDERS)
]


@pytest.mark.parametrize(("fault", "name", "wire"), CASES)
def test_nothing_changes_and_the_next_try_succeeds(
    opened: Opened, service: Service, fault: str, name: str, wire: str
) -> None:
    timeout = 0.2 if fault == "silence" else 10.0
    memory = opened(backend="scan")
    memory.context = memory.context._replace(
        config=memory.config._replace(llm=llm_server.settings(service, wire, timeout=timeout))
    )
    memory.remember("The user likes tea.")
    before = documents(memory)
    failed = remembering(memory, name, service, FAULTS[fault])
    assert (failed.new_last_consolidated, failed.ok) == (3, False)
    assert failed.reason
    assert llm_server.KEY not in failed.reason
    assert documents(memory) == before
    assert memory.book.journal.spent(NOW.date()).failed >= 0
    again = remembering(memory, name, service, good)
    assert (again.new_last_consolidated, again.ok, again.reason) == (15, True, "")
