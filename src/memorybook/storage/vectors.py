r"""Vectors on disk: an immutable file of int8 rows that is scanned whole, and the float rows behind it.

SQLite holds every vector as float32 (`embeddings`). Reading them all for each query would be slow, so
most stand a second time in `vectors.<generation>`: mapped files of int8 rows, scanned with simsimd.
Rows newer than the files (the tail) are scanned as they are. The scan only chooses; whoever calls
compares the chosen ones with the float rows, so no cosine in an answer is an approximation.

A file is written under another name, synced, renamed, and never touched again: a process that has it
mapped keeps it although it is unlinked. It counts only while its size and time of writing are those
that the database recorded with it; otherwise its rows are tail until it is written anew.

Layout, in the byte order of the machine: `mbvec\0\0\1`, rows (int64), dimensions (int64), scale (float64;
int8 = float * scale), then the ids of the rows (int64 each, ascending), then the rows.
"""

from __future__ import annotations

import os
from collections.abc import Container, Sequence
from typing import Any, Literal, NamedTuple, cast

import simsimd

_MAGIC = b"mbvec\0\0\1"
_HEADER = 32
_SAMPLED = 4096


class Scored(NamedTuple):
    """A row's id and about how similar it is, -1..1."""

    id: int
    similarity: float


class Stamp(NamedTuple):
    """What vouches for a vector file: size in bytes, time of writing in nanoseconds."""

    size: int
    written: int


def stamp_of(path: str) -> Stamp | None:
    """The file's stamp; None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return Stamp(status.st_size, status.st_mtime_ns)


class VectorFile:
    """A mapped vector file.

    Args:
        path: The file.
        dimensions: What its rows must have.

    Raises:
        OSError: It is not there.
        ValueError: It is no vector file, was cut short, or has rows of another length.
    """

    def __init__(self, path: str, dimensions: int) -> None:
        from mmap import ACCESS_READ, mmap
        from struct import unpack_from

        with open(path, "rb") as file:
            whole = memoryview(mmap(file.fileno(), 0, access=ACCESS_READ))
        if len(whole) < _HEADER or whole[:8] != _MAGIC:
            raise ValueError(f"{path!r} is no vector file")
        rows, width, self._scale = unpack_from("=qqd", whole, 8)
        start = _HEADER + rows * 8
        if width != dimensions or rows < 1 or len(whole) != start + rows * width:
            raise ValueError(f"{path!r} does not hold rows of {dimensions} numbers")
        self._ids = whole[_HEADER:start].cast("q")
        self._rows = whole[start:].cast("b", (rows, width))

    def best(self, query: bytes, count: int, allowed: Container[int] | None = None) -> list[Scored]:
        """The `count` rows most similar to a unit vector (float32), in no order; only ids in `allowed` if given."""
        numbers = memoryview(query).cast("f")
        scale = 127.0 / (max(map(abs, numbers)) or 1.0)
        packed = memoryview(bytes(round(x * scale) & 0xFF for x in numbers)).cast("b", (1, len(numbers)))
        dots = _compare(self._rows, packed, "dot")
        unit = 1.0 / (scale * self._scale)
        return [Scored(number, dot * unit) for number, dot in _largest(dots, count, self._ids, allowed)]


class Tail:
    """Float rows that no vector file holds yet, in ascending order of id; grows, never shrinks."""

    def __init__(self) -> None:
        self._held: tuple[list[int], bytes] = ([], b"")

    @property
    def last(self) -> int:
        """The highest id it holds, 0 if none."""
        return self._held[0][-1] if self._held[0] else 0

    def add(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Add float32 rows by id; those up to the last one it holds are passed over."""
        ids, data = self._held
        last = ids[-1] if ids else 0
        new = [(number, vector) for number, vector in rows if number > last]
        if new:
            # one assignment, so that another thread sees either
            self._held = ([*ids, *(number for number, _ in new)], b"".join((data, *(vector for _, vector in new))))

    def best(self, query: bytes, count: int, allowed: Container[int] | None = None) -> list[Scored]:
        """As `VectorFile.best`, but exact."""
        ids, data = self._held
        if not ids:
            return []
        return [Scored(number, cosine) for number, cosine in _largest(cosines(query, data), count, ids, allowed)]


def cosines(query: bytes, rows: bytes) -> list[float]:
    """Exact cosine of a vector with each of these rows, all float32, the rows one after the other."""
    if not rows:
        return []
    width = len(query) // 4
    matrix = memoryview(rows).cast("f", (len(rows) // (4 * width), width))
    return [1.0 - distance for distance in _compare(matrix, memoryview(query).cast("f", (1, width)), "cos")]


def _compare(rows: memoryview[Any], query: memoryview[Any], metric: Literal["cos", "dot"]) -> list[float]:
    tensor = simsimd.cdist(rows, query, metric, out_dtype="float32")
    values: list[float] = cast("Any", memoryview(cast("Any", tensor))).cast("B").cast("f").tolist()
    return values


def _largest(
    values: list[float], count: int, ids: Sequence[int] | memoryview[int], allowed: Container[int] | None
) -> list[tuple[int, float]]:
    """(id, value) of the `count` largest values, in no order."""
    places: Sequence[int] = range(len(values))
    if allowed is not None:
        places = [place for place, number in enumerate(ids) if number in allowed]
    elif len(values) > _SAMPLED:
        floor = _floor(values, count)
        above = [place for place, value in enumerate(values) if value >= floor]
        places = above if len(above) >= count else places
    best = sorted(places, key=values.__getitem__, reverse=True)[:count]
    return [(ids[place], values[place]) for place in best]


def _floor(values: list[float], count: int) -> float:
    """A value that somewhat more than `count` others reach, judged by a sample; it may mislead."""
    step = 16
    sample = sorted(values[::step], reverse=True)
    return sample[min(len(sample) - 1, 2 * count // step + 8)]


def write(path: str, dimensions: int, rows: Sequence[tuple[int, bytes]]) -> Stamp:
    """Write a vector file of at least one float32 row by id, ascending; returns what vouches for it.

    Raises OSError; nothing is left behind then.
    """
    from struct import pack

    import numpy as np

    floats = np.frombuffer(b"".join(vector for _, vector in rows), dtype=np.float32).reshape(len(rows), dimensions)
    scale = 127.0 / (float(np.abs(floats).max()) or 1.0)
    ids = np.array([number for number, _ in rows], dtype=np.int64)
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "wb") as file:
            file.write(_MAGIC + pack("=qqd", len(rows), dimensions, scale))
            file.write(ids.tobytes())
            file.write(np.rint(floats * scale).astype(np.int8).tobytes())
            file.flush()
            os.fsync(file.fileno())
        status = os.stat(temporary)
        os.rename(temporary, path)
    except OSError:
        discard(temporary)
        raise
    return Stamp(status.st_size, status.st_mtime_ns)


def discard(path: str) -> None:
    """Unlink a file; nothing happens if it is gone or cannot be unlinked."""
    try:
        os.unlink(path)
    except OSError:
        return
