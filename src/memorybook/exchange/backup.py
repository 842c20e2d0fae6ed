"""Backups of a whole book: archives as `storage.archive` makes them, and books made of them again."""

from __future__ import annotations

import os
from contextlib import ExitStack
from hashlib import sha256
from socket import gethostname
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.errors import InvalidInput, NotFound
from memorybook.storage import archive
from memorybook.storage.output_file import put_in_place, remove

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.protocols import Progress, Storage


class Backup(NamedTuple):
    """The result of a backup.

    Attributes:
        path: Path of the archive.
        documents: Number of documents.
        bytes: Size of all files, unpacked.
        packed: Size of the archive.
        left_out: Files in the book's folder that do not belong to the book, and are not saved; the first hundred.
    """

    path: str
    documents: int
    bytes: int
    packed: int
    left_out: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        """Return all fields."""
        return {**self._asdict(), "left_out": list(self.left_out)}


class Restored(NamedTuple):
    """The result of a restore.

    Attributes:
        root: Folder of the book.
        documents: Number of documents.
        bytes: Size of all files.
        kept: Where the previous book of that folder is now; "" if there was none.
    """

    root: str
    documents: int
    bytes: int
    kept: str = ""

    def json(self) -> dict[str, Any]:
        """Return all fields."""
        return self._asdict()


# --- backing up ----------------------------------------------------------------------------------


def backup(context: Context, path: str, *, progress: Progress | None = None) -> Backup:
    """See `Memory.backup`."""
    storage = context.book.storage
    if absent := context.absent:
        raise NotFound(absent)
    with put_in_place(path) as new, ExitStack() as closing:
        parts = f"{new}.parts"  # copies, which go with the block
        remove(parts)
        os.mkdir(parts, 0o700)
        closing.callback(remove, parts)
        check_place(path)
        now, place = context.book.now(), _place(storage)
        files = archive.pack(new, storage, parts, place=place, now=now, progress=progress)
    known = {*(file.path for file in files), os.path.relpath(os.path.realpath(path), storage.root)}
    return Backup(
        path,
        sum(file.path.endswith(".md") for file in files),
        sum(file.bytes for file in files),
        os.path.getsize(path),
        tuple(storage.strangers(known)),
    )


def check_place(path: str) -> None:
    """Raise InvalidInput if the path is a file other than a backup, which would be lost."""
    if os.path.isfile(path) and os.path.getsize(path):
        archive.manifest_of(path)


def _place(storage: Storage) -> str:
    """Return a digest of where the book is. Its copy elsewhere is another book to those that it hands out to."""
    where = f"{gethostname()}:{os.path.realpath(storage.root)}" if storage.machine else storage.root
    return sha256(where.encode("utf-8", "surrogateescape")).hexdigest()[:32]


# --- restoring -----------------------------------------------------------------------------------


def restore(context: Context, path: str, *, replace: bool = False, progress: Progress | None = None) -> Restored:
    """See `Memory.restore`; what was under way when it was backed up is finished by whoever opens it next."""
    transcripts = context.config.transcripts
    setting = "transcripts.url" if transcripts.url else "transcripts.db_path" if transcripts.db_path else ""
    if setting:  # nobody would look for the turns where they are restored to
        raise InvalidInput(
            f"{setting} keeps turns outside of the book, a restore puts them into it: leave it out first"
        )
    files, node, place = archive.manifest_of(path)
    archive.check(path, files)
    storage = context.book.storage
    kept = storage.restore(
        lambda folder: archive.unpack(path, folder, files, storage, progress),
        identity=node if place == _place(storage) else "",
        replace=replace,
        now=context.book.now(),
    )
    count = sum(file.path.endswith(".md") for file in files)
    return Restored(context.root, count, sum(file.bytes for file in files), kept)
