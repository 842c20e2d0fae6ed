r"""Vectors on disk: immutable files of rows in 16 bits, of which the scan of a question reads the upper 8.

SQLite holds every vector as float32 (`embeddings`). Reading them for each question would be slow, so
most stand a second time in `<index>.vectors.<generation>`, mapped files that are scanned whole with simsimd;
rows newer than the files (the tail) are scanned as they are. The scan of the upper halves only
chooses; the chosen are then compared with both halves, which is exact to about 1e-5.

A number x of a row is `unit * v`, v between -32767 and 32767. Neighbouring rows with one unit are a run.

A file is written under another name, synced, renamed, and never touched again: a process that has it
mapped keeps it although it is unlinked. It counts only while its size and time of writing are those
that the database recorded with it; otherwise its rows are tail until it is written anew.

Layout, in the byte order of the machine: `mbvec\0\0\2`, rows, dimensions and runs (int64 each); rows (int64)
and unit (float64) of each run; the text of each row (int64); `v >> 8` of all rows (int8); `v & 255` (uint8).
"""

from __future__ import annotations

import os
from math import ceil, inf, log2
from operator import itemgetter
from sys import byteorder

import simsimd

from memorybook._light import TYPE_CHECKING, Any, Iterable, Iterator, Literal, NamedTuple, Sequence, cast, suppress
from memorybook.inference.static import arrays

if TYPE_CHECKING:
    Chosen = tuple[float, int, "VectorFile | FloatRows", int]
    """About how similar a text is, -1..1; the text; the place at which these rows hold its vector."""

_MAGIC = b"mbvec\0\0\2"
_HEADER = 32
_RUN = 16

LARGEST_V = 32767

# A float32 of 2**23 + n, 0 <= n < 2**23, has the bits 0x4B000000 + n: adding 2**23 rounds to a whole number
# whose bytes can be cut out and put back by slices. simsimd.wsum adds at the speed of memory.
_LOW, _HIGH, _EXPONENT = (0, 1, 3) if byteorder == "little" else (3, 2, 0)
_BIAS = float(2**23 + 2**15)
_ONE = b"\0\0\x80\x3f" if byteorder == "little" else b"\x3f\x80\0\0"
_SIGN_FLIPPED = bytes(byte ^ 0x80 for byte in range(256))
_IS_POSITIVE = bytes(byte < 0x80 for byte in range(256))

_LOST = 4e-5  # milliseconds by which numpy finds the largest of some numbers faster, for each of them
_JOINED = 4e-6  # milliseconds by which numpy joins the halves of a number faster
_SIFTED = 3e-6  # milliseconds by which numpy finds faster whether a similarity is large enough

_SAMPLED, _STEPS = 2048, (8, 128)
"""About so many similarities tell from which one on there are enough: every 8th to every 128th."""

_SORTED = 1e-4  # milliseconds by which numpy sorts one of a sample faster
_FEW = 16
"""With fewer allowed for each that is wanted, to look for the allowed takes less time than to look among the best."""

_SPARE = 8  # so many more of the sample must reach it, for chance may have chosen them


class Stamp(NamedTuple):
    """What vouches for a vector file: size in bytes, time of writing in nanoseconds."""

    size: int
    written: int


class Block(NamedTuple):
    """Rows as stored in a file: text ids (int64), runs of rows with one unit, high and low bytes of all rows."""

    texts: memoryview[int]
    runs: Sequence[tuple[int, float]]
    high: bytes | memoryview[int]
    low: bytes | memoryview[int]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(rows for rows, _ in self.runs)


class Scan(NamedTuple):
    """Rows compared with a question: the similarity of each is about `dot * unit + offset`."""

    rows: VectorFile | FloatRows
    start: int
    texts: Sequence[int]
    dots: memoryview[float]
    unit: float
    offset: float


class Question:
    """A unit vector (float32) to compare with others."""

    def __init__(self, vector: bytes) -> None:
        numbers = memoryview(vector).cast("f")
        self.vector = vector
        self.unit = _peak(vector) / 127 or 1.0
        self.sum = sum(numbers)
        rounded = _whole(vector, self.unit)[_LOW::4]
        self.packed = memoryview(rounded).cast("b", (1, len(numbers)))
        self.floats = numbers.cast("B").cast("f", (1, len(numbers)))


def stamp_of(path: str) -> Stamp | None:
    """Return the file's stamp; None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return Stamp(status.st_size, status.st_mtime_ns)


def mapped(path: str) -> memoryview[int]:
    """Return what a file holds, mapped. Raises OSError if it is missing, ValueError if it is empty."""
    from mmap import ACCESS_READ, mmap

    with open(path, "rb") as file:
        return memoryview(mmap(file.fileno(), 0, access=ACCESS_READ))


class VectorFile:
    """What a vector file holds. Raises ValueError if it is cut short or has other dimensions."""

    def __init__(self, path: str, whole: memoryview[int], dimensions: int) -> None:
        from struct import iter_unpack, unpack_from

        if len(whole) < _HEADER or whole[:8] != _MAGIC:
            raise ValueError(f"{path!r} is no vector file")
        rows, self._width, count = unpack_from("=qqq", whole, 8)
        texts = _HEADER + count * _RUN
        high = texts + rows * 8
        low = high + rows * dimensions
        if self._width != dimensions or min(rows, count) < 1 or len(whole) != low + rows * dimensions:
            raise ValueError(f"{path!r} does not hold rows of {dimensions} numbers")
        runs = list(iter_unpack("=qd", whole[_HEADER:texts]))
        if sum(rows for rows, _ in runs) != rows or not all(rows > 0 and unit > 0 for rows, unit in runs):
            raise ValueError(f"{path!r} does not say how its rows are to be read")
        self.block = Block(whole[texts:high].cast("q"), runs, whole[high:low], whole[low:])
        self._matrix = whole[high:low].cast("b", (rows, dimensions))
        self._lower = whole[low:].cast("B", (rows, dimensions))

    def scan(self, question: Question) -> list[Scan]:
        """Return all its rows compared with the question."""
        dots, start, scans = _compare(self._matrix, question.packed, "dot"), 0, []
        for rows, unit in self.block.runs:
            upto = start + rows
            # the lower halves that are left out are 128 on average
            scale, offset = 256 * unit * question.unit, 128 * unit * question.sum
            scans.append(Scan(self, start, self.block.texts[start:upto], dots[start:upto], scale, offset))
            start = upto
        return scans

    def only(self, texts: set[int]) -> Block:
        """Return its rows of these texts."""
        from array import array

        keeps = [text in texts for text in self.block.texts]
        places = [place for place, kept in enumerate(keeps) if kept]
        runs, start = [], 0
        for rows, unit in self.block.runs:
            runs.append((sum(keeps[start : start + rows]), unit))
            start += rows
        held = array("q", (self.block.texts[place] for place in places))
        low, high = self._halves(places)
        return Block(memoryview(held), [run for run in runs if run[0]], high, low)

    def _halves(self, places: Sequence[int]) -> tuple[bytes, bytes]:
        """Return low and high halves of the rows at these places."""
        width, block = self._width, self.block
        cuts = [slice(place * width, (place + 1) * width) for place in places]
        return b"".join(block.low[cut] for cut in cuts), b"".join(block.high[cut] for cut in cuts)

    def floats(self, places: Sequence[int]) -> bytes:
        """Return the rows at these places as float32, each number divided by its unit."""
        numpy = arrays(len(places) * self._width * _JOINED)
        if numpy is not None:
            high, low = (numpy.asarray(matrix)[places] for matrix in (self._matrix, self._lower))
            return bytes(high.astype(numpy.float32) * 256 + low)
        low, high = self._halves(places)
        numbers = bytearray(4 * len(low))
        numbers[_LOW::4] = low
        numbers[_HIGH::4] = high.translate(_SIGN_FLIPPED)
        numbers[_EXPONENT::4] = b"\x4b" * len(low)
        return _shifted(memoryview(numbers).cast("f"), -_BIAS)


class Tail:
    """Float rows that no vector file holds yet, in ascending order of id; grows, never shrinks."""

    def __init__(self) -> None:
        self._held: tuple[int, list[int], bytes] = (0, [], b"")

    @property
    def last(self) -> int:
        """The highest id it holds, 0 if none."""
        return self._held[0]

    def add(self, rows: Sequence[tuple[int, int, bytes]]) -> None:
        """Add float32 rows, (id, text, vector) each; those up to the last one it holds are passed over."""
        last, texts, data = self._held
        new = [row for row in rows if row[0] > last]
        if new:
            # one assignment, so that another thread sees either
            self._held = (
                new[-1][0],
                [*texts, *(text for _, text, _ in new)],
                b"".join((data, *(vector for _, _, vector in new))),
            )

    def scan(self, question: Question) -> list[Scan]:
        """Return all rows that it holds now compared with the question."""
        _, texts, data = self._held
        if not texts:
            return []
        size = len(question.vector)
        dots = _compare(_matrix(data, size), question.floats, "dot")
        return [Scan(FloatRows(data, size), 0, texts, dots, 1.0, 0.0)]


class FloatRows:
    """Float rows in memory, one after the other, of so many bytes each."""

    def __init__(self, data: bytes, size: int) -> None:
        self._data, self._size = data, size

    def floats(self, places: Sequence[int]) -> bytes:
        """Return the rows at these places."""
        size = self._size
        return b"".join(self._data[place * size : (place + 1) * size] for place in places)


# --- choosing ------------------------------------------------------------------------------------------


def best(scans: Sequence[Scan], count: int, allowed: set[int] | None = None) -> list[Chosen]:
    """Return the `count` rows that seem most similar, best first, of texts that are `allowed`."""
    held = sum(len(scan.dots) for scan in scans)
    step = min(_STEPS[1], max(_STEPS[0], held // _SAMPLED))
    sample = _sample(scans, step)
    if allowed is None:
        rank = 2 * count // step + _SPARE
    elif len(allowed) > _FEW * count:
        rank = 2 * count * held // len(allowed) // step + _SPARE
    else:
        rank = held
    while True:
        floor = sample[rank] if rank < len(sample) else -inf
        found = [chosen for scan in scans for chosen in _reaching(scan, floor, allowed)]
        if len(found) >= count or floor == -inf:
            found.sort(key=itemgetter(0), reverse=True)
            return found[:count]
        rank *= 4


def _sample(scans: Sequence[Scan], step: int) -> list[float]:
    """Return every so many of the similarities, the largest first."""
    numpy = arrays(sum(len(scan.dots) for scan in scans) // step * _SORTED)
    if numpy is None:
        return sorted((dot * s.unit + s.offset for s in scans for dot in s.dots[::step].tolist()), reverse=True)
    parts = [numpy.asarray(scan.dots)[::step] * scan.unit + scan.offset for scan in scans]
    sample: list[float] = numpy.sort(numpy.concatenate([*parts, []]))[::-1].tolist()
    return sample


def _reaching(scan: Scan, floor: float, allowed: set[int] | None) -> list[Chosen]:
    """Return the rows of at least that similarity whose texts are allowed."""
    rows, start, texts, dots, unit, offset = scan
    if floor > -inf:
        places: Iterable[int] = _at_least(dots, (floor - offset) / unit)
        if allowed is not None:
            places = [place for place in places if texts[place] in allowed]
    elif allowed is None:
        places = range(len(dots))
    else:
        places = [place for place, text in enumerate(texts) if text in allowed]
    return [(dots[place] * unit + offset, texts[place], rows, start + place) for place in places]


def _at_least(values: memoryview[float], least: float) -> list[int]:
    """Return places of the values that are not below `least`, without looking at each in Python."""
    numpy = arrays(len(values) * _SIFTED)
    if numpy is not None:
        found: list[int] = (numpy.asarray(values) >= least).nonzero()[0].tolist()
        return found
    positive = _shifted(values, -least)[_EXPONENT::4].translate(_IS_POSITIVE)
    places: list[int] = []
    place = positive.find(1)
    while place >= 0:
        places.append(place)
        place = positive.find(1, place + 1)
    return places


def rescored(question: Question, chosen: Sequence[Chosen]) -> list[tuple[int, float]]:
    """Return (text, cosine) of the chosen rows, best first; the newer text on a tie."""
    groups: dict[int, tuple[VectorFile | FloatRows, list[int], list[int]]] = {}
    for _, text, rows, place in chosen:
        _, places, texts = groups.setdefault(id(rows), (rows, [], []))
        places.append(place)
        texts.append(text)
    data = b"".join(rows.floats(places) for rows, places, _ in groups.values())
    texts = [text for *_, texts in groups.values() for text in texts]
    pairs = list(zip(texts, cosines(question.vector, data), strict=True))
    pairs.sort(key=lambda pair: (pair[1], pair[0]), reverse=True)
    return pairs


def cosines(query: bytes, rows: bytes) -> list[float]:
    """Return exact cosine of a vector with each of these rows, all float32, the rows one after the other."""
    if not rows:
        return []
    asked = memoryview(query).cast("f", (1, len(query) // 4))
    return [1.0 - distance for distance in _compare(_matrix(rows, len(query)), asked, "cos").tolist()]


def _matrix(rows: bytes, size: int) -> memoryview[float]:
    return memoryview(rows).cast("f", (len(rows) // size, size // 4))


def _compare(rows: memoryview[Any], query: memoryview[Any], metric: Literal["cos", "dot"]) -> memoryview[float]:
    return _flat(simsimd.cdist(rows, query, metric, out_dtype="float32"))


def _shifted(values: memoryview[float], by: float) -> bytes:
    return _sum(values, 1.0, by)


def _whole(floats: bytes, unit: float) -> bytes:
    """Return `round(x / unit)` of each number as float32 whose lowest bytes hold it, 2**15 more than it is."""
    return _sum(memoryview(floats).cast("f"), 1.0 / unit, _BIAS)


def _sum(values: memoryview[float], factor: float, addend: float) -> bytes:
    ones = memoryview(_ONE * len(values)).cast("f")
    return bytes(_flat(simsimd.wsum(cast("Any", values), cast("Any", ones), alpha=factor, beta=addend)).cast("B"))


def _flat(tensor: object) -> memoryview[float]:
    return memoryview(cast("Any", tensor)).cast("B").cast("f")


# --- writing -------------------------------------------------------------------------------------------


def block_of(texts: Iterable[int], rows: bytes) -> Block:
    """Return float32 rows as they stand in a file, the rows one after the other."""
    from array import array

    held = array("q", texts)
    # few different units, so that the blocks of many small files become one run
    unit = 2 ** (ceil(4 * log2(_peak(rows) or 1.0)) / 4) / LARGEST_V
    whole = _whole(rows, unit)
    high = whole[_HIGH::4].translate(_SIGN_FLIPPED)
    return Block(memoryview(held), [(len(held), unit)], high, whole[_LOW::4])


def _peak(data: bytes) -> float:
    """Return the largest absolute value of these float32 numbers."""
    numbers = memoryview(data).cast("f")
    numpy = arrays(len(numbers) * _LOST)
    if numpy is None:
        return max(max(numbers), -min(numbers))
    held = numpy.frombuffer(numbers, dtype=numpy.float32)
    return max(float(held.max()), -float(held.min()))


def parts_of(dimensions: int, blocks: Sequence[Block]) -> Iterator[bytes | memoryview[int]]:
    """Yield what a vector file of these blocks holds, of at least one row."""
    from struct import pack

    runs: list[tuple[int, float]] = []
    for rows, unit in (run for block in blocks for run in block.runs):
        if runs and runs[-1][1] == unit:
            rows += runs.pop()[0]
        runs.append((rows, unit))
    yield _MAGIC + pack("=qqq", sum(rows for rows, _ in runs), dimensions, len(runs))
    yield b"".join(pack("=qd", *run) for run in runs)
    for part in ("texts", "high", "low"):
        for block in blocks:
            yield getattr(block, part)


def write(path: str, dimensions: int, blocks: Sequence[Block]) -> Stamp:
    """Write a vector file of at least one row; return its stamp. Raises OSError and leaves nothing behind."""
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.writelines(parts_of(dimensions, blocks))
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
    with suppress(OSError):
        os.unlink(path)
