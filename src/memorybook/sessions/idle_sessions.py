"""Sessions of agents and chats that nobody ended: idle ones, and those whose process was killed."""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Sequence, datetime, timedelta
from memorybook.errors import NotFound

if TYPE_CHECKING:
    from memorybook.context import Context

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
