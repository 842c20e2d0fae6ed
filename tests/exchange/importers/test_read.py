from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

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


# --- turns ---------------------------------------------------------------------------------------


def event(kind: str, content: Any, uuid: str | None = None, **more: Any) -> dict[str, Any]:
    """A line of Claude Code."""
    message = {"message": {"role": kind, "content": content}, "timestamp": "2026-02-24T10:12:33.000Z"}
    return {"type": kind, "uuid": uuid or f"u-{abs(hash(str(content)))}", "sessionId": "5f2c", **message, **more}


def result(call: str, content: Any, **more: Any) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": call, "content": content, **more}]


CALL = {"id": "t1", "name": "Bash", "input": {"command": "ls"}}
TURNS: dict[str, tuple[str, list[dict[str, Any]], list[dict[str, Any]]]] = {
    "people have names and no roles": (
        "chat",
        [{"id": "D1:1", "session": "S1", "speaker": "Ann", "timestamp": "1:56 pm on 8 May, 2023", "content": "Hi"},
         {"id": "D1:2", "session": "S1", "speaker": "Bo", "timestamp": "1:57 pm on 8 May, 2023", "content": "Hello"}],
        [{"id": "D1:1", "speaker": "Ann", "role": "", "time": datetime(2023, 5, 8, 13, 56, tzinfo=UTC)},
         {"id": "D1:2", "speaker": "Bo", "role": "", "time": datetime(2023, 5, 8, 13, 57, tzinfo=UTC)}],
    ),
    "roles go by many words": (
        "chat",
        [{"role": word, "content": word} for word in ("user", "Human", "AI", "bot", "system", "tool")],
        [{"role": role, "speaker": role} for role in ("user", "user", "assistant", "assistant", "system", "tool")],
    ),
    "a speaker may be called user, and a role be a name": (
        "chat",
        [{"speaker": "user", "text": "a"}, {"role": "Caroline", "text": "b"}],
        [{"role": "user", "speaker": "user"}, {"role": "", "speaker": "Caroline"}],
    ),
    "other fields become metadata": (
        "chat",
        [{"role": "user", "content": "x", "idx": 3, "mood": None}],
        [{"metadata": {"idx": 3}}],
    ),
    "tools are called and answer": (
        "chat",
        [{"role": "assistant", "tool": "run_shell", "content": "ls -la"},
         {"role": "tool", "tool": "run_shell", "content": "x" * 9000},
         {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "f"}}]}],
        [{"tool_calls": ({"name": "run_shell", "arguments": "ls -la"},)},
         {"metadata": {"tool": "run_shell"}, "text": "x" * 4000 + "… [5000 more characters]"},
         {"text": "", "tool_calls": ({"id": "1", "function": {"name": "f"}},)}],
    ),
    "content in blocks is joined": (
        "chat",
        [{"role": "user", "content": ["a", {"type": "text", "text": "b"}, {"type": "image"}, 7,
                                      {"type": "tool_use", "id": "1", "name": "f"}]}],
        [{"text": "a\nb", "tool_calls": ({"id": "1", "name": "f", "arguments": None},)}],
    ),
    "Claude Code": (
        "claude-code",
        [{"type": "file-history-snapshot", "messageId": "m"},
         event("user", "Please fix the login", "1", cwd="/p", gitBranch="main"),
         event("assistant", [{"type": "thinking", "thinking": "secret"}], "2"),
         event("assistant", [{"type": "text", "text": "Looking."}], "3"),
         event("assistant", [{"type": "tool_use", **CALL}], "4"),
         event("user", result("t1", [{"type": "text", "text": "a.py"}]), "5"),
         event("user", result("t9", "boom", is_error=True), "6"),
         event("user", result("t9", ""), "7")],
        [{"id": "1", "speaker": "user", "text": "Please fix the login", "metadata": {"cwd": "/p", "gitBranch": "main"}},
         {"id": "3", "speaker": "assistant", "text": "Looking."},
         {"id": "4", "text": "", "tool_calls": ({"id": "t1", "name": "Bash", "arguments": {"command": "ls"}},)},
         {"id": "5:0", "role": "tool", "speaker": "Bash", "text": "a.py"},
         {"id": "6:0", "speaker": "tool", "text": "boom", "metadata": {"tool_call_id": "t9", "is_error": True}}],
    ),
    "what Claude Code wrote for itself is left out": (
        "claude-code",
        [event("user", "mine"), *({**event("user", "its own"), flag: True} for flag in
         ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage"))],
        [{"text": "mine"}],
    ),
    "what was typed is kept without its wrapping": (
        "claude-code",
        [event("user", typed) for typed in
         ("<command-name>/review</command-name><command-args>PR 7</command-args>",
          "<command-name>/clear</command-name>", "<bash-input>git status</bash-input>",
          "hello<system-reminder>be nice\n</system-reminder>",
          "hello [Request interrupted by user for tool use]")],
        [{"text": text} for text in ("/review PR 7", "/clear", "!git status", "hello", "hello")],
    ),
    "a run of an agent": (
        "history",
        [{"_type": "metadata", "key": "telegram:4711", "created_at": "2026-02-24T10:00:00"},
         {"role": "user", "content": "hi", "timestamp": "2026-02-24T10:00:01"},
         {"role": "assistant", "content": "hello", "timestamp": "2026-02-24T10:00:02", "tools_used": ["x"]},
         {"role": "user", "content": ""}],
        [{"text": "hi"}, {"text": "hello", "metadata": {"tools_used": ["x"]}}],
    ),
    "prompts typed into Claude Code": (
        "history",
        [{"display": "fix it", "pastedContents": {}, "timestamp": 1700000000000, "project": "/p", "sessionId": "s1"},
         {"display": " ", "timestamp": 1700000000000, "project": "/p", "sessionId": "s1"},
         {"display": "older", "timestamp": 1690000000000, "project": "/q"}],
        [{"role": "user", "text": "fix it", "time": datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC),
          "metadata": {"project": "/p"}}, {"text": "older"}],
    ),
    "prompts typed into Codex": (
        "history", [{"session_id": "abc", "ts": 1700000000, "text": "explain this"}], [{"text": "explain this"}],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("format", "lines", "expected"), TURNS.values(), ids=TURNS)
def test_lines_become_turns(write: WriteLines, format: str, lines: Any, expected: list[dict[str, Any]]) -> None:
    found = conversation(write(*lines))
    turns = [turn for session in found.sessions for turn in session.turns]
    assert [
        {name: getattr(turn, name) for name in each} for turn, each in zip(turns, expected, strict=True)
    ] == expected
    assert found.format == format
    assert {turn.session for turn in turns} == {one.session.uuid for one in found.sessions}


def test_a_session_has_its_name_its_times_and_its_title(write: WriteLines) -> None:
    lines = TURNS["people have names and no roles"][1]
    [(session, _)] = conversation(write(*lines)).sessions
    assert (session.name, session.source, session.turn_ids) == ("S1", "import:chat.jsonl", ("D1:1", "D1:2"))
    assert session.created == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert session.updated == session.ended == datetime(2023, 5, 8, 13, 57, tzinfo=UTC)
    summary = {"type": "summary", "summary": "Fix the\nlogin bug", "leafUuid": "x"}
    own = {"type": "custom-title", "customTitle": "Login", "sessionId": "5f2c"}
    for others, title in (([summary], "Fix the login bug"), ([own, {"type": "summary", "summary": ""}], "Login")):
        [(session, _)] = conversation(write(*others, event("user", "one"))).sessions
        assert (session.name, session.title) == ("5f2c", title)
    run = TURNS["a run of an agent"][1]
    assert conversation(write(*run)).sessions[0].session.name == "telegram:4711"
    prompts = conversation(write(*TURNS["prompts typed into Claude Code"][1]))
    assert [(one.session.name, one.turns[0].text) for one in prompts.sessions] == [("s1", "fix it"), ("/q", "older")]


@pytest.mark.parametrize(
    ("lines", "read_so", "warnings"),
    [
        ([{"id": "1", "text": "a b", "role": "user"}] * 2 + [{"id": "1", "text": "c"}], ["a b", "c"],
         ["line 3: id '1' is used twice, another was made"]),
        ([{"role": "user", "content": "x", "ts": "03/04/2023"}], ["x"],
         ["the time '03/04/2023' can be read day first or month first, and nothing in the file tells which: left out"]),
        ([{"role": "user", "content": "x", "ts": day} for day in ("03/04/2023", "04/05/2023", "05/05/23", "May")],
         ["x"] * 4, ["line 4: 'May' is no time that names one moment; the turn has none",
                     "2 times such as '03/04/2023' can be read day first or month first, and nothing"]),
        ([{"role": "user", "content": "x", "ts": day} for day in ("13/04/2023", "04/13/2023", "03/04/2023")],
         ["x"] * 3, ["the time '03/04/2023' can be read day first or month first, and others in the file are in"]),
        ([{"text": "a"}, "{broken", "", "[1]", '"x"', {"idx": 1}, {"text": "b"}], ["a", "b"],
         ["line 2: not", "line 4: not", "line 5: not", "line 6: no content"]),
        ([event("user", "one", "1"), event("user", "one", "1"), {"type": "user", "sessionId": "5f2c"}], ["one"],
         ["line 3: a user line without a message, skipped"]),
        (['[{"role": "user", "content": "a"}, 7, {"messages": ["x"]}]'], ["a"],
         ["item 2: not an object, skipped", "item 3: not an object, skipped"]),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_reported(
    write: WriteLines, lines: Any, read_so: list[str], warnings: list[str]
) -> None:
    found = conversation(write(*lines))
    assert texts(found) == read_so
    assert len({turn.id for turn in found.sessions[0].turns}) == len(read_so)
    assert all(each.startswith(start) for each, start in zip(found.warnings, warnings, strict=True))


# --- identity ------------------------------------------------------------------------------------


def test_identity_rests_on_what_was_said_first(write: WriteLines) -> None:
    one = {"session": "S1", "speaker": "Ann", "ts": "2026-01-01 10:00", "text": "Hello"}
    path = write(one, name="a.jsonl")
    [(first, turns)] = conversation(path).sessions
    grown = conversation(write(one, one, {**one, "text": "More"}, name="b.jsonl")).sessions[0]
    assert (grown.session.uuid, grown.turns[0].id) == (first.uuid, turns[0].id), "renamed and grown"
    assert len({turn.id for turn in grown.turns}) == 3
    there = read(path, timezone=ZoneInfo("Asia/Shanghai")).sessions[0]
    assert (there.session.uuid, there.turns[0].id) == (first.uuid, turns[0].id), "whatever timezone is set"
    other = conversation(write({**one, "speaker": "Bo"}, name="c.jsonl"))
    assert other.sessions[0].session.uuid != first.uuid


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
    assert texts(conversation(write({"text": "a"}, name="conv-26.jsonl"), scope="conv-26")) == ["a"]
    path = write(*({"scope": f"u{i}", "text": "a"} for i in range(10)))
    with pytest.raises(InvalidInput, match=r"no message of scope 'u99' .* it has 'u0', .* and 2 more"):
        conversation(path, scope="u99")


# --- files as they come --------------------------------------------------------------------------


def test_many_warnings_are_counted(write: WriteLines) -> None:
    found = conversation(write({"text": "a"}, *["{broken"] * 150))
    assert len(found.warnings) == 101
    assert found.warnings[-1] == "… and 50 more"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b'\xef\xbb\xbf\r\n{"text": "one\\r\\ntwo"}\r\n\r\n', "one\ntwo"),
        (b'{"text": "\xe4\xb8\xad"}', "中"),
        (b'{"text": "caf\xe9"}', "caf\ufffd"),
    ],
)
def test_bytes_are_read_as_they_come(tmp_path: Path, data: bytes, text: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    found = conversation(str(path))
    assert texts(found) == [text]
    assert found.warnings == (("line 1: some bytes are not UTF-8 and were replaced",) if "\ufffd" in text else ())


def test_half_a_surrogate_pair_becomes_storable(write: WriteLines) -> None:
    found = conversation(write('{"text": "a\\ud83d b \\ud83d\\ude00", "m": {"\\ud83d": ["\\ud83d"]}}'))
    assert texts(found) == ["a\ufffd b 😀"]
    json.dumps(dict(found.sessions[0].turns[0].metadata), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        *(
            ('{"text": "hello"}'.encode(encoding), r"a\.jsonl' is UTF-16; convert it to UTF-8")
            for encoding in ("utf-16", "utf-16-le", "utf-16-be")
        ),
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


# --- real conversations --------------------------------------------------------------------------


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no data in {DATA}; set MEMORYBOOK_DATA")
def test_real_conversations_are_read_whole_with_their_times() -> None:
    talk = conversation(str(DATA / "locomo" / "conv-26.jsonl"), scope="conv-26")
    assert (len(talk.sessions), len(texts(talk)), talk.warnings) == (19, 419, ())
    assert all(turn.time is not None for one in talk.sessions for turn in one.turns)
    chinese = conversation(str(DATA / "memdaily" / "corpus.jsonl"), scope="simple_events-9")
    assert [turn.id for turn in chinese.sessions[0].turns if turn.time is not None][:1] == ["m0"]
