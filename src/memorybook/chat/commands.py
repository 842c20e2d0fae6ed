"""Commands of the chat, such as `/forget a1b2c3`: the table, how a line is read, and what each does."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import normalize

from memorybook import locale
from memorybook.agent.toolset import operations_in
from memorybook.book.current import renewed
from memorybook.cli.call import Call
from memorybook.errors import Conflict, InvalidInput, NotFound
from memorybook.formats.session_md import parse_line
from memorybook.prompt.recall import WORTH_A_LOOK
from memorybook.search.types import Query
from memorybook.text.tokens import language_of

if TYPE_CHECKING:
    from memorybook.agent import AgentSession, Event
    from memorybook.chat.display import Screen
    from memorybook.cli.call import Options
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
        answer = renewed(memory.book, query, found, limit=limit).json()
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
