"""What an agent's session tells whoever runs it, as it happens."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

_log = logging.getLogger("memorybook.agent")

Kind = Literal[
    "remembered",
    "memorize_failed",
    "recall_failed",
    "retell_failed",
    "ended",
    "compacted",
    "tool",
    "obeyed",
    "recalled",
]


class Event(NamedTuple):
    """Something that happened in a session.

    Attributes:
        kind: `remembered` (data: `count`, `operation`), `memorize_failed`, `recall_failed` and `retell_failed`
            (`reason`), `ended` (`ended`: uuid of the session that is over), `compacted` (`summary`, `count`), `tool`
            (`name`, `ok`, `operations`: ids of what it wrote), `obeyed` (`done`: see `verbs.orders.Obeyed`),
            `recalled` (`found`: a Recollection).
        text: For people, one line, in their language.
        channel, chat_id: Whose sessions they are.
        session: Uuid of the current one; "" before anything was said in it.
        data: See `kind`.
    """

    kind: Kind
    text: str
    channel: str
    chat_id: str
    session: str = ""
    data: Mapping[str, Any] = {}


OnEvent = Callable[[Event], None]


def told(event: Event, listener: OnEvent | None) -> None:
    """Log the event, failures as warnings, and tell the listener; one that fails does not end a turn."""
    level = logging.WARNING if event.kind.endswith("_failed") else logging.DEBUG
    _log.log(level, "%s:%s: %s", event.channel, event.chat_id, event.text)
    if listener is None:
        return
    try:
        listener(event)
    except Exception:  # the listener is anybody's
        _log.exception("what listens to events failed at %r", event.kind)
