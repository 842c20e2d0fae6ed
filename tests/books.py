from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

import memorybook
from clock import NOW as NOW
from clock import Clock
from memorybook.config.settings import Config, StorageSettings
from memorybook.memory import Memory
from memorybook.model import Entry

CONFIG = Config(timezone="UTC")
IN_MEMORY = CONFIG._replace(storage=StorageSettings("memory"))

Reopen = Callable[..., Memory]


@pytest.fixture
def kept_in() -> str:
    """Where the book is: modules that have nothing to do with files say `memory`, where it costs a third."""
    return "files"


@pytest.fixture(name="kept_in")
def in_memory() -> str:
    """For modules that import it."""
    return "memory"


ON_DISK = pytest.mark.parametrize("kept_in", ["files"])
"""For tests of such modules that look at files all the same."""


@pytest.fixture
def memory(tmp_path: Path, kept_in: str, clock: Clock) -> Iterator[Memory]:
    config = CONFIG._replace(storage=StorageSettings(kept_in))
    with memorybook.open(str(tmp_path / "book"), config=config, clock=clock) as opened:
        yield opened


@pytest.fixture
def reopen(tmp_path: Path, kept_in: str, clock: Clock) -> Iterator[Reopen]:
    """Another opening of the book, with a model or other settings if wanted."""
    opened: list[Memory] = []

    def again(model: Any = None, /, *, door: str = "python", **settings: Any) -> Memory:
        config = CONFIG._replace(storage=StorageSettings(kept_in))._replace(**settings)
        opened.append(memorybook.open(str(tmp_path / "book"), config=config, clock=clock, llm=model, door=door))
        return opened[-1]

    yield again
    for each in opened:
        each.close()


def documents(memory: Memory) -> dict[str, str]:
    """The text of every document by its path, wherever the book is kept."""
    return {info.path: memory.document(info.path).text for info in memory.documents()}


def files(root: str | Path, pattern: str = "*") -> dict[str, bytes]:
    """Every file of a book by its path."""
    base = Path(root)
    return {str(path.relative_to(base)): path.read_bytes() for path in sorted(base.rglob(pattern)) if path.is_file()}


def summary_vectors(path: str | Path, table: str = "sessions") -> list[Any]:
    """Embedder, size and vector of each summary of sessions or chats in a database of transcripts, None for none."""
    columns = "summary_embedding_model, summary_embedding_dimensions, summary_embedding"
    with closing(apsw.Connection(str(path))) as db:  # sqlite3 of Python would drop the locks of this process
        return [row if row[2] else None for row in db.execute(f"SELECT {columns} FROM {table} ORDER BY id")]


def entry(id: str, text: str = "", **fields: Any) -> Entry:
    """A fact of today."""
    given: dict[str, Any] = {"category": "fact", "score": 0.6, "scored": NOW.date(), "last_activated": NOW.date()}
    return Entry(id=id, text=text or f"statement {id}", **given | fields)
