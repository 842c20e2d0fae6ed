"""The postings as they are written: which passages hold a word, how often, and how long each of them is.

A row of `terms` is a word with the number of passages that hold it and the last of its postings; as soon as
these are more than `bm25.BLOCK`, as many are moved into a row of `postings`. Passages ascend, and beside
each stands a code: times the word stands there (at most `bm25.MOST`) << 12 | words of the passage (at most
`bm25.LONGEST`). A batch touches every word once, so it costs the less the larger it is. What is removed is
gone from its block at once, and with its last posting the word: nothing is merged later, and all that
scores rest on is exact at any time.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from sys import byteorder
from typing import TYPE_CHECKING, Any

import apsw

from memorybook._light import Memo
from memorybook.inference.arrays import arrays
from memorybook.storage.index.bm25 import BLOCK, LONGEST, MOST, SPAN
from memorybook.storage.index.index_schema import counted_up
from memorybook.storage.sqlite import Connection
from memorybook.text.tokens import tokens

_BLOCK_OF = (
    "SELECT id, passages, codes FROM postings WHERE id=(SELECT max(id) FROM postings WHERE id BETWEEN ?1 AND ?1+?2)"
)

_POSTING = 2e-4
"""Milliseconds that sorting a word of a passage to its postings takes longer without numpy."""

_KNOWN_PIECES = 65_536

_NUMBER = 4
"""Bytes of a word's number."""

_FEW = 64
"""So many words, a note or two, are sorted as fast without it."""

if TYPE_CHECKING:
    Passages = Mapping[int, bytes]
    """Words (`Words.numbered`) by passage."""

    _Block = tuple[array[int], array[int]]
    """Passages, ascending, and their codes."""

    _Packed = tuple[bytes, bytes]
    """The same as they are stored, 32 bits and 16 bits each."""


class Words:
    """Words as numbers, while one batch is made: a passage's are small then, and each word is looked up once."""

    def __init__(self) -> None:
        following = count().__next__
        self._numbers = numbers = defaultdict[str, bytes](lambda: following().to_bytes(_NUMBER, byteorder))
        self._joined: Callable[[str], bytes] = lambda text: b"".join(map(numbers.__getitem__, tokens(text)))
        self._of_piece = Memo(self._joined, _KNOWN_PIECES).__getitem__

    def numbered(self, text: str) -> bytes:
        """The words of a text in order, with repetition, each by its number here, of 32 bits."""
        return b"".join(map(self._of_piece, text.split())) if text.isascii() else self._joined(text)

    def all(self) -> list[str]:
        """Every word so far at the place of its number."""
        return [*self._numbers]


def add(db: Connection, words: Words, passages: Passages) -> None:
    """Bring in the words of new passages within a transaction.

    Args:
        db: The index.
        words: What the numbers mean.
        passages: The words of each; ids ascend from above all that there are.
    """
    grouped = _grouped(words, passages)
    known = db.executemany(
        "SELECT term, id, passages, codes FROM terms WHERE term=?", [(word,) for word in sorted(grouped)]
    )
    full: list[tuple[int, bytes, bytes]] = []
    updates = []
    for word, term, held, codes in known:
        fresh = grouped.pop(word)
        updates.append((len(fresh[1]) // 2, *_kept(term, held, codes, fresh, full), term))
    last = counted_up(db, "terms", len(grouped))
    inserts = [
        (term, word, len(fresh[1]) // 2, *_kept(term, b"", b"", fresh, full))
        for term, (word, fresh) in enumerate(sorted(grouped.items()), last - len(grouped) + 1)
    ]
    db.executemany("UPDATE terms SET holding=holding+?, passages=?, codes=? WHERE id=?", updates)
    db.executemany("INSERT INTO terms (id, term, holding, passages, codes) VALUES (?, ?, ?, ?, ?)", inserts)
    db.executemany("INSERT INTO postings VALUES (?, ?, ?)", full)
    _count(db, passages, 1)


def remove(db: Connection, words: Words, passages: Passages) -> None:
    """Take out the words of passages that are to be deleted, within a transaction; as for `add`.

    Raises:
        apsw.CorruptError: One of these words is not known for one of these passages.
    """
    grouped = _grouped(words, passages)
    rows = db.executemany(
        "SELECT term, id, holding, passages, codes FROM terms WHERE term=?", [(word,) for word in sorted(grouped)]
    )
    if len(rows) < len(grouped):
        raise apsw.CorruptError("a passage is to be deleted that holds words which are not known")
    elsewhere: list[tuple[int, int]] = []
    updates = []
    for word, term, _, held, codes in rows:
        block = array("I", held), array("H", codes)
        gone = memoryview(grouped[word][0]).cast("I").tolist()
        elsewhere += [(term * SPAN, passage) for passage in gone if not _taken(block, passage)]
        updates.append((len(gone), block[0].tobytes(), block[1].tobytes(), term))
    _take_out(db, elsewhere)
    db.executemany("UPDATE terms SET holding=holding-?, passages=?, codes=? WHERE id=?", updates)
    done = [(term,) for word, term, holding, *_ in rows if holding <= len(grouped[word][1]) // 2]
    db.executemany("DELETE FROM terms WHERE id=?", done)
    _count(db, passages, -1)


def _grouped(words: Words, passages: Passages) -> dict[str, _Packed]:
    """The postings of each word, ascending."""
    words_in_all = sum(map(len, passages.values())) // _NUMBER
    np = arrays(_POSTING * words_in_all) if words_in_all > _FEW else None
    known = words.all()
    grouped = _one_by_one(passages) if np is None else _all_at_once(np, passages)
    return {known[number]: packed for number, packed in grouped}


def _one_by_one(passages: Passages) -> Iterator[tuple[int, _Packed]]:
    grouped: defaultdict[int, list[int]] = defaultdict(list)
    for passage, numbered in passages.items():
        words = memoryview(numbered).cast("I")
        low = passage << 16 | min(len(words), LONGEST)
        for word, times in Counter(words).items():
            grouped[word].append(low + ((times if times < MOST else MOST) << 12))
    for word, both in grouped.items():
        yield (
            word,
            (array("I", [value >> 16 for value in both]).tobytes(), array("H", [v & 0xFFFF for v in both]).tobytes()),
        )


def _all_at_once(np: Any, passages: Passages) -> Iterator[tuple[int, _Packed]]:
    lengths = np.array([*map(len, passages.values())], dtype=np.int64) // _NUMBER
    standing = np.frombuffer(b"".join(passages.values()), dtype=np.uint32).astype(np.int64)
    standing = standing << 32 | np.repeat(np.arange(len(lengths)), lengths)  # sorts the passages of a word as well
    standing.sort()
    starts = np.flatnonzero(np.diff(standing, prepend=-1))
    times = np.diff(starts, append=len(standing))
    standing = standing[starts]
    places = standing & 0xFFFFFFFF
    codes = np.minimum(times, MOST) << 12 | np.minimum(lengths, LONGEST)[places]
    held = np.array([*passages], dtype=np.uint32)[places].tobytes()
    coded = codes.astype(np.uint16).tobytes()
    end = 0
    for word, holding in enumerate(np.bincount(standing >> 32).tolist()):
        start, end = end, end + holding
        if holding:
            yield word, (held[4 * start : 4 * end], coded[2 * start : 2 * end])


def _kept(term: int, held: bytes, codes: bytes, fresh: _Packed, full: list[tuple[int, bytes, bytes]]) -> _Packed:
    """What stays in the word's row after these postings; what is too much for it is added to `full`."""
    held, codes = held + fresh[0], codes + fresh[1]
    while len(codes) > 2 * BLOCK:
        first = term * SPAN + int.from_bytes(held[:4], byteorder)
        full.append((first, held[: 4 * BLOCK], codes[: 2 * BLOCK]))
        held, codes = held[4 * BLOCK :], codes[2 * BLOCK :]
    return held, codes


def _taken(block: _Block, passage: int) -> bool:
    """Whether the passage was in the block; it is not any more."""
    held, codes = block
    at = bisect_left(held, passage)
    if at == len(held) or held[at] != passage:
        return False
    del held[at], codes[at]
    return True


def _take_out(db: Connection, wanted: list[tuple[int, int]]) -> None:
    """Take postings, given as (first id of the word's blocks, passage), out of the table of blocks."""
    found = db.executemany(_BLOCK_OF, wanted)
    blocks: dict[int, _Block] = {number: (array("I", held), array("H", codes)) for number, held, codes in found}
    if len(found) < len(wanted) or not all(
        _taken(blocks[number], passage) for (number, *_), (_, passage) in zip(found, wanted, strict=True)
    ):
        raise apsw.CorruptError("a passage is to be deleted that a word of it does not know of")
    db.executemany("DELETE FROM postings WHERE id=?", [(n,) for n, (held, _) in blocks.items() if not held])
    db.executemany(
        "UPDATE postings SET passages=?, codes=? WHERE id=?",
        [(held.tobytes(), codes.tobytes(), number) for number, (held, codes) in blocks.items() if held],
    )


def _count(db: Connection, passages: Passages, sign: int) -> None:
    words = sum(min(len(words) // _NUMBER, LONGEST) for words in passages.values())
    changes = ((sign * len(passages), "passages"), (sign * words, "words"))
    db.executemany("UPDATE meta SET value=value+? WHERE name=?", changes)
