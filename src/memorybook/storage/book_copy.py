"""A whole book as files in a folder: how it is given out, and how it is taken back.

The files are the documents, and the databases as SQLite files, whatever keeps them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import datetime
from functools import partial
from itertools import count
from stat import S_IMODE
from typing import TYPE_CHECKING

from memorybook.errors import Conflict, MissingDocument, UnsafePath
from memorybook.storage.directory import STATE, DirectoryDocuments, refusals
from memorybook.storage.output_file import alone_in, remove, sync

if TYPE_CHECKING:
    from memorybook.protocols import Storage

JOURNAL = f"{STATE}/journal.sqlite"
TRANSCRIPTS = f"{STATE}/transcripts.sqlite"
DATABASES = (JOURNAL, TRANSCRIPTS)
"""In this order, marks before the turns that they are of."""

RIGHTS = 0o666
"""Permissions that a document is copied with: nobody runs it."""


def copy(storage: Storage, folder: str, status_of: Callable[[str], os.stat_result] | None) -> list[str]:
    """See `Storage.copy`; `status_of` gives the times and permissions of documents that are files."""
    paths = []
    databases = ((JOURNAL, storage.journal), (TRANSCRIPTS, storage.transcripts))
    os.makedirs(os.path.join(folder, STATE), 0o700)
    with ExitStack() as copies, storage.transaction():  # left before the databases are copied
        for info in sorted(storage.documents.list()):
            with suppress(MissingDocument, UnsafePath, FileNotFoundError):  # a person takes it away right now
                data = storage.documents.read(info.path).text.encode("utf-8", "surrogateescape")
                status = status_of(info.path) if status_of is not None else None
                place = os.path.join(folder, info.path)
                os.makedirs(os.path.dirname(place), exist_ok=True)
                with open(place, "wb") as file:
                    file.write(data)
                os.chmod(place, 0o600 if status is None else status.st_mode & RIGHTS | 0o600)
                time = int(info.modified * 1e9) if status is None else status.st_mtime_ns
                os.utime(place, ns=(time, time))
                paths.append(info.path)
        found = [path for path, one in databases if copies.enter_context(one.copying(os.path.join(folder, path)))]
    return paths + found


def replace_folder(
    documents: DirectoryDocuments, fill: Callable[[str], None], *, identity: str, replace: bool, now: datetime
) -> str:
    """Have `fill` write into a folder beside the book's, and let the two change places; return where the old one is."""
    root = documents.root
    above, name = os.path.split(root)
    with refusals(f"the book {root!r} cannot be restored"):
        os.makedirs(above, exist_ok=True)
        with alone_in(above):
            if _is_taken(root) and not replace:
                raise Conflict(f"{root!r} is not empty: restore into another folder, or let the book there be replaced")
            new = os.path.join(above, f".{name}.mb-restore")
            remove(new)
            try:
                os.mkdir(new, 0o700)
                fill(new)
                _settle(new, root, identity)
                if not _is_taken(root):
                    os.rename(new, root)
                    sync(above)
                    return ""
                documents.change_places(os.path.basename(new))
                before = f"{root}.before-{now:%Y%m%dT%H%M%SZ}"
                names = (f"{before}{f'-{n}' * bool(n)}" for n in count())
                kept = next(name for name in names if not os.path.lexists(name))
                os.rename(new, kept)
                return kept
            finally:
                remove(new)


def _is_taken(root: str) -> bool:
    return os.path.lexists(root) and (not os.path.isdir(root) or bool(os.listdir(root)))


def _settle(folder: str, root: str, identity: str) -> None:
    """Make what was unpacked fit to stand at `root`, with the rights of what stands there; durable on return."""
    state = os.path.join(folder, STATE)
    os.makedirs(state, exist_ok=True)
    for name, text in ((".gitignore", "*\n"), ("node", identity)):
        if text:
            place = os.path.join(state, name)
            with open(place, "w", encoding="ascii", opener=partial(os.open, mode=0o600)) as file:
                file.write(text)
            sync(place)
    mode = S_IMODE(os.stat(root).st_mode) | 0o700 if os.path.isdir(root) else 0o700
    for below, _, _ in os.walk(folder, topdown=False):
        os.chmod(below, 0o700 if below == state else mode)
        sync(below)
