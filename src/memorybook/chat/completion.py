"""Reading lines: with editing, history and completion on a terminal that has `prompt_toolkit`, else plainly."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

from memorybook import locale
from memorybook.chat.commands import COMMANDS
from memorybook.cli.call import check_stdin, write
from memorybook.errors import InvalidInput
from memorybook.text.screen import visible

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completion
    from prompt_toolkit.document import Document

LONGEST = 1_000_000
"""Maximum bytes of a line of a file or pipe."""

_ODD = 8  # characters that are no text which any line may have

Read = Callable[[], str]
"""Returns the next line. Raises EOFError at the end, KeyboardInterrupt for Ctrl-C, InvalidInput."""

Ids = Callable[[str], Iterable[tuple[str, str]]]
"""Returns the ids of `entries` or `sessions`, each with its text or title, best first."""


def reader(
    prompt: Callable[[], str], ids: Ids, past: Callable[[], Iterable[str]], *, language: str, echo: bool = True
) -> Read:
    """Return a reader of lines; `prompt` is called before each, `past` for what was said in earlier sessions.

    Lines of a file or pipe are shown after the prompt as if they had been typed. Without `echo` nothing is shown.
    """
    check_stdin()
    if not echo:
        return lambda: _piped(None)
    if lacks_editing():
        return lambda: input(prompt())
    if _is_terminal():
        return _edited(prompt, ids, past, language)
    return lambda: _piped(prompt())


def lacks_editing() -> bool:
    """Whether there is a terminal, and `prompt_toolkit` is not installed."""
    return _is_terminal() and find_spec("prompt_toolkit") is None


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _piped(prompt: str | None) -> str:
    """Read a line of a file or pipe, shown after the prompt if there is one. Raises InvalidInput for binary data."""
    line = sys.stdin.buffer.readline(LONGEST + 1)
    if not line:
        raise EOFError
    text = line.decode("utf-8", "surrogateescape").removeprefix("\ufeff").rstrip("\r\n")
    if len(line) > LONGEST:
        raise locale.error(InvalidInput, "chat.line_too_long", size=f"{LONGEST:,}")
    if _is_binary(text):
        raise locale.error(InvalidInput, "chat.line_not_text")
    if prompt is not None:
        write(f"{prompt}{visible(text)}\n")
    return text


def _is_binary(text: str) -> bool:
    """Whether over a fifth of a line is not text: bytes that are not UTF-8, control characters."""
    odd = sum(1 for char in text if (char < " " and char != "\t") or "\udc80" <= char <= "\udcff")
    return odd >= _ODD and odd * 5 > len(text)


def _edited(prompt: Callable[[], str], ids: Ids, past: Callable[[], Iterable[str]], language: str) -> Read:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.history import InMemoryHistory

    class Commands(Completer):
        def get_completions(self, document: Document, complete_event: object) -> Iterator[Completion]:
            return completions(document.text_before_cursor, ids, language)

    history = InMemoryHistory(list(past()))
    session: PromptSession[str] = PromptSession(
        history=history, completer=Commands(), complete_while_typing=True, reserve_space_for_menu=4
    )
    return lambda: session.prompt(prompt())


def completions(text: str, ids: Ids, language: str) -> Iterator[Completion]:
    """Yield the commands that begin so; after a command that takes an id, the ids."""
    from prompt_toolkit.completion import Completion

    if not text.startswith("/"):
        return
    name, gap, begun = text.partition(" ")
    if not gap:
        for one in COMMANDS:
            if one.name.startswith(name):
                yield Completion(one.name, start_position=-len(name), display_meta=one.help(language))
        return
    wanted = next((one.ids for one in COMMANDS if one.name == name), "")
    for id, told in ids(wanted) if wanted and " " not in begun else ():
        if id.startswith(begun):
            yield Completion(id, start_position=-len(begun), display_meta=visible(told)[:60])
