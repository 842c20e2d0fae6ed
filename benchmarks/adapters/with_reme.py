"""ReMe: a daily note per passage in its workspace, indexed by its `index_update` job, found by its `search` job.

Its jobs are those of its own benchmarks' configuration, which has no watchers, and `search` as in its default one.
Option: `vector_weight` turns its vectors on (off by default), with the shared embedder in the place of its remote ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

from adapter import DIMENSIONS, NAME, Row, Store, embed_lists, main, read_places, write_notes
from reme.application import Application
from reme.components.as_embedding import OpenAIAsEmbedding
from reme.config import resolve_app_config


async def _embed(_: Any, inputs: list[str], **options: Any) -> list[list[float]]:
    return embed_lists(inputs)


OpenAIAsEmbedding.__call__ = _embed
OpenAIAsEmbedding._ensure_model = lambda _: None


class ReMe:
    """A workspace in the folder."""

    def __init__(self, folder: str, options: dict[str, Any]) -> None:
        self.notes = Path(folder, "workspace", "daily")
        vectors = "vector_weight" in options
        search = {"backend": "search_step", "candidate_multiplier": 5.0, "expand_links": True, **options}
        components = {
            "file_store": {"default": {"embedding_store": "default" if vectors else ""}},
            "as_embedding": {"default": {"backend": "openai", "dimensions": DIMENSIONS, "model": NAME}},
            "embedding_store": {"default": {"max_batch_size": 256}},
        }
        config = resolve_app_config(
            config="benchmark",
            log_config=False,
            workspace_dir=str(self.notes.parent),
            enable_logo=False,
            log_to_console=False,
            log_to_file=False,
            components=components,
            jobs={"search": {"backend": "base", "steps": [search]}},
        )
        self.loop = asyncio.new_event_loop()
        self.app: Any = Application(**config)
        self._run(self.app.start())
        self.places = read_places(self.notes)

    def fill(self, rows: Sequence[Row]) -> None:
        write_notes(rows, self.notes)
        self._job("index_update")

    def find(self, question: str, k: int) -> list[str]:
        found = self._job("search", query=question, limit=k)
        return [self.places[Path(hit["path"]).stem] for hit in found.metadata["results"]]

    def close(self) -> None:
        self._run(self.app.close())
        self.loop.close()

    def _job(self, name: str, **arguments: Any) -> Any:
        done = self._run(self.app.run_job(name, **arguments))
        if not done.success:
            raise RuntimeError(f"{name}: {done.answer}")
        return done

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)


def open_store(folder: str, options: dict[str, Any]) -> Store:
    return ReMe(folder, options)


if __name__ == "__main__":
    main(open_store)
