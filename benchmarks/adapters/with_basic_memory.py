"""basic-memory: a note per passage in a project's folder, indexed by its `reindex`, found by its `search_notes` tool.

Its embedder is fetched from a hub; the shared one takes that class's place. Option: `mode`, its `search_type`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

import pysqlite3
from adapter import DIMENSIONS, NAME, Row, Store, embed_lists, main, read_places, write_notes

sys.modules["sqlite3"] = pysqlite3  # its vectors need an SQLite that loads extensions
os.environ.update(
    BASIC_MEMORY_LOG_LEVEL="ERROR",
    BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED="true",
    BASIC_MEMORY_SEMANTIC_EMBEDDING_DIMENSIONS=str(DIMENSIONS),
    BASIC_MEMORY_SEMANTIC_EMBEDDING_MODEL=NAME,
)

import basic_memory.config  # noqa: E402
import basic_memory.repository.fastembed_provider  # noqa: E402
from loguru import logger  # noqa: E402


class Embedder:
    """The shared embedder by basic-memory's protocol."""

    model_name = NAME
    dimensions = DIMENSIONS

    def __init__(self, *args: Any, **knobs: Any) -> None: ...

    async def embed_query(self, text: str) -> list[float]:
        return embed_lists([text])[0]

    async def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return embed_lists(texts)

    def runtime_log_attrs(self) -> dict[str, Any]:
        return {}


basic_memory.repository.fastembed_provider.FastEmbedEmbeddingProvider = Embedder


class BasicMemory:
    """A project and its database in the folder, found there by its environment variables."""

    def __init__(self, folder: str, options: dict[str, Any]) -> None:
        self.notes = Path(folder, "notes")
        self.notes.mkdir(exist_ok=True)
        os.environ.update(BASIC_MEMORY_CONFIG_DIR=f"{folder}/config", BASIC_MEMORY_HOME=str(self.notes))
        basic_memory.config._CONFIG_CACHE = None
        logger.remove()
        self.mode: str = options["mode"]
        self.places = read_places(self.notes)
        self.loop = asyncio.new_event_loop()

    def fill(self, rows: Sequence[Row]) -> None:
        from basic_memory.cli.commands.db import _reindex

        write_notes(rows, self.notes)
        config = basic_memory.config.ConfigManager().config
        self._run(_reindex(config, search=True, embeddings=self.mode != "text", full=False, project=None))

    def find(self, question: str, k: int) -> list[str]:
        from basic_memory.mcp.tools import search_notes

        found = self._run(search_notes(question, search_type=self.mode, page_size=k, output_format="json"))
        return [self.places[Path(hit["file_path"]).stem] for hit in found["results"]]

    def close(self) -> None:
        from basic_memory import db

        self._run(db.shutdown_db())
        self.loop.close()

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)


def open_store(folder: str, options: dict[str, Any]) -> Store:
    return BasicMemory(folder, options)


if __name__ == "__main__":
    main(open_store)
