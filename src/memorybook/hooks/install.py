"""Our hooks in the settings of agent hosts, put there and taken out without touching anybody else's.

Which hosts have hooks, and in which file, is told by `servers.hosts`.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Mapping
from typing import Any

from memorybook.errors import InvalidInput
from memorybook.hooks import host_files
from memorybook.hooks.event import INGEST, KINDS
from memorybook.hooks.host_files import Changed
from memorybook.hooks.hosts import HOOKED, host_of

_OURS = ("memorybook-hook", "memorybook-hook.exe")
"""The program of a plugin's commands; those that this module writes start `memorybook/hooks/command.py` with Python."""

_WAITS = {"start": 10, "prompt": 10, "said": 5, "compact": 5, "end": 5}
"""Seconds that a host waits for an answer, by kind of event: longer than it is ever worked on, see `event.LIMIT`."""


def started(name: str, event: str, book: str | None, *, ingest: bool = True) -> str:
    """The command line for an event, with absolute paths and without the site packages: see `memorybook.hooks.command`.

    Raises InvalidInput for a path that is not UTF-8, which no settings file can hold.
    """
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "command.py")
    # -I: nothing of the folder that a host works in is imported
    words = [os.path.abspath(sys.executable), "-I", "-S", program, event, "--host", name]
    words += ["--book", book] if book else []
    words += ["--ingest"] if ingest and KINDS[event] in INGEST else []
    host_files.check_paths(*words)
    return shlex.join(words)


def shipped(name: str, event: str) -> str:
    """The command line for an event as a plugin has it, which knows no paths; no failure where nothing is installed."""
    ingest = " --ingest" if KINDS[event] in INGEST else ""
    return f"memorybook-hook {event} --host {name}{ingest} || exit 0"


def hooks_of(name: str, command: Callable[[str], str]) -> dict[str, list[dict[str, Any]]]:
    """The host's hooks by event; `command` gives the command line for one."""
    host = host_of(name, HOOKED)
    named = {"name": "memorybook"} if host.named else {}
    found = {}
    for event in host.events:
        seconds = _WAITS[KINDS[event]]
        hook = {"type": "command", "command": command(event), **named, "timeout": seconds * host.second}
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
    return started[0].rpartition("/")[2] in _OURS or started[-1].endswith("/memorybook/hooks/command.py")


def _has_ours(group: Any) -> bool:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return isinstance(hooks, list) and any(map(_is_ours, hooks))


def _is_all_ours(group: Any) -> bool:
    return _has_ours(group) and all(map(_is_ours, group["hooks"]))


def _without_ours(group: Any) -> Any:
    """The group with others' hooks alone."""
    return {**group, "hooks": [hook for hook in group["hooks"] if not _is_ours(hook)]} if _has_ours(group) else group
