"""The arguments of a verb as argparse has them: for help, completion, and words that are not plainly right."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from memorybook.cli import version
from memorybook.cli.call import global_options, terminal_width, write
from memorybook.errors import InvalidInput

if TYPE_CHECKING:
    from memorybook.cli.call import Parser

# argparse looks for translations that it does not have: that imports locale and asks the disk, 1.5 ms.
argparse._ = str  # type: ignore[attr-defined]


class FullParser(argparse.ArgumentParser):
    """An argument parser whose errors are one sentence, raised as InvalidInput."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage and leaving."""
        raise InvalidInput(f"{message.removeprefix('argument ')}; see: {self.prog} --help")

    def _print_message(self, message: str, file: Any = None) -> None:
        write(message)  # argparse's own takes no notice of a stdout that is full

    def _get_formatter(self) -> argparse.HelpFormatter:
        # argparse asks for one with every argument, and by default imports shutil (5 ms) for the width.
        return argparse.RawDescriptionHelpFormatter(self.prog, width=min(terminal_width(sys.stdout) or 100, 100))


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        write(f"{version()}\n")
        parser.exit()


def full_parser(parser: Parser) -> FullParser:
    """The same arguments for argparse, those that every verb takes in a group of their own."""
    full = FullParser(prog=parser.prog, description=parser.description, epilog=parser.epilog, allow_abbrev=False)
    for argument in parser.arguments:
        full.add_argument(*argument.names, **argument.how)
    add_global_options(full)
    return full


def add_global_options(full: FullParser) -> None:
    """Options that every verb takes, and `--version`."""
    shared = full.add_argument_group("everywhere")
    for argument in global_options():
        shared.add_argument(*argument.names, **argument.how)
    shared.add_argument("--version", action=_Version, nargs=0, default=argparse.SUPPRESS, help="the version")


def parse(parser: Parser, words: Sequence[str]) -> argparse.Namespace:
    """What the words mean. Raises InvalidInput, and SystemExit after printing a help page or the version."""
    return full_parser(parser).parse_args(words)
