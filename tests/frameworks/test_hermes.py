"""The provider against Hermes Agent: its loader of plugins, its manager of providers, its agent."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import llm_server
import memorybook
from frameworks import page
from memorybook import tools
from memorybook.errors import InvalidInput
from memorybook.memory import Memory

pytest.importorskip("hermes_constants", reason="run by tests/frameworks/run")

from agent.memory_manager import MemoryManager
from plugins.memory import discover_memory_providers, load_memory_provider

ROOT = Path(__file__).parents[2]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of Hermes with the plugin, as a person sets it up."""
    home = tmp_path / "hermes"
    shutil.copytree(ROOT / "plugins/hermes/memorybook", home / "plugins/memorybook")
    (home / "config.yaml").write_text("memory: {provider: memorybook}\nmodel: {context_length: 131072}\n")
    monkeypatch.setenv("HERMES_HOME", str(home))
    return home


@pytest.fixture
def manager(home: Path) -> Iterator[Any]:
    manager = MemoryManager()
    manager.add_provider(load_memory_provider("memorybook"))
    yield manager
    manager.shutdown_all()


def opened(home: Path) -> Memory:
    return memorybook.open(str(home / "memorybook"))


def start(manager: Any, session: str, **more: Any) -> None:
    manager.initialize_all(session, platform="cli", **{"agent_context": "primary", **more})


def test_the_plugin_is_found_and_brings_the_tools(home: Path, manager: Any) -> None:
    [(_, told, available)] = [each for each in discover_memory_providers() if each[0] == "memorybook"]
    assert available
    assert "Markdown" in told
    assert manager.get_all_tool_names() == set(tools.offered())
    assert "memory_remember" in manager.build_system_prompt()


def test_what_was_said_is_recalled_in_other_sessions_and_remembered_at_the_end(home: Path, manager: Any) -> None:
    start(manager, "one")
    manager.sync_all("I prefer green tea in the morning, never coffee.", "Noted.", session_id="one")
    assert manager.flush_pending(10)
    assert "green tea" not in manager.prefetch_all("tea in the morning?", session_id="one")
    assert "green tea" in manager.prefetch_all("tea in the morning?", session_id="two")
    manager.commit_session_boundary_async([], new_session_id="two", reason="new_session")
    manager.sync_all("我更喜欢红茶。", "好的。")
    manager.shutdown_all()
    with opened(home) as memory:
        assert sorted(session.name for session in memory.book.transcripts.sessions()) == ["one", "two"]
        assert "prefer green tea in the morning, never coffee." in memory.recall("").text
        assert len(memory.entries().entries) == 2


def test_whoever_is_not_the_primary_agent_only_reads(home: Path, manager: Any) -> None:
    with opened(home) as memory:
        memory.remember("Ann prefers green tea.")
    start(manager, "cron", agent_context="cron")
    manager.sync_all("I prefer coffee.", "Noted.", session_id="cron")
    manager.on_memory_write("add", "user", "Ann prefers coffee.")
    assert manager.flush_pending(10)
    manager.on_session_end([])
    assert "Ann prefers green tea." in manager.prefetch_all("tea?", session_id="cron")
    with opened(home) as memory:
        assert memory.book.transcripts.counts()["turns"] == 0
        assert [known.entry.text for known in memory.entries().entries] == ["Ann prefers green tea."]


def test_the_built_in_memory_is_followed(home: Path, manager: Any) -> None:
    start(manager, "one")
    done = json.dumps({"success": True})

    def told(**arguments: Any) -> list[str]:
        manager.notify_memory_tool_write(done, {"target": "user", **arguments})
        with opened(home) as memory:
            return sorted(known.entry.text for known in memory.entries().entries)

    with opened(home) as memory:
        memory.remember("Tea from Porto is not Hermes' own.")
    assert told(action="add", content="Ann drinks tea.") == ["Ann drinks tea.", "Tea from Porto is not Hermes' own."]
    changed = told(action="replace", old_text="tea", content="Ann drinks coffee.")
    assert changed == ["Ann drinks coffee.", "Tea from Porto is not Hermes' own."]
    assert len(told(action="add", content="Ann drinks no juice.")) == 3
    for unclear in ("", "Ann"):
        assert len(told(action="remove", old_text=unclear)) == 3
    assert len(told(action="replace", old_text="", content="no juice")) == 4  # nothing is said of what it replaces
    assert len(told(action="remove", old_text=" Ann drinks no juice.\n")) == 3
    assert len(told(action="remove", old_text="juice")) == 2
    assert told(action="remove", old_text="coffee") == ["Tea from Porto is not Hermes' own."]


def test_tools_answer_json_and_say_what_is_wrong(home: Path, manager: Any) -> None:
    start(manager, "one")
    done = json.loads(manager.handle_tool_call("memory_remember", {"text": "Ann likes tea"}))
    assert '"action": "created"' in done["result"]
    wrong = json.loads(manager.handle_tool_call("memory_remember", {"text": " "}))
    assert wrong == {"result": "Error: text is blank: give some words"}
    [provider] = [each for each in manager.providers if each.name == "memorybook"]
    with pytest.raises(InvalidInput, match="memory_purge"):
        provider.handle_tool_call("memory_purge", {"query": "tea"})
    provider.shutdown()
    provider.on_memory_write("remove", "user", "tea")
    assert provider.prefetch("tea") == ""
    with pytest.raises(InvalidInput, match="initialize"):
        provider.handle_tool_call("memory_search", {"query": "tea"})


def test_the_page_is_what_happens(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    with llm_server.serve() as model:
        asked = llm_server.call(("t1", "memory_search", {"query": "tea in the morning"}))
        model.script = [llm_server.say("Noted."), asked, llm_server.say("Green tea.")]
        left = page.run("hermes", url=model.url, key=llm_server.KEY)
        left["memory"].close()
    assert left["answer"] == "Green tea."
    first, second, third = model.requests
    assert "memory_search" in {tool["function"]["name"] for tool in first["tools"]}
    assert "green tea in the morning, never coffee" in str(second["messages"])
    assert "prefers green tea in the morning" in third["messages"][-1]["content"]
