"""How SQLite is opened, written, read and upgraded."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.errors import Damaged, Unavailable
from memorybook.storage.columns import bindable, readable
from memorybook.storage.safe_open import claimed
from memorybook.storage.sqlite import (
    Connection,
    Store,
    check_version,
    checkpoint,
    connect,
    immediate,
    migrate,
    reading,
    user_version,
)

FORKS = """
import os, sys
from memorybook.errors import Unavailable
from memorybook.storage.sqlite import connect, immediate

path = sys.argv[1]
opened = []
db = connect(path, durable=True, setup=lambda raw: opened.append(raw))

def in_child(action):
    pid = os.fork()
    if pid == 0:
        try:
            action()
        except Unavailable as error:
            print("child:", error, flush=True)
        os._exit(0)
    os.waitpid(pid, 0)

def add(who):
    with immediate(db):
        db.execute("INSERT INTO t VALUES (?)", (who,))
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "x.sqlite")


@pytest.fixture
def db(path: str) -> Connection:
    connection = connect(path, durable=True)
    connection.execute("CREATE TABLE t (x)")
    return connection


def run(script: str, path: str) -> list[str]:
    """What a script prints, line by line."""
    done = subprocess.run([sys.executable, "-c", FORKS + script, path], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_a_database_is_private_and_so_is_its_folder(db: Connection, path: str) -> None:
    folder = Path(path).parent
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()} == {
        "x.sqlite": 0o600,
        "x.sqlite-wal": 0o600,
        "x.sqlite-shm": 0o600,
    }


@pytest.mark.usefixtures("forcing")
@pytest.mark.parametrize(
    ("pragma", "durable", "derived"),
    [
        ("journal_mode", "wal", "wal"), ("synchronous", 2, 1), ("secure_delete", 1, 0), ("foreign_keys", 1, 1),
        ("trusted_schema", 0, 0), ("cell_size_check", 1, 1), ("mmap_size", 0, 0), ("busy_timeout", 30_000, 30_000),
    ],
)  # fmt: skip
def test_a_database_is_opened_with_care(path: str, pragma: str, durable: object, derived: object) -> None:
    assert connect(path, durable=True).execute(f"PRAGMA {pragma}") == [(durable,)]
    assert connect(path + "2", durable=False).execute(f"PRAGMA {pragma}") == [(derived,)]


def test_an_existing_file_is_never_opened_by_other_means(
    db: Connection, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "open", lambda *_: pytest.fail("closing this descriptor would drop SQLite's locks"))
    connect(path, durable=True).close()
    db.execute("INSERT INTO t VALUES (1)")


def test_another_process_may_create_it_first(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    connect(path, durable=True).close()
    monkeypatch.setattr(os.path, "lexists", lambda _: False)
    connect(path, durable=True).close()


def test_a_database_for_reading_must_be_there(path: str) -> None:
    with pytest.raises(Unavailable, match="cannot be used"):
        connect(path, durable=True, readonly=True)
    assert not os.path.exists(path)


def test_a_database_for_reading_is_not_written(db: Connection, path: str) -> None:
    reader = connect(path, durable=True, readonly=True)
    assert reader.execute("SELECT * FROM t") == []
    with pytest.raises(Unavailable, match="cannot be written"):
        reader.execute("INSERT INTO t VALUES (1)")


def test_a_database_that_cannot_have_a_log_is_refused() -> None:
    with pytest.raises(Unavailable, match="no write-ahead log"):
        Connection(":memory:", durable=False)


@pytest.mark.parametrize("durable", [True, False])
def test_a_damaged_database_is_reported_and_kept(tmp_path: Path, durable: bool) -> None:
    file = tmp_path / "x.sqlite"
    file.write_bytes(b"no database " * 500)
    with pytest.raises(Damaged, match="recover" if durable else "rebuilt"):
        connect(str(file), durable=durable)
    assert file.read_bytes() == b"no database " * 500


def test_damage_inside_is_reported_when_it_is_met(db: Connection, path: str) -> None:
    db.executemany("INSERT INTO t VALUES (hex(randomblob(?)))", [(400,)] * 200)
    db.close()
    content = Path(path).read_bytes()
    Path(path).write_bytes(content[:8192] + b"\xff" * (len(content) - 8192))
    with pytest.raises(Damaged, match="malformed"):
        connect(path, durable=True).execute("SELECT count(x), max(x) FROM t")


@pytest.mark.parametrize("version", ["3.40.1", "3.51.2", "2.99.9"])
def test_an_sqlite_that_damages_its_log_is_refused(version: str) -> None:
    with pytest.raises(Unavailable, match=rf"SQLite {version}.*3\.51\.3"):
        check_version(version)


def test_tables_that_are_not_ours_are_told_as_damage_with_what_sqlite_says(db: Connection) -> None:
    with pytest.raises(Damaged, match="no such column: nonsense"):
        db.execute("SELECT nonsense")


def test_a_full_disk_is_reported_and_nothing_is_half_written(db: Connection) -> None:
    db.execute("PRAGMA max_page_count=20")
    with pytest.raises(Unavailable, match="full"), immediate(db):
        db.executemany("INSERT INTO t VALUES (randomblob(?))", [(4000,)] * 100)
    assert db.execute("SELECT count(*) FROM t") == [(0,)]
    db.execute("INSERT INTO t VALUES (1)")


def test_a_transaction_is_there_wholly_or_not_at_all(db: Connection, path: str) -> None:
    def interrupted() -> None:
        with immediate(db):
            db.execute("INSERT INTO t VALUES (1)")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with immediate(db):
        db.execute("INSERT INTO t VALUES (2)")
        assert connect(path, durable=True).execute("SELECT x FROM t") == []
    assert connect(path, durable=True).execute("SELECT x FROM t") == [(2,)]


def test_transactions_are_not_nested(db: Connection) -> None:
    with pytest.raises(RuntimeError, match="open already"), immediate(db), immediate(db):
        pass
    with pytest.raises(RuntimeError, match="open already"), reading(db), immediate(db):
        pass
    assert not db.in_transaction


def test_a_writer_that_waits_too_long_says_so(db: Connection, path: str) -> None:
    other = connect(path, durable=True, timeout=0.05)
    with immediate(db), pytest.raises(Unavailable, match="locked by another process"), immediate(other):
        pass
    with immediate(other):
        other.execute("INSERT INTO t VALUES (1)")


def test_who_cannot_turn_on_the_log_for_a_reader_says_so_after_a_while(tmp_path: Path) -> None:
    other = apsw.Connection(str(tmp_path / "plain.sqlite"))
    other.execute("CREATE TABLE a (x); INSERT INTO a VALUES (1); BEGIN; SELECT * FROM a").fetchall()
    started = time.monotonic()
    with pytest.raises(Unavailable, match="locked by another process"):
        connect(str(tmp_path / "plain.sqlite"), durable=True, timeout=0.1)
    assert time.monotonic() - started < 5
    other.close()


def test_a_writer_waits_for_its_turn(db: Connection, path: str) -> None:
    other = connect(path, durable=True)
    with immediate(db):
        waiting = threading.Thread(target=lambda: other.execute("INSERT INTO t VALUES ('later')"))
        waiting.start()
        time.sleep(0.05)
        db.execute("INSERT INTO t VALUES ('first')")
    waiting.join()
    assert db.execute("SELECT x FROM t ORDER BY rowid") == [("first",), ("later",)]


def test_another_thread_waits_until_the_transaction_is_over(db: Connection) -> None:
    seen: list[object] = []
    with immediate(db):
        waiting = threading.Thread(target=lambda: seen.append(db.execute("SELECT count(*) FROM t")))
        waiting.start()
        db.execute("INSERT INTO t VALUES (1)")
        time.sleep(0.02)
        db.execute("INSERT INTO t VALUES (2)")
        assert seen == []
    waiting.join()
    assert seen == [[(2,)]]


def test_reading_sees_one_moment(db: Connection, path: str) -> None:
    other = connect(path, durable=True)
    with reading(db):
        assert db.execute("SELECT count(*) FROM t") == [(0,)]
        other.execute("INSERT INTO t VALUES (1)")
        with reading(db):
            assert db.execute("SELECT count(*) FROM t") == [(0,)]
    assert db.execute("SELECT count(*) FROM t") == [(1,)]


def test_the_log_is_emptied_unless_somebody_reads_it(db: Connection, path: str) -> None:
    log = Path(path + "-wal")
    db.execute("INSERT INTO t VALUES (1)")
    other = connect(path, durable=True)
    with reading(other):
        other.execute("SELECT * FROM t")
        db.execute("INSERT INTO t VALUES (2)")
        assert not checkpoint(db)
        assert log.stat().st_size > 0
    assert checkpoint(db)
    assert log.stat().st_size == 0
    assert db.execute("PRAGMA busy_timeout") == [(30_000,)]


def test_parent_and_child_may_both_go_on_after_a_fork(db: Connection, path: str) -> None:
    assert run("add(1); in_child(lambda: add(2)); add(3); print(len(opened))", path) == ["2"]
    assert db.execute("SELECT x FROM t ORDER BY x") == [(1,), (2,), (3,)]
    assert db.execute("PRAGMA integrity_check") == [("ok",)]


def test_a_child_keeps_what_it_wrote_although_the_parent_closes(db: Connection, path: str) -> None:
    db.close()
    script = """
go, ready = os.pipe(), os.pipe()
add("before")
pid = os.fork()
if pid == 0:
    add("child")
    os.write(ready[1], b"x"); os.read(go[0], 1)
    add("child again")
    os._exit(0)
os.read(ready[0], 1)
add("parent"); db.close()
os.write(go[1], b"x"); os.waitpid(pid, 0)
"""
    assert run(script, path) == []
    again = connect(path, durable=True)
    assert [x for (x,) in again.execute("SELECT x FROM t ORDER BY rowid")] == [
        "before", "child", "parent", "child again",
    ]  # fmt: skip


def test_a_fork_amid_a_transaction_leaves_the_child_without_the_database(db: Connection, path: str) -> None:
    script = """
with immediate(db):
    db.execute("INSERT INTO t VALUES (1)")
    in_child(lambda: db.execute("SELECT 1"))
    in_child(lambda: connect(path, durable=True))
add(2)
"""
    assert [line[:30] for line in run(script, path)] == ["child: this process was forked"] * 2
    assert db.execute("SELECT x FROM t ORDER BY x") == [(1,), (2,)]


def test_a_fork_does_not_wait_for_ever_for_another_thread(db: Connection, path: str) -> None:
    script = """
import threading
inside, go = threading.Event(), threading.Event()
def work():
    with immediate(db):
        db.execute("INSERT INTO t VALUES (1)")
        inside.set(); go.wait()
thread = threading.Thread(target=work); thread.start(); inside.wait()
import warnings; warnings.simplefilter("ignore")
in_child(lambda: db.execute("SELECT 1"))
go.set(); thread.join()
add(2)
"""
    assert [line[:30] for line in run(script, path)] == ["child: this process was forked"]
    assert db.execute("SELECT x FROM t ORDER BY x") == [(1,), (2,)]


FIRST = "CREATE TABLE a (x); CREATE TABLE b (x); INSERT INTO a VALUES (1)"
SECOND = "ALTER TABLE a ADD COLUMN y"


def test_migrations_run_once_each_in_order(path: str) -> None:
    db = connect(path, durable=True)
    migrate(db, [FIRST])
    migrate(db, [FIRST, SECOND])
    migrate(db, [FIRST, SECOND])
    assert db.execute("SELECT * FROM a") == [(1, None)]
    assert user_version(db) == 2


def test_a_migration_that_fails_leaves_the_version_before(path: str) -> None:
    db = connect(path, durable=True)
    with pytest.raises(Damaged, match="already exists"):
        migrate(db, [FIRST, "CREATE TABLE c (x); CREATE TABLE a (x)"])
    assert user_version(db) == 1
    assert db.execute("SELECT name FROM sqlite_schema ORDER BY name") == [("a",), ("b",)]


def test_a_database_of_a_newer_version_is_left_alone(path: str) -> None:
    db = connect(path, durable=True)
    migrate(db, [FIRST, SECOND])
    with pytest.raises(Unavailable, match=r"newer memorybook \(version 2, this one knows 1\); update memorybook"):
        migrate(db, [FIRST])
    assert user_version(db) == 2


def test_a_schema_that_others_finish_meanwhile_is_noticed(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite keeps the tables that it knows until it reads one, and refuses values for a column that is new."""
    slow, quick = connect(path, durable=True), connect(path, durable=True)
    reads = []

    def asked(connection: Connection) -> int:
        if connection is not slow:
            return user_version(connection)
        reads.append(1)
        if not slow.in_transaction and len(reads) > 1:
            migrate(quick, [FIRST, SECOND])
        found = user_version(slow)
        if len(reads) == 1:
            migrate(quick, [FIRST])
        return found

    monkeypatch.setattr("memorybook.storage.sqlite.user_version", asked)
    migrate(slow, [FIRST, SECOND])
    slow.execute("INSERT INTO a VALUES (1, 2)")
    assert quick.execute("SELECT * FROM a") == [(1, None), (1, 2)]


def test_several_processes_may_create_and_migrate_at_once(path: str) -> None:
    script = f"""
import sys
from memorybook.storage.sqlite import Store
store = Store(sys.argv[1], {[FIRST, SECOND, "CREATE INDEX i ON a (x)"]!r})
for n in range(20):
    store.created().execute("INSERT INTO b VALUES (1)")
"""
    processes = [subprocess.Popen([sys.executable, "-c", script, path], stderr=subprocess.PIPE) for _ in range(4)]
    assert [process.communicate()[1] for process in processes] == [b""] * 4
    db = connect(path, durable=True)
    assert db.execute("SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b)") == [(1, 80)]


def test_a_store_is_created_by_writing_only(path: str) -> None:
    store = Store(path, [FIRST])
    assert store.existing() is None
    assert not os.path.exists(path)
    assert store.created() is store.existing()
    assert user_version(store.created()) == 1
    store.close()


def test_a_store_whose_migration_fails_is_tried_again(path: str) -> None:
    store = Store(path, ["nonsense"])
    for _ in range(2):
        with pytest.raises(Damaged, match="syntax error"):
            store.created()


def test_a_store_follows_its_path(path: str) -> None:
    store = Store(path, [FIRST])
    before = store.created()
    os.rename(path, path + ".aside")
    assert store.existing() is None
    after = store.created()
    assert after is not before
    assert after.execute("SELECT * FROM a") == [(1,)]
    store.close()


@given(st.text(st.characters()))
def test_any_text_comes_back_from_a_column(text: str) -> None:
    db = apsw.Connection(":memory:")
    [(value,)] = db.execute("SELECT ?", (bindable(text),)).fetchall()
    assert readable(value) == text
    db.close()


def test_a_file_in_a_folder_that_cannot_be_written_is_read_as_it_stands(
    db: Connection, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.execute("INSERT INTO t VALUES (1)")
    assert checkpoint(db)
    real = apsw.Connection

    def refused(name: str, *, flags: int) -> apsw.Connection:
        if "immutable" not in name:
            raise apsw.CantOpenError("unable to open database file")
        return real(name, flags=flags)

    monkeypatch.setattr(apsw, "Connection", refused)
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    frozen = connect(path, durable=True)
    assert frozen.execute("SELECT x FROM t") == [(1,)]
    with pytest.raises(Unavailable, match="cannot be written; check the rights of its folder"):
        frozen.execute("DELETE FROM t")
    db.execute("INSERT INTO t VALUES (2)")
    with pytest.raises(Unavailable, match="unable to open"):  # the log has what the file lacks
        connect(path, durable=True)
    assert checkpoint(db)
    assert frozen.execute("SELECT x FROM t ORDER BY x") == [(1,), (2,)]
    monkeypatch.undo()
    os.utime(path)
    frozen.execute("DELETE FROM t")
    assert db.execute("SELECT x FROM t") == []
    frozen.close()


OPENER = """
import sys
from memorybook.storage.sqlite import Store, immediate

store = Store(sys.argv[1], ("CREATE TABLE a (b); CREATE TABLE c (d)", "ALTER TABLE a ADD COLUMN e"))
sys.stdin.readline()
with immediate(store.created()) as db:
    db.execute("INSERT INTO a VALUES (1, 2)")
store.close()
"""


def test_processes_that_make_the_same_database_wait_for_each_other(tmp_path: Path) -> None:
    """SQLite itself does not wait where several switch a new file to a write-ahead log at once."""
    paths = [str(tmp_path / f"{n}.sqlite") for n in range(6)]
    openers = [
        subprocess.Popen([sys.executable, "-c", OPENER, path], stdin=subprocess.PIPE, text=True)
        for path in paths
        for _ in range(3)
    ]
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("go\n")
        opener.stdin.flush()
    assert [opener.wait(60) for opener in openers] == [0] * len(openers)
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.close()
    for path in paths:
        connection = apsw.Connection(path)
        assert connection.execute("SELECT count(*) FROM a").fetchall() == [(3,)]
        connection.close()


@pytest.mark.parametrize("first", ["a database", "a claim"])
def test_the_folder_of_machine_state_ignores_itself_for_git_whoever_makes_it(tmp_path: Path, first: str) -> None:
    state = tmp_path / "book" / ".memorybook"
    state.parent.mkdir()
    if first == "a database":
        connect(str(state / "x.sqlite"), durable=True).close()
    else:
        with claimed(str(state / "work.lock")):
            pass
    assert (state / ".gitignore").read_text() == "*\n"
    assert state.stat().st_mode & 0o777 == 0o700
