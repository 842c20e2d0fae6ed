"""memorybook: turns imported as a chat log, searched through `Memory.search`: freshness check, both legs, snippets.

Option: `backend`, `sqlite_hybrid` (its default) or `sqlite_fts`, words alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adapter import MODEL, Row, Store, main

import memorybook
from memorybook.config.settings import Config, EmbeddingSettings


class Book:
    """A book in the folder."""

    def __init__(self, folder: str, options: dict[str, Any]) -> None:
        self.log = Path(folder, "log.jsonl")
        embeddings = EmbeddingSettings(model=f"local/{MODEL}" if MODEL else "")
        self.memory = memorybook.open(f"{folder}/book", config=Config(**options, embeddings=embeddings))

    def fill(self, rows: Sequence[Row]) -> None:
        with self.log.open("w", encoding="utf-8") as file:
            for row in rows:
                turn = {name: row[name] for name in ("id", "session", "speaker", "timestamp", "content")}
                file.write(json.dumps(turn, ensure_ascii=False) + "\n")
        self.memory.import_file(str(self.log))
        self.memory.sync()
        self.log.unlink()

    def find(self, question: str, k: int) -> list[str]:
        return [hit.passage.turn for hit in self.memory.search(question, max_results=k).hits if hit.passage.turn]

    def close(self) -> None:
        self.memory.close()


def open_store(folder: str, options: dict[str, Any]) -> Store:
    return Book(folder, options)


if __name__ == "__main__":
    main(open_store)
