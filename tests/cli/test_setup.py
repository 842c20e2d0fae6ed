"""The verbs setup and doctor: hosts found, set up, checked and let go again, on a machine with three hosts."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from importlib import util
from pathlib import Path
from typing import Any

import pytest

import llm_server
from cli.conftest import Shell
from memorybook.cli.call import Call
from memorybook.hooks.hosts import HOOKED, HOSTS, file_of, hooks_in, places, server_in, sign_of

CODEX = '# mine\nmodel = "gpt" # the good one\n\n[mcp_servers.other]\ncommand = "x"\n'
VSCODE = '{\n  // my servers\n  "servers": {\n    "other": {"command": "x"}, // fast\n  },\n}\n'
CLAUDE = '{\n  "theme": "dark"\n}\n'


@pytest.fixture
def home(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with the settings of three hosts, and none of their programs."""
    monkeypatch.setenv("PATH", str(nowhere))
    files = {
        ".codex/config.toml": CODEX,
        ".config/Code/User/mcp.json": VSCODE,
        ".claude/settings.json": CLAUDE,
    }
    root = nowhere.parent / "home"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def held(home: Path) -> dict[str, str]:
    """Every file of hosts, by its path."""
    found = [path for path in home.rglob("*") if path.is_file() and ".memorybook/" not in str(path)]
    return {str(path.relative_to(home)): path.read_text(encoding="utf-8") for path in sorted(found)}


def doctored(shell: Shell, *words: str) -> tuple[int, list[dict[str, str]]]:
    done = shell("doctor", *words, "--json")
    return done.code, json.loads(done.out)["checks"]


def test_three_hosts_are_set_up_and_left_as_they_were(shell: Shell, home: Path) -> None:
    before = held(home)
    done = shell("setup", "--yes")
    assert done.code == 0, done.err
    at = places(os.environ)
    for name in ("claude-code", "codex", "vscode"):
        assert server_in(name, file_of(name, "user", at=at, folder="/")), name
    for name in ("claude-code", "codex"):
        assert hooks_in(file_of(name, "user", at=at, folder="/", among=HOOKED)).keys() == {*HOOKED[name].events}
    after = held(home)
    assert after[".codex/config.toml"].startswith(CODEX)
    assert "// my servers" in after[".config/Code/User/mcp.json"]
    assert "// fast" in after[".config/Code/User/mcp.json"]
    assert tomllib.loads(after[".codex/config.toml"])["mcp_servers"]["other"] == {"command": "x"}
    assert [each for each in before if after[f"{each}.memorybook-backup"] != before[each]] == []
    assert "no hooks: nothing happens by itself in VS Code" in done.out
    assert done.out.count("no hooks") == 1
    assert "All is well." in done.out
    assert "memorybook setup --undo" in done.out
    assert next((home / ".memorybook").glob("*/MEMORY.md")).is_file()

    again = shell("setup", "--yes")
    assert (again.code, held(home)) == (0, after), "a second time changes nothing"
    assert "set up already" in again.out

    gone = shell("setup", "--undo", "--yes")
    assert gone.code == 0
    assert {name: text for name, text in held(home).items() if "memorybook-backup" not in name} == before
    assert next((home / ".memorybook").glob("*/MEMORY.md")).is_file(), "the book stays"
    assert "nothing to take back" in shell("setup", "--undo", "--yes").out


def test_a_plan_writes_nothing(shell: Shell, home: Path) -> None:
    before = held(home)
    done = shell("setup", "--print")
    assert done.code == 0
    assert [word in done.out for word in ("Claude Code", "Codex", "VS Code", "will be changed")] == [True] * 4
    assert [word in done.out for word in ("Cursor", "OpenClaw", "Gemini CLI")] == [False] * 3
    assert held(home) == before
    assert not (home / ".memorybook").exists()
    plan = json.loads(shell("setup", "--print", "--json").out)
    assert [each["host"] for each in plan["hosts"]] == ["claude-code", "codex", "vscode"]
    assert not (home / ".memorybook").exists()


def test_it_asks_once_and_no_is_no(shell: Shell, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = held(home)
    refused = shell("setup")
    assert refused.code == 2
    assert "--yes" in refused.err
    asked = list[str]()
    monkeypatch.setattr(Call, "confirm", lambda call, question: asked.append(question))
    monkeypatch.setattr("memorybook.cli.setup.Setup.steps", _dry_only)
    assert "will be changed" in shell("setup").out
    assert len(asked) == 1
    assert held(home) == before


def _dry_only(setup: Any, *, dry: bool, steps: Any = None) -> Any:
    from memorybook.cli.setup import Step

    return [Step("codex", "mcp", "/nowhere/config.toml", "written")] if dry else []


def test_hosts_without_settings_are_found_by_their_program(home: Path, nowhere: Path) -> None:
    at = places(os.environ)
    assert [name for name in HOSTS if sign_of(name, at)] == ["claude-code", "codex", "vscode"]
    program = nowhere / "gemini"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    assert sign_of("gemini", at) == str(program)


def test_what_is_chosen_is_set_up_alone_and_with_the_book_that_is_named(
    shell: Shell, home: Path, nowhere: Path
) -> None:
    done = shell("setup", "--host", "cursor", "--book", str(nowhere / "茶"), "--yes")
    assert done.code == 0, done.out
    entry = server_in("cursor", str(home / ".cursor" / "mcp.json"))
    assert entry is not None
    assert entry["args"][-3:] == ["--book", str(nowhere / "茶"), "mcp"]
    assert (nowhere / "茶" / "MEMORY.md").is_file()
    assert ".claude.json" not in held(home)
    assert "Claude Code" not in done.out
    assert shell("setup", "--host", "emacs", "--print").code == 2


def test_no_host_at_all_still_makes_a_book(shell: Shell, nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(nowhere))
    done = shell("setup", "--yes")
    assert done.code == 0
    assert "No agent host was found" in done.out
    assert list((nowhere.parent / "home" / ".memorybook").glob("*/MEMORY.md"))


def test_a_missing_package_is_told_with_its_command_and_hooks_are_set_up_all_the_same(
    shell: Shell, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name, *more: None if name == "mcp" else find(name, *more))
    done = shell("setup", "--yes")
    assert done.code == 1
    assert f"pip --python {sys.executable} install 'mcp" in done.out
    assert ".codex/hooks.json" in held(home)
    assert ".claude.json" not in held(home)
    assert done.out.count("then memorybook setup again") == 1
    assert "Not everything is set up yet" in done.out


def test_a_file_that_cannot_be_changed_stops_no_other(shell: Shell, home: Path) -> None:
    (home / ".claude.json").write_text("[]", encoding="utf-8")
    done = shell("setup", "--yes")
    assert done.code == 1
    assert "left as it is" in done.out
    assert "memorybook mcp install --host claude-code --print" in done.out
    assert (home / ".claude.json").read_text(encoding="utf-8") == "[]"
    assert "memorybook" in held(home)[".codex/config.toml"]


def test_a_book_that_cannot_be_made_is_told_with_the_reason(shell: Shell, home: Path) -> None:
    done = shell("--book", "/proc/nowhere/book", "setup", "--host", "cursor", "--yes")
    assert done.code == 1
    assert "could not be made:" in done.out
    assert "What happens next" in done.out, "hosts are set up all the same"
    off = shell("setup", "--host", "cursor", "--yes", "--set", "enabled=false")
    assert off.code == 1
    assert "memory is switched off" in off.out
    assert "There is no book" not in off.out


def test_chinese_is_spoken_where_the_machine_or_the_setting_does(
    shell: Shell, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "将修改" in shell("setup", "--print", "--set", "language=zh").out
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    done = shell("setup", "--yes")
    assert done.code == 0
    assert [word in done.out for word in ("已写入", "一切正常", "接下来")] == [True] * 3
    assert "All is well." in shell("doctor", "--set", "language=en").out


# --- doctor ----------------------------------------------------------------------------------------


def test_a_book_that_is_well_and_the_users_own_is_not_touched(shell: Shell, home: Path) -> None:
    shell("add", "The heron sleeps at noon.")
    book = next((home / ".memorybook").glob("*/MEMORY.md"))
    before = book.read_bytes()
    operations = json.loads(shell("history", "--json").out)
    code, checks = doctored(shell)
    assert code == 0
    assert {each["check"] for each in checks if each["state"] == "good"} == {
        "settings", "book", "index", "queue", "round_trip", "model",
    }  # fmt: skip
    assert book.read_bytes() == before
    assert json.loads(shell("history", "--json").out) == operations
    assert [each["fix"] for each in checks if each["state"] == "note"] == ["memorybook setup"] * 3


def test_what_is_missing_or_cannot_be_read_is_told_with_its_fix(shell: Shell, home: Path, nowhere: Path) -> None:
    code, checks = doctored(shell)
    [absent] = [each for each in checks if each["state"] == "bad"]
    assert (code, absent["check"]) == (1, "book")
    assert "memorybook init" in absent["fix"]
    (nowhere / "memorybook.toml").write_text("max_results = 'many'\n", encoding="utf-8")
    code, [wrong] = doctored(shell)
    assert (code, wrong["check"], wrong["state"]) == (1, "settings", "bad")
    assert "max_results" in wrong["told"]
    assert wrong["fix"]


@pytest.mark.parametrize(("language", "said"), [("en", "Remove fts_enabled"), ("zh", "请从设置中删去 fts_enabled")])
def test_each_degraded_reason_is_explained_with_its_fix(
    language: str, said: str, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell("init")
    monkeypatch.setenv("MEMORYBOOK_FTS_ENABLED", "false")
    monkeypatch.setenv("MEMORYBOOK_LANGUAGE", language)
    code, checks = doctored(shell)
    assert code == 1
    assert [said in each["fix"] for each in checks if each["state"] == "bad"] == [True], "once"
    assert said in shell("doctor").out
    assert "memorybook doctor" in shell("status").err


def test_entries_that_start_nothing_any_more_are_told(shell: Shell, home: Path) -> None:
    assert shell("setup", "--yes").code == 0
    moved = (home / ".codex" / "config.toml").read_text(encoding="utf-8").replace(sys.executable, "/gone/python")
    (home / ".codex" / "config.toml").write_text(moved, encoding="utf-8")
    hooks = (
        (home / ".claude" / "settings.json")
        .read_text(encoding="utf-8")
        .replace("/memorybook/hooks/", "/old/memorybook/hooks/")
    )
    (home / ".claude" / "settings.json").write_text(hooks, encoding="utf-8")
    (home / ".config" / "Code" / "User" / "mcp.json").write_text("{", encoding="utf-8")
    code, checks = doctored(shell)
    bad = {each["told"].partition(":")[0]: each for each in checks if each["state"] == "bad"}
    assert (code, sorted(bad)) == (1, ["Claude Code", "Codex", "VS Code"])
    assert "/gone/python does not start: No such file or directory" in bad["Codex"]["told"]
    assert "memorybook setup --host codex" in bad["Codex"]["fix"]
    (home / ".config" / "Code" / "User" / "mcp.json").unlink()
    assert shell("setup", "--yes").code == 0
    assert doctored(shell)[0] == 0


def test_nothing_that_a_cloned_project_names_is_run(shell: Shell, home: Path, nowhere: Path) -> None:
    shell("init")
    trap = nowhere / "memorybook" / "hooks" / "command.py"
    trap.parent.mkdir(parents=True)
    trap.write_text(f"#!/bin/sh\ntouch {nowhere}/ran\necho usage: memorybook\n", encoding="utf-8")
    trap.chmod(0o755)
    server = {"mcpServers": {"memorybook": {"command": str(trap), "args": ["mcp"]}}}
    (nowhere / ".mcp.json").write_text(json.dumps(server), encoding="utf-8")
    (nowhere / ".claude").mkdir()
    hook = {"hooks": {"Stop": [{"hooks": [{"command": f"sh {trap} Stop"}]}]}}
    (nowhere / ".claude" / "settings.json").write_text(json.dumps(hook), encoding="utf-8")
    code, checks = doctored(shell)
    assert (code, (nowhere / "ran").exists()) == (0, False)
    assert sum("does not run" in each["told"] for each in checks) == 2
    (nowhere / ".mcp.json").unlink()
    (nowhere / ".claude" / "settings.json").unlink()
    assert shell("hook", "install", "--host", "claude-code", "--scope", "project").code == 0
    assert shell("mcp", "install", "--host", "claude-code", "--scope", "project").code == 0
    _, checks = doctored(shell)
    assert sum("set up and start" in each["told"] for each in checks) == 2, "our own are run"


def test_entries_of_any_shape_are_no_surprise(shell: Shell, home: Path) -> None:
    shell("init")
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    for entry, state in (
        ({"url": "https://h/mcp"}, "note"),
        ({"command": 7}, "note"),
        ({"command": "/no", "args": None}, "bad"),
    ):
        path.write_text(json.dumps({"mcpServers": {"memorybook": entry}}), encoding="utf-8")
        _, checks = doctored(shell)
        assert [each["state"] for each in checks if each["told"].startswith("Cursor")] == [state]


def test_the_model_is_asked_if_one_is_set(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorybook.inference.llm.time.sleep", lambda seconds: None)  # no pause between two tries
    shell("init")
    with llm_server.serve() as service:
        monkeypatch.setenv("MEMORYBOOK_LLM_BASE_URL", service.url)
        monkeypatch.setenv("MEMORYBOOK_LLM_API_KEY", llm_server.KEY)
        monkeypatch.setenv("MEMORYBOOK_LLM_MODEL", "m")
        code, checks = doctored(shell)
        assert (code, checks[-1]["check"], checks[-1]["state"]) == (0, "model", "good")
        assert len(service.requests) == 1
    code, checks = doctored(shell)
    assert (code, checks[-1]["check"], checks[-1]["state"]) == (1, "model", "bad")
    assert "llm.base_url" in checks[-1]["fix"]


def test_what_waits_is_told(shell: Shell, home: Path) -> None:
    from memorybook.sessions import event_queue

    shell("init")
    machine = next((home / ".memorybook").glob("*/MEMORY.md")).parent / ".memorybook"
    event_queue.put(str(machine), {"host": "claude-code", "kind": "end", "session_id": "s", "cwd": str(home)})
    _, checks = doctored(shell)
    [waits] = [each for each in checks if each["check"] == "queue"]
    assert (waits["state"], "memorybook hook ingest" in waits["fix"]) == ("note", True)
