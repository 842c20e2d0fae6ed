"""The words leg: the passages with the highest BM25 for some words, exactly, out of the postings in SQLite.

Words are taken rarest first, a whole word at a time. Once the `count`-th best passage has more than all
the words that are left could give, no new passage can come in any more: from there on those words are only
looked up for the passages that may still be among the best (MaxScore, Turtle and Flood 1995). The same
is done from the start where a query admits few passages only.
"""

from __future__ import annotations

from bisect import bisect_left
from heapq import nlargest
from itertools import accumulate, count
from math import inf
from operator import itemgetter
from sys import byteorder

import apsw

from memorybook._light import (
    TYPE_CHECKING,
    Any,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Memo,
    NamedTuple,
)
from memorybook.inference.static import arrays
from memorybook.storage.index.index_schema import K1, B, bm25_idf, counted_up, noted
from memorybook.text.tokens import tokens

if TYPE_CHECKING:
    from array import array
    from collections import defaultdict

    from memorybook.storage.sqlite import Connection, Row


MOST = 15
"""More often than this a word does not count in a passage: the score hardly grows any more."""

LONGEST = 4095
"""Words of the longest passage; longer ones count as this long."""

BLOCK = 330
"""Postings in a block: two of them fill a page of 4 KB."""

SPAN = 1 << 32
"""Block ids of one term: term * SPAN + the first passage that the block was made for."""

_SEEK = 4  # finding the block of one passage takes as long as reading so many
_SEARCH = 20  # looking up one passage among many takes as long as going over so many
_WORTH = 4  # trying to leave passages out pays, with numpy, if so many times the postings added are left
_LIKELY = 0.6  # the last of the best passages seldom has more than this share of what the first has
_SLACK = 1e-9  # what sums of floats may differ by
_POSTING = 240e-6  # milliseconds that a posting takes longer without numpy
_SOUGHT = 2e-3  # milliseconds that it takes longer without numpy to find which words one passage holds


class Statistics(NamedTuple):
    """How many passages there are, and how many words in all of them, long ones cut to `LONGEST`."""

    passages: int
    words: int


class Term(NamedTuple):
    """A word that stands in `holding` passages, and its last postings."""

    id: int
    holding: int
    passages: bytes
    codes: bytes


def statistics(db: Connection) -> Statistics:
    """Return those of the index as it stands. Raises apsw.CorruptError if it does not say."""
    return Statistics(noted(db, "passages"), noted(db, "words"))


def terms(db: Connection, words: Collection[str]) -> dict[str, Term]:
    """Return those of the words (at most some thousands) that stand anywhere."""
    marks = ", ".join("?" * len(words))
    rows = db.execute(f"SELECT term, id, holding, passages, codes FROM terms WHERE term IN ({marks})", tuple(words))
    return {term: Term(*rest) for term, *rest in rows}


def best(
    postings: Postings, asked: Iterable[Term], all_of: Statistics, count: int, allowed: Collection[int] | None = None
) -> dict[int, float]:
    """Return the BM25 score of the `count` best passages that hold any of the words, of those `allowed`.

    Which of several with equal scores is undefined. Raises apsw.CorruptError if terms and postings do not agree.
    """
    rare = sorted(asked, key=lambda term: term.holding)
    if rare and rare[-1].holding > all_of.passages:
        raise apsw.CorruptError("more passages hold a word than there are")
    weights = [bm25_idf(all_of.passages, term.holding) for term in rare]
    bounds = [*accumulate((K1 + 1) * weight for weight in reversed(weights))][::-1]
    left = sum(term.holding for term in rare)
    mean = all_of.words / all_of.passages if all_of.words else 1.0
    np = arrays(_POSTING * left)
    tally = _Dictionary(mean, allowed) if np is None else _Arrays(np, mean, allowed)
    for term, weight, bound in zip(rare, weights, bounds, strict=True):
        tally.close(count, bound, left)
        left -= term.holding
        some = postings.near(term, len(tally), tally.listed) if tally.closed else None
        tally.add(*(some or postings.whole(term)), weight)
    return tally.best(count)


def holding(postings: Postings, words: Iterable[Term | None], passages: Collection[int]) -> dict[int, int]:
    """Return which of the words each of these passages holds: bit i for the i-th; None is a word that nobody holds.

    Raises CorruptError as `best` does.
    """
    found = dict.fromkeys(passages, 0)
    wanted = sorted(found)
    listed = wanted.__str__
    among = _among(wanted)
    for number, term in enumerate(words):
        if term is not None:
            held, _ = postings.near(term, len(wanted), listed) or postings.whole(term)
            bit = 1 << number
            for passage in among(held):
                found[passage] |= bit
    return found


def _among(wanted: list[int]) -> Callable[[bytes], Iterable[int]]:
    """Return which of the wanted, that ascend, are among passages as postings hold them."""
    np = arrays(len(wanted) * _SOUGHT)
    if np is None:
        return lambda passages: _found(wanted, memoryview(passages).cast("I"))
    near = np.array(wanted, dtype=np.uint32)
    return lambda passages: near[_both(np, near, np.frombuffer(passages, dtype=np.uint32))[0]].tolist()


def _found(wanted: list[int], held: memoryview[int]) -> Iterable[int]:
    """Return those of the wanted that are in `held`; both ascend."""
    if len(held) < len(wanted) * _SEARCH:
        return set(wanted).intersection(held)
    places = ((passage, bisect_left(held, passage)) for passage in wanted)
    return [passage for passage, at in places if at < len(held) and held[at] == passage]


# --- reading ---------------------------------------------------------------------------------------


class Postings:
    """The postings that a search reads, each whole word once; `db` is in a transaction."""

    def __init__(self, db: Connection) -> None:
        self._db = db
        self._read: dict[int, tuple[bytes, bytes]] = {}

    def whole(self, term: Term) -> tuple[bytes, bytes]:
        """Return passages (32 bits each, ascending) and codes (16 bits each) of all of a word's postings."""
        found = self._read.get(term.id)
        if found is None:
            first, rows = term.id * SPAN, []
            if len(term.codes) < 2 * term.holding:
                rows = self._db.execute(
                    "SELECT passages, codes FROM postings WHERE id BETWEEN ? AND ? ORDER BY id",
                    (first, first + SPAN - 1),
                )
            found = self._read[term.id] = _joined(rows, term)
            if len(found[1]) != 2 * term.holding:
                raise apsw.CorruptError("a word has another number of postings than is counted")
        return found

    def near(self, term: Term, count: int, listed: Callable[[], str]) -> tuple[bytes, bytes] | None:
        """Read only the blocks in which `count` passages, listed as JSON, may be; None if all of them are as quick."""
        if term.id in self._read or count * _SEEK * BLOCK > term.holding:
            return None
        blocks = "SELECT (SELECT max(id) FROM postings WHERE id BETWEEN ?1 AND ?1 + value) FROM json_each(?2)"
        rows = self._db.execute(
            f"SELECT passages, codes FROM postings WHERE id IN ({blocks}) ORDER BY id", (term.id * SPAN, listed())
        )
        return _joined(rows, term)


def _joined(rows: list[Row], term: Term) -> tuple[bytes, bytes]:
    passages = b"".join([*(row[0] for row in rows), term.passages])
    codes = b"".join([*(row[1] for row in rows), term.codes])
    if len(passages) != 2 * len(codes):
        raise apsw.CorruptError("a block of postings is broken")
    return passages, codes


# --- adding up -------------------------------------------------------------------------------------


def gain(times: Any, length: Any, mean: float) -> Any:
    """Return a posting's share of its word's idf: tf (k1 + 1) / (tf + k1 (1 - b + b length / mean)), below k1 + 1."""
    return times * (K1 + 1) / (times + K1 * (1 - B + B * length / mean))


class _Gains(dict[int, float]):
    """`gain` by code, worked out when it is first needed."""

    def __init__(self, mean: float) -> None:
        self._mean = mean

    def __missing__(self, code: int) -> float:
        found: float = gain(code >> 12, code & LONGEST, self._mean)
        self[code] = found
        return found


class _Dictionary:
    """Scores of the words added so far; once `closed`, passages that are not in it are left out.

    For some tens of thousands of postings; needs no import.
    """

    def __init__(self, mean: float, allowed: Collection[int] | None) -> None:
        self.closed = allowed is not None
        self._scores = dict.fromkeys(allowed or (), 0.0)
        self._gain = _Gains(mean).__getitem__
        self._last = 0.0  # what the last of the best has at most

    def __len__(self) -> int:
        return len(self._scores)

    def close(self, count: int, bound: float, left: int) -> None:
        """Close or narrow it if the `count` best are beyond the reach of others, unless that costs more than it saves.

        `bound` is what the words that are left can give at most, `left` their number of postings.
        """
        scores = self._scores
        if not count <= len(scores) <= left or self._last <= bound:
            return
        self._last = nlargest(count, scores.values())[-1]
        floor = self._last - bound - _SLACK
        if self.closed or floor > 0:
            self.closed = True
            self._scores = {passage: score for passage, score in scores.items() if score >= floor}

    def add(self, passages: bytes, codes: bytes, weight: float) -> None:
        held, coded, scores, gain = (
            memoryview(passages).cast("I"),
            memoryview(codes).cast("H"),
            self._scores,
            self._gain,
        )
        self._last += weight * (K1 + 1)
        if not self.closed:
            gains = zip(held, map(gain, coded), strict=True)
            if scores:
                for passage, value in gains:
                    scores[passage] = scores.get(passage, 0.0) + weight * value
            else:
                self._scores = {passage: weight * value for passage, value in gains}
        elif len(scores) * 8 < len(held):
            ascending = held.tolist()
            for passage in scores:
                at = bisect_left(ascending, passage)
                if at < len(ascending) and ascending[at] == passage:
                    scores[passage] += weight * gain(coded[at])
        else:
            for passage, code in zip(held, coded, strict=True):
                if passage in scores:
                    scores[passage] += weight * gain(code)

    def listed(self) -> str:
        return str([*self._scores])

    def best(self, count: int) -> dict[int, float]:
        return dict(nlargest(count, filter(itemgetter(1), self._scores.items()), key=itemgetter(1)))


class _Arrays:
    """The same with numpy; a score for every passage there may be, and those of each word that was added."""

    def __init__(self, np: Any, mean: float, allowed: Collection[int] | None) -> None:
        self.closed = allowed is not None
        self._np = np
        self._gains = _gains_of(mean)
        self._near = np.array(sorted(allowed or ()), dtype=np.uint32)
        self._scored = [self._near.astype(np.intp)]
        self._most = inf if self.closed else 0.0
        try:
            self._scores = _spare.pop()
        except IndexError:
            self._scores = np.zeros(0)
        self._reach(self._near)

    def __len__(self) -> int:
        return len(self._near)

    def close(self, count: int, bound: float, left: int) -> None:
        if self._most * _LIKELY <= bound or sum(map(len, self._scored)) * _WORTH > left:
            return
        near, scores = self._near_best(count)
        if len(scores) < count:
            return
        floor = self._np.partition(scores, -count)[-count] - bound - _SLACK
        if self.closed or floor > 0:
            near = self._near if self.closed else self._all()
            self.closed = True
            self._near = _once(self._np, near[self._scores.take(near) >= floor])

    def _near_best(self, count: int) -> tuple[Any, Any]:
        """Return passages, each once, among which the `count` best are, with their scores."""
        if self.closed:
            near = self._near
        elif self._many:
            near = _largest(self._scores, self._most, count)
        else:
            near = self._all()
            # a passage stands there once for each of its words at most
            near = _once(self._np, near[_largest(self._scores.take(near), self._most, count * len(self._scored))])
        return near, self._scores.take(near)

    @property
    def _many(self) -> bool:
        """True if going over every passage that there may be takes less time than over those that have a score."""
        return 2 * sum(map(len, self._scored)) > len(self._scores)

    def _all(self) -> Any:
        return self._np.concatenate(self._scored)

    def add(self, passages: bytes, codes: bytes, weight: float) -> None:
        np, near = self._np, self._near
        held, coded = np.frombuffer(passages, dtype=np.uint32), np.frombuffer(codes, dtype=np.uint16)
        if not self.closed:
            self._reach(held)
            at = held.astype(np.intp)
            scores = weight * self._gains.take(coded)
            scores += self._scores.take(at)
            self._scores[at] = scores
            self._scored.append(at)
            self._most = max(self._most, float(scores.max(initial=0.0)))
        else:
            ours, theirs = _both(np, near, held)
            self._scores[near[ours]] += weight * self._gains[coded[theirs]]

    def _reach(self, held: Any) -> None:
        """Have room for these passages."""
        size = int(held[-1]) + 1 if len(held) else 0
        if size > len(self._scores):
            longer = self._np.zeros(size + size // 8)
            longer[: len(self._scores)] = self._scores
            self._scores = longer

    def listed(self) -> str:
        return str(self._near.tolist())

    def best(self, count: int) -> dict[int, float]:
        np = self._np
        near, scores = self._near_best(count)
        if len(scores) > count:
            chosen = np.argpartition(scores, -count)[-count:]
            near, scores = near[chosen], scores[chosen]
        found = {p: s for p, s in zip(near.tolist(), scores.tolist(), strict=True) if s > 0}
        if self._many:
            self._scores.fill(0.0)
        else:
            self._scores[self._all()] = 0.0
        _spare[:] = [self._scores]
        return found


def _largest(scores: Any, most: float, count: int) -> Any:
    """Return the places of the `count` largest scores and some more; partitioning is slow, as many are equal."""
    floor = most
    while floor > most / 100:
        floor *= 0.6
        places = (scores >= floor).nonzero()[0]
        if len(places) >= count:
            return places
    return scores.nonzero()[0]


def _once(np: Any, values: Any) -> Any:
    """Return the values, each once, ascending."""
    values = np.sort(values)
    return values[np.diff(values, prepend=-1) > 0]


def _both(np: Any, one: Any, other: Any) -> tuple[Any, Any]:
    """Return where in each of two ascending arrays the values are that are in both."""
    if not len(one) or not len(other):
        return [], []
    if len(one) > len(other):
        return _both(np, other, one)[::-1]
    at = np.minimum(other.searchsorted(one), len(other) - 1)
    there = (other[at] == one).nonzero()[0]
    return there, at[there]


_spare: list[Any] = []
"""An array of zeros that the last search has left, for the next one: taking new memory costs more than the search."""


def _gains(mean: float) -> Any:
    """Return `gain` of every code there is, as an array."""
    import numpy as np

    return gain(np.arange(MOST + 1)[:, np.newaxis], np.arange(LONGEST + 1), mean).ravel()


_gains_of = Memo(_gains, 1).__getitem__


_BLOCK_OF = (
    "SELECT id, passages, codes FROM postings WHERE id=(SELECT max(id) FROM postings WHERE id BETWEEN ?1 AND ?1+?2)"
)

_SORTED = 2e-4  # milliseconds that sorting a word of a passage to its postings takes longer without numpy
_KNOWN_PIECES = 65_536

_NUMBER = 4  # bytes of a word's number
_FEW = 64  # so many words, a note or two, are sorted as fast without it

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
        from collections import defaultdict

        following = count().__next__
        self._numbers = numbers = defaultdict[str, bytes](lambda: following().to_bytes(_NUMBER, byteorder))
        self._joined: Callable[[str], bytes] = lambda text: b"".join(map(numbers.__getitem__, tokens(text)))
        self._of_piece = Memo(self._joined, _KNOWN_PIECES).__getitem__

    def numbered(self, text: str) -> bytes:
        """Return the words of a text in order, with repetition, each by its number here, of 32 bits."""
        return b"".join(map(self._of_piece, text.split())) if text.isascii() else self._joined(text)

    def all(self) -> list[str]:
        """Return every word so far at the place of its number."""
        return [*self._numbers]


def add(db: Connection, words: Words, passages: Passages) -> None:
    """Index the words of new passages, whose ids ascend above all others, within a transaction."""
    grouped = _grouped(words, passages)
    known = db.executemany(
        "SELECT term, id, passages, codes FROM terms WHERE term=?", [(word,) for word in sorted(grouped)]
    )
    full: list[tuple[int, bytes, bytes]] = []
    rows = []
    for word, term, held, codes in known:
        fresh = grouped.pop(word)
        rows.append((term, word, len(fresh[1]) // 2, *_kept(term, held, codes, fresh, full)))
    last = counted_up(db, "terms", len(grouped))
    rows += [
        (term, word, len(fresh[1]) // 2, *_kept(term, b"", b"", fresh, full))
        for term, (word, fresh) in enumerate(sorted(grouped.items()), last - len(grouped) + 1)
    ]
    db.executemany(
        "INSERT INTO terms (id, term, holding, passages, codes) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE"
        " SET holding=terms.holding+excluded.holding, passages=excluded.passages, codes=excluded.codes",
        rows,
    )
    db.executemany("INSERT INTO postings VALUES (?, ?, ?)", full)
    _count(db, passages, 1)


def remove(db: Connection, words: Words, passages: Passages) -> None:
    """Remove the words of passages that are to be deleted, within a transaction. Raises apsw.CorruptError."""
    grouped = _grouped(words, passages)
    rows = db.executemany(
        "SELECT term, id, holding, passages, codes FROM terms WHERE term=?", [(word,) for word in sorted(grouped)]
    )
    if len(rows) < len(grouped):
        raise apsw.CorruptError("a passage is to be deleted that holds words which are not known")
    from array import array

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
    """Return the postings of each word, ascending."""
    words_in_all = sum(map(len, passages.values())) // _NUMBER
    np = arrays(_SORTED * words_in_all) if words_in_all > _FEW else None
    known = words.all()
    grouped = _one_by_one(passages) if np is None else _all_at_once(np, passages)
    return {known[number]: packed for number, packed in grouped}


def _one_by_one(passages: Passages) -> Iterator[tuple[int, _Packed]]:
    from array import array
    from collections import Counter, defaultdict

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
    """Return what stays in the word's row after these postings; what is too much for it is added to `full`."""
    held, codes = held + fresh[0], codes + fresh[1]
    while len(codes) > 2 * BLOCK:
        first = term * SPAN + int.from_bytes(held[:4], byteorder)
        full.append((first, held[: 4 * BLOCK], codes[: 2 * BLOCK]))
        held, codes = held[4 * BLOCK :], codes[2 * BLOCK :]
    return held, codes


def _taken(block: _Block, passage: int) -> bool:
    """Return whether the passage was in the block; it is not any more."""
    held, codes = block
    at = bisect_left(held, passage)
    if at == len(held) or held[at] != passage:
        return False
    del held[at], codes[at]
    return True


def _take_out(db: Connection, wanted: list[tuple[int, int]]) -> None:
    """Take postings, given as (first id of the word's blocks, passage), out of the table of blocks."""
    from array import array

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
