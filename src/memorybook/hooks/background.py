"""Commands that a hook starts in a process of their own, and packages for a hook started without `site`."""

from __future__ import annotations

import os
import sys


def ingest_aside(root: str) -> None:
    """Ingest the event queue in a process of its own."""
    from memorybook.sessions.event_queue import names

    if names(os.path.join(root, ".memorybook")):
        _aside(root, "hook", "ingest")


def catch_up_aside(root: str) -> None:
    """Update the index in a process of its own, one at a time; failures are ignored."""
    from fcntl import LOCK_EX, LOCK_NB, flock

    from memorybook._light import suppress

    path = os.path.join(root, ".memorybook", "catching-up.lock")
    with suppress(OSError):
        lock = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            flock(lock, LOCK_EX | LOCK_NB)
            os.set_inheritable(lock, True)  # so it is held until that process has ended
            _aside(root, "sync")
        finally:
            os.close(lock)


def _aside(root: str, *words: str) -> None:
    """Start a command on the book that outlives the host."""
    # -P: what lies in the folder that the host works in is never imported
    command = [sys.executable, "-P", "-m", "memorybook", "--book", root, "--quiet", *words]
    silent = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in range(3)]
    try:
        os.posix_spawn(sys.executable, command, os.environ, file_actions=silent, setsid=True)
    except NotImplementedError:  # a system that has no such flag: then it ends with the host's group, if that is ended
        os.posix_spawn(sys.executable, command, os.environ, file_actions=silent)


def find_dependencies() -> None:
    """Let the packages be found that a search or the settings need, for a process that was started without `site`."""
    if not sys.flags.no_site:
        return
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if not os.path.isdir(os.path.join(here, "apsw")):
        import site

        site.main()
