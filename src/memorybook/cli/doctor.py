"""The verb doctor: whether this machine's memory works from end to end, and what mends it where it does not."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook import locale
from memorybook.cli.call import command, machine_language, working_directory
from memorybook.errors import MemoryBookError

if TYPE_CHECKING:
    from memorybook.cli.call import Call
    from memorybook.cli.show import Page
    from memorybook.config.settings import Config
    from memorybook.memory import Memory

_SECONDS = 20
"""That a program of a host's entry may take to say its version, and a language model to answer."""

_MARKS = {"good": ("good", "✓"), "note": ("faint", "·"), "warn": ("warn", "!"), "bad": ("bad", "✗")}


class Check(NamedTuple):
    """What was looked at and found.

    Attributes:
        check: `settings`, `book`, `index`, `git`, `queue`, `host`, `round_trip` or `model`.
        state: `good`; `note`, to be known; `warn`, to be looked at; `bad`, what does not work as it is set up.
        told: A sentence.
        fix: What mends it; "" if nothing needs to.
    """

    check: str
    state: str
    told: str
    fix: str = ""


class Doctor:
    """The checks, in one language.

    `book` and `project` name the book as on the command line; `names` are hosts that were just set up; without them
    all are looked at, and those that are not set up are told.
    """

    def __init__(
        self,
        config: Config,
        language: str,
        *,
        book: str | None = None,
        project: str | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self._config = config
        self._language = language
        self._where = (book, project)
        self._names = names
        self._told: list[str] = []

    def checks(self) -> Iterator[Check]:
        """Look at one thing after the other."""
        yield from self._settings()
        try:
            yield from self._book()
        except (MemoryBookError, OSError) as error:
            yield self._failed("book", error)
        yield from self.hosts()
        yield self._guarded("round_trip", self._round_trip)
        yield self._guarded("model", self._model)

    def _say(self, id: str, **values: Any) -> str:
        return locale.message(f"doctor.{id}", self._language, **values)

    def _failed(self, check: str, error: Exception) -> Check:
        known = isinstance(error, MemoryBookError)
        told = locale.describe(error, self._language) if isinstance(error, MemoryBookError) else str(error)
        return Check(check, "bad", told, (locale.fix(str(error), self._language) if known else "") or self._say("read"))

    def _guarded(self, check: str, look: Callable[[], Check]) -> Check:
        try:
            return look()
        except (MemoryBookError, OSError) as error:
            return self._failed(check, error)

    def _reason(self, check: str, state: str, reason: str) -> Check:
        """Explain a reason that status gives."""
        return Check(check, state, locale.translate(reason, self._language), locale.fix(reason, self._language))

    def _settings(self) -> Iterator[Check]:
        config = self._config
        if not config.enabled:
            yield Check("settings", "bad", self._say("off"), self._say("off_fix"))
        else:
            said = len(config.sources)
            yield Check(
                "settings",
                "good",
                self._say("settings" if said else "settings_none", **{"count": said} if said else {}),
            )
        for warning in config.warnings:
            yield self._reason("settings", "warn", warning)

    def _book(self) -> Iterator[Check]:
        from memorybook.memory import open as open_memory

        book, project = self._where
        if not self._config.enabled:  # then none is made
            return
        with open_memory(book, project=project, config=self._config, door="cli") as memory:
            status = memory.status()
            root, index, waiting = status["root"], status["index"], status["waiting"]
            if not status["exists"]:
                reason = memory.context.absent or self._say("absent", root=root)
                yield Check("book", "bad", locale.translate(reason, self._language), self._say("absent_fix"))
                return
            counts = {"entries": status["entries"]["active"], "sessions": status["transcripts"].get("sessions", 0)}
            yield Check("book", "good", self._say("book", root=short(root), **counts))
            if index.get("fresh"):
                told = {"backend": index.get("backend", ""), "embedder": index.get("embedder") or self._say("none")}
                yield Check("index", "good", self._say("index", passages=index.get("passages", 0), **told))
            if pending := index.get("pending_vectors"):
                yield Check("index", "note", self._say("vectors", count=pending), self._say("vectors_fix"))
            found = memory.search(self._say("question"), max_results=1).state["degraded"]
            found = [one for one in found if locale.fix(one, "en")]  # but for what is of this question
            self._told = [*status["degraded"], *found]
            for reason in dict.fromkeys(self._told):
                yield self._reason("book", "bad", reason)
            for reason in status["warnings"][len(self._config.warnings) :]:
                yield self._reason("book", "warn", reason)
            yield from self._git(root)
            yield from self._queue(memory, waiting)

    def _git(self, root: str) -> Iterator[Check]:
        """Look whether the clone that a book stands in merges it as the book asks for."""
        from memorybook.exchange.git_merge import asks_for_driver, has_driver, top_of

        if asks_for_driver(root) and (top := top_of(root)):
            merges = has_driver(top)
            yield (
                Check("git", "good", self._say("git"))
                if merges
                else Check("git", "warn", self._say("git_lines"), self._say("git_fix"))
            )

    def _queue(self, memory: Memory, waiting: Mapping[str, int]) -> Iterator[Check]:
        from memorybook.sessions import event_queue

        machine = memory.book.storage.machine
        events = len(event_queue.names(machine)) if machine else 0
        if events:
            yield Check("queue", "note", self._say("events", count=events), self._say("events_fix"))
        if waiting["proposals"]:
            told = self._say("proposals", count=waiting["proposals"])
            yield Check("queue", "note", told, self._say("proposals_fix"))
        if not events and not waiting["sessions"]:  # sessions that wait are among what is degraded
            yield Check("queue", "good", self._say("queue"))

    def hosts(self) -> Iterator[Check]:
        """Look at the entries of each host that is on this machine, in the user's settings and in the project's."""
        from memorybook.hooks import hosts

        at, folder = hosts.places(os.environ), working_directory()
        for name in hosts.HOSTS if self._names is None else self._names:
            host, found = hosts.HOSTS[name], list[Check]()
            for scope in ("user", "project") if host.project else ("user",):
                entries = [("mcp", hosts.file_of(name, scope, at=at, folder=folder))]
                if name in hosts.HOOKED:
                    entries.append(("hooks", hosts.file_of(name, scope, at=at, folder=folder, among=hosts.HOOKED)))
                found += [one for part, path in entries for one in self._entry(name, part, path, scope == "project")]
            if self._names is None and not found and hosts.sign_of(name, at):
                found = [Check("host", "note", self._say("host_bare", host=host.title), self._say("host_bare_fix"))]
            yield from dict.fromkeys(found)  # one file may hold both

    def _entry(self, name: str, part: str, path: str, foreign: bool) -> Iterator[Check]:
        """Run what an entry names, asking it for its help, as its host would start it.

        A project's settings may be somebody else's (`foreign`): of what they name only this program itself is run.
        """
        from memorybook.hooks import hosts

        told = {"host": hosts.HOSTS[name].title, "path": short(path)}
        try:
            words = hosts.started_by(name, part, path)
        except (MemoryBookError, OSError) as error:
            unreadable = self._say("host_unreadable", host=told["host"], reason=str(error))
            yield Check("host", "bad", unreadable, self._say("host_unreadable_fix"))
            return
        if not words:
            return
        if not words[0]:  # a server elsewhere
            yield Check("host", "note", self._say("mcp_elsewhere", **told))
        elif foreign and not hosts.starts_us(part, words):
            yield Check("host", "note", self._say("not_run", program=words[0], **told), self._say("not_run_fix"))
        elif why := self._why_not(words):
            broken = self._say(f"{part}_broken", program=words[0], reason=why, **told)
            yield Check("host", "bad", broken, self._say("broken_fix", name=name))
        elif part == "mcp" and (extra := missing_extra(words[0])):
            yield Check("host", "bad", self._say("mcp_missing", **told), extra)
        else:
            yield Check("host", "good", self._say(f"{part}_runs", **told))

    def _why_not(self, words: Sequence[str]) -> str:
        """Return why a program does not start; "" if it does and tells its help."""
        try:
            done = subprocess.run(  # noqa: S603  (what the host itself would start)
                [*words, "--help"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return self._say("slow", count=_SECONDS)
        except (OSError, ValueError) as error:
            return getattr(error, "strerror", None) or str(error)
        if not done.returncode and b"memorybook" in done.stdout:
            return ""
        last = (done.stderr or done.stdout).decode("utf-8", "replace").strip().rpartition("\n")[2]
        return last or f"exit {done.returncode}"

    def _round_trip(self) -> Check:
        """Remember, find and forget in a scratch book, with the back end and the embedder that are set."""
        from memorybook.config.settings import Config
        from memorybook.memory import open as open_memory

        text = {"en": "The ferry to the island leaves at nine.", "zh": "去岛上的渡轮九点开。"}[self._language]
        asked = {"en": "When does the ferry leave?", "zh": "渡轮几点开？"}[self._language]
        names = ("backend", "fts_enabled", "vector_enabled", "sqlite_vec_extension_path", "rerank", "embeddings")
        set_here = {name: getattr(self._config, name) for name in names}
        embeddings = self._config.embeddings._replace(
            base_url=self._config.embedding_base_url, api_key=self._config.embedding_api_key
        )
        config = Config(**set_here | {"embeddings": embeddings})
        began = time.monotonic()
        with (
            tempfile.TemporaryDirectory(prefix="memorybook-doctor-") as folder,
            open_memory(os.path.join(folder, "book"), config=config, door="cli") as memory,
        ):
            id = memory.remember(text).known.entry.id
            answer = memory.search(asked)
            memory.forget(id)
            left = [hit for hit in memory.search(asked) if hit.passage.entry == id]
            if not any(hit.passage.entry == id for hit in answer) or left:
                return Check("round_trip", "bad", self._say("round_trip_failed"), self._say("round_trip_fix"))
            if degraded := [one for one in answer.state["degraded"] if one not in self._told]:
                return self._reason("round_trip", "bad", degraded[0])
        return Check("round_trip", "good", self._say("round_trip", seconds=f"{time.monotonic() - began:.1f}"))

    def _model(self) -> Check:
        """Ask the language model for one word, if one is configured: the only check that needs a network."""
        settings = self._config.llm
        if not settings.model:
            return Check("model", "good", self._say("no_model"))
        from memorybook.inference.llm import open_llm

        model = open_llm(settings._replace(timeout=min(settings.timeout, _SECONDS)))
        assert model is not None
        try:
            model.complete([{"role": "user", "content": "Say: yes"}], max_tokens=64)
        finally:
            if close := getattr(model, "close", None):
                close()
        return Check("model", "good", self._say("model", model=settings.model))


def missing_extra(program: str) -> str:
    """Return the command that installs what the server needs beside memorybook; "" if that Python has it."""
    if not os.path.basename(program).startswith("python"):
        return ""
    done = subprocess.run(  # noqa: S603
        [program, "-P", "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec('mcp') is None)"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return install_command(program) if done.returncode == 1 else ""


def install_command(program: str) -> str:
    """Return the command that installs the package that the server needs for a Python, by what made its environment."""
    from importlib import metadata

    needed = next(
        (
            found.partition(";")[0].strip()
            for found in metadata.requires("memorybook") or ()
            if found.startswith("mcp") and found.replace("'", '"').endswith('extra == "mcp"')
        ),
        "mcp",
    )
    if "/pipx/" in program:
        return shlex.join(["pipx", "inject", "memorybook", needed])
    if "/uv/" in program:
        return shlex.join(["uv", "pip", "install", "--python", program, needed])
    return shlex.join(["pip", "--python", program, "install", needed])


def short(path: str) -> str:
    """Return the path as people write it, with `~` for the home."""
    home = os.path.join(os.path.expanduser("~"), "")
    return os.path.join("~", path.removeprefix(home)) if len(home) > 1 and path.startswith(home) else path


def examine(doctor: Doctor) -> dict[str, Any]:
    """Carry out all checks and return the answer of the verb."""
    checks = list(doctor.checks())
    return {"ok": all(each.state != "bad" for each in checks), "checks": [each._asdict() for each in checks]}


def show_checks(shown: dict[str, Any], page: Page, language: str) -> None:
    """Show what was found, a line for each check, with what mends it below."""
    for each in shown["checks"]:
        style, mark = _MARKS[each["state"]]
        page.line((style, mark), f" {each['told']}")
        if each["fix"] and each["state"] != "good":
            page.text(each["fix"], "    ")
    failed = sum(each["state"] == "bad" for each in shown["checks"])
    verdict = locale.message(
        "doctor.ill" if failed else "doctor.well", language, **({"count": failed} if failed else {})
    )
    page.line(("bad" if failed else "good", verdict))


def _shown(shown: dict[str, Any], page: Page) -> None:
    show_checks(shown, page, shown["language"])


@command("doctor", show=_shown)
def _doctor(call: Call) -> dict[str, Any]:
    """Check the settings, the book, its index, the hosts, a round trip, and the model if one is set."""
    from memorybook.config.settings import Config

    o = call.options
    try:
        config = call.config()
    except MemoryBookError as error:
        language = machine_language(Config())
        told, fix = locale.describe(error, language), locale.message("doctor.settings_fix", language)
        call.code = 1
        return {"ok": False, "language": language, "checks": [Check("settings", "bad", told, fix)._asdict()]}
    language = machine_language(config)
    shown = examine(Doctor(config, language, book=o.book, project=o.project))
    call.code = 0 if shown["ok"] else 1
    return {**shown, "language": language}
