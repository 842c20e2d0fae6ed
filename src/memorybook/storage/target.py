"""One document opened for writing under the book's lock (`Target`), and the versions left of it (`Versions`).

A person's editor takes no lock: before a write, what it saved is looked for, waited for until it is complete, and
merged (`Target.settle`). An editor that loaded the document before an agent wrote puts back an old text with a person's
changes in it; to tell these apart one needs the text that it had loaded, which is among the last versions.

`.memorybook/versions/PATH/` holds up to `KEPT` files named `NUMBER KIND START-DIGEST`: the first `START` bytes (hex)
have that digest, what follows was appended line by line. Nothing there is synced: a short or missing version after a
power cut is noticed or harmless, never believed.

New bytes are put in a file's place so that nobody's save in between is lost (`replace`): the new file is written aside,
synced and then *exchanged* with the old one, which stays at hand. If that does not hold what was read, somebody saved
meanwhile, and the two are exchanged back. Where the kernel has no exchange the file is read again just before a plain
rename; a few microseconds in which a save can be missed remain there.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import re
import sys
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from memorybook.errors import Conflict, InvalidInput, MissingDocument, UnsafePath
from memorybook.storage import safe_open
from memorybook.storage.safe_open import (
    MAX_BYTES,
    Loaded,
    closing,
    decoded,
    digest,
    discard,
    encode,
    load_if_any,
    rights_in,
    stamp,
)
from memorybook.text.patch import merge_text

KEPT = 48
"""Versions kept of a document, as long as they take less than `KEPT_BYTES`."""

KEPT_BYTES = 32 * 2**20

HOT = "MEMORY.md"
"""The document of entries. It has a backup beside it, `MEMORY.md.bak`, and what others take from it is kept."""

DISPLACED = "displaced"
"""The file that the last write put out of the document's place. A slow editor may still write into it."""

GONE = "gone"
"""The stamp that stands for: a person removed the document."""

LOST, LEFT = "lost-", "left-"
"""How the names begin of a text that another program took from, and of what it left of it."""

_RECORD = "record"
_RECORD_BYTES = 320
_NONE = "-"
_TELLING = 24  # bytes from which on a line is hardly typed twice by chance


class Record(NamedTuple):
    """What is known without reading a version; `-` is unknown.

    `stamp` is the document's as it was left (`GONE`: a person removed it), `latest` the newest version's file, `old`
    and `new` the digests of the document around the last write that was begun.
    """

    stamp: str = _NONE
    latest: str = _NONE
    old: str = _NONE
    new: str = _NONE

    @property
    def is_known(self) -> bool:
        """True if there is a version."""
        return self.latest != _NONE


class Version(NamedTuple):
    """One kept version: whether it `stood` (False: a stale save, merged), bytes before the appends, all bytes."""

    stood: bool
    start: int
    data: bytes


class Base(NamedTuple):
    """The version that a text was made from; `restored` if the text is exactly an older version that once stood."""

    data: bytes
    newest: bool
    restored: bool


class Versions:
    """The versions of one document, in a folder given as a descriptor, which `close` closes."""

    def __init__(self, folder: int) -> None:
        self.folder = folder
        self._record: Record | None = None  # only the holder of the book's lock has this object

    def close(self) -> None:
        """Close the folder."""
        os.close(self.folder)

    def record(self) -> Record:
        """Return what was left last; all unknown if there is nothing or it is damaged."""
        if self._record is None:
            try:
                descriptor = os.open(_RECORD, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.folder)
            except FileNotFoundError:
                self._record = Record()
            else:
                with os.fdopen(descriptor, "rb", buffering=0) as file:
                    self._record = parse_record(file.read(_RECORD_BYTES) or b"")
        return self._record

    def leave(self, record: Record) -> None:
        """Put the record in the place of the last one, which has the same length: no block moves."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with closing(os.open(_RECORD, flags, 0o600, dir_fd=self.folder)) as descriptor:
            os.pwrite(descriptor, " ".join(record).ljust(_RECORD_BYTES - 1).encode() + b"\n", 0)
        self._record = record

    def add(self, data: bytes, stamp: str, saves: Sequence[bytes] = ()) -> None:
        """Keep a version as the newest, left with `stamp`, and the `saves` merged into it.

        They count once the record names the version, all at once: of an editor that loaded such a save one knows what
        it has not seen, and a writer that is killed before leaves nothing.
        """
        names = self._names()
        for name in set(self._names(begun=True)).difference(names):
            os.unlink(name, dir_fd=self.folder)
        last = max((int(name[:8]) for name in names), default=0)
        for number, text in enumerate((*saves, data), last + 1):
            kind = "v" if number > last + len(saves) else "s"
            names.append(f"{number:08d}{kind}{len(text):x}-{digest(text)}")
            self._write(names[-1], text)
        self.leave(self.record()._replace(stamp=stamp or _NONE, latest=names[-1]))
        total = 0
        for position, kept in enumerate(sorted(names, reverse=True)):
            total += os.stat(kept, dir_fd=self.folder, follow_symlinks=False).st_size
            if position >= KEPT or (position > 1 and total > KEPT_BYTES):
                os.unlink(kept, dir_fd=self.folder)

    def restart(self, data: bytes, stamp: str) -> None:
        """Let `data`, left with `stamp`, be the only version: what comes now was not made from older ones."""
        for name in self._names(begun=True):
            os.unlink(name, dir_fd=self.folder)
        self.add(data, stamp)

    def newest(self) -> bytes | None:
        """Return the state the document was left in last; None if that is not known. Takes no lock."""
        record = self.record()
        found = self._read(record.latest) if record.is_known else None
        return None if found is None else found.data

    def keep_lost(self, data: bytes, left: bytes) -> None:
        """Keep what another program took from, and what it left, until somebody takes it back or means it to be so."""
        name = digest(data)
        if LOST + name not in os.listdir(self.folder):
            self._write(LEFT + name, left)
            self._write(LOST + name, data)

    def extend(self, line: bytes, stamp: str) -> bool:
        """Append a line to the newest version, left with `stamp`; False if there is none."""
        record = self.record()
        if record.latest == _NONE:
            return False
        try:
            self._write(record.latest, line, os.O_APPEND)
        except FileNotFoundError:
            return False
        self.leave(record._replace(stamp=stamp or _NONE))
        return True

    def load(self) -> list[Version]:
        """Return all versions that are sound, newest first."""
        return [version for name in sorted(self._names(), reverse=True) if (version := self._read(name))]

    def _names(self, *, begun: bool = False) -> list[str]:
        """Return the files of versions; with `begun` also those that the record does not reach."""
        names = [name for name in os.listdir(self.folder) if re.fullmatch(r"[0-9]{8}[vs][0-9a-f]+-[0-9a-f]{32}", name)]
        latest = self.record().latest[:8]
        return names if begun or latest == _NONE else [name for name in names if name[:8] <= latest]

    def _write(self, name: str, data: bytes, how: int = os.O_CREAT | os.O_TRUNC) -> None:
        flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC | how
        with closing(os.open(name, flags, 0o600, dir_fd=self.folder)) as descriptor:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]

    def _read(self, name: str) -> Version | None:
        start, _, expected = name[9:].partition("-")
        found = load_if_any(self.folder, name, name)
        if found is None or digest(found.data[: int(start, 16)]) != expected:
            return None
        size = int(start, 16)
        appended = found.data[size:].partition(b"\0")[0]  # NULs: blocks that a power cut left unwritten
        return Version(name[8] == "v", size, found.data[:size] + appended[: appended.rfind(b"\n") + 1])


def parse_record(line: bytes) -> Record:
    """Return the record in these bytes; all unknown if they are none."""
    fields = line.decode("ascii", "replace").split()
    return Record(*fields) if len(fields) == len(Record._fields) else Record()


def newest_of(versions: Sequence[Version]) -> bytes | None:
    """Return the state the document was left in last; None without versions."""
    return next((version.data for version in versions if version.stood), None)


def base_of(versions: Sequence[Version], data: bytes) -> Base | None:
    """Return the version that `data` was made from; None without versions.

    A stale editor can leave out any line, but cannot know one that was written later. So the base is the version with
    the most telling lines in common, then the one with the fewest missing, then the newer, rather one that stood. A
    text with no line in common was written anew over the newest (lines that were only ever appended stay).
    """
    newest = newest_of(versions)
    if newest is None:
        return None
    if data == newest or not data.strip():  # to empty a document is meant
        return Base(newest, newest=True, restored=False)
    lines = Counter(_lines(data))
    best, least = newest, sys.maxsize
    for version in sorted(versions, key=lambda version: not version.stood):
        for end, unlike in _states(version, lines):
            if version.stood and data == version.data[:end]:
                return Base(data, newest=False, restored=True)
            if unlike < least:
                best, least = version.data[:end], unlike
    appended = all(version.start == 0 for version in versions)
    if not appended and not any(line.strip() and line in lines for line in _lines(best)):
        best = newest  # nothing in common with any version tells of no stale editor: it was written anew
    return Base(best, newest=best == newest, restored=False)


def is_loss(before: bytes, now: bytes) -> bool:
    """Return whether a text was emptied or cut, or lost more than half of its lines: hardly done by hand."""
    if (b"### [" not in before and b"\n- " not in before) or now.startswith(before):
        return False
    lines, left = (Counter(line for line in _lines(data) if line.strip()) for data in (before, now))
    kept = sum((lines & left).values())
    if before.startswith(now):
        return before[-1:] == b"\n" != now[-1:] or lines.total() - kept > _FEW
    return 2 * kept < lines.total() > _FEW


_FEW = 6  # lines at the end of a document that a person may take out by hand


def _states(version: Version, lines: Counter[bytes]) -> Iterator[tuple[int, int]]:
    """Yield every state of the version, longest first: its length, and how unlikely it is the base of `lines`."""
    left = lines.copy()
    costs = [(_unlike(line, left), line) for line in _lines(version.data[: version.start])]
    missing = [line for cost, line in costs if cost > 0]
    new = sorted(+left) if missing else []
    places = [(line, bisect_left(new, line)) for line in missing]
    # an editor may save while a line is being typed: one that is missing goes on in one that is left
    gone_on = sum(place < len(new) and new[place].startswith(line) for line, place in places)
    unlike = sum(cost for cost, _ in costs) - 2 * gone_on
    states = [(version.start, unlike)]
    end = version.start
    for line in version.data[version.start :].splitlines(keepends=True):
        end += len(line)
        unlike += _unlike(line.rstrip(b"\r\n"), left)
        states.append((end, unlike))
    return reversed(states)


def _unlike(line: bytes, left: Counter[bytes]) -> int:
    """Return what one more line says against a state; it is no longer left then."""
    if not line.strip():
        return 0
    if not left[line]:
        return 1
    left[line] -= 1
    return -1000 if len(line) >= _TELLING else -1


def _lines(data: bytes) -> Iterator[bytes]:
    return (line.rstrip(b"\r") for line in data.split(b"\n"))


_QUIET = 0.03  # s without a write after which an editor's save counts as whole …
_QUIET_CUT = 0.3  # … and if it looks like the first half of one
_PATIENCE = 0.6  # s to wait for that at most
_PATIENCE_CUT = 3.0
_ROUNDS = 8
_OLD = 60.0  # s after which a temporary file belongs to nobody


class Target:
    """One document opened for writing; `folder` and `versions` stay the caller's."""

    def __init__(self, folder: int, name: str, path: str, versions: Versions) -> None:
        self.folder = folder
        self.name = name
        self.path = path
        self.versions = versions

    def load(self) -> Loaded | None:
        """Return the document as it stands, None if there is none. Raises UnsafePath."""
        return load_if_any(self.folder, self.name, self.path)

    def is_ours(self) -> bool:
        """Return whether the document is as it was left, or was never written here and has no versions."""
        record = self.versions.record()
        try:
            now = stamp(os.stat(self.name, dir_fd=self.folder, follow_symlinks=False))
        except FileNotFoundError:
            return not record.is_known
        return now == record.stamp

    def settle(self) -> tuple[Loaded | None, bool]:
        """Return the document with all saves merged in (None: there is none), and whether it was rewritten for that."""
        merged = False
        for _ in range(_ROUNDS):
            try:
                current, rewritten = self._settle_once()
            except Conflict:
                continue
            merged = merged or rewritten
            if not rewritten:
                return current, merged
        raise Conflict(f"document {self.path!r} is saved by others faster than it can be read; try again")

    def _settle_once(self) -> tuple[Loaded | None, bool]:
        record = self.versions.record()
        current = self.load()
        if current is None and record.stamp == GONE:
            return None, False
        history: list[Version] = []
        saves: list[bytes] = []
        merged: bytes | None = None
        if current is None or stamp(current.status) != record.stamp:
            history = self.versions.load()
            newest = newest_of(history)
            if newest is None:
                return current, False
            current = _quiet(self.load, newest)
            if current is None:
                self._notice(newest, b"")
                self.versions.leave(record._replace(stamp=GONE))
                return None, False
            if digest(current.data) == record.new:
                self._finish(history, newest, current)
                history = []
            elif current.data != newest:
                merged = self._with_save(history, newest, current.data)
                saves.append(current.data)
        merged = current.data if merged is None else merged
        if late := self._late_save(record, current.data, history):  # before any rewrite puts another file aside
            base = base_of(history or self.versions.load(), late)  # of a file that was the document until then
            if base is not None and not base.restored:
                merged = self._merge(base.data, merged, late)
            saves.append(late)
        if merged != current.data:
            self.replace(current, merged, saves)
            return None, True
        if saves:
            self.versions.add(current.data, stamp(current.status), saves[-1:] if late else ())
        elif history:
            self.versions.leave(self.versions.record()._replace(stamp=stamp(current.status)))
        if late:
            discard(self.versions.folder, DISPLACED)
        return current, False

    def _with_save(self, history: list[Version], newest: bytes, saved: bytes) -> bytes:
        """Return the newest text with what somebody else saved; the save itself, if it is not stale."""
        base = base_of(history, saved)
        stands = base is None or base.newest or base.restored
        merged = saved if base is None or stands else self._merge(base.data, newest, saved)
        if merged == saved:
            self._notice(newest, saved)
        return merged

    def _finish(self, history: list[Version], newest: bytes, current: Loaded) -> None:
        """Keep the version of a write whose writer was killed before it did."""
        found, record = self._displaced(), self.versions.record()
        if found is not None and digest(found.data) == record.old and all(one.data != found.data for one in history):
            self.versions.add(current.data, stamp(current.status), [found.data])
        elif current.data != newest:
            self.versions.add(current.data, stamp(current.status))
        else:
            self.versions.leave(record._replace(stamp=stamp(current.status)))

    def _notice(self, newest: bytes, now: bytes) -> None:
        """Keep what another program took away from the document of entries."""
        if self.path == HOT and is_loss(newest, now):
            self.versions.keep_lost(newest, now)

    def _late_save(self, record: Record, newest: bytes, history: list[Version]) -> bytes | None:
        """Return what was saved into the file that the last write put aside, moved to `DISPLACED`; b"" if emptied.

        `history` are the versions, if the document is not as the last writer left it: that may have been killed, and
        what it put aside a save that it was about to merge.
        """
        found = self._displaced()
        seen = "" if found is None else digest(found.data)
        if seen == record.new:  # a killed writer got no further
            discard(self.versions.folder, DISPLACED)
        if found is None or seen == record.new:
            return None
        if seen == record.old and (not history or any(found.data == one.data for one in history)):
            return None
        found = _quiet(self._displaced, newest)
        return None if found is None else found.data

    def _displaced(self) -> Loaded | None:
        """Return the file that the last write put aside, moved to `DISPLACED`."""
        with contextlib.suppress(FileNotFoundError):
            os.rename(spare(self.name), DISPLACED, src_dir_fd=self.folder, dst_dir_fd=self.versions.folder)
        return load_if_any(self.versions.folder, DISPLACED, self.path)

    def _merge(self, base: bytes, ours: bytes, theirs: bytes) -> bytes:
        return encode(merge_text(decoded(base), decoded(ours), decoded(theirs)), self.path)

    def sweep(self, reconcile: Callable[[str], object]) -> None:
        """Remove what killed writers left in this folder; a save that is in it is merged first, by `reconcile`."""
        here, old = self.path.removesuffix(self.name), time.time() - _OLD
        for left in os.listdir(self.folder):
            name = left[1 : left.rfind(".")]
            if left not in (temporary(name), spare(name)):
                continue
            if os.lstat(left, dir_fd=self.folder).st_mtime > old:
                continue
            if left == temporary(name):
                discard(self.folder, left)
            elif name != self.name and safe_open.is_safe_name(name):
                with contextlib.suppress(MissingDocument, UnsafePath):
                    reconcile(here + name)

    # --- changing ------------------------------------------------------------------------------

    def write(self, current: Loaded | None, data: bytes) -> None:
        """Do `replace` with a text that was made from `current` alone."""
        try:
            self.replace(current, data)
        except Conflict:
            with contextlib.suppress(OSError):  # it was in place for a moment, and an editor may have loaded it
                if (newest := self.versions.newest()) is not None:
                    self.versions.add(newest, self.versions.record().stamp, [data])
            raise

    def replace(self, current: Loaded | None, data: bytes, saves: Sequence[bytes] = ()) -> None:
        """Write `data` in place of `current` (as `settle` returned it). Raises Conflict, OSError.

        `saves` are merged into it.
        """
        versions = self.versions
        with contextlib.suppress(OSError):  # versions comfort; a write does not fail for them
            if current is None:
                versions.restart(b"", GONE)
            elif not versions.record().is_known:
                versions.restart(current.data, stamp(current.status))
            old = "-" if current is None else digest(current.data)
            versions.leave(versions.record()._replace(old=old, new=digest(data)))
        if self.path == HOT and current is not None:
            write_plain(self.folder, f"{HOT}.bak", current.data, current.status.st_mode & 0o7777)
            safe_open.ignore_backup(self.folder)
        left = replace(self.folder, self.name, self.path, current, data)
        discard(versions.folder, DISPLACED)
        try:
            os.rename(spare(self.name), DISPLACED, src_dir_fd=self.folder, dst_dir_fd=versions.folder)
            os.chmod(DISPLACED, 0o600, dir_fd=versions.folder)
        except OSError:
            discard(self.folder, spare(self.name))
        with contextlib.suppress(OSError):
            versions.add(data, left, saves)

    def append(self, line: bytes) -> str:
        """Append a line (with its newline), all or nothing; returns the stamp that is left. Raises OSError."""
        flags, created = os.O_RDWR | os.O_APPEND, False
        try:
            descriptor, before = safe_open.open_file(self.folder, self.name, self.path, flags)
        except MissingDocument:
            descriptor, before = safe_open.open_file(self.folder, self.name, self.path, flags | os.O_CREAT | os.O_EXCL)
            created = True
        try:
            if before.st_size + len(line) >= MAX_BYTES:
                raise InvalidInput(f"document {self.path!r} would exceed {MAX_BYTES} bytes; append to another one")
            if created or not self.versions.record().is_known:
                with contextlib.suppress(OSError):
                    self.versions.restart(safe_open.read_all(descriptor, before.st_size), stamp(before))
            if before.st_size and os.pread(descriptor, 1, before.st_size - 1) != b"\n":
                line = b"\n" + line
            try:
                written = os.write(descriptor, line)
                if written != len(line):
                    raise OSError(errno.ENOSPC, f"only {written} of {len(line)} bytes could be written")
                safe_open.sync(descriptor)
            except BaseException:
                os.ftruncate(descriptor, before.st_size)
                raise
            if created:
                os.fchmod(descriptor, rights_in(os.fstat(self.folder), 0o666))
                safe_open.sync(self.folder)
            after = os.fstat(descriptor)
        except BaseException:
            if created:
                discard(self.folder, self.name)
                with contextlib.suppress(OSError):
                    self.versions.leave(self.versions.record()._replace(stamp=GONE))
            raise
        finally:
            os.close(descriptor)
        alone = after.st_size == before.st_size + len(line)
        with contextlib.suppress(OSError):
            self.versions.extend(line, stamp(after) if alone else "")
        return stamp(after)


def _quiet(load: Callable[[], Loaded | None], newest: bytes) -> Loaded | None:
    """Return the file once nobody has written to it for a moment; None if it stays away.

    An editor that renames, or empties and fills, leaves a gap: that is waited for longer.
    """
    started = time.monotonic()
    current = load()
    changed = started - (max(0.0, time.time() - current.status.st_mtime) if current else 0.0)
    while current is None or current.data != newest:
        data = b"" if current is None else current.data  # of an editor that empties the file and then fills it?
        cut = newest.startswith(data) or newest[-1:] == b"\n" != data[-1:]
        now = time.monotonic()
        quiet = _PATIENCE if current is None else _QUIET_CUT if cut else _QUIET
        if now - changed >= quiet or now - started >= (_PATIENCE_CUT if cut else _PATIENCE):
            break
        time.sleep(0.005)
        again = load()
        if (again and stamp(again.status)) != (current and stamp(current.status)):
            changed = time.monotonic()
        current = again
    return current


# --- in the place of a file ------------------------------------------------------------------------

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | safe_open.O_NOFOLLOW | safe_open.O_CLOEXEC
_NOT_OFFERED = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM})

_CALLS = {"linux": ("renameat2", 2, 1), "darwin": ("renameatx_np", 2, 4)}
"""Per platform: the C function, its flag to exchange two names, its flag to replace nothing."""


def temporary(name: str) -> str:
    """Return the name under which a new file is still being written; it may be incomplete."""
    return f".{name}.mb-tmp"


def spare(name: str) -> str:
    """Return the name of the complete new file before the exchange, and of the old one after it."""
    return f".{name}.mb-swap"


def write_aside(folder: int, name: str, data: bytes, mode: int | None, *, sync: bool = True) -> int:
    """Write a new file `name`, replacing a left-over, and return its descriptor; nothing stays on failure.

    `mode` is the exact permission to give; None means that of something new, see `rights_in`.
    """
    discard(folder, name)
    descriptor = os.open(name, _CREATE, 0o600, dir_fd=folder)
    try:
        os.fchmod(descriptor, rights_in(os.fstat(folder), 0o666) if mode is None else mode)
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        if sync:
            safe_open.sync(descriptor)
    except BaseException:
        os.close(descriptor)
        discard(folder, name)
        raise
    return descriptor


def write_plain(folder: int, name: str, data: bytes, mode: int | None, *, sync: bool = False) -> None:
    """Replace `name` atomically, without a sync of its own unless `sync`; `mode` as in `write_aside`."""
    os.close(write_aside(folder, temporary(name), data, mode, sync=sync))
    try:
        os.rename(temporary(name), name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        discard(folder, temporary(name))
        raise


def replace(folder: int, name: str, path: str, old: Loaded | None, new: bytes) -> str:
    """Put `new` in the place of `old` (None: of nothing), durably; returns the stamp it left.

    The stamp is "" if somebody wrote into the new file at once. After an exchange the old file is
    at `spare(name)`. Raises Conflict, with the other's bytes in place, if `name` is not `old` any
    more, and OSError, with the old bytes in place as far as the disk allows.
    """
    descriptor = write_aside(folder, temporary(name), new, None if old is None else old.status.st_mode & 0o7777)
    try:
        before = os.fstat(descriptor)
        os.rename(temporary(name), spare(name), src_dir_fd=folder, dst_dir_fd=folder)
        if old is None:
            _create(folder, name, path, new)
        elif _rename(folder, spare(name), name, exchange=True):
            _confirm(folder, name, path, old.data, new)
        else:
            _overwrite(folder, name, path, old)
        after = os.fstat(descriptor)
    except (OSError, Conflict):
        discard(folder, temporary(name))
        _discard_new(folder, spare(name), new)
        raise
    finally:
        os.close(descriptor)
    untouched = (after.st_mtime_ns, after.st_size) == (before.st_mtime_ns, before.st_size)
    return stamp(after) if untouched else ""


def _create(folder: int, name: str, path: str, new: bytes) -> None:
    try:
        if not _rename(folder, spare(name), name, exchange=False):
            if load_if_any(folder, name, path) is not None:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)
            os.rename(spare(name), name, src_dir_fd=folder, dst_dir_fd=folder)
    except FileExistsError:
        raise Conflict(f"document {path!r} exists by now; read it and decide anew") from None
    try:
        safe_open.sync(folder)
    except OSError:
        _discard_new(folder, name, new)
        raise


def _confirm(folder: int, name: str, path: str, old: bytes, new: bytes) -> None:
    if _bytes(folder, spare(name)) != old:
        _exchange_back(folder, name, new)
        raise Conflict(f"document {path!r} was saved by somebody else just now; read it and decide anew")
    try:
        safe_open.sync(folder)
    except OSError:
        _exchange_back(folder, name, new)
        raise


def _exchange_back(folder: int, name: str, new: bytes) -> None:
    _rename(folder, spare(name), name, exchange=True)
    if _bytes(folder, spare(name)) != new:  # a second save hit our file meanwhile: the newest stays in place
        _rename(folder, spare(name), name, exchange=True)


def _discard_new(folder: int, name: str, new: bytes) -> None:
    if _bytes(folder, name) == new:  # anything else is somebody's save
        discard(folder, name)


def _overwrite(folder: int, name: str, path: str, old: Loaded) -> None:
    if _bytes(folder, name) != old.data:
        raise Conflict(f"document {path!r} was saved by somebody else just now; read it and decide anew")
    os.rename(spare(name), name, src_dir_fd=folder, dst_dir_fd=folder)
    try:
        safe_open.sync(folder)
    except OSError:
        with contextlib.suppress(OSError):
            write_plain(folder, name, old.data, old.status.st_mode & 0o7777)
        raise


def _bytes(folder: int, name: str) -> bytes | None:
    try:
        found = load_if_any(folder, name, name)
    except (OSError, UnsafePath):
        return None
    return None if found is None else found.data


def exchange(folder: str, one: str, other: str) -> None:
    """Let two names in a folder change their places, at once where the system can. Raises OSError, Conflict."""
    with closing(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as descriptor:
        if not _rename(descriptor, one, other, exchange=True):
            for name, new in ((other, temporary(other)), (one, other), (temporary(other), one)):
                os.rename(name, new, src_dir_fd=descriptor, dst_dir_fd=descriptor)
        safe_open.sync(descriptor)


def _rename(folder: int, source: str, target: str, *, exchange: bool) -> bool:
    """Exchange two names, or rename where nothing is; False if this system cannot. Raises OSError, Conflict."""
    call, swap, keep = _CALLS.get(sys.platform, ("", 0, 0))
    function = getattr(ctypes.CDLL(None, use_errno=True), call, None) if call else None
    if function is None:
        return False
    flag = ctypes.c_uint(swap if exchange else keep)
    if function(folder, os.fsencode(source), folder, os.fsencode(target), flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in _NOT_OFFERED:
        return False
    if code == errno.ENOENT and exchange:
        raise Conflict(f"document {target!r} was removed or renamed just now; read it and decide anew")
    raise OSError(code, os.strerror(code), target)
