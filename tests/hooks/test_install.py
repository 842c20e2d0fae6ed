"""Hooks in the settings of agent hosts, and a recorded session all the way through them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hosted import SESSION
from memorybook.cli import main
from memorybook.errors import InvalidInput
from memorybook.hooks import event, hosts
from memorybook.hooks.hosts import HOOKED, file_of, places
from memorybook.sessions import event_queue

FILES = {"claude-code": ".claude/settings.json", "codex": ".codex/hooks.json", "gemini": ".gemini/settings.json"}


def kept_in(path: Path) -> dict[str, Any]:
    value = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(value, dict)
    return value


def test_the_program_that_hosts_call_knows_their_names_and_events() -> None:
    assert (*HOOKED,) == event.HOSTS
    assert {name for hooks in HOOKED.values() for name in hooks.events} == set(event.KINDS)


@pytest.mark.parametrize("host", HOOKED)
def test_hooks_are_put_beside_everybody_elses_and_taken_out_again(
    tmp_path: Path, host: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "home" / FILES[host]
    path.parent.mkdir(parents=True)
    theirs: dict[str, Any] = {
        "model": "m",
        "hooks": {
            "Stop": [
                {"matcher": "", "hooks": [{"type": "command", "command": "say done"}]},
                None,
                {},
                {"hooks": [{"command": "/usr/bin/my-memorybook-hook-logger Stop"}]},
                {"hooks": [{"command": "cat '/home/me/notes about memorybook-hook.txt'"}, {"command": "say 'open"}]},
            ],
            "SessionStart": [
                {"hooks": [{"type": "command", "command": "memorybook-hook SessionStart"}, {"command": "theirs"}]},
                {
                    "hooks": [
                        {"command": r'"C:\py.exe" -I -S "C:\lib\memorybook\hooks\command.py" SessionStart --host x'}
                    ]
                },
            ],
        },
    }
    before = json.dumps(theirs, indent=4)
    path.write_text(before, encoding="utf-8")
    assert main(["hook", "install", "--host", host]) == 0
    written = kept_in(path)
    assert written["model"] == "m"
    assert written["hooks"]["Stop"][:5] == theirs["hooks"]["Stop"]
    assert written["hooks"]["SessionStart"][:-1] == [{"hooks": [{"command": "theirs"}]}]
    assert Path(f"{path}.memorybook-backup").read_text(encoding="utf-8") == before
    for name in HOOKED[host].events:
        [ours] = written["hooks"][name][-1]["hooks"]
        assert ours["command"].split()[0] == sys.executable
        assert ours["timeout"] >= 5 * HOOKED[host].second
        assert ours["timeout"] > event.LIMIT * HOOKED[host].second
    capsys.readouterr()
    assert main(["hook", "install", "--host", host, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["action"] == "unchanged"
    assert main(["hook", "uninstall", "--host", host]) == 0
    theirs["hooks"]["SessionStart"] = [{"hooks": [{"command": "theirs"}]}]
    assert kept_in(path) == theirs


def test_of_a_file_that_was_not_there_nothing_stays(tmp_path: Path) -> None:
    path = tmp_path / "project" / ".codex" / "hooks.json"
    assert main(["hook", "uninstall", "--host", "codex", "--scope", "project"]) == 0
    assert not path.exists()
    assert main(["hook", "install", "--host", "codex", "--scope", "project", "--book", str(tmp_path / "my book")]) == 0
    assert f"--book '{tmp_path / 'my book'}'" in kept_in(path)["hooks"]["Stop"][0]["hooks"][0]["command"]
    assert main(["hook", "uninstall", "--host", "codex", "--scope", "project"]) == 0
    assert not path.exists()


@pytest.mark.parametrize("text", ["[]", '{"hooks": 7}', '{"hooks": {"Stop": 7}}'])
def test_a_file_that_cannot_be_changed_without_loss_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match="left as it is"):
        hosts.install_hooks(str(path), hosts.hooks_of("claude-code", "memorybook-hook {}".format))
    assert path.read_text(encoding="utf-8") == text


def test_what_would_be_written_can_be_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hook", "install", "--host", "gemini", "--print", "--no-ingest"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert set(shown["hooks"]) == {"SessionStart", "BeforeAgent", "AfterAgent", "PreCompress", "SessionEnd"}
    assert "--ingest" not in json.dumps(shown)
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    "words",
    [
        "hook", "hook x", "hook install", "hook install --host x", "hook ingest --print",
        "hook install --host codex --scope x",
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(words: str) -> None:
    assert main(words.split()) == 2


def test_a_path_that_no_settings_file_can_hold_is_refused() -> None:
    with pytest.raises(InvalidInput, match="not UTF-8"):
        hosts.hook_command("codex", "SessionStart", "/b\udcff")
    at = places({"HOME": "/h", "CODEX_HOME": "/c"})
    assert file_of("codex", "user", at=at, folder="/", among=HOOKED) == "/c/hooks.json"


def run(settings_file: Path, name: str, **fields: Any) -> str:
    """Do as the host does: what the settings say, through a shell, with the event on stdin."""
    [hook] = kept_in(settings_file)["hooks"][name][-1]["hooks"]
    told = json.dumps({"session_id": SESSION, "hook_event_name": name, **fields}).encode()
    done = subprocess.run(
        hook["command"], shell=True, input=told, capture_output=True, timeout=hook["timeout"] * 6, check=True
    )
    assert done.stderr == b""
    return done.stdout.decode()


def test_a_recorded_session_goes_through_the_hooks_as_they_were_installed_and_is_found(
    tmp_path: Path, book: Path, transcript: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Install, then what Claude Code calls from the beginning of a session to its end, then a search for it."""
    assert main(["--book", str(book), "hook", "install", "--host", "claude-code"]) == 0
    path = tmp_path / "home" / ".claude" / "settings.json"
    given = {"transcript_path": str(transcript), "cwd": str(tmp_path)}
    assert run(path, "SessionStart", source="startup", **given) == ""
    assert run(path, "UserPromptSubmit", prompt="We decided to move the harbour API to port 8443.", **given) == ""
    assert run(path, "Stop", stop_hook_active=False, **given) == ""
    assert run(path, "SessionEnd", reason="prompt_input_exit", **given) == ""
    patience = time.monotonic() + 60
    while event_queue.names(str(book / ".memorybook")) and time.monotonic() < patience:
        time.sleep(0.05)
    capsys.readouterr()
    for question, found in (("which port is the harbour API on?", "8443"), ("生产环境用的是什么集群？", "蓝鲸")):
        assert main(["--book", str(book), "search", question, "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert answer["has_relevant"]
        assert found in answer["results"][0]["snippet"]
    assert "蓝鲸" in run(path, "SessionStart", session_id="next", source="startup", **given).encode().decode(
        "unicode_escape"
    )
