"""The verb demo: two sessions a week apart, each command in its own process.

Nothing is made up: the conversations carry their own dates, and what is shown is what the commands returned.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, date, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import memorybook
from memorybook.cli import show
from memorybook.cli.call import command
from memorybook.config.settings import Config
from memorybook.errors import Conflict, Unavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memorybook.cli.call import Call
    from memorybook.memory import Memory

# Put together here, so that no scanner takes the example for a key that leaked.
SECRET = "sk-" + "proj-Zq83hTnW0vLxKd52RmYb71CsEuPf64Ga"
"""The key that the engineer pastes: it must not stand anywhere in the book."""


def lines(part: int) -> list[str]:
    """Return a part of `demo.txt`: the first session and the second, `role: text`, or the questions."""
    with open(os.path.join(os.path.dirname(__file__), "demo.txt"), encoding="utf-8") as file:
        return file.read().replace("{secret}", SECRET).split("\n\n")[part].strip().split("\n")


@command("demo")
def _demo(call: Call) -> dict[str, Any] | None:
    keep = call.options.keep
    if keep is not None and os.path.exists(keep) and (not os.path.isdir(keep) or os.listdir(keep)):
        raise Conflict(f"{keep!r} is not empty: give a new directory to --keep")
    page = None if call.options.json else show.Page(call.options)
    with tempfile.TemporaryDirectory(prefix="memorybook-demo-") as folder:
        book = os.path.abspath(keep) if keep else os.path.join(folder, "book")
        story = {"book": book, "kept": keep is not None, **_Stage(folder, book, page).play()}
    if page is None:
        return story
    if keep:
        page.line()
        page.line("The book is kept in ", ("place", book))
    return None


class _Stage:
    def __init__(self, folder: str, book: str, page: show.Page | None) -> None:
        self.folder = folder
        self.book = book
        self.page = page

    def play(self) -> dict[str, Any]:
        """Play all steps, each told on the page as it happens; return the answers as one document."""
        today = datetime.now(UTC).replace(hour=9, minute=0, second=0, microsecond=0)
        self.title("Last week: a first session")
        sessions = [self.session("week-1", lines(0), today - timedelta(days=8))]
        self.title("Yesterday: a second one, in a new process that knows nothing but the book")
        sessions.append(self.session("week-2", lines(1), today - timedelta(days=1)))
        self.title("What was remembered")
        entries = self.run("list")["entries"]
        self.title("MEMORY.md, as the book has it: yours to read and edit")
        memory = self.run("get", "MEMORY.md")["text"]
        self.title("Today: questions, each to a new process")
        questions = lines(2)
        searches = [self.run("search", query, "-n", "2") for query in questions]
        self.title("How a memory fades when nobody uses it")
        files = (file for file in Path(self.book).rglob("*") if file.is_file())
        return {
            "sessions": sessions,
            "entries": entries,
            "memory_md": memory,
            "secret_masked": not any(SECRET.encode() in file.read_bytes() for file in files),
            "searches": [{"query": q, **answer} for q, answer in zip(questions, searches, strict=True)],
            "fading": self.fading(entries, today.date()),
        }

    def session(self, name: str, turns: Sequence[str], start: datetime) -> dict[str, Any]:
        """Write the conversation down, a minute a turn, and import it."""
        path = os.path.join(self.folder, f"{name}.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            for number, (role, _, text) in enumerate(turn.partition(": ") for turn in turns):
                time = (start + timedelta(minutes=number)).isoformat().replace("+00:00", "Z")
                said = {"role": role, "content": text, "timestamp": time, "session": name}
                file.write(json.dumps(said, ensure_ascii=False) + "\n")
                if self.page and role == "user":
                    self.page.text(f"{role}: {text}".replace(SECRET, SECRET[:8] + "…"), "  ")
        return self.run("import", path)

    def title(self, text: str) -> None:
        if self.page:
            self.page.line()
            self.page.line(("strong", f"== {text}"))

    def run(self, *command: str) -> dict[str, Any]:
        """Run `memorybook COMMAND` in a process of its own, showing what a person would see; returns its answer.

        The process has default settings and this installation.
        """
        package = os.path.dirname(os.path.dirname(os.path.abspath(memorybook.__file__)))
        env = {name: value for name, value in os.environ.items() if not name.startswith("MEMORYBOOK_")}
        path = os.pathsep.join(one for one in (package, env.get("PYTHONPATH", "")) if one)
        done = subprocess.run(  # noqa: S603 - our own program, with our own arguments
            [sys.executable, "-m", "memorybook", "--json", "--book", self.book, *command],
            cwd=self.folder,
            env=env | {"XDG_CONFIG_HOME": self.folder, "PYTHONPATH": path},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        if done.returncode:
            raise Unavailable(f"the demo's command {' '.join(command)!r} failed: {done.stderr.strip()}")
        answer: dict[str, Any] = json.loads(done.stdout)
        if self.page:
            words = (f'"{word}"' if " " in word else os.path.basename(word) for word in command)
            self.page.line(("faint", "$ memorybook " + " ".join(words)))
            show.answer(command[0], answer, self.page)
            sys.stdout.flush()
        return answer

    def fading(self, entries: Sequence[dict[str, Any]], today: date) -> list[dict[str, Any]]:
        """Return the strongest entry's score week by week, as it fades."""
        from memorybook.book.fade import ARCHIVE_BELOW, PROMPT_FROM, REMOVE_BELOW, fade

        if not entries:
            return []
        entry = entries[0]
        activated = date.fromisoformat(entry["last_activated"])
        rows = []
        for weeks in (0, 1, 2, 4, 8, 13, 26, 39, 52):
            later = today + timedelta(weeks=weeks)
            score = fade(entry["score"], scored=today, activated=activated, today=later)
            bounds = ((PROMPT_FROM, "in every prompt"), (ARCHIVE_BELOW, "found by search"), (REMOVE_BELOW, "archived"))
            state = next((words for least, words in bounds if score >= least), "gone from the documents")
            rows.append({"id": entry["id"], "weeks": weeks, "score": round(score, 3), "state": state})
        if self.page:
            self.page.line(self.page.clipped(entry["text"], 0))
            for row in rows:
                bar = "█" * round(row["score"] * 30)
                self.page.line(
                    f"week {row['weeks']:>2}  {row['score']:.2f} ", ("good", f"{bar:<30}"), f" {row['state']}"
                )
        return rows


@cache
def demo_book() -> Memory:
    """Return a memory of the two sessions, in a folder of this process; made at the first call."""
    folder = tempfile.mkdtemp(prefix="memorybook-demo-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    book = os.path.join(folder, "demo-book")
    now = datetime.now(UTC).replace(microsecond=0)
    for part, (name, days) in enumerate((("week-1", 8), ("week-2", 1))):
        when = now - timedelta(days=days)
        said = [line.partition(": ") for line in lines(part)]
        messages = [
            {"role": role, "content": text, "timestamp": (when + timedelta(minutes=place)).isoformat()}
            for place, (role, _, text) in enumerate(said)
        ]
        with memorybook.open(book, config=Config(), door="cli", clock=partial(_at, when), missing_ok=True) as memory:
            memory.process_session_end(messages, name)
    memory = memorybook.open(book, config=Config(), door="http")
    atexit.register(memory.close)
    return memory


def _at(when: datetime) -> datetime:
    return when
