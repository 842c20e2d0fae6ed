"""Copies of a book to try something on, which leave the book itself as it is."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import date, datetime
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

from memorybook import memory as opening
from memorybook.model import Spent

if TYPE_CHECKING:
    from memorybook.config.settings import Config
    from memorybook.formats.document import Document
    from memorybook.memory import Memory
    from memorybook.protocols import Journal


@contextmanager
def copied(memory: Memory, *, provider: str, without: Collection[str] = ()) -> Iterator[Memory]:
    """A memory over a copy of the book in a folder that goes when the block ends; its index is made anew.

    It has the same documents, turns, clock, models and settings, but for these: nothing waits for a person's word,
    and where the embedder is a service, words alone are searched. Its history begins with the copy. What was
    forgotten in the book stays forgotten in it, and what budgets allow there is what is left of the day.

    Args:
        memory: Of the book; nothing is written to it.
        provider: The copy's.
        without: Sessions, by uuid or name, that it has not heard of: neither their turns nor their summaries.
    """
    with TemporaryDirectory(prefix="memorybook-") as folder:
        _copy_documents(memory, folder, _left_out(memory, without))
        book = opening.open(
            folder,
            config=_settings(memory, provider, folder),
            door=memory.context.door,
            clock=memory.book.now,
            embedder=memory.context.embedder if _is_near(memory) else None,
            llm=memory.llm,
        )
        with book as copy:
            copy.book.journal = cast("Journal", _Knowing(copy.book.journal, memory.book.journal))
            for session in memory.book.transcripts.sessions():
                if not {session.uuid, session.name} & {*without}:
                    copy.book.transcripts.append(session, memory.book.transcripts.turns(session.uuid))
            yield copy


def _settings(memory: Memory, provider: str, folder: str) -> Config:
    config = memory.config
    backend = "sqlite_fts" if config.backend == "sqlite_hybrid" and not _is_near(memory) else config.backend
    return config._replace(
        root_dir=folder,
        db_path="",
        backend=backend,
        provider=provider,
        require_user_confirmation=False,
        transcripts=config.transcripts._replace(db_path="", url=""),
    )


def _is_near(memory: Memory) -> bool:
    """Whether passages may be embedded again without asking a service."""
    return memory.context.embedder is not None and memory.context.embedder.local


def _left_out(memory: Memory, without: Collection[str]) -> set[str]:
    """Paths of the summaries of these sessions."""
    sessions = memory.book.transcripts.sessions() if without else ()
    return {session.path for session in sessions if session.path and {session.uuid, session.name} & {*without}}


def _copy_documents(memory: Memory, folder: str, left_out: Collection[str]) -> None:
    for info in memory.book.documents.list():
        if info.path not in left_out:
            _write(os.path.join(folder, info.path), memory.book.documents.read(info.path))


def _write(path: str, document: Document) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.write(document.text)
    os.utime(path, (document.modified, document.modified))  # a hand edit is dated by it


class _Knowing:
    """The journal of a copy, which knows of the book's what is forgotten and what was spent today.

    Args:
        own: The copy's; all else is its.
        book: The book's, which is only read.
    """

    def __init__(self, own: Journal, book: Journal) -> None:
        self._own = own
        self._book = book

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def buried(
        self, digests: Iterable[str], *, since: datetime | None = None, but: Collection[str] = ()
    ) -> frozenset[str]:
        """See `Journal.buried`."""
        wanted = tuple(digests)
        return self._own.buried(wanted, since=since, but=but) | self._book.buried(wanted, since=since, but=but)

    def spent(self, day: date) -> Spent:
        """What was spent on that day in both."""
        own, book = self._own.spent(day), self._book.spent(day)
        return Spent(
            calls=own.calls + book.calls,
            failed=own.failed + book.failed,
            input_tokens=own.input_tokens + book.input_tokens,
            output_tokens=own.output_tokens + book.output_tokens,
        )
