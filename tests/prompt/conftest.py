"""Books with talks for what a prompt is told."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from books import memory as memory
from books import reopen as reopen
from memorybook.memory import Memory
from memorybook.model import Session, Turn

FIRST = datetime(2026, 2, 1, 9, 0, tzinfo=UTC)

Say = Callable[..., None]


@pytest.fixture
def say(memory: Memory) -> Say:
    """`say("s1", "user: I row.", "assistant: Fine.", day=3)`: turns of a session, a minute apart, on a day of February.

    Called again for a session it goes on. Fields of the turns can be given by name.
    """
    said: dict[str, int] = {}

    def tell(session: str, *lines: str, day: int = 1, **fields: Any) -> None:
        turns = []
        for line in lines:
            role, _, text = line.partition(": ")
            number = said[session] = said.get(session, -1) + 1
            time = FIRST + timedelta(days=day - 1, minutes=number)
            known = {"id": f"{session}-{number}", "session": session, "time": time, "speaker": role}
            turns.append(Turn(role=role, text=text, **(known | fields)))  # type: ignore[arg-type]
        memory.book.transcripts.append(Session(uuid=session, name=session), turns)

    return tell


def told(block: str) -> list[str]:
    """The lines of a block that tell something, in their order."""
    return [line for line in block.splitlines() if line.startswith("- ")]


def number(block: str, text: str) -> int:
    """Where in a block the one line with the text stands."""
    [found] = [place for place, line in enumerate(told(block)) if text in line]
    return found
