"""List a book's documents: by walking its folders, or by what the kernel tells of them to a process that lists often.

Linux puts an event into the queue of whoever watches a folder before the call that changed something in
there returns, so whoever has read the queue knows all that was done before. That holds where every change
passes this kernel: on local file systems, not on what a server or another system keeps.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from _thread import allocate_lock
from struct import Struct

from memorybook._light import TYPE_CHECKING, Callable, Iterator, once, suppress
from memorybook.errors import MissingDocument, UnsafePath
from memorybook.formats.document import DocumentInfo
from memorybook.storage import safe_open

if TYPE_CHECKING:
    from ctypes import CDLL

STATE = ".memorybook"
"""The folder of machine state in a book."""

_Mark = tuple[int, int, int, int]

_Known = tuple[_Mark, DocumentInfo]

Listed = dict[str, dict[str, _Known]]
"""What a listing saw: folder -> name -> size, change times and inode, with what was told of it."""

_TICK = 20_000_000  # ns; kernels stamp files with a clock that stands still for up to 10 ms

_HOUR = 3_600_000_000_000

TRUSTED = 60.0
"""Seconds after which everything is looked at anyway."""

_LOCAL = frozenset(b"bcachefs btrfs ext2 ext3 ext4 f2fs jfs nilfs2 overlay ramfs reiserfs tmpfs xfs zfs".split())

_MODIFY, _ATTRIB, _CLOSE_WRITE, _MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x2, 0x4, 0x8, 0x40, 0x80, 0x100, 0x200
# the end of writing as well: what comes through a mapping is not told before
_FILE_CHANGED = _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
_OVERFLOW = 0x4000
_ONLY_FOLDERS = 0x1000000

_EVENT = Struct("iIII")
_LARGEST = _EVENT.size + 256
_BUFFER = 65_536


class Walk:
    """One pass over all folders: every document's status is read, but only new ones are looked into.

    `before` is the last pass's `listed`, `now` in ns; `enter` is called with every folder (descriptor, path).
    Afterwards `found` holds the documents, `racy` those changed just now as (folder, name), `unread` sentences about
    files that are none; `plain` is False if a file has several names.
    """

    def __init__(self, before: Listed, now: int, enter: Callable[[int, str], None] | None = None) -> None:
        self.found: list[DocumentInfo] = []
        self.listed: Listed = {}
        self.racy: set[tuple[str, str]] = set()
        self.plain = True
        self.unread: list[str] = []
        self._before = before
        self._racy = (now - _TICK, now + _HOUR)
        self._enter = enter

    def all(self, root: str) -> None:
        """Look through the book; nothing is found if there is none. Raises OSError."""
        with suppress(FileNotFoundError):
            self._through(os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), "", safe_open.MAX_PARTS)

    def _through(self, folder: int, above: str, depth: int) -> None:
        """Look through `folder`, which is closed, and all below; `above` is its path with its slash."""
        before, here = self._before.get(above, {}), {}
        low, high = self._racy
        try:
            if self._enter is not None:
                self._enter(folder, above)
            with os.scandir(folder) as entries:
                for entry in entries:
                    name = entry.name
                    known = before.get(name)
                    if known is None and not name.endswith(".md"):
                        self._below(folder, entry, above, depth)
                        continue
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    mark = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
                    just_now = low < mark[2] < high
                    if known is None or known[0] != mark or just_now:
                        if not stat.S_ISREG(status.st_mode):
                            self._below(folder, entry, above, depth)
                            continue
                        known = _looked_into(above, name, status, mark, just_now)
                    if known is None:
                        self.plain = self.plain and status.st_nlink == 1
                        wrong = safe_open.flaw(above + name) or safe_open.file_flaw(status)
                        self.unread.append(f"{above}{name} is not read: it {wrong}")
                        continue
                    self.found.append(known[1])
                    if just_now:
                        self.racy.add((above, name))
                    else:
                        here[name] = known
        finally:
            os.close(folder)
        if here:
            self.listed[above] = here

    def file(self, root: str, above: str, name: str) -> DocumentInfo | None:
        """Return one file looked at anew, in a folder that an earlier pass went through; None if it is no document."""
        try:
            status = os.lstat(os.path.join(root, above, name))
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not name.endswith(".md") or not stat.S_ISREG(status.st_mode):
            return None
        mark = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        just_now = self._racy[0] < mark[2] < self._racy[1]
        if just_now:
            self.racy.add((above, name))
        self.plain = self.plain and status.st_nlink == 1
        known = _looked_into(above, name, status, mark, just_now)
        return None if known is None else known[1]

    def _below(self, folder: int, entry: os.DirEntry[str], above: str, depth: int) -> None:
        """Look through what may be a folder, unless it is a book; one that is gone or no folder is passed over."""
        if not entry.is_dir(follow_symlinks=False):
            if entry.name[0] != "." and (entry.name.endswith(".md") or (entry.is_symlink() and entry.is_dir())):
                self.unread.append(f"{above}{entry.name} is not read: it is a link, or no file")
        elif depth > 1 and entry.is_dir(follow_symlinks=False) and safe_open.is_safe_name(name := entry.name):
            with suppress(FileNotFoundError, MissingDocument, UnsafePath):
                if not os.access(f"{name}/{STATE}", os.F_OK, dir_fd=folder):
                    self._through(safe_open.open_folder(folder, [name], name), f"{above}{name}/", depth - 1)


def _looked_into(above: str, name: str, status: os.stat_result, mark: _Mark, just_now: bool) -> _Known | None:
    """Return what a listing tells of a regular file; None if `read` would not open it."""
    path = above + name
    if not safe_open.is_safe_name(name) or status.st_nlink != 1 or status.st_size > safe_open.MAX_BYTES:
        return None
    if len(path) * 4 > safe_open.MAX_PATH_BYTES < len(path.encode()):
        return None
    return mark, DocumentInfo(path, status.st_size, "" if just_now else safe_open.stamp(status), status.st_mtime)


def watched(root: str, listed: Listed) -> Watched | None:
    """Return the watched documents at `root`; None if the kernel does not tell of all that happens there."""
    try:
        return Watched(root, Queue(), listed) if sys.platform == "linux" and _is_local(root) else None
    except (OSError, AttributeError):  # no such file in /proc, no such function, no queue left
        return None


class Watched:
    """The documents of a book, watched; safe between threads, not in a forked child (`process`)."""

    def __init__(self, root: str, queue: Queue, listed: Listed) -> None:
        self.process = os.getpid()
        self._root = root
        self._queue: Queue | None = queue
        self._lock = allocate_lock()
        self._listed = listed
        self._documents: dict[str, DocumentInfo] = {}
        self._found: tuple[DocumentInfo, ...] = ()
        self._racy: set[tuple[str, str]] = set()
        self._until = 0.0

    def list(self) -> tuple[DocumentInfo, ...]:
        """Return every document; the same object as before if nothing changed. Raises OSError.

        What the kernel does not tell of (hard links, mounts) is noticed within a minute.
        """
        with self._lock:  # whoever reads what happened works it in before anybody else answers
            touched = self._queue.touched(self._root) if self._queue is not None else None
            until, self._until = self._until, 0.0  # nothing is trusted any more if this fails
            if touched is None or time.monotonic() >= until or not self._look_at(touched | self._racy):
                until = self._look_everywhere()
            self._until = until
            return self._found

    def _look_at(self, files: set[tuple[str, str]]) -> bool:
        """Look at these files, as (path of the folder with its slash, name); False if that does not tell enough."""
        if not files:
            return True
        walk, changed = Walk({}, time.time_ns()), False
        for above, name in files:
            path, info = above + name, walk.file(self._root, above, name)
            if info == self._documents.get(path):
                continue
            changed = True
            if info is None:
                del self._documents[path]
            else:
                self._documents[path] = info
        self._racy = walk.racy
        if changed:
            self._found = tuple(self._documents.values())
        return walk.plain

    def _look_everywhere(self) -> float:
        """Look at everything; returns until when what is told is enough."""
        if self._queue is not None:
            self._queue.begin()
        walk = Walk(self._listed, time.time_ns(), self._enter)
        walk.all(self._root)
        self._listed, self._racy = walk.listed, walk.racy
        self._documents = {info.path: info for info in walk.found}
        self._found = tuple(walk.found)
        return time.monotonic() + TRUSTED if walk.plain and self._queue is not None else 0.0

    def _enter(self, folder: int, above: str) -> None:
        try:
            if self._queue is not None:
                self._queue.add(folder, above)
        except OSError:  # this user watches as many folders as is allowed
            self._end()

    def close(self) -> None:
        """Release the queue; listings look at everything from now on."""
        if self.process != os.getpid():  # a thread that is not in this process may hold the lock
            self._end()
            return
        with self._lock:
            self._end()

    def _end(self) -> None:
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.close()


class Queue:
    """The kernel's events of the added folders; not for several threads. Raises OSError."""

    def __init__(self) -> None:
        self._descriptor = -1
        self._descriptor = _called(_libc().inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        self._root: tuple[int, int] | None = None
        self._folders: dict[int, str] = {}

    def begin(self) -> None:
        """Forget the folders: all will be added again."""
        self._root, self._folders = None, {}

    def add(self, folder: int, above: str) -> None:
        """Watch an open folder; `above` is its path with its slash, "" for the root. Raises OSError."""
        opened = b"/proc/self/fd/%d" % folder
        number = _called(_libc().inotify_add_watch(self._descriptor, opened, _FILE_CHANGED | _ONLY_FOLDERS))
        self._folders[number] = above
        if not above:
            self._root = _identity(os.fstat(folder))

    def touched(self, root: str) -> set[tuple[str, str]] | None:
        """Return files, as (folder with its slash, name), changed since the last call; None if more may be."""
        files, enough = set(), True
        for number, mask, name in _events(self._read()):
            above = self._folders.get(number)
            if above is None:  # not of the book any more, unless it is of all folders
                enough = enough and not mask & _OVERFLOW
            elif name and not mask & ~_FILE_CHANGED:
                files.add((above, name))
            else:  # folders come and go
                enough = False
        with suppress(OSError):  # nobody tells if a folder above the book is renamed
            return files if enough and _identity(os.stat(root)) == self._root else None
        return None

    def _read(self) -> bytes:
        data = b""
        try:
            while True:
                more = os.read(self._descriptor, _BUFFER)
                data += more
                if len(more) < _BUFFER - _LARGEST:
                    return data
        except BlockingIOError:
            return data

    def close(self) -> None:
        """End it; closing twice does nothing."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    __del__ = close


def _events(data: bytes) -> Iterator[tuple[int, int, str]]:
    """Return number of the folder, what happened, and the name in there, of each event."""
    at = 0
    while at < len(data):
        number, mask, _, size = _EVENT.unpack_from(data, at)
        at += _EVENT.size + size
        yield number, mask, os.fsdecode(data[at - size : at].rstrip(b"\0"))


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


# --- the system ----------------------------------------------------------------------------------


def _is_local(root: str) -> bool:
    """Return whether all of the book is on one local file system. Raises OSError."""
    opened = safe_open.closing(os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    with opened as descriptor, open(f"/proc/self/fdinfo/{descriptor}", "rb") as about:
        mount = next((line.split()[1] for line in about if line.startswith(b"mnt_id:")), b"")
    with open("/proc/self/mountinfo", "rb") as file:
        mounts = [line.split() for line in file]
    below = os.path.join(os.fsencode(root), b"")
    # what happens to a file that is mounted in the book is told to the folder where it lies
    alone = not any(_unescaped(place).startswith(below) for _, _, _, _, place, *_ in mounts)
    kind = next((fields[fields.index(b"-") + 1] for fields in mounts if fields[0] == mount), b"")
    return alone and kind in _LOCAL


def _unescaped(place: bytes) -> bytes:
    r"""Return a path of `mountinfo`, where a space is written as `\040`."""
    first, *rest = place.split(b"\\")
    return first + b"".join(bytes([int(part[:3], 8)]) + part[3:] for part in rest)


@once
def _libc() -> CDLL:
    from ctypes import CDLL, c_char_p, c_int, c_uint32

    libc = CDLL(None, use_errno=True)
    libc.inotify_init1.argtypes = [c_int]
    libc.inotify_add_watch.argtypes = [c_int, c_char_p, c_uint32]
    return libc


def _called(result: int) -> int:
    """Return what a function of the system returned. Raises OSError."""
    if result < 0:
        from ctypes import get_errno

        raise OSError(get_errno(), os.strerror(get_errno()))
    return result
