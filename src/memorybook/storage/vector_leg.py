"""The vector leg of the SQLite index: which vectors there are, which are missing, and the nearest of them.

Every embedder has its own vectors, under its name: they are never mixed, and going back to an earlier
embedder finds its vectors still there. An embedding belongs to a text (by digest), not to a passage.
"""

from __future__ import annotations

import os
from collections.abc import Container, Sequence
from itertools import islice
from time import time
from typing import TYPE_CHECKING, NamedTuple

from memorybook.errors import EmbedderFailed
from memorybook.storage.candidates import PAUSE, vectors_of
from memorybook.storage.index_schema import COLUMNS, listed, passage_of
from memorybook.storage.sqlite import Connection, Value, immediate
from memorybook.storage.vectors import Scored, Stamp, Tail, VectorFile, cosines, discard, stamp_of, write

if TYPE_CHECKING:
    from memorybook.protocols import Embedder, Progress

FOLD = 512
"""Vectors that gather in the tail before a file is written: reading a thousand from SQLite costs some 3 ms."""

BATCH = {True: 512, False: 64}
"""Texts embedded, and committed, at a time; by whether the embedder is local."""

RESCORED = 200
"""At least so many of the scan's best are compared exactly; recall is 1.0 with 200 of 100,000."""

LARGEST = 131_072
"""Rows of a vector file: what is held in memory while one is written."""

_FOLD_EACH = 16_384
_STALE = 600.0
_ALL = 2**63 - 1


class Model(NamedTuple):
    """An embedder as the index knows it. `paused` is the time until which it is left alone, 0 if it is not."""

    id: int
    dimensions: int
    paused: float
    reason: str


class Segment(NamedTuple):
    """A vector file that holds the embeddings `after < id <= upto` of one model."""

    generation: int
    after: int
    upto: int
    rows: int
    stamp: Stamp


class Vectors:
    """The mapped files and the tail in memory; one per index, shared by its threads.

    Args:
        folder: Where the vector files are.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._files: dict[tuple[str, int], VectorFile] = {}
        self._tails: dict[tuple[str, int, int, int], Tail] = {}

    def path(self, generation: int) -> str:
        """The file of that generation."""
        return os.path.join(self._folder, f"vectors.{generation}")

    def forget(self) -> None:
        """Unmap everything, as after the database was made anew."""
        self._files, self._tails = {}, {}

    def nearest(
        self, connection: Connection, model: Model, query: bytes, count: int, allowed: Container[int] | None
    ) -> list[tuple[int, float]]:
        """(text, exact cosine) of the `count` texts most similar to the query, best first.

        Args:
            connection: In a transaction that reads.
            model: Whose vectors.
            query: A vector of that model, float32.
            count: At most so many.
            allowed: Ids of embeddings that may take part; None all.
        """
        born, held = _born(connection), segments(connection, model.id)
        chosen: list[Scored] = []
        wanted = max(RESCORED, 2 * count)
        gaps: list[tuple[int, int]] = []
        for segment in held:
            file = self._file(born, segment, model.dimensions)
            if file is None:
                gaps.append((segment.after, segment.upto))
            else:
                chosen += file.best(query, wanted, allowed)
        for after, upto in gaps:
            rest = Tail()
            rest.add(_rows(connection, model, after, -1, upto))
            chosen += rest.best(query, wanted, allowed)
        last = held[-1].upto if held else 0
        tail = self._tail(born, model, last)
        tail.add(_rows(connection, model, max(last, tail.last), -1))
        chosen += tail.best(query, wanted, allowed)
        chosen.sort(key=lambda scored: -scored.similarity)
        return _rescored(connection, query, [scored.id for scored in chosen[:wanted]])[:count]

    def _file(self, born: str, segment: Segment, dimensions: int) -> VectorFile | None:
        path, key = self.path(segment.generation), (born, segment.generation)
        if key not in self._files:
            try:
                if stamp_of(path) != segment.stamp:
                    return None
                self._files[key] = VectorFile(path, dimensions)
            except (OSError, ValueError):
                return None
        return self._files[key]

    def _tail(self, born: str, model: Model, last: int) -> Tail:
        key = (born, model.id, model.dimensions, last)
        if key not in self._tails:
            self._tails = {key: Tail()}
        return self._tails[key]

    def fold(self, connection: Connection, model: Model) -> None:
        """Move the tail into a file once it is long, with files not much larger; make damaged files anew.

        So there are only about log2(rows / `FOLD`) files, and each vector is copied as often. Without
        the files answers are the same, only slower.

        Raises:
            OSError: The folder cannot be written to.
        """
        held = segments(connection, model.id)
        good = [s for s in held if stamp_of(self.path(s.generation)) == s.stamp]
        if len(good) < len(held):
            first = next(s for s in held if s not in good)
            good = [s for s in good if s.upto <= first.after]
        after = good[-1].upto if good else 0
        [(newest,)] = connection.execute("SELECT coalesce(max(id), 0) FROM embeddings")
        if newest - after < FOLD and len(good) == len(held):
            return
        [(rows,)] = connection.execute(
            "SELECT count(vector) FROM embeddings WHERE id>? AND +model=?", (after, model.id)
        )
        if rows == 0 or (rows < FOLD and len(good) == len(held)):
            return
        while good and good[-1].rows <= 2 * rows and good[-1].rows + rows <= LARGEST:
            segment = good.pop()
            after, rows = segment.after, rows + segment.rows
        self._write(connection, model, after)

    def intact(self, connection: Connection, model: Model) -> bool:
        """Whether every file that the database counts on is there as it was written."""
        return all(stamp_of(self.path(s.generation)) == s.stamp for s in segments(connection, model.id))

    def _write(self, connection: Connection, model: Model, after: int) -> None:
        with immediate(connection):
            [(generation,)] = connection.execute(
                "UPDATE meta SET value=value+1 WHERE name='generation' RETURNING value"
            )
            known = _later(connection, model, after)
            vectors = _rows(connection, model, after, LARGEST)
        if not vectors:
            return
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        path = self.path(int(generation))
        stamp = write(path, model.dimensions, vectors)
        with immediate(connection):
            unchanged = known == _later(connection, model, after)
            if unchanged:
                connection.execute("DELETE FROM segments WHERE model=? AND upto>?", (model.id, after))
                segment = (generation, model.id, after, vectors[-1][0], len(vectors), *stamp)
                connection.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?)", segment)
        for gone in (s.generation for s in known[1]) if unchanged else (generation,):
            discard(self.path(int(gone)))
        self._sweep(connection)

    def bytes(self) -> int:
        """What the vector files take on disk."""
        return sum(stamp.size for _, stamp in self._present())

    def discard_uncounted(self, connection: Connection) -> None:
        """Unlink every finished file that the database does not count on, as after it was made anew."""
        counted = {self.path(g) for (g,) in connection.execute("SELECT generation FROM segments")}
        for path, _ in self._present():
            if path not in counted and path.rpartition(".")[2].isdecimal():
                discard(path)

    def _sweep(self, connection: Connection) -> None:
        """Unlink what crashes left; a young file may be another process's that is still at work on it."""
        counted = {self.path(g) for (g,) in connection.execute("SELECT generation FROM segments")}
        for path, stamp in self._present():
            if path not in counted and time() - stamp.written / 1e9 > _STALE:
                discard(path)

    def _present(self) -> list[tuple[str, Stamp]]:
        try:
            names = [name for name in os.listdir(self._folder) if name.startswith("vectors.")]
        except OSError:
            return []
        paths = [os.path.join(self._folder, name) for name in names]
        return [(path, stamp) for path in paths if (stamp := stamp_of(path)) is not None]


def _later(connection: Connection, model: Model, after: int) -> tuple[str, list[Segment]]:
    return _born(connection), [s for s in segments(connection, model.id) if s.upto > after]


def _born(connection: Connection) -> str:
    """Changes when the database is made anew, and with it the meaning of every id."""
    [(born,)] = connection.execute("SELECT value FROM meta WHERE name='born'")
    return str(born)


def segments(connection: Connection, model: int) -> list[Segment]:
    """The vector files of a model, in the order of their ids."""
    rows = connection.execute(
        "SELECT generation, after, upto, rows, size, written FROM segments WHERE model=? ORDER BY after", (model,)
    )
    return [Segment(generation, after, upto, held, Stamp(*stamp)) for generation, after, upto, held, *stamp in rows]


def _rows(connection: Connection, model: Model, after: int, count: int, upto: int = _ALL) -> list[tuple[int, bytes]]:
    # of its length, for another process may just have found other dimensions and made them again
    return connection.execute(
        "SELECT id, vector FROM embeddings WHERE id>? AND id<=? AND +model=? AND length(vector)=? ORDER BY id LIMIT ?",
        (after, upto, model.id, 4 * model.dimensions, count),
    )


def _rescored(connection: Connection, query: bytes, numbers: list[int]) -> list[tuple[int, float]]:
    """(text, exact cosine) of these embeddings, best first; the newer text on a tie."""
    rows = connection.execute(
        "SELECT text, vector FROM embeddings WHERE id IN (SELECT value FROM json_each(?)) AND length(vector)=?",
        (listed(numbers), len(query)),
    )
    similar = cosines(query, b"".join(vector for _, vector in rows))
    scored = [(int(text), cosine) for (text, _), cosine in zip(rows, similar, strict=True)]
    scored.sort(key=lambda pair: (pair[1], pair[0]), reverse=True)
    return scored


# --- embedders -------------------------------------------------------------------------------------


def known_model(connection: Connection, embedder: Embedder) -> Model | None:
    """The embedder as the index knows it; None if it never was used here, or has other dimensions than it had.

    An embedder that does not know its dimensions yet is known by its name.
    """
    row = connection.first(
        "SELECT id, dimensions, coalesce(paused_until, 0.0), coalesce(reason, '') FROM models"
        " WHERE name=?1 AND (?2=0 OR dimensions=?2)",
        (embedder.name, embedder.dimensions),
    )
    return Model(*row) if row is not None else None


def register(connection: Connection, embedder: Embedder) -> Model:
    """`known_model`, made known first if need be: everything then waits for its vectors."""
    model = known_model(connection, embedder)
    while model is None:
        with immediate(connection):
            _learn(connection, embedder)
        model = known_model(connection, embedder)
    return model


def _learn(connection: Connection, embedder: Embedder) -> None:
    """Have the embedder and its dimensions known; vectors of other dimensions go, for they are to be made again."""
    if known_model(connection, embedder) is not None:
        return
    [(number,)] = connection.execute(
        "INSERT INTO models (id, name, dimensions) SELECT coalesce(max(id), 0) + 1, ?1, ?2 FROM models WHERE true"
        " ON CONFLICT (name) DO UPDATE SET dimensions=?2 RETURNING id",
        (embedder.name, embedder.dimensions),
    )
    for table in ("embeddings", "segments"):
        connection.execute(f"DELETE FROM {table} WHERE model=?", (number,))
    connection.execute("INSERT OR IGNORE INTO pending SELECT DISTINCT ?, dense FROM passages", (number,))


def pending(connection: Connection, model: Model | None) -> int:
    """How many passages wait for their vector: all of them if the model is not known."""
    if model is None:
        [(count,)] = connection.execute("SELECT count(*) FROM passages")
    else:
        [(count,)] = connection.execute(
            "SELECT count(*) FROM pending JOIN passages ON dense=pending.text WHERE model=?", (model.id,)
        )
    return int(count)


def pause(connection: Connection, model: Model, reason: str) -> None:
    """Leave the embedder alone for a while, in every process; "" ends it."""
    until = time() + PAUSE if reason else None
    connection.execute("UPDATE models SET paused_until=?, reason=? WHERE id=?", (until, reason or None, model.id))


def embed_pending(
    connection: Connection,
    embedder: Embedder,
    vectors: Vectors,
    *,
    limit: int | None = None,
    progress: Progress | None = None,
) -> None:
    """Embed up to `limit` texts that wait for it, committing batch by batch.

    Raises EmbedderFailed; what was embedded before stays, and a remote embedder is paused.
    """
    model = register(connection, embedder)
    done, total = 0, _waiting(connection, model, limit)
    while done < total:
        try:
            embedded = _embed_batch(connection, embedder, model, min(BATCH[embedder.local], total - done))
        except EmbedderFailed as error:
            if not embedder.local:
                pause(connection, model, str(error))
            raise
        if not embedded:
            break
        done += embedded
        before, model = model, register(connection, embedder)
        if model.dimensions != before.dimensions:
            total = done + _waiting(connection, model, None if limit is None else limit - done)
        if progress is not None:
            progress(done, total)
        if done % _FOLD_EACH < embedded:
            tidy(connection, model, vectors)
    if done and model.paused:
        pause(connection, model, "")
    tidy(connection, model, vectors)


def _waiting(connection: Connection, model: Model, limit: int | None) -> int:
    [(total,)] = connection.execute("SELECT count(*) FROM pending WHERE model=?", (model.id,))
    return int(total) if limit is None else min(int(total), limit)


def tidy(connection: Connection, model: Model, vectors: Vectors) -> None:
    """Fold if it is time to; a folder that cannot be written to does no harm, answers only come slower."""
    try:
        vectors.fold(connection, model)
    except OSError:
        return


def any_vector(connection: Connection, model: Model) -> bool:
    """Whether there is any vector of that model to compare with."""
    found = connection.first("SELECT 1 FROM embeddings WHERE model=? AND vector IS NOT NULL LIMIT 1", (model.id,))
    return found is not None


def embeddings_of(connection: Connection, model: Model, where: str, values: Sequence[Value]) -> set[int]:
    """Embeddings of the passages that a condition (over `passages AS p`) admits."""
    rows = connection.execute(
        f"SELECT e.id FROM passages AS p JOIN embeddings AS e ON e.model=? AND e.text=p.dense WHERE {where}",
        (model.id, *values),
    )
    return {number for (number,) in rows}


def passages_of(
    connection: Connection, near: list[tuple[int, float]], where: str, values: Sequence[Value], count: int
) -> dict[int, float]:
    """Cosine by passage of the first `count` passages with these texts, newest first among equals."""
    rows = connection.execute(
        "SELECT p.dense, p.id FROM passages AS p WHERE p.dense IN (SELECT value FROM json_each(?))"
        f" {'AND ' + where if where else ''} ORDER BY p.id DESC",
        (listed(text for text, _ in near), *values),
    )
    holding: dict[int, list[int]] = {}
    for text, number in rows:
        holding.setdefault(text, []).append(number)
    found = ((number, cosine) for text, cosine in near for number in holding.get(text, ()))
    return dict(islice(found, count))


def _embed_batch(connection: Connection, embedder: Embedder, model: Model, count: int) -> int:
    from memorybook.text.passages import dense_text

    rows = connection.execute(
        f"SELECT pending.text, max(p.id), {COLUMNS} FROM pending JOIN passages AS p ON p.dense=pending.text"
        " WHERE pending.model=? GROUP BY pending.text ORDER BY pending.text DESC LIMIT ?",
        (model.id, count),
    )
    if not rows:
        return 0
    texts = [dense_text(passage_of(row[2:])) for row in rows]
    made = vectors_of(embedder, texts)
    with immediate(connection):
        _learn(connection, embedder)  # its dimensions, if this was its first answer
        numbers = listed(int(row[0]) for row in rows)
        # another process may have embedded them too, or the passages may be gone by now
        connection.executemany(
            "INSERT OR IGNORE INTO embeddings (model, text, vector) SELECT ?, id, ? FROM texts WHERE id=?",
            [(model.id, vector, row[0]) for row, vector in zip(rows, made, strict=True)],
        )
        connection.execute(
            "DELETE FROM pending WHERE model=? AND text IN (SELECT value FROM json_each(?))", (model.id, numbers)
        )
    return len(rows)
