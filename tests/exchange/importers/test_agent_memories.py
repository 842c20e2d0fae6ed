"""Agent files and API answers of Letta; facts and threads of Zep."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from memorybook.exchange.importers import ImportedSession, Page, Statement, opened
from memorybook.memory import Memory

Write = Callable[[str, Any], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a document as JSON and names its file."""

    def write_document(name: str, document: Any) -> str:
        (tmp_path / name).write_text(json.dumps(document, ensure_ascii=False, indent=2), encoding="utf-8")
        return str(tmp_path / name)

    return write_document


def parsed(document: Any, name: str = "x.json") -> tuple[str, list[Any], list[str]]:
    reading = opened(name, BytesIO(json.dumps(document, ensure_ascii=False).encode()), timezone=UTC)
    return reading.format, list(reading.found), reading.warnings


def texts(memory: Memory) -> set[str]:
    return {known.entry.text for known in (*memory.entries().entries, *memory.entries(state="archived").entries)}


# --- Letta ---------------------------------------------------------------------------------------


def message(role: str, content: str, second: int, **more: Any) -> dict[str, Any]:
    blocks = [{"type": "text", "text": content, "signature": None}] if content else []
    stamp = f"2025-10-31T22:57:{second:02}.459100+00:00"
    return {"type": "message", "role": role, "content": blocks, "name": None, "id": f"message-{second}",
            "agent_id": "agent-0", "tool_calls": None, "tool_call_id": None, "created_at": stamp, **more}  # fmt: skip


def call(name: str, **arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return {"id": f"call-{name}", "type": "function", "function": function}


def packed(kind: str, **fields: str) -> str:
    return json.dumps({"type": kind, **fields, "time": "2025-10-31 10:57:01 PM UTC+0000"}, ensure_ascii=False)


HUMAN = (
    "\nThis is what I know so far about the user.\n\nFirst name: Chad\nLast name: ?\n\n## 偏好\n- 他喜欢简短的回答。\n"
)
AGENT_FILE: dict[str, Any] = {
    "agents": [
        {
            "id": "agent-0",
            "name": "sam",
            "agent_type": "memgpt_v2_agent",
            "block_ids": ["block-0", "block-1"],
            "messages": [
                message("system", "<base_instructions>You are a helpful agent.</base_instructions>", 0),
                message("user", packed("login", last_login="Never"), 1),
                message("user", packed("user_message", message="Remember that my boat is called Heron."), 2),
                message("assistant", "I should greet him.", 3, tool_calls=[call("send_message", message="Noted.")]),
                message("tool", json.dumps({"status": "OK", "message": "None"}), 4, name="send_message"),
                message("assistant", "Look it up.", 5, tool_calls=[call("archival_memory_search", query="Heron")]),
                message("tool", json.dumps({"status": "OK", "message": "A boat of 1974."}), 6, name="archival_memory"),
                message("user", "记住，我对芒果过敏。", 7),
                message("assistant", "记住了。", 8),
            ],
        }
    ],
    "groups": [],
    "blocks": [
        {"id": "block-0", "label": "human", "value": HUMAN, "limit": 20000, "description": "The human block"},
        {"id": "block-1", "label": "persona", "value": "My voice is soft.\nI am curious.", "limit": 20000},
    ],
    "tools": [{"id": "tool-0", "name": "send_message", "json_schema": {}}],
    "created_at": "2025-10-31T22:58:00+00:00",
}  # fmt: skip


def test_an_agent_file_gives_what_was_said_and_its_blocks() -> None:
    format, found, warnings = parsed(AGENT_FILE, "sam.af")
    (session,) = (one for one in found if isinstance(one, ImportedSession))
    assert (format, session.session.name) == ("letta", "sam")
    assert [(turn.role, turn.text) for turn in session.turns] == [
        ("user", "Remember that my boat is called Heron."), ("assistant", "Noted."), ("assistant", ""),
        ("tool", "A boat of 1974."), ("user", "记住，我对芒果过敏。"), ("assistant", "记住了。"),
    ]  # fmt: skip
    assert session.turns[2].tool_calls[0]["arguments"] == {"query": "Heron"}
    assert [(one.tags, one.title) for one in found if isinstance(one, Page)] == [
        (("human",), ""), (("persona",), "sam (persona)"),
    ]  # fmt: skip
    assert warnings == [
        "1 system message or thought left out", "1 event left out", "1 tool's empty answer left out",
    ]  # fmt: skip


def test_an_agent_file_is_taken_in_once_and_undone(memory: Memory, write: Write) -> None:
    path = write("sam.af", AGENT_FILE)
    foreseen = memory.import_file(path, dry_run=True)
    brought = memory.import_file(path)
    assert (foreseen.entries, foreseen.new_turns) == (brought.entries, brought.new_turns)
    assert {"sam (persona): My voice is soft.", "First name: Chad", "他喜欢简短的回答。"} <= texts(memory)
    assert not any("Last name" in text for text in texts(memory))
    liked = next(one.entry for one in memory.entries().entries if "简短" in one.entry.text)
    assert (liked.category, liked.trust, liked.tags) == ("preference", "import", ("human",))
    again = memory.import_file(path)
    assert (again.entries, again.new_turns, again.strengthened) == (0, 0, 0)
    grown = json.loads(json.dumps(AGENT_FILE))  # an agent file holds the last messages, whose ids count from 0
    said = grown["agents"][0]["messages"]
    said[:3] = []
    said.append(message("user", "Remember that I sail on Sundays.", 30))
    assert memory.import_file(write("sam.af", grown)).new_turns == 1
    memory.forget(source="sam.af")
    assert not any("Chad" in text or "芒果" in text or "Heron" in text for text in texts(memory))


def test_early_agent_files_have_core_memory_and_messages_side_by_side() -> None:
    early = {
        "name": "sam",
        "core_memory": [{"label": "human", "value": "Likes tea."}],
        "messages": [message("user", "Hi there", 1)],
    }
    format, found, _ = parsed(early, "early.af")
    assert (format, [type(one) for one in found]) == ("letta", [Page, ImportedSession])


def test_passages_and_messages_of_the_api() -> None:
    passage = {"id": "passage-1", "text": "用户在基尔造船。", "archive_id": "a", "tags": ["work"], "metadata": {"k": 1},
               "created_at": "2025-03-01T10:00:00Z"}  # fmt: skip
    format, found, warnings = parsed([passage, {**passage, "is_deleted": True}, {**passage, "file_id": "file-1"}])
    (one,) = found
    assert (format, one.text, one.key, one.tags, one.metadata) == (
        "letta", "用户在基尔造船。", "passage-1", ("work",), {"k": 1},
    )  # fmt: skip
    assert warnings == ["1 deleted passage left out", "1 passage of a file left out"]
    said = [
        {"id": "m-1", "date": "2025-03-01T10:00:00Z", "message_type": "user_message", "content": "I moved to Kiel."},
        {"id": "m-2", "date": "2025-03-01T10:00:01Z", "message_type": "reasoning_message", "reasoning": "hm"},
        {"id": "m-3", "date": "2025-03-01T10:00:02Z", "message_type": "assistant_message", "content": "Noted."},
    ]
    _, (session,), _ = parsed(said)
    assert [(turn.role, turn.text) for turn in session.turns] == [("user", "I moved to Kiel."), ("assistant", "Noted.")]


# --- Zep -----------------------------------------------------------------------------------------


def fact(text: str, **more: Any) -> dict[str, Any]:
    return {"uuid": f"u-{text}", "name": "LIKES", "fact": text, "created_at": "2025-03-02T10:00:00Z",
            "valid_at": "2025-03-01T10:00:00Z", "invalid_at": None, "expired_at": None, "source_node_uuid": "n-1",
            "target_node_uuid": "n-2", "episodes": ["e-1"], **more}  # fmt: skip


FACTS = [
    fact("Kendra loves Adidas shoes.", invalid_at="2025-06-01T00:00:00Z", expired_at="2025-06-02T09:00:00Z"),
    fact("Kendra likes Puma shoes.", valid_at="2025-06-01T00:00:00Z"),
    fact("肯德拉住在柏林。", valid_at=None),
]


@pytest.mark.parametrize(
    "wrapped", [FACTS, {"edges": FACTS, "nodes": [{"name": "Kendra"}]}, {"facts": FACTS}, {"items": FACTS}]
)
def test_facts_of_zep_hold_from_their_time_until_they_ceased_to(memory: Memory, write: Write, wrapped: Any) -> None:
    path = write("graph.json", wrapped)
    brought = memory.import_file(path)
    assert (brought.formats, brought.entries) == (("zep",), 3)
    kept = (*memory.entries().entries, *memory.entries(state="archived").entries)
    of = {one.entry.text: one.entry for one in kept}
    past, now = of["Kendra loves Adidas shoes."], of["Kendra likes Puma shoes."]
    assert (past.archived, str(past.expires), now.archived, now.expires) == (True, "2025-06-01", False, None)
    assert str(now.created) == "2025-06-01 00:00:00+00:00"
    assert str(of["肯德拉住在柏林。"].created)[:10] == "2025-03-02"
    assert past.metadata == {"relation": "LIKES", "invalid_at": "2025-06-01T00:00:00Z"}
    found = [str(hit) for hit in memory.search("Which shoes does Kendra like?").hits]
    assert any("Puma" in text for text in found)
    assert memory.import_file(path).entries == 0
    memory.forget(source="graph.json")
    assert texts(memory) == set()


def test_messages_of_zep_name_who_speaks_and_stay_in_their_threads() -> None:
    kendra = {
        "uuid": "m-1", "role": "Kendra", "role_type": "user", "content": "我讨厌跑步。",
        "created_at": "2025-03-01T10:00:00Z",
    }  # fmt: skip
    reply = {
        "uuid": "m-2", "role": "shop", "role_type": "assistant", "content": "好的。",
        "created_at": "2025-03-01T10:00:01Z",
    }  # fmt: skip
    current = [
        {"uuid": "m-3", "role": "user", "name": "Kendra", "content": "Hello", "created_at": "2025-04-01T10:00:00Z"}
    ]
    whole = {"facts": ["Kendra runs."], "messages": [kendra, reply], "session_id": "s-1"}
    format, found, _ = parsed(whole)
    assert format == "zep"
    assert [one.text for one in found if isinstance(one, Statement)] == ["Kendra runs."]
    (session,) = (one for one in found if isinstance(one, ImportedSession))
    assert [(turn.role, turn.speaker) for turn in session.turns] == [("user", "Kendra"), ("assistant", "shop")]
    _, found, _ = parsed(
        {"threads": [{"thread_id": "t-1", "messages": current}, {"thread_id": "s-1", "messages": [kendra]}]}
    )
    assert {one.session.name: len(one.turns) for one in found} == {"t-1": 1, "s-1": 1}
    format, found, _ = parsed([{"thread_id": "t-1", "messages": current}])
    assert [one.session.name for one in found] == ["t-1"]
    assert parsed([kendra, reply])[0] == "zep"
