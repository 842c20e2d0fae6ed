"""How long it takes to memorize a session of n statements, by rules, in seconds of one processor.

Usage: python benchmarks/statements.py [--many 200 400 800 1600 3200] [--shapes orders chinese moves alike decisions]

`again` is a second session of 10,000 turns in which nothing is stated, after something was forgotten, as a multiple of
the same before. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable

import memorybook
from memorybook.memory import Memory

CHANCE = random.Random(1)


def word() -> str:
    """Three syllables."""
    return "".join(
        CHANCE.choice("ba be bi bo da de di do ka ke ki ko la le li lo na ne ni no".split()) for _ in range(3)
    )


def han() -> str:
    """Three characters."""
    return "".join(CHANCE.choice("山水火木金土日月星云风雨雪花草树鸟鱼虫石田河海江湖桥路车船门窗") for _ in range(3))


SHAPES: dict[str, Callable[[int], str]] = {
    "orders": lambda n: f"Please remember that the {word()} service keeps its {word()} in {word()} number {n}.",
    "chinese": lambda n: f"请记住：{han()}的{han()}放在{han()}第{n}号。",
    "moves": lambda n: f"I live in {word().title()} now.",
    "alike": lambda n: f"Remember: server {n} is in rack {n % 40} of the hall.",
    "decisions": lambda n: f"We decided to use {word()} for the {word()} of project {word()}.",
}


def turns(say: Callable[[int], str], many: int, day: int = 1) -> list[dict[str, str]]:
    """A session in which the user says all that, and an assistant as much, where nothing is stated."""
    return [
        {
            "id": f"{day}-{n}",
            "role": "user",
            "content": say(n),
            "time": f"2026-03-{day:02}T10:{n // 60 % 60:02}:{n % 60:02}Z",
        }
        for n in range(many)
    ]


def taken(memory: Memory, said: list[dict[str, str]], session: str) -> float:
    """Seconds of one processor that memorizing takes."""
    started = time.process_time()
    memory.process_session_end(said, session)
    return time.process_time() - started


def again() -> float:
    """See the head of this file."""

    def talk(day: int) -> list[dict[str, str]]:
        found = turns(lambda n: f"The {word()} went to the {word()}, and the {word()} said {word()} {n}.", 10_000, day)
        return [{**one, "role": ("assistant", "user")[n % 2]} for n, one in enumerate(found)]

    with tempfile.TemporaryDirectory() as folder, memorybook.open(f"{folder}/book") as memory:
        taken(memory, talk(1), "warm")
        before = taken(memory, talk(2), "before")
        memory.remember("Mira drinks green tea.")
        memory.forget(query="Mira drinks green tea")
        return taken(memory, talk(3), "after") / before


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--many", nargs="+", type=int, default=[200, 400, 800, 1600, 3200])
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    given = parser.parse_args()
    report: dict[str, dict[str, float]] = {}
    for shape in given.shapes:
        report[shape] = {}
        for many in given.many:
            with tempfile.TemporaryDirectory() as folder, memorybook.open(f"{folder}/book") as memory:
                report[shape][str(many)] = round(taken(memory, turns(SHAPES[shape], many), "s"), 2)
    report["again"] = {"10000": round(again(), 2)}
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
