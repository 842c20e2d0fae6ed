"""The book that a page shows while one's own is empty: that of `memorybook demo`, in a folder for this process."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from functools import cache, partial

import memorybook
from memorybook.cli.demo import lines
from memorybook.config.settings import Config
from memorybook.memory import Memory


@cache
def demo() -> Memory:
    """Return the demo book, made of its two sessions at the first call."""
    folder = tempfile.mkdtemp(prefix="memorybook-demo-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    book = os.path.join(folder, "demo-book")
    now = datetime.now(UTC).replace(microsecond=0)
    for part, (name, days) in enumerate((("week-1", 8), ("week-2", 1))):
        when = now - timedelta(days=days)
        said = [line.partition(": ") for line in lines(part)]
        messages = [
            {"role": role, "content": text, "timestamp": (when + timedelta(minutes=place)).isoformat()}
            for place, (role, _, text) in enumerate(said)
        ]
        with memorybook.open(book, config=Config(), door="cli", clock=partial(_at, when), missing_ok=True) as memory:
            memory.process_session_end(messages, name)
    memory = memorybook.open(book, config=Config(), door="http")
    atexit.register(memory.close)
    return memory


def _at(when: datetime) -> datetime:
    return when
