"""A whole `memorybook search` process against bare Python: start to answer, and peak memory.

Usage: python benchmarks/cold.py [--entries 1000] [--turns 10000] [--runs 15]

Both commands run in turn, pair by pair, so that a machine that gets slower slows both. Prints one
JSON object; `ratio` is the median of the pairs' ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import memorybook
from memorybook.config import Config

WORDS = (
    "river garden python deploy budget coffee meeting guitar travel doctor school bread winter paint server "
    "deadline museum bicycle letter camera forest window recipe market signal engine harbor lesson pocket thunder"
).split()
CHINESE = "用户 喜欢 简洁 代码 风格 会议 预算 部署 咖啡 旅行 医生 学校 面包 冬天 服务器 截止 博物馆 自行车".split()

ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Without the switch that makes every process compile every module anew."""


def sentence(rnd: random.Random) -> str:
    if rnd.random() < 0.2:
        return "".join(rnd.choices(CHINESE, k=10)) + "。"
    return " ".join(rnd.choices(WORDS, k=rnd.randint(8, 25))) + f" {rnd.randint(1, 9999)}."


def fill(root: str, entries: int, turns: int, backend: str) -> None:
    """A book of that size, made through the public verbs."""
    rnd = random.Random(7)
    memory_md = ["# Agent Memory", "", "## Active Memories", ""]
    for number in range(entries):
        memory_md += [f"### [e{number:05d}] fact | 0.60 | 2026-02-20 | 1", f"{sentence(rnd)} ({number})", ""]
    os.makedirs(root)
    Path(root, "MEMORY.md").write_text("\n".join(memory_md), encoding="utf-8")
    chat = Path(root).with_suffix(".jsonl")
    with chat.open("w", encoding="utf-8") as file:
        for number in range(turns):
            turn = {
                "id": f"t{number}",
                "session": f"s{number // 40}",
                "speaker": rnd.choice(("Ann", "Bob")),
                "content": sentence(rnd),
                "timestamp": 1_700_000_000 + number * 600,
            }
            file.write(json.dumps(turn, ensure_ascii=False) + "\n")
    with memorybook.open(root, config=Config(backend=backend)) as memory:
        memory.import_file(str(chat))


def once(command: list[str]) -> tuple[float, float]:
    """Seconds and peak memory (MB) of one whole process."""
    started = time.perf_counter()
    child = os.posix_spawn(
        command[0], command, ENVIRONMENT, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    )
    _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"failed: {command}")
    return time.perf_counter() - started, usage.ru_maxrss / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--entries", type=int, default=1000)
    parser.add_argument("--turns", type=int, default=10000)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--backend", default="sqlite_hybrid")
    parser.add_argument("--query", default="when did Ann deploy the server in winter")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = str(Path(folder) / "book")
        fill(root, arguments.entries, arguments.turns, arguments.backend)
        search = [sys.executable, "-m", "memorybook", "--book", root, "--set", f"backend={arguments.backend}"]
        search += ["search", arguments.query]
        bare = [sys.executable, "-c", "pass"]
        once(search), once(bare)
        pairs = [(once(search), once(bare)) for _ in range(arguments.runs)]
    print(
        json.dumps(
            {
                "entries": arguments.entries,
                "turns": arguments.turns,
                "backend": arguments.backend,
                "search_ms": round(1000 * statistics.median(s for (s, _), _ in pairs), 1),
                "bare_ms": round(1000 * statistics.median(b for _, (b, _) in pairs), 1),
                "ratio": round(statistics.median(s / b for (s, _), (b, _) in pairs), 2),
                "peak_mb": round(max(m for (_, m), _ in pairs), 1),
                "bare_peak_mb": round(max(m for _, (_, m) in pairs), 1),
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
