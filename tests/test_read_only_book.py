"""A book that cannot be written, or whose journal is no good, can still be read."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest

import memorybook
from memorybook.config.settings import Config
from memorybook.errors import Unavailable
from memorybook.memory import Memory
from memorybook.model import Add, Append, Entry, Put
from memorybook.storage import journal
from memorybook.storage.sqlite import Store

NOW = datetime(2026, 2, 24, 10, 0, tzinfo=UTC)
NOBODY = 65534


@pytest.fixture
def root() -> Iterator[Path]:
    """A book with an entry and a note, in a folder that anybody may enter."""
    home = Path(tempfile.mkdtemp())
    home.chmod(0o755)
    with opened(home / "book") as memory:
        memory.remember("The user likes green tea in the morning", importance="high")
        memory.append("We met at the harbour")
        for page in (home / "book").rglob("*.md"):
            page.chmod(0o644)
        time.sleep(0.03)  # for files as young as this a search would look again whether they changed
        memory.search("tea")
    yield home / "book"
    shutil.rmtree(home)


def opened(root: Path) -> Memory:
    """By words alone: whoever may enter the book's folder may not be able to enter that of the bundled weights."""
    return memorybook.open(str(root), config=Config(timezone="UTC", vector_enabled=False), clock=lambda: NOW)


@contextmanager
def read_only(root: Path) -> Iterator[None]:
    """No folder below `root` can be written, not even by root, who reads as somebody else meanwhile."""
    import encodings.idna  # noqa: F401  (nothing of the interpreter's own is looked for as somebody else)

    privileged = os.geteuid() == 0
    closed = [path for path in [root, *root.rglob("*")] if path.is_dir() or ".memorybook" in path.parts]
    modes = [(path, path.stat().st_mode) for path in closed]
    for path in closed:
        if privileged:
            os.chown(path, NOBODY, -1)
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        if privileged:
            os.seteuid(NOBODY)
        yield
    finally:
        if privileged:
            os.seteuid(0)
        for path, mode in modes:
            path.chmod(mode)


def read_everything(memory: Memory) -> dict[str, Any]:
    """Every reading verb answers as usual; returns the status."""
    assert "green tea" in memory.search("green tea").hits[0].passage.text
    [known] = memory.entries().entries
    assert memory.get(known.entry.id) == known
    assert "harbour" in str(memory.get("daily/2026-02-24.md"))
    assert "green tea" in memory.recall("what does the user drink?").text
    status = memory.status()
    assert status["entries"]["active"] == 1
    return status


def test_a_book_that_cannot_be_written_is_read(root: Path) -> None:
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    with read_only(root), opened(root) as memory:
        assert memory.search("green tea").state["degraded"] == []
        assert read_everything(memory)["index"]["fresh"]
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


def test_a_book_that_was_left_open_is_read_with_its_log(root: Path) -> None:
    with opened(root) as memory:
        memory.remember("The user sails")
        with read_only(root), opened(root) as reader:
            assert {each.entry.text for each in reader.entries().entries} >= {"The user sails"}
            assert reader.book.journal.operations()[0].changes[0].after is not None


def test_an_index_that_cannot_be_brought_up_to_date_is_replaced_by_scanning(root: Path) -> None:
    page = root / "MEMORY.md"
    page.write_text("The boat is blue.\n\n" + page.read_text(encoding="utf-8"), encoding="utf-8")
    with read_only(root), opened(root) as memory:
        answer = memory.search("blue boat")
        assert "boat is blue" in answer.hits[0].passage.text
        assert answer.state["backend"] == "scan"
        [reason] = answer.state["degraded"]
        assert "index.sqlite" in reason
        assert "cannot be written" in reason
        assert "index.sqlite" in "".join(read_everything(memory)["degraded"])


def test_documents_alone_are_enough(root: Path) -> None:
    shutil.rmtree(root / ".memorybook")
    with read_only(root), opened(root) as memory:
        assert "scanning" in "".join(memory.search("green tea").state["degraded"])
        read_everything(memory)


@pytest.mark.parametrize(
    "write",
    [
        lambda memory: memory.remember("something new"),
        lambda memory: memory.append("something new"),
        lambda memory: memory.append("something new", section="Preferences"),
        lambda memory: memory.pin(memory.entries().entries[0].entry.id),
        lambda memory: memory.forget(query="green tea"),
        lambda memory: memory.init(),
    ],
    ids=["remember", "append", "item", "pin", "forget", "init"],
)
def test_writing_says_in_a_sentence_that_the_book_cannot_be_written(
    root: Path, write: Callable[[Memory], object]
) -> None:
    with (
        read_only(root),
        opened(root) as memory,
        pytest.raises(Unavailable, match=r"cannot be written.*; check") as told,
    ):
        write(memory)
    assert str(root) in str(told.value)
    assert told.value.exit_code == 5


def test_reading_goes_on_beside_a_damaged_journal(root: Path) -> None:
    file = root / ".memorybook" / "journal.sqlite"
    file.write_bytes(b"no database at all" * 300)
    with opened(root) as memory:
        assert "journal.sqlite" in "".join(memory.search("green tea").state["degraded"])
        status = read_everything(memory)
        assert "journal.sqlite" in "".join(status["degraded"])
        assert status["pending_operations"] == 0
        with pytest.raises(Unavailable, match=r"journal\.sqlite"):
            memory.remember("something new")
        assert "something new" not in (root / "MEMORY.md").read_text(encoding="utf-8")
    assert file.read_bytes() == b"no database at all" * 300


def test_reading_goes_on_beside_a_locked_journal_and_counts_again_after_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "Store", partial(Store, timeout=0.05))
    other = apsw.Connection(str(root / ".memorybook" / "journal.sqlite"))
    other.execute("PRAGMA locking_mode=EXCLUSIVE; BEGIN IMMEDIATE; DELETE FROM access").fetchall()
    with opened(root) as memory:
        assert "locked" in "".join(read_everything(memory)["degraded"])
        other.execute("COMMIT")
        other.close()
        memory.remember("something new")
        assert memory.status()["degraded"] == []
        memory.recall("green tea")
        assert max(each.access_count for each in memory.entries().entries) == 1


def test_a_journal_that_is_lost_while_the_book_is_open_stops_no_reading(root: Path) -> None:
    with opened(root) as memory:
        (root / ".memorybook" / "journal.sqlite").unlink()
        (root / ".memorybook" / "journal.sqlite").write_bytes(b"no database at all" * 300)
        assert "journal.sqlite" in "".join(read_everything(memory)["degraded"])


# --- disks that refuse -----------------------------------------------------------------------------


def entry(id: str) -> Entry:
    day = NOW.date()
    return Entry(id=id, text=f"statement {id}", category="fact", score=0.6, scored=day, last_activated=day)


def test_a_full_disk_is_told_in_a_sentence_and_leaves_nothing_behind(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (root / "MEMORY.md").read_bytes()
    with opened(root) as memory:

        def full(descriptor: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(Unavailable, match=r"'MEMORY\.md'.*cannot be written \(No space left on device\)"):
                memory.remember("something new")
        assert (root / "MEMORY.md").read_bytes() == before
        assert memory.book.pending_operations() == 0
        memory.remember("something newer")
    text = (root / "MEMORY.md").read_text(encoding="utf-8")
    assert "something newer" in text
    assert "something new\n" not in text


def test_a_disk_that_fills_up_amid_an_operation_is_told_and_the_rest_is_done_later(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(root) as memory:
        book = memory.book
        real = book.documents.write

        def write(path: str, text: str, *, expect: str | None) -> str:
            if path == "sessions/s.md":
                raise Unavailable("no space left")
            return real(path, text, expect=expect)

        with monkeypatch.context() as patch:
            patch.setattr(book.documents, "write", write)
            with pytest.raises(Unavailable, match="no space left; what is missing of this change is done when"):
                book.apply([Add(entry=entry("aaaaaa")), Put(path="sessions/s.md", text="x")], actor="u", door="test")
        assert book.pending_operations() == 1
        book.apply([Append(path="notes.md", line="next")], actor="u", door="test")
        assert book.pending_operations() == 0
        assert book.documents.read("sessions/s.md").text == "x"


def test_a_document_that_cannot_be_read_is_named(root: Path) -> None:
    page = root / "daily" / "2026-02-24.md"
    page.chmod(0)
    with opened(root) as memory:
        if os.geteuid() == 0:
            os.seteuid(1)
        try:
            with pytest.raises(Unavailable, match=r"'daily/2026-02-24\.md' .* cannot be read \(Permission denied\)"):
                memory.get("daily/2026-02-24.md")
        finally:
            if os.getuid() == 0:
                os.seteuid(0)


def test_status_reports_what_cannot_be_read_every_time(root: Path) -> None:
    page = root / "MEMORY.md"
    page.write_text(page.read_text(encoding="utf-8") + "\n### [bad fact | x\nIts text\n", encoding="utf-8")
    with opened(root) as memory:
        memory.search("tea")
        for _ in range(2):
            [warning] = memory.status()["warnings"]
            assert warning.startswith("MEMORY.md: line ")
            assert "never closed" in warning
        memory.remember("something new")
        assert "\n### [bad fact | x\nIts text\n" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("backend", ["sqlite_hybrid", "scan"])
def test_damaged_transcripts_do_not_stop_a_search_and_are_left_as_they_are(tmp_path: Path, backend: str) -> None:
    config = Config(backend=backend)
    chat = tmp_path / "chat.jsonl"
    chat.write_text('{"role": "user", "content": "The heron database is slow today."}\n', encoding="utf-8")
    with memorybook.open(str(tmp_path / "b"), config=config) as memory:
        memory.append("zebras cross the road")
        memory.import_file(str(chat))
        memory.search("heron")
    path = tmp_path / "b" / ".memorybook" / "transcripts.sqlite"
    path.write_bytes(b"not a database" * 1000)
    with memorybook.open(str(tmp_path / "b"), config=config) as memory:
        answer = memory.search("zebras")
        assert answer.hits
        assert answer.state["fresh"] is False
        assert any("turns are searched as they were known before" in reason for reason in answer.state["degraded"])
        if backend == "sqlite_hybrid":
            assert memory.search("heron").has_relevant
        memory.append("pandas eat bamboo")
        assert memory.search("bamboo").hits
        assert memory.status()["degraded"]
    assert path.read_bytes().startswith(b"not a database")
