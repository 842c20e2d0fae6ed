"""The verb hook: its place in the settings of agent hosts, and taking in what they reported."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memorybook.cli import host_commands
from memorybook.errors import InvalidInput, Unavailable

if TYPE_CHECKING:
    from memorybook.cli.call import Call, Command, Parser
    from memorybook.cli.show import Drawing, Page
    from memorybook.memory import Memory


def _hook_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("action", metavar="install|uninstall|ingest", help="change a host's settings; take in what hosts reported")
    host_commands.add_options(parser, "claude-code, codex or gemini")
    add("--no-ingest", action="store_true", help="leave what was said to the next command that is not a search")
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
        host_commands.refuse_options(call, "no_ingest")
        return _ingest(call)
    if action not in ("install", "uninstall"):
        raise InvalidInput(f"hook knows install, uninstall and ingest, not {action!r}")
    return _settle(call, removes=action == "uninstall")


def _ingest(call: Call) -> dict[str, Any] | None:
    """Take everything in, and have ready what the next session is told when it begins, and what its prompts find."""
    from memorybook.hooks.session_context import beginning
    from memorybook.hooks.unsettled import settle

    settle(call.memory.root)
    done = call.unless_off(_taken_in)
    if call.memory.config.enabled and os.path.isdir(call.memory.root):
        config, root = call.memory.config, call.memory.root
        call.close_idle()
        call.close()  # which settles the files that it is made of
        beginning(config, root)
    return done


def _taken_in(memory: Memory) -> dict[str, Any]:
    done = memory.ingest().json()
    with suppress(Unavailable):  # status says why
        memory.sync()
    return done


def _settle(call: Call, *, removes: bool) -> dict[str, Any] | None:
    """Put the hooks into a host's settings, or take them out; with `--print` only show the part that would be there."""
    from memorybook.hooks import install
    from memorybook.hooks.hosts import HOOKED

    o = call.options
    path = host_commands.file_of(call, HOOKED)
    book = None if removes else host_commands.book_of(call)
    hooks = install.hooks_of(o.host, lambda event: install.started(o.host, event, book, ingest=not o.no_ingest))
    put = {} if removes else hooks
    shown = {"host": o.host, "path": path, "book": book, "hooks": put}
    return host_commands.settle(call, shown, install.snippet(hooks), lambda: install.install(path, put))


def _settled(shown: dict[str, Any], page: Page) -> None:
    if "events" in shown:
        _ingested(shown, page)
        return
    book = "that of the project in which the host works, if it has one"
    host_commands.draw(
        shown, page, book=book, remark="start the host anew; Codex asks in /hooks whether you trust them"
    )


def _ingested(shown: dict[str, Any], page: Page) -> None:
    told = ", ".join(page.words.counted(shown[f"{name}s"], name) for name in ("event", "session", "turn"))
    page.line(("good", "taken in"), f" {told}; sessions remembered: {len(shown['memorized'])}")
    for sentence in shown["aside"]:
        page.line(("warn", "set aside: "), sentence)
    if shown["waiting"]:
        page.line(("warn", "waits: "), shown["waiting"])


COMMANDS: dict[str, Command] = {"hook": (_hook_arguments, _hook)}

SHOWN: dict[str, Drawing] = {"hook": _settled}
