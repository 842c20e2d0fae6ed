from __future__ import annotations

import os
import random
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from conformance.index import MEMORY, Book, agree, book
from memorybook.errors import Unavailable
from memorybook.search.types import Query
from memorybook.storage.index import index_schema, sqlite_index
from memorybook.storage.index.scan_index import ScanIndex
from memorybook.storage.index.sqlite_index import SqliteIndex
from memorybook.testing import HashEmbedder

__all__ = ["book"]


@pytest.fixture
def path(book: Book) -> str:
    book.write("MEMORY.md", MEMORY)
    book.say(*(f"the user said apples {n}" for n in range(60)))
    return str(book.root / ".memorybook" / "index.sqlite")


def make(path: str) -> SqliteIndex:
    return SqliteIndex(path, embedder=HashEmbedder())


def delete(path: str) -> None:
    for suffix in ("", "-wal", "-shm"):
        if os.path.exists(path + suffix):
            os.unlink(path + suffix)


def delete_main(path: str) -> None:
    os.unlink(path)


def delete_folder(path: str) -> None:
    delete(path)
    for name in os.listdir(os.path.dirname(path)):
        if ".vectors." in name:
            os.unlink(os.path.join(os.path.dirname(path), name))


def empty(path: str) -> None:
    os.truncate(path, 0)


def halve(path: str) -> None:
    os.truncate(path, os.stat(path).st_size // 2)


def garble(path: str) -> None:
    with open(path, "r+b") as file:
        file.write(b"this is no database at all" * 1000)


def garble_all(path: str) -> None:
    size = os.stat(path).st_size
    with open(path, "r+b") as file:
        file.write(random.Random(1).randbytes(size))


def replace_by_text(path: str) -> None:
    delete(path)
    Path(path).write_text("hello " * 5000)


def replace_by_folder(path: str) -> None:
    delete(path)
    os.mkdir(path)
    Path(path, "inside").touch()


def drop_table(path: str) -> None:
    connection = apsw.Connection(path)
    connection.execute("DROP TABLE passages")
    connection.close()


def drop_words(path: str) -> None:
    connection = apsw.Connection(path)
    connection.execute("DELETE FROM passages WHERE id % 2")
    connection.close()


HARMS: list[Callable[[str], None]] = [
    delete, delete_main, delete_folder, empty, halve, garble, garble_all, replace_by_text, replace_by_folder,
    drop_table, drop_words,
]  # fmt: skip


def checkpointed(path: str) -> None:
    connection = apsw.Connection(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


@pytest.mark.parametrize("harm", HARMS)
def test_a_harmed_index_is_made_anew_by_a_fresh_process(book: Book, path: str, harm: Callable[[str], None]) -> None:
    first = make(path)
    before = book.search(first, "user apples")
    first.close()
    harm(path)
    agree(book.search(make(path), "user apples"), before)


@pytest.mark.parametrize("harm", HARMS)
def test_a_harmed_index_is_made_anew_under_a_running_one(book: Book, path: str, harm: Callable[[str], None]) -> None:
    running, other, scan = make(path), make(path), ScanIndex(embedder=HashEmbedder())
    before = book.search(running, "user apples")
    book.sync(other)
    checkpointed(path)
    harm(path)
    for _ in range(2):
        for index in (running, other, make(path)):
            book.say("another word")  # so that something must be written
            agree(book.search(index, "user apples"), book.search(scan, "user apples"))
            assert len(index.candidates(Query("apples")).items) > len(before.items)


def empty_and_its_log(path: str) -> None:
    for suffix in ("-wal", "-shm"):
        os.unlink(path + suffix)
    os.truncate(path, 0)


@pytest.mark.parametrize("harm", [*HARMS, empty_and_its_log])
def test_a_harmed_index_is_rebuilt_under_a_running_one(book: Book, path: str, harm: Callable[[str], None]) -> None:
    running = make(path)
    before = book.search(running, "user apples")
    harm(path)
    running.rebuild(book.documents, book.transcripts)
    agree(book.search(running, "user apples"), before)


@pytest.mark.parametrize("seed", range(6))
def test_pages_overwritten_at_random_never_give_a_wrong_answer(book: Book, path: str, seed: int) -> None:
    first = make(path)
    before = book.search(first, "user apples")
    first.close()
    chance = random.Random(seed)
    size = os.stat(path).st_size
    with open(path, "r+b") as file:
        for _ in range(6):
            file.seek(chance.randrange(size // 4096) * 4096)
            file.write(chance.randbytes(4096))
    agree(book.search(make(path), "user apples"), before)


def test_what_is_not_ours_is_moved_aside_not_deleted(book: Book, path: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    for text in ("my diary " * 1000, "my other diary " * 1000):
        delete(path) if os.path.exists(path) else None
        Path(path).write_text(text)
        book.search(make(path), "apples")
    folder = Path(path).parent
    assert {file.read_text()[:8] for file in folder.glob("*.damaged-*")} == {"my diary", "my other"}


def test_candidates_between_two_syncs_survive_damage(book: Book, path: str) -> None:
    index = make(path)
    before = book.search(index, "user apples")
    drop_table(path)
    agree(index.candidates(Query("user apples")), before)


def test_damage_without_the_truth_at_hand_is_unavailable(book: Book, path: str) -> None:
    book.sync(make(path))
    drop_table(path)
    with pytest.raises(Unavailable, match="sync"):
        make(path).candidates(Query("apples"))


def test_a_locked_database_is_unavailable_and_left_alone(
    book: Book, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = make(path)
    book.sync(index)
    book.say("another word")
    index._open().raw.set_busy_timeout(1)
    holder = apsw.Connection(path)
    holder.execute("BEGIN IMMEDIATE")
    inode = os.stat(path).st_ino
    with pytest.raises(Unavailable, match="locked"):
        book.sync(index)
    holder.execute("ROLLBACK")
    holder.close()
    assert os.stat(path).st_ino == inode
    assert book.sync(index).changed == 1


def test_a_full_disk_is_unavailable_and_the_index_survives(book: Book, path: str) -> None:
    index = make(path)
    book.sync(index)
    raw = index._open().raw
    [(pages,)] = raw.execute("PRAGMA page_count").fetchall()
    raw.execute(f"PRAGMA max_page_count={pages}").fetchall()
    book.say(*(f"{n} long words " * 200 for n in range(100)))
    with pytest.raises(Unavailable, match="full"):
        book.sync(index)
    raw.execute("PRAGMA max_page_count=1000000").fetchall()
    assert book.sync(index).changed == 1


def test_a_folder_that_cannot_be_written_to_is_unavailable(book: Book, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    book.say("red apples")
    with pytest.raises(Unavailable):
        book.sync(make(str(tmp_path / "file" / "index.sqlite")))


def test_a_damaged_file_that_cannot_be_replaced_is_unavailable(
    book: Book, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = make(path)
    book.sync(first)
    first.close()
    garble(path)

    def refuse(*args: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(index_schema, "throw_away", refuse)
    with pytest.raises(Unavailable, match="Permission denied"):
        book.sync(make(path))


def test_damage_that_comes_back_is_unavailable(book: Book, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    index = make(path)
    book.sync(index)

    def broken(*_: object) -> None:
        raise apsw.CorruptError("again and again")

    monkeypatch.setattr(sqlite_index, "_words", broken)
    with pytest.raises(Unavailable, match="again and again"):
        index.candidates(Query("apples"))


def test_somebody_elses_new_file_is_not_thrown_away(book: Book, path: str) -> None:
    one, other = make(path), make(path)
    book.sync(one)
    book.sync(other)
    replaced = os.stat(path).st_ino
    checkpointed(path)
    garble_all(path)
    book.sync(make(path))
    healed = os.stat(path).st_ino
    assert healed != replaced
    one._start_over(apsw.CorruptError("seen before it was healed"), one._opened, None)
    assert os.stat(path).st_ino == healed
    assert book.search(one, "apples").items


def test_a_process_killed_in_a_sync_leaves_a_good_index(book: Book, path: str) -> None:
    program = """if True:
        import os, signal, sys
        sys.path[:0] = sys.argv[2].split(os.pathsep)
        from memorybook.storage.index import index_sync
        from memorybook.storage.directory import DirectoryDocuments
        from memorybook.storage.index.sqlite_index import SqliteIndex
        from memorybook.storage.transcripts import SqliteTranscripts
        from memorybook.testing import HashEmbedder
        root, at = sys.argv[1], int(sys.argv[3])
        index_sync.FIRST_BATCH = 10
        real, count = index_sync._insert, iter(range(100))
        def insert(*args):
            real(*args)
            if next(count) == at:
                os.kill(os.getpid(), signal.SIGKILL)
        index_sync._insert = insert
        index = SqliteIndex(root + "/.memorybook/index.sqlite", embedder=HashEmbedder())
        index.sync(DirectoryDocuments(root), SqliteTranscripts(root + "/.memorybook/transcripts.sqlite"))
    """
    for at in (0, 3):
        done = subprocess.run(
            [sys.executable, "-c", program, str(book.root), os.pathsep.join(sys.path), str(at)], capture_output=True
        )
        assert done.returncode == -9, done.stderr
        reader = make(path)
        assert "not been synced" in " ".join(reader.candidates(Query("apples")).degraded)
        reader.close()
    found = book.search(make(path), "apples", pool=1000)
    assert (len([c for c in found.items if c.words]), found.degraded) == (60, ())


def test_no_file_descriptors_are_left_behind(book: Book, path: str) -> None:
    index = make(path)
    book.sync(index)
    before = len(os.listdir("/dev/fd"))
    for harm in (delete, garble_all, drop_table):
        harm(path)
        book.search(index, "apples")
    assert len(os.listdir("/dev/fd")) <= before + 1
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > before


def test_the_whole_folder_may_go(book: Book, path: str) -> None:
    index = make(path)
    before = book.search(index, "code")
    index._let_go(index._opened)
    shutil.rmtree(book.root / ".memorybook")
    found = book.search(index, "code")
    assert {c.passage for c in found.items if c.passage.source == "entry"} == {
        c.passage for c in before.items if c.passage.source == "entry"
    }


@pytest.mark.parametrize("name", ["born", "generation", "last", "passages", "words", "terms"])
def test_an_index_that_lacks_a_note_of_its_own_is_made_anew(book: Book, path: str, name: str) -> None:
    running, whole = make(path), ScanIndex(embedder=HashEmbedder())
    book.search(running, "user apples")
    connection = apsw.Connection(path)
    connection.execute("DELETE FROM meta WHERE name=?", (name,))
    connection.close()
    book.say("the user said pears")
    agree(book.search(running, "user pears"), book.search(whole, "user pears"))
    assert running.stats()["passages"] == whole.stats()["passages"]
    running.close()


def test_reopening_after_close_answers_whole(book: Book, path: str) -> None:
    index = make(path)
    before = book.search(index, "user apples")
    index.close()
    delete(path)
    agree(index.candidates(Query("user apples")), before)
