"""The files that settings come from, which of them are trusted, and the values that each setting allows."""

from __future__ import annotations

import os
import sys

from memorybook._light import Any, Callable, Iterable, Iterator, Mapping, NamedTuple, suppress
from memorybook.errors import ConfigError, MemoryBookError, MissingExtra


class Given(NamedTuple):
    """A setting as somebody wrote it.

    Attributes:
        name: As written, dots between groups.
        value: As written; text where everything is text.
        origin: Path of the file, or words for people.
        base: Directory that a relative path starts from.
        textual: Whether a number or a switch may come as text (environment, command line).
    """

    name: str
    value: Any
    origin: str
    base: str
    textual: bool = False


def config_dir(env: Mapping[str, str], home: str) -> str:
    """Return the user's own settings: `$XDG_CONFIG_HOME/memorybook`, else `~/.config/memorybook`."""
    return user_dir("config", env, home)


def user_dir(kind: str, env: Mapping[str, str], home: str) -> str:
    """Return where a user keeps our `config`, `state` or `cache`: by XDG, on Windows as `platformdirs` says."""
    folder = env.get(f"XDG_{kind.upper()}_HOME", "")
    if os.path.isabs(folder):  # the XDG specification says that a relative path is to be ignored
        return os.path.join(folder, "memorybook")
    if sys.platform == "win32":
        import platformdirs

        return str(getattr(platformdirs, f"user_{kind}_dir")("memorybook", appauthor=False))
    return os.path.join(home, *(".local", "state") if kind == "state" else (f".{kind}",), "memorybook")


def absolute(path: str, base: str, home: str) -> str:
    """Return a path as somebody wrote it in the folder `base`, `~` being `home`."""
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    return os.path.abspath(os.path.join(base, os.path.expanduser(path)))


_PROJECT_FILES = ("memorybook.toml", "memorybook.json", "memorybook.yaml", "memorybook.yml", "config.json")
_PLACE = r"""(?mi)^[^#\n]*?((?:workspace|root)[_-]dir|project[_-]key)["']?[ \t]*[:=][ \t]*["']?([^"'#,}\n]+)"""
_SECTION = r"""["']memory["']\s*:\s*\{"""
_MISTAKEN = tuple(f"{dot}memorybook.{end}" for dot in ("", ".") for end in ("jsonc", "json5", "ini", "conf")) + tuple(
    f".{name}" for name in _PROJECT_FILES[:-1]
)
_OF_ANYTHING = ("config.yaml", "config.yml", "config.toml")
_USER_FILES = ("config.toml", "config.json", "config.yaml", "config.yml")


def of_user(folder: str) -> list[Given]:
    """Read the user's own settings in `folder` (see `config_dir`), from every file there. Raises as `read`."""
    return [given for path in user_files(folder) for given in read(path, whole=True)]


def user_files(folder: str) -> list[str]:
    """Return the settings files in `folder` (see `config_dir`)."""
    return [path for name in _USER_FILES if os.path.exists(path := os.path.join(folder, name))]


def project_files(cwd: str, is_ours: Callable[[str], bool]) -> list[str]:
    """Find the settings files of the project around `cwd`: of the nearest folder that has any, up to the git top.

    `is_ours` decides about a `config.json`, a name that anything may use: it is shown each setting's name.
    """
    for folder in folders_above(cwd):
        found = _those_in(folder, _PROJECT_FILES)
        found = [path for path in found if not path.endswith("config.json") or _any_setting(path, is_ours)]
        if found:
            return found
    return []


def unread(cwd: str, folder: str, is_ours: Callable[[str], bool]) -> list[str]:
    """List files that look like settings of the project around `cwd`, or of the user's `folder`, and are not read."""
    found = [path for above in folders_above(cwd) for path in _those_in(above, (*_MISTAKEN, *_OF_ANYTHING))]
    found = [path for path in found if os.path.basename(path) not in _OF_ANYTHING or _has_section(path, is_ours)]
    return [*found, *_those_in(folder, (*_MISTAKEN, *_PROJECT_FILES[:-1]))]


def folders_above(cwd: str) -> Iterator[str]:
    """Yield the folder and those above it, up to the git top level."""
    folder = os.path.abspath(cwd)
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder or os.path.lexists(os.path.join(folder, ".git")):
            return
        folder = parent


def git_folder(top: str) -> str:
    """Return the repository's own folder; "" if it cannot be told.

    Of a worktree or submodule `.git` is a file that names it. That counts only if the repository knows of it, and not
    as of one elsewhere, for such a file may come along in an archive.
    """
    git = os.path.join(top, ".git")
    if os.path.isfile(git):
        inner = os.path.join(top, text_of(git).partition("gitdir:")[2].strip())
        common = text_of(os.path.join(inner, "commondir")).strip()
        if common:
            tree = text_of(os.path.join(inner, "gitdir")).strip()
            trees = os.path.join(os.path.realpath(os.path.join(inner, common)), "worktrees")
            ours = os.path.dirname(os.path.realpath(inner)) == trees
            ours &= not os.path.exists(tree) or os.path.realpath(tree) == os.path.realpath(git)
        else:
            lines = (line.partition("=") for line in text_of(os.path.join(inner, "config")).split("\n"))
            named = [value.strip() for name, _, value in lines if name.strip() == "worktree"]
            ours = os.path.realpath(os.path.join(inner, *named[-1:])) == os.path.realpath(top)
        git = os.path.join(inner, common) if ours else ""
    return os.path.realpath(git) if os.path.isdir(git) else ""


def text_of(path: str) -> str:
    """Return the text of a file; "" if there is none that can be read."""
    if not os.path.isfile(path):
        return ""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""


def _those_in(folder: str, names: Iterable[str]) -> list[str]:
    return [path for name in names if os.path.isfile(path := os.path.join(folder, name))]


def _has_section(path: str, is_ours: Callable[[str], bool]) -> bool:
    """Return whether a file of YAML or TOML has a section `memory` with a setting of ours."""
    import re

    with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
        section = re.search(
            r"(?ms)^(?:memory:[^\S\n]*(?:#[^\n]*)?$|\[memory[\].])(.*?)(?=^[^\s#\w]|^\w+:|\Z)", file.read()
        )
        return section is not None and any(map(is_ours, re.findall(r"(?m)^\s*([\w.-]+)\s*[:=]", section[1])))
    return False


def _any_setting(path: str, is_ours: Callable[[str], bool]) -> bool:
    try:
        return any(is_ours(given.name) for given in read(path))
    except ConfigError:
        import re

        with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
            return re.search(_SECTION, file.read()) is not None  # left out, what it chooses would be lost unsaid
        return False


def read(path: str, *, whole: bool = False) -> list[Given]:
    """Read the settings of one TOML, JSON or YAML file; of a `config.json`, its `memory` section unless `whole`.

    Raises:
        ConfigError: It cannot be read, or holds no settings.
        MissingExtra: It is YAML and PyYAML is not installed.
    """
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8"
        raise ConfigError(f"cannot read the settings in {path}: {reason}") from None
    try:
        if path.endswith(".toml"):
            import tomllib

            document: Any = tomllib.loads(text)
        else:
            document = _PARSERS[path.rpartition(".")[2]](text)
        if os.path.basename(path) == "config.json" and not whole:
            document = document.get("memory") if isinstance(document, dict) else None
            if not isinstance(document, dict):
                return []
        if not isinstance(document, dict):
            raise ConfigError(f"{path}: expected settings by name, found {type(document).__name__}")
        base = os.path.dirname(path)
        return [Given(name, value, path, base) for name, value in _flat_document(document, "")]
    except ValueError as problem:
        raise ConfigError(f"cannot read the settings in {path}: {problem}") from None
    except RecursionError:
        raise ConfigError(f"cannot read the settings in {path}: it is nested too deeply") from None


def salvaged(path: str, *, whole: bool = False) -> list[Given]:
    """Read as `read` does; of a file that cannot be parsed, return which book its lines name. Raises nothing."""
    try:
        return read(path, whole=whole)
    except MemoryBookError:
        import re
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            found = re.findall(_PLACE, file.read())
    except OSError:
        return []
    return [Given(name, value.strip(), path, os.path.dirname(path)) for name, value in found]


def _flat_document(document: Mapping[Any, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in document.items():
        if isinstance(value, dict):
            yield from _flat_document(value, f"{prefix}{name}.")
        elif value is not None:
            yield f"{prefix}{name}", value


_STRING = r'"(?:[^"\\\n]|\\.)*"?'
_COMMENT = r"(?s://[^\n]*|/\*(?:.*?\*/|.*))"
_LAST_COMMA = r",(?=\s*[}\]])"


def _parse_json(text: str) -> Any:
    import json
    import re

    try:
        return json.loads(text)
    except ValueError:  # with comments, and commas that end a list, it may be JSON as editors take it
        for noise in (_COMMENT, _LAST_COMMA):
            text = re.sub(rf"{_STRING}|({noise})", lambda m: re.sub(r"[^\n]", " ", m[1]) if m[1] else m[0], text)
        return json.loads(text)


def _parse_yaml(text: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise MissingExtra("settings in YAML need PyYAML: pip install 'memorybook[yaml]', or write TOML") from None
    try:
        return yaml.safe_load(text) or {}
    except yaml.YAMLError as problem:
        # The library's own message quotes the file, which may hold a key.
        mark = getattr(problem, "problem_mark", None)
        raise ValueError("not valid YAML" + (f" at line {mark.line + 1}" if mark else "")) from None


_PARSERS = {"json": _parse_json, "yaml": _parse_yaml, "yml": _parse_yaml}


def record_trust(path: str, folder: str) -> None:
    """Trust the file at `path` as it is now, in this place alone; `folder` (see `config_dir`) holds the record."""
    if not is_trusted(path, folder):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with open(os.path.join(folder, "trusted"), "a", encoding="utf-8", errors="surrogateescape") as file:
            file.write(f"{_digest(path)}  {os.path.abspath(path)}\n")


def is_trusted(path: str, folder: str) -> bool:
    """Return whether a file with just this content was trusted once in this place, or in a worktree of the project."""
    try:
        with open(os.path.join(folder, "trusted"), encoding="utf-8", errors="surrogateescape") as file:
            trusted = [line.rstrip("\n").partition("  ") for line in file]
    except FileNotFoundError:
        return False
    digest, here = _digest(path), _trusted_place(path)
    return any(one == digest and _trusted_place(other) == here for one, _, other in trusted)


def leads_out(given: Given) -> bool:
    """Return whether a path in the folder of a project's file leads out of that folder through a link."""
    place = os.path.join(given.base, given.value) if isinstance(given.value, str) else ""
    within = os.path.abspath(place).startswith(os.path.join(os.path.abspath(given.base), ""))
    return within and not os.path.realpath(place).startswith(os.path.join(os.path.realpath(given.base), ""))


def _trusted_place(path: str) -> tuple[str, str]:
    """Return where a file stands: its git folder, which worktrees share, with the folder in there, else its folder.

    Links to a file or a git folder elsewhere do not make it part of that project: its paths count from where it stands.
    """
    folder = os.path.realpath(os.path.dirname(path))
    *_, top = folders_above(folder)
    git = "" if os.path.islink(os.path.join(top, ".git")) else git_folder(top)
    return (git, os.path.relpath(folder, top)) if git else (folder, "")


def _digest(path: str) -> str:
    from hashlib import sha256

    with open(path, "rb") as file:
        return sha256(file.read()).hexdigest()


_CHOICES: Mapping[str, tuple[str, ...]] = {
    "backend": ("sqlite_hybrid", "sqlite_fts", "scan"),
    "provider": ("tiered", "flat", "agentic"),
    "language": ("auto", "en", "zh"),
    "conflicts": ("newest", "highest_trust", "ask", "keep_both"),
    "storage.kind": ("files", "memory", "postgresql"),
    "llm.api": ("auto", "openai", "anthropic"),
    "llm.mode": ("auto", "json_schema", "tool", "prompted"),
    "tidy.apply": ("expire", "archive", "remove", "duplicate", "conflict", "promote"),
}
_RANGES: Mapping[str, tuple[float, float]] = {
    "min_score": (0, 1),
    "store_threshold": (0, 1),
    "inject_min_score": (0, 1),
    "recall.similarity_threshold": (0, 1),
    "max_results": (1, 200),
    "max_memories": (1, 200),
    "recall.max_search_results": (1, 200),
    "recall.max_context_tokens": (100, 1_000_000),
    "embeddings.batch": (1, 2048),
    "embeddings.dimensions": (0, 65536),
    "llm.timeout": (0.1, 86400),
    "llm.temperature": (-1, 2),
    "server.timeout": (0.1, 86400),
    "server.port": (0, 65535),
    "server.max_body": (1024, 1 << 40),
    "server.max_requests": (1, 1_000_000),
    "server.threads": (1, 1_000),
    "storage.pool": (3, 1_000),
    "embeddings.timeout": (0.1, 86400),
}
_DURATIONS = frozenset({"idle_timeout", "llm.timeout", "embeddings.timeout", "server.timeout"})
_FILES = (
    *("db_path", "transcripts.db_path", "transcripts.export_path", "sqlite_vec_extension_path"),
    *("server.tls_cert", "server.tls_key"),
)
_PATHS = frozenset({"workspace_dir", "root_dir", "storage.idle_folder", "layers.personal", "layers.team", *_FILES})
_NEEDS_TRUST = _PATHS | {
    *("project_key", "require_user_confirmation", "conflicts", "tidy.apply"),
    *("embeddings.model", "embeddings.base_url", "embeddings.api_key"),
    "transcripts.url",
    "transcripts.auth_token",
    "storage.kind",
    "storage.dsn",
    "storage.tenant",
    "redaction.enabled",
    "server.host",
    "server.hosts",
}
_SERVERS = ("libsql://", "https://", "http://")
_LOCAL = "local/"
_FOLDERS = tuple(_LOCAL + first for first in "/~.")
_LARGEST = 1e15
_SWITCHES = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


def needs_trust(key: str, value: Any) -> bool:
    """Return whether a project's file may set this only if somebody trusts it."""
    if key == "redaction.patterns":  # an expression may mask every word, or never come to an end
        words = value if isinstance(value, list) else [value]
        return any(isinstance(word, str) and word[:1] == word[-1:] == "/" for word in words)
    return key in _NEEDS_TRUST or key.startswith("llm.")


def value_of(key: str, default: Any, given: Given, home: str) -> Any:
    """Return what was given for the setting `key`, in its type and range, paths absolute. Raises ConfigError."""
    try:
        value: Any = _duration(given.value) if key in _DURATIONS else _typed(default, given)
        _check_range(key, value)
    except ValueError as problem:
        text = given.value if isinstance(given.value, str) else "?"  # a key, or an address that may hold one
        keys = ("api_key", "auth_token", "dsn")
        secret = any(mark in text for mark in "@?") if key.endswith("url") else key.endswith(keys)
        shown = "that" if secret else repr(given.value)
        raise ConfigError(f"{given.name} ({given.origin}) must be {problem}, not {shown}") from None
    place = _LOCAL if key == "embeddings.model" and value.startswith(_FOLDERS) else ""
    if key == "transcripts.url" and value and not value.startswith(_SERVERS):
        return absolute(value.removeprefix("file:").replace("///", "/", 1), given.base, home)
    if place or (key in _PATHS and value):
        return place + absolute(value.removeprefix(place), given.base, home)
    return value


def _typed(default: Any, given: Given) -> Any:
    value = given.value
    if given.textual and isinstance(value, str):
        value = _parsed(default, value)
    if isinstance(default, bool):
        return _expect(value, isinstance(value, bool), "true or false")
    if isinstance(default, int):
        return _expect(value, isinstance(value, int) and not isinstance(value, bool), "a whole number")
    if isinstance(default, float):
        number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST
        return float(_expect(value, number, "a number"))
    if isinstance(default, str):
        text = isinstance(value, str) and not any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value)
        return _expect(value, text, "text in UTF-8")
    words = isinstance(value, list | tuple) and all(isinstance(word, str) for word in value)
    return tuple(_expect(value, words, "a list of texts"))


def _expect(value: Any, fine: bool, wanted: str) -> Any:
    if not fine:
        raise ValueError(wanted)
    return value


def _parsed(default: Any, text: str) -> Any:
    """Return what a text of the environment or the command line stands for; unreadable text comes back as it is."""
    if isinstance(default, bool):
        return _SWITCHES.get(text.strip().lower(), text)
    if isinstance(default, tuple):
        if text.lstrip().startswith("["):
            import json

            try:
                return json.loads(text)
            except ValueError:
                return text
        return [word.strip() for word in text.split(",") if word.strip()]
    if isinstance(default, int | float):
        try:
            return type(default)(text)
        except ValueError:
            return text
    return text


def _duration(value: Any) -> float:
    """Return the seconds of a number, or of text such as `90s`, `30m`, `2h`, `1d`."""
    if isinstance(value, str):
        text = value.strip().lower()
        unit = {"s": 1, "m": 60, "h": 3600, "d": 86400}.get(text[-1:])
        number = text[:-1] if unit else text
        if number.replace(".", "", 1).isdecimal():
            value = float(number) * (unit or 1)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LARGEST:
        raise ValueError("a time such as '90s', '30m', '2h' or a number of seconds")
    return float(value)


def _check_range(key: str, value: Any) -> None:
    given = value if isinstance(value, tuple) else (value,)
    if key in _CHOICES and not set(given) <= set(_CHOICES[key]):
        raise ValueError(("some" if given is value else "one") + " of " + ", ".join(_CHOICES[key]))
    if key == "timezone" and value not in ("local", "UTC"):
        from zoneinfo import ZoneInfo

        try:
            ZoneInfo(value)
        except (LookupError, ValueError, OSError):
            raise ValueError("'local' or an IANA name such as 'Asia/Shanghai'") from None
    if key == "index_history_jsonl" and value:
        raise ValueError("false: raw history would put every word, and every secret, into what searches show")
    if key == "transcripts.url" and not _is_place(value):
        servers = ", ".join(_SERVERS)
        raise ValueError(
            f"a file such as 'file:///srv/turns.db', or a server's address that begins with one of {servers}"
        )
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = _RANGES.get(key, (0, _LARGEST))
        if not low <= value <= high:
            raise ValueError(f"from {low} to {high}" if high < _LARGEST else f"at least {low}")


def _is_place(url: str) -> bool:
    """Return whether a database's address is a path, with or without `file:`, or a server's."""
    scheme, colon, rest = url.partition(":")
    if not colon or len(scheme) < 2 or not scheme.replace("+", "").replace("-", "").isalnum():
        return "://" not in url
    return url.startswith(_SERVERS) or (scheme == "file" and (rest.startswith("///") or not rest.startswith("//")))
