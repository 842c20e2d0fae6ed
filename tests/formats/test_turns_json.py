"""Turns as the journal keeps them: nothing is lost."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memorybook.formats.changes_json import parse_turns, render_turns
from memorybook.model import Session, Turn

NOW = datetime(2026, 2, 24, 10, 12, 33, 17, tzinfo=UTC)
ANYTHING = "e\u0301 喜欢 \x00 \ud800 \r\n \ufeff \U0001f600"


@pytest.mark.parametrize("whole", [True, False])
def test_what_is_written_is_read(whole: bool) -> None:
    session = Session(uuid=ANYTHING, name=ANYTHING, created=NOW, turn_ids=("t1", "t2"), summary=ANYTHING)
    turns = (
        Turn(id="t1", session=ANYTHING, text=ANYTHING, role="user", time=NOW, position=3),
        Turn(id="t2", session=ANYTHING, text="", tool_calls=({"a": [1]},), metadata={"time": "now", "x": {"y": None}}),
    )
    assert parse_turns(render_turns(session, turns, whole=whole)) == (session, turns, whole)
    assert parse_turns(render_turns(Session(uuid="s"), (), whole=whole)) == (Session(uuid="s"), (), whole)
