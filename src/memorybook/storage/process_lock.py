"""Work for one process at a time: a file that is locked meanwhile, by the kernel, which lets go of the dead."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from memorybook.storage.new_file import own_folder


@contextmanager
def claimed(path: str) -> Iterator[bool]:
    """Whether this is the one holder of the file's lock until the block ends; never waits.

    Where no such file can be made there is nobody to share the work with: True.
    """
    import fcntl

    try:
        own_folder(os.path.dirname(path))
        descriptor = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        yield True
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            ours = True
        except BlockingIOError:
            ours = False
        except OSError:  # a file system without locks
            ours = True
        yield ours
    finally:
        os.close(descriptor)
