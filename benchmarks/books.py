"""Books as the benchmarks open them: under given settings alone, with every vector made."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import memorybook

if TYPE_CHECKING:
    from memorybook.protocols import LLM, Embedder

BOOK = "book"
"""Folder of the book in the folder of one measurement."""


def opened(
    folder: Path,
    given: Mapping[str, str],
    *,
    embedder: Embedder | None = None,
    now: datetime | None = None,
    door: str = "python",
    llm: LLM | None = None,
    clock: Callable[[], datetime] | None = None,
) -> memorybook.Memory:
    """The book in the folder under these settings and no others: neither files nor the environment count.

    At a fixed time, if `now` is given, or by the clock.
    """
    config = memorybook.load_config(cwd=str(folder), env={"HOME": str(folder)}, arguments=given)
    time = clock if now is None else lambda: now
    return memorybook.open(str(folder / BOOK), config=config, embedder=embedder, clock=time, door=door, llm=llm)


def finish(memory: memorybook.Memory) -> None:
    """Wait until every passage has its vector, or no more get theirs."""
    waiting = math.inf
    while (left := memory.sync()["pending_vectors"]) and left < waiting:
        waiting = left
