"""A whole book in PostgreSQL: the state machine of books, undo, several writers, what a server may do."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from hypothesis import settings

import memorybook
from book import test_book_machine
from books import NOW, Reopen
from conformance.storage import filled, told
from entries import test_history
from memorybook.config.settings import Config, StorageSettings
from memorybook.errors import BookLocked, ConfigError, Unavailable
from memorybook.memory import Memory
from memorybook.model import Operation
from memorybook.storage.postgres_connection import PostgresConnection, Tenant, shown
from memorybook.storage.postgres_schema import adapted, restored, translated
from memorybook.storage.postgres_storage import PostgresStorage
from memorybook.storage.sqlite import immediate
from memorybook.storage.stores import open_storage
from memorybook.testing import HashEmbedder

OF_FILES = {
    "test_a_book_in_a_checkout_gets_a_hint",
    "test_status_says_what_a_person_wrote_that_cannot_be_read",
    "test_watching_syncs_on_a_change_and_stops",
}
HISTORY = {name: test for name, test in vars(test_history).items() if name[:5] == "test_" and name not in OF_FILES}
globals().update(HISTORY)  # undo, history and status: what holds for a book in files holds here


@pytest.fixture
def memory(config: Config, tenant: str) -> Iterator[Memory]:
    with memorybook.open(tenant, config=config, clock=lambda: NOW) as opened:
        yield opened


@pytest.fixture
def reopen(config: Config, tenant: str) -> Iterator[Reopen]:
    """Another opening of the book, with a model or other settings if wanted."""
    opened: list[Memory] = []

    def again(llm: Any = None, **settings: Any) -> Memory:
        opened.append(memorybook.open(tenant, config=config._replace(**settings), clock=lambda: NOW, llm=llm))
        return opened[-1]

    yield again
    for each in opened:
        each.close()


@pytest.fixture
def storage(config: Config, tenant: str) -> PostgresStorage:
    opened = open_storage(config, tenant)
    assert isinstance(opened, PostgresStorage)
    return opened


class BookInPostgres(test_book_machine.BookInMemory):
    """The same on a server, where a crash takes back all of a change."""

    atomic = True
    tenant = ""

    def opened(self) -> Memory:
        self.tenant = self.tenant or f"machine-{uuid4().hex}"
        return memorybook.open(self.tenant, config=self.config, clock=self.clock)

    def teardown(self) -> None:
        self.memory.book.storage.erase()
        super().teardown()


class TestBookInPostgres(BookInPostgres.TestCase):  # type: ignore[valid-type,misc]
    settings = settings(test_book_machine.BookInMemory.TestCase.settings, max_examples=8)

    @pytest.fixture(autouse=True)
    def served(self, dsn: str) -> None:
        BookInPostgres.config = test_book_machine.CONFIG._replace(storage=StorageSettings(dsn=dsn))


def test_it_hands_out_and_is_the_same_book_once_it_was_restored_from_anywhere(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember("Deploys are on Fridays.", group="work")
    for name in ("shared", "elsewhere"):
        (tmp_path / name).mkdir()

    def handed() -> int:
        done = memory.sync_summaries(to=str(tmp_path / "shared"), group="work", node="desk").handed
        assert done is not None
        return done.written

    assert handed() == 2
    memory.backup(str(tmp_path / "book.tar.gz"))
    memory.book.storage.erase()
    monkeypatch.chdir(tmp_path / "elsewhere")
    memory.restore(str(tmp_path / "book.tar.gz"))
    assert handed() == 0


def test_all_that_a_transaction_writes_comes_true_together_or_not_at_all(storage: PostgresStorage) -> None:
    def fail() -> None:
        with storage.transaction():
            filled(storage)
            assert told(storage)[2] == ["o1"]
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert told(storage) == ({}, [], [])
    with storage.transaction():
        filled(storage)
        assert told(open_storage_of(storage)) == ({}, [], []), "nobody sees the half of it"
    assert told(storage)[1:] == (["the heron nests"], ["o1"])


def open_storage_of(storage: PostgresStorage) -> PostgresStorage:
    """The same tenant as another process has it."""
    tenant = storage._tenant
    return PostgresStorage(tenant.dsn, tenant.name)


def test_what_a_failed_statement_took_along_is_not_said_to_be_kept(storage: PostgresStorage) -> None:
    def write() -> None:
        with storage.transaction():
            filled(storage)
            with suppress(Unavailable):  # as where it is not worth failing for
                storage._tenant.rows("SELECT 1/0")

    with pytest.raises(Unavailable, match="nothing of it was kept"):
        write()
    assert told(storage) == ({}, [], [])


def test_a_database_that_is_busy_leaves_the_rest_of_a_transaction_whole(
    storage: PostgresStorage, config: Config
) -> None:
    filled(storage)
    database = storage._stores[0].created()
    database.timeout_milliseconds = 100
    with immediate(open_storage_of(storage)._stores[0].created()), storage.transaction():
        storage.documents.append("a.md", "kept")
        with pytest.raises(BookLocked):
            storage.journal.done("o1")
    assert storage.documents.read("a.md").text == "kept\n"


def test_a_writer_does_not_wait_for_ever(storage: PostgresStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorybook.storage.postgres_connection._PATIENCE", 0.2)
    said: list[str] = []

    def write() -> None:
        try:
            open_storage_of(storage).documents.append("a.md", "2")
        except BookLocked as error:
            said.append(str(error))

    with storage.transaction():
        storage.documents.append("a.md", "1")
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
    assert "locked by another writer" in said[0]
    assert storage.documents.read("a.md").text == "1\n"


def test_appended_lines_are_folded_into_the_document(storage: PostgresStorage) -> None:
    storage.documents.write("a.md", "no line end", expect=None)
    for number in range(150):
        storage.documents.append("a.md", str(number))
    assert storage.documents.read("a.md").text == "no line end\n" + "".join(f"{number}\n" for number in range(150))
    [info] = storage.documents.list()
    assert info.size == len(storage.documents.read("a.md").text)
    assert storage._tenant.rows("SELECT count(*) FROM appended")[0][0] < 70


@pytest.mark.parametrize("text", ["", "plain", "NUL \0 inside", "lone \udcff", "\x1a", "\x1abc", "渡轮 \0 \udce4"])
def test_any_text_is_kept(storage: PostgresStorage, text: str) -> None:
    storage.journal.begin(Operation(id=f"id {text}", time=NOW, actor="user", door=text, changes=(), done=False))
    [operation] = storage.journal.operations()
    assert (operation.id, operation.door) == (f"id {text}", text)
    assert storage.journal.operation(f"id {text}") == operation


def test_values_come_back_as_they_were_given() -> None:
    row = ("a", None, 1, 1.5, b"\0\xff", "\0", "\x1a")
    assert restored([tuple(adapted(row))]) == [row]


@pytest.mark.parametrize(
    ("sql", "spelled"),
    [
        ("SELECT ?, ? LIMIT ?", "SELECT $1, $2 LIMIT nullif($3, -1)"),
        ("INSERT OR IGNORE INTO a VALUES (?1, ?1)", "INSERT INTO a VALUES ($1, $1) ON CONFLICT DO NOTHING"),
        ("ON CONFLICT (x, y) DO UPDATE", "ON CONFLICT (tenant, x, y) DO UPDATE"),
        ("coalesce(max(updated, ?2), updated)", "coalesce(greatest(updated, $2), updated)"),
        (
            "id IN (SELECT (SELECT max(id) FROM a WHERE id<?1+value) FROM json_each(?2)) ORDER BY id",
            "id = ANY (ARRAY(SELECT (SELECT max(id) FROM a WHERE id<$1+value) FROM listed($2))) ORDER BY id",
        ),
        ("SELECT max(position) FROM a", "SELECT max(position) FROM a"),
        ("x IN ()", "x IN (NULL)"),
    ],
)
def test_sql_is_spelled_as_the_server_wants_it(sql: str, spelled: str) -> None:
    assert translated(sql) == spelled


@pytest.mark.parametrize("count", [2, 40])
def test_a_statement_for_many_rows_does_what_it_does_for_each(storage: PostgresStorage, count: int) -> None:
    storage.documents.append("a.md", "made")
    numbers = range(1, count + 1)
    odd = ["NUL \0 渡轮", 'a "quoted", {braced} one\\', "NULL", "", "\x1a"]
    db = PostgresConnection(storage._tenant, "index")
    with immediate(db):
        rows = [(n, f"{odd[n % 5]}{n}", n, b"\0\xff" * n, b"") for n in numbers]
        db.executemany("INSERT INTO terms (id, term, holding, passages, codes) VALUES (?, ?, ?, ?, ?)", rows)
        changes = [(n, bytes([n]), b"1", n) for n in numbers]
        db.executemany("UPDATE terms SET holding=holding+?, passages=?, codes=? WHERE id=?", [*changes, changes[0]])
        asked = [(row[1],) for row in reversed(rows)] + [("nowhere",), (rows[0][1],)]
        found = db.executemany("SELECT id, holding, passages, codes FROM terms WHERE term=?", asked)
        assert found == [(n, 2 * n + (n == 1), bytes([n]), b"1") for n in [*reversed(numbers), 1]]
        again = "INSERT INTO terms VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET holding=excluded.holding"
        db.executemany(again, [(n, "", n, b"", b"") for n in [*numbers, 2]])
        assert db.execute("SELECT sum(holding) FROM terms") == [(sum(numbers),)]
        db.executemany("INSERT INTO postings VALUES (?, ?, ?)", [(n, b"p", b"c") for n in numbers])
        db.executemany("INSERT OR IGNORE INTO postings VALUES (?, ?, ?)", [(n // 2, b"", b"") for n in numbers])
        assert db.execute("SELECT count(*), count(nullif(passages, ?)) FROM postings", (b"",)) == [(count + 1, count)]


def test_a_tenant_has_a_name(dsn: str) -> None:
    for name in ("", "a\nb", "x" * 201):
        with pytest.raises(ConfigError, match="1 to 200 printable characters"):
            PostgresStorage(dsn, name)


def test_a_server_that_is_not_there_is_said_in_a_sentence_without_a_password(tenant: str) -> None:
    dsn = "postgresql://ann:hunter2@127.0.0.1:1/books?connect_timeout=2"
    with pytest.raises(Unavailable, match=r"'postgresql://ann@127.0.0.1:1/books' does not answer") as error:
        PostgresStorage(dsn, tenant).exists()
    assert "hunter2" not in str(error.value)
    assert "hunter2" not in PostgresStorage(dsn, tenant).root
    assert shown("not a dsn") == "postgresql://"


def test_a_database_without_tables_says_what_to_run(dsn: str, tenant: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as raw:
        raw.execute(f'CREATE DATABASE "{tenant}"')
    other = dsn.replace("/postgres?", f"/{tenant}?")
    with pytest.raises(Unavailable, match="run memorybook db upgrade"):
        PostgresStorage(other, tenant).exists()


def test_a_connection_that_was_cut_is_replaced(storage: PostgresStorage, config: Config) -> None:
    filled(storage)
    with psycopg.connect(config.storage.dsn, autocommit=True) as raw:
        raw.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name='memorybook' AND pid<>pg_backend_pid() AND state='idle'"
        )
    storage.documents.append("b.md", "still here")
    assert told(storage)[2] == ["o1"]


def test_an_index_that_does_not_fit_together_is_made_anew(storage: PostgresStorage) -> None:
    filled(storage)
    index = storage.open_index(HashEmbedder())
    index.sync(storage.documents, storage.transcripts)
    storage._tenant.rows("UPDATE terms SET holding=99")
    storage._tenant.rows("DELETE FROM postings")
    from memorybook.search.types import Query

    assert {one.passage.text.strip() for one in index.candidates(Query("heron")).items} == {
        "saw a heron",
        "the heron nests",
    }


def test_a_chinese_book_keeps_its_embedder_in_every_process(config: Config, tenant: str) -> None:
    for text in ("我不吃香菜。", "渡轮六点开。", "店租每月四千五。"):
        with memorybook.open(tenant, config=config) as memory:
            memory.append(text)
            memory.search("船")
    with memorybook.open(tenant, config=config) as memory:
        assert memory.search("有什么忌口？").hits[0].passage.text == "我不吃香菜。"
        assert memory.context.embedder is not None
        assert memory.context.embedder.name.startswith("multilingual/")


def test_servers_write_one_book_at_a_time(config: Config, tenant: str) -> None:
    def write(worker: int) -> None:
        with memorybook.open(tenant, config=config, clock=lambda: datetime.now(UTC)) as memory:
            for number in range(10):
                memory.remember(f"Machine {worker} has the part number {worker}{number}00.")
                memory.append(f"note {worker}-{number}")

    threads = [threading.Thread(target=write, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with memorybook.open(tenant, config=config) as memory:
        assert len(memory.entries().entries) == 40
        assert sum(memory.document(info.path).text.count("note ") for info in memory.documents()) == 40


def test_tenants_do_not_wait_for_each_other(config: Config, tenant: str, dsn: str) -> None:
    with Tenant(dsn, tenant, 10).transaction():
        other = open_storage(config, f"{tenant}-other")
        filled(other)
        assert other.exists()
