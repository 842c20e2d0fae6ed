"""A chat from its first line to its end: with a language model, or with the book alone, which answers by search.

Lines are read with editing, history and completion on a terminal that has `prompt_toolkit`, else plainly.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from itertools import count
from typing import TYPE_CHECKING, Any

from memorybook import locale
from memorybook.agent.conversation import text_of
from memorybook.agent.session import Workspace
from memorybook.chat.commands import (
    COMMANDS,
    KEPT_MESSAGES,
    CommandHandlers,
    Screen,
    Status,
    is_stored,
    order_in,
    status_parts,
    worth_showing,
)
from memorybook.cli.call import Call, check_stdin, write
from memorybook.cli.wording import visible
from memorybook.errors import InvalidInput, MemoryBookError, NotFound, Unavailable
from memorybook.prompt.recall import adds_statement, hits_to_show
from memorybook.sessions.dialogue import is_small, is_worded
from memorybook.sessions.recall_block import short
from memorybook.text.sentences import is_question
from memorybook.text.tokens import count_tokens, language_of

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completion
    from prompt_toolkit.document import Document

    from memorybook.agent import AgentSession, Event
    from memorybook.memory import Memory
    from memorybook.protocols import LLM
    from memorybook.search.types import Passage
    from memorybook.sessions.recall_block import Recollection

CHANNEL = "chat"
"""Channel of this door's sessions; each chat that is open at once has a number of its own in it."""

COMPACT_FROM = 16_000
"""Minimum tokens of a talk that is compacted."""

LONGEST = 1_000_000
"""Maximum bytes of a line of a file or pipe."""

_ODD = 8  # characters that are no text which any line may have
_WRITING = ("memory_remember", "memory_append", "memory_update", "memory_pin")
_BEGINS = ("/new", "/remember")  # commands that make a book
_READ = 20  # entries and sessions that tell the language of a book


class Chat:
    """One person's talk with a book, and with a language model if one is set.

    Args:
        call: Of the command line: its options, and the book.
        system: Words to the model before all others.
        goes_on: An earlier session to continue from, as `Memory.recall_session` takes it; "" for none.
        language: For an empty book, before anything was said: `en` or `zh`.
        read: Returns the next line; None reads stdin.
    """

    def __init__(
        self,
        call: Call,
        *,
        system: str = "",
        goes_on: str = "",
        language: str = "en",
        read: Callable[[], str] | None = None,
    ) -> None:
        self._call = call
        self._memory: Memory = call.memory
        self._system = system
        self._goes_on = goes_on
        self._screen = Screen(call.options, self._memory.book.zone, _language(self._memory, language))
        self._read = read or reader(
            lambda: f"{self._screen.message('you')}> ",
            self._ids,
            self._past,
            language=self._screen.language,
            echo=not call.options.json,
        )
        self._thread = threading.get_ident()
        self._events: list[Event] = []
        self._behind: list[str] = []  # what happened in the background, not shown yet
        self._late: list[Event] = []  # what failed there, for the next status
        self._made: list[str] = []  # operations of this chat, in order
        self._turns: list[dict[str, Any]] = []
        self._session: AgentSession
        self._commands: CommandHandlers
        self._settle: Callable[[], None]
        self._settles = False  # once something is written, for the place of a chat is in its book
        self._llm: LLM | None = None

    def run(self) -> dict[str, Any] | None:
        """Talk until the user leaves, then have the session remembered; return the talk with `--json`."""
        logging.getLogger("memorybook").addHandler(logging.NullHandler())  # what it would say is shown here
        with ExitStack() as opened:
            self._llm = self._memory.llm
            workspace = Workspace(
                book=self._memory.root,
                config=self._memory.config,
                llm=self._llm,
                embedder=self._memory.context.embedder,
                workers=1,
                on_event=self._heard,
                door=CHANNEL,
            )
            opened.callback(workspace.close)
            self._settle = lambda: self._begin(workspace, opened.enter_context(_place(self._memory)))
            if self._memory.context.absent:
                self._begin(workspace, "1")
                self._settles = True
            else:
                self._settle()
            self._greet()
            self._talk()
            remembered = self._leave(workspace)
            workspace.close()  # which ends what is still done in the background
            self._show_behind()
        return {"turns": self._turns, **remembered} if self._call.options.json else None

    # --- beginning -----------------------------------------------------------------------------

    def _begin(self, workspace: Workspace, chat: str) -> None:
        """Talk in the session of that chat from now on."""
        self._settles = False
        self._session = workspace.session(CHANNEL, chat)
        self._commands = CommandHandlers(
            self._call.options, self._memory, self._session, self._screen, events=self._events, made=self._made
        )

    def _greet(self) -> None:
        screen, memory = self._screen, self._memory
        name = self._llm.name.rpartition("/")[2] if self._llm is not None else ""
        screen.line(("strong", "memorybook"), ("faint", " · "), memory.root, ("faint", f" · {name}" if name else ""))
        if self._llm is None:
            screen.remark(screen.message("no_model"))
        if not memory.config.enabled:
            screen.remark(screen.message("memory_off"), "bad")
        elif not memory.config.transcripts.enabled:
            screen.remark(screen.message("no_transcripts"))
        if lacks_editing():
            screen.remark(screen.message("plain_input"))
        screen.remark(screen.message("hint"))
        if absent := memory.context.absent:
            screen.remark(screen.translate(absent))
        before = self._session.messages
        if self._goes_on:
            self._go_on(memory)
        elif before:
            time = screen.page.minute(str(before[-1]["timestamp"]))[11:]
            screen.remark(screen.message("continued", time=time, turns=screen.message("turns", count=len(before))))
            if self._llm is not None and before[-1]["role"] == "user":
                text = text_of(before[-1]).strip().partition("\n")[0][:80]
                screen.remark(screen.message("unanswered", text=text))

    def _go_on(self, memory: Memory) -> None:
        """Show the session to continue from in each prompt of this one. Raises NotFound, Conflict."""
        current = self._session.uuid or None
        [found] = memory.recall_session(self._goes_on, current=current).sessions
        if found.uuid == current:
            return
        self._session.before = found.uuid
        day = memory.book.day(found.started).isoformat() if found.started else "—"
        title = found.title or found.name or short(found.uuid)
        self._screen.remark(self._screen.message("continued_from", title=title, day=day))

    def _past(self) -> Iterator[str]:
        """Yield what the user said in earlier chats, the newest last, for the history of the input."""
        transcripts = self._memory.book.transcripts
        for session in reversed(transcripts.sessions(limit=10)):
            if session.channel == CHANNEL:
                yield from (turn.text for turn in transcripts.turns(session.uuid) if turn.role == "user")

    def _ids(self, what: str) -> Iterable[tuple[str, str]]:
        if self._memory.context.absent:
            return []
        if what == "entries":
            return [(each.entry.id, each.entry.text) for each in self._memory.entries(limit=50).entries]
        return [(each.name or short(each.uuid), each.title) for each in self._memory.sessions(limit=50).sessions]

    # --- talking -------------------------------------------------------------------------------

    def _talk(self) -> None:
        interrupts = 0
        while interrupts < 2:
            self._show_behind()
            try:
                line = self._read()
            except EOFError:
                return
            except InvalidInput as error:
                self._screen.error(error)
                return
            except KeyboardInterrupt:
                interrupts += 1
                if interrupts < 2:
                    self._screen.remark(self._screen.message("leave_hint"))
                continue
            if not line.strip():
                continue
            try:
                if not self._take(line):
                    return
                interrupts = 0
            except KeyboardInterrupt:
                self._screen.remark(self._screen.message("leave_hint"))
                interrupts = 1

    def _take(self, line: str) -> bool:
        """Do what a line says; return False to leave."""
        try:
            order = order_in(line)
            if self._settles and (order is None or order.command.name in _BEGINS):
                self._settle()
            if order is None:
                self._turn(line)
                return True
            return self._commands.carry_out(order)
        except MemoryBookError as error:
            self._screen.error(error)
        except SystemExit:  # a command's help was shown
            pass
        return True

    def _turn(self, text: str) -> None:
        if is_worded(text):
            self._screen.speak(language_of(self._memory.config.language, [text]))
        self._events.clear()
        began = time.monotonic()
        before = self._ids_said()
        status = Status(0.0)
        try:
            status = self._answered(text) if self._llm is not None else self._looked_up(text)
        except KeyboardInterrupt:
            self._screen.end()
            lost = self._ids_said() <= before
            tokens = 0 if lost else count_tokens(self._session.given)
            status = status._replace(failed=True, cut=True, lost=lost, tokens=tokens)
            self._finish(text, status, began)
            raise
        except MemoryBookError as error:
            status = status._replace(trouble=(locale.describe(error, self._screen.language),), failed=True)
        self._finish(text, status, began)

    def _ids_said(self) -> set[str]:
        """Return ids of the messages of the session."""
        with suppress(MemoryBookError):
            return {str(one["id"]) for one in self._session.messages}
        return set()

    def _answered(self, text: str) -> Status:
        """Run the turn with the model."""
        self._screen.wait()
        outcome = self._session.run(None, text, system=self._system, piece=self._screen.piece, orders=True)
        self._screen.end()
        self._turns.append({"user": text, "assistant": outcome.text})
        tokens = sum(count_tokens(text_of(message)) for message in outcome.messages)
        if len(outcome.messages) > KEPT_MESSAGES + 2 and tokens >= COMPACT_FROM:
            self._commands.compact()
        degraded = outcome.found.degraded if outcome.found is not None else ()
        return Status(0.0, trouble=degraded, tokens=outcome.context.tokens)

    def _looked_up(self, text: str) -> Status:
        """Run the turn without a model: store it, obey it if it is an order, and answer with what is found."""
        kept = self._session.add({"role": "user", "content": text})
        done = self._session.obey(kept)
        asked = text if done is None else done.asked
        self._turns.append({"user": text, "assistant": None})
        if not asked:
            return Status(0.0)
        found = self._session.recollect(asked)
        degraded = found.degraded if found is not None else ()
        more = show_found(asked, found, self._memory, self._session.uuid, self._screen)
        return Status(0.0, trouble=tuple(dict.fromkeys((*degraded, *more))))

    def _finish(self, text: str, status: Status, began: float) -> None:
        """Show the line under the reply."""
        late, self._late = self._late, []
        status = _with_events(status._replace(seconds=time.monotonic() - began), [*self._events, *late])
        with suppress(Unavailable):
            spoken = (one for one in self._session.messages if one["role"] in ("user", "assistant") and text_of(one))
            status = status._replace(turns=sum(1 for _ in spoken))
        if self._call.options.json and (not self._turns or self._turns[-1]["user"] != text):
            self._turns.append({"user": text, "assistant": None})
        if self._turns:
            self._turns[-1]["status"] = {**status._asdict(), "trouble": list(status.trouble)}
        self._screen.line(*status_parts(status, self._screen.language))

    # --- what happens ----------------------------------------------------------------------------

    def _heard(self, event: Event) -> None:
        """Show at once what belongs to the turn; what happens in the background waits for its end."""
        done = event.data.get("done")
        made = (done.operation if done else event.data.get("operation"), *event.data.get("operations", ()))
        self._made += filter(None, made)
        if threading.get_ident() != self._thread:
            if event.kind in ("remembered", "memorize_failed", "ended"):
                idle = self._screen.message("idle_session")
                self._behind.append(idle if event.kind == "ended" else event.text)
            elif event.kind == "retell_failed":
                self._late.append(event)
            return
        self._events.append(event)
        if event.kind in ("obeyed", "recalled"):
            self._screen.remark(event.text)
            self._screen.wait()

    def _show_behind(self) -> None:
        """Show what happened in the background."""
        while self._behind:
            self._screen.remark(self._behind.pop(0))

    # --- leaving ---------------------------------------------------------------------------------

    def _leave(self, workspace: Workspace) -> dict[str, Any]:
        """Have the session remembered; an interrupt leaves it in the queue."""
        screen = self._screen
        self._events.clear()
        try:
            if not self._session.messages:
                return {"remembered": []}
            screen.remark(screen.message("remembering"))
            done = self._session.new(keep=False)
        except KeyboardInterrupt:
            with suppress(KeyboardInterrupt, MemoryBookError):
                self._session.put_off("Ctrl-C")
            screen.remark(screen.message("queued", reason="Ctrl-C"), "bad")
            if not workspace.wait(0):  # what a model is asked in the background would have the process wait for it
                os._exit(130)
            return {"remembered": []}
        if not done.ok:
            screen.remark(screen.message("queued", reason=screen.translate(done.reason)), "bad")
            return {"remembered": [], "waits": done.reason}
        texts = list(self._commands.show_remembered())
        if not texts:
            screen.remark(self._commands.nothing_new())
        return {"remembered": texts}


def _language(memory: Memory, otherwise: str) -> str:
    """Return the language of a book: its setting, else that of its entries and titles; `otherwise` for an empty one."""
    setting = memory.config.language
    if setting != "auto":
        return setting
    texts = [entry.text for entry in memory.book.entries()][-_READ:]
    with suppress(Unavailable, NotFound):
        texts += [session.title for session in memory.sessions(limit=_READ).sessions]
    return language_of(setting, texts) if any(texts) else otherwise


def _with_events(status: Status, events: Iterable[Event]) -> Status:
    """Add the events of a turn to its status."""
    for event in events:
        if event.kind == "obeyed":
            done = event.data["done"]
            status = status._replace(
                stored=status.stored + len(done.remembered),
                forgotten=status.forgotten + len(done.forgotten),
                waiting=status.waiting + len(done.proposals),
            )
        elif event.kind == "recalled":
            status = status._replace(recalled=event.text.partition(":")[0].partition("：")[0])
        elif event.kind == "tool" and event.data["ok"]:
            name = event.data["name"]
            status = status._replace(
                stored=status.stored + (name in _WRITING), forgotten=status.forgotten + (name == "memory_forget")
            )
        elif event.kind.endswith("_failed"):
            status = status._replace(trouble=(*status.trouble, event.data["reason"]))
    return status


@contextmanager
def _place(memory: Memory) -> Iterator[str]:
    """Hold a number for this chat among those open on the book at once: each is a session of its own.

    The lowest that is free, by a lock that the kernel takes from the dead, so that a killed chat is continued.
    """
    if not memory.config.enabled:
        yield "1"
        return
    for number in count(1):
        with memory.book.storage.lease(f"{CHANNEL}-{number}") as ours:
            if ours:
                yield str(number)
                return


# --- answers without a model ---------------------------------------------------------------------


def show_found(text: str, recalled: Recollection | None, memory: Memory, current: str, screen: Screen) -> list[str]:
    """Answer what a user says from the book alone; return why the answer may lack something.

    Shows the past talks that were asked for, if anything was said in them, else the hits of a search. For a question
    that is every hit worth a look, for a statement only if one is relevant. Small talk is not searched for.

    Args:
        text: What the user says.
        recalled: The past talks it asks for; None if it asks for none.
        memory: The book.
        current: Uuid of this session; "" before there is one.
        screen: Where it is shown.
    """
    stored = screen.message("stored_talk") if is_stored(memory) else ""
    if is_small(text):
        screen.remark(stored + screen.message("small_talk"))
        return []
    nothing = screen.message("nothing_known")
    if recalled is not None and not recalled.has_relevant:
        if recalled.span is not None and not recalled.sessions:
            nothing = screen.message("nothing_said", days=" – ".join(filter(None, dict.fromkeys(recalled.span))))
        recalled = None
    limit, asks = memory.config.recall.max_search_results, is_question(text)
    if recalled is None or not recalled.turns or recalled.scene == "history":

        def keep(one: Passage) -> bool:  # no turns that only asked it, no questions of this session
            told = one.source not in ("turn", "summary")
            return told or adds_statement(one.text, text, questions=one.session != current)

        answer = hits_to_show(memory.context, text, limit=limit, keep=keep).json()
        worth = worth_showing(answer) if asks or answer["has_relevant"] else []
        if worth:
            screen.remark(screen.message("found"))
            screen.draw("search", {**answer, "results": worth, "has_relevant": True, "cut": 0})
        elif recalled is None:
            screen.remark(stored + nothing)
        if worth or recalled is None:
            return list(answer["index"].get("degraded") or ())
    screen.remark(screen.message("found"))
    screen.draw(f"recall-{recalled.scene}", recalled.json())
    return []


# --- reading lines -------------------------------------------------------------------------------

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
    """Return whether there is a terminal, and `prompt_toolkit` is not installed."""
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
    odd = sum(1 for char in text if (char < " " and char != "\t") or "\udc80" <= char <= "\udcff")
    if odd >= _ODD and odd * 5 > len(text):  # bytes that are not UTF-8, control characters
        raise locale.error(InvalidInput, "chat.line_not_text")
    if prompt is not None:
        write(f"{prompt}{visible(text)}\n")
    return text


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
