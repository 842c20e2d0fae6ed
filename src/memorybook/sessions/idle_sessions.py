"""Sessions of agents and chats that nobody ended: idle ones, and those whose process was killed."""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Sequence, datetime, timedelta
from memorybook.errors import NotFound

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.results import Memorized

SOURCE = "agent"
"""What the session of an agent or a chat comes from, as the transcripts have it."""

HOSTED = "hook"
"""What the session of an agent host comes from, whose hooks tell of it; not every host tells of its end."""

GOING_ON = (SOURCE, HOSTED)
"""Sources of sessions that go on by themselves until they are ended; all others are given whole."""

OVER = 2**62
"""Position up to which a session is memorized that is over: nothing is ever added to it."""


def left_open(context: Context, *, limit: int | None = None) -> Sequence[str]:
    """The sessions (uuid) in which nothing was said for longer than `idle_timeout`, oldest of a source first. Cheap."""
    config = context.config
    if not (config.enabled and config.transcripts.enabled and config.idle_timeout):
        return ()
    before = context.book.now() - timedelta(seconds=config.idle_timeout)
    known = context.book.transcripts.left_open
    return [*known(SOURCE, before, limit=limit), *known(HOSTED, before, limit=limit)][:limit]


def close_idle(context: Context, *, limit: int | None = None) -> tuple[Memorized, ...]:
    """See `Memory.close_idle`; what another process closes at this moment is left to it."""
    from memorybook.sessions.ingest import ingest

    told = ingest(context, limit=limit).memorized
    limit = limit and max(0, limit - len(told))
    if limit == 0 or not left_open(context, limit=1):
        return told
    with context.alone("closing") as ours:
        return (*told, *(_closed(context, uuid) for uuid in left_open(context, limit=limit))) if ours else told


def _closed(context: Context, uuid: str) -> Memorized:
    """Remember a session, or queue it, and end it when it was last heard of."""
    told = context.book.transcripts.told(uuid)
    from memorybook.sessions.end_session import process_session_end

    found = process_session_end(context, (), uuid)
    end(context, uuid, told.session.updated or context.book.now())
    return found


def end(context: Context, session: str, time: datetime) -> None:
    """Record that a session is over, with its summaries as they stand then; of one that is gone nothing is done."""
    from dataclasses import replace

    from memorybook.sessions.summary_updates import refresh

    context.book.journal.reach(session, OVER, time=context.book.now())
    transcripts = context.book.transcripts
    try:
        transcripts.update(replace(transcripts.told(session).session, ended=time))
    except NotFound:  # forgotten meanwhile
        return
    refresh(context, session, over=True)
    if context.config.transcripts.auto_export:
        from memorybook.exchange.export import after_session

        after_session(context)
