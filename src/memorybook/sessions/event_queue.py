"""The spool: a book's folder of events that agent hosts reported, until somebody takes them in.

An event is a file of its own, whole and on disk before it has its name, so that nothing is half there; names
are in the order of time. Whoever has taken an event in removes its file.

Two folders in it hold what is not to be taken in as it is: `ASIDE` and `UNSETTLED`, each a `part` of it here.
"""

from __future__ import annotations

import errno
import os
import time

from memorybook._light import Iterator, Mapping, contextmanager, quoted, suppress
from memorybook.storage.safe_open import O_CLOEXEC, O_NOFOLLOW, make_root, own_folder, sync

FOLDER = "spool"
ASIDE = "aside"
"""Folder in it for events that cannot be taken in, each with the reason; what was never kept whole is empty there."""

UNSETTLED = "unsettled"
"""Folder in it for events that came while the settings could not be read, in which memory may be switched off."""

_UNFINISHED = 3600.0
"""Seconds after which a file that never got its name is one of a process that died, or of a disk that was full."""

_OPENED = os.O_RDONLY | O_NOFOLLOW | O_CLOEXEC

_LARGEST = 64 << 20
"""Bytes of a file that may be an event: the largest that a hook takes, written in ASCII."""


def put(machine: str, fields: Mapping[str, str], *, name: str = "", part: str = "") -> str:
    """Keep an event, durable on return; return the name of its file.

    Args:
        machine: The book's folder for machine state, made if it is missing.
        fields: Names and texts.
        name: Of the file; "" makes one.
        part: Which folder of the spool; "" is where the events are that wait to be taken in.

    Raises:
        OSError: The disk refuses, or the spool is a link.
    """
    name = name or f"{time.time_ns():020d}-{os.getpid()}.json"
    inner = ", ".join(f"{quoted(field)}: {quoted(text)}" for field, text in fields.items())
    data = f"{{{inner}}}\n".encode("ascii")
    make_root(os.path.dirname(machine))
    own_folder(machine)
    with _folder(machine, part, make=True) as folder:
        with suppress(FileNotFoundError):
            os.unlink(f".{name}", dir_fd=folder)
        how = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(f".{name}", how, 0o600, dir_fd=folder)
        try:
            while data:
                data = data[os.write(descriptor, data) :]
            sync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(f".{name}", name, src_dir_fd=folder, dst_dir_fd=folder)
        sync(folder)
    return name


def names(machine: str, *, part: str = "") -> list[str]:
    """Return the names of the events that are there, oldest first.

    Of an event that never was kept whole an empty one is left among those set aside. What is no plain file is nobody's
    event, and stays.
    """
    found = []
    try:
        with _folder(machine, part) as folder, os.scandir(folder) as files:
            for file in files:
                if not file.is_file(follow_symlinks=False):
                    continue
                if file.name.startswith("."):
                    with suppress(OSError):
                        if time.time() - file.stat(follow_symlinks=False).st_mtime > _UNFINISHED:
                            _give_up(machine, folder, file.name, part)
                elif file.name.endswith(".json"):
                    found.append(file.name)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return []
        raise
    return sorted(found)


def _give_up(machine: str, folder: int, name: str, part: str) -> None:
    """Leave of an event that is not whole only that there was one: half of it says nothing, but may hold a secret."""
    if part == ASIDE:  # then it is still where it came from
        os.unlink(name, dir_fd=folder)
        return
    os.close(os.open(name, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder))
    with _folder(machine, ASIDE, make=True) as aside:
        os.rename(name, name[1:], src_dir_fd=folder, dst_dir_fd=aside)


def read(machine: str, name: str, *, part: str = "") -> dict[str, str] | None:
    """Return the texts of an event; None if it is gone or no event."""
    import json
    from stat import S_ISREG

    try:
        with _folder(machine, part) as folder:
            descriptor = os.open(name, _OPENED | os.O_NONBLOCK, dir_fd=folder)
        with open(descriptor, encoding="utf-8") as file:
            status = os.fstat(descriptor)
            value = json.load(file) if S_ISREG(status.st_mode) and status.st_size <= _LARGEST else None
    except (OSError, ValueError, RecursionError):
        return None
    return {str(key): each for key, each in value.items() if isinstance(each, str)} if isinstance(value, dict) else None


def remove(machine: str, name: str, *, part: str = "") -> None:
    """Take an event out, on disk on return; one that is gone already is no error."""
    with suppress(FileNotFoundError), _folder(machine, part) as folder:
        os.unlink(name, dir_fd=folder)
        sync(folder)


def settle(machine: str, name: str) -> None:
    """Let an unsettled event be taken in with the others, under its name; one that is gone already is no error."""
    with suppress(FileNotFoundError), _folder(machine, UNSETTLED) as folder, _folder(machine) as spool:
        os.rename(name, name, src_dir_fd=folder, dst_dir_fd=spool)
        sync(spool)


@contextmanager
def _folder(machine: str, part: str = "", *, make: bool = False) -> Iterator[int]:
    """Open the spool, or a part of it, as a descriptor. Raises OSError for a link, which leads who knows where."""
    here = os.open(machine, _OPENED | os.O_DIRECTORY)
    try:
        for inner in filter(None, (FOLDER, part)):
            if make:
                with suppress(FileExistsError):
                    os.mkdir(inner, 0o700, dir_fd=here)
            above, here = here, os.open(inner, _OPENED | os.O_DIRECTORY, dir_fd=here)
            os.close(above)
        yield here
    finally:
        os.close(here)
