"""Files outside of a book, written so that nobody ever sees half of one."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from tempfile import gettempdir

from memorybook.errors import InvalidInput, NotFound
from memorybook.storage import safe_open
from memorybook.storage.directory import refusals

_NEW = ".mb-tmp"


@contextmanager
def put_in_place(path: str, *, make: bool = False) -> Iterator[str]:
    """Yield the path of a new private file, which replaces `path` when the block ends, unless it raises.

    A file that stands there keeps its permissions, and a link what it points to. Whoever writes into the same folder
    waits. What processes that were killed have left of earlier tries in this folder is removed.

    Args:
        path: The file.
        make: Whether its folder is made if it is missing.

    Raises:
        NotFound: There is no such folder.
        InvalidInput: It is a folder, or something else that is no regular file.
        Unavailable: The system refuses.
    """
    path = os.path.realpath(path)
    folder, name = os.path.split(path)
    with refusals(f"the file {path!r} cannot be written"):
        if make:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        if os.path.isdir(path):
            raise InvalidInput(f"{path!r} is a folder: give the name of a file")
        if os.path.lexists(path) and not os.path.isfile(path):
            raise InvalidInput(f"{path!r} is no regular file: give the name of one, or of a new file")
        with alone_in(folder) as alone:
            for left in os.listdir(folder) if alone else ():  # by a process that was killed; documents sweep their own
                if left.startswith(".") and left.endswith((_NEW, f"{_NEW}.parts")) and not left.endswith(f".md{_NEW}"):
                    with suppress(OSError):
                        remove(os.path.join(folder, left))
            new = os.path.join(folder, f".{name}{_NEW}")
            remove(new)
            try:
                os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | safe_open.O_CLOEXEC, 0o600))
                yield new
                with suppress(FileNotFoundError):
                    os.chmod(new, os.stat(path).st_mode & 0o777)
                sync(new)
                os.replace(new, path)
                sync(folder)
            except BaseException:
                remove(new)
                raise


@contextmanager
def alone_in(folder: str) -> Iterator[bool]:
    """Lock a folder against other writers until the block ends. Raises NotFound.

    False on a file system without locks.
    """
    if sys.platform == "win32":  # where a folder cannot be locked itself
        from filelock import FileLock

        if not os.path.isdir(folder):
            raise NotFound(f"there is no folder {folder!r}: make it, or give another one")
        name = sha256(os.path.normcase(os.path.realpath(folder)).encode()).hexdigest()[:32]
        with FileLock(os.path.join(gettempdir(), f"memorybook-{name}.lock")):
            yield True
        return
    import fcntl

    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"there is no folder {folder!r}: make it, or give another one") from None
    try:
        alone = False
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            alone = True
        yield alone
    finally:
        os.close(descriptor)


def sync(path: str) -> None:
    """Have a file or folder on disk."""
    windows = sys.platform == "win32"
    if windows and os.path.isdir(path):  # which writes names by itself
        return
    descriptor = os.open(path, (os.O_RDWR if windows else os.O_RDONLY) | safe_open.O_CLOEXEC)
    try:
        safe_open.sync(descriptor)
    finally:
        os.close(descriptor)


def remove(path: str) -> None:
    """Remove a file, or a folder with all in it, that may not be there."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        with suppress(FileNotFoundError):
            os.unlink(path)
