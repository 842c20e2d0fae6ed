"""What an index takes of an embedder, which may be anybody's; and that a refusal costs only the vector leg."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np
import pytest

from conformance.index import Book, Make, book
from memorybook.errors import EmbedderFailed
from memorybook.inference.static import vectors_of
from memorybook.protocols import Embedder
from memorybook.search.types import Query
from memorybook.storage.index.scan_index import ScanIndex
from memorybook.storage.index.sqlite_index import SqliteIndex
from memorybook.testing import HashEmbedder

if TYPE_CHECKING:
    from memorybook.protocols import Vectors

__all__ = ["book"]

Change = Callable[["np.ndarray[Any, Any]"], object]


class Nonsense(HashEmbedder):
    """A local embedder whose answers are changed on their way out, once it is told to."""

    def __init__(self, change: Change, *, at_once: bool = True) -> None:
        super().__init__(8)
        self.name = "local/mine"
        self.change = change
        self.on = at_once

    def embed(self, texts: Sequence[str]) -> Vectors:
        good = np.array(super().embed(texts))
        return cast("Vectors", self.change(good)) if self.on else good


def holed(rows: np.ndarray[Any, Any], value: float) -> np.ndarray[Any, Any]:
    rows[-1, 3] = value
    return rows


NONSENSE: dict[str, tuple[Change, str]] = {
    "a list": (lambda rows: rows.tolist(), "gave a 'list'; return a float32 array"),
    "nothing": (lambda rows: None, "gave a 'NoneType'"),
    "float64": (lambda rows: rows.astype(np.float64), "numbers of the type 'd'; return float32"),
    "float16": (lambda rows: rows.astype(np.float16), "numbers of the type 'e'"),
    "int8": (lambda rows: (rows * 127).astype(np.int8), "numbers of the type 'b'"),
    "bytes": (lambda rows: rows.tobytes(), "numbers of the type 'B'"),
    "flat": (lambda rows: rows.ravel(), r"an array of shape \(\d+,\); it must be \(\d, 8\), texts by dimensions"),
    "too short": (lambda rows: rows[:, :7], r"an array of shape \(\d, 7\)"),
    "too few": (lambda rows: rows[1:], r"an array of shape \(\d, 8\)"),
    "turned": (lambda rows: np.ascontiguousarray(np.repeat(rows, 9, axis=0).T), r"an array of shape \(8, \d+\)"),
    "NaN": (lambda rows: holed(rows, np.nan), r"a vector of length nan for text \d"),
    "infinity": (lambda rows: holed(rows, -np.inf), r"a vector of length inf for text \d"),
    "long vectors": (lambda rows: rows * 3, r"a vector of length 3 for text 0; divide each vector by its length"),
}

nonsense = pytest.mark.parametrize(("change", "message"), NONSENSE.values(), ids=NONSENSE)


@nonsense
def test_an_answer_that_was_not_promised_is_refused_by_name(change: Change, message: str) -> None:
    with pytest.raises(EmbedderFailed, match=f"the embedder 'local/mine' .*{message}"):
        vectors_of(Nonsense(change), ["red apples", "blue plums"])


@pytest.fixture(params=["sqlite", "scan"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    def make(embedder: Embedder | None) -> SqliteIndex | ScanIndex:
        if request.param == "scan":
            return ScanIndex(embedder=embedder)
        return SqliteIndex(str(tmp_path / "index" / "index.sqlite"), embedder=embedder)

    return make


@nonsense
def test_searches_go_on_by_words_beside_nonsense(make: Make, book: Book, change: Change, message: str) -> None:
    embedder = Nonsense(change)
    index = make(embedder)
    book.say("red apples", "blue plums")
    report = book.sync(index)
    assert (report.pending_vectors, len(report.degraded)) == (2, 1)
    assert "local/mine" in report.degraded[0]
    assert book.texts(index, "apples") == {"red apples"}
    embedder.on = False
    found = book.search(index, "red apples")
    assert (found.pending_vectors, found.degraded, found.embedder) == (0, (), "local/mine")
    index.close()


@nonsense
def test_a_question_that_comes_back_as_nonsense_is_searched_by_words(
    make: Make, book: Book, change: Change, message: str
) -> None:
    embedder = Nonsense(change, at_once=False)
    index = make(embedder)
    book.say("red apples")
    book.sync(index)
    embedder.on = True
    found = index.candidates(Query("apples"))
    assert [c.cosine for c in found.items] == [None]
    assert (found.embedder, len(found.degraded)) == (None, 1)
    assert "local/mine" in found.degraded[0]
    index.close()


@pytest.mark.parametrize(
    ("error", "words"), [(ValueError("bad weights"), "ValueError: bad weights"), (KeyError(), "KeyError;")]
)
def test_whatever_an_embedder_raises_is_a_failure_of_it(error: Exception, words: str) -> None:
    class Raising(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> NoReturn:
            raise error

    with pytest.raises(EmbedderFailed, match=words):
        vectors_of(Raising(), ["red apples"])
