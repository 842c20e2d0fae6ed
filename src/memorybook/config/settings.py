"""Settings, read once: defaults < user's file < project's file < environment < arguments.

Values are named tuples because a cold search reads this: no file, no parser is touched that is not
there. A project's file comes with somebody else's repository, so what chooses a book, a model, a server or a path in
it, or what happens without asking, counts only after `memorybook trust`; until then it is left out with a warning.
"""

from __future__ import annotations

import os

from memorybook._light import Any, Callable, Iterator, Literal, Mapping, NamedTuple, quoted, suppress
from memorybook.config import files
from memorybook.config.files import Given
from memorybook.errors import ConfigError, NotFound, Unavailable

_NOTHING: Mapping[str, str] = {}

OFF = "memory is switched off: its user can switch it on with the setting enabled = true"
"""What is told where memory is asked for something; also by models, to their users."""


def _shown(value: tuple[Any, ...], fields: tuple[str, ...]) -> str:
    """Return a repr that tells whether a key or an address is set, and never what it is."""
    secret = ("api_key", "auth_token", "url", "base_url", "dsn")
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
        temperature: 0 to 2; below 0 leaves it to the server.
        budget: See `Budget`.
    """

    base_url: str = ""
    api_key: str = ""
    model: str = ""
    api: str = "auto"
    mode: str = "auto"
    timeout: float = 60.0
    max_tokens: int = 0
    temperature: float = -1.0
    budget: Budget = Budget()

    def __repr__(self) -> str:
        return _shown(self, self._fields)


class EmbeddingSettings(NamedTuple):
    """An embedder: a service, `local/…` a model on this machine, and without `model` the bundled one.

    Attributes:
        base_url, api_key: "" is that of `llm` (see `Config.embedding_base_url`).
        model: "" is a bundled embedder, by what the book holds; `multilingual` is always that one; `local/` before a
            folder (`/`, `~/`, `./`) or a name on the hub.
        dimensions: 0 is the model's own.
        batch: Texts per request.
        timeout: Seconds per request, and that a search waits for the service.
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

    `url` is a libSQL file or server instead, which is shown `auth_token`. With `auto_session` the first input opens a
    session; else one is opened by name. `auto_export` exports the sessions
    whenever one ends and after an import, `export_on_exit` when a program that brought turns closes the book; to the
    file `export_path`, "" is the book's own.
    """

    enabled: bool = True
    db_path: str = ""
    url: str = ""
    auth_token: str = ""
    auto_session: bool = True
    auto_export: bool = False
    export_on_exit: bool = False
    export_path: str = ""

    def __repr__(self) -> str:
        return _shown(self, self._fields)


class StorageSettings(NamedTuple):
    """Where books are kept.

    Attributes:
        kind: `files`, `memory` (in this process and gone with it), or `postgresql`.
        dsn: The PostgreSQL server, `postgresql://…`, or several with blanks between; set, it implies that kind.
        tenant: Whose book of that server it is.
        pool: Connections to the server that a process has at most; 3 or more.
        standby_reads: Let searches read from standbys among the hosts of `dsn` that have every write.
        idle_folder: Where books of the server are kept that nobody uses (`memorybook db rest`), as a backup each.
    """

    kind: str = "files"
    dsn: str = ""
    tenant: str = "default"
    pool: int = 10
    standby_reads: bool = False
    idle_folder: str = ""

    def __repr__(self) -> str:
        return _shown(self, self._fields)


class RecallSettings(NamedTuple):
    """When an agent's turn looks things up by itself, and how much it takes.

    Attributes:
        keywords: Words that ask for a recall, besides the built-in ones.
        auto_recall: Whether it happens without being asked.
        similarity_threshold: Relevance, 0..1, from which talk like input that asks for nothing is recalled; 0: never.
        max_search_results: How many sessions and turns a recall brings unless it is told, 1..200.
        max_context_tokens: Size of what a prompt is given besides the talk, 100..1,000,000.
    """

    keywords: tuple[str, ...] = ()
    auto_recall: bool = True
    similarity_threshold: float = 0.0
    max_search_results: int = 5
    max_context_tokens: int = 4_000


class LayerSettings(NamedTuple):
    """Directories of books that are read along with each book, and never written to through it; "" none."""

    personal: str = ""
    team: str = ""


class RedactionSettings(NamedTuple):
    """Masking of secrets; `patterns` come on top of the built-in rules."""

    enabled: bool = True
    patterns: tuple[str, ...] = ()


class TidySettings(NamedTuple):
    """What tidying does by itself.

    Attributes:
        apply: Kinds that are carried out without asking; the others are proposed. See `entries.review.TIDYING`.
        tokens: That a language model may be asked with in one run, about entries that rules cannot tell apart; 0: none.
        after_session: Whether a session's end tidies, at most once a day.
    """

    apply: tuple[str, ...] = ("expire", "archive")
    tokens: int = 4_000
    after_session: bool = True


class StaleSettings(NamedTuple):
    """Days after which an entry of a category that nobody confirmed is told as not confirmed; 0: never."""

    preference: int = 365
    fact: int = 365
    decision: int = 180
    experience: int = 0
    workflow: int = 180
    skill_usage: int = 365
    todo: int = 30
    context: int = 45


class ServerSettings(NamedTuple):
    """How `memorybook serve` is reached, and how much it takes.

    Attributes:
        host, port: Where it listens; port 0 takes a free one.
        hosts: Names that it is called by, besides `host` and those of this machine itself.
        tls_cert, tls_key: Files of a certificate and its key, PEM; "" is plain HTTP.
        max_body: Bytes of a request.
        rate: Requests a second that a token may make, in the long run; 0 is no limit.
        max_requests: That are worked on or wait at a time; streams of the page are counted apart, up to as many.
        threads: Requests that are worked on at a time.
        timeout: Seconds until a request is answered that its work goes on.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    hosts: tuple[str, ...] = ()
    tls_cert: str = ""
    tls_key: str = ""
    max_body: int = 16_777_216
    rate: float = 200.0
    max_requests: int = 1_000
    threads: int = 16
    timeout: float = 120.0


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
        rerank: Whether a cross-encoder reads the best 20 of each search.
        max_results: 1..200.
        min_score: Least relevance, 0..1.
        provider: `tiered`, `flat` or `agentic`.
        language: `auto`, `en` or `zh`.
        timezone: `local` or an IANA name: which day a note belongs to.
        auto_flush_on_compaction, auto_capture_on_new_session, auto_store: What happens by itself.
        require_user_confirmation: Automatic writes wait in the review queue.
        conflicts: Which of two statements that contradict each other is held true: `newest`, `highest_trust`, `ask`
            (the review queue) or `keep_both`.
        store_threshold: 0..1.
        max_memories, inject_min_score: Of retrieve-and-inject.
        idle_timeout: Seconds until a session counts as ended; 0 is never.
        index_history_jsonl: Always False.
        llm, embeddings, transcripts, storage, layers, recall, redaction, tidy, stale, server: See their classes.
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
    rerank: bool = False
    max_results: int = 10
    min_score: float = 0.0
    provider: str = "tiered"
    language: Literal["auto", "en", "zh"] = "auto"
    timezone: str = "local"
    auto_flush_on_compaction: bool = True
    auto_capture_on_new_session: bool = True
    require_user_confirmation: bool = False
    conflicts: Literal["newest", "highest_trust", "ask", "keep_both"] = "newest"
    auto_store: bool = True
    store_threshold: float = 0.5
    max_memories: int = 5
    inject_min_score: float = 0.7
    idle_timeout: float = 1800.0
    index_history_jsonl: bool = False
    llm: LLMSettings = LLMSettings()
    embeddings: EmbeddingSettings = EmbeddingSettings()
    transcripts: TranscriptSettings = TranscriptSettings()
    storage: StorageSettings = StorageSettings()
    layers: LayerSettings = LayerSettings()
    recall: RecallSettings = RecallSettings()
    redaction: RedactionSettings = RedactionSettings()
    tidy: TidySettings = TidySettings()
    stale: StaleSettings = StaleSettings()
    server: ServerSettings = ServerSettings()
    sources: Mapping[str, str] = _NOTHING
    warnings: tuple[str, ...] = ()

    def check_enabled(self) -> None:
        """Raise Unavailable while memory is switched off."""
        if not self.enabled:
            raise Unavailable(OFF)

    @property
    def embedding_base_url(self) -> str:
        """Address of the embedding server: `embeddings.base_url`, else that of `llm`."""
        return self.embeddings.base_url or self.llm.base_url

    @property
    def embedding_api_key(self) -> str:
        """Key of the embedding server: `embeddings.api_key`, else that of `llm`."""
        return self.embeddings.api_key or self.llm.api_key


_PREFIX = "MEMORYBOOK_"
_WHERE = ("workspace_dir", "root_dir", "project_key")
_NOT_SETTINGS = frozenset({"MEMORYBOOK_DEBUG", "MEMORYBOOK_DATA", "MEMORYBOOK_TOKEN"})


def load(
    *, cwd: str, env: Mapping[str, str], home: str | None = None, arguments: Mapping[str, Any] | None = None
) -> Config:
    """Return the settings for work in the directory `cwd`.

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
    folder = files.config_dir(env, home)
    layers = [files.of_user(folder), _from_project(cwd, folder, warnings)]
    layers.append(list(_from_environment(env, cwd)))
    layers.append([Given(name, v, "argument", cwd, True) for name, v in (arguments or {}).items() if v is not None])
    for layer in layers:
        for key, (value, given) in _checked(layer, home).items():
            values[key] = value
            sources[key] = given.origin
    values.setdefault("workspace_dir", os.path.join(home, ".memorybook"))
    return _built(values, sources, tuple(warnings))


def where(*, cwd: str, env: Mapping[str, str], home: str | None = None) -> Config:
    """Read only the settings that say where the book is, as far as they can be told.

    For what cannot wait until a mistake in the settings is mended: takes what `load` takes, and raises nothing of that.
    """
    from memorybook.config.files import value_of

    home = home or env.get("HOME") or os.path.expanduser("~")
    folder, names = files.config_dir(env, home), _names()
    layer = [one for path in files.user_files(folder) for one in files.salvaged(path, whole=True)]
    for path in project_files(cwd):
        found = files.salvaged(path)
        trusted = files.is_trusted(path, folder)
        layer += [one for one in found if not _risky([one]) or (trusted and not files.leads_out(one))]
    values = {"workspace_dir": os.path.join(home, ".memorybook")}
    for given in (*layer, *_from_environment(env, cwd)):
        key = _find(given.name, names)
        if key in _WHERE:
            with suppress(ConfigError):
                values[key] = value_of(key, "", given, home)
    return _built(values, {}, ())


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
    """Return every setting by its dotted name, in order; secrets as they are."""
    return dict(_flat(config, ""))


def machine_paths(config: Config, *places: str) -> Callable[[str], str]:
    """Take out of a text where on this machine these places, the settings' files and what they name are.

    For those who are served by somebody else's machine: what is left of a path tells which file is meant.
    """
    import re

    values = (*settings(config).values(), *config.sources.values(), *places, *map(os.path.realpath, places))
    given = {value.removeprefix("local/").rstrip("/") for value in values if isinstance(value, str)}
    paths = {path for path in given if path.startswith("/")}
    longest = sorted({*paths, *(quoted(path)[1:-1] for path in paths)}, key=len, reverse=True)
    found = re.compile(rf"(?:{'|'.join(map(re.escape, longest))})(?![\w-])")
    return lambda text: found.sub("...", text) if longest else text


def _flat(values: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in zip(values._fields, values, strict=True):
        if hasattr(value, "_fields"):
            yield from _flat(value, f"{prefix}{name}.")
        elif prefix or name not in ("sources", "warnings"):
            yield prefix + name, value


# --- names ---------------------------------------------------------------------------------------


def _checked(layer: list[Given], home: str) -> dict[str, tuple[Any, Given]]:
    """Return one layer by canonical name, values parsed; two spellings of a setting must agree."""
    if not layer:
        return {}
    from memorybook.config.files import value_of

    defaults = settings(Config())
    names = _names()
    found: dict[str, tuple[Any, Given]] = {}
    for given in layer:
        key = _find(given.name, names)
        if key is None:
            near = _near(given.name, names, cutoff=0.6)
            hint = f"did you mean {names[near[0]]!r}?" if near else "the documentation lists all settings"
            raise ConfigError(f"unknown setting {given.name!r} ({given.origin}); {hint}")
        value = value_of(key, defaults[key], given, home)
        before = found.get(key)
        if before and before[0] != value:
            first, second = (f"{one.name} ({one.origin})" for one in (before[1], given))
            raise ConfigError(f"{first} and {second} are the same setting with different values: keep one of them")
        found[key] = (value, given)
    return found


def _plain(name: str) -> str:
    """Fold a name: `llm.base_url`, `LLM__BASE_URL` and `llm-base-url` are one."""
    return name.lower().replace("-", "_").replace(".", "_").replace("__", "_")


def _names() -> dict[str, str]:
    """Map plain names to settings, aliases included; `vector_enabled` stays itself."""
    keys = list(settings(Config()))
    aliases = {_plain("vector." + key.partition(".")[2]): key for key in keys if key.startswith("embeddings.")}
    aliases |= {
        name: f"transcripts.{name}" for name in ("auto_session", "auto_export", "export_on_exit", "export_path")
    }
    aliases |= {f"vector_{name}": f"recall.{name}" for name in ("max_search_results", "similarity_threshold")}
    return aliases | {_plain(key): key for key in keys}


def _find(name: str, names: Mapping[str, str]) -> str | None:
    plain = _plain(name)
    return names.get(plain) or names.get(plain.removeprefix("memory_"))


def _near(name: str, names: Mapping[str, str], *, cutoff: float) -> list[str]:
    """Return the known name nearest to this one, if it is alike enough (0..1)."""
    from difflib import get_close_matches

    return get_close_matches(_plain(name).removeprefix("memory_"), names, n=1, cutoff=cutoff)


# --- where settings come from --------------------------------------------------------------------


def _from_environment(env: Mapping[str, str], cwd: str) -> Iterator[Given]:
    for name, value in env.items():
        if name.startswith(_PREFIX) and value and name not in _NOT_SETTINGS:
            setting = "workspace_dir" if name == "MEMORYBOOK_HOME" else name.removeprefix(_PREFIX).lower()
            yield Given(setting, value, f"environment variable {name}", cwd, True)


def project_files(cwd: str) -> list[str]:
    """Find the settings files of the project around `cwd`: of the nearest folder that has any, up to the git top."""
    return files.project_files(cwd, _is_ours)


def _is_ours(name: str) -> bool:
    """Return whether this is a setting of ours, or one misspelt."""
    names = _names()
    return _find(name, names) is not None or bool(_near(name, names, cutoff=0.85))


def _from_project(cwd: str, folder: str, warnings: list[str]) -> list[Given]:
    """Return the project's settings; of a file that is not trusted, only those that can do no harm.

    Trust in a file holds for what it says, not for a link that took a folder's place since.
    """
    taken: list[Given] = []
    for path in files.unread(cwd, folder, _is_ours):
        warnings.append(
            f"{path} is not read: settings stand in memorybook.toml, .json or .yaml, or in {folder}/config.toml"
        )
    for path in project_files(cwd):
        given = files.read(path)
        risky = _risky(given)
        if risky and not files.is_trusted(path, folder):
            names = ", ".join(one.name for one in risky)
            warnings.append(f"{path} is not trusted, its {names} left out; read it, then run: memorybook trust {path}")
            given = [one for one in given if one not in risky]
        elif astray := [one for one in risky if files.leads_out(one)]:
            names = ", ".join(one.name for one in astray)
            warnings.append(f"{path}: {names} left out, a link there leads out of the project; name the place itself")
            given = [one for one in given if one not in astray]
        taken += given
    return taken


def _risky(given: list[Given]) -> list[Given]:
    from memorybook.config.files import needs_trust

    names = _names()
    return [one for one in given if needs_trust(_find(one.name, names) or "", one.value)]


def trusts(path: str, *, env: Mapping[str, str], home: str | None = None) -> bool:
    """Return whether all of this settings file counts: trusted, or harmless. Raises ConfigError."""
    folder = files.config_dir(env, home or env.get("HOME") or os.path.expanduser("~"))
    return not _risky(files.read(path)) or files.is_trusted(path, folder)


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
    risky = _risky(files.read(path))
    files.record_trust(path, files.config_dir(env, home or env.get("HOME") or os.path.expanduser("~")))
    return [one.name for one in risky]
