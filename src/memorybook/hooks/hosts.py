"""Where each agent host keeps its hooks, and putting ours there without touching anybody else's."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from memorybook.errors import InvalidInput
from memorybook.servers import host_files
from memorybook.servers.host_files import Changed
from memorybook.servers.hosts import Places

_OURS = ("memorybook-hook", "memorybook-hook.exe")
"""The program of a plugin's commands; those that this module writes start `memorybook/hook.py` with Python."""

_WAITS = {"start": 10, "prompt": 10, "said": 5, "compact": 5, "end": 5}
"""Seconds that a host waits for an answer: longer than it is ever worked on, see `event.LIMIT`."""


class HookHost(NamedTuple):
    """A host that has hooks.

    Attributes:
        title: Its name.
        user: The file of a user's hooks.
        project: The file of a project's, in its folder.
        events: Its events by what they are to us (`event.KINDS`).
        second: How many of the host's units of time a second is.
        named: Whether a hook may have a name.
    """

    title: str
    user: Callable[[Places], str]
    project: str
    events: Mapping[str, str]
    second: int = 1
    named: bool = False


HOSTS: Mapping[str, HookHost] = {
    "claude-code": HookHost(
        "Claude Code",
        lambda at: os.path.join(at.named("CLAUDE_CONFIG_DIR", ".claude"), "settings.json"),
        ".claude/settings.json",
        {"start": "SessionStart", "prompt": "UserPromptSubmit", "said": "Stop", "compact": "PreCompact"}
        | {"end": "SessionEnd"},
    ),
    "codex": HookHost(
        "Codex",
        lambda at: os.path.join(at.named("CODEX_HOME", ".codex"), "hooks.json"),
        ".codex/hooks.json",
        {"start": "SessionStart", "prompt": "UserPromptSubmit", "said": "Stop", "compact": "PreCompact"}
        | {"end": "SessionEnd"},
    ),
    "gemini": HookHost(
        "Gemini CLI",
        lambda at: os.path.join(at.home, ".gemini", "settings.json"),
        ".gemini/settings.json",
        {"start": "SessionStart", "prompt": "BeforeAgent", "said": "AfterAgent", "compact": "PreCompress"}
        | {"end": "SessionEnd"},
        second=1000,
        named=True,
    ),
}
"""Every host by the name that `--host` takes."""


def host_of(name: str) -> HookHost:
    """The host of that name; raises InvalidInput."""
    if name not in HOSTS:
        raise InvalidInput(f"host {name!r} is not one of {', '.join(HOSTS)}")
    return HOSTS[name]


def file_of(name: str, scope: str, *, at: Places, folder: str) -> str:
    """The file of a host's hooks: the user's, or of the project in `folder`. Raises InvalidInput."""
    host = host_of(name)
    if scope not in ("user", "project"):
        raise InvalidInput(f"scope {scope!r} is not one of user, project")
    if scope == "user":
        return os.path.abspath(host.user(at))
    return os.path.join(folder, *host.project.split("/"))


def started(name: str, kind: str, book: str | None, *, ingest: bool = True) -> str:
    """The command line for an event, with absolute paths and without the site packages: see `memorybook.hook`.

    Raises InvalidInput for a path that is not UTF-8, which no settings file can hold.
    """
    event = host_of(name).events[kind]
    program = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "hook.py")
    # -I: nothing of the folder that a host works in is imported
    words = [os.path.abspath(sys.executable), "-I", "-S", program, event, "--host", name]
    words += ["--book", book] if book else []
    words += ["--ingest"] if ingest and kind in ("start", "end") else []
    for word in words:
        if any("\ud800" <= c <= "\udfff" for c in word):
            raise InvalidInput(f"the path {word!r} is not UTF-8, which a settings file cannot hold")
    return shlex.join(words)


def shipped(name: str, kind: str) -> str:
    """The command line for an event as a plugin has it, which knows no paths; no failure where nothing is installed."""
    ingest = " --ingest" if kind in ("start", "end") else ""
    return f"memorybook-hook {host_of(name).events[kind]} --host {name}{ingest} || exit 0"


def hooks_of(name: str, command: Callable[[str], str]) -> dict[str, list[dict[str, Any]]]:
    """The host's hooks by event; `command` gives the command line for what an event is to us."""
    host = host_of(name)
    named = {"name": "memorybook"} if host.named else {}
    found = {}
    for kind, event in host.events.items():
        hook = {"type": "command", "command": command(kind), **named, "timeout": _WAITS[kind] * host.second}
        found[event] = [{"hooks": [hook]}]
    return found


def snippet(hooks: Mapping[str, Any]) -> str:
    """The part of a host's file that holds our hooks, for a person to add."""
    return json.dumps({"hooks": hooks}, indent=2, ensure_ascii=False) + "\n"


def install(path: str, hooks: Mapping[str, list[dict[str, Any]]]) -> Changed:
    """Have our hooks, and none but these of ours, stand in the file; {} takes them out. Others' stay as they are.

    Raises:
        As `host_files.changed`.
    """
    return host_files.changed(
        path, lambda text: host_files.json_with(text, lambda root: _put(root, hooks)), removes=not hooks
    )


def _put(root: dict[str, Any], hooks: Mapping[str, list[dict[str, Any]]]) -> None:
    known = root.get("hooks", {})
    if not isinstance(known, dict):
        raise InvalidInput("'hooks' is no object")
    touched = False
    for event in dict.fromkeys([*known, *hooks]):
        groups = known.get(event, [])
        if not isinstance(groups, list):
            if event in hooks:
                raise InvalidInput(f"{event!r} is no list")
            continue
        ours, wanted = list(filter(_has_ours, groups)), hooks.get(event, [])
        if ours == wanted:
            continue
        touched = True
        known[event] = [*(_without_ours(group) for group in groups if not _is_all_ours(group)), *wanted]
        if not known[event]:
            del known[event]
    if known:
        root["hooks"] = known
    elif touched:
        del root["hooks"]


def _is_ours(hook: Any) -> bool:
    command = hook.get("command") if isinstance(hook, dict) else None
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:  # a quotation mark that nothing closes
        return False
    started = [word.replace("\\", "/") for word in words if not word.startswith("-")][:2]
    if not started:
        return False
    return started[0].rpartition("/")[2] in _OURS or started[-1].endswith("/memorybook/hook.py")


def _has_ours(group: Any) -> bool:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return isinstance(hooks, list) and any(map(_is_ours, hooks))


def _is_all_ours(group: Any) -> bool:
    return _has_ours(group) and all(map(_is_ours, group["hooks"]))


def _without_ours(group: Any) -> Any:
    """The group with others' hooks alone."""
    return {**group, "hooks": [hook for hook in group["hooks"] if not _is_ours(hook)]} if _has_ours(group) else group
