"""The bundled embedder: the mean of static word-piece vectors, out of the weights in wordllama's wheel.

The two files are read directly. Importing wordllama costs half a second, configures logging, and its
default `load()` looks for the tokenizer where the wheel does not have it. Words become token ids without a
tokenizer library; of many texts to come a second process makes the vectors meanwhile.

Here vectors of any embedder are made and checked, too, and it is told whether numpy is worth its import: all parts of
a search ask here for it, and do without it where the answer is no.
"""

from __future__ import annotations

import marshal
import os
import sys
from _thread import allocate_lock
from itertools import repeat
from math import hypot, inf, isfinite
from mmap import ACCESS_READ, mmap
from operator import add
from struct import Struct, pack
from time import monotonic
from zlib import crc32

from memorybook._light import TYPE_CHECKING, Any, Sequence, cast, lazily, suppress
from memorybook.errors import EmbedderFailed

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import Popen
    from types import ModuleType

    from memorybook.protocols import Embedder, Vectors

IMPORT = 120.0
"""Milliseconds that importing numpy takes in a fresh process."""

ONCE = 0.2
"""Seconds after the first loss from which a process is one that goes on: a command that searches once has ended."""

SOON = 8
"""In one that goes on the import will have paid for itself soon: it waits for so many times less to be lost."""

_UNIT = 0.01
"""How far from 1 a vector's length may be: as far as half-precision models come."""

_LOST_A_BYTE = 8e-6
"""Milliseconds by which numpy finds the lengths of vectors faster, for each byte."""

_lost = 0.0
_first = 0.0  # when something was lost for the first time


def arrays(lost: float) -> ModuleType | None:
    """Return the module numpy, or None if this time it should be done without.

    It comes if something imported it already, or as soon as all that this process has lost for want of
    it exceeds what the import takes; in one that goes on (see `ONCE`), a small part of that. So a command that
    searches once does not pay for it, a server pays once, after a few searches, and one search that is huge pays at
    once.

    Args:
        lost: Milliseconds by which this call would be faster with numpy, estimated.
    """
    global _lost, _first
    found = sys.modules.get("numpy")
    if found is not None and not getattr(found.__spec__, "_initializing", False):  # by another thread
        return found
    now = monotonic()
    if not _lost:
        _first = now
    _lost += lost
    if _lost <= (IMPORT if now - _first < ONCE else IMPORT / SOON):
        return None
    import numpy

    return numpy


def unit_row(values: Sequence[float]) -> bytes:
    """Return the row scaled to unit length, as float32; zeros stay zeros.

    Raises ValueError for NaN, infinity, or values whose squares are too large or too small to add up.
    """
    length = sum(value * value for value in values) ** 0.5
    if not isfinite(length):
        raise ValueError("NaN or infinity")
    if length == 0.0:
        if any(values):
            raise ValueError("only values too small to have a direction")
        return bytes(4 * len(values))
    return pack(f"{len(values)}f", *[value / length for value in values])


def stacked(rows: Sequence[bytes], dimensions: int) -> memoryview[float]:
    """Return rows of float32 as one buffer of shape (n, dimensions). No rows give shape (0, dimensions)."""
    if not rows:
        return memoryview(bytes(4 * dimensions)).cast("f", (1, dimensions))[0:0]
    return memoryview(b"".join(rows)).cast("f", (len(rows), dimensions))


def chosen(embedder: Embedder) -> Embedder:
    """Return the embedder itself, or the one that it has chosen by now: its name, dimensions and vectors agree."""
    one: Embedder = getattr(embedder, "chosen", embedder)
    return one


def vectors_of(embedder: Embedder, texts: Sequence[str], *, asked: bool = False) -> list[bytes | None]:
    """Return a float32 unit vector for each text as bytes; None for a text that the embedder cannot read.

    Raises EmbedderFailed, also if the answer is not what `protocols.Embedder` promises: an embedder
    may be anybody's, and a wrong vector in an index is never noticed again.
    """
    embedder = chosen(embedder)  # another thread may have it choose anew meanwhile
    embed = getattr(embedder, "embed_questions", embedder.embed) if asked else embedder.embed
    try:
        answer = embed(texts)
    except EmbedderFailed:
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise EmbedderFailed(f"the embedder {embedder.name!r} raised {what}; raise EmbedderFailed instead") from error
    try:
        view = memoryview(cast("Any", answer))
    except TypeError:
        raise _nonsense(embedder, f"a {type(answer).__name__!r}", "return a float32 array, such as numpy's") from None
    if view.format not in ("f", "<f"):
        raise _nonsense(embedder, f"numbers of the type {view.format!r}", "return float32 ('f')")
    shape = (len(texts), embedder.dimensions)
    if view.shape != shape or (texts and not embedder.dimensions):
        raise _nonsense(
            embedder, f"an array of shape {view.shape}", f"it must be {shape}, texts by dimensions: check its model"
        )
    data, width = view.tobytes(), 4 * embedder.dimensions
    if (numpy := arrays(len(data) * _LOST_A_BYTE)) is not None:
        rows = numpy.frombuffer(data, dtype=numpy.float32).reshape(shape).astype(numpy.float64)
        lengths: list[float] = numpy.sqrt(numpy.einsum("ij,ij->i", rows, rows)).tolist()
    else:
        numbers = memoryview(data).cast("f")
        lengths = [hypot(*numbers[at : at + shape[1]]) for at in range(0, len(numbers), shape[1] or 1)]
    for row, length in enumerate(lengths):
        if length and not abs(length - 1.0) < _UNIT:
            raise _nonsense(
                embedder, f"a vector of length {length:g} for text {row}", "divide each vector by its length (no NaN)"
            )
    return [data[row * width : (row + 1) * width] if length else None for row, length in enumerate(lengths)]


def _nonsense(embedder: Embedder, what: str, advice: str) -> EmbedderFailed:
    return EmbedderFailed(f"the embedder {embedder.name!r} gave {what}; {advice}")


# --- the bundled embedder ------------------------------------------------------------------------


DIMENSIONS = 256
FOREIGN = 0.25
"""Share of letters of another script than Latin from which a text is not read.

A Chinese character says about as much as three Latin letters, so from a quarter on most of what the text
says would be left out. Reading it all the same would be worse than nothing: two Chinese sentences that
share one English name would come out as equal.
"""

_WEIGHTS = "wordllama/weights/l2_supercat_256.safetensors"
_TOKENIZER = "wordllama/tokenizers/l2_supercat_tokenizer_config.json"
_ROW = Struct(f"<{DIMENSIONS}e")
_WIDTH = 4 * DIMENSIONS
_BULK = 8_000  # characters from which importing numpy pays
_LOST = 5e-3  # milliseconds that a character takes longer without numpy
_AHEAD, _AT_ONCE = 4096, 256  # texts to come from which a second process pays, and handed to it at a time

MARK = "▁"
FIRST_BYTE = 3  # the ids 3 … 258 stand for the bytes 0 … 255
FIRST_PIECE = 259  # below it: three control tokens and the bytes, which no merge makes
LONGEST_WORD = 128

_NEVER = 1 << 62
_CACHED_WORDS = 50_000

MOST_AHEAD = 262_144
"""Texts that are known ahead at most, a kilobyte of disk each."""

IDLE = 60.0

_PART = Struct("<qq")  # where in the file of texts, and how many bytes
_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[4:]; from memorybook.inference.static import serve;"
    " serve(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])"
)


class StaticEmbedder:
    """Embeds what is written in English (Latin script), offline: 12,000 chat turns a second and more.

    A text's vector is the mean of its tokens' vectors, as wordllama has it, at unit length. White space
    counts as single spaces. CJK characters are passed over; a text of which a quarter is of another script
    than Latin, or that has no letter or digit, gets a row of zeros.

    Nothing is read before the first `embed`, which adds about 6 ms to a fresh process once `cache_dir`
    holds the file that the first one makes there. Equal texts give equal rows, to the last bits only
    within one call: many texts are summed by numpy. Safe to share between threads.

    Args:
        cache_dir: Directory for the derived vocabulary (0.5 MB); None to derive it in every process (80 ms).
    """

    name = "static/wordllama-256"
    dimensions = DIMENSIONS
    local = True
    unrelated = 0.2669  # of new weights: `calibration.measured`

    def __init__(self, cache_dir: str | None = None) -> None:
        self._cache_dir = cache_dir
        self._opened: _Opened | None = None
        self._expected: list[str] = []
        self._ahead: EmbedWorker | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a float32 array (n, 256) in the order of `texts`. Raises EmbedderFailed without the weights."""
        if len(texts) > 1:  # a question that is asked meanwhile changes nothing
            self._expected = []
        if self._ahead is None:
            return self.rows(texts, bulk=sum(map(len, texts)) >= _BULK)
        rows = self._ahead.take(texts)
        if rows is None:
            self._ahead = None
            return self.rows(texts, bulk=True)
        missing = [place for place, row in enumerate(rows) if row is None]
        made = memoryview(cast("Any", self.rows([texts[place] for place in missing], bulk=True))).tobytes()
        for number, place in enumerate(missing):
            rows[place] = made[number * _WIDTH : (number + 1) * _WIDTH]
        return stacked([row for row in rows if row is not None], DIMENSIONS)

    def expect(self, texts: Sequence[str]) -> None:
        """Say that these texts will be embedded soon: of many, a second process makes the vectors meanwhile.

        None at all says that nothing more will be asked for, and ends that process.
        """
        if not texts:
            self._expected = []
            self.close()
            return
        expected = [*self._expected, *texts] if self._expected else [*texts]
        self._expected = expected
        if len(expected) < (_AHEAD if self._ahead is None else _AT_ONCE):
            return
        self._expected = []
        if self._ahead is not None and self._ahead.over:
            self.close()
        try:
            self._ahead = self._ahead or EmbedWorker(self._cache_dir, _WIDTH)
        except OSError:
            return
        self._ahead.add(expected)

    def close(self) -> None:
        """End what makes vectors ahead; the embedder may be used again."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            ahead.close()

    def rows(self, texts: Sequence[str], *, bulk: bool) -> Vectors:
        """Embed now, in this process; imports numpy only if `bulk`."""
        self._opened = self._opened or _read_once(tuple(sys.path), self._cache_dir)
        pieces, weights, start = self._opened
        np = arrays(inf if bulk else sum(map(len, texts)) * _LOST)
        if np is not None:
            table = np.frombuffer(weights, dtype="<f2", count=pieces.size * DIMENSIONS, offset=start)
            table = table.reshape(pieces.size, DIMENSIONS)
            vectors: Vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
            for vector, text in zip(vectors, texts, strict=True):
                if tokens := _tokens(pieces, text):
                    np.add.reduce(table.take(tokens, axis=0), axis=0, dtype=np.float32, out=vector)
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            np.divide(vectors, lengths, out=vectors, where=lengths > 0)
            return vectors
        known: dict[int, tuple[float, ...]] = {}
        rows = []
        for text in texts:
            total: list[float] = [0.0] * DIMENSIONS
            for token in _tokens(pieces, text):
                row = known.get(token)
                if row is None:
                    row = known[token] = _ROW.unpack_from(weights, start + token * _ROW.size)
                total = list(map(add, total, row))
            rows.append(unit_row(total))
        return stacked(rows, DIMENSIONS)


# --- words to token ids -----------------------------------------------------------------------------
# Llama 2's BPE never merges across the word mark, and the rank of a merge is the id of the piece that it makes
# (among merges that make the same piece: the ids of its halves). So "which pieces are there" is all that is needed
# to merge exactly as the tokenizer does; the tests compare both. They are read from a file with a line for each: a
# tenth of the time that parsing the tokenizer's JSON takes, from which it is made.


class WordPieces:
    """The pieces of a vocabulary, and how they cut words. Safe to share between threads.

    Args:
        pieces: By id, as UTF-8: a cold search reads them all, and bytes take a third less time than texts.
    """

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.size = len(pieces)
        numbers = dict(zip(pieces, range(self.size), strict=True))
        for piece in pieces[:FIRST_PIECE]:
            del numbers[piece]
        self._find = numbers.get
        self._words: dict[str, list[int]] = {}

    def ids(self, word: str) -> list[int]:
        """Return the token ids of a word that stands behind a space; not to be changed by the caller.

        `word` holds no white space, no word mark and no surrogates. One longer than `LONGEST_WORD`
        is cut into stretches of that length first (that is where this differs from the tokenizer).
        """
        found = self._words.get(word)
        if found is None:
            if len(word) > LONGEST_WORD:
                parts = [word[start : start + LONGEST_WORD] for start in range(0, len(word), LONGEST_WORD)]
                parts[0] = MARK + parts[0]
                return [id for part in parts for id in self._merged(part)]
            if len(self._words) >= _CACHED_WORDS:
                self._words.clear()
            whole = self._find((MARK + word).encode(), 0)
            found = self._words[word] = [whole] if whole else self._merged(MARK + word)
        return found

    def _merged(self, text: str) -> list[int]:
        """Merge neighbours, the lowest rank first and the leftmost among equals, until none is left."""
        parts = [character.encode() for character in text]
        ids = [self._find(part, 0) for part in parts]

        def rank(at: int) -> int:
            made = self._find(parts[at] + parts[at + 1], 0)
            return made << 32 | ids[at] << 16 | ids[at + 1] if made else _NEVER

        ranks = [rank(at) for at in range(len(parts) - 1)]
        while ranks and (best := min(ranks)) != _NEVER:
            at = ranks.index(best)
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
            ids[at : at + 2] = [best >> 32]
            del ranks[at]
            if at:
                ranks[at - 1] = rank(at - 1)
            if at < len(ranks):
                ranks[at] = rank(at)
        found: list[int] = []
        for part, number in zip(parts, ids, strict=True):
            found += [number] if number else [FIRST_BYTE + byte for byte in part]
        return found


def load_pieces(tokenizer: str, cache_dir: str | None) -> WordPieces:
    """Return the pieces of a tokenizer JSON file, through a file in `cache_dir` that is made when missing or damaged.

    The cache's name holds size and time of the tokenizer file, so that another version of it gets
    another cache. With None nothing is written; nor is it an error if the cache cannot be.
    Raises OSError if the tokenizer cannot be read, ValueError or KeyError if it holds something else.
    """
    if cache_dir is None:
        return WordPieces(_from_tokenizer(tokenizer))
    status = os.stat(tokenizer)
    cache = os.path.join(cache_dir, f"wordpieces-{status.st_size:x}-{status.st_mtime_ns:x}.txt")
    with suppress(OSError), open(cache, "rb") as file:
        checksum, _, data = file.read().partition(b"\n")
        if checksum == b"%08x" % crc32(data):
            return WordPieces(data.split(b"\n"))
    pieces = _from_tokenizer(tokenizer)
    data = b"\n".join(pieces)
    temporary = f"{cache}.{os.getpid()}.tmp"
    try:
        os.makedirs(cache_dir, exist_ok=True)
        with open(temporary, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(b"%08x\n%b" % (crc32(data), data))
        os.replace(temporary, cache)
    except OSError:  # it is only slower
        if os.path.exists(temporary):
            os.unlink(temporary)
    return WordPieces(pieces)


def _from_tokenizer(path: str) -> list[bytes]:
    import json

    with open(path, encoding="utf-8") as file:
        numbers: dict[str, int] = json.load(file)["model"]["vocab"]
    pieces = sorted(numbers, key=numbers.__getitem__)
    if [numbers[piece] for piece in pieces] != list(range(len(pieces))) or not 0 < len(pieces) < 1 << 16:
        raise ValueError(f"a vocabulary of {len(pieces)} pieces whose ids do not count from 0")
    return [piece.encode() for piece in pieces]


# --- vectors made ahead ------------------------------------------------------------------------------
# Nothing rests on it: a vector that is not there yet is made by whoever asks for it. Texts go to the process through
# a file without a name and rows come back through another, so that neither side ever waits for the other; a pipe says
# how much there is to read. When it is silent for `IDLE` seconds, or this process is gone, the other ends.


class EmbedWorker:
    """Rows made by a second process. Safe to share between threads.

    Args:
        cache_dir: As of `StaticEmbedder`; the files without names are there, too.
        width: Bytes of a row.

    Raises:
        OSError: There can be no such process here.
    """

    def __init__(self, cache_dir: str | None, width: int) -> None:
        self._width = width
        self._lock = allocate_lock()
        self._places: dict[int, int] = {}
        self._given = 0
        self._end: Callable[[], object] | None = None
        import subprocess
        from tempfile import TemporaryFile
        from weakref import finalize

        python = os.path.basename(sys.executable).startswith("python") and not getattr(sys, "frozen", False)
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if not python or processors < 2:
            raise OSError("a second process would be of no use, or cannot be started")
        if cache_dir:
            os.makedirs(cache_dir, exist_ok=True)
        self._texts = TemporaryFile(dir=cache_dir)  # noqa: SIM115  (both are closed with the process)
        self._rows = TemporaryFile(dir=cache_dir)  # noqa: SIM115
        files = [self._texts.fileno(), self._rows.fileno()]
        folders = [folder or os.getcwd() for folder in sys.path]
        self._process = subprocess.Popen(  # noqa: S603  (this interpreter, no shell)
            [sys.executable, "-I", "-S", "-c", _PROGRAM, *map(str, files), cache_dir or "", *folders],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=files,
        )
        self._end = finalize(self, _stop, self._process)

    @property
    def over(self) -> bool:
        """True if the process ended, so that nothing more will be made."""
        return self._end is None or self._process.poll() is not None

    def add(self, texts: Sequence[str]) -> None:
        """Have rows made of these texts; what is too much, or comes when the process is gone, is passed over."""
        with self._lock:
            if self._end is None or self._given + len(texts) > MOST_AHEAD or self._process.stdin is None:
                return
            data = marshal.dumps(list(texts))
            try:
                start = self._texts.seek(0, os.SEEK_END)
                self._texts.write(data)
                self._texts.flush()
                self._process.stdin.write(_PART.pack(start, len(data)))
                self._process.stdin.flush()
            except OSError:  # a full disk, or the process ended: what it made stays of use
                return
            self._places.update(zip(map(hash, texts), range(self._given, self._given + len(texts)), strict=True))
            self._given += len(texts)

    def take(self, texts: Sequence[str]) -> list[bytes | None] | None:
        """Return the row of each text, None for those that are not made; None when nothing is left to be had."""
        with self._lock:
            if self._end is None:
                return None
            places = [*map(self._places.pop, map(hash, texts), repeat(-1))]
            width = self._width
            made = os.fstat(self._rows.fileno()).st_size // width
            found: list[bytes | None] = [None] * len(places)
            if made:
                with mmap(self._rows.fileno(), made * width, access=ACCESS_READ) as rows:
                    found = [rows[at * width : (at + 1) * width] if 0 <= at < made else None for at in places]
            if not self._places:
                self._close()
            return found

    def close(self) -> None:
        """End the process and let the files go; closing twice does nothing."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._end is not None:
            self._end()
            self._end = None
            self._places.clear()
            self._texts.close()
            self._rows.close()


def _stop(process: Popen[bytes]) -> None:
    process.kill()
    if process.stdin is not None:
        with suppress(OSError):  # it may have ended before it had read all
            process.stdin.close()
    process.wait()


# --- in the other process --------------------------------------------------------------------------


def serve(texts: int, rows: int, cache_dir: str) -> None:
    """Make the rows of one part of the file `texts` after the other, until no more is said on standard input."""
    from select import select

    embedder = StaticEmbedder(cache_dir or None)
    at, parent = 0, os.getppid()
    while select([0], [], [], IDLE)[0]:
        part = os.read(0, _PART.size)
        if len(part) < _PART.size:
            return
        start, size = _PART.unpack(part)
        data = b""
        while len(data) < size and (piece := os.pread(texts, size - len(data), start + len(data))):
            data += piece
        wanted: list[str] = marshal.loads(data)  # noqa: S302  (nobody else can write there)
        for first in range(0, len(wanted), 512):
            if os.getppid() != parent:
                return
            made = memoryview(cast("Any", embedder.rows(wanted[first : first + 512], bulk=True))).cast("B")
            while made:
                done = os.pwrite(rows, made, at)
                at, made = at + done, made[done:]


# --- texts to rows -------------------------------------------------------------------------------


_Opened = tuple[WordPieces, mmap, int]


def _read(folders: tuple[str, ...], cache_dir: str | None) -> _Opened:
    folder = next((folder for folder in folders if os.path.isfile(os.path.join(folder, _WEIGHTS))), None)
    if folder is None:  # found without importing anything
        raise EmbedderFailed("the bundled embedder's weights are not installed; run: pip install 'wordllama>=0.4,<0.5'")
    try:
        pieces = load_pieces(os.path.join(folder, _TOKENIZER), cache_dir)
        with open(os.path.join(folder, _WEIGHTS), "rb") as file:
            weights = mmap(file.fileno(), 0, access=ACCESS_READ)
        start = 8 + int.from_bytes(weights[:8], "little")  # a safetensors file: length of the header, header, rows
        if f'"dtype":"F16","shape":[{pieces.size},{DIMENSIONS}]'.encode() not in weights[8 : min(start, 1024)]:
            raise ValueError(f"no table of {pieces.size} rows of {DIMENSIONS} half floats in its header")
        if len(weights) != start + pieces.size * _ROW.size:
            raise ValueError(f"{len(weights)} bytes where {start + pieces.size * _ROW.size} were expected")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EmbedderFailed(
            f"the bundled embedder's files in {folder!r} cannot be used ({error}); reinstall 'wordllama>=0.4,<0.5'"
        ) from error
    return pieces, weights, start


_vocabularies: dict[tuple[str, ...], _Opened] = {}
"""One for all books that are open in a process, whatever folder each has: it takes 4 MB once it is used much."""


def _read_once(folders: tuple[str, ...], cache_dir: str | None) -> _Opened:
    opened = _vocabularies.get(folders)
    if opened is None:
        opened = _vocabularies[folders] = _read(folders, cache_dir)
    return opened


def readable(text: str) -> str:
    """Return what of a text the embedder reads, single-spaced; "" if that is little, or has no letter or digit."""
    if not text.isascii():
        letters = [*filter(str.isalpha, text)]
        if sum("\u024f" < one < "\u1e00" or one > "\u1eff" for one in letters) > FOREIGN * len(letters):
            return ""
        text = _UNREAD.sub(" ", text)
    return " ".join(text.split()) if any(map(str.isalnum, text)) else ""


# From Hangul jamo on: radicals, kana, bopomofo, Han and their punctuation, syllables, surrogates (bytes that
# were not UTF-8), compatibility and full-width forms. And the word mark, which to the tokenizer is a space.
_UNREAD = lazily(
    "[\u1100-\u11ff\u2e80-\ua4cf\ua960-\ua97f\uac00-\udfff\uf900-\ufaff"
    "\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff" + MARK + "]+"
)


def _tokens(pieces: WordPieces, text: str) -> list[int]:
    return [number for word in readable(text).split() for number in pieces.ids(word)]
