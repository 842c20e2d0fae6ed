"""Sessions that nobody ended are closed and remembered once they are idle, by whoever opens the book next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import memorybook
from books import CONFIG, NOW
from clock import Clock
from memorybook.agent import Workspace
from memorybook.memory import Memory
from memorybook.sessions.memorize import left_open
from memorybook.testing import ScriptedLLM

TEXT = "Remember that the staging database is called heron."


Open = Callable[..., Memory]


@pytest.fixture
def opened(tmp_path: Path, clock: Clock) -> Iterator[Open]:
    memories: list[Memory] = []

    def open_book(**options: object) -> Memory:
        config = CONFIG._replace(**options.pop("settings", {}))  # type: ignore[arg-type]
        memories.append(memorybook.open(str(tmp_path / "b"), config=config, clock=clock, **options))  # type: ignore[arg-type]
        return memories[-1]

    yield open_book
    for memory in memories:
        memory.close()


def left(tmp_path: Path, clock: Clock, chat: str = "1", text: str = TEXT) -> str:
    """A session of which the process is gone."""
    with Workspace(book=str(tmp_path / "b"), config=CONFIG, clock=clock) as workspace:
        session = workspace.session("chat", chat)
        session.add({"role": "user", "content": text})
        return session.uuid


def test_what_a_killed_process_left_is_remembered_once_it_is_idle(opened: Open, tmp_path: Path, clock: Clock) -> None:
    uuid = left(tmp_path, clock)
    memory = opened()
    clock.now += timedelta(minutes=29)
    assert memory.close_idle() == ()
    clock.now += timedelta(minutes=2)
    [done] = memory.close_idle()
    assert (done.session, done.new) == (uuid, 1)
    [entry] = memory.entries().entries
    assert entry.entry.text == "The staging database is called heron."
    assert memory.book.transcripts.session(uuid).ended == NOW
    assert memory.close_idle() == ()
    assert left(tmp_path, clock, text="Hello again.") != uuid


def test_two_chats_at_once_are_two_sessions_and_each_is_closed(opened: Open, tmp_path: Path, clock: Clock) -> None:
    uuids = [left(tmp_path, clock, "1"), left(tmp_path, clock, "2", "Ann moved to Leipzig in May.")]
    memory = opened()
    memory.process_session_end([{"role": "user", "content": "An import has no one who waits."}], "other")
    clock.now += timedelta(hours=1)
    assert list(left_open(memory.context)) == uuids
    assert [done.session for done in memory.close_idle(limit=1)] == uuids[:1]
    assert [done.session for done in memory.close_idle()] == uuids[1:]


def test_a_model_that_is_down_leaves_it_to_the_queue(opened: Open, tmp_path: Path, clock: Clock) -> None:
    uuid = left(tmp_path, clock)
    clock.now += timedelta(hours=1)
    memory = opened(llm=ScriptedLLM())
    [done] = memory.close_idle()
    assert done.queued == 1
    assert memory.close_idle() == ()
    assert memory.book.transcripts.session(uuid).summary.endswith("heron.")


@pytest.mark.parametrize("settings", [{"enabled": False}, {"idle_timeout": 0.0}])
def test_nothing_is_idle_where_that_is_switched_off(
    opened: Open, tmp_path: Path, clock: Clock, settings: dict[str, object]
) -> None:
    left(tmp_path, clock)
    clock.now += timedelta(days=9)
    assert list(left_open(opened(settings=settings).context)) == []
