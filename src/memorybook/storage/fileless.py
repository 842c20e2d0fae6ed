"""What books have in common that are not kept in files: nobody but memorybook writes them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from memorybook.errors import Conflict, InvalidInput
from memorybook.formats.document import Document, Loss
from memorybook.storage import safe_open
from memorybook.storage.archive import DATABASES, copy
from memorybook.storage.sqlite import Store, copy_rows

if TYPE_CHECKING:
    from memorybook.protocols import Journal, Transcripts


class FilelessDocuments:
    """`Documents` that are never merged with what other programs wrote, and of which nothing is lost or left over."""

    _whole: Callable[[str], tuple[bytes, float]]  # and when it was changed; raises MissingDocument
    _revision_of: Callable[[str], str | None]
    _put: Callable[[str, bytes], str]  # returns the stamp it leaves, as `_added` does, which appends a line
    _added: Callable[[str, str], str]
    _alone: Callable[[], AbstractContextManager[object]]  # in which nobody else writes; raises BookLocked

    def read(self, path: str) -> Document:
        """Return the document. Raises MissingDocument, UnsafePath."""
        safe_open.split_path(path)
        data, modified = self._whole(path)
        return Document(safe_open.decoded(data), safe_open.digest(data), modified)

    def write(self, path: str, text: str, *, expect: str | None) -> str:
        """Replace the document; return its new revision. Raises Conflict, UnsafePath, InvalidInput."""
        safe_open.split_path(path)
        data = safe_open.encode(text, path)
        new = safe_open.digest(data)
        with self._alone():
            revision = self._revision_of(path)
            if revision != expect and expect is None:
                raise Conflict(f"document {path!r} exists already; read it and write with its revision")
            if revision != expect:
                raise Conflict(f"document {path!r} is {revision!r} by now, not {expect!r}; read it and decide anew")
            if revision != new:
                self._put(path, data)
        return new

    def append(self, path: str, line: str) -> str:
        """Append one line; return the stamp it leaves. Raises InvalidInput for a line break, UnsafePath."""
        safe_open.split_path(path)
        if "\n" in line or "\r" in line:
            raise InvalidInput(f"a line to append has no line breaks, {line!r} has; fold it or append it line by line")
        with self._alone():
            return self._added(path, line)

    def remains(self, paths: Collection[str]) -> Sequence[str]:
        """Return nothing: no versions are kept."""
        return ()

    def forget_versions(self) -> int:
        """Return 0: no versions are kept."""
        return 0

    def lost(self, *, settle: bool = False) -> Sequence[Loss]:
        """Return nothing: no other program writes."""
        return ()

    def forget_lost(self) -> None:
        """Do nothing."""

    def unread(self) -> Sequence[str]:
        """Return nothing: every document is one."""
        return ()

    def faults(self) -> Sequence[str]:
        """Return nothing: it can be written."""
        return ()

    def close(self) -> None:
        """Do nothing."""


class FilelessStorage:
    """`Storage` beside which there is nothing on this machine."""

    machine = ""
    transcripts: Transcripts
    journal: Journal

    def drop_prepared(self) -> None:
        """Do nothing: nothing is prepared."""

    def strangers(self, known: set[str]) -> list[str]:
        """Return nothing: nothing else is here."""
        return []

    def copy(self, folder: str) -> list[str]:
        """Copy the book into an empty folder."""
        return copy(self, folder, None)  # type: ignore[arg-type]

    def close(self) -> None:
        """Let go of it; the book stays."""
        self.transcripts.close()
        self.journal.close()


def fill(folder: str, stores: Sequence[Store]) -> None:
    """Copy the journal and the transcripts in a folder into these stores, brought up to the newest version."""
    for name, store in zip(DATABASES, stores, strict=True):
        file = Store(str(Path(folder, name)), store.migrations)
        if file.existing() is not None:
            copy_rows(file, store)
        file.close()
