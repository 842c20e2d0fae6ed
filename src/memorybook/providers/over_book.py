"""Base of the providers: keeps the offset, never lets a turn of a talk fail, shows messages as lines."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from memorybook.entries.remember import set_fields
from memorybook.errors import LLMFailed, MemoryBookError
from memorybook.forget.forget import forget
from memorybook.formats.messages_json import Record, plain, said_in
from memorybook.model import Trust, Turn
from memorybook.protocols import MemorizeInput, MemorizeResult, window
from memorybook.sessions.dialogue import own_words
from memorybook.sessions.turns import mask_turns
from memorybook.text.screen import screen

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.entries.read import Mask
    from memorybook.inference.structured_output import Metered
    from memorybook.results import Known, Recalled, Receipt


_log = logging.getLogger("memorybook.providers")


class OpenMemory(Protocol):
    """A `Memory`, as providers need it."""

    @property
    def context(self) -> Context:
        """What verbs work on."""


class OverBook:
    """A provider over an open memory, see `protocols.MemoryProvider`; safe to share between threads.

    Attributes:
        name: Of the provider, as settings have it.
        memory: Its memory, which stays its opener's to close.
        failure: Why the last recall gave nothing; "" if it did not fail.
    """

    name: str

    def __init__(self, memory: OpenMemory) -> None:
        self.memory = memory
        self.failure = ""

    @property
    def context(self) -> Context:
        """What verbs work on."""
        return self.memory.context

    def recall(self, query: str) -> str:
        """Return the block for a prompt; "" if there is nothing to say or, with a warning in the log, if it fails."""
        try:
            block = self.recalled(query).text
        except (MemoryBookError, OSError) as error:
            self.failure = str(error)
            _log.warning("nothing was recalled: %s", error)
            return ""
        self.failure = ""
        return block

    def memorize(self, given: MemorizeInput) -> MemorizeResult:
        """Remember `window(given)`; whatever fails leaves offset and memory as they were, with the reason."""
        start, end, after = window(given)
        try:
            self.context.config.check_enabled()
            operation = self._memorize(given.messages[start:end], given) if start < end else None
        except Exception as error:  # the model is anybody's; whatever it was, the messages are tried again
            reason = str(error) if isinstance(error, MemoryBookError) else f"{type(error).__name__}: {error}"
            return MemorizeResult(given.last_consolidated, False, reason)
        return MemorizeResult(after, True, operation=operation)

    def pin(self, id: str) -> Known:
        """Keep an entry from fading, and from being archived or reworded by itself. Raises NotFound."""
        return set_fields(self.context, id, {"pinned": True}, reason="pinned")

    def unpin(self, id: str) -> Known:
        """Let a pinned entry go its way again. Raises NotFound."""
        return set_fields(self.context, id, {"pinned": False}, reason="unpinned")

    def delete(self, id: str) -> Receipt:
        """Forget an entry, so that it does not come back. Raises NotFound."""
        return forget(self.context, target=id)

    def close(self) -> None:
        """Release what is held, which is nothing: the memory is its opener's. Closing twice does nothing."""

    def _model(self, given: MemorizeInput) -> Metered:
        """Return the model to ask, within the budgets. Raises LLMFailed if there is none."""
        llm = self.context.metered(given.llm, model=given.model)
        if llm is None:
            raise LLMFailed(f"the {self.name} provider needs a language model: set llm.model, or give it one")
        return llm

    def recalled(self, query: str, *, max_tokens: int | None = None) -> Recalled:
        """Return the block with the memories in it, see `protocols.MemoryProvider`."""
        raise NotImplementedError

    def _memorize(self, messages: Sequence[Mapping[str, Any]], given: MemorizeInput) -> str | None:
        """Remember at least one message; the operation's id, None if nothing was written. Raises whatever fails."""
        raise NotImplementedError


# --- messages as lines for a model: `[2026-02-24 10:12] USER: …` ----------------------------------


WIDTH = 500
"""Characters of a message that are shown."""

_DOORS: Mapping[str, Trust] = {"assistant": "agent", "tool": "tool"}


class Line(NamedTuple):
    """A message as a model is shown it.

    Attributes:
        text: `[YYYY-MM-DD HH:MM] ROLE [tool: name]: text`, further lines of the text indented.
        stamp: Its time, `YYYY-MM-DD HH:MM`; "" if it has none.
        trust: The door that it came through.
    """

    text: str
    stamp: str
    trust: Trust


def lines_of(messages: Sequence[Mapping[str, Any]], *, mask: Mask, zone: tzinfo) -> list[Line]:
    """Return the messages that say something, without secrets, without what recall had put in and what the system says.

    Empty messages are left out, and those that try to instruct whoever reads them.

    Args:
        messages: In order.
        mask: Masks and counts secrets.
        zone: In which times are shown, and of times without an offset.
    """
    found = []
    for turn in mask_turns(mask, tuple(turns_in(messages, zone))):
        text = own_words(turn)
        if not text or screen(text):
            continue
        stamp = "" if turn.time is None else stamp_of(turn.time, zone)
        text = text if len(text) <= WIDTH else f"{text[:WIDTH]}..."
        body = "\n  ".join(line.rstrip() for line in text.splitlines() if line.strip())
        who = " ".join((turn.role.upper() or turn.speaker or "?").split())
        if turn.role == "tool":
            name = turn.metadata.get("tool") or (turn.speaker if turn.speaker != "tool" else "")
            tools = f" [tool: {name}]" if name else ""
        else:
            names = ", ".join(dict.fromkeys(str(call["name"]) for call in turn.tool_calls))
            tools = f" [tools: {names}]" if names else ""
        found.append(Line(f"[{stamp or '?'}] {who}{tools}: {body}", stamp, _DOORS.get(turn.role, "user")))
    return found


def turns_in(messages: Iterable[Mapping[str, Any]], zone: tzinfo) -> Iterator[Turn]:
    """Yield each message that holds a text or calls, as it stands there; its id is its place in the list."""
    for number, message in enumerate(messages):
        said = said_in(Record(number, plain(message)), timezone=zone, warn=lambda warning: None)
        if said is None:
            continue
        called = []  # names of the tools, as the wires and agents have them
        for call in said.tool_calls:
            function = call.get("function")
            called.append(call.get("name") or (function.get("name") if isinstance(function, Mapping) else None))
        used = said.metadata.get("tools_used")
        names = [name.strip() for name in called if isinstance(name, str) and name.strip()]
        names += [name for name in used if isinstance(name, str)] if isinstance(used, list) else []
        yield Turn(
            id=str(number),
            session="",
            text=said.text,
            role=said.role,
            speaker=said.speaker,
            time=said.time,
            tool_calls=tuple({"name": name} for name in names),
            metadata=said.metadata,
        )


def stamp_of(time: datetime, zone: tzinfo) -> str:
    """Return the minute, as lines and paragraphs show it."""
    return f"{time.astimezone(zone):%Y-%m-%d %H:%M}"
