"""The index in SQLite: words by BM25, vectors by scan or sqlite-vec, rebuilt from the documents when it is damaged."""

from __future__ import annotations

import os
from _thread import allocate_lock
from itertools import islice
from math import inf
from time import time

import apsw

from memorybook._light import (
    TYPE_CHECKING,
    Any,
    Callable,
    Collection,
    Iterable,
    Mapping,
    NamedTuple,
    Sequence,
    suppress,
)
from memorybook.errors import EmbedderFailed, Unavailable
from memorybook.search.types import Candidate, Candidates, Passage, Query, SyncReport
from memorybook.storage.columns import Value, bindable, readable
from memorybook.storage.index import bm25, vector_files
from memorybook.storage.index import index_schema as schema
from memorybook.storage.index.index_sync import LEFT, ROUNDS, TURN, Table, bring_up_to_date, is_whole
from memorybook.storage.index.vectors import Question, discard, stamp_of
from memorybook.storage.sqlite import Connection, checkpoint, connect, immediate, reading
from memorybook.text.tokens import query_words

if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")

    from memorybook.protocols import Documents, Embedder, Progress, Transcripts


TRIED = 8
"""How many times the pool the best passages are looked at in search of those that a query admits."""

KEPT = 16_384
"""Passages kept in memory from one search to the next, the last ones read, about a kilobyte each."""


class SqliteIndex:
    """`Index` in one SQLite file beside a few vector files; all of it may be deleted at any moment.

    A file that is missing, damaged or of another version is rebuilt from the documents and transcripts of the last
    `sync`. Safe to share between threads and processes. Any method may raise Unavailable.

    For people who like SQL, the view `agent_memory` shows the entries: `id, session_id, memory_type, content, vector`
    (little-endian float32), `importance` (the score), `access_count`, `last_accessed`, `metadata` (JSON), `created_at,
    updated_at, passage`. Full text: `passage IN (SELECT rowid FROM words WHERE words MATCH '"word"')` with words as
    `text.tokens` makes them. Writing to it changes nothing: it is rebuilt from the documents.

    Args:
        path: The database file; it and its folder are created when needed.
        embedder: None for words alone; its `close` is called with this one's.
        words_only: Search by words although there is an embedder.
        vectors_dir: Folder of the vector files; None for the database's own.
        sqlite_vec: A sqlite-vec library to search vectors with; "" for the built-in scan.
    """

    def __init__(
        self,
        path: str,
        *,
        embedder: Embedder | None = None,
        words_only: bool = False,
        vectors_dir: str | None = None,
        sqlite_vec: str = "",
    ) -> None:
        self._path = os.path.abspath(path)
        self._embedder = None if words_only else embedder
        folder, name = os.path.split(self._path)
        self._vectors = vector_files.Vectors(vectors_dir or folder, name)
        self._extension = VecExtension(sqlite_vec) if self._embedder is not None and sqlite_vec else None
        self._opened: _Opened | None = None
        self._opening = allocate_lock()
        self._age: str | None = None
        self._truth: tuple[Documents, Transcripts] | None = None
        self.most = inf
        """Bytes of new text, about, that a sync brings in; it leaves more (see `Difference.is_more`)."""
        self.behind = False
        """Whether the last sync left something."""
        self._blank = False
        self._table = Table()
        self._rows = _Rows()

    # --- the seam ---

    def sync(self, documents: Documents, transcripts: Transcripts) -> SyncReport:
        """Bring in what changed since the last time, whoever changed it and in whatever way."""
        self._truth = (documents, transcripts)
        self._blank = (
            self._absent and not schema.revision_of(transcripts, None)[0] and not any(True for _ in documents.list())
        )
        if self._blank:
            return SyncReport()
        self._let_go_of_replaced()
        return self._mended(lambda db: self._sync(db, documents, transcripts))

    def candidates(self, query: Query) -> Candidates:
        """Return what both legs find, as of the last sync, all from one snapshot."""
        if self._blank and self._absent:
            return Candidates((), (), {}, None, "sqlite_fts" if self._embedder is None else "sqlite_hybrid")
        return self._mended(lambda db: self._find(db, query))

    def turns(self, spans: Iterable[tuple[str, int, int]]) -> Sequence[Passage]:
        """Return turns of sessions (uuid), see `Index.turns`."""
        if self._blank and self._absent:
            return ()
        wanted = list(spans)
        return self._mended(lambda db: self._turns(db, wanted)) if wanted else ()

    def entries(
        self, ids: Collection[str] = (), *, turns: Collection[tuple[str, str]] = (), query: Query | None = None
    ) -> Sequence[Passage]:
        """Return entries by id or turn, see `Index.entries`."""
        if self._blank and self._absent:
            return ()
        return self._mended(lambda db: _entries(db, ids, turns, query)) if ids or turns else ()

    def embed_pending(self, *, limit: int | None = None, progress: Progress | None = None) -> int:
        """Embed up to `limit` waiting texts; return how many passages still wait.

        Raises EmbedderFailed; what was embedded before stays, and searches leave a remote embedder alone for 30 s.
        """

        def embed(db: Connection) -> int:
            if self._embedder is None:
                return 0
            vector_files.embed_pending(db, self._embedder, self._vectors, limit=limit, progress=progress)
            return vector_files.pending(db, self._model(db))

        return self._mended(embed)

    def rebuild(
        self, documents: Documents, transcripts: Transcripts, *, progress: Progress | None = None
    ) -> SyncReport:
        """Rebuild it beside the old one, which answers meanwhile, and exchange them at once.

        Vectors of texts that still exist are kept, for the model in use if one is.
        """
        self._truth = (documents, transcripts)
        self._let_go_of_replaced()

        def made_anew(db: Connection) -> SyncReport:
            model = self._model(db)
            kept = model is not None and vector_files.any_vector(db, model)  # then none are to be made
            expect = None if kept else getattr(self._embedder, "expect", None)
            name = self._embedder.name if self._embedder is not None else None
            return rebuild(db, documents, transcripts, progress, expect, name)

        report = self._mended(made_anew)
        self._vectors.forget()
        self._table, self._rows = Table(), _Rows()
        self._mended(self._vectors.discard_uncounted)
        after = self.sync(documents, transcripts)
        self._mended(self._tidy)  # the new database counts on no vector files yet
        return after._replace(
            changed=report.changed + after.changed, warnings=tuple(dict.fromkeys(report.warnings + after.warnings))
        )

    def vacuum(self) -> bool:
        """Let no byte of before the last `rebuild` be left; False if another process still needs some."""
        return self._mended(checkpoint)

    def stats(self) -> Mapping[str, Any]:
        """Count `backend`, `passages`, `by_source`, `vectors`, `pending`, `bytes`, `embedder`, `generation`, `path`."""
        return self._mended(self._stats)

    def close(self) -> None:
        """Release the files, and the embedder's connections if it has a `close`. Using it again opens them again."""
        self._let_go(self._opened)
        close = getattr(self._embedder, "close", None)
        if close is not None:
            close()

    # --- opening and mending ---

    @property
    def _absent(self) -> bool:
        """True if there is no file; searching an empty book must not make one."""
        return self._opened is None and schema.inode(self._path) is None

    def _open(self) -> Connection:
        opened = self._opened
        if opened is None:
            connection = schema.open_index(self._path, self._extension.load if self._extension is not None else None)
            made = _Opened(connection, schema.inode(self._path))
            with self._opening:  # for no longer than this, so that no fork comes between
                opened = self._opened = self._opened or made
            if opened is not made:
                connection.close()
        return opened.connection

    def _let_go(self, opened: _Opened | None) -> None:
        """Close it; another one that was opened since stays."""
        with self._opening:
            if self._opened is opened:
                self._opened = None
        self._vectors.forget()
        if opened is not None:
            opened.connection.close()

    def _let_go_of_replaced(self) -> None:
        """Close a file that was deleted, or replaced by another one."""
        opened = self._opened
        if opened is not None and schema.inode(self._path) != opened.inode:
            self._let_go(opened)

    def _mended(self, action: Callable[[Connection], T]) -> T:
        """Do it; if the file proves to be no good, make it anew from the truth and do it once more."""
        known = self._opened
        before = schema.inode(self._path) if known is None else known.inode
        try:
            return action(self._open())
        except (Unavailable, apsw.Error) as error:
            if not _is_damage(error):
                raise
            self._start_over(error, known or self._opened, before)
        try:
            db = self._open()
            if self._truth is not None:
                self._sync(db, *self._truth)
            return action(db)
        except apsw.Error as error:
            raise Unavailable(f"the index {self._path!r} cannot be used: {error}; delete it") from error

    def _start_over(self, error: Exception, opened: _Opened | None, before: tuple[int, int] | None) -> None:
        self._let_go(opened)
        try:
            schema.throw_away(self._path, before if opened is None else opened.inode, ours=opened is not None)
        except OSError as hindrance:
            raise Unavailable(
                f"the index {self._path!r} is damaged ({error}) and cannot be replaced: {hindrance.strerror}"
            ) from error
        if self._truth is None:
            raise Unavailable(f"the index {self._path!r} was damaged ({error}); sync makes it anew") from error

    # --- freshness ---

    def _sync(self, db: Connection, documents: Documents, transcripts: Transcripts) -> SyncReport:
        expect = getattr(self._embedder, "expect", None)
        age = schema.born(db)
        report = bring_up_to_date(db, documents, transcripts, table=self._table, expect=expect, most=self.most)
        self._age, self.behind = age, LEFT in report.degraded
        if self._embedder is None:
            return report
        model = vector_files.register(db, self._embedder)
        waiting = vector_files.pending(db, model)
        degraded = (*report.degraded, *self._unloaded())
        if 0 < waiting <= min(schema.inline(self._embedder), self.most / TURN):
            try:
                vector_files.embed_pending(db, self._embedder, self._vectors)
            except EmbedderFailed as error:
                degraded = (*degraded, schema.paused_reason(self._embedder.name, str(error), 0))
            waiting = vector_files.pending(db, model)
        elif 0 < waiting <= schema.inline(self._embedder):
            self.behind = True
        elif not self._vectors.intact(db, model):
            vector_files.tidy(db, model, self._vectors)
        if expect is not None and not waiting:
            expect([])
        return report._replace(pending_vectors=waiting, degraded=degraded)

    def _model(self, db: Connection) -> vector_files.Model | None:
        return vector_files.known_model(db, self._embedder) if self._embedder is not None else None

    def _tidy(self, db: Connection) -> None:
        model = self._model(db)
        if model is not None:
            vector_files.tidy(db, model, self._vectors)

    # --- finding ---

    def _find(self, db: Connection, query: Query) -> Candidates:
        truth, rounds = self._truth, 0
        known = self._overview(db)
        if truth is not None and not known.whole:
            self._sync(db, *truth)
            known = self._overview(db)
        leg = self._ask(db, query.text, known) if query.meaning else _Leg(known.model, None, ())
        while True:
            with reading(db):
                if truth is None or schema.born(db) == self._age or rounds == ROUNDS:
                    return self._candidates(db, query, leg)
            self._sync(db, *truth)  # a rebuild has ended since the last one, and put what it began with in its place
            rounds += 1

    def _candidates(self, db: Connection, query: Query, leg: _Leg) -> Candidates:
        asked = query_words(query.text)
        scanning = None  # the built-in scan goes on by itself, if it is what finds the nearest
        if leg.model is not None and leg.vector is not None and (self._extension is None or self._extension.failure):
            scanning = self._vectors.scan(db, leg.model, Question(leg.vector))
        total = bm25.statistics(db)
        terms = bm25.terms(db, asked)
        postings = bm25.Postings(db)
        words = _words(db, postings, terms, total, query)
        cosines = self._cosines(db, leg, scanning, query)
        found = self._rows.passages(db, {*words, *cosines})
        if len(found) < len({*words, *cosines}):
            raise apsw.CorruptError("the words of passages are indexed that do not exist")
        beside = self._rows.passages(db, _neighbours(db, found, schema.neighbour_places(found, words, cosines), query))
        holds = bm25.holding(postings, map(terms.get, asked), found.keys() | beside.keys())
        waiting = vector_files.pending(db, leg.model) if self._embedder is not None else 0
        return Candidates(
            tuple(Candidate(found[n], words.get(n), cosines.get(n), holds[n]) for n in found),
            tuple(Candidate(passage, None, None, holds[n]) for n, passage in beside.items()),
            {word: schema.idf(total.passages, terms[word].holding if word in terms else 0) for word in asked},
            self._embedder.name if self._embedder is not None and leg.vector is not None else None,
            "sqlite_hybrid" if self._embedder is not None and not leg.degraded else "sqlite_fts",
            (*leg.degraded, *self._unloaded(), *(() if is_whole(db) else (_UNFINISHED,))),
            waiting,
            leg.model.unrelated if leg.model is not None else None,
        )

    def _turns(self, db: Connection, spans: Iterable[tuple[str, int, int]]) -> Sequence[Passage]:
        beside = "SELECT p.id FROM passages AS p WHERE p.session=?1 AND p.source='turn' AND p.position"
        end = "(SELECT 1+max(position) FROM passages WHERE session=?1)"
        low, high = (f"?{n} + CASE WHEN ?{n}<0 THEN {end} ELSE 0 END" for n in (2, 3))  # takes four times as long
        places = [(bindable(session), first, last) for session, first, last in spans]
        with reading(db):
            rows = [*db.executemany(f"{beside} BETWEEN ?2 AND ?3", [place for place in places if min(place[1:]) >= 0])]
            rows += db.executemany(
                f"{beside} BETWEEN {low} AND {high}", [place for place in places if min(place[1:]) < 0]
            )
            return [*self._rows.passages(db, {number for (number,) in rows}).values()]

    def _overview(self, db: Connection) -> Overview:
        """Read the state of the index that a search needs before it embeds the question."""
        model = self._model(db)
        vectors = model is not None and vector_files.any_vector(db, model)
        return Overview(is_whole(db), model, vectors, _speakers(db) if vectors else [])

    def _ask(self, db: Connection, question: str, known: Overview) -> _Leg:
        """Embed the question, unless there is nothing to compare it with or the embedder does not answer."""
        embedder, model = self._embedder, known.model
        if embedder is None:
            return _Leg(None, None, ())
        if model is None or not known.vectors:
            waiting = vector_files.pending(db, model)
            reason = f"searched by words alone: {waiting} passages wait for a vector of {embedder.name!r}"
            return _Leg(model, None, (reason,) if waiting else ())
        left = model.paused - time()
        if left > 0 and not embedder.local:
            return _Leg(model, None, (schema.paused_reason(embedder.name, model.reason, left),))
        try:
            vector = schema.question_vector(embedder, question, known.speakers)
        except EmbedderFailed as error:
            if not embedder.local:
                vector_files.pause(db, model, str(error))
            return _Leg(model, None, (schema.paused_reason(embedder.name, str(error), 0),))
        if vector is None or len(vector) == 4 * model.dimensions:
            return _Leg(model, vector, ())
        reason = (
            f"searched by words alone: {embedder.name!r} has {len(vector) // 4} dimensions by now and had"
            f" {model.dimensions}, so its vectors are made again"
        )
        return _Leg(vector_files.register(db, embedder), None, (reason,))

    def _cosines(
        self, db: Connection, leg: _Leg, scanning: vector_files.Scanning | None, query: Query
    ) -> dict[int, float]:
        """Return the cosine by passage of the `pool` nearest that the query admits."""
        where, values = schema.filters(query)
        if scanning is not None:
            return vector_files.nearest(db, scanning, query.pool, where, values)
        if self._extension is None or leg.model is None or leg.vector is None:
            return {}
        near = self._extension.nearest(db, leg.model.id, leg.vector, query.pool, where, values)
        return vector_files.passages_of(db, near, where, values, query.pool)

    def _unloaded(self) -> tuple[str, ...]:
        return (self._extension.failure,) if self._extension is not None and self._extension.failure else ()

    def _stats(self, db: Connection) -> Mapping[str, Any]:
        model = self._model(db)
        with reading(db):
            by_source: dict[str, int] = dict(
                db.execute("SELECT source, count(*) FROM passages GROUP BY source ORDER BY source")
            )
            generation = schema.noted(db, "generation")
            waiting = vector_files.pending(db, model) if self._embedder is not None else 0
        total = sum(by_source.values())
        files = [self._path + suffix for suffix in ("", "-wal", "-shm")]
        return {
            "backend": "sqlite_hybrid" if self._embedder is not None else "sqlite_fts",
            "passages": total,
            "by_source": by_source,
            "vectors": total - waiting if self._embedder is not None else 0,
            "pending": waiting,
            "bytes": self._vectors.bytes() + sum(found.size for found in map(stamp_of, files) if found),
            "embedder": self._embedder.name if self._embedder is not None else None,
            "generation": generation,
            "path": self._path,
        }


_UNFINISHED = "the index has not been synced to its end yet: the answer may lack something"


class _Opened(NamedTuple):
    """The database, and what its path named when it was opened."""

    connection: Connection
    inode: tuple[int, int] | None


class Overview(NamedTuple):
    """Whether a sync ever came to its end, the model, whether it has any vector, and who ever spoke."""

    whole: bool
    model: vector_files.Model | None
    vectors: bool
    speakers: list[str]


class _Leg(NamedTuple):
    """The vector leg of one query; it does not run without a vector."""

    model: vector_files.Model | None
    vector: bytes | None
    degraded: tuple[str, ...]


class _Rows:
    """Passages that searches have looked at, kept for as long as none is altered: new ones have ids of their own."""

    def __init__(self) -> None:
        # one value, for another thread may use another connection
        self._kept: tuple[tuple[Connection, str, int] | None, dict[int, Passage]] = (None, {})

    def passages(self, db: Connection, numbers: Iterable[int]) -> dict[int, Passage]:
        """Return passages by id, ascending; missing ones are left out. Call it in a transaction that reads."""
        # the connection too: a file that is put back from elsewhere may say the same of itself
        version, kept = (db, schema.born(db), schema.noted(db, "altered")), self._kept
        if version != kept[0]:
            kept = self._kept = (version, {})
        held, wanted = kept[1], sorted(numbers)
        found = {number: passage for number in wanted if (passage := held.get(number)) is not None}
        missing = [number for number in wanted if number not in found]
        read = schema.passages(db, missing) if missing else {}
        for number in [*islice(held, max(0, len(held) + len(read) - KEPT))]:
            held.pop(number, None)
        held.update(read)
        found.update(read)
        return {number: found[number] for number in wanted if number in found}


def _is_damage(error: Exception) -> bool:
    """Return whether a new file would help; not if the disk is full, rights are missing or somebody else writes."""
    cause = error if isinstance(error, apsw.Error) else error.__cause__
    if isinstance(cause, apsw.ReadOnlyError):
        return getattr(cause, "extendedresult", 0) == apsw.SQLITE_READONLY_DBMOVED
    damage = (apsw.CorruptError, apsw.NotADBError, apsw.IOError, apsw.SQLError, apsw.CantOpenError, apsw.FormatError)
    return isinstance(cause, (*damage, apsw.ConstraintError, apsw.MismatchError, apsw.SchemaChangeError))


def _words(
    db: Connection, postings: bm25.Postings, terms: Mapping[str, bm25.Term], total: bm25.Statistics, query: Query
) -> dict[int, float]:
    """Return the BM25 score of the `pool` best passages that the query admits."""
    asked = [
        terms[word] for word in schema.searched({word: term.holding for word, term in terms.items()}, total.passages)
    ]
    where, values = schema.filters(query)
    if not where:
        return bm25.best(postings, asked, total, query.pool)
    tried = bm25.best(postings, asked, total, query.pool * TRIED)
    admitted = _admitted(db, f"p.id IN (SELECT value FROM json_each(?)) AND {where}", [schema.listed(tried), *values])
    if len(admitted) < query.pool and len(tried) == query.pool * TRIED:
        return bm25.best(postings, asked, total, query.pool, _admitted(db, where, values))
    found = sorted(((tried[number], number) for number in admitted), reverse=True)
    return {number: score for score, number in found[: query.pool]}


def _admitted(db: Connection, where: str, values: Sequence[Value]) -> list[int]:
    return [number for (number,) in db.execute(f"SELECT p.id FROM passages AS p WHERE {where}", values)]


def _neighbours(db: Connection, found: Mapping[int, Passage], places: set[tuple[str, int]], query: Query) -> list[int]:
    own = {(p.session, p.position): number for number, p in found.items() if p.source == "turn"}
    places = places - own.keys()
    if not places:
        return []
    # each as the number of a turn that it stands beside, and its own place: the statement is always the same
    beside = [(own.get((session, at - 1)) or own[session, at + 1]) << 32 | at for session, at in places if at >= 0]
    where, values = schema.filters(query)
    rows = db.execute(
        "SELECT p.id FROM json_each(?) AS place CROSS JOIN passages AS o ON o.id=place.value>>32"
        " CROSS JOIN passages AS p ON p.session=o.session AND p.position=place.value&4294967295"
        f" WHERE p.source='turn' {'AND ' + where if where else ''}",
        (schema.listed(beside), *values),
    )
    return [number for (number,) in rows]


def _entries(
    db: Connection, ids: Collection[str], turns: Collection[tuple[str, str]], query: Query | None
) -> list[Passage]:
    where, values = schema.filters(query) if query is not None else ("", [])
    asked = f"SELECT {schema.COLUMNS} FROM passages AS p WHERE p.source='entry' {'AND ' + where if where else ''} AND "
    keys: list[tuple[str, tuple[Value, ...]]] = [("p.entry=?", (bindable(id),)) for id in ids]
    keys += [("p.session=? AND p.turn=?", (bindable(session), bindable(turn))) for session, turn in turns]
    with reading(db):
        found = {schema.passage_of(row) for key, given in keys for row in db.execute(asked + key, (*values, *given))}
    return sorted(found, key=schema.standing)


def _speakers(db: Connection) -> list[str]:
    """Return everybody who ever spoke; jumps from name to name in the index instead of reading it."""
    rows = db.execute(
        "WITH RECURSIVE named (speaker) AS (SELECT min(speaker) FROM passages WHERE source='turn' UNION ALL SELECT"
        " (SELECT min(speaker) FROM passages WHERE source='turn' AND passages.speaker>named.speaker)"
        " FROM named WHERE named.speaker IS NOT NULL) SELECT speaker FROM named WHERE speaker IS NOT NULL"
    )
    return [readable(speaker) for (speaker,) in rows]


_STALE = 3600.0


def rebuild(
    live: Connection,
    documents: Documents,
    transcripts: Transcripts,
    progress: Progress | None = None,
    expect: Callable[[list[str]], None] | None = None,
    model: str | None = None,
) -> SyncReport:
    """Build another database beside it, then copy that over the live one in a single transaction.

    Other processes go on with the old pages until the copy is committed; what they indexed meanwhile is synced next.
    Embeddings of texts that still exist are taken over. `expect` is as in `bring_up_to_date`.
    """
    folder, prefix = os.path.dirname(live.path), f"{os.path.basename(live.path)}.rebuild-"
    for name in os.listdir(folder):  # of a rebuild that was killed; one that goes on has written to its files lately
        left = os.path.join(folder, name)
        with suppress(FileNotFoundError):
            if name.startswith(prefix) and time() - os.stat(left).st_mtime > _STALE:
                discard(left)
    beside = f"{live.path}.rebuild-{os.urandom(4).hex()}"
    try:
        # nobody else reads it, and after a crash it is thrown away: every page is written once
        hurry = "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF"
        scratch = schema.open_index(beside, lambda raw: raw.execute(hurry).fetchall())
        try:
            report = bring_up_to_date(scratch, documents, transcripts, progress, expect=expect)
            _take_over(scratch, live.path, model)
            _copy(scratch, live.path)
        finally:
            scratch.close()
    finally:
        for suffix in ("", "-wal", "-shm"):
            discard(beside + suffix)
    return report


def _take_over(scratch: Connection, live: str, model: str | None) -> None:
    """Take over models, or the one of that name, and embeddings; what cannot be read is embedded again."""
    scratch.execute("ATTACH ? AS live", (live,))
    try:
        with immediate(scratch):
            scratch.execute("INSERT INTO models SELECT * FROM live.models WHERE ?1 IS NULL OR name=?1", (model,))
            scratch.execute(
                "UPDATE meta SET value=(SELECT value FROM live.meta WHERE name='generation') WHERE name='generation'"
            )
            scratch.execute(
                "INSERT INTO embeddings (model, text, vector) SELECT e.model, t.id, e.vector FROM models AS m"
                " CROSS JOIN texts AS t JOIN live.texts AS l ON l.digest=t.digest"
                " JOIN live.embeddings AS e ON e.model=m.id AND e.text=l.id"
            )
    except (Unavailable, apsw.Error):
        pass
    finally:
        scratch.execute("DETACH live")
    scratch.execute(
        "INSERT INTO pending SELECT DISTINCT m.id, p.dense FROM models AS m, passages AS p WHERE NOT EXISTS"
        " (SELECT 1 FROM embeddings WHERE model=m.id AND text=p.dense)"
    )


def _copy(scratch: Connection, live: str) -> None:
    # by a connection of its own, which nothing else may use meanwhile: threads go on to search with theirs,
    # and see like any other process that somebody else has written
    if os.path.exists(live) and not os.path.getsize(live):  # nobody can make a new one of it while ours is open
        raise apsw.NotADBError(f"the file {live!r} was emptied")
    copier = connect(live, durable=False)
    try:
        with copier.lock, copier.raw.backup("main", scratch.raw, "main") as copying:
            copying.step(-1)
        copier.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        copier.close()


_ENTRY = "sqlite3_vec_init"
_ONE = b"\x00\x00\x80\x3f"  # 1.0 as float32
_DISTANCE = "vec_distance_cosine"


class VecExtension:
    """A sqlite-vec library, loaded with `load`; `failure` says why the built-in scan answers instead."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.failure = ""

    def load(self, raw: apsw.Connection) -> None:
        """Load it; what hinders is in `failure`. Nothing else may be loaded into the connection afterwards."""
        try:
            raw.enable_load_extension(True)
            try:
                raw.load_extension(self._path, _ENTRY)
            finally:
                raw.enable_load_extension(False)
            raw.execute(f"SELECT {_DISTANCE}(?1, ?1)", (_ONE,)).fetchall()
            self.failure = ""
        except (apsw.Error, ValueError) as error:
            self.failure = (
                f"the sqlite-vec library {self._path!r} cannot be loaded ({error}): vectors are compared by the"
                " built-in scan; set sqlite_vec_extension_path to a file that can"
            )

    def nearest(
        self, connection: Connection, model: int, query: bytes, count: int, where: str, values: Sequence[Value]
    ) -> list[tuple[int, float]]:
        """Return (text, cosine) of the `count` texts most similar to the query, best first.

        `where` is a condition over `passages AS p` that a passage with the text must meet.
        """
        found = connection.execute(
            f"SELECT e.text, 1.0 - {_DISTANCE}(e.vector, ?) AS cosine FROM embeddings AS e"
            " WHERE e.model=? AND length(e.vector)=?"
            f" AND e.text IN (SELECT p.dense FROM passages AS p {'WHERE ' + where if where else ''})"
            " ORDER BY cosine DESC, e.text DESC LIMIT ?",
            (query, model, len(query), *values, count),
        )
        return [(int(text), float(cosine)) for text, cosine in found]
