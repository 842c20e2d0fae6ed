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
from multiprocessing import get_context
from pathlib import Path

SYLLABLES = "ba ce di fo gu ha ki lo mu ne pa ri so tu ve wa ze bro cla dre fla gri plo sta tre".split()
HAN = "用户喜欢简洁代码风格会议预算部署咖啡旅行医生学校面包冬天服务器截止博物馆自行车项目数据接口测试上线周末孩子"
VOCABULARY = 20_000

ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Without the switch that makes every process compile every module anew."""


def word(number: int) -> str:
    """The word of that rank: pronounceable, and short where it is frequent, as in a language."""
    text, rest = "", number
    while True:
        rest, place = divmod(rest, len(SYLLABLES))
        text += SYLLABLES[place]
        if not rest:
            return text


def sentence(rnd: random.Random) -> str:
    """Words by Zipf's law, as real text has them; one sentence in five is Chinese."""
    if rnd.random() < 0.2:
        return "".join(rnd.choices(HAN, k=rnd.randint(10, 30))) + "。"
    ranks = (int(VOCABULARY ** rnd.random()) for _ in range(rnd.randint(8, 40)))
    return " ".join(word(rank) for rank in ranks) + f" {rnd.randint(1, 9999)}."


def fill(root: str, entries: int, turns: int) -> None:
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
    import memorybook

    with memorybook.open(root) as memory:
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
    parser.add_argument("--query", help="default: a question of twelve words, of the frequent and the rare")
    arguments = parser.parse_args()
    question = "When did Ann " + " ".join(word(rank) for rank in (3, 40, 200, 700, 1500, 4000, 9000, 15000)) + "?"
    with tempfile.TemporaryDirectory() as folder:
        root = str(Path(folder) / "book")
        # in a process of its own: a child's peak memory is never less than its parent's was
        filling = get_context("spawn").Process(target=fill, args=(root, arguments.entries, arguments.turns))
        filling.start()
        filling.join()
        search = [
            str(Path(sys.executable).with_name("memorybook")),
            "--book",
            root,
            "--set",
            f"backend={arguments.backend}",
        ]
        search += ["search", arguments.query or question]
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
