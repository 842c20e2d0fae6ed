"""Sessions of an export taken in again: with their own titles and summaries, and those of their chats."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.entries.mask import Mask
from memorybook.errors import Conflict, NotFound, UnsafePath
from memorybook.forget.incoming import texts_without_forgotten
from memorybook.forget.tombstones import FORGOTTEN, sifted, without_forgotten
from memorybook.formats.session_md import parse
from memorybook.model import Session, SessionSummary, Turn
from memorybook.sessions.memorize import Work, taken
from memorybook.sessions.summary import standing
from memorybook.sessions.turns import store
from memorybook.text.screen import screen

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.formats.sessions_json import Exported


_MASKED = ("name", "title", "source", "channel", "chat_id")


class Brought(NamedTuple):
    """A session of an export whose turns are stored.

    Attributes:
        work: What is to be memorized of it, with the summary that it came with.
        session: As the file tells it, fit to stand here.
        leads: Whether the book takes what the session says of itself from the file: it is new here, or has grown.
        summaries: Summaries of chats, by the id of a turn.
    """

    work: Work
    session: Session
    leads: bool
    summaries: dict[str, str]


def brought(context: Context, exported: Exported) -> Brought:
    """Store the turns of an exported session that the book has not; durable on return.

    What it says of itself is masked and screened, and holds nothing that was forgotten here. A session that the book
    knows keeps what it says of itself, unless it has grown in the file.
    """
    known = _known(context, exported.session.uuid)
    mask = Mask(context)
    session = fit(context, exported.session, mask)
    if not exported.turns and known is None and context.config.transcripts.enabled:
        context.book.transcripts.append(session, ())
    stored = store(context, session, exported.turns)
    leads = known is None or (stored.new > 0 and _is_newer(session, known))
    work = taken(context, stored._replace(redacted=stored.redacted + mask.count))
    told = _page(session, stored.turns) if exported.session.path else SessionSummary(session="", title="", summary="")
    gone = exported.session.summary and not session.summary  # nothing that it told may stay: it is told anew
    makes = leads and not gone and (told.summary or work.last.standing is None)
    forgot = any(reason == FORGOTTEN for _, reason in stored.skipped)  # in whose words would a summary tell of it?
    given = {} if forgot else {id: _calm(mask.text(said)) for id, said in exported.summaries.items()}
    left = texts_without_forgotten(context, given.values()) if given else ()
    summaries = {id: text for id, text in zip(given, left, strict=True) if text}
    return Brought(work._replace(told=told if makes else None), session, leads, summaries)


def _page(session: Session, turns: Sequence[Turn]) -> SessionSummary:
    """What stands in the session's summary document."""
    return SessionSummary(
        session=session.uuid,
        title=session.title,
        summary=session.summary,
        name=session.name,
        started=session.created,
        ended=session.ended,
        turns=len(turns),
        turn_ids=tuple(turn.id for turn in turns),
    )


def keep(context: Context, brought: Brought) -> None:
    """Let the session say of itself what it is to say, now that it is memorized."""
    transcripts, session = context.book.transcripts, brought.session
    now = _known(context, session.uuid)
    if now is None:
        return
    first, second = (session, now) if brought.leads else (now, session)
    name, title = first.name or second.name, first.title or second.title
    summary = first.summary or second.summary
    transcripts.update(replace(now, name=name, title=title, summary=summary, ended=first.ended))
    standing = transcripts.chat_summaries(session.uuid)
    for id, text in brought.summaries.items():
        if id not in standing:
            with suppress(NotFound):  # that turn was forgotten
                transcripts.set_chat_summary(session.uuid, id, text)


def _known(context: Context, uuid: str) -> Session | None:
    """The session of that uuid, as the transcripts have it."""
    try:
        found = context.book.transcripts.session(uuid)
    except (NotFound, Conflict):  # several of that name
        return None
    return found if found.uuid == uuid else None


def _is_newer(session: Session, known: Session) -> bool:
    return known.updated is None or (session.updated is not None and session.updated >= known.updated)


# --- made fit ------------------------------------------------------------------------------------


def fit(context: Context, session: Session, mask: Mask | None = None) -> Session:
    """The session of an export as it may stand here: masked, screened, its summary where one may be."""
    mask = mask or Mask(context)
    masked: dict[str, Any] = {name: mask.text(getattr(session, name)) for name in _MASKED}
    session = replace(session, **masked, turn_ids=())
    before = SessionSummary(session=session.uuid, title=session.title, summary=_calm(mask.text(session.summary)))
    after = without_forgotten(context, before)
    told = before if _same(before, after) else after
    session = replace(session, title="" if screen(told.title) else told.title, summary=told.summary)
    return replace(session, path=_path(context, session))


def _calm(text: str) -> str:
    """The summary without the sentences that try to instruct their reader."""
    before = SessionSummary(session="", title="", summary=text)
    after = sifted(before, lambda part: screen(part) is None)
    return text if _same(before, after) else after.summary


def _same(before: SessionSummary, after: SessionSummary) -> bool:
    """Whether nothing was taken out; sifting may have left out blanks."""
    return (before.title, before.summary.split()) == (after.title, after.summary.split())


def _path(context: Context, session: Session) -> str:
    """Where its summary stands, or will, if that is a place for one and no other session's; "" if not."""
    if not re.fullmatch(r"sessions/[^/]+\.md", session.path):
        return ""
    try:
        there = standing(context, session.path)
    except UnsafePath:
        return ""
    return session.path if there is None or parse(there).session == session.uuid else ""
