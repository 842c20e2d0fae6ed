"""What a setting may be: types, ranges, choices, and which need a project's file to be trusted.

A call without settings of its own does not import this.
"""

from __future__ import annotations

from memorybook._light import Any, Mapping
from memorybook.config.files import Given, absolute
from memorybook.errors import ConfigError

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "backend": ("sqlite_hybrid", "sqlite_fts", "scan"),
    "provider": ("tiered", "flat", "agentic"),
    "language": ("auto", "en", "zh"),
    "conflicts": ("newest", "highest_trust", "ask", "keep_both"),
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
    "embeddings.timeout": (0.1, 86400),
}
_DURATIONS = frozenset({"idle_timeout", "llm.timeout", "embeddings.timeout", "server.timeout"})
_FILES = (
    *("db_path", "transcripts.db_path", "transcripts.export_path", "sqlite_vec_extension_path"),
    *("server.tls_cert", "server.tls_key"),
)
_PATHS = frozenset({"workspace_dir", "root_dir", *_FILES})
_NEEDS_TRUST = _PATHS | {
    *("project_key", "require_user_confirmation", "conflicts", "tidy.apply"),
    *("embeddings.model", "embeddings.base_url", "embeddings.api_key"),
    "transcripts.url",
    "transcripts.auth_token",
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
    """Whether a project's file may set this only if somebody trusts it."""
    if key == "redaction.patterns":  # an expression may mask every word, or never come to an end
        words = value if isinstance(value, list) else [value]
        return any(isinstance(word, str) and word[:1] == word[-1:] == "/" for word in words)
    return key in _NEEDS_TRUST or key.startswith("llm.")


def value_of(key: str, default: Any, given: Given, home: str) -> Any:
    """What was given for the setting `key`, in its type and range, paths absolute. Raises ConfigError."""
    try:
        value: Any = _duration(given.value) if key in _DURATIONS else _typed(default, given)
        _check_range(key, value)
    except ValueError as problem:
        shown = "that" if _is_secret(key, given.value) else repr(given.value)
        raise ConfigError(f"{given.name} ({given.origin}) must be {problem}, not {shown}") from None
    place = _LOCAL if key == "embeddings.model" and value.startswith(_FOLDERS) else ""
    if key == "transcripts.url" and value and not value.startswith(_SERVERS):
        return absolute(value.removeprefix("file:").replace("///", "/", 1), given.base, home)
    if place or (key in _PATHS and value):
        return place + absolute(value.removeprefix(place), given.base, home)
    return value


def _is_secret(key: str, value: Any) -> bool:
    """Whether no message may show what was given: a key, or an address that may hold one."""
    if key.endswith("url"):
        return not isinstance(value, str) or any(mark in value for mark in "@?")
    return key.endswith(("api_key", "auth_token"))


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
    """What a text of the environment or the command line stands for; unreadable text comes back as it is."""
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
    """Seconds of a number, or of text such as `90s`, `30m`, `2h`, `1d`."""
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
    if key == "timezone":
        _check_timezone(value)
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
    """Whether a database's address is a path, with or without `file:`, or a server's."""
    scheme, colon, rest = url.partition(":")
    if not colon or len(scheme) < 2 or not scheme.replace("+", "").replace("-", "").isalnum():
        return "://" not in url
    return url.startswith(_SERVERS) or (scheme == "file" and (rest.startswith("///") or not rest.startswith("//")))


def _check_timezone(name: str) -> None:
    if name in ("local", "UTC"):
        return
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        raise ValueError("'local' or an IANA name such as 'Asia/Shanghai'") from None
