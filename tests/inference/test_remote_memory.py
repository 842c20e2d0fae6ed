"""A memory whose vectors come from a service, end to end: as it answers, as it fails, and as it comes back."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

import memorybook
from inference.server import KEY, Answer, Service, altered, hang, serve, status
from memorybook.config.settings import Config, EmbeddingSettings
from memorybook.errors import ConfigError
from memorybook.memory import Memory
from memorybook.search.types import Answer as Found

FACTS = ["The user likes red apples.", "Staging listens on port 6543.", "生产数据库在上海的服务器上。"]
QUESTION = "which apples does the user like"


@pytest.fixture
def service() -> Iterator[Service]:
    with serve() as running:
        yield running


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two tries of a batch nobody waits."""
    monkeypatch.setattr("memorybook.inference.http_client.time.sleep", lambda _: None)


def config(service: Service, **settings: Any) -> Config:
    usual: dict[str, Any] = {"base_url": service.url, "api_key": KEY, "model": service.model, "dimensions": 1024}
    return Config(timezone="UTC", embeddings=EmbeddingSettings(**(usual | {"batch": 32, "timeout": 5.0} | settings)))


def opened(root: Path, service: Service, **settings: Any) -> Memory:
    """As a process that is soon gone has it: nothing happens in the background."""
    memory = memorybook.open(str(root), config=config(service, **settings))
    memory.book.background = False
    return memory


def filled(root: Path, service: Service, **settings: Any) -> Memory:
    """A memory of three facts that are embedded, with the requests so far forgotten."""
    memory = opened(root, service, **settings)
    for fact in FACTS:
        memory.remember(fact)
    assert memory.sync()["pending_vectors"] == 0
    service.requests.clear()
    return memory


def sent(service: Service) -> list[str]:
    return [text for request in service.requests for text in request["input"]]


def hybrid(answer: Found) -> bool:
    return (answer.backend, answer.state["pending_vectors"], answer.state["degraded"]) == ("sqlite_hybrid", 0, [])


def by_words(answer: Found) -> str:
    """The one reason of an answer that words gave, and gave right."""
    assert answer.backend == "sqlite_fts"
    assert answer.hits[0].passage.text == FACTS[0]
    assert KEY not in json.dumps(answer.json())
    [reason] = answer.state["degraded"]
    return str(reason)


def end_pause(root: Path) -> None:
    """Let the half minute pass for which a failed embedder is left alone."""
    with closing(apsw.Connection(str(root / ".memorybook" / "index.sqlite"))) as connection:
        connection.execute("UPDATE models SET paused_until=paused_until-31").fetchall()


# --- filling ---------------------------------------------------------------------------------------


def test_writing_never_asks_the_service_and_a_search_tells_what_waits(tmp_path: Path, service: Service) -> None:
    with opened(tmp_path, service) as memory:
        memory.remember(FACTS[0])
        memory.append("Standup moved to ten o'clock.")
        memory.flush("Decision: we deploy on Thursdays.")
        answer = memory.search(QUESTION)
        assert answer.state["pending_vectors"] >= 3
        assert "passages wait for a vector of 'remote/127.0.0.1" in by_words(answer)
        assert service.requests == []
        assert memory.sync()["pending_vectors"] == 0
        asked = len(service.requests)
        assert hybrid(memory.search(QUESTION))
        assert len(service.requests) == asked + 1


def test_new_passages_are_found_by_words_until_they_have_a_vector(tmp_path: Path, service: Service) -> None:
    with filled(tmp_path, service) as memory:
        memory.remember("The user moved to Lisbon.")
        answer = memory.search("Lisbon")
        assert (answer.backend, answer.state["pending_vectors"], answer.state["degraded"]) == ("sqlite_hybrid", 1, [])
        assert "The user moved to Lisbon." in [hit.passage.text for hit in answer.hits]
        assert sent(service) == ["Lisbon"]


def test_a_rebuild_asks_for_nothing_that_is_known_and_fills_what_waits(tmp_path: Path, service: Service) -> None:
    with filled(tmp_path, service) as memory:
        memory.rebuild()
        assert service.requests == []
        memory.remember("The user moved to Lisbon.")
        assert memory.rebuild()["pending_vectors"] == 0
        assert [text for text in sent(service) if "Lisbon" not in text] == []
        assert len(sent(service)) == 1
        assert hybrid(memory.search(QUESTION))


def test_a_model_without_an_address_is_refused_on_opening(tmp_path: Path, service: Service) -> None:
    with pytest.raises(ConfigError, match=r"set embeddings\.base_url"):
        opened(tmp_path, service, base_url="")


# --- failing ---------------------------------------------------------------------------------------


def holed(answer: dict[str, Any]) -> None:
    answer["data"][0]["embedding"][7] = math.nan


def shortened(answer: dict[str, Any]) -> None:
    answer["data"][0]["embedding"].pop()


FAILURES: dict[str, tuple[Answer, str]] = {
    "500": (status(500, f'{{"message": "broken, was sent {KEY}"}}'.encode()), "answered with HTTP 500"),
    "429": (status(429, b'{"message": "too many"}', Retry_After="9"), "HTTP 429 and asks to wait 9 seconds"),
    "401": (status(401, f'"Api key {KEY} is invalid"'.encode()), "check embeddings.api_key"),
    "hangs": (hang, "did not answer within 1"),
    "NaN": (altered(holed), "NaN or infinity"),
    "wrong dimension": (altered(shortened), "1023 dimensions at index 0 where 1024 were expected"),
    "wrong count": (altered(lambda answer: answer["data"].pop()), "0 vectors for 1 texts"),
}

failures = pytest.mark.parametrize(("failure", "words"), FAILURES.values(), ids=FAILURES)


@failures
def test_words_answer_while_the_service_fails_and_it_is_left_alone(
    tmp_path: Path, service: Service, failure: Answer, words: str
) -> None:
    filled(tmp_path, service).close()
    with opened(tmp_path, service, timeout=1.0 if failure is hang else 5.0) as memory:
        service.script = [failure]
        assert words in by_words(memory.search(QUESTION))
        asked = len(service.requests)
        again = by_words(memory.search(QUESTION))
        assert words in again
        assert "tried again in 30 s" in again
        with opened(tmp_path, service) as other:
            assert words in by_words(other.search(QUESTION))
        assert len(service.requests) == asked == 1
    end_pause(tmp_path)
    with opened(tmp_path, service) as memory:
        assert hybrid(memory.search(QUESTION))


@failures
def test_a_sync_that_fails_says_so_once_and_a_later_one_fills(
    tmp_path: Path, service: Service, failure: Answer, words: str
) -> None:
    with opened(tmp_path, service, timeout=0.3 if failure is hang else 5.0) as memory:
        for fact in FACTS[:2]:
            memory.remember(fact)
        service.script = [failure] * 4
        report = memory.sync()
        assert report["pending_vectors"] == 2
        [reason] = report["degraded"]
        assert KEY not in reason
        by_words(memory.search(QUESTION))
    service.script = []
    with opened(tmp_path, service) as memory:
        report = memory.sync()
        assert (report["pending_vectors"], report["degraded"]) == (0, [])
        assert hybrid(memory.search(QUESTION))


def test_the_key_stands_nowhere(tmp_path: Path, service: Service) -> None:
    echo = status(500, f"your key was {KEY}".encode())
    with filled(tmp_path, service) as memory:
        service.script = [echo]
        memory.search(QUESTION)
        memory.remember("The user moved to Lisbon.")
        service.script = [echo] * 4
        assert KEY not in json.dumps(memory.sync())
        assert KEY not in json.dumps(memory.status())
        files = [file for file in tmp_path.rglob("*") if file.is_file()]
        assert any(file.name == "index.sqlite-wal" for file in files)
        assert [file for file in files if KEY.encode() in file.read_bytes()] == []
    assert [file for file in tmp_path.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()] == []
    assert KEY not in repr(memory.config)


# --- the command line ------------------------------------------------------------------------------


def test_commands_share_vectors_and_the_pause(tmp_path: Path, service: Service) -> None:
    settings = {"BASE_URL": service.url, "API_KEY": KEY, "MODEL": service.model, "TIMEOUT": "5"}
    environment = {f"MEMORYBOOK_EMBEDDINGS_{name}": value for name, value in settings.items()}

    def command(*words: str) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "-m", "memorybook", "--book", str(tmp_path / "book"), *words, "--json"],
            capture_output=True,
            check=True,
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)} | environment,
        )
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    command("remember", FACTS[0])
    state = command("search", QUESTION)["index"]
    assert (state["backend"], state["pending_vectors"], service.requests) == ("sqlite_fts", 1, [])
    assert command("sync")["pending_vectors"] == 0
    state = command("search", QUESTION)["index"]
    assert (state["backend"], state["degraded"]) == ("sqlite_hybrid", [])
    service.script = [status(503)]
    for _ in range(2):
        asked = len(service.requests)
        state = command("search", QUESTION)["index"]
        assert (state["backend"], len(state["degraded"])) == ("sqlite_fts", 1)
        assert "HTTP 503" in state["degraded"][0]
    assert len(service.requests) == asked
    assert KEY not in json.dumps(command("status"))
