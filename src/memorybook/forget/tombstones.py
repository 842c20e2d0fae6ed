"""What was forgotten does not come back: its tombstones, and the one filter of statements, summaries and titles."""

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
"""Why something is left out that would have brought back what was forgotten."""

_ALIKE = 0.6
"""Share of an entry's words that a sentence has from which it says the same."""


def unnamed(text: str, reason: str = FORGOTTEN) -> Discarded:
    """A text that is left out, without its words: the journal keeps neither a copy of it nor a digest."""
    return Discarded(text="(forgotten)" if text else "", reason=reason)


def as_journaled(context: Context, discarded: Sequence[Discarded]) -> tuple[Discarded, ...]:
    """What of a talk is left out, as the journal keeps it: without its words where talks are not kept."""
    if context.config.transcripts.enabled:
        return tuple(discarded)
    return tuple(unnamed(each.text, re.sub(r"(?s)'.*'", "'…'", each.reason)) for each in discarded)


# --- what is buried ------------------------------------------------------------------------------


def turn_key(session: str, turn: str) -> str:
    """What a tombstone of a turn is of; unlike a statement, a turn is forgotten only where it was said."""
    return text_digest(f"turn:{session}/{turn}")


def tombstones_of(
    context: Context, entries: Iterable[Entry], *, lines: Iterable[str] = (), turns: Iterable[Turn] = ()
) -> set[str]:
    """What must not come back of these entries, lines of notes and turns; to be asked before they go.

    Digests of what they say, of the sentences in which it was said, and of titles made of it; the keys of the turns.
    """
    turns = list(turns)
    said = {text for entry in entries for text in (entry.text, *_said_as(context, entry))}
    said |= {text for turn in turns for text in (turn.text, *_sentences(turn))}
    said |= set(map(statement, lines))
    forms = {form for text in said for form in (text, title_of(text), cut_at_sentence(text, SENTENCE_LENGTH))}
    return {*map(digest, forms), *(turn_key(turn.session, turn.id) for turn in turns)}


def turns_of(context: Context, entry: Entry) -> Iterator[Turn]:
    """The turns that an entry rests on, as far as they are kept."""
    for name in turn_ids(entry.source):
        yield from (turn for turn in context.book.transcripts.find(name) if entry.session in (None, turn.session))


def _said_as(context: Context, entry: Entry) -> Iterator[str]:
    """The sentences of its turns that say what the entry says; all of them if none does in its words."""
    words = set(query_words(entry.text))
    for turn in turns_of(context, entry):
        said = list(_sentences(turn))
        alike = [text for text in said if len(words & set(query_words(text))) >= _ALIKE * len(words)]
        yield from alike or said


def _sentences(turn: Turn) -> Iterator[str]:
    """The sentences of a turn that say something, as they stand and as summaries begin them."""
    for sentence in sentences(turn.text):
        if content_size(sentence.text) >= 3:
            yield from {sentence.text, without_lead(sentence.text)}


# --- the filter ----------------------------------------------------------------------------------


def remembered(context: Context, texts: Iterable[str], *, since: datetime | None = None) -> Callable[[str], bool]:
    """Tells of each of these texts, and of each without the speaker before it, whether it was not forgotten.

    What an entry says again was wanted again. With `since` it matters only what was forgotten from that time on.
    """
    if not context.book.journal.buries():
        return lambda text: True
    buried = context.book.journal.buried({digest(form) for text in texts for form in _forms(text)}, since=since)
    buried -= {digest(entry.text) for entry in context.book.entries()} if buried else frozenset()
    return lambda text: not buried or buried.isdisjoint(map(digest, _forms(text)))


def _forms(text: str) -> Iterator[str]:
    return filter(str.strip, (text, unlabelled(text)))


def without_forgotten(context: Context, summary: SessionSummary) -> SessionSummary:
    """The summary without what was forgotten, whoever wrote it."""
    kept = remembered(context, [*parts(summary.summary), summary.title, *summary.decisions, *summary.open_questions])
    return without_texts(summary, kept)


def parts(text: str) -> Iterator[str]:
    """Yield the lines of a text, and the sentences in each."""
    for line in text.split("\n"):
        yield line
        yield from _SENTENCE.findall(line)


def without_texts(summary: SessionSummary, kept: Callable[[str], bool]) -> SessionSummary:
    """Return the summary without the lines and statements that are not `kept`."""
    return sifted(replace(summary, summary="\n".join(filter(kept, summary.summary.split("\n")))), kept)


def turns_without(turns: Iterable[Turn], kept: Callable[[str], bool]) -> list[Turn]:
    """The turns without the sentences that are not `kept`, to be told anew."""
    return [turn if kept(turn.text) and all(map(kept, _sentences(turn))) else _cut(turn, kept) for turn in turns]


def _cut(turn: Turn, kept: Callable[[str], bool]) -> Turn:
    left = (
        ""
        if not kept(turn.text)
        else " ".join(one.text for one in sentences(turn.text) if kept(one.text) and kept(without_lead(one.text)))
    )
    return replace(turn, text=left)


def sentences_of(turns: Iterable[Turn]) -> Iterator[str]:
    """Everything that is said in these turns, as tombstones may have it."""
    for turn in turns:
        yield turn.text
        yield from _sentences(turn)


def sifted(summary: SessionSummary, kept: Callable[[str], bool]) -> SessionSummary:
    """The summary with the sentences that are `kept`, and a title made of them if its own is not."""
    were = summary.summary.split("\n")
    lines = ["".join(filter(kept, _SENTENCE.findall(line))).strip() for line in were]
    title = summary.title if kept(summary.title) else title_of(unlabelled(next(filter(None, lines), "")))
    left = "\n".join(line for line, was in zip(lines, were, strict=True) if line or not was)
    return replace(
        summary,
        title=title,
        summary=re.sub(r"\n{3,}", "\n\n", left).strip("\n"),
        decisions=tuple(filter(kept, summary.decisions)),
        open_questions=tuple(filter(kept, summary.open_questions)),
    )


def phrases(text: str) -> list[str]:
    """The sentences of a summary, in order."""
    return [part for line in text.split("\n") for each in _SENTENCE.findall(line) if (part := each.strip())]


def unlabelled(line: str) -> str:
    """A line of a summary without its speaker."""
    return re.sub(r"^[^:：\n]{1,40}(?:: |：)", "", line)


_SENTENCE = re.compile(r".(?:[^.!?。！？；\n]++|[.!?]++(?!\s|$))*(?:[。！？；]++|[.!?]++|$)\s*")
"""One sentence of a single line. Linear time: each run is possessive, and in a line the group never backtracks."""


# --- orders that a user gave and took back since ------------------------------------------------

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
