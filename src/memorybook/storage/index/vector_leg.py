"""The vector leg of the SQLite index: which vectors there are, which are missing, and the nearest of them.

Every embedder has its own vectors, under its name: they are never mixed, and going back to an earlier
embedder finds its vectors still there. An embedding belongs to a text (by digest), not to a passage.
"""

from __future__ import annotations

from itertools import islice
from math import inf
from time import time

from memorybook._light import TYPE_CHECKING, Sequence
from memorybook.errors import EmbedderFailed
from memorybook.inference.arrays import vectors_of
from memorybook.storage.index.candidates import PAUSE, inline
from memorybook.storage.index.index_schema import born, listed
from memorybook.storage.index.vector_files import ALL, passage_count
from memorybook.storage.index.vector_files import Model as Model
from memorybook.storage.index.vector_files import Scanning as Scanning
from memorybook.storage.index.vector_files import Vectors as Vectors
from memorybook.storage.index.vectors import Question as Question
from memorybook.storage.index.vectors import best, rescored
from memorybook.storage.sqlite import Connection, Value, immediate, readable, reading

if TYPE_CHECKING:
    from memorybook.protocols import Embedder, Progress

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
        return passage_count(connection)
    if connection.first("SELECT 1 FROM pending WHERE model=?", (model.id,)) is None:
        return 0
    [(count,)] = connection.execute(
        "SELECT count(*) FROM (SELECT 1 FROM pending JOIN passages ON dense=pending.text WHERE model=? LIMIT ?)",
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
            tidy(connection, model, vectors, done)
    if done and model.paused:
        pause(connection, model, "")
    tidy(connection, model, vectors, done)


def at_once(embedder: Embedder) -> int:
    """Texts embedded, and committed, at a time: they take a fraction of a second."""
    return _SLOW if embedder.local and inline(embedder) < inf else BATCH[embedder.local]


def _waiting(connection: Connection, model: Model, limit: int | None) -> int:
    [(total,)] = connection.execute("SELECT count(*) FROM pending WHERE model=?", (model.id,))
    return int(total) if limit is None else min(int(total), limit)


def tidy(connection: Connection, model: Model, vectors: Vectors, made: int = ALL) -> None:
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
    connection: Connection, scanning: Scanning, count: int, where: str = "", values: Sequence[Value] = ()
) -> dict[int, float]:
    """Exact cosine by passage of the `count` passages most similar to the question; newest first among equals.

    Args:
        connection: In a transaction that reads.
        scanning: Begun in the same transaction.
        count: At most so many.
        where: Condition over `passages AS p` that they must meet; "" for any passage.
        values: What to bind in it.
    """
    scans = scanning.finished()
    wanted, allowed = 2 * count if where else count, None
    while True:
        near = rescored(scanning.question, best(scans, wanted + wanted // 4 + SPARE, allowed))[:wanted]
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


def _embed_batch(connection: Connection, embedder: Embedder, model: Model, count: int) -> int | None:
    """Embed up to `count` texts; returns how many, or None if the index was made anew meanwhile: nothing is kept then.

    A text or a model has another number there, so what was made would be stored as another's.
    """
    from memorybook.text.passages import dense_text_of

    # the newest first, unless all come before anybody searches: then in the order in which they are made ahead
    order = "DESC" if inline(embedder) < inf else "ASC"
    with reading(connection):
        before = born(connection), model.id
        rows = connection.execute(
            "SELECT pending.text, max(p.id), p.source, p.heading, p.text"
            " FROM pending JOIN passages AS p ON p.dense=pending.text"
            f" WHERE pending.model=? GROUP BY pending.text ORDER BY pending.text {order} LIMIT ?",
            (model.id, count),
        )
    if not rows:
        return 0
    texts = [dense_text_of(source, readable(heading), readable(text)) for _, _, source, heading, text in rows]
    made = vectors_of(embedder, texts)
    with immediate(connection):
        _learn(connection, embedder)  # its dimensions, if this was its first answer
        now = known_model(connection, embedder)
        if now is None or (born(connection), now.id) != before:
            return None
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
