"""Archives of a whole book: what can not be derived, at one moment, with a digest for every file.

A `.tar.gz` whose first member tells of the others: `backup.json` with the version of the format and, for each file,
its path, size, time, permissions and SHA-256. The files stand under `book/`: the documents as they are, and the two
databases `.memorybook/transcripts.sqlite` and `.memorybook/journal.sqlite`. The index is left out, as it is made anew.
"""

from __future__ import annotations

import json
import os
import re
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from gzip import BadGzipFile
from hashlib import file_digest, sha256
from io import BytesIO
from itertools import count
from socket import gethostname
from stat import S_IMODE
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from memorybook.errors import Conflict, InvalidInput, MissingDocument, NotFound, Unavailable, UnsafePath
from memorybook.exchange.export import alone_in, put_in_place, remove, sync
from memorybook.exchange.peer_folders import book_id
from memorybook.formats.document import IGNORED, MAX_BYTES, gitignore_of
from memorybook.storage.directory import refusals
from memorybook.storage.safe_open import flaw

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.protocols import Progress

FORMAT = "memorybook backup"
VERSION = 1
MANIFEST = "backup.json"

_STATE = ".memorybook"
_JOURNAL = f"{_STATE}/journal.sqlite"
_TRANSCRIPTS = f"{_STATE}/transcripts.sqlite"
_DATABASES = (_JOURNAL, _TRANSCRIPTS)
_INSIDE = "book/"
_LONGEST = 64 << 20  # of a manifest
_CHUNK = 1 << 20
_SHOWN = 100
_RIGHTS = 0o666
"""Permissions that a document is backed up with: nobody runs it."""

_TIGHTEST = 1100
"""Bytes of which gzip makes one at best."""

_OURS = (".md.bak", ".mb-tmp", ".mb-swap")
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
    root = context.root
    if absent := context.absent:
        raise NotFound(absent)
    with put_in_place(path) as new, ExitStack() as closing:
        parts = f"{new}.parts"  # copies, which go with the block
        remove(parts)
        os.mkdir(parts, 0o700)
        closing.callback(remove, parts)
        check_place(path)
        files = _cut(context, parts)
        created = context.book.now().isoformat().replace("+00:00", "Z")
        told = {"format": FORMAT, "version": VERSION, "created": created, "node": book_id(root, make=False)}
        _pack(new, parts, files, {**told, "place": _place(root)}, progress)
    return Backup(
        path,
        sum(file.path.endswith(".md") for file in files),
        sum(file.bytes for file in files),
        os.path.getsize(path),
        tuple(_strangers(root, {*(file.path for file in files), os.path.relpath(path, root)})),
    )


def check_place(path: str) -> None:
    """Raise InvalidInput if the path is a file other than a backup, which would be lost."""
    if os.path.isfile(path) and os.path.getsize(path):
        _manifest_of(path)


def _cut(context: Context, parts: str) -> list[File]:
    """Copy the book as it is at one moment; its writers wait for the documents, nobody waits for the databases."""
    book = context.book
    files: list[File] = []
    databases = ((_JOURNAL, book.journal), (_TRANSCRIPTS, book.transcripts))  # marks, then turns
    with ExitStack() as copies, book.documents.lock():  # left before the databases are copied
        for info in sorted(book.documents.list()):
            with suppress(MissingDocument, UnsafePath, FileNotFoundError):  # a person takes it away right now
                data = book.documents.read(info.path).text.encode("utf-8", "surrogateescape")
                status = os.stat(os.path.join(context.root, info.path))
                with open(os.path.join(parts, str(len(files))), "wb") as file:
                    file.write(data)
                rights = status.st_mode & _RIGHTS | 0o600
                files.append(File(info.path, len(data), sha256(data).hexdigest(), status.st_mtime_ns, rights))
        found = [
            path
            for path, database in databases
            if copies.enter_context(database.copying(os.path.join(parts, os.path.basename(path))))
        ]
    for path in found:
        with open(os.path.join(parts, os.path.basename(path)), "rb") as file:
            status, digest = os.fstat(file.fileno()), file_digest(file, "sha256").hexdigest()
        files.append(File(path, status.st_size, digest, status.st_mtime_ns, 0o600))
    return files


def _place(root: str) -> str:
    """Return a digest of where the book is. Its copy elsewhere is another book to those that it hands out to."""
    return sha256(f"{gethostname()}:{os.path.realpath(root)}".encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _pack(new: str, parts: str, files: Sequence[File], told: dict[str, Any], progress: Progress | None) -> None:
    total, done = sum(file.bytes for file in files), 0
    with tarfile.open(new, "w:gz", format=tarfile.PAX_FORMAT, compresslevel=6) as tar:
        listed = [file._asdict() for file in files]
        shown = json.dumps({**told, "files": listed}, ensure_ascii=False, indent=1).encode()
        tar.addfile(_member(MANIFEST, len(shown), 0, 0o600), BytesIO(shown))
        for number, file in enumerate(files):
            name = os.path.basename(file.path) if file.path in _DATABASES else str(number)
            with open(os.path.join(parts, name), "rb") as data:
                tar.addfile(_member(_INSIDE + file.path, file.bytes, file.mtime_ns, file.mode), data)
            done += file.bytes
            if progress is not None:
                progress(done, total)


def _member(name: str, size: int, mtime_ns: int, mode: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = size, mode, mtime_ns // 10**9
    return member


def _strangers(root: str, known: set[str]) -> list[str]:
    """Return files of the book's folder that are not in the archive; what memorybook leaves itself does not count."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in (_STATE, ".git"))
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), root)
            if path == ".gitignore" and gitignore_of(root) == IGNORED:
                continue
            if path.replace(os.sep, "/") not in known and not name.endswith(_OURS):
                found.append(path)
    return found[:_SHOWN]


# --- restoring -----------------------------------------------------------------------------------


def restore(context: Context, path: str, *, replace: bool = False, progress: Progress | None = None) -> Restored:
    """See `Memory.restore`; what was under way when it was backed up is finished by whoever opens it next."""
    transcripts = context.config.transcripts
    setting = "transcripts.url" if transcripts.url else "transcripts.db_path" if transcripts.db_path else ""
    if setting:  # nobody would look for the turns where they are restored to
        raise InvalidInput(
            f"{setting} keeps turns outside of the book, a restore puts them into it: leave it out first"
        )
    files, node, place = _manifest_of(path)
    for file in files:
        database = file.path in _DATABASES
        if type(file.mode) is not int or file.mode & ~(0o600 if database else _RIGHTS):
            raise InvalidInput(_damaged(path, f"{file.path} has permissions that no backup has"))
        if not 0 <= file.bytes <= (1 << 48 if database else MAX_BYTES):
            raise InvalidInput(_damaged(path, f"{file.path} has a size that no backup has"))
    if sum(file.bytes for file in files) > _TIGHTEST * os.path.getsize(path):
        raise InvalidInput(_damaged(path, "it says of itself that it holds more than it can"))
    root = context.root
    above, name = os.path.split(root)
    with refusals(f"the book {root!r} cannot be restored"):
        os.makedirs(above, exist_ok=True)
        with alone_in(above):
            if _is_taken(root) and not replace:
                raise Conflict(f"{root!r} is not empty: restore into another folder, or let the book there be replaced")
            new = os.path.join(above, f".{name}.mb-restore")
            remove(new)
            try:
                _unpack(context, path, new, files, progress)
                _settle(new, root, book_id(root, make=False) or (node if place == _place(root) else ""))
                kept = ""
                if _is_taken(root):
                    context.book.documents.change_places(os.path.basename(new))
                    before = f"{root}.before-{context.book.now():%Y%m%dT%H%M%SZ}"
                    names = (f"{before}{f'-{n}' * bool(n)}" for n in count())
                    kept = next(name for name in names if not os.path.lexists(name))
                    os.rename(new, kept)
                else:
                    os.rename(new, root)
                    sync(above)
            finally:
                remove(new)
    return Restored(root, sum(file.path.endswith(".md") for file in files), sum(file.bytes for file in files), kept)


def _is_taken(root: str) -> bool:
    return os.path.lexists(root) and (not os.path.isdir(root) or bool(os.listdir(root)))


# --- reading an archive --------------------------------------------------------------------------


def _manifest_of(path: str) -> Manifest:
    """Return what an archive says of itself, every path a plain one of a book."""
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
            plain = isinstance(file.path, str) and (file.path in _DATABASES or not flaw(file.path))
            if not plain or not all(isinstance(number, int) for number in (file.bytes, file.mtime_ns)):
                raise InvalidInput(f"the backup {path!r} has the path {file.path!r}, which is none of a book's")
        if len({file.path for file in files}) != len(files):
            raise InvalidInput(f"the backup {path!r} has a file twice")
        node, place = str(told.get("node", "")), str(told.get("place", ""))
        return Manifest(files, node if re.fullmatch("[0-9a-f]{32}", node) else "", place)


def _unpack(context: Context, path: str, folder: str, files: Sequence[File], progress: Progress | None) -> None:
    """Write the files of an archive into a new folder, private so far, each with the bytes that it should have."""
    os.mkdir(folder, 0o700)
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
                os.fchmod(descriptor, 0o600 if file.path.startswith(_STATE) else file.mode | 0o600)
                os.utime(descriptor, ns=(file.mtime_ns, file.mtime_ns))
                os.fsync(descriptor)
            if digest.hexdigest() != file.sha256:
                raise InvalidInput(_damaged(path, f"{file.path} has other bytes than it should"))
            if file.path in _DATABASES:
                try:
                    (context.book.journal if file.path == _JOURNAL else context.book.transcripts).check_copy(place)
                except Unavailable as error:
                    raise InvalidInput(_damaged(path, f"{file.path}: {error}")) from None
            done += file.bytes
            if progress is not None:
                progress(done, total)
        if tar.next() is not None:
            raise InvalidInput(_damaged(path, "there is more in it than it says"))


def _settle(folder: str, root: str, node: str) -> None:
    """Make what was unpacked fit to stand at `root`, with the rights of what stands there; durable on return."""
    state = os.path.join(folder, _STATE)
    os.makedirs(state, exist_ok=True)
    for name, text in ((".gitignore", "*\n"), ("node", node)):
        if text:
            place = os.path.join(state, name)
            with open(place, "w", encoding="ascii", opener=partial(os.open, mode=0o600)) as file:
                file.write(text)
            sync(place)
    mode = S_IMODE(os.stat(root).st_mode) | 0o700 if os.path.isdir(root) else 0o700
    for below, _, _ in os.walk(folder, topdown=False):
        os.chmod(below, 0o700 if below == state else mode)
        sync(below)


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
