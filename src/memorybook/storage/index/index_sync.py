"""From truth to index: what changed is read, split and tokenised first, then brought in by short transactions.

Nothing here is imported by a search that finds everything as it was, and `text.splitting` only to split
anew, not when a document was merely touched. Several processes may do this at
once: a transaction only carries out what was worked out from the very row that it still finds, and
otherwise leaves that document to another round.
"""

from __future__ import annotations

from collections import deque
from math import inf

from memorybook._light import TYPE_CHECKING, Callable, Iterable, Iterator, NamedTuple, suppress
from memorybook.errors import MemoryBookError, MissingDocument
from memorybook.search.types import SyncReport
from memorybook.storage.columns import Value, bindable, readable
from memorybook.storage.index import bm25
from memorybook.storage.index import index_schema as schema
from memorybook.storage.index.index_schema import listed, passages
from memorybook.storage.sqlite import Connection, Row, immediate
from memorybook.text.tokens import text_digest

if TYPE_CHECKING:
    from typing import TypeVar

    from memorybook.formats.document import Document, DocumentInfo
    from memorybook.protocols import Documents, Progress, Transcripts
    from memorybook.search.types import Passage

    T = TypeVar("T")


_SOURCE = schema.FIELDS.index("source")

BATCH = 4096
"""Passages written in one transaction: others that write wait a fraction of a second for it."""

FIRST_BATCH = 16_384
"""The same while the index never was whole, and nobody has an answer of it to lose: words are touched less often."""


_Draft = tuple[tuple[Value, ...], bytes, str]
"""A passage to be inserted: its row, its words (`Words.numbered`), and the digest of what is embedded of it.

Plain tuples, which the garbage collector looks at once and then no more, for thousands wait to be written.
"""

_DraftedTurn = tuple[str, str, str, _Draft]
"""Session, turn, the session's name, and the turn as a passage to be inserted."""


class _Plan(NamedTuple):
    """The change to one document.

    `known` is the row it was worked out from, `row` (size, stamp, hash, modified) or None to remove the document,
    `moved` the passages whose words stay, `entries` what `agent_memory` shows beyond passages (None: unchanged).
    """

    path: str
    known: Known | None
    row: tuple[int, str, str, float] | None
    gone: list[int]
    moved: list[tuple[int, Passage]]
    drafts: list[_Draft]
    entries: set[Row] | None = None

    @property
    def size(self) -> int:
        return len(self.gone) + len(self.moved) + len(self.drafts) + 1


def bring_in(
    connection: Connection,
    documents: Documents,
    transcripts: Transcripts,
    difference: Difference,
    progress: Progress | None = None,
    expect: Callable[[list[str]], None] | None = None,
) -> Outcome:
    """Apply a difference; `progress` gets the documents and turns done, `expect` the texts to be embedded."""
    brought = Outcome(schema.born(connection), progress, expect)
    if progress is not None:
        turns = transcripts.counts()["turns"] if difference.turns[0] != difference.turns[1] else 0
        brought.total = len(difference.changed) + len(difference.removed) + turns
    plans = _plans(connection, documents, difference, brought)
    for batch in _batches(connection, plans, lambda plan: plan.size):
        _carry_out(connection, batch, brought)
        brought.words = bm25.Words()
    if difference.turns[0] != difference.turns[1]:
        try:
            _bring_turns(connection, transcripts, difference.turns, brought)
        except schema.TurnsUnread as error:
            brought.degraded.append(str(error))
    if brought.settled:
        connection.execute("INSERT OR IGNORE INTO meta VALUES ('whole', 1)")
    return brought


class Outcome:
    """What one round did; `settled` is False if another process came between."""

    def __init__(self, age: str, progress: Progress | None, expect: Callable[[list[str]], None] | None) -> None:
        self.changed = self.removed = self.done = self.total = 0
        self.degraded: list[str] = []
        self.warnings: list[str] = []
        self.settled = True
        self._age = age  # ids mean something else in a database that was made anew
        self.words = bm25.Words()  # of the batch at hand
        self._progress = progress
        self._expect = expect
        self._coming: list[str] = []  # texts of drafts that nobody was told of yet

    def still(self, connection: Connection) -> bool:
        """Return whether the database is the one all was worked out from; ask in the transaction that writes."""
        same = schema.born(connection) == self._age
        self.settled = self.settled and same
        return same

    def step(self, count: int) -> None:
        """Count documents or turns as done."""
        self.done += count
        if self._progress is not None:
            self._progress(self.done, max(self.done, self.total))

    def draft(self, passage: Passage) -> _Draft:
        """Return the passage as a draft of the batch at hand."""
        from memorybook.text.splitting import dense_text, indexed_text

        dense = dense_text(passage)
        self._coming.append(dense)
        return schema.row_of(passage), self.words.numbered(indexed_text(passage)), text_digest(dense)

    def foresee(self) -> None:
        """Tell whoever embeds what is coming."""
        if self._expect is not None and self._coming:
            self._expect(self._coming)
        self._coming = []


def _batches(connection: Connection, items: Iterable[T], size: Callable[[T], int]) -> Iterator[list[T]]:
    limit = BATCH if is_whole(connection) else FIRST_BATCH
    batch: list[T] = []
    held = 0
    for item in items:
        batch.append(item)
        held += size(item)
        if held >= limit:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


# --- documents -------------------------------------------------------------------------------------


def _plans(connection: Connection, documents: Documents, difference: Difference, brought: Outcome) -> Iterator[_Plan]:
    # what another thread or process wrote and brought in since the documents were listed is not gone
    present = {info.path for info in documents.list()} if difference.removed else set()
    for path, gone in difference.removed:
        back = path in present
        if path == "MEMORY.md":
            with suppress(MemoryBookError, OSError):
                back = back or bool(documents.read(path))
        if back:
            brought.settled = False
        else:
            yield _removal(connection, path, gone)
    for info, known in difference.changed:
        try:
            plan = _plan(connection, documents, info, known, brought)
        except MissingDocument:
            plan = _removal(connection, info.path, known) if known is not None else None
        except (MemoryBookError, OSError) as error:
            kept = "its earlier text answers" if known is not None else "nothing in it can be found"
            brought.degraded.append(f"{info.path} cannot be read ({error}): {kept}")
            plan = None
        if plan is not None:
            brought.foresee()
            yield plan


def _removal(connection: Connection, path: str, known: Known) -> _Plan:
    return _Plan(path, known, None, [number for number, _ in _stored(connection, path)], [], [], set())


def _plan(
    connection: Connection, documents: Documents, info: DocumentInfo, known: Known | None, brought: Outcome
) -> _Plan | None:
    document = documents.read(info.path)
    row = (info.size, info.stamp if document.revision else "", document.revision, document.modified)
    if known is not None and (known.hash, known.modified) == row[2:]:
        return _Plan(info.path, known, row, [], [], []) if row[:2] != (known.size, known.stamp) else None
    added = _added(info.path, document.text, known) if known is not None else None
    if added is not None:
        return _Plan(info.path, known, row, [], [], [*map(brought.draft, added)])
    from memorybook.text.splitting import split

    made = split(info.path, document.text, document.modified)
    brought.warnings += made.warnings
    stored = _stored(connection, info.path) if known is not None else []
    gone, moved, fresh = _differing(stored, made.passages)
    plan = _Plan(info.path, known, row, gone, moved, [*map(brought.draft, fresh)])
    if any(passage.source == "entry" for passage in (*made.passages, *(passage for _, passage in stored))):
        plan = plan._replace(entries=_entries(info.path, document))
    return plan


def _added(path: str, text: str, known: Known) -> tuple[Passage, ...] | None:
    """Return the passages that came with what was appended, if the document is as the index has it but for that."""
    from memorybook.storage.safe_open import digest
    from memorybook.text.splitting import split_added

    data = text.encode("utf-8", "surrogatepass")
    if not 0 < known.size < len(data) or digest(data[: known.size]) != known.hash:
        return None
    before = data[: known.size].decode("utf-8", "surrogatepass")
    return split_added(path, before, text[len(before) :])


_FIELDS = "text category state last_activated pinned expires group tags links superseded_by".split()


def _entries(path: str, document: Document) -> set[Row]:
    """Return (path, id, hits, created, metadata, fields) of the entries; reads it again, but its blocks are cached.

    `fields` changes with what people change; not with the score, which fades.
    """
    from binascii import crc32
    from datetime import UTC, datetime
    from json import dumps

    from memorybook.formats import memory_md

    parsed = memory_md.parse(document.text, modified=datetime.fromtimestamp(document.modified, UTC))
    return {
        (
            bindable(path),
            bindable(entry.id),
            entry.hits,
            entry.created.isoformat() if entry.created is not None else None,
            bindable(dumps(dict(entry.metadata), ensure_ascii=False)),
            crc32(repr([getattr(entry, name) for name in _FIELDS]).encode()),
        )
        for entry in parsed.entries
    }


def _stored(connection: Connection, path: str) -> list[tuple[int, Passage]]:
    rows = connection.execute(
        f"SELECT p.id, {schema.COLUMNS} FROM passages AS p WHERE p.path=? AND p.source<>'turn' ORDER BY p.id",
        (bindable(path),),
    )
    return [(number, schema.passage_of(fields)) for number, *fields in rows]


def _differing(
    stored: list[tuple[int, Passage]], wanted: Iterable[Passage]
) -> tuple[list[int], list[tuple[int, Passage]], Iterable[Passage]]:
    """Return what to delete, to move and to insert; a passage is what is indexed and embedded of it."""
    if not stored:
        return [], [], wanted
    waiting: dict[tuple[str, str], deque[tuple[int, Passage]]] = {}
    for number, passage in stored:
        waiting.setdefault(_content(passage), deque()).append((number, passage))
    moved: list[tuple[int, Passage]] = []
    fresh: list[Passage] = []
    for passage in wanted:
        same = waiting.get(_content(passage))
        if not same:
            fresh.append(passage)
            continue
        number, before = same.popleft()
        if before != passage:
            moved.append((number, passage))
    return [number for same in waiting.values() for number, _ in same], moved, fresh


def _content(passage: Passage) -> tuple[str, str]:
    """Return what is indexed and what is embedded of a passage."""
    from memorybook.text.splitting import dense_text, indexed_text

    return indexed_text(passage), dense_text(passage)


def _carry_out(connection: Connection, plans: list[_Plan], brought: Outcome) -> None:
    with immediate(connection):
        known = plans if brought.still(connection) else []
        current = [plan for plan in known if _known(connection, plan.path) == plan.known]
        for plan in current:
            _record(connection, plan)
        _delete(connection, [number for plan in current for number in plan.gone])
        _move(connection, [moved for plan in current for moved in plan.moved])
        _insert(connection, brought.words, [draft for plan in current for draft in plan.drafts])
    brought.settled = brought.settled and len(current) == len(plans)
    brought.removed += sum(plan.row is None for plan in current)
    restamped = sum(
        plan.known is not None and plan.row is not None and plan.known.hash == plan.row[2] for plan in current
    )
    brought.changed += sum(plan.row is not None for plan in current) - restamped
    brought.step(len(plans))


def _record(connection: Connection, plan: _Plan) -> None:
    path = bindable(plan.path)
    connection.execute("DELETE FROM known_documents WHERE path=?", (path,))
    if plan.row is not None:
        size, stamp, content, modified = plan.row
        connection.execute(
            "INSERT INTO known_documents (path, size, stamp, hash, modified) VALUES (?, ?, ?, ?, ?)",
            (path, size, stamp, content, modified),
        )
    if plan.entries is not None:
        from datetime import UTC, datetime

        held = "path, entry, hits, created, metadata, fields"
        stored = set(connection.execute(f"SELECT {held} FROM entries WHERE path=?", (path,)))
        gone = [row[:2] for row in stored - plan.entries]
        connection.executemany("DELETE FROM entries WHERE path=? AND entry=?", gone)
        changed = plan.row and plan.known and datetime.fromtimestamp(plan.row[3], UTC).isoformat()
        rows = [(*row, changed) for row in plan.entries - stored]
        connection.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


# --- turns -----------------------------------------------------------------------------------------


def _bring_turns(
    connection: Connection, transcripts: Transcripts, revisions: tuple[int | None, int | None], brought: Outcome
) -> None:
    """Bring in turns since the index's revision; all of them, and no others, if it is ahead of the transcripts."""
    from memorybook.text.splitting import turn_passage

    before, now = revisions
    if now is None:  # there are transcripts that cannot be read
        return
    afresh = before is not None and now < before
    changes = schema.changes_of(transcripts, 0 if afresh or before is None else before)
    drafted = (
        (session.uuid, turn.id, session.name, brought.draft(turn_passage(session, turn)))
        for session, turn in changes.turns
    )
    present: set[tuple[str, str]] = set()
    for batch in _batches(connection, drafted, lambda _: 1):
        brought.foresee()
        with immediate(connection):
            if not brought.still(connection):  # what was placed before is gone, and will have to be placed again
                return
            _place_turns(connection, brought.words, batch)
        present.update((session, turn) for session, turn, _, _ in batch)
        brought.words = bm25.Words()
        brought.step(len(batch))
    removed = set(changes.removed)
    with immediate(connection):
        if not brought.still(connection):
            return
        if afresh:
            rows = connection.execute("SELECT session, turn FROM passages WHERE source='turn'")
            removed |= {(readable(session), readable(turn)) for session, turn in rows}
        _delete(connection, [number for number, _ in _turn_rows(connection, removed - present).values()])
        brought.settled = brought.settled and _revision(connection) == before
        # another process finished meanwhile, and this may have put older turns over its newer ones: once more
        revision = changes.revision if _revision(connection) == before else before
        noted = "INSERT INTO meta VALUES ('turns', ?) ON CONFLICT (name) DO UPDATE SET value=excluded.value"
        connection.execute(noted, (revision,))
    brought.changed += len({session for session, _ in removed | present} if not afresh else {s for s, _ in present})


def _place_turns(connection: Connection, words: bm25.Words, batch: list[_DraftedTurn]) -> None:
    """Insert what is new and replace what is different, whoever stored it."""
    names = {bindable(session): bindable(name) for session, _, name, _ in batch}
    connection.executemany(
        "INSERT INTO session_names VALUES (?, ?) ON CONFLICT (uuid) DO UPDATE SET name=excluded.name", [*names.items()]
    )
    gone: list[int] = []
    moved: list[tuple[int, Passage]] = []
    fresh: dict[tuple[str, str], _Draft] = {}
    known = _turn_rows(connection, [(session, turn) for session, turn, _, _ in batch])
    for session, turn, _, draft in batch:
        number, stored = known.get((session, turn), (0, None))
        if stored is None:
            fresh[session, turn] = draft
        elif _content(stored) == _content(passage := schema.passage_of(draft[0])):
            moved += [(number, passage)] if stored != passage else []
        else:
            gone.append(number)
            fresh[session, turn] = draft
    _delete(connection, gone)
    _move(connection, moved)
    _insert(connection, words, list(fresh.values()))


def _turn_rows(connection: Connection, keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], tuple[int, Passage]]:
    """Return those of these turns (session, turn) that are there, with their ids."""
    rows = connection.executemany(
        f"SELECT p.session, p.turn, p.id, {schema.COLUMNS} FROM passages AS p"
        " WHERE p.session=? AND p.turn=? AND p.source='turn'",
        [(bindable(session), bindable(turn)) for session, turn in keys],
    )
    return {(readable(session), readable(turn)): (id, schema.passage_of(row)) for session, turn, id, *row in rows}


def _revision(connection: Connection) -> int | None:
    row = connection.first(schema.NOTED, ("turns",))
    return row[0] if row is not None else None


# --- passages and their words ----------------------------------------------------------------------


def _delete(connection: Connection, numbers: list[int]) -> None:
    if not numbers:
        return
    from memorybook.text.splitting import indexed_text

    gone = listed(numbers)
    held = passages(connection, numbers)
    words = bm25.Words()
    bm25.remove(connection, words, {number: words.numbered(indexed_text(held[number])) for number in held})
    texts = listed(
        text
        for (text,) in connection.execute(
            "SELECT DISTINCT dense FROM passages WHERE id IN (SELECT value FROM json_each(?))", (gone,)
        )
    )
    for table, key in (("words", "rowid"), ("passages", "id")):
        connection.execute(f"DELETE FROM {table} WHERE {key} IN (SELECT value FROM json_each(?))", (gone,))
    connection.execute(
        "DELETE FROM pending WHERE text IN (SELECT value FROM json_each(?))"
        " AND NOT EXISTS (SELECT 1 FROM passages WHERE dense=pending.text)",
        (texts,),
    )


def _move(connection: Connection, moved: list[tuple[int, Passage]]) -> None:
    names, marks = ", ".join(schema.FIELDS), ", ".join("?" * len(schema.FIELDS))
    rows = [[*schema.row_of(passage), number] for number, passage in moved]
    connection.executemany(f"UPDATE passages SET ({names})=({marks}) WHERE id=?", rows)


def _insert(connection: Connection, words: bm25.Words, drafts: list[_Draft]) -> None:
    if not drafts:
        return
    texts: dict[str, int] = dict(  # the number of each text that is embedded, given now or long ago
        connection.execute(
            "INSERT INTO texts (digest) SELECT value FROM json_each(?) WHERE true"
            " ON CONFLICT (digest) DO UPDATE SET digest=excluded.digest RETURNING digest, id",
            ('["' + '","'.join({digest for _, _, digest in drafts}) + '"]',),
        )
    )
    last = schema.counted_up(connection, "last", len(drafts))
    numbered = [*enumerate(drafts, last - len(drafts) + 1)]
    marks = ", ".join("?" * (len(schema.FIELDS) + 2))
    connection.executemany(
        f"INSERT INTO passages (id, dense, {', '.join(schema.FIELDS)}) VALUES ({marks})",
        ((number, texts[digest], *row) for number, (row, _, digest) in numbered),
    )
    bm25.add(connection, words, {number: held for number, (_, held, _) in numbered})
    entries = [(number, held) for number, (row, held, _) in numbered if row[_SOURCE] == "entry"]
    known = words.all() if entries else []
    connection.executemany(
        "INSERT INTO words (rowid, text) VALUES (?, ?)",
        [(number, " ".join([known[word] for word in memoryview(held).cast("I")])) for number, held in entries],
    )
    connection.execute(
        "INSERT OR IGNORE INTO pending SELECT models.id, new.value FROM models, json_each(?) AS new WHERE NOT EXISTS"
        " (SELECT 1 FROM embeddings WHERE model=models.id AND text=new.value)",
        (listed(set(texts.values())),),
    )


LEFT = "the index is far behind: what changed since is not found before memorybook sync"
"""Why a sync that may not take long has brought nothing in."""

ROUNDS = 8
"""How often a sync starts over because another process brought in the same documents meanwhile."""

DOCUMENT = 2_000
"""What a document costs that changed, in bytes of text that are new: it is read, compared, and its row written."""

TURN = 200
"""The same for a turn."""


class Known(NamedTuple):
    """A document as the index has it; another `id` means that somebody brought it in anew."""

    id: int
    size: int
    stamp: str
    hash: str
    modified: float


class Difference(NamedTuple):
    """What differs between the documents and the index.

    `turns` holds the transcripts' revision in the index and now; `degraded` says why turns cannot be compared.
    """

    checked: int
    changed: list[tuple[DocumentInfo, Known | None]]
    removed: list[tuple[str, Known]]
    turns: tuple[int | None, int | None]
    degraded: tuple[str, ...] = ()

    @property
    def nothing(self) -> bool:
        """True if they agree."""
        return not self.changed and not self.removed and self.turns[0] == self.turns[1]

    def is_more(self, than: float, transcripts: Transcripts) -> bool:
        """Return whether indexing it costs more than so many bytes of new text."""
        cost = sum(DOCUMENT + known.size for _, known in self.removed)
        cost += sum(DOCUMENT + abs(info.size - (known.size if known else 0)) for info, known in self.changed)
        before, now = self.turns
        if cost > than or before == now or now is None:
            return cost > than
        with suppress(schema.TurnsUnread):
            for _, turn in schema.changes_of(transcripts, before if before is not None and before < now else 0).turns:
                cost += TURN + len(turn.text)
                if cost > than:
                    return True
        return False


class Table:
    """The index's rows of documents, kept while nobody else writes; serves one index, safe between threads."""

    def __init__(self) -> None:
        self._version: tuple[object, int] | None = None
        self._rows: set[tuple[Value, int, str]] = set()
        self._agreed: set[DocumentInfo] = set()
        self._seen: tuple[Documents, int | None] | None = None

    def compare(
        self, db: Connection, documents: Documents
    ) -> tuple[int, list[tuple[DocumentInfo, Known | None]], list[tuple[str, Known]]]:
        """Return how many documents there are, those that may have changed and those that are gone, with their rows."""
        revision = documents.revision()  # before the listing, which may know more
        with db.lock:
            if revision is not None and self._seen == (documents, revision) and db.version() == self._version:
                return len(self._agreed), [], []
        listed = tuple(documents.list())
        with db.lock:
            version = db.version()
            if version != self._version:
                self._rows = set(db.execute("SELECT path, size, stamp FROM known_documents"))
                self._version, self._agreed = version, set()
            # an empty stamp vouches for nothing
            others = (info for info in listed if info not in self._agreed)
            suspects = [info for info in others if not info.stamp or not self._has(info)]
            changed = [(info, _known(db, info.path) if self._rows else None) for info in suspects]
            present = len(listed) - sum(known is None for _, known in changed)
            gone = []
            if present < len(self._rows):
                paths = {info.path for info in listed}
                stored = {readable(path): path for path, *_ in self._rows}
                gone = [(path, known) for path in stored.keys() - paths if (known := _known(db, path))]
            self._agreed = set(listed).difference(suspects)
            self._seen = None if changed or gone else (documents, revision)
        return len(listed), changed, gone

    def _has(self, info: DocumentInfo) -> bool:
        """Return whether there is such a row; SQLite holds a path that UTF-8 cannot say as bytes."""
        return info[:3] in self._rows or (bindable(info.path), info.size, info.stamp) in self._rows

    def refresh(self, db: Connection, known: Iterable[tuple[str, Known | None]]) -> None:
        """Look at these documents' rows anew, which were as given before something was brought in."""
        with db.lock:
            for path, before in known:
                bound = bindable(path)
                if before is not None:
                    self._rows.discard((bound, before.size, before.stamp))
                if now := _known(db, path):
                    self._rows.add((bound, now.size, now.stamp))


def bring_up_to_date(
    db: Connection,
    documents: Documents,
    transcripts: Transcripts,
    progress: Progress | None = None,
    *,
    table: Table | None = None,
    expect: Callable[[list[str]], None] | None = None,
    most: float = inf,
) -> SyncReport:
    """Index the words of all that changed; vectors are not touched.

    `table` is what an earlier call left; `expect` gets the texts to be embedded as soon as they are known. What is more
    than `most` is left to a later call, and the report says `LEFT`.
    """
    table = table or Table()
    changed = removed = 0
    warnings: list[str] = []
    degraded = [f"documents change faster than they can be read: some are not up to date after {ROUNDS} rounds"]
    for _ in range(ROUNDS):
        difference = _difference(db, table, documents, transcripts)
        if difference.nothing and is_whole(db):
            degraded = []
            break
        if most < inf and difference.is_more(most, transcripts):
            degraded = [LEFT]
            break

        brought = bring_in(db, documents, transcripts, difference, progress, expect)
        table.refresh(db, ((info.path, known) for info, known in difference.changed))
        table.refresh(db, difference.removed)
        changed, removed = changed + brought.changed, removed + brought.removed
        warnings += brought.warnings
        if brought.settled:
            degraded = brought.degraded
            break
    reasons = (*difference.degraded, *degraded)
    return SyncReport(difference.checked, changed, removed, 0, reasons, tuple(dict.fromkeys(warnings)))


def is_whole(db: Connection) -> bool:
    """Return whether a sync ever came to its end, so that nothing is missing but what changed since."""
    return db.first(schema.NOTED, ("whole",)) is not None


def _difference(db: Connection, table: Table, documents: Documents, transcripts: Transcripts) -> Difference:
    checked, changed, gone = table.compare(db, documents)
    row = db.first(schema.NOTED, ("turns",))
    before = row[0] if row is not None else None
    now, degraded = schema.revision_of(transcripts, before)
    return Difference(checked, changed, gone, (before, now), degraded)


def _known(db: Connection, path: str) -> Known | None:
    row = db.first("SELECT id, size, stamp, hash, modified FROM known_documents WHERE path=?", (bindable(path),))
    return Known(*row) if row is not None else None
