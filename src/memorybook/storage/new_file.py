"""What is not there yet: a book's directory, its folder of machine state, the file of a database in there."""

from __future__ import annotations

import os

from memorybook._light import suppress
from memorybook.errors import Unavailable
from memorybook.formats.document import IGNORED
from memorybook.storage.safe_open import rights_in


def create(path: str, *, durable: bool) -> None:
    """Make an empty file that is its owner's alone, with its folder; one that exists is left as it is.

    It never opens one that exists: closing it would drop SQLite's locks. Raises Unavailable.
    """
    if os.path.lexists(path):
        return
    folder = os.path.dirname(path)
    try:
        own_folder(folder)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        if durable:
            _sync(folder)
    except OSError as error:
        raise Unavailable(f"the database {path!r} cannot be created: {error.strerror}") from error


def own_folder(path: str) -> None:
    """Make a folder that is its owner's alone; one that exists stays as it is.

    `.memorybook` ignores itself for git, and is made only where there is a book: nothing makes one anew in the place of
    one that was moved away.
    """
    if os.path.isdir(path):
        return
    if os.path.basename(path) != ".memorybook":
        os.makedirs(path, mode=0o700, exist_ok=True)
    else:
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)
        with suppress(FileExistsError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            descriptor = os.open(os.path.join(path, ".gitignore"), flags, 0o600)
            os.write(descriptor, b"*\n")
            os.close(descriptor)


def ignore_backup(folder: int) -> None:
    """Have git leave out the back-up copy in a book's folder (a descriptor), unless somebody told it what to leave."""
    with suppress(OSError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(".gitignore", flags, 0o666, dir_fd=folder)
        os.write(descriptor, IGNORED)
        os.close(descriptor)


def make_root(path: str) -> None:
    """Make a book's directory, durably, with all above it, each for its owner alone; one that exists stays as it is."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    make_root(above)
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
        if (rights := rights_in(os.stat(above), 0o2777)) != 0o700:
            os.chmod(path, rights)
    _sync(above)


def _sync(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
