"""A book as a directory of Markdown: `DirectoryDocuments`.

Reading and listing take no lock. Writers, in whatever process, hold the book's lock; a person's
editor never does, so every write first merges what a person saved meanwhile (`reconcile`).

Folders and Markdown are for their owner alone (0700, 0600); in a folder that is shared with a group, for that too
(`rights_in`). An existing one keeps its permissions. `.memorybook` is always for its owner alone.
"""

from __future__ import annotations

import os
import time
from errno import ENOSPC
from math import inf

from memorybook._light import TYPE_CHECKING, Iterator, Sequence, contextmanager, suppress
from memorybook.errors import BookLocked, Conflict, InvalidInput, MissingDocument, Unavailable, UnsafePath
from memorybook.formats.document import Document, DocumentInfo, Loss
from memorybook.storage import safe_open
from memorybook.storage.listing import STATE, Listed, Walk, Watched, watched

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from memorybook.storage.target import Target


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
        folders (`storage.listing`) and looks only where something changed.
        """
        with _refusals(f"the book {self.root!r} cannot be read"):
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

    def unread(self) -> Sequence[str]:
        """Return what looks like a document, or a folder of some, and is none, with the reason, a sentence each."""
        with _refusals(f"the book {self.root!r} cannot be read"):
            walk = Walk({}, time.time_ns())
            walk.all(self.root)
        return sorted(walk.unread)

    def read(self, path: str) -> Document:
        """Read the document; what a stale editor's save dropped is put back. Raises MissingDocument, UnsafePath."""
        safe_open.split_path(path)
        if (before := self._before_save(path)) is not None:
            return before
        with suppress(Unavailable, OSError):  # what cannot be merged at once the next write merges
            if self.needs_reconcile(DocumentInfo(path, 0, "", 0.0)):
                self.reconcile(path, timeout=0.0)
        with self._named_refusals(path, "read"), self._folder(path) as (folder, name):
            data, status = safe_open.load(folder, name, path)
        return Document(safe_open.decoded(data), safe_open.digest(data), status.st_mtime)

    def _before_save(self, path: str) -> Document | None:
        """Return MEMORY.md as it was left, if somebody just took most of it away: an editor may be about to fill it."""
        if path != "MEMORY.md":
            return None
        with suppress(OSError, MissingDocument, UnsafePath):
            status = os.lstat(os.path.join(self.root, path))
            if not 0 <= time.time() - status.st_mtime < _SAVING or status.st_size > safe_open.MAX_BYTES:
                return None
            from memorybook.storage.target import Versions, is_loss

            versions = Versions(os.open(self._versions_of(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
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
        with _refusals("what MEMORY.md lost cannot be read"), suppress(FileNotFoundError):
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
                raise Conflict(_mismatch(path, revision, expect))
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
            os.fsync(folder)
            import shutil

            shutil.rmtree(self._versions_of(path), ignore_errors=True)

    def forget_versions(self) -> int:
        """Remove all versions and the backup; return how many there were. Raises BookLocked."""
        with _refusals(f"the old versions in the book {self.root!r} cannot be removed"), self.lock():
            from memorybook.storage.target import discard_all

            self.reconcile_all()
            return discard_all(self._versions_of(""), os.path.join(self.root, "MEMORY.md.bak"))

    def change_places(self, folder: str) -> None:
        """Put a folder that is beside the book in its place; the book is there then. Raises BookLocked, Unavailable."""
        from memorybook.storage.replace import exchange

        with _refusals(f"the book {self.root!r} cannot be replaced"), self.lock():
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
        return _refusals(f"document {path!r} of the book {self.root!r} cannot be {verb}")

    def _versions_of(self, path: str) -> str:
        return os.path.join(self.root, STATE, "versions", path)

    # --- folders -------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Make the book's folder, and that of machine state in it, if need be. Raises Unavailable."""
        with _refusals(f"the book {self.root!r} cannot be made"), self._state():
            pass

    def faults(self) -> Sequence[str]:
        """Say why the book cannot be written: it is gone, the disk is full, a folder, the lock or a page is closed."""
        try:
            self._check_place()
            if not os.path.isdir(self.root):
                return ()
            with self._state() as state:
                os.close(self._open_lock())
                _probe(state)
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
            from memorybook.storage.safe_open import make_root

            make_root(self.root)
        try:
            root = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
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
        from memorybook.storage.safe_open import make_root, own_folder

        self._check_place()
        make_root(self.root)
        own_folder(os.path.join(self.root, STATE))
        self._place = _place_of(self.root)
        with safe_open.closing(os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as root:
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


def _probe(folder: int) -> None:
    """Write into a folder what it has room for, and take it out again. Raises OSError."""
    name = f"probe-{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        if os.write(descriptor, b"\0" * _ROOM) < _ROOM:
            raise OSError(ENOSPC, os.strerror(ENOSPC))
    finally:
        os.close(descriptor)
        os.unlink(name, dir_fd=folder)


@contextmanager
def _refusals(what: str) -> Iterator[None]:
    """Raise Unavailable for what the system refuses; `what` says which thing failed."""
    try:
        yield
    except OSError as error:
        raise Unavailable(f"{what} ({error.strerror or error}); check its rights and the free space") from error


def _mismatch(path: str, found: str | None, expect: str | None) -> str:
    if expect is None:
        return f"document {path!r} exists already; read it and write with its revision"
    if found is None:
        return f"document {path!r} is gone; it was {expect!r} when it was read"
    return f"document {path!r} is {found!r} by now, not {expect!r}; read it and decide anew"


def _place_of(root: str) -> tuple[int, int] | None:
    """Return which directory it is; None if there is none."""
    try:
        status = os.stat(root)
    except OSError:
        return None
    return status.st_dev, status.st_ino
