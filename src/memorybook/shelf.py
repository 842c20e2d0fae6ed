"""What a memory does with its documents as wholes: listed, opened with their revision, written, renamed, removed."""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, cast
from memorybook.errors import MissingDocument

if TYPE_CHECKING:
    from memorybook.entries.documents import Written
    from memorybook.formats.document import Document, DocumentInfo
    from memorybook.memory import Memory


class Shelf:
    """The part of `Memory` that keeps documents as a person's editor does: each write is one operation, can be undone.

    A `path` is relative, ends in `.md` and stays inside the book. `expect` is the revision that was read, "" if there
    must be no such document, None if that does not matter. While memory is switched off they are read, and writing
    raises Unavailable.
    """

    @property
    def _shelved(self) -> Memory:
        """This memory, as all of it."""
        return cast("Memory", self)

    def documents(self) -> tuple[DocumentInfo, ...]:
        """All documents, by path. Raises NotFound while there is no book."""
        from memorybook.entries import documents

        return documents.documents(self._shelved._there)

    def document(self, path: str) -> Document:
        """The whole text of a document, with its revision.

        Raises:
            MissingDocument: There is none.
            UnsafePath: The path is not one of a document in the book.
        """
        from memorybook.entries import documents

        try:
            return documents.document(self._shelved, path)
        except MissingDocument:
            if absent := self._shelved.absent:
                raise MissingDocument(absent) from None
            raise

    def write_document(self, path: str, text: str, *, expect: str | None = None) -> Written:
        """Let this be the text of the document; secrets in it are masked.

        In `MEMORY.md` and `archive/` an agent rewrites what entries say; their strength, origin and trust are kept,
        what it adds is trusted as its door is.

        Raises:
            Conflict: Another revision stands there than expected.
            UnsafePath: The path is not one that a document can have.
        """
        from memorybook.entries import documents

        return documents.write_document(self._shelved._on, path, text, expect=expect)

    def rename_document(self, path: str, to: str, *, expect: str | None = None) -> Written:
        """Move a document to a path where there is none.

        Raises:
            MissingDocument: There is no such document.
            Conflict: It is another revision than expected, or there is a document at `to`.
            UnsafePath: A path is not one that a document can have.
        """
        from memorybook.entries import documents

        return documents.rename_document(self._shelved._on, path, to, expect=expect)

    def remove_document(self, path: str, *, expect: str | None = None) -> Written:
        """Take a document out of the book; `undo` brings it back, `purge` erases it for good.

        Raises:
            MissingDocument: There is no such document.
            Conflict: It is another revision than expected.
            UnsafePath: The path is not one of a document in the book.
        """
        from memorybook.entries import documents

        return documents.remove_document(self._shelved._on, path, expect=expect)
