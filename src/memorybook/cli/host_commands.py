"""What the verbs mcp and hook share: putting something of ours into the settings of an agent host."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from memorybook.cli.call import working_directory, write
from memorybook.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memorybook.cli.call import Call, Parser
    from memorybook.cli.show import Page
    from memorybook.hooks.host_files import Changed
    from memorybook.hooks.hosts import Hooks, Host


def add_options(parser: Parser, hosts: str) -> None:
    """The options `--host`, which takes one of those, `--scope` and `--print`."""
    add = parser.add_argument
    add("--host", metavar="NAME", help=hosts)
    add("--scope", metavar="user|project", help="whose settings: yours (else), or those of the project here")
    add("--print", action="store_true", help="show what would be written, and where; change nothing")


def refuse_options(call: Call, *more: str) -> None:
    """Raises InvalidInput for an option of `add_options`, or one of these, where nothing is installed."""
    for name in ("host", "scope", *more, "print"):
        if getattr(call.options, name):
            raise InvalidInput(f"--{name.replace('_', '-')} is for {call.verb} install and {call.verb} uninstall")


def file_of(call: Call, among: Mapping[str, Host | Hooks]) -> str:
    """The settings file that is meant, of one of these hosts. Raises InvalidInput."""
    from memorybook.hooks import hosts

    o = call.options
    if not o.host:
        raise InvalidInput(f"{call.verb} {o.action} needs --host: one of {', '.join(among)}")
    at, folder = hosts.places(os.environ), working_directory()
    return hosts.file_of(o.host, o.scope or "user", at=at, folder=folder, among=among)


def book_of(call: Call, *, follows: bool = True) -> str | None:
    """The directory of the book that is meant; None for that of the project in which a host works that `follows` it."""
    from memorybook.config.project import book_root

    o = call.options
    if follows and o.book is None and o.project is None:
        return None
    return book_root(call.config(), cwd=working_directory(), book=o.book, project=o.project)


def settle(call: Call, shown: dict[str, Any], part: str, change: Callable[[], Changed]) -> dict[str, Any] | None:
    """Change the settings; with `--print` only show the part of them that is meant, and where it belongs.

    Args:
        call: The call.
        shown: What the answer tells in either case.
        part: What stands in the settings.
        change: Changes them.
    """
    if call.options.print and call.options.json:
        return {**shown, "action": "none", "backup": ""}
    if call.options.print:
        call.warn(f"belongs in {shown['path']}")
        write(part)
        return None
    changed = change()
    return {**shown, "action": changed.action, "backup": changed.backup}


def draw(shown: dict[str, Any], page: Page, *, book: str, remark: str) -> None:
    """What became of the settings.

    Args:
        shown: The answer.
        page: Where it is told.
        book: Which book it is, where that follows the project.
        remark: What to do next.
    """
    page.line(("good", shown["action"]), " ", ("place", shown["path"]))
    if shown["backup"]:
        page.line("before: ", ("place", shown["backup"]))
    if shown["action"] == "written":
        page.line("book: ", ("place", shown["book"] or book))
        page.remark(remark)
