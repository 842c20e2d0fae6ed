"""A book edited as files under `/memories`, in the commands of Anthropic's memory tool, `memory_20250818`.

What models are trained on is the reference's wording, so every answer and every refusal is its, letter by letter.

Below it is the book as a tree of files of any name, for frameworks whose models keep files. A file that is called
`….md` is the document of that path; any other (`todo`, `notes.txt`) is the document `NAME.plain.md`. So each file has
one document and each document is one file. Folders are there as far as documents are in them.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from memorybook.entries import documents
from memorybook.entries.read import Mask
from memorybook.errors import Conflict, InvalidInput, MissingDocument, NotFound, UnsafePath
from memorybook.formats.json_schema import checked, schema_of
from memorybook.model import Discarded
from memorybook.prompt.recall import WORTH_A_LOOK
from memorybook.search.types import Query
from memorybook.text import patch
from memorybook.validate import words_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memorybook.formats.document import Document
    from memorybook.memory import Memory
    from memorybook.search.types import Hit, Passage

PLAIN = ".plain.md"
"""What the document of a file ends in whose own name does not end in `.md`."""


def document_of(name: str) -> str:
    """Return the path of the document that a file is kept as. Raises UnsafePath if that is another file's."""
    path = name if name.endswith(".md") else name + PLAIN
    if name_of(path) != name:
        raise UnsafePath(f"no file can be called {name!r}: {name_of(path)!r} is kept under that name")
    return path


def name_of(path: str) -> str:
    """Return the name of the file that a document is."""
    name = path.removesuffix(PLAIN)
    return path if name.endswith((".md", "/")) or not name else name


class FileTree:
    """The files of an open memory's book, each write one operation. Names are relative, with `/` between parts."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def files(self, folder: str = "") -> dict[str, int]:
        """Return the files in a folder, at any depth: bytes by relative name; "" is the topmost."""
        top = f"{folder}/" if folder else ""
        names = {name_of(info.path): info.size for info in documents.documents(self._memory.context)}
        return {name[len(top) :]: size for name, size in names.items() if name.startswith(top)}

    def read(self, name: str) -> Document:
        """Return the text of a file, with its revision. Raises MissingDocument, UnsafePath."""
        return self._memory.document(document_of(name))

    def write(self, name: str, text: str, *, expect: str | None = None) -> tuple[str, ...]:
        """Let this be the text of the file, `expect` as in `Memory.write_document`; return what waits for a person.

        Raises:
            Conflict: Another revision stands there, or a folder, or a file where there would have to be a folder.
            UnsafePath: No document can be called so.
        """
        self._check_places([name])
        return self._memory.write_document(document_of(name), text, expect=expect).proposals

    def remove(self, name: str) -> tuple[str, ...]:
        """Take away a file, or a folder with all in it; return what waits for a person. Raises MissingDocument."""
        self._memory.config.check_enabled()
        return documents.remove_documents(self._memory.context, [*map(document_of, self._all_of(name))])

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
            with suppress(MissingDocument):
                self._memory.document(path)
                raise Conflict(f"{name_of(path)!r} exists already")
        documents.rename_documents(self._memory.context, paths)

    def _all_of(self, name: str) -> list[str]:
        """Return the file of that name, or all in the folder."""
        files = self.files()
        found = [name] if name in files else [each for each in files if each.startswith(f"{name}/")]
        if not found:
            raise MissingDocument(f"there is no file or folder {name!r}")
        return found

    def _check_places(self, names: Iterable[str]) -> None:
        """Raise Conflict where a file and a folder would have one name, UnsafePath for a folder called `….md`."""
        files = self.files()
        folders = {above for each in files for above in _above(each)}
        for name in names:
            if any(above.endswith(".md") for above in _above(name)):
                raise UnsafePath(f"{name!r} cannot be a file: a folder is not called .md")
            if name in folders:
                raise Conflict(f"{name!r} is a folder")
            if taken := next((above for above in _above(name) if above in files), None):
                raise Conflict(f"{taken!r} is a file, no folder")


def _above(name: str) -> list[str]:
    """Return the folders that a file is in, topmost first."""
    parts = name.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


# --- versions -------------------------------------------------------------------------------------
# Writes name the version that was read, and are carried out once however often they are asked for: what was asked for
# under a name is found again in the book's journal, which knows it as soon as the write itself.


_POOL = 2_000
"""How many candidates are looked through for those of the files that were asked for."""


class WriteRequest(Protocol):
    """A write that may be asked for more than once: its name, and a fingerprint of what it is."""

    @property
    def id(self) -> str: ...  # noqa: D102
    @property
    def fingerprint(self) -> str: ...  # noqa: D102


class File(NamedTuple):
    """A file as it stands.

    Attributes:
        text: All of it.
        version: SHA-256 of the text, in hex.
        asked: Id of what asked for the write that made it so; None if nothing did.
        metadata: What that write told of itself; None for nothing.
    """

    text: str
    version: str
    asked: str | None
    metadata: Mapping[str, str] | None


class Receipt(NamedTuple):
    """The result of a write: the new version, None if there is no file; whether there was one before."""

    version: str | None
    existed: bool


class FileHits(NamedTuple):
    """Search hits by file name, most relevant first; the number of files; whether there are more files."""

    hits: tuple[tuple[str, Hit], ...]
    files: int
    left: bool


class VersionedFiles:
    """The files in one folder of an open memory's book. Safe to share between threads and processes.

    Args:
        memory: An open memory.
        folder: Of the book.
        host: Which program asks; ids are its own.
    """

    def __init__(self, memory: Memory, folder: str, *, host: str) -> None:
        self._memory = memory
        self._folder = folder
        self._host = host

    def read(self, name: str) -> File | None:
        """Return the file, None if there is none. Raises UnsafePath for a name that no document can have."""
        path = self._path(name)
        try:
            text = self._memory.document(path).text
        except MissingDocument:
            return None
        asked, metadata = None, None
        last = self._memory.book.journal.operations(target=path, limit=1)
        made = [change for operation in last for change in operation.changes if change.target == path][:1]
        if made and made[0].after == text:  # else a person edited it
            host, _, id = (last[0].session or "").partition(":")
            asked, metadata = id if host == self._host else None, _reason_fields(made[0].reason).get("metadata")
        return File(text, _version(text), asked, metadata)

    def receipt(self, asked: WriteRequest) -> Receipt | None:
        """Return what came of it when it was asked for before; None if it was not.

        Raises:
            Conflict: Something else was asked for under that id.
        """
        self._memory.config.check_enabled()
        before = self._memory.book.journal.operations(session=f"{self._host}:{asked.id}", limit=1)
        if not before:
            return None
        change = next(iter(before[0].changes), None)
        told = _reason_fields(change.reason if change else before[0].discarded[0].reason)
        if told.get("fingerprint") != asked.fingerprint:
            raise Conflict(f"operation id {asked.id!r} was used for something else before: give a new one")
        if change is None:
            return Receipt(before[0].discarded[0].text or None, bool(before[0].discarded[0].text))
        return Receipt(None if change.after is None else _version(change.after), change.before is not None)

    def write(
        self,
        name: str,
        text: str | None,
        expected: str | None,
        asked: WriteRequest | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Receipt:
        """Let this be the text of the file, secrets masked; None takes the file away.

        Args:
            name: Of the file.
            text: What it is to hold.
            expected: The version that it replaces, None if there must be no such file.
            asked: As what `receipt` is to find it.
            metadata: What the write tells of itself; kept if it changes the text.

        Raises:
            Conflict: Another version stands there.
            UnsafePath: No document can be called so.
            InvalidInput: It would take away what a person wrote: that waits in review.
        """
        path, mask = self._path(name), Mask(self._memory.context)
        standing, revision = None, ""
        with suppress(MissingDocument):
            standing, revision, _ = self._memory.document(path)
        if expected != (None if standing is None else _version(standing)):
            raise Conflict(f"file {name!r} is not the version that was read any more: read it again")
        told = {"fingerprint": asked.fingerprint if asked else None, "metadata": metadata}
        reason = f"{self._host} {json.dumps(mask.json({key: value for key, value in told.items() if value}))}"
        session = f"{self._host}:{asked.id}" if asked else None
        context, written = self._memory.context, None
        if text is not None:
            text = mask.text(text)
            written = documents.write_document(context, path, text, expect=revision, reason=reason, session=session)
        elif standing is not None:
            written = documents.remove_document(context, path, expect=revision, reason=reason, session=session)
        documents.check_done(written)
        receipt = Receipt(None if text is None else _version(text), standing is not None)
        if asked and text == standing:  # the journal has to know of what changed nothing, too
            noted = [Discarded(text=receipt.version or "", reason=reason)]
            actor, door = self._memory.context.actor, self._memory.context.door
            self._memory.book.apply([], actor=actor, door=door, kind="write", session=session, discarded=noted)
        return receipt

    def names(self, prefix: str = "") -> list[str]:
        """Return the names of all files that begin so, sorted."""
        self._memory.config.check_enabled()
        top = f"{self._folder}/"
        paths = (info.path for info in documents.documents(self._memory.context))
        names = (name_of(path)[len(top) :] for path in paths if path.startswith(top))
        return sorted(name for name in names if name.startswith(prefix))

    def search(self, prefix: str, query: str, *, limit: int, most: int) -> FileHits:
        """Return the best hits of at most `limit` files, looked for in the first `most` right below the prefix."""
        names = [name for name in self.names(prefix) if "/" not in name.removeprefix(prefix)]
        paths = {self._path(name): name for name in names[:most]}

        def keep(passage: Passage) -> bool:
            return passage.path in paths

        asked = Query(words_of(query), pool=_POOL, sources=frozenset({"document"}))
        best: dict[str, Hit] = {}
        least = max(WORTH_A_LOOK, self._memory.config.min_score)
        for hit in self._memory.book.search(asked, limit=_POOL, min_score=least, keep=keep).hits:
            best.setdefault(paths[hit.passage.path], hit)
        return FileHits(tuple(best.items())[:limit], len(paths), len(names) > most)

    def _path(self, name: str) -> str:
        self._memory.config.check_enabled()
        return document_of(f"{self._folder}/{name}")


def _version(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _reason_fields(reason: str) -> dict[str, Any]:
    """Return what the reason of a write tells; nothing if it is not one of these."""
    try:
        told = json.loads(reason.partition(" ")[2])
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


ROOT = "/memories"
COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")
_HINT = ". Please provide a valid path."


class Editor:
    """The memory tool's commands over an open memory; each that writes is an operation of the book.

    All of them raise MemoryBookError, with a sentence for the model, where something cannot be done.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._tree = FileTree(memory)

    def run(self, command: Mapping[str, Any]) -> str:
        """Carry out a command as a model gives it: `{"command": "view", "path": "/memories"}`.

        Raises:
            InvalidInput: No such command, or it lacks something.
            Unavailable: Memory is switched off.
        """
        self._memory.config.check_enabled()
        name = command.get("command")
        if name not in COMMANDS:
            raise InvalidInput(f"no command {name!r}: there are {', '.join(COMMANDS)}")
        takes = schema_of(getattr(Editor, name))["parameters"]
        given = {key: value for key, value in command.items() if key in takes["properties"]}
        answer: str = getattr(self, name)(**checked(name, takes, given))
        return answer

    def view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        """Return the lines of a file, numbered, or what is in a folder.

        Args:
            path: Of the file or the folder.
            view_range: First and last line, -1 for the end.
        """
        if not self._is_file(path, _HINT):
            listed = [f"{size}\t{path}{each}" for size, each in patch.listing(self._tree.files(_name(path)))]
            about = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
            return "\n".join([about, *listed])
        text = _readable(self._tree.read(_name(path)))
        if text.count("\n") >= patch.MOST_LINES:
            raise InvalidInput(f"File {path} exceeds maximum line limit of 999,999 lines.")
        lines = view_range if view_range and len(view_range) == 2 else (1, -1)
        return f"Here's the content of {path} with line numbers:\n{patch.numbered(text, lines)}"

    def create(self, path: str, file_text: str) -> str:
        """Write a file that is not there yet.

        Args:
            path: Of the file.
            file_text: What it is to hold.
        """
        self._check_free(path, f"File {path} already exists")
        self._tree.write(_name(path), file_text, expect="")
        return f"File created successfully at: {path}"

    def str_replace(self, path: str, old_str: str, new_str: str) -> str:
        """Replace a text that stands in a file once.

        Args:
            path: Of the file.
            old_str: The text.
            new_str: What is to stand there.
        """
        found = self._read(path)
        text, line = patch.replaced(found.text, old_str, new_str, path=path)
        waits = self._tree.write(_name(path), text, expect=found.revision)
        snippet = patch.numbered(_readable(self._tree.read(_name(path))), (line - 2, line + 2))
        if waits:
            return f"{_waiting(waits)} Here is the snippet as it stands (with line numbers):\n{snippet}"
        return (
            f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}"
        )

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Insert lines into a file.

        Args:
            path: Of the file.
            insert_line: After which line, 0 for the beginning.
            insert_text: The lines.
        """
        found = self._read(path)
        text = patch.inserted(found.text, insert_line, insert_text)
        waits = self._tree.write(_name(path), text, expect=found.revision)
        return _waiting(waits) if waits else f"The file {path} has been edited."

    def delete(self, path: str) -> str:
        """Take away a file, or a folder with all that is in it.

        Args:
            path: Of the file or the folder.
        """
        if not _name(path):
            raise InvalidInput(f"Cannot delete the {ROOT} directory itself")
        self._is_file(path)
        waits = self._tree.remove(_name(path))
        return _waiting(waits) if waits else f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        """Move a file or a folder to where there is none.

        Args:
            old_path: Where it is.
            new_path: Where it is to be.
        """
        old, new = _name(old_path), _name(new_path)
        if not old:
            raise InvalidInput(f"Cannot rename the {ROOT} directory itself")
        self._check_free(new_path, f"The destination {new_path} already exists")
        self._is_file(old_path)
        self._tree.rename(old, new)
        return f"Successfully renamed {old_path} to {new_path}"

    def _is_file(self, path: str, hint: str = "") -> bool:
        """Return whether a file is there, else a folder. Raises NotFound for neither."""
        name, files = _name(path), self._tree.files()
        if name and name not in files and not self._tree.files(name):
            raise NotFound(f"The path {path} does not exist{hint}")
        return name in files

    def _read(self, path: str) -> Document:
        if not self._is_file(path, _HINT):
            raise InvalidInput(f"The path {path} is not a file.")
        return self._tree.read(_name(path))

    def _check_free(self, path: str, taken: str) -> None:
        name, files = _name(path), self._tree.files()
        if not name or name in files or self._tree.files(name):
            raise Conflict(taken)


def _name(path: str) -> str:
    """Return the file's name below `/memories`, "" for that folder. Raises InvalidInput for a path outside."""
    if not path.startswith(ROOT):
        raise InvalidInput(f"Path must start with {ROOT}, got: {path}")
    name = posixpath.normpath(path.removeprefix(ROOT).lstrip("/") or ".")
    if name.split("/")[0] == "..":
        raise InvalidInput(f"Path {path} would escape {ROOT} directory")
    return "" if name == "." else name


def _waiting(proposals: Sequence[str]) -> str:
    """Say that the book holds an edit back; what the reference says would be untrue."""
    return f"A person wrote what this would take away: it stays, and the edit waits for them ({', '.join(proposals)})."


def _readable(document: Document) -> str:
    """Return the text, with a sign in place of every byte that is not UTF-8."""
    return document.text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
