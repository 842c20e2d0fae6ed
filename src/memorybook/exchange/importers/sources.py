"""Where an import comes from: a file, a folder with the files in it, or a zip archive as it was downloaded.

Nothing is unpacked to disk, and of an archive's names only the last part is ever looked at.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import IO, Any, NamedTuple

from memorybook.errors import InvalidInput, NotFound
from memorybook.exchange.importers.memory_files import is_memory
from memorybook.formats.messages_json import Warn

_SUFFIXES = (".json", ".jsonl", ".ndjson")
_MOST_UNPACKED = 64 << 30
_MOST_RATIO = 500
_SMALL = 64 << 20
"""Bytes up to which a file of an archive may be packed as tightly as it likes."""


class Source(NamedTuple):
    """A file to read.

    Attributes:
        name: As it is named to a person; its last part tells what kind of Markdown it is.
        size: Its bytes; 0 if unknown.
        open: Opens it.
        named: Whether a person named this very file, and not the folder or archive that it is in.
        origin: What it is from in the book: the archive, or the file itself.
    """

    name: str
    size: int
    open: Callable[[], IO[Any]]
    named: bool = False
    origin: str = ""


@contextmanager
def sources(path: str, warn: Warn) -> Iterator[list[Source]]:
    """List the files to read for a path: itself, or those in it that may hold memories, by name.

    Raises:
        NotFound: There is no such file or folder.
        InvalidInput: It cannot be read, or is a broken archive.
    """
    with ExitStack() as archives:
        try:
            status = os.stat(path)
            found = [Source(path, status.st_size, partial(open, path, "rb"), named=True)]
            if stat.S_ISDIR(status.st_mode):
                found = list(_in_folder(path, warn))
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    is_zip = file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
                found = list(_in_archive(path, archives, warn)) if is_zip else found
        except FileNotFoundError:
            raise NotFound(f"no file {path!r}: check its name and the directory you are in") from None
        except OSError as error:
            raise InvalidInput(f"cannot read {path!r}: {error.strerror or error}") from error
        yield found


def _in_folder(folder: str, warn: Warn) -> Iterator[Source]:
    for here, folders, files in os.walk(
        folder, onerror=lambda error: warn(f"cannot look into {error.filename!r}: {error.strerror}")
    ):
        beside = {name.lower() for name in folders}
        if ".memorybook" in beside:
            warn(f"{here!r} is a memorybook, left out: `memorybook restore` and `sync-summaries` take from one")
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = os.path.join(here, name)
            inside = os.path.join(os.path.basename(os.path.abspath(folder)), os.path.relpath(path, folder))
            if not _wanted(name, inside) or (name == "history.jsonl" and beside & {"sessions", "projects"}):
                continue  # a history beside sessions holds the prompts of those
            with suppress(FileNotFoundError):  # it went away meanwhile
                found = os.stat(path, follow_symlinks=False)
                if stat.S_ISREG(found.st_mode):
                    yield Source(path, found.st_size, partial(open, path, "rb"))


def _wanted(name: str, inside: str) -> bool:
    return name.lower().endswith(_SUFFIXES) or is_memory(inside)


# --- archives ------------------------------------------------------------------------------------


def _in_archive(path: str, archives: ExitStack, warn: Warn) -> Iterator[Source]:
    from zipfile import BadZipFile, ZipFile

    try:
        archive = archives.enter_context(ZipFile(path))
    except (BadZipFile, NotImplementedError, ValueError) as error:
        raise InvalidInput(f"{path!r} is a broken zip archive ({error}): download it again") from error
    unpacked = 0
    for info in sorted(archive.infolist(), key=lambda one: one.filename):
        inside = info.filename.replace("\\", "/")
        if info.is_dir() or not _wanted(inside.split("/")[-1], inside):
            continue
        name = f"{path}/{inside.split('/')[-1]}"
        unpacked += info.file_size
        if info.flag_bits & 1:
            warn(f"{os.path.basename(name)}: it is encrypted, left out")
        elif info.file_size > max(_SMALL, info.compress_size * _MOST_RATIO):
            size = f"it would unpack to {info.file_size} bytes from {info.compress_size}, as no export does"
            warn(f"{os.path.basename(name)}: {size}, left out")
        elif unpacked > _MOST_UNPACKED:
            raise InvalidInput(f"{path!r} holds more than {_MOST_UNPACKED >> 30} GB: unpack it and import the folder")
        else:
            yield Source(name, info.file_size, partial(archive.open, info), origin=path)


def archive_errors() -> tuple[type[Exception], ...]:
    """Return what reading a file of a broken archive raises, beside OSError."""
    from zipfile import BadZipFile
    from zlib import error

    return (BadZipFile, error, EOFError, NotImplementedError, RuntimeError)


class CountingFile:
    """A binary file, or lines of bytes, that counts what was read of it, for whoever shows the progress."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.read_so_far = 0
        if hasattr(file, "peek"):
            self.peek = file.peek

    def read(self, size: int = -1) -> bytes:
        """As of the file."""
        return self._count(self._file.read(size))

    def readline(self, size: int = -1) -> bytes:
        """As of the file."""
        return self._count(self._file.readline(size))

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.readline, b"")

    def _count(self, piece: bytes) -> bytes:
        self.read_so_far += len(piece)
        return piece
