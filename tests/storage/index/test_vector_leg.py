"""Embedders whose dimensions are only learnt from an answer, and what becomes of vectors of other dimensions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

from conformance.index import Book, book, by_cosine
from inference.server import KEY, Service, serve
from memorybook.inference.calibration import ANSWERS, QUESTIONS
from memorybook.inference.http_client import RemoteEmbedder
from memorybook.search.types import Query
from memorybook.storage.index import vector_files, vectors
from memorybook.storage.index.index_sync import bring_up_to_date
from memorybook.storage.index.sqlite_index import SqliteIndex
from memorybook.storage.index.vectors import Block, Question, Stamp, best, write
from memorybook.testing import HashEmbedder

if TYPE_CHECKING:
    from memorybook.protocols import Vectors

__all__ = ["book"]


@pytest.fixture
def service() -> Iterator[Service]:
    with serve(dimensions=64) as running:
        yield running


@pytest.fixture
def path(book: Book) -> str:
    return str(book.root / ".memorybook" / "index.sqlite")


def remote(service: Service, dimensions: int | None = None) -> RemoteEmbedder:
    return RemoteEmbedder(base_url=service.url, model=service.model, api_key=KEY, dimensions=dimensions)


def filled(book: Book, path: str, service: Service) -> SqliteIndex:
    """An index whose three passages are embedded."""
    index = SqliteIndex(path, embedder=remote(service))
    book.say("red apples", "blue plums", "green pears")
    book.sync(index)
    assert index.embed_pending() == 0
    return index


def sent(service: Service) -> list[str]:
    return [text for request in service.requests for text in request["input"]]


def stored(index: SqliteIndex) -> list[tuple[int, int, int]]:
    """(dimensions of a model, bytes of a vector of it, how many)."""
    return index._open().execute(
        "SELECT m.dimensions, length(vector), count(*) FROM models AS m JOIN embeddings AS e ON e.model=m.id"
        " GROUP BY 1, 2"
    )


def test_the_first_answer_tells_the_dimensions(book: Book, path: str, service: Service) -> None:
    embedder = remote(service)
    index = SqliteIndex(path, embedder=embedder)
    book.say("red apples", "blue plums")
    assert (book.sync(index).pending_vectors, embedder.dimensions) == (2, 0)
    steps: list[tuple[int, int]] = []
    assert index.embed_pending(limit=1, progress=lambda done, total: steps.append((done, total))) == 1
    assert index.embed_pending(progress=lambda done, total: steps.append((done, total))) == 0
    assert steps == [(1, 1), (1, 1)]
    assert stored(index) == [(64, 256, 2)]
    found = index.candidates(Query("red apples"))
    assert max(by_cosine(found).values()) == pytest.approx(1.0, abs=1e-3)
    index.close()


def test_a_process_that_does_not_know_them_finds_what_another_embedded(book: Book, path: str, service: Service) -> None:
    filled(book, path, service).close()
    service.requests.clear()
    embedder = remote(service)
    index = SqliteIndex(path, embedder=embedder)
    assert embedder.dimensions == 0
    assert book.sync(index).pending_vectors == 0
    found = index.candidates(Query("red apples"))
    assert (found.backend, found.pending_vectors, found.degraded) == ("sqlite_hybrid", 0, ())
    assert len(by_cosine(found)) == 3
    book.say("yellow quinces")
    book.sync(index)
    assert index.embed_pending() == 0
    assert len(sent(service)) == 2  # the question, and what was new
    assert stored(index) == [(64, 256, 4)]
    index.close()


def test_a_search_that_meets_other_dimensions_says_so_and_has_the_vectors_made_again(
    book: Book, path: str, service: Service
) -> None:
    before = filled(book, path, service)
    assert len(by_cosine(before.candidates(Query("apples")))) == 3
    service.dimensions = 32
    index = SqliteIndex(path, embedder=remote(service))
    found = book.search(index, "red apples")
    assert (found.backend, found.embedder, found.pending_vectors) == ("sqlite_fts", None, 3)
    assert [c.passage.text for c in found.items] == ["red apples"]
    [reason] = found.degraded
    assert "has 32 dimensions by now and had 64" in reason
    assert index.embed_pending() == 0
    found = index.candidates(Query("red apples"))
    assert (found.backend, len(by_cosine(found))) == ("sqlite_hybrid", 3)
    assert stored(index) == [(32, 128, 3)]
    for opened in (before, index):
        opened.close()


@pytest.mark.parametrize("limit", [None, 2])
def test_new_text_that_gets_other_dimensions_has_the_old_embedded_again(
    book: Book, path: str, service: Service, limit: int | None
) -> None:
    filled(book, path, service).close()
    service.dimensions = 32
    service.requests.clear()
    index = SqliteIndex(path, embedder=remote(service))
    book.say("yellow quinces")
    assert book.sync(index).pending_vectors == 1
    steps: list[tuple[int, int]] = []
    left = index.embed_pending(limit=limit, progress=lambda done, total: steps.append((done, total)))
    assert left == (0 if limit is None else 2)
    assert steps[-1] == ((4, 4) if limit is None else (2, 2))
    assert stored(index) == [(32, 128, 4 - left)]
    found = index.candidates(Query("quinces"))
    assert (found.backend, len(by_cosine(found)), found.pending_vectors) == ("sqlite_hybrid", 4 - left, left)
    index.close()


def test_an_index_that_is_open_meanwhile_mixes_nothing(
    book: Book, path: str, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_files, "FOLD", 2)
    before = filled(book, path, service)
    book.say("yellow quinces")
    book.sync(before)
    before.embed_pending()
    before.candidates(Query("apples"))  # has a file and a tail of the old vectors at hand now
    service.dimensions = 32
    index = SqliteIndex(path, embedder=remote(service))
    book.search(index, "apples")
    index.embed_pending(limit=1)
    connection, own = before._open(), vector_files.known_model(before._open(), remote(service))
    assert own is not None
    # as a search that has begun before: it asks with an old vector, and finds none like it
    old = own._replace(dimensions=64)
    assert best(before._vectors.scan(connection, old, Question(bytes(256))).finished(), 10) == []
    assert len(best(before._vectors.scan(connection, own, Question(bytes(128))).finished(), 10)) == 1
    index.embed_pending()
    assert len(best(before._vectors.scan(connection, own, Question(bytes(128))).finished(), 10)) == 4
    for opened in (before, index):
        opened.close()


def test_a_file_is_not_written_of_vectors_that_are_gone_by_then(
    book: Book, path: str, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = filled(book, path, service)
    monkeypatch.setattr(vector_files, "FOLD", 2)
    connection = index._open()
    own = vector_files.known_model(connection, remote(service))
    assert own is not None
    index._vectors.fold(connection, own._replace(dimensions=32))
    assert vector_files.segments(connection, own.id) == []
    index._vectors.fold(connection, own)
    assert len(vector_files.segments(connection, own.id)) == 1
    index.close()


def test_a_file_does_not_count_if_the_dimensions_changed_while_it_was_written(
    book: Book, path: str, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = filled(book, path, service)
    monkeypatch.setattr(vector_files, "FOLD", 2)

    def overtaken(path: str, dimensions: int, blocks: list[Block]) -> Stamp:
        service.dimensions = 32
        other = SqliteIndex(index._path, embedder=remote(service))
        book.search(other, "red apples")
        other.close()
        return write(path, dimensions, blocks)

    monkeypatch.setattr(vectors, "write", overtaken)
    connection = index._open()
    own = vector_files.known_model(connection, remote(service))
    assert own is not None
    index._vectors.fold(connection, own)
    assert vector_files.segments(connection, own.id) == []
    assert not any(".vectors." in name for name in os.listdir(os.path.dirname(path)))
    index.close()


class Overtaken(HashEmbedder):
    """Lets somebody else in once, while it embeds texts of the book."""

    meanwhile: Callable[[], object] | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self.meanwhile is not None and texts[0] not in (QUESTIONS[0], ANSWERS[0]):
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        return super().embed(texts)


def renumbered(book: Book, path: str, embedder: HashEmbedder) -> SqliteIndex:
    """An index, to be embedded, that another one's rebuild gives other numbers of texts."""
    index = SqliteIndex(path, embedder=embedder)
    for name, text in (("a", "red apples"), ("b", "blue plums"), ("c", "green pears")):
        book.write(f"{name}.md", f"{text}\n")
        bring_up_to_date(index._open(), book.documents, book.transcripts)
    vector_files.register(index._open(), embedder)
    (book.root / "a.md").unlink()
    bring_up_to_date(index._open(), book.documents, book.transcripts)
    return index


def test_vectors_are_not_stored_under_the_numbers_of_before_a_rebuild(book: Book, path: str) -> None:
    embedder = Overtaken()
    index, other = renumbered(book, path, embedder), SqliteIndex(path)
    embedder.meanwhile = lambda: other.rebuild(book.documents, book.transcripts)
    steps: list[tuple[int, int]] = []
    assert index.embed_pending(progress=lambda done, total: steps.append((done, total))) == 0
    assert steps == [(2, 2)]
    for text in ("blue plums", "green pears"):
        found = by_cosine(book.search(index, text))
        assert max(found.values()) == pytest.approx(1.0, abs=1e-3)
    for opened in (index, other):
        opened.close()


def test_vectors_are_not_stored_for_the_model_that_has_the_number_now(book: Book, path: str) -> None:
    embedder = Overtaken()
    index = renumbered(book, path, embedder)

    def meanwhile() -> None:
        index._open().execute("UPDATE models SET id=7; UPDATE pending SET model=7")
        index._open().execute("INSERT INTO models (id, name, dimensions) VALUES (1, 'another', 64)")

    embedder.meanwhile = meanwhile
    assert index.embed_pending() == 0
    assert index._open().execute("SELECT DISTINCT model FROM embeddings") == [(7,)]
    index.close()
