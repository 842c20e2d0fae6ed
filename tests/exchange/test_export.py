"""Exporting: what the file holds, how it grows, and what must not stay in it."""

from __future__ import annotations

import json
import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from bson import ObjectId, json_util

from books import CONFIG, NOW, Reopen
from memorybook.agent import Workspace
from memorybook.errors import InvalidInput, NotFound, Unavailable
from memorybook.exchange.export import PLACE
from memorybook.memory import Memory
from memorybook.model import Session, Turn

TEA = [
    {"id": "t1", "role": "user", "content": "I prefer green tea, never coffee.", "timestamp": "2026-02-24T09:00:00Z"},
    {"id": "t2", "role": "assistant", "content": "Noted.", "timestamp": "2026-02-24T09:00:05.250Z"},
]
MORE = [
    {"id": "t3", "role": "user", "content": "我们决定周六在港口见面。", "timestamp": "2026-02-24T09:01:00Z"},
    {"id": "t4", "role": "assistant", "content": "好的。", "timestamp": "2026-02-24T09:01:05Z"},
]


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "sessions.json")


def load(path: str | Path) -> Any:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def said(path: str | Path) -> dict[str, list[str]]:
    """Ids of the turns by the name of their session."""
    return {
        each["name"]: [id for chat in each["chats"] for id in (chat["turn_id"], *(r["id"] for r in chat["ai_replies"]))]
        for each in load(path)
    }


def test_the_document_is_what_mongodb_reads(memory: Memory, file: str) -> None:
    memory.process_session_end(TEA, "tea")
    memory.book.transcripts.set_chat_summary("tea", "t1", "Tea, not coffee.")
    found = memory.export(file)
    assert found.json() == {
        "path": file, "sessions": 1, "turns": 2, "new_sessions": 1, "new_turns": 2, "left_out": 0,
    }  # fmt: skip
    [session] = json_util.loads(Path(file).read_text(encoding="utf-8"))
    [chat] = session["chats"]
    assert isinstance(session["_id"], ObjectId)
    assert isinstance(chat["_id"], ObjectId)
    assert (session["name"], session["turn_ids"]) == ("tea", ["t1", "t2"])
    assert session["title"] == memory.book.transcripts.session("tea").title != ""
    assert session["summary"] != ""
    assert session["path"].startswith("sessions/")
    assert (chat["turn_id"], chat["user_input"], chat["summary"]) == ("t1", TEA[0]["content"], "Tea, not coffee.")
    assert chat["created"].replace(tzinfo=UTC) == datetime(2026, 2, 24, 9, tzinfo=UTC)
    [reply] = chat["ai_replies"]
    assert (reply["content"], reply["role"]) == ("Noted.", "assistant")
    assert reply["created"].replace(tzinfo=UTC) == datetime(2026, 2, 24, 9, 0, 5, 250_000, UTC)
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600


def test_a_second_export_adds_what_grew_and_keeps_what_it_does_not_know(memory: Memory, file: str) -> None:
    memory.process_session_end(TEA, "tea")
    memory.export(file)
    os.chmod(file, 0o640)
    shown = load(file)
    shown[0]["stars"] = 5
    elsewhere = {**shown[0], "uuid": "of another book", "name": "elsewhere"}
    Path(file).write_text(json.dumps([elsewhere, *shown], indent=1), encoding="utf-8")
    memory.process_session_end([*TEA, *MORE], "tea")
    memory.process_session_end([{"role": "user", "content": "The museum opens at ten."}], "museum")
    found = memory.export(file)
    assert (found.sessions, found.turns, found.new_sessions, found.new_turns) == (3, 7, 1, 3)
    names = said(file)
    assert list(names) == ["elsewhere", "tea", "museum"]
    assert names["tea"] == ["t1", "t2", "t3", "t4"]
    assert load(file)[1]["stars"] == 5
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o640
    before = Path(file).read_bytes()
    assert memory.export(file).new_turns == 0
    assert Path(file).read_bytes() == before


def test_turns_that_the_file_alone_has_stay_where_they_stood(memory: Memory, file: str) -> None:
    memory.process_session_end([*TEA, *MORE], "tea")
    memory.export(file)
    shown = load(file)
    shown[0]["chats"].insert(1, {**shown[0]["chats"][1], "turn_id": "other", "ai_replies": []})
    Path(file).write_text(json.dumps(shown), encoding="utf-8")
    memory.process_session_end([*TEA, *MORE, {"id": "t5", "role": "user", "content": "Bye, see you."}], "tea")
    memory.export(file)
    assert said(file)["tea"] == ["t1", "t2", "other", "t3", "t4", "t5"]
    assert [chat["position"] for chat in load(file)[0]["chats"]] == [0, 2, 3, 5]


def test_what_was_forgotten_goes_out_of_a_file_that_is_written_again(memory: Memory, file: str) -> None:
    memory.process_session_end(TEA, "tea")
    memory.process_session_end(MORE, "harbour")
    memory.process_session_end([{"id": "m1", "role": "user", "content": "The museum opens at ten."}], "museum")
    quoted = "They like fish. I prefer green tea, never coffee."
    memory.book.transcripts.set_chat_summary("museum", "m1", quoted)
    memory.export(file)
    memory.forget(source="turn:t1")
    memory.forget(session="harbour")
    found = memory.export(file, session="museum")
    assert found.left_out == 3
    shown = {each["name"]: [chat["summary"] for chat in each["chats"]] for each in load(file)}
    assert shown["museum"] == ["They like fish."]
    assert "green tea" not in memory.book.transcripts.session("tea").summary
    memory.export(f"{file}.fresh")
    assert all("green tea" not in Path(path).read_text(encoding="utf-8") for path in (file, f"{file}.fresh"))
    assert said(file) == {"museum": ["m1"], "tea": [None, "t2"]}
    assert not [chat for session in load(file) for chat in session["chats"] if "green tea" in chat["user_input"]]


def test_a_session_of_another_book_loses_what_was_forgotten_here(memory: Memory, reopen: Reopen, file: str) -> None:
    memory.process_session_end([*TEA, *MORE], "tea")
    memory.export(file)
    uuid = memory.book.transcripts.session("tea").uuid
    memory.forget(source="turn:t1")
    memory.book.transcripts.remove(uuid)
    assert "green tea" in load(file)[0]["summary"]
    memory.export(file)
    assert said(file)["tea"] == [None, "t2", "t3", "t4"]
    assert "green tea" not in Path(file).read_text(encoding="utf-8")


def test_purging_writes_the_books_own_file_anew(memory: Memory) -> None:
    memory.process_session_end([*TEA, *MORE], "tea")
    memory.export()
    own = Path(memory.root, ".memorybook", PLACE)
    assert "green tea" in own.read_text(encoding="utf-8")
    assert memory.purge(source="turn:t1").remains == ()
    assert "green tea" not in own.read_text(encoding="utf-8")
    assert said(own)["tea"] == [None, "t2", "t3", "t4"]
    own.write_text("我们决定周六在港口见面, as somebody noted here", encoding="utf-8")
    remains = memory.purge(source="turn:t3").remains
    assert any(PLACE in each for each in remains)


def test_the_books_own_file_is_neither_searched_nor_seen_by_git(memory: Memory) -> None:
    memory.append("a note")
    memory.export()
    assert Path(memory.root, ".memorybook", ".gitignore").read_text() == "*\n"
    assert [info.path for info in memory.book.documents.list()] == ["daily/2026-02-24.md"]


@pytest.mark.parametrize("content", [b'{"a": 1}', b"# Notes\n", b"\xff\xfe[", b'[{"uuid": "s", "chats": []}'])
def test_a_file_that_is_something_else_is_left_as_it_is(memory: Memory, file: str, content: bytes) -> None:
    memory.process_session_end(TEA, "tea")
    Path(file).write_bytes(content)
    with pytest.raises(InvalidInput, match="is no export of sessions"):
        memory.export(file)
    assert Path(file).read_bytes() == content
    assert sorted(os.listdir(Path(file).parent)) == ["book", "sessions.json"]


def test_where_nothing_can_be_written_is_said(memory: Memory, tmp_path: Path, file: str) -> None:
    with pytest.raises(NotFound, match="there is no book"):
        memory.export(file)
    memory.append("a note")
    with pytest.raises(NotFound, match="there is no folder"):
        memory.export(str(tmp_path / "no" / "sessions.json"))
    with pytest.raises(InvalidInput, match="is a folder"):
        memory.export(str(tmp_path))
    with pytest.raises(NotFound, match="no session is called 'x'"):
        memory.export(file, session="x")


def test_many_turns_are_never_all_in_memory(memory: Memory, file: str) -> None:
    import tracemalloc

    text = "word " * 1000
    for number in range(30):
        session = Session(uuid=f"s{number}", created=NOW)
        turns = [Turn(id=f"{number}-{n}", session=session.uuid, text=text, role="user", time=NOW) for n in range(100)]
        memory.book.transcripts.append(session, turns)
    memory.export(file)  # 15 MB
    tracemalloc.start()
    assert memory.export(file).turns == 3_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


# --- by itself -----------------------------------------------------------------------------------


def test_auto_export_follows_the_end_of_each_session(reopen: Reopen, tmp_path: Path, file: str) -> None:
    memory = reopen(transcripts=CONFIG.transcripts._replace(auto_export=True, export_path=file))
    memory.process_session_end(TEA, "tea")
    assert said(file) == {"tea": ["t1", "t2"]}
    Path(file).write_text("mine", encoding="utf-8")
    found = memory.process_session_end(MORE, "harbour")
    assert found.new == 1
    assert [reason for reason in found.degraded if reason.startswith("the sessions were not exported")]


def test_auto_export_follows_an_import_that_brought_something(reopen: Reopen, tmp_path: Path, file: str) -> None:
    talk = tmp_path / "tea.jsonl"
    talk.write_text("\n".join(map(json.dumps, TEA)), encoding="utf-8")
    memory = reopen(transcripts=CONFIG.transcripts._replace(auto_export=True, export_path=file))
    memory.import_file(str(talk), dry_run=True)
    assert not os.path.exists(file)
    assert memory.import_file(str(talk)).warnings == ()
    assert said(file) == {"": ["t1", "t2"]}
    os.unlink(file)
    memory.import_file(str(talk))
    assert not os.path.exists(file), "nothing came"
    os.mkdir(file)
    talk.write_text("\n".join(map(json.dumps, [*TEA, {**MORE[0], "id": "t3"}])), encoding="utf-8")
    assert "the sessions were not exported" in memory.import_file(str(talk)).warnings[0]


def test_an_agents_session_is_exported_when_it_is_over(tmp_path: Path) -> None:
    config = CONFIG._replace(transcripts=CONFIG.transcripts._replace(auto_export=True), vector_enabled=False)
    with Workspace(str(tmp_path), config=config, clock=lambda: NOW) as workspace:
        session = workspace.session("telegram", 7)
        session.add({"role": "user", "content": "The museum opens at ten."})
        session.new()
        with session.memory() as memory:
            [shown] = load(Path(memory.root, ".memorybook", PLACE))
    assert shown["channel"] == "telegram"
    assert shown["ended"] is not None


def test_export_on_exit_writes_what_a_program_brought(reopen: Reopen, tmp_path: Path) -> None:
    settings = {"transcripts": CONFIG.transcripts._replace(export_on_exit=True)}
    memory = reopen(**settings)
    memory.process_session_end(TEA, "tea")
    memory.close()
    own = Path(memory.root, ".memorybook", PLACE)
    assert said(own) == {"tea": ["t1", "t2"]}
    own.unlink()
    with reopen(**settings) as other:
        other.search("tea")
    memory.close()
    assert not own.exists(), "nothing came"


def test_an_export_on_exit_that_fails_is_logged(reopen: Reopen, file: str, caplog: pytest.LogCaptureFixture) -> None:
    Path(file).write_text("mine", encoding="utf-8")
    with reopen(transcripts=CONFIG.transcripts._replace(export_on_exit=True, export_path=file)) as memory:
        memory.process_session_end(TEA, "tea")
    assert "the sessions were not exported" in caplog.text
    with reopen(enabled=False) as off, pytest.raises(Unavailable, match="switched off"):
        off.export(file)
