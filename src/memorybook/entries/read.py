"""Open what is stored: documents, entries, turns, lists; entries also as they were on a day, from the journal."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from memorybook.book.book import Book
from memorybook.errors import Conflict, InvalidInput, NotFound
from memorybook.formats import memory_md
from memorybook.results import Known, Lines, Listed, Said
from memorybook.text.redact import redact, redact_json
from memorybook.validate import count_of, lines_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memorybook.context import Context
    from memorybook.model import Entry, Turn

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


OF_LINES = ("append", "drop", "put", "item", "turns", "edit")
"""Kinds of changes that are of lines and documents, not of entries."""


# --- the past -----------------------------------------------------------------------------------


def entries_at(book: Book, day: str) -> list[Entry]:
    """Return the entries as the book had them at the end of a day, by taking back what was done since.

    What was purged since is missing. A change that no operation recorded counts as always there.
    """
    found = {entry.id: entry for entry in book.entries()}
    _, end = book.span(None, day)
    for target, kind, text in book.journal.stood(end) if end is not None else ():
        if kind not in OF_LINES:
            before = entry_of(text)
            if before is not None:
                found[target] = before
            elif not text:
                found.pop(target, None)
    return list(found.values())


def entry_of(text: str | None) -> Entry | None:
    """Return the entry that the journal kept; None if there is none, or it cannot be read."""
    with suppress(ValueError):
        return memory_md.parse_entry(text, modified=datetime(1970, 1, 1, tzinfo=UTC)) if text else None
    return None
