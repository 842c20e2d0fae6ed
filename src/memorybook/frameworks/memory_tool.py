"""A book edited as files under `/memories`, in the commands of Anthropic's memory tool, `memory_20250818`.

What models are trained on is the reference's wording, so every answer and every refusal is its, letter by letter.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memorybook.errors import Conflict, InvalidInput, NotFound
from memorybook.formats.json_schema import checked, schema_of
from memorybook.frameworks.file_tree import FileTree
from memorybook.text import patch

if TYPE_CHECKING:
    from memorybook.formats.document import Document
    from memorybook.memory import Memory

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
