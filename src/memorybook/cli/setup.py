"""The verb setup: find the agent hosts of this machine, put hooks and server into them, make the book, and check it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook import locale
from memorybook.cli.call import command, working_directory
from memorybook.cli.doctor import Doctor, examine, install_command, machine_language, short, show_checks
from memorybook.errors import Conflict, InvalidInput

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
        from memorybook.hooks import hosts

        folder = os.curdir  # of no matter: they are the user's
        if name in hosts.HOOKED:
            yield "hooks", hosts.file_of(name, "user", at=self._at, folder=folder, among=hosts.HOOKED)
        yield "mcp", hosts.file_of(name, "user", at=self._at, folder=folder)

    def _change(self, name: str, part: str, path: str, *, dry: bool) -> Changed:
        from memorybook.hooks import hosts

        if part == "mcp":
            book = self._book or (None if hosts.HOSTS[name].follows else self._root)
            return hosts.install(name, path, None if self._removes else hosts.entry_of(name, book), dry=dry)
        hooks = hosts.hooks_of(name, lambda event: hosts.hook_command(name, event, self._book))
        return hosts.install_hooks(path, {} if self._removes else hooks, dry=dry)


def _has_server() -> bool:
    from importlib.util import find_spec

    return find_spec("mcp") is not None


def _show(shown: dict[str, Any], page: Page) -> None:
    """Show what became of each host, what happens next in it, and how to take it back."""
    language = shown["language"]
    if shown["plan"] or not shown["asked"]:
        _show_plan(shown, page)
    if shown["plan"]:
        page.remark(locale.message("setup.plan_only", language))
        return
    if shown["undo"]:
        taken = any(step["action"] == "removed" for each in shown["hosts"] for step in each["steps"])
        done = locale.message("setup.undone" if taken else "setup.undone_nothing", language, root=short(shown["book"]))
        page.line(("good", done))
        return
    _show_kept(shown, page)
    page.line("")
    page.line(("strong", locale.message("setup.check", language)))
    show_checks(shown["doctor"], page, language)
    page.line("")
    page.line(("strong", locale.message("setup.next", language)))
    for sentence in shown["next"]:
        page.text(f"- {sentence}")


def _show_plan(shown: dict[str, Any], page: Page) -> None:
    """Show each host with its files, and what is or will be done to them."""
    from memorybook.cli.show import cells, padded
    from memorybook.hooks.hosts import HOSTS

    def say(id: str, **values: Any) -> str:
        return locale.message(f"setup.{id}", shown["language"], **values)

    width = max((cells(short(step["path"])) for each in shown["hosts"] for step in each["steps"]), default=0)
    will = "will_" if shown["plan"] or shown["asked"] else ""
    for each in shown["hosts"]:
        page.line(
            ("strong", HOSTS[each["host"]].title), f"  {say('found', sign=short(each['sign']))}" if each["sign"] else ""
        )
        for step in each["steps"]:
            style = {"unchanged": "faint", "missing": "warn", "refused": "warn"}.get(step["action"], "good")
            action = step["action"] if step["action"] in ("unchanged", "missing", "refused") else will + step["action"]
            if shown["undo"] and action == "unchanged":
                action = "nothing"
            label = say(step["part"])
            page.line(f"  {label}  ", ("place", padded(short(step["path"]), width)), "  ", (style, say(action)))
            if step["why"]:
                page.text(step["why"], "    ")
        if not shown["undo"] and all(step["part"] != "hooks" for step in each["steps"]):
            page.text(say("no_hooks", host=HOSTS[each["host"]].title), "  ")
    if not shown["hosts"]:
        page.text(say("no_hosts", names=", ".join(HOSTS)))
    if not shown["undo"]:
        page.line(("strong", say("book")), "  ", ("place", short(shown["book"])), "  ", say(shown["book_state"]))


def _show_kept(shown: dict[str, Any], page: Page) -> None:
    """Say where what the files were before is kept, and how to see what belongs into those that were not changed."""
    steps = [step for each in shown["hosts"] for step in each["steps"]]
    if any(step["backup"] for step in steps):
        page.text(locale.message("setup.kept", shown["language"]))
    for step in steps:
        if step["action"] == "refused":
            word = "hook" if step["part"] == "hooks" else "mcp"
            shows = f"memorybook {word} install --host {step['host']} --print"
            page.text(locale.message("setup.by_hand", shown["language"], command=shows))


def _next(names: Sequence[str], steps: Sequence[Step], root: str, language: str, *, named: bool) -> list[str]:
    """Return what to do in each host, and what happens there then."""
    from memorybook.hooks.hosts import HOSTS

    def say(id: str, **values: Any) -> str:
        return locale.message(f"setup.{id}", language, **values)

    done = {(step.host, step.part) for step in steps if step.action in ("written", "unchanged")}
    hooked = [name for name in names if (name, "hooks") in done]
    tools = [name for name in names if name not in hooked and (name, "mcp") in done]
    told = []
    if hooked:
        told.append(say("next_hooks", hosts=", ".join(HOSTS[name].title for name in hooked)))
    if "codex" in hooked:
        told.append(say("next_codex"))
    if tools:
        told.append(say("next_tools", hosts=", ".join(HOSTS[name].title for name in tools), root=short(root)))
    if missing := next((step.why for step in steps if step.action == "missing"), ""):
        told.append(say("next_missing", command=missing))
    if hooked and not named:
        told.append(say("next_projects"))
    return [*told, say("next_page"), *([say("next_undo")] if done else [])]


@command("setup", show=_show)
def _setup(call: Call) -> dict[str, Any] | None:
    """Plan, ask once, carry out, make the book, check; `--print` only plans, `--undo` takes all back."""
    from memorybook.config.project import locate
    from memorybook.hooks import hosts

    o = call.options
    config, at = call.config(), hosts.places(os.environ)
    language = machine_language(config)
    for name in o.host:
        hosts.host_of(name, hosts.HOSTS)
    signs = {name: hosts.sign_of(name, at) for name in hosts.HOSTS}
    names = [name for name in hosts.HOSTS if (name in o.host if o.host else signs[name])]
    root, _ = locate(config, cwd=working_directory(), book=o.book, project=o.project)
    named = o.book is not None or o.project is not None
    setup = Setup(at, names, root, root if named else None, removes=o.undo)
    steps = setup.steps(dry=True)
    with_steps = [
        {"host": name, "sign": signs[name], "steps": [step._asdict() for step in steps if step.host == name]}
        for name in names
    ]
    exists = os.path.isdir(root) or bool(config.storage.dsn)
    shown: dict[str, Any] = {
        "language": language, "plan": bool(o.print), "undo": o.undo, "asked": False, "hosts": with_steps,
        "book": root, "book_state": "there" if exists else "will_make", "next": [], "doctor": {},
    }  # fmt: skip
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
    return _carried_out(call, setup, shown, named=named)


def _carried_out(call: Call, setup: Setup, shown: dict[str, Any], *, named: bool) -> dict[str, Any]:
    """Change the files, make the book and check all of it; fills in what is shown."""
    language = shown["language"]
    steps = setup.steps(dry=False)
    for each in shown["hosts"]:
        each["steps"] = [step._asdict() for step in steps if step.host == each["host"]]
    call.code = int(any(step.action in ("refused", "missing") for step in steps))
    if shown["undo"]:
        return shown
    config = call.config()
    if not config.enabled:
        shown["book_state"] = "off"
    else:
        made = call.memory.init()["created"]
        shown["book_state"] = "made" if made else "there"
        call.close()
    o = call.options
    doctor = Doctor(config, language, book=o.book, project=o.project, names=setup.names if o.host else None)
    shown["doctor"] = examine(doctor)
    call.code = call.code or int(not shown["doctor"]["ok"])
    shown["next"] = _next(setup.names, steps, shown["book"], language, named=named)
    return shown
