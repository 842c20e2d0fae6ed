"""Chroma on disk. Locally it searches vectors alone (its hybrid `search` is of its cloud: NotImplementedError here).

Option: `hnsw`, the collection's HNSW configuration.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import chromadb
from adapter import Row, Store, WithoutClose, embed_lists, main
from chromadb.config import Settings

BATCH = 1000


class Chroma(WithoutClose):
    """One collection, given texts together with the shared embedder's vectors."""

    def __init__(self, folder: str, options: dict[str, Any]) -> None:
        client = chromadb.PersistentClient(folder, settings=Settings(anonymized_telemetry=False))
        configuration = {"hnsw": options["hnsw"]} if "hnsw" in options else None
        self.collection = client.get_or_create_collection(
            "memories", embedding_function=None, configuration=configuration
        )

    def fill(self, rows: Sequence[Row]) -> None:
        for start in range(0, len(rows), BATCH):
            texts = [row["text"] for row in rows[start : start + BATCH]]
            ids = [row["id"] for row in rows[start : start + BATCH]]
            self.collection.add(ids=ids, documents=texts, embeddings=embed_lists(texts))

    def find(self, question: str, k: int) -> list[str]:
        answer = self.collection.query(query_embeddings=embed_lists([question]), n_results=k, include=["documents"])
        return [str(id) for id in answer["ids"][0]]


def open_store(folder: str, options: dict[str, Any]) -> Store:
    return Chroma(folder, options)


if __name__ == "__main__":
    main(open_store)
