"""The agent hosts: where each keeps its servers and hooks, and putting ours there without touching the rest."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from memorybook.errors import InvalidInput
from memorybook.hooks import host_files
from memorybook.hooks.event import INGEST, KINDS
from memorybook.hooks.host_files import Changed

NAME = "memorybook"
"""Name of the server in a host's settings."""

_REPLACED = frozenset(
    {"type", "command", "args", "transport", "url", "httpUrl", "serverUrl", "headers"}
    | {"bearer_token_env_var", "http_headers", "env_http_headers"}
)
"""Keys that are replaced; others of an entry, such as `env`, stay."""


class Places(NamedTuple):
    """Settings folders on this machine: the user's home, programs' settings, and the environment."""

    home: str
    settings: str
    env: Mapping[str, str]

    def named(self, variable: str, *otherwise: str) -> str:
        """Return the folder that the variable names, else one in the user's home."""
        return self.env.get(variable) or os.path.join(self.home, *otherwise)


def places(env: Mapping[str, str], platform: str = sys.platform) -> Places:
    """Return the places of an environment."""
    home = env.get("HOME") or env.get("USERPROFILE") or os.path.expanduser("~")
    if platform == "darwin":
        settings = os.path.join(home, "Library", "Application Support")
    elif platform == "win32":
        settings = env.get("APPDATA") or os.path.join(home, "AppData", "Roaming")
    else:
        settings = env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return Places(home, settings, env)


_OneOf = TypeVar("_OneOf", bound="Host | Hooks")


class Hooks(NamedTuple):
    """The hook settings of a host.

    Attributes:
        user: The file of a user's hooks.
        project: The file of a project's, in its folder.
        events: Its events of which we are told, by its names for them.
        second: How many of the host's units of time a second is.
        named: Whether a hook may have a name.
    """

    user: Callable[[Places], str]
    project: str
    events: tuple[str, ...] = ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd")
    second: int = 1
    named: bool = False


class Host(NamedTuple):
    """An agent host.

    Attributes:
        title: Its name.
        user: The settings file of a user.
        keys: Under which names the servers stand in it.
        project: The settings file of a project, in its folder; "" if the host has none.
        typed: Whether an entry says that it is of type `stdio`.
        follows: Whether the host starts a user's servers in the folder of the project it is opened in.
        program: Its program, as found on the PATH; "" if it has none there.
        hooks: How it is given hooks; None if memorybook has none for it.
    """

    title: str
    user: Callable[[Places], str]
    keys: tuple[str, ...] = ("mcpServers",)
    project: str = ""
    typed: bool = False
    follows: bool = False
    program: str = ""
    hooks: Hooks | None = None


HOSTS: Mapping[str, Host] = {
    "claude-code": Host(
        "Claude Code",
        lambda at: os.path.join(at.named("CLAUDE_CONFIG_DIR"), ".claude.json"),
        project=".mcp.json",
        typed=True,
        follows=True,
        program="claude",
        hooks=Hooks(
            lambda at: os.path.join(at.named("CLAUDE_CONFIG_DIR", ".claude"), "settings.json"), ".claude/settings.json"
        ),
    ),
    "claude-desktop": Host(
        "Claude Desktop", lambda at: os.path.join(at.settings, "Claude", "claude_desktop_config.json")
    ),
    "codex": Host(
        "Codex",
        lambda at: os.path.join(at.named("CODEX_HOME", ".codex"), "config.toml"),
        keys=("mcp_servers",),
        project=".codex/config.toml",
        follows=True,
        program="codex",
        hooks=Hooks(lambda at: os.path.join(at.named("CODEX_HOME", ".codex"), "hooks.json"), ".codex/hooks.json"),
    ),
    "cursor": Host(
        "Cursor",
        lambda at: os.path.join(at.home, ".cursor", "mcp.json"),
        project=".cursor/mcp.json",
        program="cursor",
    ),
    "vscode": Host(
        "VS Code",
        lambda at: os.path.join(at.settings, "Code", "User", "mcp.json"),
        keys=("servers",),
        project=".vscode/mcp.json",
        typed=True,
        program="code",
    ),
    "gemini": Host(
        "Gemini CLI",
        lambda at: os.path.join(at.home, ".gemini", "settings.json"),
        project=".gemini/settings.json",
        follows=True,
        program="gemini",
        hooks=Hooks(
            lambda at: os.path.join(at.home, ".gemini", "settings.json"),
            ".gemini/settings.json",
            events=("SessionStart", "BeforeAgent", "AfterAgent", "PreCompress", "SessionEnd"),
            second=1000,
            named=True,
        ),
    ),
    "openclaw": Host(
        "OpenClaw",
        lambda at: (
            at.env.get("OPENCLAW_CONFIG_PATH")
            or os.path.join(at.named("OPENCLAW_STATE_DIR", ".openclaw"), "openclaw.json")
        ),
        keys=("mcp", "servers"),
        program="openclaw",
    ),
}
"""Every host by the name that `--host` takes."""

HOOKED: Mapping[str, Hooks] = {name: host.hooks for name, host in HOSTS.items() if host.hooks}
"""Those that have hooks, by the same names."""


def host_of(name: str, among: Mapping[str, _OneOf]) -> _OneOf:
    """Return a host by name. Raises InvalidInput."""
    if name not in among:
        raise InvalidInput(f"host {name!r} is not one of {', '.join(among)}")
    return among[name]


def file_of(name: str, scope: str, *, at: Places, folder: str, among: Mapping[str, Host | Hooks] = HOSTS) -> str:
    """Return a host's settings file: the user's, or that of the project in `folder`. Raises InvalidInput."""
    host = host_of(name, among)
    if scope not in ("user", "project"):
        raise InvalidInput(f"scope {scope!r} is not one of user, project")
    if scope == "user":
        return os.path.abspath(host.user(at))
    if not host.project:
        raise InvalidInput(f"{HOSTS[name].title} has no settings of a project: leave out --scope project")
    return os.path.join(folder, *host.project.split("/"))


def sign_of(name: str, at: Places) -> str:
    """Return what shows that a host is here: the folder of its settings or a file, else its program; "" if nothing."""
    from shutil import which

    host = host_of(name, HOSTS)
    files = [file(at) for file in (host.user, host.hooks and host.hooks.user) if file]
    folders = [os.path.dirname(path) for path in files]
    found = [path for path in (*folders, *files) if path != at.home and os.path.exists(path)]
    return found[0] if found else (host.program and which(host.program, path=at.env.get("PATH", ""))) or ""


def entry_of(name: str, book: str | None) -> dict[str, Any]:
    """Return the entry that starts the server: for that book, or for the project it is started in.

    Raises:
        InvalidInput: A path that is not UTF-8, which no settings file can hold.
    """
    interpreter = os.path.abspath(sys.executable)
    # -P: what lies in the folder that the server is started in is never imported
    arguments = ["-P", "-m", "memorybook", *(["--book", book] if book else []), "mcp"]
    host_files.check_paths(interpreter, book or "")
    typed = {"type": "stdio"} if host_of(name, HOSTS).typed else {}
    return {**typed, "command": interpreter, "args": arguments}


def snippet(name: str, entry: Mapping[str, Any]) -> str:
    """Return the part of the host's settings with the server, for a person to add."""
    if _is_toml(name):
        return host_files.toml_table((*host_of(name, HOSTS).keys, NAME), entry)
    part: dict[str, Any] = {NAME: dict(entry)}
    for key in reversed(host_of(name, HOSTS).keys):
        part = {key: part}
    return json.dumps(part, indent=2, ensure_ascii=False) + "\n"


def install(name: str, path: str, entry: Mapping[str, Any] | None, *, dry: bool = False) -> Changed:
    """Put the server into the settings file, or with None take it out; all else in there stays as it is.

    With `dry` nothing is written.

    Raises:
        As `host_files.changed`.
    """
    keys = (*host_of(name, HOSTS).keys, NAME)

    def put(root: dict[str, Any]) -> None:
        _put(root, keys, entry)

    def change(text: str) -> str:
        if _is_toml(name):
            return host_files.toml_with(text, keys, entry, _REPLACED, put)
        return host_files.json_with(text, put)

    return host_files.changed(path, change, removes=entry is None, dry=dry)


def server_in(name: str, path: str) -> dict[str, Any] | None:
    """Return our server's entry in a host's settings file; None if there is none. Raises InvalidInput, OSError."""
    found: Any = host_files.values_in(path, toml=_is_toml(name))
    for key in (*host_of(name, HOSTS).keys, NAME):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else None


def _is_toml(name: str) -> bool:
    return host_of(name, HOSTS).keys == ("mcp_servers",)


def _put(root: dict[str, Any], keys: Sequence[str], entry: Mapping[str, Any] | None) -> None:
    """Set or, for None, remove the entry at those keys. Raises InvalidInput where something else is in its way."""
    node = root
    for key in keys[:-1]:
        if entry is None and key not in node:
            return
        node = node.setdefault(key, {})
        if not isinstance(node, dict):
            raise InvalidInput(f"{key!r} is no object")
    if entry is None:
        node.pop(keys[-1], None)
        return
    known = node.get(keys[-1])
    kept = {name: value for name, value in known.items() if name not in _REPLACED} if isinstance(known, dict) else {}
    node[keys[-1]] = {**entry, **kept}


# --- hooks -------------------------------------------------------------------------------------------

_OURS = ("memorybook-hook", "memorybook-hook.exe")
"""The program of a plugin's commands; those that this module writes start `memorybook/hooks/command.py` with Python."""

_WAITS = {"start": 10, "prompt": 10, "said": 5, "compact": 5, "end": 5}
"""Seconds that a host waits for an answer, by kind of event: longer than it is ever worked on, see `event.LIMIT`."""


def hook_command(name: str, event: str, book: str | None, *, ingest: bool = True) -> str:
    """Return the command line for an event, with absolute paths and without `site`: see `memorybook.hooks.command`.

    Raises InvalidInput for a path that is not UTF-8, which no settings file can hold.
    """
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "command.py")
    # -I: nothing of the folder that a host works in is imported
    words = [os.path.abspath(sys.executable), "-I", "-S", program, event, "--host", name]
    words += ["--book", book] if book else []
    words += ["--ingest"] if ingest and KINDS[event] in INGEST else []
    host_files.check_paths(*words)
    return shlex.join(words)


def hooks_of(name: str, command: Callable[[str], str]) -> dict[str, list[dict[str, Any]]]:
    """Return the host's hooks by event; `command` returns the command line for one."""
    host = host_of(name, HOOKED)
    named = {"name": "memorybook"} if host.named else {}
    found = {}
    for event in host.events:
        seconds = _WAITS[KINDS[event]]
        hook = {"type": "command", "command": command(event), **named, "timeout": seconds * host.second}
        found[event] = [{"hooks": [hook]}]
    return found


def hooks_snippet(hooks: Mapping[str, Any]) -> str:
    """Return the part of a host's file with our hooks, for a person to add."""
    return json.dumps({"hooks": hooks}, indent=2, ensure_ascii=False) + "\n"


def install_hooks(path: str, hooks: Mapping[str, list[dict[str, Any]]], *, dry: bool = False) -> Changed:
    """Replace our hooks in the file; {} removes them. Hooks of others stay. With `dry` nothing is written.

    Raises:
        As `host_files.changed`.
    """
    return host_files.changed(
        path, lambda text: host_files.json_with(text, lambda root: _put_hooks(root, hooks)), removes=not hooks, dry=dry
    )


def hooks_in(path: str) -> dict[str, str]:
    """Return the command line of our hook for each event of a file. Raises InvalidInput, OSError."""
    known = host_files.values_in(path).get("hooks")
    events: dict[str, Any] = known if isinstance(known, dict) else {}
    return {
        event: hook["command"]
        for event, groups in events.items()
        if isinstance(groups, list)
        for group in filter(_has_ours, groups)
        for hook in group["hooks"]
        if _is_ours(hook)
    }


def _put_hooks(root: dict[str, Any], hooks: Mapping[str, list[dict[str, Any]]]) -> None:
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
        known[event] = [*_without_ours(groups), *wanted]
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


def _without_ours(groups: Sequence[Any]) -> list[Any]:
    """Return the groups without our hooks; one that has no others is left out."""
    found = []
    for group in groups:
        if not _has_ours(group):
            found.append(group)
        elif others := [hook for hook in group["hooks"] if not _is_ours(hook)]:
            found.append({**group, "hooks": others})
    return found


def _has_ours(group: Any) -> bool:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return isinstance(hooks, list) and any(map(_is_ours, hooks))


# --- what a host starts --------------------------------------------------------------------------------


def started_by(name: str, part: str, path: str) -> list[str]:
    """Return the words that a host starts for our `mcp` or `hooks` entry in a file; [] if it has none.

    The first is "" for a server that is not started here. Raises InvalidInput, OSError.
    """
    if part == "hooks":
        lines = list(hooks_in(path).values())
        return shlex.split(lines[0]) if lines else []
    entry = server_in(name, path)
    if entry is None:
        return []
    command, arguments = entry.get("command"), entry.get("args")
    words = [str(word) for word in arguments] if isinstance(arguments, list) else []
    return [command, *words] if isinstance(command, str) else [""]


def starts_us(part: str, words: Sequence[str]) -> bool:
    """Return whether these words start this very program, as this module writes them."""
    ours = shlex.split(hook_command("", "SessionStart", None, ingest=False))[:4]
    return list(words[:4]) == (ours if part == "hooks" else [ours[0], "-P", "-m", "memorybook"])
