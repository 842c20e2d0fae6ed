"""The words leg by itself: what is written, and that the best are found exactly, with numpy and without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from types import ModuleType

import apsw
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorybook.storage.index import bm25
from memorybook.storage.index.bm25 import BLOCK, LONGEST, MOST, Postings, best, holding, statistics, terms
from memorybook.storage.index.index_schema import K1, B, bm25_idf, open_index
from memorybook.storage.sqlite import Connection, immediate
from memorybook.text.tokens import tokens

Texts = dict[int, str]


@pytest.fixture(params=["with numpy", "without"])
def numpy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    def arrays(_: float) -> ModuleType | None:
        return np if request.param == "with numpy" else None

    monkeypatch.setattr(bm25, "arrays", arrays)
    monkeypatch.setattr(bm25, "arrays", arrays)
    monkeypatch.setattr(bm25, "_FEW", 0)
    return str(request.param)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    connection = open_index(str(tmp_path / "index.sqlite"))
    yield connection
    connection.close()


def put(db: Connection, texts: Texts) -> None:
    with immediate(db):
        put_within(db, texts)


def put_within(db: Connection, texts: Texts) -> None:
    words = bm25.Words()
    bm25.add(db, words, {number: words.numbered(text) for number, text in texts.items()})


def take(db: Connection, texts: Texts) -> None:
    with immediate(db):
        words = bm25.Words()
        bm25.remove(db, words, {number: words.numbered(text) for number, text in texts.items()})


def found(db: Connection, words: str, count: int = 10, allowed: list[int] | None = None) -> dict[int, float]:
    return best(Postings(db), terms(db, words.split()).values(), statistics(db), count, allowed)


def worked_out(texts: Texts, words: str) -> dict[int, float]:
    """BM25 by the formula, of every text that holds one of the words."""
    held = {number: Counter(tokens(text)) for number, text in texts.items()}
    lengths = {number: min(counts.total(), LONGEST) for number, counts in held.items()}
    mean = sum(lengths.values()) / len(held) if held else 1.0
    scores: Counter[int] = Counter()
    for word in set(words.split()):
        holding = [number for number, counts in held.items() if word in counts]
        for number in holding:
            times = min(held[number][word], MOST)
            norm = K1 * (1 - B + B * lengths[number] / mean)
            scores[number] += bm25_idf(len(held), len(holding)) * times * (K1 + 1) / (times + norm)  # type: ignore[assignment]
    return dict(scores)


def rows(db: Connection, table: str) -> int:
    [(count,)] = db.execute(f"SELECT count(*) FROM {table}")
    return int(count)


def blocks(db: Connection) -> dict[str, list[list[int]]]:
    """The passages of each word, block by block, the last one last."""
    held: dict[str, list[list[int]]] = {}
    for number, term, last in db.execute("SELECT id, term, passages FROM terms"):
        first = number * bm25.SPAN
        full = db.execute(
            "SELECT passages FROM postings WHERE id BETWEEN ? AND ? ORDER BY id", (first, first + bm25.SPAN - 1)
        )
        held[term] = [memoryview(block).cast("I").tolist() for block in (*(row[0] for row in full), last)]
    return held


def test_what_is_removed_leaves_nothing_behind(db: Connection, numpy: str) -> None:
    texts = dict.fromkeys(range(1, 2 * BLOCK + 5), "apple 苹果") | {5: "apple secretword"}
    put(db, texts)
    take(db, {5: texts[5]})
    assert "secretword" not in blocks(db)
    assert [len(block) for block in blocks(db)["appl"]] == [BLOCK - 1, BLOCK, 4]
    take(db, {number: text for number, text in texts.items() if number != 5 and number != 600})
    assert blocks(db) == {"appl": [[600], []], "苹": [[600], []], "苹果": [[600], []], "果": [[600], []]}
    take(db, {600: texts[600]})
    assert (rows(db, "terms"), rows(db, "postings"), statistics(db)) == (0, 0, (0, 0))


@pytest.mark.parametrize("text", ["apple pear", "apple unknown"], ids=["of another passage", "of none"])
@pytest.mark.parametrize("number", [1, 2, 3, BLOCK + 9])
def test_removing_words_that_were_never_indexed_is_damage(db: Connection, text: str, number: int) -> None:
    put(db, {2: "apple"} | dict.fromkeys(range(4, BLOCK + 9), "apple") | {BLOCK + 10: "pear"})
    with pytest.raises(apsw.CorruptError):
        take(db, {number: text})
    assert statistics(db).passages == BLOCK + 7


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Connection, Texts]]:
    """Words from rare to common, spread so that some passages hold many of them."""
    connection = open_index(str(tmp_path_factory.mktemp("large") / "index.sqlite"))
    steps = {"rare": 97, "seldom": 31, "often": 7, "more": 5, "most": 4, "上海": 13, "海": 6}
    texts = {
        n: " ".join([*(word for word, step in steps.items() if n % step == 0), *["filler"] * (n % 23)])
        for n in range(1, 3001)
    }
    put(connection, texts)
    yield connection, texts
    connection.close()


QUESTIONS = [
    "rare", "rare most", "rare seldom often more most", "most more", "上海 海 上 most", "filler rare 上海 most more",
]  # fmt: skip


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_best_are_the_best(large: tuple[Connection, Texts], numpy: str, question: str) -> None:
    db, texts = large
    wanted = worked_out(texts, question)
    best = sorted(wanted.values(), reverse=True)
    for count in (1, 10, 100, 10_000):
        got = found(db, question, count)
        assert got == pytest.approx({number: wanted[number] for number in got}, abs=1e-9), count
        assert sorted(got.values(), reverse=True) == pytest.approx(best[:count], abs=1e-9), count


@pytest.mark.parametrize("step", [2, 70, 997])
def test_the_best_of_some_are_the_best_of_those(large: tuple[Connection, Texts], numpy: str, step: int) -> None:
    db, texts = large
    wanted = {number: score for number, score in worked_out(texts, QUESTIONS[2]).items() if number % step == 0}
    got = found(db, QUESTIONS[2], 20, [*range(step, 3501, step)])
    assert got == pytest.approx({number: wanted[number] for number in got}, abs=1e-9)
    assert sorted(got.values()) == pytest.approx(sorted(wanted.values(), reverse=True)[:20][::-1], abs=1e-9)


def test_common_words_are_not_read_where_they_cannot_matter(
    large: tuple[Connection, Texts], numpy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    db, texts = large
    read: list[int] = []
    whole = Postings.whole

    def noted(postings: Postings, term: bm25.Term) -> tuple[bytes, bytes]:
        read.append(term.holding)
        return whole(postings, term)

    monkeypatch.setattr(Postings, "whole", noted)
    monkeypatch.setattr(bm25, "_SEEK", 0)
    monkeypatch.setattr(bm25, "_WORTH", 1)
    question = "rare seldom 上海 most"
    wanted = worked_out(texts, question)
    assert set(found(db, question, 1)) == {number for number, score in wanted.items() if score == max(wanted.values())}
    assert read
    assert 750 not in read


def test_which_words_each_passage_holds(large: tuple[Connection, Texts]) -> None:
    db, texts = large
    words = ["rare", "most", "上海", "nowhere"]
    known = terms(db, words)
    passages = sorted(texts)[::7]
    postings = Postings(db)
    got = holding(postings, [known.get(word) for word in words], passages)
    want = {n: sum(1 << bit for bit, word in enumerate(words) if word in tokens(texts[n])) for n in passages}
    assert got == want
    few = passages[:3]  # of which only the blocks are read
    assert holding(Postings(db), [known.get(word) for word in words], few) == {n: want[n] for n in few}


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE terms SET holding=holding+1",
        "UPDATE terms SET passages=x'01000000'",
        "DELETE FROM postings",
        "UPDATE postings SET codes=x'0110'",
    ],
)
def test_postings_that_do_not_fit_their_word_are_damage(db: Connection, numpy: str, harm: str) -> None:
    put(db, dict.fromkeys(range(1, 2 * BLOCK), "apple"))
    db.execute(harm)
    with pytest.raises(apsw.CorruptError):
        found(db, "appl")


WORDS = st.sampled_from("apple pear pears plum ripe 苹果 上海 海 src/a.py C++ 7 \x00 ' \" \\ é".split(" "))
TEXT = st.lists(WORDS, max_size=12).map(" ".join)
BATCHES = st.lists(st.tuples(st.lists(TEXT, max_size=8), st.sets(st.integers(0, 20), max_size=6)), max_size=5)


@settings(max_examples=settings().max_examples // 2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=BATCHES, question=TEXT, count=st.integers(1, 12), block=st.integers(1, 4), every=st.integers(1, 3))
def test_inserts_and_deletes_in_any_order_score_as_the_formula_does(
    tmp_path_factory: pytest.TempPathFactory,
    batches: list[tuple[list[str], set[int]]],
    question: str,
    count: int,
    block: int,
    every: int,
) -> None:
    texts: Texts = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bm25, "BLOCK", block)
        patch.setattr(bm25, "BLOCK", block)
        patch.setattr(bm25, "_FEW", 0)
        db = open_index(str(tmp_path_factory.mktemp("any") / "index.sqlite"))
        number = 0
        for step, (fresh, places) in enumerate(batches):
            patch.setattr(bm25, "arrays", given_kit((np, None)[step % 2]))
            added = dict(enumerate(fresh, number + 1))
            number += len(fresh)
            put(db, added)
            texts |= added
            gone = {n: texts.pop(n) for n in [*texts] if n in places}
            take(db, gone)
        words = " ".join(dict.fromkeys(tokens(question)))
        wanted = worked_out(texts, words)
        some = [n for n in texts if n % every == 0]
        for kit in (np, None):
            patch.setattr(bm25, "arrays", given_kit(kit))
            for allowed in (None, some):
                best_of = [score for n, score in wanted.items() if allowed is None or n in some]
                got = found(db, words, count, allowed)
                assert got == pytest.approx({n: wanted[n] for n in got}, abs=1e-9)
                assert sorted(got.values()) == pytest.approx(sorted(best_of)[-count:], abs=1e-9)
        held = {word: [*chain.from_iterable(lists)] for word, lists in blocks(db).items()}
        counted = {n: Counter(tokens(text)) for n, text in texts.items()}
        assert held == {word: [n for n in counted if word in counted[n]] for word in set().union(*counted.values())}
        assert statistics(db) == (len(texts), sum(c.total() for c in counted.values()))
        db.close()


def given_kit(kit: ModuleType | None) -> Callable[[float], ModuleType | None]:
    return lambda _: kit
