"""How fast the page is on a large book and on an empty one, in a real Chromium, and how much it loads.

Usage: python benchmarks/page.py [--entries 10000] [--sessions 1000] [--rounds 5]

Each view is opened `--rounds` times in a context of its own, in turn on the large and on the empty book. Milliseconds
are the median time from the request until the page's `load` event and its first frame after it, as the browser measures
them, `ratio` the median over pairs of visits. `kB` is all that the page loads without a cache.

Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

if not __package__:  # run as a file: `benchmarks` is a package of the checkout
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

import memorybook
from memorybook.config.settings import Config, ServerSettings
from memorybook.http import uvicorn_server
from memorybook.http.access import Logins, Tokens
from memorybook.http.app import build_app
from memorybook.http.books import Books
from memorybook.http.page.page_routes import VIEWS
from memorybook.http.server_state import MemoryState
from memorybook.model import Session, Turn

NOUNS = "river stone cloud window paper garden bridge market engine harbour copper silver pocket candle".split()
NOW = datetime.now(UTC).replace(microsecond=0)


def large(root: Path, *, entries: int = 10_000, sessions: int = 1_000) -> Path:
    """Make a book of that many entries, and sessions of three turns; the same but for today's date."""
    drawn, parts = random.Random(1), ["# Agent Memory\n", "## Active Memories\n"]
    for number in range(entries):
        day = (NOW - timedelta(days=number % 300)).date()
        words = drawn.sample(NOUNS, 2)
        parts.append(f"### [p{number:05d}] fact | 0.60 | {day} | 1")
        parts.append(f"The {words[0]} is kept beside the {words[1]}, number {number}.")
        parts.append(f"<!-- score: 0.6; scored: {day}; created: {day}T10:00:00Z; trust: user -->\n")
    root.mkdir(parents=True, exist_ok=True)
    (root / "MEMORY.md").write_text("\n".join(parts), encoding="utf-8")
    with memorybook.open(root, config=Config(backend="sqlite_fts"), door="cli") as memory:
        for number in range(sessions):
            when = NOW - timedelta(hours=7 * number)
            name, id = f"talk {number}", f"00000000-0000-4000-8000-{number:012d}"
            said = [(f"t{place}", f"Message {place} of {name}.", place) for place in range(3)]
            turns = [
                Turn(session=id, id=turn, role="user", text=text, time=when, position=place)
                for turn, text, place in said
            ]
            memory.book.transcripts.append(Session(uuid=id, name=name, created=when), turns)
        memory.sync()
    return root


@contextmanager
def served(root: Path, backend: Literal["sqlite_fts", "sqlite_hybrid"] = "sqlite_fts") -> Iterator[tuple[str, Logins]]:
    """Serve a book in a thread; yields its address and the logins."""
    settings = ServerSettings(port=0, rate=0.0)
    config = Config(backend=backend, server=settings)
    books = Books(config, str(root), many=False, tokens=Tokens(MemoryState(), "x" * 16))
    logins, listening = Logins(books.tokens.state), uvicorn_server.listen(settings)
    server = uvicorn_server.server_of(build_app(books, logins), settings)
    thread = threading.Thread(target=lambda: server.run(sockets=[listening]))
    thread.start()
    try:
        yield uvicorn_server.url_of(listening, settings), logins
    finally:
        server.should_exit = True
        thread.join()


def opened(browser: Any, url: str, logins: Logins, **more: Any) -> Any:
    """Return a context that is logged in and sees its own book."""
    context = browser.new_context(reduced_motion="reduce", **more)
    page = context.new_page()
    page.goto(f"{url}/?token={logins.link()}")
    page.close()
    context.add_cookies([{"name": "own", "value": "yes", "url": url}])
    return context


def visited(browser: Any, url: str, logins: Logins, place: str) -> tuple[float, int]:
    """Return the milliseconds until a view is usable, and the bytes that it loads."""
    context = opened(browser, url, logins)
    page, loaded = context.new_page(), list[Any]()
    page.on("response", lambda response: loaded.append(response))
    page.goto(url + place, wait_until="load")
    timing = page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => done(performance.now())))"
    )  # since the navigation began
    size = sum(len(each.body()) for each in loaded if each.ok and not each.url.endswith("/live"))
    context.close()
    return float(timing), size


def measured(folder: Path, entries: int, sessions: int, rounds: int) -> dict[str, Any]:
    """Open every view on both books in turn."""
    from playwright.sync_api import sync_playwright

    big, none = large(folder / "large" / "book", entries=entries, sessions=sessions), folder / "empty" / "book"
    none.parent.mkdir()
    places = [view.path for view in VIEWS if "{" not in view.path]
    places += ["/?q=river+stone", "/search?q=river+stone", "/memories?q=4711", "/memories?page=100"]
    places += ["/conversations?page=16", "/forget?query=river"]
    with sync_playwright() as playwright, served(big) as one, served(none) as other:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        shown: dict[str, Any] = {}
        for place in places:
            times: tuple[list[float], list[float]] = ([], [])
            size = 0
            for _ in range(rounds + 1):  # the first one opens the book
                for number, (url, logins) in enumerate((one, other)):
                    took, loaded = visited(browser, url, logins, place)
                    times[number].append(took)
                    size = max(size, loaded)
            ms = [statistics.median(each[1:]) for each in times]
            ratio = statistics.median(one / other for one, other in list(zip(*times, strict=True))[1:])
            shown[place] = {"ms": round(ms[0]), "empty_ms": round(ms[1]), "ratio": round(ratio, 2)}
            shown[place]["kB"] = round(size / 1000, 1)
        browser.close()
    return shown


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--sessions", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        views = measured(Path(folder), options.entries, options.sessions, options.rounds)
    print(json.dumps({"views": views}, indent=1))


if __name__ == "__main__":
    main()
