"""How fast conversations come in, by rules, from `--turns` turns: turns per second, by stage, beside SQLite by hand.

Usage: python benchmarks/imports.py [--turns 100k] [--data FOLDER] [--kill]

`corpus` is generated text (`benchmarks/corpus.py`); `locomo` are the five conversations in `FOLDER/locomo`, again and
again under new names. Each is imported by `import_file` in a process of its own. Seconds are of the processor, by stage
of whoever imports, and for the thread that makes vectors meanwhile. `by_hand` is the same rows inserted into a table
and a full-text table of SQLite, a transaction for each session, in the same process after it. `silent_s` is the longest
time between two reports of progress, and `until_vectors_s` what it takes from the end until the last vector is there.
`--kill` imports once more, ending the process (SIGKILL) again and again, and compares what both books hold.

Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import wraps
from itertools import groupby, pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

if not __package__:  # run as a file: `benchmarks` is a package of the checkout
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from benchmarks import corpus, measure
from benchmarks.books import finish, opened

STAGES = {
    "turns": ("exchange.import_files.store", "exchange.import_files.store_exported"),
    "rules": ("exchange.import_files.looked_through",),
    "matching": ("sessions.memorize.planned",),
    "summaries": ("sessions.memorize._group", "sessions.memorize.mirror"),
    "writing": ("book.book.Book.apply_each", "storage.journal.SqliteJournal.mark_memorized"),
    "index": ("book.book.Book.refresh", "book.book.Book.sync"),
}
"""What the seconds of a stage are spent in, without what is another stage's; `reading` is the rest."""


@contextmanager
def staged() -> Iterator[dict[str, float]]:
    """Measure the stages; yields seconds of the thread's processor by stage, filled in meanwhile."""
    spent, running = dict.fromkeys(("reading", *STAGES), 0.0), ["reading"]
    put_back = list[tuple[Any, str, Any]]()
    last = [time.thread_time()]

    def switch(stage: str | None) -> None:
        now = time.thread_time()
        spent[running[-1]] += now - last[0]
        last[0] = now
        if stage is None:
            running.pop()
        else:
            running.append(stage)

    def timed(stage: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(call)
        def inner(*args: Any, **kwargs: Any) -> Any:
            switch(stage)
            try:
                return call(*args, **kwargs)
            finally:
                switch(None)

        return inner

    for stage, names in STAGES.items():
        for name in names:
            owner, attribute = _found(name)
            whole = getattr(owner, attribute)
            setattr(owner, attribute, timed(stage, whole))
            put_back.append((owner, attribute, whole))
    try:
        yield spent
    finally:
        switch(None)
        for each in put_back:
            setattr(*each)


def _found(name: str) -> tuple[Any, str]:
    """The module or class of a name below `memorybook`, and its attribute."""
    from importlib import import_module

    path, _, attribute = name.rpartition(".")
    try:
        return import_module(f"memorybook.{path}"), attribute
    except ModuleNotFoundError:
        path, _, kind = path.rpartition(".")
        return getattr(import_module(f"memorybook.{path}"), kind), attribute


def write_locomo(folder: Path, turns: int, data: Path) -> list[Path]:
    """LoCoMo's conversations under names of their own, until there are that many turns."""
    folder.mkdir(parents=True)
    known = {path.stem: path.read_text(encoding="utf-8").splitlines() for path in sorted(data.glob("locomo/conv-*"))}
    files, left, copy = list[Path](), turns, 0
    while left > 0:
        for name, lines in known.items():
            said = [json.loads(line) for line in lines[:left]]
            left -= len(said)
            if not said:
                break
            rows = [{**one, "session": f"{name} {copy} {one['session']}"} for one in said]
            files.append(folder / f"{copy:03d}-{name}.jsonl")
            files[-1].write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        copy += 1
    return files


def by_hand(folder: Path, files: list[Path]) -> float:
    """Seconds of the processor that SQLite takes for the same rows, searchable by word."""
    started = time.process_time()
    with closing(sqlite3.connect(folder / "by_hand.sqlite")) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE turns (id TEXT, session TEXT, speaker TEXT, time TEXT, text TEXT)")
        db.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
        for path in files:
            with path.open(encoding="utf-8") as file:
                for _, rows in groupby(map(json.loads, file), key=lambda row: row["session"]):
                    said = list(rows)
                    with db:
                        names = ("id", "session", "speaker", "timestamp", "content")
                        db.executemany(
                            "INSERT INTO turns VALUES (?, ?, ?, ?, ?)", [[row[name] for name in names] for row in said]
                        )
                        db.executemany("INSERT INTO words (text) VALUES (?)", [[row["content"]] for row in said])
    return time.process_time() - started


def imported(folder: Path, files: list[Path], turns: int) -> dict[str, Any]:
    """Import into a new book, and measure."""
    reports = [time.monotonic()]
    with opened(folder, {}) as memory:
        started, began = time.process_time(), time.monotonic()
        with staged() as spent:
            brought = memory.import_file(
                *map(str, files), progress=lambda done, total: reports.append(time.monotonic())
            )
        took, lasted = time.process_time() - started, time.monotonic() - began
        waiting = memory.status()["index"]["pending"]
        ended = time.process_time()
        finish(memory)
        vectors = time.process_time() - ended
    own = sum(spent.values())
    by_itself = by_hand(folder, files)
    return {
        "turns": brought.new_turns,
        "entries": brought.entries,
        "strengthened": brought.strengthened,
        "notes": brought.notes,
        "turns_per_s": round(turns / took),
        "by_hand_turns_per_s": round(turns / by_itself),
        "ratio_to_by_hand": round(took / by_itself, 1),
        "seconds": {**{name: round(each, 2) for name, each in spent.items()}, "vectors": round(took - own, 2)},
        "wall_s": round(lasted, 1),
        "silent_s": round(max(later - one for one, later in pairwise(reports)), 2),
        "pending_vectors": waiting,
        "until_vectors_s": round(vectors, 2),
    }


# --- killed ----------------------------------------------------------------------------------------


def killed(folder: Path, files: list[Path], whole: Path) -> dict[str, Any]:
    """Import, ending the process by SIGKILL after 2, 3, 5 … seconds, until it comes through; and compare."""
    patience, deaths = 2.0, 0
    while True:
        process = get_context("spawn").Process(target=_import, args=(folder, files))
        process.start()
        process.join(patience)
        if process.exitcode is not None:
            break
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
        patience, deaths = 1.5 * patience, deaths + 1
    one, other = held(folder), held(whole)
    counted = [{name: Counter(map(str, rows)) for name, rows in each.items()} for each in (one, other)]
    differing = {name: [*(rows - counted[1][name]), *(counted[1][name] - rows)] for name, rows in counted[0].items()}
    return {
        "deaths": deaths,
        "held": {name: len(rows) for name, rows in one.items()},
        "differing": {name: len(rows) for name, rows in differing.items()},
        "such_as": {name: rows[:6] for name, rows in differing.items()},
    }


def _import(folder: Path, files: list[Path]) -> None:
    with opened(folder, {}) as memory:
        memory.import_file(*map(str, files))


def held(folder: Path) -> dict[str, list[Any]]:
    """What a book holds: turns, entries with what took their place, notes and pages of sessions."""
    with opened(folder, {}) as memory:
        book = memory._on.book
        sessions = book.transcripts.sessions()
        entries = book.entries()
        called = {entry.id: entry.text for entry in entries}
        texts = {one.path: book.documents.read(one.path).text for one in book.documents.list()}
        return {
            "turns": sorted(
                (one.uuid, turn.id, turn.text) for one in sessions for turn in book.transcripts.turns(one.uuid)
            ),
            "entries": sorted(
                (one.text, one.source, one.hits, one.archived, called.get(one.superseded_by or "", ""))
                for one in entries
            ),
            "notes": sorted(
                line for path, text in texts.items() if path.startswith("daily/") for line in text.split("\n")
            ),
            "pages": sorted((path, text) for path, text in texts.items() if path.startswith("sessions/")),
        }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", default="100k")
    parser.add_argument("--data", type=Path, default=os.environ.get("MEMORYBOOK_DATA"))
    parser.add_argument("--only", choices=("corpus", "locomo"))
    parser.add_argument("--kill", action="store_true")
    given = parser.parse_args()
    turns = int(given.turns.lower().replace("k", "000"))
    report: dict[str, Any] = {}
    for name in ("corpus", "locomo") if given.only is None else (given.only,):
        if name == "locomo" and given.data is None:
            continue
        with tempfile.TemporaryDirectory() as place:
            folder, chats = Path(place), Path(place) / "chats"
            files = (
                corpus.write_chats(chats, turns) if name == "corpus" else write_locomo(chats, turns, Path(given.data))
            )
            (folder / "whole").mkdir()
            report[name] = measure.apart(imported, folder / "whole", files, turns)
            if given.kill:
                (folder / "killed").mkdir()
                report[name]["killed"] = killed(folder / "killed", files, folder / "whole")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
