"""The verb that takes in conversations: import."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memorybook.cli.call import Call, Command, Parser


def _import_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("file", metavar="FILE", help="the conversation; - reads stdin")
    add("--scope", metavar="NAME", help="only the messages of this scope")
    parser.epilog = """examples:
  memorybook import chat.jsonl
  memorybook import ~/.claude/projects/app/0b6f.jsonl
  ssh host cat history.jsonl | memorybook import -"""


def _import(call: Call) -> dict[str, Any]:
    if not call.memory.config.enabled:
        return {"disabled": True}
    with call.progress("Importing") as progress:
        return call.memory.import_file(call.options.file, scope=call.options.scope, progress=progress).json()


COMMANDS: dict[str, Command] = {"import": (_import_arguments, _import)}
