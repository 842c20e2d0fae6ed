"""The verb chat: a talk in the terminal."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from memorybook.errors import InvalidInput

if TYPE_CHECKING:
    from memorybook.cli.call import Call, Command, Parser


def _chat_arguments(parser: Parser) -> None:
    parser.add_argument("--session", metavar="ID", help="an earlier session to go on from: id, name, day, 'last time'")
    parser.add_argument("--system", metavar="TEXT", help="words to the model before all others")
    parser.epilog = """Without a terminal, lines are read from stdin. Editing, history and completion on one need the
extra: pip install 'memorybook[chat]'

examples:
  memorybook chat
  memorybook chat --session "last time" --system "Answer in one sentence."
  echo 上次我们聊了什么 | memorybook chat"""


def _chat(call: Call) -> dict[str, Any] | None:
    from memorybook.chat.terminal import Chat

    session = call.options.session
    if session is not None and not session.strip():
        raise InvalidInput("--session is blank: give an id, a name, a day, or words such as 'last time'")
    return Chat(
        call, system=call.options.system or "", goes_on=session or "", language=_language(os.environ.get("LANG", ""))
    ).run()


def _language(locale: str) -> str:
    return "zh" if locale.lower().startswith("zh") else "en"


def _shown_nothing(shown: dict[str, Any], page: object) -> None:
    """A chat has shown everything as it happened."""


COMMANDS: dict[str, Command] = {"chat": (_chat_arguments, _chat)}

SHOWN = {"chat": _shown_nothing}
