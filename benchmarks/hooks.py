"""What an event costs an agent's host: whole processes of the hook, in turn with `python -c pass`.

Usage: python benchmarks/hooks.py [--passages 1000] [--runs 41] [--out DIR]

The commands are those that `memorybook hook install` writes for Claude Code, without the one that takes the spool in
(it goes on by itself), and the same by the name that plugins call. Milliseconds from the start of the process to its
end; ratios are the median of those of the pairs. Exits with 2 where `memorybook-hook` is not installed.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import uuid4

import memorybook
from benchmarks import corpus, measure
from memorybook.hooks import hosts

HOST = "claude-code"
BARE = (sys.executable, "-c", "pass")


def events(folder: Path) -> Mapping[str, Mapping[str, Mapping[str, object]]]:
    """What the host gives to each event, by the words of the table."""
    said = {"session_id": "5e5510", "transcript_path": str(folder / "talk.jsonl"), "cwd": str(folder)}
    return {
        "Stop": {"an event that is noted": {**said, "hook_event_name": "Stop"}},
        "SessionStart": {
            "a session that begins": {**said, "hook_event_name": "SessionStart", "source": "startup"},
            "an old session that is resumed": {**said, "hook_event_name": "SessionStart", "source": "resume"},
        },
        "UserPromptSubmit": {
            "a prompt": {**said, "hook_event_name": "UserPromptSubmit", "prompt": corpus.questions(100, 1)[0].text}
        },
    }


def fill(book: Path, passages: int) -> None:
    """A book of as many notes, with every vector made."""
    with memorybook.open(str(book)) as memory:
        for number in range(passages):
            memory.append(corpus.passage(number).text)
        memory.rebuild()


def measured(folder: Path, runs: int) -> dict[str, dict[str, object]]:
    """The figures of each event, as installed and by its name."""
    named = shutil.which("memorybook-hook", path=os.path.dirname(sys.executable)) or ""
    found: dict[str, dict[str, object]] = {}
    for event, inputs in events(folder).items():
        installed = shlex.split(hosts.hook_command(HOST, event, str(folder / "book"), ingest=False))
        by_name = [named, event, "--host", HOST, "--book", str(folder / "book")]
        for told, given in inputs.items():
            found[told] = {
                "installed": compared(installed, folder, given, runs).json(),
                "by_name": compared(by_name, folder, given, runs).json(),
            }
    return found


def compared(command: Sequence[str], folder: Path, given: Mapping[str, object], runs: int) -> measure.Timing:
    """A hook's whole process in turn with a bare interpreter's, after one of each that does not count.

    Each is of another session: the same prompt of one would be answered once.
    """
    path = folder / "given.json"
    pairs = []
    for _ in range(runs + 1):
        path.write_text(json.dumps({**given, "session_id": str(uuid4())}), encoding="utf-8")
        pairs.append((measure.process_ms(command, str(path)), measure.process_ms(BARE)))
    return measure.timing([ours for ours, _ in pairs[1:]], [bare for _, bare in pairs[1:]])


def main(arguments: Sequence[str] | None = None) -> int:
    flags = argparse.ArgumentParser(description="What an event costs an agent's host.")
    flags.add_argument("--passages", type=int, default=1000)
    flags.add_argument("--runs", type=int, default=41)
    measure.add_output(flags, "hooks")
    options = measure.parsed(flags, arguments, "hooks")
    if not shutil.which("memorybook-hook", path=os.path.dirname(sys.executable)):
        measure.say("memorybook-hook is not installed beside this Python: pip install memorybook")
        return 2
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        fill(folder / "book", options.passages)
        found = measured(folder, options.runs)
    facts = measure.machine()
    figures = {"machine": facts, "passages": options.passages, "events": found}
    measure.save(options, "hooks", figures)
    measure.publish(options, "hooks", told(found) + "\n" + measure.where_and_when(facts), ())
    return 0


def told(found: Mapping[str, Mapping[str, object]]) -> str:
    """The table: milliseconds, and times `python -c pass`."""
    ways = ("installed", "by_name")
    rows = [[event, *(_cell(figures[way]) for way in ways)] for event, figures in found.items()]
    return measure.table(("", "as installed", "by its name, as in plugins"), rows)


def _cell(timing: object) -> str:
    assert isinstance(timing, Mapping)
    return f"{timing['p50']:.3g} ms ({timing['ratio']:.2g} ×)"


if __name__ == "__main__":
    sys.exit(main())
