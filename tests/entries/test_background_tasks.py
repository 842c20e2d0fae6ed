"""Tasks that are remembered by the way: their callers neither wait nor fail, and nothing of a task is changed."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from books import Reopen
from memorybook.entries import background_tasks as module
from memorybook.entries.background_tasks import Finished, Keeper, Running, keeper_of, log, remembering
from memorybook.errors import InvalidInput
from memorybook.memory import Memory
from memorybook.testing import ScriptedLLM

LESSON = "The root cause was an expired token in the fixture."


def texts(memory: Memory) -> list[str]:
    """What is in the book once all tasks are stored."""
    assert keeper_of(memory).wait(20)
    memory.context = memory.context._replace(missing_ok=True)
    return [known.entry.text for known in memory.entries().entries]


# --- the context manager -------------------------------------------------------------------------


def test_a_finished_task_is_remembered(memory: Memory) -> None:
    with memory.task("Fix the login test", metadata={"ticket": 7}) as task:
        task.log("pytest tests/login")
        task.result = LESSON
    assert texts(memory) == [f"Fix the login test: {LESSON}"]
    [known] = memory.entries().entries
    assert known.entry.metadata == {"task": "Fix the login test", "ticket": 7}
    assert known.entry.session is None


def test_an_exception_is_kept_as_experience_and_goes_on_unchanged(memory: Memory) -> None:
    problem = ValueError("bad date in row 17")

    def run() -> None:
        with memory.task("Import the ledger") as task:
            task.log("reading ledger.csv")
            raise problem

    with pytest.raises(ValueError, match="row 17") as raised:
        run()
    assert raised.value is problem
    assert texts(memory) == ["Import the ledger: failed with ValueError: bad date in row 17"]
    assert memory.entries().entries[0].entry.category == "experience"


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, asyncio.CancelledError, GeneratorExit])
def test_what_stops_the_program_teaches_nothing(memory: Memory, kind: type[BaseException]) -> None:
    with pytest.raises(kind), memory.task("Import the ledger"):
        raise kind
    assert memory.keeper is None


def test_the_caller_does_not_wait(reopen: Reopen) -> None:
    go = threading.Event()

    def slow(_: object) -> dict[str, Any]:
        assert go.wait(20)
        return {"should_store": False, "score": 0, "reasoning": "routine", "memories": []}

    memory = reopen(ScriptedLLM(then=slow))
    with memory.task("Tidy the workshop and sort every screw by size") as task:
        task.result = "Sorted."
    assert not keeper_of(memory).wait(0.01), "the model is still at it"
    go.set()
    assert keeper_of(memory).wait(20)


def test_closing_waits_for_what_is_to_be_stored(reopen: Reopen) -> None:
    memory = reopen()
    for number in range(20):
        with memory.task(f"Fix test {number}") as task:
            task.result = LESSON
    memory.close()
    assert len(reopen().entries().entries) == 20


def test_a_program_that_ends_without_closing_stores_its_tasks_first(tmp_path: Path, reopen: Reopen) -> None:
    script = f"""
import memorybook
memory = memorybook.open({str(tmp_path / "book")!r})
with memory.task("Fix the login test") as task:
    task.result = {LESSON!r}
"""
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, "HOME": str(tmp_path)})
    assert texts(reopen()) == [f"Fix the login test: {LESSON}"]


def test_a_task_after_the_end_is_a_warning(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    keeper = keeper_of(memory)
    keeper.close()
    with memory.task("Fix the login test"):
        pass
    assert list(keeper.failures) == ["a finished task was not remembered ('Fix the login test'): memory is closed"]
    assert "memory is closed" in caplog.text


def test_a_memory_that_is_off_keeps_nothing(reopen: Reopen) -> None:
    for settings in ({"enabled": False}, {"auto_store": False}):
        memory = reopen(**settings)
        with memory.task("Fix the login test") as task:
            task.result = LESSON
        assert memory.keeper is None
    assert not Path(memory.root).exists()


def test_many_threads_finish_tasks_at_once(memory: Memory) -> None:
    def work(number: int) -> None:
        with memory.task(f"Fix test {number}") as task:
            log(f"step of {number}")
            task.result = LESSON

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(texts(memory)) == 16
    assert not memory.status()["warnings"]


# --- failures ------------------------------------------------------------------------------------


def test_a_failed_store_is_a_warning_of_status_and_log(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> NoReturn:
        raise OSError("disk full")

    monkeypatch.setattr(memory.book, "apply_each", broken)
    monkeypatch.setattr(memory.book, "apply", broken)
    with memory.task("Fix the login test with password=hunter2secret99") as task:
        task.result = LESSON
    assert keeper_of(memory).wait(20)
    [warning] = memory.status()["warnings"]
    assert warning.endswith("OSError: disk full")
    assert "hunter2secret99" not in warning + caplog.text
    assert caplog.records[0].levelno == logging.WARNING


def test_a_value_that_cannot_be_shown_is_no_failure(memory: Memory) -> None:
    class Shy:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    with memory.task("Fix the login test") as task:
        task.result = Shy()
        task.log(Shy())
        task.log(LESSON)
    assert texts(memory) == [f"Fix the login test: {LESSON}"]


def test_a_queue_that_is_full_takes_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAITING", 2)
    go, begun = threading.Event(), threading.Event()
    stored: list[str] = []

    def store(task: Finished) -> None:
        begun.set()
        assert go.wait(20)
        stored.append(task.goal)

    keeper = Keeper(store)
    keeper.add(finished("0"))
    assert begun.wait(20)
    for number in range(1, 5):
        keeper.add(finished(str(number)))
    go.set()
    assert keeper.wait(20)
    assert stored == ["0", "1", "2"]
    assert [failure.partition(": ")[2] for failure in keeper.failures] == ["2 others wait already"] * 2
    keeper.close()


def test_closing_gives_up_after_a_while() -> None:
    go, begun = threading.Event(), threading.Event()

    def store(task: Finished) -> None:
        begun.set()
        assert go.wait(20)

    keeper = Keeper(store)
    keeper.add(finished("0"))
    assert begun.wait(20)
    keeper.add(finished("1"))
    keeper.close(0.01)
    [failure] = keeper.failures
    assert "('1'): memory was closed" in failure
    go.set()
    assert keeper.wait(20)
    keeper.close()


def finished(goal: str) -> Finished:
    return Finished(goal, "", (), {}, None, "")


# --- logs and results ----------------------------------------------------------------------------


def test_of_a_long_log_both_ends_are_kept(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_LINES", 4)
    running = Running(memory, "count")
    for number in range(10):
        running.log(number)
    assert list(running._lines) == ["0", "1", "8", "9"]


def test_a_large_result_is_shown_in_short() -> None:
    assert len(module.shown({"rows": [["x" * 9_000] * 900] * 900})) <= module.MOST_TEXT
    assert len(module.shown("x" * 90_000)) == module.MOST_TEXT
    assert module.shown(None) == ""
    assert module.shown({"ok": True}) == "{'ok': True}"


def test_log_speaks_of_the_innermost_task(memory: Memory) -> None:
    with memory.task("outer") as outer:
        log("one")
        with memory.task("inner") as inner:
            log("two")
        log("three")
    assert list(outer._lines) == ["one", "three"]
    assert list(inner._lines) == ["two"]


# --- the decorator -------------------------------------------------------------------------------


def test_each_call_of_a_function_is_a_task(memory: Memory) -> None:
    @remembering(memory, "Fix the {name} test")
    def fix(name: str, *, hard: bool = False) -> str:
        """Mend a test."""
        log("looked at it")
        return LESSON

    assert fix("login") == LESSON
    assert fix.__name__ == "fix"
    assert texts(memory) == [f"Fix the login test: {LESSON}"]


def test_without_a_goal_it_is_the_first_line_of_the_docstring_or_the_name(memory: Memory) -> None:
    @remembering(memory)
    def mend() -> str:
        """Mend the {broken} test.

        With care.
        """
        return LESSON

    @remembering(memory)
    def fix_login() -> str:
        return LESSON

    mend()
    fix_login()
    assert sorted(texts(memory)) == [f"Mend the {{broken}} test.: {LESSON}".replace(".:", ":"), f"fix login: {LESSON}"]


def test_a_coroutine_is_a_task(memory: Memory) -> None:
    @remembering(memory, "Fix the {name} test")
    async def fix(name: str) -> str:
        await asyncio.sleep(0)
        log("awaited")
        return LESSON

    @remembering(memory, "Import the ledger")
    async def fail() -> None:
        raise ValueError("bad row")

    assert asyncio.run(fix("login")) == LESSON
    with pytest.raises(ValueError, match="bad row"):
        asyncio.run(fail())
    assert sorted(texts(memory)) == [
        f"Fix the login test: {LESSON}",
        "Import the ledger: failed with ValueError: bad row",
    ]


def test_tasks_of_an_event_loop_do_not_mix_their_logs(memory: Memory) -> None:
    seen: dict[str, list[str]] = {}

    async def work(name: str) -> None:
        with memory.task(name) as task:
            for step in range(3):
                log(f"{name}{step}")
                await asyncio.sleep(0)
            seen[name] = list(task._lines)

    async def main() -> None:
        await asyncio.gather(work("a"), work("b"))

    asyncio.run(main())
    assert seen == {"a": ["a0", "a1", "a2"], "b": ["b0", "b1", "b2"]}


def test_a_generator_is_a_task_until_its_end(memory: Memory) -> None:
    @remembering(memory, "Fix the login test")
    def steps() -> Generator[int, str, str]:
        said = yield 1
        log(said)
        yield 2
        return LESSON

    going = steps()
    assert next(going) == 1
    assert going.send("hello") == 2
    with pytest.raises(StopIteration) as end:
        next(going)
    assert end.value.value == LESSON
    assert texts(memory) == [f"Fix the login test: {LESSON}"]


def test_an_asynchronous_generator_is_refused_with_the_way_out(memory: Memory) -> None:
    async def steps() -> Any:
        yield 1

    with pytest.raises(InvalidInput, match=r"use `with memory.task\(…\)` inside of it"):
        remembering(memory)(steps)


def test_a_wrong_call_is_refused_by_the_function_itself(memory: Memory) -> None:
    @remembering(memory, "Fix the {name} test for {nobody}")
    def fix(name: str) -> str:
        return LESSON

    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        fix()  # type: ignore[call-arg]
    fix("login")
    assert f"Fix the {{name}} test for {{nobody}}: {LESSON}" in texts(memory)


def test_a_memory_may_be_found_when_a_call_ends(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    @remembering(lambda: memory, "Fix the login test")
    def fix() -> str:
        return LESSON

    def nowhere() -> NoReturn:
        raise LookupError("no memory is open")

    @remembering(nowhere, "Fix the login test")
    def forgotten() -> str:
        return LESSON

    assert fix() == forgotten() == LESSON
    assert texts(memory) == [f"Fix the login test: {LESSON}"]
    assert "no memory is open" in caplog.text
