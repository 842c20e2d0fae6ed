"""Where a talk is shown: answers as they come, remarks, the status line; plain where there is no terminal."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from memorybook.chat.chat_words import WORDS, Words
from memorybook.chat.drawn_words import DRAWN
from memorybook.cli import show
from memorybook.cli.call import write
from memorybook.cli.show import Page, cells, wrapped
from memorybook.text.visible import visible

if TYPE_CHECKING:
    from datetime import tzinfo

    from memorybook.cli.call import Options
    from memorybook.cli.show import Part

_THINKS, _THOUGHT = "<think>", "</think>"
_WAITING, _CLEARED = "…", "\r\x1b[K"


class Screen:
    """A page that is written to as a talk goes on; shows nothing at all with `--json`.

    Attributes:
        page: What answers of commands are drawn on.
        language: What is spoken, `en` or `zh`; see `speak`.
        words: What the chat says by itself in it.
    """

    def __init__(self, options: Options, zone: tzinfo | None = None, language: str = "en") -> None:
        self.page = _Sheet(self, options, zone)
        self._silent = bool(options.json)
        self._said = ""  # of the reply that is coming
        self._shown = 0  # characters of it that are on the screen
        self._column = 0  # where its last line ends
        self._gap = ""  # spaces before the word that comes next
        self._waits = False
        self.speak(language)

    def speak(self, language: str) -> None:
        """Say all that follows in this language."""
        self.language = language
        self.words: Words = WORDS[language]
        self.page.words = DRAWN[language]

    def draw(self, verb: str, answer: dict[str, Any]) -> None:
        """What a verb of the command line answered, as it shows it."""
        self.end()
        if not self._silent:
            show.answer(verb, answer, self.page)
            sys.stdout.flush()

    def line(self, *parts: Part) -> None:
        """One line of styled parts, on a line of its own."""
        self.end()
        if not self._silent:
            self.page.line(*parts)
            sys.stdout.flush()

    def remark(self, text: str, style: str = "faint") -> None:
        """Lines of the chat itself, each with a dot before it, broken at the width of a terminal."""
        width = self.page.width
        for line in text.splitlines():
            first, *rest = wrapped(line, width - 2) if width else [line]
            self.line((style, f"· {first}"))
            for row in rest:
                self.line((style, f"  {row}"))

    def text(self, text: str) -> None:
        """A text of any length, its lines broken at the width of the terminal."""
        self.end()
        if not self._silent:
            self.page.text(text)
            sys.stdout.flush()

    def wait(self) -> None:
        """Show that an answer is awaited, on a terminal, until something else is shown."""
        if self.page.color and not self._silent:
            write(_WAITING)
            sys.stdout.flush()
            self._waits = True

    def piece(self, text: str) -> None:
        """The next piece of a reply; what a model thinks aloud before it speaks is not shown."""
        self._said += text
        self._flow(spoken(self._said), whole=False)

    def _flow(self, said: str, *, whole: bool) -> None:
        """Write what is new of a reply, its lines broken at the width; the last word waits for its end."""
        new = said[self._shown :]
        if not whole:
            new = new[: len(new) - len(_words_in(new)[-1])] if new else ""
        self._shown += len(new)
        if not new or self._silent:
            return
        self._clear()
        for number, line in enumerate(visible(new).split("\n")):
            if number:
                write("\n")
                self._column, self._gap = 0, ""
            for word in _words_in(line):
                self._word(word)
        sys.stdout.flush()

    def _word(self, word: str) -> None:
        """Write a word and the spaces before it, or begin a line with it where it does not fit."""
        if word.isspace():
            self._gap += word
            return
        if self.page.width and self._column and self._column + cells(self._gap + word) > self.page.width:
            write("\n")
            self._column, self._gap = 0, ""
        write(self._gap + word)
        self._column += cells(self._gap + word)
        self._gap = ""

    def end(self) -> None:
        """End the line of a reply that came in pieces."""
        if self._said:
            self._flow(spoken(self._said), whole=True)
        self._clear()
        if self._column:
            write("\n")
        self._said, self._shown, self._column, self._gap = "", 0, 0, ""

    def _clear(self) -> None:
        if self._waits:
            write(_CLEARED)
            self._waits = False


class _Sheet(Page):
    """A page whose remarks are the chat's."""

    def __init__(self, screen: Screen, options: Options, zone: tzinfo | None) -> None:
        super().__init__(options, zone)
        self._screen = screen

    def remark(self, message: str) -> None:
        if not self.quiet:
            self._screen.remark(message)


def _words_in(line: str) -> list[str]:
    """Pieces between which a line may be broken: words, spaces, wide characters; put together they are the line."""
    return re.findall(r"[^\S\n]|\n|[^\s\u1100-\uffff\U0001f000-\U0003ffff]+|.", line)


def spoken(text: str) -> str:
    """What of a reply so far is said, and not thought: all after `</think>`; "" while that is not to be told.

    >>> spoken("<think>Tea?</think>Green tea."), spoken("<thi"), spoken("Green")
    ('Green tea.', '', 'Green')
    """
    text = text.lstrip()
    if text.startswith(_THINKS):
        return text.partition(_THOUGHT)[2].lstrip()
    return "" if _THINKS.startswith(text) else text
