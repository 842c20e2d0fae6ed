from __future__ import annotations

from pathlib import Path

import pytest

from conformance.server_state import Open, ServerStateConformance
from memorybook.config.settings import Config, ServerSettings, StorageSettings
from memorybook.http.access import Tokens
from memorybook.http.books import Books, open_state
from memorybook.http.server_state import MemoryState

OWNER = "x" * 16


class TestFileState(ServerStateConformance):
    @pytest.fixture
    def opened(self, tmp_path: Path) -> Open:
        return lambda: open_state(Config(), str(tmp_path), many=True)


class TestMemoryState(ServerStateConformance):
    @pytest.fixture
    def opened(self) -> Open:
        state = MemoryState()
        return lambda: state


def test_tenants_in_memory_are_served_without_a_file(tmp_path: Path) -> None:
    config = Config(storage=StorageSettings("memory"), server=ServerSettings(port=0), backend="sqlite_fts")
    root = str(tmp_path / "workspace")
    books = Books(config, root, many=True, tokens=Tokens(open_state(config, root, many=True), OWNER))
    for name in ("ann", "bob"):
        books.tokens.add_tenant(name)
        with books.opened(name, person=True) as memory:
            memory.remember(f"{name} likes tea")
    with books.opened("ann", person=True) as memory:
        assert [known.entry.text for known in memory.entries().entries] == ["ann likes tea"]
    assert books._writes()
    books.drop("ann", erase=True)
    books.tokens.add_tenant("ann")
    with books.opened("ann", person=True) as memory:
        assert not memory.entries().entries
    books.close()
    assert not any(tmp_path.iterdir())
