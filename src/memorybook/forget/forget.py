"""Forget: find everything that is meant, remove it in one operation, report what went and what remains."""

from __future__ import annotations

import os
from collections.abc import Set

from memorybook import locale
from memorybook._light import TYPE_CHECKING, Collection, Iterable, Iterator, NamedTuple, lazily
from memorybook.book.transaction import is_page
from memorybook.entries.read import turn_of
from memorybook.errors import InvalidInput, MissingDocument, NotFound, Unavailable
from memorybook.exchange.export import renew
from memorybook.exchange.peer_folders import pages, session_key
from memorybook.forget.cutting import found_in_turns, plan_cut, removed_statements
from memorybook.forget.finder import Finder
from memorybook.forget.tombstones import tombstones_of, turn_key
from memorybook.forget.units import Found, Topic, merge_found
from memorybook.formats import session_md
from memorybook.formats.messages_json import CAME_IN
from memorybook.model import Change, Drop, EditTurns, Entry, RemoveTurns, Session, Turn
from memorybook.results import Receipt
from memorybook.search.search import RELEVANT
from memorybook.search.types import Hit, Query
from memorybook.sessions.summary import last_page
from memorybook.text.splitting import split
from memorybook.text.tokens import digest, query_words
from memorybook.validate import text_of, words_of

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
    words = words_of(query)
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
    source = text_of(source, "source")
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
