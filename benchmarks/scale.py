"""Books in PostgreSQL from ten tenants to thousands, and from ten thousand passages to a million: how fast, how large.

Each figure stands beside what someone would write by hand: one table of passages with a tenant, a `tsvector` and a
`halfvec`, and one statement each for words and for vectors; and beside the same book in files. What is compared is
asked in turn, question by question, so that a machine that gets slower slows all of them: a ratio is the median over
questions. Text and questions are generated (`benchmarks/corpus.py`). The embedder sums a random vector of each word,
so that it takes no time that counts. The steps, each on a server of its own:

- tenants: many tenants of a thousand passages: import, search, the first search of a tenant in a process;
- growth: one tenant that grows: import, search, bytes; from 200,000 passages on with an approximate index;
- appends: notes appended by 1, 4 and 16 processes, each for a tenant of its own, beside plain INSERTs;
- idle: tenants with one note each: bytes, and the time of a search among so many.

    python -m benchmarks.scale --tenants 1000 --sizes 10000,100000,1000000
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psycopg

import memorybook
from benchmarks import corpus, measure
from benchmarks.books import finish
from benchmarks.postgres_servers import Server, servers
from memorybook.config.settings import Config, StorageSettings
from memorybook.storage.postgres_admin import upgrade
from memorybook.storage.postgres_index import HNSW_FROM, build

if TYPE_CHECKING:
    from multiprocessing.synchronize import Barrier

    from memorybook.protocols import Vectors

STEPS = ("tenants", "growth", "appends", "idle")
PASSAGES = 1_000
"""Of each of many tenants."""

SECTIONS = 50
"""Passages in a document."""

SERVER = {"shared_buffers": "1GB", "max_wal_size": "8GB", "max_connections": 200, "maintenance_work_mem": "2GB"}
DIMENSIONS = 256
BEST = 10
SAMPLE = 20
FILLERS = 2

Figures = dict[str, Any]
Way = Callable[[int, str], Iterable[str]]
"""How to answer a question: its number and text."""


class Words:
    """An embedder that sums a random vector of each word, or of each Chinese character."""

    name = "static/words"
    dimensions = DIMENSIONS
    local = True

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit rows."""
        rows = np.zeros((len(texts), DIMENSIONS), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split() if text.isascii() else text:
                row += _direction(word.strip(",.?"))
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
        return memoryview(rows)  # type: ignore[arg-type]


@lru_cache(maxsize=100_000)
def _direction(word: str) -> Any:
    return np.random.default_rng(list(word.encode())).standard_normal(DIMENSIONS, np.float32)


def opened(name: str, dsn: str = "") -> memorybook.Memory:
    """Open a tenant's book, or without a server a folder's."""
    config = Config(timezone="UTC", storage=StorageSettings(dsn=dsn))
    return memorybook.open(name, config=config, embedder=Words())


def fill(memory: memorybook.Memory, first: int, count: int) -> None:
    """Bring in passages `first` to `first + count` as sections of documents, until all can be found."""
    storage = memory.book.storage
    for start in range(first, first + count, 100 * SECTIONS):
        with storage.transaction():
            for at in range(start, min(start + 100 * SECTIONS, first + count), SECTIONS):
                said = map(corpus.passage, range(at, min(at + SECTIONS, first + count)))
                parts = [f"## {' '.join(one.words[-2:])}\n\n{one.text}\n" for one in said]
                path = f"notes/{at // 100_000:04d}/{at:09d}.md"
                storage.documents.write(path, "\n".join(parts), expect=None)
    finish(memory)


# --- by hand -------------------------------------------------------------------------------------

_TABLE = """
CREATE EXTENSION IF NOT EXISTS vector;
CREATE EXTENSION IF NOT EXISTS btree_gin;
CREATE TABLE plain (tenant text NOT NULL, id bigint NOT NULL, text text NOT NULL, vector halfvec({dimensions}) NOT NULL,
    words tsvector GENERATED ALWAYS AS (to_tsvector('english', text)) STORED, PRIMARY KEY (tenant, id));
CREATE INDEX ON plain USING gin (tenant, words);
"""
_BY_WORDS = (
    "SELECT id, text FROM plain, to_tsquery('english', %s) AS asked WHERE tenant=%s AND words @@ asked"
    " ORDER BY ts_rank(words, asked) DESC LIMIT 50"
)
_BY_VECTOR = "SELECT id, text FROM plain WHERE tenant=%s ORDER BY vector <=> %s::halfvec LIMIT 50"


class Plain:
    """A table of passages, as it would be written by hand."""

    def __init__(self, dsn: str, *, make: bool = False) -> None:
        self.raw = psycopg.connect(dsn, autocommit=True, prepare_threshold=0)
        if make:
            self.raw.execute(_TABLE.format(dimensions=DIMENSIONS), prepare=False)

    def copy(self, tenant: str, first: int, count: int) -> float:
        """Bring in passages by a binary COPY; return its seconds, those of embedding left out."""
        taken = 0.0
        for start in range(first, first + count, 10_000):
            numbers = range(start, min(start + 10_000, first + count))
            texts = [corpus.passage(number).text for number in numbers]
            rows = [b"PGCOPY\n\xff\r\n\0" + bytes(8)]
            for number, text, vector in zip(numbers, texts, np.asarray(Words().embed(texts)), strict=True):
                half = struct.pack(">hh", DIMENSIONS, 0) + vector.astype(">f2").tobytes()
                fields = (tenant.encode(), struct.pack(">q", number), text.encode(), half)
                rows.append(struct.pack(">h", 4) + b"".join(struct.pack(">i", len(one)) + one for one in fields))
            began = time.perf_counter()
            with self.raw.cursor().copy("COPY plain (tenant, id, text, vector) FROM STDIN (FORMAT binary)") as copy:
                copy.write(b"".join(rows) + b"\xff\xff")
            taken += time.perf_counter() - began
        return taken

    def insert(self, tenant: str, number: int, text: str) -> None:
        """Insert one passage, durably."""
        sql = "INSERT INTO plain (tenant, id, text, vector) VALUES (%s, %s, %s, %s::halfvec)"
        self.raw.execute(sql, (tenant, number, text, _shown(np.asarray(Words().embed([text]))[0])))

    def search(self, tenant: str, question: str) -> list[str]:
        """Return the best ten texts by words and by vectors, fused by their ranks."""
        asked = " | ".join(word.strip(",.?") for word in question.split())
        by_words = self.raw.execute(_BY_WORDS, (asked, tenant), binary=True).fetchall()
        vector = _shown(np.asarray(Words().embed([question]))[0])
        by_vector = self.raw.execute(_BY_VECTOR, (tenant, vector), binary=True).fetchall()
        score: dict[str, float] = {}
        for found in (by_words, by_vector):
            for rank, (_, text) in enumerate(found):
                score[text] = score.get(text, 0.0) + 1 / (60 + rank)
        return sorted(score, key=score.__getitem__, reverse=True)[:BEST]


def _shown(vector: Any) -> str:
    return f"[{','.join(f'{value:.4f}' for value in vector)}]"


# --- searching -----------------------------------------------------------------------------------


def question(rnd: random.Random, first: int, count: int) -> tuple[str, str]:
    """Return a question of six content words with others between them, and the text of the passage that answers it."""
    while True:
        said = corpus.passage(first + rnd.randrange(count))
        if not said.chinese and len(said.words) >= 12:
            words = rnd.sample(said.words, 6)
            return "what did we say about the {} {} of {} and {} {} {}?".format(*words), said.text


def compared(server: Server, asked: Sequence[tuple[str, str]], **ways: Way) -> dict[str, dict[str, float]]:
    """Ask every question in each of the ways, in turn; the first way is what the others are compared with.

    `cpu` is the processor time of a question, ms, of this process and of the server: other programs hardly change it.
    """
    taken: dict[str, list[float]] = {name: [] for name in ways}
    found, own, theirs = dict.fromkeys(ways, 0), dict.fromkeys(ways, 0.0), dict.fromkeys(ways, 0.0)
    for number, (text, answer) in enumerate(asked):
        for name, way in ways.items():
            of_server, of_us, began = server.cpu(), time.process_time(), time.perf_counter()
            texts = list(way(number, text))
            taken[name].append(1000 * (time.perf_counter() - began))
            own[name] += time.process_time() - of_us
            theirs[name] += server.cpu() - of_server
            found[name] += any(answer in one for one in texts)
    first = next(iter(taken.values()))
    return {
        name: {
            "p50": measure.significant(measure.median(each), 3),
            "p95": measure.significant(measure.percentile(each, 0.95), 3),
            "ratio": measure.significant(statistics.median(a / b for a, b in zip(first, each, strict=True)), 3),
            "cpu": measure.significant(1000 * own[name] / len(asked), 3),
            "server_cpu": measure.significant(1000 * theirs[name] / len(asked), 3),
            "found": round(100 * found[name] / len(asked), 1),
        }
        for name, each in taken.items()
    }


def texts_of(memory: memorybook.Memory, text: str) -> Iterator[str]:
    """Return the texts that a search finds."""
    for hit in memory.search(text, max_results=BEST).hits:
        yield hit.passage.text


# --- the steps -----------------------------------------------------------------------------------


def fill_tenant(dsn: str, number: int, first: int, count: int) -> None:
    """Bring in a tenant's passages."""
    with opened(f"tenant-{number}", dsn) as memory:
        fill(memory, first, count)


def filled(dsn: str, numbers: range, count: int) -> float:
    """Bring in tenants by several processes; return the seconds."""
    began = time.perf_counter()
    with get_context("spawn").Pool(FILLERS) as pool:
        pool.starmap(fill_tenant, [(dsn, number, number * PASSAGES, count) for number in numbers], chunksize=5)
    return time.perf_counter() - began


def tenants(server: Server, options: argparse.Namespace) -> Figures:
    """Many tenants of a thousand passages each."""
    count, dsn = options.tenants, server.dsn
    seconds = filled(dsn, range(count), PASSAGES)
    plain = Plain(dsn, make=True)
    copying = sum(plain.copy(f"tenant-{number}", number * PASSAGES, PASSAGES) for number in range(count))
    server.say("VACUUM ANALYZE")
    rnd = random.Random(1)
    sample = rnd.sample(range(count), min(SAMPLE, count))
    others = [number for number in range(count) if number not in sample][: 5 * SAMPLE] or sample
    with tempfile.TemporaryDirectory() as folder, ExitStack() as books, plain.raw:
        ours = {number: books.enter_context(opened(f"tenant-{number}", dsn)) for number in sample}
        local = {number: books.enter_context(opened(f"{folder}/{number}")) for number in sample}
        local_seconds = sum(_seconds(fill, local[n], n * PASSAGES, PASSAGES) for n in sample)
        whose = [rnd.choice(sample) for _ in range(options.questions)]
        asked = [question(rnd, number * PASSAGES, PASSAGES) for number in whose]
        for number in sample:
            _ = [*texts_of(ours[number], asked[0][0]), *texts_of(local[number], asked[0][0])]
        warm = compared(
            server,
            asked,
            ours=lambda n, text: texts_of(ours[whose[n]], text),
            plain=lambda n, text: plain.search(f"tenant-{whose[n]}", text),
            files=lambda n, text: texts_of(local[whose[n]], text),
        )
        first = compared(
            server,
            [question(rnd, number * PASSAGES, PASSAGES) for number in others],
            ours=lambda n, text: _once(f"tenant-{others[n]}", dsn, text),
            plain=lambda n, text: plain.search(f"tenant-{others[n]}", text),
        )
    return {
        "tenants": count,
        "passages": count * PASSAGES,
        "import": {
            "processes": FILLERS,
            "passages_a_second": round(count * PASSAGES / seconds),
            "files_one_process": round(len(sample) * PASSAGES / local_seconds),
            "copy_plain_rows": round(count * PASSAGES / copying),
        },
        "search": warm,
        "first_search": first,
        "bytes": sizes(server, count),
    }


def _seconds(call: Callable[..., object], *arguments: object) -> float:
    began = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - began


def _once(name: str, dsn: str, text: str) -> list[str]:
    with opened(name, dsn) as memory:
        return [*texts_of(memory, text)]


def sizes(server: Server, count: int) -> Figures:
    """What the tables of memorybook and the one by hand take: bytes of a tenant, and the largest tables."""
    rows = server.say(
        "SELECT coalesce(parent.relname, c.relname), sum(pg_total_relation_size(c.oid))::bigint FROM pg_class AS c"
        " LEFT JOIN pg_inherits AS i ON i.inhrelid=c.oid LEFT JOIN pg_class AS parent ON parent.oid=i.inhparent"
        " JOIN pg_namespace AS n ON n.oid=c.relnamespace"
        " WHERE c.relkind='r' AND (n.nspname='memorybook' OR c.relname='plain') GROUP BY 1 ORDER BY 2 DESC"
    )
    known = dict(rows)
    plain = known.pop("plain", 0)
    each = {name: round(size / count) for name, size in list(known.items())[:6]}
    return {"tenant": round(sum(known.values()) / count), "plain": round(plain / count), "largest": each}


def growth(server: Server, options: argparse.Namespace) -> Iterator[Figures]:
    """One tenant that grows."""
    plain, rnd, have = Plain(server.dsn, make=True), random.Random(2), 0
    with (
        tempfile.TemporaryDirectory() as folder,
        opened("large", server.dsn) as ours,
        opened(folder) as local,
        plain.raw,
    ):
        for size in options.sizes:
            more = size - have
            seconds = _seconds(fill, ours, have, more)
            copying, in_files = plain.copy("large", have, more), size <= options.files
            files_seconds = _seconds(fill, local, have, more) if in_files else 0.0
            server.say("VACUUM ANALYZE")
            asked = [question(rnd, 0, size) for _ in range(max(10, options.questions // (1 + size // 20_000)))]
            ways: dict[str, Way] = {
                "ours": lambda _, text: texts_of(ours, text),
                "plain": lambda _, text: plain.search("large", text),
                "files": lambda _, text: texts_of(local, text),
            }
            if not in_files:
                del ways["files"]
            for way in ways.values():
                list(way(0, asked[0][0]))
            found: Figures = {"passages": size, "search": compared(server, asked, **ways), "bytes": sizes(server, 1)}
            if size >= HNSW_FROM:
                found["index_seconds"] = round(_seconds(build, server.dsn))
                server.say("VACUUM ANALYZE")
                found["indexed_search"] = compared(server, asked, ours=ways["ours"], plain=ways["plain"])
            rates = {"ours": round(more / seconds), "copy_plain_rows": round(more / copying)}
            found["import_a_second"] = rates | ({"files": round(more / files_seconds)} if in_files else {})
            have = size
            yield found


def appends(server: Server, options: argparse.Namespace) -> Iterator[Figures]:
    """Processes that append, each for a tenant of its own."""
    Plain(server.dsn, make=True).raw.close()
    for workers in (1, 4, 16):
        found: Figures = {"processes": workers}
        for name in ("ours", "plain"):
            context = get_context("spawn")
            start, answers = context.Barrier(workers), context.Queue()
            processes = [
                context.Process(target=_append, args=(server.dsn, name, n, options.seconds, start, answers))
                for n in range(workers)
            ]
            for process in processes:
                process.start()
            before = server.cpu()
            told = [answers.get(timeout=options.seconds + 300) for _ in processes]
            taken = [one for each, _ in told for one in each]
            for process in processes:
                process.join()
            found[name] = {
                "a_second": round(len(taken) / options.seconds),
                "p50": measure.significant(measure.median(taken), 3),
                "p95": measure.significant(measure.percentile(taken, 0.95), 3),
                "cpu": measure.significant(1000 * sum(cpu for _, cpu in told) / len(taken), 3),
                "server_cpu": measure.significant(1000 * (server.cpu() - before) / len(taken), 3),
            }
        yield found


def _append(dsn: str, how: str, worker: int, seconds: float, start: Barrier, answers: Any) -> None:
    name = f"appender-{worker}-{time.time_ns()}"
    texts = [corpus.passage(-1 - number).text for number in range(5000)]
    plain = Plain(dsn)
    with opened(name, dsn) as memory, plain.raw:

        def append(number: int) -> None:
            text = f"{number} {texts[number % len(texts)]}"
            if how == "ours":
                memory.append(text)
            else:
                plain.insert(name, number, text)

        append(-1)
        start.wait()
        taken: list[float] = []
        of_us, began = time.process_time(), time.perf_counter()
        while time.perf_counter() - began < seconds:
            taken.append(1000 * _seconds(append, len(taken)))
        answers.put((taken, time.process_time() - of_us))


def idle(server: Server, options: argparse.Namespace) -> Iterator[Figures]:
    """Tenants with one note each."""
    have, last, rnd = 0, sizes(server, 1)["tenant"], random.Random(3)
    for count in options.idle:
        seconds = filled(server.dsn, range(have, count), 1)
        server.say("VACUUM ANALYZE")
        now = sizes(server, 1)["tenant"]
        some = [rnd.randrange(count) for _ in range(50)]
        asked = [question(rnd, 0, 1000) for _ in some]

        def first(number: int, text: str, some: Sequence[int] = some) -> list[str]:
            return _once(f"tenant-{some[number]}", server.dsn, text)

        found = compared(server, asked, first=first)
        yield {
            "tenants": count,
            "made_a_second": round((count - have) / seconds, 1),
            "bytes_of_one_more": round((now - last) / (count - have)),
            "first_search": found["first"],
        }
        have, last = count, now


# --- the command line ----------------------------------------------------------------------------


def run(options: argparse.Namespace) -> Figures:
    """All steps asked for, each on a server of its own; figures are printed as they come."""
    figures: Figures = {"machine": measure.machine(), "server": SERVER}
    steps: dict[str, Callable[[Server, argparse.Namespace], Any]] = {
        "tenants": tenants,
        "growth": growth,
        "appends": appends,
        "idle": idle,
    }
    for name in options.only:
        with servers() as [server]:
            server.make().start(**SERVER)
            upgrade(server.dsn)
            found = steps[name](server, options)
            figures[name] = []
            for one in [found] if isinstance(found, dict) else found:
                figures[name].append(one)
                print(json.dumps({name: one}), file=sys.stderr, flush=True)
                measure.save(options, "scale", figures)
    return figures


def main() -> None:
    """The command line."""

    def numbers(text: str) -> list[int]:
        return [int(number) for number in text.split(",")]

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=STEPS, default=list(STEPS))
    parser.add_argument("--tenants", type=int, default=1_000)
    parser.add_argument("--sizes", type=numbers, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--files", type=int, default=100_000, help="the largest size that is made in files, too")
    parser.add_argument("--idle", type=numbers, default=[10, 100, 1_000, 10_000])
    parser.add_argument("--questions", type=int, default=400)
    parser.add_argument("--seconds", type=float, default=10.0, help="of appending")
    parser.add_argument("--out", type=Path, help="folder for scale.json")
    print(json.dumps(run(parser.parse_args()), indent=1))


if __name__ == "__main__":
    main()
