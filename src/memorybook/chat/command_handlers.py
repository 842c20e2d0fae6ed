"""What commands of a chat do: verbs of the command line, shown as it shows them, and what only a chat can."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from memorybook.agent.toolset import operations_in
from memorybook.chat import commands
from memorybook.chat.chat_words import WORDS
from memorybook.chat.hits_view import kept, show_remembered
from memorybook.cli.call import Call
from memorybook.errors import Conflict, NotFound
from memorybook.sessions.user_commands import noted
from memorybook.text.tokens import language_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from memorybook.agent import AgentSession, Event
    from memorybook.chat.display import Screen
    from memorybook.cli.call import Options
    from memorybook.memory import Memory
    from memorybook.sessions.recall_types import Recollection

KEPT = 10
"""Messages that stay of a talk that is compacted."""

_LOOKING_BACK = ("recall-history", "recall-topic", "recall-session")  # but for the session that is being talked in
_SHOWN = 3  # things that are named of what was remembered


class _Inside(Call):
    """A call of a verb whose remarks are the chat's."""

    def __init__(self, verb: str, arguments: list[str], memory: Memory, screen: Screen) -> None:
        super().__init__(verb, arguments, memory, screen.page.words)
        self._screen = screen

    def warn(self, message: str) -> None:
        if not self.options.quiet:
            self._screen.remark(message)


class Doing:
    """Carries out commands.

    Args:
        options: Of the command line.
        memory: The book.
        session: That is being talked in.
        screen: Where it is shown.
        events: What is told while something is done; emptied before.
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
        self._memory = memory
        self._session = session
        self._screen = screen
        self._events = events
        self._made = made

    def carry_out(self, order: commands.Order) -> bool:
        """Do what a command says; False if it says to leave."""
        name, rest = order.command.name, order.rest
        if name == "/quit":
            return False
        takes = order.command.takes
        if not rest and takes and not takes.startswith("["):
            self._screen.remark(f"{name} {takes}: {order.command.help[self._screen.language]}")
        elif order.command.verb is not None:
            self._do(*order.command.verb(rest))
        else:
            own: dict[str, Callable[[str], None]] = {
                "/help": self._help,
                "/new": self._new,
                "/compact": lambda _: self.compact(),
                "/memory": self._memory_of,
                "/forget": self._forget,
                "/recall": self._recall,
                "/undo": self._undo,
            }
            own[name](rest)
        return True

    def _help(self, rest: str) -> None:
        """Show each command with what it does, and what the line under a reply says."""
        for usage, told in commands.help_lines(self._screen.language):
            self._screen.line(("place", f"{usage:<30}"), told)
        self._screen.remark(self._screen.words.legend)

    def _new(self, rest: str) -> None:
        """Have the session remembered, and begin another, of this name if there is one."""
        self._events.clear()
        self._screen.remark(self._session.new(rest, language=self._screen.language, keep=False).text)
        self.tell_remembered()

    def _do(self, verb: str, words: list[str]) -> None:
        """A verb of the command line, on this book, shown as it shows it."""
        if verb in _LOOKING_BACK and self._session.uuid:
            words = ["--current", self._session.uuid, *words]
        own = [flag for flag, on in (("--no-color", self._options.no_color), ("-q", self._options.quiet)) if on]
        call = _Inside(verb, [*words, *own], self._memory, self._screen)
        try:
            answer = call.run()
            if answer is not None:
                self._made += operations_in(answer)
                self._screen.draw(verb, answer)
        finally:
            call.close()

    def _memory_of(self, rest: str) -> None:
        """List what is remembered; with words what fits them."""
        if rest and self._memory.config.enabled and not commands.are_options(rest):
            show_remembered(rest, self._memory, self._screen)
        else:
            self._do("search" if rest else "list", commands.words_in(rest))

    def _forget(self, rest: str) -> None:
        """Forget an entry, what options name, or what says these words."""
        known = commands.are_options(rest) or any(
            entry.id == commands.narrow(rest) for entry in self._memory.book.entries()
        )
        self._do("forget", commands.words_in(rest) if known else ["--query", rest])

    def _recall(self, rest: str) -> None:
        """Recall what the words ask for, or what was said about them or then; without any the newest sessions.

        What was said in no earlier talk is looked for in this one, unless the words say when.
        """
        if not rest or commands.are_options(rest):
            self._do("recall-topic" if rest else "recall-history", commands.words_in(rest))
            return
        current, asking = self._session.uuid or None, WORDS[language_of(self._memory.config.language, [rest])].asking
        found = self._named(rest) or self._memory.recollect(rest, current=current)
        found = found or self._memory.recollect(asking.format(words=rest), current=current)
        found = found or self._memory.recall_topic(rest, current=current)
        if current and found.scene == "topic" and not (found.has_relevant or found.reason):
            with suppress(NotFound):  # talks are not kept
                here = self._memory.recall_within(current, rest)
                found = here if here.has_relevant else found
        self._screen.draw(f"recall-{found.scene}", found.json())

    def _named(self, words: str) -> Recollection | None:
        """The session of that very name; None if none is called so."""
        try:
            return self._memory.recall_session(self._memory.book.transcripts.session(words).uuid)
        except (NotFound, Conflict):
            return None

    def _undo(self, rest: str) -> None:
        """Take back an operation: the one that is named, else the last one of this chat that stands."""
        if not rest:
            undone = self._memory.book.journal.undone()
            rest = next((id for id in reversed(self._made) if id not in undone), "")
            if not rest:
                self._screen.remark(self._screen.words.nothing_done)
                return
        self._do("undo", commands.words_in(rest))

    def compact(self) -> None:
        """Have a long talk remembered, then go on with a summary in its place."""
        words = self._screen.words
        if len(self._session.messages) <= KEPT:
            self._screen.remark(words.nothing_to_compact)
            return
        self._screen.remark(words.compacting)
        done = self._session.compact(keep=KEPT)
        new = words.nothing_new + kept(self._memory, words.talk_kept)
        self._screen.remark(words.compacted.format(done=done.remembered.text if done.remembered.things else new))

    def tell_remembered(self) -> Sequence[str]:
        """Name what was remembered just now."""
        texts = [text for event in self._events if event.kind == "remembered" for text in self._things(event)]
        if texts:
            more = " …" if len(texts) > _SHOWN else ""
            self._screen.remark(self._screen.words.remembered.format(texts=" · ".join(islice(texts, _SHOWN)) + more))
        return texts

    def _things(self, event: Event) -> Iterator[str]:
        """The statements that an event's operation wrote and that stand: entries, and what daily notes keep."""
        standing = {entry.id: entry.text for entry in self._memory.book.entries() if entry.superseded_by is None}
        operation = event.data.get("operation")
        changes = self._memory.book.journal.operation(operation).changes if operation else ()
        texts = (standing.get(one.target) or noted(one) for one in changes)
        yield from dict.fromkeys(text for text in texts if text)
