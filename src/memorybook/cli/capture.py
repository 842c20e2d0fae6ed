"""The verb that takes in conversations: import."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memorybook.cli.call import check_stdin

if TYPE_CHECKING:
    from memorybook.cli.call import Call, Command, Parser
    from memorybook.memory import Memory


def _import_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("file", metavar="FILE", help="the conversation; - reads stdin")
    add("--scope", metavar="NAME", help="only the messages of this scope")
    parser.epilog = """examples:
  memorybook import chat.jsonl
  memorybook import ~/.claude/projects/app/0b6f.jsonl
  ssh host cat history.jsonl | memorybook import -"""


def _import(call: Call) -> dict[str, Any] | None:
    def take_in(memory: Memory) -> dict[str, Any]:
        if call.options.file == "-":
            check_stdin()
        with call.progress("Importing") as progress:
            return memory.import_file(call.options.file, scope=call.options.scope, progress=progress).json()

    return call.unless_off(take_in)


COMMANDS: dict[str, Command] = {"import": (_import_arguments, _import)}
