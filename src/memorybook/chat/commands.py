"""Commands of the chat, such as `/forget a1b2c3`: the table, how a line is read, what each does; and the display."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import normalize

from memorybook import locale
from memorybook.agent.toolset import operations_in
from memorybook.cli import show
from memorybook.cli.call import Call, write
from memorybook.cli.show import Page
from memorybook.cli.wording import Translated, cells, visible, wrapped
from memorybook.errors import Conflict, InvalidInput, NotFound
from memorybook.formats.session_md import parse_line
from memorybook.prompt.recall import WORTH_A_LOOK
from memorybook.search.types import Query
from memorybook.text.tokens import language_of

if TYPE_CHECKING:
    from datetime import tzinfo

    from memorybook.agent import AgentSession, Event
    from memorybook.cli.call import Options
    from memorybook.cli.show import Part
    from memorybook.errors import MemoryBookError
    from memorybook.memory import Memory
    from memorybook.sessions.recall_block import Recollection

KEPT_MESSAGES = 10
"""Messages that stay of a talk that is compacted."""

_RECALLS = ("recall-history", "recall-topic", "recall-session")  # of other sessions than the current one
_NAMED = 3  # maximum of things that are named of what was remembered

# --- the table -----------------------------------------------------------------------------------

Arguments = Callable[[str], tuple[str, list[str]]]
"""Turns the text after a command into a verb of the command line and its words."""


class Command(NamedTuple):
    """One command.

    Attributes:
        name: With its stroke.
        takes: What may follow, as help shows it.
        verb: Turns what follows into a call of the command line; None for what the method of `CommandHandlers` of this
            name does.
        ids: What it is completed with: `entries`, `sessions`, or nothing.
    """

    name: str
    takes: str = ""
    verb: Arguments | None = None
    ids: str = ""

    def help(self, language: str) -> str:
        """Return what it does, in one line."""
        return locale.message(f"commands.{self.name[1:]}", language)


def words_in(rest: str) -> list[str]:
    """Split the words as a shell does, at spaces only where a quote is left open.

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
    """Return an id or option that was typed in full width in ASCII; any other word as it is."""
    meant = normalize("NFKC", word)
    return meant if meant.isascii() else word


def are_options(rest: str) -> bool:
    """Return whether what follows a command begins with an option."""
    return narrow(rest[:1]) == "-"


def _said(verb: str, *options: str) -> Arguments:
    """Read a verb whose argument is all that follows, as one text; words that begin with a dash are its options."""
    return lambda rest: (verb, [*options, *(words_in(rest) if are_options(rest) else [rest] if rest else [])])


def _plain(verb: str) -> Arguments:
    return lambda rest: (verb, words_in(rest))


COMMANDS = (
    Command("/new", "[NAME]"),
    Command("/memory", "[QUERY]"),
    Command(
        "/sessions",
        "[WHICH]",
        lambda rest: _said("recall-session")(rest) if rest else ("sessions", []),
        "sessions",
    ),
    Command("/recall", "[WORDS]"),
    Command("/remember", "TEXT", _said("add")),
    Command("/forget", "ID | WORDS", ids="entries"),
    Command("/pin", "ID", _plain("pin"), "entries"),
    Command("/undo", "[OPERATION]"),
    Command("/why", "ID", _plain("why"), "entries"),
    Command("/review", "[accept|reject ID]", _plain("review")),
    Command("/compact"),
    Command("/export", "[FILE]", _plain("export")),
    Command("/status", "", _plain("status")),
    Command("/help"),
    Command("/quit"),
)
"""Every command, in the order of the help."""

ALIASES = {"/exit": "/quit", "/q": "/quit", "/?": "/help", "/h": "/help"}

_STROKE_KEY = "、"


class Order(NamedTuple):
    """A command with what follows it."""

    command: Command
    rest: str


def order_in(line: str) -> Order | None:
    """Read a line as a command, by its name or an unambiguous start of it; None for `/etc/hosts` and all else.

    The name may be typed in full width, and with the mark that the key of `/` gives in Chinese: `／ｎｅｗ`, `、new`.

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
    if near:
        raise locale.error(InvalidInput, "chat.did_you_mean", name=word, near=near[0])
    raise locale.error(InvalidInput, "chat.unknown_command", name=word)


# --- what they do --------------------------------------------------------------------------------


class _ChatCall(Call):
    """A call of a verb whose remarks are the chat's."""

    def __init__(self, verb: str, arguments: list[str], memory: Memory, screen: Screen) -> None:
        super().__init__(verb, arguments, memory, screen.page.words)
        self._screen = screen

    def warn(self, message: str) -> None:
        if not self.options.quiet:
            self._screen.remark(message)


class CommandHandlers:
    """Carries out commands.

    Args:
        options: Of the command line.
        memory: The book.
        session: The current one.
        screen: Where it is shown.
        events: What happened in this turn; emptied before something is done.
        made: Operations of this chat, in order; grows.
    """

    def __init__(
        self,
        options: Options,
        memory: Memory,
        session: AgentSession,
        screen: Screen,
        *,
        events: list[Event],
        made: list[str],
    ) -> None:
        self._options = options
        self._book = memory
        self._session = session
        self._screen = screen
        self._events = events
        self._made = made

    def carry_out(self, order: Order) -> bool:
        """Do what a command says; return False to leave."""
        name, rest = order.command.name, order.rest
        if name == "/quit":
            return False
        takes = order.command.takes
        if not rest and takes and not takes.startswith("["):
            self._screen.remark(f"{name} {takes}: {order.command.help(self._screen.language)}")
        elif order.command.verb is not None:
            self._do(*order.command.verb(rest))
        else:
            getattr(self, f"_{name[1:]}")(rest)
        return True

    def _help(self, rest: str) -> None:
        """Show each command with what it does, and what the line under a reply says."""
        for one in COMMANDS:
            self._screen.line(("place", f"{f'{one.name} {one.takes}'.rstrip():<30}"), one.help(self._screen.language))
        self._screen.remark(self._screen.message("legend"))

    def _new(self, rest: str) -> None:
        """Have the session remembered, and begin another, with this name if there is one."""
        self._events.clear()
        self._screen.remark(self._session.new(rest, language=self._screen.language, keep=False).text)
        self.show_remembered()

    def _compact(self, rest: str) -> None:
        self.compact()

    def _do(self, verb: str, words: list[str]) -> None:
        """Run a verb of the command line on this book, and show its answer."""
        if verb in _RECALLS and self._session.uuid:
            words = ["--current", self._session.uuid, *words]
        own = [flag for flag, on in (("--no-color", self._options.no_color), ("-q", self._options.quiet)) if on]
        call = _ChatCall(verb, [*words, *own], self._book, self._screen)
        try:
            answer = call.run()
            if answer is not None:
                self._made += operations_in(answer)
                self._screen.draw(verb, answer)
        finally:
            call.close()

    def _memory(self, rest: str) -> None:
        """List what is remembered; with words search it, but not turns, which `/recall` finds."""
        memory = self._book
        if not rest or not memory.config.enabled or are_options(rest):
            self._do("search" if rest else "list", words_in(rest))
            return
        query, limit = Query(rest), memory.config.max_results
        found = memory.book.search(query, limit=limit, keep=lambda one: one.source != "turn")
        answer = memory.book.renewed(query, found, limit=limit).json()
        self._screen.draw("search", {**answer, "results": worth_showing(answer) or answer["results"], "cut": 0})

    def _forget(self, rest: str) -> None:
        """Forget an entry, what options name, or what says these words."""
        known = are_options(rest) or any(entry.id == narrow(rest) for entry in self._book.book.entries())
        self._do("forget", words_in(rest) if known else ["--query", rest])

    def _recall(self, rest: str) -> None:
        """Recall what the words ask for, or what was said about them or then; without words the newest sessions.

        What no earlier talk has is looked for in this one, unless the words say when.
        """
        if not rest or are_options(rest):
            self._do("recall-topic" if rest else "recall-history", words_in(rest))
            return
        memory, current = self._book, self._session.uuid or None
        found: Recollection | None = None
        with suppress(NotFound, Conflict):  # no session of that very name
            found = memory.recall_session(memory.book.transcripts.session(rest).uuid)
        question = locale.message("chat.recall_question", language_of(memory.config.language, [rest]), words=rest)
        found = found or memory.recollect(rest, current=current) or memory.recollect(question, current=current)
        found = found or memory.recall_topic(rest, current=current)
        if current and found.scene == "topic" and not (found.has_relevant or found.reason):
            with suppress(NotFound):  # talks are not kept
                here = memory.recall_within(current, rest)
                found = here if here.has_relevant else found
        self._screen.draw(f"recall-{found.scene}", found.json())

    def _undo(self, rest: str) -> None:
        """Undo an operation: the named one, else the last one of this chat that is not undone."""
        if not rest:
            undone = self._book.book.journal.undone()
            rest = next((id for id in reversed(self._made) if id not in undone), "")
            if not rest:
                self._screen.remark(self._screen.message("nothing_to_undo"))
                return
        self._do("undo", words_in(rest))

    def compact(self) -> None:
        """Have a long talk remembered, then go on with a summary in its place."""
        screen = self._screen
        if len(self._session.messages) <= KEPT_MESSAGES:
            screen.remark(screen.message("nothing_to_compact"))
            return
        screen.remark(screen.message("compacting"))
        done = self._session.compact(keep=KEPT_MESSAGES).remembered
        screen.remark(screen.message("compacted", done=done.text if done.things else self.nothing_new()))

    def nothing_new(self) -> str:
        """Return that there was nothing to remember, and that the talk is stored, if it is."""
        screen = self._screen
        return screen.message("nothing_new") + (screen.message("talk_kept") if is_stored(self._book) else "")

    def show_remembered(self) -> Sequence[str]:
        """Name what was remembered just now."""
        texts = [text for event in self._events if event.kind == "remembered" for text in self._written(event)]
        if texts:
            more = " …" if len(texts) > _NAMED else ""
            self._screen.remark(self._screen.message("remembered", texts=" · ".join(islice(texts, _NAMED)) + more))
        return texts

    def _written(self, event: Event) -> Iterator[str]:
        """Return the statements that an event's operation wrote and that stand: entries, and lines of daily notes."""
        standing = {entry.id: entry.text for entry in self._book.book.entries() if entry.superseded_by is None}
        operation = event.data.get("operation")
        changes = self._book.book.journal.operation(operation).changes if operation else ()
        texts: dict[str, None] = {}
        for one in changes:
            note = parse_line(one.after or "") if one.kind == "append" else None
            texts[standing.get(one.target) or (note.text if note is not None else "")] = None
        yield from filter(None, texts)


def is_stored(memory: Memory) -> bool:
    """Return whether talks are stored."""
    return memory.config.enabled and memory.config.transcripts.enabled


def worth_showing(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the hits of a search that are worth a look."""
    return [hit for hit in answer["results"] if hit["relevance"] >= WORTH_A_LOOK]


# --- display: streamed replies, remarks, answers of commands ----------------------------------------


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
