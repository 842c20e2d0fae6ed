"""The verb hook: its place in the settings of agent hosts, and taking in what they reported."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from memorybook.cli.call import working_directory, write
from memorybook.errors import InvalidInput

if TYPE_CHECKING:
    from memorybook.cli.call import Call, Command, Parser
    from memorybook.cli.show import Drawing, Page


def _hook_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("action", metavar="install|uninstall|ingest", help="change a host's settings; take in what hosts reported")
    add("--host", metavar="NAME", help="claude-code, codex or gemini")
    add("--scope", metavar="user|project", help="whose settings: yours (else), or those of the project here")
    add("--no-ingest", action="store_true", help="leave what was said to the next command that is not a search")
    add("--print", action="store_true", help="show what would be written, and where; change nothing")
    parser.epilog = """Hosts then call memorybook-hook: a session that begins and each prompt get a block of
memories, what was said is captured and, when the session ends, remembered. It is the book of the project in
which the host works, if there is one (memorybook init makes it), or with --book or --project always that one.

examples:
  memorybook hook install --host claude-code
  memorybook hook install --host gemini --scope project --print
  memorybook hook uninstall --host codex
  memorybook hook ingest"""


def _hook(call: Call) -> dict[str, Any] | None:
    action = call.options.action
    if action == "ingest":
        _refuse_options(call)
        return _ingest(call)
    if action not in ("install", "uninstall"):
        raise InvalidInput(f"hook knows install, uninstall and ingest, not {action!r}")
    return _settle(call, removes=action == "uninstall")


def _ingest(call: Call) -> dict[str, Any] | None:
    """Take everything in, and have ready what the next session is told when it begins."""
    from memorybook.hooks.context import beginning

    done = call.unless_off(lambda memory: memory.ingest().json())
    if call.memory.config.enabled and os.path.isdir(call.memory.root):
        config, root = call.memory.config, call.memory.root
        call.close_idle()
        call.close()  # which settles the files that it is made of
        beginning(config, root)
    return done


def _refuse_options(call: Call) -> None:
    for name in ("host", "scope", "no_ingest", "print"):
        if getattr(call.options, name):
            raise InvalidInput(f"--{name.replace('_', '-')} is for hook install and hook uninstall")


def _settle(call: Call, *, removes: bool) -> dict[str, Any] | None:
    """Put the hooks into a host's settings, or take them out; with `--print` only show the part that would be there."""
    from memorybook.hooks import hosts
    from memorybook.servers.hosts import places

    o = call.options
    if not o.host:
        raise InvalidInput(f"hook {o.action} needs --host: one of {', '.join(hosts.HOSTS)}")
    folder = working_directory()
    path = hosts.file_of(o.host, o.scope or "user", at=places(os.environ), folder=folder)
    book = None if removes else _book(call, folder)
    hooks = hosts.hooks_of(o.host, lambda kind: hosts.started(o.host, kind, book, ingest=not o.no_ingest))
    shown = {"host": o.host, "path": path, "book": book, "hooks": {} if removes else hooks}
    if o.print and o.json:
        return {**shown, "action": "none", "backup": ""}
    if o.print:
        call.warn(f"belongs in {path}")
        write(hosts.snippet(hooks))
        return None
    changed = hosts.install(path, {} if removes else hooks)
    return {**shown, "action": changed.action, "backup": changed.backup}


def _book(call: Call, folder: str) -> str | None:
    """The directory of the book that is meant always; None for that of the project in which the host works."""
    from memorybook.workspace import book_root

    o = call.options
    if o.book is None and o.project is None:
        return None
    return book_root(call.config(), cwd=folder, book=o.book, project=o.project)


def _settled(shown: dict[str, Any], page: Page) -> None:
    if "events" in shown:
        _ingested(shown, page)
        return
    page.line(("good", shown["action"]), " ", ("place", shown["path"]))
    if shown["backup"]:
        page.line("before: ", ("place", shown["backup"]))
    if shown["action"] == "written":
        page.line("book: ", ("place", shown["book"] or "that of the project in which the host works, if it has one"))
        page.remark("start the host anew; Codex asks in /hooks whether you trust them")


def _ingested(shown: dict[str, Any], page: Page) -> None:
    told = ", ".join(page.words.counted(shown[f"{name}s"], name) for name in ("event", "session", "turn"))
    page.line(("good", "taken in"), f" {told}; sessions remembered: {len(shown['memorized'])}")
    for sentence in shown["aside"]:
        page.line(("warn", "set aside: "), sentence)
    if shown["waiting"]:
        page.line(("warn", "waits: "), shown["waiting"])


COMMANDS: dict[str, Command] = {"hook": (_hook_arguments, _hook)}

SHOWN: dict[str, Drawing] = {"hook": _settled}
