"""Vectors that come after the words: in the background, one process at a time, and never in the way of a search."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import pytest

import memorybook
from inference import server
from memorybook.book import embedding
from memorybook.book.embedding import Embedding
from memorybook.config.settings import Config, EmbeddingSettings
from memorybook.errors import Unavailable
from memorybook.inference.calibration import ANSWERS, QUESTIONS
from memorybook.memory import Memory
from memorybook.storage.safe_open import claimed
from memorybook.testing import FailingEmbedder, HashEmbedder

if TYPE_CHECKING:
    from memorybook.protocols import Vectors

QUESTION = "who likes red apples"
FACTS = ["The user likes red apples.", "Staging listens on port 6543.", "生产数据库在上海的服务器上。"]


class Slow(HashEmbedder):
    """An embedder on this machine of which a sync takes only a few texts; waits for `go` before many."""

    inline = 2

    def __init__(self, name: str = "slow") -> None:
        super().__init__()
        self.name = f"local/{name}"
        self.go = threading.Event()

    def embed(self, texts: Sequence[str]) -> Vectors:
        if texts[0] in (QUESTIONS[0], ANSWERS[0]):
            return HashEmbedder().embed(texts)
        if len(texts) > 2:
            assert self.go.wait(20)
        return super().embed(texts)


def opened(root: Path, embedder: HashEmbedder, door: str = "python") -> Memory:
    return memorybook.open(str(root), config=Config(timezone="UTC"), embedder=embedder, door=door)


def note(root: Path, count: int) -> Path:
    """A book of so many notes."""
    folder = root / "daily"
    folder.mkdir(parents=True)
    lines = [f"- 2026-01-02T10:00:00Z {FACTS[number % 3]} {number}\n" for number in range(count)]
    (folder / "2026-01-02.md").write_text("".join(lines), encoding="utf-8")
    return root


def until(true: Callable[[], object], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.005)


def held(path: str) -> bool:
    """Whether somebody holds the claim."""
    with claimed(path) as ours:
        return not ours


def embedded(root: Path) -> int:
    """How many vectors are in the index."""
    with suppress(apsw.Error), closing(apsw.Connection(str(root / ".memorybook" / "index.sqlite"))) as db:
        return int(next(db.execute("SELECT count(vector) FROM embeddings"))[0])
    return 0


def ended(memory: Memory) -> None:
    until(lambda: not memory.book.embedding.running)


# --- through a memory ------------------------------------------------------------------------------


def test_words_answer_until_the_vectors_are_there(tmp_path: Path) -> None:
    slow = Slow()
    with opened(note(tmp_path, 40), slow) as memory:
        first = memory.search(QUESTION)
        assert first.backend == "sqlite_fts"
        assert first.hits[0].passage.text.startswith("The user likes red apples")
        assert first.state["pending_vectors"] == 40
        assert memory.status()["index"]["embedded_by"] == "this process"
        slow.go.set()
        ended(memory)
        then = memory.search(QUESTION)
        assert (then.backend, then.state["pending_vectors"], then.state["degraded"]) == ("sqlite_hybrid", 0, [])


def test_while_some_have_vectors_both_legs_answer(tmp_path: Path) -> None:
    slow = Slow()
    with opened(note(tmp_path, 40), slow, door="cli") as memory:
        memory.book.index.sync(memory.book.documents, memory.book.transcripts)
        slow.go.set()
        memory.book.index.embed_pending(limit=16)
        answer = memory.search(QUESTION)
        assert (answer.backend, answer.state["pending_vectors"]) == ("sqlite_hybrid", 24)
        assert all("apples" in hit.passage.text for hit in answer.hits[:5])


def test_what_was_just_written_has_its_vector_at_once(tmp_path: Path) -> None:
    slow = Slow()
    with opened(note(tmp_path, 2), slow, door="cli") as memory:
        assert memory.search(QUESTION).state["pending_vectors"] == 0
        memory.append("Moved to Lisbon.")
        answer = memory.search("Lisbon")
        assert (answer.backend, answer.state["pending_vectors"]) == ("sqlite_hybrid", 0)


def test_a_process_that_is_soon_gone_starts_nothing_and_says_what_waits(tmp_path: Path) -> None:
    slow = Slow()
    with opened(note(tmp_path, 10), slow, door="cli") as memory:
        answer = memory.search(QUESTION)
        assert answer.state["pending_vectors"] == 10
        assert "10 passages wait for a vector of 'local/slow'" in answer.state["degraded"][0]
        assert not memory.book.embedding.running
        assert memory.status()["index"]["embedded_by"] == ""
        with claimed(str(tmp_path / ".memorybook" / "embedding.lock")):
            assert memory.status()["index"]["embedded_by"] == "another process"
        slow.go.set()
        seen: list[tuple[int, int]] = []
        assert memory.sync(progress=lambda done, total: seen.append((done, total)))["pending_vectors"] == 0
        assert seen[-1] == (10, 10)


def test_going_back_to_the_embedder_before_finds_its_vectors(tmp_path: Path) -> None:
    with opened(note(tmp_path, 10), HashEmbedder()) as memory:
        assert memory.search(QUESTION).backend == "sqlite_hybrid"
    slow = Slow()
    with opened(tmp_path, slow) as memory:
        assert memory.search(QUESTION).backend == "sqlite_fts"
        slow.go.set()
        ended(memory)
    back = HashEmbedder()
    with opened(tmp_path, back) as memory:
        assert memory.search(QUESTION).state["pending_vectors"] == 0
        assert len(back.texts) == 1


class Held(Slow):
    """An embedder whose third batch takes as long as `third` waits."""

    third: Callable[[float], bool]
    batches = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        if len(texts) > 2 and texts[0] not in (QUESTIONS[0], ANSWERS[0]):
            self.batches += 1
            assert self.batches < 3 or self.third(20)
        return super().embed(texts)


def test_closing_does_not_wait_for_all_and_what_was_embedded_stays(tmp_path: Path) -> None:
    slow = Held()
    slow.go.set()
    with opened(note(tmp_path, 200), slow) as memory:
        slow.third = memory.book.embedding._stop.wait  # until the memory is closed
        memory.search(QUESTION)
        until(lambda: slow.batches == 3)
    assert slow.batches == 3
    again = Slow()
    again.go.set()
    with opened(tmp_path, again, door="cli") as memory:
        memory.sync()
    assert len(again.texts) == 200 - 16 * 3


def test_a_service_that_fails_is_left_alone_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "REST", 0.05)
    down = FailingEmbedder()
    with opened(note(tmp_path, 5), down) as memory:
        memory.search(QUESTION)
        until(lambda: memory.book.embedding.failure)
        assert "the embedder for tests is down" in memory.book.refresh().degraded[-1]
        assert memory.search(QUESTION).hits
        down._after = 10_000
        ended(memory)
        assert memory.book.embedding.failure == ""
        assert memory.book.refresh().pending_vectors == 0


class Raising(Slow):
    """An embedder of somebody who has not heard of EmbedderFailed."""

    broken = True

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self.broken and len(texts) > 2:
            raise ValueError("no such layer")
        return super().embed(texts)


def test_an_embedder_that_raises_anything_is_told_of_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "REST", 0.05)
    raising = Raising()
    raising.go.set()
    with opened(note(tmp_path, 5), raising) as memory:
        memory.search(QUESTION)
        until(lambda: memory.book.embedding.failure)
        assert memory.book.embedding.running
        assert "ValueError: no such layer" in " ".join(memory.status()["degraded"])
        raising.broken = False
        ended(memory)
        assert memory.book.embedding.failure == ""
        assert memory.search(QUESTION).state["pending_vectors"] == 0


# --- several at once -------------------------------------------------------------------------------

EMBED = """
import sys, time
sys.path[:0] = {path!r}
import test_embedding as t
class Counted(t.Slow):
    def embed(self, texts):
        time.sleep({pause})
        return super().embed(texts)
e = Counted()
e.go.set()
with t.opened(t.Path({root!r}), e, door={door!r}) as memory:
    print("ready", flush=True)
    if {door!r} == "cli":
        assert memory.sync()["pending_vectors"] == 0
    else:
        memory.search(t.QUESTION)
        t.ended(memory)
    print(len(e.texts), flush=True)
"""


def process(root: Path, *, pause: float, door: str = "cli") -> subprocess.Popen[str]:
    script = EMBED.format(
        path=[str(Path(__file__).parents[0]), str(Path(__file__).parents[1])], root=str(root), pause=pause, door=door
    )
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)


def test_two_processes_share_the_work_instead_of_doing_it_twice(tmp_path: Path) -> None:
    note(tmp_path, 160)
    both = [process(tmp_path, pause=0.02), process(tmp_path, pause=0.02, door="python")]
    embedded = [int(one.communicate(timeout=60)[0].split()[-1]) for one in both]
    assert [one.returncode for one in both] == [0, 0]
    assert 160 <= sum(embedded) <= 160 + 2


def test_killed_in_the_midst_it_goes_on_where_it_was(tmp_path: Path) -> None:
    note(tmp_path, 160)
    victim = process(tmp_path, pause=0.3)
    path = str(tmp_path / ".memorybook" / "embedding.lock")
    until(lambda: embedded(tmp_path))
    assert held(path)
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    assert not held(path)
    again = Slow()
    again.go.set()
    with opened(tmp_path, again, door="cli") as memory:
        assert memory.sync()["pending_vectors"] == 0
        assert 0 < len(again.texts) < 160
        assert memory.search(QUESTION).backend == "sqlite_hybrid"


def test_a_claim_is_held_by_one_and_let_go_at_the_end(tmp_path: Path) -> None:
    path = str(tmp_path / "new" / "lock")
    assert not held(path)
    with claimed(path) as first:
        with claimed(path) as second:
            assert (first, second) == (True, False)
        assert held(path)
    assert not held(path)
    with claimed(path) as third:
        assert third


# --- by itself -------------------------------------------------------------------------------------


class Waiting:
    """The part of an index that matters here: `left` passages wait, each call embeds them one at a time."""

    def __init__(self, left: int = 3, error: Exception | None = None) -> None:
        self.left, self.error = left, error

    def embed_pending(self, *, limit: int | None = None, progress: Callable[[int, int], None] | None = None) -> int:
        if self.error is not None:
            raise self.error
        total = self.left
        while self.left:
            self.left -= 1
            if progress is not None:
                progress(total - self.left, total)
        return 0

    def stats(self) -> dict[str, Any]:
        return {"pending": self.left}


def test_the_background_gives_way_to_who_waits_for_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "_GIVE_WAY_MOST", 60.0)
    index, busy = Waiting(), threading.Event()
    busy.set()
    working = Embedding(index, busy=busy.is_set)  # type: ignore[arg-type]
    working.wake()
    until(lambda: index.left == 2)
    time.sleep(0.05)
    assert (index.left, working.done) == (2, (1, 3))
    busy.clear()
    until(lambda: not working.running)
    assert (index.left, working.done) == (0, (0, 0))


@pytest.mark.parametrize("ours", [True, False])
def test_closed_while_it_is_held_up_it_leaves_the_index_alone(ours: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "_PATIENCE", 0.01)
    held_up, go_on = threading.Event(), threading.Event()

    class Closed(Waiting):
        """Nothing of it may be used."""

        used = False

        def embed_pending(self, **_: Any) -> int:
            self.used = True
            return 0

        def stats(self) -> dict[str, Any]:
            self.used = True
            return {"pending": 0}

    @contextmanager
    def claim() -> Iterator[bool]:
        held_up.set()
        assert go_on.wait(20)
        yield ours

    index = Closed()
    working = Embedding(index, claim=claim)  # type: ignore[arg-type]
    working.wake()
    thread = working._thread
    assert thread is not None
    assert held_up.wait(20)
    working.close()
    go_on.set()
    thread.join(20)
    assert not index.used


def test_an_index_that_cannot_be_used_ends_it_until_it_is_woken_again() -> None:
    index = Waiting(error=Unavailable("the disk is full"))
    working = Embedding(index)  # type: ignore[arg-type]
    working.wake()
    until(lambda: not working.running)
    assert working.failure == "the disk is full"
    index.error = None
    working.wake()
    until(lambda: not working.running)
    assert (index.left, working.failure) == (0, "")


def test_who_waits_for_another_sees_how_far_it_is() -> None:
    index = Waiting(3)
    held = iter([False, False, True])
    seen: list[tuple[int, int]] = []

    @contextmanager
    def claim() -> Iterator[bool]:
        index.left -= 1
        yield next(held)

    assert Embedding(index, claim=claim).finish(lambda done, total: seen.append((done, total))) == 0  # type: ignore[arg-type]
    assert seen == [(0, 2), (1, 2)]


# --- a slow service ------------------------------------------------------------------------------


@pytest.fixture
def service() -> Iterator[server.Service]:
    with server.serve(dimensions=64) as running:
        yield running


def remote(service: server.Service, root: Path, seconds: float) -> Memory:
    where = EmbeddingSettings(base_url=service.url, api_key=server.KEY, model=service.model, timeout=seconds, batch=16)
    return memorybook.open(str(root), config=Config(timezone="UTC", embeddings=where), door="cli")


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    ("ask", "answer"),
    [
        (lambda memory: memory.search("red apples").hits, server.drip),
        (lambda memory: memory.search("生产数据库").hits, server.drip_headers),
        (lambda memory: memory.recall("who likes red apples?").text, server.hang),
        (lambda memory: memory.recall_memory("red apples") or True, server.hang),
        (lambda memory: memory.recall_topic("apples") or True, server.hang),
        (lambda memory: memory.get_prompt_memories() or True, server.hang),
    ],
)
def test_a_slow_service_holds_no_search_longer_than_is_set(
    tmp_path: Path, service: server.Service, answer: server.Answer, ask: Callable[[Memory], Any]
) -> None:
    with remote(service, note(tmp_path / "book", 12), 5) as memory:
        assert memory.sync()["pending_vectors"] == 0
    service.usual = answer
    with remote(service, tmp_path / "book", 0.3) as memory:
        started = time.monotonic()
        assert ask(memory), "found by words"
        assert time.monotonic() - started < 0.8


def test_a_search_waits_for_a_service_as_long_as_is_set(tmp_path: Path, service: server.Service) -> None:
    with remote(service, note(tmp_path / "book", 6), 5) as memory:
        memory.sync()
        service.script = [server.late(2.2)]
        assert memory.search(QUESTION).state["degraded"] == []
