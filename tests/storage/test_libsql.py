"""Transcripts over the package `libsql`: the contract on a file and on a server, and what is this package's own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol
from uuid import uuid4

import pytest

import memorybook
from conformance.transcripts import TranscriptsConformance, ids, session, turn
from forked import ended
from memorybook.config.settings import Config, TranscriptSettings
from memorybook.errors import ConfigError, Damaged, MissingExtra, Unavailable
from memorybook.storage import libsql as module
from memorybook.storage.libsql import LibsqlStore
from memorybook.storage.sqlite import BUSY_TIMEOUT, immediate
from memorybook.storage.transcript_rows import MIGRATIONS
from memorybook.storage.transcripts import SqliteTranscripts


class Open(Protocol):
    """Opens transcripts; they wait so many seconds for who writes."""

    def __call__(self, where: str, timeout: float = 1.0) -> SqliteTranscripts: ...


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server."""
    program = [sys.executable, str(Path(__file__).with_name("hrana_server.py")), str(tmp_path_factory.mktemp("server"))]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


@pytest.fixture
def opened() -> Iterator[Open]:
    """Opens transcripts that are closed at the end: of a file, or of a server with `TOKEN@` before its address."""
    stores: list[SqliteTranscripts] = []

    def open_one(where: str, timeout: float = 1.0) -> SqliteTranscripts:
        token, _, url = where.rpartition("@")
        stores.append(SqliteTranscripts(LibsqlStore(url, MIGRATIONS, auth_token=token, timeout=timeout)))
        return stores[-1]

    yield open_one
    for store in stores:
        store.close()


@pytest.fixture(params=["file", "server"])
def where(request: pytest.FixtureRequest, tmp_path: Path, server: str) -> str:
    """A file that is not there yet, and a server whose database is empty."""
    return str(tmp_path / "state" / "t.db") if request.param == "file" else f"{uuid4().hex}@{server}"


class TestLibsqlFile(TranscriptsConformance):
    @pytest.fixture
    def transcripts(self, opened: Open, tmp_path: Path) -> SqliteTranscripts:
        return opened(str(tmp_path / "t.db"))


class TestLibsqlServer(TranscriptsConformance):
    test_it_makes_no_difference_how_turns_are_handed_over = None  # type: ignore[assignment]  # as of a file, but slow
    test_replies_without_end_are_kept_in_order = None  # type: ignore[assignment]

    @pytest.fixture
    def transcripts(self, opened: Open, server: str) -> SqliteTranscripts:
        return opened(f"{uuid4().hex}@{server}")


def test_what_was_stored_is_there_for_the_next_one(opened: Open, where: str) -> None:
    first, second = opened(where), opened(where)
    assert second.revision() == 0
    stored = first.append(session(), [turn("a"), turn("b", "assistant")])
    assert tuple(second.turns("s1")) == stored
    second.append(session(), [turn("c")])
    assert ids(first.turns("s1")) == ["a", "b", "c"]


def test_summaries_and_their_vectors_come_back(opened: Open, where: str) -> None:
    store = opened(where)
    store.append(session(), [turn("a"), turn("b", "assistant")])
    store.set_chat_summary("s1", "b", "关于 a")
    store.set_summary_embedding("s1", "m", b"\x00\xff" * 2, 1, turn_id="a")
    assert store.chat_summaries("s1") == {"a": "关于 a"}
    columns = "summary_embedding_model, summary_embedding_dimensions, summary_embedding"
    assert [*map(tuple, store._rows(f"SELECT {columns} FROM chats"))] == [("m", 1, b"\x00\xff" * 2)]


def test_nobody_waits_for_who_reads_what_changed(opened: Open, where: str) -> None:
    store = opened(where)
    store.append(session(), [turn("a"), turn("b")])
    reader = iter(store.changes(0).turns)
    next(reader)
    assert store.remove("s1", ["a"]) == 1
    assert ids(turn for _, turn in reader) == ["b"]


def test_two_writers_in_one_process_wait_for_each_other(opened: Open, where: str) -> None:
    def write(name: str) -> None:
        store = opened(where, timeout=BUSY_TIMEOUT)  # a server's transaction has many statements, and each its way
        for n in range(5):
            store.append(session(), [turn(f"{name}{n}")])

    opened(where).append(session(), [turn("first")])
    threads = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ids(opened(where).turns("s1"))) == sorted(
        ["first", *(f"{name}{n}" for name in "ab" for n in range(5))]
    )


def test_who_writes_for_too_long_is_told_of(opened: Open, where: str) -> None:
    store, other = opened(where), opened(where)
    store.append(session(), [turn("a")])
    holding = store._store.created()
    holding.execute("BEGIN IMMEDIATE")
    started = time.monotonic()
    with pytest.raises(Unavailable, match="locked"):
        other.append(session(), [turn("b")])
    assert 0.4 < time.monotonic() - started < 10
    holding.execute("ROLLBACK")
    assert other.append(session(), [turn("b")])


def test_a_file_is_private_and_keeps_no_deleted_text(opened: Open, tmp_path: Path) -> None:
    path, secret = tmp_path / "state" / "t.db", "xyzzy-" + "q" * 50
    store = opened(str(path))
    store.append(session(), [turn("a", text=secret)])
    assert {os.stat(file).st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}
    store.remove("s1", ["a"])
    assert not any(secret.encode() in file.read_bytes() for file in path.parent.iterdir())
    assert store.vacuum()


def test_a_file_of_the_other_kind_is_taken_as_it_is(opened: Open, tmp_path: Path) -> None:
    path = str(tmp_path / "t.sqlite")
    for make in (SqliteTranscripts, opened, SqliteTranscripts):
        store = make(path)
        store.append(session(), [turn(f"t{store.revision()}")])
        store.close()
    assert ids(opened(path).turns("s1")) == ["t0", "t1", "t2"]


def test_a_damaged_file_is_reported_and_kept(opened: Open, tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    path.write_bytes(b"garbage " * 1000)
    with pytest.raises(Damaged, match="kept as it is"):
        opened(str(path)).revision()
    assert path.read_bytes() == b"garbage " * 1000


def test_a_child_process_has_its_own_connection(opened: Open, where: str) -> None:
    store = opened(where)
    store.append(session(), [turn("a")])
    assert ended(lambda: store.append(session(), [turn("b")])) == 0
    assert ids(store.turns("s1")) == ["a", "b"]


def test_purging_tells_that_a_server_may_keep_what_it_deleted(server: str, tmp_path: Path) -> None:
    kept = Config(transcripts=TranscriptSettings(url=server, auth_token=uuid4().hex))
    with memorybook.open(str(tmp_path / "b"), config=kept) as memory:
        memory.process_session_end([{"role": "user", "content": "Remember that my uncle is a xylophonist."}], "talk")
        assert memory.book.transcripts.counts()["turns"] == 1
        [remains] = memory.purge(session="talk").remains
        assert memory.book.transcripts.counts()["turns"] == 0
    assert remains == f"the server {server} may keep deleted turns in its own files and backups"


@pytest.mark.parametrize(("url", "problem"), [("http://127.0.0.1:1", "Connection refused"), ("no-token!@", "401")])
def test_a_server_that_does_not_answer_is_named(opened: Open, server: str, url: str, problem: str) -> None:
    with pytest.raises(Unavailable, match=problem) as raised:
        opened(url if url.startswith("http") else url + server).append(session(), [turn("a")])
    assert "127.0.0.1" in str(raised.value)
    assert "no-token!" not in str(raised.value)


@pytest.mark.parametrize("url", ["libsql://me:secret@db.example.com", "https://db.example.com?authToken=secret"])
def test_a_secret_in_the_address_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(ConfigError, match=r"transcripts\.auth_token") as raised:
        LibsqlStore(url, MIGRATIONS)
    assert "secret" not in str(raised.value)


def test_a_missing_package_is_named_with_its_command(
    opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "libsql", None)
    with pytest.raises(MissingExtra, match=r"pip install 'memorybook\[libsql\]'"):
        opened(str(tmp_path / "t.db")).append(session(), [turn("a")])


def test_a_server_that_is_silent_is_given_up_and_asked_again(
    opened: Open, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_ANSWER", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        store = opened(f"x@http://127.0.0.1:{silent.getsockname()[1]}")
        for _ in range(2):
            with pytest.raises(Unavailable, match=r"does not answer: no answer within 0\.5 s"):
                store.revision()


def test_a_process_that_was_ended_is_begun_anew_and_what_it_had_begun_is_taken_back(opened: Open, server: str) -> None:
    store = opened(f"{uuid4().hex}@{server}")
    store.append(session(), [turn("a")])
    db = store._store.created()

    def write() -> None:
        with immediate(db):
            db.execute("UPDATE state SET revision=99")
            db.raw._db._process.kill()  # type: ignore[attr-defined]
            db.execute("SELECT 1")

    with pytest.raises(Unavailable, match="its process ended"):
        write()
    assert store.revision() == 1
