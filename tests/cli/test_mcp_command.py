"""The verb mcp: setting hosts up, and the server that they start."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import anyio
import pytest

import memorybook
from cli.conftest import Shell
from mcp import Client, StdioServerParameters
from memorybook.hooks.hosts import HOSTS, file_of, places

Started = tuple[str, tuple[str, ...]]


def settings_of(host: str) -> Path:
    return Path(file_of(host, "user", at=places(os.environ), folder="/nowhere"))


def server_of(host: str) -> Started:
    """What a host starts, read from its settings as the host reads them."""
    text = settings_of(host).read_text(encoding="utf-8")
    found: Any = tomllib.loads(text) if host == "codex" else json.loads(text)
    for key in (*HOSTS[host].keys, "memorybook"):
        found = found[key]
    return found["command"], tuple(found["args"])


async def spoken(started: Started, mode: str, calls: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """What a server that a host starts answers."""
    command, arguments = started
    server = StdioServerParameters(command=command, args=[*arguments], cwd=os.getcwd())
    async with Client(server, mode=mode) as client:
        answers = []
        for name, given in calls:
            result = await client.call_tool(name, given)
            answers.append(result.structured_content or {"refused": str(result.content)})
        return answers


def test_what_is_written_for_each_host_starts_the_server_of_one_book(shell: Shell, nowhere: Path) -> None:
    """Remembered through one host, found, opened, changed and forgotten through another, in either other era."""
    assert [shell("mcp", "install", "--host", host).code for host in HOSTS] == [0] * len(HOSTS)
    (nowhere / "typing.py").write_text("raise SystemExit('what lies in a project is not to be run')", encoding="utf-8")
    follows, named = sorted({server_of(host) for host in HOSTS}, key=lambda started: len(started[1]))
    assert [host for host in HOSTS if server_of(host) == follows] == ["claude-code", "codex", "gemini"]
    rounds = [("The staging port is 8443", "staging port", (follows, "auto"), (named, "legacy"))]
    rounds += [("我对花生过敏", "过敏", (named, "legacy"), (follows, "auto"))]
    for text, query, first, then in rounds:
        [remembered] = anyio.run(spoken, *first, [("memory_remember", {"text": text})])
        id = remembered["entry"]["id"]
        asked = [
            ("memory_search", {"query": query}),
            ("memory_get", {"target": id}),
            ("memory_update", {"id": id, "text": f"{text}!"}),
            ("memory_forget", {"target": id}),
            ("memory_forget", {"target": id, "yes": True}),
        ]
        found, opened, changed, refused, forgotten = anyio.run(spoken, *then, asked)
        assert [hit["id"] for hit in found["results"]] == [id]
        assert opened["entry"]["text"] == text
        assert changed["entry"]["text"] == f"{text}!"
        assert "a person has to agree" in refused["refused"]
        assert forgotten["receipt"]["entries"] == [id]
    assert json.loads(shell("list", "--json").out)["total"] == 0


def test_the_server_speaks_the_protocol_alone_and_a_signal_closes_the_book(nowhere: Path) -> None:
    """Greeted, it has opened nothing; told to stop, it stops at once though its stdin is open."""
    book = nowhere / "book"
    command = [sys.executable, "-P", "-m", "memorybook", "--book", str(book), "mcp"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None

        def say(**message: Any) -> None:
            assert server.stdin is not None
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            server.stdin.flush()

        host = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        say(id=1, method="initialize", params=host)
        assert json.loads(server.stdout.readline())["result"]["serverInfo"]["name"] == "memorybook"
        say(method="notifications/initialized")
        say(id=2, method="tools/list")
        assert len(json.loads(server.stdout.readline())["result"]["tools"]) == 15
        assert not book.exists()
        say(id=3, method="tools/call", params={"name": "memory_append", "arguments": {"text": "the server ran"}})
        assert json.loads(server.stdout.readline())["result"]["isError"] is False
        say(id=4, method="tools/call", params={"name": "memory_append", "arguments": {"text": "cut in two \ud83c"}})
        assert json.loads(server.stdout.readline())["id"] == 4
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 128 + signal.SIGTERM
        assert server.stdout.read() == b""
        assert server.stderr is not None
        assert server.stderr.read() == b""
    assert "the server ran" in next((book / "daily").iterdir()).read_text(encoding="utf-8")


def test_a_host_that_is_gone_leaves_no_server_behind(nowhere: Path) -> None:
    """Not even one that waits for a language model."""
    with memorybook.open(str(nowhere / "book")) as memory:
        id = memory.remember("likes tea").known.entry.id
    host = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    asked = {"name": "memory_update", "arguments": {"id": id, "instruction": "make it shorter"}}
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(20)
        model = ["--set", "llm.model=x", "--set", f"llm.base_url=http://127.0.0.1:{silent.getsockname()[1]}/v1"]
        command = [sys.executable, "-P", "-m", "memorybook", "--book", str(nowhere / "book"), *model, "mcp"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
            assert server.stdin is not None
            for number, (method, params) in enumerate([("initialize", host), ("tools/call", asked)]):
                said = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                server.stdin.write(json.dumps(said).encode() + b"\n")
                server.stdin.flush()
            with silent.accept()[0]:  # it waits for the answer by now
                server.stdin.close()
                assert server.wait(10) == 0
            assert server.stderr is not None
            assert server.stderr.read() == b""


def test_setting_up_says_where_what_it_was_before_and_whose_book(shell: Shell, nowhere: Path) -> None:
    path = settings_of("claude-desktop")
    path.parent.mkdir(parents=True)
    path.write_text('{"theme": "dark"}', encoding="utf-8")
    done = shell("mcp", "install", "--host", "claude-desktop", "--book", "tea")
    assert done.out.splitlines() == [f"written {path}", f"before: {path}.memorybook-backup", f"book: {nowhere / 'tea'}"]
    assert "start the host anew" in done.err
    assert server_of("claude-desktop")[1][-3:] == ("--book", str(nowhere / "tea"), "mcp")
    assert shell("mcp", "install", "--host", "claude-desktop", "--book", "tea").out == f"unchanged {path}\n"
    assert shell("mcp", "uninstall", "--host", "claude-desktop").out.startswith(f"removed {path}\n")
    assert json.loads(path.read_text(encoding="utf-8")) == {"theme": "dark", "mcpServers": {}}


def test_a_project_has_settings_of_its_own_with_its_book(shell: Shell, nowhere: Path) -> None:
    shown = json.loads(shell("mcp", "install", "--host", "claude-code", "--scope", "project", "--json").out)
    assert (shown["action"], shown["path"]) == ("written", str(nowhere / ".mcp.json"))
    assert shown["book"] in shown["entry"]["args"]
    assert json.loads((nowhere / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"]["memorybook"] == shown["entry"]


def test_printing_writes_nothing(shell: Shell) -> None:
    done = shell("mcp", "install", "--host", "codex", "--print")
    command, arguments = sys.executable, ["-P", "-m", "memorybook", "mcp"]
    assert tomllib.loads(done.out) == {"mcp_servers": {"memorybook": {"command": command, "args": arguments}}}
    assert str(settings_of("codex")) in done.err
    assert json.loads(shell("mcp", "install", "--host", "codex", "--print", "--json").out)["action"] == "none"
    assert not settings_of("codex").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["mcp", "install"], "mcp install needs --host: one of claude-code, claude-desktop,"),
        (["mcp", "instal"], "mcp knows install and uninstall, not 'instal'"),
        (["mcp", "--host", "cursor"], "--host is for mcp install and mcp uninstall"),
        (["mcp", "install", "--host", "emacs"], "host 'emacs' is not one of"),
    ],
)
def test_a_wrong_word_is_told(words: list[str], told: str, shell: Shell) -> None:
    done = shell(*words)
    assert done.code == 2
    assert told in done.err


def test_without_the_package_the_install_command_is_told(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("memorybook.mcp")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    monkeypatch.setitem(sys.modules, "mcp", None)
    for words in (["mcp"], ["mcp", "install", "--host", "cursor"]):
        done = shell(*words)
        assert done.code == 5
        assert f"pip --python {sys.executable} install 'mcp" in done.err
    assert not settings_of("cursor").exists()
    assert shell("mcp", "install", "--host", "cursor", "--print").code == 0
