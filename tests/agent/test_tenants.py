"""Many tenants in one workspace: isolation, eviction, idleness, threads, crashes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agent.conftest import CONFIG, Place, said, talk, texts
from agent.model import extracting
from agent.tenants import sees_each_book_with_its_own_embedder
from memorybook.agent import Workspace
from memorybook.config.settings import Config
from memorybook.context import Context
from memorybook.errors import ConfigError, InvalidInput, Unavailable
from memorybook.formats.llm_messages import Reply, ToolCall
from memorybook.model import Session, Turn
from memorybook.sessions.summary import refresh
from memorybook.storage.transcripts import SqliteTranscripts
from memorybook.testing import ScriptedLLM

# --- isolation -----------------------------------------------------------------------------------


def test_tenants_have_books_of_their_own(place: Place) -> None:
    workspace = place.workspace(noting=False)
    ann, bob = workspace.session("telegram", 7), workspace.session("slack", 7)
    with ann.memory() as memory:
        memory.remember("Ann likes green tea.")
    ann.add(said("I am Ann."))
    with bob.memory() as memory:
        assert memory.entries().total == 0
        assert not memory.search("tea Ann").hits
    assert bob.messages == ()
    assert workspace.session("telegram", "7") is ann


def test_nothing_is_written_outside_of_the_workspace(place: Place) -> None:
    workspace = place.workspace()
    for channel, chat_id in [("../..", "../etc/passwd"), ("/", "\0"), ("", ""), ("a" * 500, "\ud800"), ("~", "..")]:
        workspace.session(channel, chat_id).add(said("x"))
    assert {path.parent for path in place.root.iterdir()} == {place.root}
    assert len(list(place.root.iterdir())) == 5
    assert list(place.root.parent.iterdir()) == [place.root]


def test_one_file_for_all_books_is_refused(tmp_path: Path) -> None:
    place = str(tmp_path / "x.sqlite")
    with pytest.raises(ConfigError, match="db_path"):
        Workspace(str(tmp_path), config=CONFIG._replace(db_path=place))
    kept = CONFIG.transcripts
    for setting, transcripts in (("db_path", kept._replace(db_path=place)), ("url", kept._replace(url="libsql://x"))):
        with pytest.raises(ConfigError, match=rf"transcripts\.{setting} would put the books of all tenants"):
            Workspace(str(tmp_path), config=CONFIG._replace(transcripts=transcripts))


@pytest.mark.parametrize("option", ["max_open", "memory_window", "workers"])
def test_numbers_that_are_too_small_are_refused(tmp_path: Path, option: str) -> None:
    with pytest.raises(InvalidInput, match=f"{option} 0"):
        Workspace(str(tmp_path), config=CONFIG, **{option: 0})  # type: ignore[arg-type]


def test_the_settings_are_loaded_if_none_are_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYBOOK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with Workspace() as workspace:
        workspace.session("a", "b").add(said("x"))
    assert [path.name[:4] for path in (tmp_path / "home").iterdir()] == ["a-b-"]


def test_books_share_one_embedder_that_is_the_same_for_every_book(place: Place) -> None:
    multilingual = CONFIG.embeddings._replace(model="multilingual")
    workspace = place.workspace(config=CONFIG._replace(vector_enabled=True, embeddings=multilingual))
    with workspace.session("a", "b").memory() as first, workspace.session("a", "c").memory() as second:
        assert first.context.embedder is second.context.embedder is not None


# --- eviction ------------------------------------------------------------------------------------


def test_the_book_used_longest_ago_is_closed_and_opened_again_by_its_next_call(place: Place) -> None:
    workspace = place.workspace(max_open=2)
    sessions = [workspace.session("a", str(number)) for number in range(3)]
    assert [place.provider(session).closed for session in sessions] == [True, False, False]
    sessions[0].add(said("one", timestamp="2019-05-01T08:00:00Z"))
    assert [place.provider(session).closed for session in sessions] == [False, True, False]
    talk(sessions[1], 1)
    talk(sessions[2], 1)
    sessions[0].add(said("two", timestamp="2019-05-01T08:01:00Z"))
    assert texts(sessions[0].messages) == ["one", "two"], "whatever times the messages have"


def test_a_book_in_use_is_never_closed(place: Place) -> None:
    workspace = place.workspace(max_open=1)
    first = workspace.session("a", "1")
    with first.memory() as memory:
        others = [workspace.session("a", str(number)) for number in (2, 3)]
        assert not place.provider(first).closed
        assert [place.provider(other).closed for other in others] == [True, True]
        memory.remember("It is still open.")
        with first.memory() as again:
            assert again is memory
    workspace.session("a", "4")
    assert place.provider(first).closed


def test_what_is_remembered_in_the_background_keeps_the_book_open(place: Place) -> None:
    workspace = place.workspace(max_open=1, memory_window=2)
    session = workspace.session("a", "1")
    begun, go_on = threading.Event(), threading.Event()
    provider = place.provider(session)

    def slow() -> None:
        begun.set()
        go_on.wait(10)

    provider.before = slow
    talk(session, 3)
    assert begun.wait(10)
    workspace.session("a", "2")
    assert not provider.closed
    go_on.set()
    workspace.wait(10)
    workspace.session("a", "2")
    assert provider.closed


def test_a_closed_workspace_says_so(place: Place) -> None:
    workspace = place.workspace()
    session = workspace.session("a", "1")
    with session.memory():
        workspace.close()
        assert not place.provider(session).closed
        session.add(said("still in use"))
    assert place.provider(session).closed
    workspace.close()
    assert workspace.tick() == 0
    with pytest.raises(Unavailable, match="is closed"):
        session.add(said("x"))
    with pytest.raises(Unavailable, match="is closed"):
        workspace.session("a", "2")


def test_closing_finishes_what_is_being_remembered(place: Place) -> None:
    workspace = place.workspace(memory_window=2)
    session = workspace.session("a", "1")
    place.provider(session).before = lambda: time.sleep(0.1)
    talk(session, 3)
    workspace.close()
    assert len(place.provider(session).taken) == 1
    assert place.provider(session).closed


# --- idleness ------------------------------------------------------------------------------------


def test_a_tick_notices_what_is_idle(place: Place) -> None:
    workspace = place.workspace()
    idle, fresh = workspace.session("a", "1"), workspace.session("a", "2")
    talk(idle, 2)
    place.clock.pass_by(minutes=29)
    talk(fresh, 1)
    workspace.wait(10)
    assert workspace.tick() == 0
    place.clock.pass_by(minutes=2)
    assert workspace.tick() == 1
    workspace.wait(10)
    assert place.provider(idle).taken == [["message 0", "message 1"]]
    assert idle.messages == ()
    assert place.kinds() == ["ended"]
    assert workspace.tick() == 0


def test_every_call_notices_its_own_session(place: Place) -> None:
    workspace = place.workspace()
    session = workspace.session("a", "1")
    talk(session, 2)
    place.clock.pass_by(minutes=31)
    session.add(said("new talk"))
    workspace.wait(10)
    assert texts(session.messages) == ["new talk"]
    assert place.provider(session).taken == [["message 0", "message 1"]]
    with session.memory() as memory:
        assert len(memory.book.transcripts.sessions()) == 2


def test_a_session_that_is_left_while_it_is_consolidated_is_remembered_wholly(place: Place) -> None:
    workspace = place.workspace(memory_window=2)
    session = workspace.session("a", "1")
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        go_on.wait(10)

    place.provider(session).before = slow
    talk(session, 3)
    assert begun.wait(10)
    with session.memory():
        talking = session._talk
        assert talking is not None
        session._leave(talking)
    session.add(said("new talk"))
    go_on.set()
    assert workspace.wait(10)
    assert place.provider(session).taken == [["message 0", "message 1"], ["message 2"]]
    assert texts(session.messages) == ["new talk"]


def test_a_book_that_was_closed_to_make_room_is_noticed_too(place: Place) -> None:
    workspace = place.workspace(max_open=1)
    talk(workspace.session("a", "1"), 1)
    workspace.wait(10)
    workspace.session("a", "2")
    place.clock.pass_by(minutes=31)
    assert workspace.tick() == 1
    workspace.wait(10)
    assert [taken for noted in place.noted.values() for taken in noted.taken] == [["message 0"]]


def test_what_is_in_use_is_not_idle_and_without_a_timeout_nothing_is(place: Place) -> None:
    endless = place.workspace(config=CONFIG._replace(idle_timeout=0.0)).session("a", "0")
    workspace = place.workspace()
    session = workspace.session("a", "1")
    talk(endless, 1)
    talk(session, 1)
    with session.memory():
        place.clock.pass_by(hours=2)
        assert workspace.tick() == 0
        session.add(said("a long turn"))
    assert len(session.messages) == 2
    place.clock.pass_by(days=400)
    place.opened[0].tick()
    assert len(endless.messages) == 1


def test_opening_captures_the_session_before_if_it_was_not(place: Place) -> None:
    before = place.workspace()
    talk(before.session("a", "1"), 2)
    before.close()
    place.clock.pass_by(hours=1)
    workspace = place.workspace()
    session = workspace.session("a", "1")
    workspace.wait(10)
    assert place.provider(session).taken == [["message 0", "message 1"]]
    assert session.messages == ()
    with session.memory() as memory:
        [stored] = memory.book.transcripts.sessions()
        assert stored.ended == place.clock.now
    workspace.close()
    again = place.workspace()
    session = again.session("a", "1")
    again.wait(10)
    assert place.provider(session).taken == []


def test_capturing_by_itself_can_be_switched_off(place: Place) -> None:
    config = CONFIG._replace(auto_capture_on_new_session=False)
    workspace = place.workspace(config=config)
    session = workspace.session("a", "1")
    talk(session, 2)
    place.clock.pass_by(hours=1)
    session.add(said("later"))
    workspace.close()
    session = place.workspace(config=config).session("a", "1")
    assert place.provider(session).taken == []
    assert texts(session.messages) == ["later"]


@pytest.mark.parametrize("back", [True, False])
def test_a_capture_that_fails_is_tried_again_when_the_tenant_comes_back_or_by_a_tick(place: Place, back: bool) -> None:
    workspace = place.workspace()
    session = workspace.session("a", "1")
    talk(session, 2)
    place.provider(session).refusal = "down"
    place.clock.pass_by(hours=1)
    assert workspace.tick() == 1
    workspace.wait(10)
    assert workspace.tick() == 0
    if back:
        workspace.close()
        workspace = place.workspace()
        session = workspace.session("a", "1")
    else:
        place.provider(session).refusal = ""
        place.clock.pass_by(seconds=31)
        assert workspace.tick() == 1
    workspace.wait(10)
    assert place.provider(session).taken[-1] == ["message 0", "message 1"]
    assert place.kinds() == ["memorize_failed", "ended"]
    assert workspace.tick() == 0


def test_a_provider_that_raises_loses_nothing(place: Place) -> None:
    workspace = place.workspace(memory_window=2)
    session = workspace.session("a", "1")

    def broken() -> None:
        raise ValueError("a bug")

    place.provider(session).before = broken
    talk(session, 3)
    workspace.wait(10)
    assert place.kinds() == ["memorize_failed"]
    assert "ValueError: a bug" in place.events[0].text
    place.provider(session).before = lambda: None
    assert session.new().ok
    assert place.provider(session).taken[-1] == ["message 0", "message 1", "message 2"]


# --- many at once --------------------------------------------------------------------------------


def test_fifty_tenants_by_eight_threads_with_room_for_six(place: Place) -> None:
    workspace = place.workspace(max_open=6, memory_window=4)

    def speak(number: int) -> None:
        tenant, turn = number % 50, number // 50
        session = workspace.session("chat", tenant)
        session.add(said(f"tenant {tenant} turn {turn}", id=f"t{turn}"))

    with ThreadPoolExecutor(8) as threads:
        for turn in range(5):
            list(threads.map(speak, range(turn * 50, turn * 50 + 50)))
    assert workspace.wait(60)
    for tenant in range(50):
        session = workspace.session("chat", tenant)
        assert texts(session.messages) == [f"tenant {tenant} turn {turn}" for turn in range(5)]
    assert len(workspace._open) <= 6
    assert "memorize_failed" not in place.kinds()


def test_many_threads_of_one_tenant_lose_nothing(place: Place) -> None:
    workspace = place.workspace(max_open=1, memory_window=10)
    session = workspace.session("a", "1")

    def speak(number: int) -> None:
        session.add(said(f"word {number}"))
        if number % 7 == 0:
            workspace.session("a", str(number + 2)).add(said("x"))

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(speak, range(60)))
    assert workspace.wait(60)
    assert sorted(texts(session.messages)) == sorted(f"word {number}" for number in range(60))
    assert session.new().ok
    with session.memory() as memory:
        [stored] = [each for each in memory.book.transcripts.sessions() if each.chat_id == "1"]
        assert len(memory.book.transcripts.turns(stored.uuid)) == 60


def test_two_turns_of_one_session_wait_for_each_other(place: Place) -> None:
    session = place.workspace().session("a", "1")
    order: list[str] = []

    def slow(messages: Any) -> str:
        order.append("in")
        time.sleep(0.05)
        order.append("out")
        return "ok"

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(lambda number: session.run(slow, f"turn {number}"), range(3)))
    assert order == ["in", "out"] * 3
    assert [message["role"] for message in session.messages] == ["user", "assistant"] * 3


# --- with a model that remembers -----------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_was_said_is_remembered_and_recalled(place: Place, language: str) -> None:
    lead, fact, question = {
        "en": ("Remember: ", "Ann's ferry to Kiel leaves at 14:30 on Fridays.", "When does the ferry leave?"),
        "zh": ("记住：", "小林的渡轮每周五14:30开往基尔。", "渡轮什么时候开？"),
    }[language]
    model = ScriptedLLM(then=extracting)
    workspace = place.workspace(noting=False, llm=model)
    session = workspace.session("telegram", language)
    session.add(said(lead + fact))
    session.add(said("OK.", "assistant"))
    done = session.new()
    assert done.ok
    assert (done.things, len(model.requests)) == (1, 1)
    assert place.kinds() == ["remembered", "ended"]
    [system, _] = session.build_messages("", question)
    assert fact in system["content"]


def test_the_flat_provider_keeps_one_page_and_its_offset(place: Place) -> None:
    saved = {
        "history_entry": "[2026-02-24 10:00] Five messages were counted.",
        "memory_update": "# Long-term memory\n\n- The user counts messages.\n",
    }
    model = ScriptedLLM([Reply(tool_calls=(ToolCall("c1", "save_memory", saved),))])
    workspace = place.workspace(noting=False, config=CONFIG._replace(provider="flat"), llm=model, memory_window=4)
    session = workspace.session("a", "b")
    talk(session, 5)
    assert workspace.wait(20)
    assert place.kinds() == ["remembered"]
    with session.memory() as memory:
        assert "Five messages were counted." in memory.get("HISTORY.md").json()["text"]
    [system, *_] = session.build_messages("", "What do I do?")
    assert "# Memory" in system["content"]
    assert "The user counts messages." in system["content"]
    assert "message 2" in str(model.requests[0].messages)
    assert "message 3" not in str(model.requests[0].messages)


KILLED = """
import sys, time
sys.path.insert(0, sys.argv[2])
from agent.model import extracting
from memorybook.agent import Workspace
from memorybook.config.settings import Config

def model(messages):
    if sys.argv[3] == "asked":
        sys.stdout.write("asked\\n")  # in one piece: a summary may be asked for at the same moment
        sys.stdout.flush()
        time.sleep(60)
    return extracting(messages)

def told(event):
    if event.kind == "remembered":
        print("remembered", flush=True)
        time.sleep(60)

workspace = Workspace(
    sys.argv[1], config=Config(timezone="UTC", vector_enabled=False), llm=model, memory_window=4, on_event=told
)
session = workspace.session("a", "b")
for number in range(6):
    lead = "Remember: " if number % 2 == 0 else ""
    content = f"{lead}The number of boat {number} is 10{number}."
    content += " It rained." * 3_000 * (number == 1)  # enough for a call of the model before the end
    session.add({"role": "assistant" if number % 2 else "user", "content": content})
time.sleep(60)
"""


@pytest.mark.parametrize("moment", ["asked", "remembered"])
def test_a_kill_in_the_midst_of_consolidation_loses_and_doubles_nothing(place: Place, moment: str) -> None:
    script = [sys.executable, "-c", KILLED, str(place.root), str(Path(__file__).parents[1]), moment]
    with subprocess.Popen(script, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == moment
        deadline = time.monotonic() + 20
        while len(list(place.root.glob("*/.memorybook/transcripts.sqlite"))) < 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.3)
        os.kill(process.pid, signal.SIGKILL)
    place.clock.pass_by(days=-1)
    workspace = place.workspace(noting=False, config=CONFIG._replace(idle_timeout=0.0), llm=extracting, memory_window=4)
    session = workspace.session("a", "b")
    said_before = texts(session.messages)
    assert len(said_before) == 6
    assert session.new().ok
    with session.memory() as memory:
        entries = sorted(known.entry.text for known in memory.entries().entries)
        assert entries == [f"The number of boat {number} is 10{number}." for number in (0, 2, 4)]
        assert {known.entry.hits for known in memory.entries().entries} == {1}
        uuid = memory.book.transcripts.sessions()[0].uuid
        assert len(memory.book.transcripts.turns(uuid)) == 6


@pytest.mark.parametrize("provider", ["tiered", "agentic"])
def test_a_session_of_thirty_turns_takes_one_call_at_its_end(place: Place, provider: str) -> None:
    asked: list[Sequence[Mapping[str, Any]]] = []

    def model(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        asked.append(messages)
        return extracting(messages)

    session = place.workspace(noting=False, config=CONFIG._replace(provider=provider), llm=model).session("a", "b")
    for number in range(30):
        session.add({"role": "user", "content": f"Remember: The number of boat {number} is 10{number}."})
        session.add({"role": "assistant", "content": f"Boat {number}, noted."})
    assert asked == []
    assert session.new().ok
    assert len(asked) == 1


SPEAKING = """
import sys
sys.path.insert(0, sys.argv[2])
from agent.model import extracting
from memorybook.agent import Workspace
from memorybook.config.settings import Config

config = Config(timezone="UTC", vector_enabled=False)
with Workspace(sys.argv[1], config=config, llm=extracting, memory_window=4) as workspace:
    session = workspace.session("a", "b")
    for number in range(8):
        session.add({"role": "user", "content": f"Remember: The number of boat {sys.argv[3]}-{number} is 10{number}."})
"""


def test_processes_serve_one_tenant_together(place: Place) -> None:
    tests = str(Path(__file__).parents[1])
    scripts = [[sys.executable, "-c", SPEAKING, str(place.root), tests, name] for name in ("x", "y")]
    processes = [subprocess.Popen(script) for script in scripts]
    assert [process.wait(60) for process in processes] == [0, 0]
    workspace = place.workspace(noting=False, config=CONFIG._replace(idle_timeout=0.0), llm=extracting)
    session = workspace.session("a", "b")
    assert workspace.wait(30)
    assert session.new().ok
    with session.memory() as memory:
        entries = memory.entries().entries
        assert sorted(known.entry.text for known in entries) == sorted(
            f"The number of boat {name}-{number} is 10{number}." for name in "xy" for number in range(8)
        )
        assert {known.entry.hits for known in entries} == {1}


def test_without_transcripts_a_session_that_is_left_is_remembered_all_the_same(place: Place) -> None:
    config = CONFIG._replace(transcripts=CONFIG.transcripts._replace(enabled=False))
    workspace = place.workspace(config=config)
    session = workspace.session("a", "1")
    talk(session, 2)
    place.clock.pass_by(hours=1)
    session.add(said("later"))
    assert workspace.wait(10)
    assert place.provider(session).taken == [["message 0", "message 1"]]
    assert texts(session.messages) == ["later"]
    assert session.compact(keep=0).messages == ()


def test_a_book_that_cannot_be_opened_is_nobody_elses_trouble(place: Place) -> None:
    workspace = place.workspace(max_open=1)
    talk(workspace.session("a", "1"), 1)
    workspace.wait(10)
    workspace.session("a", "2")
    [broken] = place.root.glob("a-1-*")
    (broken / ".memorybook" / "transcripts.sqlite").write_bytes(b"no database" * 1000)
    place.clock.pass_by(hours=1)
    assert workspace.session("a", "3").messages == ()
    assert place.kinds() == ["memorize_failed"]
    assert workspace.tick() == 0
    with pytest.raises(Unavailable):
        workspace.session("a", "1")


def test_what_is_wanted_while_the_workspace_closes_waits_on_disk(place: Place) -> None:
    workspace = place.workspace(memory_window=2)
    session = workspace.session("a", "1")
    with session.memory():
        workspace.close()
        talk(session, 3)
    assert place.provider(session).taken == []
    again = place.workspace(memory_window=2)
    session = again.session("a", "1")
    talk(session, 1, start=3)
    again.wait(10)
    assert place.provider(session).taken == [["message 0", "message 1", "message 2"]]


# --- summaries, names, what nobody ended -----------------------------------------------------------


@pytest.mark.parametrize("model", [None, lambda messages: "never asked"])
def test_the_summaries_follow_a_reply_and_what_no_model_will_answer(
    place: Place, model: Callable[..., str] | None
) -> None:
    workspace = place.workspace(llm=model)
    session = workspace.session("a", "1")
    session.add(said("We are moving to Leipzig in May because of the new job."))
    assert workspace.wait(10)
    moving = "User: We are moving to Leipzig in May because of the new job."
    with session.memory() as memory:
        assert memory.book.transcripts.told(session.uuid).session.summary == ("" if model else moving)
    session.add(said("Great!", "assistant"))
    assert workspace.wait(10)
    with session.memory() as memory:
        told = memory.book.transcripts.told(session.uuid)
        assert (told.session.summary, told.by) == (moving, "rules")
        assert list(memory.book.transcripts.chat_summaries(session.uuid).values()) == [told.session.summary]


def test_what_is_said_while_the_summaries_are_told_is_told_next(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(context: Context, session: str) -> str:
        begun.set()
        assert go_on.wait(10)
        return refresh(context, session)

    workspace = place.workspace()
    session = workspace.session("a", "1")
    monkeypatch.setattr("memorybook.agent.session.refresh", slow)
    session.add(said("We are moving to Leipzig in May because of the new job."))
    assert begun.wait(10)
    session.add(said("The flat is on the third floor above a bakery."))
    go_on.set()
    assert workspace.wait(10)
    with session.memory() as memory:
        assert "bakery" in memory.book.transcripts.told(session.uuid).session.summary


def test_a_summary_has_no_conversation_read_anew(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = place.workspace()
    session = workspace.session("a", "1")
    talk(session, 4)
    assert workspace.wait(10)
    other = place.workspace().session("a", "1")
    assert len(other.messages) == len(session.messages) == 4  # both have seen the summary that was made meanwhile
    read: list[str] = []
    turns = SqliteTranscripts.turns

    def reading(store: SqliteTranscripts, uuid: str) -> Sequence[Turn]:
        read.append(uuid)
        return turns(store, uuid)

    monkeypatch.setattr(SqliteTranscripts, "turns", reading)
    with session.memory() as memory:
        memory.book.transcripts.set_chat_summary(session.uuid, str(session.messages[0]["id"]), "of messages")
        memory.book.transcripts.append(Session(uuid="x", source="import"), [])
    assert len(other.messages) == len(session.messages) == 4
    assert read == []
    session.add(said("what another process must see"))
    assert texts(other.messages)[-1] == "what another process must see"
    assert read == [session.uuid]


def test_sessions_that_open_by_name_alone_refuse_what_comes_before(place: Place) -> None:
    config = CONFIG._replace(transcripts=CONFIG.transcripts._replace(auto_session=False))
    session = place.workspace(config=config).session("a", "1")
    with pytest.raises(InvalidInput, match=r"auto_session is false: open one by name, /new NAME"):
        session.add(said("hello"))
    assert session.run(None, "/new boats and  piers").text == "New session started."
    session.add(said("The pier is closed."))
    with session.memory() as memory:
        [kept] = memory.book.transcripts.sessions()
    assert (kept.name, kept.uuid, len(kept.turn_ids)) == ("boats and piers", session.uuid, 1)


def test_a_session_of_a_name_goes_on_until_it_is_over(place: Place) -> None:
    workspace = place.workspace()
    session = workspace.session("a", "1")
    session.new("boats")
    first = session.uuid
    assert texts(place.workspace().session("a", "1").messages) == []
    session.add(said("one"))
    again = place.workspace().session("a", "1")
    again.add(said("two"))
    assert (again.uuid, texts(session.messages)) == (first, ["one", "two"])
    session.new("planes")
    session.add(said("three"))
    for name, problem in (("boats", "'boats' already"), ("planes", "already 'planes'"), (" ", "blank")):
        with pytest.raises(InvalidInput, match=problem):
            session.new(name)
    assert texts(session.messages) == ["three"]


def test_an_open_session_of_a_name_is_gone_back_to(place: Place) -> None:
    session = place.workspace().session("a", "1")
    session.add(said("one"))
    with session.memory() as memory:
        planes = Session(uuid="x", name="planes", source="agent", channel="a", chat_id="1")
        memory.book.transcripts.append(planes, [Turn(id="t", session="x", text="said before", role="user")])
        session.new("planes")
    assert (session.uuid, texts(session.messages)) == ("x", ["said before"])


def test_each_book_takes_the_embedder_that_reads_it(tmp_path: Path) -> None:
    sees_each_book_with_its_own_embedder(Workspace(str(tmp_path / "books"), config=Config(timezone="UTC")))
