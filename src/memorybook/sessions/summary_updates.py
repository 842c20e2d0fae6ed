"""The summaries of a session, kept up to date while it goes on: its own, those of its chats, and their vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from memorybook.errors import EmbedderFailed, NotFound
from memorybook.forget.tombstones import remembered, taken_back, turns_without, without_forgotten, worth_telling
from memorybook.formats.document import MODEL, RULES, ChatSummary, SummaryEmbedding, SummaryUpdate
from memorybook.inference.arrays import vectors_of
from memorybook.model import Session, SessionSummary
from memorybook.sessions.summarize import summarize

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.formats.document import SummaryState
    from memorybook.model import Turn


LONGEST = 1_500
"""Characters of a summary that goes on from somebody's better words."""


class Refreshed(NamedTuple):
    """What became of the summaries of a session.

    Attributes:
        chats: How many chats have a summary now that had none, or another.
        by: Whose words the session's new summary is; "" if it is the old one.
        degraded: Why less was done than could be; "" if not.
    """

    chats: int = 0
    by: str = ""
    degraded: str = ""


class _Words(NamedTuple):
    """A summary of a session that is to be kept."""

    title: str
    summary: str
    by: str


def refresh(context: Context, session: str, *, over: bool = False) -> Refreshed:
    """Bring the summaries of a session up to what was said, and their vectors; nothing if nothing is new.

    A chat's summary is some of its own sentences, and "" if it says nothing: never a refusal or a greeting. The
    session's is some of its sentences, told anew with each reply at first, later with every eighth of the talk; after
    better words, those of what was said since. A model has its say once, at the session's end (`verbs.memorize`). What
    was forgotten is in none of them.

    Args:
        memory: Whose session; nothing is done where it or its transcripts are switched off.
        session: Its uuid; of one that is not kept nothing is done.
        over: Whether it has ended: then a summary that stands, which its end wrote, is not told anew.

    Returns:
        What became of them. An embedder that fails is no error, and neither is a turn that went meanwhile.
    """
    transcripts = context.book.transcripts
    if not (context.config.enabled and context.config.transcripts.enabled):
        return Refreshed()
    try:
        told = transcripts.told(session)
        if told.last <= min(told.through, told.chats_through):
            return Refreshed()
        chats = _chats(context, told)
        words = _words(context, told, over)
        embeddings, failure = _embedded(context, [each.summary for each in chats], words)
        chats = [chat._replace(embedding=one) for chat, one in zip(chats, embeddings, strict=False)]
        kept = transcripts.tell(_telling(told, chats, words, embeddings[-1], over=over))
    except NotFound:  # forgotten meanwhile
        return Refreshed()
    return Refreshed(len(chats) * kept, words.by if words is not None and kept else "", failure)


def _telling(
    told: SummaryState,
    chats: Sequence[ChatSummary],
    words: _Words | None,
    embedding: SummaryEmbedding | None,
    *,
    over: bool,
) -> SummaryUpdate:
    if words is None:
        return SummaryUpdate(told, chats, through=told.last if over else told.through)
    return SummaryUpdate(told, chats, words.summary, words.title, words.by, embedding, told.last)


# --- chats -----------------------------------------------------------------------------------------


def _chats(context: Context, told: SummaryState) -> list[ChatSummary]:
    """The summaries of the chats in which something was said since."""
    chats = context.book.transcripts.chats(told.session.uuid, after=told.chats_through)
    kept = worth_telling(context, told.session.uuid, [turn for chat in chats for turn in chat])
    session, language = Session(uuid=told.session.uuid), context.config.language
    found = [summarize(turns_without(chat, kept), session=session, language=language).summary for chat in chats]
    left = remembered(context, [line for text in found for line in text.split("\n")])
    texts = ["\n".join(filter(left, text.split("\n"))) for text in found]
    return [ChatSummary(chat[0].id, text) for chat, text in zip(chats, texts, strict=True)]


def _rules(context: Context, session: Session, turns: Sequence[Turn]) -> SessionSummary:
    """Some of the sentences of these turns, without what was forgotten."""
    kept = worth_telling(context, session.uuid, turns)
    told = summarize(turns_without(turns, kept), session=session, language=context.config.language)
    return without_forgotten(context, told)


# --- the session -------------------------------------------------------------------------------------


def _words(context: Context, told: SummaryState, over: bool) -> _Words | None:
    """The session's summary as it is to be from now on; None if it stays."""
    standing = told.session.summary
    if over and standing and (told.by != RULES or not taken_back(context, told.session.uuid)):
        return None
    return _by_rules(context, told) if told.last - told.through > (told.through + 1) // 8 else None


def _by_rules(context: Context, told: SummaryState) -> _Words:
    """Some of the session's sentences; after better words those of what was said since, as long as all of them fit."""
    standing = told.session.summary if told.by != RULES else ""
    page = _rules(context, replace(told.session, title=""), _turns(context, told, told.through if standing else -1))
    if not standing:
        return _Words(_title(told, page), page.summary, RULES)
    better = standing.splitlines()
    lines = list(dict.fromkeys((*better, *page.summary.splitlines())))
    while len(lines) > 1 and sum(map(len, lines)) > LONGEST:
        del lines[0]
    by = (told.by or MODEL) if lines[: len(better)] == better else RULES
    return _Words(told.session.title, "\n".join(lines), by)


def _turns(context: Context, told: SummaryState, after: int) -> list[Turn]:
    found = context.book.transcripts.chats(told.session.uuid, after=after)
    return [turn for chat in found for turn in chat if turn.position > after]


def _title(told: SummaryState, page: SessionSummary) -> str:
    """The title that somebody gave, else that of the summary."""
    return page.title if told.by or not told.session.title else told.session.title


# --- vectors -----------------------------------------------------------------------------------------


def _embedded(
    context: Context, chats: Sequence[str], words: _Words | None
) -> tuple[list[SummaryEmbedding | None], str]:
    """The vectors of the chats' summaries and of the session's, None where there is none; and why not."""
    texts = [*chats, words.summary if words is not None else ""]
    none: list[SummaryEmbedding | None] = [None] * len(texts)
    embedder = context.embedder
    telling = list(filter(None, texts))
    if embedder is None or not telling:
        return none, ""
    try:
        vectors = iter(vectors_of(embedder, telling))
    except EmbedderFailed as error:
        return none, str(error)
    name, size = embedder.name, embedder.dimensions
    found = [next(vectors) if text else None for text in texts]
    return [SummaryEmbedding(name, size, one) if one is not None else None for one in found], ""
