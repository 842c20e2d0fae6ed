"""Events that come while the settings cannot be read, as somebody has mistyped one.

They are kept apart from the others, in the book that can still be told: memory may be switched off in those very
settings. Once these can be read, in the folder that an event came from, it is taken in or dropped as they say.
"""

from __future__ import annotations

import os

from memorybook._light import TYPE_CHECKING
from memorybook.config.project import book_root
from memorybook.config.settings import load, where
from memorybook.errors import InvalidInput, MemoryBookError, MissingExtra
from memorybook.hooks.session_context import find_dependencies
from memorybook.sessions import event_queue

if TYPE_CHECKING:
    from memorybook.config.settings import Config


def settings(cwd: str) -> tuple[Config, bool]:
    """The settings there, whether they can be read: else what is known of them, see `config.where`."""
    try:
        try:
            return load(cwd=cwd, env=os.environ), True
        except MissingExtra:
            find_dependencies()
            return load(cwd=cwd, env=os.environ), True
    except (MemoryBookError, OSError):
        return where(cwd=cwd, env=os.environ), False


def settle(root: str) -> None:
    """Have the events of a book that are unsettled taken in with the others, or drop them."""
    machine = os.path.join(root, ".memorybook")
    for name in event_queue.names(machine, part=event_queue.UNSETTLED):
        cwd = (event_queue.read(machine, name, part=event_queue.UNSETTLED) or {}).get("cwd") or os.getcwd()
        config, readable = settings(cwd)
        if readable and config.enabled and config.auto_capture_on_new_session:
            event_queue.settle(machine, name)
        elif readable:
            event_queue.remove(machine, name, part=event_queue.UNSETTLED)


def waiting(cwd: str, *, book: str | None, project: str | None) -> str:
    """Why events wait in the book meant there, while the settings cannot be read; "" if none do."""
    from memorybook.sessions.ingest import waits

    try:
        root = book_root(where(cwd=cwd, env=os.environ), cwd=cwd, book=book, project=project)
    except InvalidInput:
        return ""
    count = len(event_queue.names(os.path.join(root, ".memorybook"), part=event_queue.UNSETTLED))
    return waits(count) if count else ""
