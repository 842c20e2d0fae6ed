"""One document opened for changing, under the book's lock: `Target`.

A person's editor takes no lock, so before anything is written here, what such an editor saved is
looked for, waited for until it is whole, and merged (`Target.settle`).
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable

from memorybook.errors import Conflict, InvalidInput, MissingDocument, UnsafePath
from memorybook.storage import replace as swap
from memorybook.storage.new_file import ignore_backup
from memorybook.storage.safe_open import (
    MAX_BYTES,
    Loaded,
    decoded,
    digest,
    discard,
    encode,
    is_safe_name,
    load_if_any,
    open_file,
    read_all,
    rights_in,
    stamp,
)
from memorybook.storage.versions import DISPLACED, GONE, HOT, Record, Version, Versions, base_of, is_loss, newest_of
from memorybook.text.merge import merge_text

_QUIET = 0.03  # s without a write after which an editor's save counts as whole …
_QUIET_CUT = 0.3  # … and if it looks like the first half of one
_PATIENCE = 0.6  # s to wait for that at most
_PATIENCE_CUT = 3.0
_ROUNDS = 8
_OLD = 60.0  # s after which a temporary file belongs to nobody


class Target:
    """One document opened for changing.

    Args:
        folder: Descriptor of its folder; stays the caller's.
        name: Its name in there.
        path: What messages call it.
        versions: Its versions; stay the caller's.
    """

    def __init__(self, folder: int, name: str, path: str, versions: Versions) -> None:
        self.folder = folder
        self.name = name
        self.path = path
        self.versions = versions

    def load(self) -> Loaded | None:
        """The document as it stands, None if there is none. Raises UnsafePath."""
        return load_if_any(self.folder, self.name, self.path)

    def is_ours(self) -> bool:
        """Whether the document is as it was left, or was never written here and has no versions."""
        record = self.versions.record()
        try:
            now = stamp(os.stat(self.name, dir_fd=self.folder, follow_symlinks=False))
        except FileNotFoundError:
            return not record.is_known
        return now == record.stamp

    def settle(self) -> tuple[Loaded | None, bool]:
        """The document with all saves merged in (None: there is none), and whether it was rewritten for that."""
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
        stale: list[bytes] = []
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
            merged = self._with_save(history, newest, current)
            if merged != current.data:
                stale.append(current.data)
        else:
            merged = current.data
        if late := self._late_save(record, current.data):  # before any rewrite puts another file aside
            merged = self._with_late_save(merged, late)
            stale.append(late)
        if merged != current.data:
            self._replace_merged(current, merged, stale)
            return None, True
        if late:
            discard(self.versions.folder, DISPLACED)
        return current, False

    def _with_save(self, history: list[Version], newest: bytes, current: Loaded) -> bytes:
        """The text with what somebody else saved; the save itself, kept as the newest version, if it was not stale."""
        if current.data == newest:
            self.versions.leave(self.versions.record()._replace(stamp=stamp(current.status)))
            return newest
        base = base_of(history, current.data)
        if digest(current.data) == self.versions.record().new:  # ours: only its version was not kept any more
            base = None
        merged = current.data if base is None else self._merge(base.data, newest, current.data)
        if base is None or base.newest or base.restored or merged == current.data:
            self._notice(newest, current.data)
            self.versions.add(current.data, stamp(current.status))
            return current.data
        return merged

    def _notice(self, newest: bytes, now: bytes) -> None:
        """Keep what another program took away from the document of entries."""
        if self.path == HOT and is_loss(newest, now):
            self.versions.keep_lost(newest, now)

    def _with_late_save(self, text: bytes, late: bytes) -> bytes:
        """The text with what somebody saved into a file that was no longer the document."""
        base = base_of(self.versions.load(), late)
        return text if base is None or base.restored else self._merge(base.data, text, late)

    def _late_save(self, record: Record, newest: bytes) -> bytes | None:
        """What somebody saved into the file that the last write put aside, moved to `DISPLACED` for sure.

        None if nobody did. Nothing at all (b"") if it was emptied: its new text may come yet.
        """
        aside = swap.spare(self.name)
        with contextlib.suppress(FileNotFoundError):
            os.rename(aside, DISPLACED, src_dir_fd=self.folder, dst_dir_fd=self.versions.folder)
        found = self._displaced()
        seen = "" if found is None else digest(found.data)
        if seen == record.new:  # a killed writer got no further
            discard(self.versions.folder, DISPLACED)
        if found is None or seen in (record.old, record.new):
            return None
        found = _quiet(self._displaced, newest)
        return None if found is None else found.data

    def _displaced(self) -> Loaded | None:
        return load_if_any(self.versions.folder, DISPLACED, self.path)

    def _replace_merged(self, current: Loaded, merged: bytes, stale: list[bytes]) -> None:
        self.replace(current, merged)
        with contextlib.suppress(OSError):
            if newest_of(self.versions.load()) == merged:  # a kept save counts as merged into the newest version
                for saved in stale:
                    self.versions.add(saved, "", stood=False)

    def _merge(self, base: bytes, ours: bytes, theirs: bytes) -> bytes:
        return encode(merge_text(decoded(base), decoded(ours), decoded(theirs)), self.path)

    def sweep(self, reconcile: Callable[[str], object]) -> None:
        """Remove what killed writers left in this folder; a save that is in it is merged first, by `reconcile`."""
        here, old = self.path.removesuffix(self.name), time.time() - _OLD
        for left in os.listdir(self.folder):
            name = left[1 : left.rfind(".")]
            if left not in (swap.temporary(name), swap.spare(name)):
                continue
            if os.lstat(left, dir_fd=self.folder).st_mtime > old:
                continue
            if left == swap.temporary(name):
                discard(self.folder, left)
            elif name != self.name and is_safe_name(name):
                with contextlib.suppress(MissingDocument, UnsafePath):
                    reconcile(here + name)

    # --- changing ------------------------------------------------------------------------------

    def write(self, current: Loaded | None, data: bytes) -> None:
        """`replace`, with a text that was made from `current` alone."""
        try:
            self.replace(current, data)
        except Conflict:
            with contextlib.suppress(OSError):  # it was in place for a moment, and an editor may have loaded it
                self.versions.add(data, "", stood=False)
            raise

    def replace(self, current: Loaded | None, data: bytes) -> None:
        """Put `data` in the place of `current`, which `settle` returned; None: of nothing.

        Raises Conflict if it is not `current` any more, OSError if the disk refuses.
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
            swap.write_plain(self.folder, f"{HOT}.bak", current.data, current.status.st_mode & 0o7777)
            ignore_backup(self.folder)
        left = swap.replace(self.folder, self.name, self.path, current, data)
        discard(versions.folder, DISPLACED)
        try:
            os.rename(swap.spare(self.name), DISPLACED, src_dir_fd=self.folder, dst_dir_fd=versions.folder)
            os.chmod(DISPLACED, 0o600, dir_fd=versions.folder)
        except OSError:
            discard(self.folder, swap.spare(self.name))
        with contextlib.suppress(OSError):
            versions.add(data, left)

    def append(self, line: bytes) -> str:
        """Append a line (with its newline), all or nothing; returns the stamp that is left. Raises OSError."""
        descriptor, before, created = self._open_end()
        try:
            if before.st_size + len(line) >= MAX_BYTES:
                raise InvalidInput(f"document {self.path!r} would exceed {MAX_BYTES} bytes; append to another one")
            if created or not self.versions.record().is_known:
                with contextlib.suppress(OSError):
                    self.versions.restart(read_all(descriptor, before.st_size), stamp(before))
            if before.st_size and os.pread(descriptor, 1, before.st_size - 1) != b"\n":
                line = b"\n" + line
            _write_once(descriptor, line, before.st_size)
            if created:
                os.fchmod(descriptor, rights_in(os.fstat(self.folder), 0o666))
                os.fsync(self.folder)
            after = os.fstat(descriptor)
        except BaseException:
            if created:
                self._take_back()
            raise
        finally:
            os.close(descriptor)
        alone = after.st_size == before.st_size + len(line)
        with contextlib.suppress(OSError):
            self.versions.extend(line, stamp(after) if alone else "")
        return stamp(after)

    def _take_back(self) -> None:
        discard(self.folder, self.name)
        with contextlib.suppress(OSError):
            self.versions.leave(self.versions.record()._replace(stamp=GONE))

    def _open_end(self) -> tuple[int, os.stat_result, bool]:
        flags = os.O_RDWR | os.O_APPEND
        try:
            return *open_file(self.folder, self.name, self.path, flags), False
        except MissingDocument:
            return *open_file(self.folder, self.name, self.path, flags | os.O_CREAT | os.O_EXCL), True


def _quiet(load: Callable[[], Loaded | None], newest: bytes) -> Loaded | None:
    """The file once nobody has written to it for a moment; None if it stays away.

    An editor that renames the old file away and the new one in leaves a gap, one that empties the
    file and fills it leaves a part of it: these are waited for longer.
    """
    started = time.monotonic()
    current = load()
    changed = started - (max(0.0, time.time() - current.status.st_mtime) if current else 0.0)
    while current is None or current.data != newest:
        cut = current is None or _looks_cut(current.data, newest)
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


def _looks_cut(data: bytes, newest: bytes) -> bool:
    """Whether an editor that empties the file and then fills it may be half-way."""
    return newest.startswith(data) or newest[-1:] == b"\n" != data[-1:]


def _write_once(descriptor: int, line: bytes, size: int) -> None:
    """One write at the end, synced; on any failure the file is cut back to `size`."""
    try:
        written = os.write(descriptor, line)
        if written != len(line):
            raise OSError(errno.ENOSPC, f"only {written} of {len(line)} bytes could be written")
        os.fsync(descriptor)
    except BaseException:
        os.ftruncate(descriptor, size)
        raise
