"""A book as a directory of Markdown: `DirectoryDocuments`.

Reading and listing take no lock. Writers, in whatever process, hold the book's lock; a person's
editor never does, so every write first merges what a person saved meanwhile (`reconcile`).

Folders and Markdown are for their owner alone (0700, 0600); in a folder that is shared with a group, for that too
(`rights_in`). An existing one keeps its permissions. `.memorybook` is always for its owner alone.

Documents are listed by walking the folders, or by what the kernel tells of them to a process that lists often. Linux
puts an event into the queue of whoever watches a folder before the call that changed something in there returns, so
whoever has read the queue knows all that was done before. That holds where every change passes this kernel: on local
file systems, not on what a server or another system keeps.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from _thread import allocate_lock
from errno import ENOSPC
from itertools import count
from math import inf
from struct import Struct

from memorybook._light import TYPE_CHECKING, Callable, Collection, Iterator, Sequence, contextmanager, once, suppress
from memorybook.errors import BookLocked, Conflict, InvalidInput, MissingDocument, Unavailable, UnsafePath
from memorybook.formats.document import Document, DocumentInfo, Loss
from memorybook.storage import safe_open

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from ctypes import CDLL

    from memorybook.storage.target import Target


STATE = ".memorybook"
"""The folder of machine state in a book."""

_FOLDER = os.O_RDONLY | safe_open.O_DIRECTORY | safe_open.O_CLOEXEC
_SAVING = 5.0  # s that an editor may take between emptying a file and filling it, for those who read meanwhile
_ROOM = 2**16  # bytes that a disk which is not full takes
_SHOWN = 3
_WATCHING = 0.02  # s that it takes to start being told of changes, and to end it


class DirectoryDocuments:
    """`Documents` in a directory, which the first write creates. `root` is resolved once; no later link is followed.

    Any method raises Unavailable where the disk refuses (full, read-only, no rights). A writer waits `lock_timeout`
    seconds for the lock.
    """

    def __init__(self, root: str, *, lock_timeout: float = 10.0) -> None:
        self.root = os.path.realpath(os.path.expanduser(root))
        self.lock_timeout = lock_timeout
        self._held: dict[tuple[int, int], int] = {}
        self._swept: set[str] = set()
        self._listed: Listed = {}
        self._memory: tuple[str, Document] | None = None
        self._watched: Watched | None = None
        self._lost = 0.0
        self._place = _place_of(self.root)

    def close(self) -> None:
        """Release what tells of changes, if many listings had it started; the next listing does without."""
        watched, self._watched, self._lost = self._watched, None, 0.0
        if watched is not None:
            watched.close()

    # --- reading -------------------------------------------------------------------------------

    def list(self) -> Sequence[DocumentInfo]:
        """Return every document that `read` would open, in no order; documents of nested books are left out.

        Stamps are empty for documents changed in the last 20 ms, whose time stamps cannot tell a second change from the
        first. Unchanged documents are the same objects as in the last listing. A process that lists often watches the
        folders (`Watched`) and looks only where something changed.
        """
        with refusals(f"the book {self.root!r} cannot be read"):
            if (told := self._watched) is not None and told.process != os.getpid():
                self.close()  # a forked child's copy, of which it would take events from its parent
                told = None
            if self._lost > _WATCHING and os.path.isdir(self.root):
                self._lost = -inf  # that is tried once
                told = self._watched = watched(self.root, self._listed)
            if told is not None:
                return told.list()
            started = time.perf_counter()
            walk = Walk(self._listed, time.time_ns())
            walk.all(self.root)
            self._listed, self._lost = walk.listed, self._lost + time.perf_counter() - started
            return tuple(walk.found)

    def revision(self) -> int | None:
        """Return a number that grows with what the kernel tells; None in a process that does not list often."""
        if self._watched is None or self._watched.process != os.getpid():
            return None
        with refusals(f"the book {self.root!r} cannot be read"):
            return self._watched.revision()

    def unread(self) -> Sequence[str]:
        """Return what looks like a document, or a folder of some, and is none, with the reason, a sentence each."""
        with refusals(f"the book {self.root!r} cannot be read"):
            if self._watched is not None and self._watched.process == os.getpid():
                return self._watched.unread()
            walk = Walk({}, time.time_ns())
            walk.all(self.root)
        return sorted(walk.unread)

    def read(self, path: str) -> Document:
        """Read the document; what a stale editor's save dropped is put back. Raises MissingDocument, UnsafePath."""
        safe_open.split_path(path)
        if (before := self._before_save(path)) is not None:
            return before
        with suppress(Conflict, Unavailable, OSError):  # what cannot be merged at once the next write merges
            if self.needs_reconcile(DocumentInfo(path, 0, "", 0.0)):
                self.reconcile(path, timeout=0.0)
        with self._named_refusals(path, "read"), self._folder(path) as (folder, name):
            if path == "MEMORY.md" and (known := self._memory) is not None:
                with suppress(FileNotFoundError):
                    if known[0] == safe_open.stamp(os.stat(name, dir_fd=folder, follow_symlinks=False)):
                        return known[1]
            data, status = safe_open.load(folder, name, path)
        document = Document(safe_open.decoded(data), safe_open.digest(data), status.st_mtime)
        if path == "MEMORY.md":  # every write reads it, and it grows; a stamp of just now cannot tell a second change
            settled = status.st_ctime_ns < time.time_ns() - _TICK
            self._memory = (safe_open.stamp(status), document) if settled else None
        return document

    def _before_save(self, path: str) -> Document | None:
        """Return MEMORY.md as it was left, if somebody just took most of it away: an editor may be about to fill it."""
        if path != "MEMORY.md":
            return None
        with suppress(OSError, MissingDocument, UnsafePath):
            status = os.lstat(os.path.join(self.root, path))
            if not 0 <= time.time() - status.st_mtime < _SAVING or status.st_size > safe_open.MAX_BYTES:
                return None
            from memorybook.storage.target import Versions, is_loss

            versions = Versions(os.open(self._versions_of(path), _FOLDER))
            try:
                before = None if versions.record().stamp == safe_open.stamp(status) else versions.newest()
            finally:
                versions.close()
            if before is not None:
                with self._folder(path) as (folder, name):
                    now = safe_open.load(folder, name, path)
                if is_loss(before, now.data):
                    return Document(safe_open.decoded(before), "", status.st_mtime)
        return None

    def lost(self, *, settle: bool = False) -> Sequence[Loss]:
        """Return what other programs took from MEMORY.md, oldest first; with `settle` also what they took just now."""
        if settle:
            self.reconcile("MEMORY.md")
        folder = self._versions_of("MEMORY.md")
        with refusals("what MEMORY.md lost cannot be read"), suppress(FileNotFoundError):
            names = [name for name in os.listdir(folder) if name.startswith("lost-")]
            files = sorted((os.path.join(folder, name) for name in names), key=os.path.getmtime)
            return [Loss(file, _text_in(file), _text_in(file.replace("/lost-", "/left-"))) for file in files]
        return ()

    def forget_lost(self) -> None:
        """Discard what `lost` returns, once it was taken back."""
        for file, *_ in self.lost():
            for each in (file, file.replace("/lost-", "/left-")):
                with suppress(OSError):
                    os.unlink(each)

    # --- writing -------------------------------------------------------------------------------

    def write(self, path: str, text: str, *, expect: str | None) -> str:
        """Replace the document atomically and durably; return its new revision.

        A save that the last writer did not see is merged first and makes this a Conflict. Raises Conflict, UnsafePath,
        BookLocked, InvalidInput for text that no file can hold, Unavailable if the disk refuses (the old text stays).
        """
        data = safe_open.encode(text, path)
        with self._named_refusals(path, "written"), self.lock(), self._target(path, create=expect is None) as target:
            current, _ = target.settle()
            revision = None if current is None else safe_open.digest(current.data)
            if revision != expect:
                if expect is None:
                    raise Conflict(f"document {path!r} exists already; read it and write with its revision")
                if revision is None:
                    raise Conflict(f"document {path!r} is gone; it was {expect!r} when it was read")
                raise Conflict(f"document {path!r} is {revision!r} by now, not {expect!r}; read it and decide anew")
            if current is None or current.data != data:
                target.write(current, data)
        return safe_open.digest(data)

    def append(self, path: str, line: str) -> str:
        """Append one line, atomically and durably; return the stamp it leaves, not a revision.

        Raises InvalidInput if `line` holds a line break, UnsafePath, BookLocked, Unavailable (nothing is appended).
        """
        if "\n" in line or "\r" in line:
            raise InvalidInput(f"a line to append has no line breaks, {line!r} has; fold it or append it line by line")
        data = safe_open.encode(line, path) + b"\n"
        with self._named_refusals(path, "written"), self.lock(), self._target(path, create=True) as target:
            if not target.is_ours():
                current, _ = target.settle()
                if (
                    current is not None
                    and (plain := safe_open.encode(safe_open.decoded(current.data), path)) != current.data
                ):
                    target.write(current, plain)
            return target.append(data)

    def remove(self, path: str) -> None:
        """Remove the document and its versions, durably. Raises MissingDocument, UnsafePath, BookLocked."""
        with self._named_refusals(path, "removed"), self.lock(), self._folder(path) as (folder, name):
            descriptor, _ = safe_open.open_file(folder, name, path)
            os.close(descriptor)
            os.unlink(name, dir_fd=folder)
            safe_open.sync(folder)
            import shutil

            shutil.rmtree(self._versions_of(path), ignore_errors=True)

    def remains(self, paths: Collection[str]) -> Sequence[str]:
        """Say that versions of these documents are kept, and a back-up copy of MEMORY.md."""
        versions = ["versions/ keeps the last versions for merging with an editor"] if paths else []
        backup = ["MEMORY.md.bak is the document as it was before the last write"] if "MEMORY.md" in paths else []
        return versions + backup

    def forget_versions(self) -> int:
        """Remove all versions and the backup; return how many there were. Raises BookLocked."""
        with refusals(f"the old versions in the book {self.root!r} cannot be removed"), self.lock():
            import shutil

            self.reconcile_all()
            folder, backup = self._versions_of(""), os.path.join(self.root, "MEMORY.md.bak")
            count = sum(name != "record" for _, _, names in os.walk(folder) for name in names)
            shutil.rmtree(folder, ignore_errors=True)
            if os.path.lexists(backup):
                os.unlink(backup)
                count += 1
            return count

    def change_places(self, folder: str) -> None:
        """Put a folder that is beside the book in its place; the book is there then. Raises BookLocked, Unavailable."""
        from memorybook.storage.target import exchange

        with refusals(f"the book {self.root!r} cannot be replaced"), self.lock():
            exchange(os.path.dirname(self.root), os.path.basename(self.root), folder)
        self.close()

    # --- the lock ------------------------------------------------------------------------------

    @contextmanager
    def lock(self, *, timeout: float | None = None) -> Iterator[None]:
        """Hold the book's one writer lock, between threads and processes; creates the book. Reentrant per thread.

        Raises BookLocked after `timeout` seconds (None: `lock_timeout`), Unavailable if the book cannot be written.
        """
        from _thread import get_ident

        holder = (os.getpid(), get_ident())
        if holder in self._held:
            yield
            return
        descriptor = self._acquire(self.lock_timeout if timeout is None else timeout)
        self._held[holder] = descriptor
        try:
            yield
        finally:
            import fcntl

            del self._held[holder]
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # a forked child may hold a copy, so closing alone would not do
            os.close(descriptor)

    def _acquire(self, timeout: float) -> int:
        import fcntl

        deadline = time.monotonic() + timeout
        pause = 0.0002
        while True:
            descriptor = self._open_lock()
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # `.memorybook` may have been deleted meanwhile, and the file that was locked is not the lock any more
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.stat(os.path.join(self.root, STATE, "lock")), os.fstat(descriptor)):
                        return descriptor
                os.close(descriptor)
                continue
            except BlockingIOError:
                os.close(descriptor)
            except OSError as error:
                os.close(descriptor)
                raise Unavailable(f"the file system of {self.root!r} offers no locks ({error.strerror})") from error
            if time.monotonic() >= deadline:
                raise BookLocked(
                    f"the book {self.root!r} was locked by another writer for {timeout:g} s; "
                    "let it finish or stop it, and try again"
                )
            time.sleep(pause)
            pause = min(pause * 1.5, 0.01)

    def _open_lock(self) -> int:
        try:
            with self._state() as state:
                return os.open("lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=state)
        except OSError as error:
            raise Unavailable(
                f"the book {self.root!r} cannot be written ({error.strerror}); check its owner"
            ) from error

    # --- what a person saved meanwhile ---------------------------------------------------------

    def needs_reconcile(self, info: DocumentInfo) -> bool:
        """Return whether somebody else changed a document since it was last written here. Cheap, takes no lock."""
        from memorybook.storage.target import GONE, parse_record

        try:
            with open(os.path.join(self._versions_of(info.path), "record"), "rb") as file:
                left = parse_record(file.read()).stamp
        except (FileNotFoundError, NotADirectoryError):
            return False
        try:
            return left != (info.stamp or safe_open.stamp(os.lstat(os.path.join(self.root, info.path))))
        except (FileNotFoundError, NotADirectoryError):
            return left != GONE

    def reconcile(self, path: str, *, timeout: float | None = None) -> bool:
        """Merge a stale editor's save with what was written here meanwhile; return whether that rewrote the document.

        A save that was not stale stands, and so does an older version that was brought back. Raises UnsafePath,
        BookLocked.
        """
        safe_open.split_path(path)
        if not os.path.isdir(self._versions_of(path)):
            return False
        absent = suppress(MissingDocument)
        with self._named_refusals(path, "merged"), absent, self.lock(timeout=timeout), self._target(path) as target:
            return target.settle()[1]
        return False

    def reconcile_all(self) -> Sequence[str]:
        """Reconcile every document that needs it; return the paths of those that were rewritten."""
        return [info.path for info in self.list() if self.needs_reconcile(info) and self.reconcile(info.path)]

    def _named_refusals(self, path: str, verb: str) -> AbstractContextManager[None]:
        return refusals(f"document {path!r} of the book {self.root!r} cannot be {verb}")

    def _versions_of(self, path: str) -> str:
        return os.path.join(self.root, STATE, "versions", path)

    # --- folders -------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Make the book's folder, and that of machine state in it, if need be. Raises Unavailable."""
        with refusals(f"the book {self.root!r} cannot be made"), self._state():
            pass

    def faults(self) -> Sequence[str]:
        """Say why the book cannot be written: it is gone, the disk is full, a folder, the lock or a page is closed."""
        try:
            self._check_place()
            if not os.path.isdir(self.root):
                return ()
            with self._state() as state:
                os.close(self._open_lock())
                name = f"probe-{os.getpid()}"
                flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
                with safe_open.closing(os.open(name, flags, 0o600, dir_fd=state)) as descriptor:
                    os.unlink(name, dir_fd=state)
                    if os.write(descriptor, b"\0" * _ROOM) < _ROOM:
                        raise OSError(ENOSPC, os.strerror(ENOSPC))
        except Unavailable as error:
            return (str(error),)
        except OSError as error:
            return (f"the book {self.root!r} cannot be written ({error.strerror or error}): check its folder and disk",)
        effective = os.access in os.supports_effective_ids
        paths = ("", *(info.path for info in self.list()))
        closed = [
            path for path in paths if not os.access(os.path.join(self.root, path), os.W_OK, effective_ids=effective)
        ]
        return [f"{path or self.root!r} cannot be written: check its rights" for path in closed[:_SHOWN]]

    def _check_place(self) -> None:
        """Raise Unavailable if the book was there and is not any more, so that no other one is begun in its place."""
        place = _place_of(self.root)
        if place != self._place and self._place is not None and not os.path.isdir(os.path.join(self.root, STATE)):
            raise Unavailable(f"the book {self.root!r} is gone: put it back, or open it where it is now")
        self._place = place

    @contextmanager
    def _folder(self, path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
        """Open the document's folder; its descriptor, and the document's name in there."""
        *parts, name = safe_open.split_path(path)
        if create:
            safe_open.make_root(self.root)
        try:
            root = os.open(self.root, _FOLDER)
        except FileNotFoundError:
            raise MissingDocument(f"there is no document {path!r}: the book {self.root!r} does not exist yet") from None
        except NotADirectoryError:
            raise UnsafePath(f"the book {self.root!r} is not a directory; give one as its root") from None
        with safe_open.closing(root):
            folder = safe_open.open_folder(root, parts, path, create=create)
        with safe_open.closing(folder):
            yield folder, name

    @contextmanager
    def _state(self) -> Iterator[int]:
        """Open `.memorybook`, made if need be, ignoring itself for git."""
        self._check_place()
        safe_open.make_root(self.root)
        safe_open.own_folder(os.path.join(self.root, STATE))
        self._place = _place_of(self.root)
        with safe_open.closing(os.open(self.root, _FOLDER)) as root:
            state = safe_open.open_folder(root, [STATE], STATE)
        with safe_open.closing(state):
            yield state

    @contextmanager
    def _target(self, path: str, *, create: bool = False) -> Iterator[Target]:
        """Open the document with its versions; `create` makes its folder. Raises MissingDocument, UnsafePath."""
        from memorybook.storage.target import Target, Versions

        with self._folder(path, create=create) as (folder, name), self._state() as state:
            versions = Versions(safe_open.open_folder(state, ["versions", *path.split("/")], path, create=True))
            try:
                target = Target(folder, name, path, versions)
                if (here := path.removesuffix(name)) not in self._swept:
                    self._swept.add(here)
                    target.sweep(self.reconcile)
                yield target
            finally:
                versions.close()


def _text_in(file: str) -> str:
    """Return the text of a file of ours, "" if there is none."""
    with suppress(FileNotFoundError), open(file, "rb") as data:
        return safe_open.decoded(data.read())
    return ""


@contextmanager
def refusals(what: str) -> Iterator[None]:
    """Raise Unavailable for what the system refuses; `what` says which thing failed."""
    try:
        yield
    except OSError as error:
        raise Unavailable(f"{what} ({error.strerror or error}); check its rights and the free space") from error


def _place_of(root: str) -> tuple[int, int] | None:
    """Return which directory it is; None if there is none."""
    try:
        status = os.stat(root)
    except OSError:
        return None
    return status.st_dev, status.st_ino


# --- listing -------------------------------------------------------------------------------------

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

_REVISIONS = count(1)  # of all books, so that none comes again when a book is watched anew

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
            self._through(os.open(root, _FOLDER), "", safe_open.MAX_PARTS)

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
        self._revision = 0
        self._racy: set[tuple[str, str]] = set()
        self._unread: list[str] = []
        self._until = 0.0

    def unread(self) -> list[str]:
        """Return what looks like a document and is none, as of the last look at everything. Raises OSError."""
        self.list()
        return sorted(self._unread)

    def revision(self) -> int:
        """Return the number of what was found changed last. Raises OSError."""
        self.list()
        return self._revision

    def list(self) -> tuple[DocumentInfo, ...]:
        """Return every document. Raises OSError.

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
            if info is None and name.endswith(".md") and (self._unread or os.path.lexists(self._root + "/" + path)):
                return False  # it may be one that is not to be read
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
            self._revision = next(_REVISIONS)
        return walk.plain

    def _look_everywhere(self) -> float:
        """Look at everything; returns until when what is told is enough."""
        if self._queue is not None:
            self._queue.begin()
        walk = Walk(self._listed, time.time_ns(), self._enter)
        walk.all(self._root)
        self._listed, self._racy, self._unread = walk.listed, walk.racy, walk.unread
        self._documents = {info.path: info for info in walk.found}
        self._found = tuple(walk.found)
        self._revision = next(_REVISIONS)
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
        self._root: os.stat_result | None = None
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
            self._root = os.fstat(folder)

    def touched(self, root: str) -> set[tuple[str, str]] | None:
        """Return files, as (folder with its slash, name), changed since the last call; None if more may be."""
        files, enough = set(), True
        data, at = self._read(), 0
        while at < len(data):
            number, mask, _, size = _EVENT.unpack_from(data, at)
            at += _EVENT.size + size
            name = os.fsdecode(data[at - size : at].rstrip(b"\0"))
            above = self._folders.get(number)
            if above is None:  # not of the book any more, unless it is of all folders
                enough = enough and not mask & _OVERFLOW
            elif name and not mask & ~_FILE_CHANGED:
                files.add((above, name))
            else:  # folders come and go
                enough = False
        with suppress(OSError):  # nobody tells if a folder above the book is renamed
            same = self._root is not None and os.path.samestat(os.stat(root), self._root)
            return files if enough and same else None
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


# --- the system ----------------------------------------------------------------------------------


def _is_local(root: str) -> bool:
    """Return whether all of the book is on one local file system. Raises OSError."""
    opened = safe_open.closing(os.open(root, _FOLDER))
    with opened as descriptor, open(f"/proc/self/fdinfo/{descriptor}", "rb") as about:
        mount = next((line.split()[1] for line in about if line.startswith(b"mnt_id:")), b"")
    with open("/proc/self/mountinfo", "rb") as file:
        mounts = [line.split() for line in file]
    below = os.path.join(os.fsencode(root), b"")
    # what happens to a file that is mounted in the book is told to the folder where it lies
    places = (place.decode("unicode_escape").encode("latin-1") for _, _, _, _, place, *_ in mounts)  # a space is \040
    alone = not any(place.startswith(below) for place in places)
    kind = next((fields[fields.index(b"-") + 1] for fields in mounts if fields[0] == mount), b"")
    return alone and kind in _LOCAL


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
