"""How the loss of a database is noticed, an older copy of it, or another one in its place.

A database counts its commits, beside a name of its own that chance gave it; a small file beside it, its mark, has what
the last commit left. The mark is written after the commit is on disk, and never in the place of one that another
database left, so it may be behind but is never ahead. Whoever means the database to be as it is deletes the mark.
"""

from __future__ import annotations

import os

from memorybook._light import TYPE_CHECKING, NamedTuple, suppress

if TYPE_CHECKING:
    from memorybook.storage.sqlite import Connection

TABLE = """
    CREATE TABLE seal (name TEXT NOT NULL, commits INTEGER NOT NULL);
    INSERT INTO seal VALUES (lower(hex(randomblob(16))), 0);
    """
"""The migration that makes the table."""

_SIZE = 64


class Seal(NamedTuple):
    """The name of a database, and how often something was committed to it."""

    name: str
    commits: int


def mark_of(path: str) -> str:
    """The file with what the last commit to the database at `path` left."""
    return f"{path}.mark"


def left(path: str) -> Seal | None:
    """What the last commit left; None if nobody knows."""
    try:
        descriptor = os.open(mark_of(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fields = os.read(descriptor, _SIZE).decode("ascii", "replace").split()
    except OSError:
        return None
    finally:
        os.close(descriptor)
    whole = len(fields) == 2 and len(fields[0]) == 32 and fields[1].isdigit()
    return Seal(fields[0], int(fields[1])) if whole else None


def leave(path: str, seal: Seal) -> None:
    """Note what a commit left, unless another database did so; where that cannot be written, the mark stays behind."""
    known = left(path)
    if known is not None and (known.name != seal.name or known.commits >= seal.commits):
        return
    with suppress(OSError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(mark_of(path), flags, 0o600)
        try:
            os.pwrite(descriptor, f"{seal.name} {seal.commits}".ljust(_SIZE - 1).encode() + b"\n", 0)
        finally:
            os.close(descriptor)


def counted(connection: Connection) -> Seal:
    """Count a commit; to be called in its transaction."""
    [row] = connection.execute("UPDATE seal SET commits=commits+1 RETURNING name, commits")
    return Seal(*row)


def renamed(connection: Connection, path: str) -> None:
    """Give a database that is behind its mark another name, so that it is not taken for the one that left it later."""
    known = left(path)
    row = connection.first("SELECT name, commits FROM seal") if known is not None else None
    if known is not None and row is not None and row[0] == known.name and row[1] < known.commits:
        connection.execute("UPDATE seal SET name=lower(hex(randomblob(16)))")


def fault(connection: Connection | None, path: str, known: Seal | None) -> str:
    """What is wrong with a database of which `left` told `known` just before, one sentence; "" if nothing is."""
    if known is None:
        return ""
    row = None if connection is None else connection.first("SELECT name, commits FROM seal")
    if row is not None and row[0] == known.name and row[1] >= known.commits:
        return ""
    mark = mark_of(path)
    if row is None:
        return f"the database {path!r} was deleted: put the right one back, or delete {mark!r} if it is meant to be so"
    return (
        f"the database {path!r} is another one, or an older copy of it, than was written last: put the right one back, "
        f"or delete {mark!r} if it is meant to be so"
    )
