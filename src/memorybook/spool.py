"""The spool: a book's folder of events that agent hosts reported, until somebody takes them in.

An event is a file of its own, whole and on disk before it has its name, so that nothing is half there; names
are in the order of time. Whoever has taken an event in removes its file.
"""

from __future__ import annotations

import os
import time

from memorybook.standard import Mapping, suppress
from memorybook.storage.new_file import own_folder

FOLDER = "spool"
ASIDE = "aside"
"""Folder in it for events that cannot be taken in, each with the reason."""

_UNFINISHED = 3600.0
"""Seconds after which a file that never got its name is one of a process that died."""


def put(machine: str, fields: Mapping[str, str], *, name: str = "", aside: bool = False) -> str:
    """Keep an event, durable on return; returns the name of its file.

    Args:
        machine: The book's folder for machine state, made if it is missing.
        fields: Names and texts.
        name: Of the file; "" makes one.
        aside: Whether it goes to those that cannot be taken in.

    Raises:
        OSError: The disk refuses.
    """
    folder = os.path.join(machine, FOLDER, ASIDE) if aside else os.path.join(machine, FOLDER)
    own_folder(machine)
    own_folder(folder)
    name = name or f"{time.time_ns():020d}-{os.getpid()}.json"
    unfinished = os.path.join(folder, f".{name}")
    with suppress(FileNotFoundError):
        os.unlink(unfinished)
    _write(unfinished, _document(fields))
    os.rename(unfinished, os.path.join(folder, name))
    _sync(folder)
    return name


def names(machine: str, *, aside: bool = False) -> list[str]:
    """The names of the events that are there, oldest first; files that a dying process left are swept away."""
    folder = os.path.join(machine, FOLDER, ASIDE) if aside else os.path.join(machine, FOLDER)
    found = []
    try:
        with os.scandir(folder) as files:
            for file in files:
                if file.name.startswith("."):
                    with suppress(OSError):
                        if time.time() - file.stat().st_mtime > _UNFINISHED:
                            os.unlink(file.path)
                elif file.name.endswith(".json"):
                    found.append(file.name)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(found)


def read(machine: str, name: str, *, aside: bool = False) -> dict[str, str] | None:
    """The texts of an event; None if it is gone or no event."""
    import json

    folder = os.path.join(machine, FOLDER, ASIDE) if aside else os.path.join(machine, FOLDER)
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            value = json.load(file)
    except (OSError, ValueError, RecursionError):
        return None
    return {str(key): each for key, each in value.items() if isinstance(each, str)} if isinstance(value, dict) else None


def remove(machine: str, name: str) -> None:
    """Take an event out, on disk on return; one that is gone already is no error."""
    folder = os.path.join(machine, FOLDER)
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, name))
        _sync(folder)


def quoted(text: str) -> str:
    """The text as JSON, in ASCII."""
    try:
        from _json import encode_basestring_ascii  # json itself takes as long to import as the rest of an event
    except ImportError:
        from json.encoder import encode_basestring_ascii

    return encode_basestring_ascii(text)


def _document(fields: Mapping[str, str]) -> bytes:
    inner = ", ".join(f"{quoted(name)}: {quoted(text)}" for name, text in fields.items())
    return f"{{{inner}}}\n".encode("ascii")


def _write(path: str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        while data:
            data = data[os.write(descriptor, data) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
