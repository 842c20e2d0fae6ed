from __future__ import annotations

import os
import random
import struct
from array import array
from pathlib import Path

import pytest

from conformance.index import Book, agree, book, by_cosine
from memorybook.hits import Query
from memorybook.storage import vector_leg
from memorybook.storage.scan_index import ScanIndex
from memorybook.storage.sqlite_index import SqliteIndex
from memorybook.storage.vectors import Stamp, Tail, VectorFile, cosines, discard, stamp_of, write
from memorybook.testing import HashEmbedder

__all__ = ["book"]

WIDTH = 32


def unit(seed: int, width: int = WIDTH) -> bytes:
    chance = random.Random(seed)
    values = [chance.gauss(0, 1) for _ in range(width)]
    length = sum(v * v for v in values) ** 0.5
    return array("f", [v / length for v in values]).tobytes()


def exact(query: bytes, rows: list[tuple[int, bytes]], count: int) -> list[int]:
    asked = array("f", query)
    scored = [(sum(a * b for a, b in zip(asked, array("f", row), strict=True)), number) for number, row in rows]
    return [number for _, number in sorted(scored, reverse=True)[:count]]


def rows_of(count: int) -> list[tuple[int, bytes]]:
    return [(3 * n + 1, unit(n)) for n in range(count)]


def test_a_file_finds_what_an_exact_search_finds(tmp_path: Path) -> None:
    rows = rows_of(6000)
    path = str(tmp_path / "vectors.1")
    assert write(path, WIDTH, rows) == stamp_of(path)
    file = VectorFile(path, WIDTH)
    for seed in range(10_000, 10_005):
        query = unit(seed)
        found = file.best(query, 200)
        assert len(found) == 200
        assert set(exact(query, rows, 50)) <= {scored.id for scored in found}
        wanted = dict(zip((n for n, _ in rows), cosines(query, b"".join(v for _, v in rows)), strict=True))
        assert all(abs(scored.similarity - wanted[scored.id]) < 0.02 for scored in found)


def test_a_tail_is_exact(tmp_path: Path) -> None:
    rows = rows_of(300)
    tail = Tail()
    assert tail.best(unit(1), 5) == []
    tail.add(rows[:100])
    tail.add(rows)
    tail.add(rows)
    assert tail.last == rows[-1][0]
    query = unit(999)
    found = sorted(tail.best(query, 20), key=lambda scored: -scored.similarity)
    assert [scored.id for scored in found] == exact(query, rows, 20)


def test_only_allowed_rows_take_part(tmp_path: Path) -> None:
    rows = rows_of(500)
    path = str(tmp_path / "vectors.1")
    write(path, WIDTH, rows)
    tail = Tail()
    tail.add(rows)
    allowed = {rows[n][0] for n in (3, 77, 400)}
    for part in (VectorFile(path, WIDTH), tail):
        assert {scored.id for scored in part.best(unit(5), 10, allowed)} == allowed


def test_many_equal_rows_are_counted_right(tmp_path: Path) -> None:
    rows = [(n, unit(7)) for n in range(1, 9001)]
    path = str(tmp_path / "vectors.1")
    write(path, WIDTH, rows)
    assert len(VectorFile(path, WIDTH).best(unit(7), 300)) == 300


def test_a_few_near_rows_among_many_far_ones_are_found(tmp_path: Path) -> None:
    far = array("f", [-v for v in array("f", unit(7))]).tobytes()
    rows = [(n, unit(7) if n % 1000 == 1 else far) for n in range(1, 9001)]
    path = str(tmp_path / "vectors.1")
    write(path, WIDTH, rows)
    found = VectorFile(path, WIDTH).best(unit(7), 100)
    assert len(found) == 100
    assert len([scored for scored in found if scored.similarity > 0.9]) == 9


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:20],
        lambda data: b"x" + data[1:],
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: data[:8] + struct.pack("=q", 0) + data[16:],
        lambda data: data[:8] + struct.pack("=q", -5) + data[16:],
        lambda data: data[:8] + struct.pack("=q", 2**60) + data[16:],
    ],
)
def test_what_is_no_whole_vector_file_is_refused(tmp_path: Path, damage: object) -> None:
    path = tmp_path / "vectors.1"
    write(str(path), WIDTH, rows_of(10))
    data = path.read_bytes()
    path.write_bytes(damage(data))  # type: ignore[operator]
    with pytest.raises(ValueError):
        VectorFile(str(path), WIDTH)


def test_rows_of_another_length_are_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "vectors.1")
    write(path, WIDTH, rows_of(10))
    with pytest.raises(ValueError):
        VectorFile(path, WIDTH * 2)


def test_a_file_stays_readable_when_it_is_unlinked(tmp_path: Path) -> None:
    path = str(tmp_path / "vectors.1")
    write(path, WIDTH, rows_of(10))
    file = VectorFile(path, WIDTH)
    discard(path)
    discard(path)
    assert stamp_of(path) is None
    assert len(file.best(unit(1), 3)) == 3


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "vectors.1").mkdir()
    (tmp_path / "vectors.1" / "x").touch()
    with pytest.raises(OSError):
        write(str(tmp_path / "vectors.1"), WIDTH, rows_of(3))
    assert os.listdir(tmp_path) == ["vectors.1"]


def test_no_rows_have_no_cosines() -> None:
    assert cosines(unit(1), b"") == []


# --- in an index -------------------------------------------------------------------------------------


@pytest.fixture
def path(book: Book, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(vector_leg, "FOLD", 8)
    return str(book.root / ".memorybook" / "index.sqlite")


def files(book: Book) -> list[str]:
    return sorted(name for name in os.listdir(book.root / ".memorybook") if name.startswith("vectors."))


def fill(book: Book, index: SqliteIndex, batches: int, size: int = 8) -> None:
    for batch in range(batches):
        book.say(*(f"apples {batch} of {n}" for n in range(size)))
        book.sync(index)


def test_a_long_tail_is_folded_into_few_files(book: Book, path: str) -> None:
    index = SqliteIndex(path, embedder=HashEmbedder())
    fill(book, index, 1, 5)
    assert files(book) == []
    fill(book, index, 20)
    assert 1 <= len(files(book)) <= 5
    scan = ScanIndex(embedder=HashEmbedder())
    for pool in (5, 500):
        one = by_cosine(book.search(index, "apples 7 of 3", pool=pool))
        other = by_cosine(book.search(scan, "apples 7 of 3", pool=pool))
        assert sorted(one.values()) == pytest.approx(sorted(other.values()), abs=1e-3)


def test_a_rebuilt_index_has_its_files_again(book: Book, path: str) -> None:
    index = SqliteIndex(path, embedder=HashEmbedder())
    fill(book, index, 3)
    before = book.search(index, "apples 1 of 2")
    index.rebuild(book.documents, book.transcripts)
    connection = index._open()
    model = vector_leg.known_model(connection, HashEmbedder())
    assert model is not None
    [segment] = vector_leg.segments(connection, model.id)
    assert segment.rows == 24
    assert files(book) == [f"vectors.{segment.generation}"]
    agree(index.candidates(Query("apples 1 of 2")), before)


def test_files_go_into_another_folder_if_told_so(book: Book, path: str, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    index = SqliteIndex(path, embedder=HashEmbedder(), vectors_dir=str(folder))
    assert index.stats()["bytes"] > 0
    fill(book, index, 1)
    assert os.listdir(folder) == ["vectors.1"]
    assert files(book) == []
    assert index.stats()["bytes"] > os.stat(folder / "vectors.1").st_size


@pytest.mark.parametrize("harm", ["delete", "cut", "garble", "touch", "directory"])
def test_harmed_files_change_no_answer_and_are_made_anew(book: Book, path: str, harm: str) -> None:
    index = SqliteIndex(path, embedder=HashEmbedder())
    fill(book, index, 7)
    before = book.search(index, "apples 3 of 4")
    for name in files(book):
        file = book.root / ".memorybook" / name
        data = file.read_bytes()
        file.unlink()
        if harm == "cut":
            file.write_bytes(data[:-5])
        elif harm == "garble":
            file.write_bytes(bytes(255 - byte for byte in data))
        elif harm == "touch":
            file.write_bytes(data)
        elif harm == "directory":
            file.mkdir()
    fresh = SqliteIndex(path, embedder=HashEmbedder())
    agree(fresh.candidates(Query("apples 3 of 4")), before)
    agree(book.search(fresh, "apples 3 of 4"), before)
    agree(book.search(index, "apples 3 of 4"), before)
    connection = fresh._open()
    model = vector_leg.known_model(connection, HashEmbedder())
    assert model is not None
    assert fresh._vectors.intact(connection, model)


def test_a_folder_that_cannot_hold_files_does_no_harm(book: Book, path: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    index = SqliteIndex(path, embedder=HashEmbedder(), vectors_dir=str(tmp_path / "file" / "below"))
    fill(book, index, 3)
    found = book.search(index, "apples 1 of 2")
    assert (len(by_cosine(found)), found.degraded) == (24, ())


def test_vectors_of_text_that_is_gone_never_take_the_places_of_others(book: Book, path: str) -> None:
    index = SqliteIndex(path, embedder=HashEmbedder())
    book.write("a.md", "\n".join(f"# {n}\n\napples {n}\n" for n in range(300)))
    book.sync(index)
    book.write("a.md", "quite another thing\n")
    found = book.search(index, "apples", pool=5)
    assert len(by_cosine(found)) == 1


def test_files_of_an_older_index_are_swept_away_in_time(book: Book, path: str) -> None:
    folder = book.root / ".memorybook"
    folder.mkdir()
    for name, age in (("vectors.77", 1000), ("vectors.78.tmp", 1000), ("vectors.79", 0)):
        (folder / name).touch()
        status = os.stat(folder / name)
        os.utime(folder / name, (status.st_atime, status.st_mtime - age))
    fill(book, SqliteIndex(path, embedder=HashEmbedder()), 1)
    assert files(book) == ["vectors.1", "vectors.79"]


def test_another_process_folding_at_the_same_time_wins(book: Book, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    slow, fast = SqliteIndex(path, embedder=HashEmbedder()), SqliteIndex(path, embedder=HashEmbedder())
    raced: list[str] = []

    def overtaken(path: str, dimensions: int, rows: list[tuple[int, bytes]]) -> Stamp:
        if not raced:
            raced.append(path)
            book.sync(fast)
            connection = fast._open()
            model = vector_leg.known_model(connection, HashEmbedder())
            assert model is not None
            fast._vectors.fold(connection, model)
        return write(path, dimensions, rows)

    monkeypatch.setattr(vector_leg, "write", overtaken)
    fill(book, slow, 1)
    assert len(files(book)) == 1
    assert raced[0] not in [str(book.root / ".memorybook" / name) for name in files(book)]
    assert len(by_cosine(book.search(slow, "apples"))) == 8
