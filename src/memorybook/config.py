"""Settings, read once: defaults < user's file < project's file < environment < arguments.

Values are named tuples because a cold search reads this: no file, no parser is touched that is not
there. A project's file comes with somebody else's repository, so its keys, addresses and paths
count only after `memorybook trust`; until then they are left out with a warning.
"""

from __future__ import annotations

import os

from memorybook import config_files
from memorybook.config_files import Given
from memorybook.errors import ConfigError, NotFound
from memorybook.standard import Iterator, Mapping
from memorybook.typed import Any, Literal, NamedTuple

_NOTHING: Mapping[str, str] = {}


def _shown(value: tuple[Any, ...], fields: tuple[str, ...]) -> str:
    """A repr that tells whether a key or an address is set, and never what it is."""
    secret = ("api_key", "url", "base_url")
    parts = (f"{n}={'***' if n in secret and v else repr(v)}" for n, v in zip(fields, value, strict=True))
    return f"{type(value).__name__}({', '.join(parts)})"


class Budget(NamedTuple):
    """What the LLM may use: tokens and calls, per operation and per UTC day; 0 is no limit."""

    tokens_per_operation: int = 100_000
    tokens_per_day: int = 0
    calls_per_operation: int = 20
    calls_per_day: int = 0


class LLMSettings(NamedTuple):
    """A language model's server; no `model` means that rules do the work.

    Attributes:
        base_url, api_key, model: As the server wants them; "" is unset. `pydantic-ai/…` is a model of that package.
        api: What the server speaks: `openai` (any compatible server), `anthropic`, or `auto`, by the address.
        mode: How structured answers are asked for: `auto`, `json_schema`, `tool`, `prompted`.
        timeout: Seconds per request.
        max_tokens: Of one reply; 0 leaves it to the server.
        budget: See `Budget`.
    """

    base_url: str = ""
    api_key: str = ""
    model: str = ""
    api: str = "auto"
    mode: str = "auto"
    timeout: float = 60.0
    max_tokens: int = 0
    budget: Budget = Budget()

    def __repr__(self) -> str:
        return _shown(self, self._fields)


class EmbeddingSettings(NamedTuple):
    """An embedder: a service, `local/…` a model on this machine, and without `model` the bundled one.

    Attributes:
        base_url, api_key: "" is that of `llm` (see `Config.embedding_base_url`).
        model: "" is the bundled embedder; `local/` before a folder (`/`, `~/`, `./`) or a name on the hub.
        dimensions: 0 is the model's own.
        batch: Texts per request.
        timeout: Seconds per request.
    """

    base_url: str = ""
    api_key: str = ""
    model: str = ""
    dimensions: int = 0
    batch: int = 64
    timeout: float = 10.0

    def __repr__(self) -> str:
        return _shown(self, self._fields)


class TranscriptSettings(NamedTuple):
    """Where conversations are kept verbatim: a SQLite file (`db_path`, "" is the book's own).

    `url` is for a server in a later version; this one says that it does not use it.
    """

    enabled: bool = True
    db_path: str = ""
    url: str = ""
    auto_session: bool = True
    auto_export: bool = False
    export_on_exit: bool = False

    def __repr__(self) -> str:
        return _shown(self, self._fields)


class RecallSettings(NamedTuple):
    """When an agent's turn looks things up by itself, and how much it takes.

    Attributes:
        keywords: Words that ask for a recall, besides the built-in ones.
        auto_recall: Whether it happens without being asked.
        similarity_threshold: Least relevance, 0..1.
        max_search_results: 1..200.
    """

    keywords: tuple[str, ...] = ()
    auto_recall: bool = True
    similarity_threshold: float = 0.0
    max_search_results: int = 5


class RedactionSettings(NamedTuple):
    """Masking of secrets; `patterns` come on top of the built-in rules."""

    enabled: bool = True
    patterns: tuple[str, ...] = ()


class Config(NamedTuple):
    """All settings, checked; paths absolute with `~` expanded, durations in seconds.

    Attributes:
        enabled: False: every tool answers `{"disabled": true}` and does nothing.
        workspace_dir: Home of all books.
        root_dir: This book's directory; "" is `workspace_dir`/key.
        project_key: "" is worked out from the git remote or the folder.
        backend: `sqlite_hybrid`, `sqlite_fts` or `scan`.
        db_path: Of the index; "" is inside the book.
        fts_enabled, vector_enabled: Legs of a search.
        sqlite_vec_extension_path: A sqlite-vec library to load; "" none.
        hybrid_vector_weight, hybrid_text_weight: >= 0; both 0 are the embedder's own.
        max_results: 1..200.
        min_score: Least relevance, 0..1.
        provider: `tiered`, `flat` or `agentic`.
        language: `auto`, `en` or `zh`.
        timezone: `local` or an IANA name: which day a note belongs to.
        auto_flush_on_compaction, auto_capture_on_new_session, auto_store: What happens by itself.
        require_user_confirmation: Automatic writes wait in the review queue.
        store_threshold: 0..1.
        max_memories, inject_min_score: Of retrieve-and-inject.
        idle_timeout: Seconds until a session counts as ended; 0 is never.
        index_history_jsonl: Always False.
        llm, embeddings, transcripts, recall, redaction: See their classes.
        sources: Setting -> where it was set; what is not in it has its default.
        warnings: What was left out and why, one sentence each.
    """

    enabled: bool = True
    workspace_dir: str = "~/.memorybook"
    root_dir: str = ""
    project_key: str = ""
    backend: str = "sqlite_hybrid"
    db_path: str = ""
    fts_enabled: bool = True
    vector_enabled: bool = True
    sqlite_vec_extension_path: str = ""
    hybrid_vector_weight: float = 0.0
    hybrid_text_weight: float = 0.0
    max_results: int = 10
    min_score: float = 0.0
    provider: str = "tiered"
    language: Literal["auto", "en", "zh"] = "auto"
    timezone: str = "local"
    auto_flush_on_compaction: bool = True
    auto_capture_on_new_session: bool = True
    require_user_confirmation: bool = False
    auto_store: bool = True
    store_threshold: float = 0.5
    max_memories: int = 5
    inject_min_score: float = 0.7
    idle_timeout: float = 1800.0
    index_history_jsonl: bool = False
    llm: LLMSettings = LLMSettings()
    embeddings: EmbeddingSettings = EmbeddingSettings()
    transcripts: TranscriptSettings = TranscriptSettings()
    recall: RecallSettings = RecallSettings()
    redaction: RedactionSettings = RedactionSettings()
    sources: Mapping[str, str] = _NOTHING
    warnings: tuple[str, ...] = ()

    @property
    def embedding_base_url(self) -> str:
        """Address of the embedding server: `embeddings.base_url`, else that of `llm`."""
        return self.embeddings.base_url or self.llm.base_url

    @property
    def embedding_api_key(self) -> str:
        """Key of the embedding server: `embeddings.api_key`, else that of `llm`."""
        return self.embeddings.api_key or self.llm.api_key


_CHOICES: Mapping[str, tuple[str, ...]] = {
    "backend": ("sqlite_hybrid", "sqlite_fts", "scan"),
    "provider": ("tiered", "flat", "agentic"),
    "language": ("auto", "en", "zh"),
    "llm.api": ("auto", "openai", "anthropic"),
    "llm.mode": ("auto", "json_schema", "tool", "prompted"),
}
_RANGES: Mapping[str, tuple[float, float]] = {
    "min_score": (0, 1),
    "store_threshold": (0, 1),
    "inject_min_score": (0, 1),
    "recall.similarity_threshold": (0, 1),
    "max_results": (1, 200),
    "max_memories": (1, 200),
    "recall.max_search_results": (1, 200),
    "embeddings.batch": (1, 2048),
    "embeddings.dimensions": (0, 65536),
    "llm.timeout": (0.1, 86400),
    "embeddings.timeout": (0.1, 86400),
}
_DURATIONS = frozenset({"idle_timeout", "llm.timeout", "embeddings.timeout"})
_PATHS = frozenset({"workspace_dir", "root_dir", "db_path", "sqlite_vec_extension_path", "transcripts.db_path"})
_NEEDS_TRUST = _PATHS | {
    "llm.base_url",
    "llm.api_key",
    "llm.api",
    "embeddings.base_url",
    "embeddings.api_key",
    "transcripts.url",
    "redaction.enabled",
}
_LOCAL = "local/"
_REACHES_OUT = {"embeddings.model": _LOCAL, "llm.model": "pydantic-ai/"}  # read or fetch files; talk with keys of others
_FOLDERS = tuple(_LOCAL + first for first in "/~.")
_PREFIX = "MEMORYBOOK_"
_NOT_SETTINGS = frozenset({"MEMORYBOOK_DEBUG", "MEMORYBOOK_DATA", "MEMORYBOOK_TOKEN"})
_LARGEST = 1e15
_SWITCHES = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


def load(
    *, cwd: str, env: Mapping[str, str], home: str | None = None, arguments: Mapping[str, Any] | None = None
) -> Config:
    """The settings for work in the directory `cwd`.

    Args:
        cwd: Absolute. The project's file is looked for here and in the folders above, up to the git top level.
        env: The environment; only `MEMORYBOOK_*`, `XDG_CONFIG_HOME` and `HOME` are read. An empty variable is unset.
        home: The user's home directory; None is `HOME` of `env`, else the system's answer.
        arguments: Highest level, by dotted name; a value may be text, None is not given.

    Raises:
        ConfigError: An unknown setting, two spellings that differ, a wrong type or range, an unreadable file.
        MissingExtra: The project's file is YAML and the extra is not installed.
    """
    home = home or env.get("HOME") or os.path.expanduser("~")
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    warnings: list[str] = []
    folder = config_files.config_dir(env, home)
    user = os.path.join(folder, "config.toml")
    layers: list[list[Given]] = [config_files.read(user)] if os.path.exists(user) else []
    layers.append(_from_project(cwd, folder, warnings))
    layers.append(list(_from_environment(env, cwd)))
    layers.append([Given(name, v, "argument", cwd, True) for name, v in (arguments or {}).items() if v is not None])
    for layer in layers:
        for key, (value, given) in _checked(layer, home).items():
            values[key] = value
            sources[key] = given.origin
    values.setdefault("workspace_dir", os.path.join(home, ".memorybook"))
    return _built(values, sources, tuple(warnings))


def _built(values: Mapping[str, Any], sources: Mapping[str, str], warnings: tuple[str, ...]) -> Config:
    config = Config(sources=sources, warnings=warnings)
    for key, value in values.items():
        group, _, name = key.rpartition(".")
        if group == "llm.budget":
            config = config._replace(llm=config.llm._replace(budget=config.llm.budget._replace(**{name: value})))
        elif group:
            config = config._replace(**{group: getattr(config, group)._replace(**{name: value})})
        else:
            config = config._replace(**{name: value})
    return config


def settings(config: Config) -> dict[str, Any]:
    """Every setting by its dotted name, in order; secrets as they are."""
    return dict(_flat(config, ""))


def _flat(values: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in zip(values._fields, values, strict=True):
        if hasattr(value, "_fields"):
            yield from _flat(value, f"{prefix}{name}.")
        elif prefix or name not in ("sources", "warnings"):
            yield prefix + name, value


# --- names ---------------------------------------------------------------------------------------


def _checked(layer: list[Given], home: str) -> dict[str, tuple[Any, Given]]:
    """One layer by canonical name, values parsed; two spellings of a setting must agree."""
    if not layer:
        return {}
    defaults = settings(Config())
    names = _names()
    found: dict[str, tuple[Any, Given]] = {}
    for given in layer:
        key = _canonical(given, names)
        value = _value(key, defaults[key], given, home)
        before = found.get(key)
        if before and before[0] != value:
            first, second = (f"{one.name} ({one.origin})" for one in (before[1], given))
            raise ConfigError(f"{first} and {second} are the same setting with different values: keep one of them")
        found[key] = (value, given)
    return found


def _plain(name: str) -> str:
    """`llm.base_url`, `LLM__BASE_URL` and `llm-base-url` are one name."""
    return name.lower().replace("-", "_").replace(".", "_").replace("__", "_")


def _names() -> dict[str, str]:
    """Plain name -> setting, with the aliases; `vector_enabled` stays itself."""
    keys = list(settings(Config()))
    aliases = {_plain("vector." + key.partition(".")[2]): key for key in keys if key.startswith("embeddings.")}
    return aliases | {_plain(key): key for key in keys}


def _find(name: str, names: Mapping[str, str]) -> str | None:
    plain = _plain(name)
    return names.get(plain) or names.get(plain.removeprefix("memory_"))


def _near(name: str, names: Mapping[str, str], *, cutoff: float) -> list[str]:
    """The known name nearest to this one, if it is alike enough (0..1)."""
    from difflib import get_close_matches

    return get_close_matches(_plain(name).removeprefix("memory_"), names, n=1, cutoff=cutoff)


def _canonical(given: Given, names: Mapping[str, str]) -> str:
    key = _find(given.name, names)
    if key is None:
        near = _near(given.name, names, cutoff=0.6)
        hint = f"did you mean {names[near[0]]!r}?" if near else "the documentation lists all settings"
        raise ConfigError(f"unknown setting {given.name!r} ({given.origin}); {hint}")
    return key


# --- values --------------------------------------------------------------------------------------


def _value(key: str, default: Any, given: Given, home: str) -> Any:
    """The value in its type and range. Raises ConfigError."""
    try:
        value: Any = _duration(given.value) if key in _DURATIONS else _typed(default, given)
        _check_range(key, value)
    except ValueError as problem:
        shown = "that" if key.endswith(("api_key", "url")) else repr(given.value)
        raise ConfigError(f"{given.name} ({given.origin}) must be {problem}, not {shown}") from None
    place = _LOCAL if key == "embeddings.model" and value.startswith(_FOLDERS) else ""
    if place or (key in _PATHS and value):
        return place + config_files.absolute(value.removeprefix(place), given.base, home)
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
    if key in _CHOICES and value not in _CHOICES[key]:
        raise ValueError("one of " + ", ".join(_CHOICES[key]))
    if key == "timezone":
        _check_timezone(value)
    if key == "index_history_jsonl" and value:
        raise ValueError("false: raw history would put every word, and every secret, into what searches show")
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = _RANGES.get(key, (0, _LARGEST))
        if not low <= value <= high:
            raise ValueError(f"from {low} to {high}" if high < _LARGEST else f"at least {low}")


def _check_timezone(name: str) -> None:
    if name in ("local", "UTC"):
        return
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        raise ValueError("'local' or an IANA name such as 'Asia/Shanghai'") from None


# --- where settings come from --------------------------------------------------------------------


def _from_environment(env: Mapping[str, str], cwd: str) -> Iterator[Given]:
    for name, value in env.items():
        if name.startswith(_PREFIX) and value and name not in _NOT_SETTINGS:
            setting = "workspace_dir" if name == "MEMORYBOOK_HOME" else name.removeprefix(_PREFIX).lower()
            yield Given(setting, value, f"environment variable {name}", cwd, True)


def project_files(cwd: str) -> list[str]:
    """Settings files of the project around `cwd`: of the nearest folder that has any, up to the git top level."""
    return config_files.project_files(cwd, _is_ours)


def _is_ours(name: str) -> bool:
    """Whether this is a setting of ours, or one misspelt."""
    names = _names()
    return _find(name, names) is not None or bool(_near(name, names, cutoff=0.85))


def _from_project(cwd: str, folder: str, warnings: list[str]) -> list[Given]:
    """The project's settings; of a file that is not trusted, only those that can do no harm."""
    taken: list[Given] = []
    for path in project_files(cwd):
        given = config_files.read(path)
        risky = _risky(given)
        if risky and not config_files.is_trusted(path, folder):
            names = ", ".join(one.name for one in risky)
            warnings.append(f"{path} is not trusted, its {names} left out; read it, then run: memorybook trust {path}")
            given = [one for one in given if one not in risky]
        taken += given
    return taken


def _risky(given: list[Given]) -> list[Given]:
    names = _names()
    keyed = [(one, _find(one.name, names) or "") for one in given]
    return [
        one
        for one, key in keyed
        if key in _NEEDS_TRUST or (key in _REACHES_OUT and str(one.value).startswith(_REACHES_OUT[key]))
    ]


def trust(path: str, *, env: Mapping[str, str], home: str | None = None) -> list[str]:
    """Take this settings file as it is from now on; once changed it must be trusted again.

    Returns:
        The names of its settings that needed it.

    Raises:
        NotFound: No such file.
        ConfigError: It cannot be read.
    """
    if not os.path.isfile(path):
        raise NotFound(f"no settings file {path!r}")
    risky = _risky(config_files.read(path))
    config_files.record_trust(path, config_files.config_dir(env, home or env.get("HOME") or os.path.expanduser("~")))
    return [one.name for one in risky]
