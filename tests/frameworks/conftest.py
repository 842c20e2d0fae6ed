from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import memorybook
from memorybook.config.settings import Config
from memorybook.memory import Memory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """A book by the clock of the machine, as the frameworks have it."""
    with memorybook.open(str(tmp_path / "book"), config=Config(timezone="UTC"), missing_ok=True) as opened:
        yield opened
