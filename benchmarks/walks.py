"""How many of memorybook's files and functions four everyday calls pass through.

Usage: python benchmarks/walks.py [--list]

Counted are the modules of memorybook of which a function runs, and those functions; what only an import runs is left
out. The chat question is one line of a running chat, from the moment it is read until the next is asked for.
`--list` names the files.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, cast

import memorybook
from memorybook.cli import main as command_line
from memorybook.config.settings import Config
from memorybook.testing import ScriptedLLM

SOURCE = str(Path(memorybook.__file__).parent)
TALK = [
    {"role": "user", "content": "We keep the sources in the harbour repository."},
    {"role": "assistant", "content": "Noted."},
    {"role": "user", "content": "The release is on Friday, Ann signs it."},
    {"role": "assistant", "content": "I will remind you."},
]
FOUND = {
    "candidates": [{"content": "Ann signs the release.", "category": "fact", "importance": "high", "turns": ["m3"]}],
    "forget": [],
    "title": "Release",
    "summary": "Ann signs the release.",
    "decisions": [],
}


class Profile:
    """The functions of memorybook that run between `start` and `stop`, in this thread."""

    def __init__(self) -> None:
        self.seen: set[CodeType] = set()

    def start(self) -> None:
        """Profile from here on."""
        sys.setprofile(self._note)

    def stop(self) -> None:
        """Profile no more."""
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(SOURCE) and code not in self.seen and not _imports(frame):
            self.seen.add(code)


def _imports(frame: FrameType | None) -> bool:
    """Whether a frame runs because a module of memorybook is imported."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(SOURCE):
            return True
        frame = frame.f_back
    return False


def passed(work: Callable[[], Any]) -> set[CodeType]:
    """The functions that run while `work` is done."""
    profile = Profile()
    profile.start()
    try:
        work()
    finally:
        profile.stop()
    return profile.seen


class Typed:
    """Standard input with two lines, of which the second is profiled."""

    def __init__(self, profile: Profile, first: str, second: str) -> None:
        self.buffer = self
        self._profile, self._lines = profile, [first, second]

    def isatty(self) -> bool:
        """A pipe, so that no editor is started."""
        return False

    def readline(self, _: int) -> bytes:
        """The next line; starts the profile with the second, and stops it when one more is asked for."""
        self._profile.stop()
        if len(self._lines) == 1:
            self._profile.start()
        return f"{self._lines.pop(0)}\n".encode() if self._lines else b""


def walks(folder: str) -> dict[str, set[CodeType]]:
    """The functions that each of the four calls passes."""
    config = Config(vector_enabled=False)
    book = f"{folder}/book"
    found: dict[str, set[CodeType]] = {}
    with memorybook.open(book, config=config) as memory:
        memory.remember("The user likes oolong tea.")
        found["remember"] = passed(lambda: memory.remember("The office is on the fourth floor."))
    with memorybook.open(book, config=config, llm=ScriptedLLM([FOUND])) as memory:
        found["memorize four turns"] = passed(lambda: memory.process_session_end(TALK, "release"))
    command_line(["--book", book, "sync"])
    found["cold search"] = passed(lambda: command_line(["--book", book, "search", "what tea?"]))
    chat = Profile()
    sys.stdin = cast(Any, Typed(chat, "Hello.", "What did we say about the release last time?"))
    command_line(["--book", book, "chat"])
    found["chat question"] = chat.seen
    return found


def main() -> None:
    """Print a line for each walk."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="name the files")
    listed = parser.parse_args().list
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        found = walks(folder)
    for name, codes in found.items():
        files = sorted({code.co_filename.removeprefix(SOURCE).lstrip("/") for code in codes})
        print(f"{name:20} {len(files):4} files {len(codes):5} functions")
        for file in files if listed else ():
            print(f"    {file}")


if __name__ == "__main__":
    main()
