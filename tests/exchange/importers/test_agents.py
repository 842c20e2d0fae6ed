"""Sessions of agents at work, and what other memories keep: Codex, Claude Code's later lines, mem0, Markdown."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations import Conversation, read
from memorybook.errors import InvalidInput, MemoryBookError
from memorybook.exchange.importers import NAMES, Page, Statement, opened, sources


def conversation(*lines: dict[str, Any]) -> Conversation:
    return read("x.jsonl", timezone=UTC, stream=[json.dumps(line).encode() + b"\n" for line in lines])


def said(found: Conversation) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for session in found.sessions for turn in session.turns]


@pytest.mark.parametrize("packed", [False, True])
def test_prompts_beside_the_sessions_they_are_of_are_passed_over(tmp_path: Path, packed: bool) -> None:
    for name in (".codex/history.jsonl", ".codex/sessions/2026/rollout-1.jsonl", "alone/history.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}\n", encoding="utf-8")
    path = tmp_path / ".codex"
    if packed:
        with ZipFile(tmp_path / "all.zip", "w") as archive:
            for file in tmp_path.rglob("*.jsonl"):
                archive.write(file, file.relative_to(tmp_path))
        path = tmp_path / "all.zip"
    with sources(str(path), print) as found:
        names = [Path(one.name).name for one in found]
    assert names == ["rollout-1.jsonl", *(["history.jsonl"] if packed else [])]


# --- Codex ---------------------------------------------------------------------------------------


def line(kind: str, /, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-02-24T10:12:33.000Z", "type": kind, "payload": payload}


def item(kind: str, **payload: Any) -> dict[str, Any]:
    return line("response_item", type=kind, **payload)


def message(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text}])


META = line("session_meta", id="cx-1", cwd="/p", cli_version="0.90.0", source="cli", git={"branch": "main"})


def test_a_session_of_codex_has_what_was_typed_said_and_run() -> None:
    found = conversation(
        META,
        message("developer", "<permissions instructions>…"),
        message("user", "<environment_context>\n<cwd>/p</cwd>\n</environment_context>"),
        message("user", "修复登录"),
        line("event_msg", type="user_message", message="修复登录", kind="plain"),
        line("turn_context", model="gpt-5-codex"),
        item("reasoning", summary=[{"type": "summary_text", "text": "hm"}]),
        line("event_msg", type="token_count", info=None),
        item("function_call", name="shell", arguments='{"command": ["ls"]}', call_id="c1"),
        item("function_call_output", call_id="c1", output='{"output": "a.py", "metadata": {"exit_code": 0}}'),
        item("custom_tool_call", name="apply_patch", input="*** Begin", call_id="c2"),
        item("custom_tool_call_output", call_id="c2", output="Done"),
        item("web_search_call", action={"type": "search", "query": "login"}),
        message("assistant", "Fixed."),
        line("event_msg", type="agent_message", message="Fixed."),
        line("session_meta", id="the one it was forked from"),
        line("brand_new", x=1),
    )
    assert found.format == "codex"
    [(session, turns)] = found.sessions
    assert session.name == "cx-1"
    assert said(found) == [
        ("user", "修复登录"), ("assistant", ""), ("tool", "a.py"), ("assistant", ""), ("tool", "Done"),
        ("assistant", ""), ("assistant", "Fixed."),
    ]  # fmt: skip
    assert [turn.speaker for turn in turns if turn.role == "tool"] == ["shell", "apply_patch"]
    assert turns[0].metadata == {"cwd": "/p", "gitBranch": "main"}
    assert turns[0].time == datetime(2026, 2, 24, 10, 12, 33, tzinfo=UTC)
    assert found.warnings == ("1 line of an unknown kind, 'brand_new', left out",)


def test_a_session_of_an_early_codex_has_no_events_and_no_wrapping() -> None:
    found = conversation(
        {"id": "cx-0", "timestamp": "2025-06-01T10:00:00.000Z", "instructions": None, "git": {}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]},
    )
    assert (found.format, said(found)) == ("codex", [("user", "hello"), ("assistant", "hi")])


def test_a_sub_agents_session_is_left_out() -> None:
    with pytest.raises(InvalidInput, match="a sub-agent's own session"):
        conversation(line("session_meta", id="cx-2", source={"subagent": "review"}), message("user", "check it"))


# --- Claude Code ---------------------------------------------------------------------------------


def test_what_was_typed_while_claude_code_worked_is_the_users_and_unknown_lines_are_counted() -> None:
    def queued(text: str, **more: Any) -> dict[str, Any]:
        return {"type": "attachment", "attachment": {"type": "queued_command", "prompt": text, **more}}

    found = conversation(
        {"type": "user", "message": {"role": "user", "content": "start"}},
        {"type": "queue-operation", "operation": "enqueue", "content": "文档也要"},
        queued("文档也要", commandMode="prompt", origin={"kind": "human"}),
        queued("a task is done", commandMode="task-notification"),
        {"type": "attachment", "attachment": {"type": "todo_reminder"}},
        {"type": "user", "isSidechain": True, "message": {"role": "user", "content": "explore"}},
        {"type": "new-thing"},
        {"type": ["x"]},
    )
    assert (found.format, said(found)) == ("claude-code", [("user", "start"), ("user", "文档也要")])
    assert found.warnings == (
        "1 line of sub-agents, left out",
        "1 line of an unknown kind, 'new-thing', left out",
        "1 line of an unknown kind, 'none', left out",
    )


# --- what is remembered by itself ----------------------------------------------------------------


def test_a_memory_of_openmemory_is_one_of_mem0() -> None:
    kept = {"id": "1", "content": "Likes tea", "user_id": "ann", "state": "active", "categories": [{"name": "food"}]}
    document = {"memories": [kept, {**kept, "id": "2", "state": "deleted"}, {**kept, "expiration_date": "2026-03-01"}]}
    reading = opened("x.json", BytesIO(json.dumps(document).encode()), timezone=UTC)
    first, second = (one for one in reading.found if isinstance(one, Statement))
    assert (reading.format, first.text) == ("mem0", "Likes tea")
    assert (first.tags, first.metadata) == (("food",), {"user_id": "ann"})
    assert str(second.expires) == "2026-03-01"
    assert reading.warnings == ["1 memory deleted there, left out"]


def test_what_stands_under_memories_is_one_of_mem0_whatever_its_text_is_called() -> None:
    document = {"memories": [{"id": "1", "content": "Likes tea"}, {"id": "2", "text": "对芒果过敏"}]}
    reading = opened("x.json", BytesIO(json.dumps(document).encode()), timezone=UTC, strict=True)
    assert [one.text for one in reading.found if isinstance(one, Statement)] == ["Likes tea", "对芒果过敏"]


def test_what_claude_remembers_comes_with_its_export() -> None:
    document = [{"conversations_memory": "**Work**\n\nAnn builds boats.", "project_memories": {"p": "用中文", "q": 7}}]
    reading = opened("memories.json", BytesIO(json.dumps(document).encode()), timezone=UTC)
    assert list(reading.found) == [Page("## Work\n\nAnn builds boats."), Page("用中文")]


def test_a_page_of_a_day_is_cut_where_headings_name_the_hour() -> None:
    text = "\ufeff# Session: 2026-02-20 14:03:11 UTC\r\n- **Session Key**: agent:main\r\n- a\r\n"
    text += "```\n## 15:00\n```\n## 9:05 b\nc"
    reading = opened("memory/2026-02-20-login.md", BytesIO(text.encode()), timezone=UTC)
    pages = [one for one in reading.found if isinstance(one, Page) and one.text.strip()]
    assert [(f"{page.time:%H:%M:%S}", page.text.split()) for page in pages if page.time] == [
        ("14:03:11", ["-", "a", "```", "##", "15:00", "```"]), ("09:05:00", ["c"]),
    ]  # fmt: skip


def test_the_memory_of_a_memorybook_is_not_taken_for_an_agents() -> None:
    for line in (b"<!-- Total entries: 2 -->\n", b"### [a1b2c3] fact | 0.60 | 2026-03-01 | 1\n"):
        reading = opened("MEMORY.md", [b"# Agent Memory\n", line, b"Tea.\n"], timezone=UTC)
        assert list(reading.found) == []
        assert "memorybook restore" in reading.warnings[0]


# --- anything ------------------------------------------------------------------------------------

KINDS = st.sampled_from(
    ["user", "assistant", "attachment", "session_meta", "response_item", "event_msg", "message", "function_call_output"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers(min_value=-(10**30)) | st.text(max_size=4) | KINDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=3,
)
INNER = dict.fromkeys("type id role message content output arguments call_id source git prompt".split(), JSON)
HELD = st.fixed_dictionaries({}, optional=INNER) | JSON
LISTED = st.lists(HELD, max_size=2)
LINE = st.fixed_dictionaries(
    {},
    optional={
        **INNER, "type": KINDS | JSON, "payload": HELD, "attachment": HELD, "message": HELD, "timestamp": JSON,
        "memory": JSON, "metadata": JSON, "categories": JSON, "created_at": JSON, "instructions": JSON, "mapping": HELD,
        "chat_messages": st.lists(HELD, max_size=2), "project_memories": JSON, "display": JSON, "sessionId": JSON,
        "agents": HELD, "blocks": HELD, "core_memory": LISTED, "messages": LISTED, "value": JSON, "label": JSON,
        "message_type": st.sampled_from(["user_message", "tool_call_message"]) | JSON, "fact": JSON, "facts": LISTED,
        "threads": LISTED, "valid_at": JSON, "invalid_at": JSON, "role_type": JSON, "archive_id": JSON, "text": JSON,
        "tool_calls": LISTED,
    },
)  # fmt: skip


@given(st.lists(LINE, max_size=3), st.sampled_from([None, *NAMES]))
def test_any_lines_give_what_can_be_taken_in_or_an_error_of_ours(lines: list[Any], name: str | None) -> None:
    stream = [json.dumps(each).encode() + b"\n" for each in lines]
    try:
        for one in opened("x.jsonl", stream, timezone=UTC, format=name).found:
            assert isinstance(one, Statement | Page) or len({turn.id for turn in one.turns}) == len(one.turns)
    except MemoryBookError:
        return
