"""Turns and documents' pieces as passages: what the index stores, matches and embeds."""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING
from memorybook.search.types import Passage
from memorybook.text.tokens import is_question
from memorybook.text.utterances import only_asks

if TYPE_CHECKING:
    from datetime import datetime

    from memorybook.model import Session, Turn

_NO_ENTRY = (None, None, None, None, None, "", "")
"""The fields of a passage from `entry` to `trust`, by place: by name they would take four times as long."""


def turn_passage(session: Session, turn: Turn) -> Passage:
    """Return a turn as a passage under the path of its session's summary, dated by the turn, else the session (UTC)."""
    return Passage(
        session.path,
        0,
        0,
        turn.text,
        "turn",
        "",
        utc_day(turn.time or session.created),
        *_NO_ENTRY,
        session.uuid,
        turn.id,
        turn.speaker or turn.role,
        turn.role,
        turn.position,
        False,
        2 if only_asks(turn.text) else int(is_question(turn.text)),
    )


def indexed_text(passage: Passage) -> str:
    """Return what the words leg sees: `[date] Speaker: text` for a turn, else date, heading path, category and text."""
    date = f"[{passage.date}] " if passage.date else ""
    if passage.source == "turn":
        return f"{date}{passage.speaker}: {passage.text}" if passage.speaker else date + passage.text
    above = " ".join(filter(None, (passage.heading, passage.category)))
    return f"{date}{above}\n{passage.text}" if above else date + passage.text


def dense_text(passage: Passage) -> str:
    """Return what is embedded: the text alone, for documents and summaries with the heading path above it."""
    return dense_text_of(passage.source, passage.heading, passage.text)


def dense_text_of(source: str, heading: str, text: str) -> str:
    """Do as `dense_text`, of a passage's parts."""
    return f"{heading}\n{text}" if heading and source in ("document", "summary") else text


def utc_day(moment: datetime | None) -> str | None:
    """Return the UTC date of a moment, `YYYY-MM-DD`; None for None."""
    from datetime import UTC

    if moment is None:
        return None
    try:
        return moment.astimezone(UTC).date().isoformat()
    except OverflowError:
        return moment.date().isoformat()
