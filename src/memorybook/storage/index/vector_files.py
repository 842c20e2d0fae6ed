"""The vector files of the SQLite index: which there are, how they grow, what they let go.

Every file holds the embeddings of one model in a range of ids; the table `segments` says which files count.
Rows after the last file are the tail.
"""

from __future__ import annotations

import os
from _thread import allocate_lock, start_new_thread
from itertools import islice
from math import inf
from operator import itemgetter
from time import time

from memorybook._light import TYPE_CHECKING, Iterable, Iterator, NamedTuple, Sequence, suppress
from memorybook.errors import EmbedderFailed
from memorybook.inference.static import chosen, vectors_of
from memorybook.storage.columns import Value, readable
from memorybook.storage.index import vectors
from memorybook.storage.index.index_schema import PAUSE, born, counted_up, inline, listed, noted
from memorybook.storage.sqlite import Connection, immediate, reading

if TYPE_CHECKING:
    from memorybook.protocols import Embedder, Progress


FOLD = 256
"""Vectors that gather in the tail before a file is written: a cold process reads them from SQLite one by one."""

LARGEST = 65_536
"""Rows of a vector file at most."""

COPIED = 16_384
"""Rows of the file that a fold writes for the sake of a few new ones: what an append may have to wait for."""

KEPT = 4096
"""Texts that no passage has any longer keep their vectors, should they come back: so many, or as many as passages."""

DROPPED = 2048
"""Vectors of such texts that go at a time."""

_MANY = 20_000  # rows from which a second processor is worth a thread
_COPIED_EACH = 8
_READ = 4096
_STALE = 600.0
ALL = 2**63 - 1


class Model(NamedTuple):
    """An embedder as the index knows it.

    Attributes:
        id, dimensions: See `Embedder`.
        paused, reason: The time until which it is left alone, 0 if it is not, and why.
        unrelated: See `calibration.unrelated`; None if that was not measured.
    """

    id: int
    dimensions: int
    paused: float
    reason: str
    unrelated: float | None


class Segment(NamedTuple):
    """A vector file that holds the embeddings `after < id <= upto` of one model."""

    generation: int
    after: int
    upto: int
    rows: int
    stamp: vectors.Stamp


class _Known(NamedTuple):
    """What must be as it was when a file that was written meanwhile is made to count; the files it replaces."""

    born: str
    dimensions: int
    after: int
    segments: list[Segment]


class Scanning:
    """Files being compared with a question, of many rows by another thread; `others` are compared already."""

    def __init__(
        self, files: Sequence[vectors.VectorFile], question: vectors.Question, others: Iterable[vectors.Scan] = ()
    ) -> None:
        self.question = question
        self._left = list(enumerate(files))[::-1]
        self._found = [[*others], *([] for _ in files)]
        self._failed: list[BaseException] = []
        self._busy = allocate_lock()
        if sum(file.block.rows for file in files) >= _MANY and (os.cpu_count() or 1) > 1:
            self._busy.acquire()
            try:
                start_new_thread(self._aside, ())
            except RuntimeError:  # no more threads to be had
                self._busy.release()

    def _aside(self) -> None:
        try:
            self._work()
        except BaseException as error:  # raised again where it is waited for
            self._failed.append(error)
        finally:
            self._busy.release()

    def _work(self) -> None:
        # comparing lets other threads run; whoever is ready takes the next file, so that a slow one delays nobody
        while self._left:
            try:
                number, file = self._left.pop()
            except IndexError:
                return
            self._found[1 + number] = file.scan(self.question)

    def finished(self) -> list[vectors.Scan]:
        """Return all rows compared, with this thread's help; once only."""
        try:
            self._work()
        finally:
            self._busy.acquire()
        if self._failed:
            raise self._failed[0]
        return [scan for scans in self._found for scan in scans]


class Vectors:
    """The mapped files and the tail in memory; one per index, shared by its threads.

    The files are `<name>.vectors.<generation>` in `folder`, which may hold other files.
    """

    def __init__(self, folder: str, name: str) -> None:
        self._folder = folder
        self._prefix = f"{name}.vectors."
        self._files: dict[tuple[str, int], vectors.VectorFile] = {}
        self._tails: dict[tuple[str, int, int, int], vectors.Tail] = {}

    def path(self, generation: int) -> str:
        """Return the file of that generation."""
        return os.path.join(self._folder, f"{self._prefix}{generation}")

    def forget(self) -> None:
        """Unmap everything, as after the database was made anew."""
        self._files, self._tails = {}, {}

    def scan(self, connection: Connection, model: Model, question: vectors.Question) -> Scanning:
        """Begin to compare all vectors of the model with the question, within a transaction."""
        age, held = born(connection), segments(connection, model.id)
        files: list[vectors.VectorFile] = []
        rest: list[vectors.Scan] = []
        for segment in held:
            file = self._file(age, segment, model.dimensions, held)
            if file is not None:
                files.append(file)
                continue
            lost = vectors.Tail()
            lost.add(_rows(connection, model, segment.after, -1, segment.upto))
            rest += lost.scan(question)
        last = held[-1].upto if held else 0
        key = (age, model.id, model.dimensions, last)
        tail = self._tails.get(key) or vectors.Tail()
        self._tails = {key: tail}
        tail.add(_rows(connection, model, max(last, tail.last), -1))
        return Scanning(files, question, rest + tail.scan(question))

    def _file(self, born: str, segment: Segment, dimensions: int, held: Sequence[Segment]) -> vectors.VectorFile | None:
        path, key = self.path(segment.generation), (born, segment.generation)
        file = self._files.get(key)
        if file is None:
            try:
                if not self._stands(segment):
                    return None
                file = vectors.VectorFile(path, self._held(segment), dimensions)
            except (OSError, ValueError):
                return None
            # a file that is merged by now takes its place on the disk as long as it is mapped
            present = {(born, other.generation) for other in held}
            self._files = {**{known: mapped for known, mapped in self._files.items() if known in present}, key: file}
        return file

    def _stands(self, segment: Segment) -> bool:
        """Return whether the file is as it was written."""
        return vectors.stamp_of(self.path(segment.generation)) == segment.stamp

    def _held(self, segment: Segment) -> memoryview[int]:
        """Return what the file holds. Raises OSError, ValueError."""
        return vectors.mapped(self.path(segment.generation))

    def fold(self, connection: Connection, model: Model, made: int = ALL) -> None:
        """Move the tail into files once it is long, and remake damaged files. Raises OSError.

        Each vector is copied a few times only; answers are the same without files, only slower. Little is copied where
        few vectors were `made`.
        """
        for segment in self._harmed(connection, model):
            self._write(connection, model, segment.after, segment.upto)
        written = True
        while written and (place := self._place(connection, model, made)) is not None:
            written = self._write(connection, model, place, ALL)
            self._drop_gone(connection, model)

    def _place(self, connection: Connection, model: Model, made: int) -> int | None:
        """Return after which id the next file is to begin; None if the tail is short enough."""
        held = segments(connection, model.id)
        after = held[-1].upto if held else 0
        rows = _count(connection, model, after, ALL)
        if rows < FOLD:
            return None
        most = min(LARGEST, max(COPIED, _COPIED_EACH * made))
        while held and held[-1].rows <= 2 * rows and held[-1].rows + rows <= most:
            segment = held.pop()
            after, rows = segment.after, rows + segment.rows
        return after

    def intact(self, connection: Connection, model: Model) -> bool:
        """Return whether every file that the database counts on is there as it was written, and can be read."""
        return not self._harmed(connection, model)

    def _harmed(self, connection: Connection, model: Model) -> list[Segment]:
        with reading(connection):
            age, held = born(connection), segments(connection, model.id)
        return [
            segment
            for segment in held
            if not self._stands(segment) or self._file(age, segment, model.dimensions, held) is None
        ]

    def _write(self, connection: Connection, model: Model, after: int, upto: int, *, thinned: bool = False) -> bool:
        """Write one file for the embeddings `after < id <= upto`; return whether it was written."""
        known = _known(connection, model, after, upto)
        blocks: list[vectors.Block] = []
        last = after
        for segment in known.segments:
            whole = self._stands(segment)
            file = self._file(known.born, segment, model.dimensions, known.segments) if whole else None
            if file is None:
                blocks += [block for _, block in _read(connection, model, segment.after, segment.upto)]
            else:
                block = file.block
                if thinned:  # to those of its texts that have a vector in the database
                    texts = "SELECT text FROM embeddings WHERE model=? AND text BETWEEN ? AND ?"
                    held = connection.execute(texts, (model.id, min(block.texts), max(block.texts)))
                    block = file.only({text for (text,) in held})
                blocks.append(block)
            last = segment.upto
        rows = sum(block.rows for block in blocks)
        for number, block in _read(connection, model, last, upto) if rows < LARGEST else ():
            blocks.append(block)
            last, rows = number, rows + block.rows
            if rows >= LARGEST:
                break
        return self._put(connection, model, known, blocks, last)

    def _put(self, connection: Connection, model: Model, known: _Known, blocks: list[vectors.Block], upto: int) -> bool:
        rows, generation, stamp = sum(block.rows for block in blocks), 0, vectors.Stamp(0, 0)
        if rows:
            generation = counted_up(connection, "generation", 1)
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            stamp = vectors.write(self.path(generation), model.dimensions, blocks)
        with immediate(connection):
            unchanged = known == _known(connection, model, known.after, upto)
            if unchanged:
                for segment in known.segments:
                    connection.execute("DELETE FROM segments WHERE generation=?", (segment.generation,))
                if rows:
                    values = (generation, model.id, known.after, upto, rows, *stamp)
                    connection.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        for gone in [segment.generation for segment in known.segments] if unchanged else [generation]:
            vectors.discard(self.path(gone))
        counted = self._counted(connection)
        for path, found in self._present():  # what crashes left; a young file may be of another process still at work
            if path not in counted and time() - found.written / 1e9 > _STALE:
                vectors.discard(path)
        return unchanged and rows > 0

    def _counted(self, connection: Connection) -> set[str]:
        """Return the files that the database counts on."""
        return {self.path(g) for (g,) in connection.execute("SELECT generation FROM segments")}

    def _drop_gone(self, connection: Connection, model: Model) -> None:
        """Drop some of the vectors whose texts no passage has any longer, the oldest first, if there are too many."""
        [(gone,)] = connection.execute("SELECT count(*) FROM gone")
        if gone <= KEPT or gone <= noted(connection, "passages"):
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
        """Return what the vector files take on disk."""
        return sum(stamp.size for _, stamp in self._present())

    def discard_uncounted(self, connection: Connection) -> None:
        """Unlink every finished file that the database does not count on, as after it was made anew."""
        counted = self._counted(connection)
        for path, _ in self._present():
            if path not in counted and path.rpartition(".")[2].isdecimal():
                vectors.discard(path)

    def _present(self) -> list[tuple[str, vectors.Stamp]]:
        """Return the files with a name that is given here: a generation, or one and the process that writes it."""
        import re

        ours = re.compile(rf"{re.escape(self._prefix)}[0-9]+(\.[0-9]+\.tmp)?")
        try:
            paths = [os.path.join(self._folder, name) for name in os.listdir(self._folder) if ours.fullmatch(name)]
        except OSError:
            return []
        return [(path, stamp) for path in paths if (stamp := vectors.stamp_of(path)) is not None]


def _known(connection: Connection, model: Model, after: int, upto: int) -> _Known:
    with reading(connection):
        [(dimensions,)] = connection.execute("SELECT dimensions FROM models WHERE id=?", (model.id,)) or [(0,)]
        held = [s for s in segments(connection, model.id) if s.upto > after and s.after < upto]
        return _Known(born(connection), dimensions, after, held)


def segments(connection: Connection, model: int) -> list[Segment]:
    """Return the vector files of a model, in the order of their ids."""
    rows = connection.execute(
        "SELECT generation, after, upto, rows, size, written FROM segments WHERE model=? ORDER BY after", (model,)
    )
    return [
        Segment(generation, after, upto, held, vectors.Stamp(*stamp)) for generation, after, upto, held, *stamp in rows
    ]


def _count(connection: Connection, model: Model, after: int, upto: int) -> int:
    [(rows,)] = connection.execute(
        "SELECT count(*) FROM embeddings WHERE model=? AND vector IS NOT NULL AND id>? AND id<=?",
        (model.id, after, upto),
    )
    return int(rows)


def _rows(
    connection: Connection, model: Model, after: int, count: int, upto: int = ALL
) -> list[tuple[int, int, bytes]]:
    """Return (id, text, vector) of the first `count` vectors with `after < id <= upto`, all for -1."""
    # of its length, for another process may just have found other dimensions and made them again
    return connection.execute(
        "SELECT id, text, vector FROM embeddings WHERE model=? AND vector IS NOT NULL AND id>? AND id<=?"
        " AND length(vector)=? ORDER BY id LIMIT ?",
        (model.id, after, upto, 4 * model.dimensions, count),
    )


def _read(connection: Connection, model: Model, after: int, upto: int) -> Iterator[tuple[int, vectors.Block]]:
    """Yield the vectors of a range as blocks, each with its last id; others may use the connection in between."""
    while rows := _rows(connection, model, after, _READ, upto):
        after = rows[-1][0]
        yield after, vectors.block_of((text for _, text, _ in rows), b"".join(vector for _, _, vector in rows))


BATCH = {True: 512, False: 64}
"""Texts embedded, and committed, at a time; by whether the embedder is local."""

SPARE = 75
"""The scan's best so many, and a quarter of those wanted, more than are wanted are compared exactly."""

MOST = 10
"""How many times those wanted are looked at in search of those that a condition admits, before it is asked which."""

COUNTED = 10_000
"""Passages that wait for their vectors are counted up to so many; beyond, texts are."""

_FOLD_EACH = 16_384
_SLOW = 16  # texts at a time for a model on this machine that is not embedded within a sync


def known_model(connection: Connection, embedder: Embedder) -> Model | None:
    """Return the embedder's model in the index; None if it was never used or has other dimensions now."""
    row = connection.first(
        "SELECT id, dimensions, coalesce(paused_until, 0.0), coalesce(reason, ''), unrelated FROM models"
        " WHERE name=?1 AND (?2=0 OR dimensions=?2)",
        (embedder.name, embedder.dimensions),
    )
    return Model(*row) if row is not None else None


def register(connection: Connection, embedder: Embedder) -> Model:
    """Return `known_model`, made known first if need be: everything then waits for its vectors."""
    while (model := known_model(connection, embedder)) is None:
        with immediate(connection):
            _learn(connection, embedder)
    return model


def _learn(connection: Connection, embedder: Embedder) -> None:
    """Have the embedder and its dimensions known; vectors of other dimensions go, for they are to be made again."""
    if known_model(connection, embedder) is not None:
        return
    [(number,)] = connection.execute(
        "INSERT INTO models (id, name, dimensions) SELECT coalesce(max(id), 0) + 1, ?1, ?2 FROM models WHERE true"
        " ON CONFLICT (name) DO UPDATE SET dimensions=?2, unrelated=NULL RETURNING id",
        (embedder.name, embedder.dimensions),
    )
    for table in ("embeddings", "segments"):
        connection.execute(f"DELETE FROM {table} WHERE model=?", (number,))
    connection.execute("INSERT OR IGNORE INTO pending SELECT DISTINCT ?, dense FROM passages", (number,))


def pending(connection: Connection, model: Model | None) -> int:
    """Return how many passages wait for their vector; from `COUNTED` on how many texts, if they are more."""
    if model is None:
        return int(noted(connection, "passages"))
    if connection.first("SELECT 1 FROM pending WHERE model=?", (model.id,)) is None:
        return 0
    [(count,)] = connection.execute(
        "SELECT coalesce(sum(held), 0) FROM (SELECT (SELECT count(*) FROM passages WHERE dense=pending.text) AS held"
        " FROM pending WHERE model=? LIMIT ?) AS waiting",
        (model.id, COUNTED),
    )
    return int(count) if count < COUNTED else max(int(count), _waiting(connection, model, None))


def pause(connection: Connection, model: Model, reason: str) -> None:
    """Leave the embedder alone for a while, in every process; "" ends it."""
    until = time() + PAUSE if reason else None
    connection.execute("UPDATE models SET paused_until=?, reason=? WHERE id=?", (until, reason or None, model.id))


def embed_pending(
    connection: Connection,
    embedder: Embedder,
    files: Vectors,
    *,
    limit: int | None = None,
    progress: Progress | None = None,
) -> None:
    """Embed up to `limit` waiting texts, committing batch by batch. Raises EmbedderFailed; a remote one is paused."""
    model = register(connection, embedder)
    done, total = 0, _waiting(connection, model, limit)
    while done < total:
        try:
            if model.unrelated is None:
                _calibrate(connection, embedder)
            at_once = _SLOW if embedder.local and inline(embedder) < inf else BATCH[embedder.local]
            embedded = _embed_batch(connection, embedder, model, min(at_once, total - done))
        except EmbedderFailed as error:
            if not embedder.local:
                pause(connection, model, str(error))
            raise
        if embedded == 0:
            break
        done += embedded or 0
        before, model = model, register(connection, embedder)
        if embedded is None or model.dimensions != before.dimensions:
            total = done + _waiting(connection, model, None if limit is None else limit - done)
        if embedded is None:
            continue
        if progress is not None:
            progress(done, total)
        if done % _FOLD_EACH < embedded:
            tidy(connection, model, files, done)
    if done and model.paused:
        pause(connection, model, "")
    tidy(connection, model, files, done)
    if done and (unread := getattr(embedder, "unread", None)) is not None:
        unread(*_unread(connection, model, done))
        other = register(connection, embedder)  # it may have chosen anew
        if other.id != model.id and _waiting(connection, other, None) <= inline(embedder):
            embed_pending(connection, embedder, files, limit=limit, progress=progress)


def _calibrate(connection: Connection, embedder: Embedder) -> None:
    """Measure which cosines tell nothing, and keep that with the vectors. Raises EmbedderFailed."""
    from memorybook.inference.calibration import unrelated

    embedder = chosen(embedder)
    measured = unrelated(embedder)
    register(connection, embedder)
    connection.execute("UPDATE models SET unrelated=? WHERE name=?", (measured, embedder.name))


def _unread(connection: Connection, model: Model, made: int) -> tuple[int, int]:
    """Return how many of the texts the embedder could not read, and how many there are; (0, 0) if it read the last."""
    newest = "(SELECT vector FROM embeddings ORDER BY id DESC LIMIT ?) AS newest"
    if connection.first(f"SELECT 1 FROM {newest} WHERE vector IS NULL LIMIT 1", (made,)) is None:
        return 0, 0
    counted = "SELECT count(*) FROM embeddings WHERE model=?"  # by indices: no vector is read
    [(total,)] = connection.execute(counted, (model.id,))
    [(read,)] = connection.execute(f"{counted} AND vector IS NOT NULL", (model.id,))
    return int(total) - int(read), int(total)


def _waiting(connection: Connection, model: Model, limit: int | None) -> int:
    [(total,)] = connection.execute("SELECT count(*) FROM pending WHERE model=?", (model.id,))
    return int(total) if limit is None else min(int(total), limit)


def tidy(connection: Connection, model: Model, files: Vectors, made: int = ALL) -> None:
    """Call `Vectors.fold`; a folder that cannot be written to does no harm, answers only come slower."""
    with suppress(OSError):
        files.fold(connection, model, made)


def any_vector(connection: Connection, model: Model) -> bool:
    """Return whether there is any vector of that model to compare with."""
    found = connection.first("SELECT 1 FROM embeddings WHERE model=? AND vector IS NOT NULL LIMIT 1", (model.id,))
    return found is not None


def nearest(
    connection: Connection, scanning: Scanning, count: int, where: str = "", values: Sequence[Value] = ()
) -> dict[int, float]:
    """Return the exact cosine of the `count` passages most similar to the question; newest first among equals.

    `scanning` was begun in the same transaction; `where` is a condition over `passages AS p`.
    """
    scans = scanning.finished()
    wanted, allowed = 2 * count if where else count, None
    while True:
        near = vectors.rescored(scanning.question, vectors.best(scans, wanted + wanted // 4 + SPARE, allowed))[:wanted]
        found = passages_of(connection, near, where, values, count)
        if len(found) >= count or len(near) < wanted:
            return found
        # texts that no passage has any longer, or that the condition keeps out, have taken the places
        wanted = max(2 * wanted, 2 * count * wanted // (len(found) or 1))
        if where and allowed is None and wanted > MOST * count:
            admitted = connection.execute(f"SELECT p.dense FROM passages AS p WHERE {where}", values)
            wanted, allowed = count, {text for (text,) in admitted}


def passages_of(
    connection: Connection, near: list[tuple[int, float]], where: str, values: Sequence[Value], count: int
) -> dict[int, float]:
    """Return cosine by passage of the first `count` passages with these texts, newest first among equals."""
    rows = connection.execute(
        "SELECT p.dense, p.id FROM passages AS p WHERE p.dense IN (SELECT value FROM json_each(?))"
        f" {'AND ' + where if where else ''}",
        (listed(text for text, _ in near), *values),
    )
    holding: dict[int, list[int]] = {}
    for text, number in sorted(rows, key=itemgetter(1), reverse=True):
        holding.setdefault(text, []).append(number)
    found = ((number, cosine) for text, cosine in near for number in holding.get(text, ()))
    return dict(islice(found, count))


def _embed_batch(connection: Connection, embedder: Embedder, model: Model, count: int) -> int | None:
    """Embed up to `count` texts; return how many, None (storing nothing) if the index was rebuilt meanwhile."""
    from memorybook.text.splitting import dense_text_of

    # the newest first, unless all come before anybody searches: then in the order in which they are made ahead
    order = "DESC" if inline(embedder) < inf else "ASC"
    with reading(connection):
        before = born(connection), model.id
        rows = connection.execute(
            "SELECT w.text, p.source, p.heading, p.text FROM (SELECT text, passage FROM (SELECT text, (SELECT id"
            " FROM passages WHERE dense=pending.text LIMIT 1) AS passage FROM pending WHERE model=?) AS waiting"
            f" WHERE passage IS NOT NULL ORDER BY text {order} LIMIT ?) AS w JOIN passages AS p ON p.id=passage"
            f" ORDER BY w.text {order}",
            (model.id, count),
        )
    if not rows:
        return 0
    texts = [dense_text_of(source, readable(heading), readable(text)) for _, source, heading, text in rows]
    made = vectors_of(embedder, texts)
    with immediate(connection):
        _learn(connection, embedder)  # its dimensions, if this was its first answer
        now = known_model(connection, embedder)
        if now is None or (born(connection), now.id) != before:
            return None
        numbers = listed(int(row[0]) for row in rows)
        # another process may have embedded them too, or the passages may be gone by now
        there = connection.execute("SELECT id FROM texts WHERE id IN (SELECT value FROM json_each(?))", (numbers,))
        vector_of = {int(row[0]): vector for row, vector in zip(rows, made, strict=True)}
        connection.executemany(
            "INSERT OR IGNORE INTO embeddings (model, text, vector) VALUES (?, ?, ?)",
            [(model.id, text, vector_of[text]) for (text,) in there],
        )
        connection.execute(
            "DELETE FROM pending WHERE model=? AND text IN (SELECT value FROM json_each(?))", (model.id, numbers)
        )
    return len(rows)
