"""The block for a session that begins, kept beside the book until something that it is made of changes.

It is made of MEMORY.md, the sessions and the settings, on a day: while these are the same it is told without opening
the book, for which a host would wait ten times as long.
"""

from __future__ import annotations

import os
import time

from memorybook._light import TYPE_CHECKING, suppress

if TYPE_CHECKING:
    from memorybook.config.settings import Config

_NAME = "beginning"


def state(root: str, config: Config) -> str:
    """What the block rests on, in one line: equal while nothing of it changed. Taken before the block is made.

    "" if that cannot be told, as the sessions are on a server.
    """
    if config.transcripts.url:
        return ""
    kept = config.transcripts.db_path or os.path.join(root, ".memorybook", "transcripts.sqlite")
    paths = (__file__, os.path.join(root, "MEMORY.md"), kept, f"{kept}-wal")
    return " ".join([time.strftime("%Y-%m-%d"), *map(_stamp, paths), ascii(config)])


def _stamp(path: str) -> str:
    try:
        status = os.stat(path)
    except OSError:
        return "-"
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}" if status.st_size else "-"


def load(root: str, state: str) -> str | None:
    """The block that was made of this state; None if none was."""
    try:
        with open(os.path.join(root, ".memorybook", _NAME), encoding="utf-8", newline="") as file:
            return file.read() if state and file.readline() == f"{state}\n" else None
    except (OSError, UnicodeDecodeError):
        return None


def save(root: str, state: str, block: str) -> None:
    """Keep the block; where that cannot be, nothing is kept."""
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
    """Keep no block."""
    with suppress(OSError):
        os.unlink(os.path.join(root, ".memorybook", _NAME))


def _own(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
