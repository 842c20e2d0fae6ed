"""Data exports of ChatGPT and Claude: the branch that was shown, tools, hidden messages, and hostile files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations import Conversation, read
from memorybook.errors import InvalidInput, MemoryBookError
from memorybook.exchange.importers import opened
from memorybook.exchange.importers.records import Items

Write = Callable[[Any], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a document as `conversations.json` and names it."""

    def write_document(document: Any) -> str:
        path = tmp_path / "conversations.json"
        text = document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        return str(path)

    return write_document


def conversation(path: str) -> Conversation:
    return read(path, timezone=UTC)


def said(found: Conversation) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for session in found.sessions for turn in session.turns]


# --- ChatGPT -------------------------------------------------------------------------------------


def node(id: str, parent: str | None, role: str, *parts: Any, time: float | None = 1_700_000_000.5, **more: Any) -> Any:
    content = more.pop("content", {"content_type": "text", "parts": list(parts)})
    author = {"role": role, "name": more.pop("name", None), "metadata": {}}
    message = {"id": id, "author": author, "create_time": time, "content": content, "metadata": {}, **more}
    return {"id": id, "parent": parent, "children": [], "message": message}


def chatgpt(*nodes: Any, current: Any = None, **more: Any) -> dict[str, Any]:
    root: dict[str, Any] = {"id": "root", "parent": None, "children": [], "message": None}
    mapping = {each["id"]: each for each in (root, *nodes)}
    talk = {"title": "Tea", "create_time": 1_700_000_000, "mapping": mapping, "conversation_id": "c-1", "id": "c-1"}
    return {**talk, "current_node": current or nodes[-1]["id"], **more}


TALK = (
    node("s", "root", "system", "", metadata={"is_visually_hidden_from_conversation": True}),
    node("u1", "s", "user", "Which tea?"),
    node("a0", "u1", "assistant", "Coffee."),
    node("a1", "u1", "assistant", "绿茶。", metadata={"model_slug": "gpt-5"}),
)


def test_the_branch_that_was_shown_is_the_talk(write: Write) -> None:
    found = conversation(write([chatgpt(*TALK)]))
    assert found.format == "chatgpt"
    [(session, turns)] = found.sessions
    assert (session.name, session.title) == ("c-1", "Tea")
    assert [(turn.id, turn.role, turn.text) for turn in turns] == [
        ("u1", "user", "Which tea?"),
        ("a1", "assistant", "绿茶。"),
    ]
    assert turns[0].time == datetime(2023, 11, 14, 22, 13, 20, 500000, tzinfo=UTC)
    assert turns[1].metadata == {"model": "gpt-5"}


def test_tools_pictures_and_speech_are_told_and_thoughts_are_not(write: Write) -> None:
    image = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1"}
    speech = {"content_type": "audio_transcription", "text": "说出来的话"}
    found = conversation(
        write(
            [
                chatgpt(
                    node("1", "root", "user", image, "What is this?", metadata={"attachments": [{"name": "a.png"}]}),
                    node("2", "1", "assistant", content={"content_type": "thoughts", "thoughts": [{"content": "x"}]}),
                    node(
                        "3", "2", "assistant", recipient="python", content={"content_type": "code", "text": "print(1)"}
                    ),
                    node("4", "3", "tool", name="python", content={"content_type": "execution_output", "text": "1"}),
                    node("5", "4", "user", speech),
                    node("6", "5", "user", image),
                )
            ]
        )
    )
    assert said(found) == [
        ("user", "What is this?"), ("assistant", ""), ("tool", "1"), ("user", "说出来的话"), ("user", "[image]"),
    ]  # fmt: skip
    turns = found.sessions[0].turns
    assert turns[0].metadata == {"attachments": ["image", "a.png"]}
    assert turns[1].tool_calls == ({"name": "python", "arguments": "print(1)"},)
    assert turns[2].speaker == "python"


def test_a_conversation_that_grew_or_was_asked_anew_is_the_same_session(write: Write) -> None:
    [(first, _)] = conversation(write([chatgpt(*TALK)])).sessions
    edited = (*TALK, node("u2", "s", "user", "Which cake?"), node("a2", "u2", "assistant", "Plum."))
    [(again, turns)] = conversation(write([chatgpt(*edited)])).sessions
    assert again.uuid == first.uuid
    assert [turn.id for turn in turns] == ["u2", "a2"]


def test_messages_without_a_time_have_that_of_their_conversation(write: Write) -> None:
    def at(*times: int | None, **of: Any) -> list[list[float | None]]:
        ids = [f"m{place}" for place in range(len(times))]
        nodes = [node(id, f"m{int(id[1:]) - 1}" if id != "m0" else "root", "user", "x", time=t)
                 for id, t in zip(ids, times, strict=True)]  # fmt: skip
        asked = [{"uuid": id, "sender": "human", "text": "x", "created_at": t}
                 for id, t in zip(ids, times, strict=True)]  # fmt: skip
        theirs = {"created_at": of.get("create_time"), "updated_at": of.get("update_time")}
        documents = [chatgpt(*nodes, **of)], [{"uuid": "c", "name": "Tea", **theirs, "chat_messages": asked}]
        found = [conversation(write(document)) for document in documents]
        first, last = (found[0].sessions[0].session.created, found[0].sessions[0].session.ended)
        told = [[each.time.timestamp() if each.time else None for each in one.sessions[0].turns] for one in found]
        assert [first and first.timestamp(), last and last.timestamp()] == [told[0][0], told[0][-1]]
        return told

    begun, ended = 1_700_000_000, 1_700_000_900
    assert at(None, None, None, create_time=begun, update_time=ended) == [[begun, begun, ended]] * 2
    assert at(None, begun + 5, None, create_time=begun, update_time=ended) == [[begun, begun + 5, begun + 5]] * 2
    assert at(None, None, create_time=begun, update_time=begun - 9) == [[begun, begun]] * 2
    assert at(None, create_time=None) == [[None]] * 2


def test_conversations_are_read_one_at_a_time_and_broken_ones_are_said(write: Write) -> None:
    good = json.dumps(chatgpt(*TALK))
    deep = "[" * 200_000 + "]" * 200_000
    items = [good, f'{{"mapping": {deep}}}', '{"mapping": {} 7}', '{"mapping": 7}', "8", good.replace("c-1", "c-2")]
    found = conversation(write("\ufeff[" + ",\r\n".join(items)))
    assert [each.session.name for each in found.sessions] == ["c-1", "c-2"]
    assert sorted(warning[:40] for warning in found.warnings) == [
        "conversation 4: no mapping of messages, ",
        "item 2: broken JSON or nested too deeply",
        "item 3: broken JSON or nested too deeply",
        "item 5: not an object, skipped",
        "the file ends in the midst of its array,",
    ]


def test_an_item_is_found_whole_however_the_text_is_cut() -> None:
    text = '[{"a": "x]}\\"{\\\\"}, "s, \\" ]", [[1], {"b": []}], 12 , null]'
    for size in range(1, len(text)):
        pieces = (text[at : at + size] for at in range(0, len(text), size))
        assert [json.loads(item) for item in Items("x", pieces)] == json.loads(text)


def test_an_export_is_not_held_whole() -> None:
    """A thousand conversations of 100 kB are read while only a few of them were asked for."""
    read_so_far = 0

    def pieces() -> Iterator[str]:
        nonlocal read_so_far
        yield "["
        for _ in range(1000):
            read_so_far += 1
            yield json.dumps({"x": "y" * 100_000}) + ","
        yield "]"

    assert sum(1 for _ in islice(Items("x", pieces()), 10)) == 10
    assert read_so_far < 30


IDS = st.sampled_from(["a", "b", "c", "root", 7, None, float("nan")])
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
CONTENT = st.fixed_dictionaries({}, optional={"content_type": JSON, "parts": JSON, "text": JSON, "result": JSON})
MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        "id": IDS, "author": st.fixed_dictionaries({"role": st.sampled_from(["user", "tool", 1])}) | JSON,
        "create_time": JSON, "content": CONTENT | JSON, "metadata": JSON, "recipient": JSON,
    },
)  # fmt: skip
NODE = st.fixed_dictionaries({}, optional={"parent": IDS, "message": MESSAGE | JSON, "children": JSON}) | JSON
TREE = st.dictionaries(st.sampled_from(["a", "b", "c", "root"]), NODE, max_size=4)
CHATGPT = st.fixed_dictionaries({"mapping": TREE | JSON}, optional={"current_node": IDS, "title": JSON, "id": JSON})
BLOCK = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool_use", "tool_result", "thinking"])},
    optional={"text": JSON, "name": JSON, "input": JSON, "content": JSON},
)
CLAUDE_MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        "uuid": IDS, "parent_message_uuid": IDS, "sender": JSON, "text": JSON, "content": st.lists(BLOCK | JSON) | JSON,
        "created_at": JSON, "files": JSON,
    },
)  # fmt: skip
CLAUDE = st.fixed_dictionaries(
    {"chat_messages": st.lists(CLAUDE_MESSAGE | JSON, max_size=4)},
    optional={"uuid": JSON, "name": JSON, "current_leaf_message_uuid": IDS},
)


@given(st.lists(CHATGPT, min_size=1, max_size=3) | st.lists(CLAUDE, min_size=1, max_size=3))
def test_any_export_gives_sessions_or_an_error_of_ours(document: list[Any]) -> None:
    try:
        found = read("x.json", timezone=UTC, stream=BytesIO(json.dumps(document).encode()))
    except MemoryBookError:
        return
    for session, turns in found.sessions:
        assert session.turn_ids == tuple(dict.fromkeys(turn.id for turn in turns))


# --- Claude --------------------------------------------------------------------------------------


def message(id: str, sender: str, *content: Any, **more: Any) -> dict[str, Any]:
    blocks = [{"type": "text", "text": each} if isinstance(each, str) else each for each in content]
    return {"uuid": id, "text": "", "content": blocks, "sender": sender, "created_at": "2026-02-24T09:00:00Z", **more}


def claude(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"uuid": "k-1", "name": "芒果", "created_at": "2026-02-24T09:00:00Z", "chat_messages": [*messages], **more}


def test_blocks_of_a_message_are_its_text_its_calls_and_their_answers(write: Write) -> None:
    found = conversation(
        write(
            [
                claude(
                    message("1", "human", "我对芒果过敏。", attachments=[{"file_name": "a.pdf"}]),
                    message(
                        "2", "assistant", {"type": "thinking", "thinking": "hm"}, "Noted.",
                        {"type": "tool_use", "id": "t", "name": "web_search", "input": {"query": "mango"}},
                        {"type": "tool_result", "name": "web_search", "content": [{"type": "text", "text": "a fruit"}]},
                    ),
                    message("3", "human", text="An older export has only this."),
                    message("x", "assistant", text="```\nThis block is not supported on your current device yet.\n```"),
                    message("4", "human", files=[{"file_name": "b.png"}]),
                )
            ]
        )
    )  # fmt: skip
    assert found.format == "claude"
    [(session, turns)] = found.sessions
    assert (session.name, session.title) == ("k-1", "芒果")
    assert [(turn.id, turn.role, turn.text) for turn in turns] == [
        ("1", "user", "我对芒果过敏。"), ("2", "assistant", "Noted."), ("2:3", "tool", "a fruit"),
        ("3", "user", "An older export has only this."), ("4", "user", "[b.png]"),
    ]  # fmt: skip
    assert turns[0].metadata == {"attachments": ["a.pdf"]}
    assert turns[1].tool_calls == ({"id": "t", "name": "web_search", "arguments": {"query": "mango"}},)


def test_where_an_export_says_which_message_is_the_last_its_branch_is_the_talk(write: Write) -> None:
    messages = (
        message("1", "human", "a"),
        message("2", "assistant", "old", parent_message_uuid="1"),
        message("3", "assistant", "new", parent_message_uuid="1"),
    )
    assert said(conversation(write([claude(*messages, current_leaf_message_uuid="3")]))) == [
        ("user", "a"), ("assistant", "new"),
    ]  # fmt: skip
    circle = claude({**messages[0], "parent_message_uuid": "3"}, messages[2], current_leaf_message_uuid="3")
    assert len(said(conversation(write([circle])))) == 2


def test_a_circle_in_a_tree_is_cut_and_a_tree_without_an_end_is_read_to_its_newest(write: Write) -> None:
    circle = chatgpt(node("1", "2", "user", "a"), node("2", "1", "assistant", "b"))
    found = conversation(write([circle]))
    assert said(found) == [("user", "a"), ("assistant", "b")]
    assert "in a circle" in found.warnings[0]
    newest = chatgpt(*TALK[1:], node("a2", "u1", "assistant", "newest", time=1_800_000_000.0), current="gone")
    assert said(conversation(write([newest])))[-1] == ("assistant", "newest")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", '[{"a": "' + "x" * 300 + '"}]', "an item of .* is larger than 0 MB"),
        ("a.jsonl", '{"a": 1}\n{"a": "' + "x" * 300 + '"}\n', "line 2 of .* is longer than 0 MB"),
        ("a.json", '{\n"messages": [\n' + '"x",\n' * 100 + "]}", "is one JSON object of more than 0 MB"),
        ("memory.md", "- x\n" * 100, "is larger than 0 MB: it is no page of memories"),
    ],
)
def test_what_is_too_large_to_be_held_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, said: str
) -> None:
    for module in ("records.MOST", "foreign_formats._MOST"):
        monkeypatch.setattr(f"memorybook.exchange.importers.{module}", 200)
    monkeypatch.setattr("memorybook.exchange.importers.records._CHUNK", 64)
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with path.open("rb") as file, pytest.raises(InvalidInput, match=said):
        list(opened(str(path), file, timezone=UTC).found)
