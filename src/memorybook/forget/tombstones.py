"""Tombstones of what was forgotten, and the filter that keeps it out of statements, summaries and titles."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from memorybook.book.transaction import statement
from memorybook.entries.cues import without_lead
from memorybook.entries.rules import by_rules
from memorybook.errors import NotFound
from memorybook.forget.units import turn_ids
from memorybook.formats.document import RULES
from memorybook.formats.entry_block import parse_entry
from memorybook.model import Discarded, Entry, SessionSummary, Turn
from memorybook.sessions.summarize import SENTENCE_LENGTH, cut_at_sentence, title_of, titles
from memorybook.text.sentences import content_size, sentences
from memorybook.text.tokens import digest, query_words, text_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from memorybook.context import Context
    from memorybook.model import Session, Turn


FORGOTTEN = "forgotten before"
"""Reason for discarding what would bring back something forgotten."""

_ALIKE = 0.6
"""Share of an entry's words from which a sentence says the same."""


def discard_unquoted(text: str, reason: str = FORGOTTEN) -> Discarded:
    """Return a discarded text without its words, so that the journal keeps neither a copy nor a digest."""
    return Discarded(text="(forgotten)" if text else "", reason=reason)


def as_journaled(context: Context, discarded: Sequence[Discarded]) -> tuple[Discarded, ...]:
    """Return discarded texts as the journal stores them: without their words if transcripts are disabled."""
    if context.config.transcripts.enabled:
        return tuple(discarded)
    return tuple(discard_unquoted(each.text, re.sub(r"(?s)'.*'", "'…'", each.reason)) for each in discarded)


# --- what is buried ------------------------------------------------------------------------------


def turn_key(session: str, turn: str) -> str:
    """Return the digest of a turn; unlike a statement, a turn is forgotten only in its session."""
    return text_digest(f"turn:{session}/{turn}")


def tombstones_of(
    context: Context, entries: Iterable[Entry], *, lines: Iterable[str] = (), turns: Iterable[Turn] = ()
) -> set[str]:
    """Return the digests that keep these entries, note lines and turns out; call it before they are removed.

    They are of the texts, of the sentences that said them, of titles made of those, and of the turns.
    """
    turns = list(turns)
    said = {text for entry in entries for text in (entry.text, *_source_sentences(context, entry))}
    said |= {text for turn in turns for text in (turn.text, *_sentences(turn))}
    said |= set(map(statement, lines))
    forms = {form for text in said for form in (text, title_of(text), cut_at_sentence(text, SENTENCE_LENGTH))}
    return {*map(digest, forms), *(turn_key(turn.session, turn.id) for turn in turns)}


def turns_of(context: Context, entry: Entry) -> Iterator[Turn]:
    """Yield the stored source turns of an entry."""
    for name in turn_ids(entry.source):
        yield from (turn for turn in context.book.transcripts.find(name) if entry.session in (None, turn.session))


def _source_sentences(context: Context, entry: Entry) -> Iterator[str]:
    """Yield the sentences of an entry's source turns that say the same; all of a turn's if none does."""
    words = set(query_words(entry.text))
    for turn in turns_of(context, entry):
        said = list(_sentences(turn))
        alike = [text for text in said if len(words & set(query_words(text))) >= _ALIKE * len(words)]
        yield from alike or said


def _sentences(turn: Turn) -> Iterator[str]:
    """Yield the meaningful sentences of a turn, with and without their lead-in."""
    for sentence in sentences(turn.text):
        if content_size(sentence.text) >= 3:
            yield from {sentence.text, without_lead(sentence.text)}


# --- the filter ----------------------------------------------------------------------------------


def not_forgotten(context: Context, texts: Iterable[str], *, since: datetime | None = None) -> Callable[[str], bool]:
    """Return a test, for these texts only, of whether a text was not forgotten, with or without its speaker label.

    Texts that an entry says again count as remembered. With `since`, only what was forgotten from then on counts.
    """
    if not context.book.journal.buries():
        return lambda text: True
    buried = context.book.journal.buried({digest(form) for text in texts for form in _forms(text)}, since=since)
    buried -= {digest(entry.text) for entry in context.book.entries()} if buried else frozenset()
    return lambda text: not buried or buried.isdisjoint(map(digest, _forms(text)))


def _forms(text: str) -> Iterator[str]:
    return filter(str.strip, (text, without_label(text)))


def without_forgotten(context: Context, summary: SessionSummary) -> SessionSummary:
    """Return the summary without what was forgotten."""
    kept = not_forgotten(context, [*parts(summary.summary), summary.title, *summary.decisions, *summary.open_questions])
    return without_texts(summary, kept)


def parts(text: str) -> Iterator[str]:
    """Yield the lines of a text, and the sentences in each."""
    for line in text.split("\n"):
        yield line
        yield from _SENTENCE.findall(line)


def without_texts(summary: SessionSummary, kept: Callable[[str], bool]) -> SessionSummary:
    """Return the summary without the lines and statements that are not `kept`."""
    return filter_summary(replace(summary, summary="\n".join(filter(kept, summary.summary.split("\n")))), kept)


def filter_turns(turns: Iterable[Turn], kept: Callable[[str], bool]) -> list[Turn]:
    """Return the turns without the sentences that are not `kept`."""
    return [turn if kept(turn.text) and all(map(kept, _sentences(turn))) else _cut(turn, kept) for turn in turns]


def _cut(turn: Turn, kept: Callable[[str], bool]) -> Turn:
    left = (
        ""
        if not kept(turn.text)
        else " ".join(one.text for one in sentences(turn.text) if kept(one.text) and kept(without_lead(one.text)))
    )
    return replace(turn, text=left)


def sentences_of(turns: Iterable[Turn]) -> Iterator[str]:
    """Yield every text of these turns that may have a tombstone."""
    for turn in turns:
        yield turn.text
        yield from _sentences(turn)


def filter_summary(summary: SessionSummary, kept: Callable[[str], bool]) -> SessionSummary:
    """Return the summary with only the sentences that are `kept`, and a title made of them if its own is not."""
    were = summary.summary.split("\n")
    lines = ["".join(filter(kept, _SENTENCE.findall(line))).strip() for line in were]
    title = summary.title if kept(summary.title) else title_of(without_label(next(filter(None, lines), "")))
    left = "\n".join(line for line, was in zip(lines, were, strict=True) if line or not was)
    return replace(
        summary,
        title=title,
        summary=re.sub(r"\n{3,}", "\n\n", left).strip("\n"),
        decisions=tuple(filter(kept, summary.decisions)),
        open_questions=tuple(filter(kept, summary.open_questions)),
    )


def summary_sentences(text: str) -> list[str]:
    """Return the sentences of a summary, in order."""
    return [part for line in text.split("\n") for each in _SENTENCE.findall(line) if (part := each.strip())]


def without_label(line: str) -> str:
    """Return a summary line without its speaker label."""
    return re.sub(r"^[^:：\n]{1,40}(?:: |：)", "", line)


_SENTENCE = re.compile(r".(?:[^.!?。！？；\n]++|[.!?]++(?!\s|$))*(?:[。！？；]++|[.!?]++|$)\s*")
"""One sentence of a single line. Linear time: each run is possessive, and in a line the group never backtracks."""


# --- orders that a user gave and took back since ------------------------------------------------

ORDER = "order"
"""Kind of the operations that carry out a user's orders to remember or forget."""


def undone_orders(context: Context, session: str) -> set[str]:
    """Return the ids of a session's turns whose order, to remember or forget, was carried out and then undone."""
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


def without_undone_orders(context: Context, session: Session) -> Session:
    """Return the session without a title and a rule-made summary that may mention an order that was undone.

    Both are chosen anew, since a background run may have used the order before. A title that somebody gave stays.
    """
    back = undone_orders(context, session.uuid)
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


def summary_filter(context: Context, session: str, turns: Sequence[Turn]) -> Callable[[str], bool]:
    """Return a test of whether a summary may use a text of these turns: not forgotten, and no order that was undone."""
    kept = not_forgotten(context, sentences_of(turns))
    back = undone_orders(context, session)
    ordered = [turn for turn in turns if turn.id in back]
    if not ordered:
        return kept
    found = by_rules(ordered, session=None, now=context.book.now())
    orders = {one.quote for one in found.candidates if one.told} | {one.text for one in found.forget_requests}
    withdrawn = {" ".join(text.split()) for text in orders}
    return lambda text: kept(text) and " ".join(text.split()) not in withdrawn
