"""A session of a file that goes on with one that an earlier file began."""

from __future__ import annotations

import re
from collections.abc import Container
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from memorybook.errors import Conflict, NotFound
from memorybook.forget.tombstones import turn_key
from memorybook.formats.messages_json import ImportedSession

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.model import Session

_CONTINUES = "continues"
"""Under which the journal has the sessions that others go on with, so that what is forgotten of them stays so."""

CAME_IN = "import"
"""Field of a turn's metadata: the source that it came from, where its session began in another."""

_COUNTING = (
    r"(?i)(?:new )?(?:session|chat|conv|conversation|dialogue|talk|thread|day|[a-z]|会话|对话|聊天)?[\W_]*\d{0,4}"
)


def continued(context: Context, one: ImportedSession, *, apart: Container[str], dry_run: bool) -> ImportedSession:
    """The session as the one of the book that it goes on with; as it is if there is none.

    It goes on with the one session that was imported under the name that its file gives it, if it begins after the
    last turn of that, with somebody who speaks there, and gives no other turn an id of there. Names that only count,
    such as `S1`, are those of one file.

    Args:
        context: The book's.
        one: The session.
        apart: Uuids of the sessions that it is not, as they are of the same file.
        dry_run: Whether the journal is left as it is.
    """
    journal, uuid = context.book.journal, one.session.uuid
    if not one.session.name or _known(context, uuid) is not None:
        return one
    before = journal.memorized(_CONTINUES, uuid)
    if before is None:
        found = _begun(context, one)
        if found is None or found.uuid in apart:
            return one
        before = found.uuid
        if not dry_run:
            journal.mark_memorized(_CONTINUES, uuid, operation=before, time=context.book.now())
    named = {CAME_IN: one.session.source}
    turns = tuple(replace(turn, session=before, metadata={**turn.metadata, **named}) for turn in one.turns)
    return ImportedSession(replace(one.session, uuid=before), turns)


def _begun(context: Context, one: ImportedSession) -> Session | None:
    """The session that it goes on with, as far as one can tell."""
    name, first = one.session.name, one.turns[0]
    found = None if re.fullmatch(_COUNTING, name) else _known(context, name)
    if found is None or not found.source.startswith("import:") or first.time is None or found.updated is None:
        return None
    if first.time < found.updated or context.book.journal.buried([turn_key(one.session.uuid, first.id)]):
        return None
    kept = context.book.transcripts.turns(found.uuid)
    same = first.speaker in {turn.speaker for turn in kept}
    return found if same and {turn.id for turn in kept}.isdisjoint(turn.id for turn in one.turns) else None


def _known(context: Context, name: str) -> Session | None:
    """The session of that uuid or name; None if there is none, or more than one."""
    with suppress(NotFound, Conflict):
        return context.book.transcripts.session(name)
    return None
