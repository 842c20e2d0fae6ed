"""The file of a database that is not there yet."""

from __future__ import annotations

import os

from memorybook.errors import Unavailable
from memorybook.standard import suppress


def create(path: str, *, durable: bool) -> None:
    """Make an empty file that is its owner's alone, with its folder; one that exists is left as it is.

    It never opens one that exists: closing it would drop SQLite's locks. Raises Unavailable.
    """
    if os.path.lexists(path):
        return
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        if durable:
            _sync(folder)
    except OSError as error:
        raise Unavailable(f"the database {path!r} cannot be created: {error.strerror}") from error


def _sync(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
