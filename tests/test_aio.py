"""The awaited memory: the same verbs and answers, asynchronous models, and cancelling that loses nothing."""

from __future__ import annotations

import asyncio
import inspect
import threading
from pathlib import Path
from typing import Any

import pytest

from memorybook import aio
from memorybook.config.settings import Config
from memorybook.errors import InvalidInput
from memorybook.memory import Memory
from memorybook.memory import open as open_memory

CONFIG = Config(timezone="UTC", vector_enabled=False)


def test_it_has_every_verb_of_a_memory() -> None:
    verbs = {name for name, _ in inspect.getmembers(Memory, inspect.isfunction) if not name.startswith("_")}
    assert verbs - {"seen_by"} == {name for name in vars(aio.AsyncMemory) if not name.startswith("_")} - {"memory"}


def test_what_is_remembered_is_found(tmp_path: Path) -> None:
    async def main() -> None:
        async with aio.open(str(tmp_path / "book"), config=CONFIG) as memory:
            await asyncio.gather(memory.remember("The user likes tea."), memory.remember("我喜欢乌龙茶。"))
            assert (await memory.search("tea")).hits[0].passage.text == "The user likes tea."
            assert (await memory.entries()).total == 2
            with pytest.raises(InvalidInput):
                await memory.search(" ")

    asyncio.run(main())


@pytest.mark.parametrize("kind", ["function", "object"])
def test_an_asynchronous_model_is_asked_in_the_loop(tmp_path: Path, kind: str) -> None:
    asked: list[threading.Thread] = []

    async def answer(messages: list[dict[str, Any]]) -> str:
        await asyncio.sleep(0)
        asked.append(threading.current_thread())
        return '{"text": "The user likes green tea.", "refused": ""}'

    class Model:
        name = "mine"

        async def complete(self, messages: Any, **how: Any) -> Any:
            from memorybook.inference.llm import CallableModel

            text = await answer(messages)
            return CallableModel(lambda _: text).complete(messages, **how)

    async def main() -> None:
        model: Any = answer if kind == "function" else Model()
        async with aio.open(str(tmp_path / "book"), config=CONFIG, llm=model) as memory:
            known = (await memory.remember("The user likes tea.")).known
            revised = await memory.revise(known.entry.id, "it is green tea")
            assert revised.known.entry.text == "The user likes green tea."

    asyncio.run(main())
    assert set(asked) == {threading.main_thread()}


def test_a_cancelled_verb_ends_whole_before_the_memory_is_closed(tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    async def slow(messages: list[dict[str, Any]]) -> str:
        begun.set()
        await asyncio.to_thread(go_on.wait, 10)
        return '{"text": "The user likes green tea.", "refused": ""}'

    async def main() -> None:
        async with aio.open(str(tmp_path / "book"), config=CONFIG, llm=slow) as memory:
            known = (await memory.remember("The user likes tea.")).known
            revising = asyncio.ensure_future(memory.revise(known.entry.id, "it is green tea"))
            await asyncio.to_thread(begun.wait, 10)
            revising.cancel()
            with pytest.raises(asyncio.CancelledError):
                await revising
            go_on.set()
        async with aio.open(str(tmp_path / "book"), config=CONFIG) as memory:
            assert [one.entry.text for one in (await memory.entries()).entries] == ["The user likes green tea."]

    asyncio.run(main())


@pytest.mark.parametrize("leaving", [False, True])
def test_a_memory_is_closed_where_opening_or_leaving_it_is_cancelled(tmp_path: Path, leaving: bool) -> None:
    begun, go, closed = threading.Event(), threading.Event(), threading.Event()

    class Slow(Memory):
        def close(self) -> None:
            super().close()
            closed.set()

    def held(*_: object) -> Memory:
        begun.set()
        assert go.wait(10)
        found = open_memory(str(tmp_path / "book"), config=CONFIG)
        found.__class__ = Slow
        return found

    async def main() -> None:
        memory = aio.AsyncMemory(held, None)
        if leaving:
            go.set()
            await memory.__aenter__()
            begun.clear()
            go.clear()
            running = asyncio.create_task(memory._run(held))
            await asyncio.to_thread(begun.wait, 10)
        work = asyncio.create_task(memory.close() if leaving else memory.__aenter__())
        await asyncio.to_thread(begun.wait, 10)
        await asyncio.sleep(0.05)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        go.set()
        assert await asyncio.to_thread(closed.wait, 10)
        if leaving:
            (await running).close()

    asyncio.run(main())


def test_watching_ends_when_it_is_cancelled(tmp_path: Path) -> None:
    async def main() -> None:
        async with aio.open(str(tmp_path / "book"), config=CONFIG) as memory:
            await memory.remember("The user likes tea.")
            beating = asyncio.ensure_future(memory.heartbeat(60))
            await asyncio.sleep(0.05)
            beating.cancel()
            with pytest.raises(asyncio.CancelledError):
                await beating

    asyncio.run(main())


def test_outside_of_the_block_it_says_how_to_open_it(tmp_path: Path) -> None:
    memory = aio.open(str(tmp_path / "book"), config=CONFIG)
    with pytest.raises(RuntimeError, match="async with"):
        asyncio.run(memory.search("tea"))  # type: ignore[arg-type]
