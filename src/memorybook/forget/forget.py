"""Forget: find everything that is meant, remove it in one operation, report what went and what remains.

Purge: overwrite what was forgotten wherever a copy of it was, then search for leftovers.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memorybook import locale, validate
from memorybook._light import NamedTuple, lazily
from memorybook.book.transaction import is_page
from memorybook.entries.read import turn_of
from memorybook.entries.review import says_forgotten
from memorybook.errors import InvalidInput, MissingDocument, NotFound, Unavailable
from memorybook.exchange.export import renew
from memorybook.exchange.peer_folders import pages, session_key
from memorybook.forget.cutting import LONG, found_in_turns, lost_statements, plan_cut, removed_statements, weight
from memorybook.forget.finder import SAME, Finder
from memorybook.forget.tombstones import tombstones_of, turn_key, without_label
from memorybook.forget.units import Found, Substrings, Topic, any_of, is_word, merge_found, values_of, words_of
from memorybook.formats import changes_json, memory_md, session_md
from memorybook.formats.messages_json import CAME_IN
from memorybook.model import Applied, Change, Drop, EditTurns, Entry, Operation, RemoveTurns, Session, Turn
from memorybook.results import Receipt
from memorybook.search.search import RELEVANT
from memorybook.search.types import Hit, Query
from memorybook.sessions.memorize import drop_empty, forgotten_in_queue
from memorybook.sessions.summarize import title_of
from memorybook.sessions.summary import last_page
from memorybook.text.splitting import split
from memorybook.text.tokens import digest, normalise, query_words

if TYPE_CHECKING:
    from memorybook.book.book import Book
    from memorybook.context import Context


class Targets(NamedTuple):
    """What a forget request selects.

    Attributes:
        entries: Entries.
        notes: Notes as (path, line).
        sessions: Whole sessions.
        turns: Whole turns, those of the sessions included.
        documents: Paths of whole documents.
        found: Clauses of turns that say the same, and summaries of them.
    """

    entries: tuple[Entry, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    sessions: tuple[Session, ...] = ()
    turns: tuple[Turn, ...] = ()
    documents: tuple[str, ...] = ()
    found: Found = Found()

    def __bool__(self) -> bool:
        return any(map(bool, self))

    @property
    def texts(self) -> set[str]:
        """The texts of everything selected, except whole documents."""
        said = [entry.text for entry in self.entries] + [_note_text(path, line) for path, line in self.notes]
        return {*said, *(turn.text for turn in self.turns), *removed_statements(self.found)}


MOST = 200
"""Most entries and notes that one query forgets."""


def forget(
    context: Context,
    *,
    target: str | None = None,
    query: str | None = None,
    session: str | None = None,
    source: str | None = None,
    dry_run: bool = False,
) -> Receipt:
    """See `Memory.forget`.

    `source` is a turn (`turn:ID`, `turn:SESSION/ID`), a document of the book, another machine (`node:NAME`), or an
    imported file; it is forgotten together with what was remembered from it.
    """
    meant = select_targets(context, target=target, query=query, session=session, source=source)
    receipt = receipt_of(context, meant, dry_run=dry_run)._replace(remains=_remains(context, meant))
    return receipt if dry_run or not meant else carry_out(context, meant, receipt, kind="forget")


def select_targets(
    context: Context, *, target: str | None, query: str | None, session: str | None, source: str | None
) -> Targets:
    """Return what one of these selects. Raises InvalidInput unless exactly one is given, NotFound."""
    if sum(given is not None and given != "" for given in (target, query, session, source)) != 1:
        raise InvalidInput("give an id, a query, a session or a source: exactly one of the four")
    if target:
        return _by_id(context, target)
    if query:
        return _by_query(context, query)
    return _by_session(context, session) if session else _by_source(context, source or "")


def receipt_of(context: Context, meant: Targets, *, dry_run: bool) -> Receipt:
    """Return the receipt with the counts of what is selected."""
    turns = {(turn.session, turn.id) for turn in meant.turns} | meant.found.cuts.keys()
    passages = len(meant.entries) + len(meant.notes) + len(turns) + _passages(context, meant.documents)
    whole = {session.uuid for session in meant.sessions}
    hot = context.book.memory()
    return Receipt(
        dry_run=dry_run,
        entries=tuple(entry.id for entry in meant.entries),
        notes=tuple(f"{path}: {line}" for path, line in meant.notes),
        sessions=len(meant.sessions),
        turns=len(turns),
        documents=meant.documents,
        archive=sum(hot.get(entry.id) is None for entry in meant.entries),
        passages=passages,
        vectors=passages if context.embedder is not None else 0,
        places=tuple(f"turn:{session}/{id}" for session, id in sorted(turns) if session not in whole),
    )


def carry_out(context: Context, meant: Targets, receipt: Receipt, *, kind: str) -> Receipt:
    """Remove what is selected, and what mentions it, in one operation of that kind. Raises Unavailable."""
    book = context.book
    whole = {session.uuid for session in meant.sessions}
    single = {(turn.session, turn.id): turn for turn in meant.turns if turn.session not in whole}
    found = merge_found([meant.found, found_in_turns(single.values())])
    found = found._replace(entries=meant.entries, notes=meant.notes)
    done = plan_cut(context, found, reason="forgotten", without=meant.documents)
    changes: list[Change] = [*done.changes]
    changes += [Drop(path=path, reason="forgotten") for path in meant.documents]
    changes += [RemoveTurns(session=uuid, reason="forgotten") for uuid in whole if _stored(context, uuid) is not None]
    changes = [each for each in changes if not (isinstance(each, EditTurns) and each.session in whole)]
    statements = {digest(text) for text in meant.texts}
    said = tombstones_of(context, meant.entries, lines=(line for _, line in meant.notes), turns=single.values())
    keys = {turn_key(turn.session, turn.id) for turn in meant.turns} | set(_session_keys(context, meant))
    result = book.apply(
        changes,
        actor=context.actor,
        door=context.door,
        session=meant.sessions[0].uuid if len(meant.sessions) == 1 else None,
        kind=kind,
        bury=sorted(statements | said | keys | (done.bury if meant.found or single else frozenset())),
    )
    operation = result.operation.id if result.operation else None
    try:
        book.storage.drop_prepared()
        renew(context)
        book.index.sync(book.documents, book.transcripts)
    except Unavailable as error:
        raise Unavailable(f"that is done (operation {operation}), but a copy may still show it: {error}") from error
    return receipt._replace(tombstones=len(statements), operation=operation)


def _session_keys(context: Context, meant: Targets) -> Iterator[str]:
    """Yield tombstones of the sessions, for other machines' summaries, and of turns that only the journal knows."""
    paths = [path for path in meant.documents if path[:9] == "sessions/"]
    told = [session_md.parse("\n".join(lines_of(context.book, path))) for path in paths]
    sessions = {*(session.uuid for session in meant.sessions), *(each.session for each in told)}
    for session in filter(None, sessions):
        yield session_key(session)
        if not context.config.transcripts.enabled:
            yield from context.book.journal.all_memorized(session)


def _note_text(path: str, line: str) -> str:
    note = session_md.parse_line(line, day=session_md.day_of(path))
    return note.text if note else line


def _by_id(context: Context, id: str) -> Targets:
    entry = next((entry for entry in context.book.entries() if entry.id == id), None)
    if entry is None:
        raise locale.error(NotFound, "problems.no_entry_to_forget", name=repr(id))
    return _targets_from(Finder(context, [entry.text]).saying([entry.text], entries=[(entry, "")]))


def _by_query(context: Context, query: str) -> Targets:
    """Select every copy of the query if it is a statement of the book, else what is relevant to it."""
    words = validate.words_of(query)
    if _STATEMENT.match(query) and (same := Finder(context, [query]).saying([query])):
        return _targets_from(same)
    asked = Query(words, pool=2 * MOST, sources=frozenset({"entry", "note"}))
    hits = context.book.search(asked, limit=MOST, min_score=RELEVANT).hits
    wanted = {hit.passage.entry for hit in hits if hit.passage.entry}
    known = context.book.entries()
    entries = [entry for entry in known if entry.id in wanted]
    lines = [line for _, line in _note_lines(context, hits)]
    texts = [query, *(hit.passage.text for hit in hits if hit.passage.source == "note")]
    finder = Finder(context, [*texts, *(entry.text for entry in entries)], entries=known)
    topic = Topic(frozenset(query_words(words)))
    return _targets_from(merge_found([finder.about(topic, entries=entries), finder.saying(texts, lines=lines)]))


_STATEMENT = lazily(r"(?i)\s*(?:I\b|the user (?!['’])|我(?![的们])|用户(?!的))")
"""How a query begins that is a statement about the user, not a topic."""


def _targets_from(found: Found) -> Targets:
    return Targets(found.entries, found.notes, found=found)


def _note_lines(context: Context, hits: Iterable[Hit]) -> Iterator[tuple[str, str]]:
    for hit in hits:
        passage = hit.passage
        if passage.source == "note":
            lines = lines_of(context.book, passage.path)
            if passage.start_line <= len(lines):
                yield passage.path, lines[passage.start_line - 1]


def lines_of(book: Book, path: str) -> list[str]:
    """Return the lines of a document without their ends; [] if there is no such document."""
    try:
        text = book.documents.read(path).text
    except (MissingDocument, InvalidInput):
        return []
    return [line.removesuffix("\r") for line in text.split("\n")]


def _by_session(context: Context, name: str) -> Targets:
    """Select a session, its entries, its page, and the notes written from it. Raises NotFound.

    Its turns are those in the transcripts and those that only the queue keeps until they are memorized.
    """
    from memorybook.sessions.memorize import kept_in_queue

    book = context.book
    waiting = kept_in_queue(context, name)
    found = _stored(context, name) or (waiting.session if waiting else None)
    session = found or Session(uuid=name)
    turns = {turn.id: turn for turn in (*(waiting.turns if waiting else ()), *book.transcripts.turns(session.uuid))}
    told = [page.path for page in pages(book) if page.summary.session in (session.uuid, name)]
    paths = dict.fromkeys((last_page(context, session).path, session_md.summary_path(session), *told))
    meant = Targets(
        tuple(entry for entry in book.entries() if entry.session in (session.uuid, name)),
        _notes_of(context, {session.uuid, name}),
        (found,) if found else (),
        tuple(turns.values()),
        tuple(path for path in paths if lines_of(context.book, path)),
    )
    if not meant:
        raise locale.error(NotFound, "problems.no_session", name=repr(name))
    return meant


def _stored(context: Context, name: str) -> Session | None:
    """Return the session of this uuid or name from the transcripts, or None."""
    try:
        return context.book.transcripts.session(name)
    except NotFound:
        return None


def _notes_of(context: Context, sessions: Set[str | None], reason: str = "") -> tuple[tuple[str, str], ...]:
    """Return existing notes, as (path, line), that these sessions wrote (None: all), only for `reason` if given."""
    written = dict.fromkeys(
        (applied.target, applied.after)
        for name in sessions
        for operation in reversed(context.book.journal.operations(session=name))
        for applied in operation.changes
        if applied.kind == "append" and applied.after and (not reason or applied.reason == reason)
    )
    return tuple((path, line) for path, line in written if line in lines_of(context.book, path))


def _by_source(context: Context, source: str) -> Targets:
    """Select a turn, a document, another machine or an imported file, with what was remembered from it."""
    source = validate.text_of(source, "source")
    if source.startswith("turn:"):
        return _by_turn(context, source.removeprefix("turn:"))
    book = context.book
    name = os.path.basename(source.removeprefix("import:"))
    sessions = [each for each in book.transcripts.sessions() if each.source in (source, f"import:{name}")]
    found = [_by_session(context, session.uuid) for session in sessions]
    found += [_by_turn(context, f"{turn.session}/{turn.id}") for turn in _later_turns(context, f"import:{name}")]
    found.append(Targets(notes=_notes_of(context, {None}, f"imported from {name}")))
    entries = [
        entry for entry in book.entries() if (entry.source or "").partition("#")[0] in (source, f"import:{name}")
    ]
    if source.startswith("node:"):
        told = [page.path for page in pages(book) if page.node == source.removeprefix("node:")]
        found.append(Targets(documents=tuple(told)))
    if lines_of(context.book, source) and not is_page(source):
        found.append(Targets(documents=(source,)))
    if not any(found) and not entries:
        raise locale.error(NotFound, "problems.nothing_from", source=repr(source))
    return merge_targets([Targets(tuple(entries)), *found])


def _later_turns(context: Context, source: str) -> Iterator[Turn]:
    """Yield the turns that a file added to sessions of earlier imports."""
    transcripts = context.book.transcripts
    for session in transcripts.sessions(turn_ids=False):
        if session.source.startswith("import:") and session.source != source:
            yield from (turn for turn in transcripts.each_turn(session.uuid) if turn.metadata.get(CAME_IN) == source)


def _by_turn(context: Context, name: str) -> Targets:
    book = context.book
    turn = turn_of(book, name)
    entries = tuple(e for e in book.entries() if e.source == f"turn:{turn.id}" and e.session in (None, turn.session))
    written = _notes_of(context, {turn.session}, f"said in turn:{turn.id}")
    return Targets(entries, written, (), (turn,))


def merge_targets(parts: Iterable[Targets]) -> Targets:
    """Merge several selections into one without duplicates."""
    parts = list(parts)
    entries: dict[str, Entry] = {}
    written: dict[tuple[str, str], None] = {}
    sessions: dict[str, Session] = {}
    turns: dict[tuple[str, str], Turn] = {}
    documents: dict[str, None] = {}
    for part in parts:
        entries |= {entry.id: entry for entry in part.entries}
        written |= dict.fromkeys(part.notes)
        sessions |= {session.uuid: session for session in part.sessions}
        turns |= {(turn.session, turn.id): turn for turn in part.turns}
        documents |= dict.fromkeys(part.documents)
    left = tuple(note for note in written if note[0] not in documents)
    found = merge_found(part.found for part in parts)
    return Targets(
        tuple(entries.values()), left, tuple(sessions.values()), tuple(turns.values()), tuple(documents), found
    )


def _passages(context: Context, paths: Iterable[str]) -> int:
    """Return the number of passages these documents have in the index."""
    found = 0
    for path in paths:
        read = context.book.documents.read(path)
        found += len(split(path, read.text, read.modified).passages)
    return found


BEFORE = "what was true before stays, as no longer so"
"""How a receipt introduces an entry that was replaced by a forgotten one."""


def replaced_by(context: Context, ids: Collection[str]) -> tuple[str, ...]:
    """Return the texts of the entries that these ones had replaced."""
    replaced = [entry for entry in context.book.entries() if entry.superseded_by] if ids else []
    return tuple(entry.text for entry in replaced if entry.superseded_by in ids and entry.id not in ids)


def _remains(context: Context, meant: Targets) -> tuple[str, ...]:
    """Return where copies remain, so that nobody takes forgetting for erasure."""
    kept = [
        f"what else it says stays: {text.strip()} ({place if isinstance(place, str) else place[0]})"
        for place, text in meant.found.left.items()
    ]
    gone = {entry.id for entry in meant.entries} - meant.found.left.keys()
    kept += [f"{BEFORE}: {text}" for text in replaced_by(context, gone)]
    if meant.entries or meant.notes or meant.turns:
        kept.append("the index may keep single words, in no order, until `memorybook rebuild` makes it anew")
    if meant:
        kept.append("the journal keeps what stood there before, until `memorybook purge`")
    touched = ["MEMORY.md"] * bool(meant.entries) + ["notes"] * bool(meant.notes or meant.documents)
    kept += context.book.documents.remains(touched)
    return tuple(kept)


# --- purge: forget, and erase what is left of it --------------------------------------------------


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
