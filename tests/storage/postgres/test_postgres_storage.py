"""A book in PostgreSQL: every contract of a book in files, and what is its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import memorybook
from conformance import index
from conformance.documents import DocumentsConformance
from conformance.index import IndexConformance, Make
from conformance.journal import JournalConformance
from conformance.storage import Open, StorageConformance
from conformance.transcripts import TranscriptsConformance
from memorybook.config.settings import Config
from memorybook.protocols import Documents, Embedder, Journal, Storage, Transcripts
from memorybook.storage.stores import open_storage


@pytest.fixture
def opened(config: Config, tenant: str) -> Open:
    return lambda: open_storage(config, tenant)


@pytest.fixture
def storage(opened: Open) -> Storage:
    return opened()


class TestPostgresStorage(StorageConformance):
    @pytest.fixture
    def opened(self, opened: Open) -> Open:
        return opened


class TestPostgresDocuments(DocumentsConformance):
    @pytest.fixture
    def documents(self, storage: Storage) -> Documents:
        return storage.documents


class TestPostgresJournal(JournalConformance):
    @pytest.fixture
    def journal(self, storage: Storage) -> Journal:
        return storage.journal


class TestPostgresTranscripts(TranscriptsConformance):
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


class TestPostgresIndex(IndexConformance):
    test_an_edit_that_keeps_size_and_time_of_writing_is_seen = None  # type: ignore[assignment]  # of files

    @pytest.fixture
    def book(self, storage: Storage, tmp_path: Path) -> Iterator[index.Book]:
        opened = Book(tmp_path, storage.documents, storage.transcripts)
        yield opened
        opened.close()

    @pytest.fixture
    def make(self, storage: Storage) -> Make:
        def make(embedder: Embedder | None) -> memorybook.protocols.Index:
            return storage.open_index(embedder)

        return make
