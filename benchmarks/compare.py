"""Compare what two providers remember of the same conversations, what that costs, and the prompt they give for it.

Usage: python benchmarks/compare.py DATA-or-FILE --providers tiered,agentic [--query TEXT] [--set KEY=VALUE …]

FILE is a conversation in any format that `memorybook import` reads; of the folder DATA every `conv*.jsonl` and
`corpus.jsonl` is read. Each provider memorises session after session in a new book of its own. `flat` needs a language
model: `--set llm.base_url=… --set llm.model=…`. Statements count as the same if they are the same words.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any

if not __package__:  # run as a file: `benchmarks` is a package of the checkout
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from benchmarks import books, measure
from memorybook.agent.conversation import message_of
from memorybook.errors import MemoryBookError
from memorybook.exchange import importers
from memorybook.formats.messages_json import ImportedSession
from memorybook.protocols import LLM, MemorizeInput
from memorybook.providers import PROVIDERS, open_provider
from memorybook.text.tokens import count_tokens, normalise

FIGURES = ("sessions", "failed", "entries", "archived", "calls", "tokens in", "tokens out", "prompt tokens", "seconds")


def conversations(path: Path) -> list[ImportedSession]:
    """The sessions of a file, or of every conversation below a folder. Raises MemoryBookError."""
    found = [*path.rglob("conv*.jsonl"), *path.rglob("corpus.jsonl")] if path.is_dir() else [path]
    files = sorted(file for file in found if not file.stem.endswith(".extractions"))
    sessions: list[ImportedSession] = []
    for file in files:
        with file.open("rb") as stream:
            read = [*importers.opened(str(file), stream, timezone=UTC).found]
        sessions += [one for one in read if isinstance(one, ImportedSession)]
    return sessions


def run(
    name: str,
    sessions: Sequence[ImportedSession],
    query: str,
    settings: Mapping[str, str],
    llm: LLM | None = None,
) -> dict[str, Any]:
    """Return the figures of one provider, its statements (`texts`), prompt, and why sessions failed (`reasons`)."""
    with tempfile.TemporaryDirectory() as root, books.opened(Path(root), settings, llm=llm) as memory:
        today, began, provider = memory.book.now().date(), time.monotonic(), open_provider(memory, name)
        given = [MemorizeInput([*map(message_of, each.turns)], archive_all=True) for each in sessions]
        results = [provider.memorize(each) for each in given]
        prompt = provider.recall(query)
        seconds, spent = time.monotonic() - began, memory.book.journal.spent(today)
        entries = [*memory.book.entries()]
        texts = {normalise(entry.text): entry.text for entry in entries if entry.state == "active"}
        reasons = [result.reason for result in results if not result.ok]
        figures: tuple[object, ...] = (
            len(sessions),
            len(reasons),
            len(texts),
            len(entries) - len(texts),
            spent.calls,
            spent.input_tokens,
            spent.output_tokens,
            count_tokens(prompt),
            f"{seconds:.2f}",
        )
    return {**dict(zip(FIGURES, figures, strict=True)), "texts": texts, "prompt": prompt, "reasons": reasons}


def report(names: Sequence[str], runs: Sequence[Mapping[str, Any]]) -> str:
    """Return the table of figures, the statements of both and of either, and the prompts, as Markdown."""
    parts = [measure.table(["", *names], [[figure, *(ran[figure] for ran in runs)] for figure in FIGURES])]
    first, second = (ran["texts"] for ran in runs)
    parts.append(_listed("Remembered by both", [first[key] for key in first if key in second]))
    for name, mine, other in zip(names, (first, second), (second, first), strict=True):
        parts.append(_listed(f"Only by {name}", [mine[key] for key in mine if key not in other]))
    for name, ran in zip(names, runs, strict=True):
        parts.append(_listed(f"{name} failed", dict.fromkeys(ran["reasons"])))
        parts.append(f"Prompt of {name}:\n\n{ran['prompt'] or '(empty)'}\n")
    return "\n".join(filter(None, parts))


def _listed(title: str, texts: Iterable[str]) -> str:
    lines = [f"- {text}" for text in texts]
    return "\n".join([f"{title} ({len(lines)}):\n", *lines, ""]) if lines else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare; the arguments are those of the command line if None."""
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("data", type=Path, help="a conversation, or a folder of them")
    flags.add_argument("--providers", default="tiered,agentic", metavar="A,B", help=f"two of {', '.join(PROVIDERS)}")
    flags.add_argument("--query", help="what the prompts are for (default: what a user said last)")
    flags.add_argument("--set", action="append", default=[], dest="settings", metavar="KEY=VALUE")
    options = flags.parse_args(arguments)
    names = [name.strip() for name in options.providers.split(",")]
    if len({*names} & {*PROVIDERS}) != 2 or len(names) != 2:
        flags.error(f"--providers {options.providers}: name two of {', '.join(PROVIDERS)}")
    try:
        settings = dict(given.split("=", 1) for given in options.settings)
        sessions = conversations(options.data)
        said = [turn.text for each in sessions for turn in each.turns if turn.role in ("user", "")]
        query = options.query or next(reversed(said), "")
        print(report(names, [run(name, sessions, query, settings) for name in names]))
    except (MemoryBookError, OSError, ValueError) as error:
        flags.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
