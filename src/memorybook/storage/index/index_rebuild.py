"""Making the index anew while the old one answers."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from time import time
from typing import TYPE_CHECKING
from uuid import uuid4

import apsw

from memorybook.errors import Unavailable
from memorybook.search.types import SyncReport
from memorybook.storage.index.freshness import bring_up_to_date
from memorybook.storage.index.index_schema import open_index
from memorybook.storage.index.vectors import discard
from memorybook.storage.sqlite import Connection, connect, immediate

if TYPE_CHECKING:
    from memorybook.protocols import Documents, Progress, Transcripts

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

    Searches and syncs of other processes go on: until the copy is committed they read and write the
    old pages, and what they brought in meanwhile differs from the new ones and is brought in by the
    next sync. The embedding of every text that is still there is taken over, of all models or of the one that is
    named; `expect` is as in `bring_up_to_date`.
    """
    _sweep(live.path)
    beside = f"{live.path}.rebuild-{uuid4().hex[:8]}"
    try:
        scratch = open_index(beside, _hurry)
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


def _hurry(raw: apsw.Connection) -> None:
    """Nobody else reads it, and after a crash it is thrown away: every page is written once."""
    raw.execute("PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF").fetchall()


def _sweep(path: str) -> None:
    """Unlink what a rebuild left that was killed; one that goes on has written to its files lately."""
    folder, prefix = os.path.dirname(path), f"{os.path.basename(path)}.rebuild-"
    for name in os.listdir(folder):
        left = os.path.join(folder, name)
        with suppress(FileNotFoundError):  # of a rebuild that ends just now
            if name.startswith(prefix) and time() - os.stat(left).st_mtime > _STALE:
                discard(left)


def _take_over(scratch: Connection, live: str, model: str | None) -> None:
    """Models, or the one of that name, and their embeddings; what cannot be read any more is embedded again."""
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
    copier = connect(live, durable=False)
    try:
        with copier.lock, copier.raw.backup("main", scratch.raw, "main") as copying:
            copying.step(-1)
        copier.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        copier.close()
