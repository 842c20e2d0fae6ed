"""Forgetting: find everything that is meant, take it out in one operation, say what went and what remains."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memorybook.answers import Receipt
from memorybook.errors import InvalidInput, NotFound
from memorybook.formats import notes
from memorybook.model import Change, Drop, Entry, Remove, Session
from memorybook.recall.search import RELEVANT
from memorybook.text.tokens import digest

if TYPE_CHECKING:
    from memorybook.memory import Memory


class _Meant(NamedTuple):
    """What is to go: entries, notes as (path, line text), and a session."""

    entries: tuple[Entry, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    session: Session | None = None


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
    turns = memory.book.transcripts.turns(meant.session.uuid) if meant.session else ()
    documents = (meant.session.path,) if meant.session and meant.session.path else ()
    receipt = Receipt(
        dry_run=dry_run,
        entries=tuple(entry.id for entry in meant.entries),
        notes=tuple(f"{path}: {line}" for path, line in meant.notes),
        sessions=1 if meant.session else 0,
        turns=len(turns),
        documents=documents,
        passages=len(meant.entries) + len(meant.notes) + len(turns),
        remains=_remains(memory),
    )
    if dry_run or not (meant.entries or meant.notes or meant.session):
        return receipt
    return _carry_out(memory, meant, receipt, [turn.text for turn in turns])


def _carry_out(memory: Memory, meant: _Meant, receipt: Receipt, said: Sequence[str]) -> Receipt:
    book = memory.book
    changes: list[Change] = [Remove(id=entry.id, reason="forgotten") for entry in meant.entries]
    changes += [Drop(path=path, line=line, reason="forgotten") for path, line in meant.notes]
    changes += [Drop(path=path, reason="forgotten") for path in receipt.documents]
    gone = [entry.text for entry in meant.entries]
    gone += [_said(line) for _, line in meant.notes]
    tombstones = {digest(text) for text in (*gone, *said)}
    book.journal.bury(tombstones, reason="forgotten", time=book.now())
    result = book.apply(changes, actor=memory.actor, door=memory.door) if changes else None
    if meant.session:
        book.transcripts.remove(meant.session.uuid)
    book.index.sync(book.documents, book.transcripts)
    operation = result.operation.id if result and result.operation else None
    return receipt._replace(tombstones=len(tombstones), operation=operation)


def _said(line: str) -> str:
    note = notes.parse_line(line)
    return note.text if note else line


def _by_id(memory: Memory, id: str) -> _Meant:
    entry = next((entry for entry in memory.book.entries() if entry.id == id), None)
    if entry is None:
        raise NotFound(f"no entry {id!r} in this book: see `memorybook list`")
    return _Meant((entry,))


def _by_query(memory: Memory, query: str) -> _Meant:
    """Entries and notes that are relevant to the query; turns and documents stay."""
    hits = memory.search(query, max_results=200, min_score=RELEVANT).hits
    wanted = {hit.passage.entry for hit in hits if hit.passage.entry}
    entries = tuple(entry for entry in memory.book.entries() if entry.id in wanted)
    return _Meant(entries, tuple(_note_lines(memory, hits)))


def _note_lines(memory: Memory, hits: Iterable[object]) -> list[tuple[str, str]]:
    from memorybook.hits import Hit

    found = []
    for hit in hits:
        if isinstance(hit, Hit) and hit.passage.source == "note":
            lines = memory.book.documents.read(hit.passage.path).text.splitlines()
            if hit.passage.start_line <= len(lines):
                found.append((hit.passage.path, lines[hit.passage.start_line - 1]))
    return found


def _by_session(memory: Memory, name: str) -> _Meant:
    """A session, its entries, and the notes that were written from it and still stand."""
    book = memory.book
    session = book.transcripts.session(name)
    entries = tuple(entry for entry in book.entries() if entry.session == session.uuid)
    written = [
        (applied.target, applied.after)
        for operation in book.journal.operations()
        if operation.session == session.uuid
        for applied in operation.changes
        if applied.kind == "append" and applied.after
    ]
    return _Meant(entries, tuple((path, line) for path, line in written), session)


def _remains(memory: Memory) -> tuple[str, ...]:
    """Where earlier copies are still kept, so that nobody takes forgetting for erasure."""
    machine = os.path.join(memory.root, ".memorybook")
    kept = []
    if os.path.exists(os.path.join(machine, "journal.sqlite")):
        kept.append("journal.sqlite keeps the text so that this can be undone")
    if os.path.exists(os.path.join(memory.root, "MEMORY.md.bak")):
        kept.append("MEMORY.md.bak is the document as it was before the last write")
    if os.path.isdir(os.path.join(machine, "versions")):
        kept.append("versions/ keeps the last versions for merging with an editor")
    return tuple(kept)
