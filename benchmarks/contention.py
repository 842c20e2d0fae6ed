"""Two appenders, a person's editor and a process that is killed twenty times, all on one book: what is lost?

Usage: python benchmarks/contention.py [--notes 500] [--kills 20]

Every line that a process was told is written goes into its acknowledgement log, outside the book.
Afterwards each acknowledged line has to stand in the book exactly once, and the person's lines in
MEMORY.md too. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import memorybook

APPENDER = """
import sys, memorybook
root, name, count, log = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
with memorybook.open(root) as memory, open(log, "a", buffering=1) as acknowledged:
    for number in range(count):
        text = f"{name} writes down observation number {number}"
        answer = memory.append(text)
        if not answer.duplicate:
            acknowledged.write(text + "\\n")
"""

KILLED = """
import sys, os, memorybook
root, log = sys.argv[1], sys.argv[2]
print("begins", flush=True)
with memorybook.open(root) as memory, open(log, "a", buffering=1) as acknowledged:
    number = 0
    while True:
        text = f"mortal {os.getpid()} adds remark {number}"
        if not memory.append(text).duplicate:
            acknowledged.write(text + "\\n")
        entry = f"mortal {os.getpid()} remembers fact {number}"
        memory.remember(entry)
        acknowledged.write(entry + "\\n")
        number += 1
"""

KILLER = """
import random, signal, subprocess, sys, time
root, log, kills, script = sys.argv[1:]
rnd = random.Random(2)
for _ in range(int(kills)):
    victim = subprocess.Popen([sys.executable, "-c", script, root, log], stdout=subprocess.PIPE)
    victim.stdout.readline()  # it is about to open the book
    time.sleep(rnd.random() * 2)
    victim.send_signal(signal.SIGKILL)
    victim.wait()
"""


def edit_by_hand(path: Path, number: int, pause: float) -> str:
    """One save as an editor does it: load, think, write a new file, rename it over the old one."""
    text = path.read_text(encoding="utf-8")
    time.sleep(pause)
    line = f"- written by hand, line {number}"
    edited = text.replace("## Preferences\n", f"## Preferences\n{line}\n", 1)
    temporary = path.with_suffix(".md~")
    temporary.write_text(edited, encoding="utf-8")
    os.replace(temporary, path)
    return line


def start(script: str, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", script, *arguments])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--notes", type=int, default=500)
    parser.add_argument("--kills", type=int, default=20)
    arguments = parser.parse_args()
    rnd = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        root, log = str(Path(folder) / "book"), str(Path(folder) / "acknowledged")
        with memorybook.open(root) as memory:
            memory.init()
        document = Path(root) / "MEMORY.md"
        started = time.monotonic()
        writers = [start(APPENDER, root, name, str(arguments.notes), f"{log}.{name}") for name in ("alpha", "beta")]
        killer = start(KILLER, root, f"{log}.mortal", str(arguments.kills), KILLED)
        by_hand: list[str] = []
        while killer.poll() is None or any(writer.poll() is None for writer in writers):
            by_hand.append(edit_by_hand(document, len(by_hand), 0.01 + rnd.random() * 0.1))
            time.sleep(rnd.random() * 0.1)
        seconds = time.monotonic() - started
        print(json.dumps(report(root, log, by_hand, seconds)))
    return 0


def report(root: str, log: str, by_hand: list[str], seconds: float) -> dict[str, object]:
    """Counts: acknowledged lines, and how many of them stand in the book not at all or more than once."""
    acknowledged = [
        line
        for path in Path(log).parent.glob("acknowledged.*")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line
    ]
    with memorybook.open(root) as memory:
        memory.search("anything")
        pending = memory.status()["pending_operations"]
        warnings = memory.status()["warnings"]
    found: Counter[str] = Counter()
    wanted = {*acknowledged, *by_hand}
    for document in [*Path(root).glob("*.md"), *Path(root, "daily").glob("*.md")]:
        for line in document.read_text(encoding="utf-8").splitlines():
            for form in (line, line.partition("Z ")[2]):
                if form in wanted:
                    found[form] += 1
                    break
    return {
        "acknowledged": len(acknowledged),
        "lost": sum(found[line] == 0 for line in acknowledged),
        "doubled": sum(found[line] > 1 for line in acknowledged),
        "by_hand": len(by_hand),
        "by_hand_lost": sum(found[line] == 0 for line in by_hand),
        "pending_operations": pending,
        "warnings": len(warnings),
        "seconds": round(seconds, 1),
    }


if __name__ == "__main__":
    sys.exit(main())
