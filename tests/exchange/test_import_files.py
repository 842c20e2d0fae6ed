"""Importing conversations: everything goes in once, whatever happens in between, and nothing it must not."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

import memorybook
from books import CONFIG, Reopen, files, summary_vectors
from forked import KILLED, ended, killing
from memorybook.errors import Conflict, InvalidInput, LLMFailed
from memorybook.memory import Memory
from memorybook.model import Put
from memorybook.search.tool_results import CLOSE, OPEN
from memorybook.testing import FailingEmbedder, HashEmbedder, ScriptedLLM

ENGLISH = [
    {"id": "m1", "role": "user", "content": "Remember that the staging database is called heron.", "session": "s1",
     "timestamp": "2026-02-20T09:00:00Z"},
    {"id": "m2", "role": "assistant", "content": "Noted, staging is heron.", "session": "s1",
     "timestamp": "2026-02-20T09:00:05Z"},
    {"id": "m3", "role": "user", "content": "I prefer answers without emojis.", "session": "s1",
     "timestamp": "2026-02-20T09:01:00Z"},
]  # fmt: skip
CHINESE = [
    {"id": "m1", "role": "user", "content": "记住，我对芒果过敏。", "session": "s1",
     "timestamp": "2026-02-21T09:00:00Z"},
    {"id": "m2", "role": "assistant", "content": "好的，记住了。", "session": "s1",
     "timestamp": "2026-02-21T09:00:09Z"},
    {"id": "m3", "role": "user", "content": "我们决定用 PostgreSQL 做主数据库。", "session": "s1",
     "timestamp": "2026-02-21T09:02:00Z"},
]  # fmt: skip
MORE = {"id": "m4", "role": "user", "content": "We decided to deploy every Thursday at noon.", "session": "s1",
        "timestamp": "2026-02-20T09:05:00Z"}  # fmt: skip

EVENT = "I deployed the billing service to Frankfurt yesterday."


@pytest.fixture
def chat(tmp_path: Path) -> Callable[..., str]:
    """Writes messages as JSON Lines and names the file."""

    return lambda messages, name="chat.jsonl": written(tmp_path / name, messages)


def written(path: Path, messages: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in messages), encoding="utf-8")
    return str(path)


def claude_code(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"type": each["role"], "message": {"role": each["role"], "content": each["content"]}, "uuid": each["id"],
         "sessionId": "5f2c0a3e-0000-4000-8000-000000000001", "timestamp": each["timestamp"]}
        for each in messages
    ]  # fmt: skip


def history(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"_type": "metadata", "key": "telegram:1"}, *messages]


def people(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    names = {"user": "Ada", "assistant": "Grace"}
    return [
        {"id": each["id"], "speaker": names[each["role"]], "text": each["content"], "session": "s1"}
        for each in messages
    ]


def texts(memory: Memory) -> list[str]:
    return sorted(known.entry.text for known in memory.entries().entries)


def documents(memory: Memory) -> dict[str, bytes]:
    return files(memory.root, "*.md")


# --- what comes out ------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [list, claude_code, history, people])
@pytest.mark.parametrize(
    ("messages", "question", "answer"),
    [(ENGLISH, "what is the staging database called?", "heron"), (CHINESE, "我对什么过敏？", "芒果")],
)
def test_every_format_is_found_by_what_was_said(
    memory: Memory, reopen: Reopen, chat: Any, shape: Any, messages: list[dict[str, Any]], question: str, answer: str
) -> None:
    path = chat(shape(messages))
    brought = memory.import_file(path)
    assert (brought.sessions, brought.turns, brought.new_turns) == (1, 3, 3)
    assert brought.entries >= 1
    assert len(brought.summaries) == 1
    os.unlink(path)
    other = reopen()
    hits = other.search(question).hits
    assert answer in hits[0].snippet
    assert shape is people or any(answer in text for text in texts(other))
    assert answer in other.get(brought.summaries[0]).json()["text"]


def test_an_entry_names_its_turn_its_session_and_when_it_was_said(memory: Memory, chat: Any) -> None:
    memory.import_file(chat(ENGLISH))
    shown = memory.entries(category="preference").json()["entries"][0]
    assert shown["source"] == "turn:m3"
    assert shown["created_at"] == "2026-02-20T09:01:00Z"
    assert shown["trust"] == "import"
    assert memory.get(shown["source"]).json()["text"] == ENGLISH[2]["content"]
    assert memory.get(shown["source"]).json()["turn"]["session"] == shown["session"]


def test_a_hit_of_a_turn_says_whose_it_is_and_where_its_summary_stands(memory: Memory, chat: Any) -> None:
    brought = memory.import_file(chat(people([{**ENGLISH[0], "content": "The lighthouse keeper waved at us twice."}])))
    hit = next(hit for hit in memory.search("lighthouse keeper").json()["results"] if hit["turn"])
    assert (hit["turn"], hit["speaker"], hit["path"]) == ("m1", "Ada", brought.summaries[0])
    assert memory.book.transcripts.session(hit["session"]).name == "s1"


def test_progress_tells_how_much_of_the_files_is_taken_in(
    memory: Memory, chat: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorybook.exchange.import_files.BATCH", 4)
    monkeypatch.setattr("memorybook.exchange.import_files.TELL_EVERY", float("inf"))
    told: list[tuple[int, int]] = []
    paths = [chat(ENGLISH), chat(CHINESE, "zh.jsonl")]
    memory.import_file(*paths, progress=lambda done, total: told.append((done, total)))
    sizes = [os.path.getsize(path) for path in paths]
    assert told == [(sizes[0], sum(sizes)), (sum(sizes), sum(sizes))]


def test_progress_moves_while_many_sessions_are_taken_in(
    memory: Memory, chat: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorybook.exchange.import_files.TELL_EVERY", 0.0)
    told: list[int] = []
    path = chat(SEVERAL)
    memory.import_file(path, progress=lambda done, total: told.append(done))
    assert told == sorted(told)
    assert len(set(told)) > 4
    assert told[-1] == os.path.getsize(path)


@pytest.mark.parametrize(
    ("messages", "query"), [(ENGLISH, "staging database heron"), (CHINESE, "芒果过敏")], ids=["en", "zh"]
)
def test_words_are_found_at_the_end_and_vectors_may_follow(
    tmp_path: Path, chat: Any, messages: list[dict[str, Any]], query: str
) -> None:
    class Slow(HashEmbedder):
        inline = 0

    with memorybook.open(str(tmp_path / "slow"), config=CONFIG, embedder=Slow(), door="cli") as memory:
        brought = memory.import_file(chat(messages))
        assert brought.pending_vectors > 0
        assert memory.search(query).hits
        assert memory.sync()["pending_vectors"] == 0
        assert memory.import_file(chat(messages)).pending_vectors == 0


# --- again ---------------------------------------------------------------------------------------


def test_importing_again_under_any_name_adds_nothing(memory: Memory, reopen: Reopen, chat: Any) -> None:
    memory.import_file(chat([*ENGLISH, {**MORE, "content": EVENT}]))
    before, operations = documents(memory), len(memory.book.journal.operations())
    for again, name in ((memory, "chat.jsonl"), (reopen(), "renamed.jsonl")):
        brought = again.import_file(chat([*ENGLISH, {**MORE, "content": EVENT}], name))
        assert (brought.new_turns, brought.entries, brought.notes, brought.summaries) == (0, 0, 0, ())
        assert documents(memory) == before
        assert len(memory.book.journal.operations()) == operations


def test_a_file_that_grew_adds_what_is_new_and_refreshes_the_summary(memory: Memory, chat: Any) -> None:
    first = memory.import_file(chat(ENGLISH))
    known = texts(memory)
    brought = memory.import_file(chat([*ENGLISH, MORE]))
    assert (brought.new_turns, brought.entries) == (1, 1)
    assert brought.summaries == first.summaries
    assert set(texts(memory)) - set(known) == {"We decided to deploy every Thursday at noon."}
    page = memory.get(first.summaries[0]).json()["text"]
    assert "turns: 4" in page
    assert "Thursday" in page
    assert memory.book.transcripts.session("s1").turn_ids == ("m1", "m2", "m3", "m4")


def test_an_entry_that_a_person_deleted_stays_away(memory: Memory, reopen: Reopen, chat: Any) -> None:
    memory.import_file(chat(ENGLISH))
    path = Path(memory.root, "MEMORY.md")
    blocks = path.read_text(encoding="utf-8").split("### ")
    path.write_text("### ".join(block for block in blocks if "heron" not in block), encoding="utf-8")
    for messages in (ENGLISH, [*ENGLISH, MORE]):
        reopen().import_file(chat(messages, "other.jsonl"))
        assert not [text for text in texts(memory) if "heron" in text]


# --- a person's summary --------------------------------------------------------------------------


def test_a_summary_that_a_person_edited_keeps_their_words(memory: Memory, chat: Any) -> None:
    [page] = memory.import_file(chat(ENGLISH)).summaries
    path = Path(memory.root, page)
    mine = path.read_text(encoding="utf-8").replace("# ", "# My own title: ", 1) + "\nThe herons nest in the reeds.\n"
    path.write_text(mine, encoding="utf-8")
    brought = memory.import_file(chat([*ENGLISH, MORE]))
    assert brought.entries == 1
    after = path.read_text(encoding="utf-8")
    assert after == mine.replace("turns: 3", "turns: 4").replace("ended: 2026-02-20T09:01", "ended: 2026-02-20T09:05")
    assert memory.import_file(chat([*ENGLISH, MORE])).summaries == ()
    memory.import_file(chat([*ENGLISH, MORE, {**MORE, "id": "m5", "content": "We also agreed to use Nomad."}]))
    assert path.read_text(encoding="utf-8") == after.replace("turns: 4", "turns: 5")


def test_a_summary_without_its_front_matter_gets_it_back(memory: Memory, chat: Any) -> None:
    [page] = memory.import_file(chat(ENGLISH)).summaries
    path = Path(memory.root, page)
    path.write_text("Only my words.\n", encoding="utf-8")
    memory.import_file(chat([*ENGLISH, MORE]))
    text = path.read_text(encoding="utf-8")
    assert text.endswith("---\n\nOnly my words.\n")
    assert "turns: 4" in text
    assert memory.book.transcripts.session("s1").summary == "Only my words."


def test_an_edit_in_the_very_moment_stands(memory: Memory, chat: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    [page] = memory.import_file(chat(ENGLISH)).summaries
    path = Path(memory.root, page)
    apply = memory.book.apply_each
    saves = iter([True])

    def interrupted(*arguments: Any, **named: Any) -> Any:
        if next(saves, False):
            path.write_text(path.read_text(encoding="utf-8") + "\nMine.\n", encoding="utf-8")
        return apply(*arguments, **named)

    monkeypatch.setattr(memory.book, "apply_each", interrupted)
    memory.import_file(chat([*ENGLISH, MORE]))
    text = path.read_text(encoding="utf-8")
    assert "\nMine.\n" in text
    assert "turns: 4" in text


def test_without_the_journal_a_summary_counts_as_a_persons(memory: Memory, reopen: Reopen, chat: Any) -> None:
    [page] = memory.import_file(chat(ENGLISH)).summaries
    memory.close()
    for left in Path(memory.root, ".memorybook").glob("journal.sqlite*"):
        left.unlink()
    path = Path(memory.root, page)
    before = path.read_text(encoding="utf-8")
    other = reopen()
    assert other.import_file(chat(ENGLISH)).summaries == ()
    other.import_file(chat([*ENGLISH, MORE]))
    assert path.read_text(encoding="utf-8").partition("# ")[2] == before.partition("# ")[2]
    assert len(texts(other)) == 3


# --- killed --------------------------------------------------------------------------------------


def killed(root: str, path: str, step: str, times: int = 1) -> None:
    """Import in another process that dies by SIGKILL when it comes to a step, for so many times."""

    def importing() -> None:
        memory = memorybook.open(root, config=CONFIG)
        owner, _, name = step.rpartition(".")
        part = attrgetter(owner)(memory)
        setattr(part, name, killing(getattr(part, name), [None] * times))
        memory.import_file(path)

    assert ended(importing) == KILLED


KILLED_CHAT = [*ENGLISH, {**MORE, "content": EVENT}]
SEVERAL = [
    {**message, "id": f"{message['id']}-{session}", "session": session, "content": f"{message['content']} {session}."}
    for session in ("s1", "s2", "s3")
    for message in KILLED_CHAT
]


def pages(memory: Memory) -> dict[str, Any]:
    """What is written of all sessions, whatever the ids of the entries are."""
    found = {path: text for path, text in documents(memory).items() if path.startswith(("daily/", "sessions/"))}
    hits = sorted((known.entry.text, known.entry.hits) for known in memory.entries().entries)
    sessions = [(each.path, each.title, each.summary, each.turn_ids) for each in memory.book.transcripts.sessions()]
    where = sorted({hit.passage.path for hit in memory.search("heron staging").hits})
    return {**found, "hits": hits, "sessions": sessions, "found": where}


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """A file of several sessions, and the pages of a book that took it in at one go."""
    folder = tmp_path_factory.mktemp("several")
    path = written(folder / "chat.jsonl", SEVERAL)
    with memorybook.open(str(folder / "book"), config=CONFIG) as memory:
        memory.import_file(path)
        return path, pages(memory)


@pytest.mark.parametrize(
    ("step", "times"),
    [
        *((f"book.{step}", 1) for step in ("apply_each", "documents.append", "refresh")),
        *((f"book.{step}", n) for step in ("transcripts.append", "journal.begin", "journal.done") for n in (1, 2)),
        *((f"book.{step}", n) for step in ("documents.write", "transcripts.update") for n in (1, 2, 3)),
    ],
)
def test_an_import_that_was_killed_is_completed_by_the_next(
    tmp_path: Path, several: tuple[str, dict[str, Any]], step: str, times: int
) -> None:
    root, (path, wanted) = str(tmp_path / "killed"), several
    killed(root, path, step, times)
    with memorybook.open(root, config=CONFIG) as again:
        again.import_file(path)
        assert again.book.journal.pending() == []
        assert pages(again) == wanted


@pytest.mark.parametrize("messages", [ENGLISH, CHINESE])
def test_what_a_second_session_repeats_counts_when_the_import_was_killed_after_the_first(
    tmp_path: Path, memory: Memory, chat: Any, messages: list[dict[str, str]]
) -> None:
    said = [{**each, "id": f"{each['id']}-{name}", "session": name} for name in ("s1", "s2", "s3") for each in messages]
    root, path = str(tmp_path / "killed"), chat(said)
    memory.import_file(path)
    killed(root, path, "book.journal.begin", 3)
    with memorybook.open(root, config=CONFIG) as again:
        again.import_file(path)
        hits = [{entry.text: entry.hits for entry in each.book.entries()} for each in (memory, again)]
        assert hits[1] == hits[0]
        assert set(hits[0].values()) == {3}


def test_it_makes_no_difference_how_many_sessions_are_written_together(
    tmp_path: Path, memory: Memory, chat: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = chat(SEVERAL)
    monkeypatch.setattr("memorybook.exchange.import_files.TELL_EVERY", float("inf"))
    told: list[tuple[int, int]] = []
    taken = memory.import_file(path, progress=lambda done, total: told.append((done, total)))
    assert told == [(os.path.getsize(path),) * 2]
    assert taken.notes == 1
    monkeypatch.setattr("memorybook.exchange.import_files.BATCH", 1)
    with memorybook.open(str(tmp_path / "one by one"), config=CONFIG) as other:
        alone = other.import_file(path)
        assert pages(other) == pages(memory)
        assert (alone.entries, alone.notes, alone.summaries) == (taken.entries, taken.notes, taken.summaries)
        assert [each.session for each in other.book.journal.operations()] == [
            each.session for each in memory.book.journal.operations()
        ]


@pytest.mark.parametrize("step", ["book.apply_each", "book.documents.write", "book.transcripts.update"])
def test_a_grown_file_whose_import_was_killed_is_completed_too(tmp_path: Path, chat: Any, step: str) -> None:
    root = str(tmp_path / "killed")
    with memorybook.open(root, config=CONFIG) as memory:
        [page] = memory.import_file(chat(ENGLISH)).summaries
    path = chat([*ENGLISH, MORE])
    killed(root, path, step)
    with memorybook.open(root, config=CONFIG) as memory:
        memory.import_file(path)
        assert texts(memory).count("We decided to deploy every Thursday at noon.") == 1
        assert len(texts(memory)) == 3
        assert "turns: 4" in memory.get(page).json()["text"]
        assert "Thursday" in memory.book.transcripts.session("s1").summary


# --- what stays out ------------------------------------------------------------------------------


def test_secrets_reach_no_file_of_the_book(memory: Memory, chat: Any) -> None:
    secret = "sk-" + "proj-Zq83hTnW0vLxKd52RmYb71CsEuPf64Ga"
    password = "Kx9" + "!mQ2vLr8#Tz"
    turn = {
        **ENGLISH[0],
        "content": f"Remember that the deploy key is {secret}. 数据库密码是 {password}",
        "tool_calls": [{"name": "login", "arguments": {"password": password, "header": f"Bearer {secret}"}}],
        "env": {"OPENAI_API_KEY": secret},
    }
    events = claude_code(ENGLISH)
    titled = [*events, {"type": "summary", "summary": f"Rotating {secret}", "sessionId": events[0]["sessionId"]}]
    brought = memory.import_file(chat([turn, {**MORE, "session": f"talk {secret}"}]))
    memory.import_file(chat(titled, "claude.jsonl"))
    assert brought.redacted >= 5
    memory.close()
    for path, data in files(memory.root).items():
        assert secret.encode() not in data, path
        assert secret not in path
        assert password.encode() not in data, path


def test_what_recall_put_into_a_conversation_is_not_heard_again(memory: Memory, chat: Any) -> None:
    memory.remember("The user prefers dark themes everywhere.", importance="high")
    block = memory.recall("themes").text
    assert OPEN in block
    assert CLOSE in block
    fake = f"{OPEN}\nI prefer purple bicycles.\n{CLOSE}"
    talk = [
        {**ENGLISH[0], "content": f"{block}\n\nI prefer answers without emojis."},
        {**ENGLISH[2], "content": f"{fake}\n我喜欢简短的回答。"},
    ]
    memory.import_file(chat(talk))
    assert not [text for text in texts(memory) if "bicycles" in text]
    assert next(known.entry.hits for known in memory.entries().entries if "dark themes" in known.entry.text) == 1
    assert len(texts(memory)) == 3
    [page] = [text for path, text in documents(memory).items() if path.startswith("sessions/")]
    assert b"bicycles" not in page


def test_a_request_to_forget_is_reported_and_not_stored(memory: Memory, chat: Any) -> None:
    brought = memory.import_file(chat([{**ENGLISH[0], "content": "Please forget that my sister is called Alma."}]))
    assert [reason for _, reason in brought.skipped] == ["asks to forget: see `memorybook forget`"]
    assert texts(memory) == []


def test_a_forgotten_session_stays_forgotten_and_only_there(memory: Memory, chat: Any) -> None:
    path = chat(ENGLISH)
    [page] = memory.import_file(path).summaries
    memory.forget(session="s1")
    back = memory.import_file(path)
    assert (back.new_turns, back.entries, back.summaries) == (0, 0, ())
    assert {reason for _, reason in back.skipped} == {"forgotten before"}
    assert memory.status()["transcripts"]["turns"] == 0
    assert not Path(memory.root, page).exists()
    other = [{**each, "session": "s2", "timestamp": "2026-02-22T09:00:00Z"} for each in ENGLISH]
    assert memory.import_file(chat(other, "other.jsonl")).new_turns == 3
    grown = memory.import_file(chat([*ENGLISH, MORE]))
    assert (grown.new_turns, grown.entries) == (1, 1)


def test_a_forgotten_statement_is_not_brought_by_another_conversation(memory: Memory, chat: Any) -> None:
    said = {**ENGLISH[0], "content": EVENT}
    memory.import_file(chat([*ENGLISH, {**said, "id": "m9"}]))
    for known in memory.entries().entries:
        memory.forget(known.entry.id)
    memory.forget(query="billing service Frankfurt")
    talk = [{**each, "session": "s2", "timestamp": "2026-02-22T09:00:00Z"} for each in (*ENGLISH, {**said, "id": "m9"})]
    brought = memory.import_file(chat(talk, "other.jsonl"))
    assert (brought.entries, brought.notes) == (0, 0)
    assert {reason for _, reason in brought.skipped} == {"forgotten before"}


# --- settings and options ------------------------------------------------------------------------


def test_without_transcripts_only_what_was_learnt_is_kept(reopen: Reopen, chat: Any) -> None:
    memory = reopen(transcripts=CONFIG.transcripts._replace(enabled=False))
    brought = memory.import_file(chat(ENGLISH))
    assert (brought.new_turns, len(brought.summaries)) == (3, 0)  # of rules, whose summaries quote what was said
    assert memory.status()["transcripts"] == {"sessions": 0, "turns": 0}
    assert memory.search("heron").hits[0].passage.source != "turn"
    assert memory.entries(category="preference").json()["entries"][0]["created_at"] == "2026-02-20T09:01:00Z"
    before = documents(memory)
    assert memory.import_file(chat(ENGLISH)).new_turns == 0
    assert documents(memory) == before
    assert memory.import_file(chat([*ENGLISH, MORE])).new_turns == 1
    assert len(texts(memory)) == 3


def test_a_chinese_book_has_chinese_summaries(reopen: Reopen, chat: Any) -> None:
    memory = reopen(language="zh")
    [page] = memory.import_file(chat(CHINESE)).summaries
    assert "## 对话" in memory.get(page).json()["text"]


def test_a_model_remembers_a_file_if_asked_to_and_what_it_fails_at_waits(tmp_path: Path, chat: Any) -> None:
    found = {
        "summary": "They talked of the staging database.", "decisions": [], "open_questions": [], "forget": [],
        "candidates": [{"content": "Staging is called heron.", "category": "fact", "importance": "high",
                        "turns": ["t1"], "quote": "the staging database is called heron"}],
    }  # fmt: skip
    llm = ScriptedLLM([found, LLMFailed("the model is down")])
    path = chat([*ENGLISH, {**MORE, "session": "s2"}])
    with memorybook.open(str(tmp_path / "book"), config=CONFIG, llm=llm) as memory:
        brought = memory.import_file(path, by_model=True)
        assert (brought.new_turns, brought.entries, len(brought.summaries)) == (4, 1, 1)
        assert "the model is down" in brought.warnings
        assert "They talked of the staging database." in memory.get(brought.summaries[0]).json()["text"]
        assert memory.status()["waiting"]["sessions"] == 1
        assert {known.entry.trust for known in memory.entries().entries} == {"import"}
        [operation] = memory.history(limit=1).operations
        assert (operation.operation.door, operation.operation.kind) == ("import", "import")


def test_a_scope_takes_its_lines_alone(memory: Memory, chat: Any) -> None:
    path = chat([{**ENGLISH[0], "scope": "a"}, {**ENGLISH[2], "scope": "b"}])
    assert memory.import_file(path, scope="b").turns == 1
    assert texts(memory) == ["The user prefers answers without emojis."]
    with pytest.raises(InvalidInput, match="no message of scope 'c'"):
        memory.import_file(path, scope="c")
    assert memory.import_file(path).new_turns == 1


def test_a_turn_that_says_something_else_than_before_is_reported(memory: Memory, chat: Any) -> None:
    memory.import_file(chat(ENGLISH))
    brought = memory.import_file(chat([*ENGLISH[:2], {**ENGLISH[2], "content": "I prefer purple bicycles."}]))
    assert brought.new_turns == 0
    assert brought.skipped == (("I prefer purple bicycles.", "turn 'm3' is kept as it was"),)


def test_standard_input_is_a_file_too(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    data = "".join(json.dumps(each) + "\n" for each in ENGLISH).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert memory.import_file("-").new_turns == 3


def test_the_machines_timezone_reads_times_without_one(reopen: Reopen, chat: Any) -> None:
    memory = reopen(timezone="local")
    memory.import_file(chat([{**ENGLISH[0], "timestamp": "2026-02-20 09:00:00"}]))
    assert memory.get("turn:m1").json()["turn"]["time"].startswith("2026-02-")


def test_a_summary_that_somebody_keeps_saving_is_a_conflict(
    memory: Memory, chat: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    [page] = memory.import_file(chat(ENGLISH)).summaries
    apply = memory.book.apply_each

    def restless(*arguments: Any, **named: Any) -> Any:
        path = Path(memory.root, page)
        path.write_text(path.read_text(encoding="utf-8") + "more\n", encoding="utf-8")
        return apply(*arguments, **named)

    monkeypatch.setattr(memory.book, "apply_each", restless)
    with pytest.raises(Conflict, match="changed by somebody else"):
        memory.import_file(chat([*ENGLISH, MORE]))
    monkeypatch.undo()
    assert memory.import_file(chat([*ENGLISH, MORE])).entries == 1


def test_a_put_made_from_another_text_is_refused(memory: Memory) -> None:
    with pytest.raises(Conflict, match="read it again"):
        memory.book.apply([Put(path="sessions/x.md", text="a", made_from="b")], actor="user", door="test")
    memory.book.apply([Put(path="sessions/x.md", text="a", made_from="")], actor="user", door="test")
    memory.book.apply([Put(path="sessions/x.md", text="c", made_from="a")], actor="user", door="test")
    assert memory.book.documents.read("sessions/x.md").text == "c"


def test_an_embedder_that_is_down_costs_an_import_only_the_vector(tmp_path: Path) -> None:
    chat = tmp_path / "chat.jsonl"
    chat.write_text('{"role": "user", "session": "s", "content": "The heron database is slow."}\n', encoding="utf-8")
    with memorybook.open(str(tmp_path / "b"), embedder=FailingEmbedder()) as memory:
        assert memory.import_file(str(chat)).new_turns == 1
        session = memory.book.transcripts.session("s")
        assert session.summary
        assert summary_vectors(tmp_path / "b" / ".memorybook" / "transcripts.sqlite") == [None]


@pytest.mark.parametrize(
    ("said", "due", "event", "query"),
    [
        ("I am allergic to walnuts.", "Remember that the rent is due by Friday.", EVENT, "allergic walnuts"),
        ("我对核桃过敏。", "记住，周五之前要交房租。", "我昨天把计费服务部署到了法兰克福。", "核桃 过敏"),
    ],
)
@pytest.mark.parametrize("stamp", [None, "03/04/2023"])
def test_what_was_said_at_a_time_nobody_knows_gets_no_day(
    memory: Memory, chat: Callable[..., str], said: str, due: str, event: str, query: str, stamp: str | None
) -> None:
    turns = [{"role": "user", "content": text, "timestamp": stamp} for text in (said, due, event)]
    brought = memory.import_file(chat(turns))
    assert any("left out" in warning for warning in brought.warnings) == (stamp is not None)
    assert brought.summaries[0].startswith("sessions/undated-")
    entries = memory.context.book.entries()
    assert [(entry.created, entry.expires, entry.said_on) for entry in entries] == [(None, None, None)] * len(entries)
    assert entries
    assert brought.notes == 0, "nobody knows on which day"
    hits = memory.search(query)
    assert hits
    assert {hit.passage.date for hit in hits} == {None}
    today = memory.context.book.now().date().isoformat()
    assert today not in memory.recall(query).text
    memory.process_session_end([{"role": "user", "content": "I prefer short answers. 我喜欢简短的回答。"}])
    assert today in {str(entry.said_on) for entry in memory.context.book.entries()}, "what a caller says is said now"


def test_a_model_is_told_that_the_day_is_unknown(tmp_path: Path, chat: Callable[..., str]) -> None:
    llm = ScriptedLLM(then={"candidates": []})
    with memorybook.open(tmp_path / "book", llm=llm, config=CONFIG) as memory:
        path = chat([{"role": "user", "content": "I am allergic to walnuts and I live in Leeds."}])
        memory.import_file(path, by_model=True)
    assert "day unknown" in str(llm.requests[0].messages)
