from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

import memorybook
from clock import Clock
from memorybook.config.settings import Config, TranscriptSettings
from memorybook.errors import Conflict, InvalidInput, NotFound, Unavailable
from memorybook.memory import Memory


def user(text: str, **more: str) -> dict[str, str]:
    return {"role": "user", "content": text, **more}


def test_a_session_is_opened_said_into_and_remembered_at_its_end(memory: Memory) -> None:
    first, other = memory.open_session("tea"), memory.open_session()
    memory.add_messages("tea", [user("I prefer green tea in the morning.")])
    memory.add_messages(other.session, [user("我喜欢乌龙茶。")])
    found = memory.end_session(first.session, [{"role": "assistant", "content": "Noted: green tea."}])
    assert found.session == first.session
    assert [known.entry.text for known in memory.entries().entries] == ["The user prefers green tea in the morning."]
    assert [(told.name, told.open, told.turns) for told in memory.sessions().sessions] == [
        ("", True, 1),
        ("tea", False, 2),
    ]


def test_what_is_said_twice_was_said_twice_and_what_is_sent_twice_was_said_once(memory: Memory) -> None:
    held = memory.open_session()
    assert memory.add_messages(held.session, [user("yes"), user("yes")]).new == 2
    assert memory.add_messages(held.session, [user("yes")]).new == 1
    assert memory.add_messages(held.session, [user("no", id="m1")]).turns == ("m1",)
    assert memory.add_messages(held.session, [user("no", id="m1")]).new == 0
    assert len(memory.recall_session(held.session).turns) == 4


def test_messages_that_name_another_session_are_of_the_one_that_is_held(memory: Memory) -> None:
    held = memory.open_session("tea")
    memory.add_messages("tea", [user("Hello", session_id="another")])
    assert [told.uuid for told in memory.sessions().sessions] == [held.session]


def test_an_open_session_goes_on_by_its_name_and_one_that_is_over_does_not(memory: Memory) -> None:
    assert memory.open_session("tea") == memory.open_session(" tea ")
    memory.end_session("tea")
    with pytest.raises(Conflict, match="session 'tea' is over"):
        memory.open_session("tea")
    with pytest.raises(Conflict, match="session 'tea' is over"):
        memory.add_messages("tea", [user("x")])
    memory.process_session_end([user("Hello there")], "import")
    with pytest.raises(Conflict, match="not held from outside"):
        memory.open_session("import")


def test_one_that_nobody_ends_is_closed_once_it_is_idle(memory: Memory, clock: Clock) -> None:
    held = memory.open_session()
    memory.add_messages(held.session, [user("I prefer green tea in the morning.")])
    assert memory.close_idle() == ()
    clock.now += timedelta(hours=1)
    assert [found.session for found in memory.close_idle()] == [held.session]
    assert memory.entries().total == 1
    with pytest.raises(Conflict, match="is over"):
        memory.add_messages(held.session, [user("x")])


def test_what_cannot_be_said_is_refused(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nothing"):
        memory.add_messages("nothing", [user("x")])
    memory.open_session("tea")
    with pytest.raises(InvalidInput, match="is no object"):
        memory.add_messages("tea", ["hello"])  # type: ignore[list-item]
    off = Config(transcripts=TranscriptSettings(enabled=False))
    with memorybook.open(str(tmp_path / "off"), config=off) as without, pytest.raises(Unavailable, match="not kept"):
        without.open_session()
