from __future__ import annotations

import os
import random
import struct
from array import array
from pathlib import Path
from threading import Barrier, get_ident
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.index import Book, agree, book, by_cosine
from memorybook.search.types import Query
from memorybook.storage.index import vector_files, vectors
from memorybook.storage.index.scan_index import ScanIndex
from memorybook.storage.index.sqlite_index import SqliteIndex
from memorybook.storage.index.vector_files import Scanning
from memorybook.storage.index.vectors import (
    Block,
    Question,
    Scan,
    Stamp,
    Tail,
    VectorFile,
    best,
    block_of,
    cosines,
    discard,
    mapped,
    rescored,
    stamp_of,
    write,
)
from memorybook.testing import HashEmbedder

if TYPE_CHECKING:
    from memorybook.storage.index.vectors import Chosen

__all__ = ["book"]


@pytest.fixture(params=["with numpy", "without"])
def numpy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "without":
        monkeypatch.setattr(vectors, "arrays", lambda _: None)
    return str(request.param)


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


def put(path: Path, rows: list[tuple[int, bytes]], each: int = 10_000) -> VectorFile:
    """The rows in a file of blocks of so many rows, each in the units that suit it."""
    parts = [rows[at : at + each] for at in range(0, len(rows), each)]
    width = len(rows[0][1]) // 4
    assert write(str(path), width, [block(part) for part in parts]) == stamp_of(str(path))
    return VectorFile(str(path), mapped(str(path)), width)


def block(rows: list[tuple[int, bytes]]) -> Block:
    return block_of((number for number, _ in rows), b"".join(vector for _, vector in rows))


def tail_of(rows: list[tuple[int, bytes]]) -> Tail:
    tail = Tail()
    tail.add([(number, number, vector) for number, vector in rows])
    return tail


def texts(chosen: list[Chosen]) -> list[int]:
    return [text for _, text, _, _ in chosen]


@pytest.mark.parametrize("width", [32, 31, 256, 1024])
def test_a_file_finds_what_an_exact_search_finds(tmp_path: Path, width: int) -> None:
    rows = [(3 * n + 1, unit(n, width)) for n in range(192_000 // width)]
    file = put(tmp_path / "vectors.1", rows, each=len(rows) // 5)
    data = b"".join(vector for _, vector in rows)
    for seed in range(10_000, 10_005):
        query = unit(seed, width)
        chosen = best(file.scan(Question(query)), 100)
        assert len(chosen) == 100
        assert set(exact(query, rows, 20)) <= set(texts(chosen))
        wanted = dict(zip((n for n, _ in rows), cosines(query, data), strict=True))
        assert all(abs(chose[0] - wanted[text]) < 0.02 for chose, text in zip(chosen, texts(chosen), strict=True))
        found = rescored(Question(query), chosen)
        assert all(abs(cosine - wanted[text]) < 2e-5 for text, cosine in found)
        assert found == sorted(found, key=lambda pair: -pair[1])


@given(st.lists(st.floats(-1, 1, width=32), min_size=8, max_size=64).filter(lambda row: any(row)))
def test_a_row_comes_out_of_a_file_as_it_went_in(tmp_path_factory: pytest.TempPathFactory, row: list[float]) -> None:
    path = tmp_path_factory.mktemp("rows") / "vectors.1"
    file = put(path, [(1, array("f", row).tobytes()), (2, unit(1, len(row)))])
    step = file.block.runs[0][1]
    back = array("f", file.floats([0]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "arrays", lambda _: None)
        assert file.floats([0]) == back.tobytes()
    assert all(abs(x - y * step) <= step * 0.51 for x, y in zip(row, back, strict=True))


def test_a_tail_is_exact(numpy: str) -> None:
    rows = [(n, n + 7, vector) for n, vector in rows_of(300)]
    tail = Tail()
    assert best(tail.scan(Question(unit(1))), 5) == []
    assert rescored(Question(unit(1)), []) == []
    tail.add(rows[:100])
    tail.add(rows)
    tail.add(rows)
    assert tail.last == rows[-1][0]
    query = unit(999)
    found = best(tail.scan(Question(query)), 20)
    assert texts(found) == [number + 7 for number in exact(query, [(n, v) for n, _, v in rows], 20)]


def test_only_allowed_texts_take_part(tmp_path: Path, numpy: str) -> None:
    rows = rows_of(6000)
    file, tail = put(tmp_path / "vectors.1", rows), tail_of(rows)
    for places in ((3, 77, 400), range(0, 6000, 100), range(6000)):
        allowed = {rows[n][0] for n in places}
        wanted = exact(unit(5), [row for row in rows if row[0] in allowed], 10)
        for part in (file, tail):
            found = texts(best(part.scan(Question(unit(5))), 30, allowed))
            assert len(found) == min(30, len(allowed))
            assert set(wanted) <= set(found)
    assert best(file.scan(Question(unit(5))), 10, {2}) == []
    assert best(file.scan(Question(unit(5))), 10, set()) == []


def test_files_and_a_tail_are_chosen_from_alike(tmp_path: Path, numpy: str) -> None:
    rows = rows_of(3000)
    scans = put(tmp_path / "vectors.1", rows[:1000]).scan(Question(unit(9)))
    scans += put(tmp_path / "vectors.2", rows[1000:2900]).scan(Question(unit(9)))
    scans += tail_of(rows[2900:]).scan(Question(unit(9)))
    assert [text for text, _ in rescored(Question(unit(9)), best(scans, 50))[:20]] == exact(unit(9), rows, 20)


def test_what_goes_wrong_in_the_other_thread_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_files, "_MANY", 1)
    put(tmp_path / "vectors.1", rows_of(10))
    here, met = get_ident(), Barrier(2, timeout=10)

    class Broken(VectorFile):
        def scan(self, question: Question) -> list[Scan]:
            met.wait()
            if get_ident() != here:
                raise MemoryError
            return super().scan(question)

    place = str(tmp_path / "vectors.1")
    scanning = Scanning([Broken(place, mapped(place), WIDTH) for _ in range(2)], Question(unit(1)))
    with pytest.raises(MemoryError):
        scanning.finished()


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"", lambda data: data[:20], lambda data: b"x" + data[1:], lambda data: data[:-1],
        lambda data: data + b"x", lambda data: data[:8] + struct.pack("=q", 0) + data[16:],
        lambda data: data[:8] + struct.pack("=q", -5) + data[16:],
        lambda data: data[:8] + struct.pack("=q", 2**60) + data[16:],
        lambda data: data[:24] + struct.pack("=q", 0) + data[32:],
        lambda data: data[:24] + struct.pack("=q", -1) + data[32:],
        lambda data: data[:24] + struct.pack("=q", 2**60) + data[32:],
        lambda data: data[:24] + struct.pack("=q", 2) + data[32:],
        lambda data: data[:32] + struct.pack("=q", 4) + data[40:],
        lambda data: data[:40] + struct.pack("=d", 0.0) + data[48:],
        lambda data: data[:40] + struct.pack("=d", float("nan")) + data[48:],
    ],
)  # fmt: skip
def test_what_is_no_whole_vector_file_is_refused(tmp_path: Path, damage: object) -> None:
    path = tmp_path / "vectors.1"
    put(path, rows_of(10))
    data = path.read_bytes()
    path.write_bytes(damage(data))  # type: ignore[operator]
    with pytest.raises(ValueError):
        VectorFile(str(path), mapped(str(path)), WIDTH)


def test_a_file_stays_readable_when_it_is_unlinked(tmp_path: Path) -> None:
    path = str(tmp_path / "vectors.1")
    file = put(tmp_path / "vectors.1", rows_of(10))
    discard(path)
    discard(path)
    assert stamp_of(path) is None
    assert len(best(file.scan(Question(unit(1))), 3)) == 3


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "vectors.1").mkdir()
    (tmp_path / "vectors.1" / "x").touch()
    with pytest.raises(OSError):
        write(str(tmp_path / "vectors.1"), WIDTH, [block(rows_of(3))])
    assert os.listdir(tmp_path) == ["vectors.1"]


@pytest.fixture
def path(book: Book, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(vector_files, "FOLD", 8)
    return str(book.root / ".memorybook" / "index.sqlite")


def files(book: Book) -> list[str]:
    return sorted(name for name in os.listdir(book.root / ".memorybook") if "vectors." in name)


def fill(book: Book, index: SqliteIndex, batches: int, size: int = 8) -> None:
    for batch in range(batches):
        book.say(*(f"apples {batch} of {n}" for n in range(size)))
        book.sync(index)


def test_a_rebuilt_index_has_its_files_again(book: Book, path: str) -> None:
    index = SqliteIndex(path, embedder=HashEmbedder())
    fill(book, index, 3)
    before = book.search(index, "apples 1 of 2")
    index.rebuild(book.documents, book.transcripts)
    connection = index._open()
    model = vector_files.known_model(connection, HashEmbedder())
    assert model is not None
    [segment] = vector_files.segments(connection, model.id)
    assert segment.rows == 24
    assert files(book) == [f"index.sqlite.vectors.{segment.generation}"]
    agree(index.candidates(Query("apples 1 of 2")), before)


def test_files_go_into_another_folder_if_told_so(book: Book, path: str, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    index = SqliteIndex(path, embedder=HashEmbedder(), vectors_dir=str(folder))
    assert index.stats()["bytes"] > 0
    fill(book, index, 1)
    assert os.listdir(folder) == ["index.sqlite.vectors.1"]
    assert files(book) == []
    assert index.stats()["bytes"] > os.stat(folder / "index.sqlite.vectors.1").st_size


@pytest.mark.parametrize("harm", ["delete", "cut", "garble", "touch", "directory", "header"])
def test_harmed_files_change_no_answer_and_are_made_anew(book: Book, path: str, harm: str) -> None:
    index = SqliteIndex(path, embedder=HashEmbedder())
    fill(book, index, 7)
    before = book.search(index, "apples 3 of 4")
    for name in files(book):
        file = book.root / ".memorybook" / name
        data, times = file.read_bytes(), (os.stat(file).st_atime_ns, os.stat(file).st_mtime_ns)
        file.unlink()
        if harm == "cut":
            file.write_bytes(data[:-5])
        elif harm == "garble":
            file.write_bytes(bytes(255 - byte for byte in data))
        elif harm == "touch":
            file.write_bytes(data)
        elif harm == "directory":
            file.mkdir()
        elif harm == "header":
            file.write_bytes(b"else" + data[4:])
            os.utime(file, ns=times)
    harmed = [(book.root / ".memorybook" / name).read_bytes() for name in files(book)] if harm == "header" else []
    fresh = SqliteIndex(path, embedder=HashEmbedder())
    agree(fresh.candidates(Query("apples 3 of 4")), before)
    agree(book.search(fresh, "apples 3 of 4"), before)
    agree(book.search(index, "apples 3 of 4"), before)
    connection = fresh._open()
    model = vector_files.known_model(connection, HashEmbedder())
    assert model is not None
    assert fresh._vectors.intact(connection, model)
    now = [file for name in files(book) if (file := book.root / ".memorybook" / name).is_file()]
    assert not {file.read_bytes() for file in now}.intersection(harmed)


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
    ours = "index.sqlite.vectors"
    others = [
        "vectors.npy", "vectors.1", "index.sqlite.vectors.npy", "index.sqlite.vectors.1.tmp", "b.sqlite.vectors.7",
    ]  # fmt: skip
    left = [(name, 1000) for name in (*others, f"{ours}.77", f"{ours}.78.123.tmp")]
    for name, age in (*left, (f"{ours}.79", 0)):
        (folder / name).touch()
        status = os.stat(folder / name)
        os.utime(folder / name, (status.st_atime, status.st_mtime - age))
    fill(book, SqliteIndex(path, embedder=HashEmbedder()), 1)
    assert files(book) == sorted([*others, f"{ours}.1", f"{ours}.79"])


def test_another_process_folding_at_the_same_time_wins(book: Book, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    slow, fast = SqliteIndex(path, embedder=HashEmbedder()), SqliteIndex(path, embedder=HashEmbedder())
    raced: list[str] = []

    def overtaken(path: str, dimensions: int, blocks: list[Block]) -> Stamp:
        if not raced:
            raced.append(path)
            book.sync(fast)
            connection = fast._open()
            model = vector_files.known_model(connection, HashEmbedder())
            assert model is not None
            fast._vectors.fold(connection, model)
        return write(path, dimensions, blocks)

    monkeypatch.setattr(vectors, "write", overtaken)
    fill(book, slow, 1)
    assert len(files(book)) == 1
    assert raced[0] not in [str(book.root / ".memorybook" / name) for name in files(book)]
    assert len(by_cosine(book.search(slow, "apples"))) == 8


def test_a_condition_that_admits_only_far_texts_is_met(book: Book, path: str) -> None:
    index, scan = SqliteIndex(path, embedder=HashEmbedder()), ScanIndex(embedder=HashEmbedder())
    book.write("daily/2026-01-05.md", "".join(f"- 2026-01-05T10:00:00Z plums {n}\n" for n in range(9)))
    book.say(*(f"apples {n}" for n in range(400)))
    for since, count in (("2026-01-01", 9), (None, 12)):
        query = Query("apples", pool=12, since=since, until="2026-01-20" if since else None)
        found = []
        for one in (index, scan):
            book.sync(one)
            found.append(by_cosine(one.candidates(query)))
        assert len(found[0]) == count
        assert sorted(found[0].values()) == pytest.approx(sorted(found[1].values()), abs=1e-3)


def churn(book: Book, index: SqliteIndex, versions: range) -> None:
    for version in versions:
        book.write("a.md", "\n".join(f"# {version} {n}\n\napples {version} of {n}\n" for n in range(10)))
        book.sync(index)


def held(index: SqliteIndex, table: str) -> int:
    [(count,)] = index._open().execute(f"SELECT count(*) FROM {table}")
    return int(count)


def test_a_book_that_changes_all_the_time_stays_small(book: Book, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_files, "KEPT", 12)
    index, scan = SqliteIndex(path, embedder=HashEmbedder()), ScanIndex(embedder=HashEmbedder())
    churn(book, index, range(30))
    assert held(index, "embeddings") <= 10 + 12 + 10
    assert held(index, "texts") == held(index, "embeddings")
    assert held(index, "gone") == held(index, "embeddings") - 10
    [(rows,)] = index._open().execute("SELECT sum(rows) FROM segments")
    assert rows <= 2 * held(index, "embeddings")
    agree(book.search(index, "apples 29 of 3"), book.search(scan, "apples 29 of 3"))


def test_a_text_that_comes_back_in_time_has_its_vector_still(book: Book, path: str) -> None:
    embedder = HashEmbedder()
    index = SqliteIndex(path, embedder=embedder)
    churn(book, index, range(2))
    assert held(index, "gone") == 10
    churn(book, index, range(1))
    assert (sum("apples" in text for text in embedder.texts), held(index, "gone")) == (20, 10)
    book.write("b.md", "# 1 3\n\napples 1 of 3\n")
    book.sync(index)
    assert held(index, "gone") == 9
    (book.root / "a.md").unlink()
    book.sync(index)
    assert held(index, "gone") == 19
