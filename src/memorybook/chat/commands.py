"""What is said to the chat itself: `/forget a1b2c3`. Each command is one of the command line's verbs, or the chat's."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import NamedTuple
from unicodedata import normalize

from memorybook.chat.chat_words import WORDS
from memorybook.errors import InvalidInput

Arguments = Callable[[str], tuple[str, list[str]]]
"""What stands after a command -> a verb of the command line, and its words."""


class Command(NamedTuple):
    """One command.

    Attributes:
        name: With its stroke.
        takes: What may follow, as help shows it.
        help: One line in each language.
        verb: Turns what follows into a call of the command line; None for what the chat does by itself.
        ids: What it is completed with: `entries`, `sessions`, or nothing.
    """

    name: str
    takes: str
    help: dict[str, str]
    verb: Arguments | None = None
    ids: str = ""


def words_in(rest: str) -> list[str]:
    """The words as a shell has them; plainly parted where a quote is left open.

    >>> words_in("accept　ｐ３ '清 单'")
    ['accept', 'p3', '清 单']
    """
    rest = rest.replace("\u3000", " ")
    try:
        words = shlex.split(rest)
    except ValueError:
        words = rest.split()
    return [narrow(word) for word in words]


def narrow(word: str) -> str:
    """An id or option that was typed in full width as it is meant; any other word as it is."""
    meant = normalize("NFKC", word)
    return meant if meant.isascii() else word


def are_options(rest: str) -> bool:
    """Whether what follows a command begins with an option."""
    return narrow(rest[:1]) == "-"


def _said(verb: str, *options: str) -> Arguments:
    """A verb whose argument is all that was said, as one text; words that begin with a dash are its options."""
    return lambda rest: (verb, [*options, *(words_in(rest) if are_options(rest) else [rest] if rest else [])])


def _plain(verb: str) -> Arguments:
    return lambda rest: (verb, words_in(rest))


def _either(empty: str, given: str) -> Arguments:
    """One verb without words, another one for what is said."""
    return lambda rest: _said(given)(rest) if rest else (empty, [])


COMMANDS: tuple[Command, ...] = (
    Command("/new", "[NAME]", {"en": "remember this session and begin another", "zh": "记住本次会话，开始新会话"}),
    Command(
        "/memory",
        "[QUERY]",
        {"en": "what is remembered; with words, what fits them", "zh": "已记住的内容；带词则检索"},
    ),
    Command(
        "/sessions",
        "[WHICH]",
        {"en": 'past sessions; or one: id, day, "last time"', "zh": "以往的会话；或其中一个：编号、日期、“上次”"},
        _either("sessions", "recall-session"),
        "sessions",
    ),
    Command(
        "/recall",
        "[WORDS]",
        {
            "en": 'the newest sessions; with words, what they mean: a subject, "last time"',
            "zh": "最近的会话；带词则回忆所指的：话题、“上次”",
        },
    ),
    Command("/remember", "TEXT", {"en": "remember a statement", "zh": "记住一句话"}, _said("add")),
    Command(
        "/forget",
        "ID | WORDS",
        {"en": "take out an entry, or what says this", "zh": "忘掉一条，或说到此事的内容"},
        ids="entries",
    ),
    Command("/pin", "ID", {"en": "keep an entry from fading", "zh": "置顶一条，不再淡忘"}, _plain("pin"), "entries"),
    Command("/undo", "[OPERATION]", {"en": "take back what was done last", "zh": "撤销上一次操作"}),
    Command("/why", "ID", {"en": "why an entry is in the book", "zh": "某条为何在书里"}, _plain("why"), "entries"),
    Command(
        "/review",
        "[accept|reject ID]",
        {"en": "what waits for your word", "zh": "等待您决定的内容"},
        _plain("review"),
    ),
    Command("/compact", "", {"en": "shorten a long talk, remembering it first", "zh": "先记住再压缩长对话"}),
    Command(
        "/export",
        "[FILE]",
        {"en": "all sessions as one JSON document", "zh": "把所有会话导出为一个 JSON 文档"},
        _plain("export"),
    ),
    Command(
        "/status", "", {"en": "what is in the book, and how it is set up", "zh": "书的内容与设置"}, _plain("status")
    ),
    Command("/help", "", {"en": "this page", "zh": "本页"}),
    Command("/quit", "", {"en": "remember this session and leave", "zh": "记住本次会话并离开"}),
)
"""Every command, in the order of the help."""

ALIASES = {"/exit": "/quit", "/q": "/quit", "/?": "/help", "/h": "/help"}


_STROKE_KEY = "、"


class Order(NamedTuple):
    """A command with what follows it."""

    command: Command
    rest: str


def order_in(line: str, language: str) -> Order | None:
    """The command that a line is, by its name or what only its name begins with; None for `/etc/hosts` and all else.

    Its name may be typed in full width, and with the mark that the stroke's key gives in Chinese: `／ｎｅｗ`, `、new`.

    Raises:
        InvalidInput: There is no such command, or several begin so.
    """
    word, rest = (*line.split(None, 1), "", "")[:2]
    word = normalize("NFKC", word)
    if word[:1] == _STROKE_KEY and word[1:].isascii():
        word = f"/{word[1:]}"
    if not word.startswith("/") or "/" in word[1:] or not (word[1:].isalpha() or word in ALIASES):
        return None
    named = {command.name: command for command in COMMANDS}
    name = ALIASES.get(word.lower(), word.lower())
    begun = [name] if name in named else [each for each in named if each.startswith(name)]
    if len(begun) == 1:
        return Order(named[begun[0]], rest.strip())
    near = get_close_matches(name, named, n=1)
    words = WORDS[language]
    raise InvalidInput(words.unknown.format(name=word) + (words.near.format(name=near[0]) if near else ""))


def help_lines(language: str) -> Sequence[tuple[str, str]]:
    """Each command with what it takes, and what it does."""
    return [(f"{one.name} {one.takes}".rstrip(), one.help[language]) for one in COMMANDS]
