"""Connections of a process: threads that need several do not wait for each other, and a child leaves its parent's."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from conformance.storage import NOW
from memorybook.config.settings import Config
from memorybook.model import Session, Turn
from memorybook.search.types import Query
from memorybook.storage import postgres_index
from memorybook.storage.postgres_pool import LEAST
from memorybook.storage.postgres_storage import PostgresStorage
from memorybook.testing import HashEmbedder

THREADS = 3 * LEAST


def separate(dsn: str) -> str:
    """Return the server's address as nobody else in this process writes it, so that its pool is this test's own."""
    return f"{dsn}{'&' if '?' in dsn else '?'}application_name=pool"


def test_searches_that_read_vectors_in_the_midst_of_a_snapshot_do_not_wait_for_each_other(
    config: Config, tenant: str
) -> None:
    dsn, together = separate(config.storage.dsn), threading.Barrier(THREADS)
    storage = PostgresStorage(dsn, tenant, pool=1)
    turns = [Turn(id=f"t{n}", session="s", role="user", text=f"the ferry 渡轮 {n}", time=NOW) for n in range(300)]
    storage.transcripts.append(Session(uuid="s"), turns)
    storage.open_index(HashEmbedder()).sync(storage.documents, storage.transcripts)
    [(segments,)] = storage._tenant.rows("SELECT count(*) FROM segments")
    assert segments

    def search(_: int) -> int:
        index = PostgresStorage(dsn, tenant, pool=1).open_index(HashEmbedder())
        together.wait()
        return len(index.candidates(Query("ferry 渡轮", pool=5)).items)

    for _ in range(3):
        postgres_index._kept.clear()
        with ThreadPoolExecutor(THREADS) as threads:
            assert all(threads.map(search, range(THREADS)))


def test_books_that_bring_in_turns_do_not_wait_for_each_other(config: Config, tenant: str) -> None:
    dsn, together = separate(config.storage.dsn), threading.Barrier(THREADS)

    def bring_in(number: int) -> int:
        storage = PostgresStorage(dsn, f"{tenant}-{number}", pool=1)
        index = storage.open_index(None)
        for n in range(5):
            together.wait()
            turn = Turn(id=f"t{n}", session="s", role="user", text=f"the ferry 渡轮 {n}", time=NOW)
            storage.transcripts.append(Session(uuid="s"), [turn])
            index.sync(storage.documents, storage.transcripts)
        return len(index.candidates(Query("ferry 渡轮", pool=20)).items)

    with ThreadPoolExecutor(THREADS) as threads:
        assert list(threads.map(bring_in, range(THREADS))) == [5] * THREADS


FORKING = """
import os, sys
from memorybook.storage.postgres_storage import PostgresStorage

storage = PostgresStorage(sys.argv[1], sys.argv[2])
storage.documents.prepare()
if not (child := os.fork()):
    sys.exit()
os.waitpid(child, 0)
print(storage.identity(make=True))
"""


def test_a_child_that_ends_leaves_the_connections_of_its_parent(dsn: str, tenant: str) -> None:
    ran = subprocess.run([sys.executable, "-c", FORKING, dsn, tenant], capture_output=True, text=True, timeout=60)
    assert len(ran.stdout.strip()) == 32, ran.stderr
