"""Putting new bytes in a file's place so that nobody's save in between is lost.

The new file is written aside, synced and then *exchanged* with the old one, which stays at hand:
if it does not hold what was read, somebody saved meanwhile, and the two are exchanged back. Where
the kernel has no exchange the file is read again just before a plain rename; a few microseconds in
which a save can be missed remain there.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys

from memorybook.errors import Conflict, UnsafePath
from memorybook.storage.safe_open import Loaded, closing, discard, load_if_any, rights_in, stamp

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
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
            os.fsync(descriptor)
    except BaseException:
        os.close(descriptor)
        discard(folder, name)
        raise
    return descriptor


def write_plain(folder: int, name: str, data: bytes, mode: int) -> None:
    """Replace `name` atomically, without a sync of its own: for copies that only comfort."""
    os.close(write_aside(folder, temporary(name), data, mode, sync=False))
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
        os.fsync(folder)
    except OSError:
        _discard_new(folder, name, new)
        raise


def _confirm(folder: int, name: str, path: str, old: bytes, new: bytes) -> None:
    if _bytes(folder, spare(name)) != old:
        _exchange_back(folder, name, new)
        raise Conflict(f"document {path!r} was saved by somebody else just now; read it and decide anew")
    try:
        os.fsync(folder)
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
        os.fsync(folder)
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
        os.fsync(descriptor)


def _rename(folder: int, source: str, target: str, *, exchange: bool) -> bool:
    """Exchange two names, or rename where nothing is; False if this system cannot. Raises OSError, Conflict."""
    import ctypes

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
