"""Vectors made ahead by a second process: the same as without it, and never a failure for want of it."""

from __future__ import annotations

import marshal
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import memorybook
from memorybook.config.settings import Config
from memorybook.inference import static
from memorybook.inference.static import EmbedWorker, StaticEmbedder

TEXTS = [f"the plan number {n} of the harbour" for n in range(600)] + ["今天开会", "", "a\ud800b \x00 é"]


@pytest.fixture
def embedder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StaticEmbedder]:
    """One that has a second process for a few texts already."""
    monkeypatch.setattr(static, "_AHEAD", 100)
    monkeypatch.setattr(static, "_AT_ONCE", 100)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    made = StaticEmbedder(str(tmp_path))
    made.embed(["the folder and the vocabulary are there"])
    yield made
    made.close()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "the other process does nothing"
        time.sleep(0.01)


def started(embedder: StaticEmbedder) -> EmbedWorker:
    assert embedder._ahead is not None
    return embedder._ahead


def made(embedder: StaticEmbedder) -> int:
    return os.fstat(started(embedder)._rows.fileno()).st_size // 1024


def same(got: object, texts: list[str]) -> bool:
    return np.array_equal(np.asarray(got), np.asarray(StaticEmbedder().rows(texts, bulk=True)))


def test_rows_made_ahead_are_those_that_would_be_made_now(embedder: StaticEmbedder) -> None:
    embedder.expect(TEXTS)
    wait_for(lambda: made(embedder) == len(TEXTS))
    backwards = TEXTS[::-1]
    assert same(embedder.embed(backwards[:300]), backwards[:300])
    assert same(embedder.embed(["something else", *backwards[300:]]), ["something else", *backwards[300:]])


def test_the_process_ends_when_all_that_was_expected_was_asked_for(embedder: StaticEmbedder) -> None:
    embedder.expect(TEXTS)
    process = started(embedder)._process
    embedder.embed(TEXTS)
    assert process.poll() is not None
    assert same(embedder.embed(TEXTS), TEXTS)
    assert embedder._ahead is None


def test_what_is_not_made_yet_is_made_now(embedder: StaticEmbedder) -> None:
    embedder.expect(TEXTS)
    os.kill(started(embedder)._process.pid, signal.SIGSTOP)
    assert same(embedder.embed(TEXTS[100:]), TEXTS[100:])


@pytest.mark.parametrize("again", [False, True])
def test_a_process_that_was_killed_does_no_harm_and_another_takes_its_place(
    embedder: StaticEmbedder, again: bool
) -> None:
    embedder.expect(TEXTS[:200])
    process = started(embedder)._process
    process.kill()
    process.wait()
    if again:
        embedder.expect(TEXTS)
        wait_for(lambda: made(embedder) == len(TEXTS))
    assert same(embedder.embed(TEXTS), TEXTS)


@pytest.mark.parametrize(
    ("name", "value"),
    [("sys.executable", ""), ("sys.executable", "/usr/bin/blender"), ("os.sched_getaffinity", lambda _: {0})],
)
def test_where_a_second_python_is_of_no_use_none_is_started(
    embedder: StaticEmbedder, monkeypatch: pytest.MonkeyPatch, name: str, value: object
) -> None:
    monkeypatch.setattr(name, value)
    embedder.expect(TEXTS)
    assert embedder._ahead is None
    assert same(embedder.embed(TEXTS), TEXTS)


def test_closing_and_expecting_nothing_end_it_and_the_embedder_can_be_used_again(embedder: StaticEmbedder) -> None:
    for end in (embedder.close, lambda: embedder.expect([])):
        embedder.expect(TEXTS)
        before = started(embedder)
        end()
        end()
        assert (before.over, before._rows.closed, before._process.poll() is None) == (True, True, False)
        embedder.expect(TEXTS[:60])
        embedder.expect([])
        assert embedder._expected == []
        assert same(embedder.embed(TEXTS), TEXTS)


def test_a_question_in_between_changes_nothing(embedder: StaticEmbedder) -> None:
    embedder.expect(TEXTS[:60])
    embedder.embed(["what was the plan?"])
    embedder.expect(TEXTS[60:])
    wait_for(lambda: made(embedder) == len(TEXTS))


def test_vectors_that_are_there_already_leave_no_process(embedder: StaticEmbedder, tmp_path: Path) -> None:
    book = tmp_path / "book"
    (book / "daily").mkdir(parents=True)
    lines = [f"- 2026-01-02T10:00:00Z The plan number {n} of the harbour.\n" for n in range(400)]
    (book / "daily" / "2026-01-02.md").write_text("".join(lines), encoding="utf-8")
    with memorybook.open(str(book), config=Config(timezone="UTC"), embedder=embedder, door="cli") as memory:
        memory.sync()
        assert embedder._ahead is None
        (book / "daily" / "2026-01-02.md").rename(book / "daily" / "2026-01-03.md")
        memory.sync()
        assert (embedder._ahead, embedder._expected) == (None, [])


def test_it_ends_with_who_started_it(embedder: StaticEmbedder) -> None:
    embedder.expect(TEXTS)
    process = started(embedder)._process
    assert process.stdin is not None
    process.stdin.close()  # what happens to the pipe when this process is killed
    assert process.wait(timeout=30) == 0


def test_it_ends_when_nothing_more_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static, "IDLE", 0.05)
    reading, writing = os.pipe()
    standard = os.dup(0)
    try:
        os.dup2(reading, 0)
        with open(tmp_path / "texts", "w+b") as texts, open(tmp_path / "rows", "w+b") as rows:
            data = marshal.dumps(TEXTS)
            texts.write(data)
            texts.flush()
            os.write(writing, static._PART.pack(0, len(data)))
            static.serve(texts.fileno(), rows.fileno(), str(tmp_path))
            assert (tmp_path / "rows").read_bytes() == np.asarray(StaticEmbedder().rows(TEXTS, bulk=True)).tobytes()
    finally:
        os.dup2(standard, 0)
        for descriptor in (reading, writing, standard):
            os.close(descriptor)
