"""The SQLite index with the sqlite-vec library: it answers as without it, also when the library is missing."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import memorybook
from conformance.index import Book, IndexConformance, Make, OracleConformance, agree, book, by_cosine
from memorybook.config.settings import Config
from memorybook.protocols import Embedder
from memorybook.search.types import Query
from memorybook.storage.index.scan_index import ScanIndex
from memorybook.storage.index.sqlite_index import SqliteIndex
from memorybook.testing import HashEmbedder

__all__ = ["book"]


@pytest.fixture(scope="session")
def library() -> str:
    try:
        return str(importlib.import_module("sqlite_vec").loadable_path())
    except ImportError:
        pytest.skip("needs the package sqlite-vec")


@pytest.fixture
def path(book: Book) -> str:
    return str(book.root / ".memorybook" / "index.sqlite")


@pytest.fixture
def make(tmp_path: Path, library: str) -> Iterator[Make]:
    made: list[SqliteIndex] = []

    def make(embedder: Embedder | None) -> SqliteIndex:
        folder = str(tmp_path / f"index-{len(made)}")
        index = SqliteIndex(os.path.join(folder, "index.sqlite"), embedder=embedder, sqlite_vec=library)
        made.append(index)
        return index

    yield make
    for index in made:
        assert index._extension is None or not index._extension.failure
        index.close()


class TestSqliteIndexWithSqliteVec(IndexConformance):
    pass


class TestSqliteIndexWithSqliteVecBesideAScan(OracleConformance):
    @pytest.fixture
    def oracle(self) -> Make:
        def oracle(embedder: Embedder | None) -> ScanIndex:
            return ScanIndex(embedder=embedder)

        return oracle


def test_the_library_ranks_as_the_built_in_scan_does(book: Book, path: str, library: str) -> None:
    book.say(*(f"apples {'and pears ' * (n % 9)} of {n}" for n in range(150)))
    book.say("red apples", "红苹果 and plums", session="u2", name="S2")
    one = SqliteIndex(path, embedder=HashEmbedder(), sqlite_vec=library)
    other = SqliteIndex(path, embedder=HashEmbedder())
    for question, filters in (("apples 7", {}), ("红苹果 pears", {}), ("apples", {"session": "S2"})):
        for pool in (5, 100, 300):
            agree(book.search(one, question, pool=pool, **filters), book.search(other, question, pool=pool, **filters))
    one.close()
    other.close()


def test_vectors_of_text_that_is_gone_take_no_places(book: Book, path: str, library: str) -> None:
    index = SqliteIndex(path, embedder=HashEmbedder(), sqlite_vec=library)
    book.write("a.md", "\n".join(f"# {n}\n\napples {n}\n" for n in range(300)))
    book.sync(index)
    book.write("a.md", "quite another thing\n")
    assert len(by_cosine(book.search(index, "apples", pool=5))) == 1
    index.close()


def test_nothing_more_can_be_loaded_by_sql(book: Book, path: str, library: str) -> None:
    index = SqliteIndex(path, embedder=HashEmbedder(), sqlite_vec=library)
    book.say("red apples")
    book.sync(index)
    with pytest.raises(Exception, match="not authorized"):
        index._open().execute("SELECT load_extension(?)", (library,))
    index.close()


@pytest.mark.parametrize("kind", ["missing", "no library", "another library", "folder"])
def test_a_library_that_cannot_be_loaded_is_named_and_the_built_in_scan_answers(
    book: Book, path: str, tmp_path: Path, kind: str
) -> None:
    other = str(tmp_path / "vec0.so")
    if kind == "no library":
        Path(other).write_bytes(b"not a library")
    elif kind == "another library":
        import simsimd

        other = str(simsimd.__file__)
    elif kind == "folder":
        Path(other).mkdir()
    index = SqliteIndex(path, embedder=HashEmbedder(), sqlite_vec=other)
    book.say("red apples")
    report = book.sync(index)
    found = index.candidates(Query("red apples"))
    assert (found.backend, found.embedder, len(by_cosine(found))) == ("sqlite_hybrid", "local/hash-64", 1)
    assert report.degraded == found.degraded
    [reason] = found.degraded
    assert reason.startswith(f"the sqlite-vec library {other!r} cannot be loaded (")
    assert "built-in scan" in reason
    index.close()


def test_the_setting_reaches_the_index_and_its_failure_the_answer_and_the_status(tmp_path: Path) -> None:
    config = Config(timezone="UTC", sqlite_vec_extension_path="/no/such/library")
    with memorybook.open(str(tmp_path), config=config, embedder=HashEmbedder()) as memory:
        memory.remember("The user likes red apples.")
        answer = memory.search("red apples")
        assert answer.backend == "sqlite_hybrid"
        [reason] = answer.state["degraded"]
        assert "'/no/such/library' cannot be loaded" in reason
        assert memory.status()["degraded"] == [reason]
