"""The vector leg of the SQLite index: which vectors there are, which are missing, and the nearest of them.

Every embedder has its own vectors, under its name: they are never mixed, and going back to an earlier
embedder finds its vectors still there. An embedding belongs to a text (by digest), not to a passage.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from math import inf
from math import inf
from time import time

from memorybook.errors import EmbedderFailed
from memorybook.storage.candidates import PAUSE, inline, vectors_of
from memorybook.storage.index_schema import COLUMNS, listed, passage_of
from memorybook.storage.sqlite import Connection, Value, immediate, reading
from memorybook.storage.vectors import (
    Block,
    Question,
    Scan,
    Stamp,
    Tail,
    VectorFile,
    best,
    block_of,
    discard,
    rescored,
    scanned,
    stamp_of,
    write,
)
from memorybook.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from memorybook.protocols import Embedder, Progress

FOLD = 256
"""Vectors that gather in the tail before a file is written: a cold process reads them from SQLite one by one."""

BATCH = {True: 512, False: 64}
"""Texts embedded, and committed, at a time; by whether the embedder is local."""

SPARE = 75
"""The scan's best so many, and a quarter of those wanted, more than are wanted are compared exactly."""

MOST = 10
"""How many times those wanted are looked at in search of those that a condition admits, before it is asked which."""

LARGEST = 65_536
"""Rows of a vector file at most."""

COPIED = 16_384
"""Rows of the file that a fold writes for the sake of a few new ones: what an append may have to wait for."""

KEPT = 4096
"""Texts that no passage has any longer keep their vectors, should they come back: so many, or as many as passages."""

DROPPED = 2048
"""Vectors of such texts that go at a time."""

COUNTED = 10_000
"""Passages that wait for their vectors are counted up to so many; beyond, texts are."""

_COPIED_EACH = 8
_READ = 4096
_FOLD_EACH = 16_384
_SLOW = 16  # texts at a time for a model on this machine that is not embedded within a sync
_SLOW = 16  # texts at a time for a model on this machine that is not embedded within a sync
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


class _Known(NamedTuple):
    """What must be as it was when a file that was written meanwhile is made to count; the files it replaces."""

    born: str
    dimensions: int
    after: int
    segments: list[Segment]


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

    def scan(self, connection: Connection, model: Model, question: Question) -> list[Scan]:
        """All vectors of the model compared with the question.

        Args:
            connection: In a transaction that reads.
            model: Whose vectors.
            question: A vector of that model.
        """
        born, held = _born(connection), segments(connection, model.id)
        files: list[VectorFile] = []
        rest: list[Scan] = []
        for segment in held:
            file = self._file(born, segment, model.dimensions, held)
            if file is not None:
                files.append(file)
                continue
            lost = Tail()
            lost.add(_rows(connection, model, segment.after, -1, segment.upto))
            rest += lost.scan(question)
        last = held[-1].upto if held else 0
        tail = self._tail(born, model, last)
        tail.add(_rows(connection, model, max(last, tail.last), -1))
        return scanned(files, question) + rest + tail.scan(question)

    def _file(self, born: str, segment: Segment, dimensions: int, held: Sequence[Segment]) -> VectorFile | None:
        path, key = self.path(segment.generation), (born, segment.generation)
        file = self._files.get(key)
        if file is None:
            try:
                if stamp_of(path) != segment.stamp:
                    return None
                file = VectorFile(path, dimensions)
            except (OSError, ValueError):
                return None
            # a file that is merged by now takes its place on the disk as long as it is mapped
            present = {(born, other.generation) for other in held}
            self._files = {**{known: mapped for known, mapped in self._files.items() if known in present}, key: file}
        return file

    def _tail(self, born: str, model: Model, last: int) -> Tail:
        key = (born, model.id, model.dimensions, last)
        tail = self._tails.get(key)
        if tail is None:
            tail = Tail()
            self._tails = {key: tail}
        return tail

    def fold(self, connection: Connection, model: Model, made: int = _ALL) -> None:
        """Move the tail into files once it is long, with files not much larger; make damaged files anew.

        So there are few files, and each vector is copied a few times only. Without the files answers are
        the same, only slower.

        Args:
            connection: Not in a transaction.
            model: Whose vectors.
            made: How many vectors were made just now: where few were, little is copied, so that nobody waits.

        Raises:
            OSError: The folder cannot be written to.
        """
        for segment in segments(connection, model.id):
            if stamp_of(self.path(segment.generation)) != segment.stamp:
                self._write(connection, model, segment.after, segment.upto)
        written = True
        while written and (place := self._place(connection, model, made)) is not None:
            written = self._write(connection, model, place, _ALL)
            self._drop_gone(connection, model)

    def _place(self, connection: Connection, model: Model, made: int) -> int | None:
        """After which id the next file is to begin; None if the tail is short enough."""
        held = segments(connection, model.id)
        after = held[-1].upto if held else 0
        rows = _count(connection, model, after, _ALL)
        if rows < FOLD:
            return None
        most = min(LARGEST, max(COPIED, _COPIED_EACH * made))
        while held and held[-1].rows <= 2 * rows and held[-1].rows + rows <= most:
            segment = held.pop()
            after, rows = segment.after, rows + segment.rows
        return after

    def intact(self, connection: Connection, model: Model) -> bool:
        """Whether every file that the database counts on is there as it was written."""
        return all(stamp_of(self.path(s.generation)) == s.stamp for s in segments(connection, model.id))

    def _write(self, connection: Connection, model: Model, after: int, upto: int, *, thinned: bool = False) -> bool:
        """Have one file for the embeddings `after < id <= upto`; returns whether there is, and nobody came between.

        Files in that range are copied into it, `thinned` of what is in the database no longer.
        """
        known = _known(connection, model, after, upto)
        blocks: list[Block] = []
        last = after
        for segment in known.segments:
            whole = stamp_of(self.path(segment.generation)) == segment.stamp
            file = self._file(known.born, segment, model.dimensions, known.segments) if whole else None
            if file is None:
                blocks += [block for _, block in _read(connection, model, segment.after, segment.upto)]
            else:
                blocks.append(file.only(_embedded(connection, model, file.block)) if thinned else file.block)
            last = segment.upto
        rows = sum(block.rows for block in blocks)
        for number, block in _read(connection, model, last, upto) if rows < LARGEST else ():
            blocks.append(block)
            last, rows = number, rows + block.rows
            if rows >= LARGEST:
                break
        return self._put(connection, model, known, blocks, last)

    def _put(self, connection: Connection, model: Model, known: _Known, blocks: list[Block], upto: int) -> bool:
        rows, generation, stamp = sum(block.rows for block in blocks), 0, Stamp(0, 0)
        if rows:
            generation = _next_generation(connection)
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            stamp = write(self.path(generation), model.dimensions, blocks)
        with immediate(connection):
            unchanged = known == _known(connection, model, known.after, upto)
            if unchanged:
                for segment in known.segments:
                    connection.execute("DELETE FROM segments WHERE generation=?", (segment.generation,))
                if rows:
                    values = (generation, model.id, known.after, upto, rows, *stamp)
                    connection.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        for gone in [segment.generation for segment in known.segments] if unchanged else [generation]:
            discard(self.path(gone))
        self._sweep(connection)
        return unchanged and rows > 0

    def _drop_gone(self, connection: Connection, model: Model) -> None:
        """Drop some of the vectors whose texts no passage has any longer, the oldest first, if there are too many."""
        [(gone,)] = connection.execute("SELECT count(*) FROM gone")
        if gone <= KEPT or gone <= _passages(connection):
            return
        with immediate(connection):
            texts = connection.execute("SELECT text FROM gone ORDER BY text LIMIT ?", (DROPPED,))
            numbers = listed(text for (text,) in texts)
            for table, key in (
                ("embeddings", "model IN (SELECT id FROM models) AND text"),
                ("texts", "id"),
                ("gone", "text"),
            ):
                connection.execute(f"DELETE FROM {table} WHERE {key} IN (SELECT value FROM json_each(?))", (numbers,))
        for segment in segments(connection, model.id):
            if 4 * _count(connection, model, segment.after, segment.upto) < 3 * segment.rows:
                self._write(connection, model, segment.after, segment.upto, thinned=True)
                return

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


def _known(connection: Connection, model: Model, after: int, upto: int) -> _Known:
    with reading(connection):
        [(dimensions,)] = connection.execute("SELECT dimensions FROM models WHERE id=?", (model.id,)) or [(0,)]
        held = [s for s in segments(connection, model.id) if s.upto > after and s.after < upto]
        return _Known(_born(connection), dimensions, after, held)


def _next_generation(connection: Connection) -> int:
    [(generation,)] = connection.execute("UPDATE meta SET value=value+1 WHERE name='generation' RETURNING value")
    return int(generation)


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


def _count(connection: Connection, model: Model, after: int, upto: int) -> int:
    [(rows,)] = connection.execute(
        "SELECT count(*) FROM embeddings WHERE model=? AND vector IS NOT NULL AND id>? AND id<=?",
        (model.id, after, upto),
    )
    return int(rows)


def _embedded(connection: Connection, model: Model, block: Block) -> set[int]:
    """Those of its texts, and maybe others, that have a vector in the database."""
    texts = block.texts
    rows = connection.execute(
        "SELECT text FROM embeddings WHERE model=? AND text BETWEEN ? AND ?", (model.id, min(texts), max(texts))
    )
    return {text for (text,) in rows}


def _rows(
    connection: Connection, model: Model, after: int, count: int, upto: int = _ALL
) -> list[tuple[int, int, bytes]]:
    """(id, text, vector) of the first `count` vectors with `after < id <= upto`, all for -1."""
    # of its length, for another process may just have found other dimensions and made them again
    return connection.execute(
        "SELECT id, text, vector FROM embeddings WHERE model=? AND vector IS NOT NULL AND id>? AND id<=?"
        " AND length(vector)=? ORDER BY id LIMIT ?",
        (model.id, after, upto, 4 * model.dimensions, count),
    )


def _read(connection: Connection, model: Model, after: int, upto: int) -> Iterator[tuple[int, Block]]:
    """The vectors of a range as blocks for a file, each with its last id; others may use the connection in between."""
    while rows := _rows(connection, model, after, _READ, upto):
        after = rows[-1][0]
        yield after, block_of((text for _, text, _ in rows), b"".join(vector for _, _, vector in rows))


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
    """How many passages wait for their vector: all of them if the model is not known.

    From `COUNTED` on it is how many texts wait, if they are more: a search must not take its time counting.
    """
    if model is None:
        return _passages(connection)
    [(count,)] = connection.execute(
        "SELECT count(*) FROM (SELECT 1 FROM pending JOIN passages ON dense=pending.text WHERE model=? LIMIT ?)",
        (model.id, COUNTED),
    )
    return int(count) if count < COUNTED else max(int(count), _waiting(connection, model, None))


def _passages(connection: Connection) -> int:
    [(count,)] = connection.execute("SELECT value FROM meta WHERE name='passages'")
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
            embedded = _embed_batch(connection, embedder, model, min(at_once(embedder), total - done))
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
            tidy(connection, model, vectors, done)
    if done and model.paused:
        pause(connection, model, "")
    tidy(connection, model, vectors, done)


def at_once(embedder: Embedder) -> int:
    """Texts embedded, and committed, at a time: they take a fraction of a second."""
    return _SLOW if embedder.local and inline(embedder) < inf else BATCH[embedder.local]


def at_once(embedder: Embedder) -> int:
    """Texts embedded, and committed, at a time: they take a fraction of a second."""
    return _SLOW if embedder.local and inline(embedder) < inf else BATCH[embedder.local]


def _waiting(connection: Connection, model: Model, limit: int | None) -> int:
    [(total,)] = connection.execute("SELECT count(*) FROM pending WHERE model=?", (model.id,))
    return int(total) if limit is None else min(int(total), limit)


def tidy(connection: Connection, model: Model, vectors: Vectors, made: int = _ALL) -> None:
    """`Vectors.fold`; a folder that cannot be written to does no harm, answers only come slower."""
    try:
        vectors.fold(connection, model, made)
    except OSError:
        return


def any_vector(connection: Connection, model: Model) -> bool:
    """Whether there is any vector of that model to compare with."""
    found = connection.first("SELECT 1 FROM embeddings WHERE model=? AND vector IS NOT NULL LIMIT 1", (model.id,))
    return found is not None


def nearest(
    connection: Connection,
    vectors: Vectors,
    model: Model,
    query: bytes,
    count: int,
    where: str = "",
    values: Sequence[Value] = (),
) -> dict[int, float]:
    """Exact cosine by passage of the `count` passages most similar to the query; newest first among equals.

    Args:
        connection: In a transaction that reads.
        vectors: The index's own.
        model: Whose vectors are compared.
        query: A vector of that model, float32.
        count: At most so many.
        where: Condition over `passages AS p` that they must meet; "" for any passage.
        values: What to bind in it.
    """
    question = Question(query)
    scans = vectors.scan(connection, model, question)
    wanted, allowed = 2 * count if where else count, None
    while True:
        near = rescored(question, best(scans, wanted + wanted // 4 + SPARE, allowed))[:wanted]
        found = passages_of(connection, near, where, values, count)
        if len(found) >= count or len(near) < wanted:
            return found
        # texts that no passage has any longer, or that the condition keeps out, have taken the places
        wanted = max(2 * wanted, 2 * count * wanted // (len(found) or 1))
        if where and allowed is None and wanted > MOST * count:
            wanted, allowed = count, texts_of(connection, where, values)


def texts_of(connection: Connection, where: str, values: Sequence[Value]) -> set[int]:
    """Texts of the passages that a condition (over `passages AS p`) admits."""
    return {text for (text,) in connection.execute(f"SELECT p.dense FROM passages AS p WHERE {where}", values)}


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
