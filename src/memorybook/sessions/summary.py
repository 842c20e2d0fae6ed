"""The summary document of a session: what stands there and whose words it is, and what is to stand there next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from memorybook.errors import EmbedderFailed, MissingDocument
from memorybook.formats import session_md
from memorybook.inference.arrays import vectors_of
from memorybook.model import Put, Session, SessionSummary, Turn
from memorybook.sessions.summarize import TITLE_LENGTH, summarize, title_of

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.entries.read_reply import Extraction
    from memorybook.model import Applied

SUMMARIZED = "summary of the session"
BY_MODEL = "summary of the session by the language model"
BROUGHT = "summary that the session came with"
COUNTED = "turns of the session, in a summary that a person edited"
COLLECTED = "summary of the session, made elsewhere"
"""Reasons by which the journal tells whose words a summary holds."""


class Page(NamedTuple):
    """A session's summary document as it was last written here.

    Attributes:
        path: Where it stands, or will.
        text: None if it was never written, or was forgotten or taken back since, or purged.
        reason: `SUMMARIZED`, `BY_MODEL`, `BROUGHT`, `COUNTED` or `COLLECTED`; "" if the journal does not know.
        operation: Id of the operation of its session that wrote it; None if the journal does not know.
        standing: What stands there now; None if nothing does.
    """

    path: str
    text: str | None = None
    reason: str = ""
    operation: str | None = None
    standing: str | None = None

    @property
    def turns(self) -> int:
        """How many turns were captured into it."""
        return session_md.parse(self.text).turns if self.text else 0

    @property
    def ours(self) -> bool:
        """Whether what stands there is what was written here, and no words of a person."""
        ours = (SUMMARIZED, BY_MODEL, BROUGHT, COLLECTED)
        return self.reason in ours and self.text is not None and self.standing == self.text


def last_page(context: Context, session: Session) -> Page:
    """What the journal says was last written; without a journal, what stands there, as a person's words."""
    return page_at(context, session.path or _path_of(context, session))


def page_at(context: Context, path: str) -> Page:
    """The same of the document at that path."""
    now = standing(context, path)
    mine = session_md.parse(now or "").session
    page: Page | None = None
    for operation in context.book.journal.operations(target=path, alone=True):
        change = next((one for one in reversed(operation.changes) if one.target == path and _is_whole(one)), None)
        if change is None:
            continue
        if page is None:
            text = (change.after or None) if change.purged else change.after
            page = Page(path, text, change.reason, operation.id, now)
        sifted = change.kind == "put" and (
            operation.kind in ("purge", "forget") or operation.session not in (None, mine)
        )
        if not sifted:  # by another session that asked to forget, or by a purge: no turns were memorized then
            return page._replace(operation=operation.id)
    return page or Page(path, now, standing=now)


def _is_whole(change: Applied) -> bool:
    """Whether it wrote the document, or took it out; not a line erased of it."""
    return change.kind == "put" or (change.kind == "drop" and change.after is None)


def _path_of(context: Context, session: Session) -> str:
    """Where the summary is written; where it was written before, if the transcripts are not there to tell."""
    if not context.config.transcripts.enabled:
        for operation in context.book.journal.operations(session=session.uuid):
            for change in operation.changes:
                if change.kind == "put" and change.target.startswith("sessions/"):
                    return change.target
    return session_md.summary_path(session)


def standing(context: Context, path: str) -> str | None:
    """The document as it stands now; None if there is none."""
    try:
        return context.book.documents.read(path).text
    except MissingDocument:
        return None


def made(
    context: Context, session: Session, turns: Sequence[Turn], fresh: Sequence[Turn], found: Extraction, last: Page
) -> tuple[SessionSummary, str]:
    """The summary of a session that has grown by `fresh` turns, and the reason to write it with.

    A model is told of what is new alone, so that what it or rules wrote before stays above it; rules tell all anew.
    Where no transcripts are kept rules tell nothing, for all they have is what was said.
    """
    whole = len(turns) if context.config.transcripts.enabled else last.turns + len(fresh)
    if not found.summary and last.reason not in (BY_MODEL, BROUGHT):
        return replace(_by_rules(context, turns, session), turns=whole), SUMMARIZED
    now = _by_rules(context, fresh, session)
    if found.summary:
        first = found.summary.partition("\n")[0].split("。")[0].split(". ")[0]
        now = replace(
            now,
            title=session.title[:TITLE_LENGTH] or title_of(first),
            summary=found.summary,
            decisions=found.decisions,
            open_questions=found.open_questions,
            turn_ids=_rests_on(found, fresh),
        )
    before = session_md.parse(last.text) if last.text else None
    return replace(_joined(before, now) if before else now, turns=whole, ended=session.ended or now.ended), BY_MODEL


def _by_rules(context: Context, turns: Sequence[Turn], session: Session) -> SessionSummary:
    told = summarize(turns, session=session, language=context.config.language)
    if context.config.transcripts.enabled:
        return told
    return replace(told, title=session.title[:TITLE_LENGTH], summary="", decisions=(), open_questions=())


def _rests_on(found: Extraction, fresh: Sequence[Turn]) -> tuple[str, ...]:
    """The turns that something was found in; all of them if nothing was."""
    used = {id for candidate in found.candidates for id in candidate.turn_ids}
    return tuple(turn.id for turn in fresh if turn.id in used or not used)


def _joined(before: SessionSummary, now: SessionSummary) -> SessionSummary:
    """What was said of a session before, and what is said of its end, everything once."""
    summary = "\n\n".join(text for text in (before.summary, now.summary) if text)
    return replace(
        before,
        summary=summary,
        title=before.title or now.title,
        decisions=tuple(dict.fromkeys((*before.decisions, *now.decisions))),
        open_questions=tuple(dict.fromkeys((*before.open_questions, *now.open_questions))),
        turn_ids=tuple(dict.fromkeys((*before.turn_ids, *now.turn_ids))),
    )


def page_change(context: Context, last: Page, summary: SessionSummary, reason: str) -> Put:
    """The change of a session's summary document.

    A summary that a person edited stays as they want it and is only told how many turns there are.
    """
    there = standing(context, last.path)
    if there is None or last._replace(standing=there).ours:
        text = session_md.render(summary, language=context.config.language)
        return Put(path=last.path, text=text, reason=reason, made_from=there or "")
    return Put(path=last.path, text=session_md.recounted(there, summary), reason=COUNTED, made_from=there)


def mirror(context: Context, session: Session, path: str) -> None:
    """Let the transcripts know the summary as it stands; a capture that was cut short may not have."""
    page = standing(context, path) if context.config.transcripts.enabled else None
    if page is None:
        return
    told = session_md.parse(page)
    session = replace(session, path=path, title=told.title, summary=told.summary)
    if session != context.book.transcripts.session(session.uuid):
        context.book.transcripts.update(session)
        _embed(context, session)


def _embed(context: Context, session: Session) -> None:
    """Keep the vector of the summary beside it; without one, sessions are compared by words."""
    embedder = context.embedder
    if embedder is None or not session.summary:
        return
    try:
        [vector] = vectors_of(embedder, [session.summary])
    except EmbedderFailed:
        return
    if vector is not None:
        context.book.transcripts.set_summary_embedding(session.uuid, embedder.name, vector, embedder.dimensions)
