"""grep over a plain text file, a passage a line: any word of the question, ranked by how many distinct ones a line has.

ripgrep where it is installed, else grep. Option: `stop` leaves function words out of the question.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adapter import Row, Store, WithoutClose, main, one_line, query_words

COMMAND = ["rg", "-noiw", "--no-filename"] if shutil.which("rg") else ["grep", "-noiwE"]


class Grep(WithoutClose):
    """`passages.txt` with the texts and `ids.txt` with their ids, line by line."""

    def __init__(self, folder: str, options: dict[str, Any]) -> None:
        self.texts, self.ids = Path(folder, "passages.txt"), Path(folder, "ids.txt")
        self.stop: bool = options.get("stop", False)

    def fill(self, rows: Sequence[Row]) -> None:
        self.texts.write_text("".join(f"{one_line(row['text'])}\n" for row in rows), encoding="utf-8")
        self.ids.write_text("".join(f"{row['id']}\n" for row in rows), encoding="utf-8")

    def find(self, question: str, k: int) -> list[str]:
        pattern = "|".join(query_words(question, stop=self.stop))
        run = subprocess.run([*COMMAND, pattern, str(self.texts)], capture_output=True, text=True, check=False)
        words: dict[int, set[str]] = defaultdict(set)
        for match in run.stdout.splitlines():
            line, _, word = match.partition(":")
            words[int(line)].add(word.lower())
        best = sorted(words, key=lambda line: (-len(words[line]), line))[:k]
        ids = self.ids.read_text(encoding="utf-8").splitlines()
        return [ids[line - 1] for line in best]


def open_store(folder: str, options: dict[str, Any]) -> Store:
    return Grep(folder, options)


if __name__ == "__main__":
    main(open_store)
