"""Filter forgotten statements out of everything that comes in: messages, imports, queued sessions and events."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memorybook.entries.cues import find
from memorybook.forget.cutting import StatementMatcher, clause_digest, pair_digests, sentence_digests
from memorybook.forget.finder import SAME
from memorybook.forget.tombstones import not_forgotten, parts, without_label, without_texts
from memorybook.forget.units import (
    is_id,
    is_label,
    repair_end,
    repair_start,
    units,
    values_of,
    whole_words,
    without_spans,
    words_of,
)
from memorybook.formats import changes_json
from memorybook.model import SessionSummary
from memorybook.text.sentences import sentences
from memorybook.text.tokens import normalise, only_asks, says_something, tokens

if TYPE_CHECKING:
    from datetime import datetime

    from memorybook.book.book import Book
    from memorybook.context import Context
    from memorybook.model import Applied, Turn

LEAST = 3
"""Least words of a forgotten operation that a clause must share to repeat it in other words."""

MOST_CLAUSES = 8
"""Most clauses of a run that are looked up as one statement."""


def without_forgotten_turns(book: Book, turns: Sequence[Turn], *, now: datetime | None = None) -> tuple[Turn, ...]:
    """Return the turns without what was forgotten; turns of which nothing is left have an empty text.

    What a user says again later, outside of lists, is new and stays. If an assistant, a tool or a pasted list says it
    again, even in other words, it is removed, unless it was purged. `now` dates turns without a time in which a user
    explicitly asks to remember; other turns without a time count as earlier.
    """
    if not turns or not book.journal.buries():
        return tuple(turns)
    by_text = {text: _run_digests(text) for text in dict.fromkeys(turn.text for turn in turns)}
    buried = book.journal.buried({mark for spans in by_text.values() for found in spans.values() for mark in found})
    if buried:  # what an entry says again was wanted again
        buried = buried.difference(mark for entry in book.entries() for mark in sentence_digests(entry.text))
    echoed, repeating = Echo(book), [turn.role in ("assistant", "tool") or is_pasted_list(turn.text) for turn in turns]
    echoes = _echo_finder(book, (turn.text for turn, repeats in zip(turns, repeating, strict=True) if repeats))
    times: dict[datetime, frozenset[str]] = {}
    left: list[Turn] = []
    for turn, repeats in zip(turns, repeating, strict=True):
        time = turn.time or (now if now is not None and _asks_to_remember(turn) else None)
        stands = buried
        if buried and time is not None and turn.role in ("user", "") and not is_pasted_list(turn.text):
            if time not in times:
                times[time] = book.journal.buried(buried, since=time)
            stands = times[time]
        spans = [span for span, found in by_text[turn.text].items() if not stands.isdisjoint(found)]
        if repeats and (calls := echoed.strip(turn.tool_calls)) != turn.tool_calls:
            turn = replace(turn, tool_calls=calls)
        spans += [*echoed.spans(turn.text), *echoes(turn, left)] if repeats else []
        left.append(replace(turn, text=without_spans(turn.text, spans)) if spans else turn)
    return tuple(left)


def _asks_to_remember(turn: Turn) -> bool:
    cues = (find(each.text, talk="agent", dated=False) for each in sentences(turn.text))
    return any(cue is not None and cue.kind == "explicit" for cue in cues)


def _run_digests(text: str) -> dict[tuple[int, int], frozenset[str]]:
    """Return the digests of every run of clauses of a text, and of the whole text, by span."""
    parts = units(text)
    found: dict[tuple[int, int], frozenset[str]] = {}
    for first, unit in enumerate(parts):
        found[unit.start, unit.end] = frozenset([*sentence_digests(unit.text), clause_digest(text, first, first)])
        for last in parts[first + 1 : first + MOST_CLAUSES]:
            found[unit.start, last.end] = frozenset(sentence_digests(text[unit.start : last.end]))
    if len(parts) > MOST_CLAUSES:
        found[parts[0].start, parts[-1].end] = frozenset(sentence_digests(text[parts[0].start : parts[-1].end]))
    return found


def is_pasted_list(text: str) -> bool:
    """Return whether a text is a pasted list: two or more items, or five or more lines."""
    lines = [line for line in text.split("\n") if line.strip()]
    items = sum(re.match(r"\s*(?:[-*+•]|\d+[.)、])\s+|[^:：\s]{1,20}[:：]\s", line) is not None for line in lines)
    return len(lines) >= 2 and (items >= 2 or len(lines) >= 5)


def _echo_finder(book: Book, texts: Iterable[str]) -> Callable[[Turn, Sequence[Turn]], list[tuple[int, int]]]:
    """Return a function (turn, turns before) -> spans that repeat a name or two telling words of what was forgotten.

    It also recognises what was purged. Words that the user has said in the session before do not count.
    """
    words = {
        text: {(unit.start, unit.end): words_of(unit.text) for unit in units(text)} for text in dict.fromkeys(texts)
    }
    pairs = {
        text: {span: frozenset(pair_digests(held, held, alone=True)) for span, held in clauses.items()}
        for text, clauses in words.items()
    }
    buried = book.journal.buried({mark for clauses in pairs.values() for each in clauses.values() for mark in each})

    def spans(turn: Turn, before: Sequence[Turn]) -> list[tuple[int, int]]:
        known = {span: each & buried for span, each in pairs[turn.text].items() if not buried.isdisjoint(each)}
        if not known:
            return []
        talk = [each for each in (*book.transcripts.turns(turn.session), *before) if each.session == turn.session]
        said = [words_of(each.text) for each in talk if each.role in ("user", "") and not only_asks(each.text)]
        for span in known:
            for told in said:
                shared = words[turn.text][span] & told
                known[span] -= frozenset(pair_digests(shared, shared, alone=True))
        return [span for span, each in known.items() if each]

    return spans


def texts_left(book: Book, texts: Iterable[str]) -> list[str]:
    """Return texts made from turns without the forgotten clauses, line by line."""
    texts = list(texts)
    if not book.journal.buries():
        return texts
    lines = {line: without_label(line) for text in texts for line in text.split("\n")}
    forms = {line: _run_digests(body) for line, body in lines.items()}
    buried = book.journal.buried({mark for spans in forms.values() for each in spans.values() for mark in each})
    left = {}
    for line, body in lines.items():
        spans = [span for span, each in forms[line].items() if not buried.isdisjoint(each)]
        kept = without_spans(body, spans)
        left[line] = line if not spans else f"{line[: len(line) - len(body)]}{kept}" if kept else ""
    return ["\n".join(left[line] for line in text.split("\n") if left[line] or not line) for text in texts]


class Echo:
    """Tests whether a text repeats, in other words, what was forgotten and is still in the journal.

    Args:
        book: The book; its journal is read at first use.
    """

    def __init__(self, book: Book) -> None:
        self._book = book
        self._tellers: list[tuple[StatementMatcher, frozenset[str], frozenset[str]]] | None = None

    def __call__(self, text: str) -> bool:
        """Return whether the text repeats something forgotten."""
        words = words_of(text)
        for teller, values, known in self._all():
            if teller(text):
                return True
            shared = values & whole_words(tokens(text))
            more = len(words & known)
            if shared and (any(map(is_id, shared)) or more > len(shared & words) or words <= known):
                return True
            if more >= LEAST and more >= SAME * len(words):
                return True
        return False

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the spans of the clauses that do."""
        return [(unit.start, unit.end) for unit in units(text) if self(unit.text)] if self._all() else []

    def strip(self, calls: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
        """Return tool calls without what repeats it."""
        for teller, _, _ in self._all():
            calls = teller.strip_json(tuple(calls))
        return tuple(calls)

    def _all(self) -> list[tuple[StatementMatcher, frozenset[str], frozenset[str]]]:
        if self._tellers is None:
            self._tellers = []
            for changes in self._book.journal.forgotten():
                if any(
                    change.kind == "turns" and changes_json.parse_turns(change.before or "")[2] for change in changes
                ):
                    continue  # a whole session, which may come in under another name
                texts = [text for change in changes for text in lost_statements(change)]
                values = frozenset[str]().union(*map(values_of, texts))
                values = frozenset(value for value in values if not value.isdigit() or len(value) >= 3)
                known = frozenset[str]().union(*map(words_of, texts))
                self._tellers.append((StatementMatcher(texts), values, known))
        return self._tellers


def lost_statements(change: Applied) -> Iterator[str]:
    """Yield the meaningful statements that a forgetting change removed."""
    return (text for text in _lost_statements(change) if says_something(text) and not is_label(text))


def _lost_statements(change: Applied) -> Iterator[str]:
    from memorybook.formats import memory_md, session_md

    if change.purged or not change.before:
        return
    if change.kind == "edit":
        _, old, _ = changes_json.parse_turns(change.before)
        left = {turn.id: turn.text for turn in changes_json.parse_turns(change.after or change.before)[1]}
        for turn in old:
            yield from _removed_clauses(turn.text, left.get(turn.id, ""))
    elif change.kind == "turns":
        yield from (unit.text for turn in changes_json.parse_turns(change.before)[1] for unit in units(turn.text))
    elif change.kind == "drop":
        note = (
            session_md.parse_line(change.before, day=session_md.day_of(change.target))
            if change.after is not None
            else None
        )
        yield from _removed_clauses(note.text if note else change.before, change.after or "")
    elif change.kind == "put" and change.after and change.target.startswith("sessions/"):
        told = session_md.parse(change.before)
        parts = (told.title, *told.summary.split("\n"), *told.decisions, *told.open_questions)
        yield from (part for part in parts if part not in change.after)
    elif change.kind in ("remove", "update"):
        from datetime import UTC, datetime

        then = datetime(1970, 1, 1, tzinfo=UTC)
        said = memory_md.parse_entry(change.before, modified=then).text
        stays = memory_md.parse_entry(change.after, modified=then).text if change.after else ""
        yield from _removed_clauses(said, stays)


def _removed_clauses(before: str, after: str) -> Iterator[str]:
    """Yield the clauses of `before` that `after` lacks; all of it as one if nothing is left."""
    kept = {normalise(repair_end(repair_start(unit.text))) for unit in units(after)}
    gone = (unit.text for unit in units(before) if normalise(repair_end(repair_start(unit.text))) not in kept)
    yield from gone if kept else [before]


def texts_without_forgotten(context: Context, texts: Iterable[str]) -> list[str]:
    """Return the texts without what was forgotten; each unchanged if nothing was."""
    texts = texts_left(context.book, texts)
    kept = not_forgotten(context, [part for text in texts for part in parts(text)])
    told = [without_texts(SessionSummary(session="", title="", summary=text), kept).summary for text in texts]
    return [text if left.split() == text.split() else left for text, left in zip(texts, told, strict=True)]
