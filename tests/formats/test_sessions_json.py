"""The document of sessions: what MongoDB's reader makes of it, and what comes back of any text."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from bson import json_util
from hypothesis import given
from hypothesis import strategies as st

from memorybook.errors import InvalidInput
from memorybook.formats import sessions_json
from memorybook.formats.sessions_json import Exported
from memorybook.model import Role, Session, Turn

TEXTS = st.text(st.characters(), max_size=8) | st.sampled_from(
    ["\ud83d\ude00", "\\\ud800", "$oid", "＄", "\0", "\u2028"]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=2)
TIMES = st.none() | st.datetimes(timezones=st.just(UTC))
ROLES: list[Role] = ["", "user", "assistant", "tool", "system"]


@st.composite
def exported(draw: st.DrawFn) -> Exported:
    uuid = draw(TEXTS.filter(bool))
    ids = draw(st.lists(TEXTS.filter(bool), unique=True, max_size=5))
    turns = tuple(
        Turn(
            id=id, session=uuid, text=draw(TEXTS), role=draw(st.sampled_from(ROLES)), speaker=draw(TEXTS),
            time=draw(TIMES), position=place, tool_calls=tuple(draw(st.lists(OBJECTS, max_size=2))),
            metadata=draw(OBJECTS),
        )
        for place, id in enumerate(ids)
    )  # fmt: skip
    texts = ("name", "title", "summary", "path", "source", "channel", "chat_id")
    fields: dict[str, Any] = {name: draw(TEXTS) for name in texts}
    fields |= {name: draw(TIMES) for name in ("created", "updated", "ended")}
    session = Session(uuid=uuid, turn_ids=tuple(ids), **fields)
    return Exported(session, turns, {id: draw(TEXTS) for id in ids[:1]})


def document(sessions: list[Exported]) -> bytes:
    return b"[\n" + b",\n".join(b"".join(sessions_json.render(*one)) for one in sessions) + b"\n]\n"


def read(text: str) -> list[Exported]:
    return [sessions_json.parse(value) for value, _ in sessions_json.objects("x.json", io.StringIO(text).read)]


@given(st.lists(exported(), max_size=2))
def test_any_sessions_come_back_and_mongodb_reads_them(sessions: list[Exported]) -> None:
    shown = document(sessions)
    assert document(read(shown.decode())) == shown
    assert document(read(json.dumps(json.loads(shown), indent=2))) == shown, "another layout says the same"
    for object, (session, turns, _, _) in zip(json_util.loads(shown.decode()), sessions, strict=True):
        created = session.created and session.created.replace(tzinfo=None)
        read_by_mongodb = object["created"] and object["created"].replace(tzinfo=None)
        assert read_by_mongodb == created or abs(read_by_mongodb - created) < timedelta(milliseconds=1), (
            "it has no finer"
        )
        assert sum((chat["turn_id"] is not None) + len(chat["ai_replies"]) for chat in object["chats"]) == len(turns)


def test_a_chat_is_a_turn_with_the_replies_to_it() -> None:
    said: list[tuple[str, Role]] = [("r", "assistant"), ("u", "user"), ("a", "assistant"), ("t", "tool"), ("p", "")]
    turns = tuple(Turn(id=id, session="s", text=id, role=role, position=n) for n, (id, role) in enumerate(said))
    [shown] = json.loads(
        document([Exported(Session(uuid="s", turn_ids=("u", "a")), turns, {"u": "asked", "t": "answered"})])
    )
    assert [(chat["turn_id"], [reply["id"] for reply in chat["ai_replies"]]) for chat in shown["chats"]] == [
        (None, ["r"]),
        ("u", ["a", "t"]),
        ("p", []),
    ]
    assert [chat["summary"] for chat in shown["chats"]] == ["", "asked\nanswered", ""]
    assert len({chat["_id"]["$oid"] for chat in shown["chats"]} | {shown["_id"]["$oid"]}) == 4


def test_what_mongodbs_tools_write_is_read() -> None:
    """Canonical numbers and dates, one object a line without brackets, an id of its own."""
    chat = {"turn_id": "t", "user_input": "hi", "created": {"$date": {"$numberLong": "1771927953250"}},
            "metadata": {"n": {"$numberInt": "7"}, "x": {"$numberDouble": "-Infinity"}}}  # fmt: skip
    line = json.dumps({"_id": {"$oid": "5f2c0a3e5f2c0a3e5f2c0a3e"}, "chats": [chat]})
    first, second = read(f"\ufeff{line}\n{line}\n")
    assert first == second
    assert first.session.uuid == "5f2c0a3e5f2c0a3e5f2c0a3e"
    assert first.turns[0].time == datetime(2026, 2, 24, 10, 12, 33, 250_000, UTC)
    assert first.turns[0].metadata == {"n": 7, "x": float("-inf")}


def test_unknown_fields_are_written_again() -> None:
    said: list[tuple[str, Role]] = [("u", "user"), ("a", "tool")]
    turns = tuple(Turn(id=id, session="s", text=id, role=role, position=n) for n, (id, role) in enumerate(said))
    [shown] = json.loads(document([Exported(Session(uuid="s", turn_ids=("u", "a")), turns)]))
    shown["stars"] = 5
    shown["chats"][0]["mood"] = {"$date": 7}
    shown["chats"][0]["ai_replies"][0]["cost"] = 0.5
    again = json.loads(document(read(json.dumps(shown))))
    assert again == [shown]


def test_what_was_said_without_ids_keeps_its_words_its_roles_and_the_ids_around_it() -> None:
    """As an older file has it; written again, it is read the same."""
    replies = [{"content": "好的。"}, {"_id": "r2", "content": "Tea."}]
    first = {"_id": {"$oid": "c1"}, "user_input": "我喜欢茶。", "ai_replies": replies}
    second = {"user_input": "And you?", "ai_replies": [{"role": "boss", "content": "Coffee."}]}
    [found] = read(json.dumps([{"_id": {"$oid": "5f2c"}, "chats": [first, second]}]))
    assert [turn.text for turn in found.turns] == ["我喜欢茶。", "好的。", "Tea.", "And you?", "Coffee."]
    assert [turn.role for turn in found.turns] == ["user", "assistant", "assistant", "user", "assistant"]
    ids = [turn.id for turn in found.turns]
    assert (ids[0], ids[2], len({*ids})) == ("c1", "r2", 5)
    [again] = read(document([found]).decode())
    assert again == found
    [shown] = json.loads(document([again]))
    assert (shown["_id"], shown["chats"][0]["_id"]) == ({"$oid": "5f2c"}, {"$oid": "c1"})


@pytest.mark.parametrize(
    "text",
    ['{"a": 1}', "[1]", "[", '[{"uuid": "s", "chats": []}', "nothing", '[{"uuid": "s", "chats": [{"no": 1}]}]',
     '[{"uuid": "s", "chats": []}] more', "[" * 100_000],
)  # fmt: skip
def test_what_is_no_such_document_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"'x.json' is no export of sessions"):
        read(text)


def test_fields_of_the_wrong_kind_are_empty() -> None:
    chat = {"turn_id": "t", "user_input": 5, "role": "boss", "created": {"$date": "soon"}, "tool_calls": [1],
            "metadata": 3, "ai_replies": [{"id": 4}, "x"]}  # fmt: skip
    [found] = read(json.dumps([{"uuid": "s", "name": 5, "ended": {"$date": 10**30}, "turn_ids": 3, "chats": [chat]}]))
    assert found.session == Session(uuid="s", turn_ids=("t",))
    assert found.turns == (Turn(id="t", session="s", text="", position=0),)
