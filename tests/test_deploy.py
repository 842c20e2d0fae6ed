"""The files of `deploy/`: linted where the linters are, and their commands run without a container."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from memorybook.cli import _verb_position
from memorybook.cli.call import Parser

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
PROGRAM = str(Path(sysconfig.get_path("scripts"), "memorybook"))
UNITS = sorted(DEPLOY.glob("*.service"))


def instructions(path: Path) -> list[tuple[str, str]]:
    """Each instruction of a Containerfile with its words."""
    text = re.sub(r"^#.*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE).replace("\\\n", " ")
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in text.splitlines() if line)]


CONTAINER = instructions(DEPLOY / "Containerfile")


def last(word: str) -> str:
    return [rest for name, rest in CONTAINER if name == word][-1]


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    return found


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def environment(**more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return kept | more


def test_the_command_of_the_container_serves_and_its_health_check_tells(tmp_path: Path) -> None:
    data, port = str(tmp_path / "data"), str(free_port())
    Path(data).mkdir(mode=0o700)
    said = [*json.loads(last("ENTRYPOINT")), *json.loads(last("CMD"))]
    assert said[0] == "memorybook"
    command = [PROGRAM, *(word.replace("/data", data) for word in said[1:])]
    check = [word.replace("8765", port) for word in json.loads(last("HEALTHCHECK").partition("CMD ")[2])]
    assert check[0] == "python"
    check[0] = sys.executable
    env = dict(pair.split("=", 1) for pair in last("ENV").split())
    env = {name: value.replace("/data", data) for name, value in env.items() if name != "PATH"}
    env = environment(**env, MEMORYBOOK_SERVER_PORT=port)
    assert subprocess.run(check, env=env, capture_output=True, check=False).returncode == 1
    with subprocess.Popen(command, cwd=data, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline().startswith(b"serving ")
        assert subprocess.run(check, env=env, capture_output=True, check=False).returncode == 0
        token = Path(data, "state", "memorybook", "token").read_text(encoding="ascii").strip()
        asked = urllib.request.Request(
            f"http://127.0.0.1:{port}/api/v1/entries",
            data=json.dumps({"text": "The user prefers green tea."}).encode(),
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(asked, timeout=30) as answer:
            assert answer.status == 200
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 0
    assert "green tea" in Path(data, "book", "MEMORY.md").read_text(encoding="utf-8")


def test_the_container_is_small_pinned_and_nobody_s_root() -> None:
    python = dict(rest.split("=") for word, rest in CONTAINER if word == "ARG")["PYTHON"]
    assert re.fullmatch(r"3\.\d+-slim-\w+", python)
    assert last("USER").split(":")[0].isdigit()
    assert last("VOLUME") == "/data"
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8")
    for word, rest in CONTAINER:
        if word == "COPY" and not rest.startswith("--from"):
            for source in rest.split()[:-1]:
                assert (ROOT / source).exists()
                assert f"!{source}\n" in ignored
        if word == "RUN" and (extras := re.search(r"pip install .*'\.\[(.*)\]'", rest)):
            known = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
            assert all(f"\n{extra} = [" in known for extra in extras[1].split(","))


def test_compose_names_no_secret_and_what_its_file_of_secrets_explains() -> None:
    services = compose()["services"]
    asked = set(re.findall(r"\$\{(\w+):\?", (DEPLOY / "compose.yaml").read_text(encoding="utf-8")))
    explained = re.findall(r"^(\w+)=(.*)$", (DEPLOY / "env.example").read_text(encoding="utf-8"), re.MULTILINE)
    assert {name: "" for name in asked} == dict(explained)
    for service in services.values():
        secrets = {name: value for name, value in service["environment"].items() if re.search("PASSWORD|TOKEN", name)}
        assert secrets
        assert all(value.startswith("${") for value in secrets.values())
        assert all(published.startswith("127.0.0.1:") for published in service.get("ports", ()))
        assert not service["image"].endswith(":latest")
    mounted = [volume.split(":")[0] for volume in services["db"]["volumes"] if volume.startswith(".")]
    assert [name for name in mounted if not (DEPLOY / name).is_file()] == []
    assert (DEPLOY / "../" / services["upgrade"]["build"]["dockerfile"]).is_file()


def commands() -> list[list[str]]:
    """The words after `memorybook` wherever it is called."""
    called = [service["command"] for service in compose()["services"].values() if "command" in service]
    for unit in UNITS:
        line = re.search(r"^ExecStart=(\S*memorybook) (.*)$", unit.read_text(encoding="utf-8"), re.MULTILINE)
        assert line, unit
        called.append(line[2].split())
    return [*called, json.loads(last("CMD"))]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_commands_are_ones_that_memorybook_takes(words: list[str]) -> None:
    at = _verb_position(words)
    assert at is not None
    Parser(words[at]).parse(words[:at] + words[at + 1 :])


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
def test_systemd_reads_the_units(unit: Path, tmp_path: Path) -> None:
    text = re.sub(
        r"^ExecStart=\S+", f"ExecStart={sys.executable}", unit.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    (tmp_path / unit.name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", str(tmp_path / unit.name)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("hadolint") is None, reason="hadolint is not installed")
def test_hadolint_has_nothing_to_say() -> None:
    subprocess.run(["hadolint", str(DEPLOY / "Containerfile")], check=True)
