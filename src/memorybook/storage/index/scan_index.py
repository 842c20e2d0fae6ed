"""The index without a database: everything in memory, scored by the formulas themselves.

What answers when SQLite cannot be used, and the oracle that the SQLite index is tested against: it
knows no shortcut, so it is slow on large books and plainly right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import itemgetter
from threading import RLock
from time import time
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.errors import EmbedderFailed, MemoryBookError, MissingDocument
from memorybook.inference.static import vectors_of
from memorybook.search.types import Candidate, Candidates, Passage, Query, SyncReport
from memorybook.storage.index import index_schema as schema
from memorybook.text.tokens import query_words, tokens

if TYPE_CHECKING:
    from memorybook.formats.document import DocumentInfo
    from memorybook.protocols import Documents, Embedder, Progress, Transcripts

_BATCH = 512
_MOST = 15
_LONGEST = 4095


class _Indexed(NamedTuple):
    """A passage with its words counted (up to 15 each), how many they are (up to 4095), and what is embedded of it."""

    passage: Passage
    words: Mapping[str, int]
    length: int
    dense: str


class _Held(NamedTuple):
    """A document as it was read."""

    size: int
    stamp: str
    hash: str
    modified: float
    passages: list[_Indexed]


class ScanIndex:
    """`Index` in memory, safe to share between threads.

    A local embedder embeds everything at the first sync, a remote one only in `embed_pending`.
    """

    def __init__(self, *, embedder: Embedder | None = None) -> None:
        self._embedder = embedder
        self._lock = RLock()
        self._documents: dict[str, _Held] = {}
        self._turns: dict[tuple[str, str], _Indexed] = {}
        self._session_names: dict[str, str] = {}
        self._revision: int | None = None
        self._vectors: dict[str, bytes | None] = {}
        self._paused = (0.0, "")
        self._unrelated: float | None = None

    # --- the seam ---

    def sync(self, documents: Documents, transcripts: Transcripts) -> SyncReport:
        """Read again what changed; a local embedder embeds what is new."""
        with self._lock:
            report = self._bring_in(documents, transcripts)
            degraded = list(report.degraded)
            if self._embedder is not None and self._pending() <= schema.inline(self._embedder):
                try:
                    self._embed(None, None)
                except EmbedderFailed as error:
                    degraded.append(schema.paused_reason(self._embedder.name, str(error), 0))
            return report._replace(pending_vectors=self._pending(), degraded=tuple(degraded))

    def candidates(self, query: Query) -> Candidates:
        """Return what both legs find, as of the last sync."""
        with self._lock:
            everything = self._everything()
            asked = query_words(query.text)
            holding = {word: sum(word in item.words for item in everything) for word in asked}
            admitted = [
                item
                for item in everything
                if schema.admits(query, item.passage, self._session_names.get(item.passage.session or "", ""))
            ]
            words = _best(_bm25(everything, admitted, schema.searched(holding, len(everything))), query.pool)
            speakers = [item.passage.speaker for item in self._turns.values()]
            vector, degraded = self._ask(query.text, speakers) if query.meaning else (None, ())
            cosines = _best(self._cosines(admitted, vector), query.pool) if vector is not None else {}
            found = {n: item.passage for n, item in enumerate(admitted) if n in words or n in cosines}
            places = schema.neighbour_places(found, words, cosines)

            def candidate(number: int) -> Candidate:
                held = admitted[number].words
                holds = sum(1 << bit for bit, word in enumerate(asked) if word in held)
                return Candidate(admitted[number].passage, words.get(number), cosines.get(number), holds)

            return Candidates(
                tuple(map(candidate, found)),
                tuple(
                    candidate(n)
                    for n, (passage, *_) in enumerate(admitted)
                    if n not in found and passage.source == "turn" and (passage.session, passage.position) in places
                ),
                {word: schema.idf(len(everything), holding[word]) for word in asked},
                self._embedder.name if self._embedder is not None and vector is not None else None,
                "scan",
                degraded,
                self._pending(),
                self._unrelated,
            )

    def turns(self, spans: Iterable[tuple[str, int, int]]) -> Sequence[Passage]:
        """Return turns of sessions (uuid), see `Index.turns`."""
        with self._lock:
            passages = [item.passage for item in self._turns.values()]
        found = []
        for session, first, last in spans:
            talk = [passage for passage in passages if passage.session == session]
            end = 1 + max((passage.position for passage in talk), default=0)
            first, last = (at + end if at < 0 else at for at in (first, last))
            found += [passage for passage in talk if first <= passage.position <= last]
        return found

    def entries(
        self, ids: Collection[str] = (), *, turns: Collection[tuple[str, str]] = (), query: Query | None = None
    ) -> Sequence[Passage]:
        """Return entries by id or turn, see `Index.entries`."""
        with self._lock:
            names = self._session_names
            found = [
                passage
                for passage in (item.passage for held in self._documents.values() for item in held.passages)
                if passage.source == "entry"
                and (passage.entry in ids or (passage.session, passage.turn) in turns)
                and (query is None or schema.admits(query, passage, names.get(passage.session or "", "")))
            ]
        return sorted(found, key=schema.standing)

    def embed_pending(self, *, limit: int | None = None, progress: Progress | None = None) -> int:
        """Embed up to `limit` waiting texts; return how many passages still wait. Raises EmbedderFailed."""
        with self._lock:
            self._embed(limit, progress)
            return self._pending()

    def rebuild(
        self, documents: Documents, transcripts: Transcripts, *, progress: Progress | None = None
    ) -> SyncReport:
        """Forget everything but the vectors and read it again."""
        with self._lock:
            self._documents, self._turns, self._session_names, self._revision = {}, {}, {}, None
            report = self.sync(documents, transcripts)
            texts = {item.dense for item in self._everything()}
            self._vectors = {text: vector for text, vector in self._vectors.items() if text in texts}
            if progress is not None:
                done = report.checked + len(self._turns)
                progress(done, done)
            return report

    def vacuum(self) -> bool:
        """Return True: nothing of it is on disk."""
        return True

    def stats(self) -> Mapping[str, Any]:
        """Count `backend`, `passages`, `by_source`, `vectors`, `pending`, `bytes` (0), `embedder`, `generation` (0)."""
        with self._lock:
            by_source = Counter(item.passage.source for item in self._everything())
            total, waiting = sum(by_source.values()), self._pending()
            return {
                "backend": "scan",
                "passages": total,
                "by_source": dict(sorted(by_source.items())),
                "vectors": total - waiting if self._embedder is not None else 0,
                "pending": waiting,
                "bytes": 0,
                "embedder": self._embedder.name if self._embedder is not None else None,
                "generation": 0,
            }

    def close(self) -> None:
        """Do nothing: nothing is held."""

    # --- freshness ---

    def _everything(self) -> list[_Indexed]:
        documents = (item for held in self._documents.values() for item in held.passages)
        return [*documents, *self._turns.values()]

    def _bring_in(self, documents: Documents, transcripts: Transcripts) -> SyncReport:
        degraded: list[str] = []
        warnings: list[str] = []
        changed = 0
        seen = set()
        for info in documents.list():
            seen.add(info.path)
            held = self._documents.get(info.path)
            if held is None or not info.stamp or (held.size, held.stamp) != (info.size, info.stamp):
                try:
                    changed += self._read(documents, info, held, warnings)
                except MissingDocument:
                    seen.discard(info.path)
                except (MemoryBookError, OSError) as error:
                    kept = "its earlier text answers" if held is not None else "nothing in it can be found"
                    degraded.append(f"{info.path} cannot be read ({error}): {kept}")
        gone = [path for path in self._documents if path not in seen]
        for path in gone:
            del self._documents[path]
        now, reasons = schema.revision_of(transcripts, self._revision)
        degraded += reasons
        try:
            changed += self._read_turns(transcripts, now)
        except schema.TurnsUnread as error:
            degraded.append(str(error))
        return SyncReport(len(seen), changed, len(gone), 0, tuple(degraded), tuple(warnings))

    def _read(self, documents: Documents, info: DocumentInfo, held: _Held | None, warnings: list[str]) -> bool:
        from memorybook.text.splitting import split

        document = documents.read(info.path)
        row = (info.size, info.stamp, document.revision, document.modified)
        if held is not None and (held.hash, held.modified) == row[2:]:
            self._documents[info.path] = _Held(*row, held.passages)
            return False
        made = split(info.path, document.text, document.modified)
        warnings += made.warnings
        self._documents[info.path] = _Held(*row, [_indexed(passage) for passage in made.passages])
        return held is None or held.hash != document.revision

    def _read_turns(self, transcripts: Transcripts, now: int | None) -> int:
        from memorybook.text.splitting import turn_passage

        before = self._revision
        if now is None or before == now:
            return 0
        if before is not None and now < before:
            self._turns, before = {}, None
        changes = schema.changes_of(transcripts, before or 0)
        present = set()
        for session, turn in changes.turns:
            present.add((session.uuid, turn.id))
            self._session_names[session.uuid] = session.name
            self._turns[session.uuid, turn.id] = _indexed(turn_passage(session, turn))
        removed = set(changes.removed) - present
        for key in removed:
            self._turns.pop(key, None)
        self._revision = changes.revision
        return len({session for session, _ in present | removed})

    # --- vectors ---

    def _waiting(self) -> list[_Indexed]:
        return [item for item in self._everything() if item.dense not in self._vectors]

    def _pending(self) -> int:
        return len(self._waiting()) if self._embedder is not None else 0

    def _embed(self, limit: int | None, progress: Progress | None) -> None:
        embedder = self._embedder
        if embedder is None:
            return
        from memorybook.inference.calibration import unrelated

        texts = list(dict.fromkeys(item.dense for item in self._waiting()))[:limit]
        for start in range(0, len(texts), _BATCH):
            batch = texts[start : start + _BATCH]
            try:
                if not self._vectors:
                    self._unrelated = unrelated(embedder)
                made = vectors_of(embedder, batch)
            except EmbedderFailed as error:
                self._pause(str(error))
                raise
            self._paused = (0.0, "")
            self._vectors.update(zip(batch, made, strict=True))
            if progress is not None:
                progress(start + len(batch), len(texts))

    def _pause(self, reason: str) -> None:
        if self._embedder is not None and not self._embedder.local:
            self._paused = (time() + schema.PAUSE, reason)

    def _ask(self, question: str, speakers: Iterable[str]) -> tuple[bytes | None, tuple[str, ...]]:
        embedder = self._embedder
        if embedder is None:
            return None, ()
        if not any(self._vectors.values()):
            waiting = self._pending()
            reason = f"searched by words alone: {waiting} passages wait for a vector of {embedder.name!r}"
            return None, (reason,) if waiting else ()
        until, why = self._paused
        if until > time():
            return None, (schema.paused_reason(embedder.name, why, until - time()),)
        try:
            return schema.question_vector(embedder, question, set(speakers)), ()
        except EmbedderFailed as error:
            self._pause(str(error))
            return None, (schema.paused_reason(embedder.name, str(error), 0),)

    def _cosines(self, admitted: list[_Indexed], vector: bytes) -> dict[int, float]:
        import numpy as np

        rows = [(n, v) for n, item in enumerate(admitted) if (v := self._vectors.get(item.dense)) is not None]
        asked = np.frombuffer(vector, dtype=np.float32)
        matrix = np.frombuffer(b"".join(v for _, v in rows), dtype=np.float32).reshape(len(rows), len(asked))
        similar = matrix @ asked / (np.linalg.norm(matrix, axis=1) * np.linalg.norm(asked))
        return dict(zip((n for n, _ in rows), similar.tolist(), strict=True))


def _indexed(passage: Passage) -> _Indexed:
    from memorybook.text.splitting import dense_text, indexed_text

    words = tokens(indexed_text(passage))
    counts = {word: min(times, _MOST) for word, times in Counter(words).items()}
    return _Indexed(passage, counts, min(len(words), _LONGEST), dense_text(passage))


def _bm25(everything: list[_Indexed], admitted: list[_Indexed], holding: Mapping[str, int]) -> dict[int, float]:
    """Return the BM25 score of each admitted passage by its place; statistics are those of all passages."""
    count = len(everything)
    mean = sum(item.length for item in everything) / count if count else 0.0
    weight = {word: schema.bm25_idf(count, n) for word, n in holding.items() if n}
    scores = {}
    for number, item in enumerate(admitted):
        matched = [word for word in weight if word in item.words]
        if matched:
            norm = schema.K1 * (1 - schema.B + schema.B * item.length / mean)
            scores[number] = sum(weight[w] * item.words[w] * (schema.K1 + 1) / (item.words[w] + norm) for w in matched)
    return scores


def _best(scores: Mapping[int, float], count: int) -> dict[int, float]:
    return dict(sorted(scores.items(), key=itemgetter(1), reverse=True)[:count])
