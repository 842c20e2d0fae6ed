"""LangGraph's SqliteStore with its vector index: what its agents use as long-term memory on one machine.

Its vectors need an SQLite that loads extensions; where Python was built without, pysqlite3's stands in.
Options: `fields` to embed, as in its index configuration (left out: the whole value as JSON, its default).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import pysqlite3

sys.modules["sqlite3"] = pysqlite3

from adapter import DIMENSIONS, Row, Store, embed_lists, main  # noqa: E402
from langgraph.store.base import PutOp  # noqa: E402
from langgraph.store.sqlite import SqliteStore  # noqa: E402

NAMESPACE = ("memories",)
BATCH = 500


class LangGraph:
    """Put in batches, found by `search`."""

    def __init__(self, folder: str, options: dict[str, Any]) -> None:
        index: dict[str, Any] = {"dims": DIMENSIONS, "embed": lambda texts: embed_lists(texts)} | options
        self.context = SqliteStore.from_conn_string(f"{folder}/store.sqlite", index=index)
        self.store = self.context.__enter__()
        self.store.setup()

    def fill(self, rows: Sequence[Row]) -> None:
        for start in range(0, len(rows), BATCH):
            puts = [PutOp(NAMESPACE, row["id"], {"text": row["text"]}) for row in rows[start : start + BATCH]]
            self.store.batch(puts)

    def find(self, question: str, k: int) -> list[str]:
        return [str(item.key) for item in self.store.search(NAMESPACE, query=question, limit=k)]

    def close(self) -> None:
        self.context.__exit__(None, None, None)


def open_store(folder: str, options: dict[str, Any]) -> Store:
    return LangGraph(folder, options)


if __name__ == "__main__":
    main(open_store)
