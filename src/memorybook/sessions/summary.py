"""The summaries of a session: its document in the book, and those that the transcripts keep while it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from memorybook.errors import EmbedderFailed, MissingDocument, NotFound
from memorybook.forget.tombstones import filter_turns, not_forgotten, summary_filter, undone_orders, without_forgotten
from memorybook.formats import session_md
from memorybook.formats.document import MODEL, RULES, ChatSummary, SummaryEmbedding, SummaryState, SummaryUpdate
from memorybook.inference.static import chosen, vectors_of
from memorybook.model import Put, Session, SessionSummary, Turn
from memorybook.sessions.summarize import TITLE_LENGTH, summarize, title_of

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.entries.read_reply import Extraction

SUMMARIZED = "summary of the session"
BY_MODEL = "summary of the session by the language model"
BROUGHT = "summary that the session came with"
COUNTED = "turns of the session, in a summary that a person edited"
COLLECTED = "summary of the session, made elsewhere"
"""Reasons in the journal that name the author of a summary."""


class Page(NamedTuple):
    """A session's summary document as it was last written here.

    Attributes:
        path: Its path, now or once written.
        text: Its text; None if it was never written, or was forgotten, undone or purged since.
        reason: `SUMMARIZED`, `BY_MODEL`, `BROUGHT`, `COUNTED` or `COLLECTED`; "" if the journal does not know.
        operation: Id of the operation of its session that wrote it; None if the journal does not know.
        standing: The current text; None if there is none.
    """

    path: str
    text: str | None = None
    reason: str = ""
    operation: str | None = None
    standing: str | None = None

    @property
    def turns(self) -> int:
        """Number of turns summarised in it."""
        return session_md.parse(self.text).turns if self.text else 0

    @property
    def ours(self) -> bool:
        """True if the current text is the one written here, not a person's."""
        ours = (SUMMARIZED, BY_MODEL, BROUGHT, COLLECTED)
        return self.reason in ours and self.text is not None and self.standing == self.text


def last_page(context: Context, session: Session) -> Page:
    """Return the page as the journal says it was last written; without a journal, as it stands, as a person's words.

    Without transcripts, which know the path, the journal tells where it was written before.
    """
    path = session.path
    if not path and not context.config.transcripts.enabled:
        operations = context.book.journal.operations(session=session.uuid)
        written = (one for operation in operations for one in operation.changes if one.kind == "put")
        path = next((one.target for one in written if one.target.startswith("sessions/")), "")
    return page_at(context, path or session_md.summary_path(session))


def page_at(context: Context, path: str) -> Page:
    """Return the page at that path as the journal says it was last written."""
    now = standing(context, path)
    mine = session_md.parse(now or "").session
    page: Page | None = None
    for operation in context.book.journal.operations(target=path, alone=True):
        changes = (one for one in reversed(operation.changes) if one.target == path)  # not a line erased of it
        change = next((one for one in changes if one.kind == "put" or (one.kind, one.after) == ("drop", None)), None)
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


def standing(context: Context, path: str) -> str | None:
    """Return the document as it stands now; None if there is none."""
    try:
        return context.book.documents.read(path).text
    except MissingDocument:
        return None


def made(
    context: Context, session: Session, turns: Sequence[Turn], fresh: Sequence[Turn], found: Extraction, last: Page
) -> tuple[SessionSummary, str]:
    """Make the summary of a session that has grown by `fresh` turns, and the reason to write it with.

    A model is told of what is new alone, so that what it or rules wrote before stays above it; rules tell all anew.
    Where no transcripts are kept rules tell nothing, for all they have is what was said.
    """
    whole = len(turns) if context.config.transcripts.enabled else last.turns + len(fresh)
    if not found.summary and last.reason not in (BY_MODEL, BROUGHT):
        return replace(_by_rules(context, turns, session), turns=whole), SUMMARIZED
    now = _by_rules(context, fresh, session)
    if found.summary:
        first = found.summary.partition("\n")[0].split("。")[0].split(". ")[0]
        used = {id for candidate in found.candidates for id in candidate.turn_ids}
        now = replace(
            now,
            title=session.title[:TITLE_LENGTH] or title_of(first),
            summary=found.summary,
            decisions=found.decisions,
            open_questions=found.open_questions,
            turn_ids=tuple(turn.id for turn in fresh if turn.id in used or not used),
        )
    if last.text:  # what was said before, and what is said of its end, everything once
        before = session_md.parse(last.text)
        now = replace(
            before,
            summary="\n\n".join(text for text in (before.summary, now.summary) if text),
            title=before.title or now.title,
            ended=now.ended,
            decisions=tuple(dict.fromkeys((*before.decisions, *now.decisions))),
            open_questions=tuple(dict.fromkeys((*before.open_questions, *now.open_questions))),
            turn_ids=tuple(dict.fromkeys((*before.turn_ids, *now.turn_ids))),
        )
    return replace(now, turns=whole, ended=session.ended or now.ended), BY_MODEL


def _by_rules(context: Context, turns: Sequence[Turn], session: Session) -> SessionSummary:
    told = summarize(turns, session=session, language=context.config.language)
    if context.config.transcripts.enabled:
        return told
    return replace(told, title=session.title[:TITLE_LENGTH], summary="", decisions=(), open_questions=())


def page_change(context: Context, last: Page, summary: SessionSummary, reason: str) -> Put:
    """Make the change of a session's summary document.

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
        [embedding], _ = embedded(context, [session.summary])  # without one, sessions are compared by words
        if embedding is not None:
            model, size, vector = embedding
            context.book.transcripts.set_summary_embedding(session.uuid, model, vector, size)


def embedded(context: Context, texts: Sequence[str]) -> tuple[list[SummaryEmbedding | None], str]:
    """Return the vector of each text, None for an empty one and where there is none; and why the embedder gave none."""
    telling = list(filter(None, texts))
    if context.embedder is None or not telling:
        return [None] * len(texts), ""
    embedder = chosen(context.embedder)
    try:
        vectors = iter(vectors_of(embedder, telling))
    except EmbedderFailed as error:
        return [None] * len(texts), str(error)
    found = [next(vectors) if text else None for text in texts]
    name, size = embedder.name, embedder.dimensions
    return [SummaryEmbedding(name, size, one) if one is not None else None for one in found], ""


# --- while it goes on ------------------------------------------------------------------------------

LONGEST = 1_500
"""Characters of a summary that goes on from somebody's better words."""


def refresh(context: Context, session: str, *, over: bool = False) -> str:
    """Bring the summaries of a session up to what was said, and their vectors; nothing if nothing is new.

    A chat's summary is some of its own sentences, and "" if it says nothing: never a refusal or a greeting. The
    session's is some of its sentences, told anew with each reply at first, later with every eighth of the talk; after
    better words, those of what was said since. A model has its say once, at the session's end (`memorize`). What was
    forgotten is in none of them.

    Args:
        context: Whose session; nothing is done where memory or its transcripts are switched off.
        session: Its uuid; of one that is not kept nothing is done.
        over: Whether it has ended: then a summary that stands, which its end wrote, is not told anew.

    Returns:
        Why less was done than could be, as the embedder failed; "" if not. A turn that went meanwhile is no error.
    """
    transcripts = context.book.transcripts
    if not (context.config.enabled and context.config.transcripts.enabled):
        return ""
    try:
        told = transcripts.told(session)
        if told.last <= min(told.through, told.chats_through):
            return ""
        chats = transcripts.chats(session, after=told.chats_through)
        texts = _chats(context, session, chats)
        stays = over and told.session.summary and (told.by != RULES or not undone_orders(context, session))
        due = told.last - told.through > (told.through + 1) // 8
        update = SummaryUpdate(told, through=told.last if over else told.through)
        if due and not stays:
            update = _retold(context, told)
        embeddings, failure = embedded(context, [*texts, update.summary or ""])
        rows = zip(chats, texts, embeddings, strict=False)
        found = [ChatSummary(chat[0].id, text, embedding) for chat, text, embedding in rows]
        transcripts.tell(update._replace(chats=found, embedding=embeddings[-1]))
    except NotFound:  # forgotten meanwhile
        return ""
    return failure


def _chats(context: Context, session: str, chats: Sequence[Sequence[Turn]]) -> list[str]:
    """Summarize these chats of a session, each in some of its own sentences."""
    kept = summary_filter(context, session, [turn for chat in chats for turn in chat])
    bare, language = Session(uuid=session), context.config.language
    found = [summarize(filter_turns(chat, kept), session=bare, language=language).summary for chat in chats]
    left = not_forgotten(context, [line for text in found for line in text.split("\n")])
    return ["\n".join(filter(left, text.split("\n"))) for text in found]


def _retold(context: Context, told: SummaryState) -> SummaryUpdate:
    """Return some of the session's sentences; after better words those said since, as long as all of them fit."""
    standing = told.session.summary if told.by != RULES else ""
    after = told.through if standing else -1
    found = context.book.transcripts.chats(told.session.uuid, after=after)
    turns = [turn for chat in found for turn in chat if turn.position > after]
    fit = filter_turns(turns, summary_filter(context, told.session.uuid, turns))
    page = summarize(fit, session=replace(told.session, title=""), language=context.config.language)
    page = without_forgotten(context, page)
    if not standing:
        title = page.title if told.by or not told.session.title else told.session.title  # one that somebody gave stays
        return SummaryUpdate(told, summary=page.summary, title=title, by=RULES, through=told.last)
    better = standing.splitlines()
    lines = list(dict.fromkeys((*better, *page.summary.splitlines())))
    while len(lines) > 1 and sum(map(len, lines)) > LONGEST:
        del lines[0]
    by = (told.by or MODEL) if lines[: len(better)] == better else RULES
    return SummaryUpdate(told, summary="\n".join(lines), title=told.session.title, by=by, through=told.last)
