"""Messages of a caller are read as they are, whatever else they carry."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from memorybook.errors import InvalidInput
from memorybook.formats.messages_json import read_messages

INNER = {"role": "user", "content": "the inner text"}


@pytest.mark.parametrize(
    "more",
    [
        {"type": "user", "uuid": "u1", "message": INNER, "sessionId": "s"},
        {"mapping": {"node": {"message": INNER}}, "title": "a chat"}, {"chat_messages": [INNER]}, {"messages": [INNER]},
        {"results": [{"memory": "the inner text"}]}, {"_type": "metadata", "key": "channel:chat"},
        {"display": "the inner text", "timestamp": "2026-11-02T09:00:00Z"}, {"type": "response_item", "payload": INNER},
    ],
)  # fmt: skip
@pytest.mark.parametrize("text", ["The ferry leaves at 14:30.", "渡轮下午两点半开。"])
def test_a_message_is_not_taken_for_another_programs_export(more: Mapping[str, Any], text: str) -> None:
    [found] = read_messages([{"role": "user", "content": text, **more}], timezone=UTC)
    assert [(turn.role, turn.text) for turn in found.turns] == [("user", text)]


LOOP: dict[str, Any] = {"role": "user", "content": "tea"}
LOOP["me"] = LOOP


@pytest.mark.parametrize("message", ["tea", None, LOOP, {"role": "user", "content": "tea", (1, 2): 3}])
def test_what_is_no_json_object_is_refused(message: Any) -> None:
    with pytest.raises(InvalidInput, match=r"no (JSON )?object"):
        read_messages([message], timezone=UTC)


def test_times_and_sessions_are_those_of_the_messages() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "one", "timestamp": datetime(2026, 11, 2, 9, tzinfo=UTC), "session": "a"},
        {"speaker": "Mia", "text": "two", "session": "b"},
    ]
    found = read_messages(messages, timezone=UTC)
    assert [(each.session.name, each.turns[0].speaker) for each in found] == [("a", "user"), ("b", "Mia")]
    assert found[0].turns[0].time == datetime(2026, 11, 2, 9, tzinfo=UTC)


@pytest.mark.parametrize("messages", [[], [{}], [{"role": "user", "content": " "}]])
def test_what_holds_no_message_is_refused(messages: list[dict[str, Any]]) -> None:
    with pytest.raises(InvalidInput, match="give each a role or speaker"):
        read_messages(messages, timezone=UTC)


def test_times_of_one_call_are_read_together() -> None:
    stamps = ["29/12/2023 21:00", "03/01/2024 09:15", "2024-01-04T10:00:00Z"]
    [found] = read_messages([{"speaker": "Mia", "text": stamp, "timestamp": stamp} for stamp in stamps], timezone=UTC)
    assert [turn.time.day for turn in found.turns if turn.time] == [29, 3, 4]
