"""What every `Storage` promises. Subclass `StorageConformance`; its fixture `opened` opens the same book each time."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memorybook.errors import Conflict
from memorybook.model import Operation, Session, Turn
from memorybook.protocols import Storage
from memorybook.search.types import Query
from memorybook.testing import HashEmbedder

NOW = datetime(2026, 2, 24, 10, 0, tzinfo=UTC)

Open = Callable[[], Storage]


def filled(storage: Storage) -> None:
    """A document, a turn and an operation."""
    storage.documents.write("daily/2026-02-24.md", "saw a heron\n", expect=None)
    turn = Turn(id="t1", session="s1", role="user", text="the heron nests", time=NOW)
    storage.transcripts.append(Session(uuid="s1"), [turn])
    storage.journal.begin(Operation(id="o1", time=NOW, actor="user", door="test", changes=(), done=False))
    storage.journal.done("o1")


def told(storage: Storage) -> tuple[dict[str, str], list[str], list[str]]:
    """What `filled` wrote, as far as it is there."""
    documents = {info.path: storage.documents.read(info.path).text for info in storage.documents.list()}
    turns = [turn.text for turn in storage.transcripts.turns("s1")]
    return documents, turns, [one.id for one in storage.journal.operations()]


class StorageConformance:
    """The tests; each call of `opened` opens the book anew, which is empty at first."""

    @pytest.fixture
    def opened(self) -> Open:
        raise NotImplementedError

    @pytest.fixture
    def storage(self, opened: Open) -> Storage:
        return opened()

    def test_there_is_no_book_before_something_is_written(self, opened: Open) -> None:
        storage = opened()
        assert told(storage) == ({}, [], [])
        assert not storage.identity(make=False)
        assert not storage.exists()
        filled(storage)
        assert storage.exists()
        assert opened().exists()

    def test_who_opens_the_book_sees_all_that_was_written(self, opened: Open) -> None:
        storage = opened()
        filled(storage)
        beside, there = opened(), told(storage)
        assert told(beside) == there == ({"daily/2026-02-24.md": "saw a heron\n"}, ["the heron nests"], ["o1"])
        storage.close()
        storage.close()
        assert told(beside) == there
        beside.close()
        assert told(opened()) == there

    @pytest.mark.parametrize("embedder", [None, HashEmbedder()])
    def test_its_index_finds_what_is_in_it(self, storage: Storage, embedder: HashEmbedder | None) -> None:
        filled(storage)
        index = storage.open_index(embedder)
        assert index.sync(storage.documents, storage.transcripts).changed == 2
        found = index.candidates(Query("heron"))
        assert {one.passage.text.strip() for one in found.items} == {"saw a heron", "the heron nests"}
        assert (found.embedder is None) is (embedder is None)
        index.close()

    def test_a_thread_may_take_the_lock_again_and_write_under_it(self, storage: Storage) -> None:
        with storage.transaction(), storage.transaction():
            storage.documents.append("a.md", "1")
        assert storage.documents.read("a.md").text == "1\n"

    def test_threads_exclude_each_other(self, storage: Storage) -> None:
        def add(worker: int) -> None:
            for number in range(10):
                with storage.transaction():
                    text = storage.documents.read("a.md")
                    storage.documents.write("a.md", f"{text.text}{worker}.{number}\n", expect=text.revision)
                storage.documents.append("b.md", f"{worker}.{number}")

        storage.documents.write("a.md", "", expect=None)
        threads = [threading.Thread(target=add, args=(worker,)) for worker in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expected = sorted(f"{worker}.{number}" for worker in range(4) for number in range(10))
        assert sorted(storage.documents.read("a.md").text.split()) == expected
        assert sorted(storage.documents.read("b.md").text.split()) == expected

    def test_a_transaction_is_the_only_one_of_the_book(self, opened: Open) -> None:
        entered: list[str] = []

        def work(storage: Storage) -> None:
            with storage.transaction():
                entered.append("other")

        with (first := opened()).transaction():
            thread = threading.Thread(target=work, args=(opened(),))
            thread.start()
            thread.join(0.1)
            entered.append("first")
        thread.join()
        assert entered == ["first", "other"]
        first.close()

    def test_a_lease_is_held_by_one_until_its_block_ends(self, opened: Open) -> None:
        first, second = opened(), opened()
        with first.lease("work") as ours, second.lease("work") as theirs, second.lease("other") as other:
            assert (ours, theirs, other) == (True, False, True)
            with first.lease("work") as again:
                assert not again
        with second.lease("work") as ours:
            assert ours

    def test_an_identity_is_made_once(self, opened: Open) -> None:
        filled(storage := opened())
        made = storage.identity(make=True)
        assert re.fullmatch("[0-9a-f]{32}", made)
        assert storage.identity(make=True) == opened().identity(make=False) == made

    def test_a_copy_is_restored_as_it_was(self, opened: Open, tmp_path: Path) -> None:
        filled(storage := opened())
        there, mine = told(storage), storage.identity(make=True)
        paths = storage.copy(str(tmp_path / "copy"))
        assert paths == ["daily/2026-02-24.md", ".memorybook/journal.sqlite", ".memorybook/transcripts.sqlite"]
        assert (tmp_path / "copy" / paths[0]).read_text(encoding="utf-8") == "saw a heron\n"

        def fill(folder: str) -> None:
            os.rmdir(folder)
            os.rename(tmp_path / "copy", folder)

        storage.documents.append(paths[0], "and another one")
        storage.transcripts.remove("s1")
        with pytest.raises(Conflict, match="is not empty"):
            storage.restore(fill, identity="", replace=False, now=NOW)
        kept = storage.restore(fill, identity="0" * 32, replace=True, now=NOW)
        assert kept != storage.root
        assert told(storage) == told(opened()) == there
        assert storage.identity(make=False) == mine, "it is the same book"

    def test_a_restore_that_fails_changes_nothing(self, opened: Open) -> None:
        filled(storage := opened())
        there = told(storage)

        def fill(folder: str) -> None:
            Path(folder, "half.md").write_text("half", encoding="utf-8")
            raise ValueError("half")

        with pytest.raises(ValueError, match="half"):
            storage.restore(fill, identity="", replace=True, now=NOW)
        assert told(storage) == told(opened()) == there

    def test_what_was_erased_is_left_nowhere(self, storage: Storage) -> None:
        filled(storage)
        seek = re.compile(b"heron").search
        found, searched = storage.leftovers(seek, 5)
        assert len(found) >= 2
        assert searched >= len(found)
        storage.documents.remove("daily/2026-02-24.md")
        storage.transcripts.remove("s1")
        storage.transcripts.vacuum()
        assert not storage.leftovers(seek, 5)[0]

    def test_a_book_that_is_erased_is_as_if_it_never_was(self, opened: Open) -> None:
        filled(storage := opened())
        assert storage.writable()
        storage.close()
        with closing(opened()) as other:
            other.erase()
            assert not other.exists()
        again = opened()
        assert told(again) == ({}, [], [])
        assert again.writable()
        filled(again)
        assert again.exists()

    def test_changes_are_noticed(self, opened: Open) -> None:
        filled(storage := opened())
        stop, noticed = threading.Event(), threading.Event()

        def watch() -> None:
            for _ in storage.notices(stop):
                noticed.set()

        thread = threading.Thread(target=watch)
        thread.start()
        for number in range(100):
            opened().documents.write(f"a{number}.md", "", expect=None)
            if noticed.wait(0.1):
                break
        stop.set()
        thread.join()
        assert noticed.is_set()
