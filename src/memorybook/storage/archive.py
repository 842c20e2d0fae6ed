"""Copies of a whole book, as files in a folder or as an archive: what can not be derived, at one moment.

The files are the documents, and the databases as SQLite files, whatever keeps them.

An archive, with a digest for every file, is a `.tar.gz` whose first member tells of the others: `backup.json` with the
version of the format and, for each file, its path, size, time, permissions and SHA-256. The files stand under `book/`:
the documents as they are, and the two databases `.memorybook/transcripts.sqlite` and `.memorybook/journal.sqlite`. The
index is left out, as it is made anew.
"""

from __future__ import annotations

import json
import os
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from functools import partial
from gzip import BadGzipFile
from hashlib import file_digest, sha256
from io import BytesIO
from itertools import count
from stat import S_IMODE
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from memorybook.errors import Conflict, InvalidInput, MissingDocument, NotFound, Unavailable, UnsafePath
from memorybook.formats.document import MAX_BYTES
from memorybook.storage import safe_open
from memorybook.storage.directory import STATE, DirectoryDocuments, refusals
from memorybook.storage.output_file import alone_in, remove, sync

if TYPE_CHECKING:
    from memorybook.protocols import Progress, Storage

FORMAT = "memorybook backup"
VERSION = 1
MANIFEST = "backup.json"

_INSIDE = "book/"
_LONGEST = 64 << 20  # of a manifest
_CHUNK = 1 << 20

_TIGHTEST = 1100
"""Bytes of which gzip makes one at best."""

_BROKEN = (tarfile.TarError, BadGzipFile, EOFError, zlib.error, ValueError, KeyError, TypeError, OverflowError)


class File(NamedTuple):
    """A file of an archive: where it belongs in the book, its bytes' count and digest, its time and permissions."""

    path: str
    bytes: int
    sha256: str
    mtime_ns: int
    mode: int


class Manifest(NamedTuple):
    """The manifest of an archive: its files, and the id and folder of the book's hand-out ("" if none)."""

    files: tuple[File, ...]
    node: str = ""
    place: str = ""


def pack(
    path: str, storage: Storage, parts: str, *, place: str, now: datetime, progress: Progress | None = None
) -> list[File]:
    """Write the archive of a book into a new file, by way of copies in the empty folder `parts`; return its files."""
    files = [_file(parts, file) for file in storage.copy(parts)]
    created = now.isoformat().replace("+00:00", "Z")
    told = {"format": FORMAT, "version": VERSION, "created": created, "node": storage.identity(make=False)}
    _pack(path, parts, files, {**told, "place": place}, progress)
    return files


def _file(folder: str, path: str) -> File:
    with open(os.path.join(folder, path), "rb") as file:
        status, digest = os.fstat(file.fileno()), file_digest(file, "sha256").hexdigest()
    mode = 0o600 if path in DATABASES else S_IMODE(status.st_mode)
    return File(path, status.st_size, digest, status.st_mtime_ns, mode)


def _pack(new: str, parts: str, files: Sequence[File], told: dict[str, Any], progress: Progress | None) -> None:
    total, done = sum(file.bytes for file in files), 0
    with tarfile.open(new, "w:gz", format=tarfile.PAX_FORMAT, compresslevel=6) as tar:
        listed = [file._asdict() for file in files]
        shown = json.dumps({**told, "files": listed}, ensure_ascii=False, indent=1).encode()
        tar.addfile(_member(MANIFEST, len(shown), 0, 0o600), BytesIO(shown))
        for file in files:
            with open(os.path.join(parts, file.path), "rb") as data:
                tar.addfile(_member(_INSIDE + file.path, file.bytes, file.mtime_ns, file.mode), data)
            done += file.bytes
            if progress is not None:
                progress(done, total)


def _member(name: str, size: int, mtime_ns: int, mode: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = size, mode, mtime_ns // 10**9
    return member


# --- reading an archive --------------------------------------------------------------------------


def manifest_of(path: str) -> Manifest:
    """Return what an archive says of itself, every path a plain one of a book. Raises NotFound, InvalidInput."""
    with _archive(path) as tar:
        first = tar.next()
        if first is None or first.name != MANIFEST or not first.isreg() or first.size > _LONGEST:
            raise InvalidInput(f"{path!r} is no backup of a book: give another file")
        told = json.loads(_content(tar, first).read())
        if told["format"] != FORMAT or not isinstance(told["version"], int):
            raise InvalidInput(f"{path!r} is no backup of a book: give another file")
        if told["version"] > VERSION:
            raise InvalidInput(f"{path!r} was made by a newer memorybook (format {told['version']}): update memorybook")
        files = tuple(File(**each) for each in told["files"])
        for file in files:
            plain = isinstance(file.path, str) and (file.path in DATABASES or not safe_open.flaw(file.path))
            if not plain or not all(isinstance(number, int) for number in (file.bytes, file.mtime_ns)):
                raise InvalidInput(f"the backup {path!r} has the path {file.path!r}, which is none of a book's")
        if len({file.path for file in files}) != len(files):
            raise InvalidInput(f"the backup {path!r} has a file twice")
        node, place = str(told.get("node", "")), str(told.get("place", ""))
        return Manifest(files, node if re.fullmatch("[0-9a-f]{32}", node) else "", place)


def check(path: str, files: Sequence[File]) -> None:
    """Raise InvalidInput if an archive says of its files what no backup says."""
    for file in files:
        database = file.path in DATABASES
        if type(file.mode) is not int or file.mode & ~(0o600 if database else RIGHTS):
            raise InvalidInput(_damaged(path, f"{file.path} has permissions that no backup has"))
        if not 0 <= file.bytes <= (1 << 48 if database else MAX_BYTES):
            raise InvalidInput(_damaged(path, f"{file.path} has a size that no backup has"))
    if sum(file.bytes for file in files) > _TIGHTEST * os.path.getsize(path):
        raise InvalidInput(_damaged(path, "it says of itself that it holds more than it can"))


def unpack(path: str, folder: str, files: Sequence[File], storage: Storage, progress: Progress | None = None) -> None:
    """Write the files of an archive into a new folder, private so far, each with the bytes that it should have.

    The storage judges the databases. Raises InvalidInput.
    """
    total, done = sum(file.bytes for file in files), 0
    with _archive(path) as tar:
        tar.next()
        for file in files:
            member = tar.next()
            told = (_INSIDE + file.path, file.bytes, file.mode, file.mtime_ns // 10**9, tarfile.REGTYPE, None)
            if member is None or told != (
                *(member.name, member.size, member.mode, member.mtime, member.type, member.sparse),
            ):
                raise InvalidInput(_damaged(path, f"{file.path} is missing or another one"))
            place, content, digest = os.path.join(folder, file.path), _content(tar, member), sha256()
            os.makedirs(os.path.dirname(place), exist_ok=True)
            descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with open(descriptor, "wb") as out:
                while chunk := content.read(_CHUNK):
                    digest.update(chunk)
                    out.write(chunk)
                out.flush()
                os.fchmod(descriptor, 0o600 if file.path in DATABASES else file.mode | 0o600)
                os.utime(descriptor, ns=(file.mtime_ns, file.mtime_ns))
                safe_open.sync(descriptor)
            if digest.hexdigest() != file.sha256:
                raise InvalidInput(_damaged(path, f"{file.path} has other bytes than it should"))
            if file.path in DATABASES:
                try:
                    (storage.journal if file.path == JOURNAL else storage.transcripts).check_copy(place)
                except Unavailable as error:
                    raise InvalidInput(_damaged(path, f"{file.path}: {error}")) from None
            done += file.bytes
            if progress is not None:
                progress(done, total)
        if tar.next() is not None:
            raise InvalidInput(_damaged(path, "there is more in it than it says"))


@contextmanager
def _archive(path: str) -> Iterator[tarfile.TarFile]:
    """Open an archive at its beginning. Raises NotFound, InvalidInput if it is none or damaged."""
    if not os.path.exists(path):
        raise NotFound(f"no file {path!r}: check its name and the directory you are in")
    if os.path.isdir(path):
        raise InvalidInput(f"{path!r} is a folder: give the archive that a backup made")
    try:
        with tarfile.open(path, "r:gz") as tar:
            yield tar
    except InvalidInput:
        raise
    except _BROKEN as error:
        raise InvalidInput(_damaged(path, str(error) or type(error).__name__)) from None


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    found = tar.extractfile(member)
    if found is None:
        raise tarfile.ReadError(f"{member.name} is no file")
    return found


def _damaged(path: str, why: str) -> str:
    return f"{path!r} is no backup of a book, or a damaged one ({why}): nothing was restored"


# --- a book as files in a folder ------------------------------------------------------------------


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
