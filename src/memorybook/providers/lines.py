"""Messages of a history as lines for a model: `[2026-02-24 10:12] USER: …`, each with its own time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.formats.messages_json import Record, Said, plain, said_in
from memorybook.model import Trust, Turn
from memorybook.sessions.dialogue import own_words
from memorybook.sessions.turns import mask_turns
from memorybook.text.screen import screen

if TYPE_CHECKING:
    from memorybook.entries.mask import Mask

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
    """The messages that say something, without secrets, without what recall had put in and what the system says.

    Empty messages are left out, and those that try to instruct whoever reads them.

    Args:
        messages: In order.
        mask: Masks and counts secrets.
        zone: In which times are shown, and of times without an offset.
    """
    turns = mask_turns(mask, tuple(turns_in(messages, zone)))
    spoken = ((turn, own_words(turn)) for turn in turns)
    return [_line(turn, text, zone) for turn, text in spoken if text and not screen(text)]


def turns_in(messages: Iterable[Mapping[str, Any]], zone: tzinfo) -> Iterator[Turn]:
    """Each message that holds a text or calls, as it stands there; its id is its place in the list."""
    for number, message in enumerate(messages):
        said = said_in(Record(number, plain(message)), timezone=zone, warn=lambda warning: None)
        if said is not None:
            yield Turn(
                id=str(number),
                session="",
                text=said.text,
                role=said.role,
                speaker=said.speaker,
                time=said.time,
                tool_calls=tuple({"name": name} for name in _called(said)),
                metadata=said.metadata,
            )


def _called(said: Said) -> Iterator[str]:
    """Names of the tools that an assistant called, as the wires and agents have them."""
    for call in said.tool_calls:
        function = call.get("function")
        name = call.get("name") or (function.get("name") if isinstance(function, Mapping) else None)
        if isinstance(name, str) and name.strip():
            yield name.strip()
    used = said.metadata.get("tools_used")
    yield from (name for name in used if isinstance(name, str)) if isinstance(used, list) else ()


def stamp_of(time: datetime, zone: tzinfo) -> str:
    """The minute, as lines and paragraphs show it."""
    return f"{time.astimezone(zone):%Y-%m-%d %H:%M}"


def _line(turn: Turn, text: str, zone: tzinfo) -> Line:
    stamp = "" if turn.time is None else stamp_of(turn.time, zone)
    shown = text if len(text) <= WIDTH else f"{text[:WIDTH]}..."
    body = "\n  ".join(line.rstrip() for line in shown.splitlines() if line.strip())
    who = " ".join((turn.role.upper() or turn.speaker or "?").split())
    return Line(f"[{stamp or '?'}] {who}{_tools(turn)}: {body}", stamp, _DOORS.get(turn.role, "user"))


def _tools(turn: Turn) -> str:
    if turn.role == "tool":
        name = turn.metadata.get("tool") or (turn.speaker if turn.speaker != "tool" else "")
        return f" [tool: {name}]" if name else ""
    names = ", ".join(dict.fromkeys(str(call["name"]) for call in turn.tool_calls))
    return f" [tools: {names}]" if names else ""
