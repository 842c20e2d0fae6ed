from __future__ import annotations

from pathlib import Path

import pytest

from conformance.storage import Open, StorageConformance
from memorybook.config.settings import Config
from memorybook.storage.stores import open_storage


class TestFileStorage(StorageConformance):
    @pytest.fixture
    def opened(self, tmp_path: Path) -> Open:
        return lambda: open_storage(Config(), str(tmp_path / "book"))
