"""Document paths made safe, and files opened, created and locked.

A path is refused before the disk is touched if it could mean another file than it seems to (`flaw`). What is left is
opened relative to its parent's descriptor, no part through a link, and only a regular file with one name passes.
"""

from __future__ import annotations

import errno
import os
import stat
import sys

from memorybook._light import Iterator, NamedTuple, contextmanager, suppress
from memorybook.errors import InvalidInput, MissingDocument, Unavailable, UnsafePath
from memorybook.formats.document import IGNORED
from memorybook.formats.document import MAX_BYTES as MAX_BYTES

MAX_PARTS = 6
MAX_PART_CHARACTERS = 200
MAX_PART_BYTES = 240
MAX_PATH_BYTES = 1024

_ENCODED = ("%2e", "%2f", "%5c", "%00", "%25")
_LOOKS_LIKE_SLASH = frozenset("\u2044\u2215\u2216\u29f5\u29f8\u29f9")
_LOOKS_LIKE_NOTHING = frozenset("\u034f\u115f\u1160\u2800\u3164\uffa0")
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))]
)
O_DIRECTORY, O_NOFOLLOW, O_CLOEXEC, O_NONBLOCK, O_NOCTTY = (
    getattr(os, name, 0) for name in ("O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY")
)
"""Flags of `os.open`; 0 where the system has none, so that modules can be imported there."""

_FOLDER = os.O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
_FILE = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC


class Loaded(NamedTuple):
    """The bytes of a document and its status, taken at one moment."""

    data: bytes
    status: os.stat_result


def stamp(status: os.stat_result) -> str:
    """Return size, change times and inode: another stamp means that somebody wrote in between."""
    # !r takes half the time that formatting an integer does, and a listing makes thousands of stamps
    return f"{status.st_size!r}-{status.st_mtime_ns!r}-{status.st_ctime_ns!r}-{status.st_ino!r}"


# --- the path as text ---------------------------------------------------------------------------


def is_safe_name(name: str) -> bool:
    """Return whether a file or folder of that name may be part of a document path. Fast for plain names."""
    stem = name.removesuffix(".md")
    plain = stem.isascii() and stem.replace("-", "").replace("_", "").isalnum()
    if plain and len(name) <= MAX_PART_CHARACTERS:
        return len(stem) > 4 or stem.lower() not in _DEVICES
    return not _part_flaw(name)


def flaw(path: str) -> str:
    """Return what makes `path` unfit to name a document, as the end of a sentence; "" if nothing does."""
    if not path.endswith(".md"):
        return "does not end in .md"
    if path.startswith("~"):
        return "starts with ~"
    parts = path.split("/")
    if len(parts) > MAX_PARTS:
        return f"has more than {MAX_PARTS} parts"
    for part in parts:
        if not is_safe_name(part):
            return _part_flaw(part)
    if len(path.encode()) > MAX_PATH_BYTES:
        return f"is longer than {MAX_PATH_BYTES} bytes"
    return ""


def split_path(path: str) -> list[str]:
    """Return the parts of a document path. Raises UnsafePath that says what is wrong with it."""
    if not isinstance(path, str):
        raise UnsafePath(f"a document path is text, not {type(path).__name__}: {path!r}")
    if wrong := flaw(path):
        raise UnsafePath(f"document path {path!r} {wrong}; give a relative one such as 'daily/2026-02-24.md'")
    return path.split("/")


def _part_flaw(part: str) -> str:
    if not part:
        return "is absolute or has an empty part"
    folded = part
    if not part.isascii():
        from unicodedata import category, normalize

        for character in part:
            if category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"} or character in _LOOKS_LIKE_NOTHING:
                return f"has the invisible or invalid character U+{ord(character):04X}"
            if character in _LOOKS_LIKE_SLASH:
                return f"has U+{ord(character):04X}, which looks like a slash"
        folded = normalize("NFKC", part)
    checks = (
        (folded.startswith("."), "has a part that starts with a dot"),
        ("/" in folded or "\\" in folded, "has a disguised or a backward slash"),
        (any(c < " " or c == "\x7f" for c in folded), "has a control character"),
        (any(code in folded.lower() for code in _ENCODED), "has a percent-encoded dot, slash or percent sign"),
        (
            folded != folded.strip() or folded.endswith("."),
            "has a part that starts or ends with a space, or ends in a dot",
        ),
        (folded.partition(".")[0].strip().lower() in _DEVICES, "has a part that is the name of a device"),
        (folded[1:2] == ":" and folded[0].isalpha(), "starts with a drive letter"),
        (len(part) > MAX_PART_CHARACTERS, f"has a part of more than {MAX_PART_CHARACTERS} characters"),
        (len(part.encode()) > MAX_PART_BYTES, f"has a part of more than {MAX_PART_BYTES} bytes"),
    )
    return next((wrong for found, wrong in checks if found), "")


# --- opening -----------------------------------------------------------------------------------


def check_system() -> None:
    """Raise Unavailable on a system that cannot open a file below an open folder, which a book in files needs."""
    if os.open not in os.supports_dir_fd:
        raise Unavailable(
            "books in files need Linux or macOS: on Windows run memorybook in WSL (wsl --install), or use books of a "
            "server (memorybook.client, or storage.dsn for PostgreSQL)"
        )


def sync(descriptor: int) -> None:
    """Have a file, or the names in a folder, on disk; macOS leaves it in the drive's cache unless asked for more."""
    if sys.platform == "darwin":
        import fcntl

        with suppress(OSError):  # not every file system can
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
    os.fsync(descriptor)


@contextmanager
def closing(descriptor: int) -> Iterator[int]:
    """Close a descriptor at the end of the block."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_folder(folder: int, parts: list[str], path: str, *, create: bool = False) -> int:
    """Open the folder `parts` below the descriptor `folder`; `create` makes what is missing, durably.

    Raises MissingDocument, UnsafePath if a part is a link or no folder.
    """
    here = os.dup(folder)
    try:
        for part in parts:
            try:
                below = os.open(part, _FOLDER, dir_fd=here)
            except FileNotFoundError:
                if not create:
                    raise
                with suppress(FileExistsError):
                    rights = rights_in(os.fstat(here), 0o2777)
                    os.mkdir(part, 0o700, dir_fd=here)
                    if rights != 0o700:
                        os.chmod(part, rights, dir_fd=here)
                    sync(here)
                below = os.open(part, _FOLDER, dir_fd=here)
            os.close(here)
            here = below
    except OSError as error:
        os.close(here)
        refuse(error, path)
        raise
    return here


def rights_in(folder: os.stat_result, most: int) -> int:
    """Return the permissions, of those in `most`, for something new in a folder: the owner's, and a sharing group's.

    A group shares a folder in which others have no rights (0750, 0770), or that has the set-group-ID bit (2775).
    """
    shared = folder.st_mode & 0o2000 or not folder.st_mode & 0o007
    return most & (0o700 | folder.st_mode & 0o2070 if shared else 0o700)


def open_file(
    folder: int, name: str, path: str, flags: int = os.O_RDONLY, mode: int = 0o600
) -> tuple[int, os.stat_result]:
    """Open the regular file `name` in `folder`, never blocking or following a link; return descriptor and status.

    Raises MissingDocument, or UnsafePath for anything but a regular file with one name and at most `MAX_BYTES`.
    """
    try:
        descriptor = os.open(name, flags | _FILE, mode, dir_fd=folder)
    except OSError as error:
        refuse(error, path)
        raise
    status = os.fstat(descriptor)
    if wrong := file_flaw(status):
        os.close(descriptor)
        raise UnsafePath(f"document {path!r} {wrong}")
    return descriptor, status


def file_flaw(status: os.stat_result) -> str:
    """Return why a file is no document, as the end of a sentence; "" if it is one."""
    if not stat.S_ISREG(status.st_mode):
        return "is not a regular file; put a plain Markdown file there"
    if status.st_nlink > 1:
        return f"has {status.st_nlink} names (hard links), so it may lie outside the book; replace it by a copy"
    if status.st_size > MAX_BYTES:
        return f"has {status.st_size} bytes, more than the {MAX_BYTES} allowed; split it"
    return ""


def refuse(error: OSError, path: str) -> None:
    """Raise what a failure to open `path` means to a caller; return if it is the disk's own trouble."""
    if error.errno == errno.ENOENT:
        raise MissingDocument(f"there is no document {path!r} in this book") from None
    if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.ENODEV, errno.EMLINK):
        raise UnsafePath(
            f"document {path!r} is, or passes, a link or something that is no plain file or folder; use its real place"
        ) from None


def load(folder: int, name: str, path: str) -> Loaded:
    """Return the whole file, read from one descriptor, again if it changed meanwhile. Raises like `open_file`."""
    descriptor, before = open_file(folder, name, path)
    with closing(descriptor):
        for _ in range(4):
            data = read_all(descriptor, before.st_size)
            after = os.fstat(descriptor)
            if stamp(after) == stamp(before) and len(data) == after.st_size:
                break
            before = after
            os.lseek(descriptor, 0, os.SEEK_SET)
    if len(data) > MAX_BYTES:
        raise UnsafePath(f"document {path!r} grew beyond {MAX_BYTES} bytes while it was read; split it")
    return Loaded(data, after)


def load_if_any(folder: int, name: str, path: str) -> Loaded | None:
    """Return what `load` does; None if there is no such file."""
    try:
        return load(folder, name, path)
    except MissingDocument:
        return None


def discard(folder: int, name: str) -> None:
    """Remove a file of ours; one that is gone already, or that will not go, is left to the next sweep."""
    with suppress(OSError):
        os.unlink(name, dir_fd=folder)


def read_all(descriptor: int, size: int) -> bytes:
    """Read everything from here on, but never much more than `MAX_BYTES`; `size` is what is expected."""
    data = more = os.read(descriptor, size + 1)
    while more and size != len(data) <= MAX_BYTES:
        more = os.read(descriptor, 2**20)
        data += more
    return data


def encode(text: str, path: str) -> bytes:
    """Return the document's bytes. Raises InvalidInput for text that no file can hold, or that is too long."""
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"the text for {path!r} has a lone surrogate at {error.start}, which UTF-8 cannot hold"
        ) from None
    if len(data) > MAX_BYTES:
        raise InvalidInput(f"the text for {path!r} has {len(data)} bytes, more than the {MAX_BYTES} allowed; split it")
    return data


_NULS = b"\0" * 8  # what stands in blocks that were never written; a text has no such thing, UTF-16 not either


def decoded(data: bytes) -> str:
    """Decode a document: UTF-8, UTF-16, or Chinese in GB 18030; NULs of a crash are dropped.

    Other bytes become lone surrogates and are written back as they were.
    """
    if 0 in data and _NULS in data:  # for one byte is looked thirty times as fast as for several
        import re

        data = re.sub(_NULS + b"+", b"", data)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        with suppress(UnicodeDecodeError):
            return data.decode("utf-16")
    if 0 not in data or 4 * data.count(0) <= len(data):
        with suppress(UnicodeDecodeError):
            return data.decode("utf-8")
    if 0 in data:  # UTF-16 without its mark: of both orders of bytes the one that has more spaces and line ends
        read = [data.decode(f"utf-16-{order}", "replace") for order in ("le", "be")]
        text = max(read, key=lambda text: text.count(" ") + text.count("\n"))
        if not any(character in "\0\ufffd" for character in text):
            return text
    with suppress(UnicodeDecodeError):  # as Chinese only if that makes words of its characters, not one here and there
        text = data.decode("gb18030")
        han = ["\u3000" <= character <= "\u9fff" or "\uff00" <= character <= "\uffef" for character in text]
        beside = zip([False, *han[:-1]], han, [*han[1:], False], strict=True)
        together = sum(one and (before or after) for before, one, after in beside)
        if 2 * together > sum(character > "\x7f" for character in text):
            return text
    return data.decode("utf-8", "surrogateescape")


def digest(data: bytes) -> str:
    """Return the revision of a document with these bytes: the first 128 bits of SHA-256, in hex."""
    from hashlib import sha256

    return sha256(data).hexdigest()[:32]


def create(path: str, *, durable: bool) -> None:
    """Create an empty file for its owner alone, with its folder. Raises Unavailable.

    It never opens one that exists: closing it would drop SQLite's locks.
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
    """Create a folder for its owner alone. `.memorybook` ignores itself for git and needs a book."""
    if os.path.isdir(path):
        return
    if os.path.basename(path) != ".memorybook":
        os.makedirs(path, mode=0o700, exist_ok=True)
    else:
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)
        _ignore(os.path.join(path, ".gitignore"), b"*\n", 0o600)


def ignore_backup(folder: int) -> None:
    """Have git leave out the back-up copy in a book's folder (a descriptor), unless somebody told it what to leave."""
    with suppress(OSError):
        _ignore(".gitignore", IGNORED, rights_in(os.fstat(folder), 0o666), folder)


def _ignore(path: str, lines: bytes, mode: int, folder: int | None = None) -> None:
    """Write a `.gitignore` where none is."""
    with suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=folder)
        os.write(descriptor, lines)
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
    with closing(os.open(folder, _FOLDER & ~os.O_NOFOLLOW)) as descriptor:
        sync(descriptor)


@contextmanager
def claimed(path: str) -> Iterator[bool]:
    """Return whether this holds the file's lock in the block, without waiting; True where no lock file can be made."""
    import fcntl

    try:
        own_folder(os.path.dirname(path))
        flags = os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe would wait
        descriptor = os.open(path, flags, 0o600)
    except OSError:
        yield True
        return
    ours = True
    with closing(descriptor):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:  # also of a file system without locks
            ours = not isinstance(error, BlockingIOError)
        yield ours
