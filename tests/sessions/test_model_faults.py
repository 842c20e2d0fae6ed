"""Every way in which a model fails a finished task or a rewriting: rules judge, or the entry stays as it was."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import llm_server
import memorybook
from books import files
from inference.server import Answer, Service, cut, hang, raw, status
from llm_server import fill, say
from memorybook.config.settings import Config
from memorybook.errors import LLMFailed
from memorybook.memory import Memory

NOW = datetime(2026, 2, 24, 10, 12, 33, tzinfo=UTC)
GOAL, RESULT = "Fix the login test", "The root cause was an expired token in the fixture."
PORT = "The API listens on 8080 since 2026-03-01."

FAULTS: dict[str, Answer] = {
    "prose": say("I would rather talk of the weather."),
    "half JSON": say('{"should_store": true, "score": 0.8, "memories": [{"content": "The tok'),
    "NaN": say('{"should_store": true, "score": NaN, "reasoning": "x", "memories": [], "text": NaN}'),
    "1e999": say('{"should_store": true, "score": 1e999, "reasoning": "x", "memories": [], "text": 1e999}'),
    "wrong types": fill({"should_store": [1], "score": "very", "memories": {"a": 1}, "text": 5, "refused": 0}),
    "deep": say('{"memories": ' + "[" * 200_000),
    "10 MB": say('{"text": "' + "x" * 10_000_000 + '"}'),
    "nothing": raw(b""),
    "429": status(429),
    "500": status(500),
    "401": status(401),
    "cut": cut,
    "hang": hang,
}


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setattr("memorybook.inference.llm.time.sleep", lambda seconds: None)
    with llm_server.serve() as serving:
        yield serving


@pytest.fixture(params=["openai", "anthropic"])
def memory(tmp_path: Path, service: Service, request: pytest.FixtureRequest) -> Iterator[Memory]:
    settings = llm_server.settings(service, request.param, timeout=0.5)
    config = Config(timezone="UTC", llm=settings)
    with memorybook.open(str(tmp_path / "book"), config=config, clock=lambda: NOW) as opened:
        yield opened


@pytest.mark.parametrize("fault", FAULTS)
def test_a_task_is_judged_by_rules_and_says_why(memory: Memory, service: Service, fault: str) -> None:
    service.usual = FAULTS[fault]
    stored = memory.store_if_worthwhile(GOAL, RESULT)
    assert (stored.by, [kept.text for kept in stored.memories]) == ("rules", [f"{GOAL}: {RESULT}"])
    assert stored.degraded.startswith("judged by rules: ")
    assert llm_server.KEY not in str(stored.json()) + str(files(memory.root))
    assert memory.book.journal.spent(NOW.date()).failed >= 1


@pytest.mark.parametrize("fault", FAULTS)
def test_an_entry_stays_as_it_was_until_a_later_try(memory: Memory, service: Service, fault: str) -> None:
    id = memory.remember(PORT).known.entry.id
    before = files(memory.root, "*.md")
    service.usual = FAULTS[fault]
    with pytest.raises(LLMFailed):
        memory.revise(id, "make it shorter")
    assert files(memory.root, "*.md") == before
    service.usual = fill({"text": "API: 8080 since 2026-03-01.", "refused": ""})
    assert memory.revise(id, "make it shorter").known.entry.text == "API: 8080 since 2026-03-01."
