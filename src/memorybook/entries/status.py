"""Make a book, watch it, describe its state."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from memorybook.book.book import together
from memorybook.book.transaction import MEMORY
from memorybook.errors import MemoryBookError, MissingDocument, Unavailable
from memorybook.formats import memory_md
from memorybook.formats.document import IGNORED, gitignore_of

if TYPE_CHECKING:
    import threading

    from memorybook.context import Context


def init(context: Context) -> dict[str, Any]:
    """See `Memory.init`."""
    documents = context.book.documents
    created = []
    with documents.lock():
        try:
            documents.read(MEMORY)
        except MissingDocument:
            documents.write(MEMORY, memory_md.template(), expect=None)
            created.append(MEMORY)
    return {"root": documents.root, "created": created, "hint": _git_hint(documents.root)}


def _git_hint(root: str) -> str:
    """Return a hint for who keeps the book under git; "" outside a checkout."""
    folder = root
    while not os.path.lexists(os.path.join(folder, ".git")):
        folder, child = os.path.dirname(folder), folder
        if folder == child:
            return ""
    told = gitignore_of(root)
    if told is not None and IGNORED.strip() not in told.split():
        return "machine state ignores itself; to keep the back-up copy out of git too, add '*.md.bak' to .gitignore"
    return "machine state and the back-up copy are kept out of git"


def status(context: Context, *, failures: Collection[str] = ()) -> dict[str, Any]:
    """See `Memory.status`; `failures` are those of finished tasks."""
    book, config = context.book, context.config
    exists = os.path.isdir(context.root)
    shown: dict[str, Any] = {
        "root": context.root,
        "exists": exists,
        "disabled": not config.enabled,
        "provider": config.provider,
        "documents": {"count": 0, "bytes": 0, "notes": 0, "summaries": 0},
        "entries": {"active": 0, "archived": 0, "superseded": 0},
        "transcripts": _transcripts(context),
        "pending_operations": book.pending_operations(),
        "waiting": {"sessions": 0, "proposals": 0},
        "index": {},
        "degraded": [],
        "warnings": [*config.warnings, *failures],
        "settings": dict(config.sources),
    }
    if exists:
        _count(context, shown)
    elif context.absent and not context.missing_ok:
        shown["degraded"].append(context.absent)
    shown["degraded"] = list(together(shown["degraded"], (*book.faults(thorough=True), *book.documents.faults())))
    return shown


def _transcripts(context: Context) -> dict[str, int]:
    """Counts; empty if they cannot be read, for which the index's sync gives the reason."""
    try:
        return dict(context.book.transcripts.counts())
    except Unavailable:
        return {}


def _count(context: Context, shown: dict[str, Any]) -> None:
    book = context.book
    documents = list(book.documents.list())
    shown["documents"] = {
        "count": len(documents),
        "bytes": sum(info.size for info in documents),
        "notes": sum(info.path.startswith("daily/") for info in documents),
        "summaries": sum(info.path.startswith("sessions/") for info in documents),
    }
    for entry in book.entries():
        shown["entries"][entry.state] += 1
    shown["warnings"] += book.warnings()
    shown["degraded"] += book.degraded
    _queue(context, shown)
    try:
        report = book.index.sync(book.documents, book.transcripts)
        shown["degraded"] += report.degraded
        waiting = report.pending_vectors
        failure, by = (book.embedding.failure, book.embedding.by) if waiting else ("", "")
        if failure and not any(failure in reason for reason in report.degraded):
            shown["degraded"].append(failure)
        shown["index"] = {"fresh": True, **book.index.stats(), "pending_vectors": waiting, "embedded_by": by}
    except MemoryBookError as error:
        shown["degraded"].append(str(error))
        shown["index"] = {"fresh": False}


def _queue(context: Context, shown: dict[str, Any]) -> None:
    """Count what waits: sessions that could not be remembered, with the reason, and proposals."""
    from memorybook.sessions.ingest import set_aside
    from memorybook.sessions.waiting_sessions import parked, waiting

    shown["degraded"] += set_aside(context)
    try:
        shown["waiting"] = {"sessions": len(parked(context)), "proposals": len(context.book.journal.proposals())}
    except Unavailable:  # the book says that its journal does not answer
        return
    sentence = waiting(context)
    if sentence:
        shown["degraded"].append(sentence)


def watch(context: Context, on_change: Callable[[dict[str, Any]], None], *, stop: threading.Event | None) -> None:
    """See `Memory.watch`."""
    from watchfiles import DefaultFilter, watch

    init(context)
    context.book.background = True
    on_change(context.book.refresh().json())

    class Markdown(DefaultFilter):
        """Only documents: machine state changes with every search."""

        def __call__(self, change: Any, path: str) -> bool:
            return path.endswith(".md") and super().__call__(change, path)

    for _ in watch(context.root, watch_filter=Markdown(), stop_event=stop, raise_interrupt=True):
        on_change(context.book.refresh().json())
