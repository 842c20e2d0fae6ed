"""Books that nobody uses: one backup each, back as they were when somebody asks, wherever the work was cut off."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

import memorybook
from books import CONFIG
from memorybook.cli import main
from memorybook.config.settings import Config
from memorybook.errors import Unavailable
from memorybook.storage.postgres_admin import erase, rest, waker
from memorybook.storage.postgres_schema import TABLES


@pytest.fixture
def idle(tmp_path: Path) -> Path:
    folder = tmp_path / "idle"
    folder.mkdir()
    return folder


@pytest.fixture
def config(config: Config, idle: Path) -> Config:
    return config._replace(storage=config.storage._replace(idle_folder=str(idle)))


@pytest.fixture
def book(config: Config, tenant: str, dsn: str) -> Config:
    """The settings of a book that was last used long ago."""
    with memorybook.open(tenant, config=config) as memory:
        memory.remember("The user likes green tea.", category="preference")
        memory.append("今天喝了咖啡。")
        session = memory.open_session("standup").session
        memory.add_messages(session, [{"role": "user", "content": "The deployment failed on Friday.", "id": "t1"}])
        memory.search("tea")
    unused(dsn, tenant)
    return config


def unused(dsn: str, tenant: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute("UPDATE memorybook.books SET used=current_date-40 WHERE tenant=%s", (tenant,))


def content(config: Config, tenant: str) -> tuple[object, ...]:
    """What a book has: its name, documents, turns, history, and what two searches find."""
    with memorybook.open(tenant, config=config) as memory:
        storage = memory.book.storage
        documents = {info.path: memory.document(info.path).text for info in memory.documents()}
        turns = [turn.text for one in storage.transcripts.sessions() for turn in storage.transcripts.turns(one.uuid)]
        done = [operation.id for operation in storage.journal.operations(limit=10)]
        found = [[hit.passage.text for hit in memory.search(asked).hits] for asked in ("green tea", "咖啡")]
        assert (len(documents), len(turns)) == (2, 1)
        assert all(found)
        return storage.identity(make=False), documents, turns, done, found


def rows(dsn: str, tenant: str) -> int:
    """How many rows of a tenant there are, besides the one that says where it is."""
    with psycopg.connect(dsn) as owner:
        asked = " + ".join(f"(SELECT count(*) FROM memorybook.{table} WHERE tenant=%(one)s)" for table in TABLES)
        [(count,)] = owner.execute(f"SELECT {asked} - 1", {"one": tenant}).fetchall()
        return int(count)


def test_a_book_at_rest_is_one_file_and_comes_back_when_somebody_asks(
    book: Config, tenant: str, dsn: str, idle: Path
) -> None:
    before = content(book, tenant)
    unused(dsn, tenant)
    made = rest(dsn, str(idle))
    assert [Path(made[tenant])] == list(idle.iterdir())
    assert rows(dsn, tenant) == 0
    assert content(book, tenant) == before
    assert list(idle.iterdir()) == []
    assert tenant not in rest(dsn, str(idle))


def test_whoever_has_it_open_goes_on(book: Config, tenant: str, dsn: str, idle: Path) -> None:
    with memorybook.open(tenant, config=book) as memory:
        assert memory.search("tea").hits
        unused(dsn, tenant)
        assert tenant in rest(dsn, str(idle))
        assert memory.search("tea").hits[0].passage.text == "The user likes green tea."
        unused(dsn, tenant)
        assert tenant in rest(dsn, str(idle))
        memory.append("Coffee from Guatemala, 咖啡豆。")
        assert "Guatemala" in memory.search("coffee").hits[0].passage.text


def test_many_may_ask_for_it_at_once(book: Config, tenant: str, dsn: str, idle: Path) -> None:
    before = content(book, tenant)
    unused(dsn, tenant)
    rest(dsn, str(idle))
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: content(book, tenant), range(4)))
    assert found == [before] * 4


def test_what_is_searched_is_in_use(book: Config, tenant: str, dsn: str, idle: Path) -> None:
    with memorybook.open(tenant, config=book) as memory:
        memory.search("tea")
    assert tenant not in rest(dsn, str(idle))


def test_what_is_being_written_stays_and_the_others_rest(
    book: Config, tenant: str, dsn: str, idle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorybook.storage.postgres_admin._PATIENCE", 1)
    other = f"{tenant}-other"
    with memorybook.open(other, config=book) as memory:
        memory.remember("Another book, 另一本。")
    unused(dsn, other)
    with psycopg.connect(dsn) as writer:
        writer.execute("SELECT 1 FROM memorybook.books WHERE tenant=%s FOR UPDATE", (tenant,))
        assert {tenant, other}.intersection(rest(dsn, str(idle))) == {other}
    erase(dsn, other, wake=waker(str(idle)))


def test_it_is_unavailable_where_the_folder_is_not_known(book: Config, tenant: str, dsn: str, idle: Path) -> None:
    before = content(book, tenant)
    unused(dsn, tenant)
    rest(dsn, str(idle))
    elsewhere = book._replace(storage=book.storage._replace(idle_folder=""))
    with pytest.raises(Unavailable, match="idle_folder"), memorybook.open(tenant, config=elsewhere) as memory:
        memory.search("tea")
    with pytest.raises(Unavailable, match="idle_folder"):
        erase(dsn, tenant)
    assert content(book, tenant) == before


def test_erasing_it_erases_its_file(book: Config, tenant: str, dsn: str, idle: Path) -> None:
    rest(dsn, str(idle))
    [receipt] = erase(dsn, tenant, wake=waker(str(idle)))
    assert receipt.left == 0
    assert list(idle.iterdir()) == []


def test_the_file_is_a_backup(book: Config, tenant: str, dsn: str, idle: Path, tmp_path: Path) -> None:
    [path] = rest(dsn, str(idle)).values()
    with memorybook.open(tmp_path / "book", config=CONFIG) as memory:
        memory.restore(path)
        assert memory.search("咖啡").hits


def test_the_command_puts_books_to_rest(
    book: Config, tenant: str, dsn: str, idle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["db", "rest", "--dsn", dsn, "--json"]
    assert main([*command]) == 2
    assert "storage.idle_folder" in capsys.readouterr().err
    assert main([*command, "--days", "50", "--set", f"storage.idle_folder={idle}"]) == 0
    assert tenant not in capsys.readouterr().out
    assert main([*command, "--set", f"storage.idle_folder={idle}"]) == 0
    assert tenant in json.loads(capsys.readouterr().out)["servers"][0]["resting"]


# --- killed on the way -----------------------------------------------------------------------------

KILLED = """
import os, signal, sys, psycopg, memorybook
from memorybook.config.settings import Config, StorageSettings
from memorybook.storage.postgres_admin import rest, waker
what, dsn, tenant, idle, left = sys.argv[1:]
left = [int(left)]
def counted(real):
    def call(*args, **options):
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **options)
    return call
for place, name in ((os, "fsync"), (os, "rename"), (os, "remove"), (psycopg.Connection, "execute")):
    setattr(place, name, counted(getattr(place, name)))
if what == "rest":
    rest(dsn, idle)
else:
    memorybook.open(tenant, config=Config(storage=StorageSettings(dsn=dsn, idle_folder=idle))).book.storage.exists()
"""


@pytest.mark.parametrize("what", ["rest", "wake"])
def test_who_is_killed_on_the_way_loses_nothing(what: str, book: Config, tenant: str, dsn: str, idle: Path) -> None:
    before = content(book, tenant)
    for step in itertools.count(0, 13):
        unused(dsn, tenant)
        if what == "wake":
            rest(dsn, str(idle))
        command = [sys.executable, "-c", KILLED, what, dsn, tenant, str(idle), str(step)]
        code = subprocess.run(command, check=False).returncode
        assert code in (0, -signal.SIGKILL)
        assert content(book, tenant) == before
        if not code:
            break
    assert step > 30
