"""Make sessions, summaries and entries from outside fit to stand in a book: masked, screened, nothing forgotten."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from memorybook.entries.read import Mask
from memorybook.errors import UnsafePath
from memorybook.exchange.peer_folders import session_here, source_of
from memorybook.forget.incoming import texts_without_forgotten
from memorybook.forget.tombstones import sifted, unlabelled, without_forgotten
from memorybook.formats import session_md
from memorybook.formats.entry_block import made_ids
from memorybook.model import Entry, Session, SessionSummary
from memorybook.sessions.summary import standing
from memorybook.text.screen import screen
from memorybook.validate import MAX_TEXT

if TYPE_CHECKING:
    from memorybook.context import Context

LONGEST = 200
"""Characters of an id, a name, a tag or a group that is taken from another machine."""

MOST_ITEMS = 200
"""Decisions, open questions, tags or entities that are taken of one summary or entry."""

MOST_LINES = 2_000
"""Lines of a summary that is taken from another machine."""

INSTRUCTS = "it tries to instruct its reader"


# --- summaries -----------------------------------------------------------------------------------


def still_told(context: Context, summary: SessionSummary) -> SessionSummary:
    """Return the summary without what was forgotten; the very same if that is nothing."""
    return _unless_same(summary, without_forgotten(context, summary))


def texts_still_told(context: Context, texts: Mapping[str, str]) -> dict[str, str]:
    """Return these texts without what was forgotten, but for those of which nothing is left."""
    left = texts_without_forgotten(context, texts.values()) if texts else ()
    return {id: text for id, text in zip(texts, left, strict=True) if text}


def without_instructions(summary: SessionSummary) -> SessionSummary:
    """Return the summary without the sentences, items and names that try to instruct their reader."""
    calm = sifted(summary, lambda text: screen(text) is None and screen(unlabelled(text)) is None)
    return replace(_unless_same(summary, calm), name="" if screen(summary.name) else summary.name)


def _unless_same(before: SessionSummary, after: SessionSummary) -> SessionSummary:
    """Return what is left of a summary; as it was, with its indents and all, if nothing was taken out."""
    return before if "".join(_all_of(before).split()) == "".join(_all_of(after).split()) else after


def _all_of(summary: SessionSummary) -> str:
    return "\n".join([summary.name, summary.title, summary.summary, *summary.decisions, *summary.open_questions])


# --- sessions of an export -----------------------------------------------------------------------


def session_still_told(context: Context, session: Session) -> Session:
    """Return the session without what its title and summary tell of what was forgotten."""
    left = still_told(context, SessionSummary(session=session.uuid, title=session.title, summary=session.summary))
    return replace(session, title=left.title, summary=left.summary)


def fit_session(context: Context, session: Session, mask: Mask) -> Session:
    """Return the session of an export as it may stand here, with the path of its summary if that is free or its own."""
    fields = ("name", "title", "source", "channel", "chat_id")
    masked: dict[str, Any] = {name: mask.text(getattr(session, name)) for name in fields}
    calm = without_instructions(SessionSummary(session="", title="", summary=mask.text(session.summary))).summary
    fit = session_still_told(context, replace(session, **masked, summary=calm, turn_ids=()))
    return replace(fit, title="" if screen(fit.title) else fit.title, path=_path(context, session))


def _path(context: Context, session: Session) -> str:
    if not re.fullmatch(r"sessions/[^/]+\.md", session.path):
        return ""
    try:
        there = standing(context, session.path)
    except UnsafePath:
        return ""
    return session.path if there is None or session_md.parse(there).session == session.uuid else ""


# --- what another machine tells ------------------------------------------------------------------


def fit_summary(context: Context, node: str, told: SessionSummary) -> tuple[SessionSummary | None, str, int]:
    """Return another machine's summary as it may stand here, or None and the reason; and how many secrets it had.

    The ids of its turns are left out, since these are there.
    """
    session = session_here(node, told.session)
    if not _is_name(session):
        return None, "it names no session", 0
    if told.summary.count("\n") >= MOST_LINES:
        return None, f"it has over {MOST_LINES} lines", 0
    calm = without_instructions(told)
    if screen(_all_of(calm)):  # across sentences
        return None, INSTRUCTS, 0
    mask, now = Mask(context), context.book.now()
    masked = replace(
        calm,
        name=mask.text(calm.name),
        title=mask.text(calm.title),
        summary=mask.text(calm.summary),
        decisions=mask.words(calm.decisions[:MOST_ITEMS]),
        open_questions=mask.words(calm.open_questions[:MOST_ITEMS]),
    )
    left = still_told(context, masked)
    fit = replace(
        left,
        session=session,
        name=left.name if _is_name(left.name) else "",
        title=left.title[:LONGEST],
        started=_moment(told.started, now),
        ended=_moment(told.ended, now),
        turns=min(max(told.turns, 0), 10_000_000),
        turn_ids=(),
    )
    if not (fit.title or fit.summary or fit.decisions or fit.open_questions):
        return None, "there is nothing in it that may stand here", 0
    return fit, "", mask.count


def fit_entry(context: Context, node: str, told: Entry) -> tuple[Entry | None, str, int]:
    """Return another machine's entry as it may stand here, or None and the reason; and how many secrets it had."""
    if screen(told.text):
        return None, INSTRUCTS, 0
    if len(told.text) > MAX_TEXT or not _is_name(told.id):
        return None, f"it has over {MAX_TEXT} characters, or an id that is none", 0
    mask, now = Mask(context), context.book.now()
    metadata = mask.json(dict(told.metadata))
    source, session = source_of(node, told.id), session_here(node, told.session or "")
    entry = Entry(
        id=next(made_ids(source)),
        text=mask.text(told.text),
        category=told.category,
        score=told.score,
        scored=min(told.scored, now.date()),
        last_activated=min(told.last_activated, now.date()),
        hits=min(told.hits, 10_000),
        created=_moment(told.created, now),
        session=session if _is_name(session) else None,
        source=source,
        tags=_names(mask, told.tags),
        entities=_names(mask, told.entities),
        group=next(iter(_names(mask, (told.group or "",))), None),
        expires=told.expires,
        trust="import",
        metadata=metadata if screen(" ".join(_strings(metadata))) is None else {},
    )
    return entry, "", mask.count


def _is_name(text: str) -> bool:
    return 0 < len(text) <= LONGEST and text.isprintable() and screen(text) is None


def _names(mask: Mask, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(filter(_is_name, mask.words(tuple(names)[:MOST_ITEMS])))


def _moment(time: datetime | None, now: datetime) -> datetime | None:
    """Return the time if it is from 1970 to tomorrow."""
    earliest = datetime(1970, 1, 2, tzinfo=UTC)
    return time if time is not None and earliest <= time <= now + timedelta(days=1) else None


def _strings(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)
