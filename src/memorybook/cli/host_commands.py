"""The verbs mcp and hook: serve agent hosts, and change their settings."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memorybook.cli.call import command, remark, working_directory, write
from memorybook.errors import InvalidInput, MissingExtra, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memorybook.cli.call import Call
    from memorybook.cli.show import Page
    from memorybook.hooks.host_files import Changed
    from memorybook.hooks.hosts import Hooks, Host
    from memorybook.memory import Memory


def refuse_options(call: Call, *more: str) -> None:
    """Raise InvalidInput for an option of installing, or one of these, where nothing is installed."""
    for name in ("host", "scope", *more, "print"):
        if getattr(call.options, name):
            raise InvalidInput(f"--{name.replace('_', '-')} is for {call.verb} install and {call.verb} uninstall")


def file_of(call: Call, among: Mapping[str, Host | Hooks]) -> str:
    """Return the settings file that is meant, of one of these hosts. Raises InvalidInput."""
    from memorybook.hooks import hosts

    o = call.options
    if not o.host:
        raise InvalidInput(f"{call.verb} {o.action} needs --host: one of {', '.join(among)}")
    at, folder = hosts.places(os.environ), working_directory()
    return hosts.file_of(o.host, o.scope or "user", at=at, folder=folder, among=among)


def book_of(call: Call, *, follows: bool = True) -> str | None:
    """Return the directory of the book; None for that of the project in which a host works that `follows` it."""
    from memorybook.config.project import book_root

    o = call.options
    if follows and o.book is None and o.project is None:
        return None
    return book_root(call.config(), cwd=working_directory(), book=o.book, project=o.project)


def change_settings(
    call: Call, shown: dict[str, Any], part: str, change: Callable[[], Changed]
) -> dict[str, Any] | None:
    """Change the settings, or with `--print` only show the part that is meant; `shown` is told in either case."""
    if call.options.print and call.options.json:
        return {**shown, "action": "none", "backup": ""}
    if call.options.print:
        call.warn(f"belongs in {shown['path']}")
        write(part)
        return None
    changed = change()
    return {**shown, "action": changed.action, "backup": changed.backup}


def show_change(shown: dict[str, Any], page: Page, *, book: str, remark: str) -> None:
    """Show what became of the settings, of which `book` if it follows the project, and what to do next."""
    page.line(("good", shown["action"]), " ", ("place", shown["path"]))
    if shown["backup"]:
        page.line("before: ", ("place", shown["backup"]))
    if shown["action"] == "written":
        page.line("book: ", ("place", shown["book"] or book))
        page.remark(remark)


@command(
    "mcp",
    show=lambda shown, page: show_change(
        shown,
        page,
        book="that of the project in which the host is opened",
        remark="start the host anew to see its tools",
    ),
)
def _mcp(call: Call) -> dict[str, Any] | None:
    """Put the server into a host's settings, or take it out, or serve; `--print` only shows it."""
    from importlib.util import find_spec

    from memorybook.hooks.hosts import HOSTS, entry_of, install, snippet

    o = call.options
    if o.action is None:
        refuse_options(call)
        _serve(call)
        return None
    if o.action not in ("install", "uninstall"):
        raise InvalidInput(f"mcp knows install and uninstall, not {o.action!r}; without a word it serves")
    removes = o.action == "uninstall"
    path = file_of(call, HOSTS)
    book = None if removes else book_of(call, follows=HOSTS[o.host].follows and o.scope != "project")
    entry = entry_of(o.host, book)
    if not (removes or o.print) and find_spec("mcp") is None:
        raise _missing()
    shown = {"host": o.host, "path": path, "book": book, "entry": entry}
    return change_settings(
        call, shown, snippet(o.host, entry), lambda: install(o.host, path, None if removes else entry)
    )


def _missing() -> MissingExtra:
    from memorybook.cli.doctor import install_command

    return MissingExtra(f"the server needs the package mcp: {install_command(os.path.abspath(sys.executable))}")


def _serve(call: Call) -> None:
    try:
        from memorybook.mcp.server import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise _missing() from None

    def opened() -> Memory:
        from memorybook.memory import open as open_memory

        return open_memory(call.options.book, project=call.options.project, config=call.config(), door="mcp")

    if sys.stdin is None:
        raise InvalidInput("stdin is closed: a host speaks to the server there")
    if sys.stdin.isatty() and not call.options.quiet:
        remark(
            "serving on stdin and stdout, where a host speaks; Ctrl-C ends it. To set one up: memorybook mcp install"
        )
    serve(opened)


def _shown_hooks(shown: dict[str, Any], page: Page) -> None:
    if "events" not in shown:
        book = "that of the project in which the host works, if it has one"
        show_change(shown, page, book=book, remark="start the host anew; Codex asks in /hooks whether you trust them")
        return
    told = ", ".join(page.words.counted(shown[f"{name}s"], name) for name in ("event", "session", "turn"))
    page.line(("good", "taken in"), f" {told}; sessions remembered: {len(shown['memorized'])}")
    for sentence in shown["aside"]:
        page.line(("warn", "set aside: "), sentence)
    if shown["waiting"]:
        page.line(("warn", "waits: "), shown["waiting"])


@command("hook", show=_shown_hooks)
def _hook(call: Call) -> dict[str, Any] | None:
    """Put the hooks into a host's settings, or take them out, or ingest; `--print` only shows it."""
    from memorybook.hooks import hosts

    o = call.options
    if o.action == "ingest":
        refuse_options(call, "no_ingest")
        return _ingest(call)
    if o.action not in ("install", "uninstall"):
        raise InvalidInput(f"hook knows install, uninstall and ingest, not {o.action!r}")
    path, removes = file_of(call, hosts.HOOKED), o.action == "uninstall"
    book = None if removes else book_of(call)
    hooks = hosts.hooks_of(o.host, lambda event: hosts.hook_command(o.host, event, book, ingest=not o.no_ingest))
    put = {} if removes else hooks
    shown = {"host": o.host, "path": path, "book": book, "hooks": put}
    return change_settings(call, shown, hosts.hooks_snippet(hooks), lambda: hosts.install_hooks(path, put))


def _ingest(call: Call) -> dict[str, Any] | None:
    """Take everything in, and have ready what the next session is told when it begins, and what its prompts find."""
    from memorybook.hooks.event import beginning, settle

    def take_in(memory: Memory) -> dict[str, Any]:
        done = memory.ingest().json()
        with suppress(Unavailable):  # status says why
            memory.sync()
        return done

    settle(call.memory.root)
    done = call.unless_off(take_in)
    if call.memory.config.enabled and call.memory.book.storage.exists():
        config, root = call.memory.config, call.memory.root
        call.close_idle()
        call.close()  # which settles the files that it is made of
        beginning(config, root)
    return done
