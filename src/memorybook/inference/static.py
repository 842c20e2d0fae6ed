"""The bundled embedder: the mean of static word-piece vectors, out of the weights in wordllama's wheel.

The two files are read directly. Importing wordllama costs half a second, configures logging, and its
default `load()` looks for the tokenizer where the wheel does not have it.
"""

from __future__ import annotations

import os
import sys
from math import inf
from mmap import ACCESS_READ, mmap
from operator import add
from struct import Struct

from memorybook._light import TYPE_CHECKING, Any, Memo, cast, lazily
from memorybook.errors import EmbedderFailed
from memorybook.inference import wordpieces
from memorybook.inference.arrays import arrays
from memorybook.inference.embed import unit_row, vectors_of
from memorybook.text.tokens import han_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memorybook.inference.embed_worker import Ahead
    from memorybook.protocols import Vectors

DIMENSIONS = 256
MOSTLY_CJK = 0.25
"""Share of CJK letters from which a text is not read.

A Chinese character says about as much as three Latin letters, so from a quarter on most of what the text
says would be left out. Reading it all the same would be worse than nothing: two Chinese sentences that
share one English name would come out as equal.
"""

_WEIGHTS = "wordllama/weights/l2_supercat_256.safetensors"
_TOKENIZER = "wordllama/tokenizers/l2_supercat_tokenizer_config.json"
_ROW = Struct(f"<{DIMENSIONS}e")
_WIDTH = 4 * DIMENSIONS
_BULK = 8_000  # characters from which importing numpy, and a dictionary of the pieces, pay
_LOST = 5e-3  # milliseconds that a character takes longer without numpy
_AHEAD, _AT_ONCE = 4096, 256  # texts to come from which a second process pays, and handed to it at a time


class StaticEmbedder:
    """Embeds what is written in English (Latin script), offline: 12,000 chat turns a second and more.

    A text's vector is the mean of its tokens' vectors, as wordllama has it, at unit length. White space
    counts as single spaces. CJK characters are passed over; a text that is mostly CJK, or has no letter
    or digit, gets a row of zeros.

    Nothing is read before the first `embed`, which adds about 3 ms to a fresh process once `cache_dir`
    holds the file that the first one makes there. Equal texts give equal rows, to the last bits only
    within one call: many texts are summed by numpy. Safe to share between threads.

    Args:
        cache_dir: Directory for the derived vocabulary (0.5 MB); None to derive it in every process (80 ms).
    """

    name = "static/wordllama-256"
    dimensions = DIMENSIONS
    local = True

    def __init__(self, cache_dir: str | None = None) -> None:
        self._cache_dir = cache_dir
        self._opened: _Opened | None = None
        self._expected: list[str] = []
        self._ahead: Ahead | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A float32 array (n, 256) in the order of `texts`. Raises EmbedderFailed if the weights are not there."""
        if len(texts) > 1:  # a question that is asked meanwhile changes nothing
            self._expected = []
        if self._ahead is not None:
            return self._filled(texts, self._ahead)
        return self.rows(texts, bulk=sum(map(len, texts)) >= _BULK)

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
        from memorybook.inference.embed_worker import Ahead

        if self._ahead is not None and self._ahead.over:
            self.close()
        try:
            self._ahead = self._ahead or Ahead(self._cache_dir, _WIDTH)
        except OSError:
            return
        self._ahead.add(expected)

    def close(self) -> None:
        """End what makes vectors ahead; the embedder may be used again."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            ahead.close()

    def _filled(self, texts: Sequence[str], ahead: Ahead) -> Vectors:
        """The rows that were made ahead, and the others made now."""
        rows = ahead.take(texts)
        if rows is None:
            self._ahead = None
            return self.rows(texts, bulk=True)
        missing = [place for place, row in enumerate(rows) if row is None]
        made = memoryview(cast("Any", self.rows([texts[place] for place in missing], bulk=True))).tobytes()
        for number, place in enumerate(missing):
            rows[place] = made[number * _WIDTH : (number + 1) * _WIDTH]
        return vectors_of([row for row in rows if row is not None], DIMENSIONS)

    def rows(self, texts: Sequence[str], *, bulk: bool) -> Vectors:
        """As `embed`, made now; by numpy, or, unless in bulk, without importing it."""
        pieces, weights, start = self._opened or self._open()
        if bulk:
            pieces.unfold()
        np = arrays(inf if bulk else sum(map(len, texts)) * _LOST)
        if np is not None:
            return _bulk(np, pieces, weights, start, texts)
        rows: dict[int, tuple[float, ...]] = {}
        return vectors_of([_row(_tokens(pieces, text), weights, start, rows) for text in texts], DIMENSIONS)

    def _open(self) -> _Opened:
        self._opened = _read_once((_packages(), self._cache_dir))
        return self._opened


_Opened = tuple[wordpieces.WordPieces, mmap, int]


def _read(place: tuple[str, str | None]) -> _Opened:
    folder, cache_dir = place
    try:
        pieces = wordpieces.load(os.path.join(folder, _TOKENIZER), cache_dir)
        weights, start = _mapped(os.path.join(folder, _WEIGHTS), pieces.size)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EmbedderFailed(
            f"the bundled embedder's files in {folder!r} cannot be used ({error}); reinstall 'wordllama>=0.4,<0.5'"
        ) from error
    return pieces, weights, start


_read_once = Memo(_read, 1).__getitem__
"""One vocabulary for all books that are open in a process: it takes 4 MB once it is used much."""


def readable(text: str) -> str:
    """What of a text the embedder reads, single-spaced; "" if it is mostly CJK or has no letter or digit."""
    if not text.isascii():
        if han_share(text) > MOSTLY_CJK:
            return ""
        text = _UNREAD.sub(" ", text)
    return " ".join(text.split()) if any(map(str.isalnum, text)) else ""


# From Hangul jamo on: radicals, kana, bopomofo, Han and their punctuation, syllables, surrogates (bytes that
# were not UTF-8), compatibility and full-width forms. And the word mark, which to the tokenizer is a space.
_UNREAD = lazily(
    "[\u1100-\u11ff\u2e80-\ua4cf\ua960-\ua97f\uac00-\udfff\uf900-\ufaff"
    "\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff" + wordpieces.MARK + "]+"
)


def _tokens(pieces: wordpieces.WordPieces, text: str) -> list[int]:
    return [number for word in readable(text).split() for number in pieces.ids(word)]


def _row(tokens: list[int], weights: mmap, start: int, rows: dict[int, tuple[float, ...]]) -> bytes:
    """The unit row of these tokens; `rows` keeps what was read."""
    total: list[float] = [0.0] * DIMENSIONS
    for token in tokens:
        row = rows.get(token)
        if row is None:
            row = rows[token] = _ROW.unpack_from(weights, start + token * _ROW.size)
        total = list(map(add, total, row))
    return unit_row(total)


def _bulk(np: Any, pieces: wordpieces.WordPieces, weights: mmap, start: int, texts: Sequence[str]) -> Vectors:
    table = np.frombuffer(weights, dtype="<f2", count=pieces.size * DIMENSIONS, offset=start)
    table = table.reshape(pieces.size, DIMENSIONS)
    vectors: Vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
    for vector, text in zip(vectors, texts, strict=True):
        tokens = _tokens(pieces, text)
        if tokens:
            np.add.reduce(table.take(tokens, axis=0), axis=0, dtype=np.float32, out=vector)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    np.divide(vectors, lengths, out=vectors, where=lengths > 0)
    return vectors


def _packages() -> str:
    """The directory that holds the package wordllama, found without importing anything."""
    for folder in sys.path:
        if os.path.isfile(os.path.join(folder, _WEIGHTS)):
            return folder
    raise EmbedderFailed("the bundled embedder's weights are not installed; run: pip install 'wordllama>=0.4,<0.5'")


def _mapped(path: str, size: int) -> tuple[mmap, int]:
    """The safetensors file (8 bytes of header length, JSON header, rows) and where its rows begin."""
    with open(path, "rb") as file:
        weights = mmap(file.fileno(), 0, access=ACCESS_READ)
    start = 8 + int.from_bytes(weights[:8], "little")
    if f'"dtype":"F16","shape":[{size},{DIMENSIONS}]'.encode() not in weights[8 : min(start, 1024)]:
        raise ValueError(f"no table of {size} rows of {DIMENSIONS} half floats in its header")
    if len(weights) != start + size * _ROW.size:
        raise ValueError(f"{len(weights)} bytes where {start + size * _ROW.size} were expected")
    return weights, start
