"""mem0 with `infer=False` (no LLM): its embedded Qdrant on disk and its SQLite history.

Its keyword search takes fastembed's BM25, whose model is nothing but a list of stop words on a hub; option `bm25`
gives it one from here (the search is then hybrid), otherwise it goes without, as it does after `pip install mem0ai`.
Its entity boost needs a spaCy model that is on no package index: off. `threshold`: its own 0.1 unless given.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.update(MEM0_TELEMETRY="False", OPENAI_API_KEY="unused")

from adapter import DIMENSIONS, QUESTION_WORDS, Row, Store, WithoutClose, embed_lists, main, offline

offline()

from mem0 import Memory  # noqa: E402

WHO = {"user_id": "user"}


class Embedder:
    """The shared embedder as mem0 calls one."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return embed_lists([text])[0]

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return embed_lists(texts)


class Mem0(WithoutClose):
    """One user's memories, one `add` a message."""

    def __init__(self, folder: str, options: dict[str, Any]) -> None:
        qdrant = {"path": f"{folder}/qdrant", "on_disk": True, "embedding_model_dims": DIMENSIONS}
        config = {
            "vector_store": {"provider": "qdrant", "config": qdrant},
            "history_db_path": f"{folder}/history.db",
        }
        self.memory: Any = Memory.from_config(config)
        self.memory.embedding_model = Embedder()
        self.threshold = options.get("threshold", 0.1)
        self.memory.vector_store._bm25_encoder = _bm25(folder) if options.get("bm25") else False

    def fill(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self.memory.add(row["text"], infer=False, metadata={"row": row["id"]}, **WHO)

    def find(self, question: str, k: int) -> list[str]:
        found = self.memory.search(question, filters=dict(WHO), top_k=k, threshold=self.threshold)
        return [str(memory["metadata"]["row"]) for memory in found["results"]]

    def close(self) -> None:
        self.memory.vector_store.client.close()


def _bm25(folder: str) -> Any:
    from fastembed import SparseTextEmbedding

    model = Path(folder, "bm25")
    model.mkdir(exist_ok=True)
    (model / "english.txt").write_text("\n".join(sorted(QUESTION_WORDS)), encoding="utf-8")
    return SparseTextEmbedding("Qdrant/bm25", specific_model_path=str(model))


def open_store(folder: str, options: dict[str, Any]) -> Store:
    return Mem0(folder, options)


if __name__ == "__main__":
    main(open_store)
