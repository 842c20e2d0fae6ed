"""Verbs that look after a book: init, status, sync, rebuild, watch, trust, completion."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from memorybook.cli import ALIASES, VERBS
from memorybook.cli.call import parser_of, working_directory, write
from memorybook.errors import InvalidInput, MissingExtra, NotFound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memorybook.cli.call import Call, Command, Parser
    from memorybook.cli.full_parser import FullParser
    from memorybook.memory import Memory


def _nothing_more(parser: Parser) -> None:
    parser.epilog = f"example:\n  {parser.prog} --json"


def _init(call: Call) -> dict[str, Any] | None:
    return call.unless_off(lambda memory: memory.init())


def _status(call: Call) -> dict[str, Any]:
    return call.tool("memory_status")


def _sync(call: Call) -> dict[str, Any] | None:
    with call.progress("Indexing") as progress:
        return call.unless_off(lambda memory: memory.sync(progress=progress))


def _rebuild(call: Call) -> dict[str, Any] | None:
    with call.progress("Indexing") as progress:
        return call.unless_off(lambda memory: memory.rebuild(progress=progress))


def _watch(call: Call) -> dict[str, Any] | None:
    return call.unless_off(lambda memory: _watched(call, memory))


def _watched(call: Call, memory: Memory) -> None:
    from memorybook.cli import show

    page = show.Page(call.options)

    def tell(report: dict[str, Any]) -> None:
        if call.options.json:
            call.write_json(report)
        else:
            page.line(", ".join(f"{name} {report[name]}" for name in ("checked", "changed", "removed")))
            for sentence in (*report.get("degraded", ()), *report.get("warnings", ())):
                page.remark(sentence)
        call.flush()

    if not call.options.json:
        page.remark(f"watching {memory.root}; Ctrl-C ends it")
    memory.watch(tell, stop=None)


def _trust_arguments(parser: Parser) -> None:
    parser.add_argument("file", nargs="?", metavar="FILE", help="the settings file; else those of the project here")
    parser.epilog = "example:\n  memorybook trust ./memorybook.toml"


def _trust(call: Call) -> dict[str, Any]:
    from memorybook.config import settings

    here = working_directory()
    paths = [os.path.join(here, call.options.file)] if call.options.file else settings.project_files(here)
    if not paths:
        raise NotFound("this project has no memorybook.toml, memorybook.json or memorybook.yaml (or .yml) to trust")
    return {"trusted": [{"path": path, "settings": settings.trust(path, env=os.environ)} for path in paths]}


def _completion_arguments(parser: Parser) -> None:
    parser.add_argument("shell", metavar="SHELL", help="bash, zsh, fish or tcsh")
    parser.epilog = (
        'examples:\n  eval "$(memorybook completion bash)"\n  memorybook completion zsh > ~/.zfunc/_memorybook'
    )


def _completion(call: Call) -> None:
    try:
        import shtab
    except ImportError:
        raise MissingExtra("completion needs shtab: pip install shtab") from None
    if call.options.shell not in shtab.SUPPORTED_SHELLS:
        raise InvalidInput(f"no completion for {call.options.shell!r}: there is {', '.join(shtab.SUPPORTED_SHELLS)}")
    places = {"FILE": shtab.FILE, "DIR": shtab.DIRECTORY}
    write(shtab.complete(whole_parser(places), shell=call.options.shell) + "\n")


def whole_parser(places: Mapping[str, Any]) -> FullParser:
    """One parser with all verbs and aliases under it, as completion wants to see it.

    `places` says by metavar how to complete an argument.
    """
    from memorybook.cli.full_parser import FullParser, add_global_options, full_parser

    whole = FullParser(prog="memorybook")
    add_global_options(whole)
    verbs = whole.add_subparsers(metavar="COMMAND")
    parsers = [whole]
    for name, verb in ({verb: verb for verb in VERBS} | ALIASES).items():
        parser = full_parser(parser_of(verb)[0])
        parsers.append(verbs.add_parser(name, help=VERBS[verb][1], parents=[parser], add_help=False))
    for action in (action for parser in parsers for action in parser._actions):
        if isinstance(action.metavar, str) and action.metavar in places:
            action.complete = places[action.metavar]  # type: ignore[attr-defined]
    return whole


COMMANDS: dict[str, Command] = {
    "init": (_nothing_more, _init),
    "status": (_nothing_more, _status),
    "sync": (_nothing_more, _sync),
    "rebuild": (_nothing_more, _rebuild),
    "watch": (_nothing_more, _watch),
    "trust": (_trust_arguments, _trust),
    "completion": (_completion_arguments, _completion),
}
