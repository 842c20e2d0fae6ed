"""memsearch over Milvus Lite: Markdown files on disk, always hybrid (its BM25 and vectors, joined by RRF).

Its reranker and its default embedders are fetched from hubs or paid services; the shared embedder stands in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import memsearch.embeddings
from adapter import DIMENSIONS, NAME, Row, Store, embed_lists, heading_at, main, read_places, write_markdown
from memsearch import MemSearch


class Embedder:
    """The shared embedder by memsearch's protocol."""

    model_name = NAME
    dimension = DIMENSIONS
    batch_size = 256

    async def embed(self, texts: list[str]) -> list[list[float]]:
        return embed_lists(texts)


memsearch.embeddings._PROVIDERS["shared"] = (__name__, "Embedder")


class Memsearch:
    """A file per session, a heading per passage; a hit is known by its file and line."""

    def __init__(self, folder: str, options: dict[str, Any]) -> None:
        self.notes = Path(folder, "memory")
        self.search = MemSearch([str(self.notes)], embedding_provider="shared", milvus_uri=f"{folder}/milvus.db")
        self.loop = asyncio.new_event_loop()
        self.places = read_places(self.notes)

    def fill(self, rows: Sequence[Row]) -> None:
        write_markdown(rows, self.notes)
        self.loop.run_until_complete(self.search.index())

    def find(self, question: str, k: int) -> list[str]:
        found = self.loop.run_until_complete(self.search.search(question, top_k=k))
        return [self.places[f"{Path(hit['source']).name}:{heading_at(hit['start_line'])}"] for hit in found]

    def close(self) -> None:
        self.search.close()
        self.loop.close()


def open_store(folder: str, options: dict[str, Any]) -> Store:
    return Memsearch(folder, options)


if __name__ == "__main__":
    main(open_store)
