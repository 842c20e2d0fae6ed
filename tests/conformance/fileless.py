"""Every contract of a book in files, for one that is kept elsewhere: a test module imports these and says `opened`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance import index
from conformance.documents import DocumentsConformance
from conformance.index import IndexConformance, Make
from conformance.journal import JournalConformance
from conformance.storage import Open, StorageConformance
from conformance.transcripts import TranscriptsConformance
from memorybook.protocols import Documents, Journal, Storage, Transcripts


@pytest.fixture
def storage(opened: Open) -> Storage:
    return opened()


class TestStorage(StorageConformance):
    @pytest.fixture
    def opened(self, opened: Open) -> Open:
        return opened


class TestDocuments(DocumentsConformance):
    @pytest.fixture
    def documents(self, storage: Storage) -> Documents:
        return storage.documents


class TestJournal(JournalConformance):
    @pytest.fixture
    def journal(self, storage: Storage) -> Journal:
        return storage.journal


class TestTranscripts(TranscriptsConformance):
    @pytest.fixture
    def transcripts(self, storage: Storage) -> Transcripts:
        return storage.transcripts


class Book(index.Book):
    """Written by whoever else has it open, as there are no files."""

    def write(self, path: str, text: str) -> None:
        expect = self.documents.read(path).revision if path in {info.path for info in self.documents.list()} else None
        self.documents.write(path, text, expect=expect)

    def remove(self, path: str) -> None:
        self.documents.remove(path)

    def rename(self, path: str, to: str) -> None:
        self.write(to, self.documents.read(path).text)
        self.remove(path)


class TestIndex(IndexConformance):
    test_an_edit_that_keeps_size_and_time_of_writing_is_seen = None  # type: ignore[assignment]  # of files

    @pytest.fixture
    def book(self, storage: Storage, tmp_path: Path) -> Iterator[index.Book]:
        opened = Book(tmp_path, storage.documents, storage.transcripts)
        yield opened
        opened.close()

    @pytest.fixture
    def make(self, storage: Storage) -> Make:
        return storage.open_index
