"""Views of past conversations: a timeline by day with the four recalls, and one with the turns as they were said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby, islice
from typing import Any, NamedTuple

from memorybook import locale
from memorybook.errors import Conflict, MemoryBookError, NotFound
from memorybook.http.page.rendering import Ask
from memorybook.memory import Memory
from memorybook.results import Known
from memorybook.sessions import recalls
from memorybook.sessions.recall_block import FoundSession, FoundTurn, Recollection

# --- conversations: a timeline by day, and the four recalls ---------------------------------------


PER_PAGE = 60
LOOKED_AT = 12
"""Turns of a conversation that are read to say who took part."""

RECALLS = ("auto", "history", "topic", "session", "within")


class ConversationsFound(NamedTuple):
    """A page of the timeline, or what a recall brought; speakers by session, and why it brought nothing."""

    sessions: tuple[FoundSession, ...]
    more: bool
    recalled: Recollection | None
    speakers: dict[str, list[str]]
    error: MemoryBookError | None = None


def read_conversations(memory: Memory, ask: Ask) -> ConversationsFound:
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
    return ConversationsFound(
        sessions, more, recalled, {one.uuid: _speakers(memory, one.uuid) for one in sessions}, error
    )


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


def show_conversations(found: ConversationsFound, ask: Ask) -> dict[str, Any]:
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


# --- conversation: its summary beside the turns, and what came of each ----------------------------


TURNS_PER_PAGE = 200
OF_ONE = 20_000
"""Letters of one turn that are shown."""

MOST_BYTES, AROUND = 160_000, 450
"""Bytes of the turns of a page, and what is around each turn or entry: a page stays below 200 kB."""


class ConversationFound(NamedTuple):
    """A conversation and the entries that rest on it."""

    recalled: Recollection
    entries: list[Known]


def read_conversation(memory: Memory, ask: Ask, id: str) -> ConversationFound:
    """Read all turns of the session, and what was remembered of them. Raises NotFound, Unavailable."""
    recalled = memory.recall_session(id, max_tokens=1)
    if recalled.disabled:
        memory.config.check_enabled()
    uuid = recalled.sessions[0].uuid
    return ConversationFound(recalled, [known for known in memory.entries().entries if known.entry.session == uuid])


def show_conversation(found: ConversationFound, ask: Ask) -> dict[str, Any]:
    """Cut the turns into pages, the one of the turn in the query first; put entries beside the turns they rest on."""
    session = found.recalled.sessions[0]
    came: dict[str, list[Known]] = {}
    for known in found.entries:
        turn = (known.entry.source or "").removeprefix("turn:").removeprefix(f"{session.uuid}/")
        came.setdefault(turn, []).append(known)
    pages = list(_pages(found.recalled.turns, came)) or [[]]
    wanted = ask.text("turn")
    place = next((at for at, turns in enumerate(pages, 1) if any(turn.id == wanted for turn in turns)), 1)
    page = ask.number("page", place, len(pages))
    known_turns = {turn.id for turn in found.recalled.turns}
    return {
        "session": session,
        "turns": list(_dated(pages[page - 1], ask)),
        "cut": OF_ONE,
        "total": len(found.recalled.turns),
        "page": page,
        "pages": len(pages),
        "came": came,
        "others": [known for turn, some in came.items() if turn not in known_turns for known in some],
        "entries": len(found.entries),
        "speakers": list(dict.fromkeys(turn.speaker for turn in found.recalled.turns if turn.speaker))[:12],
        "kept": bool(found.recalled.turns),
    }


def _dated(turns: Sequence[FoundTurn], ask: Ask) -> Iterator[tuple[str, FoundTurn]]:
    """Yield turns in the zone of the book, with the day where it is another than that of the one before."""
    before = ""
    for turn in turns:
        moment = ask.local(turn.time)
        day = str(moment or "")[:10]
        yield (day if day != before else ""), turn._replace(time=moment)
        before = day or before


def _pages(turns: Sequence[FoundTurn], came: Mapping[str, Sequence[Known]]) -> Iterator[list[FoundTurn]]:
    page, full = list[FoundTurn](), 0
    for turn in turns:
        shown = [turn.text[:OF_ONE], *(known.entry.text[:200] for known in came.get(turn.id, ()))]
        size = sum(AROUND + len(text.encode("utf-8", "replace")) for text in shown)
        if page and (len(page) == TURNS_PER_PAGE or full + size > MOST_BYTES):
            yield page
            page, full = [], 0
        page.append(turn)
        full += size
    if page:
        yield page
