"""The plugins for agent hosts, held against what the hosts publish of their formats; `data/hosts.json` names where."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from memorybook import tools
from memorybook.hooks import event, hosts
from memorybook.hooks.hosts import HOOKED

ROOT = Path(__file__).parent.parent.parent
PLUGINS = ROOT / "plugins"
SCHEMAS = json.loads((ROOT / "tests" / "data" / "hosts.json").read_text(encoding="utf-8"))

MANIFESTS = {
    ".claude-plugin/marketplace.json": "claude-code marketplace",
    ".agents/plugins/marketplace.json": "codex marketplace",
    "plugins/claude-code/.claude-plugin/plugin.json": "claude-code plugin",
    "plugins/claude-code/hooks/hooks.json": "claude-code hooks",
    "plugins/claude-code/.mcp.json": "mcp servers",
    "plugins/codex/.codex-plugin/plugin.json": "codex plugin",
    "plugins/codex/hooks/hooks.json": "codex hooks",
    "plugins/codex/.mcp.json": "mcp servers",
    "plugins/agent-plugins/plugin.json": "agent-plugins plugin",
    "plugins/agent-plugins/mcp.json": "agent-plugins mcp",
    "plugins/gemini/gemini-extension.json": "gemini extension",
    "plugins/gemini/hooks/hooks.json": "gemini hooks",
}


def read(path: str) -> dict[str, Any]:
    value = json.loads((ROOT / path).read_text(encoding="utf-8"))
    assert isinstance(value, dict)
    return value


def check(value: object, name: str) -> None:
    jsonschema.validate(value, SCHEMAS[name], jsonschema.Draft202012Validator)


@pytest.mark.parametrize("path", MANIFESTS)
def test_every_file_is_as_its_host_wants_it(path: str) -> None:
    check(read(path), MANIFESTS[path])


def test_no_file_is_left_unchecked() -> None:
    there = {path.relative_to(ROOT).as_posix() for path in PLUGINS.rglob("*") if path.is_file()}
    assert there - set(MANIFESTS) == {
        *(f"plugins/{name}/skills/memory/SKILL.md" for name in ("claude-code", "codex", "agent-plugins")),
        "plugins/gemini/GEMINI.md",
        *(f"plugins/hermes/memorybook/{name}" for name in ("__init__.py", "plugin.yaml")),  # run by tests/frameworks
    }


def test_manifests_point_to_what_is_there_and_agree() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    [claude] = read(".claude-plugin/marketplace.json")["plugins"]
    [codex] = read(".agents/plugins/marketplace.json")["plugins"]
    assert (ROOT / claude["source"] / ".claude-plugin" / "plugin.json").is_file()
    assert (ROOT / codex["source"]["path"] / ".codex-plugin" / "plugin.json").is_file()
    manifest = read("plugins/codex/.codex-plugin/plugin.json")
    assert all((PLUGINS / "codex" / manifest[name]).exists() for name in ("skills", "mcpServers", "hooks"))
    manifests = [
        read(path) for path in MANIFESTS if path.startswith("plugins/") and "hooks" not in path and "mcp" not in path
    ]
    assert {(each["name"], each["version"]) for each in [*manifests, claude]} == {("memorybook", version)}


def command_of(host: str, name: str) -> str:
    """The command line for an event in a plugin, which knows no paths; it never fails."""
    ingest = " --ingest" if event.KINDS[name] in event.INGEST else ""
    return f"memorybook-hook {name} --host {host}{ingest} || exit 0"


@pytest.mark.parametrize("host", HOOKED)
def test_hooks_of_a_plugin_are_those_that_would_be_installed(host: str) -> None:
    hooks = hosts.hooks_of(host, partial(command_of, host))
    assert read(f"plugins/{host}/hooks/hooks.json") == {"hooks": hooks}
    check({"hooks": hosts.hooks_of(host, lambda name: hosts.hook_command(host, name, "/b"))}, f"{host} hooks")
    for [group] in hooks.values():
        words = shlex.split(group["hooks"][0]["command"].removesuffix(" || exit 0"))
        assert words[0] == "memorybook-hook"
        assert event.command(words[1:]) is not None


def test_all_tell_the_model_the_same() -> None:
    skills = {path.read_text(encoding="utf-8") for path in PLUGINS.glob("*/skills/memory/SKILL.md")}
    assert len(skills) == 1
    [skill] = skills
    _, front, body = skill.split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in front.splitlines())
    assert fields["name"] == "memory"  # the folder's, as agentskills.io/specification wants it
    assert 0 < len(fields["description"]) <= 1024
    assert (PLUGINS / "gemini" / "GEMINI.md").read_text(encoding="utf-8") == body.lstrip("\n")
    named = set(re.findall(r"`(memory_\w+|recall_\w+)`", body))
    assert named <= set(tools.TOOLS)
    assert len(named) >= 6


@pytest.mark.parametrize("name", ["SessionStart", "UserPromptSubmit"])
def test_answers_are_what_codex_takes(capfd: pytest.CaptureFixture[str], name: str) -> None:
    event.respond(name, 'The "quay" is teal \U0001f6a2 码头\n')
    answer = json.loads(capfd.readouterr().out)
    check(answer, f"codex {name} answer")
    assert answer["hookSpecificOutput"]["additionalContext"] == 'The "quay" is teal \U0001f6a2 码头\n'
