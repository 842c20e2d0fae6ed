"""Whatever a model answers, the book is as it was until it answers well: each failure over both wires."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import llm_server
import memorybook
from books import CONFIG, files
from clock import Clock
from inference.server import Answer, Service, cut, hang, raw, status
from memorybook.memory import Memory
from sessions.test_end_session import TEA, WORK, answer, candidate, said

BOTH = pytest.mark.parametrize("wire", ["openai", "anthropic"])

KNOWN = "The user likes herons."

PROSE = "Sure! Mira is a nurse, and she seems to be happy at Acme. Shall I note that down?"
HALF = json.dumps(answer(candidate(WORK)))[:120]


def wrong(**more: Any) -> Answer:
    """A filled form with something in it that cannot be."""
    return llm_server.fill({**answer(candidate(WORK)), **more})


FAILURES: dict[str, Answer] = {
    "prose": llm_server.say(PROSE),
    "half of it": llm_server.say(HALF, cut=True),
    "nothing": llm_server.say(""),
    "no object": llm_server.say("[1, 2, 3]"),
    "a list of nothing": wrong(candidates="none"),
    "unknown ids": wrong(candidates=[candidate(WORK, reinforces=["m99"], contradicts=["k7x2p9", "m0"])]),
    "ids of another book": wrong(candidates=[candidate(WORK, reinforces=["a1b2c3"])]),
    "scores that are no numbers": llm_server.say(json.dumps(answer(candidate(WORK))).replace('"high"', "NaN")),
    "scores beyond all numbers": llm_server.say(json.dumps(answer(candidate(WORK))).replace('"high"', "1e999")),
    "10 MB": raw(b" " * 10_000_000),
    "10 MB in an answer": llm_server.say("x" * 10_000_000),
    "200,000 levels": llm_server.say("[" * 200_000),
    "200,000 levels around": raw(b"[" * 200_000),
    "429": status(429, Retry_After="0"),
    "500": status(500),
    "401": status(401),
    "a hang": hang,
    "a cut connection": cut,
}
"""What the server does, again and again."""

MENDED: dict[str, Answer] = {
    "unknown ids": wrong(candidates=[candidate(WORK), candidate(TEA, reinforces=["m99"], contradicts=["k7x2p9"])]),
    "ids of another book": wrong(candidates=[candidate(WORK), candidate(TEA, contradicts=["a1b2c3"])]),
    "turns that are not there": wrong(candidates=[candidate(WORK), candidate("Mira has a dog.", "t77")]),
    "nothing to begin with": wrong(candidates=[None, 7, candidate(WORK), {}]),
}
"""What can be read all the same: what is wrong of it is left out."""


@pytest.fixture
def service() -> Iterator[Service]:
    with llm_server.serve() as running:
        yield running
        running.released.set()


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pause is made before a request is sent again."""
    monkeypatch.setattr("memorybook.inference.llm.time.sleep", lambda seconds: None)


def opened(tmp_path: Path, service: Service, wire: str, clock: Clock, timeout: float = 10.0) -> Memory:
    llm = llm_server.settings(service, wire, timeout=timeout)
    config = CONFIG._replace(llm=llm, tidy=CONFIG.tidy._replace(after_session=False))
    return memorybook.open(str(tmp_path / "book"), config=config, clock=clock)


def texts(memory: Memory) -> list[str]:
    return sorted(each.entry.text for each in memory.entries(state="active").entries)


@BOTH
@pytest.mark.parametrize("failure", FAILURES, ids=lambda name: name.replace(" ", "-"))
def test_a_failure_leaves_the_book_as_it_was_and_is_made_good_later(
    tmp_path: Path, service: Service, clock: Clock, wire: str, failure: str
) -> None:
    timeout = 0.5 if failure == "a hang" else 10.0
    with opened(tmp_path, service, wire, clock, timeout) as memory:
        memory.remember(KNOWN)
        memory.append("A note that stands.")
        before, done = files(memory.root, "*.md"), len(memory.history().operations)
        service.usual = FAILURES[failure]
        found = memory.process_session_end(said(WORK, TEA), "s1")
        assert (found.new, found.operation, found.summary, found.queued) == (0, None, "", 1)
        assert files(memory.root, "*.md") == before
        assert len(memory.history().operations) == done
        assert [turn.text for turn in memory.book.transcripts.turns("s1")] == [WORK, TEA]
        [line] = memory.status()["degraded"]
        assert line.startswith("1 session waits to be remembered: the ")
        assert "model" in line
        assert line.endswith("tried once, next try after 2026-02-24 10:17")
        assert "\n" not in line
        assert len(line) < 600
        assert memory.book.journal.spent(clock.now.date()).failed >= 1
        service.usual = llm_server.fill(answer(candidate(WORK), candidate(TEA, "t2")))
        clock.now += timedelta(minutes=5)
        [again] = memory.retry_parked()
        assert (again.new, again.queued) == (2, 0)
        assert texts(memory) == sorted([KNOWN, WORK, TEA])
        assert memory.status()["degraded"] == []


@BOTH
@pytest.mark.parametrize("failure", MENDED, ids=lambda name: name.replace(" ", "-"))
def test_what_is_wrong_in_an_answer_is_left_out_and_the_rest_is_kept(
    tmp_path: Path, service: Service, clock: Clock, wire: str, failure: str
) -> None:
    with opened(tmp_path, service, wire, clock) as memory:
        memory.remember(KNOWN)
        service.usual = MENDED[failure]
        found = memory.process_session_end(said(WORK), "s1")
        assert (found.new, found.reinforced, found.contradicted, found.queued) == (1, 0, 0, 0)
        assert texts(memory) == sorted([KNOWN, WORK])
        assert [each.entry.hits for each in memory.entries().entries] == [1, 1]


@BOTH
def test_an_answer_that_is_asked_for_again_counts_as_the_one_call_that_it_is(
    tmp_path: Path, service: Service, clock: Clock, wire: str
) -> None:
    with opened(tmp_path, service, wire, clock) as memory:
        service.script = [llm_server.say(PROSE)]
        service.usual = llm_server.fill(answer(candidate(WORK)))
        found = memory.process_session_end(said(WORK), "s1")
        assert found.new == 1
        assert found.usage is not None
        assert (found.usage.calls, found.usage.failed) == (2, 1)
