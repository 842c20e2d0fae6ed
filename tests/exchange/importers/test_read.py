from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations import Conversation, read
from memorybook.errors import InvalidInput

DATA = Path(os.environ.get("MEMORYBOOK_DATA") or Path(__file__).parents[3] / "shared" / "data")
WriteLines = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> WriteLines:
    def write_lines(*lines: dict[str, Any] | str, name: str = "chat.jsonl") -> str:
        path = tmp_path / name
        path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), "utf-8")
        return str(path)

    return write_lines


def conversation(path: str, **options: Any) -> Conversation:
    return read(path, timezone=UTC, **options)


def texts(found: Conversation) -> list[str]:
    return [turn.text for session in found.sessions for turn in session.turns]


# --- chats ---------------------------------------------------------------------------------------


def test_a_talk_between_people_has_speakers_and_no_roles(write: WriteLines) -> None:
    found = conversation(
        write(
            {"id": "D1:1", "session": "S1", "speaker": "Ann", "timestamp": "1:56 pm on 8 May, 2023", "content": "Hi"},
            {"id": "D1:2", "session": "S1", "speaker": "Bo", "timestamp": "1:57 pm on 8 May, 2023", "content": "Hello"},
        )
    )
    assert found.format == "chat"
    [(session, turns)] = found.sessions
    assert session.name == "S1"
    assert session.source == "import:chat.jsonl"
    assert session.created == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert session.updated == session.ended == datetime(2023, 5, 8, 13, 57, tzinfo=UTC)
    assert session.turn_ids == ("D1:1", "D1:2")
    assert [(turn.speaker, turn.role, turn.session) for turn in turns] == [
        ("Ann", "", session.uuid),
        ("Bo", "", session.uuid),
    ]


@pytest.mark.parametrize(
    ("word", "role"),
    [
        ("user", "user"),
        ("Human", "user"),
        ("AI", "assistant"),
        ("bot", "assistant"),
        ("system", "system"),
        ("tool", "tool"),
    ],
)
def test_roles_go_by_many_words(write: WriteLines, word: str, role: str) -> None:
    [(_, (turn,))] = conversation(write({"role": word, "content": "Hello there"})).sessions
    assert (turn.role, turn.speaker) == (role, role)


def test_a_speaker_called_user_is_the_user_and_a_role_that_is_a_name_is_a_speaker(write: WriteLines) -> None:
    [(_, turns)] = conversation(write({"speaker": "user", "text": "a"}, {"role": "Caroline", "text": "b"})).sessions
    assert [(turn.role, turn.speaker) for turn in turns] == [("user", "user"), ("", "Caroline")]


def test_other_fields_become_metadata(write: WriteLines) -> None:
    [(_, (turn,))] = conversation(write({"role": "user", "content": "x", "idx": 3, "mood": None})).sessions
    assert turn.metadata == {"idx": 3}


def test_a_tool_call_of_the_assistant_and_the_tools_answer(write: WriteLines) -> None:
    [(_, turns)] = conversation(
        write(
            {"role": "assistant", "tool": "run_shell", "content": "ls -la"},
            {"role": "tool", "tool": "run_shell", "content": "total 8" + "x" * 9000},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "f"}}]},
        )
    ).sessions
    assert turns[0].tool_calls == ({"name": "run_shell", "arguments": "ls -la"},)
    assert turns[1].metadata == {"tool": "run_shell"}
    assert len(turns[1].text) < 4100
    assert turns[1].text.endswith("more characters]")
    assert (turns[2].text, turns[2].tool_calls) == ("", ({"id": "1", "function": {"name": "f"}},))


def test_content_in_blocks_is_joined(write: WriteLines) -> None:
    content = ["a", {"type": "text", "text": "b"}, {"type": "image"}, 7, {"type": "tool_use", "id": "1", "name": "f"}]
    [(_, (turn,))] = conversation(write({"role": "user", "content": content})).sessions
    assert turn.text == "a\nb"
    assert turn.tool_calls == ({"id": "1", "name": "f", "arguments": None},)


def test_a_turn_without_an_id_gets_one_that_stays(write: WriteLines) -> None:
    line = {"role": "user", "content": "same", "ts": "2026-01-01"}
    [(_, turns)] = conversation(write(line, line)).sessions
    [(_, again)] = conversation(write(line, line, line)).sessions
    assert turns[0].id != turns[1].id
    assert [turn.id for turn in again[:2]] == [turn.id for turn in turns]


def test_an_id_used_twice_is_reported_and_a_repeated_line_is_one_turn(write: WriteLines) -> None:
    found = conversation(
        write(
            {"id": "1", "text": "a b", "role": "user"},
            {"id": "1", "text": "a b", "role": "user"},
            {"id": "1", "text": "c"},
        )
    )
    assert texts(found) == ["a b", "c"]
    assert len({turn.id for turn in found.sessions[0].turns}) == 2
    assert found.warnings == ("line 3: id '1' is used twice, another was made",)


def test_a_time_that_is_none_is_reported(write: WriteLines) -> None:
    found = conversation(write({"role": "user", "content": "x", "ts": "03/04/2023"}))
    assert found.sessions[0].turns[0].time is None
    assert "line 1: '03/04/2023'" in found.warnings[0]


# --- identity ------------------------------------------------------------------------------------


def test_the_same_conversation_under_another_name_or_grown_is_the_same_session(write: WriteLines) -> None:
    one = {"session": "S1", "speaker": "Ann", "ts": "2026-01-01 10:00", "text": "Hello"}
    first = conversation(write(one, name="a.jsonl")).sessions[0].session
    grown = conversation(write(one, {**one, "text": "More"}, name="b.jsonl")).sessions[0].session
    assert first.uuid == grown.uuid


def test_a_session_does_not_change_with_the_timezone_setting(write: WriteLines) -> None:
    from zoneinfo import ZoneInfo

    path = write({"session": "S1", "speaker": "Ann", "ts": "2026-01-01 10:00", "text": "Hello"})
    there = read(path, timezone=ZoneInfo("Asia/Shanghai"))
    assert there.sessions[0].session.uuid == conversation(path).sessions[0].session.uuid
    assert there.sessions[0].turns[0].id == conversation(path).sessions[0].turns[0].id


def test_two_files_with_a_session_of_one_name_are_two_sessions(write: WriteLines) -> None:
    one = conversation(write({"session": "S1", "speaker": "Ann", "text": "Hello"}, name="a.jsonl"))
    other = conversation(write({"session": "S1", "speaker": "Bo", "text": "Hello"}, name="b.jsonl"))
    assert one.sessions[0].session.uuid != other.sessions[0].session.uuid


def test_interleaved_sessions_are_sorted_out_and_each_name_is_one_line(write: WriteLines) -> None:
    names = ("x", "y\n\u2028z")
    found = conversation(
        *[write(*({"session": name, "speaker": "A", "text": f"{name[:1]}{i}"} for i in "12" for name in names))]
    )
    assert [(one.session.name, [turn.text for turn in one.turns]) for one in found.sessions] == [
        ("x", ["x1", "x2"]),
        ("y z", ["y1", "y2"]),
    ]


# --- scopes --------------------------------------------------------------------------------------


def test_a_scope_keeps_its_own_lines(write: WriteLines) -> None:
    path = write({"scope": "u1", "text": "a"}, {"scope": "u2", "text": "b"})
    assert texts(conversation(path, scope="u2")) == ["b"]
    assert len(conversation(path).sessions) == 2


def test_lines_without_a_scope_are_of_the_files_stem(write: WriteLines) -> None:
    assert texts(conversation(write({"text": "a"}, name="conv-26.jsonl"), scope="conv-26")) == ["a"]


def test_an_unknown_scope_is_refused_with_the_known_ones(write: WriteLines) -> None:
    path = write(*({"scope": f"u{i}", "text": "a"} for i in range(10)))
    with pytest.raises(InvalidInput, match=r"no message of scope 'u99' .* it has 'u0', .* and 2 more"):
        conversation(path, scope="u99")


# --- files as they come --------------------------------------------------------------------------


def test_broken_lines_are_reported_and_skipped(write: WriteLines) -> None:
    found = conversation(write({"text": "a"}, "{broken", "", "[1]", '"x"', {"idx": 1}, {"text": "b"}))
    assert texts(found) == ["a", "b"]
    assert [warning.split(":")[0] for warning in found.warnings] == ["line 2", "line 4", "line 5", "line 6"]


def test_many_warnings_are_counted(write: WriteLines) -> None:
    found = conversation(write({"text": "a"}, *["{broken"] * 150))
    assert len(found.warnings) == 101
    assert found.warnings[-1] == "… and 50 more"


def test_a_byte_order_mark_carriage_returns_and_blank_lines_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf\r\n{"text": "one\\r\\ntwo"}\r\n\r\n{"text": "\xe4\xb8\xad"}\r\n')
    assert texts(conversation(str(path))) == ["one\ntwo", "中"]


def test_bytes_that_are_not_utf8_are_replaced_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "caf\xe9"}')
    found = conversation(str(path))
    assert texts(found) == ["caf\ufffd"]
    assert found.warnings == ("line 1: some bytes are not UTF-8 and were replaced",)


def test_half_a_surrogate_pair_becomes_storable(write: WriteLines) -> None:
    found = conversation(write('{"text": "a\\ud83d b \\ud83d\\ude00", "m": {"\\ud83d": ["\\ud83d"]}}'))
    assert texts(found) == ["a\ufffd b 😀"]
    json.dumps(dict(found.sessions[0].turns[0].metadata), ensure_ascii=False).encode()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_refused_with_the_way_out(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes('{"text": "hello"}'.encode(encoding))
    with pytest.raises(InvalidInput, match=r"a\.jsonl' is UTF-16; convert it to UTF-8"):
        conversation(str(path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n  \n", "is empty"),
        (b"PK\x03\x04abc\x00def", "is not a text file"),
        (b"hello\nworld\n", "nothing in .* looks like a conversation.*line 1: not a JSON object"),
        (b'{"a": 1}\n', "nothing in .* looks like a conversation"),
        (b'{"role": "user", "content": ""}\n', "no message in .* could be read; expected JSON Lines"),
        (b"[1, 2", "is broken JSON"),
        (b"[" * 100000, "is broken JSON"),
    ],
)
def test_a_file_without_a_conversation_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=message):
        conversation(str(path))


def test_standard_input_is_read_as_a_stream() -> None:
    found = read("-", timezone=UTC, stream=[b'{"role": "user", "content": "a"}\n', b'{"role": "ai", "content": "b"}'])
    assert texts(found) == ["a", "b"]
    assert found.sessions[0].session.source == "import:-"


@pytest.mark.parametrize(
    "document",
    [
        [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
        {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]},
        {"id": "S9", "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]},
        [
            {"title": "t", "messages": [{"role": "user", "content": "a"}]},
            {"messages": [{"role": "user", "content": "b"}]},
        ],
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_one_json_document_is_read_too(write: WriteLines, document: Any, indent: int | None) -> None:
    found = conversation(write(json.dumps(document, indent=indent), name="chat.json"))
    assert texts(found) == ["a", "b"]


SYSTEM = {"role": "system", "content": "You are terse."}
UNNAMED: list[dict[str, Any]] = [
    {"messages": [SYSTEM, {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]},
    {"messages": [SYSTEM, {"role": "user", "content": "c"}, {"role": "assistant", "content": "b"}]},
    {"messages": [SYSTEM, {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]},
]


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (json.dumps(UNNAMED), "a.json"),
        (json.dumps({"conversations": UNNAMED}), "a.json"),
        ("\n\n".join(map(json.dumps, UNNAMED)), "a.json"),
        ("not an object\n" + "\n".join(map(json.dumps, UNNAMED)), "a.jsonl"),
    ],
)
def test_each_conversation_without_a_name_is_a_session_of_its_own(write: WriteLines, document: str, name: str) -> None:
    found = conversation(write(document, name=name))
    assert [[turn.text for turn in turns] for _, turns in found.sessions] == [
        ["You are terse.", "a", "b"], ["You are terse.", "c", "b"],
    ], "what is there twice is one"  # fmt: skip
    titled = conversation(write(json.dumps([{"title": "New chat", **one} for one in UNNAMED[:2]]), name="b.json"))
    assert [len(turns) for _, turns in titled.sessions] == [3, 3]
    assert titled.sessions[0].session.name.startswith("New chat ")
    alone = conversation(write(json.dumps(UNNAMED[0]), name="b.jsonl"))
    assert alone.sessions[0].turns == found.sessions[0].turns, "it is the same, whatever stands beside it"


def test_a_conversation_that_is_alone_in_its_file_may_grow(write: WriteLines) -> None:
    grown = {"messages": [*UNNAMED[0]["messages"], {"role": "user", "content": "more"}]}
    before, after = (conversation(write(json.dumps(one), name="a.json")) for one in (UNNAMED[0], grown))
    assert before.sessions[0].session.uuid == after.sessions[0].session.uuid
    assert after.sessions[0].turns[:3] == before.sessions[0].turns


def test_what_is_no_object_in_an_array_is_reported(write: WriteLines) -> None:
    found = conversation(write('[{"role": "user", "content": "a"}, 7, {"messages": ["x"]}]'))
    assert texts(found) == ["a"]
    assert found.warnings == ("item 2: not an object, skipped", "item 3: not an object, skipped")


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["role", "text", "ts", "id", "session", "scope", "tool"]),
            st.text(max_size=8) | st.integers() | st.none(),
        ),
        max_size=6,
    )
)
def test_any_objects_give_a_conversation_or_invalid_input(lines: list[dict[str, Any]]) -> None:
    try:
        found = read("x.jsonl", timezone=UTC, stream=[json.dumps(line).encode() + b"\n" for line in lines])
    except InvalidInput:
        return
    for session, turns in found.sessions:
        assert len({turn.id for turn in turns}) == len(turns)
        assert session.turn_ids == tuple(turn.id for turn in turns)


# --- Claude Code ---------------------------------------------------------------------------------


def event(kind: str, content: Any, uuid: str | None = None, **more: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "uuid": uuid or f"u-{abs(hash(str(content)))}",
        "sessionId": "5f2c",
        "timestamp": "2026-02-24T10:12:33.000Z",
        "message": {"role": kind, "content": content},
        **more,
    }


def test_a_claude_code_transcript(write: WriteLines) -> None:
    found = conversation(
        write(
            {"type": "summary", "summary": "Fix the\nlogin bug", "leafUuid": "x"},
            {"type": "file-history-snapshot", "messageId": "m"},
            event("user", "Please fix the login", "1", cwd="/p", gitBranch="main"),
            event("assistant", [{"type": "thinking", "thinking": "secret"}], "2"),
            event("assistant", [{"type": "text", "text": "Looking."}], "3"),
            event("assistant", [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}], "4"),
            event(
                "user",
                [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "a.py"}]}],
                "5",
            ),
            event("user", [{"type": "tool_result", "tool_use_id": "t9", "content": "boom", "is_error": True}], "6"),
            event("user", [{"type": "tool_result", "tool_use_id": "t9", "content": ""}], "7"),
        )
    )
    assert found.format == "claude-code"
    [(session, turns)] = found.sessions
    assert (session.name, session.title) == ("5f2c", "Fix the login bug")
    assert [(turn.id, turn.role, turn.speaker, turn.text) for turn in turns] == [
        ("1", "user", "user", "Please fix the login"),
        ("3", "assistant", "assistant", "Looking."),
        ("4", "assistant", "assistant", ""),
        ("5:0", "tool", "Bash", "a.py"),
        ("6:0", "tool", "tool", "boom"),
    ]
    assert turns[0].metadata == {"cwd": "/p", "gitBranch": "main"}
    assert turns[2].tool_calls == ({"id": "t1", "name": "Bash", "arguments": {"command": "ls"}},)
    assert turns[4].metadata == {"tool_call_id": "t9", "is_error": True}


@pytest.mark.parametrize(
    "flag", ["isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage"]
)
def test_what_claude_code_wrote_for_itself_is_left_out(write: WriteLines, flag: str) -> None:
    found = conversation(write(event("user", "mine"), {**event("user", "its own"), flag: True}))
    assert texts(found) == ["mine"]


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("<command-name>/review</command-name><command-args>PR 7</command-args>", "/review PR 7"),
        ("<command-name>/clear</command-name>", "/clear"),
        ("<bash-input>git status</bash-input>", "!git status"),
        ("hello<system-reminder>be nice\n</system-reminder>", "hello"),
        ("hello [Request interrupted by user for tool use]", "hello"),
    ],
)
def test_what_was_typed_is_kept_without_its_wrapping(write: WriteLines, typed: str, text: str) -> None:
    assert texts(conversation(write(event("user", typed)))) == [text]


def test_a_line_repeated_on_resuming_is_one_turn_and_a_broken_event_is_reported(write: WriteLines) -> None:
    found = conversation(
        write(event("user", "one", "1"), event("user", "one", "1"), {"type": "user", "sessionId": "5f2c"})
    )
    assert texts(found) == ["one"]
    assert found.warnings == ("line 3: a user line without a message, skipped",)


def test_a_title_given_by_the_user_is_that_sessions(write: WriteLines) -> None:
    found = conversation(
        write(
            event("user", "one"),
            {"type": "custom-title", "customTitle": "Login", "sessionId": "5f2c"},
            {"type": "summary", "summary": ""},
        )
    )
    assert found.sessions[0].session.title == "Login"


# --- history.jsonl -------------------------------------------------------------------------------


def test_the_history_of_an_agents_run(write: WriteLines) -> None:
    found = conversation(
        write(
            {"_type": "metadata", "key": "telegram:4711", "created_at": "2026-02-24T10:00:00"},
            {"role": "user", "content": "hi", "timestamp": "2026-02-24T10:00:01"},
            {"role": "assistant", "content": "hello", "timestamp": "2026-02-24T10:00:02", "tools_used": ["x"]},
            {"role": "user", "content": ""},
            name="history.jsonl",
        )
    )
    assert found.format == "history"
    [(session, turns)] = found.sessions
    assert session.name == "telegram:4711"
    assert [turn.text for turn in turns] == ["hi", "hello"]
    assert turns[1].metadata == {"tools_used": ["x"]}


def test_prompts_typed_into_claude_code(write: WriteLines) -> None:
    found = conversation(
        write(
            {"display": "fix it", "pastedContents": {}, "timestamp": 1700000000000, "project": "/p", "sessionId": "s1"},
            {"display": " ", "timestamp": 1700000000000, "project": "/p", "sessionId": "s1"},
            {"display": "older", "timestamp": 1690000000000, "project": "/q"},
        )
    )
    assert found.format == "history"
    assert [(one.session.name, one.turns[0].text) for one in found.sessions] == [("s1", "fix it"), ("/q", "older")]
    turn = found.sessions[0].turns[0]
    assert (turn.role, turn.time, turn.metadata) == (
        "user",
        datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC),
        {"project": "/p"},
    )


def test_prompts_typed_into_codex(write: WriteLines) -> None:
    found = conversation(write({"session_id": "abc", "ts": 1700000000, "text": "explain this"}))
    assert (found.format, found.sessions[0].session.name, texts(found)) == ("history", "abc", ["explain this"])


# --- real conversations --------------------------------------------------------------------------


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no data in {DATA}; set MEMORYBOOK_DATA")
def test_real_conversations_are_read_whole_with_their_times() -> None:
    talk = conversation(str(DATA / "locomo" / "conv-26.jsonl"), scope="conv-26")
    assert (len(talk.sessions), len(texts(talk)), talk.warnings) == (19, 419, ())
    assert all(turn.time is not None for one in talk.sessions for turn in one.turns)
    chinese = conversation(str(DATA / "memdaily" / "corpus.jsonl"), scope="simple_events-9")
    assert [turn.id for turn in chinese.sessions[0].turns if turn.time is not None][:1] == ["m0"]
