"""Words to the token ids of a SentencePiece BPE vocabulary (Llama 2), without a tokenizer library.

Llama 2's BPE never merges across the word mark `▁`, and the rank of a merge is the id of the piece
that it makes (among merges that make the same piece: the ids of its halves). So "which pieces are
there" is all that is needed to merge exactly as the tokenizer does. The tests compare both.

The pieces are kept as one block of bytes that is looked up where it lies: a hash table of ids, the
end of each piece, the pieces. Reading it from a file takes half a millisecond; parsing the
tokenizer's JSON, from which it is made, sixty.
"""

from __future__ import annotations

import os
from zlib import crc32

from memorybook._light import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MARK = "▁"
FIRST_BYTE = 3  # the ids 3 … 258 stand for the bytes 0 … 255
FIRST_PIECE = 259  # below it: three control tokens and the bytes, which no merge makes
LONGEST_WORD = 128

_MAGIC = b"memorybook word pieces 1"
_HEADER = len(_MAGIC) + 8
_SLOTS = 65521
_NEVER = 1 << 62
_CACHED_WORDS = 50_000
_UNFOLDED_AFTER = 2_500  # pieces looked up one by one, in as much time as a dictionary of all takes


class WordPieces:
    """The pieces of a vocabulary, and how they cut words. Safe to share between threads.

    Attributes:
        size: How many ids there are.
    """

    def __init__(self, packed: bytes) -> None:
        """`packed` as `pack` makes it. Raises ValueError if it is anything else."""
        if not is_packed(packed):
            raise ValueError("not a block of word pieces, or a damaged one")
        self.size = int.from_bytes(packed[len(_MAGIC) : len(_MAGIC) + 4], "little")
        table = memoryview(packed)[_HEADER:]
        self._slots = table[: 2 * _SLOTS].cast("H")
        self._ends = table[2 * _SLOTS :][: 4 * self.size].cast("I")
        self._text = packed[_HEADER + 2 * _SLOTS + 4 * self.size :]
        self._find: Callable[[str, int], int] = self._look_up
        self._words: dict[str, list[int]] = {}
        self._looked_up = 0

    def unfold(self) -> None:
        """Make a dictionary of the pieces: 10 ms and 4 MB that pay from some hundred words on, and come by then."""
        if self._find == self._look_up:
            starts = (0, *self._ends)
            self._find = {
                self._text[starts[number] : starts[number + 1]].decode(): number
                for number in range(FIRST_PIECE, self.size)
            }.get

    def ids(self, word: str) -> list[int]:
        """The token ids of a word that stands behind a space; not to be changed by the caller.

        `word` holds no white space, no word mark and no surrogates. One longer than `LONGEST_WORD`
        is cut into stretches of that length first (that is where this differs from the tokenizer).
        """
        found = self._words.get(word)
        if found is None:
            if len(word) > LONGEST_WORD:
                return self._stretches(word)
            if len(self._words) >= _CACHED_WORDS:
                self._words.clear()
            whole = self._find(MARK + word, 0)
            found = self._words[word] = [whole] if whole else self._merged(MARK + word)
        return found

    def _stretches(self, word: str) -> list[int]:
        self.unfold()
        found = self._merged(MARK + word[:LONGEST_WORD])
        for start in range(LONGEST_WORD, len(word), LONGEST_WORD):
            found += self._merged(word[start : start + LONGEST_WORD])
        return found

    def _merged(self, text: str) -> list[int]:
        """Merge neighbours, the lowest rank first and the leftmost among equals, until none is left."""
        parts = list(text)
        ids = [self._find(part, 0) for part in parts]
        ranks = [self._rank(parts, ids, at) for at in range(len(parts) - 1)]
        while ranks and (rank := min(ranks)) != _NEVER:
            at = ranks.index(rank)
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
            ids[at : at + 2] = [rank >> 32]
            del ranks[at]
            if at:
                ranks[at - 1] = self._rank(parts, ids, at - 1)
            if at < len(ranks):
                ranks[at] = self._rank(parts, ids, at)
        found: list[int] = []
        for part, number in zip(parts, ids, strict=True):
            found += [number] if number else [FIRST_BYTE + byte for byte in part.encode()]
        return found

    def _rank(self, parts: list[str], ids: list[int], at: int) -> int:
        made = self._find(parts[at] + parts[at + 1], 0)
        return made << 32 | ids[at] << 16 | ids[at + 1] if made else _NEVER

    def _look_up(self, piece: str, missing: int) -> int:
        self._looked_up += 1
        if self._looked_up > _UNFOLDED_AFTER:
            self.unfold()
        data = piece.encode()
        slot = int.from_bytes(data, "little") % _SLOTS
        while number := self._slots[slot]:
            if self._text[self._ends[number - 1] : self._ends[number]] == data:
                return number
            slot = (slot + 1) % _SLOTS
        return missing


def pack(vocabulary: dict[str, int]) -> bytes:
    """The block of bytes that `WordPieces` reads, for a vocabulary piece -> id with ids 0 … n-1.

    Raises ValueError if the ids are others, or too many.
    """
    pieces = sorted(vocabulary, key=vocabulary.__getitem__)
    if [vocabulary[piece] for piece in pieces] != list(range(len(pieces))) or not 0 < len(pieces) < _SLOTS:
        raise ValueError(f"a vocabulary of {len(pieces)} pieces whose ids do not count from 0")
    slots = memoryview(bytearray(2 * _SLOTS)).cast("H")
    ends = memoryview(bytearray(4 * len(pieces))).cast("I")
    text = bytearray()
    for number, piece in enumerate(pieces):
        data = piece.encode()
        text += data
        ends[number] = len(text)
        if number < FIRST_PIECE:
            continue
        slot = int.from_bytes(data, "little") % _SLOTS
        while slots[slot]:
            slot = (slot + 1) % _SLOTS
        slots[slot] = number
    body = b"".join((slots, ends, text))
    return b"".join((_MAGIC, len(pieces).to_bytes(4, "little"), crc32(body).to_bytes(4, "little"), body))


def is_packed(data: bytes) -> bool:
    """Whether `data` is a block that `pack` made, undamaged."""
    checksum = int.from_bytes(data[_HEADER - 4 : _HEADER], "little")
    whole = len(data) > _HEADER + 2 * _SLOTS and data.startswith(_MAGIC)
    return whole and crc32(memoryview(data)[_HEADER:]) == checksum


def load(tokenizer: str, cache_dir: str | None) -> WordPieces:
    """The pieces of a tokenizer JSON file, through a file in `cache_dir` that is made when missing or damaged.

    The cache's name holds size and time of the tokenizer file, so that another version of it gets
    another cache. With None nothing is written; nor is it an error if the cache cannot be.
    Raises OSError if the tokenizer cannot be read, ValueError or KeyError if it holds something else.
    """
    if cache_dir is None:
        return WordPieces(_from_tokenizer(tokenizer))
    status = os.stat(tokenizer)
    cache = os.path.join(cache_dir, f"wordpieces-{status.st_size:x}-{status.st_mtime_ns:x}.bin")
    try:
        with open(cache, "rb") as file:
            packed = file.read()
    except OSError:
        packed = b""
    if not is_packed(packed):
        packed = _from_tokenizer(tokenizer)
        _store(cache, packed)
    return WordPieces(packed)


def _from_tokenizer(path: str) -> bytes:
    import json

    with open(path, encoding="utf-8") as file:
        return pack(json.load(file)["model"]["vocab"])


def _store(path: str, data: bytes) -> None:
    """Write a file whole or not at all; a cache that cannot be written is only slower."""
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(temporary, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError:
        if os.path.exists(temporary):
            os.unlink(temporary)
