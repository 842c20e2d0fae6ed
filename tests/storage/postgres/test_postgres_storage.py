"""A book in PostgreSQL: every contract of a book in files, and what is its own."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from time import sleep
from uuid import uuid4

import psycopg
import pytest

import memorybook
from conformance.fileless import TestDocuments as TestDocuments
from conformance.fileless import TestIndex as TestIndex
from conformance.fileless import TestJournal as TestJournal
from conformance.fileless import TestStorage as TestStorage
from conformance.fileless import TestTranscripts as TestTranscripts
from conformance.fileless import storage as storage
from conformance.storage import NOW, Open
from memorybook.config.settings import Config
from memorybook.errors import Unavailable
from memorybook.model import Session, Turn
from memorybook.protocols import Storage
from memorybook.storage.postgres_connection import take_role
from memorybook.storage.postgres_storage import PostgresStorage
from memorybook.storage.sqlite import immediate
from memorybook.storage.stores import open_storage
from memorybook.testing import HashEmbedder


@pytest.fixture
def opened(config: Config, tenant: str) -> Open:
    return lambda: open_storage(config, tenant)


# --- connections that died -------------------------------------------------------------------------


def test_after_all_connections_died_the_next_request_is_answered(config: Config, tenant: str, dsn: str) -> None:
    together, storages = threading.Barrier(4), [open_storage(config, tenant) for _ in range(4)]
    storages[0].documents.write("a.md", "茶 tea\n", expect=None)

    def connection_of(storage: Storage) -> int:
        assert isinstance(storage, PostgresStorage)
        with storage._tenant.reading() as raw:
            [(pid,)] = raw.execute("SELECT pg_backend_pid()").fetchall()
            together.wait()  # each has one of its own
            return int(pid)

    def read() -> str:
        return storages[1].documents.read("a.md").text

    def append() -> str:
        return storages[1].documents.append("b.md", "咖啡")

    for ask in (read, append):
        with ThreadPoolExecutor(4) as threads:
            pids = list(threads.map(connection_of, storages))
        with psycopg.connect(dsn, autocommit=True) as owner:
            owner.execute("SELECT pg_terminate_backend(pid, 5000) FROM unnest(%s::int[]) AS pid", (pids,))
        assert ask()


def test_nothing_is_said_to_be_kept_that_went_with_a_connection(opened: Open, dsn: str) -> None:
    storage = opened()
    assert isinstance(storage, PostgresStorage)

    def write() -> None:
        with storage.transaction():
            storage.documents.write("a.md", "茶\n", expect=None)
            [(pid,)] = storage._tenant.rows("SELECT pg_backend_pid()")
            with psycopg.connect(dsn, autocommit=True) as owner:
                owner.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
            with suppress(Unavailable):  # as of what is done beside the write
                storage.documents.list()

    with pytest.raises(Unavailable):
        write()
    assert not storage.exists()


def test_what_was_rolled_back_is_not_said_to_be_done_later(
    config: Config, tenant: str, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with memorybook.open(tenant, config=config) as memory:
        memory.append("kept")
        held = memory.book.storage
        assert isinstance(held, PostgresStorage)

        def die(*_: object, **__: object) -> str:
            [(pid,)] = held._tenant.rows("SELECT pg_backend_pid()")
            with psycopg.connect(dsn, autocommit=True) as owner:
                owner.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
            held.documents.list()
            raise AssertionError("the connection still answers")

        with monkeypatch.context() as patched:
            patched.setattr(held.documents, "append", die)
            with pytest.raises(Unavailable) as failed:
                memory.append("never kept")
        assert "will be done" not in str(failed.value)
        memory.append("and this")
        assert [hit.snippet for hit in memory.search("kept").hits if "never" in hit.snippet] == []


def test_who_waits_for_changes_goes_on_after_its_connection_died(opened: Open, dsn: str) -> None:
    storage, stop, told = opened(), threading.Event(), threading.Semaphore(0)

    def listen() -> None:
        for _ in storage.notices(stop):
            told.release()

    listening = threading.Thread(target=listen)
    listening.start()
    ending = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query~'^LISTEN'"
    with psycopg.connect(dsn, autocommit=True) as owner:
        while not told.acquire(timeout=0.2):  # told as soon as it is back, for something may have changed meanwhile
            owner.execute(ending)
    opened().documents.write("a.md", "茶\n", expect=None)
    assert told.acquire(timeout=10)
    stop.set()
    listening.join()


# --- books that go ---------------------------------------------------------------------------------


def wait_for_a_writer_that_waits(storage: PostgresStorage) -> None:
    for _ in range(300):
        if storage._tenant.rows("SELECT 1 FROM pg_locks WHERE locktype='advisory' AND NOT granted"):
            return
        sleep(0.01)


def test_nothing_is_left_that_was_being_written_while_a_book_was_erased(opened: Open) -> None:
    storage, other = opened(), opened()
    assert isinstance(storage, PostgresStorage)
    assert isinstance(other, PostgresStorage)
    storage.transcripts.append(Session(uuid="first"), [])
    writing = threading.Event()

    def write() -> None:
        with immediate(other._stores[1].created()) as db:
            db.execute("INSERT INTO sessions (uuid) VALUES ('second')")
            writing.set()
            wait_for_a_writer_that_waits(storage)

    writer = threading.Thread(target=write)
    writer.start()
    writing.wait()
    storage.erase()
    writer.join()
    assert not storage._tenant.rows("SELECT uuid FROM sessions")


def test_who_waited_for_a_book_that_was_erased_makes_one(opened: Open) -> None:
    storage, other = opened(), opened()
    assert isinstance(storage, PostgresStorage)
    storage.transcripts.append(Session(uuid="first"), [])
    with storage._tenant.transaction():
        storage.erase()
        writer = threading.Thread(target=lambda: other.transcripts.append(Session(uuid="second"), []))
        writer.start()
        wait_for_a_writer_that_waits(storage)
    writer.join()
    assert storage.exists()
    assert [session.uuid for session in storage.transcripts.sessions()] == ["second"]


def test_a_rebuild_leaves_no_vector_of_what_is_nowhere_any_more(opened: Open) -> None:
    storage = opened()
    assert isinstance(storage, PostgresStorage)
    index = storage.open_index(HashEmbedder())
    turns = [Turn(id=text, session="s", role="user", text=text, time=NOW) for text in ("ferry", "zebra", "斑马")]
    storage.transcripts.append(Session(uuid="s"), turns)
    index.sync(storage.documents, storage.transcripts)
    storage.transcripts.remove("s", ["zebra", "斑马"])
    index.rebuild(storage.documents, storage.transcripts)
    left = "SELECT (SELECT count(*) FROM embeddings), (SELECT count(*) FROM texts)"
    assert storage._tenant.rows(left) == [(1, 1)]


def test_what_was_not_kept_makes_no_book(opened: Open) -> None:
    storage = opened()
    with suppress(ValueError), storage.transaction():
        storage.documents.write("a.md", "茶\n", expect=None)
        raise ValueError
    assert not storage.exists()


def test_a_book_with_a_long_name_is_kept_beside_the_restored_one(config: Config, tenant: str) -> None:
    storage = open_storage(config, tenant + "长" * (200 - len(tenant)))
    storage.documents.write("a.md", "茶\n", expect=None)

    def fill(folder: str) -> None:
        Path(folder, "b.md").write_text("咖啡\n", encoding="utf-8")

    kept = storage.restore(fill, identity="", replace=True, now=NOW)
    assert open_storage(config, kept.partition("#")[2]).documents.read("a.md").text == "茶\n"


# --- plans -----------------------------------------------------------------------------------------


def test_a_plan_serves_every_tenant(config: Config, dsn: str) -> None:
    large, small = [f"tenant-{uuid4().hex}" for _ in range(3)], [f"tenant-{uuid4().hex}" for _ in range(30)]
    for name in (*small, *large):  # most have next to nothing
        with memorybook.open(name, config=config) as memory:
            text = "\n".join(f"## {number}\n\nline {number} 茶\n" for number in range(300 if name in large else 1))
            memory.write_document("notes/a.md", text)
            memory.sync()
    removed = []
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute("ANALYZE")
    with psycopg.connect(dsn, autocommit=True) as raw:
        take_role(raw)
        raw.execute("PREPARE found (bigint[]) AS SELECT id FROM passages WHERE dense = ANY ($1)")
        for name in (small[0], *large):
            raw.execute("SELECT set_config('memorybook.tenant', %s, false)", (name,))
            plan = raw.execute("EXPLAIN (ANALYZE) EXECUTE found ('{1,2,3,4,5,6,7,8,9}')").fetchall()
            removed += [line for (line,) in plan if "Rows Removed" in line]
    assert removed == []
