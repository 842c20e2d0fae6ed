"""Display of a chat: streamed replies, remarks, answers of commands, the status line."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook import locale
from memorybook.cli import show
from memorybook.cli.call import write
from memorybook.cli.show import Page
from memorybook.cli.wording import Translated, cells, wrapped
from memorybook.text.screen import visible

if TYPE_CHECKING:
    from datetime import tzinfo

    from memorybook.cli.call import Options
    from memorybook.cli.show import Part
    from memorybook.errors import MemoryBookError

_THINKS, _THOUGHT = "<think>", "</think>"
_WAITING, _CLEARED = "…", "\r\x1b[K"


class Screen:
    """A page that is written to as a talk goes on; shows nothing with `--json`.

    Attributes:
        page: Where answers of commands are drawn.
        language: `en` or `zh`; see `speak`.
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
        """Use this language from now on."""
        self.language = language
        self.page.words = Translated(language)

    def message(self, id: str, /, **values: Any) -> str:
        """Return a message of the chat in its language."""
        return locale.message(f"chat.{id}", self.language, **values)

    def translate(self, text: str) -> str:
        """Return what another part of the package says, in the chat's language."""
        return locale.translate(text, self.language)

    def error(self, error: MemoryBookError) -> None:
        """Show what could not be done; in Chinese its kind, then the reason."""
        kinds = locale.table("errors", self.language)
        kind = f"{kinds.get(error.code, kinds['error'])}：" if kinds else ""
        self.remark(kind + locale.describe(error, self.language), "bad")

    def draw(self, verb: str, answer: dict[str, Any]) -> None:
        """Show the answer of a command as the command line does."""
        self.end()
        if not self._silent:
            show.answer(verb, answer, self.page)
            sys.stdout.flush()

    def line(self, *parts: Part) -> None:
        """Show styled parts on a line of their own."""
        self.end()
        if not self._silent:
            self.page.line(*parts)
            sys.stdout.flush()

    def remark(self, text: str, style: str = "faint") -> None:
        """Show lines of the chat itself, each with a dot before it, broken at the width of the terminal."""
        width = self.page.width
        for line in text.splitlines():
            first, *rest = wrapped(line, width - 2) if width else [line]
            self.line((style, f"· {first}"))
            for row in rest:
                self.line((style, f"  {row}"))

    def wait(self) -> None:
        """Show on a terminal that an answer is awaited, until something else is shown."""
        if self.page.color and not self._silent:
            write(_WAITING)
            sys.stdout.flush()
            self._waits = True

    def piece(self, text: str) -> None:
        """Show the next piece of a reply; what a model thinks before it speaks is not shown."""
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
    """Split a line where it may be broken: words, spaces, wide characters; joined they are the line."""
    return re.findall(r"[^\S\n]|\n|[^\s\u1100-\uffff\U0001f000-\U0003ffff]+|.", line)


def spoken(text: str) -> str:
    """Return what of a reply so far is not thought: all after `</think>`; "" while that is open.

    >>> spoken("<think>Tea?</think>Green tea."), spoken("<thi"), spoken("Green")
    ('Green tea.', '', 'Green')
    """
    text = text.lstrip()
    if text.startswith(_THINKS):
        return text.partition(_THOUGHT)[2].lstrip()
    return "" if _THINKS.startswith(text) else text


# --- the status line -----------------------------------------------------------------------------

ICON = "◆"


class Status(NamedTuple):
    """The line under a reply: how long it took, what was recalled and stored, how large the talk is.

    Attributes:
        seconds: From the input to the end of the reply.
        recalled: What was recalled, in a few words; "" for nothing.
        stored, forgotten, waiting: How many things were written, taken out, put into the review queue.
        trouble: What failed or was degraded, one sentence each.
        failed: Whether the turn has no whole answer.
        cut: Whether that is because the user interrupted it.
        lost: Whether they did so before their words were stored.
        turns: Messages of the session so far.
        tokens: Size of the turn's context; 0 for none, which is not shown.
    """

    seconds: float
    recalled: str = ""
    stored: int = 0
    forgotten: int = 0
    waiting: int = 0
    trouble: tuple[str, ...] = ()
    failed: bool = False
    cut: bool = False
    lost: bool = False
    turns: int = 0
    tokens: int = 0


def status_parts(status: Status, language: str) -> list[Part]:
    """Return the line in styled parts: a gold icon, the state in green or red, the rest faint."""

    def say(id: str, /, **values: Any) -> str:
        return locale.message(f"chat.{id}", language, **values)

    counted = (("stored", status.stored), ("forgot", status.forgotten), ("in_review", status.waiting))
    state = [status.recalled, *(say(id, count=count) for id, count in counted if count)]
    if status.cut:
        state.append(say("lost" if status.lost else "interrupted"))
    elif status.trouble:
        trouble = "; ".join(locale.translate(each, language) for each in status.trouble)
        state.append(say("failed" if status.failed else "degraded", reason=trouble))
    size = [say("turns", count=status.turns), say("tokens", count=status.tokens) if status.tokens else ""]
    return [
        ("gold", ICON),
        ("faint", f" {status.seconds:.1f} s · "),
        ("bad" if status.trouble or status.cut else "good", " · ".join(filter(None, state)) or say("ok")),
        ("faint", "".join(f" · {each}" for each in size if each)),
    ]
