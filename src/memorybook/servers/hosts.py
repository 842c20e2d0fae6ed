"""The settings of agent hosts: where each keeps its servers, and putting ours there without touching the rest.

A file is read, changed as text, compared with what it should mean, and replaced at once, with what it was before
beside it. What cannot be changed without loss, such as JSON with comments, is refused.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from memorybook.errors import Conflict, InvalidInput
from memorybook.servers import toml_table

NAME = "memorybook"
"""What the server is called in a host's settings."""

_REPLACED = frozenset(
    {"type", "command", "args", "transport", "url", "httpUrl", "serverUrl", "headers"}
    | {"bearer_token_env_var", "http_headers", "env_http_headers"}
)
"""How a server is reached: replaced wholly; all else that an entry says, such as `env`, stays."""

_BACKUP = ".memorybook-backup"


class Places(NamedTuple):
    """Where settings are on this machine: the user's home, programs' settings, and what the environment names."""

    home: str
    settings: str
    env: Mapping[str, str]

    def named(self, variable: str, *otherwise: str) -> str:
        """The folder that the variable names, else one in the user's home."""
        return self.env.get(variable) or os.path.join(self.home, *otherwise)


def places(env: Mapping[str, str], platform: str = sys.platform) -> Places:
    """The places that an environment tells of."""
    home = env.get("HOME") or env.get("USERPROFILE") or os.path.expanduser("~")
    if platform == "darwin":
        settings = os.path.join(home, "Library", "Application Support")
    elif platform == "win32":
        settings = env.get("APPDATA") or os.path.join(home, "AppData", "Roaming")
    else:
        settings = env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return Places(home, settings, env)


class Host(NamedTuple):
    """An agent host.

    Attributes:
        title: Its name.
        user: The settings file of a user.
        keys: Under which names the servers stand in it.
        project: The settings file of a project, in its folder; "" if the host has none.
        typed: Whether an entry says that it is of type `stdio`.
        follows: Whether the host starts a user's servers in the folder of the project it is opened in.
    """

    title: str
    user: Callable[[Places], str]
    keys: tuple[str, ...] = ("mcpServers",)
    project: str = ""
    typed: bool = False
    follows: bool = False


HOSTS: Mapping[str, Host] = {
    "claude-code": Host(
        "Claude Code",
        lambda at: os.path.join(at.named("CLAUDE_CONFIG_DIR"), ".claude.json"),
        project=".mcp.json",
        typed=True,
        follows=True,
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
    ),
    "cursor": Host("Cursor", lambda at: os.path.join(at.home, ".cursor", "mcp.json"), project=".cursor/mcp.json"),
    "vscode": Host(
        "VS Code",
        lambda at: os.path.join(at.settings, "Code", "User", "mcp.json"),
        keys=("servers",),
        project=".vscode/mcp.json",
        typed=True,
    ),
    "gemini": Host(
        "Gemini CLI",
        lambda at: os.path.join(at.home, ".gemini", "settings.json"),
        project=".gemini/settings.json",
        follows=True,
    ),
    "openclaw": Host(
        "OpenClaw",
        lambda at: (
            at.env.get("OPENCLAW_CONFIG_PATH")
            or os.path.join(at.named("OPENCLAW_STATE_DIR", ".openclaw"), "openclaw.json")
        ),
        keys=("mcp", "servers"),
    ),
}
"""Every host by the name that `--host` takes."""


def host_of(name: str) -> Host:
    """The host of that name; raises InvalidInput."""
    if name not in HOSTS:
        raise InvalidInput(f"host {name!r} is not one of {', '.join(HOSTS)}")
    return HOSTS[name]


def file_of(name: str, scope: str, *, at: Places, folder: str) -> str:
    """The settings file of a host: the user's, or of the project in `folder`. Raises InvalidInput."""
    host = host_of(name)
    if scope not in ("user", "project"):
        raise InvalidInput(f"scope {scope!r} is not one of user, project")
    if scope == "user":
        return os.path.abspath(host.user(at))
    if not host.project:
        raise InvalidInput(f"{host.title} has no settings of a project: leave out --scope project")
    return os.path.join(folder, *host.project.split("/"))


def entry_of(name: str, book: str | None) -> dict[str, Any]:
    """What starts the server, with absolute paths: of that book, or of the project that it is started in.

    Raises:
        InvalidInput: A path that is not UTF-8, which no settings file can hold.
    """
    interpreter = os.path.abspath(sys.executable)
    # -P: what lies in the folder that the server is started in is never imported
    arguments = ["-P", "-m", "memorybook", *(["--book", book] if book else []), "mcp"]
    for path in (interpreter, book or ""):
        if not path.isprintable() and any("\ud800" <= c <= "\udfff" for c in path):
            raise InvalidInput(f"the path {path!r} is not UTF-8, which a settings file cannot hold")
    typed = {"type": "stdio"} if host_of(name).typed else {}
    return {**typed, "command": interpreter, "args": arguments}


def snippet(name: str, entry: Mapping[str, Any]) -> str:
    """The part of the host's settings that holds the server, for a person to add."""
    if _is_toml(name):
        return toml_table.table((*host_of(name).keys, NAME), entry)
    part: dict[str, Any] = {NAME: dict(entry)}
    for key in reversed(host_of(name).keys):
        part = {key: part}
    return json.dumps(part, indent=2, ensure_ascii=False) + "\n"


class Changed(NamedTuple):
    """What became of a settings file.

    Attributes:
        action: `written`, `removed`, or `unchanged` where it is as it should be.
        path: The file.
        backup: What the file was before; "" if there was none, or nothing changed.
    """

    action: str
    path: str
    backup: str = ""


def install(name: str, path: str, entry: Mapping[str, Any] | None) -> Changed:
    """Put the server into the settings file, or with None take it out; all else in there stays as it is.

    Raises:
        InvalidInput: The file is not what the host reads, or cannot be changed without losing something of it.
        Conflict: It was saved by somebody else at the same moment.
        OSError: The disk refuses.
    """
    place = os.path.realpath(path)  # a link, as those who keep their settings in one place have them, stays
    before = _read(place)
    if before is None and entry is None:
        return Changed("unchanged", path)
    text = _decoded(before or b"", path)
    change = toml_table.with_entry if _is_toml(name) else _json_with
    try:
        after = change(text, (*host_of(name).keys, NAME), entry, _REPLACED)
    except InvalidInput as error:
        raise InvalidInput(
            f"{path} is left as it is, for {error}: change it by hand, --print shows what belongs there"
        ) from None
    if after == text and before is not None:
        return Changed("unchanged", path)
    backup = _replace(place, before, after.encode())
    return Changed("written" if entry is not None else "removed", path, backup)


def _is_toml(name: str) -> bool:
    return host_of(name).keys == ("mcp_servers",)


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _decoded(data: bytes, path: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not UTF-8: it is left as it is") from None


def _json_with(text: str, keys: Sequence[str], entry: Mapping[str, Any] | None, replaced: frozenset[str]) -> str:
    """JSON text with the entry under those keys (None: without); raises InvalidInput if it is not plain JSON."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix(mark)
    try:
        root = json.loads(body, object_pairs_hook=_once) if body.strip() else {}
    except json.JSONDecodeError as error:
        raise InvalidInput(f"line {error.lineno} is not plain JSON, such as a comment") from None
    node, told = root, "it"
    for key in keys[:-1]:
        if not isinstance(node, dict):
            break
        node, told = node.setdefault(key, {}), repr(key)
    if not isinstance(node, dict):
        raise InvalidInput(f"{told} is no object")
    known = node.get(keys[-1])
    if entry is None and known is None:
        return text
    if entry is None:
        del node[keys[-1]]
    else:
        kept = {name: value for name, value in known.items() if name not in replaced} if isinstance(known, dict) else {}
        if known == {**entry, **kept}:
            return text
        node[keys[-1]] = {**entry, **kept}
    return mark + _dumped(root, body)


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InvalidInput("a name stands twice in one object")
    return found


def _dumped(root: Any, like: str) -> str:
    """JSON laid out as the text was: its indentation, line ends, and whether it ends with one."""
    lines = [line for line in like.split("\n")[1:] if line.strip()]
    blank = lines[0][: len(lines[0]) - len(lines[0].lstrip())] if lines else ""
    flat = bool(like.strip()) and "\n" not in like.strip() and like.strip() != "{}"
    shown = json.dumps(root, indent=None if flat else blank or 2, ensure_ascii=False)
    if any("\ud800" <= c <= "\udfff" for c in shown):  # half a pair, which only an escape can say
        shown = json.dumps(root, indent=None if flat else blank or 2)
    shown += "\n" if like.endswith("\n") or not like.strip() else ""
    return shown.replace("\n", "\r\n") if "\r\n" in like else shown


def _replace(path: str, before: bytes | None, after: bytes) -> str:
    """Put the bytes in the file's place at once; returns the path of what was there before, "" if nothing was."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    mode = 0o666 if before is None else os.stat(path).st_mode & 0o777
    backup = "" if before is None else path + _BACKUP
    aside = f"{path}.memorybook-{os.getpid()}"
    try:
        if before is not None:
            _write(aside, before, mode)
            os.replace(aside, backup)
        _write(aside, after, mode)
        if _read(path) != before:
            raise Conflict(f"{path} was saved by somebody else just now: try again")
        os.replace(aside, path)
    except BaseException:
        if os.path.lexists(aside):
            os.remove(aside)
        raise
    return backup


def _write(path: str, data: bytes, mode: int) -> None:
    """A new file, on the disk for sure; the mode as the process's mask leaves it for what was not there before."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        if mode != 0o666:
            os.chmod(path, mode)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
