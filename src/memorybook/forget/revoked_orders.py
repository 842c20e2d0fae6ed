"""Orders that a user gave and took back since: what they ask for is not done again, and no summary tells of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memorybook.entries.rules import by_rules
from memorybook.errors import NotFound
from memorybook.forget.tombstones import remembered, sentences_of
from memorybook.formats.document import RULES
from memorybook.formats.entry_block import parse_entry
from memorybook.sessions.summarize import titles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memorybook.context import Context
    from memorybook.model import Session, Turn

ORDER = "order"
"""Kind of the operations that carry out at once what a user told an agent to remember or to forget."""


def taken_back(context: Context, session: str) -> set[str]:
    """Ids of the turns of a session whose order, to remember or to forget, was carried out and then taken back."""
    journal = context.book.journal
    undone = journal.undone()
    if not undone:
        return set()
    done = [
        change
        for operation in journal.operations(session=session)
        if operation.kind == ORDER and operation.id in undone
        for change in operation.changes
    ]
    added = [parse_entry(one.after, modified=context.book.now()) for one in done if one.kind == "add" and one.after]
    sources = [entry.source or "" for entry in added] + [one.reason for one in done if one.kind != "add"]
    return {id for source in sources if (id := source.rpartition("turn:")[2])}


def untold(context: Context, session: Session) -> Session:
    """The session without a title that tells of an order that was taken back, nor, then, a summary that rules chose.

    They are chosen anew, for the background may have told of the order before. A title that somebody gave stays.
    """
    back = taken_back(context, session.uuid)
    if not back:
        return session
    transcripts = context.book.transcripts
    try:
        by_rules_alone = transcripts.told(session.uuid).by == RULES
        ordered = [turn for turn in transcripts.turns(session.uuid) if turn.id in back]
    except NotFound:  # not kept
        return session
    title = "" if session.title in titles(ordered) else session.title
    return replace(session, title=title, summary="" if by_rules_alone else session.summary)


def worth_telling(context: Context, session: str, turns: Sequence[Turn]) -> Callable[[str], bool]:
    """Tells of each text of these turns of a session whether a summary may say it.

    It may if it was not forgotten, and is no order that was taken back.
    """
    kept = remembered(context, sentences_of(turns))
    back = taken_back(context, session)
    ordered = [turn for turn in turns if turn.id in back]
    if not ordered:
        return kept
    found = by_rules(ordered, session=None, now=context.book.now())
    orders = {one.quote for one in found.candidates if one.told} | {one.text for one in found.forget_requests}
    withdrawn = {" ".join(text.split()) for text in orders}
    return lambda text: kept(text) and " ".join(text.split()) not in withdrawn
