"""The verb setup: find the agent hosts of this machine, put hooks and server into them, make the book, and check it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook import locale
from memorybook.cli.call import command, machine_language, working_directory
from memorybook.cli.doctor import Doctor, examine, install_command, short, show_checks
from memorybook.errors import Conflict, InvalidInput, MemoryBookError
from memorybook.hooks import hosts
from memorybook.hooks.hosts import HOOKED, HOSTS, host_of, places, sign_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memorybook.cli.call import Call
    from memorybook.cli.show import Page
    from memorybook.hooks.host_files import Changed
    from memorybook.hooks.hosts import Places


class Step(NamedTuple):
    """One settings file of a host, and what is done to it.

    Attributes:
        host: Its name, as `--host` takes it.
        part: `hooks` or `mcp`.
        path: The file.
        action: `written`, `removed`, `unchanged`; `missing` where a package is, `refused` where the file cannot be
            changed.
        why: Why it is refused, or the command that installs the package.
        backup: What the file was before; "" if there was none, or nothing changed.
    """

    host: str
    part: str
    path: str
    action: str
    why: str = ""
    backup: str = ""


class Setup:
    """What is set up in the user's settings of these hosts, or with `removes` taken out of them.

    `book` is used by every host, or None: by those that start the server in any folder `root`, by others the project's.
    """

    def __init__(self, at: Places, names: Sequence[str], root: str, book: str | None, *, removes: bool) -> None:
        self._at, self.names, self._root, self._book, self._removes = at, names, root, book, removes

    def steps(self, *, dry: bool) -> list[Step]:
        """Return what is done to each file, and do it unless `dry`; one that is refused stops no other."""
        found = []
        for name in self.names:
            for part, path in self._files(name):
                if part == "mcp" and not self._removes and not _has_server():
                    found.append(Step(name, part, path, "missing", install_command(os.path.abspath(sys.executable))))
                    continue
                try:
                    changed = self._change(name, part, path, dry=dry)
                except (InvalidInput, Conflict) as error:
                    found.append(Step(name, part, path, "refused", str(error)))
                except OSError as error:
                    found.append(Step(name, part, path, "refused", f"{path}: {error.strerror or error}"))
                else:
                    found.append(Step(name, part, path, changed.action, backup=changed.backup))
        return found

    def _files(self, name: str) -> Iterable[tuple[str, str]]:
        if name in HOOKED:
            yield "hooks", hosts.file_of(name, "user", at=self._at, folder="", among=HOOKED)
        yield "mcp", hosts.file_of(name, "user", at=self._at, folder="")

    def _change(self, name: str, part: str, path: str, *, dry: bool) -> Changed:
        if part == "mcp":
            book = self._book or (None if HOSTS[name].follows else self._root)
            return hosts.install(name, path, None if self._removes else hosts.entry_of(name, book), dry=dry)
        hooks = hosts.hooks_of(name, lambda event: hosts.hook_command(name, event, self._book))
        return hosts.install_hooks(path, {} if self._removes else hooks, dry=dry)


def _has_server() -> bool:
    from importlib.util import find_spec

    return find_spec("mcp") is not None


def _show(shown: dict[str, Any], page: Page) -> None:
    """Show what became of each host, what happens next in it, and how to take it back."""

    def say(id: str, **values: Any) -> str:
        return locale.message(f"setup.{id}", shown["language"], **values)

    steps = [step for each in shown["hosts"] for step in each["steps"]]
    if shown["plan"] or not shown["asked"]:
        _show_plan(shown, page)
    if shown["plan"]:
        page.remark(say("plan_only"))
        return
    if any(step["backup"] for step in steps) and not shown["undo"]:
        page.text(say("kept"))
    for step in steps:
        if step["action"] == "refused":
            word = "hook" if step["part"] == "hooks" else "mcp"
            page.text(say("by_hand", command=f"memorybook {word} install --host {step['host']} --print"))
    if shown["undo"]:
        taken = any(step["action"] == "removed" for step in steps)
        page.line(("good", say("undone" if taken else "undone_nothing")))
        return
    page.line("")
    page.line(("strong", say("check")))
    show_checks(shown["doctor"], page, shown["language"])
    if any(step["action"] in ("missing", "refused") for step in steps):
        page.line(("warn", say("partly")))
    page.line("")
    page.line(("strong", say("next")))
    for sentence in shown["next"]:
        page.text(f"- {sentence}")


def _show_plan(shown: dict[str, Any], page: Page) -> None:
    """Show each host with its files, and what is or will be done to them."""
    from memorybook.cli.wording import cells, padded

    def say(id: str, **values: Any) -> str:
        return locale.message(f"setup.{id}", shown["language"], **values)

    places = [short(step["path"]) for each in shown["hosts"] for step in each["steps"]]
    width = max(map(cells, places), default=0)
    missing = ""
    for each in shown["hosts"]:
        title = HOSTS[each["host"]].title
        page.line(("strong", title), f"  {say('found', sign=short(each['sign']))}" if each["sign"] else "")
        for step in each["steps"]:
            action = step["action"]
            good = action in ("written", "removed")
            if good and (shown["plan"] or shown["asked"]):
                action = f"will_{action}"
            elif shown["undo"] and action == "unchanged":
                action = "nothing"
            place = ("place", padded(short(step["path"]), width))
            page.line(f"  {say(step['part'])}  ", place, "  ", ("good" if good else "warn", say(action)))
            if step["action"] == "missing":
                missing = step["why"]
            elif step["why"]:
                page.text(step["why"], "    ")
        if not shown["undo"] and each["host"] not in HOOKED:
            page.text(say("no_hooks", host=title), "  ")
    if not shown["hosts"]:
        page.text(say("no_hosts", names=", ".join(HOSTS)))
    if not shown["undo"]:
        page.line(("strong", say("book")), "  ", ("place", short(shown["book"])), "  ", say(shown["book_state"]))
        if shown["book_why"]:
            page.text(shown["book_why"], "    ")
    if missing and (shown["plan"] or shown["asked"]):  # else it is among what comes next
        page.text(say("next_missing", command=missing))


def _next(names: Sequence[str], steps: Sequence[Step], root: str, language: str, *, named: bool) -> list[str]:
    """Return what to do in each host, and what happens there then."""

    def say(id: str, **values: Any) -> str:
        return locale.message(f"setup.{id}", language, **values)

    def titles(names: Iterable[str]) -> str:
        return ", ".join(HOSTS[name].title for name in names)

    done = {(step.host, step.part) for step in steps if step.action in ("written", "unchanged")}
    hooked = [name for name in names if (name, "hooks") in done]
    tools = [name for name in names if name not in hooked and (name, "mcp") in done]
    missing = next((step.why for step in steps if step.action == "missing"), "")
    told = [
        say("next_hooks", hosts=titles(hooked)) if hooked else "",
        say("next_codex") if "codex" in hooked else "",
        say("next_tools", hosts=titles(tools), root=short(root)) if tools else "",
        say("next_missing", command=missing) if missing else "",
        say("next_projects") if hooked and not named else "",
        say("next_page"),
        say("next_undo") if done else "",
    ]
    return list(filter(None, told))


@command("setup", show=_show)
def _setup(call: Call) -> dict[str, Any]:
    """Plan, ask once, carry out, make the book, check; `--print` only plans, `--undo` takes all back."""
    from memorybook.config.project import locate
    from memorybook.storage.safe_open import check_system

    o = call.options
    config, at = call.config(), places(os.environ)
    language = machine_language(config)
    if not (o.undo or config.storage.dsn):
        check_system()
    for name in o.host:
        host_of(name, HOSTS)
    signs = {name: sign_of(name, at) for name in HOSTS}
    names = [name for name in HOSTS if (name in o.host if o.host else signs[name])]
    root, _ = locate(config, cwd=working_directory(), book=o.book, project=o.project)
    named = o.book is not None or o.project is not None
    setup = Setup(at, names, root, root if named else None, removes=o.undo)
    exists = os.path.isdir(root) or bool(config.storage.dsn)
    shown: dict[str, Any] = {"language": language, "plan": bool(o.print), "undo": o.undo, "asked": False}
    shown |= {"book": root, "book_state": "there" if exists else "will_make", "book_why": "", "next": [], "doctor": {}}

    def take(steps: Sequence[Step]) -> None:
        shown["hosts"] = [
            {"host": name, "sign": signs[name], "steps": [step._asdict() for step in steps if step.host == name]}
            for name in names
        ]

    steps = setup.steps(dry=True)
    take(steps)
    if o.print:
        return shown
    changes = any(step.action in ("written", "removed") for step in steps)
    if not o.yes and (changes or not (exists or o.undo)):
        if not o.json:
            from memorybook.cli.show import Page

            shown["asked"] = True
            _show_plan(shown, Page(o))
            call.flush()
        call.confirm(locale.message("setup.ask_undo" if o.undo else "setup.ask", language))
    steps = setup.steps(dry=False)
    take(steps)
    call.code = int(any(step.action in ("refused", "missing") for step in steps))
    if not o.undo:
        shown["book_state"], shown["book_why"] = _made(call, language)
        shown["doctor"] = examine(Doctor(config, language, book=o.book, project=o.project, names=names))
        shown["next"] = _next(names, steps, root, language, named=named)
        call.code = call.code or int(not shown["doctor"]["ok"])
    return shown


def _made(call: Call, language: str) -> tuple[str, str]:
    """Make the book and return what became of it, and why it could not be made."""
    if not call.config().enabled:
        return "off", ""
    try:
        return "made" if call.memory.init()["created"] else "there", ""
    except MemoryBookError as error:
        return "not_made", locale.describe(error, language)
    except OSError as error:
        return "not_made", error.strerror or str(error)
    finally:
        call.close()
