from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from books import NOW as NOW
from memorybook.config.settings import Config
from memorybook.memory import Memory

CONFIG = Config(timezone="UTC")

Opened = Callable[..., Memory]


@pytest.fixture
def opened(reopen: Opened) -> Opened:
    """Opens the book with a model and other settings; the clock stands still."""
    return reopen


@pytest.fixture
def memory(opened: Opened) -> Memory:
    return opened()


def talk(count: int, *, start: int = 0) -> list[dict[str, Any]]:
    """Messages of a user and an assistant in turn, one a minute."""
    return [
        {
            "role": "assistant" if number % 2 else "user",
            "content": f"message {number} about the harbour project",
            "timestamp": f"2026-02-23T09:{number:02d}:30Z",
        }
        for number in range(start, start + count)
    ]


def documents(memory: Memory) -> dict[str, bytes]:
    """Every document of the book by its path."""
    root = Path(memory.root)
    paths = [path.relative_to(root) for path in sorted(root.rglob("*.md"))]
    return {str(path): (root / path).read_bytes() for path in paths if path.parts[0] != ".memorybook"}
