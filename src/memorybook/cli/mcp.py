"""The verb mcp: a server for hosts of the Model Context Protocol, and its place in their settings."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from memorybook.cli.call import working_directory, write
from memorybook.cli.visible import remark
from memorybook.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from memorybook.cli.call import Call, Command, Parser
    from memorybook.cli.show import Drawing, Page
    from memorybook.memory import Memory


def _mcp_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "action",
        nargs="?",
        metavar="install|uninstall",
        help="change a host's settings; else serve on stdin and stdout",
    )
    add("--host", metavar="NAME", help="claude-code, claude-desktop, codex, cursor, vscode, gemini or openclaw")
    add("--scope", metavar="user|project", help="whose settings: yours (else), or those of the project here")
    add("--print", action="store_true", help="show what would be written, and where; change nothing")
    parser.epilog = """Set up for a user, claude-code, codex and gemini start it in a project's folder, with its book.
Otherwise, and with --book or --project, it is the book that is meant now.

examples:
  memorybook mcp install --host claude-code
  memorybook mcp install --host cursor --scope project --print
  memorybook mcp uninstall --host codex"""


def _mcp(call: Call) -> dict[str, Any] | None:
    action = call.options.action
    if action is None:
        _refuse_options(call)
        _serve(call)
        return None
    if action not in ("install", "uninstall"):
        raise InvalidInput(f"mcp knows install and uninstall, not {action!r}; without a word it serves")
    return _settle(call, removes=action == "uninstall")


def _settle(call: Call, *, removes: bool) -> dict[str, Any] | None:
    """Put the server into a host's settings, or take it out; with `--print` only show the part that would be there."""
    from memorybook.servers import hosts

    o = call.options
    if not o.host:
        raise InvalidInput(f"mcp {o.action} needs --host: one of {', '.join(hosts.HOSTS)}")
    folder = working_directory()
    scope = o.scope or "user"
    path = hosts.file_of(o.host, scope, at=hosts.places(os.environ), folder=folder)
    book = None if removes else _book(call, hosts.HOSTS[o.host].follows and scope == "user", folder)
    entry = hosts.entry_of(o.host, book)
    shown = {"host": o.host, "path": path, "book": book, "entry": entry}
    if o.print and o.json:
        return {**shown, "action": "none", "backup": ""}
    if o.print:
        call.warn(f"belongs in {path}")
        write(hosts.snippet(o.host, entry))
        return None
    if not removes:
        _check_package()
    changed = hosts.install(o.host, path, None if removes else entry)
    return {**shown, "action": changed.action, "backup": changed.backup}


def _book(call: Call, follows: bool, folder: str) -> str | None:
    """The directory of the book that is meant; None for that of the project in which the server will be started."""
    from memorybook.workspace import book_root

    o = call.options
    if follows and o.book is None and o.project is None:
        return None
    return book_root(call.config(), cwd=folder, book=o.book, project=o.project)


def _settled(shown: dict[str, Any], page: Page) -> None:
    page.line(("good", shown["action"]), " ", ("place", shown["path"]))
    if shown["backup"]:
        page.line("before: ", ("place", shown["backup"]))
    if shown["action"] == "written":
        page.line("book: ", ("place", shown["book"] or "that of the project in which the host is opened"))
        page.remark("start the host anew to see its tools")


def _refuse_options(call: Call) -> None:
    for name in ("host", "scope", "print"):
        if getattr(call.options, name):
            raise InvalidInput(f"--{name} is for mcp install and mcp uninstall")


def _check_package() -> None:
    """Raises MissingExtra where the server would not start."""
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise _missing()


def _missing() -> MissingExtra:
    return MissingExtra("the server needs the package mcp: pip install 'memorybook[mcp]'")


def _serve(call: Call) -> None:
    try:
        from memorybook.servers.mcp.stdio import serve
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


COMMANDS: dict[str, Command] = {"mcp": (_mcp_arguments, _mcp)}

SHOWN: dict[str, Drawing] = {"mcp": _settled}
