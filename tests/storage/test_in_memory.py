"""A book in memory: every contract of a book in files, and what is its own."""

from __future__ import annotations

from pathlib import Path

import pytest

import memorybook
from books import CONFIG, NOW
from conformance.fileless import TestDocuments as TestDocuments
from conformance.fileless import TestIndex as TestIndex
from conformance.fileless import TestJournal as TestJournal
from conformance.fileless import TestStorage as TestStorage
from conformance.fileless import TestTranscripts as TestTranscripts
from conformance.fileless import storage as storage
from conformance.storage import Open, filled
from forked import ended
from memorybook.config.settings import Config, StorageSettings, TranscriptSettings
from memorybook.errors import ConfigError, InvalidInput, Unavailable
from memorybook.protocols import Storage
from memorybook.storage.stores import open_storage

IN_MEMORY = CONFIG._replace(storage=StorageSettings("memory"))


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    return lambda: open_storage(IN_MEMORY, str(tmp_path / "book"))


def test_nothing_of_it_is_ever_on_disk(tmp_path: Path) -> None:
    root = tmp_path / "book"
    with memorybook.open(str(root), config=IN_MEMORY, clock=lambda: NOW) as memory:
        id = memory.remember("The user likes oolong tea").known.entry.id
        memory.process_session_end([{"role": "user", "content": "We release on Friday, please remember."}], "plan")
        assert "oolong" in memory.search("oolong").hits[0].snippet
        assert memory.forget(id).entries
        assert memory.purge(query="oolong").searched
        assert memory.status()["exists"]
    with memorybook.open(str(root), config=IN_MEMORY, clock=lambda: NOW) as memory:
        assert [session.name for session in memory.book.transcripts.sessions()] == ["plan"]
        with pytest.raises(InvalidInput, match="no folder of its own"):
            memory.export()
    assert not any(tmp_path.iterdir())


def test_a_backup_of_it_is_one_of_files(tmp_path: Path) -> None:
    archive = str(tmp_path / "book.tar.gz")
    with memorybook.open("in memory", config=IN_MEMORY) as memory:
        memory.remember("The user likes oolong tea")
        memory.process_session_end([{"role": "user", "content": "We release on Friday, please remember."}], "plan")
        there = memory.documents()
        texts = {info.path: memory.document(info.path).text for info in there}
        memory.backup(archive)
    with memorybook.open(str(tmp_path / "files"), config=CONFIG) as memory:
        memory.restore(archive)
        assert {info.path: memory.document(info.path).text for info in memory.documents()} == texts
        assert memory.search("release").hits
        assert memory.book.journal.operations()
        memory.append("written into files")
        memory.backup(archive)
    with memorybook.open("again in memory", config=IN_MEMORY) as memory:
        memory.restore(archive)
        assert memory.search("written into files").hits
        assert [session.name for session in memory.book.transcripts.sessions()] == ["plan"]


def test_a_closed_one_answers_no_more(opened: Open) -> None:
    storage = opened()
    filled(storage)
    storage.close()
    with pytest.raises(Unavailable, match="open it again"):
        storage.transcripts.turns("s1")
    assert opened().transcripts.turns("s1")


def test_a_forked_child_has_a_copy_of_its_own(storage: Storage) -> None:
    filled(storage)

    def change() -> None:
        assert storage.transcripts.remove("s1") == 1
        assert not storage.transcripts.turns("s1")

    assert ended(change) == 0
    assert storage.transcripts.turns("s1")


@pytest.mark.parametrize("setting", [{"db_path": "/x"}, {"transcripts": TranscriptSettings(url="http://x")}])
def test_no_part_of_it_is_elsewhere(setting: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"storage\.kind"):
        open_storage(Config(storage=StorageSettings("memory"))._replace(**setting), "/nowhere")  # type: ignore[arg-type]
