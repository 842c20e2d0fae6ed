"""Giving a session to memory: once at a time, only what is new, and never losing how far it got."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from memorybook.agent.agent_words import WORDS, remembered
from memorybook.agent.events import Kind
from memorybook.agent.messages import Kept, own
from memorybook.agent.sentences_zh import told_in
from memorybook.providers import MemorizeInput
from memorybook.sessions.end_session import put_off

if TYPE_CHECKING:
    from memorybook.agent.conversation import Conversation
    from memorybook.memory import Memory

_COUNTED = frozenset({"add", "update", "merge", "reinforce", "supersede", "append"})
"""Kinds of changes that are things remembered."""

_PAUSE, _LONGEST = 30, 3600  # seconds until the next try in the background, after one failure and at most


class Remembered(NamedTuple):
    """What came of giving messages to memory.

    Attributes:
        ok: False if it failed: they wait, and are tried again.
        things: How many were remembered.
        reason: Why it failed; "" if it did not.
        text: For people, one line.
    """

    ok: bool
    things: int = 0
    reason: str = ""
    text: str = ""


class Tell(Protocol):
    """Tells an event of a conversation."""

    def __call__(self, talk: Conversation, kind: Kind, text: str, **data: Any) -> None:
        """See `Event`."""


class Remembering:
    """What gives the sessions of one tenant to memory; safe to share between threads.

    Args:
        window: See `MemorizeInput.memory_window`.
        tell: Told what came of it.
    """

    def __init__(self, window: int, tell: Tell) -> None:
        self._window = window
        self._tell = tell
        self._alone = threading.Lock()
        self._failures = 0
        self._not_before: datetime | None = None

    def wanted(self, talk: Conversation) -> bool:
        """Whether more than a window of the conversation is not remembered, and it did not fail just now.

        A provider that asks a model once for a session is given it at the end, or once it fills a call.
        """
        enough = talk.fresh > self._window and self.ready(talk)
        return talk.memory.config.enabled and enough and (not talk.is_paid_by_the_call or talk.fills_a_call)

    def ready(self, talk: Conversation) -> bool:
        """Whether the next try in the background may be now."""
        return self._not_before is None or talk.now() >= self._not_before

    def remember(self, talk: Conversation, session: str, kept: Sequence[Kept], *, archive_all: bool) -> Remembered:
        """Give these messages of a session to memory, as far as they are new; with `archive_all` to the last one.

        How far it got is on disk before this returns; after a crash in between they are given once more.
        """
        if not talk.memory.config.enabled:
            return Remembered(True)
        with self._alone:
            offset = talk.offset(session, kept)
            if offset == len(kept):
                return Remembered(True)
            given = MemorizeInput(
                [own(each.message) for each in kept],
                last_consolidated=offset,
                archive_all=archive_all,
                memory_window=self._window,
                session=session,
            )
            result = talk.provider.memorize(given)
            through = len(kept) if archive_all else result.new_last_consolidated
            if result.ok and through > offset:
                talk.reach(session, kept[through - 1].position)
        if not result.ok:
            return self._failed(talk, result.reason)
        self._failures, self._not_before = 0, None
        return self._done(talk, result.operation)

    def put_off(self, talk: Conversation, session: str, kept: Sequence[Kept], reason: str) -> Remembered:
        """Have a session wait in the book's queue that is over and could not be remembered, or was not to be now.

        Where there is no language model to wait for, rules remember it, whatever the provider.
        """
        messages = [] if talk.stored else [own(each.message) for each in kept]
        found = put_off(talk.memory.context, messages, session, reason)
        return Remembered(False, 0, reason) if found.queued else self._done(talk, found.operation)

    def _done(self, talk: Conversation, operation: str | None) -> Remembered:
        things = _things(talk.memory, operation)
        text = remembered(things, talk.language())
        if things:
            self._tell(talk, "remembered", text, count=things, operation=operation)
        return Remembered(True, things, "", text)

    def _failed(self, talk: Conversation, reason: str) -> Remembered:
        """Wait longer after each failure, for a model that is down is not asked at every message."""
        pause = min(_LONGEST, _PAUSE * 2 ** min(self._failures, 10))
        self._failures += 1
        self._not_before = talk.now() + timedelta(seconds=pause)
        language = talk.language()
        text = WORDS[language].failed.format(reason=told_in(language, reason))
        self._tell(talk, "memorize_failed", text, reason=reason)
        return Remembered(False, 0, reason, text)


def _things(memory: Memory, operation: str | None) -> int:
    """How many things an operation remembered."""
    if not operation:
        return 0
    return sum(change.kind in _COUNTED for change in memory.book.journal.operation(operation).changes)
