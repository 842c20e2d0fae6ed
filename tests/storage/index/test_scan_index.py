from __future__ import annotations

import pytest

from conformance.index import Book, IndexConformance, Make, book
from memorybook.protocols import Embedder
from memorybook.search.types import Query
from memorybook.storage.index.scan_index import ScanIndex

__all__ = ["book"]


class TestScanIndex(IndexConformance):
    @pytest.fixture
    def make(self) -> Make:
        def make(embedder: Embedder | None) -> ScanIndex:
            return ScanIndex(embedder=embedder)

        return make


def test_scores_are_bm25_worked_out_by_hand(book: Book) -> None:
    from math import log

    book.write("a.md", "pear\n")
    book.write("b.md", "plum plum\n")
    book.write("c.md", "apple apple cherry\n")
    index = ScanIndex()
    book.sync(index)
    [found] = index.candidates(Query("apple")).items
    # three passages of 1, 2 and 3 words: one holds the word, twice
    idf = log(2.5 / 1.5)
    assert found.words == pytest.approx(idf * 2 * 1.9 / (2 + 0.9 * (0.6 + 0.4 * 3 / 2)))


def test_it_answers_as_a_scan(book: Book) -> None:
    assert book.search(ScanIndex(), "anything").backend == "scan"
