"""The memory that a server on a pipe opens when it is first asked for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, cast

import pytest

from memorybook.errors import ConfigError
from memorybook.memory import Memory
from memorybook.servers.mcp.stdio import Opening


class Closing:
    closed = 0

    def close(self) -> None:
        self.closed += 1


def test_many_calls_at_once_open_one_memory_which_is_closed() -> None:
    opened: list[Closing] = []
    inside = threading.Barrier(4)

    def open_slowly() -> Memory:
        opened.append(Closing())
        return cast("Memory", opened[-1])

    memory = Opening(open_slowly)
    memory.close()
    assert opened == [], "closing opens nothing"
    found: list[Any] = []

    def call() -> None:
        inside.wait()
        found.append(memory())

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == opened * 4
    memory.close()
    assert opened[0].closed == 1


def test_a_memory_that_could_not_be_opened_is_tried_again() -> None:
    tries: Iterator[Any] = iter([ConfigError("no"), Closing()])

    def opened() -> Memory:
        found = next(tries)
        if isinstance(found, Exception):
            raise found
        return cast("Memory", found)

    memory = Opening(opened)
    with pytest.raises(ConfigError):
        memory()
    assert memory() is memory()
