"""Cache of the block for the start of a session, valid until its sources change.

Sources are MEMORY.md, the sessions, the settings and the day. Opening the book instead takes about ten times as long.
"""

from __future__ import annotations

import os
import time

from memorybook._light import TYPE_CHECKING, suppress

if TYPE_CHECKING:
    from memorybook.config.settings import Config

_NAME = "beginning"


def state(root: str, config: Config) -> str:
    """Return the cache key, one line that is equal while no source changed; compute it before the block.

    "" if it is unknown because the sessions are on a server.
    """
    if config.transcripts.url:
        return ""
    kept = config.transcripts.db_path or os.path.join(root, ".memorybook", "transcripts.sqlite")
    pages = [os.path.join(book, "MEMORY.md") for book in (root, *config.layers) if book]
    paths = (__file__, *pages, kept, f"{kept}-wal")
    return " ".join([time.strftime("%Y-%m-%d"), *map(_stamp, paths), ascii(config)])


def _stamp(path: str) -> str:
    try:
        status = os.stat(path)
    except OSError:
        return "-"
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}" if status.st_size else "-"


def load(root: str, state: str) -> str | None:
    """Return the block that was saved with this key, or None."""
    try:
        with open(os.path.join(root, ".memorybook", _NAME), encoding="utf-8", newline="") as file:
            return file.read() if state and file.readline() == f"{state}\n" else None
    except (OSError, UnicodeDecodeError):
        return None


def save(root: str, state: str, block: str) -> None:
    """Save the block under this key, if the folder can be written and the key is not ""."""
    if not state:
        return
    path = os.path.join(root, ".memorybook", _NAME)
    aside = f"{path}.{os.getpid()}"
    with suppress(OSError, UnicodeEncodeError):
        try:
            with open(aside, "w", encoding="utf-8", newline="", opener=_own) as file:
                file.write(f"{state}\n{block}")
            os.replace(aside, path)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(aside)


def drop(root: str) -> None:
    """Delete the saved block, if any."""
    with suppress(OSError):
        os.unlink(os.path.join(root, ".memorybook", _NAME))


def _own(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
