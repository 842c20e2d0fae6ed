"""Many connections append to a served book beside writers that hold it directly: what comes through, and how fast.

Every line that the server or the book acknowledged must stand in the book exactly once. Figures go to stdout as JSON:

    python benchmarks/server_load.py --lines 10000 --connections 200 --writers 2
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import memorybook
from memorybook.config.settings import Config

TOKEN = "only-for-this-measurement"
TRIES = 50


class Told:
    """What the server answered: the lines that it acknowledged, seconds of each, and refusals by code."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.seconds: list[float] = []
        self.refused: Counter[str] = Counter()


async def connection(address: tuple[str, int], lines: list[str], told: Told) -> None:
    """Append lines one after the other over one connection; what is refused for now is asked again."""
    reader, writer = await asyncio.open_connection(*address)
    try:
        for line in lines:
            for _ in range(TRIES):
                began = time.perf_counter()
                status, answer = await asked(reader, writer, address, line)
                if status == 200:
                    told.lines.append(line)
                    told.seconds.append(time.perf_counter() - began)
                    break
                told.refused[answer["error"]["code"]] += 1
                await asyncio.sleep(0.2)
    finally:
        writer.close()


async def asked(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: tuple[str, int], line: str
) -> tuple[int, Any]:
    """The status and the JSON of one request."""
    body = json.dumps({"text": line}).encode()
    head = (
        f"POST /api/v1/notes HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    await writer.drain()
    answered = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = int(answered.split("content-length:")[1].split("\r\n")[0])
    return int(answered.split(" ", 2)[1]), json.loads(await reader.readexactly(length))


def direct(book: str, name: str, count: int) -> None:
    """Append lines to the book itself; prints those that were acknowledged, and the seconds."""
    began, lines = time.perf_counter(), []
    with memorybook.open(book, config=Config()) as memory:
        for number in range(count):
            line = f"direct {name} line {number}"
            if not memory.append(line).duplicate:
                lines.append(line)
    print(json.dumps({"lines": lines, "seconds": time.perf_counter() - began}))


def started(book: str, threads: int) -> tuple[subprocess.Popen[bytes], tuple[str, int]]:
    """A server of the book, and where it listens."""
    command = [sys.executable, "-m", "memorybook", "--book", book, "serve", "--port", "0", "--json", "--quiet"]
    settings = ["--set", "server.rate=0", "--set", f"server.threads={threads}"]
    env = os.environ | {"MEMORYBOOK_TOKEN": TOKEN}
    process = subprocess.Popen([*command, *settings], stdout=subprocess.PIPE, env=env)
    assert process.stdout is not None
    place = urlsplit(json.loads(process.stdout.readline())["url"])
    return process, (place.hostname or "", place.port or 0)


def measured(lines: int, connections: int, writers: int, threads: int, book: str) -> dict[str, Any]:
    """The figures of one run on an empty book."""
    server, address = started(book, threads)
    each = max(1, lines // 10)
    command = [sys.executable, __file__, "--direct", book, "--lines", str(each)]
    beside = [subprocess.Popen([*command, "--name", str(n)], stdout=subprocess.PIPE) for n in range(writers)]
    told, began = Told(), time.perf_counter()
    asyncio.run(every(address, lines, connections, told))
    seconds = time.perf_counter() - began
    direct_lines = [json.loads(process.communicate()[0]) for process in beside]
    server.send_signal(signal.SIGTERM)
    code = server.wait(60)
    acknowledged = [*told.lines, *(line for one in direct_lines for line in one["lines"])]
    return {
        "lines": lines,
        "connections": connections,
        "threads": threads,
        "acknowledged": len(told.lines),
        "refused_for_now": dict(told.refused),
        "seconds": round(seconds, 2),
        "lines_per_second": round(len(told.lines) / seconds, 1),
        "milliseconds": quantiles(told.seconds),
        "direct": [{"lines": len(one["lines"]), "seconds": round(one["seconds"], 2)} for one in direct_lines],
        **judged(book, acknowledged),
        "server_exit": code,
    }


async def every(address: tuple[str, int], lines: int, connections: int, told: Told) -> None:
    """All lines, spread over the connections."""
    spread = [[f"served {place} line {n}" for n in range(place, lines, connections)] for place in range(connections)]
    await asyncio.gather(*(connection(address, share, told) for share in spread))


def judged(book: str, acknowledged: list[str]) -> dict[str, int]:
    """How many acknowledged lines are not in the book, stand there twice, and how many nobody acknowledged."""
    standing: Counter[str] = Counter()
    with memorybook.open(book, config=Config(backend="scan")) as memory:
        for info in memory.documents():
            text = memory.document(info.path).text
            standing.update(line.split(" ", 2)[2] for line in text.split("\n") if " line " in line)
    known = set(acknowledged)
    return {
        "lost": sum(standing[line] == 0 for line in known),
        "twice": sum(standing[line] > 1 for line in known),
        "not_acknowledged": len(standing.keys() - known),
    }


def quantiles(seconds: list[float]) -> dict[str, float]:
    """Of the time that an answer took, in milliseconds."""
    ordered = sorted(seconds) or [0.0]
    return {
        name: round(ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000, 1)
        for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0))
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--lines", type=int, default=10_000)
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--writers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--direct", metavar="BOOK", help=argparse.SUPPRESS)
    parser.add_argument("--name", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.direct:
        direct(options.direct, options.name, options.lines)
        return
    with tempfile.TemporaryDirectory() as folder:
        book = str(Path(folder) / "book")
        print(
            json.dumps(measured(options.lines, options.connections, options.writers, options.threads, book), indent=1)
        )


if __name__ == "__main__":
    main()
