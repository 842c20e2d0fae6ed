"""A book as a tree of files of any name, for frameworks whose models keep files.

A file that is called `….md` is the document of that path; any other (`todo`, `notes.txt`) is the document
`NAME.plain.md`. So each file has one document and each document is one file. Folders are there as far as documents are
in them.
"""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING
from memorybook.entries import documents
from memorybook.errors import Conflict, InvalidInput, MissingDocument, UnsafePath

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memorybook.formats.document import Document
    from memorybook.memory import Memory

PLAIN = ".plain.md"
"""What the document of a file ends in whose own name does not end in `.md`."""


def document_of(name: str) -> str:
    """The path of the document that a file is kept as. Raises UnsafePath if that is another file's."""
    path = name if name.endswith(".md") else name + PLAIN
    if name_of(path) != name:
        raise UnsafePath(f"no file can be called {name!r}: {name_of(path)!r} is kept under that name")
    return path


def name_of(path: str) -> str:
    """The name of the file that a document is."""
    name = path.removesuffix(PLAIN)
    return path if name.endswith((".md", "/")) or not name else name


class FileTree:
    """The files of an open memory's book, each write one operation. Names are relative, with `/` between parts."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def files(self, folder: str = "") -> dict[str, int]:
        """The files in a folder, at any depth: sizes in bytes by name, told from that folder; "" is the topmost."""
        top = f"{folder}/" if folder else ""
        names = {name_of(info.path): info.size for info in documents.documents(self._memory.context)}
        return {name[len(top) :]: size for name, size in names.items() if name.startswith(top)}

    def read(self, name: str) -> Document:
        """The text of a file, with its revision. Raises MissingDocument, UnsafePath."""
        return self._memory.document(document_of(name))

    def write(self, name: str, text: str, *, expect: str | None = None) -> None:
        """Let this be the text of the file; `expect` as in `Memory.write_document`.

        Raises:
            Conflict: Another revision stands there, or a folder, or a file where there would have to be a folder.
            UnsafePath: No document can be called so.
        """
        self._check_places([name])
        self._memory.write_document(document_of(name), text, expect=expect)

    def remove(self, name: str) -> None:
        """Take away a file, or a folder with all that is in it. Raises MissingDocument."""
        self._memory.config.check_enabled()
        documents.remove_documents(self._memory.context, [*map(document_of, self._all_of(name))])

    def rename(self, name: str, to: str) -> None:
        """Move a file or a folder; nothing is moved if not all of it can be called so.

        Raises:
            MissingDocument: There is none.
            Conflict: There is something at `to`, or a file where there would have to be a folder.
            InvalidInput: A folder would come to be in itself.
            UnsafePath: No document can be called so.
        """
        self._memory.config.check_enabled()
        moved = self._all_of(name)
        if to.startswith(f"{name}/"):
            raise InvalidInput(f"{name!r} cannot be moved into itself")
        ways = {each: to + each[len(name) :] for each in moved}
        self._check_places(ways.values())
        paths = {document_of(old): document_of(new) for old, new in ways.items()}
        for path in paths.values():
            self._check_free(path)
        documents.rename_documents(self._memory.context, paths)

    def _all_of(self, name: str) -> list[str]:
        """The file of that name, or all in the folder."""
        files = self.files()
        found = [name] if name in files else [each for each in files if each.startswith(f"{name}/")]
        if not found:
            raise MissingDocument(f"there is no file or folder {name!r}")
        return found

    def _check_places(self, names: Iterable[str]) -> None:
        """Raises Conflict where a file and a folder would have one name, UnsafePath for a folder called `….md`."""
        files = self.files()
        folders = {above for each in files for above in _above(each)}
        for name in names:
            if any(above.endswith(".md") for above in _above(name)):
                raise UnsafePath(f"{name!r} cannot be a file: a folder is not called .md")
            if name in folders:
                raise Conflict(f"{name!r} is a folder")
            if taken := next((above for above in _above(name) if above in files), None):
                raise Conflict(f"{taken!r} is a file, no folder")

    def _check_free(self, path: str) -> None:
        """Raises Conflict if there is such a document, UnsafePath if there cannot be one."""
        try:
            self._memory.document(path)
        except MissingDocument:
            return
        raise Conflict(f"{name_of(path)!r} exists already")


def _above(name: str) -> list[str]:
    """The folders that a file is in, topmost first."""
    parts = name.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]
