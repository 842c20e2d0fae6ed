"""Open what is stored: documents, entries, turns, lists."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from memorybook._light import TYPE_CHECKING
from memorybook.book.book import Book
from memorybook.errors import Conflict, InvalidInput, NotFound
from memorybook.results import Known, Lines, Listed, Said
from memorybook.search.search import snippet
from memorybook.text.redact import redact, redact_json
from memorybook.text.tokens import query_words
from memorybook.validate import count_of, lines_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from memorybook.context import Context
    from memorybook.model import Entry, Turn
    from memorybook.search.types import Answer, Hit, Passage, Query


STATES = ("active", "archived", "superseded")


def get(book: Book, target: str, *, start: int, lines: int | None) -> Known | Lines | Said:
    """See `Memory.get`."""
    if target.startswith("turn:"):
        turn = turn_of(book, target.removeprefix("turn:"))
        session = book.transcripts.session(turn.session)
        return Said(turn, session.path, session.name)
    target, start, lines = lines_of(target, start, lines)
    if "/" in target or target.endswith(".md"):
        return _lines(book, target, start, lines)
    entry = next((entry for entry in book.entries() if entry.id == target), None)
    if entry is None:
        raise NotFound(f"no entry {target!r} in this book: a path ends in .md, a turn is opened with turn:ID")
    return known(book, [entry])[0]


def _lines(book: Book, path: str, start: int, count: int | None) -> Lines:
    if start < 1:
        raise InvalidInput(f"from {start} is below 1: lines count from 1")
    if count is not None and count < 1:
        raise InvalidInput(f"lines {count} is below 1")
    text = book.documents.read(path).text
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    shown = lines[start - 1 : None if count is None else start - 1 + count]
    return Lines(path, start, len(shown), len(lines), "\n".join(line.removesuffix("\r") for line in shown))


def turn_of(book: Book, name: str) -> Turn:
    """Return the one turn that `ID` or `SESSION/ID` names, UUIDs by their beginning too. Raises NotFound, Conflict."""
    unknown: NotFound | None = None
    try:
        found = turns_of(book, name)
    except NotFound as error:
        found, unknown = (), error
    if not found:  # a short name, see `Transcripts.short_names`
        parts = [("", name), *((name[:cut], name[cut + 1 :]) for cut in _cuts(name))]
        places = [place for session, turn in parts for place in book.transcripts.beginning_with(turn, session)]
        found = [turn for session, id in places for turn in book.transcripts.find(id, session)]
    if not found:
        from memorybook import locale

        raise unknown or locale.error(NotFound, "problems.no_turn", name=repr(name))
    if len(found) > 1:
        where = ", ".join(f"turn:{turn.session}/{turn.id}" for turn in found[:5])
        raise Conflict(f"{len(found)} sessions have a turn {name!r}: name one, such as {where}")
    return found[0]


def _cuts(name: str) -> list[int]:
    return [place for place, char in enumerate(name) if char == "/"]


def turns_of(book: Book, name: str) -> Sequence[Turn]:
    """Find the turns, one per session, that `ID` or `SESSION/ID` names. Raises NotFound for an unknown session."""
    found = book.transcripts.find(name)
    cuts = _cuts(name)
    unknown = []
    for cut in cuts:
        if found:
            break
        try:
            found = book.transcripts.find(name[cut + 1 :], book.transcripts.session(name[:cut]).uuid)
        except NotFound as error:
            unknown.append(error)
    if cuts and len(unknown) == len(cuts):
        raise unknown[0]
    return found


def entries(
    book: Book, *, category: str | None, group: str | None, state: str | None, limit: int | None, at: str | None = None
) -> Listed:
    """See `Memory.entries`."""
    if state is not None and state not in STATES:
        raise InvalidInput(f"state {state!r} is not one of {', '.join(STATES)}")
    limit = count_of(limit)
    inside = None if group is None else folder_of(group)
    if at is None:
        all, today = book.entries(), None
    else:
        from memorybook.entries.as_of import entries_at

        all, today = entries_at(book, at), date.fromisoformat(at)
    wanted = [
        entry
        for entry in all
        if category in (None, entry.category)
        and state in (None, entry.state)
        and (inside is None or (inside != "" and folder_of(entry.group or "").startswith(inside)))
    ]
    found = sorted(known(book, wanted, today), key=lambda each: each.strength, reverse=True)
    return Listed(tuple(found[:limit]), len(found))


def folder_of(group: str) -> str:
    """Normalise a group for comparing: `Work / API` and `work/api/` are one, in which `work/api/v2/` is."""
    return "".join(f"{name}/" for part in group.split("/") if (name := part.strip().casefold()))


def known(book: Book, entries: Iterable[Entry], day: date | None = None) -> list[Known]:
    """Return entries with their strength on a day, by default today, and their access counts."""
    entries = list(entries)
    counts, day = book.access_counts(entry.id for entry in entries), day or book.now().date()
    return [Known(entry, book.strength(entry, day), counts.get(entry.id, 0)) for entry in entries]


# --- current first ----------------------------------------------------------------------------------


def renewed(book: Book, asked: Query, answer: Answer, *, limit: int) -> Answer:
    """Put what is true now before what it replaced, and as relevant.

    So it is for entries, and for turns of which nothing else is remembered. What a filter of the query leaves out is
    not brought back.
    """
    resting = _resting(book, answer)
    replaced = [resting.get(_turn_of(hit.passage), hit.passage) for hit in answer.hits]
    known = _with_successors(book, replaced)
    ids = [_now(passage, known) for passage in replaced]
    current = {one.entry: one for one in reversed(book.entry_passages([id for id in ids if id], query=asked))}
    found = {hit.passage.entry: hit for hit in answer.hits if hit.passage.source == "entry"}
    words = frozenset(query_words(asked.text))
    hits: dict[object, Hit] = {}
    for number, (hit, id) in enumerate(zip(answer.hits, ids, strict=True)):
        if id in current and id not in hits:
            passage = current[id]
            newer = found.get(id) or hit._replace(passage=passage, snippet=snippet(passage.text, words), why={})
            relevance, score = max(newer.relevance, hit.relevance), max(newer.score, hit.score)
            hits[id] = newer._replace(relevance=relevance, score=score)
        hits.setdefault(hit.passage.entry if hit.passage.source == "entry" else number, hit)
    return answer._replace(hits=book.told_of(tuple(hits.values())[:limit]))


def _turn_of(passage: Passage) -> tuple[str, str]:
    return (passage.session or "", passage.turn or "") if passage.source == "turn" else ("", "")


def _resting(book: Book, answer: Answer) -> dict[tuple[str, str], Passage]:
    """Return for each turn among the hits an entry that rests on it, if none of those is true any more."""
    turns = {_turn_of(hit.passage) for hit in answer.hits} - {("", "")}
    found: dict[tuple[str, str], list[Passage]] = {}
    for entry in book.entry_passages(turns=turns):
        found.setdefault((entry.session or "", entry.turn or ""), []).append(entry)
    return {turn: entries[0] for turn, entries in found.items() if all(one.superseded_by for one in entries)}


def _with_successors(book: Book, passages: Iterable[Passage]) -> dict[str, Passage]:
    """Return what replaced these entries, and what replaced that, by id."""
    known: dict[str, Passage] = {}
    wanted = {one.superseded_by for one in passages if one.superseded_by}
    while wanted:
        for one in reversed(book.entry_passages(wanted)):
            known[one.entry or ""] = one
        wanted = {by for id in wanted if id in known and (by := known[id].superseded_by)} - known.keys()
    return known


def _now(passage: Passage, known: Mapping[str, Passage]) -> str | None:
    """Return the id of what is true in place of an entry; None if that is the entry itself, or is gone."""
    seen = {passage.entry}
    while passage.superseded_by is not None:
        if passage.superseded_by in seen or passage.superseded_by not in known:
            return None
        seen.add(passage.superseded_by)
        passage = known[passage.superseded_by]
    return passage.entry if len(seen) > 1 else None


# --- masking of secrets on the way in -----------------------------------------------------------


class Mask:
    """Masks secrets as the settings of a memory say, and counts them.

    Attributes:
        count: How many it has masked so far.
    """

    def __init__(self, context: Context) -> None:
        self._settings = context.config.redaction
        self.count = 0

    def text(self, text: str) -> str:
        """Return the text without its secrets."""
        if not self._settings.enabled:
            return text
        clean = redact(text, self._settings.patterns)
        self.count += len(clean.masked)
        return clean.text

    def words(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return tags or names without the secrets in them."""
        return tuple(map(self.text, words))

    def json(self, value: Any) -> Any:
        """Return a JSON value without the secrets in it."""
        if not self._settings.enabled:
            return value
        clean = redact_json(value, self._settings.patterns)
        self.count += len(clean.masked)
        return clean.value
