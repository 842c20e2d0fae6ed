"""Purge: overwrite what was forgotten wherever a copy of it was, then search for leftovers."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memorybook.entries.review import says_forgotten
from memorybook.errors import InvalidInput, NotFound
from memorybook.exchange.export import renew
from memorybook.forget.cutting import LONG, weight
from memorybook.forget.finder import SAME, Finder
from memorybook.forget.forget import Targets, carry_out, lines_of, merge_targets, receipt_of, select_targets
from memorybook.forget.incoming import lost_statements
from memorybook.forget.tombstones import without_label
from memorybook.forget.units import Substrings, any_of, is_word, values_of, words_of
from memorybook.formats import changes_json, memory_md, session_md
from memorybook.model import Applied, Entry, Operation
from memorybook.results import Receipt
from memorybook.sessions.memorize import drop_empty, forgotten_in_queue
from memorybook.sessions.summarize import title_of
from memorybook.text.tokens import normalise, query_words

if TYPE_CHECKING:
    from memorybook.book.book import Book
    from memorybook.context import Context

TRIES = 5
PAUSE = 0.2
"""Seconds between the `TRIES` to vacuum a database of which another process reads an old state."""

PARKED = "purge"
"""Id and kind of the parked task to overwrite erased pages."""

_SHORT = 6
_CHUNK = 1 << 20
_LEFTOVER = "still stands in"


def purge(
    context: Context,
    target: str | None = None,
    *,
    query: str | None = None,
    session: str | None = None,
    source: str | None = None,
    forgotten: bool = False,
    dry_run: bool = False,
) -> Receipt:
    """See `Memory.purge`.

    Forgets it (as `forget` does, with the turns and summary lines that an entry comes from), empties it out of the
    journal, deletes the old versions of documents and `MEMORY.md.bak`, rebuilds the index, and vacuums the databases.
    The operations stay in the history without their texts, and cannot be undone. If another process holds the book
    open, `remains` says so, and `finish` or the next purge overwrites the rest.
    """
    if forgotten == bool(target or query or session or source):
        raise InvalidInput("purge takes an id, a query, a session, a source or everything forgotten: one of the five")
    meant, texts, targets, operations = _find_erased(context, target, query, session, source)
    receipt = receipt_of(context, meant, dry_run=dry_run)
    if dry_run:
        return receipt._replace(remains=(_promise(texts),) if texts and not meant else ())
    if not (
        meant or texts or targets or operations or forgotten
    ):  # what was forgotten may stand in pages that are free by now
        return receipt
    if meant:
        receipt = carry_out(context, meant, receipt, kind="purge")
        if receipt.operation:
            operations.add(receipt.operation)
            texts |= {text for text in _removed(context.book.journal.operation(receipt.operation)) if text.strip()}
    return _erase(context, receipt, texts, targets, operations)


def finish(context: Context) -> bool:
    """Overwrite what an earlier purge could not because another process was reading. Return True if all is done."""
    journal = context.book.journal
    if not any(parked.id == PARKED for parked in journal.parked(kind=PARKED)):
        return True
    if not _vacuumed(context.book):
        return False
    journal.unpark(PARKED)
    return True


def _promise(texts: set[str]) -> str:
    return f"{len(texts)} texts of what was forgotten before would be erased from the journal and the old versions"


# --- what is to be erased ------------------------------------------------------------------------


def _find_erased(
    context: Context, target: str | None, query: str | None, session: str | None, source: str | None
) -> tuple[Targets, set[str], set[str], set[str]]:
    """Return (what the book still has, texts to erase, targets whose changes to empty, operations that forgot it)."""
    book = context.book
    if not (target or query or session or source):
        standing = {normalise(entry.text) for entry in book.entries()}
        texts = {text for each in _forgetting(book) for text in _removed(each)}
        texts |= {turn.text for turn in forgotten_in_queue(context)}
        removed = {change.target for each in _forgetting(book) for change in each.changes if change.kind == "remove"}
        texts |= {entry.text for id in removed for entry in _earlier_versions(book, id)}
        gone = {text for text in texts if text.strip() and normalise(text) not in standing}
        return Targets(), gone, set(), {each.id for each in _forgetting(book) if any(map(_forgot, each.changes))}
    try:
        meant = select_targets(context, target=target, query=query, session=session, source=source)
    except NotFound:
        meant = Targets()
        if not _is_known(book, target or session or ""):
            raise
    past = [entry.text for entry in _earlier_versions(book, target)] if target else []
    before = _earlier_operations(book, target, query, session)
    earlier = {text for each in before for text in _removed(each)}
    if past or earlier:
        again = Finder(context, [*past, *earlier]).saying([*past, *earlier])
        again = again._replace(entries=())  # an entry that says now what this one said once is another
        meant = merge_targets([meant, Targets((), again.notes, found=again)])
    targets = {entry.id for entry in meant.entries} | set(meant.documents)
    targets |= {f"session:{each.uuid}" for each in meant.sessions}
    targets |= {name for name in (target, session and f"session:{session}") if name}
    texts = meant.texts | {query or "", *past} | earlier
    texts |= {line for path in meant.documents for line in _parts(path, "\n".join(lines_of(book, path)))}
    for id in targets:
        for operation in book.journal.operations(target=id, alone=True):
            texts |= {text for change in operation.changes for text in _statements_in(change)}
            texts |= {text for change in operation.changes for text in _quotes_of_change(change)}
    texts |= _discarded_quotes(book, meant)
    if session and not meant:
        texts |= {text for each in book.journal.operations(session=session) for text in _removed(each)}
    return meant, {text for text in texts if text.strip()}, targets, {each.id for each in before}


def _earlier_operations(book: Book, target: str | None, query: str | None, session: str | None) -> list[Operation]:
    """Return the operations, not undone, that forgot this entry or session, or what says the query."""
    wanted = query_words(query or "")
    found = []
    for operation in _forgetting(book):
        forgot = [change for change in operation.changes if _forgot(change)]
        named = {change.target for change in forgot}
        said = (text for change in forgot for text in lost_statements(change)) if query else ()
        if named & {target, f"session:{session}"} or any(_says(query or "", wanted, text) for text in said):
            found.append(operation)
    return found


def _forgot(change: Applied) -> bool:
    return not change.purged and change.reason.startswith(("forgotten", "asked to be forgotten"))


def _says(query: str, wanted: Collection[str], text: str) -> bool:
    said = set(query_words(text))
    many = sum(word in said for word in wanted)
    return normalise(query) in normalise(text) or (many >= SAME * len(wanted) and many > 0)


def _is_known(book: Book, id: str) -> bool:
    """Return whether the journal has an entry or session of this id."""
    known = book.journal.operations
    return bool(id) and bool(known(limit=1, target=id) or known(limit=1, session=id))


def _forgetting(book: Book) -> Iterator[Operation]:
    undone = book.journal.undone()
    for operation in book.journal.operations():
        if operation.id not in undone and operation.kind != "undo":
            yield operation


def _removed(operation: Operation) -> Iterator[str]:
    """Yield the texts that an operation removed from the book."""
    forgot = any(map(_forgot, operation.changes))
    for change in operation.changes:
        if _forgot(change) or (forgot and change.kind == "put"):
            yield from lost_statements(change)
        if change.reason == "forgotten" or change.kind in ("remove", "turns"):
            yield from (() if change.kind == "edit" else _statements_in(replace(change, after=None)))


def _statements_in(change: Applied) -> Iterator[str]:
    """Yield the statements before and after a change: of an entry, a line, a document, turns."""
    for text in (change.before, change.after):
        if not text or change.purged:
            continue
        if change.kind in ("turns", "edit"):
            yield from (turn.text for turn in changes_json.parse_turns(text)[1])
        elif change.kind == "item":
            yield text.partition("\n")[2]
        elif change.kind in ("append", "drop", "put"):
            yield from _parts(change.target, text)
        else:
            yield _entry(text).text


def _quotes_of_change(change: Applied) -> Iterator[str]:
    """Yield what the reason of a change quotes."""
    said = re.match(r"said: (.*?)(?: turn:\S+)*\Z", change.reason, re.DOTALL)
    if said and not change.purged:
        yield said[1]


def _discarded_quotes(book: Book, meant: Targets) -> set[str]:
    """Return the quotes of discarded candidates that come from the selected turns."""
    said = [normalise(turn.text) for turn in meant.turns]
    return {
        left.quote
        for session in dict.fromkeys(turn.session for turn in meant.turns)
        for operation in book.journal.operations(session=session)
        for left in operation.discarded
        if weight(left.quote) >= LONG and any(normalise(left.quote) in text for text in said)
    }


def _parts(path: str, text: str) -> Iterator[str]:
    """Yield the statements of a document or line; of a session page its title, summary, decisions and questions."""
    if not path.startswith("sessions/"):
        yield from _statements(path, text)
        return
    told = session_md.parse(text)
    yield from (told.title, *told.summary.split("\n"), *told.decisions, *told.open_questions)


def _statements(path: str, text: str) -> Iterator[str]:
    for line in text.split("\n"):
        note = session_md.parse_line(line, day=session_md.day_of(path))
        yield note.text if note else line


def _earlier_versions(book: Book, id: str) -> Iterator[Entry]:
    """Yield the earlier versions of an entry that the journal has."""
    for operation in book.journal.operations(target=id, alone=True):
        for change in operation.changes:
            if change.kind not in ("append", "drop", "put", "item", "turns", "edit"):
                yield from (_entry(text) for text in (change.before, change.after) if text)


def _entry(text: str) -> Entry:
    return memory_md.parse_entry(text, modified=datetime(1970, 1, 1, tzinfo=UTC))


def _containment_test(texts: Iterable[str]) -> Callable[[str], bool]:
    """Return a test of whether a text contains one of these: long ones anywhere, short ones as a whole line."""
    statements = {statement for text in texts if (statement := normalise(text))}
    distinctive = sorted(statement for statement in statements if _is_long(statement))
    long, short = Substrings(distinctive), statements.difference(distinctive)

    def holds(text: str) -> bool:
        said = normalise(text)
        if long.stands_in(said):
            return True
        return bool(short) and any(normalise(line) in short for line in _statements("", text))

    return holds


def _summary_line_test(texts: Iterable[str]) -> Callable[[str], bool]:
    """Return a test of whether a summary line contains one of these, or is a part of one, such as a shortened title."""
    texts = set(texts)
    holds, said = _containment_test(texts), Substrings(sorted(filter(None, map(normalise, texts))))

    def tells(line: str) -> bool:
        plain = re.sub(r"^(?:[-#*]+\s+|title:\s+)?\"?", "", line.strip()).rstrip('…"')
        parts = [normalise(part) for part in (plain, without_label(plain))]
        return holds(line) or any(weight(part) >= LONG and said.has_part(part) for part in parts)

    return tells


def _is_long(text: str) -> bool:
    """Return whether a text is distinctive enough to match anywhere: by its length, or by a name or number in it."""
    return weight(text) >= (LONG if text.isascii() else 8) or (weight(text) >= _SHORT and bool(values_of(text)))


# --- erasing -------------------------------------------------------------------------------------


def _erase(context: Context, receipt: Receipt, texts: set[str], targets: set[str], operations: set[str]) -> Receipt:
    book = context.book
    holds, tells = _containment_test(texts), _summary_line_test(texts)
    for session in book.transcripts.sessions():
        told = "\n".join(line for line in session.summary.split("\n") if not tells(line))
        title = title_of(without_label(told.partition("\n")[0])) if tells(session.title) else session.title
        if (told, title) != (session.summary, session.title):
            book.transcripts.update(replace(session, title=title, summary="" if holds(told) else told))
    telling = frozenset(word for text in texts for word in words_of(text) if is_word(word))
    waiting = [each for each in book.journal.proposals(state=None) if says_forgotten(book, each)]
    targets |= {change["entry"]["id"] for each in waiting for change in each.changes if "entry" in change}
    counts = book.journal.purge(targets, holds, operations, lambda asked: not telling.isdisjoint(words_of(asked)))
    drop_empty(context)
    versions = book.documents.forget_versions()
    book.storage.drop_prepared()
    renew(context)
    book.rebuild()
    remains = []
    if not _vacuumed(book):
        reason = "another process is reading an old state of a database"
        book.journal.park(PARKED, kind=PARKED, payload={}, reason=reason, time=book.now())
        remains.append(f"{reason}: what it holds is overwritten when it is done, by the next purge or tidy")
    else:
        book.journal.unpark(PARKED)
    if book.transcripts.server:
        remains.append(f"the server {book.transcripts.server} may keep deleted turns in its own files and backups")
    left, searched = _find_leftovers(context, texts)
    remains += [f"it {_LEFTOVER} {path}" for path in left]
    return receipt._replace(
        journal=sum(counts.values()), versions=versions, remains=tuple(remains), searched=searched, limits=LIMITS
    )


LIMITS = (
    "it is known again by its own words alone: said in other words it may come back",
    "copies outside of this book, such as its git history and backups, are not searched",
)
"""Limits of a purge, for the receipt."""


def _vacuumed(book: Book) -> bool:
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE)
        if all([book.journal.vacuum(), book.transcripts.vacuum(), book.index.vacuum()]):
            return True
    return False


# --- looking for what is left --------------------------------------------------------------------


def _find_leftovers(context: Context, texts: Iterable[str]) -> tuple[Sequence[str], int]:
    """Return where the book still holds a text, in UTF-8, UTF-16 or JSON, and how many places were searched."""
    said = {
        part
        for text in texts
        for part in (text.strip(), title_of(text).rstrip("…"))
        if _is_long(part) and len(part.encode("utf-8", "replace")) >= 8
    }
    wanted = {form for part in said for form in _forms(part)}
    if not wanted:
        return [], 0
    return context.book.storage.leftovers(re.compile(any_of(wanted)).search, max(map(len, wanted)))


def _forms(text: str) -> Iterator[bytes]:
    yield text.encode("utf-8", "surrogatepass")
    yield text.encode("utf-16-le", "surrogatepass")
    yield text.encode("utf-16-be", "surrogatepass")
    yield json.dumps(text)[1:-1].encode()
    yield json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")
