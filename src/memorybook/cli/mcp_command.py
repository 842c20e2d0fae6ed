"""The verb mcp: a server for hosts of the Model Context Protocol, and its place in their settings."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from memorybook.cli import host_commands
from memorybook.cli.terminal_escape import remark
from memorybook.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from memorybook.cli.call import Call, Command, Parser
    from memorybook.cli.show import Drawing, Page
    from memorybook.memory import Memory


def _mcp_arguments(parser: Parser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        metavar="install|uninstall",
        help="change a host's settings; else serve on stdin and stdout",
    )
    host_commands.add_options(parser, "claude-code, claude-desktop, codex, cursor, vscode, gemini or openclaw")
    parser.epilog = """Set up for a user, claude-code, codex and gemini start it in a project's folder, with its book.
Otherwise, and with --book or --project, it is the book that is meant now.

examples:
  memorybook mcp install --host claude-code
  memorybook mcp install --host cursor --scope project --print
  memorybook mcp uninstall --host codex"""


def _mcp(call: Call) -> dict[str, Any] | None:
    action = call.options.action
    if action is None:
        host_commands.refuse_options(call)
        _serve(call)
        return None
    if action not in ("install", "uninstall"):
        raise InvalidInput(f"mcp knows install and uninstall, not {action!r}; without a word it serves")
    return _settle(call, removes=action == "uninstall")


def _settle(call: Call, *, removes: bool) -> dict[str, Any] | None:
    """Put the server into a host's settings, or take it out; with `--print` only show the part that would be there."""
    from memorybook.hooks.hosts import HOSTS, entry_of, install, snippet

    o = call.options
    path = host_commands.file_of(call, HOSTS)
    book = None if removes else host_commands.book_of(call, follows=HOSTS[o.host].follows and o.scope != "project")
    entry = entry_of(o.host, book)
    if not (removes or o.print):
        _check_package()
    shown = {"host": o.host, "path": path, "book": book, "entry": entry}
    return host_commands.settle(
        call, shown, snippet(o.host, entry), lambda: install(o.host, path, None if removes else entry)
    )


def _settled(shown: dict[str, Any], page: Page) -> None:
    book = "that of the project in which the host is opened"
    host_commands.draw(shown, page, book=book, remark="start the host anew to see its tools")


def _check_package() -> None:
    """Raises MissingExtra where the server would not start."""
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise _missing()


def _missing() -> MissingExtra:
    return MissingExtra("the server needs the package mcp: pip install 'memorybook[mcp]'")


def _serve(call: Call) -> None:
    try:
        from memorybook.mcp.stdio import serve
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
