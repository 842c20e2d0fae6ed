"""Past conversations: a timeline by day, and the four recalls, which find some of them again."""

from __future__ import annotations

from contextlib import suppress
from itertools import groupby, islice
from typing import Any, NamedTuple

from memorybook import locale
from memorybook.errors import Conflict, MemoryBookError, NotFound
from memorybook.http.page.rendering import Ask
from memorybook.memory import Memory
from memorybook.sessions import recalls
from memorybook.sessions.recall_block import FoundSession, Recollection

PER_PAGE = 60
LOOKED_AT = 12
"""Turns of a conversation that are read to say who took part."""

RECALLS = ("auto", "history", "topic", "session", "within")


class Found(NamedTuple):
    """A page of the timeline, or what a recall brought; speakers by session, and why it brought nothing."""

    sessions: tuple[FoundSession, ...]
    more: bool
    recalled: Recollection | None
    speakers: dict[str, list[str]]
    error: MemoryBookError | None = None


def read(memory: Memory, ask: Ask) -> Found:
    """Recall what the query asks for, else list a page of the conversations."""
    recalled, error = None, None
    days: Any = {name: ask.text(name) or None for name in ("since", "until")}
    try:
        recalled = _recalled(memory, ask, days)
    except MemoryBookError as problem:
        error = problem
    if recalled is not None or error is not None:
        sessions, more = recalled.sessions if recalled is not None else (), False
    else:
        skip = (ask.number("page", 1, 100_000) - 1) * PER_PAGE
        talks = recalls.sessions(memory.context, limit=PER_PAGE, skip=skip, **days)
        sessions, more = talks.sessions, talks.more
    return Found(sessions, more, recalled, {one.uuid: _speakers(memory, one.uuid) for one in sessions}, error)


def _recalled(memory: Memory, ask: Ask, days: Any) -> Recollection | None:
    recall, query, which = ask.text("recall"), ask.text("q"), ask.text("which")
    if recall == "history":
        return memory.recall_history(20, **days)
    if recall == "session" and (which or query):
        return memory.recall_session(which or query, limit=PER_PAGE)
    if recall == "within" and which and query:
        return memory.recall_within(which, query, top=30)
    if not query:
        return None
    if recall != "topic":
        if asked := memory.recollect(query):
            return asked
        with suppress(NotFound, Conflict):  # a name, a day, or "the last one" alone
            return memory.recall_session(query, limit=PER_PAGE)
    return memory.recall_topic(query, top=20, **days)


def _speakers(memory: Memory, uuid: str) -> list[str]:
    with suppress(MemoryBookError):
        turns = memory.book.told(lambda kept: list(islice(kept.each_turn(uuid), LOOKED_AT)))
        return list(dict.fromkeys(name for turn in turns if (name := turn.speaker or turn.role)))
    return []


def show(found: Found, ask: Ask) -> dict[str, Any]:
    """Group conversations by day, and turns that were found by conversation."""
    recalled = found.recalled
    turns: dict[str, list[Any]] = {}
    for turn in recalled.turns[:PER_PAGE] if recalled is not None else ():
        turns.setdefault(turn.session, []).append(turn._replace(time=ask.local(turn.time)))
    sessions = [one._replace(updated=ask.local(one.updated or one.started)) for one in found.sessions]
    days = groupby(sessions, key=lambda one: "" if recalled else str(one.updated or "")[:10])
    return {
        "days": [(day, list(sessions)) for day, sessions in days],
        "speakers": found.speakers,
        "turns": turns,
        "recalled": recalled,
        "error": locale.describe(found.error, ask.lang) if found.error is not None else "",
        "recall": ask.text("recall") if ask.text("recall") in RECALLS else "auto",
        "recalls": RECALLS,
        "page": ask.number("page", 1, 100_000),
        "more": found.more,
    }
