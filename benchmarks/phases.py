"""The steps of the speed benchmark, each for a process of its own, on one book that they share in a folder.

Each returns the figures of its step by name; a `Timing` is given as its JSON. Rates are per second.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks import corpus, measure
from benchmarks.books import BOOK, finish, opened

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    import memorybook
    from memorybook.protocols import Embedder, Vectors
    from memorybook.search.types import Answer

DIMENSIONS = 256
NEAREST = 10
EMBEDDED = 100_000
"""Most texts that are embedded alone, before and after a rebuild."""

BATCH = 512
PAUSE = 0.2
"""Least seconds between searches while the index is rebuilt."""

Figures = dict[str, Any]


def seconds(call: Callable[[], object]) -> float:
    """How long one call takes."""
    return measure.milliseconds(call) / 1000


# --- making the book -----------------------------------------------------------------------------


def ingest(folder: Path, count: int, given: Mapping[str, str], most_turns: int | None = None) -> Figures:
    """Conversations imported, then Markdown brought in, each until it can be found by words and meaning."""
    turns = corpus.turns_of(count, most_turns)
    files = corpus.write_chats(folder / "chats", turns)
    corpus.write_entries(folder / BOOK, count)
    with opened(folder, given) as memory:
        finish(memory)
        importing = seconds(lambda: _import(memory, files))
        notes = corpus.write_documents(folder / BOOK, count, turns)
        syncing = seconds(lambda: finish(memory))
        index = memory.status()["index"]
    return {
        "turns": turns,
        "turns_per_s": round(turns / importing),
        "notes_per_s": round(notes / syncing),
        "passages": index["passages"],
        "files": sum(name.endswith(".md") for _, _, names in os.walk(folder / BOOK) for name in names),
        "documents_mb": round(measure.folder_mb(folder / BOOK) - measure.folder_mb(folder / BOOK / ".memorybook"), 2),
        "machine_mb": measure.folder_mb(folder / BOOK / ".memorybook"),
    }


def _import(memory: memorybook.Memory, files: Sequence[Path]) -> None:
    for path in files:
        memory.import_file(str(path))
    finish(memory)


# --- finding -------------------------------------------------------------------------------------


def search(folder: Path, count: int, given: Mapping[str, str], each: int, rounds: int) -> Figures:
    """Warm searches in turn with numpy's exact search of as many vectors; per question the median of the rounds."""
    asked = corpus.questions(count, each)
    with opened(folder, given) as memory, _numpy_search(count) as reference:
        found = [_is_found(memory, question) for question in asked]
        taken: dict[str, list[tuple[list[float], list[float]]]] = {kind: [] for kind in corpus.KINDS}
        for question in asked:
            taken[question.kind].append(([], []))
        for _ in range(rounds):
            for number, question in enumerate(asked):
                ours, theirs = taken[question.kind][number // len(corpus.KINDS)]
                ours.append(measure.milliseconds(partial(memory.search, question.text)))
                theirs.append(reference())
        listing = measure.median([measure.milliseconds(partial(listed, folder / BOOK)) for _ in range(5)])
    kinds = {kind: _per_question(pairs) for kind, pairs in taken.items()}
    every = _per_question([pair for pairs in taken.values() for pair in pairs])
    return {
        "all": every.json(),
        "kinds": {kind: timing.json() for kind, timing in kinds.items()},
        "found": round(100 * measure.mean(found), 1),
        "listing_ms": measure.significant(listing),
    }


def _is_found(memory: memorybook.Memory, question: corpus.Question) -> bool:
    """Whether the passage whose words are asked for is among the first ten."""
    answer = corpus.passage(question.answer).text
    passages = [hit.passage for hit in memory.search(question.text).hits]
    return any(passage.turn == f"p{question.answer}" or answer in passage.text for passage in passages)


def _per_question(pairs: Sequence[tuple[list[float], list[float]]]) -> measure.Timing:
    """Over questions, each with the median of its rounds."""
    return measure.timing([measure.median(ours) for ours, _ in pairs], [measure.median(theirs) for _, theirs in pairs])


@contextmanager
def _numpy_search(count: int) -> Iterator[Callable[[], float]]:
    """Milliseconds of numpy's search, each time it is called, in a process beside this one.

    Here, numpy is loaded and memory is taken only as the book wants it.
    """
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_search_by_numpy, args=(theirs, count))
    process.start()
    theirs.close()
    ours.recv()

    def reference() -> float:
        ours.send(True)
        return float(ours.recv())

    try:
        yield reference
    finally:
        ours.send(False)
        process.join()


def _search_by_numpy(pipe: Connection, count: int) -> None:
    """The ten nearest of `count` float32 rows of 256 to one vector, exactly: a product and a selection."""
    import numpy as np

    rng = np.random.default_rng(corpus.SEED)
    matrix = rng.standard_normal((count, DIMENSIONS), dtype=np.float32)
    vector = rng.standard_normal(DIMENSIONS, dtype=np.float32)

    def nearest() -> object:
        scores = matrix @ vector
        best = np.argpartition(scores, -NEAREST)[-NEAREST:]
        return best[np.argsort(scores[best])[::-1]]

    nearest()
    pipe.send(True)
    while pipe.recv():
        pipe.send(measure.milliseconds(nearest))


def cold(folder: Path, count: int, given: Mapping[str, str], runs: int) -> Figures:
    """The whole process `memorybook search`, in turn with `python -c pass`, asking questions of every kind."""
    bare = [sys.executable, "-c", "pass"]
    commands = [[*command(folder, given), question.text] for question in corpus.questions(count, 1)]
    for warm in (*commands, bare):
        measure.process_ms(warm)
    taken = [(measure.process_ms(commands[run % len(commands)]), measure.process_ms(bare)) for run in range(runs)]
    timed = measure.timing([ours for ours, _ in taken], [theirs for _, theirs in taken])
    peak = max(measure.process_peak_mb(one) for one in commands)
    return {"time": timed.json(), "peak_mb": peak, "bare_peak_mb": measure.process_peak_mb(bare)}


def command(folder: Path, given: Mapping[str, str]) -> list[str]:
    """The command line of a search in the folder's book; the question is to follow."""
    script = Path(sys.executable).with_name("memorybook")
    program = [str(script)] if script.exists() else [sys.executable, "-m", "memorybook"]
    settings = [part for name, value in given.items() for part in ("--set", f"{name}={value}")]
    return [*program, "--book", str(folder / BOOK), *settings, "search"]


# --- writing -------------------------------------------------------------------------------------


WARM = 15
"""Questions of each kind that are asked before appends are measured."""


class _Appended(NamedTuple):
    """Milliseconds: of an append, until a sync had brought it in, until a search had found it, of a line by hand."""

    writing: float
    searchable: float
    found: float
    by_hand: float


def append(folder: Path, count: int, given: Mapping[str, str], rounds: int) -> Figures:
    """A note appended and brought into the index by a sync; another found by the next search; a line by hand.

    In turn; by hand, a line is locked and fsynced. As warm as the searches that are measured: in a process that was
    asked all their questions once.
    """
    taken: list[_Appended] = []
    found = 0
    with opened(folder, given) as memory:
        for asked in corpus.questions(count, WARM):
            memory.search(asked.text)
        for number in range(rounds + 1):
            text, question, mark = _note(count, 2 * number)
            writing = measure.milliseconds(partial(memory.append, text))
            searchable = writing + measure.milliseconds(memory.sync)
            found += _finds(memory.search(question), mark)
            text, question, mark = _note(count, 2 * number + 1)
            started = time.perf_counter()
            memory.append(text)
            answer = memory.search(question)
            finding = 1000 * (time.perf_counter() - started)
            found += _finds(answer, mark)
            by_hand = measure.milliseconds(partial(_append_by_hand, folder / "by-hand.md", text))
            taken.append(_Appended(writing, searchable, finding, by_hand))
    taken = taken[1:]  # the first opens files
    hand = [each.by_hand for each in taken]
    return {
        "found": round(100 * found / (2 * rounds + 2), 1),
        "append": measure.timing([each.writing for each in taken], hand).json(),
        "append_to_searchable": measure.timing([each.searchable for each in taken], hand).json(),
        "append_to_found": measure.timing([each.found for each in taken], hand).json(),
    }


def _note(count: int, number: int) -> tuple[str, str, str]:
    """A new note, a question for it, and the word that stands in it alone."""
    mark = f"mark{os.getpid()}n{number}"
    said = corpus.passage(count + number)
    return f"{said.text} {mark}", f"{' '.join(said.words[:3])} {mark}", mark


def _finds(answer: Answer, mark: str) -> bool:
    return any(mark in hit.passage.text for hit in answer.hits)


def _append_by_hand(path: Path, text: str) -> None:
    """What a durable append that is safe between processes takes at least."""
    with path.open("a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(f"- {text}\n")
        file.flush()
        os.fsync(file.fileno())


# --- upkeep --------------------------------------------------------------------------------------


def rebuild(folder: Path, count: int, given: Mapping[str, str]) -> Figures:
    """The index made anew: with its vectors kept, then with every vector made again, while searches go on.

    The reference is the embedder alone on the same texts, before and after; like the rebuild's it is a new one, whose
    memo of words is empty. `cpu_ratio` compares the CPU time of the two threads and of the process that makes vectors
    ahead, which other work on the machine does not change, nor a second processor. The searches are compared with the
    same before.
    """
    with opened(folder, given) as memory:
        kept = seconds(memory.rebuild)
        passages = memory.status()["index"]["passages"]
        figures = {"passages": passages, "kept_per_s": round(passages / kept)}
        if memory.context.embedder is None:
            return figures
        texts = [corpus.passage(number).text for number in range(min(count, EMBEDDED))]
        embed = partial(_embed_anew, folder, given, texts)
        asked = corpus.questions(count, 10)
        calm = [measure.milliseconds(partial(memory.search, question.text)) for question in asked]
        before = _wall_and_cpu(embed)
        with (
            opened(folder, given, embedder=_Again(_new_embedder(folder, given))) as again,
            opened(folder, given, embedder=_Still(memory.context.embedder), door="cli") as reader,
        ):
            taken, answered = _rebuilt_while_searched(again, reader, asked)
        alone = [measure.mean(pair) for pair in zip(before, _wall_and_cpu(embed), strict=True)]
    share = passages / len(texts)
    return {
        **figures,
        "again_per_s": round(passages / taken[0]),
        "embed_per_s": round(len(texts) / alone[0]),
        "ratio": measure.significant(share * alone[0] / taken[0]),
        "cpu_ratio": measure.significant(share * alone[1] / taken[1]),
        "search": {
            "p50": measure.significant(measure.median(answered)),
            "p95": measure.significant(measure.percentile(answered, 0.95)),
            "reference": measure.significant(measure.median(calm)),
            "ratio": measure.significant(measure.median(answered) / measure.median(calm)),
            "rounds": len(answered),
        },
    }


def _wall_and_cpu(call: Callable[[], object]) -> tuple[float, float]:
    """Seconds of one call, and of this thread and the processes that it ended on a processor."""
    started = _on_processors()
    wall = seconds(call)
    return wall, _on_processors() - started


def _on_processors() -> float:
    times = os.times()
    return time.thread_time() + times.children_user + times.children_system


class _Again:
    """The same embedder under a name that no vector was made by."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name = f"{embedder.name}-again-{time.time_ns()}"
        self.dimensions = embedder.dimensions
        self.local = embedder.local

        self.expect = getattr(embedder, "expect", lambda _: None)

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._embedder.embed(texts)


class _Still:
    """The same embedder, of whoever only searches: once its vectors have gone with the old index it makes none."""

    inline = 0

    def __init__(self, embedder: Embedder) -> None:
        self.name, self.dimensions, self.local, self.embed = (
            embedder.name,
            embedder.dimensions,
            embedder.local,
            embedder.embed,
        )


def _new_embedder(folder: Path, given: Mapping[str, str]) -> Embedder:
    """Another embedder of the same settings."""
    with opened(folder, given) as memory:
        if memory.context.embedder is None:
            raise ValueError(f"no embedder under the settings {dict(given)!r}")
        return memory.context.embedder


def _embed_anew(folder: Path, given: Mapping[str, str], texts: Sequence[str]) -> None:
    """The texts embedded, batch by batch, by an embedder that has seen none."""
    embedder = _new_embedder(folder, given)
    for at in range(0, len(texts), BATCH):
        embedder.embed(texts[at : at + BATCH])


def _rebuilt_while_searched(
    again: memorybook.Memory, reader: memorybook.Memory, asked: Sequence[corpus.Question]
) -> tuple[tuple[float, float], list[float]]:
    """Seconds of the rebuild, wall and CPU, and milliseconds of the searches answered by another thread meanwhile."""

    def whole() -> None:
        if again.rebuild()["pending_vectors"]:
            finish(again)

    answered: list[float] = []
    with ThreadPoolExecutor(1) as pool:
        rebuilt = pool.submit(_wall_and_cpu, whole)
        while not rebuilt.done():
            question = asked[len(answered) % len(asked)].text
            answered.append(measure.milliseconds(partial(reader.search, question)))
            time.sleep(max(PAUSE, answered[-1] / 250))  # a fifth of the time at most goes to searches
        return rebuilt.result(), answered


def unchanged(folder: Path, files: int, given: Mapping[str, str], rounds: int) -> Figures:
    """A sync that finds nothing to do in a book of that many files, in turn with listing them and their stamps."""
    for number in range(files):
        path = folder / BOOK / "notes" / f"{number % 100:02d}" / f"{number:06d}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Note {number}\n\nThe note number {number} says this.\n", encoding="utf-8")
    with opened(folder, given) as memory:
        finish(memory)
        syncing = measure.pairs(memory.sync, lambda: listed(folder / BOOK), rounds)
    return {"files": files, "time": syncing.json()}


def listed(folder: Path) -> int:
    """How many files there are below a folder; each is asked for its size and stamp, as any check must."""
    count = 0
    folders = [str(folder)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    count += bool(entry.stat(follow_symlinks=False).st_mtime_ns)
    return count
