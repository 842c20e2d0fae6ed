"""LanceDB: vectors alone as in its first steps, or hybrid: its full text (English stems, stop words) and RRF.

Options: `hybrid`; `ann`, the vector index that its manual recommends for large tables, else an exact scan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lancedb
import pyarrow
from adapter import DIMENSIONS, Row, Store, WithoutClose, embed, main
from lancedb.index import FTS, HnswSq
from lancedb.rerankers import RRFReranker

SCHEMA = pyarrow.schema(
    [("id", pyarrow.string()), ("text", pyarrow.string()), ("vector", pyarrow.list_(pyarrow.float32(), DIMENSIONS))]
)


class Lance(WithoutClose):
    """One table, written at once."""

    def __init__(self, folder: str, options: dict[str, Any]) -> None:
        self.options = options
        self.db = lancedb.connect(folder)
        self.table: Any = self.db.open_table("memories") if "memories" in self.db.list_tables().tables else None
        self.reranker = RRFReranker()

    def fill(self, rows: Sequence[Row]) -> None:
        texts = [row["text"] for row in rows]
        vectors = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(embed(texts).ravel()), DIMENSIONS)
        columns = [pyarrow.array([row["id"] for row in rows]), pyarrow.array(texts), vectors]
        self.table = self.db.create_table("memories", pyarrow.Table.from_arrays(columns, schema=SCHEMA))
        if self.options.get("hybrid"):
            self.table.create_index("text", config=FTS())
        if self.options.get("ann"):
            self.table.create_index("vector", config=HnswSq(distance_type="cosine"))

    def find(self, question: str, k: int) -> list[str]:
        vector = embed([question])[0]
        if self.options.get("hybrid"):
            query = self.table.search(query_type="hybrid").vector(vector).text(question).rerank(self.reranker)
        else:
            query = self.table.search(vector)
        return [str(row["id"]) for row in query.limit(k).select(["id", "text"]).to_list()]


def open_store(folder: str, options: dict[str, Any]) -> Store:
    return Lance(folder, options)


if __name__ == "__main__":
    main(open_store)
