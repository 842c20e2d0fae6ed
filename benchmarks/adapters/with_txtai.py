"""txtai: embeddings database with content, saved to disk and loaded again; dense as by default, or hybrid.

Options are its configuration: `hybrid`, `scoring` (its BM25 and how it cuts words).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from adapter import Row, Store, WithoutClose, main, offline

offline()
os.environ["ALLOW_RESOLVE_TRANSFORM"] = "True"  # a saved index names its embedding function

from txtai import Embeddings  # noqa: E402


class Txtai(WithoutClose):
    """Indexed at once, then saved."""

    def __init__(self, folder: str, options: dict[str, Any]) -> None:
        self.path = f"{folder}/index"
        self.embeddings: Any = Embeddings(method="external", transform="adapter.embed", content=True, **options)
        if self.embeddings.exists(self.path):
            self.embeddings.load(self.path)

    def fill(self, rows: Sequence[Row]) -> None:
        self.embeddings.index((row["id"], row["text"], None) for row in rows)
        self.embeddings.save(self.path)

    def find(self, question: str, k: int) -> list[str]:
        return [str(found["id"]) for found in self.embeddings.search(question, k)]


def open_store(folder: str, options: dict[str, Any]) -> Store:
    return Txtai(folder, options)


if __name__ == "__main__":
    main(open_store)
