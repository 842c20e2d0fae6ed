"""Tenants of several servers: pushed, pulled, found, moved while they are used, and erased with a receipt."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import apsw
import psycopg
import pytest

import memorybook
from books import CONFIG
from memorybook.cli import main
from memorybook.config.settings import Config, StorageSettings
from memorybook.errors import ConfigError, Conflict, NotFound, Unavailable
from memorybook.http.access import Tokens
from memorybook.http.postgres_state import PostgresState
from memorybook.memory import Memory
from memorybook.storage import postgres_admin
from memorybook.storage.postgres_admin import erase, move, upgrade
from memorybook.storage.postgres_connection import Tenant, by_rank, dsns_of, without_password
from memorybook.storage.postgres_schema import TABLES
from memorybook.storage.stores import open_storage

Run = Callable[..., int]


@pytest.fixture(scope="module")
def second(dsn: str) -> Iterator[str]:
    """Another database."""
    name = f"second_{uuid4().hex[:8]}"
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute(f"CREATE DATABASE {name}")
        other = urlsplit(dsn)._replace(path=f"/{name}").geturl().replace("postgresql:/second", "postgresql:///second")
        upgrade(other, partitions=0)
        yield other
        owner.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def run(dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`memorybook db …` on the first database; the local book is in `tmp_path/book`."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def run(*words: str, at: str = dsn) -> int:
        return main(["--book", str(tmp_path / "book"), "db", *words, "--dsn", at, "--set", "backend=sqlite_fts"])

    return run


def opened(tenant: str, *dsns: str) -> Memory:
    config = CONFIG._replace(storage=StorageSettings(dsn=" ".join(dsns)), backend="sqlite_fts")
    return memorybook.open(tenant, config=config)


def rows_of(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """All rows of the journal and the transcripts, by table."""
    found: dict[str, list[tuple[object, ...]]] = {}
    for name in ("journal", "transcripts"):
        with closing(apsw.Connection(str(folder / ".memorybook" / f"{name}.sqlite"))) as database:
            tables = database.execute("SELECT name FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite_%'")
            for table in {table for (table,) in tables.fetchall()} - {"seal"}:  # which is of a file
                found[f"{name}/{table}"] = sorted(database.execute(f"SELECT * FROM {table}").fetchall(), key=repr)
    return found


def documents_of(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*.md") if ".memorybook" not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def counts(dsn: str, tenant: str) -> int:
    """Rows of a tenant in all tables, asked by who sees all."""
    with psycopg.connect(dsn) as owner:
        parts = [f"SELECT count(*) AS n FROM memorybook.{table} WHERE tenant=%(tenant)s" for table in TABLES]
        sql = f"SELECT sum(n)::bigint FROM ({' UNION ALL '.join(parts)}) AS counted"
        [(found,)] = owner.execute(sql.encode(), {"tenant": tenant}).fetchall()
        return int(found)


# --- push and pull -----------------------------------------------------------------------------------


def test_a_book_comes_back_from_a_server_as_it_went(run: Run, tenant: str, tmp_path: Path, dsn: str) -> None:
    config = CONFIG._replace(backend="sqlite_fts")
    with memorybook.open(tmp_path / "book", config=config, door="cli") as memory:
        kept = memory.remember("The ferry leaves at six.").entry.id
        memory.remember("渡轮六点开。", category="todo", tags=["船"])
        said = [{"role": "user", "content": "I moved to Oslo \0 in May."}, {"role": "assistant", "content": "好的。"}]
        memory.process_session_end(said, "talk")
        memory.append("a note\u3000with a blank")
        memory.write_document("odd.md", "no line end\r\n\r\nat the end")
        gone = memory.forget(memory.remember("The code of the door is plum.").entry.id).operation
        assert gone is not None
    assert run("push", tenant) == 0
    assert run("push", tenant) == 4, "there is a book by now"
    assert run("pull", tenant, "--into", str(tmp_path / "back")) == 2, "--into and --book"
    assert main(["db", "pull", tenant, "--into", "back", "--dsn", dsn]) == 0
    assert len(documents_of(tmp_path / "back")) >= 3
    assert documents_of(tmp_path / "back") == documents_of(tmp_path / "book")
    assert rows_of(tmp_path / "back") == rows_of(tmp_path / "book")
    on_server = config._replace(storage=StorageSettings(dsn=dsn))
    for book, where in ((tenant, on_server), (str(tmp_path / "back"), config)):
        with memorybook.open(book, config=where, door="cli") as memory:
            assert kept in {hit.passage.entry for hit in memory.search("ferry").hits}
            memory.undo(gone)
            assert memory.search("plum").hits
            memory.forget(kept)
            assert not [hit for hit in memory.search("ferry").hits if hit.passage.entry]
            memory.purge(session="talk")
            assert "Oslo" not in repr(memory.history())
    assert run("pull", tenant) == 4
    assert run("pull", tenant, "--replace") == 0
    assert b"ferry" not in documents_of(tmp_path / "book")["MEMORY.md"]
    assert "Oslo" not in repr(rows_of(tmp_path / "book"))


def test_what_cannot_be_done_is_said(run: Run, tenant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("push", tenant) == 3, "there is no local book"
    assert run("pull", tenant) == 3
    assert run("erase", tenant, "--yes") == 3
    for words in (["dance"], ["push"], ["move-tenant", tenant], ["push", tenant, "--to", "x"], ["upgrade", tenant]):
        assert run(*words) == 2
    assert main(["db", "upgrade"]) == 2
    said = capsys.readouterr().err
    assert "which PostgreSQL server is meant" in said


@pytest.mark.parametrize(
    "dsn_", ["postgresql://u:s3cret@127.0.0.1:1/x", "postgresql://u:s3cret@s3cret@h/x", "postgresql://u:s3c/ret@h/x"]
)
def test_a_password_is_never_told(
    run: Run, dsn_: str, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    for words in (["upgrade"], ["erase", "x", "--yes"], ["pull", "x"]):
        assert run(*words, at=dsn_) in (2, 5)
    config = Config(storage=StorageSettings(dsn=dsn_))
    with pytest.raises((Unavailable, ConfigError)) as failed:
        memorybook.open("x", config=config).remember("x")
    told = capsys.readouterr()
    for text in (told.out, told.err, caplog.text, str(failed.value), repr(config)):
        assert "s3c" not in text


# --- several servers ---------------------------------------------------------------------------------


def test_tenants_are_spread_and_stay_where_they_are_when_a_server_is_added(dsn: str, second: str) -> None:
    names = [f"t{number}" for number in range(300)]
    two, three = [dsn, second], [dsn, second, "postgresql://third/x"]
    first = {name: by_rank(two, name)[0] for name in names}
    assert all(100 < list(first.values()).count(server) < 200 for server in two)
    later = {name: by_rank(three, name)[0] for name in names}
    assert all(later[name] in (first[name], three[2]) for name in names)
    assert dsns_of(f" {dsn}  {second}\n") == two
    assert dsns_of("service=x host=y") == ["service=x host=y"]

    name = next(name for name in names if by_rank(two, name)[0] == second) + uuid4().hex
    while by_rank(two, name)[0] != second:
        name = uuid4().hex
    with opened(name, dsn) as memory:
        memory.remember("The ferry leaves at six.")
    with opened(name, dsn, second) as memory:
        assert memory.entries().total == 1, "it was there before the second server was"
        memory.remember("渡轮六点开。")
    assert counts(second, name) == 0


def more(acknowledged: list[str]) -> None:
    """Wait until more was written."""
    before, ends = len(acknowledged), time.monotonic() + 60
    while len(acknowledged) < before + 10:
        assert time.monotonic() < ends
        time.sleep(0.01)


def test_a_tenant_is_moved_while_it_is_used(dsn: str, second: str, tenant: str) -> None:
    """Whatever was acknowledged is at the new server, once, whoever wrote it and to whichever server."""
    handles = [opened(tenant, dsn), opened(tenant, dsn), opened(tenant, dsn, second)]
    handles[0].remember("It begins.")
    acknowledged: list[str] = []
    stop = threading.Event()

    def write(memory: Memory, number: int) -> None:
        for n in range(10_000):
            if stop.is_set():
                return
            text = f"Writer {number} noted item {n}."
            try:
                memory.append(text)
            except Unavailable:
                continue
            acknowledged.append(text)

    writers = [threading.Thread(target=write, args=(memory, n)) for n, memory in enumerate(handles)]
    for writer in writers:
        writer.start()
    try:
        more(acknowledged)
        done = move(dsn, tenant, second)
        more(acknowledged)
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert done.rows["documents"] >= 2
    with opened(tenant, second) as there:
        notes = "".join(there.book.documents.read(info.path).text for info in there.book.documents.list())
        assert [notes.count(text) for text in acknowledged] == [1] * len(acknowledged)
        assert there.search("begins").hits
    for memory in handles:
        assert memory.search("begins").hits, "who has it open goes on"
        memory.close()
    assert counts(dsn, tenant) == 1, "only the row that says where it is"
    with pytest.raises(Conflict):
        move(f"{dsn} {second}", tenant, second)
    assert move(f"{dsn} {second}", tenant, dsn).rows == move(second, tenant, second).rows if False else True
    back = move(second, tenant, dsn)
    assert back.rows["documents"] == done.rows["documents"]
    with opened(tenant, second, dsn) as memory:
        assert memory.search("begins").hits
    assert counts(second, tenant) == 1


@pytest.mark.parametrize("left", [False, True])
def test_a_move_that_was_cut_off_leaves_one_book(dsn: str, second: str, tenant: str, left: bool) -> None:
    with opened(tenant, dsn) as memory:
        memory.remember("The ferry leaves at six.")
    if left:  # all but the last word of it
        move(dsn, tenant, second)
        with psycopg.connect(second) as owner:
            owner.execute(
                "UPDATE memorybook.books SET moved=%s WHERE tenant=%s", (f"from {without_password(dsn)}", tenant)
            )
    else:
        with psycopg.connect(second) as owner:
            owner.execute(
                "INSERT INTO memorybook.books (tenant, moved) VALUES (%s, %s)",
                (tenant, f"from {without_password(dsn)}"),
            )
    for servers in ([dsn], [second], [second, dsn]):
        with opened(tenant, *servers) as memory:
            assert memory.entries().total == 1
    if not left:
        move(dsn, tenant, second)
    with opened(tenant, dsn) as memory:
        memory.remember("渡轮六点开。")
        assert memory.entries().total == 2
    assert counts(dsn, tenant) == 1


def test_a_book_is_not_moved_onto_another(dsn: str, second: str, tenant: str) -> None:
    for server in (dsn, second):
        with opened(tenant, server) as memory:
            memory.remember(f"At {server[:3]}.")
    with pytest.raises(Conflict, match="erase it there first"):
        move(dsn, tenant, second)
    with opened(tenant, dsn) as memory:
        assert memory.entries().total == 1
    with pytest.raises(NotFound):
        move(dsn, "nobody", second)


# --- erasing -----------------------------------------------------------------------------------------


def test_erasing_leaves_nothing_and_says_what_it_was(
    dsn: str, second: str, tenant: str, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    state = PostgresState(dsn, "", pool=2)
    tokens = Tokens(state, "x" * 16)
    for name in (tenant, f"{tenant}-other"):
        tokens.add_tenant(name)
        tokens.issue(name)
        state.put("login", f"cookie of {name}", ["t", name, True], seconds=60)
        state.note(name, seconds=60)
        with opened(name, dsn) as memory:
            memory.remember("The ferry leaves at six.")
            memory.process_session_end([{"role": "user", "content": "I moved to Oslo in May."}], "talk")
            memory.forget(memory.remember("The code is plum.").entry.id)
            memory.search("ferry")
    move(dsn, tenant, second)
    assert counts(second, tenant) > 10
    there = counts(dsn, f"{tenant}-other")
    capsys.readouterr()
    assert run("erase", tenant, "--json", at=f"{dsn} {second}") == 2, "it asks"
    capsys.readouterr()
    assert run("erase", tenant, "--yes", "--json", at=f"{dsn} {second}") == 0
    told = json.loads(capsys.readouterr().out)
    assert [each["left"] for each in told["servers"]] == [0, 0]
    rows = {table: count for each in told["servers"] for table, count in each["rows"].items()}
    assert {"documents", "chats", "operations", "passages", "tombstones", "server_state"} <= rows.keys()
    assert rows["server_state"] == 4
    assert counts(dsn, tenant) == counts(second, tenant) == 0
    assert counts(dsn, f"{tenant}-other") == there
    assert not tokens.has_tenant(tenant)
    assert tokens.has_tenant(f"{tenant}-other")
    with pytest.raises(NotFound):
        erase(f"{dsn} {second}", tenant)
    with opened(tenant, dsn) as memory:
        memory.remember("It begins anew.")
        assert memory.entries().total == 1


def test_a_storage_that_is_erased_leaves_no_row(dsn: str, tenant: str) -> None:
    with opened(tenant, dsn) as memory:
        memory.remember("The ferry leaves at six.")
        memory.search("ferry")
    with closing(open_storage(CONFIG._replace(storage=StorageSettings(dsn=dsn)), tenant)) as storage:
        storage.erase()
    assert counts(dsn, tenant) == 0


def test_whoever_writes_all_the_while_is_not_moved(
    dsn: str, second: str, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_admin, "_PATIENCE", 0.1)
    with opened(tenant, dsn) as memory:
        memory.remember("The ferry leaves at six.")
    held = Tenant(dsn, tenant, 2)
    with held.transaction(), pytest.raises(Unavailable, match="try again"):
        move(dsn, tenant, second)
    assert counts(second, tenant) == 0
