"""Writers that are killed, and a person's editor that saves between two agents, each in its own process."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from memorybook.errors import Conflict, MissingDocument
from memorybook.storage import target
from memorybook.storage.directory import DirectoryDocuments

WRITER = """
import os, sys
from memorybook.errors import Conflict, MissingDocument
from memorybook.storage.directory import DirectoryDocuments

root, worker, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
book = DirectoryDocuments(root)

def add(line):
    while True:
        try:
            try:
                text, revision, _ = book.read("MEMORY.md")
            except MissingDocument:
                text, revision = "# Agent Memory\\n<!-- Total entries: 0 -->\\n", None
            head, total, *lines = [*text.splitlines(), "", ""]  # a save may be half-way
            lines = lines[:-2]
            lines.insert(len(lines) // 2, line)
            total = f"<!-- Total entries: {len(lines)} -->"
            return book.write("MEMORY.md", "".join(f"{each}\\n" for each in [head, total, *lines]), expect=revision)
        except Conflict:
            pass

for number in range(count):
    line = f"- 2026-02-24T10:12:33Z [fact] agent {worker} wrote {number}"
    book.append("daily/2026-02-24.md", line)
    os.write(1, f"daily/2026-02-24.md\\t{line}\\n".encode())
    add(line)
    os.write(1, f"MEMORY.md\\t{line}\\n".encode())
"""


def start(root: Path, worker: str, count: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", WRITER, str(root), worker, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0)


def acknowledged(writer: subprocess.Popen[bytes]) -> list[tuple[str, str]]:
    """What it said is stored: (path, line), in order; whole lines only."""
    output, _ = writer.communicate(timeout=60)
    return [(path, line) for path, _, line in (each.partition("\t") for each in output.decode().split("\n")[:-1])]


def test_killed_writers_lose_nothing_they_acknowledged_and_leave_nothing_half_written(tmp_path: Path) -> None:
    chance = random.Random(7)
    root = tmp_path / "book"
    stored: list[tuple[str, str]] = []
    kills = 0
    for round_ in range(6):
        writers = [start(root, f"{round_}{name}", 10**6) for name in "ab"]
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.read(1) == b"d"  # the first line is on its way
        time.sleep(chance.uniform(0.02, 0.15))
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            kills += 1
        for writer in writers:
            (path, line), *others = acknowledged(writer)
            stored += [(f"d{path}", line), *others]

    book = DirectoryDocuments(str(root))
    book.reconcile_all()
    for path in ("daily/2026-02-24.md", "MEMORY.md"):
        lines = book.read(path).text.split("\n")
        notes = [line for line in lines if line.startswith("- ")]
        promised = [line for where, line in stored if where == path]
        assert set(promised) <= set(notes)
        assert len(notes) == len(set(notes)) <= len(promised) + kills
        assert lines[-1] == ""
        assert all(line.startswith(("- 2026-02-24T10:12:33Z [fact] agent", "#", "<!--")) for line in lines[:-1])
    book.append("daily/2026-02-24.md", "still writable")


def save_by_rename(path: Path, text: str, pause: Callable[[], None]) -> None:
    new = path.with_name(f"{path.name}.new")
    new.write_text(text)
    pause()
    new.rename(path)


def save_like_vim(path: Path, text: str, pause: Callable[[], None]) -> None:
    backup = path.with_name(f"{path.name}~")
    path.rename(backup)
    pause()
    path.write_text(text)
    backup.unlink()


def save_in_place(path: Path, text: str, pause: Callable[[], None]) -> None:
    with open(path, "w") as file:
        pause()
        file.write(text[: len(text) // 2])
        file.flush()
        pause()
        file.write(text[len(text) // 2 :])


def edit(path: Path, number: int, save: Callable[[Path, str, Callable[[], None]], None], chance: random.Random) -> None:
    """Load the document, look at it for a while, take one line out and put one in, save."""
    lines = path.read_text().splitlines()
    time.sleep(chance.uniform(0, 0.05))
    lines = [line for line in lines if line != f"An old line that goes, number {number}"]
    lines.insert(chance.randint(3, len(lines)), f"The person wrote line number {number}")
    save(path, "".join(f"{line}\n" for line in lines), lambda: time.sleep(chance.uniform(0, 0.012)))
    time.sleep(chance.uniform(0, 0.03))


def play(
    root: Path, save: Callable[[Path, str, Callable[[], None]], None], edits: int, agents: int, seed: int = 1
) -> dict[str, int]:
    """Two agents and a person at once; returns how many lines of each kind are missing, or back from the dead."""
    chance = random.Random(seed)
    book = DirectoryDocuments(str(root))
    old = [f"An old line that {fate}, number {n}" for n in range(edits) for fate in ("stays", "goes")]
    book.write("MEMORY.md", "\n".join(["# Agent Memory", "<!-- Total entries: 0 -->", "", *old, ""]), expect=None)
    writers = [start(root, name, agents) for name in "ab"]
    for number in range(edits):
        edit(root / "MEMORY.md", number, save, chance)
    stored = [line for writer in writers for path, line in acknowledged(writer) if path == "MEMORY.md"]
    book.reconcile_all()
    lines = book.read("MEMORY.md").text.splitlines()
    return {
        "agents' lines": len(stored),
        "agents' lines lost": len(set(stored) - set(lines)),
        "person's lines lost": sum(f"The person wrote line number {n}" not in lines for n in range(edits)),
        "old lines lost": sum(f"An old line that stays, number {n}" not in lines for n in range(edits)),
        "removed lines back": sum(f"An old line that goes, number {n}" in lines for n in range(edits)),
        "lines twice": len(lines) - len(set(lines)),
    }


@pytest.mark.parametrize("save", [save_by_rename, save_like_vim, save_in_place])
def test_a_persons_editor_and_two_agents_lose_nothing_of_each_other(
    tmp_path: Path, save: Callable[[Path, str, Callable[[], None]], None]
) -> None:
    assert play(tmp_path / "book", save, edits=12, agents=12) == {
        "agents' lines": 24, "agents' lines lost": 0, "person's lines lost": 0, "old lines lost": 0,
        "removed lines back": 0, "lines twice": 0,
    }  # fmt: skip


def test_readers_see_whole_documents_while_writers_write(tmp_path: Path) -> None:
    root = tmp_path / "book"
    book = DirectoryDocuments(str(root))
    seen = 0
    while seen <= 20:  # a machine that has much else to do gives a reader few turns while one writer is at work
        writer = start(root, "a", 60)
        while writer.poll() is None:
            try:
                text = book.read("MEMORY.md").text
            except MissingDocument:
                continue
            _, total, *lines = text.split("\n")
            assert total == f"<!-- Total entries: {len(lines) - 1} -->"
            seen += 1
        assert len(acknowledged(writer)) == 120


def test_a_child_that_was_forked_under_the_lock_does_not_hold_it(tmp_path: Path) -> None:
    book = DirectoryDocuments(str(tmp_path / "book"), lock_timeout=0.5)
    ready, go = os.pipe()
    with book.lock():
        child = os.fork()
        if child == 0:
            os.read(ready, 1)
            os._exit(0)
    book.append("a.md", "the lock is free again")
    os.write(go, b"x")
    assert os.waitpid(child, 0)[1] == 0
    os.close(ready)
    os.close(go)


# --- killed at any call of the system ------------------------------------------------------------------


class Killed(BaseException):
    """Ends a writer where it stands."""


class Killer:
    """Raises `Killed` before the call of the system that comes after `left` others; never while that is 0."""

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        self.left = 0
        for name in ("rename", "pwrite", "open", "write", "unlink", "fchmod", "chmod"):
            patched.setattr(os, name, self._counted(getattr(os, name)))
        patched.setattr(target, "_rename", self._counted(target._rename, after=True))
        patched.setattr("memorybook.storage.safe_open.sync", lambda descriptor: None)
        for name in ("_QUIET", "_QUIET_CUT", "_PATIENCE", "_PATIENCE_CUT"):
            patched.setattr(target, name, 0.0)

    def _counted(self, real: Callable[..., Any], *, after: bool = False) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            self._count()
            done = real(*given, **named)
            if after:
                self._count()
            return done

        return call

    def _count(self) -> None:
        if self.left:
            self.left -= 1
            if not self.left:
                raise Killed


HAND, AGENT = "- the person typed line number {} by hand\n", "- an agent wrote down fact number {}, which is to stay\n"


def write_killed(root: Path, line: str, killer: Killer, left: int) -> bool:
    """Add a line as an agent does; whether it was told that it is stored."""
    book = DirectoryDocuments(str(root))
    killer.left = left
    try:
        for _ in range(5):
            with suppress(Conflict):
                found = book.read("MEMORY.md")
                text = found.text.replace("## Active\n", f"## Active\n{line}", 1)
                book.write("MEMORY.md", text, expect=found.revision)
                return True
    except Killed:
        return False
    finally:
        killer.left = 0
    return False


def test_what_was_stored_stays_wherever_a_writer_is_killed_and_whatever_an_editor_had_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killer = Killer(monkeypatch)
    for seed in range(250):
        chance, root = random.Random(seed), tmp_path / str(seed)
        file, stored, typed = root / "MEMORY.md", list[str](), list[str]()
        head = "# Agent Memory\n\n## Preferences\n\n## Active\nthe last line of the whole document\n"
        DirectoryDocuments(str(root)).write("MEMORY.md", head, expect=None)
        loaded = head
        for number in range(chance.randint(5, 40)):
            what = chance.random()
            if what < 0.25:
                loaded = file.read_text()
            elif what < 0.5:
                typed.append(HAND.format(number))
                loaded = loaded.replace("## Preferences\n", f"## Preferences\n{typed[-1]}", 1)
                if chance.random() < 0.5:
                    save_by_rename(file, loaded, lambda: None)
                else:
                    file.write_text(loaded)
            elif write_killed(root, AGENT.format(number), killer, chance.choice([0, chance.randint(1, 60)])):
                stored.append(AGENT.format(number))
        book = DirectoryDocuments(str(root))
        book.reconcile("MEMORY.md")
        text = book.read("MEMORY.md").text
        assert [line for line in (*stored, *typed) if text.count(line) != 1] == [], seed
