"""Forgetting: find everything that is meant, take it out in one operation, say what went and what remains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from memorybook.answers import Receipt
from memorybook.arguments import text_of
from memorybook.errors import InvalidInput, MissingDocument, NotFound
from memorybook.formats import notes
from memorybook.formats.session_md import summary_path
from memorybook.hits import Hit, Query
from memorybook.model import Change, Drop, Entry, Remove, RemoveTurns, Session, Turn
from memorybook.recall.search import RELEVANT
from memorybook.text.splitting import split
from memorybook.text.tokens import digest
from memorybook.verbs.capture import turn_key

if TYPE_CHECKING:
    from memorybook.memory import Memory


class _Meant(NamedTuple):
    """What is to go: entries, notes as (path, line), and a session with its turns and documents."""

    entries: tuple[Entry, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    session: Session | None = None
    turns: tuple[Turn, ...] = ()
    documents: tuple[str, ...] = ()


MOST = 200
"""Entries and notes that one query forgets."""


def forget(memory: Memory, *, target: str | None, query: str | None, session: str | None, dry_run: bool) -> Receipt:
    """See `Memory.forget`."""
    if sum(given is not None and given != "" for given in (target, query, session)) != 1:
        raise InvalidInput("forget takes an id, a query or a session, exactly one of the three")
    if target:
        meant = _by_id(memory, target)
    elif query:
        meant = _by_query(memory, query)
    else:
        meant = _by_session(memory, session or "")
    receipt = Receipt(
        dry_run=dry_run,
        entries=tuple(entry.id for entry in meant.entries),
        notes=tuple(f"{path}: {line}" for path, line in meant.notes),
        sessions=1 if meant.session else 0,
        turns=len(meant.turns),
        documents=meant.documents,
        passages=len(meant.entries) + len(meant.notes) + len(meant.turns) + _passages(memory, meant.documents),
        remains=_remains(memory, meant),
    )
    if dry_run or not (meant.entries or meant.notes or meant.session):
        return receipt
    return _carry_out(memory, meant, receipt)


def _carry_out(memory: Memory, meant: _Meant, receipt: Receipt) -> Receipt:
    book = memory.book
    changes: list[Change] = [Remove(id=entry.id, reason="forgotten") for entry in meant.entries]
    changes += [Drop(path=path, line=line, reason="forgotten") for path, line in meant.notes]
    changes += [Drop(path=path, reason="forgotten") for path in meant.documents]
    if meant.session:
        changes.append(RemoveTurns(session=meant.session.uuid, reason="forgotten"))
    texts = [entry.text for entry in meant.entries] + [_said(path, line) for path, line in meant.notes]
    statements = {digest(text) for text in (*texts, *(turn.text for turn in meant.turns))}
    keys = {turn_key(turn.session, turn.id) for turn in meant.turns}
    result = book.apply(
        changes,
        actor=memory.actor,
        door=memory.door,
        session=meant.session.uuid if meant.session else None,
        kind="forget",
        bury=sorted(statements | keys),
    )
    book.index.sync(book.documents, book.transcripts)
    operation = result.operation.id if result.operation else None
    return receipt._replace(tombstones=len(statements), operation=operation)


def _said(path: str, line: str) -> str:
    note = notes.parse_line(line, day=notes.day_of(path))
    return note.text if note else line


def _by_id(memory: Memory, id: str) -> _Meant:
    entry = next((entry for entry in memory.book.entries() if entry.id == id), None)
    if entry is None:
        raise NotFound(f"no entry {id!r} in this book: see `memorybook list`")
    return _Meant((entry,))


def _by_query(memory: Memory, query: str) -> _Meant:
    """Entries and notes that are relevant to the query; turns and documents stay."""
    asked = Query(text_of(query, "query"), pool=2 * MOST, sources=frozenset({"entry", "note"}))
    hits = memory.book.search(asked, limit=MOST, min_score=RELEVANT).hits
    wanted = {hit.passage.entry for hit in hits if hit.passage.entry}
    entries = tuple(entry for entry in memory.book.entries() if entry.id in wanted)
    return _Meant(entries, tuple(_note_lines(memory, hits)))


def _note_lines(memory: Memory, hits: Iterable[Hit]) -> Iterator[tuple[str, str]]:
    for hit in hits:
        passage = hit.passage
        if passage.source == "note":
            lines = _lines(memory, passage.path)
            if passage.start_line <= len(lines):
                yield passage.path, lines[passage.start_line - 1]


def _lines(memory: Memory, path: str) -> list[str]:
    """The lines of a document, without their ends; none if there is no such document."""
    try:
        text = memory.book.documents.read(path).text
    except MissingDocument:
        return []
    return [line.removesuffix("\r") for line in text.split("\n")]


def _by_session(memory: Memory, name: str) -> _Meant:
    """A session, its entries, its summary, and the notes that were written from it and still stand."""
    book = memory.book
    try:
        session = book.transcripts.session(name)
    except NotFound:
        session = None
    uuid = session.uuid if session else name
    entries = tuple(entry for entry in book.entries() if entry.session in (uuid, name))
    written = dict.fromkeys(
        (applied.target, applied.after)
        for operation in reversed(book.journal.operations())
        if operation.session in (uuid, name)
        for applied in operation.changes
        if applied.kind == "append" and applied.after
    )
    notes = tuple((path, line) for path, line in written if line in _lines(memory, path))
    if session is None and not entries and not notes:
        raise NotFound(f"no session {name!r} in this book")
    if session is None:
        return _Meant(entries, notes)
    paths = dict.fromkeys((session.path, summary_path(session)))
    documents = tuple(path for path in paths if path and _lines(memory, path))
    return _Meant(entries, notes, session, tuple(book.transcripts.turns(uuid)), documents)


def _passages(memory: Memory, paths: Iterable[str]) -> int:
    """How many passages these documents have in the index."""
    found = 0
    for path in paths:
        read = memory.book.documents.read(path)
        found += len(split(path, read.text, read.modified).passages)
    return found


def _remains(memory: Memory, meant: _Meant) -> tuple[str, ...]:
    """Where copies are left, so that nobody takes forgetting for erasure."""
    kept = []
    if meant.entries or meant.notes or meant.session:
        kept.append("index.sqlite may keep single words, in no order, until `memorybook rebuild` makes it anew")
    if meant.entries or meant.notes or meant.documents:
        kept.append("journal.sqlite keeps what stood there before")
        kept.append("versions/ keeps the last versions for merging with an editor")
    if meant.entries:
        kept.append("MEMORY.md.bak is the document as it was before the last write")
    turns = {entry.source for entry in meant.entries if entry.source and entry.source.startswith("turn:")}
    if turns and meant.session is None:
        kept.append(f"transcripts.sqlite and the session's summary keep what was said in {', '.join(sorted(turns))}")
    return tuple(kept)
