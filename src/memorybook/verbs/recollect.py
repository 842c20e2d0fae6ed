"""The four recalls of past conversations: by time, by topic, one session, and within one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memorybook import arguments as given
from memorybook.errors import InvalidInput
from memorybook.recollection import FoundSession, FoundTurn, Recollection, Talks

if TYPE_CHECKING:
    from datetime import date

    from memorybook.memory import Memory
    from memorybook.model import Session, Turn
    from memorybook.recall.detect import Recall


def sessions(memory: Memory, *, limit: int | None, since: str | date | None, until: str | date | None) -> Talks:
    """See `Memory.sessions`."""
    if limit is not None and limit < 1:
        raise InvalidInput(f"limit {limit} is below 1")
    given.days_of(since, until)
    found = memory.book.transcripts.sessions(limit=limit)
    return Talks(tuple(_found(session) for session in found), memory.book.transcripts.counts()["sessions"])


def recall_history(
    memory: Memory, limit: int, *, since: str | date | None, until: str | date | None, session: str | None
) -> Recollection:
    """See `Memory.recall_history`."""
    found = sessions(memory, limit=given.size_of(limit, 5, "limit"), since=since, until=until).sessions
    return Recollection("history", found, has_relevant=bool(found))


def recall_topic(
    memory: Memory, query: str, *, top: int, since: str | date | None, until: str | date | None, session: str | None
) -> Recollection:
    """See `Memory.recall_topic`."""
    answer = memory.search(query, max_results=given.size_of(top, 5, "top"), since=since, until=until)
    names = dict.fromkeys(hit.passage.session for hit in answer.hits if hit.passage.session)
    found = tuple(_found(memory.book.transcripts.session(name)) for name in names)
    return Recollection("topic", found, (), tuple(answer.state["degraded"]), has_relevant=answer.has_relevant)


def recall_session(memory: Memory, which: str, *, limit: int | None, session: str | None) -> Recollection:
    """See `Memory.recall_session`."""
    known = memory.book.transcripts.session(given.text_of(which, "which"))
    turns = memory.book.transcripts.turns(known.uuid)
    return Recollection("session", (_found(known),), tuple(map(_said, turns)), has_relevant=True)


def recall_within(memory: Memory, session: str, query: str, *, top: int) -> Recollection:
    """See `Memory.recall_within`."""
    known = memory.book.transcripts.session(given.text_of(session, "session"))
    answer = memory.search(query, max_results=given.size_of(top, 5, "top"), session=known.uuid)
    ids = {hit.passage.turn for hit in answer.hits if hit.passage.source == "turn"}
    turns = tuple(_said(turn) for turn in memory.book.transcripts.turns(known.uuid) if turn.id in ids)
    return Recollection("within", (_found(known),), turns, has_relevant=answer.has_relevant)


def detect(memory: Memory, text: str) -> Recall | None:
    """See `Memory.detect`."""
    from memorybook.recall import detect as rules

    return rules.detect(text, keywords=memory.config.recall.keywords)


def recollect(memory: Memory, text: str, *, session: str | None) -> Recollection | None:
    """See `Memory.recollect`."""
    asked = detect(memory, text)
    return None if asked is None else recall_topic(memory, text, top=5, since=None, until=None, session=session)


def _found(session: Session, score: float = 0.0) -> FoundSession:
    return FoundSession(
        session.uuid,
        session.name,
        session.title,
        session.summary,
        session.created,
        session.ended,
        len(session.turn_ids),
        session.path,
        score,
        session.updated,
    )


def _said(turn: Turn, score: float = 0.0) -> FoundTurn:
    return FoundTurn(
        turn.id,
        turn.session,
        turn.role,
        turn.speaker or turn.role,
        turn.text,
        turn.time,
        turn.position,
        score,
    )
